"""One task, from where it stands to a decision."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from burnish.core.flow import RUNNING, Check, Decide, DoReview, Step, Stop, Work, next_step
from burnish.core.history import History
from burnish.core.status import ErrorCode, Reason, Status
from burnish.core.task import Task
from burnish.engine.actions import void_stale
from burnish.engine.archive import archive
from burnish.engine.asking import asked
from burnish.engine.checking import check
from burnish.engine.continuing import alone_on_branch, void_others
from burnish.engine.deciding import settle
from burnish.engine.failure_text import with_task
from burnish.engine.fixing import review_and_fix
from burnish.engine.moves import judge_anew, moved, rebased, verdict_when_stopped
from burnish.engine.ports import Deps
from burnish.engine.reviewing import review
from burnish.engine.site import Site, on_base, prepare, set_up
from burnish.engine.spending import stop_for_money, too_dear
from burnish.engine.work import committed, record_failure, save_leftovers, work
from burnish.errors import BurnishError, NotCommitted, OverBudget, PhaseFailed, SecretFound
from burnish.plain import escape_controls

# The same failure this often on the same commit: more of the same will not help.
BREAKER = 3
# causes that no change of the work removes: the same again says nothing about the task
_NOT_THE_TASKS = (ErrorCode.INTERRUPTED, ErrorCode.DISK_FULL, ErrorCode.DATABASE_LOCKED)


def run_task(deps: Deps, task: Task) -> Task:
    """Steps until there is none; the caller holds the claim."""
    if deps.stopping(task.id):
        # stopped in the moment in which it was taken up: nothing is begun
        return task
    with ExitStack() as branch:
        branch.callback(_remove_trees, deps, task.id)
        try:
            branch.enter_context(alone_on_branch(deps, task))
        except BurnishError:
            if not deps.stopping(task.id):
                raise
            # stopped while it waited: nothing was begun
            return deps.book.task(task.id)
        return _steps(deps, task)


def _remove_trees(deps: Deps, task_id: int) -> None:
    """A task that is not being run keeps its workspace and no other copy of its files."""
    with suppress(BurnishError, OSError):
        task = deps.book.task(task_id)
        if task.status in (*RUNNING, Status.BACKLOG):
            deps.book.require_claim(task_id)  # else they may be another runner's
        deps.code.remove_trees(task)


def _steps(deps: Deps, task: Task) -> Task:
    try:
        with disk_trouble():
            task, site = prepare(deps, task, deps.policy_for(task))
    except BurnishError as error:
        return _fail(deps, deps.book.task(task.id), error)
    moves = 0
    while True:
        history = deps.book.history(task.id)
        step = next_step(history, site.policy)
        if deps.stopping(task.id) or (isinstance(step, Stop) and not asked(deps, task.id)):
            return deps.book.task(task.id)
        if isinstance(step, Stop):
            continue
        try:
            if too_dear(deps, site, history, step):
                return deps.book.task(task.id)
            with disk_trouble():
                if _moved_on(deps, site, history, step):
                    site, moves = on_base(deps, site), moves + (not isinstance(step, Work))
                    if moves > BREAKER:
                        return _archived(deps, site, _unsteady(deps, deps.book.task(task.id)))
                else:
                    _do(deps, site, history, step)
        except PhaseFailed as error:
            return _archived(deps, site, _cut(deps, site, step, error))
        except BurnishError as error:
            return _archived(deps, site, _fail(deps, deps.book.task(task.id), error))


def _archived(deps: Deps, site: Site, task: Task) -> Task:
    """What failed is in the artifacts, too. A disk that is full must not hide why."""
    if task.status in (Status.FAILED, Status.BLOCKED):
        with suppress(BurnishError, OSError):
            archive(deps, site.workspace, task, task.cycle)
    return task


@contextmanager
def disk_trouble() -> Iterator[None]:
    """A full disk is no bug of ours, wherever it shows."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        full = f"The disk is full: {error.filename or 'the burnish home'} could not be written."
        raise PhaseFailed(ErrorCode.DISK_FULL, full, hint="Make room, then `burnish retry`.") from error


def _moved_on(deps: Deps, site: Site, history: History, step: Step) -> bool:
    """Somebody committed on the task's branch: what is there now is judged, in a cycle of its own."""
    done = history.tip(history.cycle)
    if isinstance(step, Work):
        return _took_target_in(deps, site, history.task)
    if not done:
        return False
    head = site.head()
    review_fix = isinstance(step, DoReview) and step.fixing and committed(site, history.task, step)
    if head.sha != done.result["commit"] and not review_fix:
        why = "somebody committed on the task's branch"
        base = deps.code.base_now(history.task, head.sha).commit
        deps.record(history.task, *judge_anew(history, head.sha, head.tree, why, base=base))
        return True
    if isinstance(step, Check) and site.workspace.stands_on() != head.sha:
        save_leftovers(deps, site, history.task, step.cycle, "by-hand")
        site.workspace.put_right(head.sha, base=site.base)
    return False


