"""The table of counted faults in `docs/reliability.md`, which `make torture` writes between two marker lines."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

from testing.attack_counts import AttackCount, sums
from testing.both_stores import NO_STORE, POSTGRESQL_NAME

BEGIN = "<!-- written by `make torture`: begin -->"
END = "<!-- written by `make torture`: end -->"
_HEAD = ["| fault or attack | store | tries | successes | measured |", "|---|---|---:|---:|---|"]
_ROW = re.compile(r"\| (.+?) \| (?:(\D+?) \| )?([\d,]+) \| ([\d,]+) \| (\d{4}-\d\d-\d\d) \|")
# kind and store → tries, successes, day
Rows = Mapping[tuple[str, str], tuple[int, int, str]]


def write_table(file: Path, counts: Sequence[AttackCount], today: date) -> bool:
    """Put the counts into the file; kinds that could not be counted here keep their rows. False: no such file."""
    try:
        text = file.read_text()
    except FileNotFoundError:
        return False
    before, begin, rest = text.partition(BEGIN)
    stored, end, after = rest.partition(END)
    if not (begin and end):
        return False
    new = {(one.kind, one.store): (one.attempts, one.successes, today.isoformat()) for one in sums(counts)}
    counted = {kind for kind, _ in new}
    rows = {**{key: row for key, row in _parse(stored).items() if key[0] not in counted}, **new}
    ordered = sorted(rows.items(), key=lambda row: (row[0][0], row[0][1] == POSTGRESQL_NAME))
    lines = [f"| {kind} | {store} | {tries:,} | {hits:,} | {day} |" for (kind, store), (tries, hits, day) in ordered]
    file.write_text("\n".join([before + begin, "", *_HEAD, *lines, "", end + after]))
    return True


def _parse(text: str) -> Rows:
    found = (_ROW.fullmatch(line) for line in text.splitlines())
    return {(row[1], row[2] or NO_STORE): (_number(row[3]), _number(row[4]), row[5]) for row in found if row}


def _number(text: str) -> int:
    return int(text.replace(",", ""))
