"""One task, from where it stands to a decision."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from burnish.core.budget import overspent, task_limits
from burnish.core.decision import REPEATED_FAILURE
from burnish.core.flow import RUNNING, CheckStep, DecideStep, ReviewStep, Step, StopStep, WorkStep, next_step
from burnish.core.history import History
from burnish.core.journal_events import BudgetNotice, new_event
from burnish.core.status import ErrorCode, Reason, Status
from burnish.core.task import Task, TaskType
from burnish.engine.archive import archive
from burnish.engine.checking import check
from burnish.engine.commands.lifecycle import void_stale
from burnish.engine.deciding import settle
from burnish.engine.failure_text import with_task
from burnish.engine.human_gate import ask_person
from burnish.engine.metering import warn
from burnish.engine.ports import Deps
from burnish.engine.review_fix import review_and_fix
from burnish.engine.reviewing import panel_for, review
from burnish.engine.shared_branch import alone_on_branch, void_others
from burnish.engine.task_setup import TaskSetup, on_base, prepare, set_up
from burnish.engine.transitions import (
    current_ledger,
    judge_again_on_new_base,
    rebased,
    status_events,
    verdict_when_stopped,
)
from burnish.engine.work import author_of, committed, record_failure, save_leftovers, work
from burnish.errors import BurnishError, ConflictsLeft, NotCommitted, OverBudget, PhaseFailed, SecretFound
from burnish.sanitize import escape_controls

# The same failure this often on the same commit: more of the same will not help.
BREAKER = 3
# How often the author is asked to resolve the conflicts of one merge.
MERGE_TRIES = 2
# causes that no change of the work removes: the same again says nothing about the task
_NOT_THE_TASKS = (ErrorCode.INTERRUPTED, ErrorCode.DISK_FULL, ErrorCode.DATABASE_LOCKED)


def run_task(deps: Deps, task: Task, *, shares_trees: bool = False) -> Task:
    """Steps until there is none; the caller holds the claim.

    `shares_trees`: leaves its clean tree for the next task. The caller removes the last one.
    """
    if deps.stopping(task.id):
        # stopped in the moment in which it was taken up: nothing is begun
        return task
    with ExitStack() as branch:
        branch.callback(_remove_trees, deps, task.id, shares_trees=shares_trees)
        try:
            branch.enter_context(alone_on_branch(deps, task))
        except BurnishError:
            if not deps.stopping(task.id):
                raise
            # stopped while it waited: nothing was begun
            return deps.event_log.task(task.id)
        with suppress(BurnishError, OSError):
            deps.repository.take_review_tree(task)
        return _steps(deps, task)


def _remove_trees(deps: Deps, task_id: int, *, shares_trees: bool) -> None:
    """A task that is not being run keeps its workspace and no other copy; a verified one of a large repository none."""
    with suppress(BurnishError, OSError):
        task = deps.event_log.task(task_id)
        if task.status in (*RUNNING, Status.BACKLOG):
            deps.event_log.require_claim(task_id)  # else they may be another runner's
        if shares_trees and task.status not in (*RUNNING, Status.BACKLOG, Status.FAILED):
            deps.repository.leave_review_tree(task)
        deps.repository.remove_trees(task)
        # without a sandbox, programs could still write to a directory that becomes another task's
        leave_files = shares_trees and deps.sandbox != "none"
        if task.status is Status.VERIFIED and deps.repository.release_workspace(task, leave_files=leave_files):
            # what set-up installed is gone, too
            deps.task_files.stamp(task, "setup", "")


def _steps(deps: Deps, task: Task) -> Task:
    try:
        with disk_trouble():
            task, setup = prepare(deps, task, deps.policy_for(task))
    except BurnishError as error:
        return _fail(deps, deps.event_log.task(task.id), error)
    moves = 0
    while True:
        history = deps.event_log.history(task.id)
        step = next_step(history, setup.policy)
        if deps.stopping(task.id) or (isinstance(step, StopStep) and not ask_person(deps, task.id)):
            return deps.event_log.task(task.id)
        if history.task.is_paused:
            _note_pause(deps, history.task)
            return history.task
        if isinstance(step, StopStep):
            continue
        try:
            if setup.base.commit != history.task.base and not isinstance(step, WorkStep):
                # the work has merged the target, so the change begins there
                setup = on_base(deps, setup)
            if exceeded_limit(deps, setup, history, step):
                return deps.event_log.task(task.id)
            with disk_trouble():
                if _moved_on(deps, setup, history, step):
                    setup, moves = on_base(deps, setup), moves + (not isinstance(step, WorkStep))
                    if moves > BREAKER:
                        return _archived(deps, setup, _unsteady(deps, deps.event_log.task(task.id)))
                elif _is_empty(setup, history.task, step):
                    return _archived(deps, setup, _nothing_to_judge(deps, history.task))
                else:
                    _do(deps, setup, history, step)
        except PhaseFailed as error:
            task = _cut(deps, setup, step, error)
            if isinstance(error, ConflictsLeft) and task.status in RUNNING:
                continue  # it is asked once more
            if error.code == ErrorCode.INTERRUPTED and task.is_paused:
                _note_pause(deps, task)
            return _archived(deps, setup, task)
        except BurnishError as error:
            deps.event_log.require_claim(task.id)  # else it is reported, and another runner's task is left alone
            return _archived(deps, setup, _fail(deps, deps.event_log.task(task.id), error))


def _note_pause(deps: Deps, task: Task) -> None:
    deps.progress.note(f"Task {task.id} is paused. Let it be run again: burnish unpause {task.id}")


def _archived(deps: Deps, setup: TaskSetup, task: Task) -> Task:
    """What failed is in the artifacts, too. A disk that is full must not hide why."""
    if task.status in (Status.FAILED, Status.BLOCKED):
        with suppress(BurnishError, OSError):
            archive(deps, setup.workspace, task, task.cycle)
    return task


@contextmanager
def disk_trouble() -> Iterator[None]:
    """Report a full disk as an error of the machine, not as a bug, wherever it occurs."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        full = f"The disk is full: {error.filename or 'the burnish home'} could not be written."
        raise PhaseFailed(ErrorCode.DISK_FULL, full, hint="Make room, then `burnish retry`.") from error


