"""Changes with a planted defect, and clean ones, written down as files before and after."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from burnish.adapters.static_reviewer import static_review
from burnish.core.change import Change, ChangedFile, Hunk
from burnish.core.review import Review
from burnish.proc.environment import listed_environment


@dataclass(frozen=True, slots=True)
class Case:
    """One change. `rule` and `line` say what must be found in `path`; a clean one has none."""

    kind: str
    path: str
    after: str
    before: str | None = None
    rule: str = ""
    line: int | None = None
    others: Mapping[str, str] = field(default_factory=dict)


def changed_file(path: str, before: str | None, after: str) -> ChangedFile:
    """As git would describe it."""
    old, new = (before or "").splitlines(keepends=True), after.splitlines(keepends=True)
    hunks: list[Hunk] = []
    for group in difflib.SequenceMatcher(a=old, b=new, autojunk=False).get_grouped_opcodes(3):
        first, last = group[0], group[-1]
        text = []
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                text += [" " + line.rstrip("\n") for line in old[i1:i2]]
            else:
                text += ["-" + line.rstrip("\n") for line in old[i1:i2]]
                text += ["+" + line.rstrip("\n") for line in new[j1:j2]]
        sizes = last[2] - first[1], last[4] - first[3]
        starts = first[1] + (sizes[0] > 0), first[3] + (sizes[1] > 0)
        head = f"@@ -{starts[0]},{sizes[0]} +{starts[1]},{sizes[1]} @@"
        hunks.append(Hunk(starts[0], sizes[0], starts[1], sizes[1], "\n".join([head, *text]) + "\n"))
    header = f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n"
    if before is None:
        return ChangedFile(path, "A", old_mode="000000", hunks=tuple(hunks), header=header)
    return ChangedFile(path, "M", hunks=tuple(hunks), header=header)


def review_case(case: Case, root: Path) -> Review:
    """Lay the files and have them reviewed."""
    files = root / "files"
    for path, text in {**case.others, case.path: case.after}.items():
        (files / path).parent.mkdir(parents=True, exist_ok=True)
        (files / path).write_text(text)
    before = dict(case.others) | ({case.path: case.before} if case.before is not None else {})
    return static_review(
        Change("0" * 40, "1" * 40, (changed_file(case.path, case.before, case.after),)),
        files=files,
        out_dir=root / "out",
        checkout=files,
        base_text=before.get,
        new_text=lambda path: (files / path).read_bytes() if (files / path).is_file() else None,
        env=listed_environment(os.environ),
    )
