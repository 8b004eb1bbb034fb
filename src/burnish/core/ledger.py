"""The ledger of findings: what a review, a check or a person says, and what becomes of each finding by it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from burnish.core.change import Change
from burnish.core.criteria import absorb_criteria, is_criterion
from burnish.core.criterion_remarks import split_criterion_remarks
from burnish.core.finding import Finding, Remark, Severity, State
from burnish.core.ledger_checks import absorb_checks, absorb_source, is_check
from burnish.core.ledger_people import dispute, expire, reopen, waive
from burnish.core.matching import (
    SAME,
    SAME_THOUGH_OPEN,
    SAME_THOUGH_SETTLED,
    pair,
    pair_left_over,
    parts,
    say_the_same,
    trace,
)
from burnish.core.reanchor import Place, Tree, follow, rewrites, touches
from burnish.core.review import Ruling, RulingState, is_person
from burnish.core.update import Update, between, next_number
from burnish.core.voices import Group, hear, in_order, keep_words, traced

__all__ = [
    "Update",
    "absorb_checks",
    "absorb_criteria",
    "absorb_review",
    "absorb_source",
    "dispute",
    "expire",
    "reopen",
    "split_criterion_remarks",
    "waive",
]


@dataclass(slots=True)
class _Book:
    """The ledger while one review is written into it."""

    before: tuple[Finding, ...]
    cycle: int
    delta: Change | None
    now: dict[str, Finding]
    notes: list[str] = field(default_factory=list)
    ids: dict[int, str] = field(default_factory=dict)
    corrected: set[str] = field(default_factory=set)


def absorb_review(
    findings: tuple[Finding, ...],
    *,
    remarks: tuple[Remark, ...],
    rulings: tuple[Ruling, ...] = (),
    cycle: int,
    delta: Change | None = None,
    files: Callable[[str], str | None] | None = None,
    narrow: bool = True,
    mechanical: frozenset[str] = frozenset(),
) -> Update:
    """Write a review into the ledger.

    `delta` is the change since the last review (None: there was none), `files` gives the text of a path in
    the reviewed tree. With `narrow`, what is new outside of the delta, and no error, is kept as info.
    `mechanical` names reviewers that list all there is each time: what they no longer raise is resolved.
    """
    tree = Tree(files)
    book = _Book(findings, cycle, delta, {finding.id: finding for finding in findings})
    places = _carry_over(book, tree, mechanical)
    groups = hear(remarks, tree, delta, mechanical, book.notes)
    ruled = _rule(book, rulings)
    matched = _match(book, places, groups, ruled)
    for number, group in enumerate(groups):
        if number in matched:
            _raise_again(book, matched[number], group, ruled)
    _open_new(book, [group for number, group in enumerate(groups) if number not in matched], narrow)
    _settle(book, ruled, set(matched.values()), mechanical)
    given = tuple(book.ids[index] for index in range(len(remarks)))
    return between(findings, book.now.values(), notes=book.notes, given=given, corrected=book.corrected)


def _carry_over(book: _Book, tree: Tree, mechanical: frozenset[str]) -> dict[str, Place]:
    """Put every earlier finding where its code stands now."""
    places: dict[str, Place] = {}
    for finding in book.before:
        remark = finding.remark
        # A finding of this very cycle counts its lines in this tree already; checks keep their own in place.
        stays = finding.last_cycle >= book.cycle or is_check(finding)
        place = follow(remark, None if stays else book.delta, tree)
        counted = _by_machine(finding, mechanical) and place.line is not None and not place.gone
        places[finding.id] = replace(place, sure=place.sure or counted)
        if not stays:
            moved = replace(remark, file=place.file, line=place.line, end_line=place.end_line)
            book.now[finding.id] = replace(finding, remark=moved)
    return places


_STRONGER = {RulingState.RESOLVED: 0, RulingState.INVALID: 1, RulingState.OPEN: 2}


def _rule(book: _Book, rulings: tuple[Ruling, ...]) -> dict[str, Ruling]:
    """One ruling per finding: of a panel that disagrees, `open` wins."""
    ruled: dict[str, Ruling] = {}
    for ruling in sorted(rulings, key=lambda ruling: (_STRONGER[ruling.state], ruling.note)):
        if ruling.id in book.now:
            ruled[ruling.id] = ruling
        else:
            book.notes.append(f"{ruling.id} was ruled on but is not known")
    return ruled


def _match(book: _Book, places: dict[str, Place], groups: list[Group], ruled: dict[str, Ruling]) -> dict[int, str]:
    """Number of the group → id of the finding that it is."""
    # Those alive first: where all else is equal, the earlier in the list is taken.
    # A remark never becomes a criterion's finding: `met: true` would resolve that, and the remark with it.
    remarked = [finding for finding in book.before if not is_criterion(finding)]
    known = sorted(remarked, key=lambda finding: (finding.state is State.RESOLVED, finding.number))
    old = [trace(finding.remark, places[finding.id]) for finding in known]
    bars = [_bar(finding, ruled) for finding in known]
    order = in_order([group.remark for group in groups])
    new = [traced(groups[i]) for i in order]
    pairs = pair(old, new, bars)
    silent = [i for i, f in enumerate(known) if f.alive and i not in pairs and f.id not in ruled]
    unexplained = [j for j in range(len(new)) if j not in pairs.values()]
    left = pair_left_over([old[i] for i in silent], [new[j] for j in unexplained])
    pairs |= {silent[i]: unexplained[j] for i, j in left.items()}
    return {order[j]: known[i].id for i, j in pairs.items() if _covers(book, known[i], groups[order[j]].remark)}


def _covers(book: _Book, finding: Finding, remark: Remark) -> bool:
    """Is the remark heard if it is put to that finding? What was waived, or is a check's, does not change by it."""
    if finding.state is State.WAIVED:
        return say_the_same(finding.remark, remark) and not _outgrows(book, finding, remark)
    return not is_check(finding) or remark.severity.rank >= finding.remark.severity.rank


