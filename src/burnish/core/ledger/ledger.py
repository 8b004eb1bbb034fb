"""The ledger of findings: how a review changes the state of each finding."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from burnish.core.change import Change
from burnish.core.criteria import absorb_criteria, is_criterion, split_criterion_remarks
from burnish.core.finding import Finding, FindingState, Remark, Reply, Severity, Waiver, is_from_person
from burnish.core.ledger.check_findings import absorb_checks, absorb_source, change_since_waiver, is_check
from burnish.core.ledger.ledger_diff import LedgerDiff, diff_ledgers, next_number
from burnish.core.ledger.matching import (
    SAME,
    SAME_THOUGH_OPEN,
    SAME_THOUGH_SETTLED,
    is_same_code,
    pair,
    pair_left_over,
    parts,
    say_the_same,
    trace,
)
from burnish.core.ledger.reanchor import Anchor, Tree, follow, rewrites, touches
from burnish.core.ledger.remark_grouping import RemarkGroup, group_remarks_of_panel, in_order, keep_words, traced
from burnish.core.review import Ruling, RulingState, is_person
from burnish.errors import BadInput, NotFound, Refused

__all__ = [
    "LedgerDiff",
    "absorb_checks",
    "absorb_criteria",
    "absorb_review",
    "absorb_source",
    "dispute",
    "expire",
    "open_finding",
    "reopen",
    "split_criterion_remarks",
    "waive",
]


_ONLY_A_PERSON = "it is a comment of a person, who alone can withdraw it"


@dataclass(slots=True)
class _LedgerState:
    """The ledger while one review is written into it."""

    before: tuple[Finding, ...]
    cycle: int
    delta: Change | None
    now: dict[str, Finding]
    notes: list[str] = field(default_factory=list)
    ids: dict[int, str] = field(default_factory=dict)
    corrected: set[str] = field(default_factory=set)
    # what changed since a waiver; without it, what changed since the last review
    since: Callable[[Waiver], Change | None] | None = None
    # groups that say the same as a waived finding about other code, by index; and that finding
    outside_waiver: dict[int, str] = field(default_factory=dict)


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
    since: Callable[[Waiver], Change | None] | None = None,
) -> LedgerDiff:
    """Write a review into the ledger.

    `delta` is the change since the last review (None: there was none), `files` gives the text of a path in
    the reviewed tree. With `narrow`, what is new outside of the delta, and no error, is kept as info.
    `mechanical` names reviewers that list all there is each time: what they no longer raise is resolved.
    `since` gives the change since a waiver: a waiver covers the code that the person saw, not that of the last review.
    """
    tree = Tree(files)
    ledger = _LedgerState(findings, cycle, delta, {finding.id: finding for finding in findings}, since=since)
    places = _carry_over(ledger, tree, mechanical)
    groups = group_remarks_of_panel(remarks, tree, delta, mechanical, ledger.notes)
    rulings_by_id = _rule(ledger, rulings)
    matches = _match(ledger, places, groups, rulings_by_id)
    for number, group in enumerate(groups):
        if number in matches:
            _raise_again(ledger, matches[number], group, rulings_by_id)
    new_groups = {number: group for number, group in enumerate(groups) if number not in matches}
    _open_new(ledger, new_groups, narrow)
    _settle(ledger, rulings_by_id, set(matches.values()), mechanical, places)
    raised_ids = tuple(ledger.ids[index] for index in range(len(remarks)))
    return diff_ledgers(
        findings, ledger.now.values(), notes=ledger.notes, raised_ids=raised_ids, corrected_ids=ledger.corrected
    )


def _carry_over(ledger: _LedgerState, tree: Tree, mechanical: frozenset[str]) -> dict[str, Anchor]:
    """Move every earlier finding to the current place of its code."""
    places: dict[str, Anchor] = {}
    for finding in ledger.before:
        remark = finding.remark
        # A finding of this very cycle counts its lines in this tree already; checks keep their own in place.
        stays = finding.last_cycle >= ledger.cycle or is_check(finding)
        place = follow(remark, None if stays else ledger.delta, tree)
        is_exact = _by_machine(finding, mechanical) and place.line is not None and not place.gone
        places[finding.id] = replace(place, sure=place.sure or is_exact)
        if not stays:
            moved_remark = replace(remark, file=place.file, line=place.line, end_line=place.end_line)
            waiver = replace(finding.waiver, gone=True) if finding.waiver and place.gone else finding.waiver
            ledger.now[finding.id] = replace(finding, remark=moved_remark, waiver=waiver)
    return places


_STRONGER = {RulingState.RESOLVED: 0, RulingState.INVALID: 1, RulingState.OPEN: 2}


def _rule(ledger: _LedgerState, rulings: tuple[Ruling, ...]) -> dict[str, Ruling]:
    """One ruling per finding: of a panel that disagrees, `open` wins."""
    rulings_by_id: dict[str, Ruling] = {}
    for ruling in sorted(rulings, key=lambda ruling: (_STRONGER[ruling.state], ruling.note)):
        if ruling.id in ledger.now:
            rulings_by_id[ruling.id] = ruling
        else:
            ledger.notes.append(f"{ruling.id} was ruled on but is not known")
    return rulings_by_id


def _match(
    ledger: _LedgerState, places: dict[str, Anchor], groups: list[RemarkGroup], rulings_by_id: dict[str, Ruling]
) -> dict[int, str]:
    """Map the index of each group to the id of its finding."""
    # Those alive first: where all else is equal, the earlier in the list is taken.
    # A remark never becomes a criterion's finding: `met: true` would resolve that, and the remark with it.
    remark_findings = [finding for finding in ledger.before if not is_criterion(finding)]
    candidates = sorted(remark_findings, key=lambda finding: (finding.state is FindingState.RESOLVED, finding.number))
    old = [trace(finding.remark, places[finding.id]) for finding in candidates]
    bars = [_bar(finding, rulings_by_id) for finding in candidates]
    order = in_order([group.remark for group in groups])
    new = [traced(groups[i]) for i in order]
    pairs = pair(old, new, bars)
    silent = [i for i, f in enumerate(candidates) if f.alive and i not in pairs and f.id not in rulings_by_id]
    unpaired_groups = [j for j in range(len(new)) if j not in pairs.values()]
    more_pairs = pair_left_over([old[i] for i in silent], [new[j] for j in unpaired_groups])
    pairs |= {silent[i]: unpaired_groups[j] for i, j in more_pairs.items()}
    matches = {order[j]: candidates[i] for i, j in pairs.items()}
    not_covered = {n: f for n, f in matches.items() if not _covers(ledger, f, places[f.id], groups[n])}
    ledger.outside_waiver = {n: f.id for n, f in not_covered.items() if f.state is FindingState.WAIVED}
    return {number: finding.id for number, finding in matches.items() if number not in not_covered}


def _covers(ledger: _LedgerState, finding: Finding, place: Anchor, group: RemarkGroup) -> bool:
    """Whether the finding can record the remark: a waived finding, or a check's, does not change by a remark."""
    remark = group.remark
    if finding.state is FindingState.WAIVED:
        is_same = say_the_same(finding.remark, remark) and _is_waived_code(ledger, finding, place, group.place)
        return is_same and not _outgrows(finding, remark)
    return not is_check(finding) or remark.severity.rank >= finding.remark.severity.rank


