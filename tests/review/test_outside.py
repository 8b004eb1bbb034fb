"""Reviews that people write: what counts as a verdict, what as a finding, and what is refused."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.core.finding import Category, Finding, FindingState, Remark, Severity
from burnish.core.review import Review, RulingState, Unreadable, Verdict
from burnish.review.contract import read as read_reply
from burnish.review.contradiction import rejecting_words
from burnish.review.external.lines import rulings
from burnish.review.external.reader import (
    complete_approval,
    is_without_reason,
    named_commits,
    read_contract,
    read_markdown,
    verdict_origin,
)
from burnish.review.reading import Expect
from burnish.review.unsigned import read_unsigned

ADA = Expect(cycle=2, prior_ids=("F1", "F2"), criteria=("rejects empty passwords",), source="user:ada")
NONE = Expect(source="user:ada")

AUTOMAKER = """\
# Code Review - Feature: Add user authentication
**Iteration 1 of 3**

**Status**: ❌ REJECTED

## Overall Summary
Implementation lacks error handling.

## Compliance Review
### ✓ Compliant
- User registration flow implemented

### ❌ Non-Compliant / Incomplete
- Rejects empty passwords

## Findings

### [ERROR] Compliance: Missing Password Validation (src/auth/validator.ts:45)
**File**: src/auth/validator.ts
**Line**: 45

Empty passwords are accepted.

**Suggestion**:
```typescript
# not a heading
throw new ValidationError('8 characters');
```

---

