"""A person's comments on a task: findings that the next improve phase settles. Each call is one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from burnish.core.event import Event
from burnish.core.finding import COMMENT_RULE, REMARK_RULE, Category, Finding, Remark, Severity
from burnish.core.flow import RUNNING
from burnish.core.gate import Actor, GateChoice
from burnish.core.history import History
from burnish.core.ledger import ledger
from burnish.core.ledger.ledger import LedgerDiff
from burnish.core.ledger.ledger_diff import diff_ledgers
from burnish.core.status import Status, check_move
from burnish.core.task import Task, TaskType
from burnish.engine.commands.decide import send_back
from burnish.engine.commands.override import check_seen, gate_closed
from burnish.engine.ports import EventLog
from burnish.engine.ports_git import Repository
from burnish.engine.transitions import finding_events, recorded_findings
from burnish.errors import BadInput, Refused

# a longer comment belongs into the description, or into a file of the repository
MAX_LENGTH = 20_000
MAX_TITLE_LENGTH = 120
REOPENED = frozenset({Status.VERIFIED, Status.WAITING_APPROVAL})
_OPEN = frozenset({Status.IN_PROGRESS, Status.CODE_REVIEW, Status.BLOCKED, Status.FAILED}) | REOPENED


@dataclass(frozen=True, slots=True)
class Comment:
    """A person's words on a place of the change; without a file they are about all of it."""

    text: str
    file: str | None = None
    line: int | None = None
    end_line: int | None = None
    # the lines that it is about
    quote: str = ""
    # the lines that the person proposes instead
    suggestion: str = ""


def comment(event_log: EventLog, task_id: int, words: Comment, person: Actor) -> Finding:
    """Open a finding with the person's words. The caller holds the lock of the ledger.

    A task that was approved, or that waits for an approval, goes back to its author.
    """
    history = event_log.history(task_id)
    _check(history.task, words.text)
    update = _open_findings(history, [words], person)
    events = finding_events(history.task, history.cycle, history.findings, update)
    event_log.record(task_id, *events, *_reopen(event_log, replace(history, findings=update.findings), person))
    return recorded_findings(event_log, task_id, update.opened)[0]


def request_changes(
    event_log: EventLog,
    repository: Repository,
    task_id: int,
    comments: Sequence[Comment],
    note: str,
    person: Actor,
    *,
    commit: str,
) -> tuple[Finding, ...]:
    """Open a finding for each comment and send the task back. The caller holds the lock of the ledger.

    A task that runs is not sent back: its next improve phase reads the findings.
    """
    history = event_log.history(task_id)
    task = history.task
    is_held = task.status in RUNNING and task.runner is not None and not event_log.is_dead(task.runner)
    if is_held and note.strip():
        comments = [*comments, Comment(note)]
    _check_task(task)
    for words in comments:
        _check(task, words.text)
    sends_back = not is_held and task.status is not Status.FAILED
    if sends_back:
        check_seen(repository, history, commit)
        if task.status is not Status.IN_PROGRESS:
            check_move(str(task.id), task.status, Status.IN_PROGRESS)
    update = _open_findings(history, comments, person)
    events = finding_events(task, history.cycle, history.findings, update)
    if sends_back:
        after = replace(history, findings=update.findings)
        events += [*gate_closed(after, GateChoice.FIX), *send_back(event_log, after, note, person, commit=commit)]
    event_log.record(task_id, *events)
    return recorded_findings(event_log, task_id, update.opened)


def remark(event_log: EventLog, task_id: int, comments: Sequence[Comment], person: Actor) -> tuple[Finding, ...]:
    """Open a finding of severity info for each comment; the task stays as it is. The caller holds the ledger's lock."""
    history = event_log.history(task_id)
    for words in comments:
        _check(history.task, words.text)
    update = _open_findings(history, comments, person, severity=Severity.INFO)
    event_log.record(task_id, *finding_events(history.task, history.cycle, history.findings, update))
    return recorded_findings(event_log, task_id, update.opened)


def _open_findings(
    history: History, comments: Sequence[Comment], person: Actor, *, severity: Severity = Severity.ERROR
) -> LedgerDiff:
    findings = history.findings
    for words in comments:
        findings = ledger.open_finding(findings, _remark(words, person, severity), history.cycle).findings
    return diff_ledgers(history.findings, findings)


def _check(task: Task, text: str) -> None:
    _check_task(task)
    if not text.strip():
        raise BadInput("The comment is empty.", hint=f'Say what to change: burnish comment {task.id} "…"')
    if len(text) > MAX_LENGTH:
        raise BadInput(f"The comment has {len(text):,} characters, more than {MAX_LENGTH:,}.", hint="Shorten it.")


def _check_task(task: Task) -> None:
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


def _remark(words: Comment, person: Actor, severity: Severity) -> Remark:
    text = words.text.strip()
    first_line = " ".join(text.splitlines()[0].split())
    is_long = len(first_line) > MAX_TITLE_LENGTH
    title = first_line[: MAX_TITLE_LENGTH - 1].rstrip() + "…" if is_long else first_line
    description = "" if title == text else text
    return Remark(
        Category.CODE,
        severity,
        title,
        description,
        words.suggestion,
        file=words.file,
        line=words.line,
        end_line=words.end_line,
        quote=words.quote,
        source=person.name,
        rule=COMMENT_RULE if severity is Severity.ERROR else REMARK_RULE,
    )


def _reopen(event_log: EventLog, history: History, person: Actor) -> list[Event]:
    """An approval is void, and a person who was to be asked has answered."""
    if history.task.status not in REOPENED:
        return []
    return [*gate_closed(history, GateChoice.FIX), *send_back(event_log, history, "", person)]
