"""Finds markup around a position in Markdown that may hide it. In doubt the text counts as hidden."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it.token import Token


_TAG = re.compile(
    r"""<(?P<end>/?)(?P<name>[a-z][a-z0-9:-]*+)
    (?P<rest>(?:[\s/]++[^\s"'<>/=]++(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s"'<>][^\s<>]*+))?+)*+)\s*+/?+>""",
    re.I | re.X,
)
_ATTRIBUTE = re.compile(r"""[\s/]+([^\s"'<>/=]+)(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'<>][^\s<>]*))?""")
_COMMENT = re.compile(r"<!--(?!-?>)(.*?)-->", re.DOTALL)
_AUTOLINK = re.compile(r"<(?:[a-z][a-z0-9+.-]{1,31}:[^\s<>]*|[\w.+-]+@[\w.-]+)>", re.I)
_TICKS = re.compile(r"`+")
_STRIKE = re.compile(r"(?<!~)~~(?!~)")

_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
# these elements show their content, if they have only harmless attributes
_VISIBLE = frozenset(
    "a abbr article b big body center div em figure font footer h1 h2 h3 h4 h5 h6 header html i ins li main mark ol p"
    " section small span strong sub sup table tbody td th thead tr u ul".split()
)
_HARMLESS_ATTRIBUTES = frozenset("align alt dir href id lang name rel src start title valign".split())
_HIDING_ATTRIBUTES = frozenset("aria-hidden class hidden inert popover slot style".split())
# elements that quote, strike out, fold, replace or hide their content
_HIDING = frozenset(
    "address applet aside audio bdi bdo blockquote button canvas caption cite code colgroup data datalist dd del"
    " details dfn dialog dl dt fieldset figcaption form frame frameset head hgroup kbd label legend map menu meter nav"
    " object optgroup option output picture pre progress q rp rt ruby s samp search select slot strike summary time tt"
    " var video".split()
)
# elements whose content is not markup, or is parsed by other rules
_FOREIGN = frozenset(
    "iframe listing math noembed noframes noscript plaintext script style svg template textarea title xmp".split()
)
# `Promise<object>` is a type; without attributes these elements show their content
_TYPE_NAMES = frozenset("button data form label map object option output time var".split())
_GENERIC = re.compile(r"\b(?:[A-Z][A-Za-z0-9_]+|(?:std::)?(?:vector|optional|unique_ptr|shared_ptr|list|set))\Z")
# `:::details` of VitePress, Docusaurus and Pandoc
_CONTAINER = re.compile(r"^[ ]{0,3}:{3,}[ \t]*(?P<name>[^\s:].*)?$", re.M)
_BROKEN_TAG = re.compile(r"<(?P<name>[a-z][a-z0-9]+)(?:[\s/][^<>]*)?>", re.I)
# Reviews have few open elements; closing them takes quadratic time.
_MAX_OPEN = 200
_CONTAINER_TEXT = "a ::: container"
_END_TAG = re.compile(r"</([a-z][a-z0-9:-]*)", re.I)
_END_IS_OPTIONAL = frozenset("dd dt li option p rp rt tbody td th thead tr".split())


class _AmbiguousMarkup(Exception):
    """Markup that may or may not hide text; the message names it."""


@dataclass(frozen=True, slots=True)
class _Element:
    name: str
    hides: bool


def wrapper_before(tokens: Sequence[Token], line: int) -> str:
    """The element, comment or strike-out that is open before this line, or ambiguous markup; "" if there is none."""
    open_elements: list[_Element] = []
    strikes = containers = 0
    end_tags = frozenset(name.lower() for token in tokens for name in _END_TAG.findall(token.content))
    try:
        for token in tokens:
            if token.type in ("inline", "html_block") and token.map and token.map[0] < line:
                # of a paragraph that goes on behind this line, only what is before it
                content = "\n".join(token.content.split("\n")[: line - token.map[0]])
                for piece in _pieces(content, raw=token.type == "html_block"):
                    if isinstance(piece, str):
                        strikes += len(_STRIKE.findall(piece))
                        containers += sum(1 if found["name"] else -1 for found in _CONTAINER.finditer(piece))
                    else:
                        _apply(piece, open_elements, end_tags)
    except _AmbiguousMarkup as error:
        return str(error)
    hiding = next((element for element in open_elements if element.hides), None)
    return (
        f"<{hiding.name}>"
        if hiding
        else "struck-out text"
        if strikes % 2
        else _CONTAINER_TEXT
        if containers > 0
        else ""
    )


def _pieces(text: str, *, raw: bool) -> Iterator[str | re.Match[str]]:
    """The tags and the text between them, of one paragraph or HTML block. `raw`: HTML, without code spans."""
    ticks = set() if raw else {len(run) for run in _TICKS.findall(text)}
    at = begin = 0
    while at < len(text):
        char, end = text[at], at + 1
        if not raw and char == "\\":
            end = at + 2
        elif not raw and char == "`":
            run = len(_TICKS.match(text, at)[0])  # type: ignore[index]
            end = _span_end(text, at, run, ticks)
        elif char == "<" and (autolink := None if raw else _AUTOLINK.match(text, at)):
            end = autolink.end()
        elif char == "<" and (tag := _TAG.match(text, at)):
            yield text[begin:at]
            yield tag
            begin = end = tag.end()
        elif char == "<":
            end = _other_markup(text, at, raw=raw)
        else:
            at = end
            continue
        if begin != end:
            yield text[begin:at]
        at = begin = end
    yield text[begin:]


def _span_end(text: str, at: int, run: int, ticks: set[int]) -> int:
    """The end of the code span that begins here; without one, the end of the backticks."""
    if run in ticks:
        closing = re.compile(rf"(?<!`)`{{{run}}}(?!`)").search(text, at + run)
        if closing:
            return closing.end()
        # no other run of this length follows, so do not search again
        ticks.discard(run)
    return at + run


def _other_markup(text: str, at: int, *, raw: bool) -> int:
    """The position after a comment, or after a `<` that does not begin a tag."""
    if comment := _COMMENT.match(text, at):
        if "--!>" in comment[1]:
            raise _AmbiguousMarkup("a comment")
        return comment.end()
    if text.startswith("<!--", at):
        raise _AmbiguousMarkup("a comment")
    if text.startswith(("<!", "<?"), at) or (raw and re.match(r"</?[a-z]", text[at : at + 3], re.I)):
        raise _AmbiguousMarkup("markup that cannot be read")
    # renderers other than CommonMark treat it as a tag
    if not raw and (broken_tag := _BROKEN_TAG.match(text, at)) and broken_tag["name"].lower() in _HIDING | _FOREIGN:
        raise _AmbiguousMarkup(f"<{broken_tag['name'].lower()}>")
    return at + 1


def _apply(tag: re.Match[str], open_elements: list[_Element], end_tags: frozenset[str]) -> None:
    name = tag["name"].lower()
    if name in _FOREIGN:
        raise _AmbiguousMarkup(f"or after <{name}>")
    if tag["end"]:
        _close(name, tag, open_elements)
    elif name not in _VOID and not _is_type(name, tag, end_tags):
        open_elements.append(_Element(name, _hides(name, tag["rest"])))
    if len(open_elements) > _MAX_OPEN:
        raise _AmbiguousMarkup("too many open elements")


def _close(name: str, tag: re.Match[str], open_elements: list[_Element]) -> None:
    if tag["rest"].strip():
        raise _AmbiguousMarkup("markup that cannot be read")
    standard_elements = _VISIBLE | _HIDING
    for at in range(len(open_elements) - 1, -1, -1):
        element = open_elements[at]
        if element.name == name:
            del open_elements[at:]
            return
        # browsers ignore or move an end tag inside of another element
        if element.hides or (element.name in standard_elements and element.name not in _END_IS_OPTIONAL):
            if any(other.name == name for other in open_elements[:at]):
                raise _AmbiguousMarkup(f"<{element.name}>")
            return


def _is_type(name: str, tag: re.Match[str], end_tags: frozenset[str]) -> bool:
    """Whether it is a type parameter in prose: after the name of a generic, without attributes or end tag."""
    if name not in _TYPE_NAMES or tag["rest"] or name in end_tags:
        return False
    return _GENERIC.search(tag.string[max(0, tag.start() - 100) : tag.start()]) is not None


def _hides(name: str, rest: str) -> bool:
    attributes = {found[1].lower() for found in _ATTRIBUTE.finditer(rest)}
    if name in _VISIBLE:
        return not attributes <= _HARMLESS_ATTRIBUTES
    return name in _HIDING or bool(attributes & _HIDING_ATTRIBUTES)


# Delimiters of Markdown extensions: formulas (`$$`), comments (`%%`, `{% comment %}`, `{/* */}`), shortcodes and forum
# tags. CommonMark does not know them, so the parser sees a block where a reader of the rendered page may not.
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
    # front matter, which many renderers leave out
    (re.compile(r"\A\ufeff?(---)[ \t]*\n(?=[\w-]+:)"), r"(?m:^(?:---|\.\.\.)[ \t]*$)"),
)

# Each name takes two searches of the reply.
_MAX_NAMES = 100


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
        if len(last) > _MAX_NAMES:
            return "too many tags"
        for found in last.values():
            end = re.compile(form.format(name=re.escape(found[1])), re.IGNORECASE)
            if not end.search(text, found.end()) and end.search(following):
                return found[0].strip()
    return ""
