"""What was paid, in money, tokens and time: by agent, by phase, by task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from burnish.core.agent import CostSource, joint_source
from burnish.core.review import is_person
from burnish.store.tally import Of, PhaseRow, Tally

# a person's time is nobody's bill
UNPAID = ("gate",)
NOBODY = "unknown"


@dataclass(frozen=True, slots=True)
class CostView:
    calls: int = 0
    failed: int = 0
    seconds: float = 0.0
    # None: nobody said what any of it cost
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
    """The phases that somebody or something worked on, begun in the time that is looked at."""
    return [(p, _whole(p)) for p in tally.phases if p.started_at >= since and p.phase not in UNPAID]


def total(efforts: Iterable[CostView]) -> CostView:
    """All of them together; what nobody gave a price for adds none."""
    each = list(efforts)
    known = [effort.cost_usd for effort in each if effort.cost_usd is not None]
    return CostView(
        sum(effort.calls for effort in each),
        sum(effort.failed for effort in each),
        sum(effort.seconds for effort in each),
        sum(known) if known else None,
        sum(effort.tokens for effort in each),
        sum(effort.unpriced for effort in each),
        joint_source(effort.cost_source for effort in each),
    )


def by_agent(phases: Iterable[Paid], tally: Tally) -> tuple[CostLine, ...]:
    """Agent and model; what burnish itself ran, the checks, is no agent."""
    authors = {task.of: task.agent for task in tally.tasks}
    groups: dict[tuple[str, str], list[CostView]] = {}
    for phase, whole in phases:
        for key, effort in _calls(phase, whole, authors):
            groups.setdefault(key, []).append(effort)
    return _lines(CostLine(*key, total(efforts)) for key, efforts in groups.items())


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
    """The phase by the clock, whoever worked side by side in it."""
    machine = phase.phase == "check"
    source = _source(phase.result, phase.cost_usd)
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
    """The dearest first."""
    return tuple(
        sorted(lines, key=lambda e: (-(e.effort.cost_usd or 0), -e.effort.seconds, e.project, e.name, e.detail))
    )


def _calls(phase: PhaseRow, effort: CostView, authors: Mapping[Of, str]) -> Iterator[tuple[tuple[str, str], CostView]]:
    if phase.phase == "check":
        return
    result = phase.result
    voices = [v for v in result.get("reviewers") or result.get("mended_by") or () if not is_person(_word(v, "agent"))]
    if voices and all("cost_usd" in voice for voice in voices):
        yield from (_voice(phase, effort, voice) for voice in voices)
    elif voices:
        # kept before each reviewer's own cost was: together, rather than a guess
        names = dict.fromkeys(_word(voice, "agent") for voice in voices)
        models = dict.fromkeys(word for voice in voices if (word := _word(voice, "model")))
        yield (" + ".join(names), " + ".join(models)), effort
    elif not result.get("reviewers"):
        own = phase.phase in ("implement", "improve")
        author = _word(result, "agent") or (authors.get(phase.of, "") if own else "")
        yield (author or NOBODY, _word(result, "model")), effort


def _voice(phase: PhaseRow, whole: CostView, voice: Mapping[str, Any]) -> tuple[tuple[str, str], CostView]:
    ended = _between(phase.started_at, voice.get("reviewed_at")) if voice.get("reviewed_at") else None
    took = whole.seconds if ended is None else min(ended, whole.seconds)
    cost, source = voice.get("cost_usd"), _source(voice, voice.get("cost_usd"))
    unpriced = int(cost is None and source is not None)
    effort = CostView(1, int(not voice.get("verdict")), took, cost, int(voice.get("tokens") or 0), unpriced, source)
    return (_word(voice, "agent"), _word(voice, "model")), effort


def _source(data: Mapping[str, Any], cost: float | None) -> str | None:
    """Of one call or phase. What was recorded before sources were has a cost of an unknown kind, or none known."""
    if "cost_source" in data:
        return data["cost_source"] or None
    return CostSource.UNKNOWN if cost is None else CostSource.MIXED


def _word(data: Mapping[str, Any], key: str) -> str:
    return str(data.get(key) or "")


def _seconds(phase: PhaseRow) -> float:
    told = phase.result.get("seconds")
    if isinstance(told, int | float) and told >= 0:
        return float(told)
    return _between(phase.started_at, phase.finished_at) or 0.0


def _between(start: str, end: Any) -> float | None:
    try:
        took = (datetime.fromisoformat(str(end)) - datetime.fromisoformat(start)).total_seconds()
    except (ValueError, TypeError):
        return None
    # a clock may have been set back meanwhile
    return max(0.0, took)
