"""The remarks of one review, anchored and grouped: equal remarks of two reviewers are one group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from burnish.core.change import Change
from burnish.core.finding import Category, Finding, Remark
from burnish.core.ledger.matching import ALSO, SAME_VOICE, Trace, pair, pair_left_over, parts, say_the_same, trace
from burnish.core.ledger.reanchor import Anchor, Tree, anchor, touches


@dataclass(slots=True)
class RemarkGroup:
    """One problem as this review raised it: by one reviewer or several."""

    members: list[int]
    remark: Remark
    place: Anchor
    reviewers: tuple[str, ...]
    corrected: bool


def group_remarks_of_panel(
    remarks: tuple[Remark, ...],
    tree: Tree,
    delta: Change | None,
    mechanical: frozenset[str],
    notes: list[str],
) -> list[RemarkGroup]:
    """Anchor and group the remarks; equal remarks of two reviewers are one group."""
    anchors = [anchor(remark, tree) for remark in remarks]
    places = [_place(place, delta, remark.source in mechanical) for remark, place, _ in anchors]
    notes.extend(f"{remark.title}: {note}" for remark, _, note in anchors if note)
    groups: list[RemarkGroup] = []
    for source in sorted({remark.source for remark in remarks}):
        mine = [i for i in in_order([remark for remark, _, _ in anchors]) if remarks[i].source == source]
        own = [RemarkGroup([i], anchors[i][0], places[i], (source,), anchors[i][0] != remarks[i]) for i in mine]
        own = _without_repeats(own)
        traces = [traced(group) for group in own]
        pairs = _same([traced(group) for group in groups], traces)
        for there, here in pairs.items():
            _join(groups[there], own[here])
        groups += [group for i, group in enumerate(own) if i not in pairs.values()]
    return sorted(groups, key=lambda group: min(group.members))


def _same(old: list[Trace], new: list[Trace]) -> dict[int, int]:
    pairs = pair(old, new, [SAME_VOICE] * len(old))
    alone = [i for i in range(len(old)) if i not in pairs]
    unpaired_new = [j for j in range(len(new)) if j not in pairs.values()]
    more_pairs = pair_left_over([old[i] for i in alone], [new[j] for j in unpaired_new])
    return pairs | {alone[i]: unpaired_new[j] for i, j in more_pairs.items()}


def _place(place: Anchor, delta: Change | None, by_machine: bool) -> Anchor:
    if place.line is None:
        return place
    is_unchanged = delta is not None and not touches(delta, place.file, place.line, place.end_line)
    # Line numbers of a program are exact.
    return replace(place, seen=is_unchanged, sure=place.sure or by_machine)


def in_order(remarks: list[Remark]) -> list[int]:
    """An order that does not depend on how the remarks were handed in."""

    def key(index: int) -> tuple[object, ...]:
        remark = remarks[index]
        spot = (remark.file or "", remark.line or 0, remark.end_line or 0)
        return (
            *spot,
            remark.category,
            remark.rule,
            remark.title,
            remark.description,
            remark.quote,
            remark.suggestion,
            remark.source,
            remark.severity.rank,
        )

    return sorted(range(len(remarks)), key=key)


def _without_repeats(groups: list[RemarkGroup]) -> list[RemarkGroup]:
    """The groups without repeats of one text at one place by one reviewer."""
    first: dict[tuple[object, ...], RemarkGroup] = {}
    for group in groups:
        key = (*traced(group).key, group.place.file, group.place.line)
        if key in first:
            _join(first[key], group)
        else:
            first[key] = group
    return list(first.values())


def _join(group: RemarkGroup, other: RemarkGroup) -> None:
    group.members += other.members
    group.corrected |= other.corrected
    group.reviewers = tuple(dict.fromkeys((*group.reviewers, *other.reviewers)))
    first, second = group, other
    if other.remark.severity.rank < group.remark.severity.rank:
        first, second = other, group
    group.place, group.remark = first.place, keep_words(first.remark, second.remark)


def keep_words(first: Remark, second: Remark) -> Remark:
    """The first remark, with the text of the second appended where it differs, so that a wrong match loses nothing."""
    for part in parts(second):
        if not say_the_same(first, part):
            addition = f"{part.title.rstrip('.')}. {part.description}".strip()
            first = replace(first, description=f"{first.description}\n\n{ALSO}{addition}".strip())
    return first


def traced(group: RemarkGroup) -> Trace:
    return trace(group.remark, group.place)


# -- remark limit ---------------------------------------------------------------------------------
# A limit for the remarks of one reviewer: the worst are findings of their own, the rest are one with a count.

# Each finding is an event, an entry in the artifact, in prompts and on the page, and must be ruled on by its id.
MAX_REMARKS = 80
# Where findings that are known already fill the limit, this many new ones still get an id of their own.
SMALLEST_SHARE = 20
MAX_EXAMPLES = 20
MAX_EXAMPLE_LENGTH = 200
MORE_REMARKS_RULE = "more-remarks"


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
    if all(size <= MAX_REMARKS for size in sizes.values()):
        return tuple(remarks)
    again = repeat_indices()
    result: list[Remark] = []
    for source, size in sizes.items():
        own = [(remark, index in again) for index, remark in enumerate(remarks) if remark.source == source]
        if size <= MAX_REMARKS:
            result += [remark for remark, _ in own]
        else:
            result += _limit_source(own, full_lists.get(source, ""))
    return tuple(result)


def stands_for_more(findings: Iterable[Finding]) -> bool:
    """Whether an open finding has unlisted remarks. A later review may raise one of them."""
    return any(finding.alive and finding.remark.rule.startswith(f"{MORE_REMARKS_RULE}:") for finding in findings)


def _limit_source(own: Sequence[tuple[Remark, bool]], full_list: str) -> list[Remark]:
    repeats = list(dict.fromkeys(remark for remark, is_known in own if is_known))
    # several passes over one change repeat each other
    new = dict.fromkeys(remark for remark, is_known in own if not is_known)
    by_severity = sorted(new, key=lambda remark: remark.severity.rank)
    room = max(MAX_REMARKS - 1 - len(repeats), SMALLEST_SHARE)
    if len(by_severity) <= room + 1:
        return [*repeats, *by_severity]
    return [*repeats, *by_severity[:room], _rest(by_severity[room:], full_list)]


def _rest(remarks: Sequence[Remark], full_list: str) -> Remark:
    worst = remarks[0]
    examples = tuple(_example(remark) for remark in remarks[:MAX_EXAMPLES])
    head = f"{len(examples)} of the {len(remarks):,}:" if len(remarks) > len(examples) else f"All {len(remarks)}:"
    note = f"A review becomes at most {MAX_REMARKS} findings; the worst of the others is {worst.severity.value}."
    if full_list:
        note += f" All of them: {full_list}."
    return Remark(
        Category.CODE,
        worst.severity,
        f"{len(remarks):,} more problems that {worst.source} lists",
        "\n".join([note, "", head, *(f"- {example}" for example in examples)]),
        # by reviewer, so that the rests of two are two findings, and those of two reviews by one are the same
        rule=f"{MORE_REMARKS_RULE}:{worst.source}",
        source=worst.source,
        count=len(remarks),
        examples=examples,
    )


def _example(remark: Remark) -> str:
    where = f"{remark.file}{f':{remark.line}' if remark.line else ''} " if remark.file else ""
    return f"{where}{' '.join(remark.title.split())}"[:MAX_EXAMPLE_LENGTH]
