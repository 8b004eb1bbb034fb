"""`burnish sync`: two homes with clones of one remote see the tasks of each other."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from burnish.git.repository_id import ID_REF
from testing.clones import remote_with_program
from testing.lab import Lab


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    return tmp_path / "remote.git"


@pytest.fixture
def here(tmp_path: Path, remote: Path) -> Lab:
    lab = Lab.make(tmp_path / "here")
    lab.repo.git("init", "-q", "--bare", str(remote))
    lab.repo.git("remote", "add", "origin", str(remote))
    lab.repo.git("push", "-q", "origin", "main")
    lab.add("Add division")
    lab.burnish("run")
    return lab


@pytest.fixture
def there(tmp_path: Path, remote: Path) -> Lab:
    lab = Lab.make(tmp_path / "there")
    lab.repo.git("remote", "add", "origin", str(remote))
    return lab


def on_remote(lab: Lab, remote: Path) -> list[str]:
    return lab.repo.git("--git-dir", str(remote), "for-each-ref", "--format=%(refname)", "refs/burnish").split()


@pytest.mark.slow
def test_another_machine_reads_the_task_and_its_reviews(here: Lab, there: Lab, remote: Path) -> None:
    pushed = here.burnish("sync", "--json").json
    assert (pushed["tasks"], pushed["pushed"], pushed["others"]) == (1, True, [])
    machine = pushed["machine"]
    assert on_remote(here, remote) == [f"refs/burnish/{machine}/story"], "the repository's id stays here"
    assert here.refs(ID_REF)
    there.add("Something else")
    assert there.burnish("sync", "--json").json["others"] == [{"machine": machine, "tasks": 1}]
    (task,) = there.burnish("sync", "list", "--json").json["tasks"]
    assert (task["machine"], task["id"], task["status"]) == (machine, "1", "verified")
    shown = there.burnish("sync", "show", f"{machine}/1")
    assert "Add division" in shown.out and "one error" in shown.out
    assert [task["title"] for task in there.burnish("status", "--json").json["tasks"]] == ["Something else"]
    # both directions, and each machine has only its own ref
    here.burnish("sync")
    assert "Something else" in here.burnish("sync", "list").out
    assert len(on_remote(here, remote)) == 2


@pytest.mark.slow
def test_a_second_sync_pushes_only_what_is_new_and_loses_no_event(here: Lab, remote: Path) -> None:
    machine = here.burnish("sync", "--json").json["machine"]
    ref = f"refs/burnish/{machine}/story"
    first = here.repo.git("--git-dir", str(remote), "rev-parse", ref)
    assert not here.burnish("sync", "--json").json["pushed"]
    assert here.repo.git("--git-dir", str(remote), "rev-parse", ref) == first
    here.burnish("edit", "1", "--tag", "later")
    assert here.burnish("sync", "--json").json["pushed"]
    assert here.repo.git("--git-dir", str(remote), "rev-parse", f"{ref}~1") == first
    folder = here.repo.git("--git-dir", str(remote), "ls-tree", "--name-only", ref).split()[0]
    story = here.repo.git("--git-dir", str(remote), "show", f"{ref}:{folder}/events.jsonl").splitlines()
    events = here.burnish("events", "--json").json["events"]
    assert [json.loads(line)["id"] for line in story] == [one["id"] for one in events if one["task"] == "1"]


def test_text_from_another_machine_cannot_reach_the_terminal_as_a_command(there: Lab, here: Lab, remote: Path) -> None:
    here.repo.git("checkout", "-q", "--orphan", "story")
    index = {"tasks": [{"id": "1", "title": "red \x1b[31m\nsecond line", "status": "verified"}, "x", {"id": ["x"]}]}
    (here.repo.path / "tasks.json").write_text(json.dumps(index))
    here.repo.git("add", "tasks.json")
    here.repo.git("commit", "-qm", "forged")
    here.repo.git("push", "-q", "origin", "story:refs/burnish/evil-123456/story", "story:refs/burnish/Evil;x/story")
    there.add("Own")
    assert there.burnish("sync", "--fetch").code == 0
    lines = there.burnish("sync", "list").out.splitlines()
    assert len(lines) == 2 and "\x1b" not in "".join(lines) and "red" in lines[0]
    assert there.task()["status"] == "backlog", "an approval of another machine counts for nothing here"


def test_without_a_remote_or_with_a_broken_one_the_answer_is_what_to_do(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    lab.add("Own")
    refused = lab.burnish("sync", code=3)
    assert refused.err.splitlines()[0] == "error: There is no remote to share tasks through."
    lab.repo.git("remote", "add", "origin", str(tmp_path / "gone.git"))
    refused = lab.burnish("sync", code=3)
    assert "git fetch from origin failed: fatal:" in refused.err and "git remote -v" in refused.err
    for words in (["lists"], ["show"], ["list", "x"], ["show", "laptop/9"]):
        lab.burnish("sync", *words, code=2)
    lab.burnish("sync", "--remote", "--upload-pack=touch x", code=2)
    lab.repo.git("remote", "rename", "origin", "one")
    assert "from one failed" in lab.burnish("sync", code=3).err, "the only remote"
    lab.repo.git("remote", "add", "two", str(tmp_path / "gone.git"))
    several = lab.burnish("sync", code=3).err
    assert "Cannot tell which remote to share tasks through: one, two." in several and "--remote NAME" in several


def test_a_clone_with_branches_of_burnish_is_told_how_to_fetch_their_tasks(here: Lab, remote: Path) -> None:
    here.repo.git("push", "-q", "origin", here.task()["branch"])
    clone = here.root / "clone"
    here.repo.git("clone", "-q", str(remote), str(clone))
    said = here.burnish("-C", str(clone), "status")
    assert "No tasks yet" in said.out and "burnish sync --fetch" in said.err


@pytest.mark.attacks("programs that a git folder names for a remote", 4)
def test_a_checkout_that_is_not_trusted_names_no_program_that_reaches_a_remote(tmp_path: Path) -> None:
    lab, mark = Lab.make(tmp_path), tmp_path / "started"
    remote_with_program(lab.repo, mark)
    blob = lab.repo.git("rev-parse", "HEAD:app.py").strip()
    lab.repo.git("update-ref", f"refs/burnish/attest/{lab.repo.git('rev-parse', 'HEAD').strip()}", "HEAD")
    (lab.repo.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    lab.burnish("untrust")
    for words in (["sync"], ["sync", "--fetch"], ["review", "--pr", "1", "--no-tests"]):
        refused = lab.burnish(*words, code=4)
        assert "is not trusted. Nothing was run." in refused.err and "burnish" in refused.err.splitlines()[1]
        assert not mark.exists(), words
    lab.burnish("verify", blob, code=2)
    assert not mark.exists()
    lab.trust()
    lab.burnish("sync", "--fetch", code=3)
    assert mark.exists(), "the control"


@pytest.mark.slow
def test_a_story_that_somebody_else_wrote_does_not_silence_this_machine(here: Lab, remote: Path) -> None:
    machine = here.burnish("sync", "--json").json["machine"]
    ref, index = f"refs/burnish/{machine}/story", here.root / "index.json"
    index.write_text(json.dumps({"machine": machine, "last_event": 10**9, "tasks": [{"id": "1", "title": "forged"}]}))
    at = ("--git-dir", str(remote))
    blob = here.repo.git(*at, "hash-object", "-w", str(index))
    (here.root / "tree").write_text(f"100644 blob {blob}\ttasks.json\n")
    tree = subprocess.run(
        ["git", *at, "mktree"], input=(here.root / "tree").read_bytes(), capture_output=True, check=True
    ).stdout.decode()
    here.repo.git(*at, "update-ref", ref, here.repo.git(*at, "commit-tree", tree.strip(), "-m", "forged"))
    assert here.burnish("sync", "--json").json["pushed"]
    text = here.repo.git(*at, "show", f"{ref}:tasks.json")
    assert "Add division" in text and "forged" not in text
    assert not here.burnish("sync", "--json").json["pushed"], "nothing is new"
