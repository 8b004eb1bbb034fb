"""A repository that was moved keeps its tasks; a copy is another project; trust never follows."""

from __future__ import annotations

import dataclasses
import os
import shutil
from contextlib import closing
from pathlib import Path
from unittest import mock

import pytest

from burnish.errors import BurnishError
from burnish.features.server.registry import ProjectRegistry
from burnish.features.tasks.inspect import diff_text
from burnish.git.repository_id import ID_REF, read_id
from testing.lab import APPROVE, Lab, Said
from testing.userrepo import UserRepo

EDIT = "app.write_text(app.read_text() + f'# {task}\\n')\n"


def lab_of(root: Path) -> Lab:
    lab = Lab.make(root, judge=APPROVE, author=EDIT)
    lab.add("One")
    lab.add("Two")
    return lab


def at(lab: Lab, path: Path) -> Lab:
    return dataclasses.replace(lab, repo=dataclasses.replace(lab.repo, path=path))


def moved(lab: Lab, path: Path) -> Lab:
    lab.repo.path.rename(path)
    return at(lab, path)


def titles(lab: Lab) -> list[str]:
    return [task["title"] for task in lab.burnish("status", "--json").json["tasks"]]


def projects(lab: Lab) -> list[str]:
    return [one["root"] for one in lab.burnish("projects", "--json").json["projects"]]


@pytest.mark.slow
def test_every_verb_works_after_a_move_and_trust_is_asked_for_again(tmp_path: Path) -> None:
    lab = lab_of(tmp_path)
    lab.burnish("run", "1")
    old = lab.repo.path
    lab = moved(lab, tmp_path / "elsewhere")
    first = lab.burnish("status")
    assert f"This repository moved from {old} to {lab.repo.path}" in first.err and "Two" in first.out
    assert lab.burnish("status").err == "", "said once"
    for words in (["list"], ["show", "1"], ["log", "1"], ["diff", "1"], ["inbox"], ["events"], ["path", "1"], ["cost"]):
        assert lab.burnish(*words).out, words
    workspace = Path(lab.burnish("path", "1").out.strip())
    assert "feat: One" in UserRepo(workspace).git("log", "-1"), "the workspace borrows from the new place"
    refused = lab.burnish("run", "2", code=4)
    assert "is not trusted" in refused.err and len(lab.calls()) == 2
    lab.trust()
    lab.burnish("run", "2")
    assert [lab.task(n)["status"] for n in (1, 2)] == ["verified", "verified"]
    lab.burnish("retry", "2", "--restart")
    lab.burnish("run", "2")
    lab.burnish("merge", "1")
    assert "# 1" in (lab.repo.path / "app.py").read_text()
    lab.burnish("clean")
    assert lab.events("project.relinked")[0]["data"] == {"from": str(old), "to": str(lab.repo.path)}
    assert projects(lab) == [str(lab.repo.path)]


@pytest.mark.long
def test_a_move_under_way_is_found_by_the_first_command_that_trusts_or_adds(tmp_path: Path) -> None:
    lab = lab_of(tmp_path)
    for n, words in enumerate((["trust"], ["add", "More"], ["init", "--force"])):
        lab = moved(lab, tmp_path / f"place-{n}")
        assert "and its tasks with it" in lab.burnish(*words).err, words
    assert titles(lab) == ["One", "Two", "More"]


def test_a_copy_is_a_project_of_its_own_with_an_id_of_its_own(tmp_path: Path) -> None:
    lab = lab_of(tmp_path)
    shutil.copytree(lab.repo.path, tmp_path / "copy", symlinks=True)
    copy = at(lab, tmp_path / "copy")
    assert titles(copy) == []
    assert "is still at" in copy.burnish("projects", "relink", code=4).err
    copy.add("Of the copy")
    assert titles(copy) == ["Of the copy"] and titles(lab) == ["One", "Two"]
    ids = [read_id(one.repo.path / ".git") for one in (lab, copy)]
    assert all(ids) and ids[0] != ids[1]
    # and each of them may be moved
    lab, copy = moved(lab, tmp_path / "a"), moved(copy, tmp_path / "b")
    assert titles(copy) == ["Of the copy"] and titles(lab) == ["One", "Two"]


