"""Detects English text that rejects a change, in prose, lines, notes and fields: a last check, after the structure
of a reply.

There are two levels, because a false alarm costs another reviewer call. `refuses` is for text in which a reviewer
describes and discusses (before the block, in its summary): a sentence must mention this change or the reviewer.
`takes_back` is for text after an approving block, which has no reason to mention a decision again: every clause that
decides must agree with the approval.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import pairwise
from typing import Any

from burnish.core.text_encoding import skeleton, visible
from burnish.review.blocks import line_pieces

# an underscore inside of a word is not markup: `changes_requested`
_MARKUP = re.compile(
    r"<!--.{0,2000}?-->|</?[a-z][^<>]{0,2000}>|[*`]{1,3}(?=\S)|(?<=\S)[*`]{1,3}|(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)",
    re.I | re.DOTALL,
)

_CHANGE = (
    r"(?:th(?:is|e)(?:[ ](?:change|diff|patch|pull[ ]request|PR|MR|commit|branch|code|implementation|work))?"
    r"|(?:change|diff|patch|PR|MR))"
)
_NOT = r"(?:not|n't|never)"
_DECIDED = r"(?:approved|merged|shipped|landed|released|accepted|go[ ]in)"
_REFUSES = re.compile(
    rf"""
    # the reviewer speaks
    \bI(?:[ ](?:still|really|also|therefore|hereby))?[ ]
      (?:(?:do|can|will|would|could|am|did)(?:[ ]?not|n't)|won't|can't|cannot|refuse[ ]to|decline[ ]to|am[ ]unable[ ]to)
      (?:[ ](?!block|hold|delay|stop|prevent|object)\w+){{0,4}}[ ](?:approve|sign[ ]off|accept[ ]th|merge)
    | (?<!if[ ])(?<!when[ ])\bI(?:[ ]am|'m|[ ]must|[ ]have[ ]to)?[ ](?:therefore[ ])?request(?:ing)?[ ]changes\b
    | \bI(?:[ ]am|'m)[ ]rejecting\b | \bI[ ](?:hereby[ ]|must[ ]|have[ ]to[ ])?reject[ ]th
    | \bI[ ](?:\w+[ ])?(?:withdraw|retract|revoke|rescind)[ ](?:my|the|this)[ ]approv
    # this change is refused
    | \b{_CHANGE}[ ](?:is|was[ ]therefore|must[ ]be|has[ ]to[ ]be|should[ ]be)[ ](?:hereby[ ]|therefore[ ])?rejected\b
    | \b{_CHANGE}[ ](?:is|are)(?:[ ]not|n't)[ ](?:yet[ ])?(?:approved|mergeable|acceptable|ready|safe)\b
    | \b(?:{_CHANGE}|it)[ ](?:must|should|can|may|could|shall)(?:[ ]?not|n't|[ ]never)[ ]
      (?:yet[ ])?(?:be[ ])?{_DECIDED}\b
    | \b{_NOT}[ ](?:yet[ ])?(?:ready|safe|fit)[ ](?:to|for)[ ](?:be[ ])?(?:merge|approv|ship|land|release)
    | \bmust[ ]be[ ](?:fixed|reverted|removed|resolved)[ ]before[ ](?:it|this|merg|approv|the[ ]merge)
    | \b{_CHANGE}[ ](?:must|should|has[ ]to|needs[ ]to)[ ]be[ ](?:reverted|backed[ ]out|rolled[ ]back|withdrawn)\b
    | (?<!no[ ])(?<!further[ ])(?<!additional[ ])(?<!other[ ])\bchanges[ ](?:are[ ])?(?:required|needed|necessary)[ ]
      before[ ](?:it|this|merg|approv|the[ ]merge)
    # an order, or a heading with what follows it
    | (?:^|[.!?:;,\-\u2013\u2014(][ ]?)(?:please[ ])?(?:do[ ]not|don't|never)[ ](?:approve|merge|ship|land|release)
      (?=$|[ ]?[.!,;:)\-\u2013\u2014]|[ ](?:th|it\b|yet\b|until|before|because|as[ ]is))
    | (?:^|[.!?][ ])\W{{0,6}}(?:(?:verdict|status|decision|result)\W{{1,4}})?
      (?:reject(?:ed|ing)?|not[ ]approved|disapproved?|changes[ _]requested|needs[ _](?:revision|discussion|work)
        |request(?:ing)?[ _]changes)
      (?=\W{{0,6}}$|[ ]?[:!,;\u2013\u2014]|[ ]-|\.(?:[ ]|$))(?![ ]?:[ ]?(?:none|no)\b)
    """,
    re.I | re.X,
)

_NEGATION = r"not|n't|never|cannot|no[ ]longer|unable[ ]to|refus\w+|withhold\w*|declin\w+|neither|nor"
_ABSENCE = r"no|nothing|none|without|zero"
_AGREES = (
    r"approv\w*|merg(?:e|ed|eable|ing)|(?:ready|safe|fit)[ ](?:to|for)|lgtm|sign(?:ing|ed)?[ ]off"
    r"|ship(?:[ ](?:it|this))?|acceptable"
)
_DISAGREES = (
    r"disapprov\w*|unapprov\w*|rejection|I(?:[ ]am|'m)?[ ](?:hereby[ ]|must[ ]|have[ ]to[ ])?reject\w*"
    r"|(?:is|are|be|verdict|status|stands|as)\W{1,3}rejected|veto\w*"
    r"|changes?[ _](?:(?:is|are)[ ])?(?:requested|required|needed|necessary)|request(?:ing)?[ ]changes"
    r"|needs?[ _](?:to[ ]be[ ])?(?:revision|discussion|fix\w*|rework\w*|another[ ]look|more[ ]work)"
    r"|must[ ](?:first[ ])?be[ ](?:fixed|changed|reverted|removed|resolved|rewritten)|block(?:er|ers|ing|s)?"
    r"|withdr[ae]w\w*|retract\w*|revok\w*|rescind\w*|second[ ]thoughts?|changed?[ ]my[ ]mind"
    r"|scratch[ ]that|strike[ ]that|void|unsafe"
    r"|(?:ignore|disregard|discard)\b[^.!?]{0,30}\b(?:above|verdict|block|approval|previous|that)"
    r"|(?:take|send)[ ](?:it|this|that|my[ ]approval)[ ]back"
    r"|(?:above|block|verdict)[ ]is[ ](?:wrong|void|a[ ]mistake|invalid)"
)
_WORDS = re.compile(
    rf"(?P<disagrees>\b(?:{_DISAGREES})\b)|(?P<negation>\b(?:{_NEGATION})\b|n't\b)|(?P<absence>\b(?:{_ABSENCE})\b)"
    rf"|(?P<agrees>\b(?:{_AGREES})\b)",
    re.I | re.X,
)
# words about problems of the past
_SETTLED = re.compile(
    r"\b(?:earlier|previous(?:ly)?|resolved|addressed|settled|(?:are|were|is|was)[ ](?:now[ ])?fixed)\b", re.I
)
_CLAUSE_END = re.compile(r"(?<=[.!?])[ ]+|[;:]|[ ](?:but|however|although)[ ]")
# range of a negation in characters; an absence (`no approval`) applies to the next word only
_REACH = 40
_ALONE = re.compile(r"[\W_]*(?:rejected|not approved|disapproved|do not merge)[\W_]*", re.I)
_ANOTHER_VERDICT = re.compile(r"\bverdict[ ]{0,3}[:=](?!\W{0,6}approved\b)", re.I)

# words that limit an approval, unless they are negated: `no reservations`
_CONDITION = re.compile(
    r"\b(?:mostly|partly|partially|in part|largely|almost|tentative(?:ly)?|provisional(?:ly)?|in principle"
    r"|reservations?|concerns?|if|once|until|unless|pending|provided|providing|conditional(?:ly)?|conditions?|contingent|except"
    r"|subject to|assuming|as long as|but|however|although|before (?:merg|land|ship)\w*|must|(?:is|are) required"
    r"|blockers? (?:remain|exist)|not (?:yet|ready)|do not|don't|reject(?:ed)?|changes requested|request changes"
    r"|withdrawn|superseded|revoked)\b|→|->|\|| / ",
    re.IGNORECASE,
)
_CONDITION_DENIED = re.compile(
    r"\b(?:no|not|zero|0|without|nothing|none|already|pre-?existing)\b[^.;]{0,40}$", re.IGNORECASE
)


def plain_line(text: str) -> str:
    """The text as one line, without markup and invisible characters, with ASCII apostrophes."""
    text_shown = _MARKUP.sub("", visible(text[:20_000]).replace("\u2019", "'"))
    return " ".join(text_shown.split())


def refuses(text: str) -> bool:
    """Whether text that describes a change refuses it. One line, without markup."""
    return bool(_ALONE.fullmatch(text) or _REFUSES.search(text))


def takes_back(text: str) -> bool:
    """Whether text after an approving block decides otherwise. One line, without markup."""
    if refuses(text) or _ANOTHER_VERDICT.search(text):
        return True
    return any(_decides_otherwise(clause) for clause in _CLAUSE_END.split(text) if clause)


def _decides_otherwise(clause: str) -> bool:
    is_about_past = _SETTLED.search(clause) is not None
    negation = absence = -_REACH - 1
    for found in _WORDS.finditer(clause):
        if found["negation"]:
            negation = found.end()
        elif found["absence"]:
            absence = found.end()
        elif found["agrees"]:
            if found.start() - negation <= _REACH or 0 <= found.start() - absence <= 1:
                return True
        elif is_about_past or negation >= 0 or absence >= 0:
            # `does not block`, `no changes requested`
            negation = absence = -_REACH - 1
        else:
            return True
    return False


def is_conditional(rest: str) -> bool:
    """Whether the words after an approval limit it: `once F1 is fixed`."""
    return any(not _CONDITION_DENIED.search(rest[: found.start()]) for found in _CONDITION.finditer(rest))


# -- rejecting lines ------------------------------------------------------------------------------
# Detects lines that reject as a verdict: `Decision: REJECTED`, `**Abgelehnt**`, `| Verdict | reject |`.

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
_REJECTS_ALONE = re.compile(
    rf"[\W_]*(?:(?:please|nope,?|I must|I hereby)[ ])?(?:{REJECTS}|rejecting|review[_ ]failed|reject|blocked)"
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
_DENIED = re.compile(
    r"(?:approved?|lgtm|accepted|mergeable)[ ]?[:=?][ ]?(?:no|not|false|never)\b.*"
    r"|(?:block(?:ed|ing|er)|rejected|veto(?:ed)?)[ ]?[:=?][ ]?(?:yes|true)\b.*",
    re.IGNORECASE,
)
_SIGN_ALONE = re.compile("[\u274c\u26d4\U0001f6ab\U0001f44e\U0001f534\ufe0f\\s]+")
_TICKED = re.compile(r"(?:[-*+][ \t]+)?\[[xX]\][ \t]*")
# the text of a link or an image
_LINK = re.compile(r"!?\[([^\[\]]{1,200})\](?:\([^()]{0,500}\)|\[[^\[\]]{0,100}\])")
# a longer line is a sentence, which may list verdicts
_MAX_VALUE_LENGTH = 100
_LIST_MARKS = "-*+|#0123456789.) \t"
# what makes a line a heading or an entry of a list
_BLOCK_MARKS = re.compile(r"(?:(?:#{1,6}|[-*+]|\d{1,3}[.)])[ \t]+)+")
# `r e j e c t e d`, `R.E.J.E.C.T`
_SPACED_LETTERS = re.compile(r"(?<!\w)(?:[^\W\d_][ .\-_]{1,3}){4,}[^\W\d_](?!\w)")
# a label with a word or sign that does not approve
_SHORT_VERDICT = re.compile(
    r"(?:(?:final|overall|my|the|review) )?verdict[ ]?[:=][ ]?(?P<word>\S+(?:[ ]\S+)?)", re.IGNORECASE
)
_APPROVES = re.compile(
    r"\W*(?:approv|pass|lgtm|accept|ok\b|yes|good|fine|merge|ship|positive|see\b|below|in the|as in|burnish|the block)"
    r"|[\s:]*[\u2705\u2713\u2714\U0001f44d\U0001f7e2]",
    re.IGNORECASE,
)


_MAY_HAVE_MARKER = re.compile(r"verdict|rejected\]|review_failed", re.IGNORECASE)
_MARKER = re.compile(
    rf"\bverdict[\W_]{{0,9}}[:=][\W_]{{0,9}}(?:{REJECTS})\b|\[rejected\]|(?<![a-z])review_failed(?![a-z])",
    re.IGNORECASE,
)
_CODE_SPAN = re.compile(r"(`+)[^`\n]{1,500}\1")


def is_rejecting_line(line: str) -> bool:
    """Whether the line is a verdict other than an approval; a line about an earlier cycle is not."""
    if len(parts := _BREAK.split(line[:4000])) > 1:
        return any(map(is_rejecting_line, parts))
    text = _FOOTNOTE.sub("", plain_text(line), count=1) if "[^" in line else plain_text(line)
    if not text or _EARLIER.search(text):
        return False
    if _other_marker(line):
        return True
    text = _TICKED.sub("", text, count=1) if _TICKED.match(text) else text
    text = _joined_letters(text) if _SPACED_LETTERS.search(text) else text
    bare = _BLOCK_MARKS.sub("", text, count=1)
    if any(pattern.fullmatch(bare) for pattern in (_VOTE_AGAINST, _DENIED, _SIGN_ALONE)):
        return True
    if _DENIED.fullmatch(text.lstrip(_LIST_MARKS)):
        return True
    short = _SHORT_VERDICT.fullmatch(text.lstrip(_LIST_MARKS))
    if short and not _APPROVES.match(short["word"]):
        return True
    value = _VALUE.match(text.lstrip(_LIST_MARKS)) if len(text) <= _MAX_VALUE_LENGTH else None
    if value and _rejects_in_part(value["value"]):
        return True
    return bool(_REJECTS_ALONE.fullmatch(bare) or _SPOKEN.fullmatch(bare) or _LABELLED.match(text.lstrip(_LIST_MARKS)))


_TABLE_RULE = re.compile(r"[|:\- ]*-[|:\- ]*")
_TABLE_NAME = re.compile(
    r"[\W_]*(?:(?:final|overall|my|the|review)[ ])?(?:verdict|decision|recommendation)[\W_]*", re.IGNORECASE
)


def table_verdicts(lines: list[str]) -> list[str]:
    """The cells below a heading such as `Verdict` in tables, each as a line `Verdict: cell`."""
    found: list[str] = []
    names: list[str] = []
    for above, line in pairwise(lines):
        if "|" not in line:
            names = []
        elif _TABLE_RULE.fullmatch(line.strip()):
            names = [name if _TABLE_NAME.fullmatch(plain_text(name)) else "" for name in _cells(above)]
        else:
            found += [f"{name}: {cell}" for name, cell in zip(names, _cells(line), strict=False) if name]
    return found


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip()[:4000].strip("|").split("|")]


def _other_marker(line: str) -> bool:
    """Whether a marker of another verdict is anywhere in the line, outside of code spans."""
    if not _MAY_HAVE_MARKER.search(line):
        return False
    text = plain_text(_CODE_SPAN.sub("", line[:4000]))
    return _MARKER.search(text) is not None and not _EARLIER.search(text)


def _joined_letters(text: str) -> str:
    return _SPACED_LETTERS.sub(lambda found: re.sub(r"[ .\-_]", "", found[0]), text)


def _rejects_in_part(value: str) -> bool:
    parts = _PARTS.split(value)
    return bool(_ANSWER.fullmatch(value)) or any(_REJECTS_ALONE.fullmatch(part) for part in parts)


def plain_text(line: str) -> str:
    """The visible text without markup; look-alike letters of other alphabets become Latin."""
    visible = re.sub(r"</?[a-z][^<>]{0,200}>|[*`]+|(?<!\w)_+|_+(?!\w)", "", line[:4000], flags=re.IGNORECASE)
    return skeleton(html.unescape(_LINK.sub(r"\1", visible))).strip()


# -- denying notes --------------------------------------------------------------------------------
# Finds notes that contradict their state: `{"state": "resolved", "note": "The bug is still there."}`.
#
# A heuristic for clear English phrases. A note about the past ("did not handle None, now it does") does not
# contradict.

_FIXED = r"(?:fix(?:ed)?|resolved?|met|done|addressed|implemented|solved|work(?:s|ing)?|settled|satisfied|fulfilled)"
_PROBLEM = r"(?:it|this|that|bug|issue|problem|finding|error|leak|race|crash|hole|vulnerability|defect|criterion|F\d+)"
_BROKEN = r"(?:there|present|open|exists?|occurs?|happens?|fails?|broken|unfixed|wrong|missing|crash\w*|leak\w*)"
_UNCHECKED = r"(?:not|could not|cannot|can't|couldn't) (?:be )?(?:verif(?:y|ied)|confirm(?:ed)?|check(?:ed)?)"


def _any(*forms: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{form})" for form in forms), re.IGNORECASE)


# the whole note
_NOTE_ALONE = _any(
    r"(?:(?:state|status):? |->? ?|\u2192 ?)*(?:it is |still |remains |stays )*(?:open|unresolved|unfixed|a problem)",
    r"no|nope|false|unmet|unchanged|nothing (?:has )?changed(?: here| there)?|missing",
    r"reopened|regressed|pending|todo|won't fix|wontfix|ignored",
    r"(?:it |this |the code )?did(?: not|n't) change|(?:the )?same as before\b.{0,40}|(?:it )?fails(?: as before)?",
    r"partial(?:ly)?|partly|only part(?:ly|ially)|half(?: done)?|incomplete|insufficient(?: fix)?|broken|doubtful",
    r"(?:it )?remains|(?:I )?disagree|rejected|not (?:yet|really|actually|quite|entirely|fully|completely)",
    rf"(?:I |claimed by the author[,;] )?{_UNCHECKED}(?: this| it)?",
)
_BEGINS = _any(
    r"no[.,;:!\u2013\u2014](?: |$)|no - ",
    rf"not (?:yet |really |fully |entirely |completely |properly |at all )*{_FIXED}\b",
    rf"unresolved\b|unmet\b|unfixed\b|{_FIXED}\? no\b|no longer (?:fixed|resolved|met)\b|except (?:for|in)\b",
    rf"still {_BROKEN}\b|unclear (?:whether|if)\b",
    rf"(?:once|unless|provided|if|when|as soon as)\b.{{0,60}}\b(?:is|are|gets?) (?:{_FIXED}|merged)\b",
    r"(?:once|unless|provided|if) merged\b",
)
_ANYWHERE = _any(
    rf"\b(?:is|was|are|were|has|have|had|did|does|do)(?: not|n't)(?: yet| been| really| fully| actually)* {_FIXED}\b",
    rf"\b{_PROBLEM}(?: is| are)? still {_BROKEN}\b",
    r"\bstill (?:fails?|failing|crashes|leaks|broken|unfixed|has (?:it|the bug|this))\b",
    r"\b(?:fails|crashes|leaks) still\b",
    rf"\b{_PROBLEM} (?:remains|persists|came back|is back|reappears)\b|\bremains (?:open|unfixed|unresolved)\b",
    r"\b(?:fix|change|patch) (?:is|was) (?:wrong|incomplete|insufficient|missing|broken|only partial)\b",
    rf"\bpart(?:ly|ially) {_FIXED}\b|\b{_FIXED} (?:only )?(?:partly|partially|in part)\b",
    r"\b(?:will|would|should|needs? to|has to|to) be (?:fixed|resolved|addressed|implemented|solved)\b",
    r"\bto be done later\b",
    r"\bnever (?:been )?(?:fixed|resolved|met|addressed|implemented)\b|(?:->|\u2192) ?(?:re)?open",
)
# words that describe the past beside the present
_BEFORE = _any(
    r"\b(?:now|no longer|any ?more|previous(?:ly)?|earlier|before|old|used to|formerly|originally|in cycle \d+)\b",
    r"\b(?:was|were|has been) (?:added|removed|replaced|corrected)\b",
)
# for a withdrawn finding: the code may be unchanged
_UPHELD = _any(
    r"no|nope|false|(?:still )?open|(?:I )?disagree|(?:it is |still )*valid|not (?:invalid|withdrawn)",
    r"(?:it|this|the (?:bug|finding|problem|issue)) is (?:still )?(?:valid|real|correct|there|present)",
    r"(?:it|this) is (?:still )?a (?:real )?(?:bug|problem)",
)


def denies(note: str, *, withdrawn: bool = False) -> bool:
    """Whether the note denies that the finding is settled. `withdrawn`: the state is `invalid`, without a fix."""
    text = plain_line(note)
    bare = text.strip(" .!;,")
    if withdrawn:
        return bool(_UPHELD.fullmatch(bare))
    if _NOTE_ALONE.fullmatch(bare) or _BEGINS.match(text.lstrip(" .!;,:-")):
        return True
    return bool(_ANYWHERE.search(text)) and not _BEFORE.search(text)


# names of fields that models add to an entry of `prior` or `compliance`
_STATE_NAME = re.compile(
    r"\b(?:state|status|result|outcome|verdict|decision|resolution|judge?ment|assessment|ruling)\b"
)
_SETTLED_NAME = re.compile(
    r"\b(?:met|fulfilled|satisfied|resolved|fixed|done|settled|completed?|closed|addressed|ok|passed|passes)\b"
)
_UNSETTLED_NAME = re.compile(
    r"\b(?:open|reopened|unmet|unresolved|unfixed|broken|failed|fails|failing|rejected|blocking|remains|still|not)\b"
)


def denying_field(entry: Mapping[str, Any], known_keys: Collection[str], *, withdrawn: bool = False) -> str:
    """The field outside of the contract that denies the state of its entry, as `name: value`; "" if there is none."""
    for key, value in entry.items():
        name = re.sub(r"[\W_]+", " ", key.casefold()).strip()
        if key in known_keys or _EARLIER.search(name):
            continue
        has_state = bool(_STATE_NAME.search(name) or _SETTLED_NAME.search(name) or _UNSETTLED_NAME.search(name))
        if isinstance(value, bool):
            # what was never a problem need not be fixed
            is_denied = value if _UNSETTLED_NAME.search(name) else not value and not withdrawn and has_state
        else:
            text = value if isinstance(value, str) else ""
            words = re.sub(r"[\W_]+", " ", visible(text).casefold()).strip()
            is_denial = denies(text, withdrawn=withdrawn) or words in _OTHER_VERDICTS | _DENIALS
            is_denied = has_state and is_denial
        if is_denied:
            return f"{key[:40]}: {json.dumps(value, ensure_ascii=False)[:60]}"
    return ""


# -- contradicting fields -------------------------------------------------------------------------
# Finds fields of an approving verdict block that reject the change.

_OTHER_VERDICTS = frozenset(
    "rejected|reject|disapproved|not approved|changes requested|request changes|needs revision|needs discussion"
    "|do not merge".split("|")
)
# names that models use instead of `findings`
_PROBLEM_LISTS = frozenset(
    "issues|problems|bugs|defects|vulnerabilities|blockers|errors|blocking issues|must fix|required changes"
    "|security issues|critical issues|blocking findings|critical|open issues|open findings|unresolved|regressions"
    "|conditions|rejection reason".split("|")
)
_GRAVE = frozenset("error critical high blocker blocking major severe fatal p0 p1".split())
_VERDICT_NAMES = frozenset("decision status result outcome recommendation conclusion assessment".split())
_DENIALS = frozenset("no|false|denied|refused|withheld|fail|fails|failed|failure|blocked|not passed|never|0".split("|"))
_NONE = frozenset("|none|no|nothing|n a|na|null|0|not applicable|none found".split("|"))
_MAX_DEPTH = 8


def contradicting_field(block: dict[str, Any], known_keys: frozenset[str]) -> str:
    """The field of an approving block that rejects, as `name: text`; "" if there is none."""
    for key, value in block.items():
        if key not in known_keys:
            if other := _other_verdict(key, value):
                return other
            for text in _texts(value):
                if _refuses_in_lines(text, is_rejecting_line):
                    return f"{key}: {text[:80]}"
    for name, text in _known_texts(block):
        # a finding or a note may quote a status; a summary has no reason to
        if _refuses_in_lines(text, is_rejecting_line if name == "summary" else _other_marker):
            return f"{name}: {' '.join(text.split())[:80]}"
    return ""


def _refuses_in_lines(text: str, is_rejection: Callable[[str], bool]) -> bool:
    """Whether the text refuses as a whole, or one of its lines does."""
    lines = text.split("\n")
    return refuses(plain_line(text)) or any(map(is_rejection, (*lines, *line_pieces(lines), *table_verdicts(lines))))


def _known_texts(block: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if isinstance(block.get("summary"), str):
        yield "summary", block["summary"]
    for key, fields in (("findings", ("title", "description")), ("compliance", ("note",)), ("prior", ("note",))):
        for entry in block.get(key) or ():
            # errors beside an approval are compared with the ledger later: a person may have waived them
            if isinstance(entry, dict) and str(entry.get("severity")).strip().lower() not in _GRAVE:
                yield from ((f"{key}.{name}", entry[name]) for name in fields if isinstance(entry.get(name), str))


def _other_verdict(key: str, value: Any, depth: int = 0) -> str:
    """A field outside of the contract whose name and value state a rejection or a serious problem."""
    name = re.sub(r"[\W_]+", " ", key.casefold()).strip()
    excerpt = f"{key[:40]}: {json.dumps(value, ensure_ascii=False, default=str)[:60]}"
    if name in _PROBLEM_LISTS and isinstance(value, list | dict) and value:
        return excerpt
    approves = re.search(r"approv|mergeable|merge|lgtm|pass|accept|safe|^ready|^ok$", name)
    if isinstance(value, bool):
        rejects = re.search(
            r"reject|block|veto|fail|unsafe|malicious|needs (?:changes|work|revision|fix)|retract|withdrawn|revoked",
            name,
        )
        return excerpt if (approves and not value) or (rejects and value) else ""
    if isinstance(value, str):
        words = re.sub(r"[\W_]+", " ", visible(value).casefold()).strip()
        is_grave = name in ("severity", "priority", "level", "risk") and words in _GRAVE
        is_denial = words in _DENIALS and (approves or name in _VERDICT_NAMES)
        is_problem = name in _PROBLEM_LISTS and words not in _NONE
        is_verdict = words in _OTHER_VERDICTS or is_rejecting_line(f"{key}: {value[:200]}")
        return excerpt if is_grave or is_denial or is_problem or is_verdict else ""
    if name in _PROBLEM_LISTS and isinstance(value, int | float) and value > 0:
        return excerpt
    if name == "vote" and isinstance(value, int | float) and value < 0:
        return excerpt
    if approves and isinstance(value, int | float) and not value and not name.startswith(("merge c", "pass")):
        return excerpt
    if depth >= _MAX_DEPTH:
        return ""
    entries: list[tuple[str, Any]] = []
    if isinstance(value, dict):
        entries = list(value.items())
    elif isinstance(value, list):
        entries = [(key, one) for one in value]
    return next((found for inner, one in entries if (found := _other_verdict(inner, one, depth + 1))), "")


def _texts(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list) and depth < _MAX_DEPTH:
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one, depth + 1)
