"""Finds objects and refs that a power failure or a damaged disk destroyed, and moves damaged objects aside.

Only the user's store counts; copies in burnish's own store serve to repair it.
"""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from burnish.errors import PhaseFailed
from burnish.git.files import disk_errors, write_whole
from burnish.git.kept_packs import KeptPack, list_packs, remove_pack
from burnish.git.project import Project
from burnish.git.refs import OURS, OwnRefFiles, find_torn, list_refs, read_refs
from burnish.git.run import READ_FAILED
from burnish.proc.folders import sync_folder
from burnish.proc.identity import boot_id

MANY = 200


class Damage(StrEnum):
    """Kinds of damage of a branch."""

    DELETED = "deleted"  # the ref does not exist
    TORN = "torn"  # its file contains no commit hash
    UNREADABLE = "unreadable"  # its commit or tree cannot be read


@dataclass(frozen=True, slots=True)
class BranchDamage:
    """A branch without a readable commit. `commit`: where it points, if known."""

    ref: str
    damage: Damage
    commit: str = ""


def find_damage(
    project: Project, refs: Sequence[str], tips: Mapping[str, str | None] | None = None
) -> dict[str, BranchDamage]:
    """Branches without a readable commit and tree; at most two processes.

    `tips`: their commits, if already known.
    """
    tips = read_refs(project, refs) if tips is None else tips
    nowhere = [ref for ref, sha in tips.items() if sha is None]
    empty_refs = find_torn(project, nowhere)
    found = {ref: BranchDamage(ref, Damage.TORN if ref in empty_refs else Damage.DELETED) for ref in nowhere}
    unreadable = find_unreadable(project, [sha for sha in tips.values() if sha], with_trees=True)
    found |= {ref: BranchDamage(ref, Damage.UNREADABLE, sha) for ref, sha in tips.items() if sha and sha in unreadable}
    return found


def find_unreadable(project: Project, commits: Sequence[str], *, with_trees: bool = False) -> set[str]:
    """Unreadable objects; `with_trees`: they must be commits, and their root trees must be readable, too."""
    is_loose = _loose_among(project, commits)
    contents = {sha: _read_sound(project, sha) if sha in is_loose else None for sha in dict.fromkeys(commits)}
    not_loose = [sha for sha, content in contents.items() if content is None]
    # a missing tree is reported under the hash of its commit
    names = {sha: [f"{sha}^{{tree}}" if with_trees else sha] for sha in not_loose}
    trees = {sha: _tree_of(content) for sha, content in contents.items() if content is not None}
    if with_trees:
        names |= {sha: [tree] for sha, tree in trees.items() if tree and _read_sound(project, tree) is None}
    not_commits = {sha for sha, tree in trees.items() if with_trees and not tree}
    queries = [name for group in names.values() for name in group]
    missing = _missing_by_git(project, queries) if queries else set()
    return not_commits | {sha for sha, group in names.items() if missing & set(group)}


def is_whole(project: Project, commit: str, base: str | None) -> bool:
    """Whether every object that the commit adds to `base` is readable and matches its hash."""
    return not _objects_missing(project, commit, base)


def find_unsound(project: Project, tips: Mapping[str, str]) -> set[str]:
    """Refs that reach unreadable objects which the user's own refs do not reach."""
    theirs = [*_theirs(), "--branches", "--tags"]
    limits = ["--not", *theirs]
    if not tips or not _lacks_objects(project, list(tips.values()), limits):
        return set()
    unreadable = find_unreadable(project, list(tips.values()))
    if project.user_git("rev-list", "--count", *theirs, ok=(0, *READ_FAILED)).exit_code:
        # the user's own history is damaged, so only the tips themselves can be checked
        return {ref for ref, sha in tips.items() if sha in unreadable}
    return {ref for ref, sha in tips.items() if sha in unreadable or _lacks_objects(project, [sha], limits)}


def _theirs() -> list[str]:
    """Options that exclude burnish's refs from `--branches` and `--tags`."""
    return [f"--exclude={prefix.removeprefix('refs/heads/')}*" for prefix in OURS]


def _objects_missing(project: Project, commit: str, base: str | None) -> bool:
    limits = [f"^{base}"] if base and base not in find_unreadable(project, [base]) else []
    return _lacks_objects(project, [commit], limits)


def _lacks_objects(project: Project, commits: Sequence[str], limits: Sequence[str]) -> bool:
    args = ("rev-list", "--objects", "--no-object-names", *commits, *limits)
    try:
        listing = project.user_git(*args)
    except PhaseFailed:
        return True
    names = listing.stdout.decode().split()
    not_loose = [sha for sha in names if _read_sound(project, sha) is None]
    return bool(not_loose) and bool(_missing_by_git(project, not_loose, whole=True))


