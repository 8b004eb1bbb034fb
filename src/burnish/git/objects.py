"""Reads and writes git objects without a git process, and lists the files of a commit."""

from __future__ import annotations

import hashlib
import os
import re
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from burnish.core.commit import Commit, TreeEntry
from burnish.core.status import ErrorCode
from burnish.errors import PhaseFailed, Refused
from burnish.git.files import disk_errors, write_whole
from burnish.git.project import Project
from burnish.regular_files import read_regular

# bytes of objects that are in memory at once
MAX_HELD = 32 * 1024 * 1024

Author = tuple[str, str]
BURNISH_AUTHOR: Author = ("burnish", "burnish@localhost")
_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_TRAILER = re.compile(r"([A-Za-z0-9][A-Za-z0-9-]*): (.*)")


def write_object(project: Project, kind: str, data: bytes) -> str:
    """Write a loose object into burnish's own store; `publish` copies it to the user's.

    It is not synced here: the pack that publishes it is, before a ref or an event names it.
    """
    raw = f"{kind} {len(data)}".encode() + b"\0" + data
    sha = hashlib.new(project.object_format, raw, usedforsecurity=False).hexdigest()
    target = project.objects / sha[:2] / sha[2:]
    # a power failure may have left an empty file
    if _read_file(target) == (kind, data):
        return sha
    with disk_errors(f"writing to {project.objects}"):
        target.parent.mkdir(exist_ok=True)
        write_whole(target, zlib.compress(raw, 1), mode=0o444, prefix="tmp_obj_", durable=False)
    return sha


def read_objects(project: Project, names: Sequence[str]) -> list[tuple[str, bytes] | None]:
    """Kind and content of each object, None where it does not exist; at most one process."""
    found = {name: read_loose(project, name) for name in names}
    rest = [name for name, content in found.items() if content is None]
    if rest:
        found.update(zip(rest, read_batch(project, rest), strict=True))
    return [found[name] for name in names]


def read_batch(project: Project, names: Sequence[str]) -> list[tuple[str, bytes] | None]:
    """The same as git reads them; one process."""
    query = "".join(f"{name}\n" for name in names).encode("utf-8", "surrogateescape")
    return _batch(project.git("cat-file", "--batch", stdin=query).stdout, len(names))


def sizes_of(project: Project, names: Sequence[str]) -> dict[str, int]:
    """The size of each object; without those that do not exist."""
    unique = list(dict.fromkeys(name for name in names if name))
    if not unique:
        return {}
    query = "".join(f"{name}\n" for name in unique).encode()
    answer = project.git("cat-file", "--batch-check=%(objectname) %(objectsize)", stdin=query).stdout.decode()
    rows = (line.split(" ") for line in answer.splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}


def portions(names: Iterable[str], sizes: Mapping[str, int], largest: int | None = None) -> Iterator[list[str]]:
    """Objects to read at once, without those that do not exist or have more than `largest` bytes."""
    portion: list[str] = []
    total = 0
    for name in dict.fromkeys(names):
        size = sizes.get(name)
        if size is None or (largest is not None and size > largest):
            continue
        if portion and total + size > MAX_HELD:
            yield portion
            portion, total = [], 0
        portion.append(name)
        total += size
    if portion:
        yield portion


def read_loose(project: Project, sha: str) -> tuple[str, bytes] | None:
    """Kind and content of a loose object; without a process."""
    if len(sha) != len(project.zero):
        return None
    return next((found for file in _loose_files(project, sha) if (found := _read_file(file))), None)


def read_own(project: Project, sha: str, *, longest: int) -> tuple[str, bytes] | None:
    """Kind and content of a loose object in burnish's own store; None if its file is longer than `longest` bytes."""
    file = project.objects / sha[:2] / sha[2:]
    try:
        return _read_file(file) if file.stat().st_size <= longest else None
    except OSError:
        return None


def is_own_loose(project: Project, sha: str) -> bool:
    """Whether burnish's own store has it as a loose object."""
    return (project.objects / sha[:2] / sha[2:]).is_file()


def _loose_files(project: Project, sha: str) -> tuple[Path, Path]:
    return project.objects / sha[:2] / sha[2:], project.user_objects / sha[:2] / sha[2:]


def _read_file(file: Path) -> tuple[str, bytes] | None:
    try:
        raw = zlib.decompress(file.read_bytes())
    except (OSError, zlib.error):
        return None
    head, _, data = raw.partition(b"\0")
    return head.split(b" ")[0].decode(), data


def loose_head(project: Project, sha: str, length: int) -> bytes | None:
    """The first bytes of a loose object's content; None where it is not loose."""
    for place in _loose_files(project, sha):
        try:
            with place.open("rb") as file:
                raw = zlib.decompressobj().decompress(file.read(length + 4096), length + 64)
        except (OSError, zlib.error):
            continue
        return raw.partition(b"\0")[2][:length]
    return None


