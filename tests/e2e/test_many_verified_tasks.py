"""What a run costs does not grow with the tasks that wait to be merged."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from testing.lab import Lab

COUNTING_GIT = """#!/bin/sh
echo "$*" >>{log}
exec {git} "$@"
"""


@pytest.mark.long
def test_a_run_starts_no_git_process_for_each_verified_task(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    log, programs = tmp_path / "git-calls", tmp_path / "programs"
    programs.mkdir()
    (programs / "git").write_text(COUNTING_GIT.format(log=log, git=shutil.which("git")))
    (programs / "git").chmod(0o755)
    lab.env["PATH"] = f"{programs}:{os.environ['PATH']}"

    def processes_of_a_run() -> int:
        # packed objects are looked up by git, loose ones by burnish itself
        lab.repo.git("repack", "-adq")
        log.write_text("")
        lab.burnish("run", lab.add("Add division"))
        return len(log.read_text().splitlines())

    processes_of_a_run()
    few = processes_of_a_run()
    for _ in range(4):
        lab.burnish("run", lab.add("Add division"))
    assert len(lab.burnish("list", "--status", "verified", "--json").json["tasks"]) == 6
    assert 0 < processes_of_a_run() <= few
