"""Reads an external review: contract JSON, or Markdown with an unambiguous verdict."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from burnish.core.criteria import criterion_key
from burnish.core.finding import Category, Finding, Remark, Severity
from burnish.core.ledger.check_findings import is_check
from burnish.core.review import Compliance, Review, Ruling, RulingState, Unreadable, Verdict
from burnish.review import contract
from burnish.review import legacy_markers as strict
from burnish.review.artifact import load
from burnish.review.blocks import (
    MAX_REPLY_LENGTH,
    hidden_by,
    other_separator,
    own_lines,
    prose_lines,
    with_line_ends,
)
from burnish.review.contradiction import rejecting_text
from burnish.review.external.findings import unread_grave
from burnish.review.external.lines import (
    compliance,
    rulings,
    unknown_open,
    unknown_rulings,
    unread_alarm,
    without_findings,
    without_ids,
)
from burnish.review.legacy_markers import short_lines, verdict_of
from burnish.review.reading import Expect, clean, review_of
from burnish.review.refusal import contradicting_field, is_conditional
from burnish.review.strictjson import BadJson, loads
from burnish.review.unsigned import MAX_PROSE_LENGTH, findings_in

# verdicts in front matter
_FRONT = {
    "approved": Verdict.APPROVED,
    "changes_requested": Verdict.CHANGES_REQUESTED,
    "needs_discussion": Verdict.NEEDS_DISCUSSION,
    "rejected": Verdict.REJECTED,
}


# Fields that name the reviewed commit. `head` may be a branch: of all but `commit`, only a hash counts.
_COMMIT_FIELDS = frozenset(
    "commit|commit sha|commit hash|commit id|reviewed commit|head commit|head sha|head|sha|revision|revisionid".split(
        "|"
    )
)
_HASH = re.compile(r"[\W_]*([0-9a-f]{7,64})\b", re.IGNORECASE)


_BLOCK = re.compile(rf"^[ \t]*(?:`{{3,}}|~{{3,}})[ \t]*{contract.WORD}\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ExternalPage:
    """A Markdown file: front matter and body."""

    facts: dict[str, Any]
    body: str
    why: str = ""


def named_commits(text: str, kind: str) -> list[str]:
    """The commits that the file itself says it is a review of, in small letters; one that cannot be read as written."""
    if kind == "markdown":
        return _commits_in(page_of(text).facts)
    value = json.loads(text.lstrip("\ufeff \t\r\n")) if kind in ("contract", "sarif") else {}
    runs = value.get("runs") if kind == "sarif" else ()
    runs = runs if isinstance(runs, list) else ()
    origins = [run.get("versionControlProvenance") for run in runs if isinstance(run, dict)]
    entries = [entry for origin in origins if isinstance(origin, list) for entry in origin if isinstance(entry, dict)]
    return [commit for facts in (value, *entries) for commit in _commits_in(facts)]


def _commits_in(facts: dict[str, Any]) -> list[str]:
    found: list[str] = []
    for key, value in facts.items():
        field = re.sub(r"[\W_]+", " ", str(key)).strip().lower()
        if field in _COMMIT_FIELDS and value not in (None, "", "none"):
            match = _HASH.match(str(value))
            found += [match[1].lower()] if match else [str(value)[:80]] if field == "commit" else []
    return found


def page_of(text: str) -> ExternalPage:
    text = re.sub(r"\r\n?", "\n", text.removeprefix("\ufeff"))
    match = re.match(r"---\n(.*?)\n---[ \t]*(?:\n|\Z)", text, re.DOTALL)
    if not match:
        # a file that broke off: its first lines would count as its text
        opening = re.match(r"---[ \t]*\n[ \t]*[\w-]+[ \t]*:", text)
        return ExternalPage({}, text, "the front matter is not closed" if opening else "")
    try:
        return ExternalPage(load(match[1]), text[match.end() :])
    except ValueError as why:
        return ExternalPage({}, text, f"the front matter cannot be read: {why}")


def has_block(text: str) -> bool:
    """Whether the text has a verdict block: then the contract's rules apply, and no other line counts."""
    return _BLOCK.search(text) is not None


