"""What was paid, in money, tokens and time: by agent, by phase, by task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from burnish.core.agent import PlanWindow
from burnish.core.cost import CostSource, joint_source
from burnish.core.journal import Failure, PhaseResult, ReviewerRecord, ReviewFixResult, ReviewResult, WorkResult
from burnish.core.review import is_person
from burnish.store.tally import Of, PhaseRow, Tally

# a person's time has no cost
UNPAID = ("gate",)
UNKNOWN_AUTHOR = "unknown"


@dataclass(frozen=True, slots=True)
class CostView:
    calls: int = 0
    failed: int = 0
    seconds: float = 0.0
    # None: no call has a known cost
    cost_usd: float | None = None
    tokens: int = 0
    # calls that have no known price
    unpriced: int = 0
    # where the cost comes from (`CostSource`); None: nothing was used
    cost_source: str | None = None


@dataclass(frozen=True, slots=True)
class CostLine:
    """One row of a table: who, what for, or which task, and what it took."""

    name: str
    detail: str
    effort: CostView
    # of a task
    project: str = ""

    def as_json(self, name: str, detail: str) -> dict[str, Any]:
        where = {"project": self.project} if self.project else {}
        return {name: self.name, detail: self.detail or None, **where, **effort_json(self.effort)}


# a phase, and what it took by the clock
Paid = tuple[PhaseRow, CostView]


def effort_json(effort: CostView) -> dict[str, Any]:
    return {**asdict(effort), "seconds": round(effort.seconds, 1)}


def paid(tally: Tally, since: str) -> list[Paid]:
    """The phases with work by an agent or a check that started in the selected time."""
    return [(p, _whole(p)) for p in tally.phases if p.started_at >= since and p.phase not in UNPAID]


def total(efforts: Iterable[CostView]) -> CostView:
    """The sum of all; calls without a price add no cost."""
    each = list(efforts)
    prices = [effort.cost_usd for effort in each if effort.cost_usd is not None]
    return CostView(
        sum(effort.calls for effort in each),
        sum(effort.failed for effort in each),
        sum(effort.seconds for effort in each),
        sum(prices) if prices else None,
        sum(effort.tokens for effort in each),
        sum(effort.unpriced for effort in each),
        joint_source(effort.cost_source for effort in each),
    )


def by_agent(phases: Iterable[Paid], tally: Tally) -> tuple[CostLine, ...]:
    """Cost by agent and model. Checks are left out."""
    authors = {task.of: task.agent for task in tally.tasks}
    groups: dict[tuple[str, str], list[CostView]] = {}
    for phase, whole in phases:
        for key, effort in _calls(phase, whole, authors):
            groups.setdefault(key, []).append(effort)
    return _lines(CostLine(*key, total(efforts)) for key, efforts in groups.items())


def usd_by_agent(tally: Tally) -> dict[str, float]:
    """The known cost of each agent, by its name in the settings."""
    found: dict[str, float] = {}
    for line in by_agent(paid(tally, ""), tally):
        found[line.name] = found.get(line.name, 0.0) + (line.effort.cost_usd or 0.0)
    return found


def by_phase(phases: Iterable[Paid]) -> tuple[CostLine, ...]:
    groups: dict[str, list[CostView]] = {}
    for phase, effort in phases:
        groups.setdefault(phase.phase, []).append(effort)
    lines = _lines(CostLine(name, "", total(efforts)) for name, efforts in groups.items())
    order = ("implement", "improve", "check", "review")
    return tuple(sorted(lines, key=lambda line: order.index(line.name) if line.name in order else len(order)))


def by_task(phases: Iterable[Paid], tally: Tally) -> tuple[CostLine, ...]:
    titles = {task.of: task.title for task in tally.tasks}
    groups: dict[Of, list[CostView]] = {}
    for phase, effort in phases:
        groups.setdefault(phase.of, []).append(effort)
    return _lines(CostLine(str(of[1]), titles.get(of, ""), total(each), of[0]) for of, each in groups.items())


def _whole(phase: PhaseRow) -> CostView:
    """The cost and elapsed time of the whole phase, including parallel reviewers."""
    machine = phase.phase == "check"
    source = _source(phase.result.cost_source if phase.result else "", phase.cost_usd)
    return CostView(
        calls=1,
        failed=int(phase.state == "failed"),
        seconds=_seconds(phase),
        # checks cost nothing but time, and that is known
        cost_usd=phase.cost_usd,
        tokens=phase.tokens,
        unpriced=int(phase.cost_usd is None and not machine and source is not None),
        cost_source=None if machine else source,
    )


def _lines(lines: Iterable[CostLine]) -> tuple[CostLine, ...]:
    """The lines sorted by cost, highest first."""
    return tuple(
        sorted(lines, key=lambda e: (-(e.effort.cost_usd or 0), -e.effort.seconds, e.project, e.name, e.detail))
    )


def _calls(phase: PhaseRow, effort: CostView, authors: Mapping[Of, str]) -> Iterator[tuple[tuple[str, str], CostView]]:
    if phase.phase == "check":
        return
    records = _reviewers(phase.result)
    reviewers = [record for record in records if not is_person(record.agent)]
    if reviewers and all(record.has_own_cost for record in reviewers):
        yield from (_reviewer(phase, effort, record) for record in reviewers)
    elif reviewers:
        # older records have no cost per reviewer: show the sum instead of a guess
        names = dict.fromkeys(record.agent for record in reviewers)
        models = dict.fromkeys(record.model for record in reviewers if record.model)
        yield (" + ".join(names), " + ".join(models)), effort
    elif isinstance(phase.result, ReviewFixResult) or not records:
        own = phase.phase in ("implement", "improve")
        agent = phase.result.agent if isinstance(phase.result, WorkResult | Failure) else ""
        model = (phase.result.model or "") if isinstance(phase.result, WorkResult) else ""
        author = agent or (authors.get(phase.of, "") if own else "")
        yield (author or UNKNOWN_AUTHOR, model), effort


def _reviewers(result: PhaseResult | None) -> tuple[ReviewerRecord, ...]:
    if isinstance(result, ReviewFixResult):
        return result.fixers
    return result.reviewers if isinstance(result, ReviewResult) else ()


def _reviewer(phase: PhaseRow, whole: CostView, record: ReviewerRecord) -> tuple[tuple[str, str], CostView]:
    duration = _between(phase.started_at, record.reviewed_at) if record.reviewed_at else None
    seconds = whole.seconds if duration is None else min(duration, whole.seconds)
    cost, source = record.cost_usd, _source(record.cost_source, record.cost_usd)
    unpriced_calls = int(cost is None and source is not None)
    effort = CostView(1, int(not record.verdict), seconds, cost, record.tokens, unpriced_calls, source)
    return (record.agent, record.model or ""), effort


def _source(source: str | None, cost: float | None) -> str | None:
    """The cost source of a call or phase. Older records have none: `mixed`, or `unknown` without a cost."""
    if source == "":
        return CostSource.UNKNOWN if cost is None else CostSource.MIXED
    return source


def _seconds(phase: PhaseRow) -> float:
    seconds = phase.result.seconds if isinstance(phase.result, WorkResult) else None
    if isinstance(seconds, int | float) and seconds >= 0:
        return float(seconds)
    return _between(phase.started_at, phase.finished_at) or 0.0


def _between(start: str, end: Any) -> float | None:
    try:
        took = (datetime.fromisoformat(str(end)) - datetime.fromisoformat(start)).total_seconds()
    except (ValueError, TypeError):
        return None
    # a clock may have been set back meanwhile
    return max(0.0, took)


def window_lines(windows: Sequence[tuple[str, PlanWindow]]) -> list[str]:
    """`claude has used 42% of 5 hours, 61% of 7 days.`: of each window the highest share."""
    by_login: dict[str, dict[str, PlanWindow]] = {}
    for login, window in windows:
        by_login.setdefault(login, {}).setdefault(window.name, window)
    return [f"{login} has used {', '.join(one.words for one in found.values())}." for login, found in by_login.items()]


def windows_json(windows: Sequence[tuple[str, PlanWindow]]) -> list[dict[str, object]]:
    return [{"login": login, "name": one.name, "share": one.share, "until": one.until} for login, one in windows]
