"""The clock by which burnish waits: usage limits, quiet hours, `--until`, retries.

A test can move it for whole processes: `BURNISH_TEST_CLOCK` names a file with the seconds to add. Events, waivers,
logins and sessions have the time of the machine.
"""

from __future__ import annotations

import math
import os
import stat
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from burnish.proc.stop import StopToken

VARIABLE = "BURNISH_TEST_CLOCK"
# how often a wait looks at a clock that may be moved
_LOOK_AGAIN = 0.1
# neither the year 1 nor the year 9999 is reached
_FARTHEST = 366 * 86_400.0


def offset() -> float:
    """Seconds by which a test has moved the clock; 0 inside a phase, and for a file that others can write."""
    name = os.environ.get(VARIABLE)
    if not name or "BURNISH_TASK" in os.environ:
        return 0.0
    try:
        facts = Path(name).lstat()
        is_private = stat.S_ISREG(facts.st_mode) and facts.st_uid == os.geteuid() and not facts.st_mode & 0o022
        seconds = float(Path(name).read_text("ascii")) if is_private else 0.0
    except (OSError, ValueError):
        return 0.0
    return seconds if math.isfinite(seconds) and abs(seconds) <= _FARTHEST else 0.0


def now() -> datetime:
    """The time of day, with the zone of the user."""
    return (datetime.now(UTC) + timedelta(seconds=offset())).astimezone()


def epoch() -> float:
    return time.time() + offset()


def elapsed() -> float:
    """Seconds since some moment; only differences mean something. Time in suspend does not count."""
    return time.monotonic() + offset()


def pause(stop: StopToken, seconds: float) -> bool:
    """Wait; True as soon as a stop is requested."""
    if not os.environ.get(VARIABLE):
        return stop.wait(seconds)
    end = elapsed() + seconds
    while (rest := end - elapsed()) > 0:
        if stop.wait(min(rest, _LOOK_AGAIN)):
            return True
    return stop.requested
