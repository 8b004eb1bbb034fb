"""Content that git's diff does not show: text in other encodings, binary content, submodules, Git LFS.

Files that git calls binary, or whose changed lines are not UTF-8, are read and decoded here, both sides.
What cannot be decoded unambiguously is described by type, size and hash.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from burnish.core.change import Change, ChangedFile, HiddenContent, Hunk
from burnish.core.declared_encodings import HEAD, declares_other_encoding, may_declare_later
from burnish.core.text_encoding import MAX_TEXT_LENGTH, TextReading, in_doubt, known_type, read_text
from burnish.git import lfs
from burnish.git.diff import hunks_of
from burnish.git.files import disk_errors
from burnish.git.objects import MAX_HELD, loose_head, parse_tree, portions, read_loose, read_objects, sizes_of
from burnish.git.project import Project
from burnish.git.run import bare_env, git

# Larger blobs are described without being read.
MAX_READ_BYTES = 16 * 1024 * 1024
_NO_FILE, _LINK, _SUBMODULE = "000000", "120000", "160000"
_BROKEN = re.compile("[\udc80-\udcff]")
_POINTER_SIZE = re.compile(rb"^size (\d{1,18})\r?$", re.MULTILINE)
_POINTER_HASH = re.compile(rb"^oid ([!-~]+)\r?$", re.MULTILINE)
_SECTION = re.compile(rb"^diff --git a/old/(\d+) b/new/\1$", re.MULTILINE)

Sides = tuple[bytes | None, bytes | None]


def complete(project: Project, change: Change) -> Change:
    """The change with decoded text where git shows none, and a description of content that is not text."""
    files = {file.path: _described(file) for file in change.files}
    odd = [file for file in files.values() if _is_odd(file)]
    plain = [file for file in files.values() if _is_plain_text(file) and not _is_odd(file)]
    long: list[ChangedFile] = []
    for file, head in _heads(project, plain):
        if head is None:
            odd.append(file)
        elif lfs.is_pointer(head):
            files[file.path] = _described_pointer(file, head)
        elif declares_other_encoding(head):
            odd.append(file)
        elif may_declare_later(file.path, head, (hunk.text for hunk in file.hunks)):
            long.append(file)
    odd += _declaring_later(project, long)
    sizes = sizes_of(project, [blob for file in odd for blob in _blobs(file)])
    texts: dict[str, tuple[str, str]] = {}
    for file, sides in _read(project, odd, sizes):
        files[file.path], pair = _resolved(file, sides, sizes)
        if pair is not None:
            texts[file.path] = pair
    whole = {path for path in texts if files[path].is_shown_whole or _is_moved_link(files[path])}
    hunks = _differences(project, {path: pair for path, pair in texts.items() if path not in whole})
    hunks |= _whole_files(project, {path: texts[path] for path in texts if path in whole})
    for path, pair in texts.items():
        edits = hunks.get(path, ())
        is_partial = files[path].gets_other_place and path not in whole
        unchanged_hunks = tuple(_between(edits, pair[1])) if is_partial else ()
        files[path] = replace(files[path], hunks=edits, unchanged_hunks=unchanged_hunks, header=_header(files[path]))
    files |= _encoded_at_checkout(project, change.new_tree, list(files.values()))
    return replace(change, files=tuple(_printable(files[file.path]) for file in change.files))


def _encoded_at_checkout(project: Project, tree: str, files: Sequence[ChangedFile]) -> dict[str, ChangedFile]:
    """Files whose bytes in a checkout differ from those in git, and attribute files that cause or change this."""
    present = [file for file in files if file.status != "D" and file.new_mode != _SUBMODULE and file.hidden is None]
    encodings = encoded_at_checkout(project, tree, [file.path for file in present if file.new_mode != _LINK])
    kinds = {path: f"text that git writes to a checkout as {name}" for path, name in encodings.items()}
    for file in _encoding_attributes(project, tree, files):
        kinds[file.path] = "attributes that make git re-encode files in a checkout (working-tree-encoding)"
    return {
        file.path: replace(file, hidden=HiddenContent(kinds[file.path], None, f"git:{_newest_blob(file)}"))
        for file in files
        if file.path in kinds
    }


def _encoding_attributes(project: Project, tree: str, files: Sequence[ChangedFile]) -> list[ChangedFile]:
    """Attribute files, also deleted ones, whose change can alter the encoding of files that did not change."""
    attributes = [
        file
        for file in files
        if file.hidden is None and ATTRIBUTES in {PurePosixPath(path).name for path in (file.path, file.old_path or "")}
    ]
    if not attributes:
        return []
    root = read_objects(project, [f"{tree}:{ATTRIBUTES}"])[0]
    if root is not None and any(map(mentions_encoding, _MACRO.findall(root[1]))):
        # any attribute file may use the macro, or may have withdrawn it
        return attributes
    blobs = {file.path: [blob for blob in (file.old_blob, file.new_blob) if blob.strip("0")] for file in attributes}
    contents = read_blobs(project, [blob for pair in blobs.values() for blob in pair])
    return [file for file in attributes if any(mentions_encoding(contents[blob]) for blob in blobs[file.path])]


def _newest_blob(file: ChangedFile) -> str:
    return file.old_blob if file.status == "D" else file.new_blob


def _printable(file: ChangedFile) -> ChangedFile:
    """Replace bytes that are not UTF-8 in text that was not decoded here, e.g. of a deleted file."""
    if not any(_BROKEN.search(hunk.text) for hunk in file.hunks):
        return file
    texts = [hunk.text.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for hunk in file.hunks]
    return replace(file, hunks=tuple(replace(hunk, text=text) for hunk, text in zip(file.hunks, texts, strict=True)))


def _described(file: ChangedFile) -> ChangedFile:
    """Describe submodules: git shows only a commit hash instead of their content."""
    if file.new_mode == _SUBMODULE:
        return replace(file, hidden=HiddenContent("commit of another repository (submodule)", None, file.new_blob))
    return file


def _described_pointer(file: ChangedFile, data: bytes) -> ChangedFile:
    size, oid = _POINTER_SIZE.search(data), _POINTER_HASH.search(data)
    kind = "Git LFS object (only its pointer is in git)"
    return replace(file, hidden=HiddenContent(kind, int(size[1]) if size else None, oid[1].decode() if oid else ""))


def _is_odd(file: ChangedFile) -> bool:
    """Whether the content must be read to find out what can be shown."""
    if file.status == "D" or file.new_mode == _SUBMODULE:
        return False
    if file.binary or any(_BROKEN.search(hunk.text) for hunk in file.hunks):
        return True
    return file.is_shown_whole or file.gets_other_place or _is_moved_link(file)


def _is_moved_link(file: ChangedFile) -> bool:
    """A relative link leads elsewhere from another folder, so its target is shown although it did not change."""
    return file.status == "R" and file.is_symlink and not file.hunks


def _is_plain_text(file: ChangedFile) -> bool:
    return file.status != "D" and file.new_mode not in (_SUBMODULE, _LINK) and bool(file.hunks)


def _blobs(file: ChangedFile) -> Iterator[str]:
    if file.old_mode not in (_NO_FILE, _SUBMODULE):
        yield file.old_blob
    yield file.new_blob


def _heads(project: Project, files: Sequence[ChangedFile]) -> Iterator[tuple[ChangedFile, bytes | None]]:
    """The first bytes of each new content: they can declare another encoding or a Git LFS pointer.

    None where the content is missing, or is in a pack and too large to read.
    """
    packed_files: dict[str, list[ChangedFile]] = {}
    for file in files:
        head = loose_head(project, file.new_blob, HEAD)
        if head is None:
            packed_files.setdefault(file.new_blob, []).append(file)
        else:
            yield file, head
    heads: dict[str, bytes] = {}
    for portion in portions(packed_files, sizes_of(project, list(packed_files)), MAX_READ_BYTES):
        for blob, answer in zip(portion, read_objects(project, portion), strict=True):
            if answer:
                heads[blob] = answer[1][:HEAD]
    yield from ((file, heads.get(blob)) for blob, waiting in packed_files.items() for file in waiting)


def _declaring_later(project: Project, files: Sequence[ChangedFile]) -> Iterator[ChangedFile]:
    """Files that declare another encoding anywhere, and those too large to search."""
    by_blob: dict[str, list[ChangedFile]] = {}
    for file in files:
        by_blob.setdefault(file.new_blob, []).append(file)
    sizes = sizes_of(project, list(by_blob))
    for portion in portions(by_blob, sizes, MAX_READ_BYTES):
        for blob, answer in zip(portion, read_objects(project, portion), strict=True):
            waiting = by_blob.pop(blob)
            if answer is None or declares_other_encoding(answer[1]):
                yield from waiting
    yield from (file for waiting in by_blob.values() for file in waiting)


def _read(
    project: Project, files: Sequence[ChangedFile], sizes: Mapping[str, int]
) -> Iterator[tuple[ChangedFile, Sides]]:
    """Old and new content of each file; None where it does not exist or is too large."""
    waiting: list[ChangedFile] = []
    total = 0
    for file in files:
        size = sum(sizes.get(blob, 0) for blob in _blobs(file) if sizes.get(blob, 0) <= MAX_READ_BYTES)
        if waiting and total + size > MAX_HELD:
            yield from _portion(project, waiting, sizes)
            waiting, total = [], 0
        waiting.append(file)
        total += size
    if waiting:
        yield from _portion(project, waiting, sizes)


def _portion(
    project: Project, files: Sequence[ChangedFile], sizes: Mapping[str, int]
) -> Iterator[tuple[ChangedFile, Sides]]:
    readable = [
        b for b in dict.fromkeys(b for f in files for b in _blobs(f)) if sizes.get(b, 1 << 60) <= MAX_READ_BYTES
    ]
    answers = zip(readable, read_objects(project, readable), strict=True)
    content = {blob: answer[1] for blob, answer in answers if answer}
    for file in files:
        old = content.get(file.old_blob) if file.old_mode not in (_NO_FILE, _SUBMODULE) else None
        yield file, (old, content.get(file.new_blob))


def _resolved(file: ChangedFile, sides: Sides, sizes: Mapping[str, int]) -> tuple[ChangedFile, tuple[str, str] | None]:
    """The file with both texts to compare, or with a description and None."""
    old, new = sides
    if new is not None and lfs.is_pointer(new[:HEAD]):
        return _described_pointer(file, new[:HEAD]), None
    reading = read_text(new) if new is not None else None
    if reading is None:
        return _hidden(file, sizes, new), None
    before = read_text(old) if old is not None else TextReading("", reading.encoding)
    note = _note(reading, before, was_there=file.old_mode != _NO_FILE)
    if file.becomes_executable:
        note = f"It becomes executable: this is all of its content. {note}".rstrip()
    elif file.gets_other_type:
        note = f"Its new name has another file type: this is all of its content. {note}".rstrip()
    return replace(file, binary=False, note=note), (before.text if before else "", reading.text)


def _note(reading: TextReading, before: TextReading | None, *, was_there: bool) -> str:
    if before is None:
        return f"The old content was not text; this is all of the new content ({reading.encoding})."
    if was_there and before.encoding != reading.encoding:
        return f"Encoding changed from {before.encoding} to {reading.encoding}; both sides are decoded."
    return "" if reading.encoding == "utf-8" else f"Encoding: {reading.encoding}; decoded."


def _hidden(file: ChangedFile, sizes: Mapping[str, int], data: bytes | None) -> ChangedFile:
    kind = (known_type(data) if data is not None else "") or "data of unknown type"
    if data is not None and in_doubt(data):
        kind = "text that declares an encoding which hides its content"
    name = f"sha256:{hashlib.sha256(data).hexdigest()}" if data is not None else f"git:{file.new_blob}"
    old_size = sizes.get(file.old_blob) if file.old_mode != _NO_FILE else None
    return replace(file, binary=True, hunks=(), hidden=HiddenContent(kind, sizes.get(file.new_blob), name, old_size))


def _header(file: ChangedFile) -> str:
    """git's header lines without "Binary files differ"."""
    lines = [line for line in file.header.split("\n") if not line.startswith("Binary files ")]
    return "\n".join(lines)


