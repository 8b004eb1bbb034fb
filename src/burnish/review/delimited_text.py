"""Is a place in Markdown between delimiters of an extension that may show it as something else, or not at all?

Formulas (`$$`), comments (`%%`, `{% comment %}`, `{/* */}`), shortcodes and tags of forums. CommonMark
knows none of them, so that a block between them is a block to the parser; a reader of the page sees another thing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(?:.{1,500}?)(?<!`)\1(?!`)|\\[$%]", re.DOTALL)
# the same sign opens and closes: formulas and comments anywhere, others as a line of their own
_INLINE_MARKS = re.compile(r"(?<![\w$])\$\$(?!\$)|(?<=[^\s$])\$\$(?![$\w])|(?<![\w%])%%(?!%)|(?<=[^\s%])%%(?![%\w])")
_LINE_MARK = re.compile(
    r"^[ \t]*((?P<sign>[|+/^@&!?;])(?P=sign)+)[ \t]*$|^[ \t]*(?P<named>/{3,}|\+{3,})[ \t]+\w", re.MULTILINE
)
# pairs whose end repeats the name, or is the mirrored sign
_PAIRS = (
    (re.compile(r"\{%-?[ \t]*(?!end)(\w+)"), r"\{{%-?[ \t]*end{name}\b"),
    (re.compile(r"\{\{[<%][ \t]*(\w[\w-]*)"), r"\{{\{{[<%][ \t]*/[ \t]*{name}\b"),
    (re.compile(r"\[([a-z]+)(?:=[^\]\n]*)?\](?![(\[:])", re.IGNORECASE), r"\[/{name}\]"),
    (re.compile(r"\\begin\{(\w+\*?)\}"), r"\\end\{{{name}\}}"),
    (re.compile(r"(\\\[)"), r"\\\]"),
    (re.compile(r"(\\\()"), r"\\\)"),
    (re.compile(r"(\{/\*)"), r"\*/\}}"),
    (re.compile(r"(\{#)(?!\w)"), r"#\}}"),
    (re.compile(r"^[ \t]*(/\*)", re.MULTILINE), r"\*/"),
)

# each costs two searches of the reply
_MOST_NAMES = 100


def delimiter_around(before: Sequence[str], rest: Sequence[str]) -> str:
    """The delimiter that is open at the end of the lines `before`; else empty. Pairs must end in the `rest`."""
    text, following = _CODE_SPAN.sub("", "\n".join(before)), "\n".join(rest)
    inline = [found[0] for found in _INLINE_MARKS.finditer(text)]
    lines = [found[1] or found["named"] for found in _LINE_MARK.finditer(text)]
    for mark in dict.fromkeys((*inline, *lines)):
        if (inline + lines).count(mark) % 2:
            return f"{mark} signs"
    return _open_pair(text, following)


def _open_pair(text: str, following: str) -> str:
    for opening, form in _PAIRS:
        # the last one of each name: whether an earlier one is closed does not matter here
        last = {found[1].lower(): found for found in opening.finditer(text)}
        if len(last) > _MOST_NAMES:
            return "too many tags"
        for found in last.values():
            end = re.compile(form.format(name=re.escape(found[1])), re.IGNORECASE)
            if not end.search(text, found.end()) and end.search(following):
                return found[0].strip()
    return ""
