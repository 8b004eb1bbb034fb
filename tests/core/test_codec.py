"""Core types survive the way to JSON and back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.core.check import CheckReport, CheckStatus, Counts, TestFailure
from burnish.core.codec import decode, encode
from burnish.core.finding import Category, Finding, FindingState, Remark, Severity, Waiver
from burnish.core.task import Item, Spec, Task, TaskType

WORDS = st.text(max_size=20)
REMARKS = st.builds(
    Remark,
    category=st.sampled_from(Category),
    severity=st.sampled_from(Severity),
    title=WORDS,
    file=st.none() | WORDS,
    line=st.none() | st.integers(1, 10**6),
    confidence=st.none() | st.floats(0, 1),
)
FINDINGS = st.builds(
    Finding,
    id=st.integers(1, 999).map("F{}".format),
    remark=REMARKS,
    state=st.sampled_from(FindingState),
    reviewers=st.lists(WORDS, max_size=3).map(tuple),
    waiver=st.none() | st.builds(Waiver, by=WORDS, reason=WORDS, at=WORDS),
)
SPECS = st.builds(
    Spec,
    title=WORDS,
    type=st.sampled_from(TaskType),
    criteria=st.lists(WORDS, max_size=3).map(tuple),
    checklist=st.lists(st.builds(Item, WORDS, st.booleans()), max_size=3).map(tuple),
    depends_on=st.lists(st.integers(1, 99), max_size=3).map(tuple),
    auto_review=st.none() | st.booleans(),
)


def through_json(value: Any) -> Any:
    return decode(type(value), json.loads(json.dumps(encode(value))))


@given(FINDINGS)
def test_a_finding_comes_back_as_it_was(finding: Finding) -> None:
    assert through_json(finding) == finding


@given(SPECS)
def test_a_task_comes_back_as_it_was(spec: Spec) -> None:
    task = Task("p", 3, spec)
    assert through_json(task) == task


def test_a_check_report_comes_back_with_its_cases_and_types() -> None:
    report = CheckReport(
        "test",
        "pytest",
        CheckStatus.FAILED,
        exit_code=1,
        counts=Counts(3, 2, 1, 0),
        failures=(TestFailure("t.py::test_x", "failed", "boom"),),
    )
    back = through_json(report)
    assert back == report
    assert isinstance(back.status, CheckStatus) and isinstance(back.failures, tuple)


def test_a_name_that_is_not_utf8_survives() -> None:
    remark = Remark(Category.CODE, Severity.INFO, "odd", file="caf\udce9.py")
    assert through_json(remark) == remark


def test_unknown_keys_of_a_newer_version_are_ignored_and_missing_ones_take_their_default() -> None:
    assert decode(Item, {"text": "x", "colour": "red"}) == Item("x", done=False)


def test_a_missing_key_without_default_and_an_unknown_word_are_errors() -> None:
    with pytest.raises(TypeError):
        decode(Item, {"done": True})
    with pytest.raises(ValueError, match="furious"):
        decode(Remark, {"category": "code", "severity": "furious", "title": "x"})


@dataclass(frozen=True)
class _Pair:
    place: Path
    both: tuple[int, str]


def test_paths_and_tuples_of_fixed_length_keep_their_types() -> None:
    pair = _Pair(Path("a/b"), (1, "x"))
    assert encode(pair) == {"place": "a/b", "both": [1, "x"]}
    assert through_json(pair) == pair
