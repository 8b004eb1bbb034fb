"""Loads the named queries of `queries/*.sql`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

Value = str | int | float | None
Params = Mapping[str, Value | Sequence[Value]]


@cache
def queries() -> Mapping[str, str]:
    """All queries by name."""
    found: dict[str, str] = {}
    for file in sorted(Path(__file__).with_name("queries").glob("*.sql")):
        for block in re.split(r"^-- name: ", file.read_text("utf-8"), flags=re.M)[1:]:
            name, _, text = block.partition("\n")
            if name.strip() in found:
                raise ValueError(f"two queries are called {name}")
            found[name.strip()] = text.strip()
    return found


def fill(text: str, params: Params) -> tuple[str, dict[str, Value]]:
    """Expand list parameters to one parameter per element."""
    flat: dict[str, Value] = {}
    for name, value in params.items():
        if isinstance(value, str) or not isinstance(value, Sequence):
            flat[name] = value
            continue
        names = [f"{name}_{n}" for n in range(len(value))]
        flat.update(zip(names, value, strict=True))
        # an empty list becomes (NULL), which matches no row
        text = re.sub(rf":{name}\b", ", ".join(f":{n}" for n in names) or "NULL", text)
    return text, flat
