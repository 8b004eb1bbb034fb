"""Program text as coloured lines. Pygments reads, our own few classes paint; nothing is lost or added."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_for_filename
from pygments.lexers.special import TextLexer
from pygments.token import Comment, Generic, Keyword, Literal, Name, Number, Operator, String, _TokenType
from pygments.util import ClassNotFound

from burnish.sanitize import clean_text

# what is larger is shown in one colour: it is generated, and it would take seconds
MOST_COLOURED = 200_000
LONGEST_LINE = 2_000

# the first that fits; classes of `code.css`
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
    """The lines of a text as HTML, each by itself; what is not known or too large stays plain."""
    lines = text.split("\n")
    lexer = _lexer(path) if len(text) <= MOST_COLOURED else None
    if lexer is None or max(map(len, lines)) > LONGEST_LINE:
        return [plain(line) for line in lines]
    # looked at once for all: a file without odd signs, as nearly every one, is only escaped
    show = escape if clean_text(text) == text else _visible
    made, said = [""], [""]
    for kind, piece in _pieces(lexer, text):
        first, *rest = piece.split("\n")
        made[-1] += _span(kind, first, show)
        said[-1] += first
        for part in rest:
            made.append(_span(kind, part, show))
            said.append(part)
    # A lexer that leaves letters out must not change what is read.
    return made if said == lines else [plain(line) for line in lines]


def plain(line: str) -> str:
    """One line as HTML: what hides or turns text is named instead; a monster is cut, and says so."""
    if len(line) > LONGEST_LINE:
        left = len(line) - LONGEST_LINE
        return f'{_visible(line[:LONGEST_LINE])}<span class="cut">… {left:,} more characters in this line</span>'
    return _visible(line)


def _lexer(path: str) -> Lexer | None:
    try:
        found: Lexer = get_lexer_for_filename(path.rpartition("/")[2])
    except (ClassNotFound, ValueError):
        return None
    return None if isinstance(found, TextLexer) else found


def _pieces(lexer: Lexer, text: str) -> Iterator[tuple[str, str]]:
    """Neighbours of one colour as one piece."""
    colour = ""
    held: list[str] = []
    # not `get_tokens`: that one would change line breaks
    for _, kind, piece in lexer.get_tokens_unprocessed(text):
        here = _class(kind)
        if here != colour and piece.strip():
            yield colour, "".join(held)
            colour, held = here, []
        held.append(piece)
    yield colour, "".join(held)


_known: dict[_TokenType, str] = {}


def _class(kind: _TokenType) -> str:
    if kind not in _known:
        _known[kind] = next((name for wide, name in _CLASSES if _within(kind, wide)), "")
    return _known[kind]


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
    shown = "␍" if char == "\r" else f"U+{ord(char):04X}"
    return f'<span class="odd" title="a character that cannot be seen: U+{ord(char):04X}">{shown}</span>'
