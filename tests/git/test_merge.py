"""Two lines of work brought together as objects."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.errors import BadInput, Refused
from burnish.git.discovery import discover
from burnish.git.merge import contains, merge_commits, merge_trees, overlap, replay, touched
from burnish.git.project import Project, open_project
from burnish.git.publishing import publish
from burnish.git.refs import StaleRef, read_ref
from burnish.git.target_branch import fast_forward, swap, target_ref
from testing.userrepo import UserRepo

WHO = ("Somebody", "s@example.org")


@pytest.fixture
def project(user_repo: UserRepo, tmp_path: Path) -> Project:
    return open_project(discover(user_repo.path), home=tmp_path / "home", key="p")


def tree(repo: UserRepo, rev: str) -> str:
    return repo.git("rev-parse", f"{rev}^{{tree}}")


def side(repo: UserRepo, name: str, *changes: dict[str, str], start: str = "main") -> str:
    repo.git("switch", "-q", "-c", name, start)
    for number, files in enumerate(changes):
        tip = repo.commit(files, f"{name} {number}")
    repo.git("switch", "-q", "main")
    return tip


def test_a_clean_merge_has_both_and_a_conflict_names_its_paths(user_repo: UserRepo, project: Project) -> None:
    one = side(user_repo, "one", {"ö ne.txt": "1\n"})
    two = side(user_repo, "two", {"two.txt": "2\n"})
    merged = merge_commits(project, one, two)
    assert project.git("ls-tree", "--name-only", merged.tree).stdout.decode().splitlines() == [
        "app.py",
        "two.txt",
        "ö ne.txt",
    ]
    three = side(user_repo, "three", {"ö ne.txt": "3\n", "new\nline": "x\n"})
    four = side(user_repo, "four", {"ö ne.txt": "4\n", "new\nline": "y\n"})
    assert set(merge_commits(project, three, four).conflicts) == {"ö ne.txt", "new\nline"}


def test_a_change_is_made_to_another_tree_whatever_the_history(user_repo: UserRepo, project: Project) -> None:
    side(user_repo, "dep", {"app.py": "a\nb\nc\n"})
    side(user_repo, "own", {"app.py": "a\nb\nc\nd\n"}, start="dep")
    squashed = user_repo.commit({"app.py": "a\nb\nc\n", "other": "1\n"})
    merged = merge_trees(project, tree(user_repo, "dep"), tree(user_repo, squashed), tree(user_repo, "own"))
    assert not merged.conflicts and project.git("show", f"{merged.tree}:app.py").stdout == b"a\nb\nc\nd\n"
    assert contains(project, squashed, user_repo.git("rev-parse", "dep"))
    assert not contains(project, squashed, user_repo.git("rev-parse", "own"))


def test_commits_are_replayed_with_author_date_and_message(user_repo: UserRepo, project: Project) -> None:
    base = user_repo.git("rev-parse", "main")
    user_repo.git("config", "i18n.commitEncoding", "ISO-8859-1")
    tip = side(user_repo, "own", {"a": "1\n"}, {"b": "2\n"}, {"b": "2\n"})
    onto = user_repo.commit({"c": "3\n"})
    done = replay(project, onto, base, tip, WHO)
    publish(project, done.commit)
    shape = "--format=%an %ae %ad %B"
    kept = user_repo.git("log", "--reverse", shape, f"{base}..{tip}~1")
    assert user_repo.git("log", "--reverse", shape, f"{onto}..{done.commit}") == kept, "and an empty one is left out"
    assert user_repo.git("log", "-1", "--format=%cn", done.commit) == "Somebody"
    assert user_repo.git("fsck", "--strict", "--no-dangling", done.commit) == ""
    assert replay(project, base, base, tip, WHO).commit == tip, "what stands there already is not made anew"


def test_paths_touched_by_both_sides(user_repo: UserRepo, project: Project) -> None:
    user_repo.commit({"old": "1\n", "d/x": "1\n"})
    before = tree(user_repo, "main")
    user_repo.git("mv", "old", "new")
    user_repo.commit({"d/x": "2\n"})
    assert touched(project, before, tree(user_repo, "main")) == {"old", "new", "d/x"}
    assert overlap(frozenset({"a", "b/c"}), frozenset({"b/c", "d"})) == {"b/c"}
    assert overlap(frozenset({"b"}), frozenset({"b/c"})) == {"b"}, "a file here, a folder there"
    assert overlap(frozenset({"b/c"}), frozenset({"b"})) == {"b/c"}
    assert overlap(frozenset({"bc"}), frozenset({"b"})) == frozenset()


def test_the_swap_sees_either_ref_move_and_changes_nothing_then(user_repo: UserRepo, project: Project) -> None:
    base, new = user_repo.git("rev-parse", "main"), side(user_repo, "own", {"a": "1\n"})
    user_repo.git("branch", "target")
    for ref, old, watched in (("target", new, ("own", new)), ("target", base, ("own", base))):
        with pytest.raises(StaleRef):
            swap(project, f"refs/heads/{ref}", new, old, verified_ref=(f"refs/heads/{watched[0]}", watched[1]))
        assert read_ref(project, "refs/heads/target") == base
    swap(project, "refs/heads/target", new, base, verified_ref=("refs/heads/own", new))
    assert read_ref(project, "refs/heads/target") == new


def test_a_checkout_that_is_not_behind_is_not_fast_forwarded(user_repo: UserRepo, project: Project) -> None:
    other = side(user_repo, "own", {"a": "1\n"})
    here = user_repo.commit({"b": "1\n"})
    before = user_repo.fingerprint()
    with pytest.raises(Refused, match="could not fast-forward main"):
        fast_forward(project, user_repo.path, "refs/heads/main", other, here)
    with pytest.raises(StaleRef):
        fast_forward(project, user_repo.path, "refs/heads/main", other, other)
    assert user_repo.fingerprint() == before


@pytest.mark.parametrize("mine", ["local.cfg", "local.cfg/deep", "link"])
def test_ignored_files_in_the_way_of_a_fast_forward_stay(user_repo: UserRepo, project: Project, mine: str) -> None:
    here = user_repo.commit({".gitignore": "local.cfg\nlink\n"})
    user_repo.git("switch", "-q", "-c", "own")
    new = user_repo.commit({".gitignore": "", "local.cfg": "theirs\n", "link/file": "theirs\n"})
    user_repo.git("switch", "-q", "main")
    if mine == "link":
        (user_repo.path / "link").symlink_to("elsewhere")
    else:
        user_repo.write({mine: "mine\n"})
    before = user_repo.fingerprint()
    with pytest.raises(Refused, match=f"could not fast-forward main: .*{mine.split('/')[0]}"):
        fast_forward(project, user_repo.path, "refs/heads/main", new, here)
    assert user_repo.fingerprint() == before


def test_merge_options_of_the_users_do_not_make_a_squash_of_it(user_repo: UserRepo, project: Project) -> None:
    here = user_repo.git("rev-parse", "main")
    new = side(user_repo, "own", {"a": "1\n"})
    user_repo.git("config", "branch.main.mergeOptions", "--squash")
    fast_forward(project, user_repo.path, "refs/heads/main", new, here)
    assert user_repo.git("rev-parse", "main") == new and user_repo.git("status", "--porcelain") == ""


def test_a_target_is_a_branch_of_the_users(user_repo: UserRepo, project: Project) -> None:
    assert target_ref(project, "main") == ("refs/heads/main", user_repo.git("rev-parse", "main"))
    user_repo.git("branch", "burnish/1-x")
    user_repo.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
    for name in ("burnish/1-x", "alias", "nowhere", "", "a..b", "main~1", "x\ny", "main@{1}"):
        with pytest.raises(BadInput):
            target_ref(project, name)
