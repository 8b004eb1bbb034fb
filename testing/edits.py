"""Changes made from file contents before and after, as git would tell them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from burnish.core.change import Change, ChangedFile, Hunk

Files = Mapping[str, str]


def change_between(old: Files, new: Files, *, renamed: Mapping[str, str] | None = None) -> Change:
    """`renamed`: new path → old path."""
    moves = dict(renamed or {})
    files = []
    for path in sorted({*old, *new}):
        if path in moves.values() and path not in new:
            continue
        old_path = moves.get(path, path)
        before, after = old.get(old_path), new.get(path)
        if before == after and old_path == path:
            continue
        status = "R" if old_path != path else "A" if before is None else "D" if after is None else "M"
        made = ChangedFile(path, status, old_path if status == "R" else None, hunks=hunks(before or "", after or ""))
        files.append(made)
    return Change("0" * 40, "1" * 40, tuple(files))


def hunks(before: str, after: str) -> tuple[Hunk, ...]:
    # as git does it: at line feeds only
    a, b = (text.removesuffix("\n").split("\n") if text else [] for text in (before, after))
    matcher = difflib.SequenceMatcher(None, a, b, autojunk=False)
    return tuple(_hunk(a, b, group) for group in matcher.get_grouped_opcodes(3))


def _hunk(a: list[str], b: list[str], group: list[tuple[str, int, int, int, int]]) -> Hunk:
    old, new = (group[0][1], group[-1][2]), (group[0][3], group[-1][4])
    spans = [(lo + 1 if hi > lo else lo, hi - lo) for lo, hi in (old, new)]
    lines = [f"@@ -{spans[0][0]},{spans[0][1]} +{spans[1][0]},{spans[1][1]} @@"]
    for tag, a1, a2, b1, b2 in group:
        if tag == "equal":
            lines += [f" {line}" for line in a[a1:a2]]
        else:
            lines += [f"-{line}" for line in a[a1:a2]] + [f"+{line}" for line in b[b1:b2]]
    return Hunk(*spans[0], *spans[1], "\n".join(lines) + "\n")
