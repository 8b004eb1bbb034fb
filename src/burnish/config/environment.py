"""Settings from variables: `BURNISH__REVIEW__MAX_CYCLES=5`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from burnish.config.sources import PREFIX, Layer, Where, parse_yaml, put
from burnish.errors import BadInput


def env_layer(env: Mapping[str, str], below: Mapping[str, Any]) -> Layer:
    """The variables' layer; `below` is what it lies on, for names that a variable cannot spell."""
    data: dict[str, Any] = {}
    places: dict[Where, str] = {}
    for variable in sorted(name for name in env if name.startswith(PREFIX)):
        parts = variable.removeprefix(PREFIX).split("__")
        if not all(parts):
            raise BadInput(
                f"{variable} names no setting.",
                hint=f"Write it like {PREFIX}REVIEW__MAX_CYCLES.",
            )
        path = _spelled(parts, below)
        put(data, path, scalar(env[variable], variable))
        places[path] = variable
    return Layer("environment", data, places, whole=False)


def _spelled(parts: list[str], below: Mapping[str, Any]) -> tuple[str, ...]:
    """Lower case, or the way a name is written in the files: `MY_BOT` may mean `my-bot`."""
    path: list[str] = []
    here: Any = below
    for part in parts:
        names = here if isinstance(here, Mapping) else {}
        names_by_letters = {_folded(name): name for name in names}
        name = names_by_letters.get(_folded(part), part.lower())
        path.append(name)
        here = names.get(name)
    return tuple(path)


def _folded(name: str) -> str:
    return re.sub(r"[-.]", "_", name).lower()


def scalar(text: str, variable: str) -> Any:
    """A value as YAML would read it, but never a mapping or a comment by accident: `pytest -k "a: b" # x`."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    if not text.strip():
        return None
    if text.lstrip()[0] in "[{":
        return parse_yaml(f"value: {text}", variable)[0]["value"]
    try:
        value = YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ValueError):
        return text
    if isinstance(value, str):
        return value if text.lstrip()[0] in "'\"" else text
    return value if value is None or isinstance(value, bool | int | float) else text
