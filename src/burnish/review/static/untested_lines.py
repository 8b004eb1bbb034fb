"""Remarks on changed lines that no test runs."""

from __future__ import annotations

import re
from collections.abc import Collection

from burnish.core.finding import Category, Remark, Severity
from burnish.review.packing import SOURCE
from burnish.review.static.files import FileScan

# with this many changed lines and none of them run, tests were probably forgotten
MANY = 5
_SETTINGS = re.compile(
    r"(^|/)(?:setup|conftest|noxfile|__main__|manage|conf|wsgi|asgi)\.py$|(^|/)(?:migrations|docs?)/"
)


def unrun_remark(file: FileScan, missing: Collection[int], measured_lines: Collection[int]) -> Remark | None:
    """One remark for the file; None if tests run the changed lines."""
    lines = sorted(file.changed & set(missing))
    if not lines or file.kind != SOURCE or _SETTINGS.search(file.path):
        return None
    nothing_ran = len(lines) >= MANY and not (file.changed & set(measured_lines))
    words = ranges(lines)
    return file.remark(
        "not-tested",
        Severity.WARNING if nothing_ran else Severity.INFO,
        f"{words} {'is' if len(lines) == 1 else 'are'} changed and no test runs {'it' if len(lines) == 1 else 'them'}",
        "The tests would not notice an error there. (Coverage of other processes is not measured.)",
        line=lines[0],
        category=Category.TEST,
        suggestion="Add a test that runs them, or remove unused code.",
    )


def ranges(lines: list[int]) -> str:
    """`line 3` or `lines 10–14, 20`."""
    parts: list[list[int]] = []
    for line in lines:
        if parts and line == parts[-1][-1] + 1:
            parts[-1].append(line)
        else:
            parts.append([line])
    texts = [str(part[0]) if len(part) == 1 else f"{part[0]}–{part[-1]}" for part in parts[:8]]
    more = f" and {len(parts) - 8} more places" if len(parts) > 8 else ""
    return f"{'Line' if len(lines) == 1 else 'Lines'} {', '.join(texts)}{more}"
