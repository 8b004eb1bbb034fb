"""Results of the checks, at the base and now."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any, TypeVar

from burnish.core.change import Change, ChangedFile
from burnish.core.error_lines import first_error, other_lines
from burnish.core.finding import Remark
from burnish.core.images import Evidence
from burnish.core.policy import is_test


def count_of(check: Mapping[str, Any], what: str) -> int:
    """How many `new`, `old` or `fixed` failures a check in an event has; older events list all names instead."""
    return int(check.get(f"{what}_count") or len(check.get(what) or ()))


def check_words(check: Mapping[str, Any]) -> str:
    """`failed (12 passed, 2 failed: 1 new, 1 failed before too)`"""
    if check.get("status") == "not_run":
        return f"not run: {check.get('why') or 'no reason recorded'}"
    counts = check.get("counts") or check  # older events have the figures beside the status
    kinds = {"new": "new", "old": "failed before too"}
    failures = ", ".join(f"{count_of(check, key)} {words}" for key, words in kinds.items() if check.get(key))
    figures = [f"{counts[key]} {key}" for key in ("passed", "failed", "skipped") if counts.get(key)]
    figures = [f"{one}: {failures}" if failures and one.endswith("failed") else one for one in figures]
    return f"{check.get('status')} ({', '.join(figures)})" if figures else str(check.get("status"))


class CheckStatus(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    # it could not be run: the result is unknown, never zero
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class TestFailure:
    """One test case that did not pass."""

    __test__ = False

    name: str
    status: str  # "failed" or "error"
    message: str = ""
    file: str | None = None
    line: int | None = None
    # it stands for a file, module or package: with "error" it could not be loaded or built, and none of its tests
    # ran; with "failed" it is a text file whose doctests are one test
    whole: bool = False


def _first_and_more(failures: tuple[TestFailure, ...], status: str) -> str:
    names = [failure.name for failure in failures if failure.whole and failure.status == status]
    return f"{names[0]}{f' and {len(names) - 1} more' if names[1:] else ''}" if names else ""


@dataclass(frozen=True, slots=True)
class Counts:
    total: int
    passed: int
    failed: int
    skipped: int


@dataclass(frozen=True, slots=True)
class TestFile:
    """The tests of one file that a report lists."""

    __test__ = False

    path: str
    run: int
    skipped: int = 0
    # why the first of them was skipped
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CheckReport:
    """One check, run once on one tree."""

    name: str  # "test", "lint" or the name under checks.extra
    command: str
    status: CheckStatus
    exit_code: int | None = None
    seconds: float = 0.0
    blocking: bool = True
    # None = the check has no report of single cases (exit code alone)
    counts: Counts | None = None
    failures: tuple[TestFailure, ...] = ()
    # problems with file and line, from lint or SARIF
    remarks: tuple[Remark, ...] = ()
    # the last part of what it printed, for prompt and screen
    tail: str = ""
    # where everything it printed lies in the burnish home
    output_path: str = ""
    error: str = ""
    # what to do about `error`, where that is known, without the full stop
    hint: str = ""
    # why more may fail than `failures` lists: the run stopped early, or the command runs more than one program
    partial: str = ""
    # tests that failed and then passed on the same tree
    flaky: tuple[str, ...] = ()
    # screenshots, videos and HTML that it left
    evidence: tuple[Evidence, ...] = ()
    # the files of all tests; empty if the report does not name them
    test_files: tuple[TestFile, ...] = ()
    # files of the tree in whose place its tests imported something else; packages end in "/"
    replaced: tuple[str, ...] = ()
    # files of the tree that its tests did not import, because another module of the tree has the same name; None if not
    # known, e.g. of an older report
    shadowed: tuple[str, ...] | None = None
    # printed lines that look like failures; not of a runner that reports its failures itself
    failure_lines: tuple[str, ...] = ()
    # problems with a place that a linter prints although its exit code is 0; None if not known, e.g. of an older report
    problem_lines: tuple[str, ...] | None = None
    # the last line of standard output, else of standard error: where test programs print their result
    last_line: str = ""
    # tests that passed when the project's own retries ran them again, by name or as a number
    retried: tuple[str, ...] = ()
    # of the base's failures: the constant parts of names that changed when the tests ran again, one for each failure
    changing_names: tuple[str, ...] = ()

    @property
    def has_cases(self) -> bool:
        """It names what fails."""
        return bool(self.failures or self.remarks)

    @property
    def failed_count(self) -> int | None:
        """How many tests failed; None where that is not known, which is not the same as none."""
        if self.unknown or (self.status is CheckStatus.FAILED and not self.failures):
            return None
        return self.counts.failed if self.counts else len(self.failures)

    @property
    def nothing_passes(self) -> bool:
        """All tests failed, or the only one could not even run: more likely a wrong command or set-up.

        One entry may stand for a whole module that cannot be imported, and hide all tests in it.
        """
        if not self.without_a_pass or self.counts is None:
            return False
        return self.counts.failed > 1 or any(failure.status == "error" for failure in self.failures)

    @property
    def without_a_pass(self) -> bool:
        """Tests failed, and none passed."""
        return self.counts is not None and bool(self.counts.failed) and not self.counts.passed

    @property
    def what_hides_failures(self) -> str:
        """Why a failure of a change could be hidden by the failures of this report; "" if it could not."""
        if unloaded := _first_and_more(self.failures, "error"):
            return f"the tests of {unloaded} could not be loaded"
        if document := _first_and_more(self.failures, "failed"):
            return f"{document} is a single test of many examples"
        return self.partial if self.failures else ""

    @property
    def ran_no_tests(self) -> bool:
        """A test command that found no tests, or skipped all of them: its result is the same for every change."""
        counts = self.counts
        return is_test(self.name) and counts is not None and not (counts.passed or counts.failed or self.failures)

    @property
    def why_unknown(self) -> str:
        """Why nothing is known about the tests, in one line."""
        why = self.error.strip() or f"exit code {self.exit_code}"
        cause = first_error(self.tail)
        # where the reason is known, what was printed adds nothing; progress such as `..` never does
        is_known = bool(self.hint) or cause in why or not any(map(str.isalpha, cause))
        return why if is_known else f"{why.rstrip('.')}: {cause}"

    @property
    def unknown(self) -> bool:
        """Nothing is known about the tests: it could not be run, or it crashed before it reported any."""
        if self.status is CheckStatus.ERROR:
            return True
        return self.status is CheckStatus.FAILED and bool(self.error) and not self.has_cases


INDISTINGUISHABLE = "new failures cannot be distinguished from old ones"


@dataclass(frozen=True, slots=True)
class BaseTests:
    """The tests as they are at the base, run with the code of a change that edits some of them."""

    # test files, expected output and settings of tests that the change edits or deletes
    edits: tuple[str, ...]
    # cases that passed at the base
    failures: tuple[TestFailure, ...] = ()
    # why the result cannot be compared with the base
    unknown: str = ""
    # what they print in place of what they printed at the base
    output_note: str = ""

    @property
    def note(self) -> str:
        """One line for people; "" if all tests of the base pass."""
        if self.unknown:
            return f"Unknown whether the tests of the base pass with this change, which edits tests: {self.unknown}."
        if not self.failures:
            return ""
        # pytest names a file that cannot be loaded twice, if it looks for examples in it, too
        names = list(dict.fromkeys(failure.name for failure in self.failures))
        verb = "test of the base fails" if len(names) == 1 else "tests of the base fail"
        return f"{len(names)} {verb} with this change, which edits {_few(self.edits)}: {_few(names)}."


def _few(names: Sequence[str], most: int = 3) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if names[most:] else "")


@dataclass(frozen=True, slots=True)
class Comparison:
    """One check now, against the same check at the base."""

    report: CheckReport
    baseline: CheckReport | None
    new: tuple[TestFailure, ...] = ()
    old: tuple[TestFailure, ...] = ()
    fixed: tuple[str, ...] = ()
    # problems with a place, that were not there at the base
    new_remarks: tuple[Remark, ...] = ()
    # it fails now, and no single case explains it (exit code alone, or it could not be run)
    broken: bool = False
    # changed files in whose place its tests imported something else
    replaced: tuple[str, ...] = ()
    # the same check with the tests of the base; None if the change edits no tests
    base_tests: BaseTests | None = None

    @property
    def uncountable(self) -> str:
        """Why new failures cannot be distinguished from old ones; "" where they can, or where nothing fails."""
        base, now = self.baseline, self.report
        if now.status is CheckStatus.ERROR and not self.broken:
            return f"{now.name} could not be run, neither before the change nor after it"
        if self.replaced:
            more = f" and {len(self.replaced) - 1} more" if self.replaced[1:] else ""
            return f"{now.name} imports a replacement of {self.replaced[0]}{more} instead of the file itself"
        if now.status is CheckStatus.PASSED and now.ran_no_tests:
            return f"{now.name} ran no tests"
        if now.status is CheckStatus.PASSED and (line := _new_failure_line(base, now)):
            return f"{now.name} ends with exit code 0, but prints a failure that it did not print before ({line})"
        if base is not None and base.status is now.status is CheckStatus.PASSED and (why := _ended_early(base, now)):
            return f"{now.name} {why}"
        if base is None or not (base.status is now.status is CheckStatus.FAILED):
            return ""
        if not (base.has_cases and now.has_cases):
            return f"{now.name} failed before the change and fails now, and reports no single cases"
        if base.without_a_pass and now.without_a_pass:
            return f"no test of {now.name} passes, neither before the change nor after it"
        if unloaded := _first_and_more(self.old, "error"):
            return f"the tests of {unloaded} could not be loaded, neither before the change nor after it"
        if document := _first_and_more(self.old, "failed"):
            return f"{document}, a single test of many examples, failed before the change and fails now"
        if why := now.partial or base.partial:
            return f"{now.name} failed before the change and fails now, and {why}"
        return ""

    @property
    def output_note(self) -> str:
        """What a check that ends with 0, and reports no cases, prints in place of what it printed on the base."""
        if self.base_tests and not self.base_tests.unknown:
            return self.base_tests.output_note  # edited tests print something else in any case
        base, now = self.baseline, self.report
        if base is None or not (base.status is now.status is CheckStatus.PASSED) or self.uncountable:
            return ""
        is_known = base.problem_lines is not None
        if line := _new_line(base.problem_lines or (), now.problem_lines or ()) if is_known else "":
            return f"{now.name} ends with exit code 0, but prints a problem that it did not print before: {line}"
        is_counted = (base.counts or now.counts) and SCRIPT_RESULT not in now.command
        if not is_test(now.name) or is_counted:
            return ""
        before, lines = (output_lines(one.tail) for one in (base, now))
        old, new = other_lines(before, _without_more_passes(before, lines))
        if old and not new and _PASS_LINE.search(old):
            return f"{now.name} ends with exit code 0, but does not print `{old}` any more"
        if not (old and new):
            return ""
        return f"{now.name} ends with exit code 0, but prints `{new}` where it printed `{old}` before the change"

    @property
    def retried_note(self) -> str:
        """Which tests passed only in a retry of the project's own, and at once on the base; "" if none."""
        before = self.baseline.retried if self.baseline else ()
        names = [
            name for name in self.report.retried if name not in before and not _fails_in_the_end(name, self.report)
        ]
        # a base whose tests were counted, but not named
        unnamed_count = sum(int(name.partition(" ")[0]) for name in before if re.fullmatch(r"\d{1,9} rerun", name))
        if not names or unnamed_count >= len(names) > 0 == sum(name.endswith(" rerun") for name in names):
            return ""
        since = ", and did not need that on the base" if self.baseline else ""
        return f"Flaky: tests of {self.report.name} passed only because failed tests run again{since}: {_few(names)}."

    @property
    def clean(self) -> bool:
        """Nothing that this change is to blame for."""
        return not (self.new or self.new_remarks or self.broken)


