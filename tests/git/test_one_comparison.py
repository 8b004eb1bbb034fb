"""One look at the files of a workspace tells what to commit, and what only its name keeps out."""

from __future__ import annotations

import pytest

from burnish.git.run import calls
from burnish.git.workspace import GitWorkspace
from testing.gitworld import GitWorld, commit
from testing.userrepo import UserRepo

LISTED = {
    "new.py": "x = 1\n",
    "folder/other.py": "x = 2\n",
    ".env": "A=1\n",
    "folder/id_rsa": "key\n",
    "ignored.log": "a\n",
    "of-user/notes": "b\n",
    "odd :(top) name": "c\n",
}


@pytest.fixture
def workspace(world: GitWorld) -> GitWorkspace:
    world.repo.commit({".gitignore": "*.log\n"})
    (world.repo.path / ".git" / "info" / "exclude").write_text("of-user/\n")
    world = GitWorld.make(world.repo, world.home)
    made = world.workspace()
    for name, text in LISTED.items():
        (made.path / name).parent.mkdir(exist_ok=True)
        (made.path / name).write_text(text)
    UserRepo.make(made.path / "nested", {"inner.py": "y\n", ".env": "B=2\n"})
    return made


@pytest.mark.parametrize("most", [1000, 3], ids=["asked by name", "listed again"])
def test_what_is_committed_and_what_is_left_out(
    workspace: GitWorkspace, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr("burnish.git.staging._MAX_QUERIES", most)
    before = set(workspace.files(workspace.tip() or ""))
    made = commit(workspace)
    named = {"new.py", "folder/other.py", "odd :(top) name", "nested/inner.py"}
    assert set(workspace.files(made.sha)) - before == named
    listed_again = workspace.left_out_by_name()
    assert listed_again == [".env", "folder/id_rsa", "nested/.env"]
    assert workspace.is_dirty() is False
    assert workspace.left_out_by_name(is_compared=True) == listed_again


def test_the_listing_of_the_comparison_is_used_once(workspace: GitWorkspace) -> None:
    commit(workspace)
    calls.reset()
    found = workspace.left_out_by_name(is_compared=True)
    assert calls.by_command["ls-files"] == 0
    (workspace.path / "later.pem").write_text("key\n")
    assert workspace.left_out_by_name(is_compared=True) == sorted([*found, "later.pem"])
    assert workspace.is_dirty() is False
    workspace.brief({})
    (workspace.path / "last.pem").write_text("key\n")
    assert "last.pem" in workspace.left_out_by_name(is_compared=True), "files were written since"


def test_plain_names_need_no_process_unless_the_user_has_rules(world: GitWorld) -> None:
    made = world.workspace()
    (made.path / "plain.py").write_text("x\n")
    calls.reset()
    commit(made)
    assert calls.by_command["check-ignore"] == 0
    (made.path / ".ENV.d").mkdir()
    (made.path / ".ENV.d" / "more.py").write_text("x\n")
    commit(made)
    assert calls.by_command["check-ignore"] == 1
    (world.repo.path / ".git" / "info" / "exclude").write_text("# a comment\n*.tmp\n")
    again = GitWorld.make(world.repo, world.home).workspace(create=False)
    for name in ("a.tmp", "b.py"):
        (again.path / name).write_text("x\n")
    before = set(again.files(again.tip() or ""))
    assert set(again.files(commit(again).sha)) - before == {"b.py"}
