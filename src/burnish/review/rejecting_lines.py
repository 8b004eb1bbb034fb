"""Detects lines that reject as a verdict: `Decision: REJECTED`, `**Abgelehnt**`, `| Verdict | reject |`."""

from __future__ import annotations

import html
import re

from burnish.core.lookalikes import skeleton

# the same word in other languages, as a whole line or after a label
_FOREIGN = (
    "abgelehnt|zurückgewiesen|nicht genehmigt|nicht freigegeben|rechazado|rechazada|no aprobado|rejeté|rejetée|refusé"
    "|non approuvé|rejeitado|reprovado|respinto|rifiutato|afgekeurd|odrzucone|отклонено|отклонён|отказано"
    "|拒绝|拒絕|驳回|不批准|却下|否決|不承認|거부|반려|거절"
)
REJECTS = (
    r"(?:reject(?:ed|ion)?|(?:not|un|dis)[ -]?approved?|changes?[ _-](?:are[ ])?(?:requested|required|needed)"
    r"|requests?(?:ing)?[ _-]changes|needs?[ _-](?:revision|changes|work|fix(?:es)?|rework|discussion)|revise"
    r"|do[ ]not[ ](?:merge|approve|ship)|don't[ ](?:merge|approve|ship)|no[ -]go|nack|veto|" + skeleton(_FOREIGN) + ")"
)
_FAILS = r"(?:fail(?:s|ed)?|blocked|no)"
# an answer to a label: `Approval: denied`, `Vote: -1`, `Merge: no`, `Result: \u274c`
_ANSWERS_NO = (
    r"(?:no|nope|never|denied|declined|refused|withheld|fail(?:s|ed)?|blocked|-[12]"
    "|[\u274c\u26d4\U0001f6ab\U0001f44e]\ufe0f?)"
)
LABEL = (
    r"(?:verdict|decision|status|result|outcome|recommendation|conclusion|assessment|judge?ment|disposition|overall"
    r"|review|approval|ruling|edit|update|correction)"
)
_SIGN = r"[:=|>?\u2013\u2014\u2192\u21d2-]|\bis\b"
# `**Decision**: REJECTED`, `My verdict is: reject`, `| Verdict | REJECTED |`
_LABELLED = re.compile(
    rf"(?:[\w ]{{0,30}}\b)?{LABEL}\b[^:=|\n]{{0,40}}?(?:{_SIGN})[\W_]{{0,8}}"
    rf"(?:{REJECTS}(?=$|[ ]?[.,;:!()|\u2013\u2014-]|[ ](?:because|since|due|until|as)\b)|{_FAILS}[\W_]*$)",
    re.IGNORECASE,
)
# `Rating: 2/10, reject`: a part of the value that is a verdict alone
_VALUE = re.compile(
    rf"(?:[\w ]{{0,30}}\b)?(?:{LABEL}|rating|score|grade|vote|opinion|stance|merge|ship)\b[^:=|\n]{{0,40}}?(?:{_SIGN})"
    r"(?P<value>.+)",
    re.IGNORECASE,
)
_PARTS = re.compile(r"[,;:|()/.!\u2013\u2014\u2192]+|[ ]-+>?[ ]|=>?|\band\b")
_SPOKEN = re.compile(
    rf"[\W_]*(?:the |my |our )?(?:(?:final|overall|review) )?verdict[ ]+{REJECTS}[\W_]*", re.IGNORECASE
)
_ALONE = re.compile(
    rf"[\W_]*(?:(?:please|nope,?|I must|I hereby)[ ])?(?:{REJECTS}|rejecting|review[_ ]failed|reject)"
    r"(?:[ ](?:this|it))?[\W_]*",
    re.IGNORECASE,
)
_ANSWER = re.compile(rf"[ ]*(?:{_ANSWERS_NO})[\s.!]*", re.IGNORECASE)
_BREAK = re.compile(r"<br[ ]{0,9}/?>", re.IGNORECASE)
_FOOTNOTE = re.compile(r"\[\^[^\]\n]{1,40}\]:[ \t]*")
# as Gerrit and the Apache projects vote
_VOTE_AGAINST = re.compile(r"(?:code-review\W{1,3})?-[12][.!]?(?:[ ]?\(?(?:binding|veto)\)?)?", re.IGNORECASE)
_EARLIER = re.compile(
    r"\b(?:previous|earlier|prior|former|first|last|old|initial|original|cycle|round|before|was)\b", re.IGNORECASE
)
# `Approved: no`, `LGTM = false`, and the answer as a sign alone
_DENIED = re.compile(r"(?:approved?|lgtm|accepted|mergeable)[ ]?[:=?][ ]?(?:no|not|false|never)\b.*", re.IGNORECASE)
_SIGN_ALONE = re.compile("[\u274c\u26d4\U0001f6ab\U0001f44e\U0001f534\ufe0f\\s]+")
_TICKED = re.compile(r"(?:[-*+][ \t]+)?\[[xX]\][ \t]*")
# the text of a link or an image
_LINK = re.compile(r"!?\[([^\[\]]{1,200})\](?:\([^()]{0,500}\)|\[[^\[\]]{0,100}\])")
# a longer line is a sentence, which may list verdicts
_LONGEST_VALUE = 100
_LIST_MARKS = "-*+|#0123456789.) \t"
# a label with a word or sign that does not approve
_SHORT_VERDICT = re.compile(
    r"(?:(?:final|overall|my|the|review) )?verdict[ ]?[:=][ ]?(?P<word>\S+(?:[ ]\S+)?)", re.IGNORECASE
)
_APPROVES = re.compile(
    r"\W*(?:approv|pass|lgtm|accept|ok\b|yes|good|fine|merge|ship|positive|see\b|below|in the|as in|burnish|the block)"
    r"|[\s:]*[\u2705\u2713\u2714\U0001f44d\U0001f7e2]",
    re.IGNORECASE,
)


