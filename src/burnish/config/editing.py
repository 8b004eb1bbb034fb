"""One setting changed in a YAML file that somebody wrote: every other character stays."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from burnish.bounded_yaml import bounded_parser
from burnish.config.sources import MAX_NODES, parse_yaml, put
from burnish.errors import BadInput


def with_setting(text: str, key: tuple[str, ...], value: Any, name: str) -> str:
    """The file's text with `key` set; `name` is the file's name in messages."""
    data, _ = parse_yaml(text, name)
    target = _copy(data)
    put(target, key, value)
    return _verified(_changed(text, key, value), target, name, f"Write it there yourself: {_flow(key, value)}")


def without_setting(text: str, key: tuple[str, ...], name: str) -> str:
    """The file's text without `key`; the same text if it does not have it."""
    data, _ = parse_yaml(text, name)
    target = _copy(data)
    holder: Any = target
    for part in key[:-1]:
        holder = holder.get(part) if isinstance(holder, dict) else None
    if not isinstance(holder, dict) or key[-1] not in holder:
        return text
    del holder[key[-1]]
    new_text = _removed(text, bounded_parser(MAX_NODES).compose(text), key)
    return _verified(new_text, target, name, f"Remove {'.'.join(key)} there yourself.")


def _verified(new_text: str | None, target: Any, name: str, hint: str) -> str:
    """The text if it means exactly `target`. Anchors, tags, odd indentation: rather nothing than something else."""
    try:
        is_right = new_text is not None and _pruned(parse_yaml(new_text, name)[0]) == _pruned(target)
    except BadInput:
        is_right = False
    if new_text is None or not is_right:
        raise BadInput(f"{name} is written in a way that burnish does not change by itself.", hint=hint)
    return new_text


def _pruned(value: Any) -> Any:
    """Without empty sections, which say nothing."""
    if not isinstance(value, Mapping):
        return value
    entries = {key: _pruned(one) for key, one in value.items()}
    return {key: one for key, one in entries.items() if one is not None and one != {}}


def _removed(text: str, node: Any, key: tuple[str, ...]) -> str | None:
    for at, (name, below) in enumerate(node.value):
        if name.value != key[0]:
            continue
        if len(key) > 1:
            is_mapping = not isinstance(below.value, str) and all(isinstance(one, tuple) for one in below.value)
            return _removed(text, below, key[1:]) if is_mapping else None
        if not node.flow_style:
            return _without_line(text, name, below)
        others = [one[0] for one in node.value]
        if at + 1 < len(others):
            return _put(text, name.start_mark.index, others[at + 1].start_mark.index, "")
        start = node.value[at - 1][1].end_mark.index if at else name.start_mark.index
        return _put(text, start, below.end_mark.index, "")
    return None


def _without_line(text: str, name: Any, below: Any) -> str | None:
    """Without the lines of a key and its value; the comment on the last one belongs to it. None if others are lost."""
    start = name.start_mark.index - name.start_mark.column
    last = max(name.end_mark.index, _end_of_value(text, below))
    is_text = isinstance(below.value, str)
    if text[start : name.start_mark.index].strip() or (not is_text and re.search(r"(?:^|\s)#", text[start:last])):
        return None
    end = text.find("\n", last)
    return _put(text, start, len(text) if end < 0 else end + 1, "")


def _changed(text: str, key: tuple[str, ...], value: Any) -> str | None:
    node = bounded_parser(MAX_NODES).compose(text)
    if node is None:
        return _appended(text, key, value)
    if not node.flow_style and node.value and key[0] not in [name.value for name, _ in node.value]:
        return _appended(text, key, value)
    return _inside(text, node, key, value)


def _appended(text: str, key: tuple[str, ...], value: Any) -> str:
    end = "\r\n" if "\r\n" in text else "\n"
    gap = end if text and not text.endswith("\n") else ""
    if len(key) == 1:
        return f"{text}{gap}{_flow(key, value)}{end}"
    return f"{text}{gap}{_name(key[0])}:{end}  {_flow(key[1:], value)}{end}"


def _inside(text: str, node: Any, key: tuple[str, ...], value: Any) -> str | None:
    """Down to where it stands, or to the deepest mapping that it belongs in."""
    for name, below in node.value:
        if name.value == key[0]:
            return _in_place(text, name, below, key, value)
    if node.flow_style:
        start = node.start_mark.index + 1
        return _put(text, start, start, _flow(key, value) + (", " if node.value else ""))
    return _line_before(text, node, _flow(key, value))


def _in_place(text: str, name: Any, below: Any, key: tuple[str, ...], value: Any) -> str | None:
    is_block = not isinstance(below.value, str) and not below.flow_style and bool(below.value)
    if len(key) == 1 and (is_block or getattr(below, "style", None) in ("|", ">")):
        return _over_block(text, name, below, f" {_word(value)}")
    if isinstance(below.value, str):
        word = _word(value) if len(key) == 1 else f"{{{_flow(key[1:], value)}}}"
        start, end = below.start_mark.index, below.end_mark.index
        if start == end:
            # nothing after the colon
            start = end = text.index(":", name.end_mark.index) + 1
            word = f" {word}"
        return _put(text, start, end, word)
    if len(key) == 1 and below.flow_style:
        return _put(text, below.start_mark.index, below.end_mark.index, _word(value))
    mapping = len(key) > 1 and all(isinstance(one, tuple) for one in below.value)
    return _inside(text, below, key[1:], value) if mapping else None


def _over_block(text: str, name: Any, below: Any, new: str) -> str | None:
    """A value of several lines replaced by one on the line of its key. None if comments would be lost."""
    start = text.index(":", name.end_mark.index) + 1
    end = _end_of_value(text, below)
    is_text = isinstance(below.value, str)
    return None if not is_text and re.search(r"(?:^|\s)#", text[start:end]) else _put(text, start, end, new)


def _end_of_value(text: str, node: Any) -> int:
    """Where its last word ends: the mark of a block is at the next token, behind empty lines and comments."""
    while not isinstance(node.value, str) and node.value and not node.flow_style:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    return len(text[: node.end_mark.index].rstrip())


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


def _flow(key: tuple[str, ...], value: Any) -> str:
    """`prompts: {review.system: {enabled: false}}`"""
    return f"{_name(key[0])}: " + (_word(value) if len(key) == 1 else f"{{{_flow(key[1:], value)}}}")


def _name(key: str) -> str:
    is_plain = re.fullmatch(r"[A-Za-z_/~][A-Za-z0-9_./@+-]*", key) and parse_yaml(f"{key}: 0", "")[0] == {key: 0}
    return key if is_plain else json.dumps(key, ensure_ascii=False)


def _word(value: Any) -> str:
    """The value on one line; JSON is YAML."""
    return json.dumps(value, ensure_ascii=False)


def _copy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copy(one) for key, one in value.items()}
    return [_copy(one) for one in value] if isinstance(value, list) else value
