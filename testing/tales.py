"""Tasks with a past, told to a store day by day: what statistics and lists are tried on."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from burnish.core.event import Event
from burnish.core.finding import Category, Finding, FindingState, Remark, Severity, Waiver
from burnish.core.task import Spec
from burnish.store import Store
from testing.userrepo import UserRepo

NOON = datetime(2026, 3, 31, 12, tzinfo=UTC)


@dataclass
class Clock:
    now: datetime = NOON

    def __call__(self) -> datetime:
        return self.now

    def passes(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@dataclass
class Tale:
    """One task of a project, told in order."""

    store: Store
    project: str
    clock: Clock
    task: int
    run: int = 1
    cycle: int = 1
    status: str = "backlog"
    findings: list[Finding] = field(default_factory=list)

    def tell(self, type: str, **data: Any) -> None:
        self.store.record(self.project, self.task, [Event(type, data, run=self.run, cycle=self.cycle)])

    def begin(self, agent: str = "robot") -> None:
        self.to("in_progress")
        self.tell("run.started", run=self.run, branch=f"burnish/{self.task}-x", base="b" * 40, agent=agent)

    def to(self, status: str, **more: Any) -> None:
        self.tell("task.status", **{"from": self.status, "to": status}, **more)
        self.status = status

    def phase(self, name: str, seconds: float = 60, *, failed: bool = False, **result: Any) -> None:
        key = {"phase": name, "attempt": 1}
        self.tell("phase.started", **key)
        self.clock.passes(seconds)
        self.tell("phase.failed" if failed else "phase.finished", **key, **result)

    def review(
        self, verdict: str | None, reviewers: Sequence[dict[str, Any]], seconds: float = 30, **more: Any
    ) -> None:
        if self.status != "code_review":
            self.to("code_review")
        costs = [v["cost_usd"] for v in reviewers if v.get("cost_usd") is not None]
        cost = sum(costs) if costs else None
        tokens = sum(v.get("tokens", 0) for v in reviewers)
        said = {"verdict": verdict, "reviewers": list(reviewers), "cost_usd": cost, "tokens": tokens}
        self.phase("review", seconds, **said, **more)

    def finding(
        self,
        *reviewers: str,
        state: FindingState = FindingState.OPEN,
        category: Category = Category.CODE,
        severity: Severity = Severity.ERROR,
        note: str = "",
    ) -> None:
        remark = Remark(category, severity, "Something is wrong", source=reviewers[0])
        waiver = Waiver("user:ada", "fine", "2026-03-01T00:00:00Z") if state is FindingState.WAIVED else None
        number = len(self.findings) + 1
        found = Finding(
            f"F{number}", remark, state, self.cycle, self.cycle, reviewers=reviewers, waiver=waiver, note=note
        )
        self.findings.append(found)
        self.tell("finding.opened", finding=found)

    def decide(self, action: str, by: str = "burnish", **more: Any) -> None:
        self.tell("decision.made", action=action, by=by, why="", **more)

    def accepted(self, by: str = "burnish") -> None:
        self.decide("accept", by, review_status="passed")
        self.to("verified", final_verdict="APPROVED", review_status="passed")

    def again(self) -> None:
        self.decide("revise", review_status="failed")
        self.to("in_progress")
        self.cycle += 1


@dataclass
class Teller:
    store: Store
    project: str
    clock: Clock

    @classmethod
    def at(cls, home: Path, root: Path, clock: Clock | None = None) -> Teller:
        clock = clock or Clock()
        store = Store.open(home, clock=clock)
        row = store.project_for(root / ".git", root, create=True)
        assert row
        return cls(store, row.key, clock)

    def add(self, title: str = "Add division", **spec: Any) -> Tale:
        task = self.store.add_task(self.project, Spec(title, **spec), max_cycles=3, auto_review=True)
        return Tale(self.store, self.project, self.clock, task.id)

    def years(self, tasks: int, *, seed: int = 1, titles: Iterable[str] = ("Add division",)) -> None:
        """Many tasks over many days, as a project that is worked on has them."""
        chance, names = random.Random(seed), list(titles)
        start = self.clock.now
        for n in range(tasks):
            self.clock.now = start + timedelta(hours=11 * n + chance.random() * 9)
            self._one(self.add(f"{names[n % len(names)]}"), chance)

    def _one(self, tale: Tale, chance: random.Random) -> None:
        author, model = chance.choice([("claude", "opus"), ("claude", "sonnet"), ("codex", "gpt-5-codex")])
        tale.begin(author)
        ends = chance.choices([1, 2, 3, 4], [5, 4, 2, 2])[0]
        for cycle in range(1, min(ends, 3) + 1):
            cost = round(chance.uniform(0.2, 1.4), 3)
            work = {"agent": author, "model": model, "cost_usd": cost, "tokens": int(cost * 90_000)}
            tale.phase(
                "implement" if cycle == 1 else "improve", chance.uniform(80, 700), commit=f"{cycle}" * 40, **work
            )
            tale.to("code_review")
            tale.phase("check", chance.uniform(5, 60), checks=[])
            good = cycle == ends
            self._reviewed(tale, chance, good=good)
            if good:
                tale.accepted("burnish" if chance.random() < 0.85 else "user:ada")
            elif cycle == 3:
                tale.decide("escalate")
                tale.to("blocked", reason="max_cycles", note="3 findings are open after 3 cycles")
            else:
                tale.again()

    def _reviewed(self, tale: Tale, chance: random.Random, *, good: bool) -> None:
        verdict = "approved" if good else "changes_requested"
        judge = {"agent": "gemini", "model": "gemini-2.5-pro", "verdict": verdict, "cost_usd": 0.08, "tokens": 9000}
        static = {"agent": "static", "model": None, "verdict": "approved", "cost_usd": 0.0, "tokens": 0}
        tale.review(verdict, [judge, static], chance.uniform(20, 90))
        for _ in range(0 if good else chance.randint(1, 3)):
            state = chance.choices([FindingState.RESOLVED, FindingState.WAIVED, FindingState.OPEN], [8, 1, 2])[0]
            note = "withdrawn: it is tested" if state is FindingState.RESOLVED and chance.random() < 0.15 else ""
            names = chance.choice([("gemini",), ("gemini",), ("static",), ("gemini", "static"), ("check:test",)])
            kinds = chance.choices(list(Category), [6, 8, 5, 2, 1, 3, 1])[0]
            severity = chance.choices(list(Severity), [5, 4, 2])[0]
            tale.finding(*names, state=state, category=kinds, severity=severity, note=note)


def lay_branches(repo: UserRepo, tasks: int) -> None:
    """The branches that the tales tell of: without them no task counts as approved."""
    for number in range(1, tasks + 1):
        repo.git("branch", "-f", f"burnish/{number}-x")
