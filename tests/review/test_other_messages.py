"""An approval does not count while another message of the same reviewer is another verdict.

What a reviewer writes while it works is not its verdict, in whatever words: only the forms of a verdict count there.
"""

from __future__ import annotations

import pytest

from burnish.review.prose import rejecting_message, rejecting_text
from testing.verdicts import block, with_

REJECTING = [
    *("Verdict: REJECTED", "**Verdict: CHANGES_REQUESTED**", "[REJECTED]", "REVIEW_FAILED"),
    "\x1b[31mVerdict: REJECTED\x1b[0m",
    *('{"verdict": "rejected"}', '{"verdict": "approved", "blocking": true}', '{"verdict": "changes_requested"}'),
    block(with_(verdict="rejected"), number=""),
    block(with_(verdict="rejected"), number="000000000000"),
    block("verdict: rejected", number=""),
    block('{"verdict": "rejected",}', number="", word="Burnish-Verdict"),
]
# sentences and headings of a reviewer at work; in the answer itself these reject
NARRATION = [
    *("I reject this change.", "I cannot approve this change.", "Do not merge this.", "I do not\napprove this."),
    *("# REJECTED", "NACK", "Final decision: reject", "Recommendation: do not merge", "Rechazado"),
    *("Not safe to merge: the token is logged.", "There is a blocker: SQL injection in a.py"),
]
HARMLESS = [
    *NARRATION,
    *("## Critical issues\n\nThe token is logged.", "F1: open", "This looks broken. Let me check.", "Result: FAIL"),
    *("I will look at the tests first.", "The parser rejects empty input.", "The earlier review said: REJECTED?"),
    *("Running the tests: 3 passed.", "> I do not approve\n\nwas said in cycle 1.", "```\nVerdict: REJECTED\n```"),
    *("Verdict: APPROVED", "I found no problem so far.", "`Verdict: REJECTED` is what the command prints.", ""),
    *("So far nothing speaks against an approval.", '{"file": "a.py"}', "Is the change safe to merge? I will see."),
    block(),
    block(number="000000000000"),
]


@pytest.mark.parametrize("message", REJECTING)
def test_a_message_that_rejects_is_found(message: str) -> None:
    assert rejecting_message(["I will look.", message, "Now the verdict."])
    assert rejecting_message([f"I looked at everything.\n\n{message}\n\nOne more look."])


@pytest.mark.parametrize("message", HARMLESS)
def test_a_message_that_reports_is_not_a_rejection(message: str) -> None:
    assert rejecting_message([message]) == ""


@pytest.mark.parametrize("words", [*NARRATION, block(with_(verdict="rejected"), number=""), '{"verdict": "rejected"}'])
def test_words_that_belong_to_the_answer_are_read_as_the_text_after_a_block(words: str) -> None:
    assert rejecting_text([], ["I looked.", words]) or rejecting_message([words])


def test_words_that_belong_to_the_answer_and_agree_are_no_contradiction() -> None:
    assert rejecting_text(["This looks broken. It is not."], ["Review submitted.", "No blockers remain."]) == ""
    assert rejecting_text(["I cannot approve this change."], []) != ""
