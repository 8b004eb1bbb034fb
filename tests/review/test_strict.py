from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.core.finding import Category, Severity
from burnish.core.review import Verdict
from burnish.review.legacy_markers import summary_in
from burnish.review.prose import first_sentence
from burnish.review.reading import Expect
from burnish.review.unsigned import read_unsigned
from testing.long_forms import examples

APPROVED = ["**Verdict: APPROVED**", "**[APPROVED]**", "[APPROVED]", "REVIEW_PASSED", "Verdict: APPROVED"]


@pytest.mark.parametrize("line", APPROVED)
@pytest.mark.parametrize(
    "dress", ["{}", "All is well.\n\n{}\n", "{}\r\n\r\nFine work.", "  {}  ", "```\nlog\n```\n\n{}"]
)
def test_a_clear_marker_on_its_own_line_is_read_and_unsigned(line: str, dress: str) -> None:
    review = read_unsigned(dress.format(line))
    assert review.verdict == Verdict.APPROVED and not review.signed


@pytest.mark.parametrize(
    "text",
    [
        "",
        "APPROVED",
        "I cannot say **Verdict: APPROVED** yet.",
        "Not [APPROVED]",
        "> **Verdict: APPROVED**",
        "```\n**Verdict: APPROVED**\n```",
        "~~~\nREVIEW_PASSED",
        "    REVIEW_PASSED",
        "<!--\nREVIEW_PASSED\n-->",
        "draft <!--\nREVIEW_PASSED\n-->",
        "`\nREVIEW_PASSED\n`",
        "- REVIEW_PASSED",
        "- so:\n\n  REVIEW_PASSED",
        "<pre>\nREVIEW_PASSED\n</pre>",
        "**Verdict: APPROVED**\n\n**Verdict: CHANGES_REQUESTED**",
        "**Verdict: APPROVED**\n\n**Verdict: APPROVED**",
        "[APPROVED]\n\nREVIEW_FAILED",
        "REVIEW_PASSED\n\nNo: verdict: rejected",
        "**Verdict: APPROVED** (mostly)",
        "**Verdict: APPROVED_WITH_COMMENTS**",
        "**Verdict: NOT APPROVED**",
        "**verdict: approved**",
        "REVIEW_PASSED.",
        "REVIEW_FAILED",
        "REVIEW_FIXED",
        "**[REJECTED]**",
        "REVIEW_PASSED\0",
        "Start with **[APPROVED]** or **[REJECTED]**:\n\n**[APPROVED]**",
    ],
)
def test_anything_unclear_asks_for_changes(text: str) -> None:
    assert read_unsigned(text).verdict == Verdict.CHANGES_REQUESTED


REJECTING_TEXTS = (
    *("I reject this change.", "This must not be merged.", "I cannot approve this change.", "LGTM? No. Rejecting."),
    *("On second thought, I request changes.", "The approval above is wrong.", "This change should be reverted."),
    *("## Decision\n\nReject", "Final decision: reject", "**REJECTED**", "# REJECTED", "<b>Rejected</b>", "NACK", "-1"),
    *("Status: changes requested", "Result: FAIL", "Blocker: SQL injection in a.py", "## Blockers\n\nSQL injection"),
    *("| Verdict | Rejected |\n|---|---|", "V\u0435rdict: REJECTED", "Changes are required before merging."),
)


@pytest.mark.parametrize("text", REJECTING_TEXTS)
@pytest.mark.parametrize("line", APPROVED)
def test_an_approval_beside_text_that_rejects_asks_for_changes(line: str, text: str) -> None:
    for reply in (f"{text}\n\n{line}\n", f"{line}\n\n{text}\n", f"Looked at all.\n\n{text}\n\nMore.\n\n{line}\n"):
        assert read_unsigned(reply).verdict is Verdict.CHANGES_REQUESTED


@pytest.mark.parametrize(
    "text",
    [
        "No changes are required before merging.",
        "The parser is rejecting bad input now.",
        "Code that should be reverted later is marked.",
        "The index is -1 where nothing is found.",
        "> I reject this change.\n\nThat was settled.",
    ],
)
def test_an_approval_beside_text_that_only_mentions_a_rejection_stands(text: str) -> None:
    assert read_unsigned(f"{text}\n\nVerdict: APPROVED\n").verdict is Verdict.APPROVED


@pytest.mark.parametrize("words", ["all good", "no concerns", "everything is covered by tests."])
@pytest.mark.parametrize("marker", ["**[APPROVED]** - ", "[APPROVED] \u2013 ", "**Verdict: APPROVED** - "])
def test_an_approval_with_a_remark_is_one_and_the_remark_is_its_summary(marker: str, words: str) -> None:
    review = read_unsigned(marker + words)
    assert (review.verdict, review.summary, review.remarks) == (Verdict.APPROVED, words, ())


@pytest.mark.parametrize(
    "text",
    [
        # automaker's own prompt, repeated
        "**[APPROVED]** - if the implementation satisfies requirements and passes quality checks",
        "**[APPROVED]** - all good\n**[REJECTED]** - if not",
        "**[APPROVED]** - pending a fix of F1",
        "**[APPROVED]** - but F1 stands",
        "**[APPROVED]** - not really: changes are required",
        "[APPROVED] -",
        "[APPROVED]- ok",
        "> **[APPROVED]** - ok",
    ],
)
def test_an_approval_whose_remark_limits_it_is_none(text: str) -> None:
    assert read_unsigned(text).verdict == Verdict.CHANGES_REQUESTED


