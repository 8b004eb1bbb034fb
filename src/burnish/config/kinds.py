"""Which agents burnish knows by name. Plain words: nothing here may import pydantic."""

from __future__ import annotations

# In the order in which `agent: auto` looks for them.
CLI_KINDS = ("claude", "codex", "gemini", "opencode", "aider", "copilot", "qwen", "cursor", "amp")
KINDS = (*CLI_KINDS, "acp", "command", "llm", "static", "scripted")
# These need no entry under `agents:`; the others do not say by their name alone what to start.
READY_KINDS = (*CLI_KINDS, "llm", "static")
# These see what they are given and nothing else, unless an entry says otherwise.
READ_NO_FILES = ("llm", "aider")
PROMPTS = ("review.system", "review.template", "fix.template", "implement.template")
ROLES = ("implement", "improve", "review", "parse")
# Formats of the report that a check may name, each by its own key.
REPORTS = ("junit", "sarif", "tap", "jest", "mocha", "go")
