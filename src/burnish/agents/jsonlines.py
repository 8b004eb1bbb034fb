"""What programs print: one JSON object per line, or one object with noise around it, and the model's messages in it."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Json = Mapping[str, Any]


# In settings: what no JSON may have.
_STRING_OR_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_STRING_OR_LAST_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])')
# What the output cap and `read_text` put where they left something out.
LEFT_OUT = re.compile(r"(?m:^)\[burnish: +\d+ bytes left out here\](?m:\r?$)")
# A part of an object that was cut, or that another process wrote into: it begins or ends on this line.
_DAMAGED = re.compile(r'^\s*\{|\{\s*"|\}\s*$|"\s*:\s*"')
# The same, for a line anywhere: keys, quotes within a string, or what a program prints for a broken-off object.
_TORN = re.compile(r'\{"|^\s*\{\s*$|"\s*:\s*["\[{\d tfn-]|\\["nu]|["\]}]\s*\}+\s*$')
# Names of events and of their parts that stand for words of the model, in any program's spelling.
_MESSAGE = re.compile(r"message|(?<!con)text|answer|response|^final|^(?:assistant|model|agent)$", re.I)
_OTHER = re.compile(r"^(?:user|system|session|tool|reasoning|thinking)", re.I)
# Parts of an event that may hold text of their own.
_OTHER_PART = re.compile(r"reason|think|tool|error|command|file|search|todo|plan|step", re.I)
# What a damaged line holds is looked for this often: a line may be made of nothing but beginnings.
_MAX_RECOVERIES = 1000
_WORD_KEYS = ("text", "content", "message", "result", "item", "part", "role", "data")
# Objects in each other that are looked at: an event may be inside of another one.
_MAX_EVENT_DEPTH = 4


@dataclass(frozen=True, slots=True)
class EventStream:
    """The JSON objects of a program's output in order, and where a line between them could not be read."""

    events: tuple[Json, ...]
    # one entry per unreadable line: how many events stand before it
    gaps: tuple[int, ...]

    def __iter__(self) -> Iterator[tuple[int, Json]]:
        return iter(enumerate(self.events))

    def of_type(self, name: str) -> dict[int, Json]:
        """Index → event."""
        return {index: event for index, event in self if event.get("type") == name}

    def message_after(self, index: int, understood: Collection[int] = ()) -> bool:
        """Does a message follow the event with this index, apart from those that the adapter understood?"""
        return any(at > index and at not in understood and _looks_like_message(event) for at, event in self)

    def gap_after(self, index: int) -> bool:
        """Is a line unreadable that follows the event with this index? -1: any line."""
        return any(gap > index for gap in self.gaps)


def _looks_like_message(event: Json, depth: int = 0) -> bool:
    """Programs change the shape of their events: what may be the final message must not be skipped."""
    kind, role = event.get("type"), event.get("role")
    if not isinstance(kind, str):
        return any(key in event for key in _WORD_KEYS) or _holds_message(event, depth)
    if _OTHER.search(kind) or role == "user":
        return False
    if _MESSAGE.search(kind) or role is not None:
        return True
    is_part = any(key in event and _is_message_part(event[key], kind) for key in ("item", "part"))
    # an item that is not where it was in earlier versions
    is_part = is_part or (kind.startswith("item.") and "item" not in event)
    return is_part or _has_words(event.get("data"), kind) or _holds_message(event, depth)


def _has_words(data: Any, event_kind: str) -> bool:
    if not isinstance(data, dict) or _OTHER_PART.search(event_kind):
        return False
    return any(isinstance(data.get(key), str) for key in ("text", "content"))


def _holds_message(event: Json, depth: int) -> bool:
    """Whether an event inside of this one is a message: a program may print its events in another envelope."""
    inner = [one for value in event.values() for one in (value if isinstance(value, list) else [value])]
    objects = [one for one in inner if isinstance(one, dict)]
    return depth < _MAX_EVENT_DEPTH and any(
        _looks_like_message(one, depth + 1) if "type" in one else _holds_message(one, depth + 1) for one in objects
    )


def _is_message_part(part: Any, event_kind: str) -> bool:
    if not isinstance(part, dict):
        return True
    kind = str(part.get("type") or "")
    if not kind and not _OTHER_PART.search(event_kind):
        return True
    if _OTHER.search(kind):
        return False
    return bool(_MESSAGE.search(kind)) or (not _OTHER_PART.search(kind) and ("text" in part or "content" in part))


