"""What reviewers say and fail to say: only a clean approval verifies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from testing.lab import APPROVE, REJECT, Lab

TWO_FILES = "pathlib.Path('huge.py').write_text('x = 1\\n' * 20000)\napp.write_text(app.read_text() + 'y = 2\\n')"
QUIET = "app.write_text(app.read_text() + f'# {phase} {cycle}\\n')"


def ended(lab: Lab, code: int) -> dict[str, Any]:
    lab.add()
    lab.burnish("run", code=code)
    return lab.show(1)


@pytest.mark.slow
@pytest.mark.representatives(2)
@pytest.mark.parametrize(
    ("judge", "status", "reason", "final", "review", "code"),
    [
        ('print(verdict("needs_discussion"))', "blocked", "needs_discussion", "NEEDS_DISCUSSION", "failed", 1),
        ('print(verdict("rejected"))', "blocked", "rejected", "REJECTED", "rejected", 1),
        ('print(verdict("approved", blocking=True))', "blocked", "rejected", "REJECTED", "rejected", 1),
        ('print("LGTM, approved!")', "blocked", "unreadable_review", None, "failed", 1),
        ('print(verdict("approved"))\nprint(verdict("approved"))', "blocked", "unreadable_review", None, "failed", 1),
        ('print(block({"verdict": "approved"}, "0123456789ab"))', "blocked", "unreadable_review", None, "failed", 1),
        (
            'print("> " + verdict("approved").replace("\\n", "\\n> "))',
            "blocked",
            "unreadable_review",
            None,
            "failed",
            1,
        ),
        ('print(verdict("approved")[:-4])', "blocked", "unreadable_review", None, "failed", 1),
        ('print(verdict("fine"))', "blocked", "unreadable_review", None, "failed", 1),
        ("pass", "failed", None, None, None, 3),
        ('print(verdict("approved"))\nsys.exit(1)', "failed", None, None, None, 3),
    ],
)
def test_what_is_no_clean_approval_never_verifies(
    tmp_path: Path, judge: str, status: str, reason: str | None, final: str | None, review: str | None, code: int
) -> None:
    lab = Lab.make(tmp_path, author=QUIET, judge=judge)
    task = ended(lab, code)
    assert (task["status"], task["reason"], task["final_verdict"]) == (status, reason, final), task
    assert task["review_status"] == review
    assert lab.events("review.approved") == []
    if reason in ("needs_discussion", "rejected"):
        assert len(lab.calls()) == 2, "it stops at once"


def test_an_unreadable_review_is_asked_for_once_more_and_then_read(tmp_path: Path) -> None:
    judge = "print(verdict('approved') if 'I approve.' in prompt else 'I approve.')"
    lab = Lab.make(tmp_path, author=QUIET, judge=judge)
    assert ended(lab, 0)["status"] == "verified"
    assert [c["phase"] for c in lab.calls()] == ["implement", "review", "review"]


def test_an_approval_that_is_followed_by_other_text_is_asked_for_once_more(tmp_path: Path) -> None:
    judge = "print(verdict('approved') + ('' if 'is a draft' in prompt else '\\nThe verdict above is a draft.'))"
    lab = Lab.make(tmp_path, author=QUIET, judge=judge)
    assert ended(lab, 0)["status"] == "verified"
    assert [c["phase"] for c in lab.calls()] == ["implement", "review", "review"]


@pytest.mark.long
def test_after_an_unreadable_review_retry_reviews_again_without_working_again(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=QUIET, judge="print('hm')")
    assert ended(lab, 1)["reason"] == "unreadable_review"
    lab.agent("judge", APPROVE)
    lab.burnish("retry", "1")
    assert lab.task()["status"] == "verified"
    assert [c["phase"] for c in lab.calls()].count("implement") == 1
    assert lab.phases_committed(lab.task()["branch"]) == [("1", "implement")]


@pytest.mark.long
def test_an_approval_with_its_own_error_counts_as_changes_requested(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=QUIET, judge='print(verdict("approved", findings=[flaw]))')
    lab.add("Task", "--max-cycles", "1")
    lab.burnish("run", code=1)
    task = lab.task()
    assert (task["reason"], task["final_verdict"]) == ("max_cycles", "MAX_CYCLES_REACHED")


@pytest.mark.slow
def test_an_approval_that_does_not_resolve_an_earlier_error_is_none(tmp_path: Path) -> None:
    judge = f"if cycle == 1:\n    {REJECT}\nelse:\n    print(verdict('approved', prior=[]))"
    lab = Lab.make(tmp_path, author=QUIET, judge=judge)
    assert ended(lab, 1)["status"] == "blocked"


@pytest.mark.long
@pytest.mark.representatives(1)
@pytest.mark.parametrize(
    ("title", "held"),
    [
        ("Customer money is lost when the counter wraps", [("F1", "warning"), ("F2", "error")]),
        ("Variable is called x", [("F1", "warning")]),  # not graver without a change there, but no approval either
    ],
)
def test_an_approval_with_an_error_on_the_line_of_an_earlier_warning_is_none(
    tmp_path: Path, title: str, held: list[tuple[str, str]]
) -> None:
    judge = f"""\
