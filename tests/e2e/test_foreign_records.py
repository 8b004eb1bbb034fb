"""`rebuild` believes no decision that others may have written into the repository."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from testing.attack_counts import CountAttacks
from testing.lab import APPROVE, REJECT, Lab
from testing.userrepo import UserRepo

AUTHOR = 'app.write_text(app.read_text() + "EVIL = 1\\n")'
BRANCH = "burnish/1-add-division"


def as_victim(lab: Lab, how: str) -> Lab:
    """Another person with a home of their own, who has the repository with all of its refs."""
    path = lab.root / "victim"
    if how == "copy":
        shutil.copytree(lab.repo.path, path, symlinks=True)
    else:
        lab.repo.git("clone", "--quiet", "--mirror", str(lab.repo.path), str(path / ".git"))
    lab.repo = UserRepo(path)
    lab.repo.git("config", "core.bare", "false")
    lab.repo.git("reset", "--quiet", "--hard")
    lab.env["BURNISH_HOME"] = str(lab.root / "victim-home")
    lab.trust()
    lab.agent("judge", REJECT)
    return lab


@pytest.mark.parametrize("how", ["clone", "copy"])
@pytest.mark.parametrize("artifacts", ["ref", "branch"])
def test_an_approval_of_someone_else_does_not_count(
    tmp_path: Path, artifacts: str, how: str, count_attacks: CountAttacks
) -> None:
    lab = Lab.make(tmp_path, author=AUTHOR, judge=APPROVE, extra=f"workspace: {{artifacts: {artifacts}}}\n")
    lab.add()
    lab.burnish("run")
    assert lab.task()["status"] == "verified"

    victim = as_victim(lab, how)
    victim.burnish("rebuild")
    count_attacks("an approval that a repository brings along", 1, int(victim.task()["status"] == "verified"))
    assert victim.task()["status"] == "code_review"
    victim.burnish("merge", "1", code=4)
    victim.burnish("run", "1", code=None)
    assert victim.task()["status"] != "verified" and "EVIL" not in victim.text("main")


@pytest.mark.parametrize("ended_by", ["done 1", "merge 1", "merge 1 --squash"])
def test_a_completion_of_someone_else_brings_no_approval(
    tmp_path: Path, ended_by: str, count_attacks: CountAttacks
) -> None:
    lab = Lab.make(tmp_path, author=AUTHOR, judge=APPROVE)
    lab.add()
    lab.burnish("run")
    lab.burnish(*ended_by.split())
    assert lab.task()["status"] == "completed"
    if "--squash" in ended_by:
        lab.repo.commit({"later.py": "x = 1\n"})
    victim = as_victim(lab, "clone")
    victim.burnish("rebuild")

    # a key that exists: it must not come to a signature
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    for name, value in (("gpg.format", "ssh"), ("user.signingkey", f"{key}.pub")):
        victim.repo.git("config", name, value)
    signed = victim.burnish("attest", "1", code=None)

    assert victim.task()["status"] == ("code_review" if ended_by == "done 1" else "completed")
    count_attacks("an approval that a repository brings along", 1, int(signed.code == 0))
    assert signed.code == 4 and not victim.refs("refs/burnish/attest")


@pytest.mark.slow
def test_a_waiver_of_someone_else_does_not_count(tmp_path: Path, count_attacks: CountAttacks) -> None:
    lab = Lab.make(tmp_path, author=AUTHOR, judge=REJECT, extra="review: {agents: [judge], max_cycles: 1}\n")
    lab.add()
    lab.burnish("run", code=1)
    lab.burnish("waive", "1", "F1", "--reason", "harmless")
    lab.burnish("run", "1")
    assert lab.task()["status"] == "verified"

    victim = as_victim(lab, "clone")
    victim.burnish("rebuild")
    assert [finding["state"] for finding in victim.show()["findings"]] == ["open"]
    # the victim's own waiver answers the finding, but no review of theirs has seen the change
    calls = len(victim.calls())
    victim.agent("judge", REJECT.replace("[flaw]", "[{**flaw, 'title': 'Evil', 'file': None}]"))
    victim.burnish("waive", "1", "F1", "--reason", "harmless")
    victim.burnish("run", "1", code=None)
    assert victim.task()["status"] == "blocked"
    victim.burnish("retry", "1", code=None)
    is_approved = victim.task()["status"] == "verified"
    count_attacks("a review that a repository brings along", 1, int(is_approved))
    assert not is_approved and len(victim.calls()) > calls


@pytest.mark.slow
def test_files_of_someone_else_are_not_taken_for_artifacts(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=AUTHOR, judge=APPROVE, extra="workspace: {artifacts: branch}\n")
    lab.add()
    lab.burnish("run")
    lab.repo.git("checkout", "--quiet", BRANCH)
    message = "Task 1\n\nBurnish-Task: 1\nBurnish-Phase: artifacts\n"
    lab.repo.commit({".burnish/tasks/1-add-division/payload.py": "PAYLOAD = 1\n"}, message)
    lab.repo.git("checkout", "--quiet", "main")

    victim = as_victim(lab, "clone")
    victim.agent("judge", APPROVE)
    victim.burnish("rebuild")
    victim.burnish("run", "1", code=None)
    assert victim.task()["status"] != "verified"
    assert "payload.py" in victim.burnish("diff", "1", code=None).out


def test_the_own_record_counts_after_the_home_is_lost(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=AUTHOR, judge=APPROVE)
    lab.add()
    lab.burnish("run")
    lab.env["BURNISH_HOME"] = str(lab.root / "new-home")
    lab.trust()
    lab.burnish("rebuild")
    assert lab.task()["status"] == "verified"
