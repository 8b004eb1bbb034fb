"""The difference between two ledgers."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from burnish.core.finding import Finding, FindingState


@dataclass(frozen=True, slots=True)
class LedgerDiff:
    """The whole new ledger, and the ids of changed findings by kind of change."""

    findings: tuple[Finding, ...]
    opened: tuple[str, ...] = ()
    resolved: tuple[str, ...] = ()
    reopened: tuple[str, ...] = ()
    reanchored: tuple[str, ...] = ()
    disputed: tuple[str, ...] = ()
    waived: tuple[str, ...] = ()
    # alive before and after
    still: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    # for each remark, in the order it was handed in, the finding it became or was
    given: tuple[str, ...] = ()

    def finding(self, id: str) -> Finding:
        return next(finding for finding in self.findings if finding.id == id)


def diff_ledgers(
    before: Iterable[Finding],
    after: Iterable[Finding],
    *,
    notes: Iterable[str] = (),
    raised_ids: tuple[str, ...] = (),
    corrected_ids: Collection[str] = (),
) -> LedgerDiff:
    """Compare two ledgers. `corrected_ids` are new findings whose line was corrected."""
    old = {finding.id: finding for finding in before}
    ledger = tuple(sorted(after, key=lambda finding: finding.number))
    common = [(old[new.id], new) for new in ledger if new.id in old]

    def became(state: FindingState) -> tuple[str, ...]:
        return tuple(new.id for was, new in common if new.state is state and was.state is not state)

    return LedgerDiff(
        findings=ledger,
        opened=tuple(new.id for new in ledger if new.id not in old),
        resolved=became(FindingState.RESOLVED),
        reopened=became(FindingState.REOPENED),
        reanchored=tuple(
            new.id for new in ledger if new.id in corrected_ids or (new.id in old and _moved(old[new.id], new))
        ),
        disputed=tuple(new.id for was, new in common if new.disputes > was.disputes),
        waived=became(FindingState.WAIVED),
        still=tuple(new.id for was, new in common if was.alive and new.alive),
        notes=tuple(dict.fromkeys(notes)),
        given=raised_ids,
    )


def next_number(findings: Iterable[Finding]) -> int:
    """The next free number. Findings are never removed, so ids are never reused."""
    return max((finding.number for finding in findings), default=0) + 1


def _moved(was: Finding, new: Finding) -> bool:
    a, b = was.remark, new.remark
    return (a.file, a.line, a.end_line) != (b.file, b.line, b.end_line)
