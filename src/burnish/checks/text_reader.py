"""Functions that the readers of printed results share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol

from burnish.checks.reading import MOST_CASES, Reading, path_in_repository, shortened
from burnish.core.check import Counts, TestFailure

MOST_LINES = 200
LONGEST = 500
CUT_SHORT = "the run did not finish"
UNLISTED = "its output does not list every failure that it counts"


class TextReader(Protocol):
    """Reads one runner's printed results, line by line."""

    # Matches the end of the output of this runner.
    signature: ClassVar[re.Pattern[str]]

    def line(self, text: str, *, is_error: bool) -> None:
        """Process one line of stdout or stderr. All lines of stdout come first."""

    def reading(self) -> Reading | None:
        """The results; None if this runner printed nothing."""


@dataclass(slots=True)
class Case:
    """A failure while its message is being read."""

    name: str
    status: str = "failed"
    file: str | None = None
    line: int | None = None
    lines: list[str] = field(default_factory=list)
    # see `TestFailure.whole`
    whole: bool = False

    def add(self, text: str) -> None:
        if len(self.lines) < MOST_LINES:
            self.lines.append(text[:LONGEST])

    def failure(self) -> TestFailure:
        message = shortened("\n".join(self.lines))
        name = shortened(self.name, longest=LONGEST)
        return TestFailure(name, self.status, message, self.file, self.line, self.whole)


def failures_of(cases: Sequence[Case]) -> tuple[TestFailure, ...]:
    return tuple(case.failure() for case in cases[:MOST_CASES])


def number(text: str, pattern: str) -> int:
    """The number in a summary line; 0 if it has none."""
    match = re.search(pattern, text)
    return int(match[1]) if match else 0


def make_counts(*, passes: int, failures: int, skips: int) -> Counts:
    return Counts(passes + failures + skips, passes, failures, skips)


def local_name(name: str, root: Path | None) -> str:
    """The name without the root folder, which differs at the base."""
    if root is None or not name.startswith("/"):
        return name
    return path_in_repository(name, root) or name
