"""Finds secrets in files that are about to be committed, before git writes any object."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from burnish.core.secrets import Leak, Secrets
from burnish.core.text_encoding import read_text
from burnish.errors import SecretFound
from burnish.folder_walk import walk_folders
from burnish.git.files import copy_sparse, disk_errors
from burnish.git.objects import read_files
from burnish.git.project import SECRETS, Project, is_secret
from burnish.git.staging import DirtyPaths
from burnish.regular_files import read_regular

# files are read in overlapping parts; the overlap is longer than any secret
PART = 2 * 1024 * 1024
OVERLAP = 64 * 1024

Leaks = Mapping[bytes, list[Leak]]


@dataclass(frozen=True, slots=True)
class _Part:
    # lines of the file before it
    lines: int
    data: bytes


def find_secrets(project: Project, root: Path, commit: str, dirt: DirtyPaths, secrets: Secrets) -> Leaks:
    """Secrets by path; without lines that any of the changed files had at `commit` (unchanged or moved)."""
    suspects: dict[bytes, list[_Part]] = {}
    for path in dirt.to_stage:
        parts = [part for part in _parts(root / os.fsdecode(path)) if find_leaks(secrets, part.data)]
        if parts or _leaks_in_name(path, dirt, secrets):
            suspects[path] = parts
    if not suspects:
        return {}
    tracked_paths = [os.fsdecode(path) for path in dirt.to_stage if path not in dirt.new]
    before = read_files(project, commit, tracked_paths)
    old = b"\n".join(data for data in before.values() if data)
    found = {
        path: [*_leaks_in_name(path, dirt, secrets), *(leak for part in parts for leak in _in_part(secrets, part, old))]
        for path, parts in suspects.items()
    }
    return {path: list(dict.fromkeys(hits)) for path, hits in found.items() if hits}


def _in_part(secrets: Secrets, part: _Part, old: bytes) -> Iterator[Leak]:
    return (Leak(part.lines + leak.line, leak.kind) for leak in find_leaks(secrets, part.data, old))


def _parts(path: Path) -> Iterator[_Part]:
    """What git would store: the content of a regular file or the target of a symbolic link."""
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


def find_leaks(secrets: Secrets, data: bytes, old: bytes = b"") -> list[Leak]:
    """Secrets in the content of a file that `old` does not have."""
    reading = read_text(data) if b"\0" in data[:8000] else None
    if reading is not None:
        # UTF-16, or a stray NUL byte in a script
        before = read_text(old)
        return secrets.find_new(reading.text, old=before.text if before else old.decode("utf-8", "replace"))
    if b"\0" in data[:8000]:
        return [leak for leak in secrets.find_values(data) if leak not in secrets.find_values(old)]
    return secrets.find_new(data.decode("utf-8", "replace"), old=old.decode("utf-8", "replace"))


def _leaks_in_name(path: bytes, dirt: DirtyPaths, secrets: Secrets) -> list[Leak]:
    if path not in dirt.new:
        return []
    return [Leak(0, f"{leak.kind} in its name") for leak in secrets.find(os.fsdecode(path))]


def refuse(found: Leaks, root: Path, secrets: Secrets) -> None:
    """Raise SecretFound with paths, lines and kinds; the message never contains the value."""
    if not found:
        return
    places = [
        f"{secrets.redact(os.fsdecode(path))}:{leak.line} ({leak.kind})"
        for path, hits in sorted(found.items())
        for leak in hits
    ]
    listing = ", ".join(places[:5]) + (f" and {len(places) - 5} more" if len(places) > 5 else "")
    raise SecretFound(
        f"Nothing was committed, because the change contains what looks like a secret: {listing}.",
        hint=f"The work is unchanged in {root}. `burnish retry` asks the agent to remove it; "
        "mark a line that contains no secret with `burnish: allow-secret`.",
    )


def without_secrets(dirt: DirtyPaths, found: Leaks) -> DirtyPaths:
    return DirtyPaths(tuple(p for p in dirt.to_stage if p not in found), dirt.to_drop, dirt.new - set(found))


def withhold(found: Leaks, root: Path, label: str) -> str:
    """Copy the files to a private folder beside the workspace; returns a note for the commit message."""
    if not found:
        return ""
    place = copy_beside(found, root, label)
    names = (f"  {os.fsdecode(path)!r}: {_description(hits[0])}\n" for path, hits in sorted(found.items()))
    return f"\nLeft out because of secrets or size (copies in {place}):\n" + "".join(names)


def _description(leak: Leak) -> str:
    return f"line {leak.line}, {leak.kind}" if leak.line else leak.kind


def copy_beside(paths: Iterable[bytes], root: Path, label: str) -> Path:
    """Copy files to a new private folder beside the workspace; returns the folder."""
    with disk_errors(f"copying files beside {root}"):
        place = _new_folder(root.with_name(f".withheld-{root.name}-{label}"))
        for path in paths:
            source, target = root / os.fsdecode(path), place / os.fsdecode(path)
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            copy_sparse(source, target)
    return place


def left_out_by_name(
    project: Project,
    index: Path,
    root: Path,
    but: Collection[str] = (),
    *,
    untracked_paths: Sequence[bytes] | None = None,
) -> list[bytes]:
    """Untracked files that only burnish's own list of secret names excludes from commits, not the user's.

    `untracked_paths`: the paths that are not tracked and not in a .gitignore, if they were listed just now.
    """
    if untracked_paths is None:
        listing = project.git("ls-files", "-z", "-o", "--exclude-per-directory=.gitignore", index=index, work_tree=root)
        untracked_paths = listing.stdout.split(b"\0")
    exempt = {os.fsencode(name.strip("/")) for name in but}
    paths = [file for path in untracked_paths if path for file in _files(root, path) if file not in exempt]
    # usually there are none, which saves a process
    paths = [path for path in paths if is_secret(os.fsdecode(path))]
    if not paths:
        return []
    # "./" keeps git from reading a name like ":(top)" as pathspec magic
    query = b"".join(b"./" + path + b"\0" for path in paths)
    args = ("check-ignore", "-z", "-v", "--stdin", "--no-index")
    answer = project.git(*args, work_tree=root, stdin=query, ok=(0, 1)).stdout.split(b"\0")
    names = {line for line in SECRETS.encode().split() if not line.startswith(b"!")}
    # groups of four: the file, the line number, the pattern, the path
    found = zip(answer[0::4], answer[2::4], answer[3::4], strict=False)
    return [path[2:] for source, name, path in found if name in names and source.endswith(b"info/exclude")]


def _files(root: Path, path: bytes) -> Iterable[bytes]:
    """The path itself, or the files of a nested repository, which git lists as one folder."""
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


def _new_folder(path: Path) -> Path:
    for number in count(1):
        place = path if number == 1 else path.with_name(f"{path.name}-{number}")
        with suppress(FileExistsError):
            place.mkdir(mode=0o700)
            break
    return place
