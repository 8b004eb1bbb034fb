"""The tables are nothing but the events told in order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.adapters.stores import open_store
from burnish.core.event import Event
from burnish.core.finding import Category, Finding, FindingState, Remark, Severity
from burnish.core.status import MOVES, ErrorCode, FinalVerdict, Reason, ReviewStatus
from burnish.core.task import Spec
from burnish.errors import BadInput
from burnish.store import Store
from testing.long_forms import examples
from testing.storydump import dump

Pick = Callable[[Any], Any]
PHASES = ("implement", "improve", "check", "review", "gate")


class Teller:
    """Tells one legal thing after another, as the draws have it."""

    def __init__(self, store: Store, project: str, draw: Pick) -> None:
        self.store, self.project, self.draw = store, project, draw
        self.attempts = 0

    def one(self, options: Any) -> Any:
        return self.draw(st.sampled_from(list(options)))

    def step(self) -> None:
        ids = [task.id for task in self.store.tasks(self.project)]
        if not ids or self.draw(st.integers(0, 9)) == 0:
            self.add(ids)
            return
        id = self.one(ids)
        kind = self.one(
            [
                self.move,
                self.move,
                self.begin,
                self.phase,
                self.phase,
                self.finding,
                self.decide,
                self.small,
                self.edit,
            ]
        )
        if events := kind(id):
            self.store.record(self.project, id, events)

    def add(self, ids: list[int]) -> None:
        needs = tuple(self.draw(st.sets(st.sampled_from(ids), max_size=2))) if ids else ()
        spec = Spec(self.draw(st.text(min_size=1)) + "x", depends_on=needs, priority=self.draw(st.integers(-2, 2)))
        self.store.add_task(self.project, spec, max_cycles=3, auto_review=True)

    def edit(self, id: int) -> list[Event]:
        changes = self.one(
            [{"title": "new"}, {"depends_on": []}, {"priority": 4}, {"max_cycles": 9}, {"auto_review": False}]
        )
        self.store.edit_task(self.project, id, changes)
        return []

    def move(self, id: int) -> list[Event]:
        here = self.store.task(self.project, id).status
        if not MOVES[here]:
            return []
        data: dict[str, Any] = {"from": here, "to": self.one(sorted(MOVES[here]))}
        for key, words in (("reason", Reason), ("error", ErrorCode), ("final_verdict", FinalVerdict)):
            if self.draw(st.booleans()):
                data[key] = self.one([None, *words])
        if self.draw(st.booleans()):
            data["review_status"] = self.one([None, *ReviewStatus])
        return [Event("task.status", {**data, "note": self.draw(st.text(max_size=5))})]

    def begin(self, id: int) -> list[Event]:
        run = self.draw(st.integers(1, 3))
        data = {
            "run": run,
            "branch": "b",
            "target": None,
            "base": "0" * 40,
            "max_cycles": 3,
            "auto_review": True,
        }
        return [Event("run.started", {**data, "agent": "a", "model": None}, run=run)]

    def phase(self, id: int) -> list[Event]:
        self.attempts += 1
        run, cycle = self.store.task(self.project, id).run, self.draw(st.integers(1, 3))
        key = {"phase": self.one(PHASES), "attempt": self.attempts}
        paid = {"cost_usd": self.one([None, 0.1, 0.7]), "tokens": self.draw(st.integers(0, 99))}
        ends = [
            Event("phase.finished", {**key, **paid, "commit": self.one([None, "c" * 40])}, run=run, cycle=cycle),
            Event(
                "phase.failed",
                {**key, **paid, "error": self.one(ErrorCode), "what": "", "hint": ""},
                run,
                cycle,
            ),
        ]
        started = Event("phase.started", {**key, "runner": "r"}, run=run, cycle=cycle)
        return [started, *self.one([[], [ends[0]], [ends[1]]])]

    def finding(self, id: int) -> list[Event]:
        remark = Remark(self.one(Category), self.one(Severity), self.draw(st.text(max_size=5)))
        finding = Finding(f"F{self.draw(st.integers(1, 4))}", remark, state=self.one(FindingState))
        kind = self.one(["opened", "resolved", "reopened", "waived", "disputed", "reanchored"])
        return [Event(f"finding.{kind}", {"finding": finding}, run=self.draw(st.integers(0, 2)), cycle=1)]

    def decide(self, id: int) -> list[Event]:
        again = self.one([[], ["review"], ["check", "review"]])
        data = {
            "action": self.one(["accept", "revise", "again"]),
            "by": "burnish",
            "why": "",
            "supersede": again,
        }
        return [Event("decision.made", data, run=self.draw(st.integers(0, 2)), cycle=self.draw(st.integers(1, 3)))]

    def small(self, id: int) -> list[Event]:
        bound = {"base": "b", "tree": self.one("tuv"), "judge": "j", "commit": "c"}
        small = [
            Event("review.approved", bound),
            Event("approval.voided", {"why": "moved"}),
            Event("override.recorded", {"category": "infra"}),
            Event("phase.progress", {"phase": "check", "message": self.draw(st.text(max_size=5))}),
            Event("task.removed"),
        ]
        return [self.one(small)]


def fresh(store: Store, root: Path, name: str) -> str:
    row = store.project_for(root / name / ".git", root / name, create=True)
    assert row
    return row.key


def test_any_legal_story_told_again_gives_the_same_tables(tmp_path: Path, database: str | None) -> None:
    count = iter(range(10**6))

    with open_store(tmp_path / "lived") as lived, Store.open(tmp_path / "told") as told:

        @settings(max_examples=examples(40), deadline=None)
        @given(st.data())
        def tell(data: st.DataObject) -> None:
            name = f"p{next(count)}"
            project = fresh(lived, tmp_path, name)
            teller = Teller(lived, project, data.draw)
            for _ in range(data.draw(st.integers(1, 25))):
                teller.step()
            assert fresh(told, tmp_path, name) == project
            told.replay(project, lived.events(project))
            assert dump(told, project) == dump(lived, project)

        tell()


def test_a_story_with_a_lie_in_it_is_not_told_at_all(tmp_path: Path, database: str | None) -> None:
    with open_store(tmp_path / "lived") as lived, Store.open(tmp_path / "told") as told:
        project = fresh(lived, tmp_path, "p")
        lived.add_task(project, Spec("x"), max_cycles=3, auto_review=True)
        lived.record(project, 1, [Event("task.status", {"from": "backlog", "to": "in_progress"})])
        fresh(told, tmp_path, "p")
        with pytest.raises(BadInput, match="no task 1"):
            told.replay(project, lived.events(project)[1:])
        assert told.events(project) == [] and told.tasks(project) == []


def test_after_a_replay_numbers_go_on_where_they_ended(tmp_path: Path, database: str | None) -> None:
    with open_store(tmp_path / "lived") as lived, Store.open(tmp_path / "told") as told:
        project = fresh(lived, tmp_path, "p")
        for _ in range(3):
            lived.add_task(project, Spec("x"), max_cycles=3, auto_review=True)
        fresh(told, tmp_path, "p")
        told.replay(project, lived.events(project))
        assert told.add_task(project, Spec("y"), max_cycles=3, auto_review=True).id == 4
        assert [event.id for event in told.events(project)] == [1, 2, 3, 4]
