"""Results of the checks of a review without a task, one entry per check."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any

from burnish.core.change import Change
from burnish.core.check import INDISTINGUISHABLE, CheckStatus, Comparison, TestFile
from burnish.core.journal import CheckRecord


class CheckState(StrEnum):
    PASSED = "passed"
    # nothing fails, but tests that passed before are skipped
    MORE_SKIPPED = "more_skipped"
    NEW_FAILURES = "new_failures"
    FAILED_BEFORE = "failed_before"
    # failed before and now, and new failures cannot be distinguished from old ones
    UNCOUNTABLE = "uncountable"
    COULD_NOT_START = "could_not_start"
    NOT_RUN = "not_run"


@dataclass(frozen=True, slots=True)
class ReviewedCheck:
    name: str
    command: str
    state: CheckState
    # why it did not run, did not start, or cannot be compared
    why: str = ""
    # None where no single tests were reported
    passed: int | None = None
    new: tuple[str, ...] = ()
    old: tuple[str, ...] = ()
    flaky: tuple[str, ...] = ()
    skipped: int | None = None

    @property
    def clear(self) -> bool:
        """Whether the check found no problem in the change."""
        return self.state in (CheckState.PASSED, CheckState.FAILED_BEFORE, CheckState.NOT_RUN)

    @property
    def line(self) -> str:
        """One line for people."""
        flaky = f", {_count(len(self.flaky), 'flaky test')}" if self.flaky else ""
        skips = f", {self.skipped} skipped" if self.skipped else ""
        passed_text = f", {self.passed} passed{skips}" if self.passed is not None else ""
        match self.state:
            case CheckState.PASSED:
                words = f"passed {self.passed}{skips}" if self.passed is not None else "passed"
            case CheckState.MORE_SKIPPED:
                words = f"{self.why}, {self.passed} passed" if self.passed is not None else self.why
            case CheckState.NEW_FAILURES if self.new:
                before = f", {len(self.old)} failed before too" if self.old else ""
                words = f"{_count(len(self.new), 'new failure')}{before}{passed_text}"
            case CheckState.NEW_FAILURES:
                words = self.why or f"fails, and did not fail before{passed_text}"
            case CheckState.FAILED_BEFORE:
                words = f"{_count(len(self.old), 'failure')}, failed before too{passed_text}"
            case CheckState.UNCOUNTABLE:
                words = f"{self.why}: {INDISTINGUISHABLE}"
            case CheckState.COULD_NOT_START:
                words = f"could not start: {self.why}"
            case CheckState.NOT_RUN:
                words = f"not run: {self.why}"
        return f"{self.name}: {words}{flaky}"

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "command": self.command,
            "state": self.state.value,
            "why": self.why,
            "passed": self.passed,
            "skipped": self.skipped,
            "new": list(self.new),
            "old": list(self.old),
            "flaky": list(self.flaky),
            "line": self.line,
        }


def reviewed_check(comparison: Comparison) -> ReviewedCheck:
    """The entry of a check that ran on the reviewed tree and, if it failed there, on the base."""
    report, base = comparison.report, comparison.baseline
    state, why = CheckState.FAILED_BEFORE, ""
    if skip_note := _more_skipped(comparison):
        state, why = CheckState.MORE_SKIPPED, skip_note
    elif report.status is CheckStatus.PASSED and report.ran_no_tests:
        state, why = CheckState.NOT_RUN, "it found no tests, or skipped all of them"
    elif report.status is CheckStatus.PASSED and not comparison.uncountable:
        state = CheckState.PASSED
    elif report.status is CheckStatus.ERROR or (report.unknown and (base is None or base.unknown)):
        state, why = CheckState.COULD_NOT_START, report.error or "no reason given"
    elif comparison.new or comparison.broken:
        state = CheckState.NEW_FAILURES
    elif comparison.uncountable:
        state, why = CheckState.UNCOUNTABLE, comparison.uncountable.removeprefix(f"{report.name} ")
    return ReviewedCheck(
        report.name,
        report.command,
        state,
        why,
        report.counts.passed if report.counts else None,
        tuple(failure.name for failure in comparison.new),
        tuple(failure.name for failure in comparison.old),
        report.flaky,
        report.counts.skipped if report.counts else None,
    )


def _more_skipped(comparison: Comparison) -> str:
    """Tests that passed before and do not run now, as when what they need cannot be imported any more; "" if none."""
    report, base = comparison.report, comparison.baseline
    if report.status is not CheckStatus.PASSED or not (base and report.counts and base.counts):
        return ""
    now, before = report.counts, base.counts
    if now.passed >= before.passed or (now.skipped <= before.skipped and now.total):
        return ""
    counts = f"{before.passed} passed and {before.skipped} were skipped, now {now.skipped}"
    return f"tests that passed before are skipped ({counts})"


def stored_check(record: CheckRecord) -> ReviewedCheck:
    """The same entry from the stored record of a check."""
    name = record.name or "check"
    state, why = CheckState.FAILED_BEFORE, ""
    if record.status == "not_run":
        state, why = CheckState.NOT_RUN, record.why
    elif record.status == CheckStatus.PASSED and not record.uncountable:
        state = CheckState.PASSED
    elif record.status == CheckStatus.ERROR:
        state, why = CheckState.COULD_NOT_START, record.error or "no reason given"
    elif record.new or record.problems or record.broken:
        state = CheckState.NEW_FAILURES
    elif record.uncountable:
        state, why = CheckState.UNCOUNTABLE, record.uncountable.removeprefix(f"{name} ")
    passed_count, skipped_count = (record.counts.passed, record.counts.skipped) if record.counts else (None, None)
    return ReviewedCheck(
        name, record.command, state, why, passed_count, record.new, record.old, record.flaky, skipped_count
    )


_TEXTS = frozenset({".md", ".markdown", ".rst", ".adoc"})
_PICTURES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp"})
_NAMES = re.compile(r"(?:LICEN[CS]E|COPYING|NOTICE|AUTHORS|CONTRIBUTORS|CODEOWNERS|CHANGELOG|README)(?:\.txt)?")


def is_documentation(change: Change) -> bool:
    """Whether the change touches only documentation, which no test covers."""
    paths = [path for file in change.files for path in (file.path, file.old_path) if path]
    return bool(paths) and all(_is_document(PurePosixPath(path)) for path in paths)


# -- tests that were not run ----------------------------------------------------------------------

_CODE = (
    "py|pyi|js|jsx|ts|tsx|mjs|cjs|mts|cts|vue|svelte|go|rs|java|kt|kts|scala|groovy|cs|fs|rb|php|swift|ex|exs"
    "|c|cc|cpp|cxx|h|hpp|m|dart|lua|sh|bats|pl|t|jl|hs|clj"
)
_TEST_CODE = re.compile(
    rf"""(?:^|/)(?:tests?|__tests__|specs?|e2e|testing|integration[-_]tests?|src/test)/.*\.(?:{_CODE})$
    | (?:^|/)tests?\.(?:py|rs)$
    | (?:^|/)(?:self|smoke)[-_]?(?:tests?|check)?\.(?:py|c|cc|cpp|[cm]?js|ts|sh|rb|pl)$
    | (?:^|/)test_[^/]*\.(?:py|c|cc|cpp|cxx|rb|sh|lua|pl)$
    | _tests?\.(?:{_CODE})$ | _spec\.(?:rb|lua|cr)$
    | \.(?:test|spec|cy|e2e)\.[cm]?[jt]sx?$
    | (?:Tests?|Specs?|IT)\.(?:java|kt|scala|groovy|cs|fs|swift|php)$
    | \.bats$ | (?:^|/)x?t/.*\.t$""",
    re.X,
)
# What tests read, and tests in other languages.
_OF_TESTS = re.compile(
    r"(?:^|/)(?:tests?|__tests__|specs?|e2e|features|integration[-_]tests?|cypress)/"
    r"|(?:^|/)test_[^/]*$|[._](?:tests?|spec|cy|e2e)\.\w+$|\.robot$"
)
_NO_STEMS = frozenset(("index", "main", "mod", "lib", "setup", "conftest", "__main__", "types", "utils"))


def is_test_path(path: str) -> bool:
    """True for code of tests, by its place and name."""
    return _TEST_CODE.search(path) is not None


def is_test_file(path: str) -> bool:
    """True for code of tests, and for other files beside it."""
    return is_test_path(path) or _OF_TESTS.search(path) is not None


@dataclass(frozen=True, slots=True)
class TestsOfChange:
    """Which tests name the changed files, and whether they were run."""

    __test__ = False

    change: Change
    # the files of tests, and each `conftest.py`
    texts: Mapping[str, str]
    # files that no check runs, and those with some tests that no check runs, each with the reason
    unrun: Mapping[str, str]
    partly_unrun: Mapping[str, str]
    # what the checks report of each file, and whether a file that is missing there was not run
    results: Mapping[str, TestFile]
    is_complete: bool = False
    # tests that were skipped in unknown files
    skip_count: int = 0

    def untested(self) -> dict[str, str]:
        """A note for each changed file none of whose tests was run."""
        reasons = self._reasons()
        pairs = ((path, tests) for path, tests in self._tests() if tests and all(test in reasons for test in tests))
        return {path: f"The tests of {path} were not run: {tests[0]} ({reasons[tests[0]]})." for path, tests in pairs}

    def partly_untested(self) -> list[str]:
        """Notes on tests of other changed files that were not run."""
        notes, reasons = self.untested(), self._reasons()
        found: dict[str, str] = {}
        for path, tests in self._tests():
            for test in tests if path not in notes else ():
                if why := reasons.get(test) or self._part_unrun(test):
                    found.setdefault(test, f"Not all tests of {path} were run: {test} ({why}).")
        return list(found.values())

    def perhaps_skipped(self) -> list[str]:
        """Notes on changed files with a test that may have been left out."""
        own_notes = self.untested()
        notes = []
        for path, tests in self._tests():
            if path in own_notes or not tests:
                continue
            with_ci = next((one for one in (*tests, *self._settings_of(tests)) if self._may_ask_for_ci(one)), "")
            skipping = next((one for one in tests if self.skip_count and _SKIPS.search(self.texts[one])), "")
            if with_ci:
                notes.append(
                    f"Tests of {path} may have been skipped: {with_ci} asks for the variable CI, which checks set. "
                    "`env -u CI` before the command of a check removes it."
                )
            elif skipping:
                notes.append(
                    f"Tests of {path} may have been skipped: {skipping} skips tests on a condition, and "
                    f"the run skipped {_count(self.skip_count, 'test')}."
                )
        return notes

    def _tests(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        texts = {path: text for path, text in self.texts.items() if path in self.unrun or _has_tests(path, text)}
        return tuple(_tests_of_files(self.change, texts))

    def _reasons(self) -> dict[str, str]:
        """Why no test of a file was run."""
        skip_reasons = {
            path: _all_skipped(file) for path, file in self.results.items() if file.skipped and not file.run
        }
        left_out = {
            path: "no check reports a test of this file"
            for path in self.texts
            if self.is_complete and path not in self.results and _PYTEST_FILE.search(path)
        }
        return {**left_out, **self.unrun, **skip_reasons}

    def _part_unrun(self, path: str) -> str:
        file = self.results.get(path)
        if file and file.run and file.skipped and not _OTHER_PLATFORM.search(file.reason):
            why = f": {file.reason.rstrip('.')}" if file.reason else ""
            return f"{file.skipped} of {file.run + file.skipped} tests were skipped{why}"
        return self.partly_unrun.get(path, "")

    def _settings_of(self, tests: Iterable[str]) -> list[str]:
        folders = [str(folder) for test in tests for folder in PurePosixPath(test).parents]
        paths = [posixpath.normpath(f"{folder}/conftest.py") for folder in folders]
        return [path for path in paths if _LEAVES_OUT.search(self.texts.get(path, ""))]

    def _may_ask_for_ci(self, path: str) -> bool:
        text = self.texts[path]
        is_settings = path.endswith("conftest.py")
        return _ASKS_FOR_CI.search(text) is not None and (is_settings or (self._has_skips and "skip" in text))

    @property
    def _has_skips(self) -> bool:
        return bool(self.skip_count) or any(file.skipped for file in self.results.values())


# A test that asks for the variable CI, in the languages of test runners.
_ASKS_FOR_CI = re.compile(r"""["'](?:CI|GITHUB_ACTIONS)["']|\benv\.CI\b|\$\{?CI\b""")
_LEAVES_OUT = re.compile(r"collect_ignore|pytest_collection_modifyitems|pytest_ignore_collect|pytest_runtest_setup")
_SKIPS = re.compile(r"\bskip|\btodo\b|runIf|\bxit\b|\bxdescribe\b")
_PYTEST_FILE = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test)\.py$")
# A test of another platform is not expected to run.
_OTHER_PLATFORM = re.compile(
    r"windows|win32|mac ?os|darwin|linux|posix|bsd|platform|pypy|cpython"
    r"|python ?(?:[<>=]+ ?)?\d|version_info|\barm|\broot\b",
    re.I,
)