def _fails_in_the_end(test: str, report: CheckReport) -> bool:
    """Whether a test that was retried failed each time. pytest's number of reruns has those tests, too."""
    if report.status is CheckStatus.FAILED and test.endswith(" rerun"):
        return True
    return any(test in failure.name or failure.name in test for failure in report.failures)


# Part of the command that `init` writes for test scripts. Each script is one test, whatever it prints.
SCRIPT_RESULT = '>&2 && echo "ok $n - $t"'
# npm, yarn and make show what they start, and warnings of their own
_LAUNCHER_LINE = re.compile(r"> |\$ |yarn run v|Done in |npm (?:warn|notice)\b|\S*make(?:\[\d+\])?: ", re.I)
FAILURE_COUNT = re.compile(
    r"\b[1-9]\d{0,8} (?:\w+ ){0,2}fail(?:ed|ures?|ing)\b|\bfail(?:ed|ures?|ing)?\s?[:=]\s*[1-9]\d{0,8}\b", re.I
)

_PASS_LINE = re.compile(r"^\s*[✓✔√]|\b(?:ok|pass(?:ed)?)\b", re.I)
_PASS_COUNT = re.compile(
    r"\b(\d{1,8}) (?:\w+ ){0,2}(?:ok|pass(?:ed|es|ing)?|succeeded|successful)\b"
    r"|\b(?:ok|pass(?:ed|es|ing)?|succeeded)\s?[:=]\s*(\d{1,8})\b",
    re.I,
)


