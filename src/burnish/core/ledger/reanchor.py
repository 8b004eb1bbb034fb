"""The current place of a finding: lines mapped through a diff and corrected by the quoted code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from burnish.core.change import Change, ChangedFile
from burnish.core.finding import Remark

# A shorter quote occurs in too many places to identify one.
MIN_QUOTE = 8
# Lines on either side of an edit that still count as "there".
NEAR = 3


@dataclass(frozen=True, slots=True)
class Anchor:
    """Where a problem is in the reviewed tree."""

    file: str | None = None
    line: int | None = None
    end_line: int | None = None
    # last line of the quoted code
    reach: int | None = None
    # the code quoted stands there: not only somebody's count of lines
    sure: bool = False
    # the code it spoke of was removed, and is nowhere else in the change
    gone: bool = False
    # the change since the last review did not touch the code there: it was looked at before
    seen: bool = False


class Tree:
    """The files of the reviewed tree, each asked for once. Without `files` nothing is known of them."""

    def __init__(self, files: Callable[[str], str | None] | None) -> None:
        self._files = files
        self._texts: dict[str, str | None] = {}
        self._squeezed: dict[str, tuple[str, list[int]]] = {}
        self._hits: dict[tuple[str, str], list[tuple[int, int]]] = {}

    def text(self, path: str) -> str | None:
        if path not in self._texts:
            self._texts[path] = self._files(path) if self._files else None
        return self._texts[path]

    def lacks(self, path: str) -> bool:
        return self._files is not None and self.text(path) is None

    def find(self, path: str, quote: str) -> list[tuple[int, int]]:
        """First and last line of each occurrence of the quote: exact, else without white space."""
        text = self.text(path)
        needle = quote.strip()
        if not text or not needle:
            return []
        # many findings may quote the same line of a large file
        if (path, needle) not in self._hits:
            self._hits[path, needle] = self._search(path, text, needle)
        return self._hits[path, needle]

    def _search(self, path: str, text: str, needle: str) -> list[tuple[int, int]]:
        for words in dict.fromkeys((needle, _without_diff_signs(needle))):
            found = _exact(text, words) or self._loose(path, text, words)
            if found:
                return found
        return []

    def _loose(self, path: str, text: str, quote: str) -> list[tuple[int, int]]:
        if path not in self._squeezed:
            self._squeezed[path] = _squeeze_with_lines(text)
        body, lines = self._squeezed[path]
        needle = squeeze(quote)
        return [(lines[at], lines[at + len(needle) - 1]) for at in _offsets(body, needle)]


def squeeze(text: str) -> str:
    """The text without any white space: what survives a formatter."""
    return "".join(text.split())


def anchor(remark: Remark, tree: Tree) -> tuple[Remark, Anchor, str]:
    """The remark with its line corrected by its quote, its anchor, and a note about the correction."""
    if remark.file is None:
        return remark, Anchor(), ""
    path = remark.file.removeprefix("./")
    remark = replace(remark, file=path)
    claim = Anchor(path, remark.line, remark.end_line)
    if not remark.quote.strip():
        return remark, claim, ""
    hits = tree.find(path, remark.quote)
    spot = _nearest(hits, remark.line)
    if spot is None:
        return remark, claim, f"the quoted code was not found in {path}"
    last = remark.end_line or remark.line
    if remark.line is not None and last is not None and spot[0] <= last and remark.line <= spot[1]:
        return remark, replace(claim, sure=True, reach=spot[1]), ""
    corrected_remark = replace(remark, line=spot[0], end_line=_end(remark, spot[0]))
    note = f"{path}:{remark.line} put right to line {spot[0]}" if remark.line else ""
    return (
        corrected_remark,
        Anchor(path, corrected_remark.line, corrected_remark.end_line, spot[1], sure=len(hits) == 1),
        note,
    )


def follow(remark: Remark, delta: Change | None, tree: Tree) -> Anchor:
    """The place of an earlier remark's code in the tree after `delta`."""
    if remark.file is None:
        return Anchor()
    entry = _entry(delta, remark.file)
    path = entry.path if entry else remark.file
    line, removed_text = _follow_line(entry, remark.line)
    stays = Anchor(path, line, _end(remark, line))
    quote = remark.quote if remark.quote.strip() else (removed_text or "")
    if len(squeeze(quote)) < MIN_QUOTE and removed_text is not None:
        return replace(stays, gone=True)
    hits = tree.find(path, quote)
    if removed_text is not None and entry:
        # The line itself is gone: the same words elsewhere are it only if this change put them there.
        hits = _touched_hits(hits, entry)
    spot = _nearest(hits, line)
    if spot is not None:
        return _put(remark, stays, spot, alone=len(hits) == 1)
    if removed_text is None and not tree.lacks(path):
        return stays
    return _elsewhere(remark, quote, delta, tree, path) or replace(stays, gone=True)


def _put(remark: Remark, stays: Anchor, spot: tuple[int, int], *, alone: bool) -> Anchor:
    # Without a quote, the line number may be a miscount.
    sure = bool(remark.quote.strip())
    if stays.line is not None and spot[0] <= stays.line <= spot[1]:
        return replace(stays, sure=sure, reach=spot[1])
    return Anchor(stays.file, spot[0], _end(remark, spot[0]), spot[1], sure=sure and alone)


