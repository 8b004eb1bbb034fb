"""The board: five columns or a column for each status, a card for each task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from burnish.core.cost import CostSource, joint_source, short_cost
from burnish.core.gate import REVIEW_APPROVED
from burnish.core.status import FinalVerdict, Reason, ReviewStatus, Status
from burnish.core.task import Task
from burnish.store import Store
from burnish.views.board_moves import IDLE, RUNNING, moves, others
from burnish.views.filters import MET, unmet_among
from burnish.views.status import UNDER_WAY, cycles_words, doing, review_words, stop_reason, was_cut

# in the order of the story; what stands still comes before what is done
ORDER = (
    Status.BACKLOG,
    Status.IN_PROGRESS,
    Status.CODE_REVIEW,
    Status.WAITING_APPROVAL,
    Status.BLOCKED,
    Status.FAILED,
    Status.VERIFIED,
    Status.COMPLETED,
    Status.CANCELLED,
)
NEEDS_YOU = "needs"
# the columns that a person thinks in, with the statuses that they hold
GROUPS = (
    ("todo", "To do", (Status.BACKLOG,)),
    ("working", "Working", (Status.IN_PROGRESS, Status.CODE_REVIEW)),
    (NEEDS_YOU, "Needs you", (Status.WAITING_APPROVAL, Status.BLOCKED, Status.FAILED)),
    ("ready", "Ready to merge", (Status.VERIFIED,)),
    ("done", "Done", (Status.COMPLETED, Status.CANCELLED)),
)
_GROUP_OF = {status: name for name, _, statuses in GROUPS for status in statuses}
# shown as a narrow column while empty
RARE = frozenset({Status.FAILED, Status.CANCELLED})
# newest first
_OVER = frozenset({Status.VERIFIED, Status.COMPLETED, Status.CANCELLED})
REST = frozenset(Status) - {*UNDER_WAY, Status.BACKLOG}
_MAX_NOTE_LENGTH = 300
# project and number of what the inbox has: one count, wherever it is shown
Waiting = Collection[tuple[str, int]]
NONE_WAITING: Waiting = frozenset()


@dataclass(frozen=True, slots=True)
class Need:
    """A task that another one waits for."""

    id: int
    title: str
    met: bool


@dataclass(frozen=True, slots=True)
class TaskCard:
    """One task on the board. Empty fields are not shown."""

    id: int
    title: str
    status: Status
    type: str
    priority: int
    # `cycle 2/3`
    cycle: str
    verdict: str
    # good, bad, warn, busy or nothing: how the verdict is to be taken
    tone: str
    open_findings: int
    agent: str
    cost: str
    updated_at: str
    # `improving`, and since when; where nothing runs it is empty
    doing: str
    since: str
    # here, elsewhere, paused, queued, interrupted or nothing
    standing: str
    # `waits for claude until 03:00`: the usage limit that it waits for, while it runs or is ready
    limit: str
    needs: tuple[Need, ...]
    blocks: tuple[int, ...]
    overrides: int
    tags: tuple[str, ...]
    # the status, and why it stopped, where the column does not say it; and its tone
    chip: str
    chip_tone: str
    # why it stopped, in a word and in a sentence
    why: str
    note: str
    commit: str
    # to which column by which act, and what else can be done
    moves: Mapping[Status, str]
    others: tuple[str, ...]
    # its place in the column: smaller is higher
    rank: int
    ready: bool
    # blocked, or waiting for another task
    stuck: bool
    needs_me: bool
    # a person has decided that it ends here
    is_rejected: bool = False
    # if not, nothing is offered that runs something
    is_trusted: bool = True

    @property
    def group(self) -> str:
        """The column of five that it stands in: what waits for a person is in one place, whatever its status."""
        if self.needs_me:
            return NEEDS_YOU
        return "done" if self.is_rejected else _GROUP_OF[self.status]

    @property
    def is_dropped(self) -> bool:
        """Whether it ended without a result."""
        return self.is_rejected or self.status is Status.CANCELLED

    def column(self, by_status: bool) -> str:
        return self.status.value if by_status else self.group

    @property
    def unmet(self) -> tuple[int, ...]:
        return tuple(need.id for need in self.needs if not need.met)


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    title: str
    statuses: tuple[Status, ...]
    cards: tuple[TaskCard, ...]

    @property
    def folded(self) -> bool:
        return self.name == Status.CANCELLED or (self.name in RARE and not self.cards)


@dataclass(frozen=True, slots=True)
class Head:
    """The head of the board, above the columns."""

    counts: Mapping[Status, int]
    cost_usd: float | None
    cost_source: CostSource | None
    # without the archived ones
    total: int
    # how many could be started now
    ready: int
    running: int
    queued: int
    needs_me: int


@dataclass(frozen=True, slots=True)
class BoardView:
    columns: tuple[Column, ...]
    head: Head
    agents: tuple[str, ...]
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Holders:
    """Tells whether a runner of a task is alive and whether it belongs to this process."""

    alive: Callable[[str], bool]
    mine: frozenset[str] = frozenset()
    # whether this process has queued the task
    queued: Callable[[Task], bool] = lambda task: False
    # the usage limit that a task waits for, in words: `waits for claude until 03:00`
    limit: Callable[[Task], str] = lambda task: ""
    # whether the checkout of a project may be used to run something
    is_trusted: Callable[[str], bool] = lambda project: True

    @classmethod
    def of(
        cls,
        store: Store,
        alive: Callable[[str], bool],
        pid: int,
        is_queued: Callable[[Task], bool] = lambda task: False,
        limit: Callable[[Task], str] = lambda task: "",
    ) -> Holders:
        # two machines may share a pid but not a lock directory, so `alive` is always asked first
        return cls(alive, frozenset(str(r["id"]) for r in store.runners() if r.get("pid") == pid), is_queued, limit)

    def standing(self, task: Task) -> str:
        # a task at rest has no runner, though its last one may not have released the lock yet
        if task.status not in REST and task.runner is not None and self.alive(task.runner):
            return "here" if task.runner in self.mine else "elsewhere"
        if task.is_paused:
            return "paused"
        if task.status in REST:
            return ""
        if self.queued(task):
            return "queued"
        return "interrupted" if was_cut(task) else ""


def board(
    store: Store, project: str, holders: Holders, waiting: Waiting = NONE_WAITING, *, by_status: bool = False
) -> BoardView:
    """Every task of a project, in columns."""
    tasks = store.tasks(project, brief=True)
    cards = cards_of(tasks, holders, waiting=waiting)
    columns = _columns(cards, by_status=by_status)
    agents = sorted({card.agent for card in cards if card.agent})
    tags = sorted({tag for card in cards for tag in card.tags})
    return BoardView(columns, head_of(tasks, holders, waiting), tuple(agents), tuple(tags))


def head_of(tasks: Sequence[Task], holders: Holders, waiting: Waiting = NONE_WAITING) -> Head:
    """The head without cards: it is computed at every change. `tasks` are all of one project."""
    unmet = unmet_among(tasks)
    # those at rest are neither ready nor running nor queued
    standings = [(task, holders.standing(task)) for task in tasks if task.status not in REST]
    counts = Counter(standing for _, standing in standings)
    costs = [task.cost_usd for task in tasks if task.cost_usd is not None]
    return Head(
        Counter(task.status for task in tasks),
        sum(costs) if costs else None,
        joint_source(task.cost_source for task in tasks),
        sum(not task.is_archived for task in tasks),
        ready=sum(one.status is Status.BACKLOG and at not in IDLE and not unmet(one) for one, at in standings),
        running=sum(counts[standing] for standing in RUNNING),
        queued=counts["queued"],
        needs_me=sum(key == tasks[0].project for key, _ in waiting) if tasks else 0,
    )


def cards_of(
    tasks: Sequence[Task], holders: Holders, ids: Collection[int] | None = None, waiting: Waiting = NONE_WAITING
) -> list[TaskCard]:
    """The cards of these ids, or of all. `tasks` are all of the project: they depend on each other."""
    tasks_by_id = {task.id: task for task in tasks}
    blocks: dict[int, list[int]] = {}
    for task in tasks:
        for other in task.spec.depends_on:
            blocks.setdefault(other, []).append(task.id)
    selection = tasks if ids is None else [tasks_by_id[id] for id in ids if id in tasks_by_id]
    selection = [task for task in selection if not task.is_archived]
    return [
        _card(task, tasks_by_id, tuple(blocks.get(task.id, ())), holders, needs_me=_in(waiting, task))
        for task in selection
    ]


def near(tasks: Sequence[Task], ids: Collection[int]) -> set[int]:
    """These tasks, their dependencies and their dependents: all cards that show them."""
    found = set(ids)
    for task in tasks:
        if task.id in ids:
            found.update(task.spec.depends_on)
        elif any(other in ids for other in task.spec.depends_on):
            found.add(task.id)
    return found


def _columns(cards: Sequence[TaskCard], *, by_status: bool) -> tuple[Column, ...]:
    by_column: dict[str, list[TaskCard]] = {}
    for card in sorted(cards, key=lambda card: card.rank):
        by_column.setdefault(card.column(by_status), []).append(card)
    each = tuple((status.value, status.value.replace("_", " ").capitalize(), (status,)) for status in ORDER)
    return tuple(
        Column(name, title, statuses, tuple(by_column.get(name, ())))
        for name, title, statuses in (each if by_status else GROUPS)
    )


def _card(
    task: Task, tasks_by_id: Mapping[int, Task], blocks: tuple[int, ...], holders: Holders, *, needs_me: bool
) -> TaskCard:
    standing = holders.standing(task)
    running = standing in RUNNING
    needs = needs_of(task, tasks_by_id)
    unmet = [need.id for need in needs if not need.met] if task.status is Status.BACKLOG else []
    # a task in the backlog starts a new run: results of an earlier run do not apply
    begun = task.status is not Status.BACKLOG
    is_conflict = needs_me and task.status is Status.VERIFIED
    why, note = (_why(task), task.note[:_MAX_NOTE_LENGTH]) if begun else ("", "")
    if note == REVIEW_APPROVED:
        # its verdict says so
        note = ""
    ready = task.status is Status.BACKLOG and not unmet and standing not in IDLE
    is_trusted = holders.is_trusted(task.project)
    return TaskCard(
        id=task.id,
        title=task.spec.title,
        status=task.status,
        type=task.spec.type.value,
        priority=task.spec.priority,
        cycle=cycles_words(task) if begun and task.cycle else "",
        verdict=_verdict(task) if begun else "",
        tone=_tone(task),
        open_findings=task.open_findings if begun else 0,
        agent=task.agent or task.spec.agent or "",
        cost=short_cost(task.cost_usd, task.cost_source),
        updated_at=task.updated_at,
        doing=doing(task.phase) if running and task.phase else "",
        since=(task.phase_started or "") if running and task.phase else "",
        standing=standing,
        limit=holders.limit(task) if running or ready else "",
        needs=needs,
        blocks=blocks if task.status not in MET else (),
        overrides=task.overrides if begun else 0,
        tags=task.spec.tags,
        # approved, but a person has to act: the only reason is a conflict with the target
        chip=_CONFLICT if is_conflict else _chip(task, standing),
        chip_tone="warn" if is_conflict else _CHIP_TONES.get(task.status, ""),
        why=why,
        note=note,
        commit=task.commit or "",
        moves=moves(task, unmet=unmet, standing=standing, is_conflict=is_conflict, is_trusted=is_trusted),
        others=others(task, standing=standing, is_trusted=is_trusted),
        # by number among the others that need a person
        rank=task.id if is_conflict else _rank(task),
        ready=ready,
        stuck=bool(unmet) or task.status is Status.BLOCKED,
        needs_me=needs_me,
        is_rejected=is_rejected(task),
        is_trusted=is_trusted,
    )


def needs_of(task: Task, tasks_by_id: Mapping[int, Task]) -> tuple[Need, ...]:
    # a removed dependency is never met, so it must be visible
    return tuple(
        Need(id, other.spec.title if other else "no longer there", bool(other and other.status in MET))
        for id, other in ((id, tasks_by_id.get(id)) for id in task.spec.depends_on)
    )


_CONFLICT = "conflict"
_CHIP_TONES = {
    Status.BLOCKED: "warn",
    Status.FAILED: "bad",
    # as on the task's page: blue is for what runs
    Status.WAITING_APPROVAL: "warn",
    Status.CODE_REVIEW: "busy",
    Status.VERIFIED: "good",
    Status.COMPLETED: "good",
}


def _chip(task: Task, standing: str) -> str:
    """`blocked: max cycles`; nothing where the column or the work under way says it."""
    word = task.status.value.replace("_", " ")
    match task.status:
        case Status.BLOCKED if is_rejected(task):
            return "rejected"
        case Status.BLOCKED:
            return f"{word}: {task.reason.value.replace('_', ' ')}" if task.reason else word
        case Status.FAILED:
            return f"{word}: {task.error.value.replace('_', ' ').lower()}" if task.error else word
        case Status.CODE_REVIEW | Status.IN_PROGRESS:
            return "" if standing else word
        case Status.WAITING_APPROVAL | Status.CANCELLED:
            return word
    return ""


def _verdict(task: Task) -> str:
    """The final verdict; while the task is under way, the result of the last review of this run."""
    if task.final_verdict and task.status not in UNDER_WAY:
        return task.final_verdict.value.replace("_", " ").lower()
    words = review_words(task)
    return f"review {words}" if words else ""


def _tone(task: Task) -> str:
    if task.review_status in (ReviewStatus.FAILED, ReviewStatus.REJECTED):
        return "bad"
    return "good" if task.final_verdict is FinalVerdict.APPROVED or task.review_status else ""


def _why(task: Task) -> str:
    word = stop_reason(task)
    return word.value.replace("_", " ").lower() if word else ""


def is_rejected(task: Task) -> bool:
    """Whether a person has decided that it ends here."""
    return task.status is Status.BLOCKED and task.reason is Reason.HUMAN_REJECTED


def _rank(task: Task) -> int:
    if task.status is Status.BACKLOG:
        return task.id - task.spec.priority * 10**9
    if (task.status in _OVER or is_rejected(task)) and task.updated_at:
        return -int(datetime.fromisoformat(task.updated_at).timestamp() * 1000)
    return task.id


def _in(waiting: Waiting, task: Task) -> bool:
    return (task.project, task.id) in waiting
