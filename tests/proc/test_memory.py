"""A cap on the memory of a program, and how its end is explained."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from burnish.agents.base import AgentSettings, FinishedCall
from burnish.agents.runner import AgentRunner
from burnish.checks.outcome import _killed
from burnish.core.agent import AgentRequest
from burnish.errors import PhaseFailed
from burnish.proc import memory
from burnish.proc.memory import available_memory, is_memory_cap_available
from burnish.proc.oom_events import oom_kills
from burnish.proc.run import Command, run
from burnish.proc.shim_files import ExitRecord, exit_record

# stands for systemd-run: notes its words and becomes the command
SCOPE = """#!/bin/sh
echo "$*" >> "{log}"
{reject}
while [ "$1" != "--" ]; do shift; done
shift
exec "$@"
"""
OLD = 'case "$*" in *OOMPolicy*) exit 1;; esac'


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    memory._scope.cache_clear()
    yield
    memory._scope.cache_clear()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on PATH, in a session with a manager of the user."""
    place = tmp_path / "bin"
    place.mkdir()
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return place


def put_scope(folder: Path, reject: str = "") -> Path:
    log = folder / "log"
    (folder / "systemd-run").write_text(SCOPE.format(log=log, reject=reject))
    (folder / "systemd-run").chmod(0o755)
    return log


def command(tmp_path: Path, code: str) -> Command:
    call_dir = tmp_path / "call"
    call_dir.mkdir(exist_ok=True)
    env = {"PATH": os.environ["PATH"]}
    return Command((sys.executable, "-c", code), tmp_path, env, call_dir, memory_bytes=3 << 30)


@pytest.mark.parametrize(("reject", "policy"), [("", "-p OOMPolicy=continue "), (OLD, "")])
def test_a_program_runs_in_a_scope_with_its_cap(tmp_path: Path, folder: Path, reject: str, policy: str) -> None:
    log = put_scope(folder, reject)
    record = run(command(tmp_path, "import os; print(sorted(os.environ))"))
    assert (record.exit_code, record.ended, record.has_oom) == (0, "exit", False)
    last = log.read_text().splitlines()[-1]
    assert last.startswith(f"--user --scope --quiet --collect {policy}-p MemoryMax={3 << 30} -p MemorySwapMax=0 -- ")
    assert last.endswith("shim.py")
    # what starts the scope is not for the program
    assert "XDG_RUNTIME_DIR" not in record.stdout.read_text()


def test_without_a_manager_of_the_user_programs_run_without_a_cap(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = put_scope(folder, "exit 1")
    assert not is_memory_cap_available()
    probes = log.read_text()
    assert run(command(tmp_path, "")).exit_code == 0 and log.read_text() == probes
    memory._scope.cache_clear()
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert not is_memory_cap_available() and log.read_text() == probes


@pytest.mark.parametrize(
    ("groups", "file"),
    [
        ("0::/user.slice/run-1.scope\n", "user.slice/run-1.scope/memory.events"),
        ("4:cpu,memory:/a\n0::/\n", "memory/a/memory.oom_control"),
    ],
)
def test_the_kernels_counter_is_read_in_both_forms(tmp_path: Path, groups: str, file: str) -> None:
    proc, counter = tmp_path / "cgroup", tmp_path / "sys" / file
    proc.write_text(groups)
    assert oom_kills(str(proc), str(tmp_path / "sys")) == 0
    counter.parent.mkdir(parents=True)
    counter.write_text("low 0\noom 3\noom_kill 2\noom_group_kill 1\n")
    assert oom_kills(str(proc), str(tmp_path / "sys")) == 2
    counter.write_text("garbage")
    assert oom_kills(str(proc), str(tmp_path / "sys")) == oom_kills(str(tmp_path / "no"), "/no") == 0
    assert isinstance(oom_kills(), int)


def killed(folder: Path) -> ExitRecord:
    outcome = {"exit_code": None, "signal": signal.SIGKILL, "ended": "exit", "seconds": 1.0, "oom": True}
    for name in ("stdout", "stderr"):
        (folder / name).write_text("")
    return exit_record(folder, outcome)


def test_an_agent_that_exceeds_its_memory_fails_with_the_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("burnish.agents.runner.run", lambda command, **more: killed(command.call_dir))
    entry = AgentSettings("robot", "command", argv=(sys.executable, "-c", ""))
    runner = AgentRunner({"robot": entry}, checkout=tmp_path, lock_dir=tmp_path / "locks", memory_bytes=1 << 30)
    (tmp_path / "call").mkdir()
    request = AgentRequest(
        agent="robot",
        role="implement",
        prompt="x",
        cwd=tmp_path,
        call_dir=tmp_path / "call",
        phase="implement",
        task=1,
        cycle=1,
    )
    with pytest.raises(PhaseFailed, match=r"robot was killed: it used more memory than machine\.memory_gb") as why:
        runner.call(request)
    assert "Raise machine.memory_gb" in why.value.hint


def test_a_check_that_exceeds_its_memory_says_so(tmp_path: Path) -> None:
    record = killed(tmp_path)
    assert "machine.memory_gb" in _killed(record)
    # a shell reports the end of its command by its exit code
    assert "machine.memory_gb" in _killed(replace(record, signal=None, exit_code=137))
    # it coped with the loss of a process
    assert _killed(replace(record, signal=None, exit_code=0)) == ""
    assert _killed(replace(record, has_oom=False)) == "It was ended by signal SIGKILL, perhaps because memory ran out."


def test_a_killed_program_is_explained_without_a_cap() -> None:
    call = FinishedCall(exit_code=137, signal=None, ended="exit", stdout="", stderr="")
    assert call.how == "exit code 137 (it was killed, perhaps because memory ran out)"


def test_the_free_memory_is_known_on_linux() -> None:
    free_bytes = available_memory()
    assert not sys.platform.startswith("linux") or (free_bytes and free_bytes > 1 << 20)
