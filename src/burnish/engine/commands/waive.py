"""A person's decisions on findings: waive, resolve, reopen, reply, and the expiry of waivers. One transaction each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from burnish.core.event import Event
from burnish.core.finding import Finding, Reply, Severity, Waiver, blocks, is_from_person
from burnish.core.flow import RUNNING
from burnish.core.history import History
from burnish.core.journal_events import ApprovalVoided, DecisionMade, FindingChanged, new_event
from burnish.core.ledger import ledger
from burnish.core.ledger.ledger import LedgerDiff
from burnish.core.recorded_reviews import blockers_gone, last_blockers_gone
from burnish.core.status import Reason, Status
from burnish.engine.ports import EventLog
from burnish.engine.transitions import finding_events, recorded_findings, status_events
from burnish.errors import BadInput, NotFound, Refused

# Reasons that a waiver can resolve, unlike others (unreadable, rejected, budget).
BLOCKED_BY_FINDINGS = frozenset({Reason.MAX_CYCLES, Reason.STALLED, Reason.GUARD, Reason.NEEDS_DISCUSSION})
APPROVED = frozenset({Status.VERIFIED, Status.WAITING_APPROVAL})


def waive(event_log: EventLog, task_id: int, finding_id: str, waiver: Waiver, *, block_on: Severity) -> Finding:
    """Waive a finding. If it was the last blocker, the next run decides on the task again."""
    if not waiver.reason.strip():
        raise BadInput("A waiver needs a reason.", hint='Say why the finding may stay: --reason "…"')
    history = _unheld_history(event_log, task_id)
    tree = _tree_of(history, finding_id)
    update = ledger.waive(history.findings, finding_id, replace(waiver, cycle=history.cycle, tree=tree))
    event_log.record(
        task_id, *_finding_events(history, update), *_resume_if_unblocked(history, update, waiver, block_on)
    )
    return _recorded(event_log, task_id, finding_id)


def _tree_of(history: History, finding_id: str) -> str:
    """The tree whose lines the finding counts, which the person sees: not work that came after the last review."""
    name = finding_id.strip().casefold()
    cycle = next((f.last_cycle for f in history.findings if f.id.casefold() == name), history.cycle)
    work, reviews = history.tip(cycle), history.reviews(cycle)
    return reviews[-1].result.tree if reviews else work.result.tree if work else ""


def reopen(event_log: EventLog, task_id: int, finding_id: str, *, by: str, reason: str, block_on: Severity) -> Finding:
    """Reopen a finding. An approval is void if the finding blocks."""
    history = _unheld_history(event_log, task_id)
    note = f"reopened by {by}" + (f": {reason.strip()}" if reason.strip() else "")
    update = ledger.reopen(history.findings, finding_id, note, history.cycle)
    event_log.record(task_id, *_finding_events(history, update), *_void(history, update, block_on))
    return _recorded(event_log, task_id, finding_id)


def resolve(event_log: EventLog, task_id: int, finding_id: str, *, by: str, reason: str) -> Finding:
    """Resolve a finding that a person raised. The status of the task stays."""
    history = _unheld_history(event_log, task_id)
    note = f"resolved by {by}" + (f": {reason.strip()}" if reason.strip() else "")
    update = ledger.resolve(history.findings, finding_id, note)
    event_log.record(task_id, *_finding_events(history, update))
    return _recorded(event_log, task_id, finding_id)


def dispute(event_log: EventLog, task_id: int, finding_id: str, evidence: str) -> Finding:
    """Mark an open finding as disputed. The next review rules on it; the status of the task stays."""
    history = _unheld_history(event_log, task_id)
    name = finding_id.strip().casefold()
    found = next((one for one in history.findings if one.id.casefold() == name), None)
    if found is None:
        raise NotFound(f"Task {task_id} has no finding {finding_id.strip()}.", hint=f"See: burnish findings {task_id}")
    if not evidence.strip():
        raise BadInput("A dispute needs evidence.", hint="Say why the finding is wrong.")
    if not found.alive:
        raise Refused(f"{found.id} is {found.state}, so there is nothing to dispute.", hint="")
    if is_from_person(found):
        raise Refused(f"{found.id} is a comment of a person, who alone can withdraw it.", hint="Ask that person.")
    update = ledger.dispute(history.findings, [(found.id, evidence)], history.cycle)
    event_log.record(task_id, *_finding_events(history, update))
    return _recorded(event_log, task_id, found.id)


def reply(event_log: EventLog, task_id: int, finding_id: str, answer: Reply) -> Finding:
    """Add a person's reply, which the author reads with the finding. The caller holds the lock of the ledger."""
    if not answer.text.strip():
        raise BadInput("The reply is empty.", hint="Write what the author or the reviewer should know.")
    history = event_log.history(task_id)
    finding = ledger.reply(history.findings, finding_id, answer)
    event_log.record(
        task_id, new_event("finding.replied", FindingChanged(finding), run=history.task.run, cycle=history.cycle)
    )
    return _recorded(event_log, task_id, finding_id)


