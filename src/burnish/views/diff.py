"""The change of a task as a person reads it: files, lines with both numbers, and the findings under them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import groupby

from burnish.core.change import Change, ChangedFile, Hunk
from burnish.core.finding import Finding, worst_first

# a file with more changed lines than this is folded at first
MANY_LINES = 600
STATUS_WORDS = {"A": "added", "M": "changed", "D": "deleted", "R": "renamed", "T": "changed kind", "C": "copied"}
_KINDS = {"100644": "file", "100755": "executable file", "120000": "symbolic link", "160000": "submodule"}
_NO_FILE = "000000"


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a hunk; the number it has in the old file, in the new one, or in both."""

    kind: str  # same, add, del
    old: int | None
    new: int | None
    text: str
    # the last of its file, without a line break after it
    unended: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """One hunk. `skipped` unchanged lines come before it; the first of them is `old` and `new`."""

    lines: tuple[DiffLine, ...]
    skipped: int = 0
    old: int = 1
    new: int = 1
    # what git found above it, e.g. the function it is in
    about: str = ""


@dataclass(frozen=True, slots=True)
class FileDiff:
    """One file of a change, with what was found in it."""

    number: int
    file: ChangedFile
    blocks: tuple[Block, ...]
    added: int
    removed: int
    findings: tuple[Finding, ...] = ()
    # lines that differ in white space only are shown as unchanged
    ignores_space: bool = False

    @property
    def path(self) -> str:
        return self.file.path

    @property
    def word(self) -> str:
        return STATUS_WORDS.get(self.file.status, "changed")

    @property
    def lines(self) -> int:
        return sum(len(block.lines) for block in self.blocks)

    @property
    def folded(self) -> bool:
        return self.lines > MANY_LINES

    @property
    def alive(self) -> int:
        return sum(finding.alive for finding in self.findings)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(_notes(self.file, bool(self.blocks)))

    @property
    def shown(self) -> frozenset[int]:
        """Numbers of the new file's lines that are in a hunk."""
        return frozenset(line.new for block in self.blocks for line in block.lines if line.new)

    def place_of(self, finding: Finding) -> int | None:
        """The line that the finding is shown under; None if that line is not in a hunk."""
        remark, visible_lines = finding.remark, self.shown
        return next((line for line in (remark.end_line, remark.line) if line in visible_lines), None)

    def under(self) -> dict[int, list[Finding]]:
        """Findings by the line of the new file that they are shown under."""
        found: dict[int, list[Finding]] = {}
        for finding in self.findings:
            if line := self.place_of(finding):
                found.setdefault(line, []).append(finding)
        return found

    def elsewhere(self) -> list[Finding]:
        """Findings in this file, but on no line that is shown."""
        return [finding for finding in self.findings if self.place_of(finding) is None]

    def tail(self) -> tuple[int, int]:
        """The first lines, old and new, after the last hunk."""
        last = self.file.hunks[-1]
        return _after(last)


@dataclass(frozen=True, slots=True)
class Branch:
    """A folder of the tree of files, or a file in it."""

    name: str
    file: FileDiff | None = None
    inside: tuple[Branch, ...] = ()

    @property
    def added(self) -> int:
        return self.file.added if self.file else sum(branch.added for branch in self.inside)

    @property
    def removed(self) -> int:
        return self.file.removed if self.file else sum(branch.removed for branch in self.inside)

    @property
    def alive(self) -> int:
        return self.file.alive if self.file else sum(branch.alive for branch in self.inside)


@dataclass(frozen=True, slots=True)
class Diff:
    old_tree: str
    new_tree: str
    files: tuple[FileDiff, ...]
    # found, but in no file of the change
    apart: tuple[Finding, ...]

    @property
    def added(self) -> int:
        return sum(file.added for file in self.files)

    @property
    def removed(self) -> int:
        return sum(file.removed for file in self.files)

    @property
    def lines(self) -> int:
        return sum(file.lines for file in self.files)

    def tree(self, most: int) -> tuple[Branch, ...]:
        """Of the first so many files."""
        return _tree([(file.path.split("/"), file) for file in self.files[:most]])


def bare(change: Change) -> Diff:
    """Without findings: as long as the two trees are the same, so is this."""
    files = [_file(number, file) for number, file in enumerate(change.files)]
    return Diff(change.old_tree, change.new_tree, tuple(files), ())


def ignoring_space(diff: Diff) -> Diff:
    """The diff with lines that differ in white space only as unchanged ones, in their new form."""
    files = []
    for file in diff.files:
        blocks = tuple(replace(block, lines=tuple(_ignore_space(block.lines))) for block in file.blocks)
        kinds = [line.kind for block in blocks for line in block.lines]
        counts = kinds.count("add"), kinds.count("del")
        files.append(replace(file, blocks=blocks, ignores_space=True, added=counts[0], removed=counts[1]))
    return replace(diff, files=tuple(files))


