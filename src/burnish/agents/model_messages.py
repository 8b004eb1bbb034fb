"""What the model of an agent program wrote beside its answer: a reviewer may have decided otherwise there.

A message ends where the model uses a tool. What it writes after its last look is its final message, in however many
pieces a program prints that; what it writes before is work in progress.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from burnish.agents.jsonlines import Json, dig, read_events

# of one review; no honest one has more
_MOST_MESSAGES, _LONGEST_MESSAGE = 200, 50_000
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
    found = (text[:_LONGEST_MESSAGE] for text in unique if text and not _is_same(text, answer.strip()))
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
        # gemini, opencode, cursor, copilot
        case {"type": "tool_use" | "tool_result" | "tool_call" | "tool.execution_start" | "tool.execution_complete"}:
            yield None


def _parts(content: Any) -> Iterator[str | None]:
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list) else ():
        if isinstance(text := dig(part, "text"), str):
            yield text
        elif dig(part, "type") == "tool_use" and dig(part, "name") not in _ANSWERING_TOOLS:
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