named = {{**flaw, "line": 1, "severity": "warning", "title": "Variable is called x", "description": ""}}
worse = {{**named, "severity": "error", "title": {title!r}}}
print(verdict("changes_requested", findings=[named]) if cycle == 1 else verdict("approved", findings=[worse]))
"""
    lab = Lab.make(tmp_path, author=QUIET, judge=judge)
    lab.add("Task", "--max-cycles", "2")
    lab.burnish("run", code=1)
    task = lab.show(1)
    assert (task["status"], task["reason"]) == ("blocked", "max_cycles")
    assert [(f["id"], f["severity"]) for f in task["findings"]] == held
    assert [e["data"]["verdict"] for e in lab.events("review.completed")] == ["changes_requested"] * 2


def test_an_approval_with_an_unmet_criterion_is_none(tmp_path: Path) -> None:
    judge = "print(verdict('approved', compliance=[{'item': 'fast', 'met': False}]))"
    lab = Lab.make(tmp_path, author=QUIET, judge=judge)
    lab.add("Task", "--accept", "fast", "--max-cycles", "1")
    lab.burnish("run", code=1)
    assert lab.task()["reason"] == "max_cycles"


def test_a_path_that_nobody_looked_at_is_asked_for_once_and_then_needs_a_person(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=TWO_FILES, judge=APPROVE)
    task = ended(lab, 1)
    assert (task["status"], task["reason"]) == ("blocked", "incomplete_review")
    assert [c["phase"] for c in lab.calls()] == ["implement", "review", "review"]
    assert "huge.py" in lab.burnish("show", "1").out


@pytest.mark.long
def test_a_path_that_was_too_long_to_show_counts_once_the_reviewer_has_read_it(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=TWO_FILES, judge="print(verdict('approved', inspected=['app.py', 'huge.py']))")
    assert ended(lab, 0)["status"] == "verified"


@pytest.mark.slow
def test_a_reviewer_out_of_time_fails_the_review_and_retry_asks_again(tmp_path: Path) -> None:
    extra = "task_types: {implement: {review_timeout_minutes: 0.02}}\n"
    lab = Lab.make(tmp_path, author=QUIET, judge="time.sleep(30)", extra=extra)
    task = ended(lab, 3)
    assert (task["status"], task["error"]) == ("failed", "TIMEOUT")
    lab.settle("")
    lab.agent("judge", APPROVE)
    lab.burnish("retry", "1")
    assert lab.task()["status"] == "verified"
    assert [c["phase"] for c in lab.calls()].count("implement") == 1


@pytest.mark.slow
def test_changes_requested_to_the_end_is_max_cycles_and_exit_1_or_0_where_wanted(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=QUIET, judge=REJECT.replace("flaw", "{**flaw, 'title': f'Flaw {cycle}'}"))
    task = ended(lab, 1)
    assert (task["status"], task["reason"], task["cycle"]) == ("blocked", "max_cycles", 3)
    assert task["final_verdict"] == "MAX_CYCLES_REACHED"
    assert lab.events("review.max_cycles")
    lab.burnish("run", "1", "--exit-zero", code=0)


def test_an_agent_that_changes_nothing_needs_a_person_and_may_be_tried_again(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author="print('nothing to do')", judge=APPROVE)
    assert ended(lab, 1)["reason"] == "no_changes"
    lab.agent("robot", QUIET)
    lab.burnish("retry", "1")
    assert lab.task()["status"] == "verified"


def test_a_fix_that_changes_nothing_is_a_stall(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=f"if phase == 'implement': {QUIET}", judge=REJECT)
    task = ended(lab, 1)
    assert (task["reason"], task["cycle"]) == ("stalled", 2)


@pytest.mark.long
def test_going_back_and_forth_is_a_stall_before_anybody_is_paid_to_review_it(tmp_path: Path) -> None:
    author = "app.write_text('a\\n' if cycle % 2 else 'b\\n')"
    lab = Lab.make(tmp_path, author=author, judge=REJECT.replace("flaw", "{**flaw, 'title': f'Flaw {cycle}'}"))
    lab.add("Task", "--max-cycles", "9")
    lab.burnish("run", code=1)
    assert (lab.task()["reason"], lab.task()["cycle"]) == ("stalled", 3)
    assert [c["phase"] for c in lab.calls()].count("review") == 2


@pytest.mark.long
def test_the_same_error_after_two_fixes_is_a_stall(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=QUIET, judge=REJECT)
    lab.add("Task", "--max-cycles", "9")
    lab.burnish("run", code=1)
    assert (lab.task()["reason"], lab.task()["cycle"]) == ("stalled", 3)


DISPUTER = """
if phase == "implement":
    app.write_text(app.read_text() + "x = 1\\n")