def _ignore_space(lines: Sequence[DiffLine]) -> Iterator[DiffLine]:
    for is_changed, run in groupby(lines, key=lambda line: line.kind != "same"):
        group = list(run)
        if not is_changed:
            yield from group
            continue
        old = [line for line in group if line.kind == "del"]
        new = [line for line in group if line.kind == "add"]
        before, after = (["".join(line.text.split()) for line in side] for side in (old, new))
        for kind, old_start, old_end, new_start, new_end in SequenceMatcher(None, before, after, False).get_opcodes():
            if kind == "equal":
                pairs = zip(old[old_start:old_end], new[new_start:new_end], strict=True)
                yield from (replace(line, kind="same", old=removed.old) for removed, line in pairs)
            else:
                yield from (*old[old_start:old_end], *new[new_start:new_end])


def pinned(diff: Diff, findings: Sequence[Finding]) -> Diff:
    """The diff with findings by file, highest severity first; findings without a file are separate."""
    by_path: dict[str, list[Finding]] = {}
    for finding in worst_first(tuple(findings)):
        by_path.setdefault(finding.remark.file or "", []).append(finding)
    files = [
        replace(file, findings=tuple(by_path.pop(file.path))) if file.path in by_path else file for file in diff.files
    ]
    apart = tuple(finding for found in by_path.values() for finding in found)
    return replace(diff, files=tuple(files), apart=tuple(worst_first(apart)))


def _file(number: int, file: ChangedFile) -> FileDiff:
    blocks = tuple(_blocks(file.hunks))
    kinds = [line.kind for block in blocks for line in block.lines]
    return FileDiff(number, file, blocks, kinds.count("add"), kinds.count("del"))


def _blocks(hunks: Sequence[Hunk]) -> Iterator[Block]:
    old, new = 1, 1
    for hunk in hunks:
        # a side without lines is named by the line before it
        start = hunk.new_start if hunk.new_lines else hunk.new_start + 1
        about = hunk.text.partition("\n")[0].split("@@", 2)[-1].strip()
        yield Block(tuple(_lines(hunk)), max(0, start - new), old, new, about)
        old, new = _after(hunk)


def _after(hunk: Hunk) -> tuple[int, int]:
    old = hunk.old_start + hunk.old_lines + (0 if hunk.old_lines else 1)
    return old, hunk.new_start + hunk.new_lines + (0 if hunk.new_lines else 1)


def _lines(hunk: Hunk) -> list[DiffLine]:
    old, new = hunk.old_start, hunk.new_start
    lines: list[DiffLine] = []
    for text in hunk.text.removesuffix("\n").split("\n")[1:]:
        sign, rest = text[:1], text[1:]
        if sign == "+":
            lines.append(DiffLine("add", None, new, rest))
            new += 1
        elif sign == "-":
            lines.append(DiffLine("del", old, None, rest))
            old += 1
        elif sign == "\\" and lines:
            last = lines.pop()
            lines.append(DiffLine(last.kind, last.old, last.new, last.text, unended=True))
        else:
            lines.append(DiffLine("same", old, new, rest))
            old, new = old + 1, new + 1
    return lines


def _notes(file: ChangedFile, has_lines: bool) -> Iterator[str]:
    if file.old_path and file.old_path != file.path:
        yield f"renamed from {file.old_path}"
    old, new = (_KINDS.get(mode, f"mode {mode}") for mode in (file.old_mode, file.new_mode))
    if _NO_FILE not in (file.old_mode, file.new_mode) and old != new:
        yield f"was a {old}, is a {new} now"
    elif new != "file" and file.new_mode != _NO_FILE and file.status == "A":
        yield f"a new {new}"
    elif file.is_symlink or file.is_submodule:
        yield "a symbolic link" if file.is_symlink else "a submodule: only the commit it points to is kept here"
    if file.status == "D":
        yield "deleted"
    if file.note:
        yield file.note
    if file.hidden:
        yield f"{file.hidden.type}: its content is not shown"
    elif file.binary:
        yield "binary: its bytes are not shown"
    elif not has_lines and file.old_blob == file.new_blob:
        yield "the text is the same"
    elif not has_lines:
        yield "empty"


def _tree(entries: list[tuple[list[str], FileDiff]]) -> tuple[Branch, ...]:
    folders: dict[str, list[tuple[list[str], FileDiff]]] = {}
    files: list[Branch] = []
    for parts, file in entries:
        if len(parts) == 1:
            files.append(Branch(parts[0], file))
        else:
            folders.setdefault(parts[0], []).append((parts[1:], file))
    branches = [_joined(Branch(name, None, _tree(inside))) for name, inside in sorted(folders.items())]
    return (*branches, *sorted(files, key=lambda branch: branch.name))


def _joined(folder: Branch) -> Branch:
    """Join a folder with its only subfolder: `src/burnish/web`."""
    only = folder.inside[0] if len(folder.inside) == 1 else None
    if only is None or only.file:
        return folder
    return Branch(f"{folder.name}/{only.name}", None, only.inside)
