"""Tables and bars of numbers for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from burnish.cli.output import is_plain, paint
from burnish.cli.text import cut, duration, one_line, pad, width
from burnish.core.cost import short_cost
from burnish.views.cost import CostLine

LONGEST_NAME = 26
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
