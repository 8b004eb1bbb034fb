"""What `python -m unittest` and Django's test command print."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from burnish.checks.reading import Reading
from burnish.checks.text_reader import CUT_SHORT, UNLISTED, Case, counted, failures_of, number

_RULE = "=" * 70
_LINE = "-" * 70
_HEADER = re.compile(r"(FAIL|ERROR|UNEXPECTED SUCCESS): (.+)")
_RAN = re.compile(r"Ran (\d{1,9}) tests? in [\d.]+s")
_END = re.compile(r"(?:OK|FAILED|NO TESTS RAN)(?: \(.*\))?")
# the class of a module that cannot be imported
_IMPORT = "unittest.loader._FailedTest."
_NAME = re.compile(r"(\w+) \(([\w.]+)\)(.*)")


class UnittestReader:
    signature: ClassVar[re.Pattern[str]] = re.compile(r"^Ran \d{1,9} tests? in [\d.]+s", re.M)

    def __init__(self, root: Path | None = None) -> None:
        self.root = root
        self.cases: list[Case] = []
        self.after_rule = False
        self.open_case: Case | None = None
        # tests that the current run counts, before its last line
        self.ran: int | None = None
        self.listed = 0
        self.passed = self.failed = self.skipped = 0
        self.partial = ""
        self.ended = False

    def line(self, text: str, *, is_error: bool) -> None:
        if text == _RULE:
            self.after_rule, self.open_case = True, None
        elif self.after_rule:
            self.after_rule = False
            self._header(text)
        elif match := _RAN.fullmatch(text):
            self.ran, self.open_case = int(match[1]), None
        elif self.ran is not None and _END.fullmatch(text):
            self._finish(text, self.ran)
        elif self.open_case and text != _LINE:
            self.open_case.add(text)

    def _header(self, text: str) -> None:
        if match := _HEADER.fullmatch(text):
            self.open_case = Case(_dotted(match[2]), "error" if match[1] == "ERROR" else "failed")
            self.cases.append(self.open_case)

    def _finish(self, text: str, ran: int) -> None:
        failed = number(text, r"\bfailures=(\d+)") + number(text, r"\berrors=(\d+)")
        failed += number(text, r"unexpected successes=(\d+)")
        skipped = number(text, r"skipped=(\d+)")
        listed, self.listed = len(self.cases) - self.listed, len(self.cases)
        if listed != failed:
            self.partial = UNLISTED
        self.failed += failed
        self.skipped += skipped
        self.passed += max(0, ran - failed - skipped)
        self.ran, self.ended = None, True

    def reading(self) -> Reading | None:
        if not self.ended and not self.cases:
            return None
        cut = not self.ended or self.ran is not None or len(self.cases) > self.listed
        counts = counted(passed=self.passed, failed=self.failed, skipped=self.skipped)
        failures = tuple(replace(one, file=_file(one.name, self.root)) for one in failures_of(self.cases))
        return Reading(counts if not cut else None, failures, partial=CUT_SHORT if cut else self.partial)


def _dotted(text: str) -> str:
    """`module.Class.test`: before Python 3.11 the test's own name was not part of what is in brackets."""
    match = _NAME.fullmatch(text)
    if not match:
        return text
    name, place, rest = match.groups()
    return (place if place.endswith(f".{name}") else f"{place}.{name}") + rest


def _file(name: str, root: Path | None) -> str | None:
    """The module's file, where the name begins with a module of the project."""
    parts = name.partition(" ")[0].removeprefix(_IMPORT).split(".")
    if root is None:
        return None
    for end in range(min(len(parts), 8), 0, -1):
        path = "/".join(parts[:end]) + ".py"
        try:
            if (root / path).is_file():
                return path
        except (OSError, ValueError):
            return None
    return None
