"""A model's API directly, without an agent program in between: to review and to read, never to write code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec

from burnish.agents.base import (
    NO_LOGIN,
    REPORTS_TOKENS,
    AgentFailure,
    AgentSettings,
    Call,
    FinishedCall,
    Login,
    StopHook,
    UsageReport,
)
from burnish.agents.failure import contradictory, failure, missing_answer, structured_conflict, unreadable
from burnish.agents.jsonlines import Json, json_value, number, read_events, text_or_empty
from burnish.agents.program import own_program
from burnish.agents.steps import Said, Step
from burnish.agents.usage import TokenCount, billed, dollars, highest
from burnish.core.agent import AgentReply, AgentRequest
from burnish.errors import BadInput
from burnish.proc.run import ProgramMissing

# by the maker's name as pydantic-ai has it; one of them suffices
_KEYS = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "google": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
}
_LOGIN = "Set the key of the model's maker, e.g. ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY."


@dataclass(frozen=True, slots=True)
class LlmAgent:
    """A process like every other agent: `llm_main` asks the model and prints one object."""

    name: str = "llm"
    program: str = ""
    verified: bool = True
    tested_version: str = ""
    min_version: str = ""
    update: str = ""
    efforts: tuple[str, ...] | None = ("minimal", "low", "medium", "high", "xhigh", "max")
    keys: tuple[str, ...] = (
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "OPENAI_ORG_ID",
        "OPENAI_PROJECT_ID",
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
        "GOOGLE_GEMINI_BASE_URL",
        "OLLAMA_API_KEY",
        "OLLAMA_BASE_URL",
    )
    output_files: tuple[str, ...] = ()
    project_files: tuple[str, ...] = ()
    login: Login = NO_LOGIN
    required_settings: tuple[str, ...] = ()
    reads_files: bool = False
    usage: UsageReport = REPORTS_TOKENS
    stop_hook: StopHook | None = None

    def call(self, request: AgentRequest, settings: AgentSettings) -> Call:
        if request.role not in ("review", "parse"):
            raise BadInput(
                f"{settings.name} asks a model directly: it can review, but not {request.role}.",
                hint="Give this role an agent that can change files, e.g. `agent: claude`.",
            )
        if not request.model:
            raise BadInput(
                f"{settings.name} has no model.", hint=f"Set `agents: {{{settings.name}: {{model: 'openai:…'}}}}`."
            )
        if find_spec("pydantic_ai") is None:
            raise ProgramMissing(
                f"{settings.name} needs pydantic-ai, which is not installed.", hint="pip install 'burnish[llm]'"
            )
        argv = [*own_program("llm_main"), request.model, f"{request.timeout_seconds:g}"]
        argv.append(settings.effort(request))
        if not request.schema:
            return Call(tuple(argv), stdin=request.prompt)
        argv.append(str(request.call_dir / "schema.json"))
        return Call(tuple(argv), stdin=request.prompt, files={"schema.json": request.schema})

    def read(self, call: FinishedCall) -> AgentReply | AgentFailure:
        stream = read_events(call.stdout)
        if damage := unreadable("The model", call, stream, len(stream.events) - 1):
            return damage
        if problem := contradictory("The model", call, [event.get("text") for event in stream.events]):
            return problem
        result = stream.events[-1] if stream.events else None
        if result is None:
            return missing_answer("The model", call, login=_LOGIN)
        if call.exit_code != 0 or "error" in result:
            status = number(result.get("status")) or None
            return failure(
                "The model",
                text_or_empty(result.get("error")),
                status=status,
                cut=bool(result.get("cut")),
                login=_LOGIN,
                is_program_error=True,
            )
        text = text_or_empty(result.get("text"))
        if not text:
            return failure("The model", "the answer was empty", cut=True)
        if words_beside := text_or_empty(result.get("words")):
            both = {"result": words_beside, "answer": json_value(text)}
            if problem := structured_conflict("The model", both, "answer"):
                return problem
        return _reply(text, list(stream.events))

    def bill(self, call: FinishedCall) -> AgentReply | None:
        events = list(read_events(call.stdout).events)
        return _reply("", events) if events else None

    def steps(self, event: Json) -> Iterable[Step]:
        return (Said(text_or_empty(event.get("words")) or text_or_empty(event.get("text"))),)


def lacking(model: str | None, env: Mapping[str, str]) -> tuple[str, str] | None:
    """What keeps a model from being asked, and the remedy; None where only asking can tell."""
    from burnish.agents.llm_main import ModelFailure, full_name

    if find_spec("pydantic_ai") is None:
        return "pydantic-ai is not installed", "pip install 'burnish[llm]'"
    if not model:
        return "it has no model", "Name one where the agent is described or used: `model: 'openai:…'`."
    try:
        keys = _KEYS.get(full_name(model, dict(env)).partition(":")[0], ())
    except ModelFailure as refused:
        what, _, remedy = str(refused).partition(": ")
        return what, f"{remedy[:1].upper()}{remedy[1:]}."
    if keys and not any(env.get(key) for key in keys):
        return f"{' or '.join(keys)} is not set", "Set it where burnish is started."
    return None


def _reply(text: str, results: list[Json]) -> AgentReply:
    """Of several result lines the highest count of each kind, and the most expensive model."""
    models = [text_or_empty(result.get("model")) for result in results]
    counts = [TokenCount.apart(*(result.get(key) for key in ("new", "cached", "out"))) for result in results]
    used = highest(counts)
    costs = [usd for result in results if (usd := dollars(result.get("cost"))) is not None]
    by_list = used.highest_price(models)
    reply = AgentReply(text, models[-1] or None, text_or_empty(results[-1].get("provider")), tokens=used.total)
    complete = all(count.complete for count in counts)
    # pydantic-ai's figure is a list price too
    by_list = max(costs, default=None) if by_list is None else by_list
    return billed(reply, None, by_list, has_all_tokens=complete, partial=not complete)
