"""Packs that burnish writes into the user's object store, each with a `.keep` that protects it from repack and prune.

git finds packs by their `.idx` files and skips a pack that has a `.keep` when a repack starts. So the `.keep` is
written first and the `.idx` last, and they are removed in the opposite order. If burnish is killed in between, git
does not read the remaining files, and `remove_leftovers` removes them.
"""

from __future__ import annotations

import mmap
import os
import shutil
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from burnish.git.files import disk_errors, sync_file, write_whole
from burnish.git.project import Project
from burnish.proc.folders import sync_folder

KEEP_TEXT = b"burnish: objects of its branches and refs; burnish merges these packs itself\n"
# git makes files of so few objects that it fetches
_SMALL_PACK = 100
_PARTS = (".pack", ".rev", ".idx")
_FANOUT = 8 + 256 * 4
LEFTOVER_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class KeptPack:
    """One pack of burnish's own, by the path of its `.idx`."""

    index: Path

    @property
    def size(self) -> int:
        try:
            return self.index.with_suffix(".pack").stat().st_size
        except OSError:
            return 0

    def has(self, sha: str) -> bool:
        """Whether the pack contains the object; reads the index without a process."""
        return bool(self._listed_among([sha]))

    def stored_among(self, names: Iterable[str]) -> set[str]:
        """Those of the objects that are in the pack; none if only its index is left."""
        return self._listed_among(names) if self.size else set()

    def _listed_among(self, names: Iterable[str]) -> set[str]:
        try:
            with self.index.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                if data[:8] != b"\xfftOc\0\0\0\2":
                    return set()
                return {sha for sha in names if _find(data, bytes.fromhex(sha))}
        except (OSError, ValueError):
            return set()


def _find(data: mmap.mmap, target: bytes) -> bool:
    first = target[0]
    low = _number(data, 8 + 4 * (first - 1)) if first else 0
    high = _number(data, 8 + 4 * first)
    width = len(target)
    while low < high:
        middle = (low + high) // 2
        at = _FANOUT + middle * width
        here = data[at : at + width]
        if here == target:
            return True
        low, high = (middle + 1, high) if here < target else (low, middle)
    return False


def _number(data: mmap.mmap, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "big")


def pack_folder(project: Project) -> Path:
    return project.user_objects / "pack"


def list_packs(project: Project) -> list[KeptPack]:
    """Complete packs that burnish wrote."""
    return [KeptPack(keep.with_suffix(".idx")) for keep in _own_keeps(project) if keep.with_suffix(".idx").is_file()]


def _own_keeps(project: Project) -> Iterator[Path]:
    try:
        keeps = sorted(file for file in pack_folder(project).iterdir() if file.suffix == ".keep")
    except OSError:
        return
    for keep in keeps:
        with suppress(OSError):
            if keep.stat().st_size == len(KEEP_TEXT) and keep.read_bytes() == KEEP_TEXT:
                yield keep


def list_user_packs(project: Project) -> set[Path]:
    return {pack for pack in pack_folder(project).glob("pack-*.pack") if not pack.with_suffix(".keep").exists()}


def adopt(project: Project, packs: Iterable[Path]) -> bool:
    """Take over small packs; False if there are none. Those of a partial clone stay the user's."""
    found = False
    for pack in packs:
        with suppress(OSError), pack.open("rb") as file:
            count = int.from_bytes(file.read(12)[8:], "big")
            if count < _SMALL_PACK and not pack.with_suffix(".promisor").exists():
                write_whole(pack.with_suffix(".keep"), KEEP_TEXT, mode=0o444, sync_name=False)
                found = True
    return found


def install(project: Project, source_folder: Path) -> KeptPack:
    """Copy the pack in `source_folder` into the user's store and sync it."""
    source = next(source_folder.glob("pack-*.idx"))
    folder = pack_folder(project)
    with disk_errors(f"writing to {folder}"):
        folder.mkdir(exist_ok=True)
        write_whole(folder / f"{source.stem}.keep", KEEP_TEXT, mode=0o444, sync_name=False)
        for part in _PARTS:
            if source.with_suffix(part).is_file():
                _copy(source.with_suffix(part), folder)
        sync_folder(folder)
    return KeptPack(folder / source.name)


def _copy(source: Path, folder: Path) -> None:
    """Copy under a temporary name that git does not remove: `git prune` removes `tmp_*`, `git gc` a lone `.idx`."""
    target = folder / source.name
    temporary = folder / f".burnish-{os.getpid()}-{threading.get_ident()}-{source.name}.part"
    try:
        with source.open("rb") as reader, temporary.open("wb") as writer:
            shutil.copyfileobj(reader, writer, 1 << 20)
            writer.flush()
            os.fchmod(writer.fileno(), 0o444)
            sync_file(writer.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def remove_pack(pack: KeptPack) -> None:
    """Remove a pack whose objects are all in another one. The `.keep` goes last: it marks the files as burnish's."""
    for suffix in (".idx", ".rev", ".bitmap", ".pack", ".keep"):
        pack.index.with_suffix(suffix).unlink(missing_ok=True)


def remove_leftovers(project: Project) -> None:
    """Remove parts of packs that a killed process left; recent ones may belong to a running process."""
    oldest = time.time() - LEFTOVER_SECONDS
    for keep in _own_keeps(project):
        with suppress(OSError):
            if not keep.with_suffix(".idx").is_file() and keep.stat().st_mtime < oldest:
                remove_pack(KeptPack(keep.with_suffix(".idx")))
    for file in pack_folder(project).glob(".burnish-*"):
        with suppress(OSError):
            if file.stat().st_mtime < oldest:
                file.unlink()
