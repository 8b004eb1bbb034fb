"""Any program that speaks the Agent Client Protocol: `argv: [gemini, --acp]`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from burnish.agents.base import (
    NO_LOGIN,
    AgentFailure,
    AgentSettings,
    Call,
    CallUsage,
    FinishedCall,
    Login,
    StopHook,
    UsageReport,
)
from burnish.agents.command import OTHER_PROJECT_FILES, CommandAgent
from burnish.agents.failure import contradictory, failure, missing_answer, no_answer, unreadable
from burnish.agents.file_mentions import NO_ATTACHMENTS, without_mentions
from burnish.agents.jsonlines import Json, number, read_events, text_or_empty
from burnish.agents.program import located, own_program
from burnish.agents.steps import Said, Step, ToolEnded, ToolStarted, as_values
from burnish.agents.usage import TokenCount, billed, dollars, highest, token_count
from burnish.core.agent import AgentReply, AgentRequest, Use
from burnish.proc.run import ProgramMissing

_LOGIN = "Run the program once by hand and log in, or name the variable that holds its key under `env:`."
_WORKS = ("implement", "improve")
_USAGE_REPORT = UsageReport(omits_as_author="a command that an acp program runs can answer in its place")
_READS = ("review", "parse")


@dataclass(frozen=True, slots=True)
class AcpAgent:
    """`acp_main` talks to the program, answers its questions by role and prints one object at the end."""

    name: str = "acp"
    program: str = ""
    verified: bool = True
    tested_version: str = ""
    min_version: str = ""
    update: str = ""
    efforts: tuple[str, ...] | None = ()
    keys: tuple[str, ...] = ()
    output_files: tuple[str, ...] = ()
    project_files: tuple[str, ...] = OTHER_PROJECT_FILES
    login: Login = NO_LOGIN
    required_settings: tuple[str, ...] = ("argv",)
    reads_files: bool = True
    usage: UsageReport = _USAGE_REPORT
    stop_hook: StopHook | None = None

    def call(self, request: AgentRequest, settings: AgentSettings) -> Call:
        program = CommandAgent().call(request, settings).argv
        path = located(program)
        if find_spec("acp") is None:
            raise ProgramMissing(
                f"{settings.name} needs agent-client-protocol, which is not installed.",
                hint="pip install 'burnish[acp]'",
            )
        may = "look" if request.read_only or request.role == "parse" else "work"
        prompt = without_mentions(request.prompt) if request.quotes_change else request.prompt
        env = NO_ATTACHMENTS if request.quotes_change else {}
        login = "no-login" if _loses_login(program) else "login"
        return Call((*own_program("acp_main"), may, login, path, *program[1:]), stdin=prompt, env=env)

    def read(self, call: FinishedCall) -> AgentReply | AgentFailure:
        stream = read_events(call.stdout)
        results = {index: event for index, event in stream if "so_far" not in event}
        if damage := unreadable("The agent", call, stream, max(results, default=-1)):
            return damage
        if problem := contradictory("The agent", call, [event.get("text") for event in results.values()]):
            return problem
        result = results[max(results)] if results else None
        if result is None:
            return missing_answer("The agent", call, login=_LOGIN)
        text, earlier = _final_message(result, call)
        # some programs end the turn as a success and report a failed login only in the text
        if call.exit_code != 0 or "error" in result or no_answer(text):
            return _failure(result, text, call)
        if result.get("damage") and call.role in _READS:
            return failure("The agent", f"its answer cannot be read ({text_or_empty(result['damage'])})", cut=True)
        if not text and not (call.role in _WORKS and number(result.get("tools"))):
            return failure("The agent", "the answer was empty", cut=True)
        return replace(_reply(text or "(no output)", list(results.values()), call), other_messages=earlier)

    def bill(self, call: FinishedCall) -> AgentReply | None:
        results = [event for _, event in read_events(call.stdout) if "so_far" not in event]
        return _reply("", results, call) if results else None

    def call_usage(self, event: Json) -> CallUsage | None:
        """`acp_main` always reports the sum of all calls."""
        usage = event.get("so_far")
        if not isinstance(usage, dict):
            return None
        return "all", Use(dollars(usage.get("cost")), token_count(usage.get("tokens")))

    def steps(self, event: Json) -> Iterable[Step]:
        match event:
            case {"so_far": {"tool": {"id": str(id), "name": str(name), "state": str(state)} as tool}}:
                values = as_values(tool.get("input")) or {"description": text_or_empty(tool.get("title"))}
                start = ToolStarted(id, name, values)
                if state not in ("completed", "failed"):
                    return (start,)
                return (start, ToolEnded(id, has_failed=state == "failed"))
            case {"so_far": {"said": str(text)}}:
                return (Said(text, is_piece=True),)
        return ()


def _loses_login(argv: Sequence[str]) -> bool:
    """Whether it is a program whose stored login `authenticate` would replace: only a person may choose that."""
    # the registry names this module
    from burnish.agents.registry import AGENTS

    programs = tuple(agent.program for agent in AGENTS.values() if agent.login.is_replaced_by_acp)
    return any(Path(word).name.startswith(programs) for word in argv)


def _final_message(result: Json, call: FinishedCall) -> tuple[str, tuple[str, ...]]:
    """A reviewer's text after its last tool call, and its earlier messages. For an author, the whole text."""
    messages = result.get("messages")
    if call.role not in _READS or not isinstance(messages, list) or not messages:
        return text_or_empty(result.get("text")), ()
    return text_or_empty(messages[-1]), tuple(text for one in messages[:-1] if (text := text_or_empty(one)))


