"""`burnish rebuild`: a lost database comes back from files, refs and commits, and no approval out of thin air."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from testing.lab import Lab

TORTURE = bool(os.environ.get("BURNISH_TORTURE"))
Edit = Callable[[list[dict[str, Any]]], None]


def lose_database(lab: Lab) -> None:
    for file in Path(lab.env["BURNISH_HOME"]).glob("burnish.db*"):
        file.unlink()


def story_file(lab: Lab) -> Path:
    (found,) = Path(lab.env["BURNISH_HOME"]).glob("projects/*/tasks/1-*/artifacts/events.jsonl")
    return found


def drop_refs(lab: Lab, prefix: str = "refs/burnish/artifacts/") -> None:
    for ref in lab.refs(prefix):
        lab.repo.git("update-ref", "-d", ref)


def altered(lab: Lab, edit: Edit) -> None:
    """Somebody has been at the only copy there is."""
    drop_refs(lab)
    place = story_file(lab)
    events = [json.loads(line) for line in place.read_text().splitlines()]
    edit(events)
    place.write_text("".join(json.dumps(event, sort_keys=True) + "\n" for event in events))


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    lab = Lab.make(tmp_path)
    lab.add("Add division", "--accept", "it divides")
    lab.agent("judge", "print(verdict('approved', 'good', compliance=[{'item': 'it divides', 'met': True}]))")
    lab.burnish("run")
    assert lab.task()["status"] == "verified"
    return lab


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("from_ref", [False, True])
def test_everything_that_was_archived_comes_back_as_it_was(lab: Lab, from_ref: bool) -> None:
    lab.add("Second")
    lab.burnish("run", "2", code=None)
    # what belongs to no task is not archived with one
    before = lab.show(1), lab.show(2)["status"], [event for event in lab.events() if event["task"]]
    lose_database(lab)
    if from_ref:
        story_file(lab).write_text("not this one\n")
    said = lab.burnish("rebuild", "--json", *(["--from-ref"] if from_ref else [])).json
    assert [one["id"] for one in said["restored"]] == ["1", "2"] and said["damaged"] == []
    assert (lab.show(1), lab.show(2)["status"], lab.events()) == before
    lab.burnish("merge", "1")
    assert lab.task()["status"] == "completed"


@pytest.mark.long
def test_what_the_database_has_is_left_as_it_is(lab: Lab) -> None:
    lab.burnish("edit", "1", "--title", "A better title")
    before = lab.events()
    said = lab.burnish("rebuild", "--json").json
    assert (said["restored"], said["present"]) == ([], ["1"])
    assert lab.events() == before and lab.task()["title"] == "A better title"


@pytest.mark.long
def test_only_what_is_missing_is_added_and_numbers_do_not_clash(lab: Lab) -> None:
    lose_database(lab)
    for _ in range(3):
        lab.burnish("add", "New")
    lab.burnish("rm", "1")
    said = lab.burnish("rebuild", "--json").json
    assert said["present"] == ["1", "2", "3"], "even a removed task is there"
    lose_database(lab)
    (home,) = Path(lab.env["BURNISH_HOME"]).glob("projects/*/tasks")
    shutil.copytree(home / "1-add-division", home / "7-add-division")
    place = home / "7-add-division" / "artifacts" / "events.jsonl"
    place.write_text(place.read_text().replace('"task": "1"', '"task": "7"'))
    lab.burnish("add", "New")
    said = lab.burnish("rebuild", "--json").json
    assert [one["id"] for one in said["restored"]] == ["2", "3", "7"]
    assert lab.task(7)["status"] == "verified" and lab.task(1)["title"] == "New"
    ids = [event["id"] for event in lab.events()]
    assert len(ids) == len(set(ids))


@pytest.mark.long
def test_a_merged_task_comes_back_completed(lab: Lab) -> None:
    lab.burnish("merge", "1")
    lose_database(lab)
    lab.burnish("rebuild")
    assert lab.task()["status"] == "completed"


@pytest.mark.long
@pytest.mark.parametrize("from_ref", [False, True])
def test_a_removed_task_stays_removed(lab: Lab, from_ref: bool) -> None:
    lab.burnish("rm", "1")
    lose_database(lab)
    said = lab.burnish("rebuild", "--json", *(["--from-ref"] if from_ref else [])).json
    assert [one["status"] for one in said["restored"]] == ["removed"] and said["damaged"] == []
    before = lab.repo.git("rev-parse", "main")
    lab.burnish("merge", "--all-verified", code=None)
    assert lab.repo.git("rev-parse", "main") == before and lab.burnish("list", "--json").json["tasks"] == []


@pytest.mark.long
@pytest.mark.parametrize("edit", [lambda events: without_approval(events), lambda events: twice_verified(events)])
def test_a_removed_task_stays_removed_even_if_its_story_is_flawed(lab: Lab, edit: Edit) -> None:
    lab.burnish("rm", "1")
    altered(lab, edit)
    lose_database(lab)
    lab.burnish("rebuild", code=None)
    assert lab.burnish("list", "--json").json["tasks"] == []


def test_an_approval_of_what_the_branch_no_longer_holds_does_not_come_back(lab: Lab) -> None:
    lab.add("Second")
    lab.burnish("run", "2", code=None)
    branch, tree = "refs/heads/burnish/1-add-division", lab.repo.git("rev-parse", "main^{tree}")
    moved = lab.repo.git("commit-tree", tree, "-p", branch, "-m", "by hand")
    lab.repo.git("update-ref", branch, moved)
    lose_database(lab)
    one, _ = lab.burnish("rebuild", "--json").json["restored"]
    assert one["status"] == "code_review" and "approval void: the branch has moved" in one["note"]
    assert lab.task()["status"] == "code_review" and [e["task"] for e in lab.events("approval.voided")] == ["1"]
    lab.burnish("merge", "1", code=4)


@pytest.mark.long
def test_tasks_that_were_never_run_come_back_from_the_home_and_only_from_there(lab: Lab) -> None:
    for title in ("Never run", "Put off", "Removed", "Edited"):
        lab.add(title)
    lab.burnish("cancel", "3")
    lab.burnish("rm", "4")
    lab.burnish("edit", "5", "--title", "Under another name", "--priority", "7")
    assert "never run" not in lab.burnish("rebuild").err, "nothing is missing"
    before = lab.burnish("list", "--json").json
    lose_database(lab)
    assert lab.burnish("rebuild", "--json").json["damaged"] == []
    assert lab.burnish("list", "--json").json == before
    lose_database(lab)
    assert "Tasks that never ran are recorded only in the burnish home" in lab.burnish("rebuild", "--from-ref").err
    assert [task["id"] for task in lab.burnish("status", "--json").json["tasks"]] == ["1"]


@pytest.mark.long
def test_a_story_that_nothing_else_tells_is_not_written_over(lab: Lab) -> None:
    story = story_file(lab)
    before = story.read_bytes()
    lose_database(lab)
    lab.add("Add division")
    assert story.read_bytes() != before == story.with_name("lost-events.jsonl").read_bytes()


@pytest.mark.long
def test_an_approval_that_other_judges_voided_does_not_come_back_though_they_are_gone_again(lab: Lab) -> None:
    lab.settle("checks: {test: 'true', lint: null}\n")
    lab.burnish("merge", "1", code=4)
    lab.settle("")
    lose_database(lab)
    (one,) = lab.burnish("rebuild", "--json").json["restored"]
    assert one["status"] == lab.task()["status"] == "code_review"


@pytest.mark.long
def test_an_approval_by_judges_that_are_no_longer_asked_does_not_come_back(lab: Lab) -> None:
    lab.settle("checks: {test: 'true', lint: null}\n")
    lose_database(lab)
    (one,) = lab.burnish("rebuild", "--json").json["restored"]
    assert one["status"] == "code_review" and "checks, reviewers or prompts" in one["note"]


def test_a_damaged_review_is_named_and_decides_nothing(lab: Lab) -> None:
    place = story_file(lab).with_name("review-cycle-1.md")
    place.write_text(place.read_text().replace("---", "--", 1))
    lose_database(lab)
    said = lab.burnish("rebuild", "--json", code=1).json
    assert said["damaged"] == [{"file": str(place), "why": "it has no front matter"}]
    assert lab.task()["status"] == "verified"


def twice_verified(events: list[dict[str, Any]]) -> None:
    """A story that contradicts itself."""
    for event in events:
        if event["type"] == "task.status" and event["data"]["to"] == "verified":
            event["data"]["from"] = "blocked"


def without_approval(events: list[dict[str, Any]]) -> None:
    events[:] = [event for event in events if event["type"] != "review.approved"]


def other_tree(events: list[dict[str, Any]]) -> None:
    for event in events:
        if event["type"] == "review.approved":
            event["data"]["tree"] = event["data"]["tree"][::-1]


def no_such_commit(events: list[dict[str, Any]]) -> None:
    for event in events:
        if event["type"] == "review.approved":
            event["data"]["commit"] = "0" * 40


def voided(events: list[dict[str, Any]]) -> None:
    at = next(n for n, event in enumerate(events) if event["type"] == "review.approved")
    events.insert(at + 1, {**events[at], "type": "approval.voided", "data": {"why": "x"}})
    for number, event in enumerate(events, 1):
        event["id"] = number


def straight_to_the_end(events: list[dict[str, Any]]) -> None:
    for event in events:
        if event["type"] == "task.status" and event["data"]["to"] == "verified":
            event["data"]["to"] = "completed"


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("edit", [without_approval, other_tree, no_such_commit, voided, straight_to_the_end])
def test_an_approval_that_nothing_shows_does_not_come_back(lab: Lab, edit: Edit) -> None:
    altered(lab, edit)
    lose_database(lab)
    (one,) = lab.burnish("rebuild", "--json").json["restored"]
    assert one["status"] == "code_review" and "reviewed again" in one["note"]
    lab.burnish("merge", "1", code=4)
    calls = len(lab.calls())
    lab.burnish("run", "1")
    assert lab.task()["status"] == "verified"
    assert [c["phase"] for c in lab.calls()[calls:]] == ["review"], "and it can be had again"


@pytest.mark.long
def test_without_any_story_the_commits_tell_what_there_is(lab: Lab) -> None:
    drop_refs(lab)
    shutil.rmtree(story_file(lab).parents[1])
    commit = lab.task()["commit"]
    lose_database(lab)
    (one,) = lab.burnish("rebuild", "--json").json["restored"]
    task = lab.task()
    assert (task["status"], task["title"], task["commit"]) == ("code_review", "Add division", commit)
    assert "only its commits" in one["note"] and task["base"] == lab.repo.git("rev-parse", "main")
    lab.agent("judge", "print(verdict('approved', 'good'))")
    lab.burnish("run", "1")
    lab.burnish("merge", "1")


@pytest.mark.long
def test_a_damaged_copy_is_named_and_the_one_in_git_is_taken(lab: Lab) -> None:
    place = story_file(lab)
    place.write_text(place.read_text().replace("approved", "Approved"))
    lose_database(lab)
    said = lab.burnish("rebuild", "--json", code=1).json
    assert said["damaged"][0]["file"] == str(place)
    assert lab.task()["status"] == "verified"


@pytest.mark.slow
@pytest.mark.attacks("make an approval of a damaged record", 50 if TORTURE else 8)
@pytest.mark.parametrize("seed", range(13, 21) if TORTURE else [13])
def test_bytes_flipped_anywhere_never_make_an_approval(tmp_path: Path, seed: int) -> None:
    """Of a task that was rejected, and of one that was approved: what comes back was so before, or less."""
    lab = Lab.make(tmp_path, judge="print(verdict('rejected', 'no'))")
    lab.add()
    lab.burnish("run", code=1)
    drop_refs(lab)
    place, chance = story_file(lab), random.Random(seed)
    whole = place.read_bytes()
    reported = 0
    for _ in range(50 if TORTURE else 8):
        at = chance.randrange(len(whole))
        flipped = whole[at] ^ (1 << chance.randrange(8))
        place.write_bytes(whole[:at] + bytes([flipped]) + whole[at + 1 :])
        lose_database(lab)
        said = lab.burnish("rebuild", "--json", code=None)
        assert said.code in (0, 1)
        reported += bool(said.json["damaged"])
        assert all(one["status"] in ("blocked", "code_review", "in_progress") for one in said.json["restored"])
        lab.burnish("merge", "1", code=None)
        assert lab.repo.git("rev-parse", "main") == lab.repo.git("rev-parse", "HEAD")
        assert not lab.events("task.merged")
    assert reported


@pytest.mark.long
def test_a_cut_or_empty_story_is_reported(lab: Lab) -> None:
    drop_refs(lab)
    place = story_file(lab)
    whole = place.read_bytes()
    for broken in (b"", whole[:-20], b"\0" * 100, b"[]\n", b'{"id": 1}\n', whole + b"null\n"):
        place.write_bytes(broken)
        lose_database(lab)
        said = lab.burnish("rebuild", "--json", code=1).json
        assert said["damaged"][0]["file"] == str(place)
        assert [one["status"] for one in said["restored"]] == ["code_review"], "from the commits"
