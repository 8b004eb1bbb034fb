"""Lines of a diff as HTML: syntax highlighting, words that changed, characters that cannot be seen."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from html import escape

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_for_filename
from pygments.lexers.special import TextLexer
from pygments.token import Comment, Generic, Keyword, Literal, Name, Operator, String, _TokenType
from pygments.token import Number as NumberToken
from pygments.util import ClassNotFound

from burnish.core.text_encoding import has_invisible
from burnish.views.diff import Block, DiffLine, FileDiff

MAX_KEPT = 24 * 1024 * 1024


class Painter:
    """Renders each pair of blobs once and caches the newest. Thread-safe."""

    def __init__(self, most: int = MAX_KEPT) -> None:
        self._most = most
        self._cache: OrderedDict[Key, tuple[Painted, int]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def paint(self, file: FileDiff, read: Read) -> Painted:
        """`read` returns the texts of the blobs; it is called only on a cache miss."""
        key = (file.path, file.file.old_blob, file.file.new_blob, file.ignores_space)
        with self._lock:
            if key in self._cache:
                self._cache.move_to_end(key)
                return self._cache[key][0]
        painted = _paint(file, read())
        self._keep(key, painted)
        return painted

    def _keep(self, key: Key, painted: Painted) -> None:
        size = sum(len(html) for block in painted.blocks for _, _, html in block.rows)
        with self._lock:
            if key in self._cache:
                return
            self._cache[key] = (painted, size)
            self._size += size
            while self._size > self._most and len(self._cache) > 1:
                _, (_, size) = self._cache.popitem(last=False)
                self._size -= size


@dataclass(frozen=True, slots=True)
class Painted:
    """A file: its blocks, and the number of unchanged lines after the last one."""

    blocks: tuple[Rows, ...]
    rest: int = 0


@dataclass(frozen=True, slots=True)
class Rows:
    """One block of a file as HTML rows; findings are inserted between rows."""

    skipped: int
    old: int
    new: int
    about: str
    # each row with its line numbers in the old and the new file
    rows: tuple[tuple[int | None, int | None, str], ...]


Key = tuple[str, str, str, bool]


def _paint(file: FileDiff, texts: Mapping[str, str]) -> Painted:
    change = file.file
    old = _source(change.old_path or change.path, texts.get(change.old_blob))
    new = _source(change.path, texts.get(change.new_blob))
    blocks = [Rows(b.skipped, b.old, b.new, b.about, tuple(_rows(b, old, new))) for b in file.blocks]
    rest = _count(new.texts) + 1 - file.tail()[1] if blocks and new.texts else 0
    return Painted(tuple(blocks), max(0, rest))


def _rows(block: Block, old: _Source, new: _Source) -> Iterator[tuple[int | None, int | None, str]]:
    marks = _changed_words(block.lines)
    for index, line in enumerate(block.lines):
        yield line.old, line.new, _of_line(line, old, new, marks.get(index, ()))


def _of_line(line: DiffLine, old: _Source, new: _Source, marks: Sequence[tuple[int, int]]) -> str:
    source, number = (old, line.old) if line.kind == "del" else (new, line.new)
    assert number is not None
    # the patch is authoritative: a source that differs is not used
    is_current = 0 < number <= len(source.texts) and source.texts[number - 1] == line.text
    html = source.html[number - 1] if is_current else plain(line.text)
    html = _marked(html, marks) if marks else html
    if line.unended:
        html += '<span class="cut" title="No line break at the end of the file">⏎̸</span>'
    return _row(line.kind, line.old, line.new, html)


# longer lines are not compared word by word, and lines that have little in common are not marked
MAX_COMPARED = 400
MIN_COMMON = 0.4
_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_HTML_PIECE = re.compile(r"<[^>]*>|&[^;\s]{1,10};|[^<&]")


def _changed_words(lines: Sequence[DiffLine]) -> dict[int, list[tuple[int, int]]]:
    """By index of the line, the ranges of characters that changed: removed lines against the added ones after them."""
    marks: dict[int, list[tuple[int, int]]] = {}
    index = 0
    while index < len(lines):
        removed = _run(lines, index, "del")
        added = _run(lines, index + removed, "add") if removed else 0
        if removed == added:
            for at in range(index, index + removed):
                marks |= _compare(lines, at, at + removed)
        index += max(1, removed + added)
    return marks


def _run(lines: Sequence[DiffLine], start: int, kind: str) -> int:
    end = start
    while end < len(lines) and lines[end].kind == kind:
        end += 1
    return end - start


def _compare(lines: Sequence[DiffLine], old_at: int, new_at: int) -> dict[int, list[tuple[int, int]]]:
    texts = lines[old_at].text, lines[new_at].text
    # characters that are shown by their code take more room than one
    if max(map(len, texts)) > MAX_COMPARED or any(map(_has_odd, texts)):
        return {}
    words = [_WORD.findall(text) for text in texts]
    matcher = SequenceMatcher(None, words[0], words[1], False)
    if matcher.ratio() < MIN_COMMON:
        return {}
    found: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
    for kind, *ends in matcher.get_opcodes():
        for side in (0, 1):
            start, end = ends[2 * side : 2 * side + 2]
            if kind != "equal" and start != end:
                first = sum(map(len, words[side][:start]))
                found[side].append((first, first + sum(map(len, words[side][start:end]))))
    return {at: ranges for at, ranges in zip((old_at, new_at), found, strict=True) if ranges}


def _marked(html: str, ranges: Sequence[tuple[int, int]]) -> str:
    """The HTML with these characters of its text marked; the marks lie inside of its other elements."""
    at, is_open, pieces = 0, False, []
    for piece in _HTML_PIECE.findall(html):
        is_text = not piece.startswith("<")
        wanted = is_text and any(start <= at < end for start, end in ranges)
        if is_open and not wanted:
            pieces.append("</b>")
        elif wanted and not is_open:
            pieces.append('<b class="w">')
        is_open = wanted
        pieces.append(piece)
        at += is_text
    return "".join([*pieces, "</b>" if is_open else ""])


def plain(line: str) -> str:
    """One line as HTML: invisible characters are shown by their code; a very long line is cut."""
    if len(line) > MAX_LINE_LENGTH:
        hidden = len(line) - MAX_LINE_LENGTH
        return f'{_visible(line[:MAX_LINE_LENGTH])}<span class="cut">… {hidden:,} more characters in this line</span>'
    return _visible(line)


MAX_LINE_LENGTH = 2_000


def _visible(text: str) -> str:
    if not _has_odd(text):
        return escape(text)
    return "".join(_named(char) if _has_odd(char) else escape(char) for char in text)


def _has_odd(text: str) -> bool:
    """Whether a character cannot be seen. A single carriage return changes what is seen, too."""
    return "\r" in text or has_invisible(text)


def _named(char: str) -> str:
    label = "␍" if char == "\r" else f"U+{ord(char):04X}"
    return f'<span class="odd" title="invisible character: U+{ord(char):04X}">{label}</span>'


def _row(kind: str, old: int | None, new: int | None, html: str) -> str:
    sign, word = _SIGNS[kind]
    label = f'<span class="visually-hidden">{word}: </span>' if word else ""
    anchor = f' data-line="{new}"' if new else ""
    return (
        f'<tr class="{kind}"{anchor}><td class="n">{old or ""}</td><td class="n">{new or ""}</td>'
        f'<td class="sign" aria-hidden="true">{sign}</td><td class="code">{label}{html}</td></tr>\n'
    )


_SIGNS = {"add": ("+", "added"), "del": ("−", "removed"), "same": ("", "")}


@dataclass(frozen=True, slots=True)
class _Source:
    """A whole file: its lines as text and as coloured HTML."""

    texts: list[str]
    html: list[str]


def _count(lines: Sequence[str]) -> int:
    """The number of lines; a final line break does not start another one."""
    return len(lines) - (1 if lines and not lines[-1] else 0)


def between(path: str, text: str, old: int, new: int, count: int) -> str:
    """`count` folded lines, from these line numbers on."""
    lines = coloured(path, text)
    end = min(new + count - 1, _count(lines))
    return "".join(_row("same", old + n - new, n, lines[n - 1]) for n in range(new, end + 1))


def coloured(path: str, text: str) -> list[str]:
    """The lines of a text as HTML; without colours if the language is unknown or the text is too large."""
    lines = text.split("\n")
    lexer = _lexer(path) if len(text) <= MAX_COLOURED else None
    if lexer is None or max(map(len, lines)) > MAX_LINE_LENGTH:
        return [plain(line) for line in lines]
    # most files have no control characters and only need escaping
    show = _visible if _has_odd(text) else escape
    html, texts = [""], [""]
    for kind, piece in _pieces(lexer, text):
        first, *rest = piece.split("\n")
        html[-1] += _span(kind, first, show)
        texts[-1] += first
        for part in rest:
            html.append(_span(kind, part, show))
            texts.append(part)
    # a lexer may drop characters: then the plain text is shown
    return html if texts == lines else [plain(line) for line in lines]


def _span(colour: str, text: str, show: Callable[[str], str]) -> str:
    if not text:
        return ""
    return f'<span class="{colour}">{show(text)}</span>' if colour and text.strip() else show(text)


def _lexer(path: str) -> Lexer | None:
    try:
        found: Lexer = get_lexer_for_filename(path.rpartition("/")[2])
    except (ClassNotFound, ValueError):
        return None
    return None if isinstance(found, TextLexer) else found


# -- diff colour ----------------------------------------------------------------------------------
# Syntax highlighting: Pygments' tokens with a few classes of our own; the text itself is never changed.

# larger files are not highlighted: it would take seconds, and most are generated
MAX_COLOURED = 200_000


def _pieces(lexer: Lexer, text: str) -> Iterator[tuple[str, str]]:
    """The text in pieces of one colour."""
    colour = ""
    pieces: list[str] = []
    # get_tokens() would change line breaks
    for _, kind, piece in lexer.get_tokens_unprocessed(text):
        here = _class(kind)
        if here != colour and piece.strip():
            yield colour, "".join(pieces)
            colour, pieces = here, []
        pieces.append(piece)
    yield colour, "".join(pieces)


def _class(kind: _TokenType) -> str:
    if kind not in _class_cache:
        _class_cache[kind] = next((name for wide, name in _CLASSES if _within(kind, wide)), "")
    return _class_cache[kind]


def _within(kind: _TokenType, wide: _TokenType) -> bool:
    return kind[: len(wide)] == tuple(wide)


# the first match counts; classes of `code.css`
_CLASSES: tuple[tuple[_TokenType, str], ...] = (
    (Comment.Preproc, "t"),
    (Comment, "c"),
    (Keyword.Constant, "m"),
    (Keyword, "k"),
    (Operator.Word, "k"),
    (String.Doc, "c"),
    (String, "s"),
    (NumberToken, "m"),
    (Literal, "m"),
    (Name.Function, "f"),
    (Name.Class, "f"),
    (Name.Decorator, "t"),
    (Name.Tag, "t"),
    (Name.Attribute, "b"),
    (Name.Builtin, "b"),
    (Name.Exception, "b"),
    (Generic.Heading, "f"),
    (Generic.Subheading, "f"),
    (Generic.Strong, "f"),
)


_class_cache: dict[_TokenType, str] = {}


def _source(path: str, text: str | None) -> _Source:
    return _Source(text.split("\n"), coloured(path, text)) if text is not None else _Source([], [])


Read = Callable[[], Mapping[str, str]]
