"""Sections that several prompts share: task, criteria, findings, checks. Each ends with a newline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from burnish.core.check import INDISTINGUISHABLE, CheckReport, CheckStatus, Comparison, TestFailure
from burnish.core.finding import Finding, FindingState, Remark, worst_first
from burnish.core.task import Spec
from burnish.review.quoting import cut_text, fenced, one_line, quoted

NONE = "None.\n"
# bytes of one finding's words in a prompt
MAX_FINDING_LENGTH = 4096
# of each reply, and how many of the newest
MAX_REPLY_LENGTH, MAX_REPLIES = 1024, 5


def task_title(task: Spec) -> str:
    """The title for a heading. A follow-up task's title is a reviewer's text, so it is shown as data instead."""
    if not task.follows:
        return one_line(task.title)
    place, _, finding = task.follows.partition(" ")
    return f"Follow-up of task {place.partition('.')[0]} ({finding})"


def task_order(task: Spec) -> str:
    """The task for the author. The user's own text is not fenced: it is the instruction."""
    words = task.description.rstrip() + "\n" if task.description.strip() else ""
    return f"Title of this task, as data:\n\n{fenced(one_line(task.title))}\n{words}" if task.follows else words


def task_text(task: Spec, tag: str) -> str:
    title = f"Title: {task_title(task)}\n"
    words = f"{one_line(task.title)}\n\n{task.description}" if task.follows else task.description
    return title + (f"\n{fenced(words, tag=tag)}" if words else "")


def scope_text(task: Spec, tag: str) -> str:
    return fenced(task.scope, tag=tag) if task.scope else "Not limited beyond the task itself.\n"


def criteria_text(task: Spec) -> str:
    return "".join(f"- {one_line(item, longest=2000)}\n" for item in task.criteria) or NONE


def checklist_text(task: Spec) -> str:
    ticks = (f"- [{'x' if item.done else ' '}] {one_line(item.text, longest=2000)}\n" for item in task.checklist)
    return "".join(ticks) or NONE


def data_text(text: str, tag: str) -> str:
    return fenced(text, tag=tag) if text.strip() else NONE


def project_context_text(context: Sequence[tuple[str, str]], limit: int, tag: str) -> str:
    parts = [f"{quoted(name)}:\n\n{fenced(_chars(text, limit), tag=tag)}" for name, text in context if text.strip()]
    return "\n".join(parts) or NONE


def _chars(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}\n[… {len(text) - limit:,} characters left out …]"


def finding_text(finding: Finding, tag: str, *, full: bool = True) -> str:
    """One finding, fenced, because its text comes from an agent."""
    remark = finding.remark
    head = f"### {finding.id} [{remark.severity}] {remark.category} ({finding.state})"
    words = cut_text(remark_words(remark), MAX_FINDING_LENGTH) if full else f"{one_line(remark.title)}{place(remark)}"
    notes = [f"Disputed by the author: {finding.evidence}"] if finding.state == FindingState.DISPUTED else []
    if finding.waiver:
        notes.append(f"Waived by {finding.waiver.by}: {finding.waiver.reason}")
    if finding.state == FindingState.REOPENED and finding.note:
        notes.append(f"Reopened: {finding.note}")
    if finding.state == FindingState.OPEN and finding.note:
        # why it is still open, or why the author's dispute was not accepted
        notes.append(f"The last review on it: {finding.note}")
    notes += [
        f"Reply of {reply.by}: {cut_text(reply.text, MAX_REPLY_LENGTH)}" for reply in finding.replies[-MAX_REPLIES:]
    ]
    body = fenced("\n".join([words, *map(_indented, notes)]), tag=tag)
    return f"{head}\n\n{body}\n"


def _indented(text: str) -> str:
    """The text with its further lines indented, so that only burnish begins a line with `Waived by` or `Reply of`."""
    return "\n  ".join(text.splitlines())


def remark_words(remark: Remark) -> str:
    lines = [f"{one_line(remark.title)}{place(remark)}"]
    if remark.description and remark.description != remark.title:
        lines.append(_indented(f"Description: {remark.description}"))
    if remark.suggestion:
        lines.append(_indented(f"Suggestion: {remark.suggestion}"))
    if remark.quote:
        lines.append(_indented(f"Quote: {remark.quote}"))
    return "\n".join(lines)


def place(remark: Remark) -> str:
    if not remark.file:
        return ""
    line = f":{remark.line}" if remark.line else ""
    return f" ({quoted(remark.file)}{line}{f'-{remark.end_line}' if line and remark.end_line else ''})"


def failure_line(failure: TestFailure) -> str:
    where = f" ({quoted(failure.file)}{f':{failure.line}' if failure.line else ''})" if failure.file else ""
    return f"{failure.status}: {failure.name}{where}" + (f": {failure.message}" if failure.message else "")


def test_results_text(checks: Sequence[Comparison], limit: int, tag: str) -> str:
    parts = [_result(check.report, limit, tag) for check in checks if check.report.name != "lint"]
    return "".join(parts) or "No test check is configured: nothing is known about tests.\n"


def _result(report: CheckReport, limit: int, tag: str) -> str:
    head = f"{report.name}: {_outcome(report)}\n"
    words = "\n".join(failure_line(failure) for failure in report.failures) or report.tail
    if not words.strip() or (report.status == CheckStatus.PASSED and report.counts):
        return head
    # the end of a test runner's output is the most useful part
    excerpt = cut_text(words, limit, keep="head" if report.failures else "tail")
    return f"{head}\n{fenced(excerpt, tag=tag)}\n"


