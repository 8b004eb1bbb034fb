"""What a person, or the agent that was asked to fix it, says of a finding."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from burnish.core.finding import Finding, FindingState, Waiver
from burnish.core.ledger.ledger_diff import LedgerDiff, diff_ledgers
from burnish.errors import BadInput, NotFound, Refused


def dispute(findings: tuple[Finding, ...], claims: Iterable[tuple[str, str]], cycle: int) -> LedgerDiff:
    """Mark findings as disputed by the agent. `claims` pairs ids with evidence; the next review rules on them."""
    now = {finding.id: finding for finding in findings}
    notes: list[str] = []
    for id, evidence in claims:
        finding = now.get(id)
        if finding is None or not finding.alive:
            notes.append(f"{id} was disputed but is not open")
        elif not evidence.strip():
            notes.append(f"{id} was disputed without evidence")
        else:
            # Disputed again before a ruling, it is still the same dispute.
            fresh = finding.state is not FindingState.DISPUTED
            now[id] = replace(
                finding, state=FindingState.DISPUTED, evidence=evidence.strip(), disputes=finding.disputes + fresh
            )
    return diff_ledgers(findings, now.values(), notes=notes)


def waive(findings: tuple[Finding, ...], id: str, waiver: Waiver) -> LedgerDiff:
    """Waive a finding."""
    finding = _find(findings, id)
    if finding.state is FindingState.RESOLVED:
        raise Refused(f"{finding.id} is resolved: there is nothing to waive.", hint="`burnish findings` shows them.")
    return _put(findings, replace(finding, state=FindingState.WAIVED, waiver=waiver, note=waiver.reason))


def reopen(findings: tuple[Finding, ...], id: str, note: str, cycle: int) -> LedgerDiff:
    """Reopen a finding."""
    finding = _find(findings, id)
    if finding.state in (FindingState.OPEN, FindingState.REOPENED):
        raise Refused(f"{finding.id} is open already.", hint="`burnish findings --open` shows them.")
    return _put(findings, replace(finding, state=FindingState.REOPENED, waiver=None, note=note))


def expire(findings: tuple[Finding, ...], today: str) -> LedgerDiff:
    """End waivers whose last day has passed. `today` is YYYY-MM-DD."""
    now = [_expired(finding) if _is_over(finding, today) else finding for finding in findings]
    return diff_ledgers(findings, now)


def _is_over(finding: Finding, today: str) -> bool:
    until = finding.waiver.until if finding.waiver else None
    return finding.state is FindingState.WAIVED and until is not None and until[:10] < today[:10]


def _expired(finding: Finding) -> Finding:
    until = finding.waiver.until if finding.waiver else ""
    return replace(finding, state=FindingState.REOPENED, waiver=None, note=f"the waiver ended on {until}")


def _find(findings: tuple[Finding, ...], id: str) -> Finding:
    for finding in findings:
        if finding.id.casefold() == id.strip().casefold():
            return finding
    ids = ", ".join(finding.id for finding in findings) or "none"
    if not id.strip():
        raise BadInput("No finding is named.", hint=f"Findings of this task: {ids}.")
    raise NotFound(f"There is no finding {id}.", hint=f"Findings of this task: {ids}.")


def _put(findings: tuple[Finding, ...], replacement: Finding) -> LedgerDiff:
    return diff_ledgers(findings, [replacement if finding.id == replacement.id else finding for finding in findings])
