"""Which model codex uses: it does not print it, so that its price has to be found by its settings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from burnish.regular_files import parse_toml, read_regular

# What every installation on this machine shares; the user's own settings come first.
SYSTEM_CONFIG = Path("/etc/codex/config.toml")
_LONGEST_SESSION = 64 * 1024 * 1024


def codex_home(env: Mapping[str, str]) -> Path:
    return Path(env.get("CODEX_HOME") or Path(env.get("HOME") or "~").expanduser() / ".codex")


def configured_model(home: Path) -> str | None:
    """From `config.toml`, with the profile that it selects: as a table of its own file, or as a file beside it."""
    return next((model for path in (home / "config.toml", SYSTEM_CONFIG) if (model := _model_in(path))), None)


def session_model(home: Path, session: str) -> str | None:
    """The one that codex recorded last in the file of this session."""
    if not re.fullmatch(r"[0-9a-zA-Z-]{8,64}", session):
        return None
    models = [model for path in home.glob(f"sessions/*/*/*/rollout-*-{session}.jsonl") for model in _recorded(path)]
    return models[-1] if models else None


def _model_in(path: Path) -> str | None:
    config = _toml(path)
    name = config.get("profile")
    if isinstance(name, str) and re.fullmatch(r"[\w.-]+", name):
        profiles = config.get("profiles")
        table = profiles.get(name) if isinstance(profiles, dict) else None
        beside = _toml(path.with_name(f"{name}.config.toml"))
        for profile in (beside, table if isinstance(table, dict) else {}):
            if isinstance(profile.get("model"), str):
                return str(profile["model"])
    model = config.get("model")
    return model if isinstance(model, str) and model else None


def _toml(path: Path) -> dict[str, Any]:
    with suppress(ValueError, RecursionError):
        return parse_toml((read_regular(path) or b"").decode("utf-8"))
    return {}


def _recorded(path: Path) -> Iterator[str]:
    # Without a sandbox an author can put a pipe or a link in its place.
    data = read_regular(path, longest=_LONGEST_SESSION + 1, follow=False) or b""
    for line in data.split(b"\n") if len(data) <= _LONGEST_SESSION else ():
        if b'"turn_context"' not in line:
            continue
        with suppress(ValueError, RecursionError, AttributeError, TypeError):
            model = json.loads(line)["payload"]["model"]
            if isinstance(model, str):
                yield model
