from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.core.check import CheckReport, CheckStatus, Counts, TestFailure
from burnish.core.finding import Category, Finding, FindingState, Remark, Severity
from burnish.core.review import Compliance, PanelResult, Review, ReviewerResult, Unreadable, Verdict
from burnish.core.task import Spec, Task
from burnish.review.artifact import (
    AffectedFile,
    ArtifactReviewer,
    MalformedArtifact,
    ReviewArtifact,
    cut,
    cycle_of,
    file_name,
    parse_artifact,
    render_artifact,
)
from burnish.review.body import Cycle, artifact_of
from burnish.review.reading import clean
from burnish.review.records import Iteration, render_baseline_json, render_task_json
from testing.long_forms import examples

REMARK = Remark(
    Category.COMPLIANCE, Severity.ERROR, "Missing check", "Empty passes.", "Add it.", "a b.py", 45, 47, "if x:"
)
FOUND = Finding("F1", REMARK, reviewers=("claude",))
RESULT = ReviewerResult(
    "claude", "opus", Review(Verdict.CHANGES_REQUESTED, "Not yet: see F1"), "2026-01-09T14:22:00Z", "ab12"
)
PANEL = PanelResult(
    (RESULT,),
    Verdict.CHANGES_REQUESTED,
    "Not yet.",
    compliance=(Compliance("logs in", True), Compliance("rejects empty", False, "no"), Compliance("fast", None)),
    rejection_reason="Fix the check.",
)
CYCLE = Cycle("29", "Add login", 1, 3, PANEL, (FOUND,), "c" * 40, "t" * 40, "b" * 40, "diff-1.patch", "pytest -q")

_words = st.text(max_size=30)
_verdicts = st.sampled_from(["approved", "changes_requested", "unreadable", "skipped"])
_reviewers = st.builds(
    ArtifactReviewer, _words, st.none() | _words, _words, _words, _words, _verdicts, st.booleans(), _words, _words
)
_files = st.builds(AffectedFile, st.text(max_size=20).filter(lambda t: "\0" not in t), st.none() | st.integers(0, 99))
_artifacts = st.builds(
    ReviewArtifact,
    task=_words,
    cycle=st.integers(0, 99),
    verdict=_verdicts,
    reviewers=st.lists(_reviewers, max_size=2).map(tuple),
    commit=_words,
    diff=_words,
    affected_files=st.lists(_files, max_size=2).map(tuple),
    reproduction_command=_words,
    findings=st.lists(st.sampled_from(["F1", "F2"]), max_size=2).map(tuple),
    arbiter_override=st.none() | st.just({"category": "custom", "by": "ann", "explain": "it's: fine\n#yes"}),
    body=st.text(max_size=80),
)


@settings(max_examples=examples(150), deadline=None)
@given(_artifacts)
def test_write_parse_write_gives_the_same_bytes(artifact: ReviewArtifact) -> None:
    once = render_artifact(artifact)
    again = parse_artifact(once, "review-cycle-1.md")
    assert render_artifact(again).encode() == once.encode()
    assert (again.verdict, again.cycle, again.findings) == (artifact.verdict, artifact.cycle, artifact.findings)


def test_the_front_matter_has_exactly_the_promised_keys() -> None:
    text = render_artifact(artifact_of(CYCLE))
    front = text.split("---\n")[1]
    keys = [line.split(":")[0] for line in front.splitlines() if line[0].isalpha()]
    promised = "task cycle verdict reviewers commit tree base diff affected_files reproduction_command findings"
    assert " ".join(keys) == promised + " arbiter_override"
    rows = front.split("reviewers:")[1].split("commit:")[0].strip().splitlines()
    assert " ".join(row.strip(" -").split(":")[0] for row in rows) == (
        "agent model provider command reviewed_at verdict blocking summary raw_sha256"
    )


