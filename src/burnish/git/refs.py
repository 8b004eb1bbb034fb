"""burnish's own refs in the user's repository, moved only by compare-and-swap."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from burnish.errors import BurnishError, PhaseFailed, Refused
from burnish.git.files import disk_errors
from burnish.git.project import Project
from burnish.git.publishing import publish
from burnish.git.stale_locks import PACKED_REFS_LOCK, remove_stale_locks
from burnish.git.worktrees import linked_at
from burnish.proc.folders import sync_folder

OURS = ("refs/heads/burnish/", "refs/burnish/")
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SHA_FILE = re.compile(rb"\s*([0-9a-f]{40}(?:[0-9a-f]{24})?)\s*")
# what no ref may have in its name
UNFIT = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|$)|[./]$|/-")


class StaleRef(Refused):
    """The ref is not where the caller thought: somebody else moved it."""


def read_ref(project: Project, ref: str) -> str | None:
    """Where a ref points, read from the files; git is asked only where the files do not say."""
    if _by_files(project):
        try:
            text = _read_small_file(f"{project.common_dir}/{ref}").strip().decode("ascii", "replace")
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return _packed(project, ref)
        if _SHA.fullmatch(text):
            return text
    done = project.user_git("rev-parse", "--verify", "--quiet", "--end-of-options", ref, ok=(0, 1))
    return done.stdout.decode().strip() or None


def read_refs(project: Project, refs: Sequence[str], known: Mapping[str, str] | None = None) -> dict[str, str | None]:
    """Where each of them points; the file of packed refs is read once for all. `known`: what was read already."""
    if not _by_files(project):
        return {ref: read_ref(project, ref) for ref in refs}
    known = known or {}
    found = {ref: known.get(ref) or _loose(project, ref) for ref in refs}
    if any(sha == "" for sha in found.values()):
        packed = _all_packed(project)
        found = {ref: packed.get(ref) if sha == "" else sha for ref, sha in found.items()}
    return found


@dataclass(frozen=True, slots=True)
class OwnRefFiles:
    """The files below burnish's folders of refs, of which there may be thousands: each is read once."""

    tips: dict[str, str] = field(default_factory=dict)
    torn: list[str] = field(default_factory=list)  # those that name nothing
    locks: list[str] = field(default_factory=list)


def read_own_refs(project: Project) -> OwnRefFiles:
    """All that lie in files of their own; with reftable there are none."""
    found = OwnRefFiles()
    if _by_files(project):
        for prefix in OURS:
            _read_below(project, prefix.rstrip("/"), found)
    found.torn.sort()
    found.locks.sort()
    return found


def _read_below(project: Project, folder: str, found: OwnRefFiles) -> None:
    try:
        with os.scandir(f"{project.common_dir}/{folder}") as listing:
            entries = list(listing)
    except OSError:
        return
    for entry in entries:
        name = f"{folder}/{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            _read_below(project, name, found)
        elif entry.is_file(follow_symlinks=False):
            if name.endswith(".lock"):
                found.locks.append(name)
            elif sha := _loose(project, name):
                found.tips[name] = sha
            elif sha is None:
                found.torn.append(name)


def _loose(project: Project, ref: str) -> str | None:
    """What the file of the ref says: "" where there is none, None where it names no commit."""
    try:
        data = _read_small_file(f"{project.common_dir}/{ref}")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return ""
    if found := _SHA_FILE.fullmatch(data):
        return found[1].decode()
    return read_ref(project, ref) if data.startswith(b"ref:") else None


def _read_small_file(path: str) -> bytes:
    """The first bytes of a file. There may be thousands of refs: a file object for each costs five times as much."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        return os.read(descriptor, 4096)
    finally:
        os.close(descriptor)


def _packed_refs(project: Project) -> bytes:
    """The file of packed refs; empty where there is none, or a pipe or device, which could be read without end."""
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
    """The user's own branches and stash in the file of packed refs, where `git gc` puts them."""
    pattern = rb"^([0-9a-f]{40,64}) (refs/(?:heads/(?!burnish/)\S+|stash))$"
    return {os.fsdecode(name): sha for sha, name in re.findall(pattern, _packed_refs(project), re.M)}


