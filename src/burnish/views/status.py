"""Tasks as `status` shows them: one line or one JSON object per task, and the sum of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from burnish.core.cost import joint_source, known_cost, short_cost
from burnish.core.status import ErrorCode, FinalVerdict, Reason, ReviewStatus, Status
from burnish.core.task import Task
from burnish.views.filters import unmet_among

if TYPE_CHECKING:
    from burnish.core.agent import UsageLimit
    from burnish.core.commit import TargetConflict
    from burnish.store import Store

Alive = Callable[[str], bool] | None
# the usage limit that a task waits for
LimitOf = Callable[[Task], "UsageLimit | None"]

MARKS: Mapping[Status, str] = {
    Status.BACKLOG: "·",
    Status.IN_PROGRESS: "→",
    Status.CODE_REVIEW: "→",
    Status.WAITING_APPROVAL: "!",
    Status.VERIFIED: "✓",
    Status.COMPLETED: "✓",
    Status.BLOCKED: "!",
    Status.FAILED: "✗",
    Status.CANCELLED: "✗",
}

_DOING = {
    "implement": "implementing",
    "improve": "improving",
    "check": "checking",
    "review": "reviewing",
    "review-fix": "reviewing and fixing",
    "gate": "at the gate",
}

UNDER_WAY = (Status.IN_PROGRESS, Status.CODE_REVIEW)
# what a task at rest in code_review waits for → the command that starts it
WAITING = {
    "review": "burnish review {}",
    "improve": "burnish improve {}",
    "outside": "burnish review {} --from FILE",
}
# reasons that the final verdict already shows
IN_VERDICT = (Reason.MAX_CYCLES, Reason.NEEDS_DISCUSSION, Reason.REJECTED)
NEEDS_A_PERSON = (Status.BLOCKED, Status.WAITING_APPROVAL, Status.FAILED)
# what stands still, and what to look at or type first
_FIRST = (
    (Status.BLOCKED, "burnish show {}"),
    (Status.WAITING_APPROVAL, "burnish show {}"),
    (Status.FAILED, "burnish retry {}"),
)

READY = "ready"
GOES_ON = "interrupted: `burnish run {}` goes on"
SENT_BACK = "sent back{words}: `burnish run {id}` fixes it"
# of the words that a task was sent back with: a line of status has one row
_MAX_NOTE_LENGTH = 60
AT_REST = {
    "review": "waits for its review",
    "improve": "waits for `burnish improve {}`",
    "outside": "handed to a reviewer outside",
}


@dataclass(frozen=True, slots=True)
class StatusLine:
    """The status line of one task, in fields. Empty fields are not shown."""

    mark: str
    id: str
    title: str
    status: str
    # "APPROVED (3 cycles)", "(cycle 2/3, improving 1m12s)", "waits for 3" or why it stands still
    detail: str = ""
    # beside the verdict, which they explain
    overrides: str = ""
    review: str = ""
    open: str = ""
    # with its target, where it is approved
    conflict: str = ""
    cost: str = ""

    @property
    def words(self) -> str:
        """Everything after the status, as one text."""
        pieces = "  ".join(
            piece for piece in (self.detail, self.overrides, self.conflict, self.review, self.open) if piece
        )
        return f"{pieces}   {self.cost}".strip()


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts by status, the cost, the number that need a person, and the next command."""

    counts: Mapping[Status, int]
    cost_usd: float | None
    cost_source: str | None
    tokens: int
    need_a_person: int
    # the one command that helps most now, or nothing
    next_step: str

    @property
    def words(self) -> str:
        """`3 tasks: 1 verified, 1 blocked, 1 in progress; $0.42. Next: burnish show 30`"""
        parts = ", ".join(f"{number} {status.replace('_', ' ')}" for status, number in self.counts.items())
        words = short_cost(self.cost_usd, self.cost_source)
        cost = f"; {words}" if words else ""
        next_step = f"Next: {self.next_step}" if self.next_step else ""
        return f"{_many(sum(self.counts.values()), 'task')}: {parts}{cost}. {next_step}".rstrip()


@dataclass(frozen=True, slots=True)
class StatusView:
    tasks: tuple[Task, ...]
    lines: tuple[StatusLine, ...]
    summary: Summary


def status_view(tasks: Sequence[Task], now: datetime, *, among: Sequence[Task] = (), alive: Alive = None) -> StatusView:
    """Status lines of these tasks. `among` holds possible dependencies, if these are not all tasks."""
    unmet = unmet_among(among or tasks)
    lines = tuple(status_line(task, now, unmet=unmet(task), alive=alive) for task in tasks)
    return StatusView(tuple(tasks), lines, summary(tasks, alive=alive))


