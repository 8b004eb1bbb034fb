"""Defaults < user's config.yaml < the repository's file < the user's `projects` < environment < flags."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnish.config.repository import IgnoredKey, RepositoryContent, repository_layer
from burnish.config.sources import Layer, env_layer, flag_layer, text_layer, yaml_layer
from burnish.errors import BadInput
from burnish.user_settings import user_folder

if TYPE_CHECKING:
    # Reading commands never load settings, and pydantic alone costs more than they may take.
    from burnish.config.settings import Config

_PLAIN = (
    "defaults",
    "fix",
    "isolation",
    "sandbox",
    "workspace",
    "commit",
    "merge",
    "budget",
    "hook",
    "clean",
    "limits",
    "machine",
    "notify",
    "serve",
)
# What is there before any layer: deep defaults that must survive a partly written section. The others are
# named as well, since a section that is there need not be made by a type of its own (see `values.Section`).
BASE: Mapping[str, Any] = {
    "agents": {"claude": {"kind": "claude"}},
    "task_types": {
        "implement": {"auto_review": True},
        "plan": {"auto_review": False},
        "review": {"auto_review": False},
        "improve": {"auto_review": False},
    },
    "review": {"agents": ["auto"], "context": {}, "limits": {}},
    "checks": {"test": "auto", "lint": "auto", "guard": {}},
    **{name: {} for name in _PLAIN},
}
# Replaced as a whole: a check merged from two files would be one that is in neither of them.
WHOLE = (("checks", "test"), ("checks", "lint"), ("checks", "extra", "*"), ("roles", "*"))


def load(
    root: Path | None,
    *,
    env: Mapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
    repository: bool | RepositoryContent = True,
    user_text: str | None = None,
) -> Config:
    """All settings for the project whose checkout is `root` (None: those of the user alone).

    `repository=False` leaves out what the repository's own file says: it is not trusted. What a person accepted is
    given as content: the file may have changed since it was examined. Only `runtime.trust` may decide that, so nothing
    else calls this for a checkout. `user_text` stands for the content of the user's file, before it is written.
    """
    from burnish.config.problems import validate

    env = os.environ if env is None else env
    merged = _copy(BASE)
    origins: dict[str, str] = {}
    user = user_layer(env) if user_text is None else text_layer(user_text, str(user_folder(env) / "config.yaml"))
    own, ignored_keys = _of_repository(root, repository)
    layers = [layer for layer in (user, own, project_layer(user, root)) if layer]
    for layer in layers:
        merge(merged, layer, origins)
    for layer in (env_layer(env, merged), flag_layer(flags or {})):
        merge(merged, layer, origins)
        layers.append(layer)
    return validate(merged, layers).with_origins(origins, ignored_keys)


def _of_repository(
    root: Path | None, repository: bool | RepositoryContent
) -> tuple[Layer | None, tuple[IgnoredKey, ...]]:
    if not isinstance(repository, bool):
        return repository.layer, repository.ignored
    return repository_layer(root) if root and repository else (None, ())


def user_layer(env: Mapping[str, str]) -> Layer | None:
    path = user_folder(env) / "config.yaml"
    return yaml_layer(path, str(path))


def project_layer(user: Layer | None, root: Path | None) -> Layer | None:
    """What the user's own file says for this checkout alone: `projects: {<path>: {…}}`."""
    name = project_name(user, root) if root is not None else None
    if user is None or name is None:
        return None
    data = user.data["projects"][name]
    if isinstance(data, Mapping) and "projects" in data:
        raise BadInput(
            f"{user.place(('projects', name, 'projects'))}: projects cannot be nested.",
            hint="Write each path directly under `projects`.",
        )
    if isinstance(data, Mapping) and "database" in data:
        raise BadInput(
            f"{user.place(('projects', name, 'database'))}: all projects share one database.",
            hint="Write `database` at the top of your config.yaml.",
        )
    if not isinstance(data, Mapping):
        return None  # an entry with nothing below it; anything else is refused with the other settings
    places = {key[2:]: place for key, place in user.places.items() if key[:2] == ("projects", name) and key[2:]}
    return Layer(f"{user.name} projects.{name}", data, places)


def project_name(user: Layer | None, root: Path) -> str | None:
    """How the user's file names this checkout under `projects`; None if it does not."""
    projects = user.data.get("projects") if user else None
    names = projects if isinstance(projects, Mapping) else ()
    return next((name for name in names if _is_checkout(name, root)), None)


def _is_checkout(name: str, root: Path) -> bool:
    path = Path(name).expanduser()
    return path.is_absolute() and path.resolve() == root.resolve()


def merge(merged: dict[str, Any], layer: Layer, origins: dict[str, str]) -> None:
    """Lay one layer over those below it: mappings are joined, anything else is replaced."""
    _lay(merged, layer.data, (), layer, origins)


def _lay(
    below: dict[str, Any],
    above: Mapping[str, Any],
    path: tuple[str, ...],
    layer: Layer,
    origins: dict[str, str],
) -> None:
    from burnish.config.problems import is_section

    for key, value in above.items():
        here = (*path, key)
        if value is None and is_section(here):
            continue  # `review:` with nothing below it says nothing
        if not isinstance(value, Mapping) or (layer.whole and _is_whole(here)):
            _forget(origins, here)
            below[key] = _copy(value)
            origins.update(_origins(value, here, layer))
            continue
        if not isinstance(below.get(key), dict):
            below[key] = _opened(below.get(key), here)
        if not value and not is_section(here):
            origins.setdefault(".".join(here), layer.place(here))
        _lay(below[key], value, here, layer, origins)


def _opened(value: Any, path: tuple[str, ...]) -> dict[str, Any]:
    """A short form in full, before a variable changes one part of it."""
    if not _is_whole(path):
        return {}
    name = "agent" if path[0] == "roles" else "command"
    return {name: value} if isinstance(value, str | list) else {}


def _is_whole(path: tuple[str, ...]) -> bool:
    return any(
        len(path) == len(shape) and all(b in ("*", a) for a, b in zip(path, shape, strict=True)) for shape in WHOLE
    )


def _forget(origins: dict[str, str], path: tuple[str, ...]) -> None:
    key = ".".join(path)
    for old in [name for name in origins if name == key or name.startswith(f"{key}.")]:
        del origins[old]


def _origins(value: Any, path: tuple[str, ...], layer: Layer) -> dict[str, str]:
    if isinstance(value, Mapping) and value:
        found: dict[str, str] = {}
        for key, one in value.items():
            found |= _origins(one, (*path, key), layer)
        return found
    return {".".join(path): layer.place(path)}


def _copy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copy(one) for key, one in value.items()}
    return [_copy(one) for one in value] if isinstance(value, list | tuple) else value
