"""Text that may follow an approving verdict block.

The block ends the message. Models add a closing ("Let me know if you have questions."), and programs add a line about
usage. Only these forms are accepted. Everything else may take the approval back in words that no list contains, so the
reviewer is asked once more for the block alone.
"""

from __future__ import annotations

import re

from burnish.core.review import Verdict
from burnish.review.legacy_markers import verdict_of
from burnish.review.refusal import plain_text, takes_back

# characters after the block; a closing is a few sentences
MAX_CLOSING_LENGTH = 2000

_RULE = re.compile(r"[ ]{0,3}(?:[-*_=][ \t]*){3,}")
_END_TAGS = re.compile(r"(?:\s*</[a-z][a-z0-9]*>)+\s*", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!;:,()]+(?=\s|$)|\s+[-\u2013\u2014]+\s+|\s+and\s+|[\u2013\u2014]")
# a line that continues the one before: `tokens used`, and the number below it
_CONTINUES = re.compile(r"[a-z]|[\d.,]+\s*$")
_ENDED = re.compile(r"[.!:;]\s*$")
_AROUND = " \t-*+'\"\u2018\u2019\u201c\u201d#.!"
_SIGNS = re.compile("[\u2705\u2713\u2714\U0001f44d\U0001f389\U0001f680\U0001f642\U0001f60a\U0001f64f\ufe0f]")
_CHANGE = (
    r"(?:the |this |that )?"
    r"(?:change|changes|diff|patch|pr|pull request|mr|commit|code|implementation|work|it|this|everything|all)"
)


def _words(text: str) -> str:
    """One word or more of the text."""
    return rf"(?: (?:{'|'.join(text.split())}))+"


_OFFER = _words(
    "if you have any a further other more questions question need needed want would like me to look at take another"
    " anything something else details detail clarification clarify explain elaborate help assist discuss answer on"
    " this these the of it review with or and about for in should there is ask"
)
_GRATITUDE = _words("the your this nice great good work change fix pr patch patience time effort contribution")
_AS_IT_IS = r"(?: as (?:it )?(?:is|stands))?"
_FROM_ME = r"(?: from (?:me|my side))?"
_MORE = r"(?:(?:further|other|more|additional|new|open|blocking|outstanding|remaining|major) )*"
_PROBLEMS = (
    r"(?:comments?|issues?|problems?|concerns?|findings?|remarks?|objections?|blockers?|questions?|suggestions?)"
)
_FOUND = r"(?: (?:is|are|were|was))?(?: (?:remain|remains|left|found|noted|raised|needed|required))?"
_NOW = r"(?: (?:here|at this time|before merging|to add|to report))?"
# sentences, or their parts between commas
_FORMS = re.compile(
    "|".join(
        f"(?:{form})"
        for form in (
            # an offer, thanks
            rf"(?:please |just )?(?:let me know|reach out|feel free to (?:ask|reach out|let me know))(?:{_OFFER})?",
            rf"(?:i am |i'm |i'd be |i would be )?(?:happy|glad) to(?:{_OFFER})",
            rf"(?:(?:many )?thanks|thank you)(?: (?:again|for{_GRATITUDE}))?",
            r"(?:i )?hope (?:this|that) helps|cheers|best regards|done|yes|ok|okay|fine|overall",
            # the end
            rf"(?:and )?(?:that is|that's|this is) (?:all|it|the end|everything){_FROM_ME}",
            r"(?:(?:that|this|here|above) is )?(?:my|the) (?:final |complete )?(?:verdict|review)",
            r"(?:that|this) (?:concludes|completes|ends) (?:my|the|this) review|end of (?:the |my )?review",
            r"(?:the |my )?review (?:is |has been )?(?:now )?(?:complete|completed|done|finished|submitted|concluded)",
            r"i have (?:completed|finished|submitted) (?:the|my|this) review",
            r"(?:see )?(?:the |my )?(?:verdict|review)(?: block)? (?:is )?(?:given )?above|as requested",
            # praise
            r"(?:very |really )?(?:nice|great|good|excellent|solid|clean|thorough)"
            r"(?: (?:work|job|change|fix|patch|pr|implementation|one|improvement))?(?: overall)?|well done|all good",
            rf"(?:{_CHANGE} )?(?:looks?|is|are|seems?) (?:all )?(?:good|fine|great|solid|correct|clean|right)"
            r"(?: to (?:me|go|merge))?",
            r"(?:all )?(?:the )?tests (?:pass|passed|are green)",
            # approval
            r"(?:i |we )?(?:hereby |therefore |fully |happily )*approv(?:e|ed|al|es|ing)"
            rf"(?: (?:of )?{_CHANGE})?{_AS_IT_IS}{_FROM_ME}",
            rf"(?:{_CHANGE} )?is (?:hereby |therefore )?approved{_AS_IT_IS}",
            rf"(?:{_CHANGE} )?(?:is |are )?(?:now )?(?:ready|good|safe|fine|ok|okay|cleared) (?:to (?:be )?|for )?"
            rf"(?:merge|merged|merging|ship|shipped|go|release){_AS_IT_IS}",
            rf"(?:{_CHANGE} )?can (?:now )?be (?:merged|shipped)|lgtm|ship it|go ahead",
            rf"(?:please |you can |feel free to )?(?:merge|ship)(?: {_CHANGE})?",
            # nothing against it
            rf"(?:there (?:is|are|were) |i have |i found |i see |i had |with )?no {_MORE}{_PROBLEMS}{_FOUND}{_NOW}"
            rf"{_FROM_ME}",
            rf"no {_MORE}(?:changes?|action)(?: (?:is|are))? (?:needed|required|requested|necessary){_NOW}",
            rf"i (?:did not|didn't|could not|couldn't) find (?:a|any|an) {_MORE}{_PROBLEMS}",
            r"nothing (?:(?:else|more|further) )?(?:to add|to report|from me|to fix|to change)|nothing (?:else|more)",
            r"nothing blocks (?:the |this )?(?:merge|change)",
        )
    ),
    re.IGNORECASE,
)
_USAGE_WORDS = frozenset(
    "token tokens used input output total cached cache cost costs usage session message messages duration time elapsed"
    " model in out sent received reasoning thinking api wall s ms sec seconds min minutes usd k m request requests"
    " read write".split()
)
_USAGE_LABELS = frozenset("token tokens cost costs usage duration elapsed time".split())
_USAGE = re.compile(r"[A-Za-z]+|\d[\d.,:]*(?:k|m|s|ms)?\b|[\s$%:,;.()=|/+\u00b7-]|~(?=\d)", re.IGNORECASE)