def test_the_body_says_what_a_person_wants_to_know() -> None:
    body = artifact_of(CYCLE).body
    order = ["# Code Review: Add login", "Cycle 1 of 3", "CHANGES REQUESTED", "## Overall Summary", "Not yet."]
    order += ["## Compliance Review", "### ✓ Compliant", "- logs in", "### ❌ Non-Compliant", "- rejects empty (no)"]
    order += ["### Not Judged", "## Findings", "### F1 [ERROR] Compliance: Missing check (a b.py:45)", "Add it."]
    order += ["## Action Required", "Not decided yet. Open and blocking: F1."]
    at = 0
    for words in order:
        at = body.index(words, at)


def test_what_could_not_be_read_is_no_approval_in_the_file() -> None:
    lost = replace(PANEL, verdict=None, results=(replace(RESULT, reading=Unreadable("no block", "approved")),))
    artifact = artifact_of(replace(CYCLE, panel=lost))
    assert artifact.verdict == artifact.reviewers[0].verdict == "unreadable"
    assert artifact_of(replace(CYCLE, panel=None)).verdict == "skipped"


def test_the_decided_verdict_wins_over_the_panels() -> None:
    contradictory = replace(PANEL, verdict=Verdict.APPROVED)
    artifact = artifact_of(replace(CYCLE, panel=contradictory, verdict=Verdict.CHANGES_REQUESTED))
    assert artifact.verdict == "changes_requested"


GOOD = render_artifact(artifact_of(CYCLE))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# Review\n\nAPPROVED",
        "---\n---\n",
        "---\nverdict: approved\n---\n",
        GOOD.replace("verdict: changes_requested", "verdict: lgtm", 1),
        GOOD.replace("verdict: changes_requested", "verdict: approved\nverdict: approved", 1),
        GOOD.replace("verdict: changes_requested", "verdict: [approved]", 1),
        GOOD.replace("cycle: 1", "cycle: one", 1),
        GOOD.replace("cycle: 1", "cycle: -1", 1),
        GOOD.replace("blocking: false", "blocking: maybe", 1),
        GOOD.replace("findings:\n", "findings: {\n", 1),
        GOOD.replace("tree:", "tree", 1),
        GOOD[:200],
    ],
)
def test_a_malformed_file_is_reported_by_name(text: str) -> None:
    with pytest.raises(MalformedArtifact, match=r"review-cycle-7\.md is damaged"):
        parse_artifact(text, "review-cycle-7.md")


def test_no_flipped_byte_turns_a_rejection_into_an_approval_or_a_crash() -> None:
    raw = GOOD.encode()
    for at in range(raw.index(b"reviewers")):
        for flip in (1, 2, 32, 128):
            damaged = (raw[:at] + bytes([raw[at] ^ flip]) + raw[at + 1 :]).decode("utf-8", "replace")
            try:
                assert parse_artifact(damaged, "x.md").verdict != "approved"
            except MalformedArtifact:
                continue


@settings(max_examples=examples(100), deadline=None)
@given(st.text(max_size=200))
def test_no_front_matter_crashes_the_reader(text: str) -> None:
    with pytest.raises(MalformedArtifact):
        parse_artifact(f"---\n{text}\n---\n", "x.md")


def test_a_file_over_ten_kilobytes_is_cut_with_a_link() -> None:
    long = replace(artifact_of(CYCLE), body="wörds\n" * 5000)
    text = render_artifact(long, link="/home/u/full.md")
    assert len(text.encode()) <= 10 * 1024 and "Full text: /home/u/full.md]" in text
    assert render_artifact(parse_artifact(text, "x"), link="/home/u/full.md") == text
    assert cut("short", 100, "l") == "short"


def test_names_go_by_cycle() -> None:
    assert cycle_of(file_name(12)) == 12
    assert cycle_of("review-cycle-0.md") is None and cycle_of("../review-cycle-1.md") is None