def _new_failure_line(base: CheckReport | None, now: CheckReport) -> str:
    """The first printed failure that the base did not print; "" if there is none."""
    return _new_line(base.failure_lines if base else (), now.failure_lines)


def _new_line(before: Iterable[str], now: Iterable[str]) -> str:
    """The first of these lines that was not there before; "" if there is none."""
    remaining = Counter(map(_without_numbers, before))
    for line in now:
        remaining[_without_numbers(line)] -= 1
        if remaining[_without_numbers(line)] < 0:
            return " ".join(line.split())[:200]
    return ""


def _without_numbers(line: str) -> str:
    """The line without what differs in each run (durations, addresses); a number of failures stays."""
    return line if FAILURE_COUNT.fullmatch(line) else re.sub(r"0x[0-9a-fA-F]+|\d+", "#", line)


def _ended_early(base: CheckReport, now: CheckReport) -> str:
    """Why tests that report no cases may have ended before their last test; "" if nothing shows that."""
    if not is_test(now.name) or ((base.counts or now.counts) and SCRIPT_RESULT not in now.command):
        return ""
    before, lines = ([_without_numbers(line) for line in output_lines(one.tail)] for one in (base, now))
    if before and not lines:
        return "printed its results before the change and prints nothing now: it may have run no tests"
    if fewer := _fewer_passes(base.last_line, now.last_line):
        return fewer
    if not base.last_line or _without_numbers(base.last_line) in lines or Counter(lines) - Counter(before):
        return ""
    return f"prints less than before the change, and not its last line ({base.last_line}): it may have ended early"


