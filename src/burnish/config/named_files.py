"""The files that settings name: what they say to an agent counts as much as the settings themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

COMMANDS = ".claude/commands"
PARSER = "parse-review"


def named_files(data: Mapping[str, Any]) -> list[str]:
    """Paths as written: prompts of reviewers and pipeline steps, scripts of agents, the slash command.

    Works on settings that are not validated yet.
    """
    steps = list(_items(data.get("pipeline")))
    reviewers = [*_items(_part(data, "review", "agents")), *(one for step in steps for one in _items(step, "agents"))]
    prompts = [_part(one, "prompt") for one in (*reviewers, *steps)]
    agents = data.get("agents")
    scripts = [_part(one, "script") for one in agents.values()] if isinstance(agents, Mapping) else []
    names = [*prompts, *scripts, *_commands(_part(data, "review", "slash_command"))]
    return list(dict.fromkeys(one for one in names if isinstance(one, str) and one))


def command_file(name: str) -> str:
    """`review:deep` is the file deep.md in the folder review."""
    return f"{COMMANDS}/{name.replace(':', '/')}.md"


def _commands(command: Any) -> Iterator[str]:
    if isinstance(command, str) and command.strip("/"):
        yield command_file(command.removeprefix("/"))
        yield command_file(PARSER)


def _part(data: Any, *path: str) -> Any:
    for name in path:
        data = data.get(name) if isinstance(data, Mapping) else None
    return data


def _items(data: Any, *path: str) -> list[Any]:
    found = _part(data, *path)
    return found if isinstance(found, list) else []
