"""What the model does, on the wire of each dialect: as one object, or as a stream of events."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from testing.model_turns import Turn, Use

# (event name or None, data); a stream may be broken off after the first
Event = tuple[str | None, Any]
Said = str | Use
OUT = 17
PIECE = 37


@dataclass(frozen=True, slots=True)
class TokensBilled:
    """What the server bills for one answer. `given` includes `cached`; thoughts are billed as output."""

    model: str
    given: int
    cached: int = 0
    thought: int = 0

    @property
    def out(self) -> int:
        return OUT + self.thought

    @property
    def total(self) -> int:
        return self.given + self.out


def new_id(prefix: str) -> str:
    return prefix + uuid.uuid4().hex[:20]


def whole(turn: Turn, said: Said, count: TokensBilled) -> dict[str, Any]:
    match turn.dialect:
        case "messages":
            content = [_block(part) for part in _parts(said)]
            return {**_message(turn, count), "content": content, "stop_reason": _stop(said)}
        case "chat":
            choice = {"index": 0, "message": _chat(said), "finish_reason": _finish(said)}
            return {**_completion(turn), "object": "chat.completion", "choices": [choice], "usage": _chat_usage(count)}
        case "responses":
            return _response(turn, "completed", [_item(turn, part) for part in _parts(said)], count)
        case _:
            return _generated(said, count)


def stream(turn: Turn, said: Said, count: TokensBilled) -> Iterator[Event]:
    match turn.dialect:
        case "messages":
            yield from _message_events(turn, said, count)
        case "chat":
            yield from _chat_events(turn, said, count)
        case "responses":
            yield from _response_events(turn, said, count)
        case _:
            for text in _pieces(said.words if isinstance(said, Use) else said):
                yield None, _generated(text, count)
            if isinstance(said, Use):
                yield None, _generated(replace(said, words=""), count)


def _parts(said: Said) -> list[Said]:
    """The words before a tool, and the tool."""
    return [said.words, said] if isinstance(said, Use) and said.words else [said]


def _pieces(text: str) -> list[str]:
    """As they come in a stream: cut anywhere, also within a word."""
    return [text[at : at + PIECE] for at in range(0, len(text), PIECE)]


def error(turn: Turn, status: int, message: str, details: Mapping[str, Any]) -> dict[str, Any]:
    kinds = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error"}
    kind = kinds.get(status, "api_error")
    match turn.dialect:
        case "messages":
            return {"type": "error", "error": {"type": kind, "message": message, **details}}
        case "gemini":
            states = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED"}
            return {"error": {"code": status, "message": message, "status": states.get(status, "INTERNAL"), **details}}
        case _:
            return {"error": {"message": message, "type": kind, "code": kind, "param": None, **details}}


# messages


def _message(turn: Turn, count: TokensBilled) -> dict[str, Any]:
    usage = {"input_tokens": count.given - count.cached, "output_tokens": count.out}
    usage |= {"cache_creation_input_tokens": 0, "cache_read_input_tokens": count.cached}
    head = {"id": new_id("msg_"), "type": "message", "role": "assistant", "model": turn.model}
    return {**head, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}


def _block(said: Said) -> dict[str, Any]:
    if isinstance(said, str):
        return {"type": "text", "text": said}
    return {"type": "tool_use", "id": new_id("toolu_"), "name": said.name, "input": said.arguments}


def _stop(said: Said) -> str:
    return "end_turn" if isinstance(said, str) else "tool_use"


def _message_events(turn: Turn, said: Said, count: TokensBilled) -> Iterator[Event]:
    def event(kind: str, **more: Any) -> Event:
        return kind, {"type": kind, **more}

    yield event("message_start", message=_message(turn, count))
    for index, part in enumerate(_parts(said)):
        empty: dict[str, Any] = {"text": ""} if isinstance(part, str) else {"input": {}}
        yield event("content_block_start", index=index, content_block={**_block(part), **empty})
        if isinstance(part, str):
            deltas = [{"type": "text_delta", "text": text} for text in _pieces(part)]
        else:
            deltas = [{"type": "input_json_delta", "partial_json": json.dumps(part.arguments)}]
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    end = {"stop_reason": _stop(said), "stop_sequence": None}
    yield event("message_delta", delta=end, usage={"output_tokens": count.out})
    yield event("message_stop")


# chat completions


def _completion(turn: Turn) -> dict[str, Any]:
    return {"id": new_id("chatcmpl-"), "created": 1, "model": turn.model}


def _chat_usage(count: TokensBilled) -> dict[str, Any]:
    told: dict[str, Any] = {"prompt_tokens": count.given, "completion_tokens": count.out, "total_tokens": count.total}
    told["prompt_tokens_details"] = {"cached_tokens": count.cached}
    return {**told, "completion_tokens_details": {"reasoning_tokens": count.thought}}


def _chat(said: Said) -> dict[str, Any]:
    if isinstance(said, str):
        return {"role": "assistant", "content": said}
    function = {"name": said.name, "arguments": json.dumps(said.arguments)}
    call = {"index": 0, "id": new_id("call_"), "type": "function", "function": function}
    return {"role": "assistant", "content": said.words or None, "tool_calls": [call]}


def _finish(said: Said) -> str:
    return "stop" if isinstance(said, str) else "tool_calls"


def _chat_events(turn: Turn, said: Said, count: TokensBilled) -> Iterator[Event]:
    base = {**_completion(turn), "object": "chat.completion.chunk"}

    def chunk(delta: Any, finish: str | None = None) -> Event:
        return None, {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": ""})
    for text in _pieces(said.words if isinstance(said, Use) else said):
        yield chunk({"content": text})
    if isinstance(said, Use):
        yield chunk({"tool_calls": _chat(said)["tool_calls"]})
    yield chunk({}, _finish(said))
    yield None, {**base, "choices": [], "usage": _chat_usage(count)}
    yield None, "[DONE]"


# responses


def _item(turn: Turn, said: Said) -> dict[str, Any]:
    if isinstance(said, str):
        content = [{"type": "output_text", "text": said, "annotations": []}]
        return {"type": "message", "id": new_id("msg_"), "role": "assistant", "status": "completed", "content": content}
    head = {"call_id": new_id("call_"), "name": said.name, "status": "completed"}
    if said.text is not None:
        return {"type": "custom_tool_call", "id": new_id("ctc_"), "input": said.text, **head}
    head |= {"namespace": said.namespace} if said.namespace else {}
    return {"type": "function_call", "id": new_id("fc_"), "arguments": json.dumps(said.arguments), **head}


def _response(turn: Turn, status: str, output: list[Any], count: TokensBilled) -> dict[str, Any]:
    usage: dict[str, Any] = {"input_tokens": count.given, "output_tokens": count.out, "total_tokens": count.total}
    usage["input_tokens_details"] = {"cached_tokens": count.cached}
    usage["output_tokens_details"] = {"reasoning_tokens": count.thought}
    head = {"id": new_id("resp_"), "object": "response", "created_at": 1, "model": turn.model}
    return {**head, "status": status, "output": output, "usage": usage if status == "completed" else None}


def _response_events(turn: Turn, said: Said, count: TokensBilled) -> Iterator[Event]:
    def event(kind: str, **more: Any) -> Event:
        return kind, {"type": kind, **more}

    yield event("response.created", response=_response(turn, "in_progress", [], count))
    items = [_item(turn, part) for part in _parts(said)]
    for index, (part, item) in enumerate(zip(_parts(said), items, strict=True)):
        place = {"item_id": item["id"], "output_index": index}
        begun = {**item, "status": "in_progress", **({"content": []} if isinstance(part, str) else {})}
        yield event("response.output_item.added", output_index=index, item=begun)
        if isinstance(part, str):
            empty = {"type": "output_text", "text": "", "annotations": []}
            yield event("response.content_part.added", **place, content_index=0, part=empty)
            for text in _pieces(part):
                yield event("response.output_text.delta", **place, content_index=0, delta=text)
            yield event("response.output_text.done", **place, content_index=0, text=part)
            yield event("response.content_part.done", **place, content_index=0, part=item["content"][0])
        elif part.text is None:
            yield event("response.function_call_arguments.done", **place, arguments=item["arguments"])
        yield event("response.output_item.done", output_index=index, item=item)
    yield event("response.completed", response=_response(turn, "completed", items, count))


# gemini


def _generated(said: Said, count: TokensBilled) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [
        {"text": part} if isinstance(part, str) else {"functionCall": {"name": part.name, "args": part.arguments}}
        for part in _parts(said)
    ]
    usage = {"promptTokenCount": count.given, "candidatesTokenCount": OUT, "totalTokenCount": count.total}
    if count.cached or count.thought:
        usage |= {"cachedContentTokenCount": count.cached, "thoughtsTokenCount": count.thought}
    candidate = {"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": count.model or "scripted"}
