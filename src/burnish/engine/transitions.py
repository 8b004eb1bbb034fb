"""The events that move a task or change its findings: one place that knows their shape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace

from burnish.core.event import Event
from burnish.core.finding import COMMENT_RULE, Finding
from burnish.core.history import History
from burnish.core.journal import WorkResult, read
from burnish.core.journal_events import (
    DecisionMade,
    FindingChanged,
    PhaseStarted,
    RunFinished,
    RunStarted,
    TaskStatus,
    new_event,
)
from burnish.core.ledger.ledger import LedgerDiff
from burnish.core.status import ErrorCode, FinalVerdict, Reason, ReviewStatus, Status
from burnish.core.task import Task
from burnish.engine.ports import Deps, EventLog

RESTS = frozenset({Status.VERIFIED, Status.COMPLETED, Status.BLOCKED, Status.FAILED, Status.CANCELLED})


def with_finish(events: Sequence[Event]) -> list[Event]:
    """The events, with `run.finished` after each status in which a run ends."""
    all_events: list[Event] = []
    for event in events:
        all_events.append(event)
        move = read(TaskStatus, event.data) if event.type == "task.status" else None
        if move and move.to in RESTS and move.before not in RESTS:
            all_events.append(new_event("run.finished", RunFinished(move.to), run=event.run, cycle=event.cycle))
    return all_events


def verdict_when_stopped(history: History) -> FinalVerdict | None:
    """Of a loop that ends before it is decided: what the last review or check asked for."""
    return FinalVerdict.CHANGES_REQUESTED if history.sent_back else None


def status_events(
    task: Task,
    to: Status,
    *,
    cycle: int | None = None,
    reason: Reason | None = None,
    error: ErrorCode | None = None,
    note: str = "",
    output: str = "",
    final_verdict: FinalVerdict | None = None,
    review_status: ReviewStatus | None = None,
    clears_review: bool = False,
) -> Event:
    """`task.status`: exactly one per change of status."""
    data = TaskStatus(task.status, to, reason, error, note, output, final_verdict, review_status)
    # null clears what an earlier round ended with
    explicit = () if to in (Status.COMPLETED, Status.CANCELLED) else ("final_verdict",)
    if clears_review:
        explicit = (*explicit, "review_status")
    where = task.cycle if cycle is None else cycle
    return new_event("task.status", data, run=task.run, cycle=where, explicit=explicit)


def resumed(history: History, to: Status, *, note: str = "") -> Event:
    """A task that stopped goes on. A review that judged nothing, such as an unreadable one, leaves no status behind."""
    is_judged = history.task.review_status is not ReviewStatus.FAILED or history.sent_back
    return status_events(history.task, to, note=note, clears_review=not is_judged)


def judge_again(history: History, why: str) -> Event:
    """The same code in the same cycle: its checks and reviews are repeated, and the earlier results stay on record."""
    data = DecisionMade(action="again", by="burnish", why=why, supersede=("check", "review", "gate"))
    return new_event("decision.made", data, run=history.task.run, cycle=history.cycle)


def rebased(task: Task, base: str | None) -> list[Event]:
    """On record where the change begins, if that is elsewhere now: the branch has taken its target in."""
    if base is None or base == task.base:
        return []
    return [new_event("run.started", RunStarted(task.run, base=base), run=task.run, cycle=task.cycle)]


def judge_again_on_new_base(
    history: History, commit: str, tree: str, why: str, *, base: str | None = None
) -> list[Event]:
    """The next cycle judges what is on the branch now, from `base` on; no agent works in it."""
    task, cycle = history.task, history.cycle + 1
    decision = DecisionMade(action="revise", by="burnish", why=why)
    return [
        *rebased(task, base),
        new_event("decision.made", decision, run=task.run, cycle=history.cycle, explicit=("blockers",)),
        new_event("phase.started", PhaseStarted("improve", by_hand=True, why=why), run=task.run, cycle=cycle),
        new_event("phase.finished", work_by_hand("improve", commit, tree, why), run=task.run, cycle=cycle),
    ]


def work_by_hand(phase: str, commit: str, tree: str, why: str = "", *, attempt: int = 1) -> WorkResult:
    """The result of a phase in which no agent worked."""
    return WorkResult(phase, attempt, commit=commit, tree=tree, changed=True, by_hand=True, why=why)


# -- ledger events --------------------------------------------------------------------------------
# A change of the ledger as events, one for each finding that is not as it was.


def ledger_lock(deps: Deps, task_id: int) -> AbstractContextManager[None]:
    """Held from reading the ledger until the change is recorded: two findings must not get the same id."""
    return deps.task_files.lock(f"ledger-{task_id}")


@contextmanager
def current_ledger(deps: Deps, history: History) -> Iterator[History]:
    """The history with the findings as they are now. A person's comment waits until the block has recorded its own."""
    with ledger_lock(deps, history.task.id):
        yield replace(history, findings=deps.event_log.findings(history.task.id))


def finding_events(task: Task, cycle: int, before: Sequence[Finding], update: LedgerDiff) -> list[Event]:
    old = {f.id: f for f in before}
    changed_findings = [f for f in update.findings if old.get(f.id) != f]
    return [
        new_event(f"finding.{_kind(f.id, update)}", FindingChanged(f), run=task.run, cycle=cycle)
        for f in changed_findings
    ]


def first_findings(event_log: EventLog, task: Task, run: int) -> list[Event]:
    """The findings that a new run begins with.

    What earlier reviews in another tool found, as it was before the first run, and what persons said in the run before
    and what is still open. A comment keeps its id and its file; its line was in the code of that run. The
    author has not read it, so that cycle 1 is followed by an improve phase.
    """
    findings: dict[str, Finding] = {}
    for event in event_log.events(task.id):
        if event.type == "run.started":
            break
        if event.type.startswith("finding."):
            finding = read(FindingChanged, event.data).finding
            findings[finding.id] = finding
    for finding in event_log.findings(task.id) if task.run else ():
        if finding.alive and finding.remark.rule == COMMENT_RULE:
            remark = replace(finding.remark, line=None, end_line=None, quote="")
            again = Finding(finding.id, remark, reviewers=finding.reviewers)
            findings[finding.id] = replace(again, replies=finding.replies)
    return [new_event(one.event_type, FindingChanged(one), run=run, cycle=0) for one in findings.values()]


def recorded_findings(event_log: EventLog, task_id: int, ids: Sequence[str]) -> tuple[Finding, ...]:
    """Findings as they are on record, which is without secrets: what a command returns is shown."""
    by_id = {finding.id.casefold(): finding for finding in event_log.findings(task_id)}
    return tuple(by_id[id.casefold()] for id in ids)


def _kind(finding_id: str, update: LedgerDiff) -> str:
    for kind in ("opened", "resolved", "reopened", "waived", "disputed"):
        if finding_id in getattr(update, kind):
            return kind
    return "reanchored"