else:
    print("```burnish-disputes " + number + "\\n" + json.dumps([{"id": "F1", "evidence": "b is never 0"}]) + "\\n```")
"""


def test_a_disputed_finding_that_is_withdrawn_lets_the_task_through(tmp_path: Path) -> None:
    judge = (
        f"if cycle == 1:\n    {REJECT}\nelse:\n    print(verdict('approved', prior=[dict(id='F1', state='invalid')]))"
    )
    lab = Lab.make(tmp_path, author=DISPUTER, judge=judge)
    assert ended(lab, 0)["status"] == "verified"
    assert lab.phases_committed(lab.task()["branch"]) == [("1", "implement")]
    assert lab.events("finding.disputed")


@pytest.mark.long
def test_a_finding_disputed_twice_goes_to_a_person(tmp_path: Path) -> None:
    still = "prior=[dict(id='F1', state='open')]"
    judge = f"if cycle == 1:\n    {REJECT}\nelse:\n    print(verdict('changes_requested', {still}))"
    lab = Lab.make(tmp_path, author=DISPUTER, judge=judge)
    lab.add("Task", "--max-cycles", "9")
    lab.burnish("run", code=1)
    assert lab.task()["reason"] == "needs_discussion"


PANEL = "review:\n  agents: [judge, second]\n"


def test_one_failed_reviewer_of_a_panel_is_never_ignored(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=QUIET, judge=APPROVE)
    lab.agent("second", "sys.exit(1)")
    lab.settle(PANEL)
    assert ended(lab, 3)["error"] == "AGENT_FAILED"


def test_a_panel_agrees_or_the_task_goes_back(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=QUIET, judge=APPROVE)
    lab.agent("second", f"if cycle == 1:\n    {REJECT}\nelse:\n    {APPROVE}")
    lab.settle(PANEL)
    task = ended(lab, 0)
    assert (task["status"], task["cycle"]) == ("verified", 2)
    assert len(task["cycles"][0]["reviewers"]) == 2


UNSIGNED = "review: {agents: [judge], accept_unsigned: true}\n"
REJECTS_THEN = "print('Zero is not handled.\\n\\n**Verdict: CHANGES_REQUESTED**' if cycle == 1 else %r)"


@pytest.mark.long
@pytest.mark.parametrize("approval", ["ok\n\n**Verdict: APPROVED**", "**[APPROVED]**", "**[APPROVED]** - all good"])
def test_an_unsigned_approval_after_a_rejection_waits_for_a_person_and_pays_no_further_cycle(
    tmp_path: Path, approval: str
) -> None:
    lab = Lab.make(tmp_path, author=QUIET, judge=REJECTS_THEN % approval, extra=UNSIGNED)

    task = ended(lab, 1)

    assert (task["status"], task["cycle"]) == ("waiting_approval", 2), task
    assert "F1 was not ruled on" in task["note"]
    assert [c["phase"] for c in lab.calls()] == ["implement", "review", "improve", "review"]
    assert [f["id"] for f in task["findings"]] == ["F1"]
    assert "F1 was not ruled on" in lab.burnish("show", "1").out
    refused = lab.burnish("decide", "1", "approve", code=2)
    assert "While F1 is still open, accepting task 1 is an override" in refused.err
    lab.burnish("decide", "1", "approve", "--explain", "fixed, I looked")
    assert lab.task()["status"] == "verified"


@pytest.mark.long
def test_after_a_waiver_of_what_was_not_ruled_on_the_person_approves_without_a_reason(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=QUIET, judge=REJECTS_THEN % "**[APPROVED]**", extra=UNSIGNED)
    ended(lab, 1)
    lab.burnish("waive", "1", "F1", "--reason", "fixed by the second commit")
    lab.burnish("decide", "1", "approve")
    assert lab.task()["status"] == "verified"


@pytest.mark.long
@pytest.mark.parametrize(
    "approval",
    ["**[APPROVED]** - once F1 is fixed", "**[APPROVED]** - do not merge", "**Verdict: APPROVED** - mostly"],
)
def test_an_unsigned_approval_that_is_limited_by_its_own_words_is_none(tmp_path: Path, approval: str) -> None:
    lab = Lab.make(tmp_path, author=QUIET, judge=f"print({approval!r})", extra=UNSIGNED)
    assert ended(lab, 1)["status"] == "blocked"


@pytest.mark.slow
def test_an_unsigned_approval_does_not_settle_a_check_that_is_red(tmp_path: Path) -> None:
    checks = "checks: {test: 'false', lint: null, on_failure: review}\n"
    lab = Lab.make(tmp_path, author=QUIET, judge="print('[APPROVED]')", extra=UNSIGNED + checks)
    lab.repo.commit(
        {"burnish.yaml": lab.settings(UNSIGNED + checks).replace("'false'", "'! grep -q implement app.py'")}
    )
    lab.trust()
    assert ended(lab, 1)["status"] == "blocked"


@pytest.mark.long
def test_an_unsigned_approval_of_a_task_with_criteria_names_what_was_not_judged(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=QUIET, judge="print('[APPROVED]')", extra=UNSIGNED)
    lab.add("Add division", "--accept", "zero is handled")
    lab.burnish("run", code=1)
    task = lab.show(1)
    assert task["status"] == "waiting_approval" and "not judged: zero is handled" in task["note"]


@pytest.mark.long
@pytest.mark.parametrize("key", ["prior", "compliance"])
def test_a_rejection_that_leaves_a_list_out_is_a_rejection(tmp_path: Path, key: str) -> None:
    judge = f"""
