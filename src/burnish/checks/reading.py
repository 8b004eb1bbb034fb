"""The result of reading a report, and functions to open reports."""

from __future__ import annotations

import json
import os
import re
import stat
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, Protocol

from burnish.core.check import Counts, TestFailure, TestFile
from burnish.core.finding import Remark
from burnish.proc.text import clean_text

MAX_BYTES = 64 * 1024 * 1024
MAX_MESSAGE_LENGTH = 2000
MAX_CASES = 500_000
MAX_LINE_LENGTH = 64 * 1024
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True, slots=True)
class Reading:
    """Counts, failures and remarks; `error` says why a report could not be read."""

    counts: Counts | None = None
    failures: tuple[TestFailure, ...] = ()
    remarks: tuple[Remark, ...] = ()
    error: str = ""
    # Why the list of failures may be incomplete; "" if it is complete.
    partial: str = ""
    # the program that made the report, e.g. "semgrep"; "" if unknown
    tool: str = ""
    # the files of all tests; empty if the report does not name them
    test_files: tuple[TestFile, ...] = ()


def merge_readings(readings: Sequence[Reading]) -> Reading:
    """Several reports of one run as one. Counts are known only if every report has them."""
    counts = [reading.counts for reading in readings if reading.counts]
    return Reading(
        counts=sum_counts(counts) if counts and len(counts) == len(readings) else None,
        failures=tuple(failure for reading in readings for failure in reading.failures),
        remarks=tuple(remark for reading in readings for remark in reading.remarks),
        error=next((reading.error for reading in readings if reading.error), ""),
        partial=next((reading.partial for reading in readings if reading.partial), ""),
        tool=tool_names(reading.tool for reading in readings if reading.tool),
        test_files=tuple(file for reading in readings for file in reading.test_files),
    )


def sum_counts(counts: Sequence[Counts]) -> Counts:
    return Counts(
        total=sum(one.total for one in counts),
        passed=sum(one.passed for one in counts),
        failed=sum(one.failed for one in counts),
        skipped=sum(one.skipped for one in counts),
    )


def iterate_lines(path: Path) -> Iterator[str]:
    """The lines of a file without colours. Long lines come in pieces, which limits memory use."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        while raw := file.readline(MAX_LINE_LENGTH):
            line = raw.decode("utf-8", "replace").rstrip("\r\n")
            yield _COLOUR.sub("", line) if "\x1b" in line else line


def read_report(folder: Path, name: str) -> bytes | str | None:
    """The bytes of a report; None if there is none; an error message if it must not be read."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        return f"{name} is not inside the report directory"
    # Programs may have left links or pipes there: accept only plain files in plain directories.
    for part in (folder, *(folder / parent for parent in reversed(path.parents))):
        if part.is_symlink():
            return f"{name} is reached through a link"
    try:
        fd = os.open(folder / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"{name} cannot be read: {error.strerror}"
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            return f"{name} is not a plain file"
        if info.st_size > MAX_BYTES:
            return f"{name} is larger than {MAX_BYTES // 1024 // 1024} MB"
        with os.fdopen(fd, "rb", closefd=False) as file:
            return file.read(MAX_BYTES)
    finally:
        os.close(fd)


def shortened(text: str, *, longest: int = MAX_MESSAGE_LENGTH) -> str:
    """The cleaned text; of a long text the beginning, and more of the end, since errors come last."""
    text = clean_text(text).strip()
    if len(text) <= longest:
        return text
    head = longest // 5
    return f"{text[:head].rstrip()}\n…\n{text[-(longest - head - 3) :].lstrip()}"


def path_in_repository(path: str, root: Path | None, mounted_at: Path | None = None) -> str | None:
    """The path relative to the repository; None if outside. `mounted_at`: the path of the root inside the sandbox."""
    pure = PurePosixPath(path)
    if pure.is_absolute():
        if root is None:
            return None
        for base in (root, root.resolve(), *([mounted_at] if mounted_at else [])):
            if pure.is_relative_to(base):
                return str(pure.relative_to(base))
        return None
    # `./a/../b.py` → `b.py`, but nothing above the root
    clean = os.path.normpath(path) if path and "\0" not in path else ""
    return None if clean in ("", ".", "..") or clean.startswith("../") else clean


# -- JSON -----------------------------------------------------------------------------------------
# Functions that the readers of JSON reports share.


def parse_json(data: bytes, what: str) -> Any:
    """The value; a `Reading` with the error if it is not JSON, or a key occurs twice: findings would be lost."""
    try:
        return json.loads(data, object_pairs_hook=_unique_keys)
    except (ValueError, RecursionError) as error:
        return Reading(error=f"the {what} is not valid JSON: {str(error)[:200]}")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key[:40]!r} occurs twice")
        found[key] = value
    return found


def value_at(value: Any, *keys: str) -> Any:
    """The value at the end of the keys; None if there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def items(value: Any, *keys: str) -> list[Any]:
    found = value_at(value, *keys)
    return found if isinstance(found, list) else []


def line_number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**9 else None


def first_part(text: str, longest: int) -> str:
    """The first `longest` characters, without control and direction marks except newline and tab."""
    visible = "".join(c for c in text.replace("\r\n", "\n") if c in "\n\t" or unicodedata.category(c)[0] != "C").strip()
    return visible if len(visible) <= longest else f"{visible[: longest - 1].rstrip()}…"


def tool_names(names: Iterable[Any]) -> str:
    return ", ".join(dict.fromkeys(first_part(name, 60) for name in names if isinstance(name, str)))


# -- text reader ----------------------------------------------------------------------------------
# Functions that the readers of printed results share.

MAX_LINES = 200
MAX_LENGTH = 500
CUT_SHORT = "the run did not finish"
UNLISTED = "its output does not list every failure that it counts"


class TextReader(Protocol):
    """Reads one runner's printed results, line by line."""

    # Matches the end of the output of this runner.
    signature: ClassVar[re.Pattern[str]]

    def line(self, text: str, *, is_error: bool) -> None:
        """Process one line of stdout or stderr. All lines of stdout come first."""

    def reading(self) -> Reading | None:
        """The results; None if this runner printed nothing."""


@dataclass(slots=True)
class Case:
    """A failure while its message is being read."""

    name: str
    status: str = "failed"
    file: str | None = None
    line: int | None = None
    lines: list[str] = field(default_factory=list)
    # see `TestFailure.whole`
    whole: bool = False

    def add(self, text: str) -> None:
        if len(self.lines) < MAX_LINES:
            self.lines.append(text[:MAX_LENGTH])

    def failure(self) -> TestFailure:
        message = shortened("\n".join(self.lines))
        name = shortened(self.name, longest=MAX_LENGTH)
        return TestFailure(name, self.status, message, self.file, self.line, self.whole)


def failures_of(cases: Sequence[Case]) -> tuple[TestFailure, ...]:
    return tuple(case.failure() for case in cases[:MAX_CASES])


def number(text: str, pattern: str) -> int:
    """The number in a summary line; 0 if it has none."""
    match = re.search(pattern, text)
    return int(match[1]) if match else 0


def make_counts(*, passes: int, failures: int, skips: int) -> Counts:
    return Counts(passes + failures + skips, passes, failures, skips)


def local_name(name: str, root: Path | None) -> str:
    """The name without the root folder, which differs at the base."""
    if root is None or not name.startswith("/"):
        return name
    return path_in_repository(name, root) or name
