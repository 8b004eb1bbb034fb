"""Finds delimiters of Markdown extensions around a position, which may hide the text or show it differently.

Formulas (`$$`), comments (`%%`, `{% comment %}`, `{/* */}`), shortcodes and forum tags. CommonMark does not know
them, so the parser sees a block where a reader of the rendered page may not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(?:.{1,500}?)(?<!`)\1(?!`)|\\[$%]", re.DOTALL)
# delimiters that are the same at both ends: formulas and comments anywhere, others on a line of their own
_INLINE_MARKS = re.compile(r"(?<![\w$])\$\$(?!\$)|(?<=[^\s$])\$\$(?![$\w])|(?<![\w%])%%(?!%)|(?<=[^\s%])%%(?![%\w])")
_LINE_MARK = re.compile(
    r"^[ \t]*((?P<sign>[|+/^@&!?;])(?P=sign)+)[ \t]*$|^[ \t]*(?P<named>/{3,}|\+{3,})[ \t]+\w", re.MULTILINE
)
# pairs whose end repeats the name, or mirrors the start
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

# each takes two searches of the reply
_MOST_NAMES = 100


def delimiter_around(before: Sequence[str], rest: Sequence[str]) -> str:
    """The delimiter that is open after the lines `before`; "" if there is none. Pairs must end in `rest`."""
    text, following = _CODE_SPAN.sub("", "\n".join(before)), "\n".join(rest)
    inline = [found[0] for found in _INLINE_MARKS.finditer(text)]
    lines = [found[1] or found["named"] for found in _LINE_MARK.finditer(text)]
    for mark in dict.fromkeys((*inline, *lines)):
        if (inline + lines).count(mark) % 2:
            return f"{mark} signs"
    return _open_pair(text, following)


def _open_pair(text: str, following: str) -> str:
    for opening, form in _PAIRS:
        # only the last one of each name matters
        last = {found[1].lower(): found for found in opening.finditer(text)}
        if len(last) > _MOST_NAMES:
            return "too many tags"
        for found in last.values():
            end = re.compile(form.format(name=re.escape(found[1])), re.IGNORECASE)
            if not end.search(text, found.end()) and end.search(following):
                return found[0].strip()
    return ""
