"""JUnit of checks, and reports for people."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

from burnish.core.check import check_words
from burnish.core.finding import Category, Finding, Remark, Severity
from burnish.exchange.junit import write_junit
from burnish.exchange.markdown_text import escaped
from burnish.exchange.report import NightReport, TaskReport, night_html, night_markdown, task_html, task_markdown

CHECK: dict[str, Any] = {"name": "test", "command": "pytest", "status": "failed", "exit_code": 1, "seconds": 1.5}
HOSTILE = '</style><script src="http://x/">alert(1)</script>'


def suite(check: dict[str, Any]) -> ElementTree.Element:
    root = ElementTree.fromstring(write_junit([check], name="burnish task 1"))
    assert {key: root.get(key) for key in ("tests", "failures")} == {
        key: root[0].get(key) for key in ("tests", "failures")
    }
    return root[0]


def test_new_failures_fail_in_junit_and_old_ones_are_skipped() -> None:
    check = {**CHECK, "new": ["t::a"], "new_messages": {"t::a": "x < 1 & \x1b[0m"}, "old": ["t::b"], "fixed": ["t::c"]}
    found = suite(check)
    assert [found.get(key) for key in ("tests", "failures", "errors", "skipped")] == ["4", "1", "0", "1"]
    (failure,) = found.iter("failure")
    assert failure.text is not None and "x < 1 &" in failure.text
    assert [case.get("name") for case in found if case.find("skipped") is not None] == ["t::b"]


def test_a_check_without_cases_is_one_case_of_its_own() -> None:
    assert suite(CHECK).get("failures") == "1"
    assert suite({**CHECK, "status": "passed"}).get("failures") == "0"
    assert suite({**CHECK, "status": "error", "error": "not found"}).get("errors") == "1"
    assert suite({**CHECK, "status": "not_run", "why": "no tests"}).get("skipped") == "1"


def report(**fields: Any) -> TaskReport:
    remark = Remark(Category.CODE, Severity.ERROR, HOSTILE, description="* **bold** @ada\n# head", file="a.py", line=3)
    names = ("note", "final_verdict", "description", "branch", "commit", "agent", "model", "cost_usd", "cost_source")
    facts = dict.fromkeys(names) | {"id": "1", "title": "Title", "status": "verified", "cycle": 1, "max_cycles": 3}
    facts |= {
        "tokens": 0,
        "overrides": 0,
        "updated_at": "2026-05-01T10:00:00.000Z",
        "cycles": [],
        "project": "p",
        "run": 1,
    }
    return TaskReport(facts | fields, (Finding("F1", remark),))


def test_html_escapes_everything_and_loads_nothing() -> None:
    cycle = {"number": 1, "verdict": "approved", "summary": HOSTILE, "reviewers": [{"agent": HOSTILE}], "commit": "c0"}
    page = task_html(
        report(title=HOSTILE, description=HOSTILE, cycles=[cycle | {"checks": [{**CHECK, "new": [HOSTILE]}]}])
    )
    assert "<script" not in page and page.count("</style>") == 1
    assert "default-src 'none'" in page and 'src="' not in page.replace("&#34;", "").replace("src=&", "")
    assert page.count("<article") == page.count("</article>") == 3


def test_html_shows_no_characters_that_reverse_text() -> None:
    assert "\u202e" not in task_html(report(title="a\u202eb"))


def test_markdown_holds_no_markup_or_mention_of_an_agent() -> None:
    text = task_markdown(report())
    assert "**bold**" not in text and "@ada" not in text and "<script" not in text.replace("\\<script", "")
    assert text.count("\n# ") == 0 and "(a.py:3)" in text


def test_markdown_has_no_link_and_closes_no_issue() -> None:
    text = task_markdown(report(description="See http://x/, closes #12"))
    assert "http://" not in text and "#12" not in text and "closes" in text


def night() -> NightReport:
    return NightReport("shop", "a", "b", "1 done.", (), (), {"cost": "$0.42"})


def test_a_night_without_tasks_reports_that_nothing_changed() -> None:
    assert "No task changed." in night_markdown(night()) and "No task changed." in night_html(night())
    entry = {"id": "3", "title": HOSTILE, "why": "it is blocked", "command": "burnish show 3"}
    page = night_html(replace(night(), waits=(entry,)))
    assert "burnish show 3" in page and "<script" not in page


def test_failures_from_before_the_change_are_told_from_new_ones() -> None:
    check = {"status": "failed", "counts": {"passed": 7, "failed": 2, "skipped": 1}, "new": ["a"], "old": ["b"]}
    assert check_words(check) == "failed (7 passed, 2 failed: 1 new, 1 failed before too, 1 skipped)"


def test_references_that_github_follows_are_broken() -> None:
    for text in ("closes GH-12", "see www.example.org", "a@example.org", "fixes #3", "https://example.org"):
        assert escaped(text).replace("\\", "") != text
