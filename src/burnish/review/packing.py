"""Fits a change into a prompt: whole hunks, the most important first; what is left out is listed.

Generated and minified files come last, but they are not skipped because of their names.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from burnish.core.change import Change, ChangedFile, Hunk
from burnish.core.secrets import NO_SECRETS
from burnish.core.text_encoding import escape_invisible
from burnish.review.quoting import fenced, quoted

# characters that two pieces of a divided line have in common
OVERLAP = 200
SOURCE, TEST, DOCS, GENERATED = range(4)

_LOCKS = frozenset(
    {"package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb"}
    | {"poetry.lock", "uv.lock", "pdm.lock", "Pipfile.lock", "Cargo.lock", "composer.lock", "Gemfile.lock"}
    | {"go.sum", "flake.lock", "mix.lock", "pubspec.lock", "Podfile.lock", "packages.lock.json", "deno.lock"}
)
_GENERATED = re.compile(
    r"(\.min\.(js|css)|\.(js|css)\.map|_pb2(_grpc)?\.pyi?|\.pb\.(go|cc|h)|\.g\.dart|\.generated\.\w+)$"
    r"|(^|/)(node_modules|__generated__)/"
)
_TEST = re.compile(
    r"(^|/)(tests?|__tests__|specs?|testing)/|(^|/)test_[^/]*$|[._-](test|spec)s?\.[^/]+$|(^|/)conftest\.py$"
)
_DOCS = re.compile(r"\.(md|rst|txt|adoc)$|(^|/)docs?/", re.IGNORECASE)


_BETWEEN_WORDS = re.compile(r"[\s\"'`,;(){}\[\]<>|]")
_DIGEST = (
    "@@ digest of this lock file: every change, without hashes, sizes and addresses that follow from a new version @@\n"
)


@dataclass(frozen=True, slots=True)
class Packed:
    """The text of a change for a prompt. Each path is in exactly one of the lists."""

    text: str
    shown: tuple[str, ...]
    not_shown: tuple[str, ...]
    covered_by_summary: tuple[str, ...]


def is_lock_name(path: str) -> bool:
    return PurePosixPath(path).name in _LOCKS


def kind(path: str) -> int:
    """Kind of a path by its name: source, test, docs or generated."""
    if is_lock_name(path) or _GENERATED.search(path):
        return GENERATED
    if _TEST.search(path):
        return TEST
    return DOCS if _DOCS.search(path) else SOURCE


def pack(
    change: Change, limit: int, *, tag: str = "", reads_files: bool = True, redacted_paths: Collection[str] = ()
) -> Packed:
    """At most `limit` bytes of hunks; other paths are listed. Paths in `redacted_paths` do not count as shown."""
    files = [as_shown(file) for file in change.files]
    summarised_files = [file for file in files if _is_summarised(file)]
    rest = sorted((file for file in files if not _is_summarised(file)), key=lambda file: kind(file.path))
    whole, part = _choose(rest, limit)
    hunks = part | {file.path: file.all_hunks for file in rest if file.path in whole}
    diff = "".join(_diff(file, hunks[file.path]) for file in rest if file.path in hunks)
    whole -= set(redacted_paths)
    left_out = [file for file in rest if file.path not in whole]
    hidden_descriptions = [_description(file) for file in files if file.hidden]
    blocks = [
        fenced(diff, "diff", tag=tag) if diff else "",
        _names("Shown whole", [_count(file) for file in rest if file.path in whole], tag),
        _names("Deleted or renamed without a change", [_summary(f) for f in summarised_files if not f.hidden], tag),
        _names(
            "Content that cannot be shown (described only; a person is asked to look at it)", hidden_descriptions, tag
        ),
        _names(
            _left_out_words(reads_files),
            [_left_out_line(file, part.get(file.path, ()), redacted_paths) for file in left_out],
            tag,
        ),
    ]
    return Packed(
        text="\n".join(block for block in blocks if block) or "Nothing was changed.\n",
        shown=tuple(file.path for file in rest if file.path in whole),
        not_shown=tuple(file.path for file in left_out),
        covered_by_summary=tuple(file.path for file in summarised_files),
    )


def find_redacted_paths(change: Change, paths: Iterable[str], prompt: str) -> tuple[str, ...]:
    """Those of `paths` whose new text is changed by redaction.

    Only patterns count, because an author could hide text by making it look like a secret. Authors cannot choose
    values of the environment.
    """
    redacted_prompt = NO_SECRETS.redact(prompt)
    if redacted_prompt == prompt:
        return ()
    path_set = set(paths)
    return tuple(
        file.path for file in change.files if file.path in path_set and not _is_sent_whole(file, redacted_prompt)
    )


def _is_sent_whole(file: ChangedFile, redacted_prompt: str) -> bool:
    """Whether the redacted prompt contains all new text; a redaction may span two files."""
    shown_file = as_shown(file)
    text = _diff(shown_file, shown_file.all_hunks)
    redacted_text = NO_SECRETS.redact(text)
    # of a file that becomes executable or was renamed, unchanged lines matter, too
    only_new_lines = not file.digest and not file.is_shown_whole and not file.gets_other_place
    return redacted_text in redacted_prompt and (
        redacted_text == text or (only_new_lines and _new_lines(redacted_text) == _new_lines(text))
    )


def _new_lines(diff: str) -> list[str]:
    return [line for line in diff.split("\n") if line.startswith(("+", "\\"))]


def as_shown(file: ChangedFile) -> ChangedFile:
    """The file as shown to reviewers: invisible characters escaped, a lock file as its digest."""
    notes = [file.note] if file.note else []
    hunks, unchanged_hunks = _escaped(file.hunks), _escaped(file.unchanged_hunks)
    if file.digest:
        hunks, unchanged_hunks = _escaped((Hunk(0, 0, 0, 0, _DIGEST + "\n".join(file.digest) + "\n"),)), ()
    elif (hunks, unchanged_hunks) != (file.hunks, file.unchanged_hunks):
        notes.append("Characters that cannot be seen are written as \\xNN or \\uNNNN.")
    if file.unchanged_hunks:
        notes.append("Renamed: lines that did not change are part of this review, too.")
    if not notes and hunks == file.hunks:
        return file
    header = _header(file) + "".join(f"# {note}\n" for note in notes if f"# {note}\n" not in _header(file))
    return replace(file, hunks=hunks, unchanged_hunks=unchanged_hunks, header=header)


def _escaped(hunks: Iterable[Hunk]) -> tuple[Hunk, ...]:
    return tuple(replace(hunk, text=escape_invisible(hunk.text)) for hunk in hunks)


def batches(change: Change, *, files: int = 200) -> tuple[Change, ...]:
    """The change in parts of at most `files` paths."""
    parts = [change.files[at : at + files] for at in range(0, len(change.files), files)]
    return tuple(replace(change, files=part) for part in parts) or (change,)


def passes(change: Change, limit: int, *, files: int = 200) -> tuple[Change, ...]:
    """The change in parts that each fit, for an agent that cannot read files. Long hunks are divided."""
    parts: list[Change] = []
    current: list[ChangedFile] = []
    room = limit
    for file in sorted(map(as_shown, change.files), key=lambda file: kind(file.path)):
        for piece in [file] if _is_summarised(file) else _pieces(file, limit):
            size = 0 if _is_summarised(piece) else _size(piece, piece.all_hunks)
            if current and (size > room or len(current) >= files):
                parts.append(replace(change, files=tuple(current)))
                current, room = [], limit
            current.append(piece)
            room -= size
    return (*parts, replace(change, files=tuple(current)))


def only(change: Change, paths: Iterable[str]) -> Change:
    """The part of the change that touches these paths."""
    path_set = set(paths)
    return replace(change, files=tuple(file for file in change.files if file.path in path_set))


def _is_summarised(file: ChangedFile) -> bool:
    """Whether one line describes the file: deleted, renamed without a change, or not text."""
    if file.binary:
        return True
    if file.is_symlink or file.is_submodule:
        return False
    is_pure_rename = file.status == "R" and not file.all_hunks and file.old_mode == file.new_mode
    return file.status == "D" or is_pure_rename


def _choose(files: Sequence[ChangedFile], limit: int) -> tuple[set[str], dict[str, tuple[Hunk, ...]]]:
    """Paths to show in full, and for others their first hunks.

    Lines that did not change in renamed files get the room that the changed lines leave.
    """
    part: dict[str, tuple[Hunk, ...]] = {}
    room = limit
    edited_files = [file for file in files if file.hunks or not file.unchanged_hunks]
    for file in edited_files:
        if (size := _size(file, file.hunks)) <= room:
            part[file.path] = file.hunks
            room -= size
    whole = {file.path for file in edited_files if file.path in part and not file.unchanged_hunks}
    for file in edited_files:
        if file.path in part or room < limit // 20:
            continue
        hunks = _first_hunks(file, room)
        if hunks:
            part[file.path] = hunks
            room -= _size(file, hunks)
    for file in files:
        has_all_changes = part.get(file.path, ()) == file.hunks
        size = _size(file, file.all_hunks) - (_size(file, file.hunks) if file.path in part else 0)
        if file.unchanged_hunks and has_all_changes and size <= room:
            whole.add(file.path)
            room -= size
    return whole, {path: hunks for path, hunks in part.items() if path not in whole}


def _first_hunks(file: ChangedFile, room: int) -> tuple[Hunk, ...]:
    count, total = 0, len(_header(file))
    for hunk in file.hunks:
        if total + _bytes(hunk.text) > room:
            break
        count, total = count + 1, total + _bytes(hunk.text)
    return file.hunks[:count]


def _pieces(file: ChangedFile, limit: int) -> list[ChangedFile]:
    """The file in pieces, each with as many hunks as fit."""
    if _size(file, file.all_hunks) <= limit:
        return [file]
    room = max(limit - len(_header(file)), 400)
    groups: list[list[Hunk]] = [[]]
    total = 0
    for hunk in (part for long in file.all_hunks for part in _divide(long, room)):
        if groups[-1] and total + _bytes(hunk.text) > room:
            groups.append([])
            total = 0
        groups[-1].append(hunk)
        total += _bytes(hunk.text)
    return [replace(file, hunks=tuple(group), unchanged_hunks=()) for group in groups]


def _divide(hunk: Hunk, room: int) -> list[Hunk]:
    if _bytes(hunk.text) <= room:
        return [hunk]
    parts: list[Hunk] = []
    old, new = hunk.old_start, hunk.new_start
    lines: list[str] = []
    total = 0
    # 60 bytes for the heading of each part
    pieces = [piece for line in hunk.text.split("\n")[1:] for piece in _line_pieces(line, room - 62)]
    for line in [*pieces, None]:
        if lines and (line is None or total + _bytes(line) + 61 > room):
            olds, news = (sum(text[:1] in (" ", mark) for text in lines) for mark in "-+")
            heading = f"@@ -{old},{olds} +{new},{news} @@ part of a longer hunk\n"
            parts.append(Hunk(old, olds, new, news, heading + "\n".join(lines) + "\n"))
            old, new, lines, total = old + olds, new + news, [], 0
        if line:
            lines.append(line)
            total += _bytes(line) + 1
    return parts


def _line_pieces(line: str, room: int) -> Iterator[str]:
    """Divide a line that is too long for one part. Further pieces begin with `\\`, as git's own notes do."""
    if _bytes(line) <= room:
        yield line
        return
    # four bytes for each character at most
    length = max(room // 4 if not line.isascii() else room, 64) - 16
    # pieces overlap, so that no word is cut in all of them, and begin and end between words if possible: redaction
    # does not recognise a part of a secret
    overlap = min(OVERLAP, length // 5)
    start, end = 0, 0
    while end < len(line):
        end = len(line) if start + length >= len(line) else _gap(line, start + length, overlap)
        yield line[:end] if start == 0 else f"\\ goes on: {line[start:end]}"
        start = _gap(line, end - overlap, overlap)


def _gap(line: str, place: int, most: int) -> int:
    """The last position between two words, at most `most` characters before `place`; else `place`."""
    found = [match.end() for match in _BETWEEN_WORDS.finditer(line, place - most, place)]
    return found[-1] if found else place


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _size(file: ChangedFile, hunks: Sequence[Hunk]) -> int:
    return len(_header(file)) + sum(_bytes(hunk.text) for hunk in hunks)


def _header(file: ChangedFile) -> str:
    return file.header or f"diff --git {quoted('a/' + (file.old_path or file.path))} {quoted('b/' + file.path)}\n"


def _diff(file: ChangedFile, hunks: Sequence[Hunk]) -> str:
    return _header(file) + "".join(hunk.text for hunk in hunks)


def _names(title: str, lines: list[str], tag: str) -> str:
    listing = fenced("\n".join(lines), tag=tag)
    return f"{title} ({len(lines)}):\n\n{listing}" if lines else ""


def _left_out_words(reads_files: bool) -> str:
    if reads_files:
        return "NOT shown whole: read each of these files yourself and list it in `inspected`"
    return "NOT shown whole here: say nothing about these"


def _count(file: ChangedFile) -> str:
    return f"+{file.added} -{file.removed}  {quoted(file.path)}"


def _left_out_line(file: ChangedFile, hunks: Sequence[Hunk], redacted_paths: Collection[str]) -> str:
    note = f"(only {len(hunks)} of {len(file.all_hunks)} hunks above) " if hunks else ""
    if file.status == "R" and file.old_path:
        note = f"(was {quoted(file.old_path)}) {note}"
    if file.path in redacted_paths:
        note = "(redacted above, because it looks like a secret) "
    return note + _count(file)


def _summary(file: ChangedFile) -> str:
    origin = f", was {quoted(file.old_path)}" if file.status == "R" and file.old_path else ""
    what = f"deleted, {file.removed} lines" if file.status == "D" else "renamed unchanged"
    if file.status == "D" and file.binary:
        what = "deleted, binary"
    return f"{what}{origin}: {quoted(file.path)}"


def _description(file: ChangedFile) -> str:
    origin = f", was {quoted(file.old_path)}" if file.status == "R" and file.old_path else ""
    return f"{describe_hidden(file)}{origin}: {quoted(file.path)}"


def describe_hidden(file: ChangedFile) -> str:
    """Type, size, executable bit and hash of content that cannot be shown."""
    content = file.hidden
    if content is None:
        return ""
    size = f"{content.size:,} bytes" if content.size is not None else ""
    was = f"was {content.old_size:,} bytes" if content.old_size is not None else ""
    bit = "" if file.is_submodule else "EXECUTABLE" if file.is_executable else "not executable"
    facts = (content.type, size, was, bit, content.hash)
    return ", ".join(fact for fact in facts if fact)
