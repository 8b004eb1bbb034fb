"""What the screens show of one project: the views that the board has, too."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.core.status import Status
from burnish.core.task import Task
from burnish.proc import clock
from burnish.runtime.reader import Reader
from burnish.store import Store
from burnish.views.board import GROUPS, NEEDS_YOU, Holders, TaskCard, cards_of
from burnish.views.status import Summary, elapsed, summary

if TYPE_CHECKING:
    from burnish.features.decide.decisions import DecisionView
    from burnish.runtime.app import App
    from burnish.runtime.target_conflicts import Conflicts
    from burnish.views.diff import Diff
    from burnish.views.inbox import InboxEntry
    from burnish.views.task_page.page import FindingView, TaskHead
    from burnish.views.task_page.story import Story

# the columns of the board as groups of the list, with what needs a person first
TITLES = {name: title for name, title, _ in GROUPS}
_ORDER = (NEEDS_YOU, "working", "ready", "todo", "done")
# git is asked for lost branches and conflicts at most this often
_SECONDS_BETWEEN_LOOKS = 5.0
# a run that has not taken its task up by then did not start
START_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class BoardState:
    """All tasks at one moment."""

    cards: tuple[TaskCard, ...] = ()
    entries: tuple[InboxEntry, ...] = ()
    summary: Summary | None = None
    # False for the first screen, which is drawn before the inbox is read
    has_inbox: bool = False

    def grouped(self, is_shown: Callable[[TaskCard], bool]) -> Iterator[tuple[str, list[TaskCard]]]:
        """The title of each group that has cards, in order."""
        groups: dict[str, list[TaskCard]] = {name: [] for name in _ORDER}
        for card in sorted(self.cards, key=lambda card: card.rank):
            if is_shown(card):
                groups[card.group].append(card)
        # as in the inbox, so that the key for the next one goes down the list
        places = {entry.task.id: place for place, entry in enumerate(self.entries)}
        groups[NEEDS_YOU].sort(key=lambda card: places.get(card.id, len(places)))
        yield from ((TITLES[name], cards) for name, cards in groups.items() if cards)

    @property
    def waiting(self) -> int:
        """How many things need the person; what is only ready to be merged is not counted, as on the board."""
        need_count = sum(entry.kind != "ready" for entry in self.entries)
        return need_count if self.has_inbox else sum(card.group == NEEDS_YOU for card in self.cards)

    @property
    def ready(self) -> int:
        """How many only have to be merged."""
        return len(self.ready_entries)

    @property
    def ready_entries(self) -> list[InboxEntry]:
        return [entry for entry in self.entries if entry.kind == "ready"]

    @property
    def running(self) -> list[TaskCard]:
        return [card for card in self.cards if card.standing == "here"]


@dataclass(frozen=True, slots=True)
class TaskDetails:
    """One task, as its page on the board shows it."""

    head: TaskHead
    findings: tuple[FindingView, ...]
    story: Story
    # at the gate only: what a person decides on
    gate: DecisionView | None = None
    # why the gate cannot be shown
    trouble: str = ""
    entry: InboxEntry | None = None
    # of a task that makes one
    plan: str = ""

    @property
    def task(self) -> Task:
        return self.head.task

    @property
    def shown_commit(self) -> str:
        """The commit that a decision is about."""
        return self.gate.shown.commit if self.gate else self.head.commit

    def may(self, act: str) -> bool:
        return any(button.name == act for button in self.head.buttons)


@dataclass
class ProjectData:
    """Reads; opens the settings and git only for what needs them."""

    reader: Reader
    start: Path
    _conflicts: Conflicts = field(default_factory=dict)
    _looked_at: float = -_SECONDS_BETWEEN_LOOKS
    _diffs: dict[tuple[str, str], Diff] = field(default_factory=dict)
    # by task, commit and base
    _sizes: dict[tuple[int, str, str], str] = field(default_factory=dict)
    # until when the run that an act of this screen starts may take the task up
    _starts: dict[int, float] = field(default_factory=dict)

    @property
    def store(self) -> Store:
        return self.reader.store

    @property
    def key(self) -> str:
        return self.reader.key

    @property
    def name(self) -> str:
        return self.reader.found.root.name

    def first_state(self) -> BoardState:
        """From one query, for the first screen."""
        tasks = self.store.tasks(self.key, brief=True)
        return BoardState(tuple(cards_of(tasks, self._holders())), (), summary(tasks))

    def state(self) -> BoardState:
        from burnish.views.inbox import in_sections, inbox

        self._look_at_branches()
        today = date.today().isoformat()
        entries = inbox(self.store, [self.key], today=today, alive=self.reader.alive, conflicts=self._conflicts)
        entries = in_sections(
            entry for entry in entries if entry.kind != "interrupted" or not self._is_starting(entry.task)
        )
        waiting = {(entry.task.project, entry.task.id) for entry in entries if entry.kind != "ready"}
        tasks = self.store.tasks(self.key, brief=True)
        cards = cards_of(tasks, self._holders(), waiting=waiting)
        return BoardState(tuple(cards), tuple(entries), summary(tasks), has_inbox=True)

    def _look_at_branches(self) -> None:
        """Void the approvals of branches that are gone, and find conflicts with targets."""
        from burnish.runtime.lost_branches import void_lost_approvals
        from burnish.runtime.target_conflicts import find_conflicts

        if time.monotonic() - self._looked_at < _SECONDS_BETWEEN_LOOKS:
            return
        rows = [self.reader.project] if self.reader.project else []
        void_lost_approvals(self.reader.home, self.store, rows, is_here=True)
        self._conflicts = find_conflicts(self.reader.home, self.store, rows, is_here=True)
        self._looked_at = time.monotonic()

    def _holders(self) -> Holders:
        # every run is in a process of its own, so none is elsewhere
        mine = frozenset(str(card["id"]) for card in self.store.runners())
        return Holders(self.reader.alive, mine, self._is_starting, self._limit_words())

    def expect_start(self, number: int) -> None:
        """An act starts a run: until the run has the task, it is queued, not interrupted."""
        self._starts[number] = time.monotonic() + START_SECONDS

    def expect_no_start(self, number: int) -> None:
        self._starts.pop(number, None)

    def _is_starting(self, task: Task) -> bool:
        return time.monotonic() < self._starts.get(task.id, 0.0)

    def _limit_words(self) -> Callable[[Task], str]:
        now = clock.now()
        limits = self.store.limits.current_limits(now)
        if not limits:
            return lambda task: ""
        from burnish.runtime.tasks import LimitFinder

        limit_of = LimitFinder(self.store, limits, lambda key: self.open(), self.reader.alive).limit_of
        return lambda task: limit.wait_words(now) if (limit := limit_of(task)) else ""

    def task(self, number: int) -> Task:
        return self.store.task(self.key, number)

    def details(self, number: int, state: BoardState) -> TaskDetails:
        from burnish.errors import BurnishError
        from burnish.views.task_page.page import findings_view, head_of
        from burnish.views.task_page.story import story

        entry = next((one for one in state.entries if one.task.id == number), None)
        conflict = self._conflicts.get((self.key, number)) if entry and entry.conflicts else None
        head = head_of(self.store, self.key, number, self._holders(), conflict)
        if head.standing == "queued":
            head = replace(head, next="A run starts and takes it up.")
        gate, trouble, plan = None, "", ""
        if head.task.status is Status.WAITING_APPROVAL:
            from burnish.features.decide.decisions import decision_view
            from burnish.features.tasks.inspect import artifact

            try:
                app = self.open()
                gate = decision_view(app, number)
                if gate.shown.is_plan:
                    plan = artifact(app, number, "plan.md").decode(errors="replace")
            except BurnishError as error:
                trouble = f"{error.what} {error.hint}".strip()
        findings = findings_view(self.store, self.key, number)
        events = story(self.store, self.key, number, running=head.running)
        return TaskDetails(head, findings, events, gate, trouble, entry, plan)

    def open(self) -> App:
        """The project with its settings as they are now, to read."""
        from burnish.runtime import open_app

        return open_app(self.start, reading=True)

    def diff(self, number: int, *, since_review: bool) -> tuple[App, Diff, bool]:
        """The change of a task with its findings, or what came after its last review; whether that is all of it.

        Raises if it has none.
        """
        from burnish.features.tasks.inspect import change_between, change_ends, without_secrets
        from burnish.views.diff import bare, pinned

        app = self.open()
        trees = change_ends(app, number, since_review=since_review)
        if trees not in self._diffs:
            self._diffs.clear()
            self._diffs[trees] = bare(without_secrets(change_between(app, number, *trees)))
        is_all = not since_review or trees == change_ends(app, number, since_review=False)
        return app, pinned(self._diffs[trees], self.store.findings(self.key, number)), is_all

    def size_words(self, task: Task) -> str:
        """`3 files +10 -2`; "" if the task has no change that can be read."""
        from burnish.errors import BurnishError
        from burnish.features.tasks.inspect import change_size

        version = (task.id, task.commit or "", task.base or "")
        if version not in self._sizes:
            try:
                app = self.open()
                try:
                    files, additions, deletions = change_size(app, task.id)
                finally:
                    app.store.close()
            except BurnishError:
                return ""
            self._sizes[version] = f"{files} file{'s' * (files != 1)} +{additions} -{deletions}"
        return self._sizes[version]

    def viewed(self, task: Task) -> dict[str, str]:
        """The files of its change that the person has viewed, each with its content then."""
        from burnish.features.review.drafts import own_draft

        return dict(own_draft(self.reader.home, task).viewed)

    @property
    def tasks_folder(self) -> Path:
        return self.reader.home / "projects" / self.key / "tasks"


def since(moment: str) -> str:
    """`3m12s`: the time since then."""
    return elapsed(moment, datetime.now(UTC))
