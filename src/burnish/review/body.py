"""The body of a review artifact: summary, compliance, findings, required action."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from burnish.core.change import Change
from burnish.core.finding import Category, Finding, Severity, blocks, listed, worst_first
from burnish.core.review import Compliance, PanelResult, Review, ReviewerResult, Verdict
from burnish.review.artifact import AffectedFile, ArtifactReviewer, ReviewArtifact
from burnish.review.quoting import one_line, quoted
from burnish.sanitize import clean_text

# heading of the last section
ACTION = "## Action Required\n\n"
# start of the text of `core.override.in_words`
_OVERRIDDEN = ", overridden by "
_STATUS = {
    "approved": "✅ APPROVED",
    "changes_requested": "❌ CHANGES REQUESTED",
    "needs_discussion": "💬 NEEDS DISCUSSION",
    "rejected": "❌ REJECTED",
    "unreadable": "❓ UNREADABLE",
    "skipped": "⏭ SKIPPED",
}
_CATEGORY = {
    Category.CODE: "Code Quality",
    Category.TEST: "Test Coverage",
}


@dataclass(frozen=True, slots=True)
class Cycle:
    """Input for the artifact of one cycle."""

    task: str
    title: str
    cycle: int
    max_cycles: int
    panel: PanelResult | None
    # findings that are open after this cycle
    findings: tuple[Finding, ...] = ()
    commit: str = ""
    tree: str = ""
    base: str = ""
    diff: str = ""
    reproduction_command: str = ""
    change: Change | None = None
    # the effective verdict; the panel's own if None
    verdict: Verdict | None = None
    block_on: Severity = Severity.ERROR
    # fixes that the reviewer made before this review
    fixed: str = ""
    # reasons why the result is not clean
    warnings: tuple[str, ...] = ()


def artifact_of(cycle: Cycle) -> ReviewArtifact:
    """The artifact of a cycle, ready to be rendered."""
    verdict = cycle.verdict or (cycle.panel.verdict if cycle.panel else None)
    word = verdict.value if verdict else ("unreadable" if cycle.panel else "skipped")
    return ReviewArtifact(
        task=cycle.task,
        cycle=cycle.cycle,
        verdict=word,
        reviewers=_reviewers(cycle.panel),
        commit=cycle.commit,
        tree=cycle.tree,
        base=cycle.base,
        diff=cycle.diff,
        affected_files=_affected(cycle),
        reproduction_command=cycle.reproduction_command,
        findings=tuple(finding.id for finding in cycle.findings),
        body=render_body(cycle, word),
    )


def _reviewers(panel: PanelResult | None) -> tuple[ArtifactReviewer, ...]:
    return tuple(_reviewer(result) for result in (panel.results if panel else ()))


def _reviewer(result: ReviewerResult) -> ArtifactReviewer:
    reading = result.reading
    review = reading if isinstance(reading, Review) else None
    words = reading.summary if isinstance(reading, Review) else reading.why
    return ArtifactReviewer(
        agent=result.agent,
        model=result.model,
        provider=result.provider,
        command=result.command,
        reviewed_at=result.reviewed_at,
        verdict=review.verdict.value if review else "unreadable",
        blocking=review.blocking if review else False,
        summary=one_line(clean_text(words), longest=500),
        raw_sha256=result.raw_sha256,
        step=result.step,
    )


def _affected(cycle: Cycle) -> tuple[AffectedFile, ...]:
    """The places of open findings, without duplicates."""
    remarks = [finding.remark for finding in cycle.findings if finding.alive]
    places = dict.fromkeys((r.file, r.line, r.end_line or r.line) for r in remarks)
    return tuple(AffectedFile(path, start, end) for path, start, end in places if path)


def render_body(cycle: Cycle, verdict: str) -> str:
    parts = [
        f"# Code Review: {line(cycle.title)}\n",
        f"**Cycle {_number(cycle)}**\n",
        f"**Status**: {_STATUS[verdict]}\n",
        _reviewer_lines(cycle.panel),
        "".join(f"> **Note**: {line(warning)}\n" for warning in cycle.warnings),
        f"## Overall Summary\n\n{_summary(cycle.panel)}\n",
        f"## Changed by the Reviewer\n\n{prose(cycle.fixed)}\n" if cycle.fixed else "",
        _comments(cycle.panel),
        _compliance(cycle.panel.compliance if cycle.panel else ()),
        _findings(cycle.findings),
        f"{ACTION}{_initial_action(cycle)}\n",
    ]
    return "\n".join(part for part in parts if part)


def _number(cycle: Cycle) -> str:
    """`2 of 3`; beyond the maximum (requested by a person) `4 (max 3)`."""
    past = cycle.cycle > cycle.max_cycles
    return f"{cycle.cycle} (max {cycle.max_cycles})" if past else f"{cycle.cycle} of {cycle.max_cycles}"


def with_action(body: str, action: str) -> str:
    """The body with another text in its last section, which states the next action."""
    before, heading, _ = body.rpartition(ACTION)
    return f"{before}{heading}{prose(action)}\n" if heading else body


def with_override(body: str, words: str) -> str:
    """The body with the newest override after its status; the verdict of the review stays."""
    before, status, rest = body.partition("**Status**: ")
    conclusion, newline, after = rest.partition("\n")
    if not status:
        return f"{line(words, longest=2000)}\n\n{body}"
    return f"{before}{status}{conclusion.partition(_OVERRIDDEN)[0]}, {line(words, longest=2000)}{newline}{after}"


def _reviewer_lines(panel: PanelResult | None) -> str:
    results = panel.results if panel else ()
    return "\n".join(f"**Reviewed By**: {_reviewer_name(result)}, {line(result.reviewed_at)}\n" for result in results)


def _reviewer_name(result: ReviewerResult) -> str:
    """The agent, with its step of the pipeline and its model if there are any."""
    more = [line(word) for word in (result.step, result.model) if word]
    return line(result.agent) + (f" ({', '.join(more)})" if more else "")


def _summary(panel: PanelResult | None) -> str:
    if panel is None:
        return "No review took place."
    words = prose(panel.summary) or prose(panel.why) or "No summary was given."
    reason = prose(panel.rejection_reason)
    words += f"\n\nReason for the rejection: {reason}" if reason and reason != prose(panel.summary) else ""
    uncovered_rows = [f"- `{line(quoted(path))}`" for path in panel.uncovered]
    unseen = [f"- `{line(quoted(file.path))}`: {line(file.description)}" for file in panel.unseen_files]
    words += "\n\nNo reviewer looked at:\n\n" + "\n".join(uncovered_rows) if uncovered_rows else ""
    return words + ("\n\nNot seen by any reviewer, a person decides:\n\n" + "\n".join(unseen) if unseen else "")


def _comments(panel: PanelResult | None) -> str:
    """The reviewers' prose, as quotes, so that their headings do not become headings of this file."""
    results = [result for result in (panel.results if panel else ()) if result.prose.strip()]
    if not results:
        return ""
    texts = []
    for result in results:
        step = f" ({line(result.step)})" if result.step else ""
        head = f"{line(result.agent)}{step}:\n\n" if len(results) > 1 else ""
        quote = "\n".join(f"> {row}".rstrip() for row in prose(result.prose).split("\n"))
        texts.append(f"{head}{quote}\n")
    return "## Reviewer Comments\n\n" + "\n".join(texts)