def _outgrows(book: _Book, finding: Finding, remark: Remark) -> bool:
    """Is it graver than what the person waived, where severity may rise at all: in code that changed since?"""
    graver = remark.severity.rank < finding.remark.severity.rank
    return graver and (is_person(remark.source) or rewrites(book.delta, remark.file, remark.line, remark.end_line))


def _bar(finding: Finding, ruled: dict[str, Ruling]) -> float:
    if finding.id in ruled:
        return SAME_THOUGH_OPEN if ruled[finding.id].state is RulingState.OPEN else SAME_THOUGH_SETTLED
    return SAME + 0.05 if finding.state is State.RESOLVED else SAME


def _raise_again(book: _Book, id: str, group: Group, ruled: dict[str, Ruling]) -> None:
    """The review raised a finding that we know."""
    finding = book.now[id]
    for index in group.members:
        book.ids[index] = id
    book.now[id] = finding = replace(
        finding,
        remark=finding.remark if is_check(finding) else _newer(book, finding, group),
        reviewers=tuple(dict.fromkeys((*finding.reviewers, *group.voices))),
        last_cycle=book.cycle,
    )
    if group.corrected:
        book.corrected.add(id)
    if id in ruled and ruled[id].state is not RulingState.OPEN:
        book.notes.append(f"{id} was ruled {ruled[id].state} and raised again in the same review: it stays open")
    if finding.state is State.RESOLVED:
        book.now[id] = replace(finding, state=State.REOPENED, note="it came back")
    elif finding.state is State.DISPUTED:
        book.now[id] = replace(finding, state=State.OPEN, note="upheld: raised again")


def _newer(book: _Book, finding: Finding, group: Group) -> Remark:
    """The place of today, and its words if they say the same as those that it had."""
    old, new = finding.remark, group.remark
    line, end_line = (new.line, new.end_line) if new.line is not None else (old.line, old.end_line)
    words = keep_words(new, old) if say_the_same(parts(old)[0], parts(new)[0]) else keep_words(old, new)
    placed = replace(
        # what a person has waived are the words that it had then
        old if finding.state is State.WAIVED else words,
        file=new.file or old.file,
        line=line,
        end_line=end_line,
        quote=new.quote or old.quote,
        rule=new.rule or old.rule,
    )
    return replace(placed, severity=_weight(book, finding, group, placed))