def _read_sound(project: Project, sha: str) -> bytes | None:
    """A loose object of the user's store with its header, if its content matches its hash."""
    try:
        # unbuffered: most of thousands of objects are packed, and file objects would take most of the time
        with open(f"{project.common_dir}/objects/{sha[:2]}/{sha[2:]}", "rb", buffering=0) as file:  # noqa: PTH123
            raw = zlib.decompress(file.readall())
    except (OSError, zlib.error):
        return None
    right = hashlib.new(project.object_format, raw, usedforsecurity=False).hexdigest() == sha
    return raw if right else None


def _loose_among(project: Project, names: Collection[str]) -> Collection[str]:
    """Names that may be loose objects. For many names, listing 256 folders is faster than trying each."""
    if len(names) < MANY:
        return names
    found: set[str] = set()
    for folder in {name[:2] for name in names}:
        with suppress(OSError):
            found.update(folder + rest for rest in os.listdir(f"{project.common_dir}/objects/{folder}"))  # noqa: PTH208
    return found


def _tree_of(raw: bytes) -> str:
    """The tree of a commit; "" where the object is not a commit."""
    head, _, body = raw.partition(b"\0")
    first = body.partition(b"\n")[0]
    return first.removeprefix(b"tree ").decode() if head.startswith(b"commit ") and first.startswith(b"tree ") else ""


def _missing_by_git(project: Project, names: Sequence[str], *, whole: bool = False) -> set[str]:
    """Objects that git cannot find. `whole`: git reads the contents, not only their headers."""
    how = "--batch" if whole else "--batch-check"
    query = "".join(f"{name}\n" for name in names).encode()
    # --buffer: else git flushes after each line
    result = project.user_git("cat-file", how, "--buffer", stdin=query, ok=(0, *READ_FAILED))
    if result.exit_code:
        # git stops at the first damaged object, so each is checked by itself
        checks = {name: project.user_git("cat-file", "-p", name, ok=(0, 1, *READ_FAILED)).exit_code for name in names}
        return {name for name, code in checks.items() if code}
    if b" missing" not in result.stdout:
        return set()
    lines = set(result.stdout.split(b"\n"))
    return {name for name in names if f"{name} missing".encode() in lines}


# -- broken refs ----------------------------------------------------------------------------------
# burnish's own refs that point to no readable commit: they make the user's `git gc` and `git log --all` fail.


@dataclass(frozen=True, slots=True)
class BrokenRef:
    """`commit` is empty where the ref's file contains no commit hash."""

    name: str
    commit: str = ""

    @property
    def words(self) -> str:
        return (
            f"points to {self.commit[:12]}, which cannot be read completely"
            if self.commit
            else "does not contain a commit hash"
        )


def find_broken_refs(project: Project, files: OwnRefFiles, *, thorough: bool) -> list[BrokenRef]:
    """Refs whose files contain no hash; `thorough`: also refs whose objects cannot all be read."""
    empty = [BrokenRef(ref) for ref in files.torn]
    if not thorough:
        return empty
    tips = {ref: sha for prefix in OURS for ref, sha in list_refs(project, prefix).items()}
    unsound = find_unsound(project, tips)
    return empty + [BrokenRef(ref, sha) for ref, sha in tips.items() if ref in unsound]


def remove_broken_ref(project: Project, ref: BrokenRef) -> None:
    """Delete the ref; a copy of its file is kept in burnish's own git dir."""
    assert ref.name.startswith(OURS)
    if not ref.commit:
        _move_file(project, ref.name)
        return
    try:
        project.user_git("update-ref", "--no-deref", "-d", "--", ref.name, ref.commit)
    except PhaseFailed:
        _move_file(project, ref.name)
    _save_copy(project, ref.name, ref.commit.encode())


def _move_file(project: Project, ref: str) -> None:
    path = project.common_dir / ref
    with disk_errors(f"removing the broken ref {ref}"):
        _save_copy(project, ref, path.read_bytes())
        path.unlink()
        sync_folder(path.parent)


def _save_copy(project: Project, ref: str, content: bytes) -> None:
    with disk_errors(f"saving a copy of the broken ref {ref}"):
        place = project.own / "kept" / "broken-refs"
        place.mkdir(parents=True, exist_ok=True)
        (place / ref.replace("/", "%2F")).write_bytes(content)


# -- torn objects ---------------------------------------------------------------------------------
# Moves damaged objects and packs (empty, truncated or overwritten) aside, so that they can be written again.

_FOLDER = re.compile(r"[0-9a-f]{2}")
_NAME = re.compile(r"[0-9a-f]{38}(?:[0-9a-f]{24})?")
_CHUNK = 1 << 20


