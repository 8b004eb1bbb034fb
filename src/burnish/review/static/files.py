"""Changed files as input of the static reviewer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from burnish.core.change import ChangedFile
from burnish.core.finding import Category, Remark, Severity
from burnish.core.text_encoding import read_text
from burnish.review.packing import DOCS, TEST, is_lock_name, kind

SOURCE = "static"
MAX_QUOTE_LENGTH = 300
# larger text counts as data
MAX_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class FileScan:
    """One changed file: its new bytes, its lines if it is text, and the numbers of changed lines."""

    file: ChangedFile
    data: bytes
    lines: tuple[str, ...]
    changed: frozenset[int]
    base_text: Callable[[str], str | None]

    @property
    def path(self) -> str:
        return self.file.path

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def kind(self) -> int:
        return kind(self.path)

    @property
    def is_test(self) -> bool:
        return self.kind == TEST

    @property
    def is_docs(self) -> bool:
        return self.kind == DOCS

    @property
    def is_lock(self) -> bool:
        """Whether it is a lock file, whose hashes look like secrets. Other generated files are scanned."""
        return is_lock_name(self.path)

    @property
    def is_inspected(self) -> bool:
        """Whether its text was scanned: it was not if it is too long or binary."""
        return bool(self.lines)

    def before(self) -> str | None:
        """Its text at the base (under its old name); None if it is new."""
        return None if self.file.status == "A" else self.base_text(self.file.old_path or self.path)

    def line(self, number: int) -> str:
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    def nearest(self, line: int) -> int | None:
        """The changed line that most likely causes a problem at `line`."""
        above = [n for n in self.changed if n <= line]
        return max(above) if above else min(self.changed, default=None)

    def remark(
        self,
        rule: str,
        severity: Severity,
        title: str,
        description: str,
        *,
        line: int | None = None,
        category: Category = Category.CODE,
        suggestion: str = "",
    ) -> Remark:
        quote = self.line(line).strip()[:MAX_QUOTE_LENGTH] if line else ""
        return Remark(
            category, severity, title, description, suggestion, self.path, line, line, quote, rule, source=SOURCE
        )


def scan_file(file: ChangedFile, data: bytes | None, base_text: Callable[[str], str | None]) -> FileScan | None:
    """The input for one file; None for a deleted file, a link or a submodule."""
    if data is None or file.status == "D" or file.new_mode in ("120000", "160000"):
        return None
    text = _text(data) if not file.binary else None
    lines = () if text is None else tuple(text.split("\n"))
    changed_numbers = frozenset() if text is None else frozenset(n for n in file.changed_lines() if n <= len(lines))
    return FileScan(file, data, lines, changed_numbers, base_text)


def _text(data: bytes) -> str | None:
    if len(data) > MAX_BYTES:
        return None
    reading = read_text(data)
    return reading.text if reading else None
