"""Finds the verdict block in a reply with a Markdown parser, so that quoted or nested blocks do not count."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from burnish.core.text_encoding import skeleton
from burnish.review.hidden_markup import delimiter_around, wrapper_before

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# a megabyte of list items takes the parser thirteen seconds; a review is a few kilobytes
MAX_REPLY_LENGTH = 1_000_000

_CLOSING = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*")
# prefix of lines in quotes and lists
_MARGIN = re.compile(r"[>\s]*")
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.{1,500}?)(?<!`)\1(?!`)", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class NoBlock:
    """Why no block counts. `missing`: there was no similar block either."""

    why: str
    missing: bool = False


def only_block(text: str, word: str, number: str) -> str | NoBlock:
    """The content of the only block ```` ```word number ````."""
    if len(text) > MAX_REPLY_LENGTH:
        return NoBlock(f"the reply is longer than {MAX_REPLY_LENGTH:,} characters")
    if "\0" in text:
        return NoBlock("the reply contains a NUL byte")
    # the parser treats a lone \r as a line end, so line numbers must do so, too
    text = re.sub(r"\r\n?", "\n", text.removeprefix("\ufeff"))
    if word not in text:
        return NoBlock(f"there is no {word} block", missing=True)
    lines = text.split("\n")
    tokens = _tokens(text)
    # another spelling of the name does not count, but makes the reply ambiguous
    similar_name = re.compile(rf"\s*{word.replace('-', '[-_]?')}(?![\w-])")
    named_fences = [t for t in tokens if t.type == "fence" and similar_name.match(skeleton(t.info))]
    top_level = [t for t in named_fences if t.level == 0]
    if not top_level:
        return NoBlock(f"there is no {word} block outside of quotes and lists", missing=not named_fences)
    if len(top_level) > 1 or _count_openings(lines, word, number) > 1:
        return NoBlock(f"there is more than one {word} block")
    return _content_of(top_level[0], tokens, lines, word, number)


def _content_of(fence: Token, tokens: Sequence[Token], lines: list[str], word: str, number: str) -> str | NoBlock:
    if not number or _words(fence.info) != [word, number]:
        return NoBlock(f"the {word} block does not have this call's number")
    start = (fence.map or [0])[0]
    if not _is_closed(fence, lines):
        return NoBlock(f"the {word} block is not closed")
    if any(not _is_closed(other, lines) for other in tokens if other.type == "fence" and (other.map or [0])[0] < start):
        return NoBlock(f"there is an unclosed fence before the {word} block")
    if wrapper := wrapper_before(tokens, start):
        return NoBlock(f"the {word} block is inside {wrapper}")
    if delimiter := delimiter_around(_without_code(tokens, lines)[:start], lines[start:]):
        return NoBlock(f"the {word} block is between {delimiter}")
    return fence.content


def hidden_by(text: str, number: int) -> str:
    """The markup that may hide, strike out or fold this line of the text; "" if there is none."""
    lines, tokens = text.split("\n"), _tokens(text)
    if wrapper := wrapper_before(tokens, number):
        return wrapper
    return delimiter_around(_without_code(tokens, lines)[:number], lines[number:])


# Where a program may show a new line: other separators, cursor movements, entities, tags, escapes of JSON.
_SEPARATORS = "[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]"
_CURSOR_MOVES = re.compile(r"(?:\x1b\[|\x9b)[0-9;]*[A-HSTdf`]|\x1b[DEM]")
_LINE_BREAKS = re.compile(
    rf"\r|{_SEPARATORS}|<br[ ]{{0,9}}/?>|&#(?:1[0-3]|x0*[a-d]);|&NewLine;|\\(?:[nr]|u2028|u2029|u0085)", re.IGNORECASE
)


def other_separator(text: str) -> str:
    """The first character that ends a line for some programs only; "" if there is none."""
    found = re.search(_SEPARATORS, text)
    return found[0] if found else ""


def with_line_ends(text: str) -> str:
    """The text with a line feed in place of every character that ends a line for some program."""
    return re.sub(rf"\r\n?|{_SEPARATORS}", "\n", text)


def with_cursor_moves(text: str) -> str:
    """Terminal escapes that move the cursor as separators: without them, two lines would become one."""
    return _CURSOR_MOVES.sub("\u2028", text)


def line_pieces(lines: Sequence[str]) -> list[str]:
    """The parts of lines that some program may show as several ones; without the other lines."""
    parts = (_LINE_BREAKS.split(line) for line in lines)
    return [piece for pieces in parts if len(pieces) > 1 for piece in pieces]


def _is_closed(fence: Token, lines: list[str]) -> bool:
    """Whether the fence has an end line: the parser closes an open fence at the end of its container."""
    start, end = fence.map or [0, 0]
    if end - start < 2:
        return False
    closing = _CLOSING.fullmatch(lines[end - 1] if fence.level == 0 else _MARGIN.sub("", lines[end - 1]))
    return closing is not None and closing[1][0] == fence.markup[0] and len(closing[1]) >= len(fence.markup)


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark")
    # block structure only: inline parsing of hostile text takes seconds
    parser.core.ruler.enableOnly(["normalize", "block"])
    # the parser fills its tables on first use without a lock, so do it before another thread uses it
    parser.parse("")
    return parser