def _outcome(report: CheckReport) -> str:
    if report.status == CheckStatus.ERROR:
        return f"could not be run, the result is unknown ({one_line(report.error) or 'no reason given'})"
    counts = report.counts
    if counts is None:
        return f"{report.status} (exit code {report.exit_code}; no single cases reported)"
    return f"{counts.passed} passed, {counts.failed} failed, {counts.skipped} skipped"


def baseline_text(checks: Sequence[Comparison], limit: int, tag: str) -> str:
    parts = [_against_base(check, limit, tag) for check in checks if check.report.name != "lint"]
    return "".join(parts) or "Unknown: no test check is configured.\n"


def _against_base(check: Comparison, limit: int, tag: str) -> str:
    tests = check.base_tests
    return _failures_since_base(check, limit, tag) + (
        f"\nNote: {one_line(tests.note)}\n" if tests and tests.note else ""
    )


def _failures_since_base(check: Comparison, limit: int, tag: str) -> str:
    name = check.report.name
    base = check.baseline
    if base is None or base.unknown:
        why = f": {one_line(base.error)}" if base and base.error else ""
        return f"{name}: unknown how it was before this task (the baseline could not be run{why}).\n" + (
            _both_outputs(check, limit, tag) if check.uncountable else ""
        )
    if check.report.status == CheckStatus.ERROR:
        return f"{name}: unknown, it could not be run now.\n"
    if not (base.counts or base.failures or check.report.counts or check.report.failures):
        head = f"{name}: {base.status} before this task, {check.report.status} now (exit code alone).\n"
        return head + (_both_outputs(check, limit, tag) if check.uncountable or check.output_note else "")
    head = (
        f"{name}: {_failures(len(check.old))} existed before this task, {_are(len(check.new))} new,"
        f" {len(check.fixed)} fixed.\n"
    )
    rows = [f"before: {failure_line(one)}" for one in check.old] + [f"new: {failure_line(one)}" for one in check.new]
    listing = fenced(cut_text("\n".join(rows), limit), tag=tag)
    whole = f"{head}\n{listing}\n" if rows else head
    return whole + (_both_outputs(check, limit, tag) if check.uncountable or check.output_note else "")


def _both_outputs(check: Comparison, limit: int, tag: str) -> str:
    """Both outputs, for the reviewer to compare where burnish cannot compare single cases."""
    base = check.baseline.tail if check.baseline else ""
    note = (
        f"{one_line(check.uncountable)}, so {INDISTINGUISHABLE}" if check.uncountable else one_line(check.output_note)
    )
    return (
        f"\nNote: {note}. Compare the two outputs yourself.\n"
        f"\nPrinted before this task:\n\n{fenced(cut_text(base or '(nothing)', limit, keep='tail'), tag=tag)}"
        f"\nPrinted now:\n\n{fenced(cut_text(check.report.tail or '(nothing)', limit, keep='tail'), tag=tag)}\n"
    )


def _failures(count: int) -> str:
    return f"{count} failure{'' if count == 1 else 's'}"


def _are(count: int) -> str:
    return f"{count} {'is' if count == 1 else 'are'}"


def lint_text(checks: Sequence[Comparison], auto_fixed: int | None, limit: int, tag: str) -> str:
    fix_note = f"auto-fixed {auto_fixed} issue{'' if auto_fixed == 1 else 's'}" if auto_fixed else ""
    lint = next((check for check in checks if check.report.name == "lint"), None)
    if lint is None:
        return f"{fix_note or 'Unknown: no lint check is configured'}.\n"
    if lint.report.status == CheckStatus.ERROR:
        return f"Unknown: lint could not be run ({one_line(lint.report.error) or 'no reason given'}).\n"
    if lint.report.status == CheckStatus.PASSED and lint.output_note:
        return f"Note: {one_line(lint.output_note)}.\n\n{fenced(_chars(lint.report.tail, limit), tag=tag)}\n"
    if lint.report.status == CheckStatus.PASSED:
        return f"{fix_note or 'Clean'}\n"
    output = lint.report.tail or "\n".join(f"{one_line(r.title)}{place(r)}" for r in lint.report.remarks)
    new_note = " Nothing of it is new." if lint.clean and not lint.uncountable else ""
    head = f"Failed (exit code {lint.report.exit_code}).{new_note} {fix_note}".rstrip()
    both = _both_outputs(lint, limit, tag) if lint.uncountable else ""
    return f"{head}\n\n{fenced(_chars(output, limit), tag=tag)}{both}"


# -- finding list ---------------------------------------------------------------------------------
# Lists findings in a prompt within a size limit: the worst in full, the next by title, the rest counted.

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
        entry = finding_text(finding, tag, full=full(finding))
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
        row = f"{finding.id} [{finding.remark.severity}] {one_line(finding.remark.title)}{place(finding.remark)}"
        limit -= len(row.encode("utf-8", "replace")) + 1
        if limit < 0:
            break
        rows.append(row)
    return rows


def all_findings_text(findings: Sequence[Finding]) -> str:
    """The file with all findings, for what a prompt leaves out."""
    parts = [
        f"## {f.id} [{f.remark.severity}] {f.remark.category} ({f.state})\n\n{remark_words(f.remark)}\n"
        for f in worst_first(tuple(findings))
    ]
    return "# Findings\n\n" + "\n".join(parts)
