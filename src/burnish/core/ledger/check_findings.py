"""What checks say, written into the ledger: new failures are opened, what is clean is resolved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from burnish.core.change import Change
from burnish.core.check import CheckStatus, Comparison, TestFailure
from burnish.core.error_lines import first_error
from burnish.core.failure_groups import group_remarks, is_group
from burnish.core.finding import Category, Finding, FindingState, Remark, Severity, Waiver, outside_rule
from burnish.core.ledger.ledger_diff import LedgerDiff, diff_ledgers, next_number
from burnish.core.ledger.matching import SAME, pair, trace
from burnish.core.ledger.reanchor import Anchor, Tree, follow, rewrites

# The rule of the one finding that says "the check as a whole fails".
WHOLE = "exit-code"


Since = Callable[[Waiver], Change | None]


def is_check(finding: Finding) -> bool:
    return finding.remark.source.startswith("check:")


def change_since_waiver(waiver: Waiver | None, since: Since | None, cycle: int, delta: Change | None) -> Change | None:
    """What changed since the person waived it. Where `since` is unknown: `delta`, or nothing in the same cycle."""
    if waiver is None:
        return delta
    if since is not None:
        return since(waiver)
    return None if waiver.cycle >= cycle else delta


def absorb_checks(
    findings: tuple[Finding, ...],
    *,
    comparisons: tuple[Comparison, ...],
    cycle: int,
    delta: Change | None = None,
    files: Callable[[str], str | None] | None = None,
    since: Since | None = None,
) -> LedgerDiff:
    """Write this cycle's checks into the ledger. `delta` is the change since they last ran, `since` since a waiver."""
    ledger = findings
    notes: list[str] = []
    raised_ids: tuple[str, ...] = ()
    for comparison in comparisons:
        source = f"check:{comparison.report.name}"
        step = absorb_source(
            ledger,
            source=source,
            remarks=_few_remarks(comparison, ledger, source),
            cycle=cycle,
            delta=delta,
            files=files,
            unknown=partial(_unknown, comparison),
            since=since,
        )
        ledger, raised_ids = step.findings, raised_ids + step.given
        notes += step.notes
        if comparison.report.status is CheckStatus.ERROR:
            notes.append(f"{source} could not be run: what it found before stays open")
    return diff_ledgers(findings, ledger, notes=notes, raised_ids=raised_ids)


def absorb_source(
    findings: tuple[Finding, ...],
    *,
    source: str,
    remarks: tuple[Remark, ...],
    cycle: int,
    delta: Change | None = None,
    files: Callable[[str], str | None] | None = None,
    unknown: Callable[[Finding], bool] = lambda finding: False,
    since: Since | None = None,
) -> LedgerDiff:
    """Write in a source (`check:…`) that lists everything each time: what it no longer lists is resolved.

    Of a finding that is `unknown` to this answer nothing is concluded.
    """
    now = {finding.id: finding for finding in findings}
    mine = [finding for finding in findings if finding.remark.source == source]
    remarks = tuple(replace(remark, source=source) for remark in remarks)
    tree = Tree(files)
    places = {finding.id: _follow(finding, cycle, delta, tree) for finding in mine}
    now.update((finding.id, _moved(finding, places[finding.id])) for finding in mine)
    matches = _match(mine, places, remarks)
    waived = [now[id] for id in matches.values() if now[id].state is FindingState.WAIVED]
    deltas = {finding.id: change_since_waiver(finding.waiver, since, cycle, delta) for finding in waived}
    raised_ids = _write(now, source, remarks, matches, cycle, deltas)
    for finding in mine:
        if finding.alive and finding.id not in raised_ids and not unknown(finding):
            note = f"{source} is clean there"
            now[finding.id] = replace(now[finding.id], state=FindingState.RESOLVED, last_cycle=cycle, note=note)
    return diff_ledgers(findings, now.values(), raised_ids=raised_ids)


def _write(
    now: dict[str, Finding],
    source: str,
    remarks: tuple[Remark, ...],
    matches: dict[int, str],
    cycle: int,
    deltas: Mapping[str, Change | None],
) -> tuple[str, ...]:
    """Update or open the finding of each remark; return the ids in the order of the remarks.

    `deltas` has, for each waived finding, the change since the waiver.
    """
    number = next_number(now.values())
    raised_ids: list[str] = []
    for index, remark in enumerate(remarks):
        if index in matches:
            id = matches[index]
            now[id] = _again(now[id], remark, cycle, deltas.get(id))
        else:
            id = f"F{number}"
            number += 1
            now[id] = Finding(id, remark, first_cycle=cycle, last_cycle=cycle, reviewers=(source,))
        raised_ids.append(id)
    return tuple(raised_ids)


def remarks_of(comparison: Comparison) -> tuple[Remark, ...]:
    """All remarks of this check about the change."""
    report = comparison.report
    # A check that may not block must not, even where warnings do.
    severity = Severity.ERROR if report.blocking else Severity.INFO
    source = f"check:{report.name}"
    tests = [_of_test(failure, severity, source) for failure in comparison.new]
    places = [replace(remark, severity=severity, source=source) for remark in comparison.new_remarks]
    whole = [_of_whole(comparison, severity, source)] if comparison.broken else []
    return (*tests, *places, *whole)