def find_torn_objects(project: Project) -> list[str]:
    """Loose objects that do not match their hash. Slow: reads all of them, so call it only after other damage."""
    return [sha for sha, path in _loose_objects(project.user_objects) if not is_sound(project, sha, path)]


def move_torn_objects_aside(project: Project) -> list[str]:
    """Move damaged objects from the user's store to burnish's git dir, unless the user's own history needs them.

    git does not write an object again while a file of that name exists, even if it is empty.
    """
    _drop_torn_copies(project)
    moved_names = _move_torn_packs_aside(project)
    damaged_objects = find_torn_objects(project)
    needed_objects = _needed_by_user(project) if damaged_objects else None
    for sha in damaged_objects:
        if needed_objects is None or sha in needed_objects:
            continue
        with disk_errors(f"moving the damaged object {sha}"):
            place = project.own / "kept" / "torn-objects"
            place.mkdir(parents=True, exist_ok=True)
            source = project.user_objects / sha[:2] / sha[2:]
            # the home may be on another file system
            (place / sha).write_bytes(source.read_bytes())
            source.unlink()
        moved_names.append(sha)
    return moved_names


def find_torn_packs(project: Project) -> list[KeptPack]:
    """burnish's packs that do not end with the hash of their content."""
    parts = ((pack, pack.index.with_suffix(suffix)) for pack in list_packs(project) for suffix in (".pack", ".idx"))
    return list(dict.fromkeys(pack for pack, part in parts if not _ends_with_hash(project, part)))


def _move_torn_packs_aside(project: Project) -> list[str]:
    moved_names = []
    for pack in find_torn_packs(project):
        with disk_errors(f"moving the damaged pack {pack.index.stem}"):
            place = project.own / "kept" / "torn-objects"
            place.mkdir(parents=True, exist_ok=True)
            for suffix in (".idx", ".pack"):
                source = pack.index.with_suffix(suffix)
                if source.is_file():
                    (place / source.name).write_bytes(source.read_bytes())
            remove_pack(pack)
        moved_names.append(pack.index.stem)
    return moved_names


def _ends_with_hash(project: Project, file: Path) -> bool:
    try:
        data = file.read_bytes()
    except OSError:
        return False
    digest = hashlib.new(project.object_format, usedforsecurity=False)
    digest.update(data[: -digest.digest_size])
    return data[-digest.digest_size :] == digest.digest()


def _drop_torn_copies(project: Project) -> None:
    """Remove damaged objects from burnish's own store: published ones have copies, others are written again."""
    for sha, path in list(_loose_objects(project.objects)):
        if not is_sound(project, sha, path):
            with disk_errors(f"removing the damaged {path}"):
                path.unlink(missing_ok=True)


def _loose_objects(store: Path) -> Iterator[tuple[str, Path]]:
    for folder in sorted(store.iterdir()):
        if _FOLDER.fullmatch(folder.name) and folder.is_dir():
            for path in sorted(folder.iterdir()):
                if _NAME.fullmatch(path.name):
                    yield folder.name + path.name, path


def is_sound(project: Project, sha: str, path: Path) -> bool:
    """Whether the file of a loose object has the content that its name states; True if there is no such file."""
    digest, stream = hashlib.new(project.object_format, usedforsecurity=False), zlib.decompressobj()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(stream.decompress(chunk))
        digest.update(stream.flush())
    except FileNotFoundError:
        return True  # packed meanwhile
    except (OSError, zlib.error):
        return False
    return stream.eof and digest.hexdigest() == sha


def _needed_by_user(project: Project) -> set[str] | None:
    """Objects that the user's refs, reflogs and indexes reach; None where git cannot list them."""
    exclusions = [f"--exclude={prefix}*" for prefix in OURS]
    args = ("rev-list", "--objects", "--no-object-names", *exclusions, "--all", "--reflog", "--indexed-objects")
    try:
        result = project.user_git(*args, here=True)
    except PhaseFailed:
        return None
    return set(result.stdout.decode().split())


# Objects are read once after each start of the machine. The record of it is in burnish's git directory of the project
# (`own`).


def is_checked(own: Path) -> bool:
    """Whether all objects were read since the machine started."""
    try:
        return _check_file(own).read_text("ascii", "replace") == boot_id()
    except OSError:
        return False


def record_check(own: Path) -> None:
    write_whole(_check_file(own), boot_id().encode())


def forget_check(own: Path) -> None:
    """Have the next run read all objects."""
    _check_file(own).unlink(missing_ok=True)


def _check_file(own: Path) -> Path:
    return own / "checked-in-boot"
