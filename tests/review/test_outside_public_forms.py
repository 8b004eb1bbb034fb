"""Reviews in the forms that tools and people use in public: their verdicts, their findings, and their places."""

from __future__ import annotations

import time

import pytest

from burnish.core.finding import Remark, Severity
from burnish.core.review import Review, Unreadable, Verdict
from burnish.features.review.external_review import existing_places
from burnish.review.external.reader import read_markdown
from burnish.review.reading import Expect

FRONT = "---\nverdict: {}\ncycle_number: 1\n---\n"


def read(text: str) -> Review | Unreadable:
    return read_markdown(text, verdict=None, number="", expect=Expect(source="user:ada"))


def findings(text: str) -> list[tuple[str, str, str | None, int | None]]:
    review = read(text)
    assert isinstance(review, Review), review
    return [(one.severity.value, one.title, one.file, one.line) for one in review.remarks]


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Verdict: APPROVED. The lock is taken before the file is read.", Verdict.APPROVED),
        ("**Verdict: APPROVED.** All six criteria hold.", Verdict.APPROVED),
        ("**Verdict:** ✅ Approve — safe to release", Verdict.APPROVED),
        ("## Verdict: PASS (no issues)", Verdict.APPROVED),
        ("- **Verdict**: APPROVED\n- **Scope**: phase 1", Verdict.APPROVED),
        ("## Verdict\n\n**APPROVE.** Clean and small.", Verdict.APPROVED),
        ("**Verdict:** REJECT — single blocker\n\nThe queue is read twice.", Verdict.REJECTED),
        ("Verdict: request changes.\n\nThe queue is read twice.", Verdict.CHANGES_REQUESTED),
        ("## Overall Verdict: NEEDS FIXES\n\nThe queue is read twice.", Verdict.CHANGES_REQUESTED),
        (FRONT.format("approved") + "**Verdict: APPROVED.** The required change is in.", Verdict.APPROVED),
        (FRONT.format("rejected") + "**Verdict: REJECTED** (once more)\n\nTwice read.", Verdict.CHANGES_REQUESTED),
        (FRONT.format("rejected") + "**Verdict:** one deliverable is missing\n", Verdict.CHANGES_REQUESTED),
    ],
)
def test_a_clear_verdict_with_words_behind_it_is_read(text: str, verdict: Verdict) -> None:
    review = read(text)
    assert isinstance(review, Review) and review.verdict is verdict, review


@pytest.mark.parametrize(
    "text",
    [
        "Verdict: APPROVED once the migration is fixed.",
        "**Verdict:** Approve, but the lock must be taken first",
        "## Verdict: APPROVE WITH CONCERNS",
        "Verdict: APPROVED FOR THE NEXT ROUND",
        "**Verdict:** Changes Requested → Approved (after fixes)",
        "**Verdict**: APPROVED | CHANGES REQUESTED",
        "## Round 1\nVerdict: REJECTED.\n\n## Round 2\nVerdict: APPROVED.",
        "Previous verdict: APPROVED",
        "Verdict: approved, mostly",
        "Verdict: APPROVED (with reservations)",
        "Verdict: approve - in principle",
        "## Verdict\n\nPass the review on to somebody else.",
        FRONT.format("approved") + "**Verdict: REJECT** — the lock is missing",
        FRONT.format("approved") + "**Verdict: APPROVED** if the tests pass",
        FRONT.format("approved") + "**Verdict:** see below",
    ],
)
def test_a_verdict_with_a_condition_a_choice_or_a_contradiction_is_refused(text: str) -> None:
    assert isinstance(read(text), Unreadable)


REJECTING = (
    "I cannot approve this.",
    "This change must not be merged.",
    "I withdraw my approval.",
    "I changed my mind: it leaks credentials.",
    "## Decision\n\nReject",
    "## Recommendation\n\nRequest changes: the lock is missing.",
    "Verdict\n-------\n\nREJECTED",
    "**Decision**: REJECTED",
    "Result: FAILED",
    "My verdict: REJECTED",
    "The verdict is: reject because the lock is missing",
    "| Verdict | REJECTED |\n|---|---|",
    "- Verdict: rejected",
    "<p>Verdict: REJECTED</p>",
    "V\u0435rdict: REJECTED",
    "❌ REJECTED",
    "NACK",
    "Blocker: the query joins user input",
    "## Blocking issues\n\nThe query joins user input.",
    f"Verdict: REJECTED because {'the query joins user input ' * 60}",
)


@pytest.mark.parametrize("text", REJECTING)
@pytest.mark.parametrize("verdict", ["Verdict: APPROVED", "**Status**: PASS", "## Verdict\n\n**APPROVED**"])
def test_an_approving_line_beside_words_that_reject_is_refused(verdict: str, text: str) -> None:
    assert isinstance(read(f"{verdict}\n\n{text}\n"), Unreadable)
    assert isinstance(read(f"# Review\n\n{text}\n\n{verdict}\n"), Unreadable)


@pytest.mark.parametrize(
    "text",
    [
        "The earlier verdict was REJECTED; all three findings are fixed.",
        "No changes requested. There are no blocking issues.",
        "## Blockers\n\nI found no blockers.",
        "Critical: none",
        "Invalid tokens are rejected: see test_auth.py.",
        "| Case | Status |\n|---|---|\n| wrong password | rejected |",
        "Decision: use a lock instead of a queue.",
        "Outcome: 12 passed, 0 failed",
        "## Conclusion\n\nGood to merge.",
        "> Verdict: REJECTED\n\nThis objection is settled.",
    ],
)
def test_words_about_rejecting_do_not_stop_an_approval(text: str) -> None:
    review = read(f"Verdict: APPROVED\n\n{text}\n")
    assert isinstance(review, Review) and review.verdict is Verdict.APPROVED, review


