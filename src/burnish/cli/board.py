"""Status lines painted and laid out under each other to fit the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from burnish.cli.output import BY_STATUS, mark, paint
from burnish.cli.text import LONGEST_TITLE, cut, one_line, pad, width
from burnish.views.status import StatusLine

_LEAST_TITLE = 12


def board(lines: Sequence[StatusLine], *, room: int, colour: bool) -> list[str]:
    """One aligned line a task, of at most `room` columns."""
    titles = [one_line(line.title) for line in lines]
    ids = max((len(line.id) for line in lines), default=1)
    # A status followed by brackets stands outside the column: "in_progress (cycle 2/3 …" needs no alignment.
    states = max([10, *(len(line.status) for line in lines if line.words[:1] not in ("", "("))])
    tails = [f"{line.status:<{states}} {line.words}".rstrip() for line in lines]
    signs = max((len(mark(line.mark)) for line in lines), default=1)
    tail_room = room - (2 + signs + 1 + ids + 1 + 3)
    wide = min(
        LONGEST_TITLE,
        max(map(width, titles), default=0),
        max(_LEAST_TITLE, tail_room - max(map(width, tails), default=0)),
    )
    return [
        f"{_sign(line, signs, colour)} {line.id:>{ids}} {pad(cut(title, wide), wide)}   "
        + _tail(line, cut(tail, tail_room - wide), colour)
        for line, title, tail in zip(lines, titles, tails, strict=True)
    ]


def _sign(line: StatusLine, room: int, colour: bool) -> str:
    return "  " + paint(f"{mark(line.mark):<{room}}", BY_STATUS[line.status], on=colour)


def _tail(line: StatusLine, text: str, colour: bool) -> str:
    split = len(line.status)
    return paint(text[:split], BY_STATUS[line.status], on=colour) + text[split:]