def unserved_words(store: Store, tasks: Iterable[Task], alive: Callable[[str], bool]) -> list[str]:
    """A line for each waiting task that needs a label which no worker offers."""
    waiting = [
        task
        for task in tasks
        if task.spec.needs
        and (task.status is Status.BACKLOG or (task.status in UNDER_WAY and not is_running(task, alive)))
    ]
    if not waiting or not store.is_shared:
        return []
    offers = _offers(store, waiting[0].project, alive)
    return [
        f"Task {task.id} needs {', '.join(task.spec.needs)}, which no worker offers "
        f"(burnish worker {' '.join(f'--label {label}' for label in task.spec.needs)})."
        for task in waiting
        if not any(offer.issuperset(task.spec.needs) for offer in offers)
    ]


def has_worker(store: Store, task: Task, alive: Callable[[str], bool]) -> bool:
    """Whether a worker offers what the task needs."""
    return store.is_shared and any(one.issuperset(task.spec.needs) for one in _offers(store, task.project, alive))


def _offers(store: Store, project: str, alive: Callable[[str], bool]) -> list[set[str]]:
    """The labels of each worker of the project."""
    cards = [card for card in store.runners() if card.get("kind") == "worker" and alive(str(card["id"]))]
    return [set(card.get("labels", ())) for card in cards if project in card.get("projects", ())]


def waiting_words(store: Store, tasks: Iterable[Task], alive: Callable[[str], bool]) -> list[str]:
    """A line for each running task that waits for the git remote."""
    claims = {f"{task.project}/{task.id}": task.id for task in tasks if task.runner}
    cards = [card for card in store.runners() if card.get("waits") and alive(str(card["id"]))] if claims else []
    waits = {name: why for card in cards for name, why in card["waits"].items()}
    return [f"Task {claims[name]} waits: {why}" for name, why in waits.items() if name in claims]


def with_conflicts(view: StatusView, conflicts: Mapping[tuple[str, int], TargetConflict]) -> StatusView:
    """The same with the conflicts of approved tasks with their targets, by project and number."""
    if not conflicts:
        return view
    found = [conflicts.get((task.project, task.id)) for task in view.tasks]
    pairs = zip(view.lines, found, strict=True)
    lines = tuple(replace(line, conflict=conflict.words) if conflict else line for line, conflict in pairs)
    step = view.summary.next_step
    for task, conflict in zip(view.tasks, found, strict=True):
        if conflict and step == f"burnish diff {task.id}":
            step = conflict.command(task.id)
    return replace(view, lines=lines, summary=replace(view.summary, next_step=step))


def with_limits(view: StatusView, limit_of: LimitOf, now: datetime) -> StatusView:
    """The same with the usage limits that tasks wait for. `now` has the zone of the user."""
    found = [limit_of(task) for task in view.tasks]
    lines = tuple(
        replace(line, detail=_limit_detail(task, line.detail, limit.wait_words(now))) if limit else line
        for task, line, limit in zip(view.tasks, view.lines, found, strict=True)
    )
    return replace(view, lines=lines)


def _limit_detail(task: Task, detail: str, words: str) -> str:
    if task.status is Status.BACKLOG:
        # what it waits for apart from that is there already
        return words if detail == READY else detail
    phase = doing(task.phase or "")
    return f"({', '.join((*_cycle_words(task), f'{phase}: {words}'))})"


def status_line(task: Task, now: datetime, *, unmet: Sequence[int] = (), alive: Alive = None) -> StatusLine:
    """The status line of one task. `alive` tells whether a runner is alive; without it every runner counts as alive."""
    running = is_running(task, alive)
    # a task in the backlog starts a new run: results of an earlier run do not apply
    begun = task.status is not Status.BACKLOG
    return StatusLine(
        mark=MARKS[task.status],
        id=str(task.id),
        title=task.spec.title,
        status=task.status.value,
        detail=_detail(task, now, alive=alive, running=running) if begun else _waits(task, unmet),
        overrides=_many(task.overrides, "override") if begun and task.overrides else "",
        review=_review(task) if begun else "",
        open=f"{task.open_findings} open" if begun and task.open_findings else "",
        cost=known_cost(task.cost_usd, task.cost_source),
    )


