"""The lines of one file of a change as HTML, kept by the pair of blobs they come from."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from burnish.views.diff import DiffLine, FileDiff
from burnish.web.pages.diff_colour import coloured, plain

MOST_KEPT = 24 * 1024 * 1024
_SIGNS = {"add": ("+", "added"), "del": ("−", "removed"), "same": ("", "")}


@dataclass(frozen=True, slots=True)
class Rows:
    """One block of a file, ready to be put into the page; findings go between rows."""

    skipped: int
    old: int
    new: int
    about: str
    # each row with the number it has in the new file
    rows: tuple[tuple[int | None, str], ...]


@dataclass(frozen=True, slots=True)
class Painted:
    """A file: its blocks, and how many unchanged lines stand after the last."""

    blocks: tuple[Rows, ...]
    rest: int = 0


Read = Callable[[], Mapping[str, str]]
Key = tuple[str, str, str]


class Painter:
    """Paints each pair of blobs once; the oldest are forgotten. For many threads."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._kept: OrderedDict[Key, tuple[Painted, int]] = OrderedDict()
        self._size = 0
        self._guard = threading.Lock()

    def paint(self, file: FileDiff, read: Read) -> Painted:
        """`read` gives the texts of the file's blobs; it is called only where they are not known."""
        key = (file.path, file.file.old_blob, file.file.new_blob)
        with self._guard:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]
        made = _painted(file, read())
        self._keep(key, made)
        return made

    def _keep(self, key: Key, made: Painted) -> None:
        size = sum(len(html) for block in made.blocks for _, html in block.rows)
        with self._guard:
            if key in self._kept:
                return
            self._kept[key] = (made, size)
            self._size += size
            while self._size > self._most and len(self._kept) > 1:
                _, (_, gone) = self._kept.popitem(last=False)
                self._size -= gone


def between(path: str, text: str, old: int, new: int, count: int) -> str:
    """Unchanged lines that were folded away: `count` of them, from these numbers on."""
    lines = coloured(path, text)
    end = min(new + count - 1, _count(lines))
    return "".join(_row("same", old + n - new, n, lines[n - 1]) for n in range(new, end + 1))


def _painted(file: FileDiff, texts: Mapping[str, str]) -> Painted:
    change = file.file
    old = _sheet(change.old_path or change.path, texts.get(change.old_blob))
    new = _sheet(change.path, texts.get(change.new_blob))
    blocks = [
        Rows(b.skipped, b.old, b.new, b.about, tuple((line.new, _of_line(line, old, new)) for line in b.lines))
        for b in file.blocks
    ]
    rest = _count(new.texts) + 1 - file.tail()[1] if blocks and new.texts else 0
    return Painted(tuple(blocks), max(0, rest))


def _count(lines: Sequence[str]) -> int:
    """A break at the end of a file begins no line."""
    return len(lines) - (1 if lines and not lines[-1] else 0)


@dataclass(frozen=True, slots=True)
class _Sheet:
    """A whole file: as it was written, and coloured."""

    texts: list[str]
    html: list[str]


def _sheet(path: str, text: str | None) -> _Sheet:
    return _Sheet(text.split("\n"), coloured(path, text)) if text is not None else _Sheet([], [])


def _of_line(line: DiffLine, old: _Sheet, new: _Sheet) -> str:
    sheet, number = (old, line.old) if line.kind == "del" else (new, line.new)
    assert number is not None
    # the patch has the word: a sheet that says something else is not shown
    known = 0 < number <= len(sheet.texts) and sheet.texts[number - 1] == line.text
    html = sheet.html[number - 1] if known else plain(line.text)
    if line.unended:
        html += '<span class="cut" title="No line break at the end of the file">⏎̸</span>'
    return _row(line.kind, line.old, line.new, html)


def _row(kind: str, old: int | None, new: int | None, html: str) -> str:
    sign, word = _SIGNS[kind]
    said = f'<span class="visually-hidden">{word}: </span>' if word else ""
    anchor = f' data-line="{new}"' if new else ""
    return (
        f'<tr class="{kind}"{anchor}><td class="n">{old or ""}</td><td class="n">{new or ""}</td>'
        f'<td class="sign" aria-hidden="true">{sign}</td><td class="code">{said}{html}</td></tr>\n'
    )


def markup(html: str) -> Markup:
    """Made above, where everything is escaped."""
    return Markup(html)
