"""burnish decide, burnish override"""

from __future__ import annotations

from typing import Annotated

from burnish.cli import questions
from burnish.cli.output import count, one_line, say, say_json, tell, titled
from burnish.cli.parameters import Argument, Option
from burnish.cli.session import AsJson, TaskId, open_app
from burnish.core.gate import GateChoice, GateDecision
from burnish.core.override import OverrideReasons
from burnish.core.review import UnseenFile
from burnish.core.status import Status
from burnish.core.task import Task, task_id
from burnish.errors import BadInput

Commit = Annotated[str | None, Option("--commit", metavar="SHA", help="Refuse if the task is no longer at commit SHA.")]
DONE = {
    GateChoice.APPROVE: "Approved",
    GateChoice.REJECT: "Rejected",
    GateChoice.FIX: "Sent back",
    GateChoice.SKIP: "Accepted without review:",
}


@questions.with_grounds
def decide(
    task: TaskId,
    choice: Annotated[
        GateChoice, Argument(metavar="approve|reject|fix|skip", help="The decision.", show_default=False)
    ],
    note: Annotated[
        str, Option("-m", "--note", metavar="NOTE", help="Record NOTE and send it to the agent that fixes.")
    ] = "",
    commit: Commit = None,
    grounds: OverrideReasons | None = None,
    as_json: AsJson = False,
) -> None:
    """Approve, reject or send back a task that waits for approval.

    fix sends the task back to the agent with your note. skip accepts it without a review, if settings allow.
    The decision applies to the reviewed commit only. To approve against the review, give a reason.

    For a task that is blocked and does not wait for approval, use `burnish override`. To accept a single
    finding, use `burnish waive`.
    """
    from burnish import runtime
    from burnish.features.decide import decisions as people

    runtime.refuse_inside_phase()
    app, number, commit = open_app(), task_id(task), _named(commit)
    if choice in (GateChoice.APPROVE, GateChoice.SKIP) and grounds is None and questions.on_terminal():
        view = people.gate_view_of(app, number)
        against = view.against if choice is GateChoice.APPROVE else view.skip_against and view.may_skip
        if against and view.task.status is Status.WAITING_APPROVAL:
            # what is accepted is what was there when the questions were asked
            grounds, commit = questions.ask(), commit or view.commit
    unseen = people.unseen_files(app, number) if choice is GateChoice.APPROVE else ()
    task_after = people.decide(app, number, GateDecision(choice, note, commit, grounds))
    _report(task_after, DONE[choice], as_json, unseen)


@questions.with_grounds
def override(
    task: TaskId,
    commit: Commit = None,
    grounds: OverrideReasons | None = None,
    as_json: AsJson = False,
) -> None:
    """Approve a task against its review, with a recorded reason.

    On a terminal, burnish asks five questions; in scripts, the flags answer them.

    Use it for a blocked task whose review is wrong. For a task that waits for approval, use `burnish decide`; to
    accept one finding only, `burnish waive`; to close a task that you merged yourself, `burnish done`.
    """
    from burnish import runtime
    from burnish.features.decide import decisions as people

    runtime.refuse_inside_phase()
    app, number, commit = open_app(), task_id(task), _named(commit)
    view = people.check_override(app, number, commit=commit)
    grounds = questions.grounds_or_ask(grounds)
    _report(people.override(app, number, grounds, commit=commit or view.commit), "Overrode the review of", as_json)


def _named(commit: str | None) -> str:
    """A script whose variable is empty must not lose the tie to what was looked at."""
    if commit is not None and not commit.strip():
        raise BadInput("--commit is empty.", hint="Give the commit that you inspected, or omit --commit.")
    return commit or ""


def _report(task: Task, what: str, as_json: bool, unseen: tuple[UnseenFile, ...] = ()) -> None:
    if as_json:
        from burnish.views.status import task_json

        files = [{"path": file.path, "description": file.description} for file in unseen]
        say_json({**task_json(task), **({"unseen_files": files} if files else {})})
        return
    say(titled(f"{what} task {task.id}: ", task.spec.title, f" ({task.status})"))
    if unseen:
        say(f"  No reviewer saw the content of {count(len(unseen), 'file')}:")
        for file in unseen:
            say(f"    {one_line(file.path)}: {one_line(file.description)}")
    if task.status in (Status.IN_PROGRESS, Status.CODE_REVIEW):
        tell(f"  Continue: burnish run {task.id}")
    elif task.status is Status.VERIFIED:
        tell(f"  Merge into {task.target or 'its branch'}: burnish merge {task.id}")