def _batch(answer: bytes, count: int) -> list[tuple[str, bytes] | None]:
    out: list[tuple[str, bytes] | None] = []
    at = 0
    for _ in range(count):
        end = answer.index(b"\n", at)
        head = answer[at:end].split(b" ")
        at = end + 1
        if head[-1] in (b"missing", b"ambiguous") or not head[-1].isdigit():
            out.append(None)
            continue
        size = int(head[-1])
        out.append((head[-2].decode(), answer[at : at + size]))
        at += size + 1
    return out


def read_commit(project: Project, sha: str) -> Commit:
    found = read_objects(project, [sha])[0]
    if found is None or found[0] != "commit":
        raise PhaseFailed(
            ErrorCode.GIT_ERROR,
            f"The commit {sha} is not in the repository.",
            hint="It may have been pruned: run `git fsck`.",
        )
    head, _, body = found[1].partition(b"\n\n")
    lines = [line.split(b" ", 1) for line in head.split(b"\n")]
    message = body.decode("utf-8", "replace")
    return Commit(
        sha=sha,
        tree=next(words[1].decode() for words in lines if words[0] == b"tree"),
        parents=tuple(words[1].decode() for words in lines if words[0] == b"parent"),
        message=message,
        trailers=trailers_of(message),
    )


def write_commit(
    project: Project, tree: str, parents: Sequence[str], message: str, author: Author = BURNISH_AUTHOR
) -> str:
    now = time.time()
    offset = time.localtime(now).tm_gmtoff // 60
    sign = "-" if offset < 0 else "+"
    who = f"{_plain(author[0]) or BURNISH_AUTHOR[0]} <{_plain(author[1])}>"
    when = f"{int(now)} {sign}{abs(offset) // 60:02}{abs(offset) % 60:02}"
    head = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
    text = "\n".join([*head, f"author {who} {when}", f"committer {who} {when}", "", message.rstrip("\n") + "\n"])
    return write_object(project, "commit", text.replace("\0", "").encode("utf-8", "backslashreplace"))


def _plain(name: str) -> str:
    return re.sub(r"[<>\x00-\x1f]", "", name).strip(" .,:;\"'\\")


def with_trailers(message: str, trailers: Mapping[str, str]) -> str:
    lines = [f"{key}: {' '.join(value.split())}" for key, value in trailers.items()]
    return message.strip("\n") + ("\n\n" + "\n".join(lines) if lines else "") + "\n"


def trailers_of(message: str) -> dict[str, str]:
    """Trailers of the last paragraph, if all its lines are trailers."""
    _subject, _, rest = message.strip("\n").partition("\n")
    last = rest.strip("\n").split("\n\n")[-1].split("\n") if rest.strip() else []
    found = [_TRAILER.fullmatch(line) for line in last]
    return {m[1]: m[2] for m in found if m} if found and all(found) else {}


def parse_tree(project: Project, data: bytes) -> dict[bytes, tuple[str, str]]:
    """Name → (mode, sha)."""
    width = len(project.zero) // 2
    entries: dict[bytes, tuple[str, str]] = {}
    at = 0
    while at < len(data):
        end = data.index(b"\0", at)
        mode, _, name = data[at:end].partition(b" ")
        entries[name] = (mode.decode(), data[end + 1 : end + 1 + width].hex())
        at = end + 1 + width
    return entries


def write_tree(project: Project, entries: Mapping[bytes, tuple[str, str]]) -> str:
    # git sorts a directory as if its name ended in a slash
    order = sorted(entries, key=lambda name: name + b"/" if entries[name][0] == "40000" else name)
    data = b"".join(entries[name][0].encode() + b" " + name + b"\0" + bytes.fromhex(entries[name][1]) for name in order)
    return write_object(project, "tree", data)


def with_files(project: Project, tree: str, files: Mapping[bytes, bytes]) -> str:
    """The tree with new content of files that it has; their modes stay. Refused for anything but a regular file."""
    found = read_objects(project, [tree])[0]
    entries = parse_tree(project, found[1]) if found else {}
    below: dict[bytes, dict[bytes, bytes]] = {}
    for path, data in files.items():
        name, _, rest = path.partition(b"/")
        mode, _ = entries.get(name, ("", ""))
        if rest and mode == "40000":
            below.setdefault(name, {})[rest] = data
        elif not rest and mode in ("100644", "100755"):
            entries[name] = (mode, write_object(project, "blob", data))
        else:
            raise Refused(f"{os.fsdecode(path)} is not a regular file of the change.", hint="Change it by hand.")
    for name, inner in below.items():
        entries[name] = ("40000", with_files(project, entries[name][1], inner))
    return write_tree(project, entries)


