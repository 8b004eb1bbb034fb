"""Another verdict in the same output: a reviewer's approval counts only if nothing that it printed rejects.

A program may print several messages, whole or in pieces, and a process that it started may write into its output.
Whichever of two verdicts stands last, in whatever event or spelling of one: both carry this call's number, and they
do not agree.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from burnish.agents.base import AgentFailure, FinishedCall
from burnish.agents.jsonlines import torn_line, used_tool_after
from burnish.core.finding import Severity
from burnish.core.text_encoding import skeleton

# -- verdict blocks -------------------------------------------------------------------------------
# Verdict blocks in what a program printed, in every spelling that a person would take for one.

BLOCK_NAME = r"burnish[-_ ]?verdict"
# Lines of a block that is looked at; no honest one is longer.
_MAX_LINES = 5_000
# An opening line is short, but for an object on the same line.
_MAX_OPENING_LENGTH = 20_000
_FENCE = "((?<!`)`{3,}(?!`)|(?<!~)~{3,}(?!~))"
# what quotes and lists put before a line
_MARGIN = re.compile(r"^[>\s]+")
# with anything behind it: where messages are put together, the next one follows on the same line
_CLOSING = re.compile(r"[>\s]*(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class PrintedBlock:
    content: str
    # a block that is not closed may be a part of one that is printed whole elsewhere
    closed: bool


def blocks_of(text: str, number: str) -> Iterator[PrintedBlock]:
    """Every fenced block with this number, in quotes and lists, too."""
    opening = re.compile(rf"{_FENCE}[^`~]{{0,40}}?{BLOCK_NAME}[^`~{{]{{0,40}}?{number}(.*)", re.DOTALL)
    lines = re.sub(r"\r\n?", "\n", text).split("\n")
    for at, line in enumerate(lines):
        found = _opened(line, opening)
        # with an escape behind the number it is a part of a JSON string, which is looked at by itself
        if found and not re.match(r"\\+[nrtu]", found[2]):
            yield _block(lines[at + 1 : at + 1 + _MAX_LINES], found, opening)


def _opened(line: str, opening: re.Pattern[str]) -> re.Match[str] | None:
    if "``" not in line and "~~" not in line:
        return None
    return opening.search(skeleton(line[:_MAX_OPENING_LENGTH]))


def _block(lines: list[str], found: re.Match[str], opening: re.Pattern[str]) -> PrintedBlock:
    content = [found[2]] if "{" in found[2] else []
    for line in lines:
        if opening_fence := _opened(line, opening):
            # two fences in a row: one closes this block, and the next message begins with the other
            return PrintedBlock("\n".join(content), closed=opening_fence[1].startswith(found[1] * 2))
        closing = _CLOSING.match(line)
        if closing and closing[1].startswith(found[1]):
            return PrintedBlock("\n".join(content), closed=True)
        content.append(_MARGIN.sub("", line))
    return PrintedBlock("\n".join(content), closed=False)


_ROLES = ("review", "parse")
_NUMBER = re.compile(rf"{BLOCK_NAME}[ \t]+([0-9a-f]{{12,64}})\b")
# inside of JSON a quote has one backslash or more before it: 31 where five texts of JSON are inside of each other
_QUOTE = r"\\{0,31}[\"']"
_OTHER_WORD = rf"{_QUOTE}verdict{_QUOTE}\s*:\s*{_QUOTE}(?!\s*approved?\s*{_QUOTE})[^\"'|\\]{{1,60}}{_QUOTE}"
_APPROVING = frozenset({"approved", "approve"})
# Objects in objects that may hold a text, and in texts.
_MAX_DEPTH = 8
# Objects that may surround a number, and how far before it one may begin.
_MOST_OBJECTS, _FARTHEST = 50, 50_000
# No honest output has more verdicts with one number, nor a longer one.
_MOST_VERDICTS, _MAX_LENGTH = 100, 200_000
# What every text with a verdict contains, in a block or as an object.
_MARK = re.compile(r"``|~~|\{")
_ESCAPED_LETTER = re.compile(r"\\u00(3[0-9]|[46][1-9a-f]|[57][0-9a])", re.IGNORECASE)
# The verdict of the example in the prompt, which some programs print.
_EXAMPLE = re.compile(r"verdict\W{1,9}approved\s*\|", re.IGNORECASE)
_REFUSING_WORDS = re.compile(
    rf"(?<!\\)(?:\bverdict\s*[:=]\s*(?:reject|changes_|needs_)|{_OTHER_WORD}|{_QUOTE}severity{_QUOTE}\s*:\s*{_QUOTE}error{_QUOTE}|{_QUOTE}blocking{_QUOTE}\s*:\s*true)",
    re.IGNORECASE,
)
_REGION_END = re.compile(r"\n[ \t]*\n|```|~~~|\n\}")
_HARMLESS = frozenset(severity.value for severity in Severity if severity is not Severity.ERROR)


def conflicting_verdict(who: str, call: FinishedCall, answer: str) -> AgentFailure | None:
    """The failure of a review whose answer approves, while a verdict with the same number elsewhere does not."""
    if call.role not in _ROLES:
        return None
    numbers = _numbers_of(answer)
    conflict = len(numbers) > _MOST_VERDICTS or any(
        _is_approving(answer, number) and _other_verdict(call.stdout, answer, number) for number in numbers
    )
    if not conflict:
        return None
    return AgentFailure(
        f"{who} failed: it printed two different verdicts.",
        retryable=True,
        hint="Everything it printed: `burnish log`.",
    )


def torn_output(who: str, call: FinishedCall, answer: str) -> AgentFailure | None:
    """The failure of a review that may approve, in whose output a line of JSON is damaged.

    What else was in that line is not known: it may have been the verdict. For programs that print events.
    """
    numbers = _numbers_of(answer)
    # without a number the words decide, or another agent that reads them
    rejects = 0 < len(numbers) <= _MOST_VERDICTS and not any(_is_approving(answer, number) for number in numbers)
    line = torn_line(call.stdout) if call.role in _ROLES and not rejects else ""
    if not line:
        return None
    return AgentFailure(
        f"{who} failed: a line of its output is damaged, so that a verdict may be lost.",
        retryable=True,
        hint="Everything it printed: `burnish log`.",
    )


def unfinished_answer(who: str, call: FinishedCall, answer: str) -> AgentFailure | None:
    """The failure of a review whose approval is followed by the use of a tool, and by no message."""
    approves = any(_is_approving(answer, number) for number in islice(_numbers_of(answer), _MOST_VERDICTS))
    if call.role not in _ROLES or not approves or not used_tool_after(call.stdout, answer):
        return None
    return AgentFailure(
        f"{who} failed: it used a tool after its answer and wrote nothing more.",
        retryable=True,
        hint="Everything it printed: `burnish log`.",
    )


def _numbers_of(answer: str) -> set[str]:
    number = _number_of_object(answer)
    return {*_NUMBER.findall(answer), *([number] if number else [])}


def _number_of_object(answer: str) -> str | None:
    value = _pairs(answer)
    number = dict(value).get("number") if isinstance(value, _Pairs) else None
    return number if isinstance(number, str) and re.fullmatch("[0-9a-f]{12,64}", number) else None


def _is_approving(answer: str, number: str) -> bool:
    """Does any verdict of the answer approve? Whether that one counts is decided by the reader of reviews."""
    values = _verdicts_in(answer, number)
    return any(isinstance(value, dict) and _word(value) in _APPROVING for value in values)


def _other_verdict(output: str, answer: str, number: str) -> bool:
    rows: dict[tuple[str, ...], list[str]] = {}
    for line in output.split("\n"):
        if line.lstrip().startswith("{"):
            _collect(_pairs(line), (), rows)
    # pieces of a message are put together, as the model wrote them; whole messages are looked at one by one
    messages = ("".join(pieces) for pieces in rows.values())
    whole = (piece for pieces in rows.values() if len(pieces) > 1 for piece in pieces if _MARK.search(piece))
    texts = [
        _ESCAPED_LETTER.sub(lambda found: chr(int(found[1], 16)), text) for text in (answer, output, *messages, *whole)
    ]
    own = [value for block in blocks_of(answer, number) if (value := _parsed(block.content)) is not None]
    only = _only_verdict(answer, number)
    return any(_refuses(text, number, own) or _refuses_by_object(text, number, only) for text in texts)


class _Pairs(list[tuple[str, Any]]):
    """An object with all of its keys, repeated ones too."""


_DECODER = json.JSONDecoder(object_pairs_hook=_Pairs)


def _pairs(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return None


def _collect(value: Any, place: tuple[str, ...], rows: dict[tuple[str, ...], list[str]]) -> None:
    if isinstance(value, _Pairs):
        if any(key == "number" for key, _ in value):
            # an object of the event itself, whatever escapes its keys have
            rows.setdefault((*place, "{}"), []).append(json.dumps(_without_pairs(value)))
        for key, part in value:
            _collect(part, (*place, key), rows)
    elif isinstance(value, list):
        for part in value:
            _collect(part, place, rows)
    elif isinstance(value, str):
        rows.setdefault(place, []).append(value)
        if value.lstrip().startswith(("{", "[")) and len(place) < _MAX_DEPTH:
            _collect(_pairs(value), (*place, ""), rows)


def _refuses(text: str, number: str, own: Sequence[Any]) -> bool:
    """Is there a block with this number that cannot be read as an approval, apart from `own`, those of the answer?"""
    blocks = list(islice(blocks_of(text, number), _MOST_VERDICTS + 1))
    if len(blocks) > _MOST_VERDICTS:
        return True
    for block in blocks:
        value = _parsed(block.content)
        if value is None:
            # who writes a verdict that cannot be parsed may have meant any
            if not _EXAMPLE.search(block.content) and (block.closed or _REFUSING_WORDS.search(block.content)):
                return True
        elif value not in own and (not isinstance(value, dict) or _is_other(value)):
            return True
    return False


def _only_verdict(answer: str, number: str) -> Any:
    """The verdict of the answer, if it has one alone: a reviewer that fixes approves with the errors that it fixed."""
    values = _verdicts_in(answer, number)
    return values[0] if values and all(value == values[0] for value in values) else None


def _verdicts_in(answer: str, number: str) -> list[Any]:
    values = [_parsed(block.content) for block in blocks_of(answer, number)]
    return values + [_object_around(answer, match.start(), number) for match in _numbered(number).finditer(answer)]


def _refuses_by_object(text: str, number: str, only: Any) -> bool:
    """Is there an object with this number, other than `only`, that says anything but an approval?"""
    blocks = re.compile(
        rf"{BLOCK_NAME}[^\n`]{{0,40}}?\b{number}\b[^\n`{{\"\\]{{0,80}}\n\s{{0,99}}(?=\{{)", re.IGNORECASE
    )
    places = [match.end() for match in islice(blocks.finditer(text), _MOST_VERDICTS + 1)]
    numbers = [match.start() for match in islice(_numbered(number).finditer(text), _MOST_VERDICTS + 1)]
    if max(len(places), len(numbers)) > _MOST_VERDICTS:
        return True
    if any(_is_other(value) and value != only for value in (_object_at(text, place) for place in places)):
        return True
    for at in numbers:
        value = _object_around(text, at, number)
        if (_is_other(value) and value != only) or (value is None and _REFUSING_WORDS.search(_region_around(text, at))):
            return True
    return False


def _region_around(text: str, place: int) -> str:
    """The object that cannot be parsed: from the brace before the number up to an empty line, a fence or a brace."""
    begin = text.rfind("{", max(0, place - _FARTHEST), place)
    if begin < 0 or _REGION_END.search(text, begin, place):
        return ""
    end = _REGION_END.search(text, place, place + _FARTHEST)
    return text[begin : end.start() if end else place + _FARTHEST]


def _numbered(number: str) -> re.Pattern[str]:
    return re.compile(rf"[\"']number[\"']\s{{0,99}}:\s{{0,99}}[\"']{number}[\"']", re.IGNORECASE)


def _object_around(text: str, place: int, number: str) -> Any:
    begin = place
    for _ in range(_MOST_OBJECTS):
        begin = text.rfind("{", max(0, place - _FARTHEST), begin)
        if begin < 0:
            break
        value = _object_at(text, begin)
        if isinstance(value, dict) and str(value.get("number")).lower() == number:
            return value
    return None


def _object_at(text: str, begin: int) -> Any:
    try:
        return _without_pairs(_DECODER.raw_decode(text[begin : begin + _MAX_LENGTH])[0])
    except (ValueError, RecursionError):
        return None


def _is_other(verdict: Any) -> bool:
    """None: it cannot be parsed, and is looked for by its words."""
    if not isinstance(verdict, dict):
        return False
    word = _word(verdict)
    if "|" in word:
        # the example in the prompt, which some programs print
        return False
    findings = verdict.get("findings") or []
    entries = findings if isinstance(findings, list) else [findings]
    grave = any(not isinstance(one, dict) or str(one.get("severity")).lower() not in _HARMLESS for one in entries)
    stops = verdict.get("blocking") not in (None, False, "", "false") or bool(verdict.get("rejection_reason"))
    return word not in _APPROVING or stops or grave


def _word(verdict: Mapping[str, Any]) -> str:
    return str(verdict.get("verdict")).strip().lower()


def _parsed(content: str) -> Any:
    """The JSON of a block; None for what is not JSON."""
    return _without_pairs(_pairs(content.strip().strip("\ufeff")))


def _without_pairs(value: Any) -> Any:
    """Plain objects. One that gives its verdict twice gives none."""
    if isinstance(value, _Pairs):
        keys = [key for key, _ in value]
        plain = {key: _without_pairs(part) for key, part in value}
        return plain | {"verdict": None} if keys.count("verdict") > 1 else plain
    return [_without_pairs(part) for part in value] if isinstance(value, list) else value