def touches(delta: Change | None, file: str | None, line: int | None, end_line: int | None = None) -> bool:
    """Whether the change altered the code at or next to this place of the new tree."""
    if delta is None:
        return False
    if file is None:
        return bool(delta.files)
    entry = delta.file(file)
    if entry is None:
        return False
    if line is None or entry.status == "A" or not entry.hunks:
        return entry.status != "R" or bool(entry.hunks)
    last = max(end_line or line, line)
    return any(line - NEAR <= number <= last + NEAR for number in touched_lines(entry))


def rewrites(delta: Change | None, file: str | None, line: int | None, end_line: int | None = None) -> bool:
    """Whether the change altered these lines or a line next to them. Lines only inserted around them do not count."""
    if not touches(delta, file, line, end_line):
        return False
    entry = delta.file(file) if delta and file else None
    if entry is None or line is None or entry.status == "A" or not entry.hunks:
        return True
    last = max(end_line or line, line)
    inside = any(line <= number <= last for number in entry.changed_lines())
    return inside or any(line - 1 <= number <= last + 1 for number in _replaced_lines(entry))


def _replaced_lines(file: ChangedFile) -> set[int]:
    """Lines of the new file that replace others or directly follow removed ones."""
    numbers: set[int] = set()
    for hunk in file.hunks:
        here, instead = hunk.new_start, False
        for text in hunk.text.split("\n")[1:]:
            instead = text.startswith("-") or (instead and text.startswith("+"))
            if instead:
                numbers.add(max(here, 1))
            here += text.startswith((" ", "+"))
    return numbers


def touched_lines(file: ChangedFile) -> set[int]:
    """Lines of the new file that were added or altered, or follow removed ones."""
    numbers = file.changed_lines()
    for hunk in file.hunks:
        here = hunk.new_start
        for text in hunk.text.split("\n")[1:]:
            if text.startswith("-"):
                numbers.add(max(here, 1))
            elif text.startswith((" ", "+")):
                here += 1
    return numbers


def _entry(delta: Change | None, path: str) -> ChangedFile | None:
    if delta is None:
        return None
    rename = next((f for f in delta.files if f.old_path == path and f.status == "R"), None)
    return rename or delta.file(path)


def _follow_line(file: ChangedFile | None, line: int | None) -> tuple[int | None, str | None]:
    """The line in the new file, and the text of the old line if it was removed."""
    if file is None or line is None:
        return line, None
    if file.status == "D":
        return line, _removed_text(file, line)
    new_line = file.map_line(line)
    if new_line is not None:
        return new_line, None
    return _replacement(file, line), _removed_text(file, line)


def _replacement(file: ChangedFile, line: int) -> int:
    """The line that replaces a removed one: the n-th new line for the n-th old line."""
    for hunk in file.hunks:
        old, new = hunk.old_start, hunk.new_start
        run = found = None
        for text in [*hunk.text.split("\n")[1:], " "]:
            if text.startswith("-"):
                run = old if run is None else run
                found = line - run if old == line else found
                old += 1
            elif text.startswith("+"):
                if found == 0:
                    return new
                found = found - 1 if found is not None else None
                new += 1
            elif text.startswith(" "):
                if found is not None:
                    return max(new - 1, 1)
                run = None
                old, new = old + 1, new + 1
    return line


def _removed_text(file: ChangedFile, line: int) -> str:
    for hunk in file.hunks:
        old = hunk.old_start
        for text in hunk.text.split("\n")[1:]:
            if text.startswith("-") and old == line:
                return text[1:]
            old += text.startswith(("-", " "))
    return ""


def _elsewhere(remark: Remark, quote: str, delta: Change | None, tree: Tree, path: str) -> Anchor | None:
    """The anchor of code that was moved to another file, found among the lines added there."""
    if delta is None or len(squeeze(quote)) < MIN_QUOTE:
        return None
    for entry in sorted(delta.files, key=lambda f: f.path):
        if entry.path != path and entry.status != "D":
            spot = _nearest(_touched_hits(tree.find(entry.path, quote), entry), remark.line)
            if spot:
                return _put(remark, Anchor(entry.path), spot, alone=True)
    return None


def _touched_hits(hits: list[tuple[int, int]], file: ChangedFile) -> list[tuple[int, int]]:
    new_lines = file.changed_lines()
    return [(first, last) for first, last in hits if any(n in new_lines for n in range(first, last + 1))]


def _end(remark: Remark, line: int | None) -> int | None:
    if line is None or remark.end_line is None:
        return None
    return line + max(remark.end_line - (remark.line or remark.end_line), 0)


def _nearest(hits: list[tuple[int, int]], line: int | None) -> tuple[int, int] | None:
    if not hits:
        return None
    return min(hits, key=lambda hit: (abs(hit[0] - line), hit[0]) if line is not None else (0, hit[0]))


def _exact(text: str, quote: str) -> list[tuple[int, int]]:
    spans, first, last_offset = [], 1, 0
    for at in _offsets(text, quote):
        first += text.count("\n", last_offset, at)
        last_offset = at
        spans.append((first, first + quote.count("\n")))
    return spans


def _offsets(text: str, needle: str) -> list[int]:
    found: list[int] = []
    at = text.find(needle) if needle else -1
    while at >= 0:
        found.append(at)
        at = text.find(needle, at + 1)
    return found


def _squeeze_with_lines(text: str) -> tuple[str, list[int]]:
    body: list[str] = []
    lines: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        bare = squeeze(line)
        body.append(bare)
        lines.extend([number] * len(bare))
    return "".join(body), lines


def _without_diff_signs(quote: str) -> str:
    """Reviewers copy from the diff: `+    x = 1` means the line after the sign."""
    return "\n".join(line[1:] if line[:1] in ("+", "-") else line for line in quote.split("\n")).strip()
