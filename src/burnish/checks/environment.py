"""What a check may see of the environment: the listed part, the isolation variables, and no keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from burnish.proc.environment import listed_environment


def check_environment(
    source: Mapping[str, str], *, places: Iterable[Path] = (), extra: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The environment of checks; a `.venv` in one of `places` comes first on the PATH."""
    return listed_environment(source, places=places) | dict(extra or {})
