"""Settings that belong to the user alone: they are never taken from a repository, trusted or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from burnish.config.sources import Layer

INSTEAD = "Set it in your config.yaml, for this project under `projects`."


@dataclass(frozen=True, slots=True)
class ReservedKey:
    """One key, with `*` for any name; with `value`, only that value is reserved."""

    path: tuple[str, ...]
    reason: str
    value: str | None = None


# The keys need not exist in this version: a repository may have been written for another one.
RESERVED = (
    ReservedKey(("sandbox",), "a repository must not change what confines its own programs"),
    ReservedKey(("agents", "*", "login"), "a repository must not choose which of your logins a program is given"),
    ReservedKey(("notify",), "a repository must not choose where your messages go"),
    ReservedKey(("clean",), "a repository must not choose when your files are removed"),
    ReservedKey(("database",), "a repository must not choose where your state is stored"),
    ReservedKey(("merge", "auto"), "a repository must not merge into your branches by itself"),
    ReservedKey(("review", "unseen"), "a repository must not exempt its own files from review"),
    ReservedKey(("checks", "where"), "files that git ignores could decide the checks", value="workspace"),
    ReservedKey(("checks", "uncountable"), "a repository must not lower what its checks must show", value="accept"),
    ReservedKey(("workspace", "setup_credentials"), "a change could read your credentials", value="always"),
    ReservedKey(("projects",), "only your own config.yaml has settings for one project"),
)


@dataclass(frozen=True, slots=True)
class IgnoredKey:
    """A setting of the repository that is not used, where it stands, and why."""

    key: str
    value: Any
    place: str
    reason: str

    def as_json(self) -> dict[str, Any]:
        return {"key": self.key, "value": self.value, "place": self.place, "reason": self.reason}


def without_reserved(layer: Layer) -> tuple[Layer, tuple[IgnoredKey, ...]]:
    """The repository's layer without the keys that only a user may set, and those keys."""
    data: dict[str, Any] = _copied(layer.data)
    ignored_keys: list[IgnoredKey] = []
    for rule in RESERVED:
        for path in list(_matches(data, rule.path)):
            holder = data
            for part in path[:-1]:
                holder = holder[part]
            value = holder[path[-1]]
            if value is None or (rule.value is not None and value != rule.value):
                continue
            del holder[path[-1]]
            ignored_keys.append(IgnoredKey(".".join(path), value, layer.place(path), rule.reason))
    return replace(layer, data=data), tuple(ignored_keys)


def _matches(data: Any, shape: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if not isinstance(data, Mapping):
        return
    for name in [name for name in data if shape[0] in ("*", name)]:
        if len(shape) == 1:
            yield (name,)
        else:
            yield from ((name, *rest) for rest in _matches(data[name], shape[1:]))


def _copied(value: Any) -> Any:
    return {key: _copied(one) for key, one in value.items()} if isinstance(value, Mapping) else value
