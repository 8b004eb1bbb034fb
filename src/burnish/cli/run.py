"""burnish run, retry, improve, rebase"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from burnish.cli.output import (
    BY_STATUS,
    clean,
    coloured,
    count,
    fitted,
    mark,
    one_line,
    paint,
    say,
    say_json,
    tell,
    titled,
    use_log_format,
)
from burnish.cli.parameters import Argument, Option
from burnish.cli.session import SESSION, AsJson, LogFormat, TaskId, offer_tasks, open_app, start_dir
from burnish.core.cost import MAX_BUDGET, UNKNOWN_COST, CostSource, dollars
from burnish.core.status import Status
from burnish.core.task import Task, task_id
from burnish.errors import BadInput, BurnishError

if TYPE_CHECKING:
    from burnish.cli.gate import TerminalGate
    from burnish.cli.progress import PlainProgress
    from burnish.runtime import App
    from burnish.runtime.requests import RunReport, RunRequest

_ENDS = {
    "signal": "Interrupted",
    "stop": "Stopped by `burnish stop`",
    "until": "Stopped at the time of --until",
    "budget": "The budget of this run is used up",
}
_NEEDS_PERSON = (Status.BLOCKED, Status.FAILED, Status.WAITING_APPROVAL)
ExitZero = Annotated[bool, Option("--exit-zero", help="Exit with 0 even if the result is not approved.")]


def run(
    ids: Annotated[
        list[str] | None,
        Argument(metavar="TASK", help="Run TASK; repeatable.", show_default=False, autocompletion=offer_tasks),
    ] = None,
    everything: Annotated[bool, Option("--all", help="Run every task that is ready or becomes ready.")] = False,
    jobs: Annotated[int, Option("-j", "--parallel", min=1, metavar="N", help="Run up to N tasks in parallel.")] = 1,
    hitl: Annotated[bool, Option("--hitl-review", help="Ask for your decision after every review.")] = False,
    no_review: Annotated[bool, Option("--no-review", help="Skip the review, if settings allow.")] = False,
    tui: Annotated[bool, Option("--tui", help="Show the run on a screen, as `burnish tui` does.")] = False,
    budget: Annotated[
        float | None,
        Option("--budget", min=0, max=MAX_BUDGET, metavar="USD", help="Stop before more than USD is spent."),
    ] = None,
    watch: Annotated[
        bool, Option("--watch", help="Keep running: take up tasks that are added, unblocked or answered.")
    ] = False,
    pulls: Annotated[
        int | None,
        Option("--pulls", min=5, max=86_400, metavar="N", help="With --watch: `burnish pr watch` every N seconds."),
    ] = None,
    until: Annotated[
        str | None, Option("--until", metavar="HH:MM", help="Stop at HH:MM; running tasks keep their work.")
    ] = None,
    detach: Annotated[bool, Option("--detach", help="Run in the background, also after you log out.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Print what would run; run nothing.")] = False,
    exit_zero: ExitZero = False,
    log_format: LogFormat = None,
    as_json: AsJson = False,
) -> int:
    """Run tasks until they are approved or need a person.

    Without TASK, run the next task that is ready. An interrupted task continues where it stopped. For a task that
    failed or is blocked, use `burnish retry`. With --watch, run all tasks and wait for more; `burnish stop` ends it.
    """
    use_log_format(log_format)
    if ids and everything:
        raise BadInput("TASK and --all cannot be combined.", hint="Use one of them.")
    if watch and (ids or everything or dry_run):
        raise BadInput("--watch runs all tasks.", hint="Omit TASK, --all and --dry-run.")
    if pulls is not None and not watch:
        raise BadInput("--pulls needs --watch.", hint="Without a run that watches, use `burnish pr watch`.")
    if detach and (as_json or hitl or dry_run):
        raise BadInput("--detach cannot be combined with --json, --hitl-review or --dry-run.", hint="Omit one of them.")
    if tui and (as_json or detach or dry_run):
        raise BadInput("--tui cannot be combined with --json, --detach or --dry-run.", hint="Omit one of them.")
    numbers = tuple(dict.fromkeys(task_id(text) for text in ids or ()))
    from burnish import runtime
    from burnish.runtime.requests import RunRequest, next_time

    if not dry_run:
        runtime.refuse_inside_phase()
    if tui:
        from burnish.cli.tui import require_terminal

        require_terminal("Omit --tui: progress is printed.")
    request = RunRequest(
        watch=watch,
        pulls=pulls,
        until=next_time(until).timestamp() if until is not None else None,
        ids=numbers,
        everything=everything,
        jobs=jobs,
        no_review=no_review,
        budget=budget,
        hitl="every" if hitl else None,
        dry_run=dry_run,
    )
    if tui:
        return _show_run(request, until, exit_zero=exit_zero)
    app = open_app()
    if detach:
        return _detach(app, request, until)
    return _carry_out(app, request, exit_zero=exit_zero, as_json=as_json)


def _detach(app: App, request: RunRequest, until: str | None) -> int:
    """Start the same run in a session of its own; refuses here what it would refuse."""
    from burnish.features.run.detach import start_detached

    _refuse_early(app, request)
    background_run = start_detached(app, _argv(request, until))
    say(f"Running in the background (pid {background_run.pid}). Output: {clean(str(background_run.log))}")
    tell("`burnish status` shows the tasks, `burnish stop` ends the run.")
    return 0


def _show_run(request: RunRequest, until: str | None, *, exit_zero: bool) -> int:
    """A screen, and the run that it shows in a process of its own; then its results as `run` prints them."""
    from burnish.cli.tui import show_screen
    from burnish.features.run.detach import RunProcess, ScreenRun, read_report, start_run
    from burnish.runtime import open_app, open_reader

    def check() -> Callable[[], RunProcess]:
        # in a thread of the screen: nothing is printed
        app = open_app(start_dir())
        try:
            _refuse_early(app, request)
        finally:
            app.store.close()
        screen_run.asks = bool(request.hitl or app.config.hitl_review)
        return lambda: start_run(app, _argv(request, until))

    screen_run = ScreenRun(check, ids=request.ids)
    try:
        answer = show_screen(screen_run)
    except KeyboardInterrupt:
        words = screen_run.interrupt()
        if screen_run.process is None:
            raise
        tell(words)
        answer = ""
    if screen_run.refusal:
        raise screen_run.refusal
    process = screen_run.process
    if process is None:
        return 3 if answer == "failed" else 130
    if answer:
        say(f"The run goes on in the background (pid {process.process.pid}). Output: {clean(str(process.log))}")
        tell("`burnish tui` shows it again, `burnish stop` ends it.")
        return 3 if answer == "failed" else 0
    code = process.process.wait()
    report = read_report(open_reader(start_dir()), process)
    if report is None:
        tell(clean(process.log.read_text(errors="replace")).rstrip())
        return code
    say_report(report, request)
    if request.watch:
        _say_summary(report, with_results=False)
    return report_code(report, exit_zero=exit_zero)


def _refuse_early(app: App, request: RunRequest) -> None:
    from burnish.features.run.run import check
    from burnish.runtime.ports import sandbox_policy_of

    check(app, replace(request, dry_run=True))
    app.trust.require()
    sandbox_policy_of(app).require()


def _argv(request: RunRequest, until: str | None) -> list[str]:
    """The command line of the same run in another process."""
    argv = ["run", *map(str, request.ids), "-j", str(request.jobs)]
    argv += ["--all"] * request.everything + ["--watch"] * request.watch + ["--no-review"] * request.no_review
    argv += ["--pulls", str(request.pulls)] if request.pulls else []
    argv += ["--hitl-review"] * (request.hitl is not None)
    argv += ["--until", until] if until else []
    return argv + (["--budget", str(request.budget)] if request.budget is not None else [])


def stop(
    task: Annotated[
        str | None,
        Argument(metavar="TASK", help="Stop TASK; others go on.", show_default=False, autocompletion=offer_tasks),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Stop the run of this project from another terminal.

    The agents end and their work is kept; `burnish run` continues it. Use `burnish cancel` to abandon a task.
    """
    from burnish import runtime
    from burnish.features.run.stop import stop as stop_run

    runtime.refuse_inside_phase()
    report = stop_run(open_app(), task_id(task) if task else None)
    if as_json:
        runs = [{"pid": card.get("pid"), "command": card.get("command")} for card in report.runners]
        say_json({"runs": runs, "task": str(report.task.id) if report.task else None})
        return
    if report.task:
        say(f"Stopping task {report.task.id}. Continue it: burnish run {report.task.id}")
    for card in report.runners:
        command = clean(str(card.get("command", "burnish run")))
        # the server itself goes on
        whose = "a run of " if "serve" in command.split() else ""
        say(f"Stopping {whose}`{command}` (pid {card.get('pid')}).")