def read_events(text: str) -> EventStream:
    """Split at line feeds only: U+2028, U+2029 and U+0085 are legal inside of JSON strings."""
    events: list[Json] = []
    gaps: list[int] = []
    after_cut = False
    for line in text.split("\n"):
        if LEFT_OUT.fullmatch(line):
            # A cut counts as an unreadable line, and the rest of the cut line is never an event.
            gaps.append(len(events))
            after_cut = True
            continue
        value = _loads(line) if line.lstrip().startswith("{") and not after_cut else None
        if isinstance(value, dict):
            events.append(value)
        elif _DAMAGED.search(line):
            gaps.append(len(events))
        after_cut = False
    return EventStream(tuple(events), tuple(gaps))


def torn_line(text: str) -> str:
    """The first line that is a part of an object, and not a whole one; "" if there is none.

    What another process writes into a line leaves at least its beginning or its end. Where the output was cut, too,
    a message may be missing.
    """
    for line in text.split("\n"):
        if LEFT_OUT.fullmatch(line) or (_TORN.search(line) and not isinstance(_loads(line), dict)):
            return line.strip()
    return ""


def recover_events(text: str) -> list[Json]:
    """Objects inside of lines that cannot be read as a whole: another process may have written into them.

    An object that gives a key twice is there twice, with its last values and with its first ones.
    """
    found: list[Json] = []
    tries = 0
    for line in text.split("\n"):
        if isinstance(_loads(line), dict) or not _DAMAGED.search(line):
            continue
        at = line.find('{"')
        while at >= 0 and tries < _MAX_RECOVERIES:
            tries += 1
            values, end = _decode(line, at)
            found += [value for value in values if isinstance(value, dict)]
            at = line.find('{"', end)
    return found


def _decode(line: str, at: int) -> tuple[list[Any], int]:
    """The readings of the value that begins there, and where to look for the next one."""
    try:
        last, end = json.JSONDecoder().raw_decode(line, at)
        first = json.JSONDecoder(object_pairs_hook=lambda pairs: dict(reversed(pairs))).raw_decode(line, at)[0]
    except (ValueError, RecursionError):
        return [], at + 1
    return [last] if first == last else [last, first], end


def json_lines(text: str) -> Iterator[Json]:
    """Every line that is an object."""
    return iter(read_events(text).events)


def commented_json(text: str) -> Any:
    """Settings of a program: JSON, perhaps with comments and commas at the end of lists. ValueError: it is not."""
    for pattern in (_STRING_OR_COMMENT, _STRING_OR_LAST_COMMA):
        text = pattern.sub(lambda part: part[1] or "", text)
    return json.loads(text)


def json_value(text: str) -> Any:
    """The one object or list in a text that may have noise before and after it; None if there is none."""
    decoder = json.JSONDecoder()
    for found in re.finditer(r"^[ \t]*[{\[]", text, re.MULTILINE):
        try:
            return decoder.raw_decode(text, found.end() - 1)[0]
        except (ValueError, RecursionError):
            continue
    return None