def _is_waived_code(ledger: _LedgerState, finding: Finding, old: Anchor, new: Anchor) -> bool:
    """Whether the code at `new` is that of the waived finding at `old`, as the person saw it."""
    delta = change_since_waiver(finding.waiver, ledger.since, ledger.cycle, ledger.delta)
    return not (finding.waiver and finding.waiver.gone) and is_same_code(delta, old, new)


def _outgrows(finding: Finding, remark: Remark) -> bool:
    """Does a person call it graver than what was waived? A reviewer cannot, in code that did not change since."""
    return remark.severity.rank < finding.remark.severity.rank and is_person(remark.source)


def _bar(finding: Finding, rulings_by_id: dict[str, Ruling]) -> float:
    if finding.id in rulings_by_id:
        return SAME_THOUGH_OPEN if rulings_by_id[finding.id].state is RulingState.OPEN else SAME_THOUGH_SETTLED
    return SAME + 0.05 if finding.state is FindingState.RESOLVED else SAME


def _raise_again(ledger: _LedgerState, id: str, group: RemarkGroup, rulings_by_id: dict[str, Ruling]) -> None:
    """Update a finding that the review raised again."""
    finding = ledger.now[id]
    for index in group.members:
        ledger.ids[index] = id
    ledger.now[id] = finding = replace(
        finding,
        remark=finding.remark if is_check(finding) else _newer(ledger, finding, group),
        reviewers=tuple(dict.fromkeys((*finding.reviewers, *group.reviewers))),
        last_cycle=ledger.cycle,
    )
    if group.corrected:
        ledger.corrected.add(id)
    if id in rulings_by_id and rulings_by_id[id].state is not RulingState.OPEN:
        ledger.notes.append(
            f"{id} was ruled {rulings_by_id[id].state} and raised again in the same review: it stays open"
        )
    if finding.state is FindingState.RESOLVED:
        ledger.now[id] = replace(finding, state=FindingState.REOPENED, note="it came back")
    elif finding.state is FindingState.DISPUTED:
        ledger.now[id] = replace(finding, state=FindingState.OPEN, note="upheld: raised again")


