"""An approval that settings or words took back counts again with them, and for nothing that was not approved."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.lab import APPROVE, REJECT, Lab

WORK = "app.write_text(app.read_text() + f'# {phase} {cycle}\\n')"
ONE = "review: {agents: [judge]}\n"
TWO = "review: {agents: [judge, second]}\n"
STRICTER = "review: {agents: [judge], block_on: warning}\n"


def verified(lab: Lab, *argv: str) -> None:
    lab.add("Add division", *argv)
    lab.burnish("run", "1", code=None)
    assert lab.task()["status"] in ("verified", "waiting_approval")


@pytest.fixture
def two(tmp_path: Path) -> Lab:
    lab = Lab.make(tmp_path, author=WORK, judge=APPROVE)
    lab.agent("second", APPROVE)
    lab.settle(ONE)
    return lab


def voided_by(lab: Lab, extra: str) -> None:
    """Other settings, noticed by a run of another task that ends before it begins."""
    lab.settle(extra)
    notice(lab)
    assert lab.task()["status"] == "code_review"


def notice(lab: Lab) -> str:
    """A run that has nothing to do but to look at the approvals."""
    lab.agent("robot", "sys.exit(1)")
    number = lab.add("Something else")
    err = lab.burnish("run", number, code=3).err
    lab.agent("robot", WORK)
    return err


@pytest.mark.representatives(1)
@pytest.mark.parametrize("command", ["run", "merge", "done"])
def test_an_approval_is_back_without_a_call_when_the_settings_are_the_same_again(two: Lab, command: str) -> None:
    verified(two)
    given = two.events("review.approved")[0]
    voided_by(two, STRICTER)
    calls = len(two.calls())

    two.settle(ONE)
    said = two.burnish(command, "1")

    assert len(two.calls()) == calls
    assert two.task()["status"] == ("verified" if command == "run" else "completed")
    restored = two.events("review.approved")[-1]
    assert restored["data"]["restored"] == given["id"]
    same = ("base", "tree", "commit", "judge", "asked", "criteria")
    assert [restored["data"][key] for key in same] == [given["data"][key] for key in same]
    assert command != "run" or "Task 1 is approved again" in said.err


@pytest.mark.long
def test_a_prompt_that_is_reset_brings_the_approvals_back(two: Lab) -> None:
    verified(two)
    own = two.repo.path / ".burnish" / "prompts" / "review.system.md"
    own.parent.mkdir(parents=True)
    own.write_text("Be strict.\n")
    two.trust()
    notice(two)
    assert two.task()["status"] == "code_review"
    calls = len(two.calls())
    two.burnish("prompts", "reset", "review.system")
    two.burnish("run", "1")
    assert (two.task()["status"], len(two.calls())) == ("verified", calls)


@pytest.mark.long
def test_an_approval_under_other_settings_in_between_costs_nothing_on_the_way_back(two: Lab) -> None:
    verified(two)
    two.settle(STRICTER)
    two.burnish("run", "1")
    assert two.task()["status"] == "verified"
    two.settle(ONE)
    calls = len(two.calls())
    two.burnish("run", "1")
    assert (two.task()["status"], len(two.calls())) == ("verified", calls)
    two.settle(STRICTER)
    two.burnish("run", "1")
    assert (two.task()["status"], len(two.calls())) == ("verified", calls), "the other one is kept too"


@pytest.mark.slow
def test_what_another_judge_rejected_since_is_not_approved_by_going_back(two: Lab) -> None:
    verified(two)
    two.agent("second", REJECT)
    two.settle(TWO)
    two.agent("robot", "sys.exit(1)")
    two.burnish("run", "1", code=None)
    assert two.task()["status"] == "failed"
    two.settle(ONE)
    calls = len(two.calls())
    two.agent("robot", WORK)
    two.burnish("run", "1", code=None)
    assert len(two.calls()) > calls
    assert [e for e in two.events("review.approved") if "restored" in e["data"]] == []


@pytest.mark.long
def test_an_added_reviewer_is_asked_and_a_removed_one_voids_nothing(two: Lab) -> None:
    verified(two)
    two.settle(TWO)
    calls = len(two.calls())
    two.burnish("run", "1")
    assert "second" in [c["agent"] for c in two.calls()[calls:]]
    assert two.task()["status"] == "verified"
    for settings in ("review: {agents: [second]}\n", ONE):
        two.settle(settings)
        calls = len(two.calls())
        two.burnish("run", "1")
        assert (two.task()["status"], len(two.calls())) == ("verified", calls)
    assert len(two.events("approval.voided")) == 1


@pytest.mark.long
def test_a_reviewer_that_rejected_does_not_stay_alone_with_the_approval_of_another(two: Lab) -> None:
    two.settle("review: {agents: [judge, second], quorum: any}\n")
    two.agent("second", "print(verdict('changes_requested', 'a matter of taste', [{**flaw, 'severity': 'info'}]))")
    verified(two)
    two.settle("review: {agents: [judge], quorum: any}\n")
    notice(two)
    assert two.task()["status"] == "verified"
    two.settle("review: {agents: [second], quorum: any}\n")
    notice(two)
    assert two.task()["status"] == "code_review"


@pytest.mark.long
def test_a_removed_step_of_the_pipeline_voids_nothing_and_an_added_one_is_asked(two: Lab) -> None:
    step = "pipeline: [{name: security, agents: [second]}]\n"
    two.settle(ONE + step)
    verified(two)
    two.settle(ONE)
    calls = len(two.calls())
    two.burnish("run", "1")
    assert (two.task()["status"], len(two.calls())) == ("verified", calls)
    two.settle(ONE + step.replace("security", "docs"))
    notice(two)
    assert two.task()["status"] == "code_review"


@pytest.mark.slow
def test_another_tree_or_another_task_is_not_approved_by_going_back(two: Lab) -> None:
    verified(two)
    voided_by(two, STRICTER)
    two.burnish("edit", "1", "--title", "Add multiplication")
    two.settle(ONE)
    notice(two)
    assert two.task()["status"] == "code_review"
    two.burnish("edit", "1", "--title", "Add division")
    assert two.task()["status"] == "verified", "the same task again"
    voided_by(two, STRICTER)
    branch = two.task()["branch"]
    tree = two.repo.git("rev-parse", "main^{tree}")
    commit = two.repo.git("commit-tree", tree, "-p", branch, "-m", "by hand")
    two.repo.git("update-ref", f"refs/heads/{branch}", commit)
    two.settle(ONE)
    notice(two)
    assert two.task()["status"] == "code_review"


@pytest.mark.slow
def test_a_finding_that_a_person_reopens_keeps_the_approval_away(tmp_path: Path) -> None:
    judge = "print(verdict('changes_requested', 'no', [flaw]) if cycle == 1 else verdict('approved'))"
    lab = Lab.make(tmp_path, author=WORK, judge=judge)
    lab.settle(ONE)
    verified(lab)
    voided_by(lab, STRICTER)
    lab.burnish("reopen", "1", "F1")
    lab.settle(ONE)
    notice(lab)
    assert lab.task()["status"] == "code_review"


@pytest.mark.long
def test_what_waited_for_a_person_waits_again(two: Lab) -> None:
    two.settle(ONE + "approval: required\n")
    verified(two)
    voided_by(two, STRICTER + "approval: required\n")
    calls = len(two.calls())
    two.settle(ONE + "approval: required\n")
    two.burnish("run", "1", code=1)
    assert (two.task()["status"], len(two.calls())) == ("waiting_approval", calls)
    two.burnish("decide", "1", "approve")
    assert two.task()["status"] == "verified"


@pytest.mark.long
@pytest.mark.parametrize("how", ["decide", "override", "review"])
def test_a_persons_own_approval_survives_settings_prompts_and_reviewers(two: Lab, how: str) -> None:
    if how == "decide":
        two.settle(ONE + "approval: required\n")
        verified(two)
        two.burnish("decide", "1", "approve")
    elif how == "override":
        two.agent("judge", "print(verdict('rejected', 'no'))")
        two.add()
        two.burnish("run", code=1)
        two.burnish("override", "1", "--explain", "it is right")
    else:
        two.add()
        two.burnish("run", "1", code=None)
        two.burnish("handoff", "1")
        file = two.root / "review.md"
        file.write_text("Fine.\n\nVerdict: APPROVED\n")
        two.burnish("review", "1", "--from", str(file))
    assert two.task()["status"] == "verified"
    own = two.repo.path / ".burnish" / "prompts" / "review.system.md"
    own.parent.mkdir(parents=True)
    own.write_text("Be strict.\n")
    two.settle(TWO + "checks: {test: 'true', lint: null}\n")
    notice(two)
    assert two.task()["status"] == "verified"
    two.burnish("edit", "1", "--title", "Another task")
    assert two.task()["status"] == "code_review", "task, base and tree still bind it"


@pytest.mark.long
def test_a_rebuilt_database_has_the_approval_that_came_back(two: Lab) -> None:
    verified(two)
    voided_by(two, STRICTER)
    two.settle(ONE)
    two.burnish("run", "1")
    before, events = two.show(), two.events(task=1)
    (Path(two.env["BURNISH_HOME"]) / "burnish.db").unlink()
    two.burnish("rebuild")
    assert two.events(task=1) == events
    assert before["status"] == "verified" and two.show() == before
    two.burnish("merge", "1")


VOIDS = "voids 2 approvals (tasks 1, 2)"


def two_verified(lab: Lab) -> None:
    lab.add("One")
    lab.add("Another")
    lab.burnish("run", "--all")
    assert [lab.task(number)["status"] for number in (1, 2)] == ["verified", "verified"]


@pytest.mark.long
def test_prompts_say_how_many_approvals_a_change_costs_before_it_is_made(two: Lab) -> None:
    two_verified(two)
    assert VOIDS in two.burnish("prompts", "edit", "review.system").err
    assert [two.task(number)["status"] for number in (1, 2)] == ["verified", "verified"]
    own = two.repo.path / ".burnish" / "prompts" / "review.system.md"
    own.write_text("Be strict.\n")
    two.trust()
    noticed = two.burnish("status").err
    assert "The change of settings or prompts" in noticed and VOIDS in noticed
    assert VOIDS not in two.burnish("prompts", "off", "review.system").err, "nothing holds under the new text"
    assert two.burnish("status").err == ""
    assert VOIDS in two.burnish("prompts", "on", "review.system").err
    notice(two)
    assert two.burnish("prompts", "reset", "review.system", "--json").json["restores"] == ["1", "2"]
    two.burnish("run", "1")
    assert two.task(2)["status"] == "verified"


@pytest.mark.long
def test_a_change_for_all_projects_counts_the_approvals_of_each_project_that_it_touches(
    two: Lab, tmp_path: Path
) -> None:
    two_verified(two)
    other = Lab.make(tmp_path / "other", judge=APPROVE)
    other.env = {**two.env}
    other.trust()
    other.add("Elsewhere")
    other.burnish("run", "1")
    own = Lab.make(tmp_path / "own", judge=APPROVE)
    own.env = {**two.env}
    own.repo.commit({".burnish/prompts/review.system.md": "Of this project.\n"}, "prompt")
    own.trust()
    own.add("With a prompt of its own")
    own.burnish("run", "1")
    gone = Lab.make(tmp_path / "gone", judge=APPROVE)
    gone.env = {**two.env}
    gone.trust()
    gone.add("Lost")
    gone.burnish("run", "1")
    gone.repo.path.rename(tmp_path / "moved")

    said = two.burnish("prompts", "edit", "review.system", "--global", "--json")
    assert said.json["voids"] == ["1", "2"] and said.json["not_counted"] == [str(gone.repo.path)]
    assert said.json["elsewhere"] == [{"project": str(other.repo.path), "voids": ["1"], "restores": []}]
    assert f"In {other.repo.path}: a new text of review.system voids 1 approval (task 1)" in said.err
    assert "elsewhere" in two.burnish("prompts", "edit", "review.system", "--json").json
    assert two.burnish("prompts", "edit", "review.system", "--json").json["elsewhere"] == []


@pytest.mark.long
def test_a_hand_edit_of_the_settings_is_noticed_by_every_screen_that_reads_them(two: Lab) -> None:
    two_verified(two)
    (two.repo.path / "burnish.yaml").write_text(two.settings(STRICTER))
    assert VOIDS in two.burnish("trust").err
    assert VOIDS in two.burnish("config", "show").err
    assert VOIDS in two.burnish("status").err
    said = notice(two)
    assert "Task 1 is no longer approved" in said and "Task 2 is no longer approved" in said
    (two.repo.path / "burnish.yaml").write_text(two.settings(ONE))
    assert "brings back 2 approvals (tasks 1, 2), without a review" in two.burnish("trust").err
    assert "Task 2 is approved again" in two.burnish("run", "1").err


@pytest.mark.long
def test_a_persons_own_approval_is_not_among_the_costs(two: Lab) -> None:
    two.settle(ONE + "approval: required\n")
    verified(two)
    two.burnish("decide", "1", "approve")
    assert "void" not in two.burnish("prompts", "edit", "review.system").err


@pytest.mark.long
@pytest.mark.parametrize("reopened", [True, False])
def test_a_persons_approval_does_not_return_over_a_finding_that_was_reopened_since(
    tmp_path: Path, *, reopened: bool
) -> None:
    lab = Lab.make(tmp_path)
    lab.add("Add division", "-d", "first words")
    lab.burnish("run", "1", "--hitl-review", code=1)
    lab.burnish("decide", "1", "fix")
    lab.burnish("run", "1", "--hitl-review", code=1)
    lab.burnish("decide", "1", "approve")
    lab.burnish("edit", "1", "-d", "other words")
    assert lab.task()["status"] == "code_review"
    if reopened:
        lab.burnish("reopen", "1", "F1", "--reason", "not settled")
    lab.burnish("edit", "1", "-d", "first words")
    assert lab.task()["status"] == ("code_review" if reopened else "verified")