def _few_remarks(comparison: Comparison, ledger: tuple[Finding, ...], source: str) -> tuple[Remark, ...]:
    """The remarks of the check, with equal failures grouped."""
    remarks = remarks_of(comparison)
    whole = tuple(remark for remark in remarks if remark.rule == WHOLE)
    source_findings = [
        finding for finding in ledger if finding.remark.source == source and finding.remark.rule != WHOLE
    ]
    return (*group_remarks([remark for remark in remarks if remark.rule != WHOLE], source_findings), *whole)


def _of_test(failure: TestFailure, severity: Severity, source: str) -> Remark:
    return Remark(
        Category.TEST,
        severity,
        f"Test {'breaks' if failure.status == 'error' else 'fails'}: {failure.name}",
        failure.message,
        file=failure.file,
        line=failure.line,
        rule=outside_rule(failure.name),
        source=source,
    )


def _of_whole(comparison: Comparison, severity: Severity, source: str) -> Remark:
    report = comparison.report
    if report.status is CheckStatus.ERROR:
        title = f"Check {report.name} could not be run"
    else:
        title = f"Check {report.name} fails with exit code {report.exit_code}"
    if cause := first_error(report.tail) or report.error:
        title += f": {cause[:120]}"
    category = Category.TEST if report.name == "test" else Category.CODE
    description = "\n".join(part for part in (f"Command: {report.command}", report.error, report.tail) if part)
    return Remark(category, severity, title, description, rule=WHOLE, source=source)


def _unknown(comparison: Comparison, finding: Finding) -> bool:
    """Whether the check stopped before it could report this finding."""
    if comparison.report.status is CheckStatus.ERROR:
        return True
    silent = not (comparison.report.failures or comparison.report.remarks or comparison.new or comparison.new_remarks)
    return comparison.broken and silent and finding.remark.rule != WHOLE


def _follow(finding: Finding, cycle: int, delta: Change | None, tree: Tree) -> Anchor:
    remark = finding.remark
    if finding.last_cycle >= cycle:
        return _spot(remark)
    place = follow(remark, delta, tree)
    # A line that was rewritten is only about there; one that still stands is just there.
    return replace(place, gone=False, sure=place.line is not None and not place.gone)


def _match(mine: list[Finding], places: dict[str, Anchor], remarks: tuple[Remark, ...]) -> dict[int, str]:
    """Index of the remark → id. A test is known by its name, a place by rule and position."""
    ids_by_rule = {finding.remark.rule: finding.id for finding in mine if _by_name(finding.remark)}
    matches = {i: ids_by_rule[r.rule] for i, r in enumerate(remarks) if _by_name(r) and r.rule in ids_by_rule}
    place_findings = [finding for finding in mine if not _by_name(finding.remark)]
    place_findings.sort(key=lambda finding: (finding.state is FindingState.RESOLVED, finding.number))
    fresh = [i for i, remark in enumerate(remarks) if not _by_name(remark)]
    fresh.sort(key=lambda i: (remarks[i].file or "", remarks[i].line or 0, remarks[i].rule, remarks[i].title))
    old = [trace(finding.remark, places[finding.id]) for finding in place_findings]
    new = [trace(remarks[i], _spot(remarks[i])) for i in fresh]
    pairs = pair(old, new, [SAME] * len(old))
    return matches | {fresh[j]: place_findings[i].id for i, j in pairs.items()}


def _by_name(remark: Remark) -> bool:
    return bool(remark.rule) and (remark.category is Category.TEST or remark.rule == WHOLE or is_group(remark))


def _spot(remark: Remark) -> Anchor:
    # A tool's line numbers are right: two places are two problems.
    return Anchor(remark.file, remark.line, remark.end_line, sure=remark.line is not None)


def _moved(finding: Finding, place: Anchor) -> Finding:
    remark = replace(finding.remark, file=place.file, line=place.line, end_line=place.end_line)
    return replace(finding, remark=remark)


def _again(finding: Finding, remark: Remark, cycle: int, delta: Change | None) -> Finding:
    state, note = finding.state, finding.note
    if state is FindingState.RESOLVED:
        state, note = FindingState.REOPENED, "it came back"
    elif state is FindingState.WAIVED and (why := _outside_waiver(finding, remark, delta)):
        state, note = FindingState.REOPENED, why
    waiver = finding.waiver if state is FindingState.WAIVED else None
    return replace(finding, remark=remark, state=state, note=note, waiver=waiver, last_cycle=cycle)


def _outside_waiver(finding: Finding, remark: Remark, delta: Change | None) -> str:
    """Why the waiver does not cover the remark, "" if it does: it covers only what the person saw."""
    waived = finding.remark
    if remark.count > waived.count:
        return f"waived for {waived.count:,}, now there are {remark.count:,}"
    if waived.content and remark.content:
        return "waived for other content" if remark.content != waived.content else ""
    if _by_name(remark) or remark.line is None:
        return ""
    if rewrites(delta, remark.file, remark.line, remark.end_line):
        return "the code changed since it was waived"
    return ""