def expire(event_log: EventLog, task_id: int, today: str, *, block_on: Severity) -> tuple[str, ...]:
    """Reopen what was waived until a day that has passed; the ids."""
    history = event_log.history(task_id)
    update = ledger.expire(history.findings, today)
    if update.reopened and not _is_held(event_log, history):
        event_log.record(task_id, *_finding_events(history, update), *_void(history, update, block_on))
        return update.reopened
    return ()


def _unheld_history(event_log: EventLog, task_id: int) -> History:
    """The history, if no runner works on the task: its changes to the finding and ours would overwrite each other."""
    event_log.refuse_if_held(task_id)
    return event_log.history(task_id)


def _is_held(event_log: EventLog, history: History) -> bool:
    task = history.task
    return task.status in RUNNING and task.runner is not None and not event_log.is_dead(task.runner)


def _recorded(event_log: EventLog, task_id: int, finding_id: str) -> Finding:
    return recorded_findings(event_log, task_id, [finding_id.strip()])[0]


def _finding_events(history: History, update: LedgerDiff) -> list[Event]:
    return finding_events(history.task, history.cycle, history.findings, update)


def _resume_if_unblocked(history: History, update: LedgerDiff, waiver: Waiver, block_on: Severity) -> list[Event]:
    """Decide on the stored review again if the last blocker was waived."""
    task, decision = history.task, history.decision(history.cycle)
    if task.status is not Status.BLOCKED or task.reason not in BLOCKED_BY_FINDINGS or decision is None:
        return []
    blockers = decision.data.blockers
    is_last = last_blockers_gone(update.findings, blockers, block_on)
    if not is_last and not (task.reason is Reason.GUARD and blockers_gone(update.findings, blockers)):
        return []
    # the guard stops a task before its review: that rules on findings of earlier reviews which are still open
    why = "the last blocker was waived" if is_last else "the last finding of the guard was waived"
    data = DecisionMade(action="again", by=waiver.by, why=why, waived=is_last, blockers=blockers)
    again = new_event("decision.made", data, run=task.run, cycle=history.cycle)
    note = f"{why[0].upper()}{why[1:]}: `burnish run {task.id}` decides again."
    return [again, status_events(task, Status.CODE_REVIEW, note=note)]


def _void(history: History, update: LedgerDiff, block_on: Severity) -> list[Event]:
    """Void the approval and return to the stored review if a blocking finding is open again.

    A person who is asked because of that finding is still asked: nothing was approved.
    """
    task, decision = history.task, history.decision(history.cycle)
    asked = decision.data.blockers if decision and decision.action == "ask" else ()
    known = asked if task.status is Status.WAITING_APPROVAL else ()
    reopened = set(update.reopened) - set(known)
    open_blockers = [f for f in update.findings if f.id in reopened and blocks(f, block_on)]
    if task.status not in APPROVED or not open_blockers:
        return []
    why = f"{', '.join(f.id for f in open_blockers)} is open again: {open_blockers[0].note}"
    where: dict[str, Any] = {"run": task.run, "cycle": history.cycle}
    again = DecisionMade(action="again", by="burnish", why=why)
    return [
        new_event("approval.voided", ApprovalVoided(why), **where),
        new_event("decision.made", again, **where),
        status_events(task, Status.CODE_REVIEW, note=why),
    ]
