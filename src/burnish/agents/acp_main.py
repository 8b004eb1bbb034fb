"""Talks to an Agent Client Protocol program: prompt on stdin, one JSON object on stdout. Started by `acp`.

    acp_main look|work login|no-login PROGRAM [ARGUMENT…]

`work` grants every permission that the program requests, `look` only those that change nothing. The program reads and
writes files by itself: this client offers neither file access nor a terminal. Each tool call is a line on stderr.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from burnish.agents.jsonlines import dig, json_lines, torn_line

if TYPE_CHECKING:
    from acp.client.connection import ClientSideConnection
    from acp.exceptions import RequestError
    from acp.schema import (
        NewSessionResponse,
        PermissionOption,
        PromptResponse,
        RequestPermissionResponse,
        ToolCallUpdate,
    )

LOOKS = ("read", "search", "think")
YES, NO = ("allow_once", "allow_always"), ("reject_once", "reject_always")
# One message may hold a whole file.
MAX_LINE_LENGTH = 64 * 1024 * 1024
CLOSING_SECONDS = 1.0
AUTH_REQUIRED = -32000
# A stored login is read in moments; a method that takes longer waits for a person. Each may open a window.
AUTHENTICATE_SECONDS = 20.0
MAX_METHODS = 3
# Some end the turn as if all were well, and say only in words that the model gave no answer.
EXCUSE = re.compile(r"(?:Info: [^\n]*?Retrying\.\.\.\s*)*Error: ")


class AcpFailure(Exception):
    """It answered, but not with work that is done."""


@dataclass
class Listener:
    """The client side: collects the program's messages and answers its permission requests."""

    may: str
    may_log_in: bool = True
    messages: list[str] = field(default_factory=lambda: [""])
    tools: int = 0
    cost: float | None = None
    usage: list[dict[str, Any]] = field(default_factory=list)
    asked: bool = False
    agent: str = ""
    # what it offers to log in with, and what came of it
    logins: list[str] = field(default_factory=list)
    login_problem: str = ""
    session: str = ""
    # tools by id, and whether they are done
    tool_states: dict[str, bool] = field(default_factory=dict)
    # messages on the wire that were not taken into `messages`, and lines that cannot be read
    missed_messages: int = 0
    torn_lines: int = 0

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **more: Any
    ) -> RequestPermissionResponse:
        from acp.schema import AllowedOutcome, DeniedOutcome, RequestPermissionResponse

        if session_id == self.session:
            self.see_tool(tool_call)
        is_allowed = self.may == "work" or tool_call.kind in LOOKS
        tell("allowed" if is_allowed else "refused", tool_call.title)
        option = choice(options, is_allowed)
        if option is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=option))

    async def session_update(self, session_id: str, update: Any, **more: Any) -> None:
        match update.session_update:
            case "agent_message_chunk" if session_id != self.session:
                # of a session that it opened itself, for a helper of its own
                self.missed_messages -= 1
            case "agent_message_chunk" if isinstance(text := getattr(update.content, "text", None), str):
                self.missed_messages -= 1
                self.messages[-1] += text
                report({"said": text})
            case "tool_call" | "tool_call_update" if session_id == self.session:
                self.see_tool(update)
            case "usage_update" if update.cost and update.cost.currency == "USD":
                # cumulative: a later amount that is lower, negative or not a number is an error
                self.cost = max(
                    (one for one in (self.cost, update.cost.amount) if one is not None and one >= 0), default=None
                )
                # the caller may stop the program when its budget is used up
                report({"cost": self.cost})

    def see_tool(self, update: Any) -> None:
        """Text after the start or the end of a tool call is a new message, on a new line."""
        is_done = update.status in ("completed", "failed")
        name = str(update.tool_call_id)
        if name not in self.tool_states:
            self.tools += 1
            tell(update.kind or "tool", update.title)
        if self.tool_states.get(name) is not True:
            report_tool(name, update)
        # some report a call only once it is done
        if self.tool_states.get(name) is not is_done and (is_done or name not in self.tool_states):
            self.messages.append("")
        self.tool_states[name] = is_done or self.tool_states.get(name, False)

    def see_line(self, line: bytes) -> None:
        """The library drops what it cannot parse or does not know, and only logs it."""
        text = line.decode("utf-8", "replace")
        if torn_line(text):
            self.torn_lines += 1
        elif message_kind(text) is not None:
            self.missed_messages += 1

    @property
    def last(self) -> str:
        return next((reply.strip() for reply in reversed(self.messages) if reply.strip()), "")

    @property
    def text(self) -> str:
        return "\n\n".join(reply.strip() for reply in self.messages if reply.strip())


def choice(options: list[PermissionOption], is_allowed: bool) -> str | None:
    """For this once rather than for ever; None if there is no such answer to give."""
    kinds = {option.kind: option.option_id for option in reversed(options)}
    return next((kinds[kind] for kind in (YES if is_allowed else NO) if kind in kinds), None)


