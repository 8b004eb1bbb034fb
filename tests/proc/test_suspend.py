"""A machine that was suspended: time limits do not count that time, and what waits for an hour notices it."""

from __future__ import annotations

import os
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import burnish
from burnish.agents.base import AgentFailure, AgentSettings
from burnish.agents.limit_wait import LimitWait
from burnish.core.agent import UsageLimit
from burnish.proc.run import Command, StopToken, run

NIGHT = 8 * 3600.0
# These use the wall clock, and no time limit: the age of files, when the machine was started, the time of day.
WALL_CLOCK = {
    # how long a button of a notification works
    "adapters/answer_codes.py",
    "adapters/notifications.py",
    "adapters/checks/environments.py",
    "checks/run.py",
    "proc/clock.py",
    "proc/identity.py",
}
# Python's monotonic clock stands still in suspend: CLOCK_MONOTONIC on Linux, mach_absolute_time on macOS.
SOURCES = Path(burnish.__file__).parent


def test_no_time_limit_uses_a_clock_that_goes_on_in_suspend() -> None:
    found = set()
    for package in ("proc", "agents", "checks", "engine", "adapters"):
        for path in (SOURCES / package).rglob("*.py"):
            if any(words in path.read_text() for words in ("time.time()", "CLOCK_BOOTTIME", "CLOCK_REALTIME")):
                found.add(str(path.relative_to(SOURCES)))
    assert found == WALL_CLOCK


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="names of clocks")
def test_the_monotonic_clock_is_the_one_without_suspend() -> None:
    assert "CLOCK_MONOTONIC" in time.get_clock_info("monotonic").implementation


def test_a_program_is_not_timed_out_because_the_wall_clock_jumps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, began = time.time, time.monotonic()
    monkeypatch.setattr(time, "time", lambda: real() + (NIGHT if time.monotonic() - began > 0.3 else 0))
    (tmp_path / "call").mkdir()
    code = "import time; time.sleep(0.8); print('done')"
    env = {"PATH": os.environ["PATH"]}
    record = run(Command((sys.executable, "-c", code), tmp_path, env, tmp_path / "call", timeout_seconds=60))
    assert (record.ended, record.stdout.read_text()) == ("exit", "done\n")


class Limits:
    def __init__(self, limit: UsageLimit) -> None:
        self.limit = limit

    def usage_limits(self) -> list[UsageLimit]:
        return [self.limit]

    def begin_usage_limit(self, limit: UsageLimit) -> None:
        self.limit = limit

    def end_usage_limit(self, login: str) -> bool:
        return True


def test_a_wait_for_a_usage_limit_ends_soon_after_a_suspend_in_which_it_was_reset() -> None:
    now = [datetime(2026, 11, 17, 23, 0, tzinfo=UTC)]
    limits = Limits(UsageLimit("claude", now[0].isoformat(), True, "", now[0].isoformat()))
    wait = LimitWait(limits, clock=lambda: now[0])
    entry = AgentSettings("claude", "claude")
    wait.begin(entry, AgentFailure("", limit="usage limit reached, try again in 2 hours"))
    assert wait.current(entry)

    class Suspended(StopToken):
        def wait(self, seconds: float) -> bool:
            # it looks at the clock again within seconds, not when two hours of its own have passed
            assert seconds <= 5
            now[0] += timedelta(hours=8)
            return False

    wait.wait(entry, Suspended(), lambda setback: None)
    assert wait.current(entry) is None
