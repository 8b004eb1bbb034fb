"""What a reviewer wrote besides its verdict block: the prose of the reply, and its other messages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from burnish.core.review import Verdict
from burnish.review.blocks import MAX_REPLY_LENGTH, named_blocks, prose_lines, shown_lines, without_blocks
from burnish.review.closing import text_beyond_closing
from burnish.review.contract import DISPUTES, WORD
from burnish.review.contradiction import other_object, paragraphs, rejecting_words
from burnish.review.legacy_markers import verdict_of
from burnish.review.quoting import cut_text
from burnish.review.reading import KNOWN_KEYS, clean
from burnish.review.refusal import contradicting_field
from burnish.sanitize import without_escapes

# bytes that fit into an artifact beside its findings
MAX_PROSE_LENGTH = 8 * 1024
# bytes in `review_findings` (JSON) and in an event, per reviewer
STORED_PROSE = 2 * 1024
# bytes of an author's last message in its event
LAST_WORDS = 2 * 1024

# without a `_` inside of a word, which is part of a name
_MARKS = re.compile(r"^[\s#>*+\-]+|[*`]{1,3}|(?<!\w)_{1,3}|_{1,3}(?!\w)")


def prose_of(reply: str) -> str:
    """The reply without verdict blocks; "" for an agent that answers with a JSON object alone."""
    bare = reply.strip()
    if bare.startswith("{") and bare.endswith("}"):
        return ""
    text = re.sub(r"\n{3,}", "\n\n", clean(without_blocks(bare, WORD))).strip()
    return cut_text(text, MAX_PROSE_LENGTH)


def last_words(reply: str) -> str:
    """The end of an author's final message, which often explains why it changed nothing or what is left to do."""
    text = re.sub(r"\n{3,}", "\n\n", clean(without_blocks(reply.strip(), DISPUTES))).strip()
    if text == "(no output)":
        return ""  # written by an adapter, not by the agent
    return cut_text(text, LAST_WORDS, keep="tail")


def first_sentence(text: str) -> str:
    """A title for the text: the first sentence that is not a heading or a verdict, without Markdown marks."""
    lines = [line for line in text.split("\n") if line.strip()]
    words = [line for line in lines if verdict_of(line) is None] or lines
    body = [line for line in words if not line.lstrip().startswith("#")] or words
    plain = _MARKS.sub("", body[0]).strip() if body else ""
    return re.split(r"(?<=[.!?])\s", plain, maxsplit=1)[0][:120]


# -- other messages -------------------------------------------------------------------------------
# Checks messages of a reviewer other than its final one.
#
# The final message is all that a reviewer writes after its last use of a tool. Earlier text (a suspicion, a list of
# problems, "I cannot approve this yet") is not its verdict, and phrases cannot distinguish the two. An earlier
# message counts only if it has a form that burnish reads as a verdict: a verdict block, an object with a verdict, a
# marker line.