def _moved_on(deps: Deps, setup: TaskSetup, history: History, step: Step) -> bool:
    """Somebody committed on the task's branch: what is there now is judged, in a cycle of its own."""
    tip = history.tip(history.cycle)
    if isinstance(step, WorkStep):
        return _took_target_in(deps, setup, history.task)
    if not tip:
        return False
    head = setup.head()
    review_fix = isinstance(step, ReviewStep) and step.fixing and committed(setup, history.task, step)
    if head.sha != tip.result.commit and not review_fix:
        why = "somebody committed on the task's branch"
        base = deps.repository.base_now(history.task, head.sha).commit
        deps.record(history.task, *judge_again_on_new_base(history, head.sha, head.tree, why, base=base))
        return True
    if isinstance(step, CheckStep) and setup.workspace.checked_out_commit() != head.sha:
        save_leftovers(deps, setup, history.task, step.cycle, "by-hand")
        setup.workspace.reset_to(head.sha, base=setup.base)
    return False


def _unsteady(deps: Deps, task: Task) -> Task:
    """Each judgement was void before it counted: a person must find out who moves the branch."""
    note = (
        f"The branch was moved {BREAKER + 1} times while it was being judged. Find out what commits there, then "
        f"`burnish retry {task.id}`."
    )
    final = verdict_when_stopped(deps.event_log.history(task.id))
    return deps.record(task, status_events(task, Status.BLOCKED, reason=Reason.STALLED, note=note, final_verdict=final))


