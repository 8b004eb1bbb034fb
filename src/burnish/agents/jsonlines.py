"""What programs print: one JSON object per line, or one object with noise around it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

Json = Mapping[str, Any]
# What tells a person most: the words, the command, the file; in the newest of them.
_TELLING = re.compile(r'"(?:text|content|command|cmd|file_path|filePath|path|pattern)":\s*"((?:[^"\\]|\\.){3,})"')


def json_lines(text: str) -> Iterator[Json]:
    """Every line that is an object. The rest is warnings, or was cut by the cap on output."""
    for line in text.splitlines():
        if line.lstrip().startswith("{") and (value := _loads(line)) is not None and isinstance(value, dict):
            yield value


def json_value(text: str) -> Any:
    """The one object or list in a text that may have noise before and after it; None if there is none."""
    decoder = json.JSONDecoder()
    for found in re.finditer(r"^[ \t]*[{\[]", text, re.MULTILINE):
        try:
            return decoder.raw_decode(text, found.end() - 1)[0]
        except (ValueError, RecursionError):
            continue
    return None


def dig(value: Any, *keys: str) -> Any:
    """`value[a][b]…`, or None where there is no such thing."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def number(value: Any) -> int:
    """A count as programs give it; 0 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def words(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def telling(piece: str) -> str:
    """One line for people out of a piece of JSON lines that may be cut at both ends."""
    found = _TELLING.findall(piece)
    said = _loads(f'"{found[-1]}"') if found else None
    lines = said.split("\n") if isinstance(said, str) else []
    return next((line.strip() for line in lines if line.strip()), "")[:200]


def _loads(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
