"""Lines like `src/a.py:12:5: F401 unused import`, as nearly every linter prints them."""

from __future__ import annotations

import re
from pathlib import Path

from burnish.checks.reading import inside, shortened
from burnish.core.finding import Category, Remark, Severity

MOST = 5000
LONGEST = 5000
_PLACE = re.compile(r"(?P<file>[^\s:][^:\n]{0,4000}):(?P<line>\d{1,8})(?::\d{1,8})?:\s*(?P<text>\S.*)")
_RULE_FIRST = re.compile(r"(?P<rule>[A-Z]{1,10}\d{1,5}|[a-z]+(?:-[a-z0-9]+)+)(?:\s+\[\*\])?:?\s+(?P<text>\S.*)")
_RULE_LAST = re.compile(r"(?P<text>.*\S)\s+[\[(](?P<rule>[A-Za-z][\w/@-]*)[\])]")
_LEVEL = re.compile(r"(error|warning|note|info)\s*:\s*", re.IGNORECASE)


def read_lines(
    text: str, *, root: Path, source: str, severity: Severity, seen_at: Path | None = None
) -> tuple[Remark, ...]:
    """The problems that name a file which is really there."""
    there: dict[str, bool] = {}
    remarks: list[Remark] = []
    for line in text.split("\n"):
        match = _PLACE.match(line[:LONGEST].strip())
        file = inside(match["file"], root, seen_at) if match else None
        if not match or not file:
            continue
        # A time of day or an address has colons and numbers, too.
        if file not in there:
            there[file] = _is_there(root / file)
        if not there[file]:
            continue
        words = match["text"]
        if level := _LEVEL.match(words):
            if level[1].lower() in ("note", "info"):
                continue
            words = words[level.end() :]
        remarks.append(_remark(file, int(match["line"]), words, source, severity))
        if len(remarks) >= MOST:
            break
    return tuple(remarks)


def _is_there(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name too long, or with a NUL in it
        return False


def _remark(file: str, line: int, words: str, source: str, severity: Severity) -> Remark:
    match = _RULE_FIRST.fullmatch(words) or _RULE_LAST.fullmatch(words)
    rule, text = (match["rule"], match["text"]) if match else ("", words)
    title = shortened(text, longest=200) or rule
    return Remark(Category.CODE, severity, title, file=file, line=line or None, rule=rule, source=source)