def with_entries(project: Project, sha: str, entries: Sequence[TreeEntry]) -> Commit:
    """The commit with these paths of its tree replaced or removed; the same hash each time. No ref names it."""
    found = read_objects(project, [sha])[0]
    old = read_commit(project, sha)
    assert found
    by_path = {os.fsencode(one.path): one for one in entries}
    tree = _with_entries(project, old.tree, by_path) or write_tree(project, {})
    name = write_object(project, "commit", found[1].replace(old.tree.encode(), tree.encode(), 1))
    return replace(old, sha=name, tree=tree)


def _with_entries(project: Project, tree: str, entries: Mapping[bytes, TreeEntry]) -> str | None:
    found = read_objects(project, [tree])[0] if tree else None
    names = parse_tree(project, found[1]) if found else {}
    below: dict[bytes, dict[bytes, TreeEntry]] = {}
    # what is removed first makes room: a file may become a folder
    for path, entry in sorted(entries.items(), key=lambda item: item[1].mode != ""):
        name, _, rest = path.partition(b"/")
        if rest:
            below.setdefault(name, {})[rest] = entry
        elif not entry.mode:
            names.pop(name, None)
        else:
            data = entry.content
            names[name] = (entry.mode, entry.blob if data is None else write_object(project, "blob", data))
    for name, inner in below.items():
        mode, sha = names.get(name, ("", ""))
        if mode not in ("", "40000") and not any(entry.mode for entry in inner.values()):
            continue
        folder = _with_entries(project, sha if mode == "40000" else "", inner)
        if folder:
            names[name] = ("40000", folder)
        else:
            names.pop(name, None)
    return write_tree(project, names) if names else None


# -- object links ---------------------------------------------------------------------------------
# Links to the object stores that burnish's git dirs borrow from.
#
# A sandbox mounts another tree at the path of the user's checkout, which hides `<checkout>/.git/objects`. So
# alternates name a link below burnish's own git dir, and a sandbox mounts the store itself at the link's path.

MAX_STORES = 16
# names in an object store: loose objects, packs, and files that git and file managers leave
_OF_STORE = re.compile(r"[0-9a-f]{2}|pack|info|tmp_.*|incoming-.*|tmp-objdir-.*|.*\.lock|\.DS_Store|\.nfs.*")


def link_objects(project: Project, objects: Path) -> Path:
    """Create a link to the object store that works inside and outside of a sandbox."""
    folder = project.own / "lent"
    folder.mkdir(exist_ok=True)
    link = folder / hashlib.sha256(os.fsencode(objects)).hexdigest()[:16]
    with suppress(FileExistsError):
        link.symlink_to(objects)
    return link


def borrowed_objects(project: Project) -> tuple[tuple[Path, Path], ...]:
    """All borrowed stores as (link, store): the project's, and those that its alternates name."""
    stores: dict[Path, None] = {}
    waiting = [project.objects, project.user_objects]
    while waiting and len(stores) < MAX_STORES:
        store = waiting.pop(0)
        own = store == project.objects or (store == project.user_objects and not store.is_symlink())
        if store not in stores and (store.is_dir() if own else _is_store(store)):
            stores[store] = None
            waiting += _alternates(store)
    return tuple((link_objects(project, store), store) for store in stores)


def _is_store(folder: Path) -> bool:
    """Whether the folder has only git objects: sandboxes expose it, and `alternates` could name any folder."""
    try:
        with os.scandir(folder) as entries:
            return all(_OF_STORE.fullmatch(entry.name) for entry in entries)
    except OSError:
        return False


def _alternates(objects: Path) -> list[Path]:
    lines = os.fsdecode(read_regular(objects / "info" / "alternates") or b"").split("\n")
    paths = (line for line in lines if line and not line.startswith(("#", '"')))
    return [Path(os.path.realpath(objects / line)) for line in paths]


# -- reading --------------------------------------------------------------------------------------
# Lists and reads the files of a commit.