### [INFO] Architecture: Consider using middleware
Could extract validation.
"""


def read(text: str, expect: Expect = NONE, verdict: Verdict | None = None, number: str = "") -> Review | Unreadable:
    return read_markdown(text, verdict=verdict, number=number, expect=expect)


def good(text: str, expect: Expect = NONE, verdict: Verdict | None = None) -> Review:
    review = read(text, expect, verdict)
    assert isinstance(review, Review), review
    return review


def test_automakers_review_file_is_read_with_findings_code_and_compliance() -> None:
    review = good(AUTOMAKER, ADA)
    assert (review.verdict, review.summary) == (Verdict.CHANGES_REQUESTED, "Implementation lacks error handling.")
    first, second = review.remarks
    assert (first.category, first.severity, first.file, first.line) == (
        "compliance",
        "error",
        "src/auth/validator.ts",
        45,
    )
    assert first.title == "Missing Password Validation" and first.source == "user:ada"
    assert "throw new ValidationError" in first.description and "**File**" not in first.description
    assert (second.severity, second.category) == (Severity.INFO, Category.ARCHITECTURE)
    assert [(c.item, c.met) for c in review.compliance] == [
        ("User registration flow implemented", True),
        ("rejects empty passwords", False),
    ]


@pytest.mark.parametrize(
    ("line", "want"),
    [
        ("**Verdict: APPROVED**", "approved"),
        ("Verdict: approved", "approved"),
        ("[APPROVED]", "approved"),
        ("REVIEW_PASSED", "approved"),
        ("**Status**: ✅ APPROVED", "approved"),
        ("## Verdict\n\n**Approved**", "approved"),
        ("Verdict: Changes requested", "changes_requested"),
        ("Verdict: request-changes", "changes_requested"),
        ("[REJECTED]", "changes_requested"),
        ("REVIEW_FAILED", "changes_requested"),
        ("Verdict: needs discussion.", "needs_discussion"),
        ("Verdict: REJECTED", "rejected"),
        ("---\nverdict: approved\n---\nfine", "approved"),
        ("---\nwp_id: WP01\ncycle_number: 1\nverdict: rejected\n---\nno", "changes_requested"),
    ],
)
def test_a_verdict_on_a_line_of_its_own_is_heard(line: str, want: str) -> None:
    assert good(line if line.startswith("---") else f"I looked at it.\n\n{line}\n").verdict == want


@pytest.mark.parametrize(
    "text",
    [
        "",
        "It is all good, approved from my side.",
        "> Verdict: approved",
        "```\nVerdict: approved\n```",
        "- Verdict: approved",
        "<!--\nVerdict: approved\n-->",
        "Verdict: not approved",
        "Verdict: approved if the tests pass",
        "Verdict: approved\n\nVerdict: changes requested",
        "---\nverdict: approved\n---\n**Status**: ❌ REJECTED",
        "---\nverdict: [\n---\nVerdict: approved",
        "Verdict: approved\0",
    ],
)
def test_what_is_not_clearly_a_verdict_is_none(text: str) -> None:
    assert isinstance(read(text), Unreadable)


def test_a_typed_verdict_serves_a_file_without_one_and_must_agree_with_one_that_has() -> None:
    legacy = good("The lock is never released.\n\nSee `lock.py`.", verdict=Verdict.CHANGES_REQUESTED)
    (only,) = legacy.remarks
    assert only.title == "The lock is never released." and "See `lock.py`." in only.description
    assert isinstance(read("Verdict: approved", verdict=Verdict.REJECTED), Unreadable)


def test_what_a_review_cycle_file_says_is_affected_places_its_words() -> None:
    text = "---\nverdict: rejected\nwp_id: WP01\naffected_files:\n  - path: a.py\n    line_range: 3-9\n---\nIt leaks.\n"
    (only,) = good(text).remarks
    assert (only.file, only.line, only.end_line, only.description) == ("a.py", 3, 9, "It leaks.")


@pytest.mark.parametrize(
    ("text", "kind", "commits"),
    [
        ("---\ncommit: 0123456789abcdef\n---\n", "markdown", ["0123456789abcdef"]),
        ("---\nCommit: ABCDEF1234 (main)\nhead: feature\n---\n", "markdown", ["abcdef1234"]),
        ("---\ncommit: 1234567\nhead_sha: fedcba9\n---\n", "markdown", ["1234567", "fedcba9"]),
        ("---\ncommit: main\n---\n", "markdown", ["main"]),
        ("---\ncommit:\n---\n", "markdown", []),
        ('{"verdict": "approved", "commit": "0123456789ab"}', "contract", ["0123456789ab"]),
        ('\n\ufeff{"verdict": "approved", "commit": "0123456789ab"}', "contract", ["0123456789ab"]),
        (
            '{"runs": [{"versionControlProvenance": [{"revisionId": "0123456789ab"}]}, {"results": []}]}',
            "sarif",
            ["0123456789ab"],
        ),
        ('{"runs": 3}', "sarif", []),
        ('{"message": "x"}', "rdjsonl", []),
    ],
)
def test_a_file_names_the_commit_that_it_is_a_review_of(text: str, kind: str, commits: list[str]) -> None:
    assert named_commits(text, kind) == commits


BLOCKERS = [
    "Blocker: zero is not handled",
    "Blocker: no input validation",
    "Blocker: without a lock it corrupts data",
    "Critical: the fixed buffer overflows",
    "## Blocking issues\n\nNo test covers it.",
    "## Blocking issues\n\n1. Nothing is locked.",
]
NO_BLOCKERS = [
    "Blocker: none",
    "Blockers: 0",
    "Blocker: zero division: fixed in cycle 2",
    "## Blocking issues\n\nNo blocking issues were found.",
    "## Blocking issues\n\nNone (all of F1 to F3 are fixed).",
    "## Critical\n\nThere are no critical issues.",
]


@pytest.mark.attacks("a blocker that lacks something counts as none", len(BLOCKERS))
@pytest.mark.parametrize("words", BLOCKERS)
def test_a_blocker_that_begins_with_a_word_of_absence_is_one(words: str) -> None:
    assert isinstance(read(f"Verdict: approved\n\n{words}\n"), Unreadable)


@pytest.mark.parametrize("words", NO_BLOCKERS)
def test_a_statement_that_nothing_blocks_does_not_block(words: str) -> None:
    assert good(f"Verdict: approved\n\n{words}\n").verdict is Verdict.APPROVED


@pytest.mark.parametrize("piece", ["x./", "./", "_", "._ ", "a/ ", "no 1 "])
def test_a_long_line_below_blocking_issues_is_read_at_once(piece: str) -> None:
    started = time.perf_counter()
    assert isinstance(read(f"Verdict: approved\n\n## Blocking issues\n\n{piece * 1000}x!\n"), Unreadable)
    assert time.perf_counter() - started < 3


@pytest.mark.parametrize("word", ["cycle 2", "final", "2026-11-19", "second review, round 3 of 3"])
def test_a_verdict_may_name_its_round(word: str) -> None:
    assert good(f"Verdict ({word}): approved\n").verdict is Verdict.APPROVED


@pytest.mark.parametrize("word", ["example", "once zero is handled", "old"])
def test_a_verdict_with_another_remark_in_it_is_not_clear(word: str) -> None:
    assert isinstance(read(f"Verdict ({word}): approved\n"), Unreadable)


@pytest.mark.parametrize("ruling", ["F9: open", "- F9 still open: see the test", "F9: resolved? No."])
def test_an_approval_that_calls_a_finding_of_another_task_open_is_refused(ruling: str) -> None:
    assert isinstance(read(f"Verdict: approved\n\n{ruling}\n"), Unreadable)
    assert good("Verdict: approved\n\nF9: resolved\n").notes == ("it rules on F9, which does not exist",)


def test_an_approving_object_that_calls_an_unknown_finding_open_is_refused() -> None:
    value = {"verdict": "approved", "summary": "good", "inspected": [], "findings": [], "compliance": []}
    for state, is_read in (("open", False), ("unclear", False), ("resolved", True)):
        text = json.dumps({**value, "prior": [{"id": "F9", "state": state}]})
        assert isinstance(read_contract(text, number="", expect=NONE), Review) is is_read


def test_a_plain_list_of_places_becomes_findings() -> None:
    listed = "- src/a.py:45: b may be 0\n- `lib/x.ts:3-4` warning: too long\n* not a place: x\n"
    text = f"Verdict: changes requested\n\n{listed}"
    assert good(text).summary == "* not a place: x"
    assert good("Verdict: rejected\n\n- a.py:1: b is 0\n").summary == "1 finding: b is 0"
    first, second = good(text).remarks
    assert (first.file, first.line, first.severity, first.title) == ("src/a.py", 45, Severity.ERROR, "b may be 0")
    assert (second.file, second.line, second.end_line, second.severity) == ("lib/x.ts", 3, 4, Severity.WARNING)


def test_earlier_findings_are_ruled_on_by_id() -> None:
    review = good(
        "Verdict: changes requested\n\n- F1: resolved, nice\n- **F2** still open: see tests\n- F9: resolved\n", ADA
    )
    assert [(r.id, r.state, r.note) for r in review.rulings] == [
        ("F1", RulingState.RESOLVED, "nice"),
        ("F2", RulingState.OPEN, "see tests"),
    ]
    assert review.remarks == ()


def test_changes_without_a_word_about_them_say_nothing() -> None:
    assert is_without_reason(good("Verdict: changes requested\n"))
    assert is_without_reason(good("## Verdict\n\nRejected\n"))
    assert not is_without_reason(good("Verdict: approved\n"))
    assert not is_without_reason(good("Verdict: changes requested\n\n- F1: open\n", ADA))


CONTRACT = {"verdict": "approved", "summary": "ok", "inspected": [], "findings": [], "prior": [], "compliance": []}


def test_the_contracts_object_needs_no_number_but_must_not_carry_another_reviews() -> None:
    assert isinstance(read_contract(json.dumps(CONTRACT), number="", expect=ADA), Review)
    assert isinstance(read_contract(json.dumps({**CONTRACT, "number": "abc"}), number="abc", expect=ADA), Review)
    for wrong in ("abd", 1, True):
        text = json.dumps({**CONTRACT, "number": wrong})
        assert isinstance(read_contract(text, number="abc", expect=ADA), Unreadable)
        assert isinstance(read_contract(text, number="", expect=ADA), Unreadable)
    assert isinstance(
        read_contract('{"verdict": "approved", "verdict": "approved"}', number="", expect=NONE), Unreadable
    )


def test_a_block_in_markdown_counts_only_with_this_reviews_number() -> None:
    text = f"Looked.\n\n```burnish-verdict abcdef012345\n{json.dumps(CONTRACT)}\n```\n"
    assert isinstance(read(text, ADA, number="abcdef012345"), Review)
    assert isinstance(read(text, ADA, number="abcdef012346"), Unreadable)
    assert isinstance(read(text + "\nVerdict: approved\n", ADA, number=""), Unreadable)


def finding(id: str, category: Category = Category.CODE, source: str = "judge") -> Finding:
    return Finding(id, Remark(category, Severity.ERROR, "x", source=source), FindingState.OPEN, reviewers=(source,))


def test_a_persons_approval_is_of_the_whole_but_not_against_checks_guards_or_an_earlier_rejection() -> None:
    findings = (finding("F1"), finding("F2", Category.GUARD), finding("F3", source="check:test"))
    said = good("Verdict: approved\n")
    whole = complete_approval(said, findings=findings, criteria=("a", "b"), by="user:ada", is_new_tree=True)
    assert [(r.id, r.state) for r in whole.rulings] == [("F1", RulingState.RESOLVED)]
    assert [(c.item, c.met) for c in whole.compliance] == [("a", True), ("b", True)]
    assert complete_approval(said, findings=findings, criteria=(), by="user:ada", is_new_tree=False).rulings == ()


@given(st.text(alphabet="Verdict: aproved#*`>-\n[]_F1<!|'", max_size=300))
def test_no_text_makes_the_reader_fail(text: str) -> None:
    assert isinstance(read(text, ADA), Review | Unreadable)


@pytest.mark.parametrize(
    ("line", "severity", "title"),
    [
        ("### F1 [ERROR] Code Quality: hole (f.py:1)", "error", "hole"),
        ("### **F12** [WARNING] Code Quality: hole (f.py:1)", "warning", "hole"),
        ("- [error] f.py:1 sql hole", "error", "sql hole"),
        ("* [Critical] `f.py:1`: sql hole", "error", "sql hole"),
        ("1. **error** `f.py:1` sql hole", "error", "sql hole"),
        ("2) **Major:** (f.py:1) sql hole", "error", "sql hole"),
        ("- **[ERROR]** f.py:1: sql hole", "error", "sql hole"),
        ("- F3 [warning] f.py:1 - sql hole", "warning", "sql hole"),
        ("[BLOCKER] f.py:1 sql hole", "error", "sql hole"),
    ],
)
def test_a_finding_marked_in_brackets_or_bold_is_read_with_its_place(line: str, severity: str, title: str) -> None:
    review = good(f"**Verdict: APPROVED**\n\n{line}\n")
    (remark,) = review.remarks
    assert (remark.severity, remark.title, remark.file, remark.line) == (severity, title, "f.py", 1)


def test_marked_findings_count_beside_those_with_headings() -> None:
    text = (
        "Verdict: APPROVED\n\n### F1 [INFO] Code: small (a.py:2)\nwords\n\n- [error] f.py:1 hole\n- [major] no tests\n"
    )
    assert [(r.severity, r.file) for r in good(text).remarks] == [("info", "a.py"), ("error", "f.py"), ("error", None)]


@pytest.mark.parametrize(
    "line",
    [
        "| **error** | f.py:1 | sql hole |",
        "The query is open to injection [ERROR].",
        "**Critical** the query is open",
        "**Major issue:** the query is open",
        "No [error] here, but [ERROR] there",
        "`[ERROR]` the query is open",
        "### **Blocker**",
        "_⚠️ Potential issue_ | _🔴 Critical_",
        "<details>\n- [error] f.py:1 hole\n</details>",
        "x" * 1200 + " [ERROR]",
    ],
)
def test_an_approval_with_a_line_that_looks_like_an_unread_finding_is_refused(line: str) -> None:
    typed = read(f"{line}\n", verdict=Verdict.APPROVED)
    assert isinstance(typed, Unreadable)
    reading = read(f"**Verdict: APPROVED**\n\n{line}\n")
    assert isinstance(reading, Unreadable)
    assert reading.why.startswith("this line looks like a finding and could not be read: ")


@pytest.mark.parametrize(
    "line",
    [
        "No **major** issues.",
        "- **Critical**: none",
        "**Error handling** is good",
        "> [ERROR] said the last review",
        "<!-- [ERROR] f.py:1 of a template -->",
        "```\n[ERROR] f.py:1 a log\n```",
        "It now logs `[ERROR] no such file`.",
        "See [error handling](docs/errors.md).",
    ],
)
def test_words_that_name_no_problem_do_not_stop_an_approval(line: str) -> None:
    review = good(f"**Verdict: APPROVED**\n\n{line}\n")
    assert (review.verdict, review.remarks) == (Verdict.APPROVED, ())


def test_a_place_in_a_list_below_a_heading_is_a_finding_of_its_own() -> None:
    text = "### [ERROR] Code: Zero is not handled\n**File**: a.py\nb may be 0\n- README.md:1: typo\n"
    review = read_markdown(f"Verdict: changes_requested\n\n{text}", verdict=None, number="", expect=NONE)
    assert isinstance(review, Review)
    first, second = review.remarks
    assert (first.title, first.file, first.description) == ("Zero is not handled", "a.py", "b may be 0")
    assert (second.title, second.file, second.line) == ("typo", "README.md", 1)


def test_a_ruling_on_a_finding_that_nobody_knows_is_noted() -> None:
    review = read_markdown("Verdict: approved\n\nF1: resolved\nF7: resolved\n", verdict=None, number="", expect=ADA)
    assert isinstance(review, Review)
    assert [ruling.id for ruling in review.rulings] == ["F1"] and "F7" in review.notes[0]


@pytest.mark.parametrize("field", ["Verdict: rejected", "blocking: true", "decision: rejected", "verdict: Rejected."])
def test_an_approval_whose_front_matter_says_otherwise_is_unreadable(field: str) -> None:
    assert isinstance(read(f"---\n{field}\n---\n\nVerdict: approved\n"), Unreadable)
    assert isinstance(read("---\nreviewer: ada\n---\n\nVerdict: approved\n"), Review)


@pytest.mark.parametrize(
    "note",
    [
        "? No.",
        " only partly",
        " in part, still open",
        " if G is merged",
        ": no",
        " (not really)",
        " \u2192 reopened",
        ". Not: it is still there.",
    ],
)
def test_a_ruling_that_its_note_takes_back_leaves_the_finding_open(note: str) -> None:
    for state in ("resolved", "fixed", "invalid"):
        (ruling,) = rulings(f"F1: {state}{note}", ("F1",))
        assert ruling.state is RulingState.OPEN


@pytest.mark.parametrize("note", ["", ": it does not cache now", " by the new lock", " - the part about links is gone"])
def test_a_ruling_with_an_explanation_stands(note: str) -> None:
    (ruling,) = rulings(f"F1: resolved{note}", ("F1",))
    assert ruling.state is RulingState.RESOLVED


@pytest.mark.parametrize(
    "line",
    [
        "Approved: no",
        "approved = false",
        "LGTM? No.",
        "EDIT: rejected",
        "Reject this change.",
        "I retract the above.",
        "Withdrawn: I take my approval back.",
        "[x] Rejected",
        "- [x] Changes requested\n- [ ] Approved",
        "![REJECTED](badge.svg)",
        "[REJECTED][1]\n\n[1]: http://example.org",
        "&#82;EJECTED",
        "\u274c",
        "Please do not merge until F1 is fixed.",
        "Text.\n\n    Verdict: REJECTED",
        "Text.\n\n\tVerdict: changes requested",
        "- An item\n\n      REJECTED",
        "Text.\n\n    | Verdict | reject |",
        "```python\nx = 1\n\nVerdict: REJECTED",
        "~~~\nVerdict: REJECTED\n```",
        "- An item\n  ```\n  Verdict: REJECTED\n",
        "Rating: 2/10, reject",
        "**Score**: 3 of 10 - rejected",
        "| Rating | 2/10 | needs work |",
        "Overall: 2/10 (reject)",
        "My vote: -1; request changes",
        "Vote: -1",
        "- LGTM: no",
        "Text.\n\n    I do not approve.",
        "I take it back: rejected.",
        "Approval: denied",
        "Result: \u274c",
        "Merge: no",
        "Merge? No",
        "Final decision \u21d2 rejected",
        "Please reject.",
        "Nope, not approved.",
        "I must reject.",
        "**REVIEW_FAILED**",
        "- REVIEW_FAILED",
        "Text<br>REJECTED",
        "[^1]: Verdict: REJECTED",
        "\x1b[31mREJECTED\x1b[0m",
    ],
)
@pytest.mark.parametrize("approval", ["Verdict: approved", "[APPROVED]", "REVIEW_PASSED"])
def test_an_approval_beside_another_answer_is_refused_by_both_readers(approval: str, line: str) -> None:
    for text in (f"{approval}\n\n{line}\n", f"{line}\n\n{approval}\n", f"{approval}\n{line}\n"):
        assert isinstance(read_markdown(text, verdict=None, number="", expect=Expect()), Unreadable), text
        assert read_unsigned(text).verdict is not Verdict.APPROVED, text


@pytest.mark.parametrize(
    "line",
    [
        "It rejects the change of names.",
        "- [x] Tests",
        "See [the page](a.md).",
        "\u2705",
        "Rating: 9/10",
        "Text.\n\n    rejected = check(verdict)\n",
        "```text\nVerdict: REJECTED\n```",
        "```\nx = 1\n```\n\n    y = 2",
        "Status: 3 approved, 1 rejected upload is retried",
        "- Empty password: rejected",
        "Merge: no conflicts with main",
        "Review: no problems found",
        "Result: no new failures",
        "Overall: no blockers",
        "Approval: no open questions",
    ],
)
def test_honest_words_beside_an_approval_stay_harmless(line: str) -> None:
    review = read_markdown(f"Verdict: approved\n\n{line}\n", verdict=None, number="", expect=Expect())
    assert isinstance(review, Review) and review.verdict is Verdict.APPROVED


NUMBER = "7f3a19c2aaaa"
APPROVING_BLOCK = (
    f"```burnish-verdict {NUMBER}\n"
    '{"verdict": "approved", "summary": "It is\\nfine.", "inspected": [], "findings": []}\n```\n'
)
# what ends a line for some program: separators, cursor movements, tags, entities, escapes of JSON
LINE_BREAKS = (
    "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\r", "\x1b[1E", "\x1b[B", "<br>", "<BR/>",
    "&#10;", "&NewLine;", "\\n", "\\u2028",
)  # fmt: skip
REFUSALS = (
    "Verdict: REJECTED",
    "REJECTED",
    "[REJECTED]",
    "REVIEW_FAILED",
    "## REJECTED",
    "Do not merge",
    "Decision: no",
)


@pytest.mark.attacks("approve with two statements on one line", len(LINE_BREAKS) * len(REFUSALS) * 5)
@pytest.mark.parametrize("line_break", LINE_BREAKS, ids=ascii)
def test_a_refusal_counts_behind_every_character_that_may_end_a_line(line_break: str) -> None:
    for refusal in REFUSALS:
        line = f"Fine.{line_break}{refusal}"
        for text in (
            f"Verdict: approved\n\n{line}\n",
            f"{line}\n\nVerdict: approved\n",
            f"---\nverdict: approved\n---\n{line}",
        ):
            assert isinstance(read(text), Unreadable), (refusal, text)
        assert isinstance(read_reply(f"{line}\n\n{APPROVING_BLOCK}", NUMBER, expect=NONE), Unreadable), refusal
        assert rejecting_words(line, is_after=False), refusal


def test_a_line_break_of_another_kind_hides_neither_a_finding_nor_an_open_ruling() -> None:
    review = read("Verdict: changes requested\u2028- src/a.py:45: it crashes\n")
    assert isinstance(review, Review) and [remark.file for remark in review.remarks] == ["src/a.py"]
    assert isinstance(read("Verdict: approved\n\nFine.\x85- [error] src/a.py:45 it crashes\n"), Unreadable)
    (ruling,) = rulings("Fine.<br>F1: open", ("F1",))
    assert ruling.state is RulingState.OPEN


def test_text_with_other_line_breaks_around_an_approving_block_is_read_as_before() -> None:
    for text in (f"It handles C:\\new and\u2028one more.\n\n{APPROVING_BLOCK}", f"A<br>table\n\n{APPROVING_BLOCK}"):
        review = read_reply(text, NUMBER, expect=NONE)
        assert isinstance(review, Review) and review.verdict is Verdict.APPROVED


@pytest.mark.parametrize(
    "line",
    [
        "So: **Verdict: REJECTED**",
        "Fine, verdict: rejected.",
        "ok; REVIEW_FAILED",
        "Checked (verdict: changes requested).",
    ],
)
def test_a_marker_of_another_verdict_counts_anywhere_in_a_line(line: str) -> None:
    assert isinstance(read(f"Verdict: approved\n\n{line}\n"), Unreadable)
    assert isinstance(read_reply(f"{line}\n\n{APPROVING_BLOCK}", NUMBER, expect=NONE), Unreadable)


@pytest.mark.parametrize("line", ["My first verdict: rejected, now resolved.", "It reads `Verdict: REJECTED` lines."])
def test_a_marker_in_code_or_of_an_earlier_cycle_does_not_count(line: str) -> None:
    review = read(f"Verdict: approved\n\n{line}\n")
    assert isinstance(review, Review) and review.verdict is Verdict.APPROVED


def test_front_matter_that_refuses_counts_beside_a_block() -> None:
    for front in ("verdict: rejected", "blockers: 2", "needs_changes: true"):
        assert isinstance(read(f"---\n{front}\n---\n{APPROVING_BLOCK}", number=NUMBER), Unreadable), front
    assert isinstance(read(f"---\nreviewer: ada\n---\n{APPROVING_BLOCK}", number=NUMBER), Review)


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("Verdict: approved\n", "line 1"),
        ("\ufeffFine.\r\n\r\n**Verdict: APPROVED**\r\n", "line 3"),
        ("---\nverdict: approved\n---\nFine.\n", "the front matter"),
        ("---\nby: ada\n---\n\n[APPROVED]\n", "line 5"),
        (f"Fine.\n\n{APPROVING_BLOCK}", "the block in line 3"),
        ("Fine.\n", "--verdict"),
    ],
)
def test_the_place_of_the_verdict_is_known(text: str, origin: str) -> None:
    assert verdict_origin(text) == origin


@pytest.mark.attacks("approve with two statements on one line", 24)
@pytest.mark.parametrize("field", ["summary", "findings", "prior", "compliance"])
def test_a_marker_of_another_verdict_counts_in_every_field_of_an_object(field: str) -> None:
    lines = ["Fine, verdict: rejected.", "ok; REVIEW_FAILED", "So: **Verdict: REJECTED**", "ok [REJECTED]"]
    for text in (*lines, "Fine.\u2028Verdict: REJECTED", "Fine.\nVerdict: CHANGES_REQUESTED\nok"):
        parts = {
            "summary": text,
            "findings": [{"category": "code", "severity": "info", "title": "t", "description": text}],
            "prior": [{"id": "F1", "state": "resolved", "note": text}],
            "compliance": [{"item": "rejects empty passwords", "met": True, "note": text}],
        }
        block = {"verdict": "approved", "summary": "ok", "inspected": [], "findings": [], "prior": [], "compliance": []}
        expect = Expect(prior_ids=("F1",) if field == "prior" else (), criteria=())
        reply = json.dumps({**block, field: parts[field]})
        assert isinstance(read_contract(reply, number="", expect=expect), Unreadable), text


def test_a_field_may_quote_a_marker_or_name_an_earlier_verdict() -> None:
    for text in (
        "It reads `Verdict: REJECTED` lines.",
        "My earlier verdict: rejected; all of it is fixed.",
        "Status: done",
    ):
        reply = json.dumps({"verdict": "approved", "summary": text, "inspected": [], "findings": []})
        review = read_contract(reply, number="", expect=Expect())
        assert isinstance(review, Review) and review.verdict is Verdict.APPROVED, text
