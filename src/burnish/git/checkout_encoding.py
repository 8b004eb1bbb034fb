"""Files that git re-encodes when it checks them out: `working-tree-encoding` in `.gitattributes`.

The tree holds UTF-8 then, and a checkout holds other bytes. U+4556 U+494C in the tree becomes `EVIL` in a checkout
with UTF-16BE, so the text of the tree is not what runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from burnish.git.files import disk_errors
from burnish.git.objects import read_objects
from burnish.git.project import Project

ATTRIBUTES = ".gitattributes"
_NAME = "working-tree-encoding"
# `-attr` and no attribute; git itself does not re-encode UTF-8
_NOT_ENCODED = frozenset({"unspecified", "unset", "utf-8", "utf8"})


def encoded_at_checkout(project: Project, tree: str, paths: Sequence[str]) -> dict[str, str]:
    """Path → encoding that a checkout of the tree gives it. One git process if no attribute file mentions one."""
    if not paths or not _is_mentioned(project, tree, paths):
        return {}
    asked = b"".join(os.fsencode(path) + b"\0" for path in paths)
    with TemporaryDirectory(dir=project.own, prefix="encodings-") as folder, disk_errors("reading attributes"):
        index = Path(folder) / "index"
        project.git("read-tree", tree, index=index)
        # the second git dir has no attributes of our own
        args = ("check-attr", "--cached", "-z", "--stdin", _NAME)
        answer = project.git(*args, index=index, git_dir=project.own / "attributes", stdin=asked).stdout
    fields = [os.fsdecode(field) for field in answer.split(b"\0")]
    values = zip(fields[::3], fields[2::3], strict=False)
    return {path: value for path, value in values if value.lower() not in _NOT_ENCODED}


def mentions_encoding(data: bytes | None) -> bool:
    """Can attributes with this content make git re-encode a file?"""
    return data is not None and _NAME.encode() in data


def _is_mentioned(project: Project, tree: str, paths: Iterable[str]) -> bool:
    folders = {str(parent) for path in paths for parent in PurePosixPath(path).parents}
    if any("\n" in folder for folder in folders):
        # a question to cat-file may not span two lines
        return True
    names = [f"{tree}:{ATTRIBUTES if folder == '.' else f'{folder}/{ATTRIBUTES}'}" for folder in sorted(folders)]
    return any(answer is not None and mentions_encoding(answer[1]) for answer in read_objects(project, names))
