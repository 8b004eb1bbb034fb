"""Renders Markdown of people and agents: no HTML, links to http(s), stored images only; bounded in size and time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape

from burnish.core.images import NAME, SCHEME
from burnish.sanitize import clean_text

# longer texts are shown unrendered: an artifact is opened on its own, other texts stand beside many others
MAX_ARTIFACT_LENGTH = 100_000
MAX_LENGTH = 20_000
# a long text that is mostly markup takes ten times as long to render, and cannot be read anyway
_MARKUP = re.compile(r"[\[\]!*_`|<>~]|(?m:^ *(?:[-+#]|\d+[.)]))")
_MAX_SHARE = 4
_MAX_DENSE_LENGTH = 1000


def markdown(text: str | None) -> Markup:
    """A text as a block of its own. Its headings are paragraphs: the page has an outline already."""
    return _block(_plain(text or ""))


def markdown_line(text: str | None) -> Markup:
    """A line inside of a sentence or a link: code and emphasis only."""
    return _line(_plain(text or ""))


def artifact_html(text: str) -> Markup:
    """A file of the audit trail with its headings; empty if the text is too long, or too long for its markup."""
    is_heavy = _is_heavy(text, longest=MAX_ARTIFACT_LENGTH)
    return Markup("") if is_heavy else Markup(_reader("artifact").render(text))


def _plain(text: str) -> str:
    """The text without control and bidirectional characters; lone surrogates become `?`."""
    return clean_text(text).encode("utf-8", "replace").decode()


@lru_cache(maxsize=1000)
def _block(text: str) -> Markup:
    if not text.strip():
        return Markup("")
    if _is_heavy(text):
        return Markup('<pre class="prose">{}</pre>').format(text)
    # Raw HTML is off, and everything else is escaped by the renderer.
    return Markup('<div class="prose">{}</div>').format(Markup(_reader("block").render(text)))


@lru_cache(maxsize=4000)
def _line(text: str) -> Markup:
    if _is_heavy(text):
        return escape(text)
    return Markup(_reader("line").renderInline(text))


def _is_heavy(text: str, *, longest: int = MAX_LENGTH) -> bool:
    if len(text) <= _MAX_DENSE_LENGTH:
        return False
    return len(text) > longest or len(_MARKUP.findall(text)) * _MAX_SHARE > len(text)


@cache
def _reader(kind: str) -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False, "linkify": False, "breaks": kind == "block"})
    reader.enable(["table", "strikethrough"])
    # the library allows every scheme but a few
    reader.validateLink = _is_web_address  # type: ignore[method-assign]
    reader.add_render_rule("image", _picture)
    reader.add_render_rule("link_open", _link)
    for cell in ("th_open", "td_open"):
        reader.add_render_rule(cell, _cell)
    if kind == "block":
        reader.add_render_rule("heading_open", _heading_open)
        reader.add_render_rule("heading_close", _heading_close)
    if kind == "line":
        reader.disable(["link", "image", "autolink", "newline"])
    return reader


def _is_web_address(url: str) -> bool:
    if url.startswith(SCHEME):
        return NAME.fullmatch(url.removeprefix(SCHEME)) is not None
    return re.match(r"https?://[^/]", url.strip(), re.I) is not None


def _picture(renderer: RendererHTML, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    """Show the name of an image only: loading it would reveal that the page was opened."""
    source = str(tokens[at].attrGet("src") or "")
    if source.startswith(SCHEME):
        # one of ours, in the burnish home
        where = f"/api/v1/images/{escape(source.removeprefix(SCHEME))}"
        return f'<img class="task-image" src="{where}" alt="{escape(tokens[at].content)}" loading="lazy">'
    return f'<span class="picture">picture: {escape(tokens[at].content)} ({escape(source)})</span>'


def _link(renderer: RendererHTML, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    href = str(tokens[at].attrGet("href") or "")
    if href.startswith(SCHEME):
        tokens[at].attrSet("href", f"/api/v1/images/{href.removeprefix(SCHEME)}")
    # the title of the writer could name another address
    tokens[at].attrSet("title", str(tokens[at].attrGet("href") or ""))
    tokens[at].attrSet("rel", "noreferrer noopener nofollow")
    tokens[at].attrSet("target", "_blank")
    return str(renderer.renderToken(tokens, at, options, env))


def _cell(renderer: RendererHTML, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    # the content security policy forbids style attributes
    tokens[at].attrs.pop("style", None)
    return str(renderer.renderToken(tokens, at, options, env))


def _heading_open(renderer: RendererHTML, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    return '<p class="prose-heading">'


def _heading_close(renderer: RendererHTML, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    return "</p>\n"
