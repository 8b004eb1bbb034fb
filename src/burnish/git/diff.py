"""Parses the output of `git diff-tree --raw -p` into a `Change`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from burnish.core.change import Change, ChangedFile, Hunk
from burnish.core.status import ErrorCode
from burnish.errors import PhaseFailed

ARGS = (
    "diff-tree", "-r", "-z", "--raw", "-p", "-M", "--full-index", "--no-abbrev", "--no-color",
    "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/", "--submodule=short",
    "--ignore-submodules=none", "--unified=3", "--inter-hunk-context=0", "--diff-algorithm=myers",
)  # fmt: skip
# without the lines themselves
SIZE_ARGS = ("diff-tree", "-r", "-z", "--numstat", "-M", "--no-ext-diff", "--no-textconv", "--diff-algorithm=myers")
# git cuts the heading of a hunk at 80 bytes, including a blank
_MAX_HEADING_LENGTH = 78
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True, slots=True)
class _Raw:
    old_mode: str
    new_mode: str
    old_blob: str
    new_blob: str
    status: str
    old_path: str | None
    path: str


def parse(output: bytes, old: str, new: str) -> Change:
    raws, rest = _raw(output)
    sections = _cut(rest, b"diff --git ")
    files = []
    for raw in raws:
        # git prints two sections where a file becomes a link: a deletion and a creation
        count = 2 if raw.old_mode[:3] != raw.new_mode[:3] and "000000" not in (raw.old_mode, raw.new_mode) else 1
        try:
            files.append(_file(raw, [next(sections) for _ in range(count)]))
        except StopIteration:
            raise PhaseFailed(
                ErrorCode.GIT_ERROR, f"git's diff has no section for {raw.path!r}.", hint="Run `burnish doctor`."
            ) from None
    return Change(old, new, tuple(files))


def read_size(output: bytes) -> tuple[int, int, int]:
    """The files, added lines and removed lines in the output of `SIZE_ARGS`; a binary file has no lines."""
    files = additions = deletions = 0
    fields = iter(output.split(b"\0"))
    for field in fields:
        if not field:
            break
        plus, minus, path = field.split(b"\t", 2)
        if not path:
            # a renamed file: both paths follow
            next(fields), next(fields)
        files += 1
        additions += int(plus) if plus != b"-" else 0
        deletions += int(minus) if minus != b"-" else 0
    return files, additions, deletions


def _raw(output: bytes) -> tuple[list[_Raw], bytes]:
    raws = []
    at = 0
    while output[at : at + 1] == b":":
        end = output.index(b"\0", at)
        old_mode, new_mode, old_blob, new_blob, status = output[at + 1 : end].decode().split(" ")
        names = []
        for _ in range(2 if status[0] in "RC" else 1):
            stop = output.index(b"\0", end + 1)
            names.append(output[end + 1 : stop].decode("utf-8", "surrogateescape"))
            end = stop
        old_path = names[0] if len(names) == 2 else None
        raws.append(_Raw(old_mode, new_mode, old_blob, new_blob, status[0], old_path, names[-1]))
        at = end + 1
    # an additional NUL separates the raw part from the patch
    return raws, output[at:].removeprefix(b"\0")


def _cut(data: bytes, start: bytes) -> Iterator[bytes]:
    """Split at lines that begin with `start`; what comes before the first one is dropped."""
    # lines of content begin with a blank, a sign or a backslash, so they cannot match
    starts = [match.start() for match in re.finditer(b"^" + start, data, re.M)]
    for here, end in pairwise([*starts, len(data)]):
        yield data[here:end]


def hunks_of(section: bytes) -> tuple[Hunk, ...]:
    """The hunks of one file's part of a patch."""
    return tuple(_hunk(block) for block in _cut(section, b"@@ "))


def _file(raw: _Raw, sections: list[bytes]) -> ChangedFile:
    header, hunks, binary = b"", [], False
    for section in sections:
        blocks = list(_cut(section, b"@@ "))
        head = section[: len(section) - sum(map(len, blocks))]
        header += head
        binary = binary or any(line.startswith(b"Binary files ") for line in head.split(b"\n"))
        hunks += [_hunk(block) for block in blocks]
    return ChangedFile(
        path=raw.path,
        status=raw.status,
        old_path=raw.old_path,
        old_mode=raw.old_mode,
        new_mode=raw.new_mode,
        old_blob=raw.old_blob,
        new_blob=raw.new_blob,
        binary=binary,
        hunks=tuple(hunks),
        header=header.decode("utf-8", "replace"),
    )


def _heading(rest: bytes) -> bytes:
    """The heading after the line numbers, without the last word where git cut it: that could be part of a secret."""
    line, end, lines = rest.partition(b"\n")
    return (line.rpartition(b" ")[0] if len(line) >= _MAX_HEADING_LENGTH else line) + end + lines


def _hunk(block: bytes) -> Hunk:
    match = _HUNK.match(block)
    if match is None:
        raise PhaseFailed(
            ErrorCode.GIT_ERROR, f"Cannot parse a hunk of git's diff: {block[:60]!r}.", hint="Report this as a bug."
        )
    block = match[0] + _heading(block[match.end() :])
    start, lines, new_start, new_lines = (int(part) if part else 1 for part in match.groups())
    # surrogates mark bytes that are not UTF-8: `file_content` decodes such files
    return Hunk(start, lines, new_start, new_lines, block.decode("utf-8", "surrogateescape"))
