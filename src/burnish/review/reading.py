"""Converts the JSON of a review to a `Review`: strict for fields that decide, tolerant for others."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from burnish.core.criteria import asked_criterion, criterion_key
from burnish.core.finding import Category, Remark, Severity, outside_rule
from burnish.core.review import Compliance, Review, Ruling, RulingState, Unreadable, Verdict
from burnish.core.text_encoding import skeleton
from burnish.review.quoting import unquoted
from burnish.review.refusal import contradicting_field, denies, denying_field
from burnish.sanitize import without_escapes

MAX_ITEMS = 2000

KNOWN_KEYS = frozenset(
    {"verdict", "summary", "inspected", "prior", "compliance", "findings", "blocking", "rejection_reason"} | {"number"}
)
_KNOWN_RULING = frozenset({"id", "state", "note"})
_KNOWN_JUDGEMENT = frozenset({"item", "met", "note"})
_KNOWN_FINDING = frozenset(
    {"category", "severity", "title", "description", "suggestion", "file", "line", "end_line", "quote"}
    | {"rule", "confidence"}
)
# values that models write where a schema requires the key
_NO_REASON = ("", "none", "n a", "na", "null", "not applicable")
_VERDICTS = {word.value: word for word in Verdict}
_RULINGS = {word.value: word for word in RulingState}
_SCALES = {
    "error": "error critical high blocker blocking major severe fatal p0 p1 must must-fix bug",
    "warning": "warning warn medium moderate minor p2 should",
    "info": "info information informational low trivial nit nitpick note suggestion p3 p4 could style",
}
_SEVERITIES = {word: Severity(name) for name, words in _SCALES.items() for word in words.split()}
# Markdown and punctuation to strip around a word
_AROUND_WORDS = " \t\r\n*_`'\"[](){}<>:;,.!"
_CATEGORIES = {word.value: word for word in Category} | {
    "quality": Category.CODE,
    "codequality": Category.CODE,
    "bug": Category.CODE,
    "correctness": Category.CODE,
    "tests": Category.TEST,
    "testing": Category.TEST,
    "testcoverage": Category.TEST,
    "design": Category.ARCHITECTURE,
    "perf": Category.PERFORMANCE,
    "requirements": Category.COMPLIANCE,
}


@dataclass(frozen=True, slots=True)
class Expect:
    """What the review must cover, to detect missing parts."""

    cycle: int = 1
    # ids of earlier findings that must be ruled on
    prior_ids: tuple[str, ...] = ()
    # acceptance criteria and checklist items
    criteria: tuple[str, ...] = ()
    # the reviewer: becomes `Remark.source`
    source: str = ""
    # closed earlier findings, which a ruling may reopen
    closed_ids: tuple[str, ...] = ()
    # whether `prior` and `compliance` must be present
    required: bool = True


class _Wrong(Exception):
    """The object breaks the contract; the message says how."""


def review_of(value: Any, reply: str, expect: Expect) -> Review | Unreadable:
    """Convert a parsed verdict object. Never raises."""
    notes: list[str] = []
    try:
        return _review(value, expect, notes)
    except _Wrong as why:
        return Unreadable(str(why), reply)


def _review(value: Any, expect: Expect, notes: list[str]) -> Review:
    top = _mapping(value, "the block")
    _note_extra(top, KNOWN_KEYS, "", notes)
    verdict = _verdict(_word(top, "verdict"), notes)
    # only an approval must cover everything; what a rejection leaves out stays open
    if verdict != Verdict.APPROVED:
        expect = replace(expect, required=False)
    blocking = top.get("blocking")
    if blocking is not None and not isinstance(blocking, bool):
        raise _Wrong("`blocking` is neither true nor false")
    reason = _optional(top, "rejection_reason", notes)
    if verdict == Verdict.APPROVED and plain(reason) not in _NO_REASON:
        notes.append("approved with a reason for rejection: counts as changes requested")
        verdict = Verdict.CHANGES_REQUESTED
    review = Review(
        verdict=verdict,
        summary=_text(top, "summary"),
        inspected=tuple(_inspected(top)),
        rulings=_rulings(top, expect, notes),
        compliance=_compliance(top, expect, notes),
        remarks=tuple(remark(entry, expect.source, notes) for entry in _list(top, "findings")),
        blocking=bool(blocking),
        rejection_reason=reason,
        notes=tuple(dict.fromkeys(notes)),
    )
    # last, because it needs fields of valid types
    if verdict == Verdict.APPROVED and (field := contradicting_field(top, KNOWN_KEYS)):
        raise _Wrong(f"the block approves, but its field {clean(field)!r} does not")
    return review


def _verdict(word: str, notes: list[str]) -> Verdict:
    if word in _VERDICTS:
        return _VERDICTS[word]
    plain = re.sub(r"[\s-]+", "_", clean(word).strip().lower())
    # another spelling may ask for changes, but never approve
    if plain in _VERDICTS and plain != Verdict.APPROVED:
        notes.append(f"verdict written as {word[:40]!r}")
        return _VERDICTS[plain]
    raise _Wrong(f"unknown verdict {word[:40]!r}")


def _inspected(top: dict[str, Any]) -> list[str]:
    paths = _list(top, "inspected", most=100_000)
    if not all(isinstance(path, str) for path in paths):
        raise _Wrong("`inspected` must hold paths only")
    return paths


def _rulings(top: dict[str, Any], expect: Expect, notes: list[str]) -> tuple[Ruling, ...]:
    if top.get("prior") is None:
        if expect.prior_ids and expect.required:
            raise _Wrong("`prior` is missing, and there are earlier findings to rule on")
        return ()
    found: dict[str, Ruling] = {}
    for entry in _list(top, "prior"):
        one = _mapping(entry, "an entry of `prior`")
        _note_extra(one, _KNOWN_RULING, "prior: ", notes)
        id_, word = _text(one, "id").strip(), _word(one, "state").strip(" \t\r\n").lower()
        if id_ not in expect.prior_ids and id_ not in expect.closed_ids:
            # perhaps a finding of another task; `required`: the review approves
            if expect.required and _RULINGS.get(word, RulingState.OPEN) is RulingState.OPEN:
                raise _Wrong(f"it approves, and calls the unknown finding {id_[:20]!r} open")
            notes.append(f"prior names an unknown finding {id_[:20]!r}")
            continue
        if word not in _RULINGS:
            notes.append(f"{id_}: unknown state {clean(word)[:20]!r} counts as open")
        ruling = Ruling(id_, _RULINGS.get(word, RulingState.OPEN), _optional(one, "note", notes))
        if ruling.state != RulingState.OPEN and denies(ruling.note, withdrawn=ruling.state is RulingState.INVALID):
            notes.append(f"{id_}: {word} with the note {ruling.note[:40]!r} counts as open")
            ruling = Ruling(id_, RulingState.OPEN, ruling.note)
        is_withdrawn = ruling.state is RulingState.INVALID
        if ruling.state != RulingState.OPEN and (field := denying_field(one, _KNOWN_RULING, withdrawn=is_withdrawn)):
            notes.append(f"{id_}: {word} with the field {clean(field)!r} counts as open")
            ruling = Ruling(id_, RulingState.OPEN, ruling.note or clean(field))
        if id_ in found and found[id_].state != ruling.state:
            notes.append(f"{id_} was ruled on twice, differently: it counts as open")
            ruling = Ruling(id_, RulingState.OPEN, ruling.note)
        found[id_] = ruling
    return tuple(found.values())


def _compliance(top: dict[str, Any], expect: Expect, notes: list[str]) -> tuple[Compliance, ...]:
    if top.get("compliance") is None:
        if expect.criteria and expect.required:
            raise _Wrong("`compliance` is missing, and there are criteria to judge")
        return tuple(Compliance(item, None) for item in expect.criteria)
    found: dict[str, Compliance] = {}
    for entry in _list(top, "compliance"):
        one = _mapping(entry, "an entry of `compliance`")
        _note_extra(one, _KNOWN_JUDGEMENT, "compliance: ", notes)
        is_met = one.get("met")
        if is_met is not None and not isinstance(is_met, bool):
            raise _Wrong("`met` is neither true nor false")
        item = asked_criterion(_text(one, "item"), expect.criteria)
        key = criterion_key(item)
        if key in found and found[key].met is False:
            continue
        note = _optional(one, "note", notes)
        if is_met and denies(note):
            notes.append(f"met with the note {note[:40]!r} counts as not met")
            is_met = False
        if is_met and (field := denying_field(one, _KNOWN_JUDGEMENT)):
            notes.append(f"met with the field {clean(field)!r} counts as not met")
            is_met, note = False, note or clean(field)
        # the note distinguishes a reply without a judgement from a criterion that was left out
        found[key] = Compliance(item, is_met, note if is_met is not None else note or "not judged")
    for item in expect.criteria:
        if (key := criterion_key(item)) not in found:
            notes.append(f"not judged: {item[:80]}")
            found[key] = Compliance(item, None, "")
    return tuple(found.values())


def remark(entry: Any, source: str, notes: list[str]) -> Remark:
    """One finding of a review."""
    one = _mapping(entry, "a finding")
    _note_extra(one, _KNOWN_FINDING, "finding: ", notes)
    title, description = _text(one, "title").strip(), _text(one, "description").strip()
    title = title or description.split("\n")[0][:120]
    if not title:
        raise _Wrong("a finding has neither title nor description")
    line, end_line = _lines(one, notes)
    return Remark(
        category=category(_text(one, "category"), notes),
        severity=severity(_word(one, "severity"), notes),
        title=" ".join(title.split()),
        description=description,
        suggestion=_optional(one, "suggestion", notes),
        file=unquoted(_optional(one, "file", notes).strip()) or None,
        line=line,
        end_line=end_line,
        quote=_optional(one, "quote", notes),
        rule=outside_rule(_optional(one, "rule", notes)),
        confidence=_confidence(one, notes),
        source=source,
    )


def severity(word: str, notes: list[str]) -> Severity:
    """The severity of a word on any known scale; an unknown word is an error."""
    plain_word = word.strip(_AROUND_WORDS).lower()
    level = _SEVERITIES.get(plain_word, Severity.ERROR)
    if plain_word != level:
        notes.append(f"severity {clean(word)[:40]!r} counts as {level}")
    return level


def category(word: str, notes: list[str]) -> Category:
    plain_word = re.sub(r"[^a-z]", "", word.lower())
    result = _CATEGORIES.get(plain_word, Category.CODE)
    if plain_word != result:
        notes.append(f"category {word[:40]!r} counts as {result}")
    return result


def _lines(one: dict[str, Any], notes: list[str]) -> tuple[int | None, int | None]:
    line = one.get("line")
    if isinstance(line, str) and (span := re.fullmatch(r"\s*L?(\d{1,7})\s*[-–:]\s*L?(\d{1,7})\s*", line)):
        one = {**one, "line": int(span[1]), "end_line": int(span[2])}
    start, end = (_line(one, key, notes) for key in ("line", "end_line"))
    if start is None or (end is not None and end < start):
        end = None
    return start, end


def _line(one: dict[str, Any], key: str, notes: list[str]) -> int | None:
    value = one.get(key)
    if isinstance(value, str) and re.fullmatch(r"\s*L?[0-9]{1,7}\s*", value):
        value = int(value.strip().lstrip("L"))
    if isinstance(value, float) and value.is_integer() and abs(value) < 10**7:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**7:
        return value
    if value not in (None, 0, ""):
        notes.append(f"finding: `{key}` is not a line number")
    return None


def _confidence(one: dict[str, Any], notes: list[str]) -> float | None:
    value = one.get("confidence")
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    notes.append("finding: `confidence` is not between 0 and 1")
    return None


def plain(text: str) -> str:
    """Normalised text for comparison: case-folded words without punctuation."""
    return re.sub(r"[\W_]+", " ", text.casefold()).strip()


def clean(text: str) -> str:
    """Text that can be stored and shown: without lone surrogates and control characters, except newline and tab."""
    whole = without_escapes(text.encode("utf-8", "replace").decode("utf-8"))
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", "", re.sub(r"\r\n?", "\n", whole))


def _note_extra(one: dict[str, Any], known_keys: frozenset[str], where: str, notes: list[str]) -> None:
    extra = [clean(key)[:40] for key in one if key not in known_keys][:10]
    names = {_letters(name) for name in known_keys}
    if twin := next((key for key in one if key not in known_keys and _letters(key) in names), None):
        raise _Wrong(f"{where}the key {clean(twin)[:40]!r} is another spelling of a key of the contract")
    if extra:
        notes.append(f"{where}unknown keys ignored: {', '.join(extra)}")


def _letters(key: str) -> str:
    return re.sub(r"[\W_]", "", skeleton(key))


def _mapping(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _Wrong(f"{what} is not a JSON object")
    return value


def _list(one: dict[str, Any], key: str, *, most: int = MAX_ITEMS) -> list[Any]:
    value = one.get(key)
    if not isinstance(value, list):
        raise _Wrong(f"`{key}` is missing or not a list")
    if len(value) > most:
        raise _Wrong(f"`{key}` has more than {most:,} entries")
    return value


def _text(one: dict[str, Any], key: str) -> str:
    value = one.get(key)
    if not isinstance(value, str):
        raise _Wrong(f"`{key}` is missing or not text")
    return clean(value)


def _word(one: dict[str, Any], key: str) -> str:
    """A deciding word, not cleaned: `appr\\x1b[0moved` must not become `approved`."""
    value = one.get(key)
    if not isinstance(value, str):
        raise _Wrong(f"`{key}` is missing or not text")
    return value


def _optional(one: dict[str, Any], key: str, notes: list[str]) -> str:
    value = one.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        notes.append(f"`{key}` is not text and was ignored")
        return ""
    return clean(value)
