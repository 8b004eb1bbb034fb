"""Files that git re-encodes when it checks them out: `working-tree-encoding` in `.gitattributes`.

The tree holds UTF-8 then, and a checkout holds other bytes. U+4556 U+494C in the tree becomes `EVIL` in a checkout
with UTF-16BE, so the text of the tree is not what runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from burnish.git.files import disk_errors
from burnish.git.objects import parse_tree, read_loose, read_objects
from burnish.git.project import Project

ATTRIBUTES = ".gitattributes"
_NAME = "working-tree-encoding"
# `-attr` and no attribute; git itself does not re-encode UTF-8
_NOT_ENCODED = frozenset({"unspecified", "unset", "utf-8", "utf8"})


def encoded_at_checkout(project: Project, tree: str, paths: Sequence[str]) -> dict[str, str]:
    """Path → encoding in a checkout of the tree; at most one git process if no attribute mentions an encoding."""
    if not paths or not _is_mentioned(project, tree, paths):
        return {}
    query = b"".join(os.fsencode(path) + b"\0" for path in paths)
    with TemporaryDirectory(dir=project.own, prefix="encodings-") as folder, disk_errors("reading attributes"):
        index = Path(folder) / "index"
        project.git("read-tree", tree, index=index)
        # the second git dir has no attributes of our own
        args = ("check-attr", "--cached", "-z", "--stdin", _NAME)
        answer = project.git(*args, index=index, git_dir=project.own / "attributes", stdin=query).stdout
    fields = [os.fsdecode(field) for field in answer.split(b"\0")]
    values = zip(fields[::3], fields[2::3], strict=False)
    return {path: value for path, value in values if value.lower() not in _NOT_ENCODED}


def mentions_encoding(data: bytes | None) -> bool:
    """Whether attributes with this content can make git re-encode a file."""
    return data is not None and _NAME.encode() in data


def _is_mentioned(project: Project, tree: str, paths: Iterable[str]) -> bool:
    folders = {parent for path in paths for parent in PurePosixPath(path).parents}
    try:
        return any(map(mentions_encoding, _loose_attributes(project, tree, folders)))
    except LookupError:
        pass
    if any("\n" in str(folder) for folder in folders):
        # cat-file reads one name per line
        return True
    names = [f"{tree}:{folder / ATTRIBUTES}" for folder in sorted(folders)]
    return any(answer is not None and mentions_encoding(answer[1]) for answer in read_objects(project, names))


def _loose_attributes(project: Project, tree: str, folders: Iterable[PurePosixPath]) -> Iterator[bytes]:
    """Attribute files of these folders, read without a process; raises LookupError if an object is not loose."""
    kind, data = _loose(project, tree)
    root = _loose(project, data[5 : data.index(b"\n")].decode())[1] if kind == "commit" else data
    trees = {PurePosixPath(): parse_tree(project, root)}
    for folder in sorted(folders, key=lambda folder: len(folder.parts)):
        if folder not in trees:
            mode, sha = trees[folder.parent].get(os.fsencode(folder.name), ("", ""))
            trees[folder] = parse_tree(project, _loose(project, sha)[1]) if mode == "40000" else {}
        if blob := trees[folder].get(os.fsencode(ATTRIBUTES)):
            yield _loose(project, blob[1])[1]


def _loose(project: Project, sha: str) -> tuple[str, bytes]:
    found = read_loose(project, sha)
    if found is None:
        raise LookupError(sha)
    return found
