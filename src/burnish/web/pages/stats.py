"""The statistics of a project, or of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from markupsafe import Markup

from burnish.core.cost import UNKNOWN_COST, cost_with_source, short_cost
from burnish.features.server.registry import ProjectRegistry
from burnish.store.rows import ProjectRow
from burnish.views.cost import CostLine, CostView
from burnish.views.reviewer_stats import UNREADABLE, ReviewerStats
from burnish.views.stats import StatsView, Stretch, stats
from burnish.web.deps import ProjectDep, RegistryDep
from burnish.web.pages.plots import Mark, area, columns, lines
from burnish.web.pages.rendering import fragment, many, page, took, words

router = APIRouter(prefix="/p/{project}/stats", include_in_schema=False)

# how far back: the number of days, and its name
WINDOWS = ((7, "7 days"), (30, "30 days"), (90, "90 days"), (365, "a year"), (0, "all"))
MOST_EXPENSIVE = 6

Days = Annotated[int, Query(ge=0, le=3650)]


@router.get("")
def show(
    request: Request, registry: RegistryDep, project: ProjectDep, days: Days = 0, everything: bool = False
) -> Response:
    since = registry.store.last_event(project.key)
    view = _view(registry, project, days, everything)
    several = len(registry.projects()) > 1
    return page(
        request,
        "stats.html.j2",
        title=f"Statistics · {project.name}",
        here="stats",
        project=project,
        since=since,
        several=several,
        windows=WINDOWS,
        **view,
    )


@router.get("/part")
def part(registry: RegistryDep, project: ProjectDep, days: Days = 0, everything: bool = False) -> Response:
    return fragment("stats_part.html.j2", project=project, **_view(registry, project, days, everything))


def _view(registry: ProjectRegistry, project: ProjectRow, days: int, everything: bool) -> dict[str, Any]:
    keys = [row.key for row in registry.projects()] if everything else [project.key]
    view: StatsView = stats(registry.store, keys, now=datetime.now(UTC), days=days or None)
    names = {row.key: row.name for row in registry.projects()}
    return {
        "view": view,
        "charts": [] if view.empty else charts(view),
        "most_expensive": view.most_expensive[:MOST_EXPENSIVE],
        "days": days,
        "everything": everything,
        "names": names,
    }


# -- charts ---------------------------------------------------------------------------------------
# Charts of the statistics, each with a table of its numbers.

TONES = {
    "approved": "good",
    "changes_requested": "warn",
    "needs_discussion": "busy",
    "rejected": "bad",
    UNREADABLE: "faint",
}
MAX_LINES = 8


@dataclass(frozen=True, slots=True)
class Chart:
    id: str
    title: str
    # one sentence that sums the chart up
    says: str
    plot: Markup
    legend: tuple[tuple[str, str], ...]
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def charts(view: StatsView) -> list[Chart]:
    """The charts that have data."""
    all_charts = (
        _outcomes(view),
        _cycles(view),
        _verdicts(view),
        _categories(view),
        _precision(view),
        _cost_over_time(view),
        _agents(view),
        _phases(view),
    )
    return [chart for chart in all_charts if chart.rows]


def _outcomes(view: StatsView) -> Chart:
    head = (view.step.capitalize(), "Approved", "Stopped")
    rows = tuple((one.start, str(one.accepted), str(one.stopped)) for one in view.over_time)
    marks = [
        Mark(
            _day(one, view.step),
            (one.accepted, one.stopped),
            f"{_long(one, view.step)}: {one.accepted} approved, {one.stopped} stopped",
        )
        for one in view.over_time
    ]
    approvals, stops = sum(one.accepted for one in view.over_time), sum(one.stopped for one in view.over_time)
    says = f"{approvals} approved, {stops} stopped"
    plot = columns(f"Runs that ended, by {view.step}. {says}", ("good", "bad"), marks)
    return Chart("outcomes", "How runs ended", says, plot, (("approved", "good"), ("stopped", "bad")), head, rows)


def _cycles(view: StatsView) -> Chart:
    cycles = view.cycles
    numbers = [(n, cycles.by_burnish.get(n, 0), cycles.by_person.get(n, 0)) for n in range(1, max(3, cycles.most) + 1)]
    marks = [
        Mark(str(n), (own, people), f"cycle {n}: {own} by burnish, {people} by a person") for n, own, people in numbers
    ]
    says = f"mean {cycles.average:.1f}, median {cycles.middle:g}" if cycles.each else ""
    plot = columns(f"Cycles to approval: {says}", ("good", "busy"), marks)
    rows = tuple((str(n), str(own), str(people)) for n, own, people in numbers) if cycles.each else ()
    legend = (("by burnish", "good"), ("by a person", "busy"))
    return Chart("cycles", "Cycles to approval", says, plot, legend, ("Cycle", "By burnish", "By a person"), rows)


def _verdicts(view: StatsView) -> Chart:
    names = [word for word, number in view.verdicts.items() if number]
    marks, rows = [], []
    for one in view.over_time:
        counts = dict(one.verdicts)
        summary = ", ".join(f"{counts[word]} {words(word)}" for word in names if counts.get(word)) or "no review"
        marks.append(
            Mark(_day(one, view.step), tuple(counts.get(w, 0) for w in names), f"{_long(one, view.step)}: {summary}")
        )
        rows.append((one.start, *(str(counts.get(word, 0)) for word in names)))
    says = ", ".join(f"{view.verdicts[word]} {words(word)}" for word in names)
    plot = columns(f"Reviews by verdict and {view.step}: {says}", [TONES[word] for word in names], marks)
    legend = tuple((words(word), TONES[word]) for word in names)
    head = (view.step.capitalize(), *(words(word).capitalize() for word in names))
    return Chart("verdicts", "Verdicts", says, plot, legend, head, tuple(rows) if names else ())


def _categories(view: StatsView) -> Chart:
    found = sorted(view.categories.items(), key=lambda pair: -pair[1].all)
    marks = [
        Mark(
            name,
            (count.error, count.warning, count.info),
            f"{name}: {count.error} error, {count.warning} warning, {count.info} info",
            str(count.all),
        )
        for name, count in found
    ]
    says = many(view.fate.all, "finding")
    plot = lines(f"Findings by category and severity: {says}", ("bad", "warn", "busy"), marks)
    legend = (("error", "bad"), ("warning", "warn"), ("info", "busy"))
    head = ("Category", "Error", "Warning", "Info", "All")
    rows = tuple((n, str(c.error), str(c.warning), str(c.info), str(c.all)) for n, c in found)
    return Chart("categories", "Findings by category", says, plot, legend, head, rows)


def _precision(view: StatsView) -> Chart:
    found = view.reviewers
    marks = [_reviewer_mark(one) for one in found if one.found.all][:MAX_LINES]
    share = view.fate.precision
    says = f"{share:.0%} of the settled findings were fixed" if share is not None else "no finding is settled yet"
    tones = ("good", "warn", "bad", "faint")
    legend = tuple(zip(("resolved", "waived", "withdrawn", "open"), tones, strict=True))
    head = (
        "Reviewer",
        "Reviews",
        "Approved",
        "Findings",
        "Error",
        "Warning",
        "Info",
        "Resolved",
        "Waived",
        "Withdrawn",
        "Open",
        "Precision",
    )
    plot = lines(f"What became of each reviewer's findings: {says}", tones, marks)
    return Chart("reviewers", "Precision of reviewers", says, plot, legend, head, tuple(_row(one) for one in found))


def _reviewer_mark(one: ReviewerStats) -> Mark:
    fate = one.fate
    values = (fate.resolved, fate.waived, fate.withdrawn, fate.open)
    summary = f"{fate.resolved} resolved, {fate.waived} waived, {fate.withdrawn} withdrawn, {fate.open} open"
    return Mark(one.name, values, f"{one.name}: {summary}", _percent(fate.precision))


def _row(one: ReviewerStats) -> tuple[str, ...]:
    numbers = (
        one.reviews,
        one.verdicts.get("approved", 0),
        one.found.all,
        one.found.error,
        one.found.warning,
        one.found.info,
        one.fate.resolved,
        one.fate.waived,
        one.fate.withdrawn,
        one.fate.open,
    )
    return one.name, *map(str, numbers), _percent(one.fate.precision)


def _cost_over_time(view: StatsView) -> Chart:
    marks = [
        Mark(_day(one, view.step), _known_cost(one.effort), f"{_long(one, view.step)}: {_spent(one.effort)}")
        for one in view.over_time
    ]
    says = _spent(view.total)
    plot = area(f"Cost by {view.step}: {says}", "accent", marks, _money_tick)
    rows = tuple((one.start, *_effort(one.effort)) for one in view.over_time)
    head = (view.step.capitalize(), "Calls", "Failed", "Time", "Tokens", "Cost")
    return Chart("cost", "Cost over time", says, plot, (), head, rows if view.total.cost_usd is not None else ())


def _agents(view: StatsView) -> Chart:
    has_cost = view.total.cost_usd is not None
    says = "by cost, the most expensive first" if has_cost else "by time: no cost is known"
    return _efforts("agents", "Cost and time by agent", says, "Agent", view.agents, by_money=has_cost)


def _phases(view: StatsView) -> Chart:
    says = f"{took(view.total.seconds)} of agents and checks"
    return _efforts("phases", "Time by phase", says, "Phase", view.phases, by_money=False)


def _efforts(id: str, title: str, says: str, first: str, found: Sequence[CostLine], *, by_money: bool) -> Chart:
    marks = [
        Mark(
            _name(line),
            ((line.effort.cost_usd or 0.0) if by_money else line.effort.seconds,),
            f"{_name(line)}: {many(line.effort.calls, 'call')}, {took(line.effort.seconds)}, {_spent(line.effort)}",
            (_cost(line.effort) or "–") if by_money else took(line.effort.seconds),
        )
        for line in found[:MAX_LINES]
    ]
    plot = lines(f"{title}: {says}", ("accent" if by_money else "busy",), marks)
    head = (first, "Calls", "Failed", "Time", "Tokens", "Cost")
    return Chart(id, title, says, plot, (), head, tuple((_name(line), *_effort(line.effort)) for line in found))


def _name(line: CostLine) -> str:
    return f"{line.name} {line.detail}".strip()


def _effort(effort: CostView) -> tuple[str, ...]:
    return str(effort.calls), str(effort.failed), took(effort.seconds), f"{effort.tokens:,}", _cost(effort)


def _spent(effort: CostView) -> str:
    if not effort.calls:
        return "nothing"
    gap = f", {many(effort.unpriced, 'phase')} without a price" if effort.unpriced and effort.cost_usd else ""
    return f"{cost_with_source(effort.cost_usd, effort.cost_source) or UNKNOWN_COST}{gap}, {effort.tokens:,} tokens"


def _cost(effort: CostView) -> str:
    return short_cost(effort.cost_usd, effort.cost_source)


def _known_cost(effort: CostView) -> tuple[float, ...]:
    """Empty if the cost of the calls is unknown: a gap in the chart, not zero."""
    if effort.cost_usd is None and effort.unpriced:
        return ()
    return (effort.cost_usd or 0.0,)


def _money_tick(value: float) -> str:
    return f"${value:g}" if value == int(value) else f"${value:.2f}"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"


def _day(one: Stretch, step: str) -> str:
    day = date.fromisoformat(one.start)
    return f"{day:%b %Y}" if step == "month" else f"{day.day} {day:%b}"


def _long(one: Stretch, step: str) -> str:
    return one.start if step == "day" else f"{step} of {one.start}"