def read_contract(text: str, *, number: str, expect: Expect) -> Review | Unreadable:
    """Read a bare JSON object of the contract. The number may be missing, but not wrong."""
    try:
        value = loads(text.strip())
    except BadJson as why:
        return Unreadable(str(why), text)
    if isinstance(value, dict) and value.get("number") not in (None, "", number or None):
        return Unreadable("it has the number of another review", text)
    return review_of(value, text, expect)


def read_markdown(text: str, *, verdict: Verdict | None, number: str, expect: Expect) -> Review | Unreadable:
    """Read a Markdown review. `verdict`: the value of `--verdict`, if given."""
    page = page_of(text)
    if page.why or "\0" in text or len(text) > MAX_REPLY_LENGTH:
        return Unreadable(page.why or "it is not text, or it is too long", text)
    if has_block(page.body):
        review = contract.read(page.body, number, expect=expect)
        is_approval = isinstance(review, Review) and review.verdict is Verdict.APPROVED
        return _contradicted(page, text) or review if is_approval else review
    page = replace(page, body=with_line_ends(page.body))
    conclusion = conclude(page.body, _front(page.facts))
    if conclusion.unclear:
        return Unreadable(f"it has no single clear verdict: {conclusion.unclear}", text)
    if verdict and conclusion.verdict and verdict is not conclusion.verdict:
        return Unreadable(f"it says {conclusion.verdict}, and --verdict says {verdict}", text)
    final_verdict = verdict or conclusion.verdict
    if final_verdict is None:
        return Unreadable("it has no verdict", text)
    if final_verdict is Verdict.APPROVED and (separator := other_separator(text)):
        return Unreadable(f"it approves, and has a line end that not every program shows: U+{ord(separator):04X}", text)
    if final_verdict is Verdict.APPROVED and (contradiction := _contradicted(page, text)):
        return contradiction
    if final_verdict is Verdict.APPROVED and (line := rejecting_text(page.body)):
        return Unreadable(f"it approves, but this text does not: {clean(line)}", text)
    if final_verdict is Verdict.APPROVED and (markup := _hidden_verdict(page.body)):
        return Unreadable(f"its verdict is inside {markup}", text)
    page = replace(page, body=without_ids(page.body))
    if final_verdict is Verdict.APPROVED and (line := unread_alarm(page.body)):
        return Unreadable(f"this line looks like a finding and could not be read: {clean(line)}", text)
    if final_verdict is Verdict.APPROVED and (id := unknown_open(page.body, (*expect.prior_ids, *expect.closed_ids))):
        return Unreadable(f"it approves, and calls {id} open, which does not exist", text)
    review = _review(page, final_verdict, expect)
    if final_verdict is Verdict.APPROVED and (title := unread_grave(page.body, review.remarks)):
        return Unreadable(f"it approves, but this serious finding could not be read: {title}", text)
    return review


def verdict_origin(text: str) -> str:
    """Where the verdict of a readable Markdown review is, for people; `--verdict` if the file has none."""
    page = page_of(text)
    first = len(re.findall(r"\r\n?|\n", text)) - page.body.count("\n") + 1
    if found := _BLOCK.search(page.body):
        return f"the block in line {first + page.body.count(chr(10), 0, found.end())}"
    line = next((line for line in verdict_lines(with_line_ends(page.body)) if line.certain and line.verdict), None)
    if line:
        return f"line {first + line.number}"
    return "the front matter" if _front(page.facts) else "--verdict"


def _contradicted(page: ExternalPage, text: str) -> Unreadable | None:
    """Why the front matter refuses what the file approves; None if it agrees."""
    front = _front(page.facts)
    other = f"verdict: {front}" if front not in (None, Verdict.APPROVED) else ""
    field = other or contradicting_field(page.facts, frozenset())
    return Unreadable(f"it approves, but its front matter does not: {clean(field)}", text) if field else None


def _hidden_verdict(body: str) -> str:
    """The markup around a verdict line that a renderer may not show; "" if all of them are shown."""
    return next((markup for line in verdict_lines(body) if (markup := hidden_by(body, line.number))), "")


