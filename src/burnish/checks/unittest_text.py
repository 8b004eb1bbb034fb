"""Reads the output of `python -m unittest` and of Django's test command."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from burnish.checks.reading import CUT_SHORT, UNLISTED, Case, Reading, failures_of, local_name, make_counts, number

_RULE = "=" * 70
_LINE = "-" * 70
_HEADER = re.compile(r"(FAIL|ERROR|UNEXPECTED SUCCESS): (.+)")
_RAN = re.compile(r"Ran (\d{1,9}) tests? in [\d.]+s")
_END = re.compile(r"(?:OK|FAILED|NO TESTS RAN)(?: \(.*\))?")
# the class of a module that cannot be imported
_DOCTEST = "Doctest: "
_IMPORT = "unittest.loader._FailedTest."
_NAME = re.compile(r"(\w+) \(([\w.]+)\)(.*)")


class UnittestReader:
    signature: ClassVar[re.Pattern[str]] = re.compile(r"^Ran \d{1,9} tests? in [\d.]+s", re.M)

    def __init__(self, root: Path | None = None) -> None:
        self.root = root
        self.cases: list[Case] = []
        self.after_rule = False
        self.open_case: Case | None = None
        # The number of tests of the current run, until its last line.
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
            # the doctests of a text file, which is named by its path
            self.open_case.whole |= (
                not self.open_case.lines and text.startswith(_DOCTEST) and "/" in self.open_case.name
            )
            self.open_case.add(text)

    def _header(self, text: str) -> None:
        if match := _HEADER.fullmatch(text):
            name = local_name(_dotted(match[2]), self.root)
            self.open_case = Case(name, "error" if match[1] == "ERROR" else "failed", whole=name.startswith(_IMPORT))
            self.cases.append(self.open_case)

    def _finish(self, text: str, ran: int) -> None:
        # "expected failures" are none; pytest reports them as skipped, too
        failures = number(text, r"(?<!expected )\bfailures=(\d+)") + number(text, r"\berrors=(\d+)")
        failures += number(text, r"unexpected successes=(\d+)")
        skips = number(text, r"skipped=(\d+)") + number(text, r"expected failures=(\d+)")
        new_cases, self.listed = len(self.cases) - self.listed, len(self.cases)
        if new_cases != failures:
            self.partial = UNLISTED
        self.failed += failures
        self.skipped += skips
        self.passed += max(0, ran - failures - skips)
        self.ran, self.ended = None, True

    def reading(self) -> Reading | None:
        if not self.ended and not self.cases:
            return None
        is_incomplete = not self.ended or self.ran is not None or len(self.cases) > self.listed
        counts = make_counts(passes=self.passed, failures=self.failed, skips=self.skipped)
        failures = tuple(replace(one, file=_file(one.name, self.root)) for one in failures_of(self.cases))
        return Reading(
            counts if not is_incomplete else None, failures, partial=CUT_SHORT if is_incomplete else self.partial
        )


def _dotted(text: str) -> str:
    """`module.Class.test`; before Python 3.11 the brackets do not include the test's name."""
    match = _NAME.fullmatch(text)
    if not match:
        return text
    name, place, rest = match.groups()
    return (place if place.endswith(f".{name}") else f"{place}.{name}") + rest


def _file(name: str, root: Path | None) -> str | None:
    """The module's file, if the name begins with a module of the project."""
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
