"""burnish pause, unpause"""

from __future__ import annotations

from burnish.cli.output import say, say_json, tell, titled
from burnish.cli.session import AsJson, TaskId, open_app
from burnish.core.flow import RUNNING
from burnish.core.status import Status
from burnish.core.task import Task, task_id


def pause(task: TaskId, as_json: AsJson = False) -> None:
    """Let no run take up a task until you unpause it.

    A running task ends after the phase that it is in, and nothing that was paid for is done again. Use `burnish stop`
    to end it at once, and `burnish cancel` to abandon it.
    """
    task_after = _set(task, as_json, is_pause=True)
    if task_after is None:
        return
    say(titled(f"Paused task {task_after.id}: ", task_after.spec.title, f" ({task_after.status})"))
    if task_after.status in RUNNING and task_after.runner:
        tell("  It ends after the phase that it is in, or at once if it waits for a usage limit.")
        tell(f"  To end it at once in any case: burnish stop {task_after.id}")


def unpause(task: TaskId, as_json: AsJson = False) -> None:
    """Let runs take up a task again that was paused.

    It starts nothing by itself, but a run with --watch continues the task. Use `burnish run TASK` to continue it now.
    """
    task_after = _set(task, as_json, is_pause=False)
    if task_after is None:
        return
    say(titled(f"Unpaused task {task_after.id}: ", task_after.spec.title, f" ({task_after.status})"))
    verb = "retry" if task_after.status is Status.FAILED else "run"
    tell(f"  Continue: burnish {verb} {task_after.id}")


def _set(task: str, as_json: bool, *, is_pause: bool) -> Task | None:
    """The task as it is now; None if it was printed as JSON."""
    from burnish import runtime
    from burnish.features.tasks.edit import pause_task

    runtime.refuse_inside_phase()
    task_after = pause_task(open_app(), task_id(task), is_pause=is_pause)
    if not as_json:
        return task_after
    from burnish.views.status import task_json

    say_json(task_json(task_after))
    return None
