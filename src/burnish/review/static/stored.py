"""Finds secrets in link targets, file names and content that is not text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from burnish.core.change import Change, ChangedFile
from burnish.core.finding import Category, Remark, Severity
from burnish.core.secrets import NO_SECRETS
from burnish.review.static.files import SOURCE, FileScan

# a search takes about a second for 20 MB
LARGEST_SEARCHED = 64 * 1024 * 1024

BaseText = Callable[[str], str | None]


def stored_secrets(
    change: Change, scans: Mapping[str, FileScan], base_text: BaseText, new_data: Callable[[str], bytes | None]
) -> Iterator[Remark]:
    """Remarks on secrets that are not in lines of text; the commit guard refuses the same ones."""
    for file in change.files:
        if file.status == "D":
            continue
        found = [("the name of a file", kind) for kind in _in_name(file)]
        if file.new_mode == "120000":
            found += [("the target of a link", kind) for kind in _in_link(file, new_data(file.path), base_text)]
        elif file.path in scans and not scans[file.path].is_inspected:
            found += [("content that is not shown", kind) for kind in _in_bytes(scans[file.path])]
        yield from (_remark(file, place, kind) for place, kind in found)


def _in_name(file: ChangedFile) -> list[str]:
    if file.status not in "AR":
        return []
    return _kinds(file.path, old=file.old_path or "")


def _in_link(file: ChangedFile, data: bytes | None, base_text: BaseText) -> list[str]:
    target = (data or b"").decode(errors="replace")
    old = None if file.status == "A" else base_text(file.old_path or file.path)
    return _kinds(target, old=old or "")


def _in_bytes(file: FileScan) -> list[str]:
    if len(file.data) > LARGEST_SEARCHED:
        return []
    kinds = [leak.kind for leak in NO_SECRETS.find_values(file.data)]
    old = (file.before() or "").encode(errors="replace") if kinds else b""
    old_kinds = {leak.kind for leak in NO_SECRETS.find_values(old)}
    return [kind for kind in kinds if kind not in old_kinds]


def _kinds(text: str, *, old: str) -> list[str]:
    return list(dict.fromkeys(leak.kind for leak in NO_SECRETS.find_new(text, old=old)))


def _remark(file: ChangedFile, place: str, kind: str) -> Remark:
    return Remark(
        Category.SECURITY,
        Severity.ERROR,
        f"Hard-coded {kind} in {place}",
        "Anyone who can read the repository can use it. Deleting it later does not remove it from the history.",
        "Read it from the environment or a secret store, and revoke the one that was committed.",
        NO_SECRETS.redact(file.path),
        rule="secret",
        source=SOURCE,
    )
