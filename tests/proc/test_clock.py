"""The clock that a test can move: for waiting alone, and by nothing that a phase can write."""

from __future__ import annotations

import os
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from burnish.proc import clock
from burnish.proc.stop import StopToken


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "clock"
    path.write_text("3600")
    path.chmod(0o600)
    monkeypatch.setenv(clock.VARIABLE, str(path))
    monkeypatch.delenv("BURNISH_TASK", raising=False)
    return path


def test_the_file_moves_each_form_of_the_time(file: Path) -> None:
    assert abs((clock.now() - datetime.now(UTC)).total_seconds() - 3600) < 5
    assert abs(clock.epoch() - time.time() - 3600) < 5 and abs(clock.elapsed() - time.monotonic() - 3600) < 5


@pytest.mark.parametrize("text", ["", "nan", "inf", "an hour", "1e12", "-1e12"])
def test_a_damaged_file_moves_nothing(file: Path, text: str) -> None:
    file.write_text(text)
    assert clock.offset() == 0.0


def test_nothing_that_a_phase_or_another_user_can_write_moves_it(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.chmod(0o666)
    assert clock.offset() == 0.0
    file.chmod(0o600)
    link = file.with_name("link")
    link.symlink_to(file)
    monkeypatch.setenv(clock.VARIABLE, str(link))
    assert clock.offset() == 0.0
    monkeypatch.setenv(clock.VARIABLE, str(file))
    monkeypatch.setenv("BURNISH_TASK", "1")
    assert clock.offset() == 0.0
    monkeypatch.delenv("BURNISH_TASK")
    monkeypatch.delenv(clock.VARIABLE)
    assert clock.offset() == 0.0


def test_a_wait_ends_when_the_clock_is_moved(file: Path) -> None:
    began = time.monotonic()
    threading.Timer(0.2, lambda: file.write_text("7300")).start()
    assert clock.pause(StopToken(), 3600) is False
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("is_moved", [True, False])
def test_a_wait_ends_when_it_is_stopped(file: Path, monkeypatch: pytest.MonkeyPatch, is_moved: bool) -> None:
    if not is_moved:
        monkeypatch.delenv(clock.VARIABLE)
    stop = StopToken()
    threading.Timer(0.2, stop.request).start()
    assert clock.pause(stop, 3600) is True


def test_an_agent_does_not_get_the_variable(file: Path) -> None:
    from burnish.proc.environment import listed_environment

    assert clock.VARIABLE in os.environ and clock.VARIABLE not in listed_environment(os.environ)
