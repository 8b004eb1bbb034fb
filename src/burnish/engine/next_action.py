"""What happens after a decision, in the words of the review artifact's last section."""

from __future__ import annotations

from dataclasses import replace

from burnish.core.finding import listed
from burnish.core.history import DecisionRecord, History
from burnish.core.status import Status
from burnish.engine.ports import Deps
from burnish.review.artifact import MalformedArtifact, file_name, parse_artifact, render_artifact
from burnish.review.body import with_action


def action_required(history: History, cycle: int) -> str:
    """What the decision on this cycle leads to; "" where none stands."""
    decision = history.decision(cycle)
    if decision is None:
        return ""
    task, why = history.task, decision.data.why
    waits = task.status is Status.WAITING_APPROVAL and cycle == history.cycle
    if decision.action == "revise":
        return _next_cycle(decision, cycle, task.max_cycles)
    if waits or decision.action == "ask":
        return f"A person decides: `burnish decide {task.id} approve` (or `reject`, `fix`). {task.note or why}".strip()
    if decision.action == "wait" and decision.data.proposed == "revise":
        return f"`burnish improve {task.id}` has the findings fixed. The next step is started by hand. {why}".strip()
    if decision.action == "escalate":
        reason = decision.data.reason or "blocked"
        return f"A person must decide ({reason}): {why}\n\n`burnish inbox` names the command for task {task.id}."
    if decision.action == "accept":
        return "None: the change is accepted."
    return why or "A person must decide."


def _next_cycle(decision: DecisionRecord, cycle: int, most: int) -> str:
    blockers = listed(list(decision.data.blockers))
    number = f"cycle {cycle + 1} of {most}" if cycle < most else f"cycle {cycle + 1} (max {most})"
    return f"The agent fixes {blockers or 'what the review asks for'} in {number}."


def write_next_action(deps: Deps, history: History, cycle: int) -> None:
    """Into the artifacts of this cycle and the one before it, whose decision a person may have changed."""
    for number in (cycle - 1, cycle):
        name = file_name(number)
        data = deps.task_files.read(history.task, name) if number > 0 else None
        action = action_required(history, number)
        if data is None or not action:
            continue
        try:
            artifact = parse_artifact(data.decode("utf-8", "replace"), name)
        except MalformedArtifact as damaged:
            deps.progress.note(f"Task {history.task.id}: {damaged}")
            continue
        whole = render_artifact(replace(artifact, body=with_action(artifact.body, action)), limit=1 << 30).encode()
        if whole != data:
            deps.task_files.write(history.task, name, whole)
