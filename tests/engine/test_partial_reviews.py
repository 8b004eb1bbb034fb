"""One reviewer asked in several parts: the worse answer counts for each criterion."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.core.review import Compliance, Review, Verdict
from burnish.review.panel import merge_replies
from testing.lab import Lab

TWO_FILES = "pathlib.Path('huge.py').write_text('x = 1\\n' * 20000)\napp.write_text(app.read_text() + 'y = 2\\n')"
JUDGE = """
rest = "part 2 of 2" in prompt
paths = ["huge.py"] if rest else ["app.py"]
met = {met}[rest]
print(verdict("approved", inspected=paths, compliance=[{{"item": "It divides", "met": met, "note": "n"}}]))
"""


def review(*judgements: tuple[str, bool | None]) -> Review:
    entries = tuple(Compliance(item, met) for item, met in judgements)
    return Review(Verdict.APPROVED, summary="", compliance=entries)


@pytest.mark.representatives(1)
@pytest.mark.parametrize(
    ("one", "other", "result"),
    [
        (True, False, False),
        (False, True, False),
        (None, True, True),
        (True, None, True),
        (None, False, False),
        (None, None, None),
    ],
)
def test_a_criterion_is_met_only_if_no_part_calls_it_unmet(
    one: bool | None, other: bool | None, result: bool | None
) -> None:
    (entry,) = merge_replies(review(("It divides", one)), review(("- it divides.", other))).compliance
    assert entry.met is result


def test_a_criterion_that_one_part_leaves_out_is_judged_by_the_other() -> None:
    assert merge_replies(review(), review(("It divides", True))).compliance == (Compliance("It divides", True),)


@pytest.mark.representatives(1)
@pytest.mark.parametrize(
    ("met", "code", "status"),
    [("[True, False]", 1, "blocked"), ("[True, None]", 0, "verified"), ("[None, True]", 0, "verified")],
)
def test_a_change_reviewed_in_two_parts(tmp_path: Path, met: str, code: int, status: str) -> None:
    lab = Lab.make(
        tmp_path, author=TWO_FILES, judge=JUDGE.format(met=met), extra="review: {agents: [judge], max_cycles: 1}\n"
    )
    lab.add("Add division", "--accept", "It divides")
    lab.burnish("run", code=code)
    assert lab.show(1)["status"] == status
