"""The exact environment of an agent: a fixed list of variables, not the whole environment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from burnish.agents.base import AgentSettings
from burnish.core.agent import AgentRequest
from burnish.proc.environment import listed_environment


def agent_environment(
    source: Mapping[str, str],
    request: AgentRequest,
    settings: AgentSettings,
    *,
    keys: tuple[str, ...],
    checkout: Path,
) -> dict[str, str]:
    """The listed variables, the agent's keys, what `env:` names, the request's own, and where it is."""
    # A reviewer does not take programs from a directory that the author of the change could write to.
    places = (checkout,) if request.read_only else (request.cwd, checkout)
    return {
        **listed_environment(source, places=places, extra=(*keys, *settings.env)),
        **request.env,
        "BURNISH_TASK": str(int(request.task)),
        "BURNISH_CYCLE": str(int(request.cycle)),
        "BURNISH_PHASE": request.phase,
        "BURNISH_WORKSPACE": str(request.cwd),
    }
