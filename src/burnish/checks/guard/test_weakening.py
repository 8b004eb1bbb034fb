"""Finds changes that reduce testing. Counts all test files together, so that moved tests are not reported."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from burnish.checks.guard.python_tests import hollow_tests
from burnish.checks.guard.test_counts import (
    TestCounts,
    asserts_nothing,
    has_inline_tests,
    is_skip,
    squeeze,
    test_names,
    testing_in,
)
from burnish.core.change import Change, ChangedFile
from burnish.core.check import CheckReport, CheckStatus, Comparison, Counts
from burnish.core.review_checks import is_test_path

Text = Callable[[str], str | None]
# `ignore` is reported as a skip.
_CONSTRAINT = re.compile(r"^//(?:go:build[ \t]+(?!ignore\b)|[ \t]*\+build[ \t]+)[^\n]*", re.MULTILINE)
# Attributes of a test in Rust, and the tests of its documentation.
_PANIC_WANTED = re.compile(r"#\[should_panic\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:async\s+)?fn\s+(\w+)|fn\s+(\w+)")
_DOC_TEST = re.compile(r"\s*//[/!]\s*```\s*(?:rust)?\s*$")
_UNTESTED_DOC = re.compile(r"\s*//[/!]\s*```\s*(?:rust,)?\s*(?:no_run|ignore|text|compile_fail|should_panic)\b")
_CONDITION = re.compile(r"skip_?if|skip_?unless|importorskip|\bif\b|\bunless\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Loss:
    """One way in which there is less testing than before."""

    title: str
    reason: str
    file: str | None = None
    line: int | None = None
    quote: str = ""
    # all that the reason has room for only some of
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _FileTests:
    """One changed path, before and after."""

    file: ChangedFile
    old: TestCounts
    new: TestCounts
    new_text: str | None
    old_text: str | None


def thinning(change: Change, comparisons: tuple[Comparison, ...], old_text: Text, new_text: Text) -> list[Loss]:
    test_files = [file_tests for file in change.files if (file_tests := _file_tests(file, old_text, new_text))]
    count_pairs = [pair for comparison in comparisons if (pair := _counts(comparison))]
    # The test runner's own count is the most reliable.
    as_many = bool(count_pairs) and all(now.total >= before.total for before, now in count_pairs)
    deletions = [] if as_many else list(_deleted_tests(test_files))
    skips = list(_new_skips(test_files))
    hollow = list(_hollow_tests(test_files))
    explained_files = {loss.file for loss in hollow}
    fewer_assertions = _fewer_assertions(test_files, as_many=as_many, has_deletions=bool(deletions))
    lost_assertions = [loss for loss in fewer_assertions if loss.file not in explained_files]
    final = [(one, pair) for one in comparisons if not _may_have_stopped(one) and (pair := _counts(one))]
    by_count = list(_by_count([pair for _, pair in final], has_deletions=bool(deletions), has_skips=bool(skips)))
    by_file = [loss for one, _ in final for loss in _by_file(one, change)] if not by_count else []
    return [*deletions, *skips, *hollow, *lost_assertions, *by_count, *by_file, *_missing_counts(comparisons)]


def lost_tests(change: Change, comparisons: tuple[Comparison, ...], old_text: Text, new_text: Text) -> list[Loss]:
    """Tests that were deleted or disabled, from the texts alone, without counting assertions."""
    test_files = [
        file_tests for file in change.files if (file_tests := _file_tests(file, old_text, new_text, assertions=False))
    ]
    count_pairs = [pair for comparison in comparisons if (pair := _counts(comparison))]
    as_many = bool(count_pairs) and all(now.total >= before.total for before, now in count_pairs)
    skips = (loss for loss in _new_skips(test_files) if _switches_off(test_files, loss))
    return [*([] if as_many else _deleted_tests(test_files)), *skips, *_hollow_tests(test_files)]


def _switches_off(test_files: list[_FileTests], loss: Loss) -> bool:
    """True if the skip is unconditional and affects a test that ran before."""
    file_tests = next((one for one in test_files if one.file.path == loss.file), None)
    # a file without earlier tests has nothing to switch off: a new one may have thousands of skips
    if file_tests is None or not file_tests.old.names or loss.line is None or _CONDITION.search(loss.quote):
        return False
    lines = (file_tests.new_text or "").split("\n")
    above = lines[: loss.line - 1]
    previous = next((line for line in reversed(above) if line.strip()), "")
    if re.match(r"\s*(?:}\s*)?(?:if|else|elif|unless|case|except|catch)\b", previous):
        return False
    path = file_tests.file.path
    below = test_names(path, "\n".join(lines[loss.line - 1 : loss.line + 6]))
    names = below[:1] if below else test_names(path, "\n".join(above))[-1:]
    return any(name in file_tests.old.names for name in names) or (not names and bool(file_tests.old.names))


def _file_tests(file: ChangedFile, old_text: Text, new_text: Text, *, assertions: bool = True) -> _FileTests | None:
    if file.binary or file.is_submodule or file.is_symlink:
        return None
    old_path = file.old_path or file.path
    maybe = is_test_path(old_path) or is_test_path(file.path) or file.path.endswith(".rs")
    if not maybe:
        return None
    old = None if file.status == "A" else old_text(old_path)
    new = None if file.status == "D" else new_text(file.path)
    was = is_test_path(old_path) or has_inline_tests(old_path, old)
    # A test file that was renamed to another pattern is no longer run.
    now = is_test_path(file.path) or has_inline_tests(file.path, new)
    before = testing_in(old_path, old, assertions=assertions) if was else TestCounts()
    after = testing_in(file.path, new, assertions=assertions) if now else TestCounts()
    return _FileTests(file, before, after, new, old)


def _counts(comparison: Comparison) -> tuple[Counts, Counts] | None:
    """The counts before and now; None if either is unknown. Unknown is never zero."""
    now, before = comparison.report, comparison.baseline
    if before is None or now.counts is None or before.counts is None:
        return None
    if CheckStatus.ERROR in (now.status, before.status) or comparison.broken:
        return None
    # An error in collection is a failure already, and hides the number of tests.
    if any(failure.status == "error" for failure in (*now.failures, *before.failures)):
        return None
    return before.counts, now.counts


def _may_have_stopped(comparison: Comparison) -> bool:
    """True if new failures send the change back to its author, and may have ended the run (`pytest -x`, `--bail`).

    The tests are counted when they pass.
    """
    return bool(comparison.new) and comparison.report.blocking


def _by_count(count_pairs: list[tuple[Counts, Counts]], *, has_deletions: bool, has_skips: bool) -> Iterator[Loss]:
    for before, now in count_pairs:
        if now.total < before.total and not has_deletions:
            yield Loss(
                f"Fewer tests than before: {before.total} → {now.total}",
                f"At the base {before.total} tests were collected, now {now.total}. "
                "Tests that are no longer run cannot fail.",
            )
        if now.skipped > before.skipped and not has_skips:
            yield Loss(
                f"More tests are skipped than before: {before.skipped} → {now.skipped}",
                f"At the base {before.skipped} of {before.total} tests were skipped or expected to fail, "
                f"now {now.skipped} of {now.total}.",
            )


def _by_file(comparison: Comparison, change: Change) -> Iterator[Loss]:
    """Files that the change leaves as they were, and of which fewer tests run than before."""
    if comparison.baseline is None or not comparison.report.test_files:
        return
    before, now = _run_by_file(comparison.baseline), _run_by_file(comparison.report)
    for path in sorted(before.keys() - {file.old_path or file.path for file in change.files}):
        if now[path] < before[path]:
            yield Loss(
                f"Fewer tests of {path} than before: {before[path]} → {now[path]}",
                f"The change does not edit {path}. At the base {before[path]} of its tests ran, now {now[path]}.",
            )


def _run_by_file(report: CheckReport) -> Counter[str]:
    return _add_up(Counter({file.path: file.run}) for file in report.test_files)


def _missing_counts(comparisons: tuple[Comparison, ...]) -> Iterator[Loss]:
    """Checks that had a test report at the base and have none now, and do not fail for another reason."""
    for comparison in comparisons:
        before, now = comparison.baseline, comparison.report
        if before is None or not before.counts or not before.counts.total or now.counts is not None:
            continue
        if not comparison.broken and not comparison.new and now.status is not CheckStatus.ERROR:
            yield Loss(
                f"The number of tests in `{now.name}` is unknown: {before.counts.total} → ?",
                f"At the base the report of `{now.command}` listed {before.counts.total} tests; now there is no "
                "readable report, so it is unknown whether any test ran.",
            )


def _add_up(counters: Iterable[Counter[str]]) -> Counter[str]:
    total = Counter[str]()
    for counter in counters:
        total.update(counter)
    return total


def _deleted_tests(test_files: list[_FileTests]) -> Iterator[Loss]:
    """Tests that no longer exist, unless as many new ones replace them."""
    before = _add_up(file_tests.old.names for file_tests in test_files)
    after = _add_up(file_tests.new.names for file_tests in test_files)
    missing = before - after
    if missing.total() <= (after - before).total():
        return
    for file_tests in test_files:
        names = [
            name
            for name in file_tests.old.names
            if name in missing and file_tests.old.names[name] > file_tests.new.names[name]
        ]
        if not names:
            continue
        path = file_tests.file.old_path or file_tests.file.path
        name_list = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        if file_tests.file.status == "D":
            reason = f"Its tests were not moved elsewhere: {name_list}."
            yield Loss(f"Test file deleted: {path}", reason, path, None, names[0], tuple(names))
        else:
            title = f"{len(names)} test{'s' * (len(names) > 1)} deleted in {path}"
            line = min(_first_change(file_tests.file), max(1, (file_tests.new_text or "").count("\n")))
            yield Loss(
                title,
                f"Deleted: {name_list}. Nothing checks this behaviour any more.",
                file_tests.file.path,
                line,
                names[0],
                tuple(names),
            )


def _new_skips(test_files: list[_FileTests]) -> Iterator[Loss]:
    before = _add_up(file_tests.old.skips for file_tests in test_files)
    after = _add_up(file_tests.new.skips for file_tests in test_files)
    if after.total() <= before.total():
        return
    new_skips = after - before
    for file_tests in test_files:
        changed_lines = file_tests.file.changed_lines()
        # Line numbers as in git: only line feeds end a line.
        numbered_lines = enumerate((file_tests.new_text or "").split("\n"), 1)
        edited_lines = ((number, line) for number, line in numbered_lines if number in changed_lines)
        for number, piece in ((number, piece) for number, line in edited_lines for piece in line.splitlines()):
            words = squeeze(piece)
            if new_skips[words] > 0 and is_skip(piece):
                new_skips[words] -= 1
                yield Loss(
                    f"Tests are disabled: {words[:80]}",
                    "This line keeps tests from running or from counting. A test that is skipped, expected to fail, "
                    "or left out by a focused test (`only`) proves nothing.",
                    file_tests.file.path,
                    number,
                    words,
                )


def _hollow_tests(test_files: list[_FileTests]) -> Iterator[Loss]:
    """Tests that keep their names but can no longer fail, even if other tests gained assertions."""
    for file_tests in test_files:
        path = file_tests.file.path
        if path.endswith(".py"):
            for test in hollow_tests(file_tests.old_text or "", file_tests.new_text or ""):
                lines = (file_tests.new_text or "").split("\n")
                quote = squeeze(lines[test.line - 1]) if test.line <= len(lines) else ""
                yield Loss(
                    f"{test.name} no longer tests what it tested before",
                    f"At the base it asserted something; now {test.reason}.",
                    path,
                    test.line,
                    quote,
                )
        else:
            yield from _replaced_assertions(file_tests)
            yield from _new_constraints(file_tests) if path.endswith("_test.go") else ()
            yield from _inverted_tests(file_tests) if path.endswith(".rs") else ()


def _inverted_tests(file_tests: _FileTests) -> Iterator[Loss]:
    """Rust tests that must panic now and did not before, and examples of documentation that are not run any more."""
    old, new = file_tests.old_text or "", file_tests.new_text or ""
    before = _expected_panics(old)
    for name, number in _expected_panics(new).items():
        if number and before.get(name) == 0:
            yield Loss(
                f"{name} passes now if it fails: #[should_panic]",
                "It ran without this attribute before, so that a failure of it was a failure.",
                file_tests.file.path,
                number,
                "#[should_panic]",
            )
    for line, old_lines, new_lines in _edits(file_tests.file):
        fences = [text for text in new_lines if _UNTESTED_DOC.match(text)]
        if fences and any(map(_DOC_TEST.match, old_lines)):
            yield Loss(
                f"An example of the documentation is not run any more: {squeeze(fences[0])}",
                "It was a test that ran.",
                file_tests.file.path,
                line,
                squeeze(fences[0]),
            )


def _expected_panics(text: str) -> dict[str, int]:
    """Functions with the line of their `#[should_panic]`; 0 without one. Names that occur twice are left out."""
    found = list(_PANIC_WANTED.finditer(text))
    names = Counter(match[1] or match[2] for match in found)
    numbers = ((match[1] or match[2], text.count("\n", 0, match.start()) + 1 if match[1] else 0) for match in found)
    return {name: number for name, number in numbers if names[name] == 1}


def _new_constraints(file_tests: _FileTests) -> Iterator[Loss]:
    """New build constraints in a Go test file, which is not compiled without their tags."""
    if not file_tests.old.names:
        return
    before = set(_CONSTRAINT.findall(file_tests.old_text or ""))
    for match in _CONSTRAINT.finditer(file_tests.new_text or ""):
        if match[0] not in before:
            yield Loss(
                f"Tests are disabled: {squeeze(match[0])[:80]}",
                "The tests of this file ran without this constraint. Without its tags none of them runs.",
                file_tests.file.path,
                match.string.count("\n", 0, match.start()) + 1,
                squeeze(match[0]),
            )


def _replaced_assertions(file_tests: _FileTests) -> Iterator[Loss]:
    """`expect(true).toBe(true)` in place of an assertion that could fail."""
    path = file_tests.file.path
    for line, old_lines, new_lines in _edits(file_tests.file):
        empty = [text for text in new_lines if asserts_nothing(text)]
        if len(empty) <= sum(map(asserts_nothing, old_lines)):
            continue
        before, after = (testing_in(path, "\n".join(lines)).assertions for lines in (old_lines, new_lines))
        if after < before:
            yield Loss(
                f"An assertion in {path} cannot fail: {squeeze(empty[0])[:80]}",
                "It replaces an assertion that could fail. A test that asserts nothing always passes.",
                path,
                line,
                squeeze(empty[0]),
            )


def _edits(file: ChangedFile) -> Iterator[tuple[int, list[str], list[str]]]:
    """Each block of changed lines: its line number in the new file, the old lines and the new lines."""
    for hunk in file.hunks:
        here, old_lines, new_lines = hunk.new_start, list[str](), list[str]()
        for line in (*hunk.text.split("\n")[1:], " "):
            if line.startswith("-"):
                old_lines.append(line[1:])
            elif line.startswith("+"):
                new_lines.append(line[1:])
            else:
                if old_lines or new_lines:
                    yield here, old_lines, new_lines
                here, old_lines, new_lines = here + len(new_lines) + 1, [], []


def _fewer_assertions(test_files: list[_FileTests], *, as_many: bool, has_deletions: bool) -> Iterator[Loss]:
    before = sum(file_tests.old.assertions for file_tests in test_files)
    after = sum(file_tests.new.assertions for file_tests in test_files)
    if after >= before or has_deletions:
        return
    # Fewer lines that do as much: three tests become one with three cases.
    more_cases = sum(file_tests.new.multipliers - file_tests.old.multipliers for file_tests in test_files) > 0
    fewer_tests = sum(file_tests.new.names.total() - file_tests.old.names.total() for file_tests in test_files) < 0
    if more_cases and after and (as_many or not fewer_tests):
        return
    for file_tests in test_files:
        difference = file_tests.old.assertions - file_tests.new.assertions
        if difference > 0:
            path = file_tests.file.path
            yield Loss(
                f"Fewer assertions in {path}: {file_tests.old.assertions} → {file_tests.new.assertions}",
                f"The test files of this change have {after} assertions together; before they had {before}. "
                "A test that asserts less passes more easily.",
                path,
                None if file_tests.new_text is None else _first_change(file_tests.file),
                _removed_assertion(file_tests),
            )


def _removed_assertion(file_tests: _FileTests) -> str:
    for hunk in file_tests.file.hunks:
        for line in hunk.text.split("\n")[1:]:
            if line.startswith("-") and testing_in(file_tests.file.path, line[1:]).assertions:
                return squeeze(line[1:])
    return ""


def _first_change(file: ChangedFile) -> int:
    changed_lines = file.changed_lines()
    if changed_lines:
        return min(changed_lines)
    return max(1, file.hunks[0].new_start) if file.hunks else 1
