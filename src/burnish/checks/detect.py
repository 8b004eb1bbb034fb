"""`checks.test: auto` and `checks.lint: auto`: the checks that `burnish init` would write."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from burnish.checks.discover import decide, discover
from burnish.checks.tools import Read, Surroundings
from burnish.core.policy import CheckSpec


@dataclass(frozen=True, slots=True)
class FoundChecks:
    """What `auto` stands for, and what was left out and why."""

    specs: tuple[CheckSpec, ...] = ()
    notes: tuple[str, ...] = ()


def find_checks(files: Iterable[str], read: Read, around: Surroundings | None = None) -> FoundChecks:
    """Test and lint checks of the repository, the ones of its parts named after their folder; none is a fine answer."""
    found = discover(files, read, around or Surroundings())
    # without `paths`: which parts depend on each other is a guess that only a written file lets people correct
    specs = [
        CheckSpec(one.key[-1], one.value, found=True, cwd=one.cwd) for one in decide(found) if one.key[0] == "checks"
    ]
    notes = [f"{tools.folder}: {note}" if tools.folder else note for tools in found for note in tools.notes]
    return FoundChecks(tuple(specs), tuple(notes))


def detect(files: Iterable[str], read: Read, around: Surroundings | None = None) -> tuple[CheckSpec, ...]:
    return find_checks(files, read, around).specs
