"""A limit for the remarks of one reviewer: the worst are findings of their own, the rest are one with a count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from burnish.core.finding import Category, Finding, Remark

# Each finding is an event, an entry in the artifact, in prompts and on the page, and must be ruled on by its id.
MOST_REMARKS = 80
# Where findings that are known already fill the limit, this many new ones still get an id of their own.
SMALLEST_SHARE = 20
MOST_EXAMPLES = 20
LONGEST_EXAMPLE = 200
RULE = "more-remarks"


def limit_remarks(
    remarks: Sequence[Remark],
    full_lists: Mapping[str, str],
    repeat_indices: Callable[[], frozenset[int]] = frozenset,
) -> tuple[Remark, ...]:
    """Limit the remarks of each reviewer. `full_lists` gives by reviewer where all remarks can be read.

    `repeat_indices` gives the indices of remarks that raise a finding of the ledger again. These are always listed:
    a program's finding that is not listed again counts as resolved.
    """
    sizes = Counter(remark.source for remark in remarks)
    if all(size <= MOST_REMARKS for size in sizes.values()):
        return tuple(remarks)
    again = repeat_indices()
    result: list[Remark] = []
    for source, size in sizes.items():
        own = [(remark, index in again) for index, remark in enumerate(remarks) if remark.source == source]
        if size <= MOST_REMARKS:
            result += [remark for remark, _ in own]
        else:
            result += _limit_source(own, full_lists.get(source, ""))
    return tuple(result)


def stands_for_more(findings: Iterable[Finding]) -> bool:
    """Whether an open finding has unlisted remarks. A later review may raise one of them."""
    return any(finding.alive and finding.remark.rule.startswith(f"{RULE}:") for finding in findings)


def _limit_source(own: Sequence[tuple[Remark, bool]], full_list: str) -> list[Remark]:
    repeats = list(dict.fromkeys(remark for remark, is_known in own if is_known))
    # several passes over one change repeat each other
    new = dict.fromkeys(remark for remark, is_known in own if not is_known)
    by_severity = sorted(new, key=lambda remark: remark.severity.rank)
    room = max(MOST_REMARKS - 1 - len(repeats), SMALLEST_SHARE)
    if len(by_severity) <= room + 1:
        return [*repeats, *by_severity]
    return [*repeats, *by_severity[:room], _rest(by_severity[room:], full_list)]


def _rest(remarks: Sequence[Remark], full_list: str) -> Remark:
    worst = remarks[0]
    examples = tuple(_example(remark) for remark in remarks[:MOST_EXAMPLES])
    head = f"{len(examples)} of the {len(remarks):,}:" if len(remarks) > len(examples) else f"All {len(remarks)}:"
    note = f"A review becomes at most {MOST_REMARKS} findings; the worst of the others is {worst.severity.value}."
    if full_list:
        note += f" All of them: {full_list}."
    return Remark(
        Category.CODE,
        worst.severity,
        f"{len(remarks):,} more problems that {worst.source} lists",
        "\n".join([note, "", head, *(f"- {example}" for example in examples)]),
        # by reviewer, so that the rests of two are two findings, and those of two reviews by one are the same
        rule=f"{RULE}:{worst.source}",
        source=worst.source,
        count=len(remarks),
        examples=examples,
    )


def _example(remark: Remark) -> str:
    where = f"{remark.file}{f':{remark.line}' if remark.line else ''} " if remark.file else ""
    return f"{where}{' '.join(remark.title.split())}"[:LONGEST_EXAMPLE]
