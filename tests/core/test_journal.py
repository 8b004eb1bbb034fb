"""The journal as types: what is on disk reads as it did by key, and what earlier versions wrote reads the same."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any

import pytest

from burnish.core import journal_events
from burnish.core.codec import encode, key_of
from burnish.core.event import TYPES
from burnish.core.finding import Category, Remark, Severity
from burnish.core.history import decision_record, phase_record, with_result
from burnish.core.journal import (
    CheckRecord,
    CheckResult,
    DecisionData,
    Failure,
    GateResult,
    PhaseResult,
    RecordedRemark,
    ReviewerRecord,
    ReviewFixResult,
    ReviewResult,
    WorkResult,
    phase_result,
    read,
    written,
)
from burnish.views.task import finding_json

# `first.jsonl` was written before the journal had types: an event of each shape that there was.
FILES = sorted((Path(__file__).parent / "journals").glob("*.jsonl"))
EVENTS = [json.loads(line) for file in FILES for line in file.read_text("utf-8").splitlines()]
ENDS = [event["data"] for event in EVENTS if event["type"] == "phase.finished"]
FAILURES = [event["data"] for event in EVENTS if event["type"] == "phase.failed"]
DECISIONS = [event["data"] for event in EVENTS if event["type"] == "decision.made"]


def compare(value: Any, stored: dict[str, Any], *, beside: frozenset[str] = frozenset()) -> None:
    """Each field holds what its key has on disk, or its default; and there is a field for each key."""
    known = {key_of(field): field for field in fields(value)}
    assert set(stored) - beside <= set(known)
    for key, field in known.items():
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        decoded = getattr(value, field.name)
        if stored.get(key) is None:
            assert decoded == default or key in ("cost_source", "weighed")
        elif key in ("reviewers", "mended_by", "checks"):
            for part, raw in zip(decoded, stored[key], strict=True):
                compare_part(part, raw)
        else:
            assert _without_new_keys(encode(decoded)) == stored[key], key


def compare_part(value: ReviewerRecord | CheckRecord, stored: dict[str, Any]) -> None:
    again = encode(value)
    assert set(stored) <= set(again)
    empty = (None, "", 0, False)
    assert all(again[key] == raw or (raw is None and again[key] in empty) for key, raw in stored.items())


@pytest.mark.parametrize("stored", ENDS, ids=lambda data: data["phase"])
def test_a_finished_phase_reads_as_it_did_by_key(stored: dict[str, Any]) -> None:
    result = phase_result(stored["phase"], "finished", stored)
    assert result
    compare(result, stored)


@pytest.mark.parametrize("stored", FAILURES, ids=lambda data: data["error"])
def test_a_failed_phase_reads_as_it_did_by_key(stored: dict[str, Any]) -> None:
    result = phase_result(stored["phase"], "failed", stored)
    assert isinstance(result, Failure)
    compare(result, stored)


@pytest.mark.parametrize("stored", DECISIONS, ids=lambda data: data["action"])
def test_a_decision_reads_as_it_did_by_key(stored: dict[str, Any]) -> None:
    compare(read(DecisionData, stored), stored, beside=frozenset({"action", "by"}))


def test_the_recorded_phases_are_of_every_kind() -> None:
    kinds = {type(phase_result(data["phase"], "finished", data)) for data in ENDS}
    assert kinds == {WorkResult, ReviewFixResult, CheckResult, ReviewResult, GateResult}
    assert {data["action"] for data in DECISIONS} == {"accept", "revise", "escalate", "wait", "ask", "again"}


def test_a_phase_that_runs_has_no_result() -> None:
    assert phase_result("review", "started", {}) is None


def test_a_phase_that_nobody_knows_has_what_all_phases_have() -> None:
    assert phase_result("polish", "finished", {"phase": "polish", "tokens": 7}) == PhaseResult(
        "polish", cost_source="", tokens=7
    )


def test_keys_of_newer_versions_are_left_alone() -> None:
    stored = {"phase": "check", "colour": "blue"}
    record = phase_record(1, 1, "check", 1, "finished", stored)
    assert record.result == CheckResult("check", cost_source="")


def test_phases_are_found_by_their_result() -> None:
    records = [phase_record(1, 1, name, 1, "finished", {}) for name in ("implement", "review-fix", "review:style")]
    records.append(phase_record(1, 1, "review", 1, "failed", {}))
    assert [p.phase for p in with_result(records, WorkResult)] == ["implement", "review-fix"]
    assert [p.phase for p in with_result(records, ReviewResult)] == ["review:style"]
    assert [p.phase for p in with_result(records, Failure)] == ["review"]


# What earlier versions wrote, a version at a time.


def test_before_the_effective_verdict_the_verdict_was_the_one_that_counts() -> None:
    assert read(ReviewResult, {"verdict": "approved"}).effective_verdict == "approved"
    assert read(ReviewResult, {"verdict": "approved", "weighed": "rejected"}).effective_verdict == "rejected"
    assert read(ReviewResult, {"verdict": "approved", "weighed": None}).effective_verdict is None


def test_a_cost_from_before_sources_is_not_one_without_a_price() -> None:
    assert read(WorkResult, {"cost_usd": 0.25}).cost_source == ""
    assert read(WorkResult, {"cost_usd": None, "cost_source": None}).cost_source is None


def test_reviewers_from_before_each_had_a_cost_are_known_by_that() -> None:
    review = read(ReviewResult, {"reviewers": [{"agent": "a"}, {"agent": "b", "cost_usd": None, "cost_source": None}]})
    assert [one.has_own_cost for one in review.reviewers] == [False, True]
    assert [one.cost_source for one in review.reviewers] == ["", None]


def test_before_names_had_a_limit_their_number_was_the_count() -> None:
    check = read(CheckRecord, {"name": "test", "new": ["a", "b"], "old": ["c"]})
    assert (check.new_count, check.old_count, check.fixed_count) == (2, 1, 0)
    assert read(CheckRecord, {"new": ["a"], "new_count": 70}).new_count == 70


def test_the_first_checks_had_their_report_under_a_key_of_its_own() -> None:
    check = read(
        CheckRecord, {"check": "test", "report": {"name": "test", "status": "passed", "counts": {"passed": 3}}}
    )
    assert (check.name, check.status, check.counts and check.counts.passed) == ("test", "passed", 3)


def test_a_review_that_did_not_list_what_was_unseen_is_not_one_that_saw_all() -> None:
    assert read(ReviewResult, {}).unseen is None
    assert read(ReviewResult, {"unseen": []}).unseen == ()


def test_work_without_a_word_on_changes_is_neither_changed_nor_unchanged() -> None:
    assert read(WorkResult, {}).changed is None


def test_the_remarks_of_a_review_are_remarks_again() -> None:
    remark = Remark(Category.CODE, Severity.ERROR, "Lost update", file="a.py")
    review = read(ReviewResult, {"grave": [{"id": "F3", **encode(remark)}]})
    assert [(one.finding, one.as_remark()) for one in review.blocking_remarks] == [("F3", remark)]
    assert replace(review.blocking_remarks[0], finding="") == RecordedRemark(
        **{field.name: getattr(remark, field.name) for field in fields(remark)}
    )


def test_a_decision_is_read_with_its_data() -> None:
    stored = {"action": "wait", "by": "burnish", "why": "w", "outside": True, "colour": "blue"}
    record = decision_record(1, 2, "wait", "burnish", stored)
    assert (record.data.why, record.data.is_external) == ("w", True)


# Events.


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event["type"])
def test_every_key_of_an_event_has_a_field(event: dict[str, Any]) -> None:
    kind, stored = journal_events.EVENTS[event["type"]], event["data"]
    if kind in (PhaseResult, journal_events.FindingChanged):
        return  # the results of phases have types of their own, and findings a test
    value = read(kind, stored)
    known = {key_of(field): getattr(value, field.name) for field in fields(value)}
    assert set(stored) <= set(known)
    assert all(encode(known[key]) == raw for key, raw in stored.items() if raw is not None and key != "reviewers")


def test_every_type_of_event_has_a_type() -> None:
    assert set(journal_events.EVENTS) == TYPES


def _without_new_keys(value: Any) -> Any:
    """Without what the recorded journal does not have yet, where that has its default."""
    if isinstance(value, list):
        return [_without_new_keys(one) for one in value]
    if not isinstance(value, dict):
        return value
    new = {"content": "", "replies": [], **({"cycle": 0, "tree": "", "gone": False} if "until" in value else {})}
    return {key: _without_new_keys(one) for key, one in value.items() if new.get(key, ...) != one}


def test_a_finding_reads_back_from_its_event() -> None:
    stored = [event["data"] for event in EVENTS if event["type"].startswith("finding.")]
    findings = [read(journal_events.FindingChanged, data).finding for data in stored]
    # the recorded log has the first version, with the problem under `remark`
    flat = [{**data["finding"], **data["finding"]["remark"]} for data in stored]
    assert findings and [{**_without_new_keys(encode(one)), "remark": {}} for one in findings] == [
        {**one, "remark": {}} for one in flat
    ]


def test_a_finding_has_one_shape_in_events_and_json() -> None:
    stored = [event["data"] for event in EVENTS if event["type"].startswith("finding.")]
    finding = read(journal_events.FindingChanged, stored[0]).finding
    again = journal_events.new_event("finding.opened", journal_events.FindingChanged(finding)).data["finding"]
    shown = finding_json(finding)
    assert {key: again[key] for key in shown} == shown
    assert read(journal_events.FindingChanged, {"finding": again}).finding == finding


def test_the_first_merges_named_their_branch_target() -> None:
    assert read(journal_events.TaskMerged, {"target": "main"}).into == "main"
    assert read(journal_events.TaskMerged, {"into": "dev", "target": "main"}).into == "dev"


# Writing.


def typed(event: dict[str, Any]) -> Any:
    data = event["data"]
    if event["type"] == "phase.finished":
        return phase_result(data["phase"], "finished", data)
    return read(journal_events.EVENTS[event["type"]], data)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event["type"])
def test_what_is_written_has_the_keys_and_values_that_it_was_read_from(event: dict[str, Any]) -> None:
    again = journal_events.new_event(event["type"], typed(event)).data
    # a missing key and null say the same, and empty lists of decisions may be left out
    if event["type"].startswith("finding."):
        return  # written in the newest version, see below
    stored = {key: value for key, value in event["data"].items() if value not in (None, "", [], False)}
    parts = {"reviewers", "mended_by", "checks"}
    assert {key: _without_new_keys(again.get(key)) for key in stored if key not in parts} == {
        key: value for key, value in stored.items() if key not in parts
    }
    for key in parts & set(stored):
        for part, raw in zip(again[key], stored[key], strict=True):
            assert {name: part[name] for name, value in raw.items() if value is not None} == {
                name: value for name, value in raw.items() if value is not None
            }


def test_an_optional_field_that_holds_its_default_is_not_written() -> None:
    move = journal_events.TaskStatus("blocked", "in_progress")
    assert written(move) == {"from": "blocked", "to": "in_progress"}
    assert written(move, explicit=("final_verdict",)) == {
        "from": "blocked",
        "to": "in_progress",
        "final_verdict": None,
    }


def test_what_only_reading_derives_is_not_written() -> None:
    (reviewer,) = written(ReviewResult(reviewers=(ReviewerRecord("a"),)))["reviewers"]
    assert "has_own_cost" not in reviewer and reviewer["cost_source"] is None


def test_a_review_is_written_with_every_key_of_the_journal() -> None:
    (stored,) = [data for data in ENDS if data["phase"] == "review"][:1]
    assert set(stored) <= set(written(ReviewResult("review")))


def test_an_event_holds_data_of_its_own_type() -> None:
    with pytest.raises(TypeError, match=r"task\.status holds TaskStatus, not RunFinished"):
        journal_events.new_event("task.status", journal_events.RunFinished("verified"))
