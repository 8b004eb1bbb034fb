"""What a real program says it used, against what the model server billed."""

from __future__ import annotations

from dataclasses import replace

from burnish.agents.base import AgentSettings
from burnish.agents.prices import cost
from burnish.core.agent import AgentReply
from burnish.core.cost import CostSource
from testing.model_turns import Say, Shell
from testing.model_wire import TokensBilled
from tools.agent_bench import Lacks, bench, script
from tools.agent_programs import Program

# A model with a list price that the program takes without asking anybody about it.
MODELS = {
    "codex": "gpt-6-sol",
    "gemini": "gemini-2.5-pro",
    "qwen": "qwen3-coder-plus",
    "copilot": "gpt-5",
    "cline": "gpt-5",
}
THOUGHTS = 500
# They leave out calls of their own: the one that finds a title; aider rounds.
PARTIAL = ("opencode", "aider")


def counts_money(program: Program) -> str:
    """Two calls, the second in the session of the first where that can be; the bill of both."""
    if program.only_reviews:
        raise Lacks("it has no session")
    priced = with_priced_model(program)
    with bench(priced, script(Shell(": look"), Say("All done."))) as it:
        it.server.thoughts, it.server.caches = THOUGHTS, True
        entry = AgentSettings(name="it", kind=program.name, resume=program.resumes)
        # codex: where its user sets it, and nowhere else
        model = None if program.name == "codex" else priced.model
        first = it.call(entry=entry, model=model)
        earlier = {"session": first.session, "session_usage": first.session_usage} if program.resumes else {}
        second = it.call(entry=entry, model=model, role="improve", phase="improve", **earlier)
        return compared(program.name, [first, second], it.server.billed)


def compared(name: str, replies: list[AgentReply], billed: list[TokensBilled]) -> str:
    tokens, truth = sum(reply.tokens for reply in replies), sum(one.total for one in billed)
    usd = [reply.cost_usd for reply in replies if reply.cost_usd is not None]
    prices = [cost(one.model, new=one.given - one.cached, cached=one.cached, out=one.out) or 0.0 for one in billed]
    told = f"{tokens} of {truth} tokens"
    if usd and sum(prices):
        told += f", ${sum(usd):.4f} of ${sum(prices):.4f} ({replies[-1].cost_source})"
    if name not in PARTIAL:
        assert tokens == truth, told
        # claude has a price list of its own; a list price must match
        exact = replies[-1].cost_source == CostSource.LIST
        assert len(usd) == len(replies), told
        assert abs(sum(usd) - sum(prices)) < 0.0001 if exact else sum(usd) > sum(prices) - 0.0001, told
    return told


def with_priced_model(program: Program) -> Program:
    model = MODELS.get(program.name)
    if not model:
        return program
    if program.name != "codex":
        return replace(program, model=model)
    home = program.home

    def with_model(url: str) -> dict[str, str]:
        return {path: f'model = "{model}"\n{text}' for path, text in home(url).items()}

    return replace(program, model=model, home=with_model)
