"""What a remote sends is limited: who can push to it decides what it sends."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from burnish.errors import BurnishError
from burnish.git import remotes
from burnish.proc.capture import TooMuchOutput
from testing.userrepo import UserRepo

LIMIT = 1024 * 1024


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> UserRepo:
    source = UserRepo.make(tmp_path / "source")
    subprocess.run(["git", "clone", "-q", source.path, tmp_path / "clone"], check=True)
    monkeypatch.setattr(remotes, "MAX_FILE_BYTES", LIMIT)
    for number in range(6):  # each of them is below the limit
        (source.path / f"large{number}").write_bytes(os.urandom(LIMIT // 2))
    source.git("checkout", "-q", "-b", "large")
    source.git("add", ".")
    source.git("commit", "-qm", "large")
    return UserRepo(tmp_path / "clone")


@pytest.mark.attacks("endless answers of gh and git", 1)
def test_a_fetch_that_is_too_large_brings_nothing_and_leaves_no_file(clone: UserRepo) -> None:
    pack = clone.path / ".git" / "objects" / "pack"
    before = sorted(pack.iterdir())
    with pytest.raises(BurnishError, match=r"more than 1 MB\. Nothing was fetched"):
        remotes.fetch(clone.path, "origin", "refs/heads/large:refs/burnish/x")
    assert sorted(pack.iterdir()) == before
    assert "refs/burnish/x" not in clone.git("for-each-ref")


def test_a_fetch_below_the_limit_and_one_that_fails_are_as_those_of_git(clone: UserRepo) -> None:
    assert remotes.fetch(clone.path, "origin", "refs/heads/main:refs/burnish/x").exit_code == 0
    assert clone.git("rev-parse", "refs/burnish/x") == clone.git("rev-parse", "origin/main")
    failed = remotes.fetch(clone.path, "origin", "refs/heads/none:refs/burnish/y")
    assert failed.exit_code and b"none" in failed.stderr


def test_a_remote_that_prints_without_end_is_ended(clone: UserRepo, tmp_path: Path) -> None:
    program = tmp_path / "upload-pack"
    program.write_text("#!/bin/sh\nyes noise >&2\n")
    program.chmod(0o755)
    clone.git("config", "remote.origin.uploadpack", str(program))
    with pytest.raises(TooMuchOutput, match="printed more than 4 MB"):
        remotes.fetch(clone.path, "origin", "main", timeout=60)
