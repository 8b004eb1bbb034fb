"""`checks.test: auto` and `checks.lint: auto`: the checks that `burnish init` would write."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from burnish.checks.discover import BUILD, decide, discover
from burnish.checks.tools import Read, Surroundings
from burnish.core.policy import CheckSpec


@dataclass(frozen=True, slots=True)
class FoundChecks:
    """The checks that `auto` stands for, and notes on what was left out and why."""

    specs: tuple[CheckSpec, ...] = ()
    notes: tuple[str, ...] = ()


def find_checks(files: Iterable[str], read: Read, around: Surroundings | None = None) -> FoundChecks:
    """Test and lint checks of the repository; those of subprojects are named after their folder. May be empty."""
    found = discover(files, read, around or Surroundings())
    # Without `paths`: dependencies between parts are a guess, which users can correct only in burnish.yaml.
    specs = [
        CheckSpec(one.key[-1], one.value, found=True, cwd=one.cwd)
        for one in decide(found)
        if one.key[0] == "checks" and one.key != BUILD
    ]
    notes = [f"{tools.folder}: {note}" if tools.folder else note for tools in found for note in tools.notes]
    return FoundChecks(tuple(specs), tuple(notes))


def detect(files: Iterable[str], read: Read, around: Surroundings | None = None) -> tuple[CheckSpec, ...]:
    return find_checks(files, read, around).specs
