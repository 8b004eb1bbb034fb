"""`burnish pr` against a stand-in for gh: what is pushed, what is said, and what happens without it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from burnish.git.repository_id import ID_REF
from testing.lab import REJECT, Lab

GH = """#!{python} -I
import json, os, pathlib, sys
here = pathlib.Path({here!r})
call = {{"argv": sys.argv[1:], "cwd": os.getcwd(), "body": sys.stdin.read()}}
with (here / "gh.jsonl").open("a") as log:
    log.write(json.dumps(call) + "\\n")
if sys.argv[2] == "view":
    sys.exit("no pull requests found for branch")
if (here / "exists").exists() and sys.argv[2] == "create":
    sys.exit('a pull request for branch "x" already exists:\\nhttps://example.org/pull/7')
if (here / "broken").exists():
    sys.exit("gh: not logged in")
print("https://example.org/pull/7")
"""


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    lab = Lab.make(tmp_path)
    bin_dir = tmp_path / "bin"
    bin_dir.mkdir()
    (bin_dir / "gh").write_text(GH.format(python=sys.executable, here=str(tmp_path)))
    (bin_dir / "gh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin_dir}{os.pathsep}{os.environ['PATH']}")
    lab.repo.git("init", "-q", "--bare", str(tmp_path / "remote.git"))
    lab.repo.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    lab.add("Add division", "-d", "For @everyone, closes #12")
    lab.burnish("run")
    return lab


def calls(lab: Lab) -> list[dict[str, object]]:
    found = [json.loads(line) for line in (lab.root / "gh.jsonl").read_text().splitlines()]
    return [call for call in found if call["argv"][1] != "view"]


def on_remote(lab: Lab, ref: str) -> str:
    return lab.repo.git("--git-dir", str(lab.root / "remote.git"), "rev-parse", "--verify", "-q", ref, check=False)


def test_the_branch_is_pushed_and_the_review_is_the_body(lab: Lab) -> None:
    task, main = lab.task(), lab.repo.git("rev-parse", "main")
    said = lab.burnish("pr", "1", "--json").json
    assert said["url"] == "https://example.org/pull/7" and said["base"] == "main"
    assert on_remote(lab, f"refs/heads/{task['branch']}") == task["commit"]
    assert lab.refs(ID_REF) and not on_remote(lab, ID_REF), "the repository's id stays here"
    (call,) = calls(lab)
    wanted = ["pr", "create", f"--head={task['branch']}", "--base=main", "--title=Add division", "--body-file=-"]
    assert call["argv"] == wanted and call["cwd"] == str(lab.repo.path)
    text = str(call["body"])
    for words in ("**Approved** by burnish", "good", "F1 error, **resolved**: Zero is not handled", "### Cycles"):
        assert words in text, text
    assert "1: changes_requested by judge: one error" in text
    assert "2 cycles, cost unknown." in text
    assert "@everyone" not in text and "#12" not in text, "no user is mentioned, no issue is closed"
    assert lab.repo.git("status", "--porcelain") == "" and lab.repo.git("rev-parse", "main") == main
    assert lab.task()["status"] == "verified"


@pytest.mark.long
def test_a_second_time_it_is_brought_up_to_date(lab: Lab) -> None:
    (lab.root / "exists").touch()
    said = lab.burnish("pr", "1", "--json").json
    assert said["updated"] is True and said["url"] == "https://example.org/pull/7"
    assert [call["argv"][1] for call in calls(lab)] == ["create", "edit"]  # type: ignore[index]


@pytest.mark.slow
def test_only_what_is_approved_and_unmoved_is_pushed_unless_as_a_draft(lab: Lab) -> None:
    lab.agent("judge", REJECT)
    lab.add("Second", "--max-cycles", "1")
    lab.burnish("run", "2", code=1)
    lab.burnish("pr", "2", code=4)
    assert not (lab.root / "gh.jsonl").exists() and not on_remote(lab, f"refs/heads/{lab.task(2)['branch']}")
    lab.burnish("pr", "2", "--draft")
    (call,) = calls(lab)
    assert "--draft" in call["argv"] and "**Not approved yet** (blocked)" in str(call["body"])  # type: ignore[operator]
    lab.add("Not begun")
    lab.burnish("pr", "3", "--draft", code=4)


@pytest.mark.long
def test_without_gh_it_says_what_to_do_and_pushes_nothing(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    only = lab.root / "only"
    only.mkdir()
    (only / "git").symlink_to(next(p for d in os.environ["PATH"].split(":") if (p := Path(d) / "git").exists()))
    monkeypatch.setenv("PATH", str(only))
    said = lab.burnish("pr", "1", code=3)
    assert "gh is not installed" in said.err and "gh auth login" in said.err
    assert not on_remote(lab, f"refs/heads/{lab.task()['branch']}")


@pytest.mark.long
def test_a_branch_that_somebody_else_pushed_to_is_told_as_that(lab: Lab) -> None:
    task, main = lab.task(), lab.repo.git("rev-parse", "main")
    other = lab.repo.git("commit-tree", "-p", main, "-m", "theirs", f"{main}^{{tree}}")
    lab.repo.git("push", "-q", "origin", f"{other}:refs/heads/{task['branch']}")
    said = lab.burnish("pr", "1", code=4)
    told = " ".join(said.err.split())
    assert f"Somebody else pushed to {task['branch']} on origin" in told and "[rejected]" in told
    assert f"git fetch origin {task['branch']}" in told and "fast-forwards" not in told
    assert on_remote(lab, f"refs/heads/{task['branch']}") == other and not (lab.root / "gh.jsonl").exists()
    hook = lab.root / "remote.git" / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'not on a Sunday' >&2\nexit 1\n")
    hook.chmod(0o755)
    lab.repo.git("--git-dir", str(lab.root / "remote.git"), "update-ref", "-d", f"refs/heads/{task['branch']}")
    assert "not on a Sunday" in " ".join(lab.burnish("pr", "1", code=3).err.split())


@pytest.mark.long
def test_a_remote_that_says_no_and_a_gh_that_says_no(lab: Lab) -> None:
    (lab.root / "broken").touch()
    assert "not logged in" in lab.burnish("pr", "1", code=3).err
    lab.repo.git("remote", "set-url", "origin", str(lab.root / "nowhere.git"))
    assert "git push to origin failed" in lab.burnish("pr", "1", code=3).err
    lab.repo.git("remote", "remove", "origin")
    assert "no remote" in lab.burnish("pr", "1", code=3).err
