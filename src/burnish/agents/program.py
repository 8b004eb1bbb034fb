"""The program of an agent: where it is, how one of ours is started, and the exact environment that it gets."""

from __future__ import annotations

import site
import sys
from collections.abc import Mapping
from pathlib import Path

from burnish.agents.base import AgentSettings
from burnish.core.agent import AgentRequest
from burnish.proc.environment import listed_environment
from burnish.proc.own_programs import find_agent_program, lies_in_untrusted_checkout
from burnish.proc.run import ProgramMissing


def located(argv: tuple[str, ...]) -> str:
    """The program's full path, by the user's own PATH: a workspace cannot put another in its place."""
    if not argv:
        raise ProgramMissing("The agent has no command.", hint="Give it `argv: [program, …]` in the settings.")
    if "/" in argv[0] and lies_in_untrusted_checkout(argv[0]):
        raise ProgramMissing(
            f"The program {argv[0]} lies in a checkout that is not trusted. It was not started.",
            hint="Accept the checkout with `burnish trust`, or name a program outside of it.",
        )
    found = argv[0] if "/" in argv[0] else find_agent_program(argv[0])
    if found is None:
        raise ProgramMissing(
            f"There is no program called {argv[0]} on your PATH.",
            hint=f"Install {argv[0]}, or choose another agent; `burnish doctor` shows what is there.",
        )
    return str(Path(found).absolute())


START = str(Path(__file__).absolute().parent / "module_starter.py")


def own_program(module: str) -> tuple[str, ...]:
    """Python and a module of `burnish.agents`, alone with what is installed."""
    # -I: a module of the workspace that is called like one of ours must not be taken for it
    return (sys.executable, "-I", START, *_hidden(), module)


def _hidden() -> list[str]:
    """Where packages are that we see and an isolated Python does not: those of `pip install --user`."""
    usual = {str(Path(place)) for place in site.getsitepackages()}
    package_folders = [place for place in sys.path if Path(place).name in ("site-packages", "dist-packages")]
    return [place for place in dict.fromkeys(package_folders) if Path(place).is_absolute() and place not in usual]


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
    roots = (checkout,) if request.read_only else (request.cwd, checkout)
    return {
        **listed_environment(source, roots=roots, extra=(*keys, *settings.env)),
        **request.env,
        "BURNISH_TASK": str(int(request.task)),
        "BURNISH_CYCLE": str(int(request.cycle)),
        "BURNISH_PHASE": request.phase,
        "BURNISH_WORKSPACE": str(request.cwd),
    }
