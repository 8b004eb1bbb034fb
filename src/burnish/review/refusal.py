"""Detects English text that rejects a change: a last check, after the structure of a reply.

There are two levels, because a false alarm costs another reviewer call. `refuses` is for text in which a reviewer
describes and discusses (before the block, in its summary): a sentence must mention this change or the reviewer.
`takes_back` is for text after an approving block, which has no reason to mention a decision again: every clause that
decides must agree with the approval.
"""

from __future__ import annotations

import re

from burnish.core.lookalikes import visible

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
