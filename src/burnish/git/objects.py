"""Reads and writes git objects without a git process."""

from __future__ import annotations

import hashlib
import re
import time
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from burnish.core.commit import Commit
from burnish.core.status import ErrorCode
from burnish.errors import PhaseFailed
from burnish.git.files import disk_errors, write_whole
from burnish.git.project import Project

Author = tuple[str, str]
BURNISH_AUTHOR: Author = ("burnish", "burnish@localhost")
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
        query = "".join(f"{name}\n" for name in rest).encode("utf-8", "surrogateescape")
        answer = project.git("cat-file", "--batch", stdin=query).stdout
        found.update(zip(rest, _batch(answer, len(rest)), strict=True))
    return [found[name] for name in names]


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