def _front(facts: dict[str, Any]) -> Verdict | None:
    word = facts.get("verdict")
    found = _FRONT.get(word.lower()) if isinstance(word, str) else None
    theirs = "wp_id" in facts or "cycle_number" in facts
    return Verdict.CHANGES_REQUESTED if theirs and found is Verdict.REJECTED else found


def _review(page: ExternalPage, verdict: Verdict, expect: Expect) -> Review:
    remarks = findings_in(page.body, approving=verdict is Verdict.APPROVED)
    has_list = bool(remarks)
    ids = (*expect.prior_ids, *expect.closed_ids)
    prose = clean(without_verdict(page.body)).strip()
    rulings_found, compliance_found = rulings(page.body, ids), compliance(page.body, expect.criteria)
    if verdict is Verdict.CHANGES_REQUESTED and not remarks and prose and not any(_is_open(r) for r in rulings_found):
        remarks = (_prose_remark(prose, page.facts),)
    return Review(
        verdict=verdict,
        summary=_summary(page.body, remarks) if has_list else prose[:2000],
        rulings=rulings_found,
        compliance=compliance_found,
        remarks=tuple(replace(remark, source=expect.source) for remark in remarks),
        rejection_reason=prose[:2000] if verdict is Verdict.REJECTED else "",
        notes=tuple(f"it rules on {id}, which does not exist" for id in unknown_rulings(page.body, ids)),
    )


def _summary(body: str, remarks: tuple[Remark, ...]) -> str:
    """The text beside the list of findings; without any, the number of findings and the first title."""
    rest = without_findings(without_verdict(body))
    summary = strict.summary_in(prose_lines(rest))
    return (
        summary
        if re.search(r"\w", summary)
        else f"{len(remarks)} finding{'s' * (len(remarks) != 1)}: {remarks[0].title}"
    )


def _is_open(ruling: Ruling) -> bool:
    return ruling.state is RulingState.OPEN


def _prose_remark(prose: str, facts: dict[str, Any]) -> Remark:
    """Prose without a list of findings as one finding."""
    lines = [line.strip("#*- \t") for line in prose.split("\n")]
    title = next((line for line in lines if line), "Changes were requested")[:120]
    whole = (
        prose
        if len(prose) <= MAX_PROSE_LENGTH
        else f"{prose[:MAX_PROSE_LENGTH]}\n[cut here; the artifact has the rest]"
    )
    file, line, end = _affected(facts)
    return Remark(Category.CODE, Severity.ERROR, title, whole, file=file, line=line, end_line=end)


def _affected(facts: dict[str, Any]) -> tuple[str | None, int | None, int | None]:
    """The first place in `affected_files` of a review-cycle file."""
    entries = facts.get("affected_files")
    first = entries[0] if isinstance(entries, list) and entries and isinstance(entries[0], dict) else {}
    path = first.get("path")
    if not isinstance(path, str):
        return None, None, None
    span = re.fullmatch(r"(\d{1,7})(?:-(\d{1,7}))?", str(first.get("line_range") or first.get("start") or ""))
    end = first.get("end")
    last = int(span[2]) if span and span[2] else end if isinstance(end, int) else None
    return path, int(span[1]) if span else None, last


def is_without_reason(review: Review) -> bool:
    """Whether the review does not approve and gives no reason."""
    if review.verdict is Verdict.APPROVED:
        return False
    words = review.summary.strip() or review.rejection_reason.strip()
    has_reason = any(_is_open(r) for r in review.rulings) or any(c.met is False for c in review.compliance)
    return not (words or review.remarks or has_reason)


def complete_approval(
    review: Review, *, findings: Sequence[Finding], criteria: Sequence[str], by: str, is_new_tree: bool
) -> Review:
    """A person's approval covers everything: criteria it does not mention are met, earlier findings are resolved.

    If this tree was rejected before (`is_new_tree` is False), each finding needs its own ruling. Findings of checks
    and guards are never resolved by words.
    """
    if review.verdict is not Verdict.APPROVED:
        return review
    note = f"approved by {by}"
    judged_keys = {criterion_key(entry.item) for entry in review.compliance}
    implied_compliance = tuple(
        Compliance(item, True, note) for item in criteria if criterion_key(item) not in judged_keys
    )
    ruled_ids = {ruling.id for ruling in review.rulings}
    implied_rulings = tuple(
        Ruling(f.id, RulingState.RESOLVED, note)
        for f in findings
        if is_new_tree
        and f.alive
        and f.id not in ruled_ids
        and not is_check(f)
        and f.remark.category is not Category.GUARD
    )
    return replace(
        review, compliance=(*review.compliance, *implied_compliance), rulings=(*review.rulings, *implied_rulings)
    )