def message_kind(line: str) -> str | None:
    """`agent_message_chunk` and whatever later versions call the words of the model."""
    message = next(iter(json_lines(line)), None)
    kind = dig(message, "params", "update", "sessionUpdate")
    is_words = isinstance(kind, str) and "message" in kind and not kind.startswith("user")
    return kind if is_words and dig(message, "method") == "session/update" else None


def report(values: dict[str, Any]) -> None:
    """An event for the caller, before the result."""
    print(json.dumps({"so_far": values}), flush=True)


def report_tool(name: str, update: Any) -> None:
    arguments = update.raw_input if isinstance(update.raw_input, dict) else None
    paths = [location.path for location in update.locations or ()]
    values = arguments or ({"path": paths[0]} if paths else None)
    tool = {"id": name, "name": update.kind or "tool", "title": update.title or "", "input": values}
    report({"tool": {**tool, "state": update.status or "pending"}})


def tell(what: str, title: str | None) -> None:
    print(f"{what}: {' '.join((title or '').split())[:200]}", file=sys.stderr, flush=True)


# These count less than they use: opencode the tokens of its last call only, gemini no thoughts.
COUNT_A_PART = ("opencode", "gemini")


def used_tokens(end: PromptResponse) -> list[dict[str, Any]]:
    """Per model what the turn took: from the protocol's own field, or from gemini's `_meta.quota`."""
    if end.usage:
        usage = end.usage
        cached = usage.cached_read_tokens or 0
        out = usage.output_tokens + (usage.thought_tokens or 0)
        # some count what came from the cache as input, others beside it
        return [{"model": "", "new": max(0, usage.total_tokens - cached - out), "cached": cached, "out": out}]
    quota = (end.field_meta or {}).get("quota")
    if not isinstance(quota, dict):
        return []
    models = quota.get("model_usage")
    entries = [one for one in (models if isinstance(models, list) else ()) if isinstance(one, dict)]
    # the sum of all models, where none is named
    entries = entries or [quota]
    found = []
    for one in entries:
        counts = one.get("token_count")
        if isinstance(counts, dict):
            tokens_in, tokens_out = counts.get("input_tokens"), counts.get("output_tokens")
            found.append({"model": one.get("model"), "new": tokens_in, "cached": 0, "out": tokens_out})
    return found


async def talk(agent: ClientSideConnection, listener: Listener, prompt: str) -> None:
    """One turn; `listener` has the tokens that it took, whatever its end."""
    from acp import PROTOCOL_VERSION
    from acp.helpers import text_block
    from acp.schema import ClientCapabilities, Implementation

    us = Implementation(name="burnish", version="1")
    greeting = await agent.initialize(PROTOCOL_VERSION, client_capabilities=ClientCapabilities(), client_info=us)
    if greeting.protocol_version != PROTOCOL_VERSION:
        raise AcpFailure(
            f"it speaks version {greeting.protocol_version} of the protocol, and burnish {PROTOCOL_VERSION}"
        )
    listener.agent = greeting.agent_info.name if greeting.agent_info else ""
    listener.logins = [method.name for method in greeting.auth_methods or ()]
    session = await open_session(agent, listener, greeting.auth_methods or [])
    listener.session, listener.asked = session.session_id, True
    end = await agent.prompt(session_id=session.session_id, prompt=[text_block(prompt)])
    listener.usage = used_tokens(end)
    if end.stop_reason != "end_turn":
        raise AcpFailure(f"it stopped without an end ({end.stop_reason})")
    if excuse := EXCUSE.match(listener.last):
        raise AcpFailure(listener.last[excuse.end() :])


async def open_session(agent: ClientSideConnection, listener: Listener, methods: Sequence[Any]) -> NewSessionResponse:
    """Some have to be told by which method to log in, although they are: the stored login is used then."""
    from acp import RequestError

    try:
        return await agent.new_session(cwd=str(Path.cwd()), mcp_servers=[])
    except RequestError as problem:
        if problem.code != AUTH_REQUIRED:
            raise
        refusal = problem
    for method in unattended(methods) if listener.may_log_in else ():
        try:
            await asyncio.wait_for(agent.authenticate(method.id), AUTHENTICATE_SECONDS)
            return await agent.new_session(cwd=str(Path.cwd()), mcp_servers=[])
        except TimeoutError:
            # it waits for a person, at a browser or a terminal
            listener.login_problem = (
                f"{method.name}: no answer within {AUTHENTICATE_SECONDS:g} s, a person has to log in"
            )
            break
        except RequestError as problem:
            listener.login_problem = f"{method.name}: {problem}"
    raise refusal


def unattended(methods: Sequence[Any]) -> list[Any]:
    """Login methods that need no person, those whose variables are set first. Others may want a browser."""
    by_variable = [one for one in methods if getattr(one, "type", "") == "env_var" and has_variables(one)]
    return [*by_variable, *(one for one in methods if not getattr(one, "type", ""))][:MAX_METHODS]


