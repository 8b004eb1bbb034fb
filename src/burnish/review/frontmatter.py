"""YAML front matter with a deterministic writer: equal facts give equal bytes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from burnish.bounded_yaml import load_yaml

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"})
_PARSER_SLIPS = (ValueError, LookupError, TypeError, AttributeError, RecursionError, AssertionError)
MOST_ENTRIES = 3_000
_SHORT = {"\n": "\\n", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


def emit(facts: Mapping[str, Any]) -> str:
    """Write YAML in block style: scalars, lists of scalars or mappings, mappings of scalars."""
    return "".join(f"{key}:{_value(value)}" for key, value in facts.items())


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        rows = "".join(f"  {key}: {scalar(one)}\n" for key, one in value.items())
        return f"\n{rows}" if value else " {}\n"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "\n" + "".join(_item(one) for one in value) if value else " []\n"
    return f" {scalar(value)}\n"


def _item(value: Any) -> str:
    if not isinstance(value, Mapping):
        return f"  - {scalar(value)}\n"
    rows = [f"{key}: {scalar(one)}\n" for key, one in value.items()]
    return "  - " + "    ".join(rows)


def scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    text = str(value)
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return '"' + "".join(_char(char) for char in text.encode("utf-8", "replace").decode()) + '"'


def _char(char: str) -> str:
    if char in _SHORT:
        return _SHORT[char]
    code = ord(char)
    # printable characters of YAML, without line separators
    if 0x20 <= code <= 0x7E or (0xA0 <= code <= 0xD7FF and code not in (0x2028, 0x2029)):
        return char
    if 0xE000 <= code <= 0xFFFD and code != 0xFEFF:
        return char
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def load(text: str, *, most: int = MOST_ENTRIES) -> dict[str, Any]:
    """Parse front matter of at most so many entries; raises `ValueError` with the reason."""
    from ruamel.yaml.error import YAMLError

    try:
        facts = load_yaml(text, most=most)
    # the parser raises other errors, too, for damaged text
    except (YAMLError, *_PARSER_SLIPS) as why:
        raise ValueError(str(why).split("\n")[0]) from None
    if not isinstance(facts, dict):
        raise ValueError("it is not a list of keys and values")
    return facts