reply = json.loads(verdict("changes_requested" if cycle == 2 else "approved", "not yet", [flaw] if cycle == 2 else []
    , compliance=[{{"item": "zero is handled", "met": True}}]).split("\\n")[1])
if cycle == 1:
    reply |= {{"verdict": "changes_requested", "findings": [flaw]}}
if cycle == 2:
    del reply[{key!r}]
print(block(reply))
"""
    lab = Lab.make(tmp_path, author=QUIET, judge=judge)
    lab.add("Add division", "--accept", "zero is handled")
    lab.burnish("run")
    task = lab.task()
    assert (task["status"], task["cycle"]) == ("verified", 3)
    assert [c["phase"] for c in lab.calls()].count("review") == 3, "no reviewer was asked again"


def test_an_approval_that_rules_on_nothing_is_still_unreadable(tmp_path: Path) -> None:
    judge = """
reply = json.loads(verdict("approved" if cycle == 2 else "changes_requested", "", [] if cycle == 2 else [flaw])
    .split("\\n")[1])
if cycle == 2:
    del reply["prior"]
print(block(reply))
"""
    lab = Lab.make(tmp_path, author=QUIET, judge=judge)
    task = ended(lab, 1)
    assert (task["status"], task["reason"]) == ("blocked", "unreadable_review")
