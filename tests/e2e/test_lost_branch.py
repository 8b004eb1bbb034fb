"""The branch or the commit of an approved task is gone: no command shows an approval, and there is a way back."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from burnish.features.server.registry import ProjectRegistry
from testing.lab import CRITIC, REJECT, Lab
from testing.userrepo import UserRepo

BRANCH = "burnish/1-add-division"


def loose(lab: Lab, sha: str) -> Path:
    """The file of an object in the user's store, taken out of burnish's pack, without any copy of it elsewhere."""
    unpack(lab)
    drop_copies(lab)
    return lab.repo.path / ".git" / "objects" / sha[:2] / sha[2:]


def packs(lab: Lab) -> list[Path]:
    return sorted((lab.repo.path / ".git" / "objects" / "pack").glob("*.pack"))


def unpack(lab: Lab) -> None:
    """Every object of burnish's as a file of its own."""
    for pack in packs(lab):
        data = pack.read_bytes()
        for suffix in (".idx", ".rev", ".pack", ".keep"):
            pack.with_suffix(suffix).unlink(missing_ok=True)
        argv = ["git", "-C", str(lab.repo.path), "unpack-objects", "-q"]
        subprocess.run(argv, input=data, check=True, timeout=60)


def drop_copies(lab: Lab) -> None:
    """Burnish's own store, as it is after some time."""
    for folder in Path(lab.env["BURNISH_HOME"]).glob("projects/*/git/objects/??"):
        shutil.rmtree(folder)


def empty(path: Path) -> None:
    path.chmod(0o644)
    path.write_bytes(b"")


def delete(lab: Lab) -> None:
    lab.repo.git("branch", "-D", BRANCH)


def delete_and_prune(lab: Lab) -> None:
    delete(lab)
    unpack(lab)
    drop_copies(lab)
    lab.repo.git("gc", "-q", "--prune=now")


def empty_commit(lab: Lab) -> None:
    empty(loose(lab, lab.repo.git("rev-parse", BRANCH)))


def empty_tree(lab: Lab) -> None:
    empty(loose(lab, lab.repo.git("rev-parse", f"{BRANCH}^{{tree}}")))


def remove_commit(lab: Lab) -> None:
    loose(lab, lab.repo.git("rev-parse", BRANCH)).unlink()


def empty_ref(lab: Lab) -> None:
    empty(lab.repo.path / ".git" / "refs" / "heads" / BRANCH)


def ref_of_zeros(lab: Lab) -> None:
    (lab.repo.path / ".git" / "refs" / "heads" / BRANCH).write_bytes(b"\0" * 41)


def delete_all_refs(lab: Lab) -> None:
    """Every ref of burnish's, the id of the repository included."""
    for ref in lab.repo.git("for-each-ref", "--format=%(refname)", "refs/burnish", "refs/heads/burnish").split():
        lab.repo.git("update-ref", "-d", ref)


def clone_again(lab: Lab) -> None:
    """A new clone in the place of the old repository."""
    old = lab.repo.path.with_name("old")
    lab.repo.path.rename(old)
    subprocess.run(["git", "clone", "-q", "-b", "main", str(old), str(lab.repo.path)], check=True, timeout=60)
    shutil.rmtree(old)


def empty_packs(lab: Lab) -> None:
    for pack in packs(lab):
        empty(pack)


LOSSES = [
    delete,
    delete_and_prune,
    delete_all_refs,
    clone_again,
    empty_packs,
    empty_commit,
    empty_tree,
    remove_commit,
    empty_ref,
    ref_of_zeros,
]
DAMAGES = [empty_packs, empty_commit, empty_tree, remove_commit, empty_ref, ref_of_zeros]


@pytest.fixture
def verified(tmp_path: Path) -> Lab:
    lab = Lab.make(tmp_path)
    lab.add()
    lab.burnish("run")
    assert lab.task()["status"] == "verified"
    return lab


