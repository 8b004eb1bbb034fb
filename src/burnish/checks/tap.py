"""TAP, the Test Anything Protocol, versions 12 to 14; indented subtests are part of their parent."""

from __future__ import annotations

import re

from burnish.checks.reading import MOST_CASES, Reading, shortened
from burnish.core.check import Counts, TestFailure

_PLAN = re.compile(r"1\.\.(\d{1,9})(?:\s|$)")
_TEST = re.compile(r"(not )?ok(?=\s|$)(?:\s+(\d{1,9})(?=\s|$))?(?:\s+-)?\s*(.*)", re.DOTALL)
_DIRECTIVE = re.compile(r"(?<!\\)#\s*(skip|todo)\w*\b", re.IGNORECASE)


class _Collector:
    def __init__(self) -> None:
        self.planned: int | None = None
        self.passed = self.skipped = 0
        self.failures: list[tuple[str, list[str]]] = []
        # where diagnostic lines go: those of a test that passed are nobody's
        self.message: list[str] = []
        self.bail = ""

    @property
    def total(self) -> int:
        return self.passed + self.skipped + len(self.failures)

    def line(self, text: str) -> None:
        if text.startswith("Bail out!"):
            self.bail = text.removeprefix("Bail out!").strip() or "no reason given"
        elif plan := _PLAN.match(text):
            self.planned = int(plan[1])
        elif (test := _TEST.match(text)) and self.total < MOST_CASES:
            self._test(bad=bool(test[1]), number=test[2] or str(self.total + 1), words=test[3])
        elif text.startswith(("#", " ")) and len(self.message) < 200:
            self.message.append(text.lstrip("# "))

    def _test(self, *, bad: bool, number: str, words: str) -> None:
        directive = _DIRECTIVE.search(words)
        name = (words[: directive.start()] if directive else words).strip() or f"test {number}"
        self.message = []
        if directive:
            self.skipped += 1
        elif bad:
            self.failures.append((name, self.message))
        else:
            self.passed += 1


def read_tap(text: str) -> Reading:
    """Counts and failures. Never raises."""
    collector = _Collector()
    for line in text.split("\n"):
        collector.line(line.rstrip("\r"))
    failures = tuple(
        TestFailure(shortened(name, longest=500), "failed", shortened("\n".join(message)))
        for name, message in collector.failures
    )
    counts = Counts(collector.total, collector.passed, len(failures), collector.skipped)
    if collector.planned is None and not collector.total:
        return Reading(error="there is no TAP in the report")
    if collector.bail:
        return Reading(counts, failures, error=f"the tests bailed out: {shortened(collector.bail, longest=200)}")
    if collector.planned is None:
        return Reading(counts, failures, error="the TAP report has no plan: some tests may be missing")
    if collector.planned != collector.total:
        error = f"the TAP report has {collector.total} of {collector.planned} planned tests"
        return Reading(counts, failures, error=error)
    return Reading(counts, failures)