def retry(
    task: TaskId,
    restart: Annotated[bool, Option("--restart", help="Start again from the base.")] = False,
    later: Annotated[bool, Option("--later", help="Only mark it as ready; `burnish run` continues it.")] = False,
    budget: Annotated[
        float | None,
        Option("--budget", min=0, max=MAX_BUDGET, metavar="USD", help="Let the task cost up to USD in all."),
    ] = None,
    tokens: Annotated[
        int | None, Option("--tokens", min=1, metavar="N", help="Let the task use up to N tokens in all.")
    ] = None,
    exit_zero: ExitZero = False,
    as_json: AsJson = False,
) -> int:
    """Continue a task that failed, is blocked or was cancelled.

    `--budget` and `--tokens` count for this task instead of `budget.task_usd` and `budget.task_tokens`.
    Use `burnish improve` to give the agent guidance for another change, `burnish decide` for a task that waits for
    approval, and `burnish run` for an interrupted task.
    """
    from burnish import runtime
    from burnish.features.tasks.edit import TaskLimit, retry_task
    from burnish.runtime.requests import RunRequest
    from burnish.views.status import stands

    runtime.refuse_inside_phase()
    app = open_app()
    if not later:
        app.trust.require()
    before = app.store.task(app.key, task_id(task))
    limit = TaskLimit(budget, tokens) if budget is not None or tokens is not None else None
    task_after = retry_task(app, before.id, restart=restart, limit=limit)
    notes = []
    if task_after.note and (
        task_after.status in (Status.CODE_REVIEW, Status.BACKLOG) or task_after.status is not before.status
    ):
        notes = [f"Task {task_after.id}: {clean(task_after.note)}."]
        tell(notes[0])
    if task_after.status is Status.BACKLOG:
        _tell_kept(app, task_after)
    if later:
        say_json(_tasks_json([task_after]) | {"notes": notes}) if as_json else say(
            f"Task {task_after.id} {stands(task_after.status)}. Run it: burnish run {task_after.id}"
        )
        return 0
    return _carry_out(app, RunRequest(ids=(task_after.id,)), exit_zero=exit_zero, as_json=as_json, notes=notes)


