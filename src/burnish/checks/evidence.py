"""Evidence of a check: screenshots, videos and HTML that it left, stored with its output under names of their own."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from burnish.checks.placement import Placement
from burnish.core.images import TYPES as IMAGE_TYPES
from burnish.core.images import Evidence, image_kind
from burnish.core.path_patterns import any_matches
from burnish.core.policy import CheckSpec
from burnish.folder_walk import walk_folders
from burnish.regular_files import read_below

FOLDER = "evidence"
TYPES = {**IMAGE_TYPES, "mp4": "video/mp4", "webm": "video/webm", "html": "text/html; charset=utf-8"}
NAME = re.compile(rf"[0-9a-f]{{64}}\.(?:{'|'.join(TYPES)})")
# of one check on one commit
MAX_FILES, MAX_FILE_BYTES, MAX_TOTAL_BYTES = 20, 20_000_000, 60_000_000
# files that are not stored and are named with the reason; the others are counted
MAX_NAMED = 10
# files of a tree that are looked at; a check with more has a wrong pattern
_MAX_ENTRIES = 200_000
_REPORT_DIR = "{report_dir}/"
_NOT_ENTERED = frozenset((".git", "node_modules", ".venv"))
_HTML = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<!--.{0,2000}?-->\s*)*<(?:!doctype\s+html|html)[\s>]", re.IGNORECASE | re.DOTALL
)
_MP4 = frozenset((b"isom", b"iso2", b"iso4", b"iso5", b"iso6", b"mp41", b"mp42", b"avc1", b"M4V ", b"dash"))

# path in the tree → size and time
FileStates = Mapping[str, tuple[int, int, int]]


def evidence_kind(data: bytes) -> str | None:
    """The ending for a content that can be shown; None for anything else. SVG and PDF may hold programs."""
    if kind := image_kind(data):
        return kind
    if data[4:8] == b"ftyp" and data[8:12] in _MP4:
        return "mp4"
    if data[:4] == b"\x1a\x45\xdf\xa3" and b"webm" in data[:64]:
        return "webm"
    return "html" if _HTML.match(data[:4096]) else None


def files_before(spec: CheckSpec, place: Placement) -> FileStates:
    """The files that match before the check runs: only those that it writes are its evidence."""
    tree = place.written_by(spec.name)
    return {path: _state(tree / path) for path in _matching(tree, _patterns(spec, in_report=False))}


def collect_evidence(
    spec: CheckSpec, place: Placement, report_dir: Path, before: FileStates, into: Path
) -> tuple[Evidence, ...]:
    """Copy what the check left. What is too much, too large or of another type is named behind it, with the reason."""
    if not spec.evidence:
        return ()
    tree = place.written_by(spec.name)
    new_paths = [
        path for path in _matching(tree, _patterns(spec, in_report=False)) if _state(tree / path) != before.get(path)
    ]
    candidates = [(tree, path) for path in new_paths]
    candidates += [(report_dir, path) for path in _matching(report_dir, _patterns(spec, in_report=True))]
    files: dict[str, Evidence] = {}
    not_stored: list[Evidence] = []
    total = 0
    for folder, path in sorted(candidates, key=lambda one: one[1]):
        is_full = len(files) >= MAX_FILES
        data = None if is_full else read_below(folder, PurePosixPath(path), longest=MAX_FILE_BYTES + 1)
        kind = evidence_kind(data) if data and len(data) <= MAX_FILE_BYTES else None
        if is_full or data is None or kind is None or total + len(data) > MAX_TOTAL_BYTES:
            not_stored.append(Evidence(path, "", "", 0, _why_not_stored(data, kind, is_full)))
            continue
        name = f"{hashlib.sha256(data).hexdigest()}.{kind}"
        if name not in files:
            into.mkdir(exist_ok=True, mode=0o700)
            (into / name).write_bytes(data)
            total += len(data)
            files[name] = Evidence(path, name, kind, len(data))
    return (*files.values(), *not_stored[:MAX_NAMED], *_rest(not_stored[MAX_NAMED:]))


def _why_not_stored(data: bytes | None, kind: str | None, is_full: bool) -> str:
    if is_full:
        return f"a check keeps {MAX_FILES} files at most"
    if data is None:
        return "a link, or not a file"
    if len(data) > MAX_FILE_BYTES:
        return f"over {MAX_FILE_BYTES // 1_000_000} MB"
    return f"over {MAX_TOTAL_BYTES // 1_000_000} MB in all" if kind else "not an image, a video or HTML"


def _rest(files: Sequence[Evidence]) -> tuple[Evidence, ...]:
    reasons = ", ".join(dict.fromkeys(one.reason for one in files))
    return (Evidence(f"{len(files)} more", "", "", 0, reasons),) if files else ()


def _patterns(spec: CheckSpec, *, in_report: bool) -> tuple[str, ...]:
    """Patterns below the report folder, or those below the tree, from its root."""
    below = [one for one in spec.evidence if one.startswith(_REPORT_DIR) == in_report]
    if in_report:
        return tuple(f"/{one.removeprefix(_REPORT_DIR)}" for one in below)
    return tuple(f"{spec.cwd}/{one.removeprefix('./')}" if spec.cwd and "/" in one else one for one in below)


def _matching(folder: Path, patterns: tuple[str, ...]) -> Iterator[str]:
    if not patterns:
        return
    looked_at = 0
    for here, folders, names in walk_folders(folder):
        folders[:] = sorted(name for name in folders if name not in _NOT_ENTERED)
        base = Path(here).relative_to(folder).as_posix()
        for name in sorted(names):
            path = name if base == "." else f"{base}/{name}"
            if any_matches([path], patterns):
                yield path
        looked_at += len(names)
        if looked_at > _MAX_ENTRIES:
            return


def _state(path: Path) -> tuple[int, int, int]:
    try:
        info = path.lstat()
    except OSError:
        return 0, 0, 0
    return info.st_size, info.st_mtime_ns, info.st_ino


# -- stored evidence ------------------------------------------------------------------------------


def find_evidence(task_folder: Path, name: str) -> Path | None:
    """The stored file of a task; the name is checked, so that it leads to no other file."""
    if not NAME.fullmatch(name):
        return None
    return next((path for path in task_folder.glob(f"outputs/*/*/{FOLDER}/{name}") if path.is_file()), None)
