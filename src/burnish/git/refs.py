"""burnish's own refs in the user's repository, updated only by compare-and-swap."""

from __future__ import annotations

import os
import re
import shlex
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from burnish.errors import BurnishError, PhaseFailed, Refused
from burnish.git.discovery import worktree_of
from burnish.git.files import disk_errors
from burnish.git.project import Project
from burnish.git.publishing import publish
from burnish.proc.folders import sync_folder
from burnish.proc.identity import boot_time

OURS = ("refs/heads/burnish/", "refs/burnish/")
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SHA_FILE = re.compile(rb"\s*([0-9a-f]{40}(?:[0-9a-f]{24})?)\s*")
# matches names that git does not allow for refs
INVALID_REF_NAME = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|$)|[./]$|/-")


# Times of files are as coarse as the clock of the kernel, so that two changes within a tick look like one.
SETTLED_NANOSECONDS = 2 * 10**9

# the time of the last change (which programs cannot set), inode, size
FileState = tuple[int, int, int]


class StaleRef(Refused):
    """The ref does not point to the expected commit: another process moved it."""


def read_ref(project: Project, ref: str) -> str | None:
    """The commit that a ref points to; runs git only for symbolic refs and reftables."""
    if _by_files(project):
        try:
            text = _read_small_file(f"{project.common_dir}/{ref}").strip().decode("ascii", "replace")
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return _packed(project, ref)
        if _SHA.fullmatch(text):
            return text
    result = project.user_git("rev-parse", "--verify", "--quiet", "--end-of-options", ref, ok=(0, 1))
    return result.stdout.decode().strip() or None


def read_refs(
    project: Project, refs: Sequence[str], known_tips: Mapping[str, str] | None = None
) -> dict[str, str | None]:
    """The commit of each ref; reads packed refs once. `known_tips`: commits that were read before."""
    if not _by_files(project):
        return {ref: read_ref(project, ref) for ref in refs}
    known_tips = known_tips or {}
    found = {ref: known_tips.get(ref) or _loose(project, ref) for ref in refs}
    if any(sha == "" for sha in found.values()):
        packed_tips = _all_packed(project)
        found = {ref: packed_tips.get(ref) if sha == "" else sha for ref, sha in found.items()}
    return found


def file_state(found: os.stat_result) -> FileState:
    return found.st_ctime_ns, found.st_ino, found.st_size


def is_settled(state: FileState) -> bool:
    """False if the file or folder was changed just now, so that a further change may not show."""
    return time.time_ns() - state[0] >= SETTLED_NANOSECONDS


@dataclass(slots=True)
class KnownRefs:
    """The commit hash in each ref file that a long-running process has read, with the state of the file before it."""

    _commits: dict[str, tuple[FileState, str]] = field(default_factory=dict)
    # of branches whose commit and tree could be read
    readable_tips: Mapping[str, str] = field(default_factory=dict)

    def commit(self, ref: str, state: FileState) -> str | None:
        """The hash that the file contains; None if it must be read."""
        entry = self._commits.get(ref)
        return entry[1] if entry and entry[0] == state else None

    def remember(self, ref: str, state: FileState, commit: str) -> None:
        if is_settled(state):
            self._commits[ref] = state, commit


@dataclass(frozen=True, slots=True)
class OwnRefFiles:
    """Files of burnish's refs, which may be thousands: each is read once."""

    tips: dict[str, str] = field(default_factory=dict)
    torn: list[str] = field(default_factory=list)  # files without a commit hash
    locks: list[str] = field(default_factory=list)


def read_own_refs(project: Project) -> OwnRefFiles:
    """All loose refs of burnish; none with reftables."""
    return _read_files(project, OURS, None)


def read_branches(project: Project, known_refs: KnownRefs | None = None) -> OwnRefFiles:
    """The loose branches of burnish. `known_refs`: a cache for long-running processes."""
    return _read_files(project, OURS[:1], known_refs)


def _read_files(project: Project, prefixes: Sequence[str], known_refs: KnownRefs | None) -> OwnRefFiles:
    found = OwnRefFiles()
    if _by_files(project):
        for prefix in prefixes:
            _read_below(project, prefix.rstrip("/"), found, known_refs)
    found.torn.sort()
    found.locks.sort()
    return found


