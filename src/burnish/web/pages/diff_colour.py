"""Syntax highlighting: Pygments' tokens with a few classes of our own; the text itself is never changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_for_filename
from pygments.lexers.special import TextLexer
from pygments.token import Comment, Generic, Keyword, Literal, Name, Number, Operator, String, _TokenType
from pygments.util import ClassNotFound

from burnish.sanitize import clean_text

# larger files are not highlighted: it would take seconds, and most are generated
MOST_COLOURED = 200_000
LONGEST_LINE = 2_000

# the first match counts; classes of `code.css`
_CLASSES: tuple[tuple[_TokenType, str], ...] = (
    (Comment.Preproc, "t"),
    (Comment, "c"),
    (Keyword.Constant, "m"),
    (Keyword, "k"),
    (Operator.Word, "k"),
    (String.Doc, "c"),
    (String, "s"),
    (Number, "m"),
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


def coloured(path: str, text: str) -> list[str]:
    """The lines of a text as HTML; without colours if the language is unknown or the text is too large."""
    lines = text.split("\n")
    lexer = _lexer(path) if len(text) <= MOST_COLOURED else None
    if lexer is None or max(map(len, lines)) > LONGEST_LINE:
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


def plain(line: str) -> str:
    """One line as HTML: invisible characters are shown by their code; a very long line is cut."""
    if len(line) > LONGEST_LINE:
        hidden = len(line) - LONGEST_LINE
        return f'{_visible(line[:LONGEST_LINE])}<span class="cut">… {hidden:,} more characters in this line</span>'
    return _visible(line)


def _lexer(path: str) -> Lexer | None:
    try:
        found: Lexer = get_lexer_for_filename(path.rpartition("/")[2])
    except (ClassNotFound, ValueError):
        return None
    return None if isinstance(found, TextLexer) else found


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


_class_cache: dict[_TokenType, str] = {}


def _class(kind: _TokenType) -> str:
    if kind not in _class_cache:
        _class_cache[kind] = next((name for wide, name in _CLASSES if _within(kind, wide)), "")
    return _class_cache[kind]


def _within(kind: _TokenType, wide: _TokenType) -> bool:
    return kind[: len(wide)] == tuple(wide)


def _span(colour: str, text: str, show: Callable[[str], str]) -> str:
    if not text:
        return ""
    return f'<span class="{colour}">{show(text)}</span>' if colour and text.strip() else show(text)


def _visible(text: str) -> str:
    if clean_text(text) == text:
        return escape(text)
    return "".join(escape(char) if clean_text(char) == char else _named(char) for char in text)


def _named(char: str) -> str:
    label = "␍" if char == "\r" else f"U+{ord(char):04X}"
    return f'<span class="odd" title="invisible character: U+{ord(char):04X}">{label}</span>'
