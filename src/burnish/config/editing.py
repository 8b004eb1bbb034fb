"""One setting changed in a YAML file that somebody wrote: every other character stays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from burnish.bounded_yaml import bounded_parser
from burnish.config.sources import MAX_NODES, parse_yaml, put
from burnish.errors import BadInput


def with_setting(text: str, key: tuple[str, ...], value: bool, name: str) -> str:
    """The file's text with `key` set; `name` is the file's name in messages."""
    data, _ = parse_yaml(text, name)
    target = _copy(data)
    put(target, key, value)
    new_text = _changed(text, key, value)
    try:
        right = new_text is not None and parse_yaml(new_text, name)[0] == target
    except BadInput:
        right = False
    if new_text is None or not right:
        # anchors, tags, odd indentation: rather nothing than something else
        raise BadInput(
            f"{name} is written in a way that burnish does not change by itself.",
            hint=f"Write it there yourself: {_flow(key, value)}",
        )
    return new_text


def _changed(text: str, key: tuple[str, ...], value: bool) -> str | None:
    node = bounded_parser(MAX_NODES).compose(text)
    if node is None:
        return _appended(text, key, value)
    if not node.flow_style and node.value and key[0] not in [name.value for name, _ in node.value]:
        return _appended(text, key, value)
    return _inside(text, node, key, value)


def _appended(text: str, key: tuple[str, ...], value: bool) -> str:
    end = "\r\n" if "\r\n" in text else "\n"
    gap = end if text and not text.endswith("\n") else ""
    return f"{text}{gap}{key[0]}:{end}  {_flow(key[1:], value)}{end}"


def _inside(text: str, node: Any, key: tuple[str, ...], value: bool) -> str | None:
    """Down to where it stands, or to the deepest mapping that it belongs in."""
    for name, below in node.value:
        if name.value == key[0]:
            return _in_place(text, name, below, key, value)
    if node.flow_style:
        start = node.start_mark.index + 1
        return _put(text, start, start, _flow(key, value) + (", " if node.value else ""))
    return _line_before(text, node, _flow(key, value))


def _in_place(text: str, name: Any, below: Any, key: tuple[str, ...], value: bool) -> str | None:
    if isinstance(below.value, str):
        word = _word(value) if len(key) == 1 else f"{{{_flow(key[1:], value)}}}"
        start, end = below.start_mark.index, below.end_mark.index
        if start == end:
            # nothing after the colon
            start = end = text.index(":", name.end_mark.index) + 1
            word = f" {word}"
        return _put(text, start, end, word)
    mapping = len(key) > 1 and all(isinstance(one, tuple) for one in below.value)
    return _inside(text, below, key[1:], value) if mapping else None


def _line_before(text: str, node: Any, line: str) -> str | None:
    if not node.value:
        return None
    first = node.value[0][0].start_mark
    start = first.index - first.column
    if text[start : first.index].strip():
        return None
    end = "\r\n" if "\r\n" in text else "\n"
    return _put(text, start, start, " " * first.column + line + end)


def _put(text: str, start: int, end: int, new: str) -> str:
    return text[:start] + new + text[end:]


def _flow(key: tuple[str, ...], value: bool) -> str:
    """`prompts: {review.system: {enabled: false}}`"""
    return f"{key[0]}: " + (_word(value) if len(key) == 1 else f"{{{_flow(key[1:], value)}}}")


def _word(value: bool) -> str:
    return "true" if value else "false"


def _copy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copy(one) for key, one in value.items()}
    return [_copy(one) for one in value] if isinstance(value, list) else value
