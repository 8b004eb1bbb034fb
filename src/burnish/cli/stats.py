"""burnish stats, burnish cost"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

from burnish.cli.output import (
    coloured,
    columns,
    count,
    cut,
    duration,
    is_plain,
    one_line,
    pad,
    paint,
    say,
    say_json,
    width,
)
from burnish.cli.parameters import Option
from burnish.cli.session import AsJson, open_reader
from burnish.core.cost import UNKNOWN_COST, cost_with_source, short_cost
from burnish.views.cost import CostLine

if TYPE_CHECKING:
    from burnish.views.cost import CostView
    from burnish.views.stats import StatsView

NOTHING = 'No runs yet. Start one: burnish add "TITLE", then burnish run'
NOT_LATELY = "No runs since {}."

Days = Annotated[int | None, Option("--days", min=1, max=3650, metavar="N", help="Count only the last N days.")]
Everywhere = Annotated[bool, Option("--all", help="Include every project.")]

# As many as a person reads.
MAX_FLAKY = 10
MOST_EXPENSIVE = 10


def stats(days: Days = None, everywhere: Everywhere = False, as_json: AsJson = False) -> None:
    """Show statistics on outcomes, cycles, findings and reviewers.

    Use `burnish cost` for money, tokens and time by agent, phase and task.
    """
    from burnish.views.stats import stats_json

    view = look(days, everywhere)
    if as_json:
        say_json(stats_json(view))
        return
    for line in page(view, room=columns(sys.stdout), colour=coloured(sys.stdout)):
        say(line)


def look(days: int | None, everywhere: bool) -> StatsView:
    from burnish.proc import clock
    from burnish.views.stats import stats as count_all

    if everywhere:
        from burnish.runtime.reader import open_store

        _, store = open_store()
        keys = [row.key for row in store.projects()]
    else:
        reader = open_reader()
        store, keys = reader.store, [reader.project.key] if reader.project else []
    return count_all(store, keys, now=clock.now(), days=days)


def page(view: StatsView, *, room: int, colour: bool) -> Iterator[str]:
    if view.empty:
        yield NOT_LATELY.format(view.since) if view.since else NOTHING
        return
    # lines of a table are easier to follow when they are not wider than a page
    room = min(room, 100)
    yield _summary(view, colour)
    yield from _cycles(view, room, colour)
    yield from _verdicts(view, room, colour)
    yield from _findings(view, room, colour)
    yield from _reviewers(view, room, colour)
    yield from _flaky(view, room, colour)
    yield ""
    yield from efforts("Cost and time", view.agents, room=room, colour=colour)
    yield f"  {spent(view.total)}"


def spent(total: CostView) -> str:
    cost = cost_with_source(total.cost_usd, total.cost_source) or UNKNOWN_COST
    unpriced_note = f", {count(total.unpriced, 'phase')} without a price" if total.unpriced and total.cost_usd else ""
    return f"{cost}{unpriced_note} · {duration(total.seconds)} · {short(total.tokens)} tokens"


def _summary(view: StatsView, colour: bool) -> str:
    runs = view.runs
    since = f" since {view.since}" if view.since else ""
    rate = "" if runs.success_rate is None else f" · success {share(runs.success_rate)}"
    outcome = f"{count(runs.total, 'run')} ended: {runs.approved} approved, {runs.stopped} stopped"
    return paint(f"{count(view.tasks.total, 'task')}{since}, {outcome}{rate}", "bold", on=colour)


def _cycles(view: StatsView, room: int, colour: bool) -> Iterator[str]:
    cycles = view.cycles
    if not cycles.each:
        return
    yield ""
    yield _head(f"Cycles to approval (mean {cycles.average:.1f}, median {cycles.middle:g})", colour)
    rows = []
    for cycle in range(1, cycles.most + 1):
        own, people = cycles.by_burnish.get(cycle, 0), cycles.by_person.get(cycle, 0)
        rows.append((str(cycle), own + people, f"({people} by a person)" if people else ""))
    yield from bars(rows, room=room, colour=colour)


def _verdicts(view: StatsView, room: int, colour: bool) -> Iterator[str]:
    rows = [(word.replace("_", " "), number, "") for word, number in view.verdicts.items() if number]
    if rows:
        yield ""
        yield _head("Reviews", colour)
        yield from bars(rows, room=room, colour=colour)


def _findings(view: StatsView, room: int, colour: bool) -> Iterator[str]:
    if not view.categories:
        return
    yield ""
    yield _head(f"Findings ({_fate(view)})", colour)
    rows = []
    for name, found in sorted(view.categories.items(), key=lambda pair: -pair[1].all):
        words = [f"{n} {s}" for n, s in ((found.error, "error"), (found.warning, "warning"), (found.info, "info")) if n]
        rows.append((name, found.all, ", ".join(words)))
    yield from bars(rows, room=room, colour=colour)


def _fate(view: StatsView) -> str:
    fate = view.fate
    words = (
        ("resolved", fate.resolved),
        ("waived", fate.waived),
        ("withdrawn", fate.withdrawn),
        ("open", fate.open),
    )
    return ", ".join(f"{number} {word}" for word, number in words if number)


def _reviewers(view: StatsView, room: int, colour: bool) -> Iterator[str]:
    if not view.reviewers:
        return
    head = ("Reviewer", "approved", "findings", "resolved", "waived", "withdrawn", "precision")
    rows = [
        (
            cut(one_line(r.name), MAX_NAME_LENGTH),
            f"{r.verdicts.get('approved', 0)}/{r.reviews}" if r.reviews else "",
            str(r.found.all),
            str(r.fate.resolved),
            str(r.fate.waived),
            str(r.fate.withdrawn),
            share(r.fate.precision),
        )
        for r in view.reviewers
    ]
    yield ""
    yield from table(head, rows, room=room, colour=colour)


def _flaky(view: StatsView, room: int, colour: bool) -> Iterator[str]:
    if view.flaky:
        yield ""
        yield _head("Flaky tests (failed, then passed on the same commit)", colour)
        rows = [(cut(one_line(name), 60), number, "") for name, number in list(view.flaky.items())[:MAX_FLAKY]]
        yield from bars(rows, room=room, colour=colour)


def _head(text: str, colour: bool) -> str:
    return paint(f"  {text}", "dim", on=colour)


def cost(days: Days = None, everywhere: Everywhere = False, as_json: AsJson = False) -> None:
    """Show cost, tokens and time by agent, phase and task.

    Use `burnish stats` for cycles, verdicts, findings and reviewers.
    """
    from burnish.views.stats import cost_json

    view = look(days, everywhere)
    if as_json:
        say_json(cost_json(view))
        return
    for line in cost_page(view, room=columns(sys.stdout), colour=coloured(sys.stdout)):
        say(line)


def cost_page(view: StatsView, *, room: int, colour: bool) -> Iterator[str]:
    from burnish.views.cost import window_lines

    if view.empty:
        yield NOT_LATELY.format(view.since) if view.since else NOTHING
        return
    room = min(room, 100)
    since = f" since {view.since}" if view.since else ""
    yield paint(f"{spent(view.total)}{since}", "bold", on=colour)
    tasks = view.most_expensive[:MOST_EXPENSIVE]
    hidden_count = len(view.most_expensive) - len(tasks)
    for title, lines in (("Agent", view.agents), ("Phase", view.phases), ("Task", tasks)):
        if lines:
            yield ""
            yield from efforts(title, lines, room=room, colour=colour)
    if hidden_count:
        yield f"  … and {hidden_count} more (--json has all)"
    if view.windows:
        yield ""
        yield from (f"  {one_line(line)}" for line in window_lines(view.windows))


# -- tables ---------------------------------------------------------------------------------------
# Tables and bars of numbers for a terminal.

MAX_NAME_LENGTH = 26
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def bar(value: float, most: float, room: int) -> str:
    """A bar, to an eighth of a column; nothing for those who listen to the screen."""
    if is_plain() or most <= 0 or room <= 0:
        return ""
    eighths = round(8 * room * value / most)
    # what is there must be seen
    eighths = max(1, eighths) if value else 0
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def bars(rows: Sequence[tuple[str, int, str]], *, room: int, colour: bool) -> Iterator[str]:
    """Name, value, and words beside it."""
    long = max((width(name) for name, _, _ in rows), default=0)
    most = max((value for _, value, _ in rows), default=0)
    digits = len(str(most))
    words = max((width(text) for _, _, text in rows), default=0)
    bar_room = min(30, room - long - digits - words - 7)
    for name, value, text in rows:
        has_bar = bar_room > 3 and not is_plain()
        cell = paint(pad(bar(value, most, bar_room), bar_room), "cyan", on=colour) + " " if has_bar else ""
        yield f"  {pad(name, long)}  {cell}{value:>{digits}}  {text}".rstrip()


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, room: int, colour: bool) -> Iterator[str]:
    """The first column is names, the others are numbers, flush right; a long name is cut rather than a number."""
    sizes = [max(width(row[n]) for row in (head, *rows)) for n in range(1, len(head))]
    first = min(
        max(width(row[0]) for row in (head, *rows)),
        max(8, room - 2 - sum(size + 2 for size in sizes)),
    )
    for number, row in enumerate((head, *rows)):
        cells = "".join(f"  {' ' * (size - width(cell))}{cell}" for cell, size in zip(row[1:], sizes, strict=True))
        line = f"  {pad(cut(row[0], first), first)}{cells}".rstrip()
        yield paint(line, "dim", on=colour) if not number else line


def efforts(title: str, lines: Sequence[CostLine], *, room: int, colour: bool) -> Iterator[str]:
    """What was paid, a line each."""
    rows = [
        (
            cut(one_line(f"{line.name} {line.detail}"), 60),
            str(line.effort.calls),
            str(line.effort.failed or ""),
            duration(line.effort.seconds),
            short(line.effort.tokens),
            short_cost(line.effort.cost_usd, line.effort.cost_source),
        )
        for line in lines
    ]
    yield from table((title, "calls", "failed", "time", "tokens", "cost"), rows, room=room, colour=colour)


def short(number: int) -> str:
    """`950`, `12.3k`, `4.5M`."""
    if number < 1000:
        return str(number)
    for size, sign in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        # 999,960 is 1.0M and not 1000.0k
        if number >= size * 0.99995:
            return f"{number / size:.1f}{sign}"
    return str(number)


def share(part: float | None) -> str:
    return "–" if part is None else f"{part:.0%}"