def _compliance(entries: Sequence[Compliance]) -> str:
    if not entries:
        return ""
    groups = (("✓ Compliant", True), ("❌ Non-Compliant / Incomplete", False), ("Not Judged", None))
    parts = ["## Compliance Review\n"]
    for title, is_met in groups:
        rows = [f"- {line(e.item, longest=2000)}{_note(e.note)}\n" for e in entries if e.met is is_met]
        if rows:
            parts.append(f"### {title}\n\n{''.join(rows)}")
    return "\n".join(parts)


def _note(note: str) -> str:
    return f" ({line(note, longest=1000)})" if note.strip() else ""


def _findings(findings: Sequence[Finding]) -> str:
    if not findings:
        return "## Findings\n\nNone.\n"
    return "## Findings\n\n" + "\n---\n\n".join(_finding(finding) for finding in worst_first(tuple(findings)))


def _finding(finding: Finding) -> str:
    remark = finding.remark
    where = f" ({line(quoted(remark.file))}{f':{remark.line}' if remark.line else ''})" if remark.file else ""
    kind = _CATEGORY.get(remark.category, remark.category.value.capitalize())
    rows = [f"### {finding.id} [{remark.severity.upper()}] {kind}: {line(remark.title)}{where}\n"]
    rows.append(f"**State**: {finding.state}. **Raised by**: {line(', '.join(finding.reviewers)) or remark.source}\n")
    if remark.file:
        rows.append(
            f"**File**: {line(quoted(remark.file))}" + (f"  \n**Line**: {remark.line}" if remark.line else "") + "\n"
        )
    if remark.description:
        rows.append(f"{prose(remark.description)}\n")
    if remark.quote:
        ticks = _ticks(remark.quote)
        rows.append(f"**Current Code**:\n\n{ticks}\n{clean_text(remark.quote).rstrip()}\n{ticks}\n")
    if remark.suggestion:
        rows.append(f"**Suggestion**: {prose(remark.suggestion)}\n")
    return "\n".join(rows)


def _ticks(text: str) -> str:
    ticks = "```"
    while ticks in text:
        ticks += "`"
    return ticks


def _initial_action(cycle: Cycle) -> str:
    """The text of the last section until the cycle is decided."""
    blockers = [f.id for f in worst_first(cycle.findings) if blocks(f, cycle.block_on)]
    return f"Not decided yet.{f' Open and blocking: {listed(blockers)}.' if blockers else ''}"


_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_FENCE = re.compile(r" *(`{3,}|~{3,})(.*)")


def line(text: str, *, longest: int = 300) -> str:
    """One line for a heading or a list."""
    return _TAG.sub("&lt;", one_line(clean_text(text), longest=longest))


def prose(text: str) -> str:
    """Paragraphs without HTML, direction marks or unclosed code blocks."""
    # in code spans, too, because Markdown implementations disagree about where they end
    words = _TAG.sub("&lt;", clean_text(text)).strip()
    fence = _open_fence(words)
    return f"{words}\n{fence}" if fence else words


def _open_fence(text: str) -> str:
    """The fence that closes an open code block; "" if none is open."""
    fence = ""
    for row in text.split("\n"):
        match = _FENCE.match(row)
        if not match:
            continue
        marks, rest = match.groups()
        if not fence:
            fence = "" if marks[0] == "`" and "`" in rest else marks
        elif marks.startswith(fence) and not rest.strip():
            fence = ""
    return fence