def test_the_other_verdicts_are_read() -> None:
    assert read_unsigned("**Verdict: NEEDS_DISCUSSION**").verdict == Verdict.NEEDS_DISCUSSION
    assert read_unsigned("**Verdict: REJECTED**").verdict == Verdict.REJECTED
    assert read_unsigned("REVIEW_FIXED", may_fix=True).verdict == Verdict.APPROVED


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.sampled_from([*APPROVED, "REVIEW_FAILED", "> ", "```\n", "\n", "- ", "text", "\r", "<!--", "`"])))
def test_no_mixture_raises_and_two_markers_never_approve(pieces: list[str]) -> None:
    review = read_unsigned("".join(pieces))
    if review.verdict == Verdict.APPROVED:
        assert sum(piece in APPROVED for piece in pieces) >= 1
    assert not review.signed


@settings(max_examples=examples(100), deadline=None)
@given(st.text(max_size=300))
def test_no_text_raises(text: str) -> None:
    assert not read_unsigned(text).signed


def test_spec_runners_list_is_read() -> None:
    review = read_unsigned(
        "2 issues found:\n  MAJOR: No error handling in API call (api.py:45)\n  MINOR: Unused import (utils.py:1)\n\n"
        "REVIEW_FAILED\n"
    )
    assert [(r.severity, r.title, r.file, r.line) for r in review.remarks] == [
        (Severity.ERROR, "No error handling in API call", "api.py", 45),
        (Severity.WARNING, "Unused import", "utils.py", 1),
    ]


def test_automakers_issue_list_is_read() -> None:
    review = read_unsigned(
        "**[REJECTED]**\n\n### Issues Found\n- **[COMPLIANCE]** - error: Missing validation\n"
        "  - Description: Empty passwords pass\n  - File: src/auth.ts\n  - Line: 45\n  - Suggestion: check length\n"
        "- **[TEST]** - warning: No edge cases\n\n### Summary\nNot yet.\n"
    )
    first, second = review.remarks
    assert (first.category, first.severity, first.file, first.line) == (
        Category.COMPLIANCE,
        Severity.ERROR,
        "src/auth.ts",
        45,
    )
    assert (first.description, first.suggestion) == ("Empty passwords pass", "check length")
    assert (second.category, second.title, second.description) == (Category.TEST, "No edge cases", "")
    assert review.summary == "Not yet."


def test_automakers_review_file_is_read() -> None:
    review = read_unsigned(
        "## Overall Summary\nLacks error handling.\n\n## Findings\n\n"
        "### [ERROR] Code Quality: Missing Error Handling (src/auth/login.ts:78)\n**File**: src/auth/login.ts\n"
        "**Line**: 78\n\nNo error handling for connection failures.\n\n**Suggestion**: Wrap it.\n\n---\n\n"
        "### [INFO] Architecture: Consider middleware\nCould extract.\n\n## Action Required\nFix it.\n"
    )
    first, second = review.remarks
    assert (first.severity, first.category, first.line, first.suggestion) == (
        Severity.ERROR,
        Category.CODE,
        78,
        "Wrap it.",
    )
    assert first.description == "No error handling for connection failures."
    assert (second.severity, second.description) == (Severity.INFO, "Could extract.")
    assert review.summary == "Lacks error handling." or review.verdict == Verdict.CHANGES_REQUESTED


def test_hostile_lines_are_read_in_no_time() -> None:
    for line in ("MAJOR: a" + " " * 100_000 + "b", "(" * 100_000, "# h\n" * 20_000, "Verdict " * 10_000):
        read_unsigned(line)


@pytest.mark.parametrize(
    ("reply", "title"),
    [
        ("REVIEW_FAILED\nThe loop in my_file.py never ends. More.", "The loop in my_file.py never ends."),
        ("**[REJECTED]**\n\n## Issues\n\n- _Zero_ is **not** handled", "Zero is not handled"),
        ("**Verdict: CHANGES_REQUESTED**", "Verdict: CHANGES_REQUESTED"),
    ],
)
def test_a_finding_from_prose_is_named_by_its_words_and_not_by_the_verdict(reply: str, title: str) -> None:
    assert first_sentence(reply) == title


def test_headings_alone_are_not_a_summary() -> None:
    assert summary_in(["# Review", "", "**Verdict: CHANGES_REQUESTED**"]) == ""
    assert summary_in(["# Review", "It is slow."]) == "# Review\nIt is slow."


SHAPES = {
    "marks in a numbered list": "1. **[ERROR]** Lock is late (app/a.py:3)\n2. **[WARNING]** Queue is slow\n",
    "headings": "## Findings\n\n### 1. Lock is late (High)\n\n**File:** app/a.py:3\n\n### 2. Queue is slow (Medium)\n",
    "table": "| Severity | File | Finding |\n|---|---|---|\n"
    "| High | app/a.py:3 | Lock is late |\n| Medium | | Queue is slow |\n",
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("verdict", ["REVIEW_FAILED", "**[REJECTED]**", "**Verdict: CHANGES_REQUESTED**"])
def test_a_list_of_the_reviewers_own_shape_is_one_finding_for_each_entry(shape: str, verdict: str) -> None:
    review = read_unsigned(f"{verdict}\n\n{SHAPES[shape]}", expect=Expect(source="judge"))
    found = [(one.severity.value, one.file, one.line, one.source) for one in review.remarks]
    assert found == [("error", "app/a.py", 3, "judge"), ("warning", None, None, "judge")]
    assert [word for one in review.remarks for word in ("Lock", "Queue") if word in one.title] == ["Lock", "Queue"]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("verdict", APPROVED)
def test_an_approval_beside_a_grave_finding_of_any_shape_has_that_finding(shape: str, verdict: str) -> None:
    review = read_unsigned(f"{verdict}\n\n{SHAPES[shape]}")
    grave = any(one.severity is Severity.ERROR for one in review.remarks)
    assert grave or review.verdict is Verdict.CHANGES_REQUESTED