def _reply(text: str, results: list[Json], call: FinishedCall) -> AgentReply:
    """Of several result lines the highest counts of each model and the highest amount."""
    reports = [_counts(result) for result in results]
    names = dict.fromkeys(name for report in reports for name in report)
    counts = {name: highest(report[name] for report in reports if name in report) for name in names}
    prices = [count.price(name or call.model) for name, count in counts.items()]
    amounts = [price for price in prices if price is not None]
    reply = AgentReply(
        text,
        next((name for name in counts if name), None),
        text_or_empty(results[-1].get("agent")),
        tokens=sum(count.total for count in counts.values()),
    )
    costs = [usd for result in results if (usd := dollars(result.get("cost"))) is not None]
    complete = all(count.complete for report in reports for count in report.values())
    # a command that it runs can forge the answer that ends the turn; the program's own report is lost then
    runs_commands = call.role not in ("review", "parse")
    is_known_part = any(result.get("partial") for result in results)
    partial = runs_commands or is_known_part or len(amounts) < len(prices) or not complete
    own, by_list = max(costs, default=None), sum(amounts) if amounts else None
    if len(results) > 1 and own is not None and by_list is not None and by_list > own:
        # an amount in another line must not replace the higher price of the tokens
        own = None
    return billed(reply, own, by_list, has_all_tokens=complete and not runs_commands, partial=partial)


def _counts(result: Json) -> dict[str, TokenCount]:
    """By model; a program that reports several entries of one model means them to be added."""
    report = result.get("usage")
    counts: dict[str, TokenCount] = {}
    for one in report if isinstance(report, list) else ():
        if isinstance(one, dict):
            name = text_or_empty(one.get("model"))
            count = TokenCount.apart(*(one.get(key) for key in ("new", "cached", "out")))
            counts[name] = counts[name].plus(count) if name in counts else count
    return counts


def _failure(result: Json, text: str, call: FinishedCall) -> AgentFailure:
    error = text_or_empty(result.get("error"))
    message = error or text
    if result.get("died"):
        last = [line.strip() for line in call.stderr.split("\n") if line.strip()][-1:]
        message = ": ".join([message, *last])
    status = number(result.get("status")) or None
    is_cut, is_program_error = bool(result.get("cut")), bool(error)
    return failure("The agent", message, status=status, cut=is_cut, login=_LOGIN, is_program_error=is_program_error)