def has_variables(method: Any) -> bool:
    return all(os.environ.get(variable.name) for variable in method.vars if not variable.optional)


async def answer(listener: Listener, program: list[str], prompt: str) -> dict[str, Any]:
    """Not by the library's own way to start programs: that waits for all who hold the pipe, leftovers too."""
    from acp import connect_to_agent
    from acp.interfaces import Client

    pipe = asyncio.subprocess.PIPE
    # no window on a person's screen in the middle of a run
    env = {**os.environ, "BROWSER": "false", "NO_BROWSER": "true"}
    process = await asyncio.create_subprocess_exec(*program, stdin=pipe, stdout=pipe, limit=MAX_LINE_LENGTH, env=env)
    assert process.stdin
    assert process.stdout
    output = asyncio.StreamReader(limit=MAX_LINE_LENGTH)
    copying = asyncio.create_task(pass_on(process.stdout, output, listener))
    agent = connect_to_agent(cast(Client, listener), process.stdin, output)
    turn, exit_watch = asyncio.create_task(outcome(agent, listener, prompt)), asyncio.create_task(end_of(process))
    await asyncio.wait({turn, exit_watch}, return_when=asyncio.FIRST_COMPLETED)
    if not turn.done():
        # its last words may be on their way
        await asyncio.wait({turn}, timeout=CLOSING_SECONDS)
    reply = turn.result() if turn.done() else died(listener)
    process.stdin.close()
    await asyncio.wait({exit_watch}, timeout=CLOSING_SECONDS)
    copying.cancel()
    if process.returncode is None:
        process.terminate()
    return reply


async def pass_on(source: asyncio.StreamReader, target: asyncio.StreamReader, listener: Listener) -> None:
    """Line by line to the library, which does not tell what it leaves out."""
    try:
        while line := await source.readline():
            listener.see_line(line)
            target.feed_data(line)
    except ValueError:
        # longer than any message
        listener.torn_lines += 1
    target.feed_eof()


async def end_of(process: asyncio.subprocess.Process) -> None:
    while process.returncode is None:
        await asyncio.sleep(0.05)


async def outcome(agent: ClientSideConnection, listener: Listener, prompt: str) -> dict[str, Any]:
    from acp import RequestError

    try:
        await talk(agent, listener, prompt)
    except RequestError as problem:
        why = login_required(listener) if problem.code == AUTH_REQUIRED else failed(problem)
        return {**why, **spent(listener)}
    except AcpFailure as problem:
        return {"error": str(problem), **spent(listener)}
    except ConnectionError:
        return died(listener)
    if listener.torn_lines or listener.missed_messages > 0:
        damage = "a line of its output is damaged" if listener.torn_lines else "a message of it has an unknown form"
        return {**words(listener), "damage": damage, **spent(listener)}
    return {**words(listener), **spent(listener)}


def words(listener: Listener) -> dict[str, Any]:
    """`messages`: what the model wrote between its tools; the last one is empty if it ended with a tool."""
    return {"text": listener.text, "messages": listener.messages, "tools": listener.tools}


def spent(listener: Listener) -> dict[str, Any]:
    partial = any(name in listener.agent.lower() for name in COUNT_A_PART)
    return {"agent": listener.agent, "usage": listener.usage, "cost": listener.cost, "partial": partial}


def died(listener: Listener) -> dict[str, Any]:
    """Before the prompt it is the program that is wrong; after it, the next try may do better."""
    return {"error": "it ended before it had answered", "died": True, "cut": listener.asked, **spent(listener)}


def login_required(listener: Listener) -> dict[str, Any]:
    choices = f" It offers: {', '.join(listener.logins)}." if listener.logins else ""
    attempt = f" Tried {listener.login_problem}." if listener.login_problem else ""
    return {"error": f"Authentication required: it is not logged in.{choices}{attempt}", "status": 401}


def failed(problem: RequestError) -> dict[str, Any]:
    """Some give the server's status as the code, most give it in words."""
    status = problem.code if 400 <= problem.code < 600 else None
    more = json.dumps(problem.data) if problem.data else ""
    return {"error": f"{problem} {more}".strip(), "status": status}


async def run(may: str, program: list[str], prompt: str, *, may_log_in: bool) -> None:
    try:
        reply = await answer(Listener(may, may_log_in=may_log_in), program, prompt)
    except OSError as problem:
        reply = {"error": f"{program[0]} could not be started: {problem.strerror}"}
    print(json.dumps(reply), flush=True)
    # Exit at once: what is left of the program may hold the pipe for ever. The parent process ends it.
    os._exit(1 if "error" in reply else 0)


def main() -> None:
    may, login, *program = sys.argv[1:]
    prompt = sys.stdin.buffer.read().decode("utf-8", "replace")
    asyncio.run(run(may, program, prompt, may_log_in=login == "login"))


if __name__ == "__main__":
    main()
