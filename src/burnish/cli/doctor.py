"""burnish doctor"""

from __future__ import annotations

import sys
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

from burnish.cli.output import coloured, columns, count, one_line, pad, paint, say, say_json, visible, width, wrap
from burnish.cli.parameters import Option
from burnish.cli.session import AsJson, start_dir

if TYPE_CHECKING:
    from burnish.features.doctor.diagnostic import Diagnostic

TONES = {"ok": "green", "weak": "yellow", "missing": "red"}


def doctor(
    probe: Annotated[bool, Option("--probe", help="Also send each agent a one-word prompt.")] = False,
    as_json: AsJson = False,
) -> int:
    """Check this machine and repository for problems.

    Each problem is shown with a remedy. The exit code is 0 if tasks can run, and 1 if something that they need is
    missing.
    """
    from burnish.features.doctor.doctor import can_run, examine

    signs = examine(start_dir(), encoding=sys.stdout.encoding or "")
    if probe:
        from burnish.features.doctor.agents import probe_signs

        signs += probe_signs(start_dir())
    if as_json:
        say_json([asdict(sign) for sign in signs])
    else:
        for line in chart(signs, room=columns(sys.stdout), colour=coloured(sys.stdout)):
            say(line)
    return 0 if can_run(signs) else 1


def chart(signs: list[Diagnostic], *, room: int, colour: bool) -> list[str]:
    """The signs under their groups, aligned, and what they come to."""
    names = max(width(sign.name) for sign in signs)
    lines: list[str] = []
    for group, members in groupby(signs, key=lambda sign: sign.group):
        lines += ["", paint(group, "bold", on=colour)]
        for sign in members:
            lines += _entry(sign, names, min(room, 120), colour)
    return [*lines[1:], "", _closing(signs)]


def _entry(sign: Diagnostic, names: int, room: int, colour: bool) -> list[str]:
    state = paint(f"{sign.state:<7}", TONES[sign.state], on=colour)
    margin = 2 + names + 2 + 7 + 2
    first, *rest = wrap(visible(sign.what), room - margin)
    lines = [f"  {pad(one_line(sign.name), names)}  {state}  {first}", *(" " * margin + line for line in rest)]
    remedy = wrap(visible(sign.remedy), room - margin - 4) if sign.remedy else []
    return lines + [
        " " * margin + paint("do: " if number == 0 else "    ", "dim", on=colour) + line
        for number, line in enumerate(remedy)
    ]


def _closing(signs: list[Diagnostic]) -> str:
    missing = [sign.name for sign in signs if sign.state == "missing"]
    weak = sum(sign.state == "weak" for sign in signs)
    if missing:
        return f"Missing: {', '.join(missing)}. Tasks cannot run until this is fixed."
    if any(sign.name == "checkout" and sign.state == "weak" for sign in signs):
        return "Only the machine was checked: run `burnish doctor` again in a repository."
    if weak:
        return f"Tasks can run; {count(weak, 'warning')}."
    return "No problems found."