def _is_empty(setup: TaskSetup, task: Task, step: Step) -> bool:
    """Whether there is nothing to check or review: a lenient reviewer would approve that."""
    has_change = task.spec.type in (TaskType.IMPLEMENT, TaskType.IMPROVE)
    return has_change and isinstance(step, CheckStep | ReviewStep) and setup.head().tree == setup.base.tree


def _nothing_to_judge(deps: Deps, task: Task) -> Task:
    note = (
        f"The branch {task.branch} has the same files as its base: its commits were undone, or the branch was moved. "
        f"`burnish retry {task.id}` lets the author begin again."
    )
    final = verdict_when_stopped(deps.event_log.history(task.id))
    event = status_events(task, Status.BLOCKED, reason=Reason.NO_CHANGES, note=note, final_verdict=final)
    return deps.record(task, event)


def _took_target_in(deps: Deps, setup: TaskSetup, task: Task) -> bool:
    """Whether a person merged the target into the branch, which does not belong to the change."""
    tip = setup.workspace.tip()
    if not task.commit or tip in (None, task.commit):
        return False
    again = rebased(task, deps.repository.base_now(task, str(tip)).commit)
    if again:
        deps.record(task, *again)
    return bool(again)


def _do(deps: Deps, setup: TaskSetup, history: History, step: Step) -> None:
    match step:
        case WorkStep():
            work(deps, setup, history, step)
            void_others(deps, history.task)
        case CheckStep():
            # again if the work changed a lock file
            set_up(deps, history.task, setup)
            check(deps, setup, history, step)
        case ReviewStep(fixing=True):
            review_and_fix(deps, setup, history, step)
        case ReviewStep():
            review(deps, setup, history, step)
        case DecideStep():
            with current_ledger(deps, history) as now:
                settle(deps, setup, now, step)
            void_stale(deps.event_log, deps.repository, deps.event_log.task(setup.task_id), setup.policy)


def _cut(deps: Deps, setup: TaskSetup, step: Step, error: PhaseFailed) -> Task:
    """A phase failed: write it down, keep what it left, and leave the task so that it can go on."""
    deps.event_log.require_claim(setup.task_id)  # else what lies in the workspace is another runner's
    history = deps.event_log.history(setup.task_id)
    if not isinstance(step, WorkStep | CheckStep | ReviewStep):
        return _fail(deps, history.task, error)
    phase = "check" if isinstance(step, CheckStep) else step.phase
    attempt, _ = history.attempt(step.cycle, phase)
    if error.code == ErrorCode.INTERRUPTED and _answered(deps, history, step, attempt):
        # the agent had ended by itself: the next run goes on from its answer
        return history.task
    try:
        record_failure(deps, setup, history.task, step.cycle, phase, attempt, error)
    except BurnishError as worse:
        # e.g. the disk is full: what can still be written down is the status
        deps.progress.note(f"Task {history.task.id}: {worse.what}")
    task = deps.event_log.task(history.task.id)
    if error.code == ErrorCode.INTERRUPTED:
        return task
    if isinstance(error, ConflictsLeft):
        return _with_conflicts(deps, task, step.cycle, error)
    if isinstance(error, OverBudget) and task.status in (Status.IN_PROGRESS, Status.CODE_REVIEW):
        return stop_for_budget(deps, task, step.cycle, error.what)
    return _fail(deps, task, error)


def _with_conflicts(deps: Deps, task: Task, cycle: int, error: ConflictsLeft) -> Task:
    """The author may try twice to resolve a merge; then a person is needed."""
    failures = [p for p in deps.event_log.history(task.id).failures() if p.cycle == cycle and not p.superseded]
    if sum(record.result.error == error.code for record in failures) < MERGE_TRIES:
        deps.progress.note(f"Task {task.id}: {error.what} It is asked once more.")
        return task
    note = with_task(f"{error.what} {error.hint}", task.id)
    return deps.record(task, status_events(task, Status.BLOCKED, reason=Reason.CONFLICT, note=note))


