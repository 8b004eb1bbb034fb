"""Findings in a prompt: the worst in full, the next by title, the rest counted, within a limit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from burnish.core.finding import Finding, worst_first
from burnish.review import prompt_sections as sections
from burnish.review.fence import fenced, one_line

# Where burnish lays what a prompt has no room for; every author and reviewer stands beside this folder.
BRIEF_FOLDER = ".git/burnish"
ALL_FINDINGS = "findings.md"
WHOLE_TASK = "task.md"
# the part of the limit that titles may take on top of it
_TITLES = 4


@dataclass(frozen=True, slots=True)
class FindingList:
    text: str
    # the ids that the text names, in full or by title
    ids: tuple[str, ...]
    left_out: int = 0


def list_findings(
    findings: Sequence[Finding], limit: int, tag: str, *, full: Callable[[Finding], bool] = lambda finding: True
) -> FindingList:
    """At most about `limit` bytes. `full`: which findings are shown with all their words if there is room."""
    ordered = worst_first(tuple(findings))
    whole: list[str] = []
    room = limit
    for finding in ordered:
        entry = sections.finding_text(finding, tag, full=full(finding))
        size = len(entry.encode("utf-8", "replace"))
        if size > room and whole:
            break
        whole.append(entry)
        room -= size
    rest = ordered[len(whole) :]
    if not rest:
        return FindingList("".join(whole), tuple(f.id for f in ordered))
    rows = _rows(rest, limit // _TITLES)
    named, left_out = ordered[: len(whole) + len(rows)], len(rest) - len(rows)
    head = f"{len(rest):,} more, not shown in full (`cat {BRIEF_FOLDER}/{ALL_FINDINGS}` shows all {len(ordered):,}):"
    more = [f"… and {left_out:,} more"] if left_out else []
    text = "".join(whole) + f"{head}\n\n{fenced(chr(10).join([*rows, *more]), tag=tag)}"
    return FindingList(text, tuple(f.id for f in named), left_out)


def list_earlier(findings: Sequence[Finding], limit: int, tag: str) -> FindingList:
    """For a reviewer: those to rule on come first, so that closed ones never take their room."""
    alive = list_findings([f for f in findings if f.alive], limit, tag)
    closed = [f for f in findings if not f.alive]
    settled = list_findings(closed, limit // _TITLES, tag, full=lambda finding: False)
    return FindingList(alive.text + settled.text, alive.ids + settled.ids, alive.left_out + settled.left_out)


def _rows(findings: Sequence[Finding], limit: int) -> list[str]:
    rows: list[str] = []
    for finding in findings:
        row = (
            f"{finding.id} [{finding.remark.severity}] {one_line(finding.remark.title)}{sections.place(finding.remark)}"
        )
        limit -= len(row.encode("utf-8", "replace")) + 1
        if limit < 0:
            break
        rows.append(row)
    return rows


def all_findings_text(findings: Sequence[Finding]) -> str:
    """The file that holds what a prompt leaves out."""
    parts = [
        f"## {f.id} [{f.remark.severity}] {f.remark.category} ({f.state})\n\n{sections.remark_words(f.remark)}\n"
        for f in worst_first(tuple(findings))
    ]
    return "# Findings\n\n" + "\n".join(parts)
