"""Values that settings choose from: the kinds of agents, prompts, roles and formats of reports."""

from __future__ import annotations

from burnish.agents.registry import AGENTS

# Programs, in the order in which `agent: auto` looks for them.
CLI_KINDS = tuple(name for name, agent in AGENTS.items() if agent.program)
# `static` is part of burnish and has no adapter.
KINDS = (*AGENTS, "static")
# These need no entry under `agents:`.
READY_KINDS = (*(name for name, agent in AGENTS.items() if not agent.required_settings), "static")
NEED_ARGV = tuple(name for name, agent in AGENTS.items() if "argv" in agent.required_settings)
# Their reviewers see the prompt and nothing else, unless an entry says otherwise.
READ_NO_FILES = tuple(name for name, agent in AGENTS.items() if not agent.reads_files)
PROMPTS = ("review.system", "review.template", "fix.template", "implement.template")
ROLES = ("implement", "improve", "review", "parse")
# Formats of the report that a check may name, each by its own key.
REPORTS = ("junit", "sarif", "rdjson", "rdjsonl", "tap", "jest", "mocha", "go")
