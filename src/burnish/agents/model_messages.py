"""What the model of an agent program wrote beside its final answer: a reviewer may have decided otherwise there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from burnish.agents.jsonlines import Json, dig, read_events

# of one review; no honest one has more
_MOST_MESSAGES, _LONGEST_MESSAGE = 200, 50_000


def other_messages(stdout: str, answer: str) -> tuple[str, ...]:
    """The messages that are not the answer, oldest first. Nothing for programs that print plain text."""
    events = read_events(stdout).events
    texts = dict.fromkeys(text.strip()[:_LONGEST_MESSAGE] for text in (*_whole(events), *_streamed(events)))
    return tuple(text for text in texts if text and text != answer.strip())[-_MOST_MESSAGES:]


def _whole(events: tuple[Json, ...]) -> Iterator[str]:
    """Events that hold one message each."""
    for event in events:
        match event:
            # claude, qwen, amp, cursor. A message with a parent is one of an assistant that the reviewer asked.
            case {"type": "assistant", "message": {"content": content}} if not event.get("parent_tool_use_id"):
                yield from _texts(content)
            # codex
            case {"type": "item.completed", "item": {"type": "agent_message", "text": str(text)}}:
                yield text
            # opencode
            case {"type": "text", "part": {"text": str(text)}}:
                yield text
            # copilot
            case {"type": "assistant.message", "data": {"content": str(text)}}:
                yield text
            # a result in words, beside an object that is the answer
            case {"type": "result", "result": str(text)}:
                yield text
            # llm: what the model wrote beside its tool call
            case {"text": str(_), "words": str(text)}:
                yield text


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list) else ():
        if isinstance(text := dig(part, "text"), str):
            yield text


def _streamed(events: tuple[Json, ...]) -> Iterator[str]:
    """gemini prints a message in pieces; a tool ends it."""
    message = ""
    for event in events:
        match event:
            case {"type": "message", "role": "assistant", "content": str(piece)}:
                message += piece
            case {"type": "tool_use"} | {"type": "tool_result"}:
                yield message
                message = ""
    yield message