GRAVE = (
    "### Critical: the query joins user input",
    "### Critical: passwords are not verified",
    "## Critical Issues\n\n1. auth.py:12 joins user input",
    "## Findings\n\n| Severity | Where | Issue |\n|---|---|---|\n| Critical | auth.py:12 | joins user input |",
    "- [P0] the query joins user input",
)


@pytest.mark.parametrize("finding", GRAVE)
def test_a_grave_finding_beside_an_approval_is_an_error_or_refuses_it(finding: str) -> None:
    review = read(f"Verdict: Approved\n\n{finding}\n")
    assert isinstance(review, Unreadable) or [one.severity for one in review.remarks] == [Severity.ERROR]


@pytest.mark.parametrize(
    "text",
    [
        "## Critical Issues\n\nNone.",
        "### Critical: the query joins user input (resolved)",
        "## Resolved findings\n\n1. [P0] the query joined user input",
        "## High-level view\n\n- app/a.py:3 now reads the lock",
        "## Evidence\n\n- app/a.py:3: the lock is taken here",
    ],
)
def test_what_is_settled_or_only_evidence_is_no_finding_of_an_approval(text: str) -> None:
    assert findings(f"Verdict: Approved\n\n{text}\n") == []


LISTS = {
    "headings": (
        "## Findings\n\n### 1. Lock is late (High)\n\n**File:** app/a.py:3\n\nTaken after the read.\n\n"
        "### 2. Name is odd (Low)\n\n**File:** `app/b.py`\n",
        [("error", "app/a.py", 3), ("info", "app/b.py", None)],
    ),
    "fields": (
        "### Finding 1: lock is late\n- **Severity**: High\n- **Location**: app/a.py:3\n\n"
        "### Finding 2: name is odd\n- **Severity**: Low\n",
        [("error", "app/a.py", 3), ("info", None, None)],
    ),
    "numbered": (
        "## Blocking issues\n\n1. **Lock is late** in `app/a.py:3`.\n   It is taken after the read.\n"
        "2. Queue is read twice, app/b.py:7-9.\n\n## What works\n\n1. The rest is good.\n",
        [("error", "app/a.py", 3), ("error", "app/b.py", 7)],
    ),
    "kind and level as headings": (
        "## BUG — HIGH\n\n1. **Lock is late**: app/a.py:3\n\n## IMPROVEMENT — MEDIUM\n\n2. **Queue is read twice**\n"
        "3. **Name is odd**\n\n## Security (low)\n\n- Token is long, app/b.py:7\n",
        [("error", "app/a.py", 3), ("warning", None, None), ("warning", None, None), ("info", "app/b.py", 7)],
    ),
    "marks": (
        "- [P0] lock is late — app/a.py:3\n- [P2] queue is slow\n- [must_fix] name is odd\n",
        [("error", "app/a.py", 3), ("warning", None, None), ("error", None, None)],
    ),
    "places": (
        "## Required changes\n\n- [app/a.py:3] lock is late\n- [app/b.py:7] queue is read twice\n",
        [("error", "app/a.py", 3), ("error", "app/b.py", 7)],
    ),
    "table": (
        "## Findings\n\n| ID | Severity | File | Finding | Status |\n|---|---|---|---|---|\n"
        "| 1 | High | app/a.py:3 | lock is late | open |\n| 2 | Low | app/b.py | name is odd | open |\n"
        "| 3 | High | app/c.py | it was slow | fixed |\n",
        [("error", "app/a.py", 3), ("info", "app/b.py", None)],
    ),
    "paragraphs": (
        "**Issue 1**: the lock is late in app/a.py:3.\n\n- Take it first.\n\n**Issue 2**: the queue is read twice.\n",
        [("error", "app/a.py", 3), ("error", None, None)],
    ),
}


@pytest.mark.parametrize("form", LISTS)
def test_each_finding_of_a_change_request_is_a_finding_of_its_own(form: str) -> None:
    text, expected = LISTS[form]
    found = findings(f"Verdict: changes requested\n\n{text}")
    assert [(level, file, line) for level, _, file, line in found] == expected, found


def test_places_that_are_said_to_be_right_are_no_findings() -> None:
    text = "Verdict: changes requested\n\nToo late.\n\n- app/a.py:3 is correctly left unchanged\n- app/b.py:4 and\n"
    assert [(file, line) for _, _, file, line in findings(text)] == [(None, None)]


def test_a_place_counts_only_if_the_file_and_the_line_exist() -> None:
    texts = {"src/app/a.py": "1\n2\n3\n", "src/b.py": "1\n"}
    places = [("src/app/a.py", 3), ("src/app/a.py", 9), ("app/a.py", 2), ("gone/x.py", 1), ("b.py", 1), ("e.g", 1)]
    remarks = [Remark("code", Severity.ERROR, "t", "words", file=file, line=line) for file, line in places]  # type: ignore[arg-type]
    found = existing_places(remarks, ["src/app/a.py"], texts.get)
    assert [(one.file, one.line) for one in found] == [
        ("src/app/a.py", 3),
        ("src/app/a.py", None),
        ("src/app/a.py", 2),
        (None, None),
        (None, None),
        (None, None),
    ]
    assert "gone/x.py:1" in found[3].description


@pytest.mark.parametrize(
    "line", ["a." * 1900, "**Issue 1 " + "x" * 3900, "[" * 3900, "| a " * 900, "# " + "Issue 1 " * 480]
)
def test_hostile_text_takes_no_long_time(line: str) -> None:
    start = time.process_time()
    read("Verdict: changes requested\n\n" + f"{line}\n" * 50)
    assert time.process_time() - start < 5
