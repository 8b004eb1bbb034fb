"""The table of counted faults in `docs/reliability.md`, which `make torture` writes between two marker lines."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

from testing.attack_counts import AttackCount

BEGIN = "<!-- written by `make torture`: begin -->"
END = "<!-- written by `make torture`: end -->"
_HEAD = ["| fault or attack | tries | successes | measured |", "|---|---:|---:|---|"]
_ROW = re.compile(r"\| (.+) \| ([\d,]+) \| ([\d,]+) \| (\d{4}-\d\d-\d\d) \|")
# kind → tries, successes, day
Rows = Mapping[str, tuple[int, int, str]]


def write_table(file: Path, counts: Sequence[AttackCount], today: date) -> bool:
    """Put the counts of this run into the file; kinds that were not counted now keep their row. False: no such file."""
    try:
        text = file.read_text()
    except FileNotFoundError:
        return False
    before, begin, rest = text.partition(BEGIN)
    stored, end, after = rest.partition(END)
    if not (begin and end):
        return False
    rows = {**_parse(stored), **_sums(counts, today)}
    lines = [f"| {kind} | {tries:,} | {hits:,} | {day} |" for kind, (tries, hits, day) in sorted(rows.items())]
    file.write_text("\n".join([before + begin, "", *_HEAD, *lines, "", end + after]))
    return True


def _parse(text: str) -> Rows:
    found = (_ROW.fullmatch(line) for line in text.splitlines())
    return {row[1]: (_number(row[2]), _number(row[3]), row[4]) for row in found if row}


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def _sums(counts: Sequence[AttackCount], today: date) -> Rows:
    kinds = {kind for kind, _, _ in counts}
    sums = {kind: [sum(one[at] for one in counts if one[0] == kind) for at in (1, 2)] for kind in kinds}
    return {kind: (tries, hits, today.isoformat()) for kind, (tries, hits) in sums.items()}