def _all_skipped(file: TestFile) -> str:
    return "all of its tests were skipped" + (f": {file.reason.rstrip('.')}" if file.reason else "")


def _has_tests(path: str, text: str) -> bool:
    """False for modules of Python beside the tests, which may name a changed file as well."""
    return not path.endswith(".py") or re.search(r"\bdef test|\bclass \w*Test|TestCase|>>>", text) is not None


def _tests_of_files(change: Change, texts: Mapping[str, str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each changed file that may be tested, with the tests that name it."""
    for path in (file.path for file in change.files if not is_test_file(file.path)):
        pure = PurePosixPath(path)
        stem = pure.parent.name if pure.stem == "__init__" else pure.stem
        if not stem or stem in _NO_STEMS or pure.suffix.lower() in (*_TEXTS, *_PICTURES, ""):
            continue
        word = re.compile(rf"(?<![\w-]){re.escape(stem)}(?![\w-])")
        pair = re.compile(rf"(?:^|/)(?:test_)?{re.escape(stem)}(?:[._-](?:tests?|spec|cy|e2e)|Tests?|IT)?\.\w+$")
        yield path, tuple(test for test, text in texts.items() if pair.search(test) or word.search(text))


# -- packed copies --------------------------------------------------------------------------------

_ARCHIVE_ENDINGS = (".tgz", ".tar.gz", ".whl", ".crate", ".jar", ".gem", ".nupkg")
_ARCHIVE = re.compile(rf"(?:^|/)([A-Za-z@][\w.@-]*?)-v?\d[\w.+-]*(?:{'|'.join(map(re.escape, _ARCHIVE_ENDINGS))})$")
_MANIFEST = re.compile(r"(?:^|/)(?:package\.json|pyproject\.toml|setup\.cfg|Cargo\.toml)$")
_PACKAGE_NAME = re.compile(r"""(?:^|[{,])\s*"?name"?\s*[:=]\s*["']?([@\w./-]+)""", re.M)
_MAX_MANIFESTS = 50


def has_archives(paths: Iterable[str]) -> bool:
    # by the ending first: almost no file of a large tree has it
    return any(path.endswith(_ARCHIVE_ENDINGS) and _ARCHIVE.search(path) for path in paths)


def packed_copies(
    change: Change, paths: Iterable[str], read: Callable[[list[str]], Mapping[str, bytes | None]]
) -> tuple[str, ...]:
    """Notes on archives of packages that the change touches and does not pack again: tests may use them."""
    listing = list(paths)
    touched_paths = set(change.paths)
    archives = {path: found[1] for path in listing if path not in touched_paths and (found := _ARCHIVE.search(path))}
    if not archives or all(is_test_file(path) for path in touched_paths) or is_documentation(change):
        return ()
    manifests = read([path for path in listing if _MANIFEST.search(path)][:_MAX_MANIFESTS])
    sources = [path for path in touched_paths if not is_test_file(path)]
    texts = [
        (data or b"").decode("utf-8", "replace")
        for path, data in manifests.items()
        if any(source.startswith(path[: path.rfind("/") + 1]) for source in sources)
    ]
    names = {_package_key(name) for text in texts for name in _PACKAGE_NAME.findall(text)}
    return tuple(
        f"{path} is a packed copy of a package of this repository and was not packed again: tests that use it do not "
        "test this change."
        for path, name in archives.items()
        if _package_key(name) in names
    )


def _package_key(name: str) -> str:
    return re.sub(r"[-_./]+", "-", name.lstrip("@")).lower()


# Files that may make documentation part of the tests, and what does so in them.
_SETTINGS_OF_TESTS = re.compile(
    r"(?:^|/)(?:pyproject\.toml|\.?pytest\.(?:ini|toml)|tox\.ini|setup\.cfg|conftest\.py|noxfile\.py|[Mm]akefile)$"
)
_DOCTESTS = re.compile(
    r"doctest[-_](?:glob|plus)|markdown-docs|\bsybil\b|\bmktestdocs\b|\bphmdoctest\b|\btestfile\(|DocFileSuite", re.I
)


def may_read_documents(path: str) -> bool:
    """True for settings of tests, and for Rust sources, which include documentation with its examples."""
    return _SETTINGS_OF_TESTS.search(path) is not None or path.endswith(".rs")


def reads_documents(change: Change, path: str, text: str) -> bool:
    """Whether this file, a test or one that `may_read_documents`, makes the changed documentation part of the tests."""
    if _DOCTESTS.search(text):
        return True
    # Settings name a README as part of the package's description.
    if _SETTINGS_OF_TESTS.search(path) and not path.endswith(".py"):
        return False
    return any(file.path.rpartition("/")[2] in text for file in change.files)


def _is_document(path: PurePosixPath) -> bool:
    # fixtures of tests are often texts and pictures
    if any(part in ("test", "tests", "testdata", "fixtures", "samples", "spec", "__tests__") for part in path.parts):
        return False
    suffix = path.suffix.lower()
    if _NAMES.fullmatch(path.name) or (_NAMES.fullmatch(path.stem) and suffix in _TEXTS):
        return True
    # elsewhere a text may be part of the program: a template, a prompt, a page
    in_docs = any(part in ("docs", "doc", ".github") for part in path.parts[:-1])
    at_root = len(path.parts) == 1
    return (suffix in _TEXTS and (in_docs or at_root)) or (suffix in _PICTURES and in_docs)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
