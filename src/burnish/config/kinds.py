"""Values that settings choose from: the kinds of agents, prompts, roles and formats of reports."""

from __future__ import annotations

from collections.abc import Sequence

from burnish.agents.base import CannotReview
from burnish.agents.registry import AGENTS

# Programs, in the order in which `agent: auto` looks for them.
CLI_KINDS = tuple(name for name, agent in AGENTS.items() if agent.program)
# `static` is part of burnish and has no adapter.
KINDS = (*AGENTS, "static")
# These need no entry under `agents:`.
READY_KINDS = (*(name for name, agent in AGENTS.items() if not agent.required_settings), "static")
NEED_ARGV = tuple(name for name, agent in AGENTS.items() if "argv" in agent.required_settings)
# The words of their option for reasoning effort; empty = any word, None = they have no such option.
EFFORTS = {name: agent.efforts for name, agent in AGENTS.items()} | {"static": None}
# Their reviewers see the prompt and nothing else, unless an entry says otherwise.
READ_NO_FILES = tuple(name for name, agent in AGENTS.items() if not agent.reads_files)
# Programs that cannot be limited to reading, each with the reason: authors only.
NO_REVIEWERS = {name: agent.review_problem for name, agent in AGENTS.items() if isinstance(agent, CannotReview)}
PROMPTS = ("review.system", "review.template", "fix.template", "implement.template")
ROLES = ("implement", "improve", "review", "parse")
# Formats of the report that a check may name, each by its own key.
REPORTS = ("junit", "sarif", "rdjson", "rdjsonl", "tap", "jest", "mocha", "go")


def effort_problem(kind: str, argv: Sequence[str], effort: str) -> str:
    """Why this effort cannot be passed to an agent of this kind; "" if it can."""
    words = EFFORTS.get(kind)
    if words is None:
        return f"{kind} has no option for reasoning effort"
    if words and effort not in words:
        return f"the effort of {kind} is one of {', '.join(words)}, not {effort!r}"
    if kind in NEED_ARGV and not any("{effort}" in word for word in argv):
        return f"argv of an agent of kind {kind} must have {{effort}} where the program takes it"
    return ""
