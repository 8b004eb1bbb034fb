"""Statistics of reviews: verdicts, findings, and the precision of each reviewer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from burnish.core.finding import Category, FindingState, Severity
from burnish.core.journal import ReviewResult, is_review
from burnish.core.review import Verdict
from burnish.store.tally import FindingRow, PhaseRow, Tally

UNREADABLE = "unreadable"
VERDICTS = (*(verdict.value for verdict in Verdict), UNREADABLE)


@dataclass(frozen=True, slots=True)
class Fate:
    """Counts of findings by their last state."""

    resolved: int = 0
    waived: int = 0
    withdrawn: int = 0
    open: int = 0

    @property
    def all(self) -> int:
        return self.resolved + self.waived + self.withdrawn + self.open

    @property
    def precision(self) -> float | None:
        """The share of settled findings that were fixed, not waived or withdrawn. None: none is settled yet."""
        settled_count = self.resolved + self.waived + self.withdrawn
        return self.resolved / settled_count if settled_count else None


@dataclass(frozen=True, slots=True)
class Severities:
    error: int = 0
    warning: int = 0
    info: int = 0

    @property
    def all(self) -> int:
        return self.error + self.warning + self.info


@dataclass(frozen=True, slots=True)
class ReviewerStats:
    """One reviewer: an agent, a person, or a check with findings."""

    name: str
    # verdict → how often; those that were never given are left out
    verdicts: dict[str, int]
    found: Severities
    fate: Fate

    @property
    def reviews(self) -> int:
        return sum(self.verdicts.values())

    def as_json(self) -> dict[str, Any]:
        found = {**asdict(self.found), **asdict(self.fate), "precision": rounded_share(self.fate.precision)}
        return {"name": self.name, "reviews": self.reviews, "verdicts": self.verdicts, "findings": found}


def reviews(phases: Iterable[PhaseRow]) -> list[PhaseRow]:
    """Finished reviews, including superseded ones."""
    return [p for p in phases if is_review(p.phase) and p.state == "finished"]


def outcome(review: PhaseRow) -> str:
    """The effective verdict: an approval that its own findings contradict does not count."""
    verdict = review.result.effective_verdict if isinstance(review.result, ReviewResult) else None
    return verdict if verdict in VERDICTS else UNREADABLE


def verdicts(phases: Iterable[PhaseRow]) -> dict[str, int]:
    found = Counter(outcome(review) for review in phases)
    return {word: found[word] for word in VERDICTS}


def findings_in(tally: Tally, since: str) -> list[FindingRow]:
    """Findings raised in a cycle that started in the selected time."""
    if not since:
        return list(tally.findings)
    begun: dict[tuple[object, ...], str] = {}
    for phase in tally.phases:
        key = (phase.of, phase.run, phase.cycle)
        begun[key] = min(begun.get(key, phase.started_at), phase.started_at)
    return [f for f in tally.findings if begun.get((f.of, f.run, f.first_cycle), "") >= since]


def by_category(findings: Iterable[FindingRow]) -> dict[str, Severities]:
    found = Counter((f.category, f.severity) for f in findings)
    counts = {category: _severities(Counter({s: found[category, s] for s in Severity})) for category in Category}
    return {category.value: count for category, count in counts.items() if count.all}


def reviewers(phases: Iterable[PhaseRow], findings: Iterable[FindingRow]) -> tuple[ReviewerStats, ...]:
    """Statistics per reviewer. A finding of two reviewers counts for both."""
    counts: dict[str, Counter[str]] = {}
    for review in phases:
        for record in review.result.reviewers if isinstance(review.result, ReviewResult) else ():
            verdict = record.verdict if record.verdict in VERDICTS else UNREADABLE
            counts.setdefault(record.agent or "unknown", Counter())[verdict] += 1
    findings_by_reviewer: dict[str, list[FindingRow]] = {}
    for finding in findings:
        for name in finding.reviewers:
            findings_by_reviewer.setdefault(name, []).append(finding)
    found = [
        _reviewer(name, counts.get(name, Counter()), findings_by_reviewer.get(name, []))
        for name in {**counts, **findings_by_reviewer}
    ]
    return tuple(sorted(found, key=lambda r: (not r.reviews, -r.found.all, -r.reviews, r.name)))


def _reviewer(name: str, verdict_counts: Counter[str], findings: list[FindingRow]) -> ReviewerStats:
    severities = _severities(Counter(f.severity for f in findings))
    return ReviewerStats(
        name, {word: verdict_counts[word] for word in VERDICTS if verdict_counts[word]}, severities, fate(findings)
    )


def _severities(found: Counter[Severity]) -> Severities:
    return Severities(found[Severity.ERROR], found[Severity.WARNING], found[Severity.INFO])


def fate(findings: Iterable[FindingRow]) -> Fate:
    found = Fate()
    for finding in findings:
        if finding.withdrawn:
            found = replace(found, withdrawn=found.withdrawn + 1)
        elif finding.state is FindingState.RESOLVED:
            found = replace(found, resolved=found.resolved + 1)
        elif finding.state is FindingState.WAIVED:
            found = replace(found, waived=found.waived + 1)
        else:
            found = replace(found, open=found.open + 1)
    return found


def rounded_share(share: float | None) -> float | None:
    return None if share is None else round(share, 4)