class Contents:
    """Reads files of a commit in batches of 100: a process for each would take minutes."""

    def __init__(self, project: Project, commit: str, paths: Sequence[str]) -> None:
        self._project, self._commit, self._paths = project, commit, paths
        self._place = {path: number for number, path in enumerate(paths)}
        self._held: dict[str, bytes | None] = {}
        self._all: frozenset[str] | None = None

    def get(self, path: str) -> bytes | None:
        if path not in self._held:
            self._fetch(path)
        return self._held[path]

    def _fetch(self, path: str) -> None:
        start = self._place.get(path)
        if start is None and not self._is_there(path):
            self._held[path] = None
            return
        near = [path] if start is None else self._paths[start // 100 * 100 : start // 100 * 100 + 100]
        missing = [name for name in near if name not in self._held]
        if sum(len(data or b"") for data in self._held.values()) > MAX_HELD:
            self._held.clear()
        self._held |= read_files(self._project, self._commit, missing)

    def _is_there(self, path: str) -> bool:
        if self._all is None:
            self._all = frozenset(list_files(self._project, self._commit))
        return path in self._all


def list_files(project: Project, commit: str) -> tuple[str, ...]:
    """All paths, in git's order. Those of the last commits are remembered: each phase of a task needs them."""
    return _paths(project, tree_of(project, commit)) if _HASH.fullmatch(commit) else tuple(_entries(project, commit))


@lru_cache(maxsize=4)
def _paths(project: Project, tree: str) -> tuple[str, ...]:
    return tuple(list_entries(project, tree))


def read_files(project: Project, commit: str, paths: Sequence[str]) -> dict[str, bytes | None]:
    """Content of each path in the commit, None where there is no file; at most two processes."""
    # git resolves a leading ./ or ../ against a working tree, and fails without one; no tree has such a path
    names = {path: f"{commit}:{path}" for path in dict.fromkeys(paths) if path and not path.startswith(("./", "../"))}
    if any("\n" in path for path in names):
        # cat-file reads one name per line, so such a path is read by its blob hash
        entries = list_entries(project, commit)
        blobs = {path: entries[path].split(" ")[2] for path in names if path in entries}
        names = {path: blobs.get(path, project.zero) if "\n" in path else name for path, name in names.items()}
    found = dict(zip(names, read_objects(project, list(names.values())), strict=True))
    return {path: answer[1] if (answer := found.get(path)) and answer[0] == "blob" else None for path in paths}


def list_links(project: Project, tree: str) -> dict[str, str]:
    """Path → target of the link, "" for a regular file, "/" for a submodule.

    `tree` is the hash of a tree or commit: the last ones are remembered, since all tasks have the same base.
    """
    return dict(_list_links(project, tree_of(project, tree)))


@lru_cache(maxsize=4)
def _list_links(project: Project, tree: str) -> dict[str, str]:
    entries = list_entries(project, tree)
    # few of many: modes of regular files begin with 100
    others = {path: entry for path, entry in entries.items() if not entry.startswith("100")}
    links = {path: entry.split(" ")[2] for path, entry in others.items() if entry.startswith("120000")}
    contents = dict(zip(links, read_objects(project, list(links.values())), strict=True)) if links else {}
    found = dict.fromkeys(entries, "") | {path: "/" for path, entry in others.items() if entry.startswith("160000")}
    for path, answer in contents.items():
        found[path] = os.fsdecode(answer[1]) if answer and answer[1] else "/"
    return found


def list_entries(project: Project, tree: str) -> Mapping[str, str]:
    """Path → mode, type and object of each file, with a space between them; split by the caller, for few of many.

    In git's order. `tree` is the hash of a tree or commit: the last ones are remembered.
    """
    return _entries_of_tree(project, tree_of(project, tree)) if _HASH.fullmatch(tree) else _entries(project, tree)


@lru_cache(maxsize=64)
def tree_of(project: Project, sha: str) -> str:
    """The tree of a commit; a tree itself."""
    found = read_objects(project, [sha])[0]
    return read_commit(project, sha).tree if found and found[0] == "commit" else sha


# what was listed last: its project, the tree and the entries
_last_listings: list[tuple[Project, str, dict[str, str]]] = []


@lru_cache(maxsize=4)
def _entries_of_tree(project: Project, tree: str) -> dict[str, str]:
    # most trees are those of a task: they have the files of its base with few changes
    listing = next(((sha, entries) for owner, sha, entries in _last_listings[-1:] if owner == project), None)
    found = _changed_entries(project, *listing, tree) if listing else _entries(project, tree)
    _last_listings[:] = [(project, tree, found)]
    return found


def _entries(project: Project, tree: str) -> dict[str, str]:
    output = project.git("ls-tree", "-r", "-z", "--full-tree", tree).stdout.decode("utf-8", "surrogateescape")
    records = (record.partition("\t") for record in output.split("\0")[:-1])
    return {path: entry for entry, _, path in records}


def _changed_entries(project: Project, before: str, old: Mapping[str, str], tree: str) -> dict[str, str]:
    """The entries of `tree`, by its differences from one that was listed."""
    args = ("diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--ignore-submodules=none", before, tree)
    output = project.git(*args).stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]
    entries = dict(old)
    is_new = False
    for record, path in zip(output[0::2], output[1::2], strict=True):
        _, mode, _, sha, status = record.split(" ")
        if status == "D":
            del entries[path]
            continue
        is_new = is_new or path not in entries
        entries[path] = f"{mode} {'commit' if mode == '160000' else 'blob'} {sha}"
    if is_new:
        order = sorted(entries, key=lambda path: path.encode("utf-8", "surrogateescape"))
        return {path: entries[path] for path in order}
    return entries
