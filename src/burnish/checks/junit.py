"""Reads JUnit XML reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from burnish.checks.pytest_text import is_document
from burnish.checks.reading import MAX_CASES, Reading, path_in_repository, shortened
from burnish.core.check import Counts, TestFailure, TestFile

_OUTCOMES = ("failure", "error", "skipped")
# Further failures of one case are not useful.
MAX_FAILURES_OF_A_CASE = 100
_ROOTS = ("testsuites", "testsuite")


class _Unusable(Exception):
    pass


@dataclass
class _Failure:
    # failed or error
    status: str
    message: list[str]


@dataclass
class _Case:
    attributes: Mapping[str, str]
    skipped: bool = False
    # a test that is expected to fail was run, although it is counted as skipped
    was_run: bool = False
    reason: str = ""
    # several: failed subtests of pytest, failed expectations of GoogleTest, a failed test with a failed teardown
    failures: list[_Failure] = field(default_factory=list)


def read_junit(data: bytes, *, root: Path | None = None, mounted_at: Path | None = None) -> Reading:
    """Counts and failures. Never raises."""
    collector = _Collector(root, mounted_at)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = collector.start
    parser.EndElementHandler = collector.end
    parser.CharacterDataHandler = collector.text
    # Reject document types: their entities can expand without limit or read files.
    parser.StartDoctypeDeclHandler = collector.doctype
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        return Reading(error=f"the JUnit report is not valid XML: {error}")
    except (_Unusable, ValueError, LookupError) as error:
        return Reading(error=f"the JUnit report cannot be used: {error}")
    return collector.reading()


# Suites whose skipped tests are counted; names with more parts are not paths.
MAX_SUITES, MAX_DEPTH, MAX_PATH, MAX_REASON = 10_000, 30, 1000, 200


@dataclass(slots=True)
class _Suite:
    run: int = 0
    skipped: int = 0
    reason: str = ""

    def add(self, case: _Case) -> None:
        is_skipped = case.skipped and not case.was_run
        self.skipped += is_skipped
        self.run += not is_skipped
        self.reason = self.reason or (shortened(case.reason, longest=MAX_REASON) if is_skipped else "")

    def extend(self, other: _Suite) -> None:
        self.run, self.skipped = self.run + other.run, self.skipped + other.skipped
        self.reason = self.reason or other.reason


class _Collector:
    """Handles parser events; holds the current case and all failures."""

    def __init__(self, root: Path | None, mounted_at: Path | None) -> None:
        self.root, self.mounted_at = root, mounted_at
        self.tags: list[str] = []
        self.from_pytest = False
        self.case: _Case | None = None
        self.passed = self.skipped = self.failed = 0
        self.failures: list[TestFailure] = []
        # by module or class of tests and their file
        self.suites: dict[tuple[str, str], _Suite] = {}

    def doctype(self, *_: object) -> None:
        raise _Unusable("it has a document type declaration")

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if not self.tags and tag not in _ROOTS:
            raise _Unusable(f"it begins with <{tag[:40]}>, not with <testsuites>")
        self.tags.append(tag)
        if tag == "testsuite":
            self.from_pytest = attributes.get("name") == "pytest"
        elif tag == "testcase":
            self.case = _Case(attributes)
        elif tag in _OUTCOMES and self.case and self.tags[-2:-1] == ["testcase"]:
            message = attributes.get("message")
            if tag == "skipped":
                self.case.skipped = True
                self.case.was_run = attributes.get("type") == "pytest.xfail"
                self.case.reason = message or ""
                return
            self.case.failures.append(_Failure({"failure": "failed"}.get(tag, tag), [message] if message else []))

    def text(self, data: str) -> None:
        if self.case and self.tags[-1] == "skipped" and self.case.reason == "collection skipped":
            # a module that skips itself: the place, the line and the reason
            self.case.reason = data.rpartition("Skipped: ")[2].strip()[:-2] or self.case.reason
            return
        if self.case and self.case.failures and self.tags[-1] in ("failure", "error"):
            self.case.failures[-1].message.append(data)

    def end(self, tag: str) -> None:
        self.tags.pop()
        if tag == "testcase" and self.case:
            self._count(self.case)
            self.case = None

    def _count(self, case: _Case) -> None:
        if self.passed + self.skipped + self.failed >= MAX_CASES:
            raise _Unusable(f"it has more than {MAX_CASES} cases")
        key = (case.attributes.get("classname") or case.attributes.get("name", ""), case.attributes.get("file", ""))
        if len(self.suites) < MAX_SUITES or key in self.suites:
            self.suites.setdefault(key, _Suite()).add(case)
        if not case.failures:
            self.passed += not case.skipped
            self.skipped += case.skipped
            return
        self.failed += 1
        file = path_in_repository(case.attributes.get("file", ""), self.root, self.mounted_at)
        name, line = _name(case.attributes, file), self._line(case.attributes)
        # pytest reports a module that cannot be imported without a class
        is_module = self.from_pytest and not case.attributes.get("classname")
        is_text = self.from_pytest and is_document(name)
        # One entry per failure, so that a second failing subtest counts as new.
        for one in case.failures[:MAX_FAILURES_OF_A_CASE]:
            message = shortened("\n".join(one.message))
            whole = is_text or (is_module and one.status == "error")
            self.failures.append(TestFailure(name, one.status, message, file, line, whole))

    def _line(self, attributes: Mapping[str, str]) -> int | None:
        line = attributes.get("line", "")
        # pytest counts from 0
        return int(line) + self.from_pytest if line.isascii() and line.isdigit() and len(line) < 9 else None

    def reading(self) -> Reading:
        total = self.passed + self.skipped + self.failed
        counts = Counts(total, self.passed, self.failed, self.skipped)
        return Reading(counts, tuple(self.failures), test_files=self._test_files())

    def _test_files(self) -> tuple[TestFile, ...]:
        """The files of pytest's tests; none if one of them is not known."""
        if not self.from_pytest or self.root is None:
            return ()
        found: dict[str, _Suite] = {}
        for (name, file), suite in self.suites.items():
            # an inherited test is in the file of its class, and was collected in another one
            own_file = path_in_repository(file, self.root, self.mounted_at) or ""
            for path in {_module_file(name, self.root) or own_file, own_file} - {""}:
                found.setdefault(path, _Suite()).extend(suite)
        return tuple(TestFile(path, one.run, one.skipped, one.reason) for path, one in found.items())


def _module_file(suite: str, root: Path) -> str:
    """The file of `tests.test_a.TestB`, "" if the tree has none."""
    parts = suite.split(".")[:MAX_DEPTH]
    for count in range(len(parts), 0, -1):
        path = "/".join(parts[:count]) + ".py"
        if len(path) < MAX_PATH and "\0" not in path and not path.startswith("/") and (root / path).is_file():
            return path
    return ""


def _name(attributes: Mapping[str, str], file: str | None) -> str:
    """`tests/test_a.py::TestB::test_c` where the file is known, else `suite.case`."""
    suite, case = attributes.get("classname", ""), attributes.get("name", "")
    if file:
        module = file.removesuffix(".py").replace("/", ".")
        if suite == module or suite.startswith(f"{module}."):
            inner = suite[len(module) + 1 :].split(".") if suite != module else []
            return shortened("::".join([file, *inner, case]), longest=500)
    return shortened(".".join(part for part in (suite, case) if part) or "(no name)", longest=500)