@pytest.mark.long
def test_a_copy_whose_original_was_deleted_is_taken_for_the_original(tmp_path: Path) -> None:
    lab = lab_of(tmp_path)
    copies = [at(lab, tmp_path / name) for name in ("first", "second")]
    for one in copies:
        shutil.copytree(lab.repo.path, one.repo.path, symlinks=True)
    shutil.rmtree(lab.repo.path)
    assert titles(copies[1]) == ["One", "Two"], "the first one that is used"
    assert titles(copies[0]) == []


@pytest.mark.long
def test_two_repositories_that_changed_places_keep_their_own_tasks(tmp_path: Path) -> None:
    lab = lab_of(tmp_path)
    other = at(lab, tmp_path / "other")
    UserRepo.make(other.repo.path).commit({"x": "y"}, "x")
    other.add("Other")
    aside = tmp_path / "aside"
    lab.repo.path.rename(aside)
    other.repo.path.rename(lab.repo.path)
    aside.rename(other.repo.path)
    assert titles(lab) == ["Other"]
    assert titles(other) == ["One", "Two"]
    assert titles(lab) == ["Other"]


@pytest.mark.long
def test_a_new_repository_at_the_old_place_gets_a_key_of_its_own(tmp_path: Path) -> None:
    lab = lab_of(tmp_path)
    old = lab.repo.path
    lab = moved(lab, tmp_path / "elsewhere")
    assert titles(lab) == ["One", "Two"]
    UserRepo.make(old).commit({"x": "y"}, "x")
    new = at(lab, old)
    new.add("New")
    assert titles(new) == ["New"] and titles(lab) == ["One", "Two"]


def test_another_repository_at_the_old_place_needs_a_word_of_the_person(tmp_path: Path) -> None:
    lab = lab_of(tmp_path)
    lab.burnish("run", "1")
    old = lab.repo.path
    lab = moved(lab, tmp_path / "elsewhere")
    UserRepo.make(old).commit({"x": "y"}, "x")
    assert "burnish projects relink NAME" in lab.burnish("status").err
    assert "burnish projects relink NAME" in lab.burnish("add", "x", code=4).err
    assert "Relinked repo-" in lab.burnish("projects", "relink").out
    assert titles(lab) == ["One", "Two"]
    assert "already" in lab.burnish("projects", "relink", "elsewhere", code=4).err


@pytest.mark.long
def test_a_person_may_say_that_it_is_a_project_of_its_own(tmp_path: Path) -> None:
    lab = lab_of(tmp_path)
    old = lab.repo.path
    lab = moved(lab, tmp_path / "elsewhere")
    UserRepo.make(old).commit({"x": "y"}, "x")
    assert "is now a new project" in lab.burnish("projects", "relink", "--new").out
    assert titles(lab) == []
    assert titles(at(lab, old)) == ["One", "Two"], "the path decides there"


@pytest.mark.long
def test_a_project_without_an_id_is_relinked_by_name_where_its_commits_are(tmp_path: Path) -> None:
    lab = lab_of(tmp_path)
    lab.burnish("run", "1")
    lab.repo.git("update-ref", "-d", ID_REF)
    lab = moved(lab, tmp_path / "elsewhere")
    stranger = at(lab, tmp_path / "stranger")
    UserRepo.make(stranger.repo.path).commit({"x": "y"}, "x")
    assert titles(lab) == []
    assert "burnish projects relink NAME" in lab.burnish("projects", "relink", code=2).err
    assert "none of the commits" in stranger.burnish("projects", "relink", "repo", code=4).err
    lab.burnish("projects", "relink", "repo")
    assert titles(lab) == ["One", "Two"] and read_id(lab.repo.path / ".git")


@pytest.mark.long
def test_tasks_of_its_own_are_not_replaced(tmp_path: Path) -> None:
    lab = lab_of(tmp_path)
    lab.repo.git("update-ref", "-d", ID_REF)
    lab = moved(lab, tmp_path / "elsewhere")
    lab.add("Here")
    assert "has tasks of its own" in lab.burnish("projects", "relink", "repo", code=4).err
    lab.burnish("projects", "forget", "elsewhere")
    lab.burnish("projects", "relink", "repo")
    assert titles(lab) == ["One", "Two"]


