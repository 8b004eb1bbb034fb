"""Remarks that repeat an unmet criterion of the same review: their words go into the criterion's finding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from burnish.core.criteria import criterion_key, criterion_rule, is_criterion
from burnish.core.finding import Category, Finding, FindingState, Remark
from burnish.core.ledger.reanchor import Tree, anchor
from burnish.core.review import Compliance, PanelResult, Review

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
    voices = [v for v in panel.voices if source == v.agent or source.startswith((f"{v.agent}/", f"{v.agent}#"))]
    reviews = [voice.reading for voice in voices if isinstance(voice.reading, Review)]
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
