"""Markdown of people and agents: rendered, harmless and bounded."""

from __future__ import annotations

import re
import time

import pytest

from burnish.web.pages.markdown import MAX_LENGTH, markdown, markdown_line
from burnish.web.pages.rendering import sentence
from testing.at_hand import AtHand

HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt:alert(1))",
    "[a](\x01javascript:alert(1))",
    "[a](java\nscript:alert(1))",
    "[a](&#106;avascript:alert(1))",
    "[a](data:text/html,<script>alert(1)</script>)",
    "[a](vbscript:x) [b](file:///etc/passwd) [c](blob:x)",
    "<javascript:alert(1)>",
    '[a](https://x "\\" onmouseover=alert(1) x=\\"")',
    "[a](https://x/\"onmouseover='alert(1)')",
    "![a](http://evil/p.png)",
    "![a](https://evil/p.png){onload=x}",
    "[![a](http://evil/p.png)](https://x)",
    "```html\n<script>alert(1)</script>\n```",
    '```"><script>alert(1)</script>\nx\n```',
    "`<script>alert(1)</script>`",
    "[a]: javascript:alert(1)\n\n[a]",
    "| <script> | <b onclick=x> |\n|-|-|\n| <img src=x> | </td></table><script> |",
    "</div></main><script>alert(1)</script>",
    "<svg/onload=alert(1)> <style>*{display:none}</style> <iframe src=//x>",
    "# <a href=javascript:x>y</a>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
)
ALLOWED = {
    "a", "blockquote", "br", "code", "div", "em", "hr", "li", "ol", "p", "pre", "s", "span", "strong",
    "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("render", [markdown, markdown_line])
def test_hostile_text_makes_no_tag_no_handler_and_no_foreign_address(render: object, text: str) -> None:
    html = str(markdown(text) if render is markdown else markdown_line(text))
    tags = re.findall(r"<(/?)([a-zA-Z]+)([^>]*)>", html)
    assert {name for _, name, _ in tags} <= ALLOWED
    for _, _, attributes in tags:
        names = re.findall(r'\s([\w-]+)(?:="[^"]*")?', attributes)
        assert set(names) <= {"href", "title", "rel", "target", "class", "start"}, html
        assert all(re.match(r"https?://", url) for url in re.findall(r'href="([^"]*)"', attributes)), html
    assert not re.search(r"<[^>]*\ssrc=", html)


def test_a_link_says_where_it_leads_and_sends_no_referrer() -> None:
    html = str(markdown('[https://good.example](https://evil.example "https://good.example")'))
    assert 'href="https://evil.example" title="https://evil.example"' in html
    assert 'rel="noreferrer noopener nofollow" target="_blank"' in html
    assert "<a" not in markdown("[here](../other) [there](/p/x) [mail](mailto:a@b)")


def test_lines_lists_code_and_tables_are_rendered() -> None:
    html = str(markdown("one\ntwo\n\n- a\n- `b`\n\n```python\nx < 1\n```\n\n|a|b|\n|:-|-:|\n|1|2|\n\n## Next\n"))
    assert (
        "one<br />\ntwo" in html and "<li><code>b</code></li>" in html and "x &lt; 1" in html and "<td>1</td>" in html
    )
    # the page has its own outline
    assert '<p class="prose-heading">Next</p>' in html and "<h2" not in html
    assert (
        markdown_line("use `a` and *b*, not [c](https://x)") == "use <code>a</code> and <em>b</em>, not [c](https://x)"
    )


def test_nothing_is_rendered_for_nothing_and_controls_are_removed() -> None:
    assert markdown(None) == "" and markdown(" \n") == "" and markdown_line(None) == ""
    assert "\u202e" not in markdown("a\u202eb") and "\x1b" not in markdown("\x1b[31mred")
    assert "?" in markdown("lone \ud800 surrogate")


@pytest.mark.parametrize(
    "piece", ["[", "![[", "[a](", "*a_ ", "|" * 50 + "\n", "* * * a\n", "> ", "`a``b", "  - a\n", "<a", "a**b"]
)
def test_long_texts_of_markup_take_no_time(piece: str) -> None:
    text = (piece * MAX_LENGTH)[:MAX_LENGTH]
    before = time.process_time()
    assert len(markdown(text)) < 20 * MAX_LENGTH
    assert time.process_time() - before < 1
    assert markdown("word " * MAX_LENGTH).startswith('<pre class="prose">')


def test_a_description_is_rendered_on_the_page_of_its_task(server: AtHand) -> None:
    body = {"title": "Add `share`", "description": "Use **two** places.\n\n<b>x</b>", "criteria": ["refuse `0`"]}
    number = server.of_project("POST", "/tasks", body).json()["id"]
    _, headers = server.browser()
    html = server.client.get(f"/p/{server.project}/t/{number}", headers=headers).text
    assert "Use <strong>two</strong> places." in html and "&lt;b&gt;x&lt;/b&gt;" in html and "<b>x" not in html
    assert "<li>refuse <code>0</code></li>" in html
    server.of_project("DELETE", f"/tasks/{number}")


def test_a_reason_begins_with_a_capital_letter_unless_it_may_begin_with_a_name() -> None:
    reasons = (
        "the review approved it; a person decides next",
        "approved, but conflicts with main in app.py",
        "main has moved since the approval",
        "robot failed with exit code 1",
        "approved",
        "",
    )
    assert [sentence(reason) for reason in reasons] == [
        "The review approved it; a person decides next",
        "Approved, but conflicts with main in app.py",
        "main has moved since the approval",
        "robot failed with exit code 1",
        "approved",
        "",
    ]
