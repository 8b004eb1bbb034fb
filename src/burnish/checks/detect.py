"""`checks.test: auto` and `checks.lint: auto`: the checks that `burnish init` would write."""

from __future__ import annotations

from collections.abc import Iterable

from burnish.checks.discover import decide, discover
from burnish.checks.tools import Read, Surroundings
from burnish.core.policy import CheckSpec


def detect(files: Iterable[str], read: Read, around: Surroundings | None = None) -> tuple[CheckSpec, ...]:
    """Test and lint checks of the repository, the ones of its parts named after their folder; none is a fine answer."""
    found = discover(files, read, around or Surroundings())
    return tuple(CheckSpec(one.key[-1], one.value, found=True) for one in decide(found) if one.key[0] == "checks")