def task_json(task: Task, alive: Alive = None, limit: UsageLimit | None = None) -> dict[str, Any]:
    """One entry of `status --json`. `alive` tells whether a runner still lives; without it every runner counts.

    `limit`: the usage limit that the task waits for.
    """
    final = verdict_so_far(task, alive)
    return {
        "id": str(task.id),
        "project": task.project,
        "title": task.spec.title,
        "type": task.spec.type.value,
        "status": task.status.value,
        "reason": task.reason.value if task.reason else None,
        "error": task.error.value if task.error else None,
        "final_verdict": final.value if final else None,
        "cycle": task.cycle,
        "max_cycles": task.max_cycles,
        "review_status": task.review_status.value if task.review_status else None,
        "open_findings": task.open_findings,
        "branch": task.branch,
        "base": task.base,
        "commit": task.commit,
        "agent": task.agent or task.spec.agent,
        "model": task.model or task.spec.model,
        "auto_review": task.auto_review,
        "priority": task.spec.priority,
        "cost_usd": task.cost_usd,
        "cost_source": task.cost_source,
        "tokens": task.tokens,
        "depends_on": [str(other) for other in task.spec.depends_on],
        "overrides": task.overrides,
        "waits_for": task.waits_for or None,
        "usage_limit": limit_json(limit) if limit else None,
        "paused": task.spec.paused,
        "tags": list(task.spec.tags),
        "needs": list(task.spec.needs),
        "archived": task.spec.archived,
        "issues_fixed": task.issues_fixed,
        "created_at": task.created_at,
        "updated_at": task.updated_at,
    }


def limit_json(limit: UsageLimit) -> dict[str, Any]:
    keys = ("login", "until", "is_known", "message", "since")
    return {key: getattr(limit, key) for key in keys}


def is_running(task: Task, alive: Alive = None) -> bool:
    return task.runner is not None and (alive is None or alive(task.runner))


def can_go_on(task: Task, alive: Alive = None) -> bool:
    """Whether `burnish run` continues it: under way without a runner, and not waiting for a person."""
    return task.status in UNDER_WAY and not task.waits_for and not task.is_paused and not is_running(task, alive)


def verdict_so_far(task: Task, alive: Alive = None) -> FinalVerdict | None:
    """The final verdict; for a loop that stopped before its end, the request of the last review."""
    stands = task.status in UNDER_WAY and not is_running(task, alive)
    if stands and task.final_verdict is None and task.review_status is ReviewStatus.FAILED:
        return FinalVerdict.CHANGES_REQUESTED
    return task.final_verdict


def summary(tasks: Iterable[Task], *, alive: Alive = None) -> Summary:
    everything = list(tasks)
    counts = Counter(task.status for task in everything)
    costs = [task.cost_usd for task in everything if task.cost_usd is not None]
    return Summary(
        counts={status: counts[status] for status in Status if status in counts},
        cost_usd=sum(costs) if costs else None,
        cost_source=joint_source(task.cost_source for task in everything),
        tokens=sum(task.tokens for task in everything),
        need_a_person=sum(needs_a_person(task) for task in everything),
        next_step=next_step(everything, alive=alive),
    )


def needs_a_person(task: Task) -> bool:
    """Whether a person has to decide. A rejection by a person is final."""
    return task.status in NEEDS_A_PERSON and task.reason is not Reason.HUMAN_REJECTED


def next_step(tasks: Sequence[Task], *, alive: Alive = None, is_any_ready: bool | None = None) -> str:
    """The one command that helps most now. `is_any_ready`: known already, where these are not all tasks."""
    for status, command in _FIRST:
        for task in tasks:
            if task.status is status and needs_a_person(task) and not task.is_paused:
                return command.format(task.id)
    for task in tasks:
        if can_go_on(task, alive):
            return f"burnish run {task.id}"
        if task.status is Status.CODE_REVIEW and task.waits_for and not task.is_paused and not is_running(task, alive):
            return WAITING.get(task.waits_for, "burnish review {}").format(task.id)
    if is_any_ready is None:
        unmet = unmet_among(tasks)
        is_any_ready = any(task.status is Status.BACKLOG and not task.is_paused and not unmet(task) for task in tasks)
    if is_any_ready:
        # a run that goes on may take them up
        current_task = next((task for task in tasks if is_running(task, alive)), None)
        return f"burnish log -f {current_task.id}" if current_task else "burnish run --all"
    verified_task = next((task for task in tasks if task.status is Status.VERIFIED), None)
    return f"burnish diff {verified_task.id}" if verified_task else ""


def _waits(task: Task, unmet: Sequence[int]) -> str:
    words = ["paused"] if task.is_paused else []
    words += [f"waits for {', '.join(map(str, unmet))}"] if unmet else []
    return ", ".join(words) or READY


def _review(task: Task) -> str:
    at_rest = task.status not in UNDER_WAY or (task.status is Status.CODE_REVIEW and task.waits_for)
    words = review_words(task)
    return f"review: {words}" if words and at_rest else ""


# in the first cycle these stop a task before its first review, though it is marked as not passed
_BEFORE_REVIEW = frozenset({Reason.NO_CHANGES, Reason.SECRET, Reason.BRANCH_GONE})


