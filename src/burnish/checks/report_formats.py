"""All formats of test and lint results, by name."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from burnish.checks.cargo_test import CargoReader, NextestReader
from burnish.checks.go_test import GoEventReader, GoTextReader
from burnish.checks.javascript_json import read_jest, read_mocha
from burnish.checks.javascript_text import JestReader, MochaReader, NodeSpecReader, VitestReader
from burnish.checks.junit import read_junit
from burnish.checks.placement import Placement
from burnish.checks.pytest_text import PytestReader
from burnish.checks.rdjson import read_rdjson, read_rdjsonl
from burnish.checks.reading import Reading, TextReader, iterate_lines, make_counts, merge_readings, read_report
from burnish.checks.sarif import read_sarif
from burnish.checks.tap import TapTextReader, read_tap
from burnish.checks.unittest_text import UnittestReader
from burnish.folder_walk import walk_folders
from burnish.proc.text import clean_text

# Readers of report files, or of stdout as a whole: (data, source of the remarks, root of the tree on the disk, root as
# the check saw it). Checks use them, and reviews that come from files.
FILE_FORMATS: dict[str, Callable[[bytes, str, Path | None, Path | None], Reading]] = {
    "junit": lambda data, source, root, mounted_at: read_junit(data, root=root, mounted_at=mounted_at),
    "tap": lambda data, source, root, mounted_at: read_tap(
        data.decode("utf-8", "replace"), root=mounted_at, files=root
    ),
    "sarif": lambda data, source, root, mounted_at: read_sarif(data, source=source, root=root, mounted_at=mounted_at),
    "rdjson": lambda data, source, root, mounted_at: read_rdjson(data, source=source, root=root, mounted_at=mounted_at),
    "rdjsonl": lambda data, source, root, mounted_at: read_rdjsonl(
        data, source=source, root=root, mounted_at=mounted_at
    ),
    "jest": lambda data, source, root, mounted_at: read_jest(data, root=mounted_at),
    "mocha": lambda data, source, root, mounted_at: read_mocha(data, root=mounted_at),
    "go": lambda data, source, root, mounted_at: _read_go(data, mounted_at),
}

# Readers of printed lines.


class NothingRanReader:
    """A runner that succeeds and reports that it had no tests to run. Its result is the same for every change."""

    signature: ClassVar[re.Pattern[str]] = re.compile(
        r"^(?:No tests? (?:files )?found, exiting with code 0"  # jest, vitest
        r"|No tests were found!!!"  # ctest
        r"|No tests defined\."  # meson
        r"|No tests executed!"  # phpunit
        r"|0 examples, 0 failures$"  # rspec
        r"|0 runs, 0 assertions, 0 failures, 0 errors"  # minitest
        r"|ok \| 0 passed \| 0 failed"  # deno
        r"|Ran 0 tests across \d+ files?\."  # bun
        r"|\s*No tasks were executed as part of this run\."  # turbo
        r"|\s*NX\s+No tasks were run)",
        re.M,
    )

    def __init__(self, root: Path | None = None) -> None:
        pass

    def line(self, text: str, *, is_error: bool) -> None:
        pass

    def reading(self) -> Reading:
        return Reading(make_counts(passes=0, failures=0, skips=0))


# Summaries of runners that are known by their last lines alone.
_SUMMARIES = (
    # minitest, test-unit
    r"(?P<all>\d+) (?:runs|tests), \d+ assertions, (?P<bad>\d+) failures, (?P<worse>\d+) errors"
    r"(?:, (?P<skip>\d+) (?:skips|pendings))?.{0,200}",
    # rspec
    r"(?P<all>\d+) examples?, (?P<bad>\d+) failures?(?:, (?P<skip>\d+) pending)?"
    r"(?:, (?P<worse>\d+) errors? occurred outside of examples)?",
    # phpunit
    r"OK \((?P<all>\d+) tests?, \d+ assertions?\)",
    r"Tests: (?P<all>\d+), Assertions: \d+(?:, Errors: (?P<worse>\d+))?(?:, Failures: (?P<bad>\d+))?"
    r"(?:, (?!Skipped)[A-Z][\w ]{1,40}: \d+)*(?:, Skipped: (?P<skip>\d+))?(?:, [A-Z][\w ]{1,40}: \d+)*\.",
    # jasmine, bats, and programs of projects
    r"(?P<all>\d+) (?:specs?|tests?), (?P<bad>\d+) failures?(?:, (?P<skip>\d+) (?:pending specs?|skipped))?",
    # ctest
    r"\d+% tests passed, (?P<bad>\d+) tests? failed out of (?P<all>\d+)",
    # busted
    r"(?P<ok>\d+) success(?:es)? / (?P<bad>\d+) failures? / (?P<worse>\d+) errors? / (?P<skip>\d+) pending.{0,200}",
    # GoogleTest
    r"\[  PASSED  \] (?P<ok>\d+) tests?\.",
    r"\[  FAILED  \] (?P<bad>\d+) tests?, listed below:",
    r"\[  SKIPPED \] (?P<skip>\d+) tests?, listed below:",
    # prove; a file that skips all of its tests has none
    r"Files=\d+, Tests=(?P<all>\d+),.{0,200}",
    r"\s*Failed (?P<bad>\d+)/\d+ subtests.{0,200}",
    # Automake
    r"# PASS: +(?P<ok>\d+)",
    r"# (?:FAIL|XPASS|ERROR): +(?P<bad>\d+)",
    r"# (?:SKIP|XFAIL): +(?P<skip>\d+)",
    # tcltest
    r"\S{1,500}:\tTotal\t(?P<all>\d+)\tPassed\t(?P<ok>\d+)\tSkipped\t(?P<skip>\d+)\tFailed\t(?P<bad>\d+)",
    # meson and uvu: one number on each line
    r"Ok: +(?P<ok>\d+)",
    r"(?:Fail|Timeout|Unexpected Pass): +(?P<bad>\d+)",
    r"Skipped: +(?P<skip>\d+)",
    r"  Total: +(?P<all>\d+)",
    r"  Passed: +(?P<ok>\d+)",
    r"  Skipped: +(?P<skip>\d+)",
)


# A skipped test of ctest, which counts it as passed, and a skipped file of prove.
_SKIPPED_TEST = re.compile(r"\s+\d+ - .{1,500} \((?P<counted>Skipped|Disabled)\)|\S{1,500} \.+ skipped\b.{0,300}")


class SummaryReader:
    """Numbers from the summaries of other runners. It does not know which tests failed."""

    signature: ClassVar[re.Pattern[str]] = re.compile(
        rf"^(?:{'|'.join(re.sub(r'[?]P<[a-z]+>', '', one) for one in _SUMMARIES if not re.search(': [+]|subt', one))}"
        r"|Ok: +\d+|  Passed: +\d+|# TOTAL: +\d+) *$",
        re.M,
    )
    _LINES: ClassVar[tuple[re.Pattern[str], ...]] = tuple(map(re.compile, _SUMMARIES))

    def __init__(self, root: Path | None = None) -> None:
        self.numbers: Counter[str] = Counter()

    def line(self, text: str, *, is_error: bool) -> None:
        if match := _SKIPPED_TEST.fullmatch(text[:1000]):
            self.numbers.update({"skip": 1, "all": 0 if match["counted"] else 1})
        if not any(map(str.isdigit, text[:200])):
            return
        for pattern in self._LINES:
            if match := pattern.fullmatch(text[:1000].rstrip()):
                self.numbers.update({name: int(number[:9]) for name, number in match.groupdict("0").items()})
                return

    def reading(self) -> Reading | None:
        failures, skips, total = self.numbers["bad"] + self.numbers["worse"], self.numbers["skip"], self.numbers["all"]
        if "ok" in self.numbers and not failures:
            failures = max(0, total - self.numbers["ok"] - skips)
        passes = self.numbers["ok"] if "ok" in self.numbers else max(0, total - failures - skips)
        return Reading(make_counts(passes=passes, failures=failures, skips=skips)) if self.numbers else None


TEXT_FORMATS: dict[str, Callable[[Path | None], TextReader]] = {
    "pytest": PytestReader,
    "unittest": UnittestReader,
    "go-json": GoEventReader,
    "go": GoTextReader,
    "cargo": CargoReader,
    "nextest": NextestReader,
    "jest": JestReader,
    "vitest": VitestReader,
    "mocha": MochaReader,
    "node": NodeSpecReader,
    "tap": TapTextReader,
    "summary": SummaryReader,
    "nothing": NothingRanReader,
}

# A runner's summary is searched in this many bytes at the end of each stream.
END_BYTES = 256 * 1024
MAX_REPORTS = 5000
MAX_DEPTH = 8
_SKIPPED_FOLDERS = frozenset({".git", "node_modules", ".venv", "venv", "__pycache__"})

FileStats = dict[Path, tuple[int, int, int]]


def read_printed(
    stdout: Path, stderr: Path, *, root: Path, formats: Iterable[str] = tuple(TEXT_FORMATS)
) -> Reading | None:
    """The printed results of the runners in `formats`; None if there are none."""
    ends = _end_of(stdout) + "\n" + _end_of(stderr)
    found = {name: reader for name in formats if (reader := TEXT_FORMATS[name](root)).signature.search(ends)}
    if "go-json" in found:
        # Some lines between the events are plain text.
        found.pop("go", None)
    readers = list(found.values())
    if not readers:
        return None
    for path, is_error in ((stdout, False), (stderr, True)):
        for line in iterate_lines(path):
            for reader in readers:
                reader.line(line, is_error=is_error)
    readings = [reading for reader in readers if (reading := reader.reading()) is not None]
    return merge_readings(readings) if readings else None


def _end_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - END_BYTES))
            text = file.read(END_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    return clean_text(text)


def _read_go(data: bytes, root: Path | None) -> Reading:
    reader = GoEventReader(root)
    for line in data.decode("utf-8", "replace").splitlines():
        reader.line(line, is_error=False)
    return reader.reading() or Reading(error="there are no events of `go test -json` in the report")


def report_file_stats(root: Path, report_folders: Sequence[str], start: str) -> FileStats:
    """Report files that a build tool writes into the tree (`**/folder/start*.xml`), with inode, time and size."""
    found: FileStats = {}
    for path in _report_files(root, report_folders, start):
        try:
            info = path.lstat()
        except OSError:
            continue
        found[path] = (info.st_ino, info.st_mtime_ns, info.st_size)
        if len(found) >= MAX_REPORTS:
            break
    return found


def _report_files(root: Path, report_folders: Sequence[str], start: str) -> Iterator[Path]:
    for folder_path, folders, files in walk_folders(root):
        here = Path(folder_path)
        if len(here.relative_to(root).parts) >= MAX_DEPTH:
            folders.clear()
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS)
        relative = f"/{here.relative_to(root).as_posix()}/"
        if any(f"/{name}/" in relative for name in report_folders):
            yield from (here / name for name in sorted(files) if name.startswith(start) and name.endswith(".xml"))


def read_new_reports(
    place: Placement, check: str, report_folders: Sequence[str], start: str, *, before: FileStats
) -> Reading | None:
    """Reads the JUnit files that are new or changed since `before`."""
    now = report_file_stats(place.written_by(check), report_folders, start)
    new_paths = [path for path, stats in now.items() if before.get(path) != stats]
    readings = []
    for path in new_paths:
        data = read_report(path.parent, path.name)
        if isinstance(data, str) or data is None:
            readings.append(Reading(error=data or f"{path.name} was removed"))
        else:
            readings.append(read_junit(data, root=place.files, mounted_at=place.path))
    return merge_readings(readings) if readings else None
