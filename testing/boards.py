"""Boards to look at: tasks in every status, told by the events that bring them there; and boards of any size."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnish.core.codec import encode
from burnish.core.event import Event, RecordedEvent
from burnish.core.status import Status
from burnish.core.task import Item, Spec, TaskType
from burnish.store import Store
from testing.lab import Lab

if TYPE_CHECKING:
    from playwright.sync_api import Page

S = Status
# how a task comes to each status
ROADS: Mapping[Status, tuple[Status, ...]] = {
    S.BACKLOG: (),
    S.IN_PROGRESS: (S.IN_PROGRESS,),
    S.CODE_REVIEW: (S.IN_PROGRESS, S.CODE_REVIEW),
    S.WAITING_APPROVAL: (S.IN_PROGRESS, S.CODE_REVIEW, S.WAITING_APPROVAL),
    S.BLOCKED: (S.IN_PROGRESS, S.CODE_REVIEW, S.BLOCKED),
    S.FAILED: (S.IN_PROGRESS, S.FAILED),
    S.VERIFIED: (S.IN_PROGRESS, S.CODE_REVIEW, S.VERIFIED),
    S.COMPLETED: (S.IN_PROGRESS, S.CODE_REVIEW, S.VERIFIED, S.COMPLETED),
    S.CANCELLED: (S.CANCELLED,),
}
TITLES = (
    "Refuse empty passwords at login",
    "Export invoices as CSV",
    "Round totals half to even",
    "Show the sender's time zone in mails",
    "Retry webhook deliveries with back-off",
    "Speed up the search index on large repositories",
    "Read dates without a zone as UTC",
    "Warn before a report is overwritten",
)


def open_store(lab: Lab, *, branches: int = 30) -> tuple[Store, str]:
    """The store of a laboratory and its project's key, to write as another process would.

    The first tasks have their branches: without one no task counts as approved.
    """
    tip = lab.repo.git("rev-parse", "HEAD")
    names = sorted(f"refs/heads/burnish/{number}-task" for number in range(1, branches + 1))
    text = "# pack-refs with: peeled fully-peeled sorted \n" + "".join(f"{tip} {name}\n" for name in names)
    (lab.repo.path / ".git" / "packed-refs").write_text(text)
    store = Store.open(Path(lab.env["BURNISH_HOME"]))
    row = store.project_for(lab.repo.path / ".git", lab.repo.path, create=True)
    assert row is not None
    return store, row.key


def until_in(page: Page, number: int | str, status: str, seconds: float = 60) -> None:
    """The card has that status; its column may be folded."""
    page.wait_for_selector(f'#t{number}[data-status="{status}"]', state="attached", timeout=seconds * 1000)


def move(store: Store, project: str, number: int, to: Status, **data: Any) -> None:
    """One step, as a run or a person would record it."""
    task = store.task(project, number)
    told = {"from": task.status.value, "to": to.value, **data}
    store.record(project, number, [Event("task.status", told, run=task.run or 1, cycle=task.cycle)])


def bring(
    store: Store, project: str, number: int, to: Status, *, cycle: int = 1, cost: float = 0.0, **last: Any
) -> None:
    """All the way from the backlog. `last` is what the last step says: reason, error, note, final_verdict…"""
    store.record(project, number, _road(number, to, cycle, cost, last))


def _road(number: int, to: Status, cycle: int, cost: float, last: Mapping[str, Any]) -> list[Event]:
    road = (S.BACKLOG, *ROADS[to])
    told: list[Event] = []
    if S.IN_PROGRESS in road:
        started = {"run": 1, "branch": f"burnish/{number}-task", "target": "main", "base": "b" * 40, "agent": "claude"}
        work = {"phase": "implement", "attempt": 1, "runner": ""}
        done = {**work, "commit": f"{number:040x}", "tree": "c" * 40, "changed": True, "cost_usd": cost or None}
        told += [Event("run.started", started, run=1), Event("phase.started", work, run=1, cycle=cycle)]
        told += [Event("phase.finished", done, run=1, cycle=cycle)]
    for old, new in pairwise(road):
        more = last if new is to else {}
        told.append(Event("task.status", {"from": old.value, "to": new.value, **more}, run=1, cycle=cycle))
    return told


def working(store: Store, project: str, number: int, runner: str, phase: str, cycle: int = 1) -> None:
    """Somebody is at it right now."""
    store.claim(project, runner, ids=[number], is_dead=lambda other: False)
    told = {"phase": phase, "attempt": 9, "runner": runner}
    store.record(project, number, [Event("phase.started", told, run=1, cycle=cycle)])


def varied(store: Store, project: str, runner: str = "") -> None:
    """Some twenty tasks in every status, with findings, reasons, costs and dependencies."""
    add = _adder(store, project)
    for title in TITLES[:4]:
        add(Spec(title, "More words."))
    bring(store, project, 1, S.COMPLETED, cycle=2, cost=0.42, final_verdict="APPROVED", review_status="passed")
    bring(store, project, 2, S.VERIFIED, cycle=3, cost=1.18, final_verdict="APPROVED", review_status="passed")
    why = "Zero is not handled, and nobody says what it should give."
    bring(store, project, 3, S.BLOCKED, cycle=3, cost=2.05, reason="max_cycles", final_verdict="MAX_CYCLES_REACHED",
          review_status="failed", note=f"2 findings are still open after 3 cycles: {why}")  # fmt: skip
    bring(
        store,
        project,
        4,
        S.WAITING_APPROVAL,
        cycle=1,
        cost=0.31,
        review_status="passed",
        note="approved; it waits for you",
    )
    add(Spec(TITLES[4], depends_on=(2,), priority=5))
    add(
        Spec(
            TITLES[5], depends_on=(5, 3), criteria=("twice as fast",), checklist=(Item("measured", True), Item("told"))
        )
    )
    bring(
        store,
        project,
        add(Spec(TITLES[6], agent="codex")),
        S.FAILED,
        error="AGENT_MISSING",
        note="codex is not installed.",
    )
    bring(store, project, add(Spec(TITLES[7])), S.CANCELLED)
    bring(store, project, add(Spec("Write the release notes", type=TaskType.PLAN)), S.COMPLETED, cost=0.08)
    for number, (title, phase) in enumerate((("Cache the rates", "implement"), ("Drop the old API", "improve"))):
        id = add(Spec(title))
        bring(store, project, id, S.IN_PROGRESS, cycle=number + 1, cost=0.2)
        if runner:
            working(store, project, id, runner, phase, number + 1)
    id = add(Spec("Sign the releases, so that users can check where a download came from"))
    bring(store, project, id, S.CODE_REVIEW, cycle=2, cost=0.77)
    if runner:
        working(store, project, id, runner, "review", 2)
    id = add(Spec("Log in by passkey"))
    bring(store, project, id, S.BLOCKED, reason="needs_discussion", final_verdict="NEEDS_DISCUSSION",
          review_status="failed", note="The reviewer asks whether old passwords stay valid.")  # fmt: skip
    for title in ("Translate the help into German", "Let a report be sent twice", "Remove the second logger"):
        add(Spec(title))


def many_more(store: Store, project: str, count: int) -> None:
    """Tasks in the backlog of a project that has others."""
    add = _adder(store, project)
    for number in range(count):
        add(Spec(f"{TITLES[number % len(TITLES)]} again ({number})"))


def many(store: Store, project: str, count: int) -> None:
    """A big board in a project that has none: most of it done or waiting, every tenth depends on the one before."""
    far = (S.COMPLETED, S.COMPLETED, S.BACKLOG, S.VERIFIED, S.BACKLOG, S.BLOCKED, S.COMPLETED, S.BACKLOG)
    told: list[tuple[int, Event]] = []
    for number in range(1, count + 1):
        needs = (number - 1,) if number % 10 == 0 else ()
        spec = Spec(f"{TITLES[number % len(TITLES)]} ({number})", "What it is about. " * 10, depends_on=needs)
        told.append((number, Event("task.created", {"spec": encode(spec), "max_cycles": 3, "auto_review": True})))
        to = far[number % len(far)]
        last = {"reason": "stalled", "note": "nothing changed in two rounds"} if to is S.BLOCKED else {}
        told += [(number, event) for event in _road(number, to, 2, 0.1 * (number % 9), last)]
    start = datetime(2026, 5, 1, 12, tzinfo=UTC)
    first = 1 + max((event.id for event in store.events(project)), default=0)
    # by one transaction, as a rebuild does: a thousand would take their time
    store.replay(
        project,
        (
            RecordedEvent(
                at, (start + timedelta(seconds=at)).isoformat(), project, number, e.run, e.cycle, e.type, dict(e.data)
            )
            for at, (number, e) in enumerate(told, first)
        ),
    )


def _adder(store: Store, project: str) -> Any:
    return lambda spec: store.add_task(project, spec, max_cycles=3, auto_review=True).id