@pytest.mark.long
def test_the_id_is_not_pushed_and_survives_packing(tmp_path: Path) -> None:
    lab = lab_of(tmp_path)
    lab.repo.git("pack-refs", "--all")
    lab.repo.git("gc", "-q", "--prune=now")
    lab.repo.git("fsck", "--strict")
    lab.repo.git("log", "--all", "--oneline")
    assert not (lab.repo.path / ".git" / ID_REF).exists() and read_id(lab.repo.path / ".git")
    assert ID_REF not in lab.repo.git("ls-remote", "--heads", "--tags", ".")
    assert titles(moved(lab, tmp_path / "elsewhere")) == ["One", "Two"]


@pytest.mark.long
def test_a_repository_that_cannot_be_written_works_without_an_id(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE, author=EDIT)
    lab.repo.git("update-ref", "-d", ID_REF)
    lab.repo.git("update-ref", "refs/burnish/local", "HEAD")  # leaves no room for the ref
    lab.add("One")
    assert titles(lab) == ["One"] and read_id(lab.repo.path / ".git") is None


@pytest.mark.long
def test_linked_worktrees_submodules_bare_and_renamed_parents_are_followed(tmp_path: Path) -> None:
    lab = lab_of(tmp_path)
    parent = tmp_path / "parent"
    parent.mkdir()
    library = UserRepo.make(tmp_path / "library")
    library.commit({"x": "y"}, "x")
    outer = UserRepo.make(parent / "outer")
    outer.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library.path), "sub")
    library.git("clone", "-q", "--bare", str(library.path), str(parent / "bare.git"))
    UserRepo(parent / "bare.git").git("worktree", "add", "-q", str(tmp_path / "linked"))
    places = [parent / "outer", parent / "outer" / "sub", tmp_path / "linked"]
    for n, place in enumerate(places):
        at(lab, place).add(f"Task {n}")
    parent.rename(tmp_path / "renamed")
    UserRepo(tmp_path / "renamed" / "bare.git").git("worktree", "repair")
    for n, place in enumerate((tmp_path / "renamed" / "outer", tmp_path / "renamed" / "outer" / "sub", places[2])):
        assert titles(at(lab, place)) == [f"Task {n}"]
    (tmp_path / "link").symlink_to(tmp_path / "renamed")
    assert titles(at(lab, tmp_path / "link" / "outer")) == ["Task 0"]


@pytest.mark.long
def test_a_checkout_that_is_removed_hands_over_to_another_one_of_the_repository(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE, author=EDIT)
    lab.repo.git("worktree", "add", "-q", str(tmp_path / "linked"))
    home = {"BURNISH_HOME": str(tmp_path / "fresh")}
    lab = dataclasses.replace(lab, env=lab.env | home)
    linked = at(lab, tmp_path / "linked")
    linked.add("One")
    assert projects(lab) == [str(linked.repo.path)]
    lab.repo.git("worktree", "remove", "--force", str(linked.repo.path))
    lab.add("Two")
    assert titles(lab) == ["One", "Two"] and projects(lab) == [str(lab.repo.path)]


@pytest.mark.long
@pytest.mark.parametrize("words", [["projects", "relink", "repo", "--new"], ["projects", "link"]])
def test_words_that_make_no_sense_are_refused(tmp_path: Path, words: list[str]) -> None:
    said: Said = Lab.make(tmp_path).burnish(*words, code=2)
    assert "do:" in said.err


@pytest.mark.long
def test_the_board_opens_a_moved_project_once_it_is_relinked(tmp_path: Path) -> None:
    lab = lab_of(tmp_path)
    lab.burnish("run", "1")
    with mock.patch.dict(os.environ, lab.env), closing(ProjectRegistry.here()) as registry:
        (row,) = registry.projects()
        lab = moved(lab, tmp_path / "elsewhere")
        with pytest.raises(BurnishError, match="does not exist") as gone:
            registry.open(row.key)
        assert "burnish status" in gone.value.hint
        assert titles(lab) == ["One", "Two"]
        app = registry.open(row.key)
        assert app.repo.root == lab.repo.path and diff_text(app, 1, since_review=False)
        untrusted = registry.untrusted(registry.project(row.key))
        assert untrusted is not None and untrusted.state == "untrusted"