def _fewer_passes(before: str, now: str) -> str:
    """That a lower number of passed tests is in the last line; "" if it is not."""
    counts = [_PASS_COUNT.search(line) for line in (before, now)]
    old, new = (int(count[1] or count[2]) if count else 0 for count in counts)
    is_fewer = _without_numbers(before) == _without_numbers(now) and new < old
    return f"reports {new} passed tests instead of {old}" if is_fewer else ""


def _without_more_passes(before: Sequence[str], now: Sequence[str]) -> list[str]:
    """The lines that are printed now. A summary in which only the number of passed tests is higher is as it was."""
    old_lines, lines = ([line for line in one if _PASS_COUNT.search(line)] for one in (before, now))
    numbers = Counter(map(_without_numbers, (*old_lines, *lines)))
    pairs = [(old, new) for old in old_lines for new in lines if _without_numbers(old) == _without_numbers(new)]
    as_before = {new: old for old, new in pairs if numbers[_without_numbers(old)] == 2 and _has_more_passes(old, new)}
    return [as_before.get(line, line) for line in now]


def _has_more_passes(before: str, now: str) -> bool:
    """Whether all numbers are equal or have risen as that of the passed tests; one that was 0 stays."""
    numbers = [list(map(int, re.findall(r"\d{1,9}", line))) for line in (before, now)]
    rises = [new - old for old, new in zip(*numbers, strict=False) if new != old]
    zeros = [new for old, new in zip(*numbers, strict=False) if old == 0]
    return not any(zeros) and len(set(rises)) == 1 and min(rises) > 0 and not FAILURE_COUNT.search(now)


