"""Small plots as SVG: attributes and classes only, colours by the page, numbers in titles."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup, escape

WIDE, HIGH = 400, 190
LEFT, RIGHT, TOP, BOTTOM = 46, 14, 12, 26
# of a bar chart: end of the names, height of a bar, space for the number at its end
NAMES, LINE, END = 122, 30, 84
MAX_LABELS = 5
# smallest visible bar
LEAST = 1.5

Say = Callable[[float], str]


@dataclass(frozen=True, slots=True)
class Mark:
    """A column or a bar: its name, a value for each tone, and its tooltip."""

    name: str
    values: tuple[float, ...]
    title: str
    end: str = ""


def columns(label: str, tones: Sequence[str], marks: Sequence[Mark], say: Say = "{:g}".format) -> Markup:
    """Stacked columns."""
    ticks = _ticks(max((sum(mark.values) for mark in marks), default=0.0))
    body = [*_grid(ticks, say), *_names(marks)]
    step = (WIDE - LEFT - RIGHT) / max(1, len(marks))
    wide = min(44.0, step * 0.72)
    for number, mark in enumerate(marks):
        at = LEFT + step * number + (step - wide) / 2
        body.append(_hover(mark, LEFT + step * number, step, _stack(mark, tones, at, wide, ticks[-1])))
    return _svg(label, HIGH, body)


def area(label: str, tone: str, marks: Sequence[Mark], say: Say = "{:g}".format) -> Markup:
    """One value over time; a mark without a value is a gap, marked by a `?`."""
    ticks = _ticks(max((sum(mark.values) for mark in marks), default=0.0), whole=False)
    step = (WIDE - LEFT - RIGHT) / max(1, len(marks))
    spots = [(LEFT + step * (n + 0.5), _y(sum(mark.values), ticks[-1])) for n, mark in enumerate(marks)]
    floor = HIGH - BOTTOM
    body = [*_grid(ticks, say), *_names(marks)]
    for has_value, run in groupby(zip(marks, spots, strict=True), key=lambda pair: bool(pair[0].values)):
        points = [spot for _, spot in run]
        if not has_value:
            body += [_text("?", x, floor - 6, "value", "middle") for x, _ in points]
            continue
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        under = f"{points[0][0]:.1f},{floor} {line} {points[-1][0]:.1f},{floor}"
        body.append(Markup('<polygon class="fill {}" points="{}"/>').format(tone, under))
        body.append(Markup('<polyline class="trace {}" points="{}"/>').format(tone, line))
    for n, (mark, (x, y)) in enumerate(zip(marks, spots, strict=True)):
        size = 3 if mark.values and sum(mark.values) else 0
        dot = Markup('<circle class="dot {}" cx="{:.1f}" cy="{:.1f}" r="{}"/>').format(tone, x, y, size)
        body.append(_hover(mark, LEFT + step * n, step, [dot]))
    return _svg(label, HIGH, body)


def lines(label: str, tones: Sequence[str], marks: Sequence[Mark]) -> Markup:
    """Stacked horizontal bars, each with its name and a number."""
    most = max((sum(mark.values) for mark in marks), default=0.0) or 1.0
    room = WIDE - NAMES - END
    body = []
    for number, mark in enumerate(marks):
        top = number * LINE + 4
        inside = [_text(_cut(mark.name, 16), NAMES - 8, top + 16, "name", "end")]
        at = float(NAMES)
        for tone, value in zip(tones, mark.values, strict=True):
            long = max(LEAST, room * value / most) if value else 0.0
            inside += [_rect(tone, at, top + 3, long, LINE - 12)] if value else []
            at += long
        inside.append(_text(mark.end, at + 6, top + 16, "value", "start"))
        inside.append(Markup('<rect class="hit" x="0" y="{}" width="{}" height="{}"/>').format(top - 4, WIDE, LINE))
        body.append(_group(mark.title, inside))
    return _svg(label, max(1, len(marks)) * LINE + 4, body)


def _stack(mark: Mark, tones: Sequence[str], at: float, wide: float, most: float) -> Iterator[Markup]:
    floor = float(HIGH - BOTTOM)
    for tone, value in zip(tones, mark.values, strict=True):
        if value:
            high = max(LEAST, HIGH - BOTTOM - _y(value, most))
            floor -= high
            yield _rect(tone, at, floor, wide, high)


def _y(value: float, most: float) -> float:
    return HIGH - BOTTOM - (HIGH - BOTTOM - TOP) * value / most


def _rect(tone: str, x: float, y: float, wide: float, high: float) -> Markup:
    shape = '<rect class="bar {}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="2"/>'
    return Markup(shape).format(tone, x, y, wide, high)


def _hover(mark: Mark, x: float, wide: float, inside: Iterator[Markup] | list[Markup]) -> Markup:
    hit = Markup('<rect class="hit" x="{:.1f}" y="0" width="{:.1f}" height="{}"/>').format(x, wide, HIGH - BOTTOM)
    return _group(mark.title, [*inside, hit])


def _group(title: str, inside: Sequence[Markup]) -> Markup:
    return Markup("<g><title>{}</title>{}</g>").format(title, Markup("").join(inside))


def _grid(ticks: Sequence[float], say: Say) -> Iterator[Markup]:
    for tick in ticks:
        y = _y(tick, ticks[-1])
        yield Markup('<line class="grid" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>').format(LEFT, WIDE - RIGHT, y, y)
        yield _text(say(tick), LEFT - 6, y + 4, "tick", "end")


def _names(marks: Sequence[Mark]) -> Iterator[Markup]:
    step = (WIDE - LEFT - RIGHT) / max(1, len(marks))
    every = math.ceil(len(marks) / MAX_LABELS)
    for number, mark in enumerate(marks):
        # counted from the last one, which is today
        if (len(marks) - 1 - number) % every == 0:
            yield _text(mark.name, LEFT + step * (number + 0.5), HIGH - 6, "tick", "middle")


def _text(words: str, x: float, y: float, kind: str, anchor: str) -> Markup:
    shape = '<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>'
    return Markup(shape).format(kind, x, y, anchor, words)


def _svg(label: str, high: float, body: Sequence[Markup]) -> Markup:
    shape = '<svg class="plot" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>'
    return Markup(shape).format(WIDE, high, escape(label), Markup("").join(body))


def _cut(name: str, most: int) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _ticks(most: float, *, whole: bool = True) -> list[float]:
    """Ticks from 0 to above the highest value, in round steps."""
    if most < 1e-9:
        return [0.0, 1.0]
    rough = most / 4
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= rough * 0.999)
    if whole:
        step = max(1.0, math.ceil(step))
    return [step * n for n in range(max(1, math.ceil(most / step - 1e-9)) + 1)]