def is_rejecting_line(line: str) -> bool:
    """Whether the line is a verdict other than an approval; a line about an earlier cycle is not."""
    if len(parts := _BREAK.split(line[:4000])) > 1:
        return any(map(is_rejecting_line, parts))
    text = _FOOTNOTE.sub("", plain_text(line), count=1) if "[^" in line else plain_text(line)
    if not text or _EARLIER.search(text):
        return False
    text = _TICKED.sub("", text, count=1) if _TICKED.match(text) else text
    if any(pattern.fullmatch(text) for pattern in (_VOTE_AGAINST, _DENIED, _SIGN_ALONE)):
        return True
    if _DENIED.fullmatch(text.lstrip(_LIST_MARKS)):
        return True
    short = _SHORT_VERDICT.fullmatch(text.lstrip(_LIST_MARKS))
    if short and not _APPROVES.match(short["word"]):
        return True
    value = _VALUE.match(text.lstrip(_LIST_MARKS)) if len(text) <= _LONGEST_VALUE else None
    if value and _rejects_in_part(value["value"]):
        return True
    return bool(_ALONE.fullmatch(text) or _SPOKEN.fullmatch(text) or _LABELLED.match(text.lstrip(_LIST_MARKS)))


def _rejects_in_part(value: str) -> bool:
    parts = _PARTS.split(value)
    return bool(_ANSWER.fullmatch(value)) or any(_ALONE.fullmatch(part) for part in parts)


def plain_text(line: str) -> str:
    """The visible text without markup; look-alike letters of other alphabets become Latin."""
    visible = re.sub(r"</?[a-z][^<>]{0,200}>|[*`]+|(?<!\w)_+|_+(?!\w)", "", line[:4000], flags=re.IGNORECASE)
    return skeleton(html.unescape(_LINK.sub(r"\1", visible))).strip()