_APPROVES = re.compile(r"""["']?verdict["']?\s*:\s*["']?approved\b(?!\s*\|)""")
_MARKUP = r"""["'*_`\\ \t]*"""
_OBJECTION = re.compile(
    rf"verdict{_MARKUP}[:=]{_MARKUP}(?:reject|changes?[_ -]?requested|needs?[_ -]|blocked|fail|not\b)\w*"
    rf"|severity{_MARKUP}[:=]{_MARKUP}(?:error|critical|blocker|major)\b(?!\s*\|)"
    rf"|\b(?:state{_MARKUP}[:=]{_MARKUP}open|met{_MARKUP}[:=]{_MARKUP}false|blocking{_MARKUP}[:=]{_MARKUP}true)\b"
    r"""|rejection_reason["']?\s*:\s*["'](?!["']|none\b|n/?a\b|null\b|not applicable\b)""",
    re.IGNORECASE,
)
# Sentences by which a reviewer that gives no verdict line approves, as a whole: words within a sentence may be denied,
# conditional, quoted or about something else ("I would approve this if zero were handled.").
_CHANGE = r"(?:it|this|that|everything|all|(?:the|this) (?:change|patch|diff|code|fix|pull request))"
_NONE_LEFT = (
    r"(?:no (?:further |open |remaining |more |other |blocking )?"
    r"(?:issues?|problems?|objections?|findings?|concerns?|changes needed)(?: found| left| remain)?)"
)
_APPROVING_SENTENCE = re.compile(
    r"(?:(?:overall|in summary|to sum up|so|therefore|hence|thus|conclusion|result|yes)[,:] *)?(?:"
    rf"(?:(?:i (?:have|see|found|find) |there are ){_NONE_LEFT}[,;]? *(?:and |so )?)?"
    rf"i (?:hereby |therefore |happily )?approve(?: of)?(?: {_CHANGE})?"
    rf"|(?:i (?:have|see|found|find) |there are )?{_NONE_LEFT}"
    rf"|{_CHANGE} (?:is|looks) (?:all |very )?(?:good|fine|ok(?:ay)?|approved|correct)(?: to (?:me|merge|go|ship))?"
    rf"|(?:{_CHANGE} (?:is|looks) )?(?:ready|safe|good|ok(?:ay)?) to (?:merge|go|ship)"
    r"|(?:all|looks) (?:good|fine)(?: to me)?|approved|lgtm|ship it)",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


def rejecting_message(messages: Iterable[str]) -> str:
    """The first verdict in the messages that does not approve; "" if there is none."""
    return next((verdict for message in messages if (verdict := _other_verdict(message))), "")


def only_rejecting_message(messages: Sequence[str]) -> str:
    """The same, if none of the messages approves in any such form."""
    return "" if any(map(_approves, map(_plain, messages))) else rejecting_message(messages)


def approves_in_words(messages: Sequence[str]) -> bool:
    """Whether the review approves: by a line or block that burnish reads, or by its last sentence in common words."""
    texts = [text for text in map(_plain, messages) if text]
    return any(map(_approves_in_form, texts)) or (bool(texts) and _approves_at_its_end(texts[-1]))


def _approves_in_form(text: str) -> bool:
    blocks = named_blocks(text, WORD)
    return any(map(_APPROVES.search, blocks)) or any(verdict_of(line) is Verdict.APPROVED for line in shown_lines(text))


def _approves_at_its_end(text: str) -> bool:
    # without quotes and code: the words there are somebody else's, as are those after a colon
    prose = "\n".join(prose_lines(text))
    *earlier, last = re.split(r"\n\s*\n", prose.rstrip())
    if prose.rstrip().split("\n")[-1].strip() != text.split("\n")[-1].strip() or "".join(earlier).rstrip().endswith(
        ":"
    ):
        return False
    sentence = _SENTENCE_END.split(" ".join(last.split()))[-1]
    return bool(_APPROVING_SENTENCE.fullmatch(sentence.strip("*_ ").rstrip(".! *_")))


def refusal_in(messages: Sequence[str]) -> str:
    """The words that refuse the change in any of the messages, by the rules for text before a verdict block."""
    return rejecting_message(messages) or next(filter(None, (rejecting_words(m, is_after=False) for m in messages)), "")


def objection_in(reply: str) -> str:
    """The same for a reply that cannot be read. There, verdicts in quotes and fields that object count, too."""
    return refusal_in([reply]) or next((match[0] for match in _OBJECTION.finditer(without_escapes(reply))), "")


def only_objection(reply: str) -> str:
    """The same, if the reply does not approve in any form that burnish reads."""
    return "" if _approves(_plain(reply)) else objection_in(reply)


def _approves(text: str) -> bool:
    return bool(_APPROVES.search(text)) or any(verdict_of(line) is Verdict.APPROVED for line in shown_lines(text))


def rejecting_text(before: Iterable[str], after: Sequence[str], *, beside_object: bool = False) -> str:
    """The words that reject in the rest of the final message, by the rules for text around a verdict block.

    `beside_object`: the answer is an object, which the model gave by a tool. It then closes its turn with a text, often
    a summary, so that only text that rejects counts.
    """
    found = (
        rejecting_words(_plain(text), is_after=is_after)
        for is_after in (False, True)
        for text in (after if is_after else before)
    )
    if words := next(filter(None, found), ""):
        return words
    beyond = () if beside_object else (text_beyond_closing(_plain(text).split("\n")) for text in after)
    return next(filter(None, beyond), "")


def _plain(message: str) -> str:
    return re.sub(r"\r\n?", "\n", without_escapes(message[:MAX_REPLY_LENGTH])).strip()


def _other_verdict(message: str) -> str:
    text = _plain(message)
    for content in named_blocks(text, WORD):
        if not _is_approval(content):
            return f"{WORD}: {' '.join(content.split())[:60]}"
    lines = shown_lines(text)
    for line in lines:
        if verdict_of(line) not in (None, Verdict.APPROVED):
            return line.strip()[:80]
    return next((found for part in (text, *paragraphs(lines)) if (found := other_object(part))), "")


def _is_approval(content: str) -> bool:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return bool(_APPROVES.search(content))
    approves = isinstance(value, dict) and value.get("verdict") == Verdict.APPROVED and not other_object(content)
    return approves and not contradicting_field(value, KNOWN_KEYS)