def text_beyond_closing(lines: list[str]) -> str:
    """The first text after an approving block that is not a closing; "" if there is none."""
    if sum(map(len, lines)) > MAX_CLOSING_LENGTH:
        return next(line for line in lines if line.strip()).strip()[:80]
    return next((line.strip()[:80] for line in _joined(lines) if not _is_closing(line)), "")


def _joined(lines: list[str]) -> list[str]:
    """Lines, with a sentence that continues on the next line in one piece."""
    sentences: list[str] = []
    for line in lines:
        if sentences and sentences[-1].strip() and _CONTINUES.match(line) and not _ENDED.search(sentences[-1]):
            sentences[-1] = f"{sentences[-1].rstrip()} {line}"
        else:
            sentences.append(line)
    return sentences


def _is_closing(line: str) -> bool:
    if not line.strip() or _RULE.fullmatch(line) or _END_TAGS.fullmatch(line):
        return True
    if line.startswith(("    ", "\t")) or line.lstrip().startswith((">", "`", "~")):
        return False
    if verdict_of(line) is Verdict.APPROVED:
        return True
    text = _SIGNS.sub("", plain_text(line)).replace("\u2019", "'")
    if "?" in text or takes_back(text):
        return False
    parts = [part for words in _SENTENCE_END.split(text) if (part := words.strip(_AROUND))]
    if not parts:
        return bool(_SIGNS.search(line))
    return _is_usage(text) or all(map(_FORMS.fullmatch, parts))


def _is_usage(text: str) -> bool:
    """`tokens used: 1,234`, `Tokens: 3.2k sent, 512 received. Cost: $0.01 message.`"""
    words = {word.lower() for word in re.findall(r"[A-Za-z]+", re.sub(r"\d[\d.,]*(?:k|m|s|ms)\b", "", text))}
    return bool(words & _USAGE_LABELS) and words <= _USAGE_WORDS and not _USAGE.sub("", text)