def test_task_json_speaks_automakers_language() -> None:
    task = Task("p", 29, Spec("Add login", "Users log in."), branch="burnish/29-add-login", cycle=1)
    iteration = Iteration(1, "c" * 40, "diff-1.patch", PANEL, (FOUND,))
    told = json.loads(render_task_json(task, [iteration]))
    spec = told["codeReviewSpec"]
    assert (spec["status"], spec["currentIteration"], spec["maxIterations"]) == ("rejected", 1, 3)
    one = spec["iterations"][0]
    assert (one["gitDiff"], one["reviewFile"], one["rejectionReason"]) == (
        "diff-1.patch",
        "review-cycle-1.md",
        "Fix the check.",
    )
    assert one["findings"][0]["file"] == "a b.py" and one["reviewedByModel"] == "opus"
    assert json.loads(render_task_json(task))["codeReviewSpec"]["status"] == "pending"


def test_a_baseline_that_could_not_run_is_minus_one_and_the_reason() -> None:
    counts = Counts(3, 1, 1, 1)
    failed = CheckReport(
        "test", "pytest", CheckStatus.FAILED, 1, counts=counts, failures=(TestFailure("t", "failed", "m"),)
    )
    told = json.loads(render_baseline_json("c", "t", failed, "now"))
    assert told == {
        "commit": "c", "tree": "t", "command": "pytest", "captured_at": "now", "total": 3, "passed": 1, "failed": 1,
        "skipped": 1, "failures": [{"name": "t", "status": "failed", "message": "m"}],
    }  # fmt: skip
    broken = CheckReport("test", "pytest", CheckStatus.ERROR, error="no pytest")
    told = json.loads(render_baseline_json("c", "t", broken, "now"))
    assert (told["failed"], told["error"]) == (-1, "no pytest")


HOSTILE = "\x1b]0;pwn\x07\x1b[31mred\x1b[0m \u202eevil\u202c <script>alert(1)</script> a < b <!-- x\n```\nnever closed"


def test_what_a_reviewer_says_can_neither_act_nor_hide_in_the_file() -> None:
    bad = replace(REMARK, title=HOSTILE, description=HOSTILE, suggestion=HOSTILE, quote="<b>\u202e")
    result = replace(RESULT, reading=Review(Verdict.REJECTED, HOSTILE))
    panel = replace(PANEL, results=(result,), summary=HOSTILE, rejection_reason=HOSTILE)
    text = render_artifact(
        artifact_of(replace(CYCLE, title=HOSTILE, panel=panel, findings=(replace(FOUND, remark=bad),)))
    )
    assert not any(mark in text for mark in ("\x1b", "\u202e", "\u202c", "]0;", "[31m", "[0m"))
    body = parse_artifact(text, "x").body
    assert "&lt;script>alert(1)&lt;/script> a < b &lt;!-- x" in body and "<script" not in body
    # the summary's code block ends with it; the code that was quoted is still code
    assert "never closed\n```\n\n## Compliance" in body and "\n```\n<b>\n```\n" in body
    assert render_artifact(parse_artifact(text, "x")) == text


def test_what_a_reply_says_loses_whole_control_sequences() -> None:
    assert clean("\x1b]0;pwn\x07a\x1b[31mb\x1b[0m\x1bMc\r\nd\x00") == "abc\nd"


def test_a_finding_in_task_json_tells_its_state() -> None:
    done = replace(FOUND, state=FindingState.RESOLVED)
    said = json.loads(render_task_json(Task("p", 29, Spec("x")), [Iteration(2, "c", "d", PANEL, (done,))]))
    assert said["codeReviewSpec"]["iterations"][0]["findings"][0]["state"] == "resolved"


def test_a_review_that_failed_names_no_file() -> None:
    task = Task("p", 29, Spec("Add login"), cycle=1)
    crashed = Iteration(1, "c" * 40, "diff-1.patch", None, (), error="The command failed.", failed_agent="bot")
    (one,) = json.loads(render_task_json(task, [crashed]))["codeReviewSpec"]["iterations"]
    assert one["status"] == "failed" and "reviewFile" not in one
