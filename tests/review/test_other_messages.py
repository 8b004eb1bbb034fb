"""An approval does not count while another message of the same reviewer rejects the change."""

from __future__ import annotations

import pytest

from burnish.review.other_messages import rejecting_message
from testing.verdicts import block, with_

REJECTING = [
    *("I reject this change.", "I cannot approve this change.", "Do not merge this.", "This must not be merged."),
    *("Verdict: REJECTED", "**Verdict: CHANGES_REQUESTED**", "[REJECTED]", "REVIEW_FAILED", "# REJECTED", "NACK"),
    *("Final decision: reject", "Recommendation: do not merge", "| Verdict | Rejected |\n|---|---|", "Rechazado"),
    *(
        "V\u0435rdict: REJECTED",
        "Ver\u200bdict: REJECTED",
        "\x1b[31mVerdict: REJECTED\x1b[0m",
        "I do not\napprove this.",
    ),
    *('{"verdict": "rejected"}', '{"verdict": "approved", "blocking": true}', '{"verdict": "changes_requested"}'),
    block(with_(verdict="rejected"), number=""),
    block(with_(verdict="rejected"), number="000000000000"),
    block("verdict: rejected", number=""),
    block('{"verdict": "rejected",}', number="", word="Burnish-Verdict"),
]
HARMLESS = [
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