def _unsteady(deps: Deps, task: Task) -> Task:
    """Each judgement was void before it counted: a person must find out who moves the branch."""
    note = (
        f"The branch was moved {BREAKER + 1} times while it was being judged. Find out what commits there, then "
        f"`burnish retry {task.id}`."
    )
    final = verdict_when_stopped(deps.book.history(task.id))
    return deps.record(task, moved(task, Status.BLOCKED, reason=Reason.STALLED, note=note, final_verdict=final))


def _took_target_in(deps: Deps, site: Site, task: Task) -> bool:
    """Before an author goes on: a person may have merged the target into the branch, which is no part of the change."""
    tip = site.workspace.tip()
    if not task.commit or tip in (None, task.commit):
        return False
    again = rebased(task, deps.code.base_now(task, str(tip)).commit)
    if again:
        deps.record(task, *again)
    return bool(again)


def _do(deps: Deps, site: Site, history: History, step: Step) -> None:
    match step:
        case Work():
            work(deps, site, history, step)
            void_others(deps, history.task)
        case Check():
            # again if the work changed a lock file
            set_up(deps, history.task, site)
            check(deps, site, history, step)
        case DoReview(fixing=True):
            review_and_fix(deps, site, history, step)
        case DoReview():
            review(deps, site, history, step)
        case Decide():
            settle(deps, site, history, step)
            void_stale(deps.book, deps.code, deps.book.task(site.task_id), site.policy)


def _cut(deps: Deps, site: Site, step: Step, error: PhaseFailed) -> Task:
    """A phase failed: write it down, keep what it left, and leave the task so that it can go on."""
    deps.book.require_claim(site.task_id)  # else what lies in the workspace is another runner's
    history = deps.book.history(site.task_id)
    if not isinstance(step, Work | Check | DoReview):
        return _fail(deps, history.task, error)
    phase = "check" if isinstance(step, Check) else step.phase
    attempt, _ = history.attempt(step.cycle, phase)
    if error.code == ErrorCode.INTERRUPTED and _answered(deps, history, step, attempt):
        # the agent had ended by itself: the next run goes on from its answer
        return history.task
    try:
        record_failure(deps, site, history.task, step.cycle, phase, attempt, error)
    except BurnishError as worse:
        # e.g. the disk is full: what can still be written down is the status
        deps.progress.note(f"Task {history.task.id}: {worse.what}")
    task = deps.book.task(history.task.id)
    if error.code == ErrorCode.INTERRUPTED:
        return task
    if isinstance(error, OverBudget) and task.status in (Status.IN_PROGRESS, Status.CODE_REVIEW):
        return stop_for_money(deps, task, step.cycle, error.what)
    return _fail(deps, task, error)


def _answered(deps: Deps, history: History, step: Work | Check | DoReview, attempt: int) -> bool:
    return isinstance(step, Work) and deps.desk.call(history.task, step.cycle, step.phase, attempt).finished()


def _fail(deps: Deps, task: Task, error: BurnishError) -> Task:
    """`failed`, or `blocked/stalled` when the breaker trips."""
    if task.status not in (Status.IN_PROGRESS, Status.CODE_REVIEW, Status.BACKLOG):
        return task
    if isinstance(error, NotCommitted):
        note = with_task(f"{error.what} {error.hint}", task.id)
        reason = Reason.SECRET if isinstance(error, SecretFound) else Reason.NO_CHANGES
        final = verdict_when_stopped(deps.book.history(task.id))
        return deps.record(task, moved(task, Status.BLOCKED, reason=reason, note=note, final_verdict=final))
    code = ErrorCode(error.code) if isinstance(error, PhaseFailed) else ErrorCode.GIT_ERROR
    if isinstance(error, BurnishError) and error.exit_code == 2:
        code = ErrorCode.CONFIG_ERROR
    note = with_task(f"{_sentence(error.what)} {error.hint}".strip(), task.id)
    output = escape_controls(error.output) if isinstance(error, PhaseFailed) else ""
    if task.status is Status.BACKLOG:
        task = deps.record(task, moved(task, Status.IN_PROGRESS))
    final = verdict_when_stopped(deps.book.history(task.id))
    if _tripped(deps, task):
        note = f"The same failure {BREAKER} times in a row on the same commit: {note}"
        stalled = moved(task, Status.BLOCKED, reason=Reason.STALLED, note=note, output=output, final_verdict=final)
        return deps.record(task, stalled)
    return deps.record(task, moved(task, Status.FAILED, error=code, note=note, output=output, final_verdict=final))


def _sentence(text: str) -> str:
    """What a program printed has no full stop, and the hint follows."""
    return text if not text or text.endswith((".", "!", "?", ":")) else f"{text}."


def _tripped(deps: Deps, task: Task) -> bool:
    """Three identical failures on the same commit."""
    failed = [p.result for p in deps.book.history(task.id).phases if p.state == "failed"]
    alike = [(r.get("phase"), r.get("error"), r.get("what"), r.get("commit")) for r in failed[-BREAKER:]]
    return len(alike) == BREAKER and len(set(alike)) == 1 and alike[0][1] not in _NOT_THE_TASKS
