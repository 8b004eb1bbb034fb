"""Finds text around an approving verdict block, or in an approving Markdown review, that rejects the change."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from burnish.core.review import Verdict
from burnish.review.blocks import (
    code_after,
    indented_lines,
    line_pieces,
    lines_after,
    prose_around,
    shown_lines,
    unclosed_fence,
    with_cursor_moves,
)
from burnish.review.closing import text_beyond_closing
from burnish.review.legacy_markers import verdict_of
from burnish.review.refusal import (
    LABEL,
    REJECTS,
    is_rejecting_line,
    plain_line,
    plain_text,
    refuses,
    table_verdicts,
    takes_back,
)
from burnish.sanitize import without_escapes

_VERDICT_FIELD = re.compile(r"""^\W*verdict["']?[ ]*[:=][ ]*["']?(?:reject|changes|needs)\w*""", re.I | re.M)
# a line that starts a new sentence
_NEW_SENTENCE = re.compile(r"\s*(?:$|[-*+|#]|\d+[.)])")


def contradicting_text(reply: str, word: str) -> str:
    """The text around an approving block that rejects; "" if there is none. Terminal escapes are ignored."""
    reply = without_escapes(with_cursor_moves(reply))
    for content in code_after(reply, word):
        if other := other_object(content):
            return other
        if found := _VERDICT_FIELD.search(content):
            return found[0].strip()[:80]
    if line := next(filter(is_rejecting_line, indented_lines(reply)), ""):
        return line.strip()[:80]
    before, after = prose_around(reply, word)
    return _rejection(before, refuses) or _rejection_after(after) or text_beyond_closing(lines_after(reply, word))


def rejecting_words(text: str, *, is_after: bool) -> str:
    """The words that reject in text before or after an approval; "" if there are none."""
    lines = shown_lines(without_escapes(with_cursor_moves(text)))
    return other_object(text) or (_rejection_after(lines) if is_after else _rejection(lines, refuses))


def _rejection_after(lines: list[str]) -> str:
    found = next((other for paragraph in paragraphs(lines) if (other := other_object(paragraph))), "")
    return found or _rejection(lines, takes_back)


def _rejection(lines: list[str], is_rejection: Callable[[str], bool]) -> str:
    lines = [*lines, "", *line_pieces(lines), "", *table_verdicts(lines)]
    for line in lines:
        if verdict_of(line) not in (None, Verdict.APPROVED) or is_rejecting_line(line):
            return line.strip()[:80]
    found = (paragraph for paragraph in paragraphs(lines) if is_rejection(plain_line(paragraph)))
    return " ".join(next(found, "").split())[:80]


def other_object(content: str) -> str:
    """The verdict of a JSON object in another code block, if it does not approve."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(value, dict) or "verdict" not in value:
        return ""
    approves = value["verdict"] == Verdict.APPROVED and not value.get("blocking")
    return "" if approves else f"verdict: {json.dumps(value['verdict'], ensure_ascii=False)[:60]}"


def paragraphs(lines: list[str]) -> list[str]:
    found: list[list[str]] = []
    for line in lines:
        if not found or _NEW_SENTENCE.match(line):
            found.append([])
        found[-1].append(line[:2000])
    return ["\n".join(paragraph) for paragraph in found]


# -- contradiction --------------------------------------------------------------------------------
# Finds text of an approving Markdown review that rejects the change.

_TAKEN_BACK = re.compile(
    r"\b(?:I )?(?:have )?changed my mind\b|\bon second thoughts?\b[^.]{0,80}\b(?:reject|request|not|changes)"
    r"|\b(?:verdict|approval) (?:above|below)? ?is (?:wrong|void|a mistake|invalid|withdrawn|revoked)\b"
    r"|\bI (?:hereby )?(?:retract|withdraw|revoke)\b|\btake (?:it|my|the|this|that) (?:approval )?back\b"
    r"|(?:^|[.!?:] )(?:please )?reject th(?:is|e) (?:change|diff|patch|pull request|PR|MR)"
    r"(?=\W*$|[.!,;:]| (?:because|until))",
    re.IGNORECASE,
)
# text that refuses the change without a word of the lists for replies
_REFUSED = re.compile(
    r"""
    \bapproval[ ](?:is[ ]|was[ ]|has[ ]been[ ]|hereby[ ]){0,2}
      (?:withdrawn|revoked|rescinded|retracted|conditional|denied|refused|withheld)\b
    | \bI(?:[ ]am|'m|[ ]must|[ ]have[ ]to)[ ](?:block|veto)(?:ing)?[ ]th(?:is|e)\b
    | \bI[ ](?:block|veto|vote[ ]against)(?:[ ]th|\W*$)
    | \bth(?:is|e)[ ](?:change|diff|patch|pull[ ]request|PR|MR|branch)[ ](?:is|remains|stays)[ ](?:still[ ])?
      (?:blocked|vetoed)\b
    | (?:^|[.!?:][ ])(?:
        (?:I[ ]will[ ])?approved?[ ](?:this[ ])?(?:only[ ])?(?:once|after|when|as[ ]soon[ ]as|if|pending|subject[ ]to)\b
        | not[ ](?:yet[ ])?lgtm\b | NAC?K(?:ed)?(?=\W*$)
        | th(?:is|e[ ](?:change|patch|PR))[ ](?:(?:must|should|may)[ ]not|cannot|can't)[ ]
          (?:ship|merge|land|go[ ]in)\b
        | (?:must[- ]fix|needs?[ ](?:more[ ])?(?:work|changes|fixes))[ ]before[ ](?:it|merg|ship|land|releas|approv)
        | needs[ ](?:another[ ]round|more[ ]work|rework)(?=\W*$)
        | (?:please[ ])?hold[ ](?:off[ ](?:on[ ])?)?(?:this|the)[ ]merg(?:e|ing)\b
        | [1-9]\d{0,2}[ ](?:open[ ]|unresolved[ ])?(?:blocking|critical)[ ](?:issue|finding|problem|bug)s?(?=\W*$)
        | (?:the[ ])?acceptance[ ]criteria[ ](?:are[ ]|were[ ])?not[ ](?:all[ ])?(?:met|fulfilled)\b
      )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_HEADING = re.compile(r"#{1,6}[ \t]+(?P<text>.+?)[ \t#]*")
_UNDERLINE = re.compile(r"(?:={2,}|-{2,})[ \t]*")
_DECIDING_HEADING = re.compile(rf"(?:\d+[.)]?[ ]+)?(?:\w+[ ]+){{0,2}}{LABEL}[\W_]*", re.IGNORECASE)
_GRAVE = r"(?:critical|blockers?|blocking|must[- ]fix|severe|fatal)"
_GRAVE_HEADING = re.compile(
    rf"[\W_\d]*{_GRAVE}(?:[ ](?:issues?|findings?|problems?|bugs?|defects?|errors?))?(?:[ ]before[ ]merg\w*)?[\W_]*",
    re.IGNORECASE,
)
# `Blocker: …` at the beginning of a line
_GRAVE_LINE = re.compile(
    rf"(?:[-*+][ \t]+|\d{{1,3}}[.)][ \t]+)?{_GRAVE}(?:[ ](?:issue|finding|problem|bug|defect|error)s?)?:"
    r"[ \t]*(?P<text>.+)",
    re.IGNORECASE,
)
# An absence must be the whole statement ("none", "No blocking issues were found."): "no input validation", "zero is not
# handled" and "the fixed buffer overflows" name a problem. Possessive: a line of dots would take hours.
_NONE = re.compile(
    r"""
    [\W_]*+(?:\d{1,3}[.)][ ])?(?:
      (?:(?:there|is|are|was|were|we|i|found|see|saw|have|has|currently)[ ]){0,3}
      (?:none|nothing|no|n/a|nil|zero|0)(?![-\w])
      (?:[ ](?:of|these|this|that|at|the|time|all|known|new|open|other|more|further|additional|remaining|unresolved|such
        |outstanding|critical|severe|fatal|major|blocking|must[- ]fix|issues?|findings?|problems?|bugs?|defects?|errors?
        |blockers?|concerns?|items?|objections?|here|were|was|are|is|been|have|has|found|seen|identified|noted|left|remains?
        |anymore|so|far|in|cycle|change|to|report|fix|blocks?|merge|\d+))*
    | (?:(?!not\b|never\b|\w+n't\b|un\w+)[\w./]++\W++){0,5}?(?:resolved|fixed|addressed|clean)(?![-\w])
      (?:[ ](?:in|by|since|now|with|already|before)\b.*)?
    )[\W_]*(?:$|(?<=[.;(\u2013\u2014]).*|(?<=[.;(\u2013\u2014-][ ]).*)
    """,
    re.IGNORECASE | re.VERBOSE,
)


def rejecting_text(body: str) -> str:
    """The line or paragraph that rejects the change; "" if there is none. Quotes and fenced code are ignored.

    A verdict with an indent is code for Markdown and a verdict for the person who wrote it.
    """
    body = without_escapes(with_cursor_moves(body))
    for line in indented_lines(body):
        if line.strip() and (is_rejecting_line(line) or refuses(plain_line(line.strip()))):
            return line.strip()[:80]
    if fence := unclosed_fence(body):
        return f"{fence[:40]} (the code block is not closed)"
    lines = shown_lines(body)
    lines += ["", *line_pieces(lines)]
    # by lines as well: the one before may be the verdict, which ends without a full stop
    for paragraph in (*paragraphs(lines), *lines):
        text = plain_line(paragraph)
        if refuses(text) or _TAKEN_BACK.search(text) or _REFUSED.search(text):
            return " ".join(paragraph.split())[:80]
    deciding = grave = False
    for number, raw in enumerate(lines):
        line = plain_text(raw)
        if not line or _UNDERLINE.fullmatch(line):
            continue
        heading = _heading(lines, number)
        if is_rejecting_line(raw) or (deciding and _begins_with_rejection(line)):
            return raw.strip()[:80]
        found = _GRAVE_LINE.fullmatch(line)
        if (grave and not heading and not _NONE.match(line)) or (found and not _NONE.match(found["text"])):
            return raw.strip()[:80]
        deciding = bool(heading and _DECIDING_HEADING.fullmatch(heading))
        grave = bool(heading and _GRAVE_HEADING.fullmatch(heading))
    return ""


def _begins_with_rejection(line: str) -> bool:
    match = re.match(rf"[\W_]*{REJECTS}", line, re.IGNORECASE)
    return bool(match and re.match(r"[\W_]*$|[ ]?[.,;:!()\u2013\u2014-]", line[match.end() :]))


def _heading(lines: list[str], number: int) -> str:
    text = plain_text(lines[number])
    if match := _HEADING.fullmatch(text):
        return match["text"]
    following = lines[number + 1].strip() if number + 1 < len(lines) else ""
    return text if _UNDERLINE.fullmatch(following) else ""
