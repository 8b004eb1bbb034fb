"""Another verdict in the same output: a reviewer's approval counts only if nothing that it printed rejects.

A program may print several messages, whole or in pieces, and a process that it started may write into its output.
Whichever of two verdicts stands last, in whatever event or spelling of one: both carry this call's number, and they
do not agree.
"""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import Any

from burnish.agents.base import AgentFailure, Spoken

_ROLES = ("review", "parse")
_BLOCK_NAME = r"burnish[-_ ]?verdict"
_NUMBER = re.compile(rf"{_BLOCK_NAME}[ \t]+([0-9a-f]{{12,64}})\b")
_SCHEMA_NUMBER = re.compile(r'"number"\s*:\s*"([0-9a-f]{12,64})"')
# inside of JSON a quote has one backslash or more before it
_QUOTE = r"\\*[\"']"
_OTHER_WORD = rf"{_QUOTE}verdict{_QUOTE}\s*:\s*{_QUOTE}(?!\s*approved?\s*{_QUOTE})[^\"'|\\]{{1,60}}{_QUOTE}"
_APPROVING = frozenset({"approved", "approve"})
# Objects in objects that may hold a text, and in texts.
_DEEPEST = 8
# Objects that may surround a number, and how far before it one may begin.
_MOST_OBJECTS, _FARTHEST = 50, 50_000
# No honest output has more verdicts with one number, nor a longer one.
_MOST_VERDICTS, _LONGEST = 100, 200_000
_DECODER = json.JSONDecoder()


def conflicting_verdict(who: str, done: Spoken, answer: str) -> AgentFailure | None:
    """The failure of a review whose answer approves, while a verdict with the same number elsewhere does not."""
    if done.role not in _ROLES:
        return None
    found = _NUMBER.search(answer)
    by_schema = None if found else _SCHEMA_NUMBER.search(answer) if answer.lstrip().startswith("{") else None
    number = found or by_schema
    if number is None or _refuses(answer, number[1]) or not _other_verdict(done.stdout, number[1], bool(by_schema)):
        return None
    return AgentFailure(
        f"{who} failed: it printed two different verdicts.",
        retryable=True,
        hint="Everything it printed: `burnish log`.",
    )


def _other_verdict(output: str, number: str, by_schema: bool) -> bool:
    rows: dict[tuple[str, ...], list[str]] = {}
    damaged = []
    for line in output.split("\n"):
        event = _pairs(line) if line.lstrip().startswith("{") else None
        if event is None:
            damaged.append(line)
        else:
            _collect(event, (), rows)
    # pieces of a message are put together, as the model wrote them
    texts = (output, *("".join(pieces) for pieces in rows.values()))
    if any(_refuses(text, number) for text in texts):
        return True
    # in damaged lines only the words can be found
    rest = re.sub(r"\\+u0022", '"', "\n".join(damaged))
    if len(re.findall(f"{_BLOCK_NAME}[ \\t]+{number}", rest)) > _MOST_VERDICTS:
        return True
    patterns = [_damaged_block(number), *([_damaged_object(number)] if by_schema else [])]
    return any(pattern.search(rest) for pattern in patterns)


class _Pairs(list[tuple[str, Any]]):
    """An object with all of its keys, repeated ones too."""


def _pairs(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return None


def _collect(value: Any, place: tuple[str, ...], rows: dict[tuple[str, ...], list[str]]) -> None:
    if isinstance(value, _Pairs):
        for key, part in value:
            _collect(part, (*place, key), rows)
    elif isinstance(value, list):
        for part in value:
            _collect(part, place, rows)
    elif isinstance(value, str):
        rows.setdefault(place, []).append(value)
        if value.lstrip().startswith(("{", "[")) and len(place) < _DEEPEST:
            _collect(_pairs(value), (*place, ""), rows)


def _refuses(text: str, number: str) -> bool:
    """Does a block or an object with this number say anything but an approval?"""
    blocks = re.compile(
        rf"{_BLOCK_NAME}[^\n`]{{0,40}}?\b{number}\b[^\n`{{\"\\]{{0,80}}\n\s{{0,99}}(?=\{{)", re.IGNORECASE
    )
    places = [match.end() for match in islice(blocks.finditer(text), _MOST_VERDICTS + 1)]
    numbers = [match.start() for match in islice(_numbered(number).finditer(text), _MOST_VERDICTS + 1)]
    if max(len(places), len(numbers)) > _MOST_VERDICTS:
        return True
    found = [*(_object_at(text, place) for place in places), *(_object_around(text, at, number) for at in numbers)]
    return any(map(_is_other, found))


def _numbered(number: str) -> re.Pattern[str]:
    return re.compile(rf'"number"\s{{0,99}}:\s{{0,99}}"{number}"')


def _object_around(text: str, place: int, number: str) -> Any:
    begin = place
    for _ in range(_MOST_OBJECTS):
        begin = text.rfind("{", max(0, place - _FARTHEST), begin)
        if begin < 0:
            break
        value = _object_at(text, begin)
        if isinstance(value, dict) and value.get("number") == number:
            return value
    return None


def _object_at(text: str, begin: int) -> Any:
    try:
        return _DECODER.raw_decode(text[begin : begin + _LONGEST])[0]
    except (ValueError, RecursionError):
        return None


def _is_other(verdict: Any) -> bool:
    """None: it cannot be parsed, and is looked for by its words."""
    if not isinstance(verdict, dict):
        return False
    word = str(verdict.get("verdict")).strip().lower()
    if "|" in word:
        # the example in the prompt, which some programs print
        return False
    findings = verdict.get("findings")
    listed = findings if isinstance(findings, list) else []
    severities = [one.get("severity") for one in listed if isinstance(one, dict)]
    stops = verdict.get("blocking") not in (None, False, "", "false") or bool(verdict.get("rejection_reason"))
    return word not in _APPROVING or stops or "error" in severities


def _damaged_block(number: str) -> re.Pattern[str]:
    # up to the end of that block: the prompt, which some programs print, has the number and no verdict after it
    end = r"(?:\n|(?<!\\)\\n)[ \t]*(?:```|~~~)"
    return re.compile(
        rf"{_BLOCK_NAME}[ \t]+{number}(?:\\+[nrt]|\s){{1,8}}\{{(?:(?!{end}).){{0,20000}}?{_OTHER_WORD}",
        re.DOTALL | re.IGNORECASE,
    )


def _damaged_object(number: str) -> re.Pattern[str]:
    numbered = rf"{_QUOTE}number{_QUOTE}\s*:\s*{_QUOTE}{number}{_QUOTE}"
    other = rf"[^\n]{{0,20000}}?{_OTHER_WORD}"
    return re.compile(rf"{numbered}{other}|{_OTHER_WORD}[^\n]{{0,20000}}?{numbered}", re.IGNORECASE)
