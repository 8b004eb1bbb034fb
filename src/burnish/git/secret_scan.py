"""Secrets in what is about to be taken into git: found on the disk, before git has seen any of it."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from burnish.core.secrets import Leak, Secrets
from burnish.core.text_encoding import read_text
from burnish.errors import SecretFound
from burnish.folder_walk import walk_folders
from burnish.git.files import disk_errors
from burnish.git.project import SECRETS, Project
from burnish.git.reading import read_files
from burnish.git.sparse_copy import copy_sparse
from burnish.git.staging import DirtyPaths
from burnish.git.working_tree import is_secret
from burnish.regular_files import read_regular

# Files are looked at in parts of this size, which overlap: no secret is longer than that.
PART = 2 * 1024 * 1024
OVERLAP = 64 * 1024

Leaks = Mapping[bytes, list[Leak]]


@dataclass(frozen=True, slots=True)
class _Part:
    # lines of the file before it
    lines: int
    data: bytes


def find_secrets(project: Project, root: Path, commit: str, dirt: DirtyPaths, secrets: Secrets) -> Leaks:
    """By path; only lines that no touched file had at `commit`: what was there or only moves is not added."""
    suspects: dict[bytes, list[_Part]] = {}
    for path in dirt.taken:
        parts = [part for part in _parts(root / os.fsdecode(path)) if _of(secrets, part.data)]
        if parts or _by_name(path, dirt, secrets):
            suspects[path] = parts
    if not suspects:
        return {}
    tracked = [os.fsdecode(path) for path in dirt.taken if path not in dirt.new]
    before = read_files(project, commit, tracked)
    old = b"\n".join(data for data in before.values() if data)
    found = {
        path: [*_by_name(path, dirt, secrets), *(leak for part in parts for leak in _in_part(secrets, part, old))]
        for path, parts in suspects.items()
    }
    return {path: list(dict.fromkeys(hits)) for path, hits in found.items() if hits}


def _in_part(secrets: Secrets, part: _Part, old: bytes) -> Iterator[Leak]:
    return (Leak(part.lines + leak.line, leak.kind) for leak in _of(secrets, part.data, old))


def _parts(path: Path) -> Iterator[_Part]:
    """What git would store: the content of a file, the target of a symbolic link. Nothing for anything else."""
    with suppress(OSError):
        yield _Part(0, os.readlink(os.fsencode(path)))  # noqa: PTH115 (a Path would drop parts of the target)
        return
    data = read_regular(path, longest=PART, follow=False)
    at = lines = 0
    while data is not None:
        yield _Part(lines, data)
        if len(data) < PART:
            return
        step = PART - OVERLAP
        at, lines = at + step, lines + data.count(b"\n", 0, step)
        data = read_regular(path, longest=PART, start=at, follow=False)


def _of(secrets: Secrets, data: bytes, old: bytes = b"") -> list[Leak]:
    reading = read_text(data) if b"\0" in data[:8000] else None
    if reading is not None:
        # UTF-16, or a stray NUL byte in a script
        before = read_text(old)
        return secrets.find_new(reading.text, old=before.text if before else old.decode("utf-8", "replace"))
    if b"\0" in data[:8000]:
        return [leak for leak in secrets.find_values(data) if leak not in secrets.find_values(old)]
    return secrets.find_new(data.decode("utf-8", "replace"), old=old.decode("utf-8", "replace"))


def _by_name(path: bytes, dirt: DirtyPaths, secrets: Secrets) -> list[Leak]:
    if path not in dirt.new:
        return []
    return [Leak(0, f"{leak.kind} in its name") for leak in secrets.find(os.fsdecode(path))]


def refuse(found: Leaks, root: Path, secrets: Secrets) -> None:
    """Nothing is committed; what lies where is told, the value never."""
    if not found:
        return
    places = [
        f"{secrets.redact(os.fsdecode(path))}:{leak.line} ({leak.kind})"
        for path, hits in sorted(found.items())
        for leak in hits
    ]
    said = ", ".join(places[:5]) + (f" and {len(places) - 5} more" if len(places) > 5 else "")
    raise SecretFound(
        f"Nothing was committed, for it holds what looks like a secret: {said}.",
        hint=f"The work lies untouched in {root}. `burnish retry` has the agent take it out; "
        "mark a line that holds no secret with `burnish: allow-secret`.",
    )


def without_secrets(dirt: DirtyPaths, found: Leaks) -> DirtyPaths:
    return DirtyPaths(tuple(p for p in dirt.taken if p not in found), dirt.dropped, dirt.new - set(found))


def withhold(found: Leaks, root: Path, label: str) -> str:
    """Copies beside the workspace, for the user's eyes alone: not in git, and not lost either. Says so."""
    if not found:
        return ""
    place = put_beside(found, root, label)
    names = (f"  {os.fsdecode(path)!r}: {_in_words(hits[0])}\n" for path, hits in sorted(found.items()))
    return f"\nLeft out because of secrets or size (copies in {place}):\n" + "".join(names)


def _in_words(leak: Leak) -> str:
    return f"line {leak.line}, {leak.kind}" if leak.line else leak.kind


def put_beside(paths: Iterable[bytes], root: Path, label: str) -> Path:
    """Copies in a new folder beside the workspace that nobody else may look into."""
    with disk_errors(f"keeping files beside {root}"):
        place = _new_folder(root.with_name(f".withheld-{root.name}-{label}"))
        for path in paths:
            source, target = root / os.fsdecode(path), place / os.fsdecode(path)
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            copy_sparse(source, target)
    return place


def left_out_by_name(project: Project, index: Path, root: Path, but: Collection[str] = ()) -> list[bytes]:
    """Untracked files that only burnish's own list of names keeps out of commits; the user's lists come first."""
    listed = project.git("ls-files", "-z", "-o", "--exclude-per-directory=.gitignore", index=index, work_tree=root)
    known = {os.fsencode(name.strip("/")) for name in but}
    paths = [file for path in listed.stdout.split(b"\0") if path for file in _files(root, path) if file not in known]
    # most have none, and then nobody need be asked whose list it is on
    paths = [path for path in paths if is_secret(os.fsdecode(path))]
    if not paths:
        return []
    # "./" keeps a name like ":(top)" from being read as more than a name.
    asked = b"".join(b"./" + path + b"\0" for path in paths)
    args = ("check-ignore", "-z", "-v", "--stdin", "--no-index")
    told = project.git(*args, work_tree=root, stdin=asked, ok=(0, 1)).stdout.split(b"\0")
    names = {line for line in SECRETS.encode().split() if not line.startswith(b"!")}
    # in fours: the list, the line in it, the pattern, the path
    found = zip(told[0::4], told[2::4], told[3::4], strict=False)
    return [path[2:] for source, name, path in found if name in names and source.endswith(b"info/exclude")]


def _files(root: Path, path: bytes) -> Iterable[bytes]:
    """The path itself, or the files of a repository inside the workspace, which git lists as one folder."""
    if not path.endswith(b"/"):
        return [path]
    walk = walk_folders(root / os.fsdecode(path))
    inside = (
        Path(here, name)
        for here, _, names in walk
        for name in names
        if ".git" not in Path(here).relative_to(root).parts
    )
    return [os.fsencode(file.relative_to(root)) for file in inside if file.is_symlink() or file.is_file()]


def _new_folder(wanted: Path) -> Path:
    for number in count(1):
        place = wanted if number == 1 else wanted.with_name(f"{wanted.name}-{number}")
        with suppress(FileExistsError):
            place.mkdir(mode=0o700)
            break
    return place
