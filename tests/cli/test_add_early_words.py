"""What will keep a task from running is told when it is added, not only when it is run."""

from __future__ import annotations

import subprocess
from pathlib import Path

from testing.lab import Lab


def test_a_repository_without_a_commit(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    empty = tmp_path / "empty"
    subprocess.run(["git", "init", "-q", str(empty)], check=True, timeout=60)
    said = lab.apart("-C", str(empty), "add", "Do it")
    assert "has no commits yet" in said.err and "git commit -m" in said.err
    assert said.out.endswith("Then run it: burnish run 1\n")


def test_a_branch_called_burnish(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    lab.repo.git("branch", "burnish")
    said = lab.burnish("add", "Do it")
    assert "git branch -m burnish another-name" in said.err
    lab.repo.git("branch", "-m", "burnish", "other")
    assert lab.burnish("add", "Do it").err == ""
