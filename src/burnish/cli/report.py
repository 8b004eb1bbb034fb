"""The text of a review: findings with their code, then the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from burnish.cli.output import BY_SEVERITY, clean, count, cut, one_line, paint, wrap
from burnish.core.decision import effective_verdict
from burnish.core.finding import Finding, Remark, Severity
from burnish.core.review import Verdict

if TYPE_CHECKING:
    from burnish.features.review.adhoc_review import AdhocResult

# Prose wider than this is hard to read, however wide the terminal.
MAX_WIDTH = 100
AROUND = 2
# Findings beyond the first ones get one line each; those beyond this number are only counted.
MAX_IN_FULL = 40
MAX_IN_ONE_LINE = 200
MAX_EXCERPT_LENGTH = 8


@dataclass(frozen=True, slots=True)
class ReportText:
    """Width and style of the text."""

    room: int
    colour: bool
    # words instead of marks, for screen readers
    plain: bool = False

    @property
    def prose(self) -> int:
        return min(self.room, MAX_WIDTH)


def report(result: AdhocResult, page: ReportText) -> Iterator[str]:
    yield from _head(result, page)
    texts = without_secrets(result.findings, result.texts)
    for finding in result.findings[:MAX_IN_FULL]:
        yield ""
        yield from _finding(finding, texts, page)
    rest = result.findings[MAX_IN_FULL:]
    if rest:
        yield ""
        yield f"{len(rest)} more:"
    for finding in rest[:MAX_IN_ONE_LINE]:
        place = f"{_place(finding.remark)}  " if finding.remark.file else ""
        yield cut(f"  {finding.id} {finding.remark.severity}  {place}{one_line(finding.remark.title)}", page.room)
    if len(rest) > MAX_IN_ONE_LINE:
        yield f"  … and {len(rest) - MAX_IN_ONE_LINE:,}; --json lists all"
    yield ""
    yield from _compliance(result, page)
    yield from _end(result, page)


def without_secrets(findings: Sequence[Finding], texts: Mapping[str, str]) -> dict[str, str]:
    """The texts with secrets masked as in the findings: reports end up in logs."""
    lines = {path: text.split("\n") for path, text in texts.items()}
    for remark in (finding.remark for finding in findings):
        if remark.rule == "secret" and remark.file in lines and remark.line:
            for number in range(remark.line, min(remark.end_line or remark.line, len(lines[remark.file])) + 1):
                lines[remark.file][number - 1] = remark.quote.strip() or "***"
    return {path: "\n".join(split) for path, split in lines.items()}


def _head(result: AdhocResult, page: ReportText) -> Iterator[str]:
    files = result.change.files
    yield from _bold(f"Review of {one_line(result.pair.what)}", page)
    yield from wrap(f"against {one_line(result.pair.against)}", page.prose)
    lines_added, lines_removed = sum(f.added for f in files), sum(f.removed for f in files)
    who = dict.fromkeys(reviewer.agent for reviewer in result.panel.results) if result.panel else ()
    binary = sum(file.binary for file in files)
    facts = [count(len(files), "file"), f"+{lines_added} -{lines_removed}"]
    facts += [f"{binary} binary"] * bool(binary) + [f"by {one_line(', '.join(who))}"] * bool(who)
    yield ", ".join(facts)


def _bold(text: str, page: ReportText) -> Iterator[str]:
    for line in wrap(text, page.prose):
        yield paint(line, "bold", on=page.colour)


def _finding(finding: Finding, texts: Mapping[str, str], page: ReportText) -> Iterator[str]:
    remark = finding.remark
    severity = paint(remark.severity.value, BY_SEVERITY[remark.severity], on=page.colour)
    lead = len(f"{finding.id} {remark.severity.value}  ")
    first, *more = wrap(one_line(remark.title), max(page.prose - lead, 20))
    yield f"{finding.id} {severity}  {paint(first, 'bold', on=page.colour)}"
    for line in more:
        yield " " * lead + paint(line, "bold", on=page.colour)
    facts = [_place(remark), one_line(remark.rule), remark.category.value, one_line(", ".join(finding.reviewers))]
    for line in wrap(" · ".join(fact for fact in facts if fact), page.room - 3):
        yield "   " + paint(line, "dim", on=page.colour)
    if remark.description.strip():
        yield from _indented(remark.description, page)
    yield from _excerpt(remark, texts.get(remark.file or ""), page)
    if remark.suggestion.strip():
        yield from _indented(f"Suggestion: {remark.suggestion.strip()}", page)


def _place(remark: Remark) -> str:
    if not remark.file:
        return ""
    file = one_line(remark.file)
    if remark.line is None:
        return file
    last = f"-{remark.end_line}" if remark.end_line and remark.end_line > remark.line else ""
    return f"{file}:{remark.line}{last}"


def _indented(text: str, page: ReportText) -> Iterator[str]:
    for line in clean(text).strip("\n").rstrip().split("\n"):
        # indented text is code or a table: cut, not wrapped
        pieces = [cut(line.expandtabs(4), page.room - 3)] if line[:1].isspace() else wrap(line, page.prose - 3)
        for piece in pieces:
            yield f"   {piece}".rstrip()


def _excerpt(remark: Remark, text: str | None, page: ReportText) -> Iterator[str]:
    """The lines of the finding with a few around them; each line of the finding is marked."""
    if text is None or remark.line is None:
        return
    lines = text.split("\n")
    if not 1 <= remark.line <= len(lines):
        return
    last = min(max(remark.end_line or remark.line, remark.line), remark.line + MAX_EXCERPT_LENGTH - 1)
    line_range = range(max(1, remark.line - AROUND), min(len(lines), last + AROUND) + 1)
    # the empty piece behind the last newline is not a line
    numbers = [n for n in line_range if n < len(lines) or lines[n - 1]]
    size = len(str(numbers[-1])) if numbers else 1
    for number in numbers:
        is_subject = remark.line <= number <= last
        yield _code_line(number, lines[number - 1], size, is_subject, remark.severity, page)


def _code_line(number: int, text: str, size: int, is_subject: bool, severity: Severity, page: ReportText) -> str:
    code = clean(text.replace("\r", "").expandtabs(4)).replace("\n", " ")
    if page.plain:
        return cut(f"   line {number:>{size}}{' *' if is_subject else '  '} {code}", page.room).rstrip()
    mark = paint(">", BY_SEVERITY[severity], on=page.colour) if is_subject else " "
    body = cut(code, page.room - size - 8).rstrip()
    gutter = paint(f"{number:>{size}} |", "dim", on=page.colour and not is_subject)
    return f"   {mark} {gutter} {body}".rstrip()


def _compliance(result: AdhocResult, page: ReportText) -> Iterator[str]:
    entries = result.panel.compliance if result.panel else ()
    words = {True: "met", False: "not met", None: "not judged"}
    for entry in entries:
        note = f" ({one_line(entry.note)})" if entry.note.strip() else ""
        yield from _hanging(f"{words[entry.met]}: {one_line(entry.item)}{note}", page)


def _hanging(text: str, page: ReportText) -> Iterator[str]:
    for n, line in enumerate(wrap(text, page.prose - 2)):
        yield line if n == 0 else f"  {line}"


def _end(result: AdhocResult, page: ReportText) -> Iterator[str]:
    panel = result.panel
    for check in result.checks:
        tone = "red" if check in result.standing_checks else "green" if check.state == "passed" else "yellow"
        for line in _hanging(f"Check {one_line(check.line)}", page):
            yield paint(line, tone, on=page.colour)
    for note in result.notes:
        yield from _hanging(f"Note: {one_line(note)}", page)
    if panel:
        for line in clean(panel.summary).strip().split("\n"):
            yield from wrap(line, page.prose) if line.strip() else ()
    if not (panel and panel.mechanical):
        # a program's own summary has counted them
        yield tally(result.findings)
    unseen = {file.path: file.description for file in panel.unseen_files} if panel else {}
    yield from _not_shown(result.not_shown, unseen, page)
    yield from verdict_lines(result, page)


def tally(findings: Sequence[Finding]) -> str:
    """`3 findings: 1 error, 2 warnings`."""
    if not findings:
        return "No findings."
    kinds = [f.remark.severity for f in findings]
    parts = [count(kinds.count(s), s.value) for s in Severity if s in kinds]
    parts = [part if not part.endswith("infos") else part[:-1] for part in parts]
    return f"{count(len(findings), 'finding')}: {', '.join(parts)}"


def _not_shown(paths: Sequence[str], descriptions: Mapping[str, str], page: ReportText) -> Iterator[str]:
    if not paths:
        return
    yield f"Not seen by any reviewer ({count(len(paths), 'changed path')}):"
    for path in paths[:20]:
        words = f": {one_line(descriptions[path])}" if path in descriptions else ""
        yield cut(f"  {one_line(path)}{words}", page.room)
    if len(paths) > 20:
        yield f"  and {len(paths) - 20} more"


def verdict_lines(result: AdhocResult, page: ReportText) -> Iterator[str]:
    """The verdict, and why it is not a pass."""
    if result.panel is None:
        return
    if result.verdict is None:
        yield paint("Verdict: none", "yellow", on=page.colour)
        yield from _hanging(f"The review could not be read: {one_line(result.panel.why)}.", page)
        if result.kept:
            yield f"The reply is in {one_line(str(result.kept))}"
        return
    tone = "green" if result.passed and not result.needs_tests else "red" if result.blocking else "yellow"
    yield paint(f"Verdict: {verdict_words(result)}", tone, on=page.colour)
    standing = [finding for finding in result.findings if finding.id in result.blocking]
    # without a task every remark is a finding of its own weight: those that stand say it all
    counts, but = effective_verdict(replace(result.panel, remarks=()), standing, Severity.INFO)
    if but and counts is not result.panel.verdict:
        yield from _hanging(f"{one_line(but[0].upper() + but[1:])}.", page)
    if result.approved_in_part:
        yield from _hanging(
            "The reviewer approved what it saw, but it did not see everything: a person must inspect the rest.", page
        )
    elif result.verdict is Verdict.APPROVED and not result.passed:
        why = "the approval is not signed, so a person must confirm it"
        if result.standing_checks:
            why = "; ".join(one_line(check.line) for check in result.standing_checks)
        yield from _hanging(f"This does not count as a pass: {why}.", page)


def verdict_words(result: AdhocResult) -> str:
    """The verdict; `APPROVED` only where it passes and tests ran, or for documentation that an AI approved."""
    nothing = "nothing that blocks was found" if result.findings else "nothing found"
    if result.verdict is Verdict.APPROVED and result.nothing_judged:
        return f"{nothing} (no AI reviewed it and no tests ran)"
    if result.verdict is Verdict.APPROVED and not result.passed:
        reviewers = nothing if result.panel and result.panel.mechanical else "approved by the reviewer"
        return f"NOT PASSED ({reviewers})"
    if result.verdict is Verdict.APPROVED and result.needs_tests:
        return "NOT TESTED (approved by the reviewer)"
    return result.verdict.value.upper() if result.verdict else "none"
