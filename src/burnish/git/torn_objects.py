"""Moves damaged objects and packs (empty, truncated or overwritten) aside, so that they can be written again."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

from burnish.errors import PhaseFailed
from burnish.git.files import disk_errors, write_whole
from burnish.git.kept_packs import KeptPack, list_packs, remove_pack
from burnish.git.project import Project
from burnish.git.refs import OURS
from burnish.proc.identity import boot_id

_FOLDER = re.compile(r"[0-9a-f]{2}")
_NAME = re.compile(r"[0-9a-f]{38}(?:[0-9a-f]{24})?")
_CHUNK = 1 << 20


def find_torn_objects(project: Project) -> list[str]:
    """Loose objects that do not match their hash. Slow: reads all of them, so call it only after other damage."""
    return [sha for sha, path in _loose_objects(project.user_objects) if not _is_sound(project, sha, path)]


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
        if not _is_sound(project, sha, path):
            with disk_errors(f"removing the damaged {path}"):
                path.unlink(missing_ok=True)


def _loose_objects(store: Path) -> Iterator[tuple[str, Path]]:
    for folder in sorted(store.iterdir()):
        if _FOLDER.fullmatch(folder.name) and folder.is_dir():
            for path in sorted(folder.iterdir()):
                if _NAME.fullmatch(path.name):
                    yield folder.name + path.name, path


def _is_sound(project: Project, sha: str, path: Path) -> bool:
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