def _differences(
    project: Project, texts: Mapping[str, tuple[str, str]], context: int = 3
) -> dict[str, tuple[Hunk, ...]]:
    """Hunks between decoded texts, computed by git: difflib takes minutes for a maliciously crafted file."""
    paths = [path for path, (old, new) in texts.items() if old != new]
    if not paths:
        return {}
    with tempfile.TemporaryDirectory(prefix="decoded-", dir=project.own) as folder, disk_errors("decoding files"):
        for side, name in enumerate(("old", "new")):
            place = Path(folder, name)
            place.mkdir()
            for number, path in enumerate(paths):
                (place / str(number)).write_bytes(texts[path][side].encode("utf-8", "surrogatepass"))
        output = _no_index(project, Path(folder), context)
    starts = [*_SECTION.finditer(output)]
    ends = [match.start() for match in starts[1:]] + [len(output)]
    return {
        paths[int(start[1])]: hunks_of(output[start.start() : end]) for start, end in zip(starts, ends, strict=True)
    }


def _whole_files(project: Project, texts: Mapping[str, tuple[str, str]]) -> dict[str, tuple[Hunk, ...]]:
    """One hunk for each file, with all of its lines."""
    differing = {path: pair for path, pair in texts.items() if pair[0] != pair[1]}
    hunks = _differences(project, differing, context=MAX_TEXT_LENGTH)
    for path in texts.keys() - differing.keys():
        lines = texts[path][1].removesuffix("\n").split("\n") if texts[path][1] else []
        heading = f"@@ -1,{len(lines)} +1,{len(lines)} @@\n"
        text = heading + "".join(f" {line}\n" for line in lines)
        hunks[path] = (Hunk(1, len(lines), 1, len(lines), text),) if lines else ()
    return hunks