def _tell_kept(app: App, task: Task) -> None:
    """Print where the uncommitted work of the previous run is saved."""
    rescues = [e.data for e in app.store.events(app.key, task=task.id, types=["phase.rescued"]) if e.run == task.run]
    if not rescues or rescues[-1].get("phase") != "restart":
        return
    if rescues[-1].get("ref"):
        tell(f"Uncommitted work is saved in {rescues[-1]['ref']}")
    if rescues[-1].get("folder"):
        tell(f"The old workspace is kept because it may hold unsaved work: {rescues[-1]['folder']}")
    if rescues[-1].get("withheld"):
        names = clean(", ".join(rescues[-1]["names"][:5]))
        tell(f"Files that are never committed because of their names are copied to {rescues[-1]['withheld']}: {names}")


def improve(
    task: TaskId,
    guidance: Annotated[str, Option("-m", "--guidance", metavar="TEXT", help="Tell the agent what to change.")] = "",
    review: Annotated[bool, Option("--review", help="Review the result.")] = False,
    exit_zero: ExitZero = False,
    as_json: AsJson = False,
) -> int:
    """Have the agent change a task once more.

    The agent gets the findings of the last review and your guidance, even after the last cycle. The result then
    waits for `burnish review`, unless --review is given. For a task that failed, use `burnish retry`; for one
    that waits for approval, `burnish decide TASK fix`.
    """
    from burnish import runtime
    from burnish.features.decide import decisions as people
    from burnish.runtime.requests import RunRequest

    runtime.refuse_inside_phase()
    app, number = open_app(), task_id(task)
    people.improve(app, number, guidance, review=review)
    code = _carry_out(app, RunRequest(ids=(number,)), exit_zero=exit_zero, as_json=as_json)
    is_improved = not review and app.store.task(app.key, number).status is Status.CODE_REVIEW
    return 0 if code == 1 and is_improved else code


