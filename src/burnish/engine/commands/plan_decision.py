"""What a person decides on a plan that waits for approval. A plan is text: there is no commit to bind it to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from burnish.core.event import Event
from burnish.core.gate import Actor, GateChoice, GateDecision
from burnish.core.history import History
from burnish.core.journal_events import DecisionMade, TaskStatus, new_event
from burnish.core.status import ErrorCode, FinalVerdict, Reason, Status
from burnish.engine.transitions import status_events
from burnish.errors import BadInput, Refused


def decide_plan(history: History, answer: GateDecision, person: Actor) -> list[Event]:
    """Approve it, reject it, or have it written again with a note."""
    task, note = history.task, answer.note.strip()
    if task.status is not Status.WAITING_APPROVAL:
        raise Refused(f"The plan of task {task.id} does not wait for a decision.", hint=f"burnish show {task.id}")
    where: dict[str, Any] = {"run": task.run, "cycle": history.cycle}
    signature = DecisionMade(choice=answer.choice, by=person.name, via=person.via, note=note)
    if answer.choice is GateChoice.FIX:
        if not note:
            raise BadInput("A plan is written again only with a note.", hint='Say what to change: -m "…"')
        again = replace(signature, action="again", why=note, guidance=note, supersede=("implement", "gate"))
        back = status_events(task, Status.IN_PROGRESS, cycle=history.cycle, note=note)
        return [new_event("decision.made", again, **where), back]
    if answer.choice is GateChoice.REJECT:
        return _reject(history, note or "the plan was rejected by a person", signature, where)
    data = replace(signature, action="accept", why=note or "the plan was approved by a person")
    verification = status_events(task, Status.VERIFIED, cycle=history.cycle, final_verdict=FinalVerdict.APPROVED)
    completion = new_event("task.status", TaskStatus(Status.VERIFIED, Status.COMPLETED), **where)
    return [new_event("decision.made", data, **where, explicit=("note",)), verification, completion]


def _reject(history: History, why: str, signature: DecisionMade, where: dict[str, Any]) -> list[Event]:
    reason = Reason.HUMAN_REJECTED
    data = replace(signature, action="escalate", why=why, reason=reason)
    stop = status_events(
        history.task,
        Status.BLOCKED,
        cycle=history.cycle,
        reason=reason,
        error=ErrorCode.REVIEW_REJECTED,
        note=why,
        final_verdict=FinalVerdict.REJECTED,
    )
    return [new_event("decision.made", data, **where, explicit=("blockers", "note")), stop]