def _answered(deps: Deps, history: History, step: WorkStep | CheckStep | ReviewStep, attempt: int) -> bool:
    return isinstance(step, WorkStep) and deps.task_files.call(history.task, step.cycle, step.phase, attempt).finished()


def _fail(deps: Deps, task: Task, error: BurnishError) -> Task:
    """`failed`, or `blocked/stalled` when the breaker trips."""
    if task.status not in (Status.IN_PROGRESS, Status.CODE_REVIEW, Status.BACKLOG):
        return task
    if isinstance(error, NotCommitted):
        note = with_task(f"{error.what} {error.hint}", task.id)
        reason = Reason.SECRET if isinstance(error, SecretFound) else Reason.NO_CHANGES
        final = verdict_when_stopped(deps.event_log.history(task.id))
        return deps.record(task, status_events(task, Status.BLOCKED, reason=reason, note=note, final_verdict=final))
    repository = ErrorCode(error.code) if isinstance(error, PhaseFailed) else ErrorCode.GIT_ERROR
    if isinstance(error, BurnishError) and error.exit_code == 2:
        repository = ErrorCode.CONFIG_ERROR
    note = with_task(f"{_sentence(error.what)} {error.hint}".strip(), task.id)
    output = escape_controls(error.output) if isinstance(error, PhaseFailed) else ""
    if task.status is Status.BACKLOG:
        task = deps.record(task, status_events(task, Status.IN_PROGRESS))
    final = verdict_when_stopped(deps.event_log.history(task.id))
    if _tripped(deps, task):
        note = f"{REPEATED_FAILURE} {BREAKER} times in a row on the same commit: {note}"
        status_event = status_events(
            task, Status.BLOCKED, reason=Reason.STALLED, note=note, output=output, final_verdict=final
        )
        return deps.record(task, status_event)
    return deps.record(
        task, status_events(task, Status.FAILED, error=repository, note=note, output=output, final_verdict=final)
    )


def _sentence(text: str) -> str:
    """What a program printed has no full stop, and the hint follows."""
    return text if not text or text.endswith((".", "!", "?", ":")) else f"{text}."


def _tripped(deps: Deps, task: Task) -> bool:
    """Three identical failures on the same commit."""
    failures = [p.result for p in deps.event_log.history(task.id).failures()]
    alike = [(failure.phase, failure.error, failure.what, failure.commit) for failure in failures[-BREAKER:]]
    return len(alike) == BREAKER and len(set(alike)) == 1 and alike[0][1] not in _NOT_THE_TASKS


# -- budget gate ----------------------------------------------------------------------------------
# Before a phase that costs money: is there any left?


def exceeded_limit(deps: Deps, setup: TaskSetup, history: History, step: Step) -> bool:
    """Blocked, with all that was done kept, where a budget is reached; a warning where it nearly is."""
    if not isinstance(step, WorkStep | ReviewStep):
        return False
    task = history.task
    limits = (*task_limits(task, setup.policy), *deps.budget_tracker.limits(_agents(setup, step)))
    why = overspent(limits)
    if why:
        stop_for_budget(deps, task, step.cycle, why)
        return True
    warn(deps, task, step.cycle, limits)
    return False


def stop_for_budget(deps: Deps, task: Task, cycle: int, why: str) -> Task:
    """A person decides whether it is worth more."""
    budget_event = new_event("budget.reached", BudgetNotice(why), run=task.run, cycle=cycle)
    final = verdict_when_stopped(deps.event_log.history(task.id))
    return deps.record(
        task, budget_event, status_events(task, Status.BLOCKED, reason=Reason.BUDGET, note=why, final_verdict=final)
    )


def _agents(setup: TaskSetup, step: WorkStep | ReviewStep) -> list[str]:
    if isinstance(step, WorkStep):
        return [author_of(setup, step)[0]]
    return [spec.agent for spec in panel_for(setup.policy, step.step).reviewers]
