"""The lines of a file's diff as HTML, cached by the pair of blobs."""

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
    """One block of a file as HTML rows; findings are inserted between rows."""

    skipped: int
    old: int
    new: int
    about: str
    # each row with its line number in the new file
    rows: tuple[tuple[int | None, str], ...]


@dataclass(frozen=True, slots=True)
class Painted:
    """A file: its blocks, and the number of unchanged lines after the last one."""

    blocks: tuple[Rows, ...]
    rest: int = 0


Read = Callable[[], Mapping[str, str]]
Key = tuple[str, str, str]


class Painter:
    """Renders each pair of blobs once and caches the newest. Thread-safe."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._cache: OrderedDict[Key, tuple[Painted, int]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def paint(self, file: FileDiff, read: Read) -> Painted:
        """`read` returns the texts of the blobs; it is called only on a cache miss."""
        key = (file.path, file.file.old_blob, file.file.new_blob)
        with self._lock:
            if key in self._cache:
                self._cache.move_to_end(key)
                return self._cache[key][0]
        painted = _painted(file, read())
        self._keep(key, painted)
        return painted

    def _keep(self, key: Key, painted: Painted) -> None:
        size = sum(len(html) for block in painted.blocks for _, html in block.rows)
        with self._lock:
            if key in self._cache:
                return
            self._cache[key] = (painted, size)
            self._size += size
            while self._size > self._most and len(self._cache) > 1:
                _, (_, size) = self._cache.popitem(last=False)
                self._size -= size


def between(path: str, text: str, old: int, new: int, count: int) -> str:
    """`count` folded lines, from these line numbers on."""
    lines = coloured(path, text)
    end = min(new + count - 1, _count(lines))
    return "".join(_row("same", old + n - new, n, lines[n - 1]) for n in range(new, end + 1))


def _painted(file: FileDiff, texts: Mapping[str, str]) -> Painted:
    change = file.file
    old = _source(change.old_path or change.path, texts.get(change.old_blob))
    new = _source(change.path, texts.get(change.new_blob))
    blocks = [
        Rows(b.skipped, b.old, b.new, b.about, tuple((line.new, _of_line(line, old, new)) for line in b.lines))
        for b in file.blocks
    ]
    rest = _count(new.texts) + 1 - file.tail()[1] if blocks and new.texts else 0
    return Painted(tuple(blocks), max(0, rest))


def _count(lines: Sequence[str]) -> int:
    """The number of lines; a final line break does not start another one."""
    return len(lines) - (1 if lines and not lines[-1] else 0)


@dataclass(frozen=True, slots=True)
class _Source:
    """A whole file: its lines as text and as coloured HTML."""

    texts: list[str]
    html: list[str]


def _source(path: str, text: str | None) -> _Source:
    return _Source(text.split("\n"), coloured(path, text)) if text is not None else _Source([], [])


def _of_line(line: DiffLine, old: _Source, new: _Source) -> str:
    source, number = (old, line.old) if line.kind == "del" else (new, line.new)
    assert number is not None
    # the patch is authoritative: a source that differs is not used
    is_current = 0 < number <= len(source.texts) and source.texts[number - 1] == line.text
    html = source.html[number - 1] if is_current else plain(line.text)
    if line.unended:
        html += '<span class="cut" title="No line break at the end of the file">⏎̸</span>'
    return _row(line.kind, line.old, line.new, html)


def _row(kind: str, old: int | None, new: int | None, html: str) -> str:
    sign, word = _SIGNS[kind]
    label = f'<span class="visually-hidden">{word}: </span>' if word else ""
    anchor = f' data-line="{new}"' if new else ""
    return (
        f'<tr class="{kind}"{anchor}><td class="n">{old or ""}</td><td class="n">{new or ""}</td>'
        f'<td class="sign" aria-hidden="true">{sign}</td><td class="code">{label}{html}</td></tr>\n'
    )


def markup(html: str) -> Markup:
    """Mark rows of this module, which are escaped, as safe."""
    return Markup(html)
