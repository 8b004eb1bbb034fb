"""The effective settings and where each was set."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from burnish import config as settings
from burnish.adapters.redaction import secrets_from_environment
from burnish.config.loading import project_layer, user_layer
from burnish.config.repository import IgnoredKey, table_layer
from burnish.config.sources import PREFIX, Layer
from burnish.core.secrets import mask_all
from burnish.errors import BadInput
from burnish.git.discovery import discover
from burnish.runtime.trust import examine, settings_at


@dataclass(frozen=True, slots=True)
class Value:
    """One setting, as it is in force."""

    key: str
    value: Any
    origin: str

    def as_json(self, hide: Callable[[str], str] = str) -> dict[str, Any]:
        return {"key": self.key, "value": plain(self.value, hide), "origin": self.origin}


@dataclass(frozen=True, slots=True)
class Source:
    """A place where settings may stand; later ones win."""

    name: str
    path: str
    used: bool


def plain(value: Any, hide: Callable[[str], str] = str) -> Any:
    """Only what JSON knows; each text goes through `hide`."""
    if isinstance(value, dict):
        return {str(key): plain(one, hide) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one, hide) for one in value]
    return value if value is None or isinstance(value, int | float | bool) else hide(str(value))


# `user:password@` and `password=` of an address
_PASSWORD = re.compile(r"(?<=//)([^/@:\s]*):.*@|((?:^|[?&\s])\w*password\s*=)[^&\s]*", re.I)


def without_password(key: str, value: Any) -> Any:
    """The value of a setting as it may be shown: the address of the database has no password."""
    if key != "database" or not isinstance(value, str):
        return value
    return _PASSWORD.sub(lambda found: f"{found[2]}…" if found[2] else f"{found[1]}:…@", value)


def root_of(start: Path) -> Path | None:
    """The checkout that `start` lies in; None outside of one."""
    try:
        return discover(start).root
    except BadInput:
        return None


def values(start: Path, setting: str | None) -> list[Value]:
    """All settings, or one of them, or those of a section; secrets are masked, since what is shown is passed on."""
    _, config = settings_at(start)
    secrets = secrets_from_environment()
    everything = [
        Value(key, without_password(key, mask_all(secrets, value)), origin) for key, value, origin in config.items()
    ]
    if setting is None:
        return everything
    selection = [one for one in everything if one.key == setting or one.key.startswith(f"{setting}.")]
    if not selection:
        raise BadInput(f"There is no setting {setting}.", hint=_suggest(setting, [one.key for one in everything]))
    return selection


def ignored(start: Path, setting: str | None) -> list[IgnoredKey]:
    """The settings in the repository's file that are not used, with the reason."""
    root = root_of(start)
    if root is None:
        return []
    trust = examine(discover(root))
    if trust.problem:
        return [IgnoredKey("*", None, "burnish.yaml", f"{trust.problem.what} {trust.problem.hint}")]
    found = list(trust.content.ignored)
    if not trust.is_trusted and trust.content.layer:
        reason = f"{'changed since it was trusted' if trust.accepted else 'not trusted'}: {trust.command()}"
        found += [IgnoredKey(key, value, place, reason) for key, value, place in _written_keys(trust.content.layer)]
    secrets = secrets_from_environment()
    masked_keys = [replace(one, value=mask_all(secrets, one.value)) for one in found]
    return [one for one in masked_keys if setting is None or f"{one.key}.".startswith(f"{setting}.")]


def _written_keys(layer: Layer) -> Iterator[tuple[str, Any, str]]:
    def below(path: tuple[str, ...], value: Any) -> Iterator[tuple[str, Any, str]]:
        if isinstance(value, Mapping) and value:
            for key, one in value.items():
                yield from below((*path, str(key)), one)
        elif path:
            yield ".".join(path), value, layer.place(path)

    return below((), layer.data)


def _suggest(name: str, keys: list[str]) -> str:
    sections = {".".join(key.split(".")[:end]) for key in keys for end in range(1, key.count(".") + 2)}
    ends = sorted((key for key in sections if key.rpartition(".")[2] == name), key=lambda key: key.count("."))
    close = ends or difflib.get_close_matches(name, sorted(sections), n=1, cutoff=0.6)
    return f"Did you mean {close[0]}?" if close else "`burnish config show` lists them all."


def sources(start: Path, environment: dict[str, str] | None = None) -> list[Source]:
    """Every place that is looked at, the weakest first."""
    env = dict(os.environ) if environment is None else environment
    own = settings.user_folder(env) / "config.yaml"
    found = [Source("user", str(own), own.is_file())]
    root = root_of(start)
    if root is not None:
        project, table = root / "burnish.yaml", root / "pyproject.toml"
        trusted = examine(discover(root)).is_trusted
        found.append(Source("project", str(project), trusted and project.is_file()))
        in_table = trusted and _has_table(root)
        found.append(Source("project", f"{table} [tool.burnish]", in_table))
        found.append(Source("user", f"{own} projects.{root}", _has_entry(env, root)))
    names = sorted(name for name in env if name.startswith(PREFIX))
    found.append(Source("environment", " ".join(names) or f"{PREFIX}…", bool(names)))
    return found


def _has_entry(env: Mapping[str, str], root: Path) -> bool:
    return project_layer(user_layer(env), root) is not None


def _has_table(root: Path) -> bool:
    try:
        return table_layer(root) is not None
    except BadInput:
        return True


def reference() -> str:
    """Every setting with its default and a word about it, as a file."""
    return (files("burnish.config") / "reference.yaml").read_text(encoding="utf-8")
