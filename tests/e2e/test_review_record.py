"""What a review leaves for other tools and for people: task.json, the artifact, overrides, progress."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from testing.lab import APPROVE, AUTHOR, REJECT, Lab


def code_review(lab: Lab, number: int = 1) -> dict[str, Any]:
    return dict(json.loads(lab.burnish("show", f"review-cycle://{number}/task.json").out)["codeReviewSpec"])


def test_a_review_that_crashed_is_a_failed_iteration(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge='print("boom", file=sys.stderr); sys.exit(3)')
    lab.add()
    lab.burnish("run", code=3)
    spec = code_review(lab)
    assert (spec["status"], spec["currentIteration"]) == ("failed", 1)
    assert [one["status"] for one in spec["iterations"]] == ["failed"]
    assert "boom" in spec["iterations"][0]["error"]


@pytest.mark.long
def test_a_rejection_has_a_reason_and_a_manual_task_is_rejected(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=REJECT)
    lab.add("Add division", "-A")
    lab.burnish("run", "1", code=None)
    lab.burnish("review", "1", code=1)
    spec = code_review(lab)
    assert (spec["status"], spec["iterations"][0]["rejectionReason"]) == ("rejected", "not yet")


@pytest.mark.long
def test_a_void_approval_does_not_stand_in_task_json(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE)
    lab.add()
    lab.burnish("run")
    assert code_review(lab)["status"] == "approved"
    lab.burnish("handoff", "1")
    assert code_review(lab)["status"] != "approved"


@pytest.mark.long
def test_steps_of_the_pipeline_are_named_in_the_artifact(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE, extra="pipeline: [{name: security, agents: [judge]}]\n")
    lab.add()
    lab.burnish("run")
    text = lab.burnish("show", "review-cycle://1/review-cycle-1.md").out
    assert "**Reviewed By**: judge (review)" in text and "**Reviewed By**: judge (security)" in text
    assert "step: security" in text


@pytest.mark.long
def test_the_five_answers_of_an_override_are_stored(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=REJECT)
    lab.add("Add division", "--max-cycles", "1")
    lab.burnish("run", code=1)
    lab.burnish("override", "1", "--out-of-scope", "--explain", "not ours")
    (event,) = lab.events("override.recorded")
    assert event["data"]["answers"] == {
        "pre_existing": False,
        "wrong_context": False,
        "out_of_scope": True,
        "environmental": False,
        "follow_up": False,
    }
    assert "out_of_scope: yes" in lab.burnish("show", "review-cycle://1/review-cycle-1.md").out


@pytest.mark.long
def test_a_parser_does_not_stand_under_the_name_of_the_reviewer(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge='print("It is fine, I approve it.")')
    lab.agent("scribe", 'print(verdict("approved", "as the reviewer said"))')
    lab.settle("roles: {parse: {agent: scribe}}\n")
    lab.add()
    lab.burnish("run")
    (reviewer,) = lab.show(1)["cycles"][0]["reviewers"]
    assert reviewer["agent"] == "judge"
    assert "judge.py" in reviewer["command"] and "scribe.py" not in reviewer["command"]


@pytest.mark.long
def test_a_long_review_tells_how_it_goes(tmp_path: Path) -> None:
    judge = f"""
for n in range(7):
    print("looking at part", n, flush=True)
    time.sleep(0.5)
{APPROVE}
"""
    lab = Lab.make(tmp_path, judge=judge)
    lab.add()
    lab.burnish("run")
    told = lab.events("review.started", "review.progress", "review.completed")
    assert [e["type"] for e in told][:2] == ["review.started", "review.progress"]
    assert told[1]["data"]["agent"] == "judge" and told[1]["data"]["message"].startswith("looking at part")
    assert told[-1]["type"] == "review.completed"


@pytest.mark.slow
def test_pointers_of_spec_kitty_resolve(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE)
    lab.add()
    lab.burnish("run")
    assert lab.burnish("show", "feedback://1/review-cycle-1.md").out.startswith("---\n")
    kept = lab.repo.path / ".git" / "spec-kitty" / "feedback" / "001-login" / "WP01"
    kept.mkdir(parents=True)
    (kept / "20260101-a1.md").write_text("Please add a test.\n")
    assert lab.burnish("show", "feedback://001-login/WP01/20260101-a1.md").out == "Please add a test.\n"
    lab.burnish("show", "feedback://001-login/WP02/none.md", code=2)


@pytest.mark.long
@pytest.mark.parametrize("linked", ["spec-kitty", "spec-kitty/feedback", "spec-kitty/feedback/001-login/WP01", ""])
def test_a_pointer_of_spec_kitty_follows_no_symbolic_link(linked: str, tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE)
    place = Path("spec-kitty/feedback/001-login/WP01/note.md")
    git, outside = lab.repo.path / ".git", tmp_path / "outside"
    secret = outside / place.relative_to(linked or place)
    if not linked:
        secret = outside
    secret.parent.mkdir(parents=True, exist_ok=True)
    secret.write_text("the user's own file\n")
    link = git / (linked or place)
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside)
    assert (git / place).read_text() == "the user's own file\n"

    answer = lab.burnish("show", "feedback://001-login/WP01/note.md", code=2)

    assert "own file" not in answer.out + answer.err and "Symbolic links are not followed" in answer.err


@pytest.mark.long
def test_skip_tests_says_why_it_waits(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE)
    lab.add("Add division", "--skip-tests")
    lab.burnish("run", code=1)
    assert lab.show(1)["note"] == "its tests were skipped (skip_tests), so a person is to approve it"


@pytest.mark.long
@pytest.mark.parametrize(
    ("slow", "setting"),
    [("implement", "timeout_minutes"), ("improve", "improve_timeout_minutes"), ("review", "review_timeout_minutes")],
)
def test_a_time_out_names_the_setting_of_its_phase(tmp_path: Path, slow: str, setting: str) -> None:
    wait = f'if phase == "{slow}":\n    time.sleep(60)\n'
    limits = f"task_types: {{implement: {{{setting}: 0.02}}}}\n"
    lab = Lab.make(tmp_path, author=wait + AUTHOR, judge=wait + REJECT, extra=limits)
    lab.add()
    lab.burnish("run", code=3)
    task = lab.show(1)
    assert task["error"] == "TIMEOUT"
    assert f"Raise task_types.implement.{setting} " in task["note"]


@pytest.mark.long
@pytest.mark.parametrize("template", ["{title} #{cycle}", "{{ title }} #{{ cycle }}", "{featureTitle} #{cycle}"])
def test_a_commit_message_knows_the_variables_of_prompts(tmp_path: Path, template: str) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE, extra=f"commit: {{message: '{template}'}}\n")
    lab.add()
    lab.burnish("run")
    assert lab.commits(lab.task()["branch"]) == ["Add division #1"]


def test_an_unknown_variable_of_a_commit_message_is_refused_before_anything_is_paid(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE, extra="commit: {message: '{titel}'}\n")
    lab.add()
    said = lab.burnish("run", "1", code=2)
    assert "Unknown variable titel in commit.message" in said.err and "title" in said.err
    assert lab.calls() == [] and lab.task()["status"] == "backlog"


@pytest.mark.long
def test_switches_that_do_nothing_say_so(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE, extra="review: {agents: [judge], enabled: false, trigger: idle}\n")
    lab.add()
    said = lab.burnish("run", "--no-review").err
    assert "review.enabled: false" in said and "has no effect while review.required is true" in said
    assert "review.trigger: idle" in said and "acts as completion" in said
    assert "--no-review has no effect" in said
