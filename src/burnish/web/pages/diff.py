"""The diff on a task's page: all of it, single files, and folded lines."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from fastapi.responses import HTMLResponse
from markupsafe import Markup
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_for_filename
from pygments.lexers.special import TextLexer
from pygments.token import Comment, Generic, Keyword, Literal, Name, Operator, String, _TokenType
from pygments.token import Number as NumberToken
from pygments.util import ClassNotFound

from burnish.core.finding import Finding
from burnish.core.task import Task
from burnish.errors import NotFound, Refused
from burnish.features.review.drafts import FileDrafts, placed_drafts, read_draft
from burnish.features.tasks.inspect import change_between, change_ends, file_texts, last_reviewed, without_secrets
from burnish.runtime.app import App
from burnish.sanitize import clean_text
from burnish.views.diff import Diff, DiffLine, FileDiff, bare, pinned
from burnish.web.deps import ProjectDep, RegistryDep, TaskNumber
from burnish.web.pages.rendering import fragment

router = APIRouter(prefix="/p/{project}/t/{task}/file", include_in_schema=False)

# lines that come with the page; further files are fetched when they scroll into view
AT_ONCE = 400
MAX_BETWEEN = 2_000
# further files are only counted; the raw patch has them
MAX_FILES = 400
MAX_KNOWN = 6

Tree = Annotated[str, Query(pattern="^[0-9a-f]{40,64}$")]
Number = Annotated[int, Query(ge=1, le=2**31)]


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
        key = (file.path, file.file.old_blob, file.file.new_blob)
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


@router.get("/{number}")
def file(
    registry: RegistryDep, project: ProjectDep, task: TaskNumber, number: int, tree: Tree, since_review: bool = False
) -> Response:
    app = registry.open(project.key)
    found = _file(app, task, number, tree, since_review)
    drafts = placed_drafts([found], read_draft(app, task).comments)
    return fragment(
        "task/file_body.html.j2", file=found, painted=_painted(app, found), markup=markup, drafts=drafts.get(found.path)
    )


def _painted(app: App, file: FileDiff) -> Painted:
    return _painter.paint(file, lambda: file_texts(app, [file.file.old_blob, file.file.new_blob]))


def markup(html: str) -> Markup:
    """Mark rows of this module, which are escaped, as safe."""
    return Markup(html)


def _file(app: App, task: int, number: int, tree: str, since_review: bool) -> FileDiff:
    diff = _diff(app, task, since_review=since_review)
    if diff.new_tree != tree:
        raise Refused("The branch has moved since this page was loaded.", hint="Reload the page.")
    if not 0 <= number < len(diff.files):
        raise NotFound(f"The change has no file number {number}.", hint="Reload the page.")
    return diff.files[number]


def _diff(app: App, task: int, *, since_review: bool) -> Diff:
    trees = change_ends(app, task, since_review=since_review)
    with _lock:
        diff = _cache.get(trees)
        if diff is not None:
            _cache.move_to_end(trees)
    if diff is None:
        # slow for a large diff, so it is cached
        diff = bare(without_secrets(change_between(app, task, *trees)))
        with _lock:
            _cache[diff.old_tree, diff.new_tree] = diff
            while len(_cache) > MAX_KNOWN:
                _cache.popitem(last=False)
    return pinned(diff, app.store.findings(app.key, task))


_cache: OrderedDict[tuple[str, str], Diff] = OrderedDict()
_lock = threading.Lock()


Key = tuple[str, str, str]


def _paint(file: FileDiff, texts: Mapping[str, str]) -> Painted:
    change = file.file
    old = _source(change.old_path or change.path, texts.get(change.old_blob))
    new = _source(change.path, texts.get(change.new_blob))
    blocks = [
        Rows(
            b.skipped, b.old, b.new, b.about, tuple((line.old, line.new, _of_line(line, old, new)) for line in b.lines)
        )
        for b in file.blocks
    ]
    rest = _count(new.texts) + 1 - file.tail()[1] if blocks and new.texts else 0
    return Painted(tuple(blocks), max(0, rest))


def _of_line(line: DiffLine, old: _Source, new: _Source) -> str:
    source, number = (old, line.old) if line.kind == "del" else (new, line.new)
    assert number is not None
    # the patch is authoritative: a source that differs is not used
    is_current = 0 < number <= len(source.texts) and source.texts[number - 1] == line.text
    html = source.html[number - 1] if is_current else plain(line.text)
    if line.unended:
        html += '<span class="cut" title="No line break at the end of the file">⏎̸</span>'
    return _row(line.kind, line.old, line.new, html)


def plain(line: str) -> str:
    """One line as HTML: invisible characters are shown by their code; a very long line is cut."""
    if len(line) > MAX_LINE_LENGTH:
        hidden = len(line) - MAX_LINE_LENGTH
        return f'{_visible(line[:MAX_LINE_LENGTH])}<span class="cut">… {hidden:,} more characters in this line</span>'
    return _visible(line)


MAX_LINE_LENGTH = 2_000


def _visible(text: str) -> str:
    if clean_text(text) == text:
        return escape(text)
    return "".join(escape(char) if clean_text(char) == char else _named(char) for char in text)


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


@router.get("/{number}/lines")
def lines(
    registry: RegistryDep,
    project: ProjectDep,
    task: TaskNumber,
    number: int,
    tree: Tree,
    old: Number,
    new: Number,
    count: Number,
    since_review: bool = False,
) -> Response:
    """Unchanged lines, up to a limit."""
    app = registry.open(project.key)
    change = _file(app, task, number, tree, since_review).file
    text = file_texts(app, [change.new_blob]).get(change.new_blob, "")
    return HTMLResponse(between(change.path, text, old, new, min(count, MAX_BETWEEN)))


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
    show = escape if clean_text(text) == text else _visible
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


_painter = Painter()


def diff_of(app: App, task: Task, *, since_review: bool) -> dict[str, Any]:
    """The data of the part `changes`."""
    diff = _diff(app, task.id, since_review=since_review)
    bodies: dict[int, Painted] = {}
    room = AT_ONCE
    review = read_draft(app, task.id)
    drafts = placed_drafts(diff.files[:MAX_FILES], review.comments)
    for file in diff.files[:MAX_FILES]:
        if not file.folded and file.lines <= room:
            room -= file.lines
            bodies[file.number] = _painted(app, file)
    return {
        "diff": diff,
        "bodies": bodies,
        "stamps": {file.number: stamp(file, drafts.get(file.path)) for file in diff.files[:MAX_FILES]},
        "drafts": drafts,
        "drafts_apart": [one for one in review.comments if one.path not in drafts],
        "viewed": {file.number for file in diff.files if review.viewed.get(file.path) == file.file.new_blob},
        "most": MAX_FILES,
        "since_review": since_review,
        "reviewed": last_reviewed(app, task) is not None,
        "markup": markup,
    }


def stamp(file: FileDiff, drafts: FileDrafts | None = None) -> str:
    """A hash that changes when the file's diff, findings or draft comments change."""
    words = [file.path, file.file.old_blob, file.file.new_blob, *(_look(finding) for finding in file.findings)]
    words.append(repr(drafts) if drafts else "")
    return sha256("\0".join(words).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _look(finding: Finding) -> str:
    return f"{finding.id} {finding.state} {finding.remark} {finding.note} {finding.waiver} {finding.replies}"