def dig(value: Any, *keys: str) -> Any:
    """`value[a][b]…`, or None where there is no such thing."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def number(value: Any) -> int:
    """A count as programs give it; 0 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def text_or_empty(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _loads(text: str) -> Any:
    """The value of a whole line. With a key that occurs twice in an object it has two readings, and counts as none."""
    try:
        return json.loads(text, object_pairs_hook=_unique_keys)
    except (ValueError, RecursionError):
        return None


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key occurs twice")
    return value


# -- model messages -------------------------------------------------------------------------------
# What the model of an agent program wrote beside its answer: a reviewer may have decided otherwise there.
#
# A message ends where the model uses a tool. What it writes after its last look is its final message, in however many
# pieces a program prints that; what it writes before is work in progress.

# of one review; no honest one has more
_MOST_MESSAGES, _MAX_MESSAGE_LENGTH = 200, 50_000
# a call that gives the answer is not a look at something
_ANSWERING_TOOLS = ("StructuredOutput", "structured_output")
_NOT_WORK = ("agent_message", "reasoning", "error", "todo_list")


def other_messages(stdout: str, answer: str) -> tuple[str, ...]:
    """The messages that are not the answer, oldest first. Nothing for programs that print plain text."""
    return _others((text for group in _groups(read_events(stdout).events) for text in group), answer)


def text_around(stdout: str, answer: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The rest of the final message, before and after the answer. Words beside an object stand after it."""
    events = read_events(stdout).events
    texts = [text.strip() for text in _groups(events)[-1]]
    # an answer that is an object is not among the texts
    end = len(texts) - texts[::-1].index(answer.strip()) if answer.strip() in texts else len(texts)
    return _others(texts[:end], answer), _others((*texts[end:], *_beside(events)[-1:]), answer)


def used_tool_after(stdout: str, answer: str) -> bool:
    """Whether the answer is a text after which the model used a tool and wrote nothing more: it did not finish."""
    groups = _groups(read_events(stdout).events)
    return not groups[-1] and any(answer.strip() == text.strip() for group in groups for text in group)


def _others(texts: Iterable[str], answer: str) -> tuple[str, ...]:
    unique = dict.fromkeys(text.strip() for text in texts)
    found = (text[:_MAX_MESSAGE_LENGTH] for text in unique if text and not _is_same(text, answer.strip()))
    return tuple(found)[-_MOST_MESSAGES:]


def _is_same(text: str, answer: str) -> bool:
    """The answer itself, or the same JSON in another spelling: claude repeats its object as a text without spaces."""
    if text == answer:
        return True
    if not (text.startswith("{") and answer.startswith("{")):
        return False
    try:
        return _in_order(text) == _in_order(answer)
    except (ValueError, RecursionError):
        return False


def _in_order(text: str) -> str:
    """The same for each spelling. Objects become lists of pairs: a key that stands twice counts twice."""
    pairs = json.loads(text, object_pairs_hook=lambda pairs: ("object", sorted(pairs, key=lambda pair: pair[0])))
    return json.dumps(pairs)


def _groups(events: tuple[Json, ...]) -> list[list[str]]:
    """The texts between two uses of tools; of a message that is printed in pieces (gemini) one text."""
    groups: list[list[str]] = [[]]
    streaming = False
    for event in events:
        match event:
            case {"type": "message", "role": "assistant", "content": str(piece)}:
                groups[-1][-1:] = [groups[-1][-1] + piece] if streaming else [*groups[-1][-1:], piece]
                streaming = True
                continue
        for text in _texts(event):
            if text is None:
                streaming = False
            if text is None and groups[-1]:
                groups.append([])
            elif text is not None:
                groups[-1].append(text)
    return groups


def _texts(event: Json) -> Iterator[str | None]:
    """What the model wrote in an event; None for a tool that it used."""
    match event:
        # The form of Claude Code, which others print too. A message with a parent is a subagent's.
        case {"type": "assistant", "message": {"content": content}} if not event.get("parent_tool_use_id"):
            yield from _parts(content)
        case {"type": "item.completed", "item": {"type": "agent_message", "text": str(text)}}:  # codex
            yield text
        case {"type": "item.started" | "item.completed", "item": {"type": str(kind)}} if kind not in _NOT_WORK:
            yield None
        case {"type": "text", "part": {"text": str(text)}}:  # opencode
            yield text
        case {"type": "assistant.message", "data": {"content": str(text)}}:  # copilot
            yield text
        case {"type": "message_end", "message": {"role": "assistant", "content": content}}:  # pi
            yield from _parts(content)
        case {"type": "agent_event", "event": {"type": "content_end", "contentType": "text", "text": str(text)}}:
            yield text  # cline
        case {"type": "agent_event", "event": {"contentType": "tool"}}:
            yield None
        # gemini, opencode, cursor, copilot
        case {"type": "tool_use" | "tool_result" | "tool_call" | "tool.execution_start" | "tool.execution_complete"}:
            yield None


def _parts(content: Any) -> Iterator[str | None]:
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list) else ():
        if isinstance(text := dig(part, "text"), str):
            yield text
        elif dig(part, "type") in ("tool_use", "toolCall") and dig(part, "name") not in _ANSWERING_TOOLS:
            yield None


def _beside(events: tuple[Json, ...]) -> list[str]:
    """Words in the events that may hold an object as the answer; the last of them is the answer's."""
    words = []
    for event in events:
        match event:
            # the final event of Claude Code's form; of `llm`, what the model wrote beside its tool call
            case {"type": "result", "result": str(text)} | {"text": str(_), "words": str(text)}:
                words.append(text)
    return words
