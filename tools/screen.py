"""As much of a terminal as burnish needs: text with colours, and going back over lines to draw them again."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_PIECE = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])|\x1b\][^\x07]*\x07|([\r\n])|([^\x1b\r\n]+)")

Cell = tuple[str, tuple[int, ...]]


@dataclass
class Line:
    cells: list[Cell] = field(default_factory=list)
    # when it became what it is
    since: float = 0.0

    @property
    def text(self) -> str:
        return "".join(char for char, _ in self.cells).rstrip()


@dataclass
class Screen:
    """Rows without end; nothing scrolls away."""

    lines: list[Line] = field(default_factory=lambda: [Line()])
    row: int = 0
    column: int = 0
    tone: tuple[int, ...] = ()

    def feed(self, text: str, now: float) -> None:
        for number, letter, control, plain in _PIECE.findall(text):
            if plain:
                self._write(plain, now)
            elif control == "\r":
                self.column = 0
            elif control == "\n":
                self._down()
            elif letter:
                self._obey(letter, number, now)

    def _write(self, text: str, now: float) -> None:
        line = self.lines[self.row]
        for char in text:
            line.cells += [(" ", ())] * (self.column - len(line.cells) + 1)
            cell = (char, self.tone)
            if line.cells[self.column] != cell:
                line.cells[self.column], line.since = cell, now
            self.column += 1

    def _down(self) -> None:
        self.row += 1
        if self.row == len(self.lines):
            self.lines.append(Line())

    def _obey(self, letter: str, number: str, now: float) -> None:
        if letter == "m":
            codes = tuple(int(code) for code in number.split(";") if code and int(code))
            self.tone = (*self.tone, *codes) if codes else ()
        elif letter == "A":
            self.row = max(0, self.row - int(number or 1))
        elif letter == "K":
            kept = 0 if number == "2" else self.column
            line = self.lines[self.row]
            line.cells, line.since = line.cells[:kept], now
