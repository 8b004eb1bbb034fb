"""Acceptance criteria in the ledger: an unmet one is a finding, and the review that calls it met resolves it."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from burnish.core.finding import Category, Finding, FindingState, Remark, Severity
from burnish.core.ledger.ledger_diff import LedgerDiff, diff_ledgers, next_number
from burnish.core.ledger.reanchor import Tree, anchor
from burnish.core.review import Compliance, PanelResult, Review, RulingState

_RULE = "criterion:"


# A list marker or box before a criterion, and what may end it
_MARKER = re.compile(r"(?:[-*+]|\d{1,3}[.)])\s+(?=\S)|\[[ xX]\]\s+")
_WRAPPERS = ("**", "__", "*", "_", '"', "'", "\u201c\u201d")


def criterion_key(item: str) -> str:
    """Equal for copies that differ in case, spaces, list markers, quotes or a final stop, and in nothing else.

    Signs stay: `C` and `C++`, `x > 0` and `x < 0`, `1` and `-1` are different criteria.
    """
    text = " ".join(unicodedata.normalize("NFC", item).casefold().replace("`", "").split())
    while match := _MARKER.match(text):
        text = text[match.end() :]
    text = text.rstrip(" .;,:")
    for wrapper in _WRAPPERS:
        first, last = (wrapper, wrapper) if wrapper.isascii() else (wrapper[0], wrapper[1])
        if text.startswith(first) and text.endswith(last) and len(text) > len(first + last):
            text = text[len(first) : -len(last)].strip().rstrip(" .;,:")
    return text


def asked_criterion(item: str, criteria: Sequence[str]) -> str:
    """The one of `criteria` that a reviewer's `item` is a copy of; the item itself if there is none.

    A copy without its signs counts only where it fits one criterion: it must not judge another one as well.
    """
    key = criterion_key(item)
    if exact := next((one for one in criteria if criterion_key(one) == key), None):
        return exact
    words = _words(item)
    alike = [one for one in criteria if words and _words(one) == words]
    return alike[0] if len(alike) == 1 else item


def _words(item: str) -> str:
    return re.sub(r"[\W_]+", " ", item.casefold()).strip()


def criterion_rule(item: str) -> str:
    """The identity of a criterion in the ledger."""
    return _RULE + hashlib.sha256(criterion_key(item).encode("utf-8", "replace")).hexdigest()[:12]


def is_criterion(finding: Finding) -> bool:
    return finding.remark.category is Category.COMPLIANCE and finding.remark.rule.startswith(_RULE)


def unmet_items(compliance: Sequence[Compliance], findings: Sequence[Finding]) -> list[str]:
    """The criteria that are called unmet, without those that a person waived."""
    waived_rules = {f.remark.rule for f in findings if is_criterion(f) and f.state is FindingState.WAIVED}
    return [c.item for c in compliance if c.met is False and criterion_rule(c.item) not in waived_rules]


def absorb_criteria(
    findings: tuple[Finding, ...],
    review_diff: LedgerDiff,
    panel: PanelResult,
    cycle: int,
    remarks_by_rule: Mapping[str, Remark] | None = None,
) -> LedgerDiff:
    """Write the judgement of each criterion into `review_diff`: the ledger after the rest of the same review.

    `remarks_by_rule` maps the rule of a criterion to a remark of this review about it (see `split_criterion_remarks`).
    """
    now = {finding.id: finding for finding in review_diff.findings}
    before = {finding.id: finding for finding in findings}
    ids_by_rule = {f.remark.rule: f.id for f in review_diff.findings if is_criterion(f)}
    upheld = {ruling.id for ruling in panel.rulings if ruling.state is RulingState.OPEN}
    raised_ids: list[str] = []
    notes: list[str] = []
    for entry in panel.compliance:
        finding_id = ids_by_rule.get(criterion_rule(entry.item))
        if entry.met is False:
            reviewers = _unmet_by(panel, entry)
            finding = now[finding_id] if finding_id else _new(f"F{next_number(now.values())}", entry, reviewers, cycle)
            ids_by_rule[finding.remark.rule] = finding.id
            finding = _unmet(before.get(finding.id), finding, entry, reviewers, cycle)
            now[finding.id] = _with_words(finding, (remarks_by_rule or {}).get(finding.remark.rule))
            raised_ids.append(finding.id)
        elif entry.met and finding_id and now[finding_id].alive:
            if finding_id in upheld:
                notes.append(f"{finding_id} was ruled open, and its criterion is called met: it stays open")
                continue
            note = f"met: {entry.note}".rstrip(": ")
            now[finding_id] = replace(now[finding_id], state=FindingState.RESOLVED, last_cycle=cycle, note=note)
    return diff_ledgers(
        findings,
        now.values(),
        notes=(*review_diff.notes, *notes),
        raised_ids=(*review_diff.given, *raised_ids),
        corrected_ids=review_diff.reanchored,
    )


def _unmet_by(panel: PanelResult, entry: Compliance) -> tuple[str, ...]:
    """The reviewers that call this criterion unmet."""
    rule = criterion_rule(entry.item)
    read = [(result.agent, result.reading) for result in panel.results if isinstance(result.reading, Review)]
    names = [
        name
        for name, review in read
        if any(c.met is False and criterion_rule(c.item) == rule for c in review.compliance)
    ]
    return tuple(dict.fromkeys(names))


def _new(finding_id: str, entry: Compliance, reviewers: tuple[str, ...], cycle: int) -> Finding:
    remark = Remark(
        Category.COMPLIANCE,
        Severity.ERROR,
        f"Not met: {' '.join(entry.item.split())}",
        entry.note.strip(),
        rule=criterion_rule(entry.item),
        source=", ".join(reviewers),
    )
    return Finding(finding_id, remark, first_cycle=cycle, last_cycle=cycle, reviewers=reviewers)


def _with_words(finding: Finding, words: Remark | None) -> Finding:
    if words is None or finding.state is FindingState.WAIVED:
        return finding
    old = finding.remark
    remark = replace(
        old,
        description=words.description,
        suggestion=words.suggestion or old.suggestion,
        file=words.file or old.file,
        line=words.line if words.file else old.line,
        end_line=words.end_line if words.file else old.end_line,
        quote=words.quote if words.file else old.quote,
    )
    return replace(finding, remark=remark)


def _unmet(
    before: Finding | None, finding: Finding, entry: Compliance, reviewers: tuple[str, ...], cycle: int
) -> Finding:
    """The finding after a review calls its criterion unmet. A waiver stands; a ruling of the same review does not."""
    note = entry.note.strip()
    names = tuple(dict.fromkeys((*finding.reviewers, *reviewers)))
    finding = replace(finding, reviewers=names, last_cycle=max(finding.last_cycle, cycle))
    if finding.state is FindingState.WAIVED:
        return finding
    finding = replace(finding, remark=replace(finding.remark, description=note or finding.remark.description))
    if finding.state is FindingState.RESOLVED and before and not before.alive:
        return replace(finding, state=FindingState.REOPENED, note=note or "its criterion is not met")
    if finding.state is FindingState.RESOLVED:
        return replace(finding, state=FindingState.OPEN, note="ruled resolved, but its criterion is still called unmet")
    if finding.state is FindingState.DISPUTED:
        return replace(finding, state=FindingState.OPEN, note=f"upheld: {note}".rstrip(": "))
    return finding


# -- criterion remarks ----------------------------------------------------------------------------
# Remarks that repeat an unmet criterion of the same review: their words go into the criterion's finding.

# A shorter criterion ("Fast") also occurs in titles of other problems.
MIN_WORDS = 2


def split_criterion_remarks(
    panel: PanelResult, findings: Sequence[Finding], files: Callable[[str], str | None] | None = None
) -> tuple[PanelResult, dict[str, Remark]]:
    """The panel without such remarks, and by criterion rule one remark that joins their texts.

    Only a remark of category `compliance` counts, and only if its own reviewer calls the criterion unmet.
    """
    waived_rules = {f.remark.rule for f in findings if is_criterion(f) and f.state is FindingState.WAIVED}
    rest: list[Remark] = []
    remarks_by_rule: dict[str, list[Remark]] = {}
    tree = Tree(files)
    for remark in panel.remarks:
        rule = _repeated_rule(remark, _unmet_according_to(panel, remark.source))
        # A waiver covers what was known at the time; a new remark about it stays a separate finding.
        if rule is None or rule in waived_rules:
            rest.append(remark)
        else:
            remarks_by_rule.setdefault(rule, []).append(anchor(remark, tree)[0])
    unmet = {criterion_rule(entry.item): entry for entry in panel.compliance if entry.met is False}
    joint_remarks = {rule: _join(unmet[rule], remarks) for rule, remarks in remarks_by_rule.items()}
    return replace(panel, remarks=tuple(rest)), joint_remarks


def _join(entry: Compliance, remarks: Sequence[Remark]) -> Remark:
    """The place of the first remark that has one, and every text once: the note, then titles and descriptions."""
    texts = [entry.note.strip()]
    for remark in remarks:
        for text in (_title(remark, entry, with_place=len(remarks) > 1), remark.description.strip()):
            if text and not any(_same_text(text, other) for other in texts):
                texts.append(text)
    suggestions = dict.fromkeys(r.suggestion.strip() for r in remarks if r.suggestion.strip())
    base = next((remark for remark in remarks if remark.file), remarks[0])
    return replace(
        base,
        description="\n\n".join(text for text in texts if text),
        suggestion="\n\n".join(suggestions),
    )


def _unmet_according_to(panel: PanelResult, source: str) -> list[Compliance]:
    """The criteria that this reviewer calls unmet. Of two equal agents, sources are `name/model` or `name#2`."""
    results = [v for v in panel.results if source == v.agent or source.startswith((f"{v.agent}/", f"{v.agent}#"))]
    reviews = [result.reading for result in results if isinstance(result.reading, Review)]
    return [entry for review in reviews for entry in review.compliance if entry.met is False]


def _repeated_rule(remark: Remark, unmet: Sequence[Compliance]) -> str | None:
    """The criterion that the remark repeats; None if there is none, or if it could be several."""
    if remark.category is not Category.COMPLIANCE:
        return None
    texts = (remark.title, remark.description, remark.rule)
    items = [entry.item for entry in unmet if any(_names_criterion(text, entry) for text in texts)]
    keys = {criterion_key(item) for item in items}
    # "Retries three times" must not match "Retries three times with a delay".
    rules = {criterion_rule(i) for i in items if not any(criterion_key(i) in key for key in keys - {criterion_key(i)})}
    return rules.pop() if len(rules) == 1 else None


def _names_criterion(text: str, entry: Compliance) -> bool:
    key, own = criterion_key(entry.item), criterion_key(text)
    if not own:
        return False
    if own == key or (entry.note.strip() and own == criterion_key(entry.note)):
        return True
    if len(key.split()) < MIN_WORDS:
        return own.endswith(f": {key}")
    start = own.find(key)
    # whole words: "Supports C" is not in "Supports C++"
    return start >= 0 and _is_border(own, start - 1) and _is_border(own, start + len(key))


def _is_border(text: str, at: int) -> bool:
    return not 0 <= at < len(text) or text[at] in " .,;:!?'\"()[]\u201c\u201d\u2018\u2019"


def _title(remark: Remark, entry: Compliance, *, with_place: bool) -> str:
    """The title, unless it only repeats the criterion or its note; with the place if several are joined."""
    where = f"{remark.file}{f':{remark.line}' if remark.line else ''}" if remark.file and with_place else ""
    title = remark.title.strip()
    criterion_keys = {criterion_key(text) for text in (entry.item, entry.note, f"Not met: {entry.item}")}
    if criterion_key(title) in criterion_keys:
        return where
    return f"{title} ({where})" if where else title


def _same_text(one: str, other: str) -> bool:
    return criterion_key(one) == criterion_key(other)