def _between(hunks: Sequence[Hunk], text: str) -> Iterator[Hunk]:
    """The lines of the new text that are in none of the hunks."""
    lines = text.removesuffix("\n").split("\n") if text else []
    old, new = 1, 1
    for hunk in (*hunks, Hunk(0, 0, len(lines) + 1, 1, "")):
        # a side without lines is named by the line before it
        count = hunk.new_start + (hunk.new_lines == 0) - new
        if count > 0:
            words = "".join(f" {line}\n" for line in lines[new - 1 : new - 1 + count])
            yield Hunk(old, count, new, count, f"@@ -{old},{count} +{new},{count} @@\n{words}")
        old = hunk.old_start + hunk.old_lines + (hunk.old_lines == 0)
        new += max(count, 0) + hunk.new_lines


def _no_index(project: Project, folder: Path, context: int) -> bytes:
    args = (
        "diff", "--no-index", "--text", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames",
        "--src-prefix=a/", "--dst-prefix=b/", f"--unified={context}", "--inter-hunk-context=0",
        "--diff-algorithm=myers", "--", "old", "new",
    )  # fmt: skip
    env = bare_env(project.own) | {"GIT_DIR": str(folder / "none"), "GIT_CEILING_DIRECTORIES": str(folder)}
    return git(*args, cwd=folder, env=env, ok=(0, 1)).stdout


def read_blobs(project: Project, blobs: Sequence[str]) -> dict[str, bytes | None]:
    """Content by blob hash; None where it is missing or too large."""
    sizes = sizes_of(project, blobs)
    found: dict[str, bytes | None] = dict.fromkeys(blobs)
    for portion in portions(blobs, sizes, MAX_READ_BYTES):
        for blob, answer in zip(portion, read_objects(project, portion), strict=True):
            found[blob] = answer[1] if answer else None
    return found


# -- checkout encoding ----------------------------------------------------------------------------
# Files that git re-encodes when it checks them out: `working-tree-encoding` in `.gitattributes`.
#
# The tree holds UTF-8 then, and a checkout holds other bytes. U+4556 U+494C in the tree becomes `EVIL` in a checkout
# with UTF-16BE, so the text of the tree is not what runs.

ATTRIBUTES = ".gitattributes"
_NAME = "working-tree-encoding"
# only the attributes of the root may define macros
_MACRO = re.compile(rb"^.*\[attr\].*", re.MULTILINE)
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