def user_git_problems(lab: Lab) -> list[str]:
    """What is wrong with the user's own commands."""
    found = []
    lab.repo.git("fetch", "-q", ".", check=False)
    for command in (("fsck", "--strict"), ("log", "--all", "--oneline"), ("fetch", "-q", "."), ("gc", "-q")):
        argv = ["git", "-C", str(lab.repo.path), *command]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode or "error" in done.stderr or "fatal" in done.stderr:
            found.append(f"git {command[0]}: {done.stderr.strip()[-300:]}")
    return found


@pytest.mark.representatives(1)
@pytest.mark.parametrize("lose", LOSSES)
def test_no_command_shows_an_approval_of_a_commit_that_is_gone(verified: Lab, lose: Callable[[Lab], None]) -> None:
    lose(verified)
    task = verified.task()
    assert (task["status"], task["reason"]) == ("blocked", "branch_gone")
    assert "verified" not in verified.burnish("status").out
    (entry,) = verified.burnish("inbox", "--json").json["inbox"]
    assert (entry["kind"], entry["command"]) == ("blocked", "burnish retry 1")
    assert BRANCH in entry["why"] and "burnish retry 1" in entry["why"]
    assert "burnish retry 1" in verified.burnish("diff", "1", code=None).err
    (voided,) = verified.events("approval.voided")
    assert voided["data"]["cause"] == "branch"


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize(
    "first", [["show", "1", "--json"], ["inbox", "--json"], ["list", "--json"], ["run"], ["merge", "1"]]
)
def test_the_first_command_that_looks_takes_the_approval_back(verified: Lab, first: list[str]) -> None:
    delete(verified)
    verified.burnish(*first, code=None)
    assert len(verified.events("approval.voided")) == 1


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("lose", [delete, empty_commit, empty_tree])
def test_a_commit_that_is_gone_is_not_merged(verified: Lab, lose: Callable[[Lab], None]) -> None:
    main = verified.repo.git("rev-parse", "main")
    lose(verified)
    said = verified.burnish("merge", "1", code=4)
    assert "not approved" in said.err or "is code_review" in said.err
    assert verified.repo.git("rev-parse", "main") == main


@pytest.mark.long
def test_done_refuses_a_task_whose_branch_is_gone(verified: Lab) -> None:
    delete(verified)
    assert verified.burnish("done", "1", code=None).code != 0
    assert verified.task()["status"] == "blocked"


