"""What of a change fits into a prompt: whole hunks, the important first, and nothing left out silently.

A name covers nothing: generated and minified files come last, but they are shown like any other text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from burnish.core.change import Change, ChangedFile, Hunk
from burnish.core.secrets import NO_SECRETS
from burnish.core.text_encoding import escape_invisible
from burnish.review.fence import fenced
from burnish.review.path_quoting import quoted

# Characters of a divided line that stand in both pieces.
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
    """The text of a change for a prompt, and which path went where: each is in exactly one list."""

    text: str
    shown: tuple[str, ...]
    not_shown: tuple[str, ...]
    covered_by_summary: tuple[str, ...]


def is_lock_name(path: str) -> bool:
    return PurePosixPath(path).name in _LOCKS


def kind(path: str) -> int:
    """What a path is, by its name: source, test, docs or generated."""
    if is_lock_name(path) or _GENERATED.search(path):
        return GENERATED
    if _TEST.search(path):
        return TEST
    return DOCS if _DOCS.search(path) else SOURCE


def pack(
    change: Change, limit: int, *, tag: str = "", reads_files: bool = True, redacted: Collection[str] = ()
) -> Packed:
    """At most `limit` bytes of hunks; the rest is named. The text of a path in `redacted` does not count as shown."""
    files = [as_shown(file) for file in change.files]
    summarised = [file for file in files if _folded(file)]
    rest = sorted((file for file in files if not _folded(file)), key=lambda file: kind(file.path))
    whole, part = _choose(rest, limit)
    diff = "".join(_diff(file, part.get(file.path)) for file in rest if file.path in whole or file.path in part)
    whole -= set(redacted)
    left_out = [file for file in rest if file.path not in whole]
    hidden = [_description(file) for file in files if file.hidden]
    blocks = [
        fenced(diff, "diff", tag=tag) if diff else "",
        _names("Shown whole", [_count(file) for file in rest if file.path in whole], tag),
        _names("Deleted or renamed without a change", [_summary(f) for f in summarised if not f.hidden], tag),
        _names("Content that cannot be shown (described only; a person is asked to look at it)", hidden, tag),
        _names(_left_out_words(reads_files), [_left(file, part.get(file.path), redacted) for file in left_out], tag),
    ]
    return Packed(
        text="\n".join(block for block in blocks if block) or "Nothing was changed.\n",
        shown=tuple(file.path for file in rest if file.path in whole),
        not_shown=tuple(file.path for file in left_out),
        covered_by_summary=tuple(file.path for file in summarised),
    )


def redacted_paths(change: Change, paths: Iterable[str], prompt: str) -> tuple[str, ...]:
    """Those of `paths` of which redaction takes new text out of the prompt.

    The author of a change chooses what looks like a secret. A value of the environment is none of its choice.
    """
    sent = NO_SECRETS.redact(prompt)
    if sent == prompt:
        return ()
    wanted = set(paths)
    return tuple(file.path for file in change.files if file.path in wanted and not _is_sent_whole(file, sent))


def _is_sent_whole(file: ChangedFile, sent: str) -> bool:
    """Is the new text in the redacted prompt? A redaction may begin in one file and end in another."""
    text = _diff(as_shown(file), None)
    left = NO_SECRETS.redact(text)
    return left in sent and (left == text or (not file.digest and _new_lines(left) == _new_lines(text)))


def _new_lines(diff: str) -> list[str]:
    return [line for line in diff.split("\n") if line.startswith(("+", "\\"))]


def as_shown(file: ChangedFile) -> ChangedFile:
    """The file as a reviewer sees it: nothing invisible in it, and a lock file as its digest."""
    notes = [file.note] if file.note else []
    hunks = file.hunks
    if file.digest:
        hunks = (Hunk(0, 0, 0, 0, _DIGEST + "\n".join(file.digest) + "\n"),)
    hunks = tuple(replace(hunk, text=text) for hunk in hunks for text in [escape_invisible(hunk.text)])
    if any(new.text != old.text for new, old in zip(hunks, file.hunks, strict=False)) and not file.digest:
        notes.append("Characters that cannot be seen are written as \\xNN or \\uNNNN.")
    if not notes and hunks == file.hunks:
        return file
    return replace(file, hunks=hunks, header=_header(file) + "".join(f"# {note}\n" for note in notes))


def batches(change: Change, *, files: int = 200) -> tuple[Change, ...]:
    """The change in parts of at most `files` paths."""
    parts = [change.files[at : at + files] for at in range(0, len(change.files), files)]
    return tuple(replace(change, files=part) for part in parts) or (change,)


def passes(change: Change, limit: int, *, files: int = 200) -> tuple[Change, ...]:
    """The change in parts that each fit, for an agent that cannot read files. Too long hunks are divided."""
    done: list[Change] = []
    now: list[ChangedFile] = []
    room = limit
    for file in sorted(map(as_shown, change.files), key=lambda file: kind(file.path)):
        for piece in [file] if _folded(file) else _pieces(file, limit):
            size = 0 if _folded(piece) else _size(piece)
            if now and (size > room or len(now) >= files):
                done.append(replace(change, files=tuple(now)))
                now, room = [], limit
            now.append(piece)
            room -= size
    return (*done, replace(change, files=tuple(now)))


def only(change: Change, paths: Iterable[str]) -> Change:
    """The part of the change that touches these paths."""
    wanted = set(paths)
    return replace(change, files=tuple(file for file in change.files if file.path in wanted))


def _folded(file: ChangedFile) -> bool:
    """One line says all that can be said: gone, renamed without a change, or not text."""
    if file.binary:
        return True
    if file.is_symlink or file.is_submodule:
        return False
    moved = file.status == "R" and not file.hunks and file.old_mode == file.new_mode
    return file.status == "D" or moved


def _choose(files: Sequence[ChangedFile], limit: int) -> tuple[set[str], dict[str, int]]:
    """Paths shown whole, and for others how many of their first hunks."""
    whole: set[str] = set()
    part: dict[str, int] = {}
    room = limit
    for file in files:
        if (size := _size(file)) <= room:
            whole.add(file.path)
            room -= size
    for file in files:
        if file.path in whole or room < limit // 20:
            continue
        count, used = 0, len(_header(file))
        for hunk in file.hunks:
            if used + _bytes(hunk.text) > room:
                break
            count, used = count + 1, used + _bytes(hunk.text)
        if count:
            part[file.path] = count
            room -= used
    return whole, part


def _pieces(file: ChangedFile, limit: int) -> list[ChangedFile]:
    """The file as several, each with as many hunks as fit."""
    if _size(file) <= limit:
        return [file]
    room = max(limit - len(_header(file)), 400)
    groups: list[list[Hunk]] = [[]]
    used = 0
    for hunk in (part for long in file.hunks for part in _divide(long, room)):
        if groups[-1] and used + _bytes(hunk.text) > room:
            groups.append([])
            used = 0
        groups[-1].append(hunk)
        used += _bytes(hunk.text)
    return [replace(file, hunks=tuple(group)) for group in groups]


def _divide(hunk: Hunk, room: int) -> list[Hunk]:
    if _bytes(hunk.text) <= room:
        return [hunk]
    done: list[Hunk] = []
    old, new = hunk.old_start, hunk.new_start
    lines: list[str] = []
    used = 0
    # 60 bytes for the heading of each part
    pieces = [piece for line in hunk.text.split("\n")[1:] for piece in _line_pieces(line, room - 62)]
    for line in [*pieces, None]:
        if lines and (line is None or used + _bytes(line) + 61 > room):
            olds, news = (sum(text[:1] in (" ", mark) for text in lines) for mark in "-+")
            heading = f"@@ -{old},{olds} +{new},{news} @@ part of a longer hunk\n"
            done.append(Hunk(old, olds, new, news, heading + "\n".join(lines) + "\n"))
            old, new, lines, used = old + olds, new + news, [], 0
        if line:
            lines.append(line)
            used += _bytes(line) + 1
    return done


def _line_pieces(line: str, room: int) -> Iterator[str]:
    """A line too long for one part, e.g. of a minified file. Further pieces begin with `\\`, as git's own notes do."""
    if _bytes(line) <= room:
        yield line
        return
    # four bytes for each character at most
    length = max(room // 4 if not line.isascii() else room, 64) - 16
    # the end of a piece is repeated in the next, so that no word is cut between two prompts; and pieces begin and end
    # between words where they can: of a secret that is cut, redaction would leave the part
    overlap = min(OVERLAP, length // 5)
    start, end = 0, 0
    while end < len(line):
        end = len(line) if start + length >= len(line) else _gap(line, start + length, overlap)
        yield line[:end] if start == 0 else f"\\ goes on: {line[start:end]}"
        start = _gap(line, end - overlap, overlap)


def _gap(line: str, place: int, most: int) -> int:
    """The nearest place between two words, at most so many characters before this one; else this one."""
    found = [match.end() for match in _BETWEEN_WORDS.finditer(line, place - most, place)]
    return found[-1] if found else place


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _size(file: ChangedFile) -> int:
    return len(_header(file)) + sum(_bytes(hunk.text) for hunk in file.hunks)


def _header(file: ChangedFile) -> str:
    return file.header or f"diff --git {quoted('a/' + (file.old_path or file.path))} {quoted('b/' + file.path)}\n"


def _diff(file: ChangedFile, hunks: int | None) -> str:
    shown = file.hunks if hunks is None else file.hunks[:hunks]
    return _header(file) + "".join(hunk.text for hunk in shown)


def _names(title: str, lines: list[str], tag: str) -> str:
    listing = fenced("\n".join(lines), tag=tag)
    return f"{title} ({len(lines)}):\n\n{listing}" if lines else ""


def _left_out_words(reads_files: bool) -> str:
    if reads_files:
        return "NOT shown whole: read each of these files yourself and list it in `inspected`"
    return "NOT shown whole here: say nothing about these"


def _count(file: ChangedFile) -> str:
    return f"+{file.added} -{file.removed}  {quoted(file.path)}"


def _left(file: ChangedFile, hunks: int | None, redacted: Collection[str]) -> str:
    seen = f"(only {hunks} of {len(file.hunks)} hunks above) " if hunks else ""
    if file.path in redacted:
        seen = "(redacted above, because it looks like a secret) "
    return seen + _count(file)


def _summary(file: ChangedFile) -> str:
    moved = f", was {quoted(file.old_path)}" if file.status == "R" and file.old_path else ""
    what = f"deleted, {file.removed} lines" if file.status == "D" else "renamed unchanged"
    if file.status == "D" and file.binary:
        what = "deleted, binary"
    return f"{what}{moved}: {quoted(file.path)}"


def _description(file: ChangedFile) -> str:
    moved = f", was {quoted(file.old_path)}" if file.status == "R" and file.old_path else ""
    return f"{hidden_words(file)}{moved}: {quoted(file.path)}"


def hidden_words(file: ChangedFile) -> str:
    """Type, size, executable bit and hash of content that cannot be shown."""
    content = file.hidden
    if content is None:
        return ""
    size = f"{content.size:,} bytes" if content.size is not None else ""
    was = f"was {content.old_size:,} bytes" if content.old_size is not None else ""
    bit = "" if file.is_submodule else "EXECUTABLE" if file.is_executable else "not executable"
    facts = (content.type, size, was, bit, content.hash)
    return ", ".join(fact for fact in facts if fact)
