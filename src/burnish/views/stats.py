"""Statistics: how tasks end, what reviews find, what it costs, and how that changes with time."""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime, timedelta
from statistics import mean, median
from typing import Any

from burnish.core.agent import PlanWindow
from burnish.core.journal import CheckResult
from burnish.core.status import Status
from burnish.store import Store
from burnish.store.tally import Of, PhaseRow, Tally, TaskRow
from burnish.views import cost as effort
from burnish.views import reviewer_stats as judged
from burnish.views.cost import CostLine, CostView, Paid, effort_json
from burnish.views.reviewer_stats import Fate, ReviewerStats, Severities, rounded_share

# As many bars as a person can tell apart.
MOST_DAYS, MOST_WEEKS = 31, 30


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Tasks with activity, by status."""

    by_status: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.by_status.values())


@dataclass(frozen=True, slots=True)
class Stretch:
    """A day, a week or a month."""

    start: str
    accepted: int = 0
    stopped: int = 0
    verdicts: tuple[tuple[str, int], ...] = ()
    effort: CostView = field(default_factory=CostView)


@dataclass(frozen=True, slots=True)
class StatsView:
    projects: tuple[str, ...]
    # the first day that is looked at; "": everything
    since: str
    tasks: Outcomes
    runs: Ends
    cycles: Cycles
    verdicts: dict[str, int]
    categories: dict[str, Severities]
    fate: Fate
    reviewers: tuple[ReviewerStats, ...]
    # test → how often it failed and then passed on the same commit, most often first
    flaky: dict[str, int]
    agents: tuple[CostLine, ...]
    phases: tuple[CostLine, ...]
    most_expensive: tuple[CostLine, ...]
    total: CostView
    # day, week or month
    step: str
    over_time: tuple[Stretch, ...]
    # how much of each plan is used now, by login
    windows: tuple[tuple[str, PlanWindow], ...] = ()

    @property
    def empty(self) -> bool:
        return not self.total.calls and not self.runs.total


def stats(store: Store, projects: Sequence[str], *, now: datetime, days: int | None = None) -> StatsView:
    """All statistics. `days`: the last days including today; None: all time."""
    since = (now.astimezone(UTC).date() - timedelta(days=days - 1)).isoformat() if days else ""
    tally = store.tally(projects, since=since)
    phases = effort.paid(tally, since)
    reviews = judged.reviews(phase for phase, _ in phases)
    findings = judged.findings_in(tally, since)
    ends = run_ends(tally, since)
    step, over_time = _over_time(phases, ends, since, now.astimezone(UTC).date())
    return StatsView(
        projects=tuple(projects),
        since=since,
        tasks=_outcomes(tally.tasks, since),
        runs=count_ends(ends),
        cycles=count_cycles(ends),
        verdicts=judged.verdicts(reviews),
        categories=judged.by_category(findings),
        fate=judged.fate(findings),
        reviewers=judged.reviewers(reviews, findings),
        flaky=_flaky_tests(tally.phases),
        agents=effort.by_agent(phases, tally),
        phases=effort.by_phase(phases),
        most_expensive=effort.by_task(phases, tally),
        total=effort.total(one for _, one in phases),
        step=step,
        over_time=over_time,
        windows=tuple(store.limits.current_windows(now)),
    )


def _outcomes(tasks: Iterable[TaskRow], since: str) -> Outcomes:
    found = Counter(task.status for task in tasks if not task.removed and task.updated_at >= since)
    return Outcomes({status.value: found[status] for status in Status if found[status]})


def _flaky_tests(phases: Iterable[PhaseRow]) -> dict[str, int]:
    checks = (phase.result for phase in phases if isinstance(phase.result, CheckResult))
    names = (name for check in checks for name in check.flaky)
    return dict(Counter(names).most_common())


# over time


def _over_time(phases: Sequence[Paid], ends: Sequence[End], since: str, today: date) -> tuple[str, tuple[Stretch, ...]]:
    """Figures per day, week or month without gaps, from the first selected or active day until today."""
    moments = [phase.started_at[:10] for phase, _ in phases] + [end.ts[:10] for end in ends]
    if not moments:
        return "day", ()
    first = min(today, date.fromisoformat(since or min(moments)))
    step = _step((today - first).days + 1)
    starts = _starts(first, today, step)
    # a time in the future (wrong clock) counts as today
    place = {day: starts[bisect(starts, day) - 1] for day in set(moments)}
    phases_by_start: dict[str, list[Paid]] = {}
    for one in phases:
        phases_by_start.setdefault(place[one[0].started_at[:10]], []).append(one)
    rest = Counter((place[end.ts[:10]], end.approved) for end in ends)
    return step, tuple(
        Stretch(
            start,
            accepted=rest[start, True],
            stopped=rest[start, False],
            verdicts=tuple((w, n) for w, n in _verdict_counts(phases_by_start.get(start, ())).items() if n),
            effort=effort.total(one for _, one in phases_by_start.get(start, ())),
        )
        for start in starts
    )


def _verdict_counts(phases: Iterable[Paid]) -> dict[str, int]:
    return judged.verdicts(judged.reviews(phase for phase, _ in phases))


def _step(days: int) -> str:
    if days <= MOST_DAYS:
        return "day"
    return "week" if days <= MOST_WEEKS * 7 else "month"


def _start(day: date, step: str) -> date:
    if step == "week":
        return day - timedelta(days=day.weekday())
    return day.replace(day=1) if step == "month" else day


def _starts(first: date, last: date, step: str) -> list[str]:
    found, day = [], _start(first, step)
    while day <= last:
        found.append(day.isoformat())
        day = _start(day + timedelta(days={"day": 1, "week": 7, "month": 31}[step]), step)
    return found


# for programs


def stats_json(view: StatsView) -> dict[str, Any]:
    return {
        "projects": list(view.projects),
        "since": view.since or None,
        "tasks": {
            "total": view.tasks.total,
            "by_status": view.tasks.by_status,
        },
        "runs": view.runs.as_json(),
        "cycles_to_approval": {
            "by_burnish": {str(cycle): count for cycle, count in view.cycles.by_burnish.items()},
            "by_person": {str(cycle): count for cycle, count in view.cycles.by_person.items()},
            "mean": rounded_share(view.cycles.average),
            "median": view.cycles.middle,
        },
        "verdicts": view.verdicts,
        "findings": {
            **asdict(view.fate),
            "precision": rounded_share(view.fate.precision),
            "by_category": {name: asdict(count) for name, count in view.categories.items()},
        },
        "reviewers": [reviewer.as_json() for reviewer in view.reviewers],
        "flaky": {"total": sum(view.flaky.values()), "tests": view.flaky},
        **cost_json(view),
    }


def cost_json(view: StatsView) -> dict[str, Any]:
    return {
        "projects": list(view.projects),
        "since": view.since or None,
        "total": effort_json(view.total),
        "by_agent": [line.as_json("agent", "model") for line in view.agents],
        "by_phase": [line.as_json("phase", "detail") for line in view.phases],
        "by_task": [line.as_json("task", "title") for line in view.most_expensive],
        "over_time": {"step": view.step, "each": [_stretch_json(one) for one in view.over_time]},
        "windows": effort.windows_json(view.windows),
    }


def _stretch_json(one: Stretch) -> dict[str, Any]:
    return {
        "start": one.start,
        "accepted": one.accepted,
        "stopped": one.stopped,
        "verdicts": dict(one.verdicts),
        **effort_json(one.effort),
    }


# -- outcomes -------------------------------------------------------------------------------------
# How runs ended: each run counts once, by its last status. A run that waits for a person has not ended.

APPROVED = (Status.VERIFIED, Status.COMPLETED)
STOPPED = (Status.BLOCKED, Status.FAILED, Status.CANCELLED)


@dataclass(frozen=True, slots=True)
class End:
    approved: bool
    cycle: int
    ts: str
    # approved by a person, not by burnish
    by_person: bool = False


@dataclass(frozen=True, slots=True)
class Ends:
    """The runs that ended."""

    approved: int
    stopped: int

    @property
    def total(self) -> int:
        return self.approved + self.stopped

    @property
    def success_rate(self) -> float | None:
        """None: none has ended."""
        return self.approved / self.total if self.total else None

    def as_json(self) -> dict[str, Any]:
        rate = self.success_rate
        rounded_rate = None if rate is None else round(rate, 4)
        return {"ended": self.total, "approved": self.approved, "stopped": self.stopped, "success_rate": rounded_rate}


@dataclass(frozen=True, slots=True)
class Cycles:
    """Accepted runs by the cycle of their acceptance."""

    by_burnish: dict[int, int]
    by_person: dict[int, int]

    @property
    def each(self) -> list[int]:
        both = Counter(self.by_burnish) + Counter(self.by_person)
        return sorted(both.elements())

    @property
    def average(self) -> float | None:
        return mean(self.each) if self.each else None

    @property
    def middle(self) -> float | None:
        return median(self.each) if self.each else None

    @property
    def most(self) -> int:
        return max(self.each, default=0)


def run_ends(tally: Tally, since: str) -> list[End]:
    """One entry for each run that ended since then and was not continued, without removed tasks."""
    removed_tasks = {task.of for task in tally.tasks if task.removed}
    accepted_by = {(d.of, d.run): d.by for d in tally.decisions if d.action == "accept"}
    found: dict[tuple[Of, int], End] = {}
    for move in tally.moves:
        run = move.of, move.run
        if Status.BACKLOG in (move.before, move.to):
            continue  # between two runs: the one before stays as it ended
        if move.to not in (*APPROVED, *STOPPED):
            found.pop(run, None)
            continue
        good = move.to in APPROVED
        # a merged run keeps the time of its approval
        if run not in found or found[run].approved is not good:
            found[run] = End(good, move.cycle, move.ts, accepted_by.get(run) != "burnish")
    return [end for (of, _), end in found.items() if end.ts >= since and of not in removed_tasks]


def count_ends(ends: Sequence[End]) -> Ends:
    approved_count = sum(end.approved for end in ends)
    return Ends(approved_count, len(ends) - approved_count)


def count_cycles(ends: Sequence[End]) -> Cycles:
    own = Counter(end.cycle for end in ends if end.approved and not end.by_person)
    people = Counter(end.cycle for end in ends if end.approved and end.by_person)
    return Cycles(dict(sorted(own.items())), dict(sorted(people.items())))
