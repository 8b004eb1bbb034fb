"""Outputs of every agent program that prints events, for given messages; the last message is the answer."""

from __future__ import annotations

import json
from collections.abc import Callable

Events = list[dict[str, object]]


def _claude(*texts: str) -> Events:
    drafts = [{"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}} for text in texts]
    return [*drafts, {"type": "result", "result": texts[-1], "session_id": "s"}]


def _codex(*texts: str) -> Events:
    said = [{"type": "item.completed", "item": {"type": "agent_message", "text": text}} for text in texts]
    return [{"type": "thread.started", "thread_id": "t"}, *said, {"type": "turn.completed", "usage": {}}]


def _gemini(*texts: str) -> Events:
    events: Events = [{"type": "init", "session_id": "s"}]
    for text in texts:
        events += [{"type": "tool_use", "tool_name": "read_file"}, {"type": "tool_result", "status": "success"}]
        half = len(text) // 2
        for piece in (text[:half], text[half:]):
            events.append({"type": "message", "role": "assistant", "content": piece, "delta": True})
    return [*events, {"type": "result", "status": "success", "stats": {}}]


def _copilot(*texts: str) -> Events:
    said = [{"type": "assistant.message", "data": {"content": text}} for text in texts]
    return [*said, {"type": "result", "sessionId": "s", "exitCode": 0}]


def _opencode(*texts: str) -> Events:
    events: Events = []
    for text in texts:
        reason = "stop" if text is texts[-1] else "tool-calls"
        events += [{"type": "step_start"}, {"type": "text", "part": {"text": text}}]
        events.append({"type": "step_finish", "part": {"reason": reason}})
    return events


def _object(*texts: str) -> Events:
    return [{"text": texts[-1]}]


STREAMS: dict[str, Callable[..., Events]] = {
    "claude": _claude,
    "qwen": _claude,
    "amp": _claude,
    "cursor": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "copilot": _copilot,
    "opencode": _opencode,
    "acp": _object,
    "llm": _object,
}


def lines_of(events: Events) -> list[str]:
    return [json.dumps(event, ensure_ascii=False) for event in events]
