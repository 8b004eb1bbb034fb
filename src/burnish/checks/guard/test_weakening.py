"""Is there less testing than before? Over all test files together: what only moved is no loss."""

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
    is_test_path,
    squeeze,
    test_names,
    testing_in,
)
from burnish.core.change import Change, ChangedFile
from burnish.core.check import CheckStatus, Comparison, Counts

Text = Callable[[str], str | None]
# `ignore` is found as a skip, with the reason of those
_CONSTRAINT = re.compile(r"^//(?:go:build[ \t]+(?!ignore\b)|[ \t]*\+build[ \t]+)[^\n]*", re.MULTILINE)
_CONDITION = re.compile(r"skip_?if|skip_?unless|importorskip|\bif\b|\bunless\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Loss:
    """One way in which there is less testing than before."""

    title: str
    reason: str
    file: str | None = None
    line: int | None = None
    quote: str = ""


@dataclass(frozen=True, slots=True)
class _FileTests:
    """One changed path, before and after."""

    file: ChangedFile
    old: TestCounts
    new: TestCounts
    new_text: str | None
    old_text: str | None


def thinning(change: Change, comparisons: tuple[Comparison, ...], old_text: Text, new_text: Text) -> list[Loss]:
    tested = [seen for file in change.files if (seen := _seen(file, old_text, new_text))]
    counted = [pair for comparison in comparisons if (pair := _counts(comparison))]
    # the program that runs the tests knows best how many there are
    as_many = bool(counted) and all(now.total >= before.total for before, now in counted)
    deleted = [] if as_many else list(_deleted(tested))
    skipped = list(_skipped(tested))
    hollow = list(_hollow(tested))
    explained = {loss.file for loss in hollow}
    fewer = _asserted(tested, as_many=as_many, deleted=bool(deleted))
    asserted = [loss for loss in fewer if loss.file not in explained]
    by_count = _by_count(counted, deleted=bool(deleted), skipped=bool(skipped))
    return [*deleted, *skipped, *hollow, *asserted, *by_count, *_uncounted(comparisons)]


def lost_tests(change: Change, comparisons: tuple[Comparison, ...], old_text: Text, new_text: Text) -> list[Loss]:
    """Tests that are gone or switched off, by the texts alone; the number of assertions is left aside."""
    tested = [seen for file in change.files if (seen := _seen(file, old_text, new_text, assertions=False))]
    counted = [pair for comparison in comparisons if (pair := _counts(comparison))]
    as_many = bool(counted) and all(now.total >= before.total for before, now in counted)
    skipped = (loss for loss in _skipped(tested) if _switches_off(tested, loss))
    return [*([] if as_many else _deleted(tested)), *skipped, *_hollow(tested)]


def _switches_off(tested: list[_FileTests], loss: Loss) -> bool:
    """Is it, without a condition, a test that ran before? New tests that need a certain system are left alone."""
    seen = next((one for one in tested if one.file.path == loss.file), None)
    if seen is None or loss.line is None or _CONDITION.search(loss.quote):
        return False
    lines = (seen.new_text or "").split("\n")
    above = lines[: loss.line - 1]
    previous = next((line for line in reversed(above) if line.strip()), "")
    if re.match(r"\s*(?:}\s*)?(?:if|else|elif|unless|case|except|catch)\b", previous):
        return False
    path = seen.file.path
    below = test_names(path, "\n".join(lines[loss.line - 1 : loss.line + 6]))
    names = below[:1] if below else test_names(path, "\n".join(above))[-1:]
    return any(name in seen.old.names for name in names) or (not names and bool(seen.old.names))


def _seen(file: ChangedFile, old_text: Text, new_text: Text, *, assertions: bool = True) -> _FileTests | None:
    if file.binary or file.is_submodule or file.is_symlink:
        return None
    old_path = file.old_path or file.path
    maybe = is_test_path(old_path) or is_test_path(file.path) or file.path.endswith(".rs")
    if not maybe:
        return None
    old = None if file.status == "A" else old_text(old_path)
    new = None if file.status == "D" else new_text(file.path)
    was = is_test_path(old_path) or has_inline_tests(old_path, old)
    # a test file that is given another kind of name is not run any more
    now = is_test_path(file.path) or has_inline_tests(file.path, new)
    before = testing_in(old_path, old, assertions=assertions) if was else TestCounts()
    after = testing_in(file.path, new, assertions=assertions) if now else TestCounts()
    return _FileTests(file, before, after, new, old)


def _counts(comparison: Comparison) -> tuple[Counts, Counts] | None:
    """Collected before and now; None where either is unknown. Unknown is never zero."""
    now, before = comparison.report, comparison.baseline
    if before is None or now.counts is None or before.counts is None:
        return None
    if CheckStatus.ERROR in (now.status, before.status) or comparison.broken:
        return None
    # what could not even be collected is a failure already, and hides how many there are
    if any(failure.status == "error" for failure in (*now.failures, *before.failures)):
        return None
    return before.counts, now.counts


def _by_count(counted: list[tuple[Counts, Counts]], *, deleted: bool, skipped: bool) -> Iterator[Loss]:
    for before, now in counted:
        if now.total < before.total and not deleted:
            yield Loss(
                f"Fewer tests than before: {before.total} → {now.total}",
                f"At the base {before.total} tests were collected, now {now.total}. "
                "Tests that are no longer run cannot fail.",
            )
        if now.skipped > before.skipped and not skipped:
            yield Loss(
                f"More tests are skipped than before: {before.skipped} → {now.skipped}",
                f"At the base {before.skipped} of {before.total} tests were skipped or expected to fail, "
                f"now {now.skipped} of {now.total}.",
            )


def _uncounted(comparisons: tuple[Comparison, ...]) -> Iterator[Loss]:
    """A check that had a report of its tests at the base and has none now, and does not fail for another reason."""
    for comparison in comparisons:
        before, now = comparison.baseline, comparison.report
        if before is None or not before.counts or not before.counts.total or now.counts is not None:
            continue
        if not comparison.broken and not comparison.new and now.status is not CheckStatus.ERROR:
            yield Loss(
                f"The number of tests in `{now.name}` is unknown: {before.counts.total} → ?",
                f"At the base the report of `{now.command}` listed {before.counts.total} tests; now there is no report "
                "that can be read, so that nothing shows that any test was run.",
            )


def _add_up(counters: Iterable[Counter[str]]) -> Counter[str]:
    total = Counter[str]()
    for counter in counters:
        total.update(counter)
    return total


def _deleted(tested: list[_FileTests]) -> Iterator[Loss]:
    """Tests that are nowhere any more, unless as many others took their place."""
    before = _add_up(seen.old.names for seen in tested)
    after = _add_up(seen.new.names for seen in tested)
    gone = before - after
    if gone.total() <= (after - before).total():
        return
    for seen in tested:
        names = [name for name in seen.old.names if name in gone and seen.old.names[name] > seen.new.names[name]]
        if not names:
            continue
        where = seen.file.old_path or seen.file.path
        said = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        if seen.file.status == "D":
            yield Loss(f"Test file deleted: {where}", f"Its tests are nowhere else now: {said}.", where, None, names[0])
        else:
            title = f"{len(names)} test{'s' * (len(names) > 1)} deleted in {where}"
            spot = min(_first_change(seen.file), max(1, (seen.new_text or "").count("\n")))
            yield Loss(
                title, f"Gone: {said}. What they checked is not checked any more.", seen.file.path, spot, names[0]
            )


def _skipped(tested: list[_FileTests]) -> Iterator[Loss]:
    before = _add_up(seen.old.skips for seen in tested)
    after = _add_up(seen.new.skips for seen in tested)
    if after.total() <= before.total():
        return
    fresh = after - before
    for seen in tested:
        changed = seen.file.changed_lines()
        # numbered as git numbers them, at line feeds only
        numbered = enumerate((seen.new_text or "").split("\n"), 1)
        touched = ((number, line) for number, line in numbered if number in changed)
        for number, piece in ((number, piece) for number, line in touched for piece in line.splitlines()):
            words = squeeze(piece)
            if fresh[words] > 0 and is_skip(piece):
                fresh[words] -= 1
                yield Loss(
                    f"Tests are switched off: {words[:80]}",
                    "This line keeps tests from being run or from counting. A test that is skipped, expected to fail, "
                    "or left out because others are singled out proves nothing.",
                    seen.file.path,
                    number,
                    words,
                )


def _hollow(tested: list[_FileTests]) -> Iterator[Loss]:
    """Tests that keep their names and cannot fail any more, however many assertions others have gained."""
    for seen in tested:
        path = seen.file.path
        if path.endswith(".py"):
            for test in hollow_tests(seen.old_text or "", seen.new_text or ""):
                lines = (seen.new_text or "").split("\n")
                quote = squeeze(lines[test.line - 1]) if test.line <= len(lines) else ""
                yield Loss(
                    f"{test.name} does not test what it tested",
                    f"At the base it asserted something; now {test.reason}.",
                    path,
                    test.line,
                    quote,
                )
        else:
            yield from _replaced_assertions(seen)
            yield from _constrained(seen) if path.endswith("_test.go") else ()


def _constrained(seen: _FileTests) -> Iterator[Loss]:
    """A build constraint that a Go test file did not have: without its tags the file is not compiled."""
    if not seen.old.names:
        return
    before = set(_CONSTRAINT.findall(seen.old_text or ""))
    for match in _CONSTRAINT.finditer(seen.new_text or ""):
        if match[0] not in before:
            yield Loss(
                f"Tests are switched off: {squeeze(match[0])[:80]}",
                "The file had tests that ran without this constraint. Where its tags are not set, none of them is run.",
                seen.file.path,
                match.string.count("\n", 0, match.start()) + 1,
                squeeze(match[0]),
            )


def _replaced_assertions(seen: _FileTests) -> Iterator[Loss]:
    """`expect(true).toBe(true)` in the place of an assertion that could fail."""
    path = seen.file.path
    for line, removed, added in _edits(seen.file):
        empty = [text for text in added if asserts_nothing(text)]
        if len(empty) <= sum(map(asserts_nothing, removed)):
            continue
        before, after = (testing_in(path, "\n".join(some)).assertions for some in (removed, added))
        if after < before:
            yield Loss(
                f"An assertion in {path} cannot fail: {squeeze(empty[0])[:80]}",
                "It stands in the place of one that could. A test that asserts nothing passes whatever the code does.",
                path,
                line,
                squeeze(empty[0]),
            )


def _edits(file: ChangedFile) -> Iterator[tuple[int, list[str], list[str]]]:
    """Each run of changed lines: where it begins in the new file, what is removed and what is added."""
    for hunk in file.hunks:
        here, removed, added = hunk.new_start, list[str](), list[str]()
        for line in (*hunk.text.split("\n")[1:], " "):
            if line.startswith("-"):
                removed.append(line[1:])
            elif line.startswith("+"):
                added.append(line[1:])
            else:
                if removed or added:
                    yield here, removed, added
                here, removed, added = here + len(added) + 1, [], []


def _asserted(tested: list[_FileTests], *, as_many: bool, deleted: bool) -> Iterator[Loss]:
    before = sum(seen.old.assertions for seen in tested)
    after = sum(seen.new.assertions for seen in tested)
    if after >= before or deleted:
        return
    # Fewer lines that do as much: three tests become one with three cases.
    more_cases = sum(seen.new.multipliers - seen.old.multipliers for seen in tested) > 0
    fewer_tests = sum(seen.new.names.total() - seen.old.names.total() for seen in tested) < 0
    if more_cases and after and (as_many or not fewer_tests):
        return
    for seen in tested:
        lost = seen.old.assertions - seen.new.assertions
        if lost > 0:
            where = seen.file.path
            yield Loss(
                f"Fewer assertions in {where}: {seen.old.assertions} → {seen.new.assertions}",
                f"Over all test files of this change there are {after} assertions where there were {before}. "
                "A test that asserts less passes more easily.",
                where,
                None if seen.new_text is None else _first_change(seen.file),
                _removed_assertion(seen),
            )


def _removed_assertion(seen: _FileTests) -> str:
    for hunk in seen.file.hunks:
        for line in hunk.text.split("\n")[1:]:
            if line.startswith("-") and testing_in(seen.file.path, line[1:]).assertions:
                return squeeze(line[1:])
    return ""


def _first_change(file: ChangedFile) -> int:
    changed = file.changed_lines()
    if changed:
        return min(changed)
    return max(1, file.hunks[0].new_start) if file.hunks else 1
