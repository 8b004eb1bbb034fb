"""Finding the one fenced block that counts, by the rules of Markdown rather than by lines that look alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from burnish.core.lookalikes import skeleton
from burnish.review.delimited_text import delimiter_around
from burnish.review.hidden_markup import wrapper_before

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# a megabyte of list items takes the parser thirteen seconds; a review is a few kilobytes
LONGEST_REPLY = 1_000_000

_CLOSING = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*")
# what quotes and lists put before a line
_MARGIN = re.compile(r"[>\s]*")
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.{1,500}?)(?<!`)\1(?!`)", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class NoBlock:
    """Why there is no block that counts. `missing`: there was nothing like it at all."""

    why: str
    missing: bool = False


def only_block(text: str, word: str, number: str) -> str | NoBlock:
    """What stands in the one block ```` ```word number ````."""
    if len(text) > LONGEST_REPLY:
        return NoBlock(f"the reply is longer than {LONGEST_REPLY:,} characters")
    if "\0" in text:
        return NoBlock("the reply contains a NUL byte")
    # the parser, too, ends lines at \r alone: both must count the same lines
    text = re.sub(r"\r\n?", "\n", text.removeprefix("\ufeff"))
    if word not in text:
        return NoBlock(f"there is no {word} block", missing=True)
    lines = text.split("\n")
    tokens = _tokens(text)
    # another spelling of the name is not a block that counts, but a second block all the same
    like = re.compile(rf"\s*{word.replace('-', '[-_]?')}(?![\w-])")
    named = [t for t in tokens if t.type == "fence" and like.match(skeleton(t.info))]
    outer = [t for t in named if t.level == 0]
    if not outer:
        return NoBlock(f"there is no {word} block that stands by itself", missing=not named)
    if len(outer) > 1 or _alike(lines, word, number) > 1:
        return NoBlock(f"there is more than one {word} block")
    return _inside(outer[0], tokens, lines, word, number)


def _inside(fence: Token, tokens: Sequence[Token], lines: list[str], word: str, number: str) -> str | NoBlock:
    if not number or _words(fence.info) != [word, number]:
        return NoBlock(f"the {word} block does not carry this call's number")
    start = (fence.map or [0])[0]
    if not _closed(fence, lines):
        return NoBlock(f"the {word} block is not closed")
    if any(not _closed(other, lines) for other in tokens if other.type == "fence" and (other.map or [0])[0] < start):
        return NoBlock(f"an unclosed fence stands before the {word} block")
    if wrapper := wrapper_before(tokens, start):
        return NoBlock(f"the {word} block stands inside {wrapper}")
    if delimiter := delimiter_around(_without_code(tokens, lines)[:start], lines[start:]):
        return NoBlock(f"the {word} block stands between {delimiter}")
    return fence.content


def _closed(fence: Token, lines: list[str]) -> bool:
    """An unclosed fence runs to the end of what it stands in, and the parser does not tell."""
    start, end = fence.map or [0, 0]
    if end - start < 2:
        return False
    closing = _CLOSING.fullmatch(lines[end - 1] if fence.level == 0 else _MARGIN.sub("", lines[end - 1]))
    return closing is not None and closing[1][0] == fence.markup[0] and len(closing[1]) >= len(fence.markup)


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark")
    # block structure is all we need: inline parsing of hostile text takes seconds
    parser.core.ruler.enableOnly(["normalize", "block"])
    # its tables are filled on first use, and not under a lock: fill them before a second thread looks
    parser.parse("")
    return parser


@lru_cache(maxsize=2)
def _tokens(text: str) -> tuple[Token, ...]:
    """The block structure; one reply is looked at several times, and parsing is what takes the time."""
    return tuple(_parser().parse(text))


def _words(info: str) -> list[str]:
    return [word for word in re.split(r"[ \t]+", info) if word]


def _alike(lines: list[str], word: str, number: str) -> int:
    """Lines that open such a block anywhere, quotes, lists, comments and other fences included."""
    opening = re.compile(rf"[\s>*+\-0-9.)(]*(?:`{{3,}}|~{{3,}})[ \t]*{re.escape(word)}[ \t]+{re.escape(number)}\s*")
    return sum(opening.fullmatch(skeleton(line)) is not None for line in lines if "``" in line or "~~" in line)


def prose_around(text: str, word: str) -> tuple[list[str], list[str]]:
    """The prose before and after the one block ```` ```word … ````, line by line."""
    text = re.sub(r"\r\n?", "\n", text.removeprefix("\ufeff"))
    fences = [t for t in _tokens(text) if t.type == "fence" and t.level == 0 and _words(t.info)[:1] == [word]]
    start, end = (fences[0].map if fences else None) or (0, 0)
    lines = shown_lines(text)
    return lines[:start], lines[end:]


def code_after(text: str, word: str) -> list[str]:
    """What stands in the code blocks behind the one block ```` ```word … ````, quotes and lists included."""
    text = re.sub(r"\r\n?", "\n", text.removeprefix("\ufeff"))
    code = [token for token in _tokens(text) if token.type in ("fence", "code_block")]
    for number, token in enumerate(code):
        if token.level == 0 and _words(token.info)[:1] == [word]:
            return [other.content for other in code[number + 1 :]]
    return []


def named_blocks(text: str, word: str) -> list[str]:
    """What stands in the blocks ```` ```word … ````, with any number or none, outside of quotes and lists."""
    fences = (token for token in _tokens(text) if token.type == "fence" and token.level == 0)
    return [token.content for token in fences if _words(skeleton(token.info))[:1] == [word]]


def without_blocks(text: str, word: str) -> str:
    """The text without its blocks ```` ```word … ````, whatever number they carry."""
    text = re.sub(r"\r\n?", "\n", text.removeprefix("\ufeff"))
    if len(text) > LONGEST_REPLY or word not in text:
        return text
    lines = text.split("\n")
    for token in _tokens(text):
        if token.type == "fence" and token.map and _words(skeleton(token.info))[:1] == [word]:
            lines[token.map[0] : token.map[1]] = [""] * (token.map[1] - token.map[0])
    return "\n".join(lines)


def shown_lines(text: str) -> list[str]:
    """The lines outside quotes and code blocks. HTML stays: its text is shown."""
    return _blanked(text, ("fence", "code_block", "blockquote_open"))


def prose_lines(text: str) -> list[str]:
    """The lines outside quotes, code blocks and raw HTML; those inside are blank."""
    return _blanked(text, ("fence", "code_block", "html_block", "blockquote_open"))


def own_lines(text: str) -> list[str]:
    """The lines in the speaker's own voice: list items, code spans and comments are blank as well."""
    inside = ("fence", "code_block", "html_block", "blockquote_open", "bullet_list_open", "ordered_list_open")
    rest = "\n".join(_blanked(text, inside))
    for hidden in (_CODE_SPAN, _COMMENT):
        rest = hidden.sub(lambda found: "\n" * found[0].count("\n"), rest)
    return rest.split("\n")


def _blanked(text: str, inside: tuple[str, ...]) -> list[str]:
    return _without(_tokens(text), text.split("\n"), inside)


def _without_code(tokens: Sequence[Token], lines: list[str]) -> list[str]:
    return _without(tokens, list(lines), ("fence", "code_block"))


def _without(tokens: Sequence[Token], lines: list[str], inside: tuple[str, ...]) -> list[str]:
    for token in tokens:
        if token.map and token.type in inside:
            lines[token.map[0] : token.map[1]] = [""] * (token.map[1] - token.map[0])
    return lines