def _newer(ledger: _LedgerState, finding: Finding, group: RemarkGroup) -> Remark:
    """The remark at its current place, with the new text if it means the same as the old one."""
    old, new = finding.remark, group.remark
    line, end_line = (new.line, new.end_line) if new.line is not None else (old.line, old.end_line)
    words = keep_words(new, old) if say_the_same(parts(old)[0], parts(new)[0]) else keep_words(old, new)
    remark = replace(
        # a waiver covers the text of its time
        old if finding.state is FindingState.WAIVED else words,
        file=new.file or old.file,
        line=line,
        end_line=end_line,
        quote=new.quote or old.quote,
        rule=new.rule or old.rule,
    )
    return replace(remark, severity=_weight(ledger, finding, group, remark))


def _weight(ledger: _LedgerState, finding: Finding, group: RemarkGroup, remark: Remark) -> Severity:
    """The new severity. Lower unless another reviewer upholds it; higher only in changed code or by a person."""
    was, new = finding.remark.severity, group.remark.severity
    if new.rank > was.rank:
        others = set(finding.reviewers) - set(group.reviewers)
        is_upheld = finding.last_cycle >= ledger.cycle or any(map(is_person, others))
        return was if others and is_upheld else new
    rewritten = rewrites(ledger.delta, remark.file, remark.line, remark.end_line)
    if new is was or rewritten or any(map(is_person, group.reviewers)):
        return new
    ledger.notes.append(f"{finding.id} stays {was}: no code changed there since it was called that")
    return was


def _open_new(ledger: _LedgerState, groups: dict[int, RemarkGroup], narrow: bool) -> None:
    for number, (index, group) in enumerate(groups.items(), next_number(ledger.before)):
        id = f"F{number}"
        # what a waiver does not cover any more is not new: its code changed since a person looked at it
        narrows = narrow and ledger.delta is not None and index not in ledger.outside_waiver
        remark = _narrowed(ledger, id, group.remark) if narrows else group.remark
        ledger.now[id] = Finding(
            id, remark, first_cycle=ledger.cycle, last_cycle=ledger.cycle, reviewers=group.reviewers
        )
        ledger.ids.update((index, id) for index in group.members)
        if group.corrected:
            ledger.corrected.add(id)


def _narrowed(ledger: _LedgerState, id: str, remark: Remark) -> Remark:
    """In later cycles a new warning outside the changed lines is kept as info."""
    in_delta = remark.file is not None and touches(ledger.delta, remark.file, remark.line, remark.end_line)
    if in_delta or remark.severity is not Severity.WARNING or is_person(remark.source):
        return remark
    ledger.notes.append(f"{id} is kept as info: it is not in what changed since the last review")
    return replace(remark, severity=Severity.INFO)


def _settle(
    ledger: _LedgerState,
    rulings_by_id: dict[str, Ruling],
    raised_ids: set[str],
    mechanical: frozenset[str],
    places: dict[str, Anchor],
) -> None:
    """Apply the rulings. Findings without a ruling stay unchanged."""
    for was in ledger.before:
        finding = ledger.now[was.id]
        if was.id not in raised_ids:
            finding = _ruled(ledger, finding, rulings_by_id.get(was.id), places[was.id])
            if finding.alive and was.id not in rulings_by_id and _by_machine(finding, mechanical):
                finding = replace(
                    finding, state=FindingState.RESOLVED, last_cycle=ledger.cycle, note="no longer reported"
                )
        if finding.alive or finding.state is FindingState.WAIVED:
            # Its lines count in this cycle's tree from now on.
            finding = finding if is_check(finding) else replace(finding, last_cycle=ledger.cycle)
        ledger.now[was.id] = finding


def _by_machine(finding: Finding, mechanical: frozenset[str]) -> bool:
    return bool(finding.reviewers) and mechanical.issuperset(finding.reviewers)