def rebase(task: TaskId, exit_zero: ExitZero = False, as_json: AsJson = False) -> int:
    """Merge the target branch into a task's branch.

    The merge is made in the task's workspace. The agent resolves conflicts; checks and a review follow. An earlier
    approval is void, because the base changes. No commit is rewritten: the branch gets a merge commit. To merge the
    task into its target as well, use `burnish merge TASK --resolve`.
    """
    from burnish import runtime
    from burnish.features.merge.rebase import order_rebase
    from burnish.runtime.requests import RunRequest

    runtime.refuse_inside_phase()
    app, number = open_app(), task_id(task)
    order = order_rebase(app, number)
    if order.merge is None and not as_json:
        say(order.words)
        return 0
    tell(f"Task {number}: {clean(order.words)}.")
    return _carry_out(app, RunRequest(ids=(number,)), exit_zero=exit_zero, as_json=as_json)


def _carry_out(app: App, request: RunRequest, *, exit_zero: bool, as_json: bool, notes: Sequence[str] = ()) -> int:
    """Run the tasks. `notes`: what was printed before, for the JSON output."""
    from burnish.cli.progress import watcher
    from burnish.features.run.run import run_tasks

    several = request.jobs > 1 or request.everything or request.watch or len(request.ids) > 1
    progress = watcher(several=several, quiet=SESSION.quiet or request.dry_run, verbose=SESSION.verbose)
    gate = None if request.dry_run else _gate(app, request, progress, as_json=as_json)
    try:
        with _synchronizing(request):
            report = run_tasks(app, request, progress=progress, gate=gate)
    finally:
        progress.close()
    if as_json:
        say_json(_report_json(report, request, notes))
    else:
        # with several tasks on one screen or in one file, each result was already printed
        is_printed = several and not SESSION.quiet and _is_one_output()
        say_report(report, request, is_printed=is_printed)
        if request.watch:
            _say_summary(report, with_results=is_printed)
    return report_code(report, exit_zero=exit_zero)