# -- verdicts -------------------------------------------------------------------------------------
# Reads the verdict of a Markdown review, and detects contradicting verdicts.

_PHRASES = {
    Verdict.APPROVED: "approved|approve|accepted|accept|lgtm|passed|pass",
    Verdict.CHANGES_REQUESTED: (
        "changes requested|changes required|changes needed|change requested|request changes|requests changes"
        "|needs revision|needs changes|needs work|needs fixes|needs fix|revise|do not merge|blocked|block"
        "|failed|fail"
    ),
    Verdict.NEEDS_DISCUSSION: "needs discussion|discuss",
    Verdict.REJECTED: "rejected|reject",
}
_MEANINGS = {phrase: verdict for verdict, phrases in _PHRASES.items() for phrase in phrases.split("|")}
_WORD = "|".join(sorted((phrase.replace(" ", "[ _-]+") for phrase in _MEANINGS), key=len, reverse=True))
_KEY = (
    r"(?:[-*+][ \t]+(?=\*\*))?[\W_]{0,9}(?:(?:overall|final|review|reviewer|review cycle)[ \t]+)?"
    r"(?P<key>verdict|status)[\W_]{0,3}"
)
# `Verdict (cycle 2): …` counts, too; `Verdict (example): …` and `Verdict (once zero is handled): …` are unclear
_ROUND = r"(?:\((?P<round>[^()\n]{0,40})\)[\W_]{0,3})?"
_ROUND_WORDS = re.compile(
    r"(?:\W|\d|\b(?:final|overall|full|first|second|third|the|of|no|on|v|r|re|review|reviewer|reviewed|cycle|round|iteration"
    r"|pass|attempt|revision|version|commit|[0-9a-f]{7,40})\b)*",
    re.IGNORECASE,
)
_LINE = re.compile(rf"{_KEY}{_ROUND}[:–—-][\W_]{{0,12}}(?P<word>{_WORD})(?![\w])(?P<rest>.*)", re.IGNORECASE)
_SPEAKS = re.compile(rf"{_KEY}{_ROUND}[:–—-]", re.IGNORECASE)
_BARE = re.compile(rf"[\W_]{{0,12}}(?P<word>{_WORD})(?![\w])(?P<rest>.*)", re.IGNORECASE)
_HEADING = re.compile(
    r"#{1,4}[ \t]+(?:\d+[.)]?[ \t]+)?(?:(?:overall|final|review)[ \t]+)?verdict[ \t#:*]*", re.IGNORECASE
)
# what may follow an unconditional verdict: nothing, or a new clause
_CLAUSE = re.compile(r"[\s*_`✅❌⛔🔴🟢🟡!]*(?:$|[.,;:!–—(]|-{1,2}[ \t]|[*_`]{1,4}[ \t])")
_EMPTY_BOX = re.compile(r"\[[ \t]*\]")
_CHOICE = re.compile(r"→|->|\||[ \t]/[ \t]|\bor\b[ \t]+(?:approved?|reject|changes|request)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class VerdictLine:
    """`certain`: without a condition and without other words in the same clause."""

    number: int
    text: str
    verdict: Verdict | None
    certain: bool = False


@dataclass(frozen=True, slots=True)
class Conclusion:
    verdict: Verdict | None = None
    # why there is no clear verdict
    unclear: str = ""


def verdict_lines(body: str) -> tuple[VerdictLine, ...]:
    """Lines that begin with `Verdict:` or `Status:`, and the first line below such a heading."""
    own, prose = short_lines(own_lines(body)), short_lines(prose_lines(body))
    found: list[VerdictLine] = []
    under = False
    for number, (mine, line) in enumerate(zip(own, prose, strict=True)):
        # a list item counts if it is about the verdict alone
        text = mine or (line if line.startswith(("- **", "* **")) and _SPEAKS.match(line) else "")
        if strict_verdict := verdict_of(mine):
            found.append(VerdictLine(number, text, strict_verdict, certain=True))
        elif match := _LINE.match(text):
            found.append(_read(number, text, match))
        elif _SPEAKS.match(text) and "status" not in (_SPEAKS.match(text) or {"key": ""})["key"].lower():
            found.append(VerdictLine(number, text, None))
        elif under and text and (match := _BARE.match(text)) and _is_emphatic(text, match):
            found.append(_read(number, text, match))
        under = bool(_HEADING.fullmatch(line)) or (under and not line)
    return tuple(found)


def _read(number: int, text: str, match: re.Match[str]) -> VerdictLine:
    word = re.sub(r"[ _-]+", " ", match["word"].lower())
    verdict = _MEANINGS[word]
    # automaker's `Status: REJECTED` sends the work back
    if verdict is Verdict.REJECTED and (match.groupdict().get("key") or "").lower() == "status":
        verdict = Verdict.CHANGES_REQUESTED
    rest = match["rest"]
    certain = bool(_CLAUSE.match(rest)) and not _CHOICE.search(rest)
    certain = certain and bool(_ROUND_WORDS.fullmatch(match.groupdict().get("round") or ""))
    if verdict is Verdict.APPROVED:
        certain = certain and not is_conditional(rest) and not _EMPTY_BOX.search(text[: match.start("word")])
    return VerdictLine(number, text, verdict, certain)


def _is_emphatic(text: str, match: re.Match[str]) -> bool:
    """Whether the word is in capitals, bold or alone: below the heading a sentence may begin with `pass` or `block`."""
    word = match["word"]
    return word.isupper() or f"**{word}" in text or not re.search(r"\w", match["rest"])


def conclude(body: str, front: Verdict | None) -> Conclusion:
    """The verdict, or why there is none. Front matter counts if no line of the body contradicts it."""
    lines = verdict_lines(body)
    certain = {line.verdict for line in lines if line.certain and line.verdict}
    leaning = {line.verdict for line in lines if line.verdict}
    unclear = next((line.text for line in lines if not line.certain), "")
    unknown = next((line.text for line in lines if line.verdict is None), "")
    every = leaning | ({front} if front else set())
    if {_sends_back(one) for one in every} == {True, False}:
        return Conclusion(unclear=", ".join(sorted(every)))
    if unknown and (front is None or front is Verdict.APPROVED):
        return Conclusion(unclear=unknown)
    if unclear and not (front and _agrees(front, lines)):
        return Conclusion(unclear=unclear)
    verdicts = certain | ({front} if front else set())
    if len(verdicts) > 1 and Verdict.CHANGES_REQUESTED in verdicts and Verdict.NEEDS_DISCUSSION not in verdicts:
        return Conclusion(Verdict.CHANGES_REQUESTED)
    if len(verdicts) > 1:
        return Conclusion(unclear=", ".join(sorted(verdicts)))
    return Conclusion(next(iter(verdicts), None))


def _agrees(front: Verdict, lines: Sequence[VerdictLine]) -> bool:
    """Whether unclear lines agree with the front matter: an approval must be unconditional."""
    doubtful = [line for line in lines if not line.certain and line.verdict is not None]
    if front is not Verdict.APPROVED:
        return True
    return not any(_CHOICE.search(line.text) or is_conditional(line.text) for line in doubtful)


def _sends_back(verdict: Verdict) -> bool:
    return verdict is not Verdict.APPROVED


def without_verdict(body: str) -> str:
    """The body without lines that contain only the verdict."""
    alone = {line.number for line in verdict_lines(body) if line.certain and _says_nothing_else(line.text)}
    lines = enumerate(body.split("\n"))
    return "\n".join(line for n, line in lines if n not in alone and not _HEADING.fullmatch(line.strip()))


def _says_nothing_else(text: str) -> bool:
    match = _LINE.match(text) or _BARE.match(text)
    return match is None or not re.search(r"\w", match["rest"])
