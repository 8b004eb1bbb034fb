"""The static reviewer's figures, in short; `python -m bench.static` prints all of them."""

from __future__ import annotations

import pytest

from bench.static import score
from testing.defects_clean import clean
from testing.defects_planted import planted


@pytest.mark.long
def test_planted_defects_are_found_and_clean_changes_are_left_alone() -> None:
    result = score(every=3)
    assert result.recall >= 0.9, [(case.kind, case.path, case.rule) for case in result.missed]
    assert result.alarms == ()


def test_the_bench_is_wide_enough_to_mean_something() -> None:
    assert len(planted()) >= 60 and len({case.kind for case in planted()}) >= 15
    assert len(clean()) >= 40
