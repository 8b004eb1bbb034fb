"""A person's comment on a task: a finding that the next improve phase settles. One transaction."""

from __future__ import annotations

from dataclasses import replace

from burnish.core.event import Event
from burnish.core.finding import COMMENT_RULE, Category, Finding, Remark, Severity
from burnish.core.gate import Actor, GateChoice
from burnish.core.history import History
from burnish.core.ledger import ledger
from burnish.core.status import Status
from burnish.core.task import Task, TaskType
from burnish.engine.commands.decide import send_back
from burnish.engine.commands.override import gate_closed
from burnish.engine.ports import EventLog
from burnish.engine.transitions import finding_events
from burnish.errors import BadInput, Refused

# a longer comment belongs into the description, or into a file of the repository
MAX_LENGTH = 20_000
MAX_TITLE_LENGTH = 120
REOPENED = frozenset({Status.VERIFIED, Status.WAITING_APPROVAL})
_OPEN = frozenset({Status.IN_PROGRESS, Status.CODE_REVIEW, Status.BLOCKED, Status.FAILED}) | REOPENED


def comment(event_log: EventLog, task_id: int, text: str, person: Actor) -> Finding:
    """Open a finding with the person's words. The caller holds the lock of the ledger.

    A task that was approved, or that waits for an approval, goes back to its author.
    """
    history = event_log.history(task_id)
    _check(history.task, text)
    update = ledger.open_finding(history.findings, _remark(text.strip(), person), history.cycle)
    (finding_id,) = update.opened
    events = finding_events(history.task, history.cycle, history.findings, update)
    event_log.record(task_id, *events, *_reopen(event_log, replace(history, findings=update.findings), person))
    return update.finding(finding_id)


def _check(task: Task, text: str) -> None:
    if not text.strip():
        raise BadInput("The comment is empty.", hint=f'Say what to change: burnish comment {task.id} "…"')
    if len(text) > MAX_LENGTH:
        raise BadInput(f"The comment has {len(text):,} characters, more than {MAX_LENGTH:,}.", hint="Shorten it.")
    if task.spec.type is TaskType.PLAN:
        hint = f'If it waits for your decision: burnish decide {task.id} fix -m "…"'
        raise Refused(f"Task {task.id} is a plan, which has no findings.", hint=hint)
    if task.spec.type is TaskType.REVIEW:
        raise Refused(f"Task {task.id} only reviews: its findings are not fixed.", hint="Add a task: burnish add")
    if task.status is Status.BACKLOG:
        hint = f"Change what it asks for: burnish edit {task.id}"
        raise Refused(f"Task {task.id} has not been started: there is no work to comment on.", hint=hint)
    if task.status not in _OPEN:
        hint = f"Put it back first: burnish retry {task.id} --later"
        if task.status is Status.COMPLETED:
            hint = f"Add a task that continues its branch: burnish add -t improve --of {task.id}"
        raise Refused(f"Task {task.id} is {task.status}.", hint=hint)


def _remark(text: str, person: Actor) -> Remark:
    first_line = " ".join(text.splitlines()[0].split())
    is_long = len(first_line) > MAX_TITLE_LENGTH
    title = first_line[: MAX_TITLE_LENGTH - 1].rstrip() + "…" if is_long else first_line
    description = "" if title == text else text
    return Remark(Category.CODE, Severity.ERROR, title, description, source=person.name, rule=COMMENT_RULE)


def _reopen(event_log: EventLog, history: History, person: Actor) -> list[Event]:
    """An approval is void, and a person who was to be asked has answered."""
    if history.task.status not in REOPENED:
        return []
    return [*gate_closed(history, GateChoice.FIX), *send_back(event_log, history, "", person)]