def output_lines(text: str) -> list[str]:
    """The lines that a program printed, without those of the program that started it."""
    lines = (line.strip() for line in text.splitlines() if not _LAUNCHER_LINE.match(line))
    return [line[:200] for line in lines if line]


# -- flaky ----------------------------------------------------------------------------------------
# Tests that fail and then pass on the same tree: when that excuses them, and what it does to a report.

# More new failures than this are not run again: that many at once are not chance.
MAX_RERUN = 10
_PLACES = (re.compile(r'File "([^"\n]+)", line (\d{1,8})'), re.compile(r"([\w./@+-]+\.\w{1,8}):(\d{1,8})\b"))


def is_blamed(failure: TestFailure, change: Change) -> bool:
    """Whether the change touches the test itself or a line in its traceback."""
    return any(_touches_test(failure, file) for file in change.files) or _crosses(failure.message, change)


def _touches_test(failure: TestFailure, file: ChangedFile) -> bool:
    paths = {path for path in (file.path, file.old_path) if path}
    if failure.file:
        return failure.file in paths
    # Some runners name no file: a test is then known by the class, module or folder in its name.
    words = set(re.split(r"[^\w-]+", failure.name))
    return any(PurePosixPath(path).stem in words or path in failure.name for path in paths)


def _crosses(message: str, change: Change) -> bool:
    lines_by_path = {file.path: file.changed_lines() for file in change.files if file.hunks}
    for pattern in _PLACES:
        for place, line in pattern.findall(message):
            if any(_is_same_file(place, path) and int(line) in lines for path, lines in lines_by_path.items()):
                return True
    return False


def _is_same_file(place: str, path: str) -> bool:
    """A traceback may name a file by its full path, from the root, or by its name alone."""
    return place == path or place.endswith(f"/{path}") or path.endswith(f"/{place.removeprefix('./')}")


def without_flaky(report: CheckReport, names: Collection[str]) -> CheckReport:
    """The report with these failures counted as passed, since they passed when they were run again."""
    flaky = tuple(one for one in report.failures if one.name in names)
    if not flaky:
        return report
    failures = tuple(one for one in report.failures if one.name not in names)
    counts = report.counts
    if counts:
        # a case with several failed subtests is counted once
        cases = min(len(flaky), counts.failed)
        counts = Counts(counts.total, counts.passed + cases, counts.failed - cases, counts.skipped)
    status = report.status if failures or report.remarks else CheckStatus.PASSED
    flaky_names = (*report.flaky, *(one.name for one in flaky))
    return replace(report, failures=failures, counts=counts, status=status, flaky=flaky_names)


# -- compare --------------------------------------------------------------------------------------
# Compares a check's report with its report at the base, to find what the change broke.

T = TypeVar("T")


def compare(report: CheckReport, baseline: CheckReport | None) -> Comparison:
    """Sort failures into new and old. Without a usable baseline all failures are new."""
    base = baseline if baseline and baseline.status is not CheckStatus.ERROR else None
    key = _failure_key(report, base)
    new, old = _split(report.failures, base.failures if base else (), key=key)
    if base and base.changing_names:
        new, old_again = _without_changing_names(new, base.changing_names)
        old = (*old, *old_again)
    new_remarks, _ = _split(report.remarks, base.remarks if base else (), key=_identity)
    return Comparison(
        report=report,
        baseline=base,
        new=new,
        old=old,
        fixed=_fixed(report, base, key),
        new_remarks=new_remarks,
        broken=not new and not new_remarks and _broken(report, base),
    )


