"""Renders artifacts: Markdown without raw HTML and without images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape

from burnish.sanitize import clean_text

# longer texts take seconds to render
LONGEST = 100_000


@dataclass(frozen=True, slots=True)
class Read:
    """An artifact: front matter, and the body as HTML; `html` is empty if the text is shown unrendered."""

    front: str
    html: Markup
    text: str


def read(name: str, text: str) -> Read:
    text = clean_text(text)
    if not name.endswith(".md") or len(text) > LONGEST:
        return Read("", Markup(""), text)
    front, body = _split(text)
    # Raw HTML is off and everything else is escaped by the renderer.
    return Read(front, Markup(_reader().render(body)), text)


def _split(text: str) -> tuple[str, str]:
    if not text.startswith("---\n"):
        return "", text
    front, found, body = text[4:].partition("\n---\n")
    return (front, body) if found else ("", text)


@cache
def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("table")
    reader.add_render_rule("image", _picture)
    reader.add_render_rule("link_open", _link)
    return reader


def _picture(renderer: RendererHTML, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    """Show the name of an image only: loading it would reveal that the page was opened."""
    source = str(tokens[at].attrGet("src") or "")
    return f'<span class="picture">picture: {escape(tokens[at].content)} ({escape(source)})</span>'


def _link(renderer: RendererHTML, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    tokens[at].attrSet("rel", "noreferrer noopener nofollow")
    tokens[at].attrSet("target", "_blank")
    return str(renderer.renderToken(tokens, at, options, env))
