"""The user's own settings that are needed to open the database. Imports little: commands that only read start fast."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from burnish.errors import BadInput

DATABASE_SCHEMES = ("postgresql://", "postgres://")
# outside of a comment
_MENTIONS_DATABASE = re.compile(rb"^[^#\n]*\bdatabase\b", re.MULTILINE)
_MAX_BYTES = 1_000_000
DEFAULT_REMOTE = "origin"


def user_folder(env: Mapping[str, str] | None = None) -> Path:
    """Where the user's own config.yaml and prompts lie, for the home directory that `env` names."""
    source = os.environ if env is None else env
    xdg, home = source.get("XDG_CONFIG_HOME", ""), source.get("HOME", "")
    if xdg and Path(xdg).is_absolute():
        return Path(xdg) / "burnish"
    if sys.platform.startswith("linux") and Path(home).is_absolute():
        return Path(home) / ".config" / "burnish"
    import platformdirs

    # it asks the environment of this process
    folder, own = Path(platformdirs.user_config_dir("burnish", appauthor=False)), Path.home()
    is_own = Path(home).is_absolute() and folder.is_relative_to(own)
    return Path(home) / folder.relative_to(own) if is_own else folder


def database_url(env: Mapping[str, str] | None = None) -> str | None:
    """The address of the PostgreSQL database; None: SQLite in the burnish home. A repository cannot set it."""
    source = os.environ if env is None else env
    if (value := source.get("BURNISH__DATABASE")) is not None:
        return _checked(value, "BURNISH__DATABASE")
    path = user_folder(source) / "config.yaml"
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES)
    except OSError:
        return None  # a file that cannot be read is reported with the other settings
    if not _MENTIONS_DATABASE.search(content):
        return None
    from burnish.config.sources import yaml_layer

    layer = yaml_layer(path, str(path))
    if layer is None:
        return None
    settings = layer.data
    return _checked(settings.get("database"), layer.place(("database",)))


def remote_name(env: Mapping[str, str] | None = None) -> str:
    """The git remote through which machines exchange branches (`machine.remote`). A repository cannot set it."""
    source = os.environ if env is None else env
    if value := source.get("BURNISH__MACHINE__REMOTE"):
        return value
    path = user_folder(source) / "config.yaml"
    try:
        with path.open("rb") as file:
            if b"remote" not in file.read(_MAX_BYTES):
                return DEFAULT_REMOTE
    except OSError:
        return DEFAULT_REMOTE
    from burnish.config.sources import yaml_layer

    layer = yaml_layer(path, str(path))
    settings: Mapping[str, object] = layer.data if layer else {}
    machine = settings.get("machine")
    name = machine.get("remote") if isinstance(machine, Mapping) else None
    return name if isinstance(name, str) and name else DEFAULT_REMOTE


def _checked(value: object, place: str) -> str | None:
    if value in (None, "", "null"):
        return None
    if isinstance(value, str) and value.startswith(DATABASE_SCHEMES):
        return value
    raise BadInput(f"{place}: this is not the address of a database.", hint="Write it like postgresql://user@host/name")