def find_torn(project: Project, refs: Iterable[str]) -> list[str]:
    """Those of which there is a file that names nothing: a loss of power, a full disk or a damaged one."""
    return [ref for ref in refs if _loose(project, ref) is None] if _by_files(project) else []


def _by_files(project: Project) -> bool:
    return not (project.common_dir / "reftable").exists()


def _packed(project: Project, ref: str) -> str | None:
    data = _packed_refs(project)
    found = re.search(rb"^([0-9a-f]{40,64}) " + re.escape(ref.encode()) + rb"$", data, re.M)
    return found[1].decode() if found else None


def list_refs(project: Project, prefix: str) -> dict[str, str]:
    """Every ref below `prefix` and where it points."""
    done = project.user_git("for-each-ref", "--format=%(objectname) %(refname)", "--", prefix.rstrip("/"))
    lines = done.stdout.decode("utf-8", "surrogateescape").split("\n")
    return {name: sha for sha, _, name in (line.partition(" ") for line in lines if line)}


def update_ref(project: Project, ref: str, new: str, old: str) -> None:
    """Move `ref` from `old` to `new` (all zeros: it must not exist yet), or refuse and change nothing."""
    _check_ours(project, ref)
    refuse_if_checked_out(project, ref)
    publish(project, new)
    # --no-deref: a symbolic ref planted under our name must not lead us to a branch of the user's.
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
    except PhaseFailed:
        now = read_ref(project, ref)
        if (now or project.zero) == old:
            raise
        raise StaleRef(
            f"{ref} is at {(now or 'nothing')[:12]}, not at {old[:12]}: somebody else moved it.",
            hint="Look at it with `git log`, then run the command again.",
        ) from None


def _missing_folders(project: Project, ref: str) -> int:
    """How many folders git has to make for the file of this ref."""
    return sum(not folder.is_dir() for folder in (project.common_dir / ref).parents)


def _sync_names(project: Project, ref: str, missing: int) -> None:
    """git syncs what is in a ref's file; its name and the names of new folders above it are synced here."""
    if not _by_files(project):
        return
    with disk_errors(f"writing {ref}"):
        for folder in (project.common_dir / ref).parents[: missing + 1]:
            # git removes folders that it has emptied, also the user's git at this moment
            with suppress(FileNotFoundError, NotADirectoryError):
                sync_folder(folder)


def _check_ours(project: Project, ref: str) -> None:
    if not ref.startswith(OURS) or UNFIT.search(ref):
        raise Refused(f"{ref!r} is not a ref of burnish's.", hint="Only refs/heads/burnish/ and refs/burnish/ are.")
    if problem := name_conflict(project, (ref,)):
        raise problem


def name_conflict(project: Project, refs: tuple[str, ...] = OURS) -> BurnishError | None:
    """A ref of the user's that leaves no room for these, because they lie below its name."""
    for blocker in ("refs/heads/burnish", "refs/burnish"):
        if any(ref.startswith(blocker + "/") for ref in refs) and read_ref(project, blocker):
            return BurnishError(
                f"A branch called {blocker.removeprefix('refs/heads/')!r} is in the way of burnish's own.",
                hint="Rename it: `git branch -m burnish another-name`.",
            )
    return None


def refuse_if_checked_out(project: Project, ref: str) -> None:
    """A branch that a checkout of the user's holds is not moved: its files would seem to be changed."""
    if not ref.startswith("refs/heads/"):
        return
    for place, head in heads(project):
        if head == ref:
            raise Refused(
                f"Your checkout {place} has {ref.removeprefix('refs/heads/')} checked out, so it is not moved.",
                hint=f"Switch it away: git -C {place} switch -",
            )


def heads(project: Project) -> Iterator[tuple[Path, str]]:
    """Each checkout of the repository and the branch that it holds, also in the middle of a rebase."""
    if not _by_files(project):
        yield from _heads_by_git(project)
        return
    linked = project.common_dir / "worktrees"
    for git_dir in (project.common_dir, *(sorted(linked.iterdir()) if linked.is_dir() else ())):
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
    return linked_at(git_dir) or git_dir.parent