def about_change(comparison: Comparison, change: Change) -> Comparison:
    """The comparison with the changed files that its tests replaced by something else."""
    report, base = comparison.report, comparison.baseline
    places = {*report.replaced}
    if base and base.shadowed is not None:  # in another part of a repository, the same names are there before, too
        places |= {*(report.shadowed or ())} - {*base.shadowed}
    files = (file.path for file in change.files if file.path.endswith(".py"))
    paths = tuple(path for path in files if any(path == one or _is_in(path, one) for one in places))
    return replace(comparison, replaced=paths) if paths else comparison


def _is_in(path: str, package: str) -> bool:
    return package.endswith("/") and path.startswith(package)


def _split(
    now: Iterable[T], before: Iterable[T], *, key: Callable[[T], Hashable]
) -> tuple[tuple[T, ...], tuple[T, ...]]:
    """New and old items; of two equal items where the base had one, one is new and one is old."""
    remaining = Counter(key(one) for one in before)
    new: list[T] = []
    old: list[T] = []
    for one in now:
        is_old = remaining[key(one)] > 0
        remaining[key(one)] -= is_old
        (old if is_old else new).append(one)
    return tuple(new), tuple(old)


def _failure_key(report: CheckReport, base: CheckReport | None) -> Callable[[TestFailure], Hashable]:
    """Name and file: node:test and mocha leave the file out of the name, and tests of two files may share one."""
    failures = (*report.failures, *(base.failures if base else ()))
    without_file = {one.name for one in failures if one.file is None}
    return lambda one: (one.name, None if one.name in without_file else one.file)


def _identity(remark: Remark) -> tuple[str | None, str, str]:
    # Line numbers shift with every edit above them, and some linters put them into their messages.
    return remark.file, remark.rule, re.sub(r"\d+", "#", remark.title)


def _fixed(report: CheckReport, base: CheckReport | None, key: Callable[[TestFailure], Hashable]) -> tuple[str, ...]:
    if base is None or report.counts is None or report.status is CheckStatus.ERROR:
        return ()
    still = {key(one) for one in report.failures}
    names = dict.fromkeys(one.name for one in base.failures if key(one) not in still)
    return tuple(name for name in names if constant_part(name) not in base.changing_names)


# A parameter at the end of a name, addresses, UUIDs, hashes and numbers.
_PARAMETER = re.compile(r"(?<=\S)\[.*\]$", re.S)
_CHANGING = re.compile(r"0x[0-9a-f]+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{12,}\b|\d+", re.I)


def constant_part(name: str) -> str:
    """The name of a test without what may differ in each run: `test_sum[1763500000]` → `test_sum[#]`."""
    plain = _PARAMETER.sub("[#]", name)
    return plain if plain != name else _CHANGING.sub("#", name)


def _without_changing_names(
    failures: Iterable[TestFailure], changing_names: Iterable[str]
) -> tuple[tuple[TestFailure, ...], tuple[TestFailure, ...]]:
    """New and old failures: as many are old as the base had under changing names."""
    remaining = Counter(changing_names)
    new: list[TestFailure] = []
    old: list[TestFailure] = []
    for one in failures:
        part = constant_part(one.name)
        is_old = remaining[part] > 0
        remaining[part] -= is_old
        (old if is_old else new).append(one)
    return tuple(new), tuple(old)


def _broken(report: CheckReport, base: CheckReport | None) -> bool:
    """True if the check fails and neither a new failure nor the state of the base explains it."""
    if report.status is CheckStatus.PASSED:
        return False
    if report.status is CheckStatus.ERROR or base is None or base.status is CheckStatus.PASSED:
        return True
    had_cases, has_cases = _has_cases(base), _has_cases(report)
    return report.exit_code != base.exit_code or (had_cases and not has_cases)


def _has_cases(report: CheckReport) -> bool:
    return bool(report.failures or report.remarks)