@pytest.mark.long
def test_a_server_shows_no_approval_of_a_branch_that_was_deleted_while_it_ran(
    verified: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in verified.env.items():
        monkeypatch.setenv(name, value)
    registry = ProjectRegistry.here()
    (row,) = registry.projects()
    assert registry.store.task(row.key, 1).status == "verified"
    delete(verified)
    registry.project(row.key)
    assert registry.store.task(row.key, 1).status == "blocked"
    registry.close()


@pytest.mark.long
def test_another_repository_at_the_old_place_takes_no_approval_away(verified: Lab) -> None:
    old = verified.repo.path
    old.rename(old.with_name("elsewhere"))
    other = UserRepo.make(old)
    other.commit({"x": "y"}, "x")
    verified.burnish("inbox", "--all")
    Lab(verified.root, other, verified.env).burnish("add", "Of the other one")
    verified.burnish("inbox", "--all")
    moved = Lab(verified.root, UserRepo(old.with_name("elsewhere")), verified.env)
    assert moved.events("approval.voided") == []


@pytest.mark.long
@pytest.mark.parametrize("after", [["merge", "1"], ["run"]])
def test_the_command_in_the_message_brings_the_approval_back_without_a_call(verified: Lab, after: list[str]) -> None:
    delete(verified)
    note = verified.task() and verified.show()["note"]
    command = re.search(r"`git (branch [^`]+)`", note)
    assert command, note
    paid = verified.paid()
    verified.repo.git(*command[1].split())
    verified.burnish(*after)
    assert verified.task()["status"] == ("completed" if after[0] == "merge" else "verified")
    assert verified.paid() == paid


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("lose", [delete, empty_ref, empty_packs])
def test_retry_brings_back_a_branch_whose_commit_is_still_there(verified: Lab, lose: Callable[[Lab], None]) -> None:
    commit, paid = verified.task()["commit"], verified.paid()
    lose(verified)
    verified.burnish("retry", "1")
    assert verified.task()["status"] == "verified"
    assert verified.refs("refs/heads/burnish/") == {f"refs/heads/{BRANCH}": commit}
    assert verified.paid() == paid
    assert user_git_problems(verified) == []


@pytest.mark.long
@pytest.mark.parametrize("reason", ["max_cycles", "unreadable_review", "failed"])
def test_retry_of_a_task_that_stopped_for_another_reason_tells_that_the_branch_was_brought_back(
    tmp_path: Path, reason: str
) -> None:
    judges = {"max_cycles": REJECT, "unreadable_review": "print('hm')", "failed": "sys.exit(3)"}
    lab = Lab.make(tmp_path, judge=judges[reason], extra="review: {agents: [judge], max_cycles: 1}\n")
    lab.add()
    lab.burnish("run", code=None)
    task = lab.task()
    assert reason in (task["reason"], task["status"])
    delete(lab)
    said = lab.burnish("retry", "1", "--later")
    line = f"Task 1: the branch {BRANCH} was brought back at {task['commit'][:12]}."
    assert said.err.splitlines().count(line) == 1, said
    assert lab.repo.git("rev-parse", BRANCH) == task["commit"]


@pytest.mark.long
def test_run_of_a_failed_task_by_name_tells_that_the_branch_was_brought_back(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge="sys.exit(3)")
    lab.add()
    lab.burnish("run", code=3)
    commit = lab.task()["commit"]
    delete(lab)
    lab.agent("judge", CRITIC)
    said = lab.burnish("run", "1")
    assert f"Task 1: the branch {BRANCH} was brought back at {commit[:12]}." in said.err.splitlines(), said


@pytest.mark.long
@pytest.mark.parametrize(
    ("lose", "calls"), [(delete_and_prune, ["review"]), (empty_commit, ["review"]), (empty_tree, [])]
)
def test_retry_writes_what_was_lost_again_from_the_workspace(
    verified: Lab, lose: Callable[[Lab], None], calls: list[str]
) -> None:
    text, written = verified.text(BRANCH), len(verified.calls())
    lose(verified)
    verified.burnish("retry", "1")
    assert (verified.task()["status"], verified.text(BRANCH)) == ("verified", text)
    again = [call["phase"] for call in verified.calls()[written:]]
    assert again == calls, "another commit is judged again; nothing is worked on"
    assert user_git_problems(verified) == []


@pytest.mark.long
@pytest.mark.parametrize("lose", [empty_commit, empty_tree])
def test_without_the_workspace_retry_continues_from_the_last_commit_that_can_be_read(
    verified: Lab, lose: Callable[[Lab], None]
) -> None:
    first = verified.repo.git("rev-parse", f"{BRANCH}^")
    lose(verified)
    shutil.rmtree(Path(verified.env["BURNISH_HOME"]) / "workspaces")
    said = verified.burnish("retry", "1", code=None)
    assert f"continues at {first[:12]}" in said.err
    task = verified.task()
    assert (task["status"], task["reason"]) == ("blocked", "max_cycles"), "the defect of cycle 1 is found again"
    assert verified.repo.git("merge-base", BRANCH, first) == first
    assert user_git_problems(verified) == []


@pytest.mark.long
def test_where_nothing_is_left_retry_begins_again_from_the_base(verified: Lab) -> None:
    delete_and_prune(verified)
    shutil.rmtree(Path(verified.env["BURNISH_HOME"]) / "workspaces")
    note = verified.task() and verified.show()["note"]
    assert "refs/burnish/artifacts/1-add-division" in note
    assert "workspace" not in note, "its files are gone, too"
    said = verified.burnish("retry", "1", "--later", "--json")
    why = f"the branch {BRANCH} and all its commits are gone, the work begins again from the base"
    assert f"Task 1: {why}." in said.err.splitlines()
    assert said.json["notes"] == [f"Task 1: {why}."] and verified.show()["note"] == why
    verified.burnish("run", "1")
    assert (verified.task()["status"], len(verified.commits(BRANCH))) == ("verified", 2)


@pytest.mark.long
def test_run_of_a_failed_task_whose_commits_are_gone_tells_that_it_begins_again(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge="sys.exit(3)")
    lab.add()
    lab.burnish("run", code=3)
    delete_and_prune(lab)
    shutil.rmtree(Path(lab.env["BURNISH_HOME"]) / "workspaces")
    lab.agent("judge", CRITIC)
    said = lab.burnish("run", "1")
    assert "all its commits are gone, the work begins again from the base" in said.err
    assert lab.task()["status"] == "verified"


@pytest.mark.long
@pytest.mark.parametrize("lose", [delete_and_prune, empty_tree, empty_ref])
def test_a_restart_works_from_the_base_and_keeps_a_workspace_that_cannot_be_compared(
    verified: Lab, lose: Callable[[Lab], None]
) -> None:
    lose(verified)
    workspace = next(Path(verified.env["BURNISH_HOME"]).glob("workspaces/*/1-*"))
    (workspace / "unsaved.txt").write_text("not committed\n")
    verified.burnish("retry", "1", "--restart")
    assert (verified.task()["status"], len(verified.commits(BRANCH))) == ("verified", 2)
    kept = verified.refs("refs/burnish/rescue/")
    saved = any(verified.repo.git("ls-tree", "--name-only", ref, "unsaved.txt") for ref in kept)
    assert saved or list(workspace.parent.glob("*/unsaved.txt"))


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("lose", DAMAGES)
def test_a_damaged_task_stops_no_other_one_and_the_users_git_works_after_the_run(
    verified: Lab, lose: Callable[[Lab], None]
) -> None:
    verified.add("Another one")
    lose(verified)
    verified.burnish("run", "--all")
    assert [verified.task(number)["status"] for number in (1, 2)] == ["verified", "verified"]
    assert user_git_problems(verified) == []


@pytest.mark.long
def test_objects_that_vanish_without_a_restart_of_the_machine_harm_neither_git_nor_the_next_run(verified: Lab) -> None:
    """The refs of artifacts and of the id lose theirs together with the branch."""
    assert verified.burnish("run", code=None).code in (0, 1)  # objects were read since the machine started
    drop_copies(verified)
    for pack in packs(verified):
        for suffix in (".idx", ".rev", ".pack", ".keep"):
            pack.with_suffix(suffix).unlink(missing_ok=True)
    assert user_git_problems(verified)
    verified.burnish("run", code=None)
    verified.burnish("retry", "1", code=None)
    verified.burnish("run", code=None)
    assert verified.task()["status"] == "verified"
    assert user_git_problems(verified) == []


@pytest.mark.long
@pytest.mark.parametrize("lost", ["", "^{tree}", ":1-add-division/task.json"])
def test_a_run_notices_lost_objects_of_artifacts_when_it_writes_them(verified: Lab, lost: str) -> None:
    ref = "refs/burnish/artifacts/1-add-division"
    verified.burnish("run", code=None)  # objects were read since the machine started
    loose(verified, verified.repo.git("rev-parse", f"{ref}{lost}")).unlink()
    before = len(verified.refs("refs/burnish/rescue/"))
    said = verified.burnish("improve", "1", "-m", "More of it", "--review", code=None)
    assert f"{ref} points to" in said.err and "written again from the files in the burnish home" in said.err
    assert verified.repo.git("show", f"{ref}:1-add-division/events.jsonl")
    assert user_git_problems(verified) == [] and len(verified.refs("refs/burnish/rescue/")) == before


@pytest.mark.long
@pytest.mark.parametrize("lose", [empty_commit, empty_ref])
@pytest.mark.parametrize("command", ["cancel", "rm"])
def test_a_task_without_its_branch_can_be_cancelled_and_removed(
    verified: Lab, lose: Callable[[Lab], None], command: str
) -> None:
    lose(verified)
    verified.task()
    verified.burnish(command, "1")