def _read_below(project: Project, folder: str, found: OwnRefFiles, known_refs: KnownRefs | None) -> None:
    try:
        # by descriptor: looking at a thousand files takes less time if none of their paths is resolved from the root
        descriptor = os.open(f"{project.common_dir}/{folder}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        with os.scandir(descriptor) as listing:
            entries = list(listing)
        for entry in entries:
            name = f"{folder}/{entry.name}"
            if entry.is_file(follow_symlinks=False):
                _read_file(project, entry, name, found, known_refs)
            elif entry.is_dir(follow_symlinks=False):
                _read_below(project, name, found, known_refs)
    finally:
        os.close(descriptor)


def _read_file(
    project: Project, entry: os.DirEntry[str], ref: str, found: OwnRefFiles, known_refs: KnownRefs | None
) -> None:
    if ref.endswith(".lock"):
        found.locks.append(ref)
    elif sha := _loose(project, ref) if known_refs is None else _known_or_loose(project, entry, ref, known_refs):
        found.tips[ref] = sha
    elif sha is None:
        found.torn.append(ref)


def _known_or_loose(project: Project, entry: os.DirEntry[str], ref: str, known_refs: KnownRefs) -> str | None:
    """The same as `_loose`, with the cache."""
    try:
        state = file_state(entry.stat(follow_symlinks=False))
        if commit := known_refs.commit(ref, state):
            return commit
        content = _SHA_FILE.fullmatch(_read_small_file(f"{project.common_dir}/{ref}"))
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return ""
    if not content:
        return _loose(project, ref)  # symbolic or torn
    sha = content[1].decode()
    known_refs.remember(ref, state, sha)
    return sha


def _loose(project: Project, ref: str) -> str | None:
    """The commit in the file of the ref: "" without a file, None if the file contains no hash."""
    try:
        data = _read_small_file(f"{project.common_dir}/{ref}")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return ""
    if found := _SHA_FILE.fullmatch(data):
        return found[1].decode()
    return read_ref(project, ref) if data.startswith(b"ref:") else None


def _read_small_file(path: str) -> bytes:
    """The first bytes of a file. With thousands of refs, file objects would take five times as long."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        return os.read(descriptor, 4096)
    finally:
        os.close(descriptor)


def _packed_refs(project: Project) -> bytes:
    """Content of `packed-refs`; empty if it is missing, a pipe or a device, which could be endless."""
    try:
        descriptor = os.open(project.common_dir / "packed-refs", os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return b""
    with os.fdopen(descriptor, "rb") as file:
        return file.read() if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""


def _all_packed(project: Project) -> dict[str, str]:
    data = _packed_refs(project)
    pairs = re.findall(rb"^([0-9a-f]{40,64}) (\S+)$", data, re.M)
    return {name.decode("utf-8", "surrogateescape"): sha.decode() for sha, name in pairs}


def packed_user_refs(project: Project) -> dict[str, bytes]:
    """The user's branches, tags, replacements and stash in `packed-refs`, where `git gc` moves them."""
    pattern = rb"^([0-9a-f]{40,64}) (refs/(?:heads/(?!burnish/)\S+|tags/\S+|replace/\S+|stash))$"
    return {os.fsdecode(name): sha for sha, name in re.findall(pattern, _packed_refs(project), re.M)}


def find_torn(project: Project, refs: Iterable[str]) -> list[str]:
    """Refs whose file contains no hash, e.g. after a power failure or with a full disk."""
    return [ref for ref in refs if _loose(project, ref) is None] if _by_files(project) else []


def _by_files(project: Project) -> bool:
    return not (project.common_dir / "reftable").exists()


def _packed(project: Project, ref: str) -> str | None:
    data = _packed_refs(project)
    found = re.search(rb"^([0-9a-f]{40,64}) " + re.escape(ref.encode()) + rb"$", data, re.M)
    return found[1].decode() if found else None


def list_refs(project: Project, prefix: str) -> dict[str, str]:
    """All refs below `prefix` with their commits."""
    result = project.user_git("for-each-ref", "--format=%(objectname) %(refname)", "--", prefix.rstrip("/"))
    lines = result.stdout.decode("utf-8", "surrogateescape").split("\n")
    return {name: sha for sha, _, name in (line.partition(" ") for line in lines if line)}


def update_ref(project: Project, ref: str, new: str, old: str) -> None:
    """Move `ref` from `old` to `new`; raises StaleRef if it is not at `old` (all zeros: it must not exist)."""
    _check_ours(project, ref)
    refuse_if_checked_out(project, ref)
    publish(project, new)
    # --no-deref: a planted symbolic ref must not redirect the update to a branch of the user
    _swap(project, ref, ("update-ref", "--no-deref", "--", ref, new, old), old)


def delete_ref(project: Project, ref: str, old: str) -> None:
    _check_ours(project, ref)
    refuse_if_checked_out(project, ref)
    _swap(project, ref, ("update-ref", "--no-deref", "-d", "--", ref, old), old)


def _swap(project: Project, ref: str, args: tuple[str, ...], old: str) -> None:
    missing = _missing_folders(project, ref)
    remove_stale_locks(project, (f"{ref}.lock", PACKED_REFS_LOCK))
    try:
        project.user_git(*args)
        _sync_names(project, ref, missing)
    except PhaseFailed as error:
        now = read_ref(project, ref)
        if (now or project.zero) == old:
            if below := next(iter(list_refs(project, f"{ref}/")), None):
                raise _name_taken(error, ref, below) from None
            raise
        raise StaleRef(
            f"{ref} is at {(now or 'nothing')[:12]}, not at {old[:12]}: another process moved it.",
            hint="Look at it with `git log`, then run the command again.",
        ) from None


def _name_taken(error: PhaseFailed, ref: str, below: str) -> PhaseFailed:
    """Git cannot create a ref whose name is the folder of another one."""
    name, other = (one.removeprefix("refs/heads/") for one in (ref, below))
    return PhaseFailed(
        error.code,
        f"The branch {other!r} conflicts with {name!r}, which burnish has to create.",
        hint=f"Rename it: `git branch -m {shlex.quote(other)} another-name`.",
    )


def _missing_folders(project: Project, ref: str) -> int:
    """Number of folders that git has to create for the file of this ref."""
    return sum(not folder.is_dir() for folder in (project.common_dir / ref).parents)


def _sync_names(project: Project, ref: str, missing: int) -> None:
    """Sync the folders of a ref: git syncs only the content of its file."""
    if not _by_files(project):
        return
    with disk_errors(f"writing {ref}"):
        for folder in (project.common_dir / ref).parents[: missing + 1]:
            # the user's git may remove empty folders at the same time
            with suppress(FileNotFoundError, NotADirectoryError):
                sync_folder(folder)


def _check_ours(project: Project, ref: str) -> None:
    if not ref.startswith(OURS) or INVALID_REF_NAME.search(ref):
        raise Refused(f"{ref!r} is not a ref of burnish.", hint="Use refs below refs/heads/burnish/ or refs/burnish/.")
    if problem := name_conflict(project, (ref,)):
        raise problem


def name_conflict(project: Project, refs: tuple[str, ...] = OURS) -> BurnishError | None:
    """The error if a ref of the user has the name of a folder of burnish's refs."""
    for blocker in ("refs/heads/burnish", "refs/burnish"):
        if any(ref.startswith(blocker + "/") for ref in refs) and read_ref(project, blocker):
            return BurnishError(
                f"The branch {blocker.removeprefix('refs/heads/')!r} conflicts with burnish's own branches.",
                hint="Rename it: `git branch -m burnish another-name`.",
            )
    return None


def refuse_if_checked_out(project: Project, ref: str) -> None:
    """Refuse to move a branch that the user has checked out: its files would appear as changed."""
    if not ref.startswith("refs/heads/"):
        return
    for place, head in heads(project):
        if head == ref:
            raise Refused(
                f"{ref.removeprefix('refs/heads/')} is checked out in {place}, so burnish does not move it.",
                hint=f"Switch to another branch: git -C {place} switch -",
            )


def heads(project: Project) -> Iterator[tuple[Path, str]]:
    """Each checkout of the repository with its branch, also during a rebase."""
    if not _by_files(project):
        yield from _heads_by_git(project)
        return
    worktrees = project.common_dir / "worktrees"
    for git_dir in (project.common_dir, *(sorted(worktrees.iterdir()) if worktrees.is_dir() else ())):
        for name in ("HEAD", "rebase-merge/head-name", "rebase-apply/head-name"):
            try:
                text = (git_dir / name).read_text().strip()
            except OSError:
                continue
            if text.startswith(("ref: ", "refs/")):
                yield _checkout_of(project, git_dir), text.removeprefix("ref: ")


def _heads_by_git(project: Project) -> Iterator[tuple[Path, str]]:
    listing = project.user_git("worktree", "list", "--porcelain").stdout.decode("utf-8", "surrogateescape")
    place = project.root
    for line in listing.split("\n"):
        if line.startswith("worktree "):
            place = Path(line.removeprefix("worktree "))
        elif line.startswith("branch "):
            yield place, line.removeprefix("branch ")


def _checkout_of(project: Project, git_dir: Path) -> Path:
    if git_dir == project.git_dir:
        return project.root
    return worktree_of(git_dir) or git_dir.parent


# git locks this file to delete a ref
PACKED_REFS_LOCK = "packed-refs.lock"


def remove_stale_locks(project: Project, names: Iterable[str]) -> list[str]:
    """Remove locks that are older than the last boot; names are relative to the git directory. Returns the removed."""
    removed_names = []
    for name in names:
        path = project.common_dir / name
        try:
            if path.stat().st_mtime < min(boot_time(), time.time()):
                path.unlink()
                removed_names.append(name)
        except (FileNotFoundError, NotADirectoryError):
            continue
    return removed_names