def status_words(status: Status) -> str:
    return "waits for approval" if status is Status.WAITING_APPROVAL else status.value.replace("_", " ")


def stands(status: Status) -> str:
    """`is blocked`: the status as a part of a sentence."""
    return _STANDS.get(status) or f"is {status_words(status)}"


_STANDS = {
    Status.WAITING_APPROVAL: status_words(Status.WAITING_APPROVAL),
    Status.FAILED: "has failed",
    Status.CODE_REVIEW: "is in review",
    Status.BACKLOG: "is in the backlog",
}


def review_words(task: Task) -> str:
    """`passed`, or `fixed, 2 issues` where the reviewer changed the code itself."""
    if task.review_status is ReviewStatus.FAILED and task.reason in _BEFORE_REVIEW and task.cycle <= 1:
        return ""
    has_fixes = task.review_status is ReviewStatus.FIXED and task.issues_fixed
    return f"{task.review_status}, {_many(task.issues_fixed, 'issue')}" if has_fixes else str(task.review_status or "")


def stop_reason(task: Task) -> Reason | ErrorCode | None:
    """Why it stopped; None if the final verdict already shows it."""
    if task.final_verdict is not None and task.reason in IN_VERDICT:
        return None if task.error is ErrorCode.REVIEW_REJECTED else task.error
    return task.reason or task.error


def _detail(task: Task, now: datetime, *, alive: Alive, running: bool) -> str:
    if task.status in UNDER_WAY:
        words = (verdict_so_far(task, alive), _progress(task, now, running=running))
        return " ".join(str(word) for word in words if word)
    why = ", ".join(word for word in (task.final_verdict, stop_reason(task), "paused" * task.is_paused) if word)
    cycles = f"({_many(task.cycle, 'cycle')})" if task.cycle else ""
    return f"{why} {cycles}".strip() if why else ""


def _progress(task: Task, now: datetime, *, running: bool) -> str:
    parts = [*_cycle_words(task)]
    if not running and task.is_paused:
        parts.append(f"paused: `burnish unpause {task.id}`")
    elif not running and was_cut(task):
        parts.append(_sent_back(task) if was_sent_back(task) else GOES_ON.format(task.id))
    elif not running and task.waits_for:
        parts.append(AT_REST.get(task.waits_for, AT_REST["review"]).format(task.id))
    elif task.phase:
        parts.append(f"{doing(task.phase)} {elapsed(task.phase_started, now)}".rstrip())
        parts += ["pauses after it"] if task.is_paused else []
    return f"({', '.join(parts)})" if parts else ""


def _cycle_words(task: Task) -> tuple[str, ...]:
    return (cycles_words(task),) if task.cycle else ()


def _sent_back(task: Task) -> str:
    note = " ".join(task.note.split())
    short = note if len(note) <= _MAX_NOTE_LENGTH else f"{note[: _MAX_NOTE_LENGTH - 1]}…"
    return SENT_BACK.format(words=f' with "{short}"' if short else "", id=task.id)


def was_sent_back(task: Task) -> bool:
    """Whether it stopped between two phases because a review or a person asked for changes.

    A plan has no review status: there, the person's note tells it.
    """
    has_request = task.review_status is ReviewStatus.FAILED or bool(task.note)
    return task.status is Status.IN_PROGRESS and has_request and not task.phase and task.error is None


def was_cut(task: Task) -> bool:
    """Whether a task without a runner was interrupted during its work."""
    return bool(
        task.status is Status.IN_PROGRESS
        or (task.status is Status.CODE_REVIEW and (task.phase or task.error is ErrorCode.INTERRUPTED))
    )


def doing(phase: str) -> str:
    """`improving`, `reviewing (security)`."""
    name, _, step = phase.partition(":")
    return _DOING.get(name, name) + (f" ({step})" if step else "")


def cycles_words(task: Task) -> str:
    """`cycle 2/3`; past the maximum `cycle 4 (max 3)`."""
    if task.cycle > task.max_cycles:
        return f"cycle {task.cycle} (max {task.max_cycles})"
    return f"cycle {task.cycle}/{task.max_cycles}"


def elapsed(since: str | None, now: datetime) -> str:
    """`12s`, `1m12s`, `2h05m`."""
    if not since:
        return ""
    # a clock that was put back must not show a negative time
    seconds = max(0, int((now - datetime.fromisoformat(since)).total_seconds()))
    if seconds < 60:
        return f"{seconds}s"
    if seconds < 3600:
        return f"{seconds // 60}m{seconds % 60:02d}s"
    return f"{seconds // 3600}h{seconds % 3600 // 60:02d}m"


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
