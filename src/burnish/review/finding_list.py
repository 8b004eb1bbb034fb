"""Lists findings in a prompt within a size limit: the worst in full, the next by title, the rest counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from burnish.core.finding import Finding, worst_first
from burnish.review import prompt_sections as sections
from burnish.review.fence import fenced, one_line

# folder for what does not fit into a prompt, in the working directory of authors and reviewers
BRIEF_FOLDER = ".git/burnish"
ALL_FINDINGS = "findings.md"
WHOLE_TASK = "task.md"
# titles may take this fraction of the limit in addition
_TITLES = 4


@dataclass(frozen=True, slots=True)
class FindingList:
    text: str
    # ids in the text, in full or by title
    ids: tuple[str, ...]
    left_out: int = 0


def list_findings(
    findings: Sequence[Finding], limit: int, tag: str, *, full: Callable[[Finding], bool] = lambda finding: True
) -> FindingList:
    """At most about `limit` bytes. `full`: which findings are shown in full if there is room."""
    by_severity = worst_first(tuple(findings))
    whole: list[str] = []
    room = limit
    for finding in by_severity:
        entry = sections.finding_text(finding, tag, full=full(finding))
        size = len(entry.encode("utf-8", "replace"))
        if size > room and whole:
            break
        whole.append(entry)
        room -= size
    rest = by_severity[len(whole) :]
    if not rest:
        return FindingList("".join(whole), tuple(f.id for f in by_severity))
    rows = _rows(rest, limit // _TITLES)
    mentioned_findings, left_out = by_severity[: len(whole) + len(rows)], len(rest) - len(rows)
    head = (
        f"{len(rest):,} more, not shown in full (`cat {BRIEF_FOLDER}/{ALL_FINDINGS}` shows all {len(by_severity):,}):"
    )
    more = [f"… and {left_out:,} more"] if left_out else []
    text = "".join(whole) + f"{head}\n\n{fenced(chr(10).join([*rows, *more]), tag=tag)}"
    return FindingList(text, tuple(f.id for f in mentioned_findings), left_out)


def list_earlier(findings: Sequence[Finding], limit: int, tag: str) -> FindingList:
    """For a reviewer: open findings first, so that closed ones never displace them."""
    alive = list_findings([f for f in findings if f.alive], limit, tag)
    not_alive = [f for f in findings if not f.alive]
    closed_list = list_findings(not_alive, limit // _TITLES, tag, full=lambda finding: False)
    return FindingList(
        alive.text + closed_list.text, alive.ids + closed_list.ids, alive.left_out + closed_list.left_out
    )


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
    """The file with all findings, for what a prompt leaves out."""
    parts = [
        f"## {f.id} [{f.remark.severity}] {f.remark.category} ({f.state})\n\n{sections.remark_words(f.remark)}\n"
        for f in worst_first(tuple(findings))
    ]
    return "# Findings\n\n" + "\n".join(parts)
