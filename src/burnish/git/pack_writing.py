"""Writes small packs without a git process.

Format: https://git-scm.com/docs/gitformat-pack. Objects are stored without deltas; the index is version 2.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Mapping
from itertools import accumulate
from pathlib import Path

from burnish.git.objects import parse_tree, read_loose, read_own
from burnish.git.project import Project

_KINDS = {"commit": 1, "tree": 2, "blob": 3}
_TREE, _LINK = "40000", "160000"
MOST_OBJECTS = 500
MOST_BYTES = 4 << 20
Objects = dict[str, tuple[str, bytes]]
Entries = Mapping[bytes, tuple[str, str]]


class TooMuch(Exception):
    """Too many objects, or one that is not loose: git has to write the pack."""


def new_objects(project: Project, commit: str) -> Objects | None:
    """The commit and the objects that it adds to its parents, from burnish's store; None where git has to do it.

    Objects that the commit shares with a parent are in the user's repository. All others must be in burnish's store:
    an object in the user's store may be unreferenced, and pruned later.
    """
    found: Objects = {}
    try:
        _take_commit(project, commit, found)
    except TooMuch:
        return None
    return found


def _take_commit(project: Project, commit: str, found: Objects) -> None:
    head = _take(project, commit, found).partition(b"\n\n")[0].split(b"\n")
    lines = [line.split(b" ", 1) for line in head]
    tree = next(words[1].decode() for words in lines if words[0] == b"tree")
    parents = [words[1].decode() for words in lines if words[0] == b"parent"]
    before = [_tree_of(project, parent) for parent in parents]
    if tree not in before:
        _take_tree(project, tree, [_entries(project, one) for one in before], found)


def _tree_of(project: Project, commit: str) -> str:
    content = read_loose(project, commit)
    if content is None or content[0] != "commit":
        raise TooMuch
    return content[1].split(b"\n", 1)[0].removeprefix(b"tree ").decode()


def _entries(project: Project, tree: str) -> Entries:
    content = read_loose(project, tree)
    if content is None:
        raise TooMuch
    return parse_tree(project, content[1])


def _take_tree(project: Project, tree: str, before: list[Entries], found: Objects) -> None:
    for name, (mode, sha) in parse_tree(project, _take(project, tree, found)).items():
        parent_entries = [entries[name] for entries in before if name in entries]
        if sha in found or mode == _LINK or any(entry[1] == sha for entry in parent_entries):
            continue
        if mode == _TREE:
            below = [_entries(project, entry[1]) for entry in parent_entries if entry[0] == _TREE]
            _take_tree(project, sha, below, found)
        else:
            _take(project, sha, found)


def _take(project: Project, sha: str, found: Objects) -> bytes:
    content = read_own(project, sha, longest=MOST_BYTES)
    if content is None or len(found) >= MOST_OBJECTS:
        raise TooMuch
    found[sha] = content
    if sum(len(data) for _, data in found.values()) > MOST_BYTES:
        raise TooMuch
    return content[1]


def write_pack(project: Project, objects: Objects, folder: Path) -> None:
    """Write `pack-<name>.pack` and its index into the folder."""
    records: dict[bytes, tuple[int, int]] = {}
    pack = bytearray(struct.pack(">4s2I", b"PACK", 2, len(objects)))
    for sha, (kind, data) in objects.items():
        record = _head(_KINDS[kind], len(data)) + zlib.compress(data, 1)
        records[bytes.fromhex(sha)] = (zlib.crc32(record), len(pack))
        pack += record
    checksum = hashlib.new(project.object_format, pack, usedforsecurity=False).digest()
    name = f"pack-{checksum.hex()}"
    (folder / f"{name}.pack").write_bytes(bytes(pack) + checksum)
    (folder / f"{name}.idx").write_bytes(_index(project, records, checksum))


def _head(kind: int, size: int) -> bytes:
    """Encode kind and size: four bits of the size in the first byte, seven in each further one, lowest first."""
    out = bytearray([kind << 4 | size & 0x0F])
    size >>= 4
    while size:
        out[-1] |= 0x80
        out.append(size & 0x7F)
        size >>= 7
    return bytes(out)


def _index(project: Project, records: Mapping[bytes, tuple[int, int]], checksum: bytes) -> bytes:
    names = sorted(records)
    counts = [0] * 256
    for name in names:
        counts[name[0]] += 1
    index = b"".join(
        [
            b"\xfftOc\0\0\0\2",
            struct.pack(">256I", *accumulate(counts)),
            *names,
            *(struct.pack(">I", records[name][0]) for name in names),
            *(struct.pack(">I", records[name][1]) for name in names),
            checksum,
        ]
    )
    return index + hashlib.new(project.object_format, index, usedforsecurity=False).digest()
