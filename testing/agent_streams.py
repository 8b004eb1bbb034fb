"""Outputs of every agent program that prints events, for given messages; the last message is the answer."""

from __future__ import annotations

import json
from collections.abc import Callable

Events = list[dict[str, object]]


def _claude(*texts: str) -> Events:
    drafts = [{"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}} for text in texts]
    return [*drafts, {"type": "result", "result": texts[-1], "session_id": "s"}]


def _cursor(*texts: str) -> Events:
    """By its documentation: a tool is a pair of events."""
    events: Events = [{"type": "system", "subtype": "init", "session_id": "s", "permissionMode": "default"}]
    for text in texts[:-1]:
        events.append(
            {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": text}]}}
        )
        call = {"type": "tool_call", "call_id": "c", "tool_call": {"readToolCall": {"args": {"path": "a.py"}}}}
        events += [{**call, "subtype": "started"}, {**call, "subtype": "completed"}]
    content = [{"type": "text", "text": texts[-1]}]
    events.append({"type": "assistant", "message": {"role": "assistant", "content": content}, "session_id": "s"})
    return [
        *events,
        {"type": "result", "subtype": "success", "is_error": False, "result": texts[-1], "session_id": "s"},
    ]


def _amp(*texts: str) -> Events:
    """By its documentation: the form of claude, with the use of tools inside messages."""
    events: Events = [{"type": "system", "subtype": "init", "session_id": "T-1", "tools": ["Read"]}]
    for text in texts:
        content: list[dict[str, object]] = [{"type": "text", "text": text}]
        if text is not texts[-1]:
            content.append({"type": "tool_use", "id": "t", "name": "Read", "input": {"path": "a.py"}})
        events.append({"type": "assistant", "message": {"role": "assistant", "content": content}})
        if text is not texts[-1]:
            answer = {"type": "tool_result", "tool_use_id": "t", "content": "x = 1"}
            events.append({"type": "user", "message": {"role": "user", "content": [answer]}})
    return [
        *events,
        {"type": "result", "subtype": "success", "is_error": False, "result": texts[-1], "session_id": "T-1"},
    ]


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


def _pi(*texts: str) -> Events:
    events: Events = [{"type": "session", "id": "s"}]
    for text in texts:
        reason = "stop" if text is texts[-1] else "toolUse"
        message = {"role": "assistant", "content": [{"type": "text", "text": text}], "stopReason": reason}
        events += [{"type": "message_start", "message": {"role": "assistant", "content": []}}]
        events += [{"type": "message_end", "message": message}, {"type": "turn_end", "message": message}]
    return [*events, {"type": "agent_end", "messages": []}]


def _cline(*texts: str) -> Events:
    def event(kind: str, **more: object) -> dict[str, object]:
        return {"ts": "2026-11-17T18:35:42.013Z", "type": "agent_event", "event": {"type": kind, **more}}

    events: Events = []
    for text in texts:
        if events:
            tool = {"contentType": "tool", "toolCallId": "c", "toolName": "read_files"}
            events += [event("content_start", **tool), event("content_end", **tool, output=[])]
        events.append(event("content_end", contentType="text", text=text))
    events.append(event("done", reason="completed", text=texts[-1]))
    result = {"ts": "2026-11-17T18:35:42.013Z", "type": "run_result", "finishReason": "completed"}
    return [*events, {**result, "text": texts[-1], "usage": {}}]


def _agy(*texts: str) -> Events:
    """By its documentation."""
    events: Events = [{"event": "init", "conversation_id": "s", "init": {"model": "m"}}]
    for index, text in enumerate(texts):
        if index:
            tool = {"step_index": 10 + index, "step_type": "tool", "tool_name": "view_file", "state": "DONE"}
            events.append({"event": "step_update", "step_update": tool})
        step = {"step_index": index, "step_type": "agent_response", "state": "DONE", "text_delta": text}
        events.append({"event": "step_update", "step_update": step})
    usage = {"input_tokens": 10, "output_tokens": 2}
    return [*events, {"event": "result", "result": {"status": "SUCCESS", "response": texts[-1], "usage": usage}}]


def _object(*texts: str) -> Events:
    return [{"text": texts[-1]}]


STREAMS: dict[str, Callable[..., Events]] = {
    "claude": _claude,
    "qwen": _claude,
    "amp": _amp,
    "cursor": _cursor,
    "codex": _codex,
    "gemini": _gemini,
    "copilot": _copilot,
    "opencode": _opencode,
    "pi": _pi,
    "cline": _cline,
    "agy": _agy,
    "acp": _object,
    "llm": _object,
}


# Of the programs that print text: their output, and the files that they write.
TEXTS: dict[str, Callable[[str], tuple[str, dict[str, str]]]] = {
    "command": lambda text: (text + "\n", {}),
    "scripted": lambda text: (text + "\n", {}),
    "aider": lambda text: (
        "",
        {
            "chat.md": f"\n# aider chat started at 2026-11-15\n\n> Aider v0.86.2  \n\n#### Do it.  \n\n{text}\n"
            "\n> Tokens: 1.5k sent, 17 received. Cost: $0.0012 message, $0.0012 session.  \n"
        },
    ),
}


def lines_of(events: Events) -> list[str]:
    return [json.dumps(event, ensure_ascii=False) for event in events]
