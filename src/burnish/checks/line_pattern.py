"""Reads failures by a user-defined pattern: every matching line names one."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from burnish.checks import line_pattern_main
from burnish.checks.reading import Reading, shortened
from burnish.core.check import TestFailure
from burnish.core.failure_pattern import pattern_problem
from burnish.errors import BurnishError
from burnish.proc.capture import capture

MOST_FAILURES = 20_000
# Python's regular expressions can take exponential time, and cannot be interrupted inside the process.
SECONDS = 30.0


def read_pattern(pattern: str, files: Sequence[Path], *, seconds: float = SECONDS) -> Reading:
    """The failures named by lines of these files. Never raises."""
    if problem := pattern_problem(pattern):
        return Reading(error=problem)
    existing = [str(path) for path in files if path.is_file()]
    request = json.dumps({"pattern": pattern, "files": existing, "most": MOST_FAILURES + 1})
    argv = [sys.executable, "-I", "-S", str(Path(line_pattern_main.__file__))]
    try:
        result = capture(argv, cwd=Path(sys.prefix), env={}, stdin=request.encode(), timeout=seconds)
        names = [str(name) for name in json.loads(result.stdout)]
    except (BurnishError, ValueError):
        return Reading(error=f"the pattern {pattern!r} could not be applied to the output within {seconds:g} seconds")
    partial = f"only the first {MOST_FAILURES} failures were read" if len(names) > MOST_FAILURES else ""
    unique = dict.fromkeys(shortened(name, longest=500) for name in names[:MOST_FAILURES])
    return Reading(failures=tuple(TestFailure(name, "failed") for name in unique), partial=partial)
