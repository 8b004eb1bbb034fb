"""Asks a model once: prompt on stdin, one JSON object on stdout. A program of its own, started by `llm`.

    llm_main MODEL SECONDS EFFORT [SCHEMA_FILE]

MODEL is `anthropic:…`, `openai:…`, `google:…` or `ollama:…`. Any other name is asked for at OPENAI_BASE_URL, which
may be any server that speaks OpenAI's chat completions. EFFORT may be empty. Keys and addresses come
from the environment.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.settings import ModelSettings, ThinkingLevel

MAKERS = {"anthropic": "anthropic", "google": "google", "gemini": "google", "ollama": "ollama"}
OLLAMA = "http://localhost:11434/v1"
# Anthropic's servers want a limit, and the usual 4096 would cut a long review.
MAX_TOKENS = 16_000
# The tool by which a model answers that cannot be held to a schema otherwise.
TOOL = "structured_output"


class ModelFailure(Exception):
    """Settings that no server need be asked about."""


def full_name(model: str, env: dict[str, str]) -> str:
    """The model as pydantic-ai calls it."""
    maker, colon, name = model.partition(":")
    if colon and maker in MAKERS:
        return f"{MAKERS[maker]}:{name}"
    own_server = bool(env.get("OPENAI_BASE_URL"))
    if colon and maker == "openai":
        # other servers than OpenAI's own know the chat completions at most
        return f"openai-chat:{name}" if own_server else model
    if own_server:
        # a colon may be part of a name: llama3:8b
        return f"openai-chat:{model}"
    raise ModelFailure(
        f"the model {model!r} says not whose it is: write anthropic:…, openai:…, google:… or ollama:…,"
        " or set OPENAI_BASE_URL to the server that has it"
    )


def settings_for(name: str, seconds: float, effort: str = "") -> ModelSettings:
    # the parent process retries, and counts the attempts
    settings: ModelSettings = {"timeout": seconds, "max_retries": 0}
    if name.startswith("anthropic:"):
        settings["max_tokens"] = MAX_TOKENS
    if effort:
        settings["thinking"] = cast("ThinkingLevel", effort)
    return settings


def spelled_out(schema: Any) -> Any:
    """With `anyOf` instead of lists of types, which not every maker's library reads."""
    if isinstance(schema, list):
        return [spelled_out(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    fields = {key: spelled_out(value) for key, value in schema.items()}
    if isinstance(schema.get("type"), list):
        return {"anyOf": [{"type": kind} for kind in fields.pop("type")], **fields}
    return fields


def parameters(model: Model, schema: dict[str, Any] | None) -> ModelRequestParameters:
    """By schema where the model can be held to one, else by a tool, which it may pass over for plain words."""
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition
    from pydantic_ai.tools import ToolDefinition

    if schema is None:
        return ModelRequestParameters()
    what = "The verdict. Its number is the one in the prompt."
    if model.profile.get("supports_json_schema_output"):
        form = OutputObjectDefinition(json_schema=schema, name="review", description=what, strict=True)
        return ModelRequestParameters(output_mode="native", output_object=form)
    tool = ToolDefinition(name=TOOL, parameters_json_schema=schema, description=what, kind="output")
    return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=True)


async def ask(name: str, prompt: str, schema: dict[str, Any] | None, settings: ModelSettings) -> ModelResponse:
    from pydantic_ai.direct import model_request
    from pydantic_ai.exceptions import ModelHTTPError
    from pydantic_ai.messages import ModelRequest
    from pydantic_ai.models import infer_model

    requests = [ModelRequest.user_text_prompt(prompt)]
    async with infer_model(name) as model:
        form = parameters(model, schema)
        try:
            return await model_request(model, requests, model_settings=settings, model_request_parameters=form)
        except ModelHTTPError as problem:
            # small servers know no schemas; the prompt asks for the same in words
            if schema is None or problem.status_code not in (400, 422, 501):
                raise
            print(f"again without a schema: {problem}", file=sys.stderr)
        return await model_request(model, requests, model_settings=settings)


def answer_of(response: ModelResponse) -> dict[str, Any]:
    """The answer as `text`, and words beside a tool call as `words`. Two different tool calls are not an answer."""
    from pydantic_ai.messages import TextPart, ToolCallPart

    words = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    calls = [part for part in response.parts if isinstance(part, ToolCallPart) and part.tool_name == TOOL]
    if not calls:
        return {"text": words}
    if any(call.args_as_json_str() != calls[0].args_as_json_str() for call in calls):
        return {"error": f"it gave {len(calls)} different answers", "cut": True}
    return {"text": calls[0].args_as_json_str(), "words": words}


def result(response: ModelResponse, *, priced: bool) -> dict[str, Any]:
    usage = response.usage
    cached = usage.cache_read_tokens
    fields = {
        "model": response.model_name,
        "provider": response.provider_name,
        "new": usage.input_tokens - cached,
        "cached": cached,
        "out": usage.output_tokens,
        "cost": price(response) if priced else None,
    }
    match response.finish_reason:
        case "length":
            return {**fields, "error": "its answer was longer than the model may give, and cut off"}
        case "content_filter":
            return {**fields, "error": "it refused to answer (content filter)"}
        case _:
            return {**fields, **answer_of(response)}


def price(response: ModelResponse) -> float | None:
    try:
        return float(response.cost().total_price)
    except (LookupError, AssertionError, ValueError):
        return None


def failed(problem: Exception) -> dict[str, Any]:
    """What went wrong, with the server's status if it gave one; `cut` if there was no whole answer to be had."""
    from pydantic_ai.exceptions import ModelConnectionError, ModelRequestTimeout, UnexpectedModelBehavior

    cut = isinstance(problem, ModelConnectionError | ModelRequestTimeout | UnexpectedModelBehavior | OSError)
    status = getattr(problem, "status_code", None)
    reply = words_of(getattr(problem, "body", None)) or str(problem) or type(problem).__name__
    return {"error": f"{status}: {reply}" if status else reply, "status": status, "cut": cut}


def words_of(body: object) -> str:
    """The server's own words, in the shapes the makers give them."""
    while isinstance(body, dict):
        body = body.get("message") or body.get("error")
    return body if isinstance(body, str) else ""


def answer(argv: list[str], prompt: str) -> dict[str, Any]:
    from pydantic_ai.exceptions import AgentRunError, UserError

    model, seconds, effort, *schema_file = argv
    schema = spelled_out(json.loads(Path(schema_file[0]).read_text("utf-8"))) if schema_file else None
    try:
        name = full_name(model, dict(os.environ))
        os.environ.setdefault("OLLAMA_BASE_URL", OLLAMA)
        response = asyncio.run(ask(name, prompt, schema, settings_for(name, float(seconds), effort)))
        # what a server of one's own takes for a model of that name is not known
        return result(response, priced=not name.startswith(("openai-chat:", "ollama:")))
    except (ModelFailure, UserError) as problem:
        return {"error": str(problem)}
    except (AgentRunError, OSError) as problem:
        return failed(problem)


def main() -> int:
    warnings.simplefilter("ignore")
    reply = answer(sys.argv[1:], sys.stdin.buffer.read().decode("utf-8", "replace"))
    print(json.dumps(reply), flush=True)
    return 1 if "error" in reply else 0


if __name__ == "__main__":
    raise SystemExit(main())
