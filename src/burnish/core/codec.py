"""Core types to plain JSON values and back. Unknown keys are ignored, so that what newer versions write can be read."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import Field, fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")


def encode(value: Any) -> Any:
    """Dataclasses, enums, tuples and paths as JSON knows them, without fields that only decoding fills (`derived`)."""
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return _encode_fields(value)
    if isinstance(value, Mapping):
        return {str(k): encode(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [encode(v) for v in value]
    if isinstance(value, Path):
        return str(value)
    return value


def _encode_fields(value: Any) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for f in fields(value):
        if f.metadata.get("flat"):
            data |= encode(getattr(value, f.name))
        elif not f.metadata.get("derived"):
            data[key_of(f)] = encode(getattr(value, f.name))
    return data


def decode(cls: type[T], data: Mapping[str, Any]) -> T:
    """The dataclass that `encode` made `data` of. A missing key takes its default."""
    readers = _readers(cast(Any, cls))
    values = {name: read(data[key]) for key, (name, read) in readers.items() if key in data}
    return cls(**values, **{name: read(data) for name, read in _flat_readers(cast(Any, cls))})


def key_of(field: Field[Any]) -> str:
    """The JSON key of a field: its name, unless its metadata has another `key`."""
    return str(field.metadata.get("key", field.name))


@cache
def _readers(cls: type[Any]) -> dict[str, tuple[str, Callable[[Any], Any]]]:
    hints = get_type_hints(cls)
    own = [f for f in fields(cls) if f.init and not f.metadata.get("flat")]
    return {key_of(f): (f.name, _reader(hints[f.name])) for f in own}


@cache
def _flat_readers(cls: type[Any]) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
    """The fields whose keys are beside those of the class (`flat`)."""
    flat = [f.name for f in fields(cls) if f.metadata.get("flat")]
    hints = get_type_hints(cls) if flat else {}
    return tuple((name, _reader(hints[name])) for name in flat)


def _reader(hint: Any) -> Callable[[Any], Any]:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        inner = [_reader(arg) for arg in get_args(hint) if arg is not type(None)]
        return lambda v: None if v is None else inner[0](v)
    if origin is tuple:
        args = get_args(hint)
        if len(args) == 2 and args[1] is Ellipsis:
            if args[0] is str:
                return tuple
            each = _reader(args[0])
            return lambda v: tuple(each(x) for x in v)
        parts = [_reader(arg) for arg in args]
        return lambda v: tuple(read(x) for read, x in zip(parts, v, strict=True))
    if isinstance(hint, type):
        if is_dataclass(hint):
            return lambda v: decode(hint, v)
        if issubclass(hint, Enum):
            return hint
        if hint is Path:
            return Path
    return lambda v: v
