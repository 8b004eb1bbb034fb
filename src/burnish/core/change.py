"""The change under review: files, hunks and how lines moved. Paths are text with surrogate escapes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath


@dataclass(frozen=True, slots=True)
class Hunk:
    """One block of a unified diff. `text` is the block with its `@@` line."""

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    text: str


@dataclass(frozen=True, slots=True)
class HiddenContent:
    """New content that no diff can show: binary, in another repository, or kept elsewhere."""

    # what it is, in words: "PNG image"
    type: str
    size: int | None
    # "sha256:…" of the content, or what git names it by
    hash: str
    old_size: int | None = None


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """One path of a change."""

    path: str
    # A added, M modified, D deleted, R renamed, T type changed
    status: str
    old_path: str | None = None
    old_mode: str = "100644"
    new_mode: str = "100644"
    old_blob: str = ""
    new_blob: str = ""
    # its bytes are not text, and `hidden` describes them; content that can be decoded has hunks instead
    binary: bool = False
    hunks: tuple[Hunk, ...] = ()
    # of a file with `gets_other_place`: the lines between the hunks
    unchanged_hunks: tuple[Hunk, ...] = ()
    # the `diff --git …` lines up to the first hunk
    header: str = ""
    hidden: HiddenContent | None = None
    # how the text had to be read: its encoding, where that is not UTF-8
    note: str = ""
    # a complete description of what changed in a lock file, line by line
    digest: tuple[str, ...] = ()

    @property
    def added(self) -> int:
        return sum(line.startswith("+") for hunk in self.hunks for line in hunk.text.split("\n")[1:])

    @property
    def removed(self) -> int:
        return sum(line.startswith("-") for hunk in self.hunks for line in hunk.text.split("\n")[1:])

    @property
    def is_submodule(self) -> bool:
        return "160000" in (self.old_mode, self.new_mode)

    @property
    def is_symlink(self) -> bool:
        return "120000" in (self.old_mode, self.new_mode)

    @property
    def is_executable(self) -> bool:
        return self.new_mode == "100755"

    @property
    def becomes_executable(self) -> bool:
        """Whether an existing file becomes executable: then all of its content matters, not only changed lines."""
        return self.is_executable and self.old_mode not in ("000000", "100755", "120000", "160000")

    @property
    def gets_other_type(self) -> bool:
        """Whether its new name makes other use of the same content: `notes.txt` becomes `conftest.py` or `Makefile`."""
        if self.status != "R" or self.old_path is None:
            return False
        old, new = PurePosixPath(self.old_path), PurePosixPath(self.path)
        return old.suffix != new.suffix or (not new.suffix and old.name != new.name)

    @property
    def gets_other_place(self) -> bool:
        """Whether its new path can give the same content another meaning.

        It cannot if the file keeps its name and its folder at the top, and no folder on its way begins with a dot.
        """
        if self.status != "R" or self.old_path is None:
            return False
        old, new = PurePosixPath(self.old_path), PurePosixPath(self.path)
        is_below_same = old.name == new.name and len(new.parts) > 1 and old.parts[0] == new.parts[0]
        return not is_below_same or any(part.startswith(".") for part in new.parts)

    @property
    def is_shown_whole(self) -> bool:
        """Whether the hunks have all lines, also those that did not change."""
        return self.becomes_executable or self.gets_other_type

    @property
    def all_hunks(self) -> tuple[Hunk, ...]:
        """The hunks and the lines between them, in the order of the new file."""
        if not self.unchanged_hunks:
            return self.hunks
        return tuple(sorted((*self.hunks, *self.unchanged_hunks), key=lambda hunk: (hunk.new_start, hunk.old_start)))

    def changed_lines(self) -> set[int]:
        """Numbers, in the new file, of the lines that were added or altered."""
        numbers: set[int] = set()
        for hunk in self.hunks:
            here = hunk.new_start
            for line in hunk.text.split("\n")[1:]:
                if line.startswith("+"):
                    numbers.add(here)
                    here += 1
                elif line.startswith(" "):
                    here += 1
        return numbers

    def map_line(self, line: int) -> int | None:
        """The number in the new file of a line of the old one; None if it was deleted."""
        shift = 0
        for hunk in self.hunks:
            old_end = hunk.old_start + max(hunk.old_lines, 1)
            if line < hunk.old_start or (hunk.old_lines == 0 and line <= hunk.old_start):
                break
            if line < old_end and hunk.old_lines:
                return self._inside(hunk, line)
            shift += hunk.new_lines - hunk.old_lines
        return line + shift

    @staticmethod
    def _inside(hunk: Hunk, line: int) -> int | None:
        old, new = hunk.old_start, hunk.new_start
        for text in hunk.text.split("\n")[1:]:
            if text.startswith("-"):
                if old == line:
                    return None
                old += 1
            elif text.startswith("+"):
                new += 1
            elif text.startswith(" "):
                if old == line:
                    return new
                old, new = old + 1, new + 1
        return None


@dataclass(frozen=True, slots=True)
class Change:
    """Everything between two trees."""

    old_tree: str
    new_tree: str
    files: tuple[ChangedFile, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(file.path for file in self.files)

    def file(self, path: str) -> ChangedFile | None:
        return next((file for file in self.files if file.path == path), None)

    def text(self) -> str:
        """The whole as a unified diff."""
        return "".join(file.header + "".join(hunk.text for hunk in file.hunks) for file in self.files)
