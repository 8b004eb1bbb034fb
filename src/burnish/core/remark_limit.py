"""A limit for the remarks of one reviewer: the worst are findings of their own, the rest are one with a count."""

from __future__ import annotations

from collections.abc import Sequence

from burnish.core.finding import Category, Remark

# Each finding is an event, an entry in the artifact, in prompts and on the page, and must be ruled on by its id.
MOST_REMARKS = 80
MOST_EXAMPLES = 20
LONGEST_EXAMPLE = 200
RULE = "more-remarks"


def limit_remarks(remarks: Sequence[Remark], unlimited: frozenset[str] = frozenset()) -> tuple[Remark, ...]:
    """`unlimited` names reviewers that are programs: what they no longer list counts as resolved."""
    limited: list[Remark] = []
    for source in dict.fromkeys(remark.source for remark in remarks):
        own = [remark for remark in remarks if remark.source == source]
        if source in unlimited or len(own) <= MOST_REMARKS:
            limited += own
            continue
        # several passes over one change repeat each other
        ordered = sorted(dict.fromkeys(own), key=lambda remark: remark.severity.rank)
        limited += [*ordered[: MOST_REMARKS - 1], _rest(ordered[MOST_REMARKS - 1 :])]
    return tuple(limited)


def _rest(remarks: Sequence[Remark]) -> Remark:
    worst = remarks[0]
    examples = tuple(_example(remark) for remark in remarks[:MOST_EXAMPLES])
    head = f"{len(examples)} of the {len(remarks):,}:" if len(remarks) > len(examples) else f"All {len(remarks)}:"
    note = (
        f"A review becomes at most {MOST_REMARKS} findings; the worst of the others is {worst.severity.value}. "
        "All of them, with all their words, are in the reviewer's reply (`burnish log TASK --phase review`)."
    )
    return Remark(
        Category.CODE,
        worst.severity,
        f"{len(remarks):,} more problems that {worst.source} lists",
        "\n".join([note, "", head, *(f"- {example}" for example in examples)]),
        rule=RULE,
        source=worst.source,
        count=len(remarks),
        examples=examples,
    )


def _example(remark: Remark) -> str:
    where = f"{remark.file}{f':{remark.line}' if remark.line else ''} " if remark.file else ""
    return f"{where}{' '.join(remark.title.split())}"[:LONGEST_EXAMPLE]