def _ruled(ledger: _LedgerState, finding: Finding, ruling: Ruling | None, place: Anchor) -> Finding:
    if ruling is None:
        return finding
    if finding.state is FindingState.WAIVED:
        return _ruled_though_waived(ledger, finding, ruling, place)
    if ruling.state is RulingState.OPEN:
        return _upheld(finding, ruling, ledger.cycle)
    if finding.state is FindingState.RESOLVED:
        return finding
    if is_check(finding) and finding.last_cycle >= ledger.cycle:
        ledger.notes.append(f"{finding.id} was ruled {ruling.state}, but {finding.remark.source} still reports it")
        return finding
    withdrawn = ruling.state is RulingState.INVALID
    if withdrawn and is_from_person(finding):
        ledger.notes.append(f"{finding.id} was ruled invalid, but {_ONLY_A_PERSON}")
        return replace(finding, last_cycle=ledger.cycle, note=f"ruled invalid: {ruling.note}".rstrip(": "))
    note = f"withdrawn: {ruling.note}".rstrip(": ") if withdrawn else ruling.note
    return replace(finding, state=FindingState.RESOLVED, last_cycle=ledger.cycle, note=note)


def _ruled_though_waived(ledger: _LedgerState, finding: Finding, ruling: Ruling, place: Anchor) -> Finding:
    """A waiver stands against a ruling while it covers the code. What a check or a criterion says is not about code."""
    is_raised_again = finding.id in ledger.outside_waiver.values()
    if ruling.state is not RulingState.OPEN or is_raised_again or is_check(finding) or is_criterion(finding):
        return finding
    if _is_waived_code(ledger, finding, place, place):
        return finding
    note = f"the code changed since it was waived: {ruling.note}".rstrip(": ")
    return replace(finding, state=FindingState.REOPENED, waiver=None, note=note)


def _upheld(finding: Finding, ruling: Ruling, cycle: int) -> Finding:
    note = ruling.note or finding.note
    if finding.state is FindingState.RESOLVED:
        return replace(finding, state=FindingState.REOPENED, last_cycle=cycle, note=note)
    if finding.state is FindingState.DISPUTED:
        return replace(finding, state=FindingState.OPEN, last_cycle=cycle, note=f"upheld: {ruling.note}".rstrip(": "))
    return replace(finding, last_cycle=cycle, note=note)


# -- people ---------------------------------------------------------------------------------------
# What a person, or the agent that was asked to fix it, says of a finding.


def dispute(findings: tuple[Finding, ...], claims: Iterable[tuple[str, str]], cycle: int) -> LedgerDiff:
    """Mark findings as disputed by the agent. `claims` pairs ids with evidence; the next review rules on them."""
    now = {finding.id: finding for finding in findings}
    notes: list[str] = []
    for id, evidence in claims:
        finding = now.get(id)
        if finding is None or not finding.alive:
            notes.append(f"{id} was disputed but is not open")
        elif is_from_person(finding):
            notes.append(f"{id} was disputed, but {_ONLY_A_PERSON}")
        elif not evidence.strip():
            notes.append(f"{id} was disputed without evidence")
        else:
            # Disputed again before a ruling, it is still the same dispute.
            fresh = finding.state is not FindingState.DISPUTED
            now[id] = replace(
                finding, state=FindingState.DISPUTED, evidence=evidence.strip(), disputes=finding.disputes + fresh
            )
    return diff_ledgers(findings, now.values(), notes=notes)


def open_finding(findings: tuple[Finding, ...], remark: Remark, cycle: int) -> LedgerDiff:
    """Open a finding of its own for what a person says."""
    finding = Finding(
        f"F{next_number(findings)}", remark, first_cycle=cycle, last_cycle=cycle, reviewers=(remark.source,)
    )
    return diff_ledgers(findings, (*findings, finding))


def waive(findings: tuple[Finding, ...], id: str, waiver: Waiver) -> LedgerDiff:
    """Waive a finding."""
    finding = _find(findings, id)
    if finding.state is FindingState.RESOLVED:
        raise Refused(f"{finding.id} is resolved: there is nothing to waive.", hint="`burnish findings` shows them.")
    return _put(findings, replace(finding, state=FindingState.WAIVED, waiver=waiver, note=waiver.reason))


def resolve(findings: tuple[Finding, ...], id: str, note: str) -> LedgerDiff:
    """Resolve a finding that a person raised."""
    finding = _find(findings, id)
    if not finding.alive:
        raise Refused(f"{finding.id} is {finding.state} already.", hint="`burnish findings` shows them.")
    if not is_from_person(finding):
        raise Refused(
            f"{finding.id} was not raised by a person: a later review or check resolves it.",
            hint="To accept it with a reason, waive it.",
        )
    return _put(findings, replace(finding, state=FindingState.RESOLVED, note=note))


def reply(findings: tuple[Finding, ...], id: str, answer: Reply) -> Finding:
    """The finding with one more reply."""
    finding = _find(findings, id)
    return replace(finding, replies=(*finding.replies, answer))


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