@contextmanager
def _synchronizing(request: RunRequest) -> Iterator[None]:
    """With --pulls, synchronize pull requests meanwhile, in a thread; the run takes up what is sent back."""
    seconds = request.pulls
    if seconds is None:
        yield
        return
    from burnish.cli.pr import say_pull
    from burnish.features.github.client import GitHub
    from burnish.features.github.watch import watch_pulls
    from burnish.runtime.ports import NullProgress

    # its own connection to the database; a missing gh is reported now
    app, end = open_app(), threading.Event()
    GitHub.of(app.repo.root)

    def synchronize() -> None:
        try:
            watch_pulls(
                app,
                None,
                seconds=seconds,
                runs=False,
                progress=NullProgress,
                note=lambda text: tell(one_line(text)),
                report=lambda pull: say_pull(pull, only_news=True, say=tell),
                end=end,
            )
        except BurnishError as error:
            tell(f"Pull requests are not synchronized any more: {one_line(error.what)} {one_line(error.hint)}")

    thread = threading.Thread(target=synchronize, name="pulls", daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()
        # a push under way ends first
        thread.join(60)
        app.store.close()


def report_code(report: RunReport, *, exit_zero: bool) -> int:
    """130 only for a signal: the ends that a person planned, such as --until, count by their results."""
    interrupted = report.ended_by == "signal"
    return exit_code(report.tasks, waiting=bool(report.waiting), interrupted=interrupted, exit_zero=exit_zero)


def _is_one_output() -> bool:
    """Whether stdout and stderr go to the same place: a screen, or the file of a run in the background."""
    if sys.stdout.isatty() and sys.stderr.isatty():
        return True
    try:
        return os.path.sameopenfile(sys.stdout.fileno(), sys.stderr.fileno())
    except (OSError, ValueError):
        return False


def _say_summary(report: RunReport, *, with_results: bool) -> None:
    """The end of a run that stood: what it cost, and what waits for the person."""
    is_partial = any(task.cost_source in (CostSource.UNKNOWN, CostSource.PARTIAL) for task in report.tasks)
    cost = UNKNOWN_COST if is_partial and not report.cost_usd else f"{dollars(report.cost_usd)}{'+' * is_partial}"
    needs_person = [task for task in report.tasks if task.status in _NEEDS_PERSON]
    words = f"{count(len(report.tasks), 'task')} were run" if len(report.tasks) != 1 else "1 task was run"
    say(f"{words}, {cost}{f': {_counted(report.tasks)}' if with_results and report.tasks else ''}.")
    if needs_person:
        # the inbox may also list tasks of earlier runs
        words = (
            f"{len(needs_person)} of them need{'s' * (len(needs_person) == 1)} you"
            if len(report.tasks) > 1
            else "It needs you"
        )
        say(f"{words}: burnish inbox")


def _gate(app: App, request: RunRequest, progress: PlainProgress, *, as_json: bool) -> TerminalGate | None:
    """The gate that asks the user; None with a warning if the user cannot be asked."""
    if not (request.hitl or app.config.hitl_review):
        return None
    from burnish.cli.gate import TerminalGate, can_ask

    why = "several tasks run at once" if request.jobs > 1 else "--json is given" if as_json else ""
    why = why or ("" if can_ask() else "not a terminal")
    if not why:
        return TerminalGate(progress.aside)
    words = (
        f"Warning: hitl_review is on, but burnish cannot ask here ({why}). Tasks wait for your decision: burnish inbox"
    )
    tell(fitted(words, sys.stderr))
    return None


def exit_code(tasks: Iterable[Task], *, waiting: bool, interrupted: bool, exit_zero: bool) -> int:
    """The highest of 3 > 1 > 0; `--exit-zero` turns only 1 into 0."""
    if interrupted:
        return 130
    states = {task.status for task in tasks}
    if Status.FAILED in states:
        return 3
    if (states - {Status.VERIFIED, Status.COMPLETED} or waiting) and not exit_zero:
        return 1
    return 0


def say_report(report: RunReport, request: RunRequest, *, is_printed: bool = False) -> None:
    from burnish.cli.progress import advice, result

    on = coloured(sys.stdout)
    if request.dry_run:
        for task in report.planned:
            say(titled(f"Would run task {task.id}: ", task.spec.title))
    if is_printed and report.tasks and not request.watch:
        say(f"{count(len(report.tasks), 'task')}: {_counted(report.tasks)}. `burnish status` shows them.")
    for task in report.tasks if not is_printed else ():
        say(
            paint(
                fitted(result(task, has_tests=task.id not in report.untested), sys.stdout),
                BY_STATUS[task.status],
                on=on,
            )
        )
        words = advice(task)
        if words and len(report.tasks) == 1 and not SESSION.quiet:
            tell(fitted(f"  {words}", sys.stderr))
    for task, why in report.waiting if not report.ended_by else ():
        say(fitted(f"{mark('·')} Task {task.id} is waiting: {one_line(why)}", sys.stdout))
    if not (report.tasks or report.waiting or report.planned or report.ended_by):
        words = "No task is ready to run. `burnish status` shows all tasks, `burnish add` adds one."
        tell(fitted(words, sys.stderr))
    if report.ended_by:
        rest = f" {count(len(report.waiting), 'task')} not started." if report.waiting else ""
        tell(f"{_ENDS[report.ended_by]}.{rest} `burnish run` continues.")


def _counted(tasks: Iterable[Task]) -> str:
    """`2 verified, 1 blocked`"""
    states = [task.status for task in tasks]
    parts = [f"{states.count(status)} {status.replace('_', ' ')}" for status in Status if status in states]
    return ", ".join(parts)


def _report_json(report: RunReport, request: RunRequest, notes: Sequence[str]) -> dict[str, Any]:
    out = _tasks_json(report.tasks)
    out["waiting"] = [{"id": str(task.id), "why": why} for task, why in report.waiting]
    out["notes"] = [*notes, *report.notes]
    out["interrupted"] = report.ended_by in ("signal", "stop", "until")
    out["ended_by"] = report.ended_by or None
    out["untested"] = [str(number) for number in sorted(report.untested)]
    if request.dry_run:
        out["planned"] = [str(task.id) for task in report.planned]
    return out


def _tasks_json(tasks: Iterable[Task]) -> dict[str, Any]:
    from burnish.views.status import task_json

    return {"tasks": [task_json(task) for task in tasks]}
