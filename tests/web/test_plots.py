"""Plots drawn on the server: what they show is what was counted, and no name can break out of them."""

from __future__ import annotations

import xml.etree.ElementTree as Xml

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from burnish.web.pages.plots import BOTTOM, HIGH, TOP, WIDE, Mark, _ticks, area, columns, lines

HOSTILE = "<script>alert(1)</script>\"' onload=x ]]> &amp;"
MARKS = [Mark("a", (3.0, 1.0), "a: 3 and 1"), Mark("b", (0.0, 0.0), "b: nothing"), Mark("c", (0.0, 2.0), "c: 2")]


def read(text: str) -> Xml.Element:
    return Xml.fromstring(text)


def bars(plot: Xml.Element) -> list[tuple[str, float, float]]:
    """Tone, width and height of each."""
    found = [one for one in plot.iter("rect") if one.get("class", "").startswith("bar")]
    return [(one.get("class", "")[4:], float(one.get("width", 0)), float(one.get("height", 0))) for one in found]


def test_a_stack_is_as_high_as_its_parts_together() -> None:
    drawn = bars(read(columns("x", ("good", "bad"), MARKS)))
    unit = (HIGH - BOTTOM - TOP) / 4
    assert [(tone, round(high / unit, 1)) for tone, _, high in drawn] == [("good", 3.0), ("bad", 1.0), ("bad", 2.0)]


def test_lines_are_as_long_as_their_values() -> None:
    drawn = bars(read(lines("x", ("good", "bad"), MARKS)))
    (_, three, _), (_, one, _), (_, two, _) = drawn
    assert three == pytest.approx(3 * one, abs=0.2) and two == pytest.approx(2 * one, abs=0.2)


@pytest.mark.parametrize("draw", [lambda m: columns(HOSTILE, ("good",), m), lambda m: lines(HOSTILE, ("good",), m)])
def test_names_stay_names(draw: object) -> None:
    plot = read(draw([Mark(HOSTILE, (1.0,), HOSTILE, HOSTILE)]))  # type: ignore[operator]
    assert plot.get("aria-label") == HOSTILE
    assert [one.text for one in plot.iter("title")] == [HOSTILE]
    assert {one.tag for one in plot.iter()} <= {"svg", "g", "title", "rect", "line", "text"}


def test_nothing_to_draw_is_drawn_as_nothing() -> None:
    for plot in (columns("x", ("good",), []), lines("x", ("good",), []), area("x", "accent", [])):
        assert bars(read(plot)) == []


NUMBERS = st.floats(0, 1e9, allow_nan=False)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=40))
def test_everything_stays_inside_and_needs_no_style(values: list[tuple[float, float]]) -> None:
    marks = [Mark(str(n), pair, f"{pair}", "end") for n, pair in enumerate(values)]
    for text in (columns("x", ("good", "bad"), marks), lines("x", ("good", "bad"), marks)):
        plot = read(text)
        assert not any("style" in one.attrib or any(k.startswith("on") for k in one.attrib) for one in plot.iter())
        for one in plot.iter("rect"):
            assert float(one.get("x", 0)) + float(one.get("width", 0)) <= WIDE + 4
            assert float(one.get("y", 0)) >= -4 and float(one.get("height", 0)) >= 0
    alone = [Mark(mark.name, mark.values[:1], mark.title) for mark in marks]
    assert len(list(read(area("x", "accent", alone)).iter("title"))) == len(marks)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.floats(0.001, 1e9), st.booleans())
def test_ticks_reach_the_highest_and_are_few(most: float, whole: bool) -> None:
    ticks = _ticks(most, whole=whole)
    assert ticks[0] == 0 and ticks[-1] >= most * 0.999999 and 2 <= len(ticks) <= 6
    assert not whole or all(tick == int(tick) for tick in ticks)


def test_an_unknown_value_is_a_gap_and_not_a_zero() -> None:
    marks = [Mark("a", (3.0,), "a"), Mark("b", (), "b: cost unknown"), Mark("c", (2.0,), "c"), Mark("d", (0.0,), "d")]
    plot = read(area("x", "accent", marks))
    traces = [one.get("points", "").split() for one in plot.iter("polyline")]
    assert [len(points) for points in traces] == [1, 2]
    assert [one.text for one in plot.iter("text") if one.text == "?"] == ["?"]
