"""Where an agent's program is."""

from __future__ import annotations

from pathlib import Path

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