@lru_cache(maxsize=2)
def _tokens(text: str) -> tuple[Token, ...]:
    """The block structure; cached, because a reply is read several times and parsing is slow."""
    return tuple(_parser().parse(text))


def _words(info: str) -> list[str]:
    return [word for word in re.split(r"[ \t]+", info) if word]


def _count_openings(lines: list[str], word: str, number: str) -> int:
    """Number of lines that open such a block, also in quotes, lists, comments and other fences."""
    opening = re.compile(rf"[\s>*+\-0-9.)(]*(?:`{{3,}}|~{{3,}})[ \t]*{re.escape(word)}[ \t]+{re.escape(number)}\s*")
    return sum(opening.fullmatch(skeleton(line)) is not None for line in lines if "``" in line or "~~" in line)


def prose_around(text: str, word: str) -> tuple[list[str], list[str]]:
    """The lines before and after the block ```` ```word … ````, without quotes and code."""
    text = re.sub(r"\r\n?", "\n", text.removeprefix("\ufeff"))
    start, end = _place(text, word)
    lines = shown_lines(text)
    return lines[:start], lines[end:]


def lines_after(text: str, word: str) -> list[str]:
    """All lines after the block ```` ```word … ````, also quotes and code."""
    text = re.sub(r"\r\n?", "\n", text.removeprefix("\ufeff"))
    return text.split("\n")[_place(text, word)[1] :]


def _place(text: str, word: str) -> tuple[int, int]:
    fences = [t for t in _tokens(text) if t.type == "fence" and t.level == 0 and _words(t.info)[:1] == [word]]
    start, end = (fences[0].map if fences else None) or (0, 0)
    return start, end


def code_after(text: str, word: str) -> list[str]:
    """Contents of the code blocks after the block ```` ```word … ````, also in quotes and lists."""
    text = re.sub(r"\r\n?", "\n", text.removeprefix("\ufeff"))
    code = [token for token in _tokens(text) if token.type in ("fence", "code_block")]
    for number, token in enumerate(code):
        if token.level == 0 and _words(token.info)[:1] == [word]:
            return [other.content for other in code[number + 1 :]]
    return []


def named_blocks(text: str, word: str) -> list[str]:
    """Contents of the blocks ```` ```word … ````, with any number or none, outside of quotes and lists."""
    fences = (token for token in _tokens(text) if token.type == "fence" and token.level == 0)
    return [token.content for token in fences if _words(skeleton(token.info))[:1] == [word]]


def without_blocks(text: str, word: str) -> str:
    """The text without its blocks ```` ```word … ````, with any number."""
    text = re.sub(r"\r\n?", "\n", text.removeprefix("\ufeff"))
    if len(text) > MAX_REPLY_LENGTH or word not in text:
        return text
    lines = text.split("\n")
    for token in _tokens(text):
        if token.type == "fence" and token.map and _words(skeleton(token.info))[:1] == [word]:
            lines[token.map[0] : token.map[1]] = [""] * (token.map[1] - token.map[0])
    return "\n".join(lines)


def unclosed_fence(text: str) -> str:
    """The line that opens a fence which is never closed, "" if there is none: what is behind it is not read."""
    lines = text.split("\n")
    fences = (token for token in _tokens(text) if token.type == "fence" and not _is_closed(token, lines))
    return next((lines[token.map[0]].strip() for token in fences if token.map), "")


def indented_lines(text: str) -> list[str]:
    """The lines of code blocks that only their indent makes one; the others are blank."""
    lines = text.split("\n")
    code = [token.map for token in _tokens(text) if token.type == "code_block" and token.map]
    numbers = {number for start, end in code for number in range(start, end)}
    return [line if number in numbers else "" for number, line in enumerate(lines)]


def shown_lines(text: str) -> list[str]:
    """The lines outside quotes and code blocks; HTML is kept, because browsers show its text."""
    return _blank_blocks(text, ("fence", "code_block", "blockquote_open"))


def prose_lines(text: str) -> list[str]:
    """The lines outside quotes, code blocks and raw HTML; those inside are blank."""
    return _blank_blocks(text, ("fence", "code_block", "html_block", "blockquote_open"))


def own_lines(text: str) -> list[str]:
    """The lines outside quotes, code, HTML, lists, code spans and comments; the others are blank."""
    inside = ("fence", "code_block", "html_block", "blockquote_open", "bullet_list_open", "ordered_list_open")
    rest = "\n".join(_blank_blocks(text, inside))
    for pattern in (_CODE_SPAN, _COMMENT):
        rest = pattern.sub(lambda found: "\n" * found[0].count("\n"), rest)
    return rest.split("\n")


def _blank_blocks(text: str, inside: tuple[str, ...]) -> list[str]:
    return _without(_tokens(text), text.split("\n"), inside)


def _without_code(tokens: Sequence[Token], lines: list[str]) -> list[str]:
    return _without(tokens, list(lines), ("fence", "code_block"))


def _without(tokens: Sequence[Token], lines: list[str], inside: tuple[str, ...]) -> list[str]:
    for token in tokens:
        if token.map and token.type in inside:
            lines[token.map[0] : token.map[1]] = [""] * (token.map[1] - token.map[0])
    return lines