def _weight(book: _Book, finding: Finding, group: Group, placed: Remark) -> Severity:
    """Milder unless somebody else holds on to it; graver only where the code changed, or a person says so."""
    was, said = finding.remark.severity, group.remark.severity
    if said.rank > was.rank:
        others = set(finding.reviewers) - set(group.voices)
        held = finding.last_cycle >= book.cycle or any(map(is_person, others))
        return was if others and held else said
    rewritten = rewrites(book.delta, placed.file, placed.line, placed.end_line)
    if said is was or rewritten or any(map(is_person, group.voices)):
        return said
    book.notes.append(f"{finding.id} stays {was}: no code changed there since it was called that")
    return was


def _open_new(book: _Book, groups: list[Group], narrow: bool) -> None:
    for number, group in enumerate(groups, next_number(book.before)):
        id = f"F{number}"
        remark = _narrowed(book, id, group.remark) if narrow and book.delta is not None else group.remark
        book.now[id] = Finding(id, remark, first_cycle=book.cycle, last_cycle=book.cycle, reviewers=group.voices)
        book.ids.update((index, id) for index in group.members)
        if group.corrected:
            book.corrected.add(id)


def _narrowed(book: _Book, id: str, remark: Remark) -> Remark:
    """Later rounds shrink: what is new, and neither grave nor in what changed since, is only told."""
    in_delta = remark.file is not None and touches(book.delta, remark.file, remark.line, remark.end_line)
    if in_delta or remark.severity is not Severity.WARNING or is_person(remark.source):
        return remark
    book.notes.append(f"{id} is kept as info: it is not in what changed since the last review")
    return replace(remark, severity=Severity.INFO)


def _settle(book: _Book, ruled: dict[str, Ruling], raised: set[str], mechanical: frozenset[str]) -> None:
    """Carry out the rulings. What nobody mentioned stays as it was."""
    for was in book.before:
        finding = book.now[was.id]
        if was.id not in raised:
            finding = _ruled(book, finding, ruled.get(was.id))
            if finding.alive and was.id not in ruled and _by_machine(finding, mechanical):
                finding = replace(finding, state=State.RESOLVED, last_cycle=book.cycle, note="no longer reported")
        if finding.alive or finding.state is State.WAIVED:
            # Its lines count in this cycle's tree from now on.
            finding = finding if is_check(finding) else replace(finding, last_cycle=book.cycle)
        book.now[was.id] = finding


def _by_machine(finding: Finding, mechanical: frozenset[str]) -> bool:
    return bool(finding.reviewers) and mechanical.issuperset(finding.reviewers)


def _ruled(book: _Book, finding: Finding, ruling: Ruling | None) -> Finding:
    if ruling is None or finding.state is State.WAIVED:
        return finding
    if ruling.state is RulingState.OPEN:
        return _upheld(finding, ruling, book.cycle)
    if finding.state is State.RESOLVED:
        return finding
    if is_check(finding) and finding.last_cycle >= book.cycle:
        book.notes.append(f"{finding.id} was ruled {ruling.state}, but {finding.remark.source} still reports it")
        return finding
    withdrawn = ruling.state is RulingState.INVALID
    note = f"withdrawn: {ruling.note}".rstrip(": ") if withdrawn else ruling.note
    return replace(finding, state=State.RESOLVED, last_cycle=book.cycle, note=note)


def _upheld(finding: Finding, ruling: Ruling, cycle: int) -> Finding:
    note = ruling.note or finding.note
    if finding.state is State.RESOLVED:
        return replace(finding, state=State.REOPENED, last_cycle=cycle, note=note)
    if finding.state is State.DISPUTED:
        return replace(finding, state=State.OPEN, last_cycle=cycle, note=f"upheld: {ruling.note}".rstrip(": "))
    return replace(finding, last_cycle=cycle, note=note)
