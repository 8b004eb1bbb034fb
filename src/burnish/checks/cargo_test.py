"""Reads the output of `cargo test` and `cargo nextest run`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

from burnish.checks.reading import (
    CUT_SHORT,
    MAX_CASES,
    UNLISTED,
    Case,
    Reading,
    failures_of,
    make_counts,
    number,
    path_in_repository,
)

_RUNNING = re.compile(r"running (\d{1,9}) tests?")
_FAILED = re.compile(r"test (.+?)(?: - should panic)? \.\.\. FAILED(?: .*)?")
_RESULT = re.compile(r"test result: (ok|FAILED)\. (\d{1,9}) passed; (\d{1,9}) failed; (\d{1,9}) ignored;.*")
_STDOUT = re.compile(r"---- (.+) stdout ----")
_BINARY = re.compile(r"\s+Running (?:unittests )?(\S+) \((?:\S*/)?([\w-]+?)(?:-[0-9a-f]{16})?(?:\.exe)?\)")
_DOC = re.compile(r"\s+Doc-tests (\S+)")
_PLACE = re.compile(r"panicked at (\S+?):(\d{1,8}):\d+")
# The line number of a doc test shifts with every edit above it.
_DOC_LINE = re.compile(r" \(line \d+\)$")


class _Block:
    """The tests of one binary."""

    def __init__(self) -> None:
        self.cases: dict[str, Case] = {}
        self.result: re.Match[str] | None = None

    def case(self, name: str) -> Case:
        return self.cases.setdefault(name, Case(name))


class CargoReader:
    signature: ClassVar[re.Pattern[str]] = re.compile(r"^test result: (?:ok|FAILED)\. \d+ passed;", re.M)

    def __init__(self, root: Path | None = None) -> None:
        self.root = root
        self.blocks: list[_Block] = []
        self.labels: list[str] = []
        self.message: Case | None = None

    def line(self, text: str, *, is_error: bool) -> None:
        if match := _BINARY.fullmatch(text):
            self.labels.append(f"{match[2]} ({match[1]})")
        elif match := _DOC.fullmatch(text):
            self.labels.append(f"{match[1]} (doc)")
        elif is_error:
            return
        elif _RUNNING.fullmatch(text) and len(self.blocks) < MAX_CASES:
            self.blocks.append(_Block())
            self.message = None
        elif self.blocks:
            self._in_block(self.blocks[-1], text)

    def _in_block(self, block: _Block, text: str) -> None:
        if match := _RESULT.fullmatch(text):
            block.result, self.message = match, None
        elif match := _STDOUT.fullmatch(text):
            self.message = block.case(match[1])
        elif match := _FAILED.fullmatch(text):
            block.case(match[1])
        elif text == "failures:":
            self.message = None
        elif self.message:
            self.message.add(text)

    def reading(self) -> Reading | None:
        if not self.blocks:
            return None
        labels = self.labels if len(self.labels) == len(self.blocks) else [""] * len(self.blocks)
        cases: list[Case] = []
        passes = skips = failures = 0
        partial = ""
        for label, block in zip(labels, self.blocks, strict=True):
            found = [self._named(case, label) for case in block.cases.values()]
            if block.result is None:
                # The process died; the output does not name the test.
                found.append(Case(f"{label} did not finish".strip(), "error"))
                partial = CUT_SHORT
            else:
                passes += int(block.result[2])
                skips += int(block.result[4])
                partial = partial or (UNLISTED if len(found) != int(block.result[3]) else "")
            failures += len(found)
            cases += found
        # A test binary with a harness of its own prints no counts: how many tests ran is not known.
        has_own_harness = len(self.labels) > len(self.blocks) and not (passes or failures or skips)
        counts = None if has_own_harness else make_counts(passes=passes, failures=failures, skips=skips)
        return Reading(counts, failures_of(cases), partial=partial)

    def _named(self, case: Case, label: str) -> Case:
        name = _DOC_LINE.sub("", case.name)
        case.name = f"{label} {name}" if label else name
        place = next((match for line in case.lines if (match := _PLACE.search(line))), None)
        if place and (file := path_in_repository(place[1], self.root)):
            case.file, case.line = file, int(place[2])
        return case


# `   TRY 2 FAIL [   1.000s] ( 16/100) binary test_name`; `(───)` and `[2/5]` stand for running tests and stress runs
_NEXTEST = re.compile(
    r"\s*(?:TRY \d+ )?(PASS|FAIL|FAIL \+ LEAK|FL\+LK|FLAKY \d+/\d+|FLKY-FL \d+/\d+|LEAK|LEAK-FAIL|LKFAIL|XFAIL"
    r"|SIG[A-Z0-9]+|ABORT|ABORT SIG\S+|TIMEOUT|TIMEOUT-PASS|TMT|TMPASS)\s+\[\s*[>\d.:]+s?\]\s+"
    r"(?:\[[\d/]+\]\s+)?(?:\(\s*(?:\d+/\d+|─+)\)\s+)?(\S+)\s+(\S.*)"
)
_NEXTEST_END = re.compile(r"\s*Summary \[\s*[\d.]+s\]\s+(\d{1,9})(?:/(\d{1,9}))? tests? run: (.*)")
_GOOD = ("PASS", "LEAK", "FLAKY", "TIMEOUT-PASS", "TMPASS")


class NextestReader:
    signature: ClassVar[re.Pattern[str]] = re.compile(r"^\s*Summary \[\s*[\d.]+s\]\s+\d+(?:/\d+)? tests? run:", re.M)

    def __init__(self, root: Path | None = None) -> None:
        # what was last printed for a test: after `TRY 1 FAIL` it may pass, and failures are listed again at the end
        self.states: dict[str, str] = {}
        self.summary: re.Match[str] | None = None

    def line(self, text: str, *, is_error: bool) -> None:
        if match := _NEXTEST_END.fullmatch(text):
            self.summary = match
        elif (match := _NEXTEST.fullmatch(text)) and len(self.states) < MAX_CASES:
            self.states[f"{match[2]} {match[3].strip()}"] = match[1].split()[0]

    def reading(self) -> Reading | None:
        if self.summary is None:
            return None
        words = self.summary[3]
        failures = (
            number(words, r"(\d+) failed") + number(words, r"(\d+) timed out") + number(words, r"(\d+) exec failed")
        )
        counts = make_counts(
            passes=number(words, r"(\d+) passed"), failures=failures, skips=number(words, r"(\d+) skipped")
        )
        partial = "nextest stopped before it had run every test" if self.summary[2] else ""
        states = {name: state for name, state in self.states.items() if state not in _GOOD}
        cases = [Case(name, "failed" if state == "FAIL" else "error") for name, state in states.items()]
        partial = partial or (UNLISTED if failures != len(cases) else "")
        return Reading(counts, failures_of(cases), partial=partial)
