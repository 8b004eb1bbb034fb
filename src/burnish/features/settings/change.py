"""`burnish config set` and `unset`: one value in the user's own file. The repository's file is never written."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from burnish.config.editing import with_setting, without_setting
from burnish.config.loading import project_layer, project_name
from burnish.config.settings import Config
from burnish.config.sources import Layer, read_text, scalar, text_layer
from burnish.errors import BadInput, BurnishError, Refused
from burnish.features.settings.provenance import root_of
from burnish.git.files import write_whole
from burnish.proc.slots import slot
from burnish.runtime.reader import home_of, refuse_inside_phase
from burnish.runtime.trust import settings_with
from burnish.user_settings import user_folder

MAX_LENGTH = 10_000
# What a page may change: values that name no program, file, address or secret, and confine nothing. `*` is one name.
PAGE_KEYS = (
    "agent", "agents.*.budget_usd", "agents.*.effort", "agents.*.max_parallel", "agents.*.model", "approval",
    "budget.*", "checks.on_failure", "checks.timeout_minutes", "clean.*", "commit.*", "defaults.*", "fix.history",
    "hitl_review", "hook.max_rounds", "limits.*", "machine.keep_awake", "machine.memory_gb", "merge.on_conflict",
    "merge.on_moved", "notify.bell", "notify.desktop", "notify.quiet_hours", "output_cap_mb",
    "review.accept_unsigned", "review.block_on", "review.context.*", "review.enabled", "review.followups",
    "review.limits.*", "review.max_cycles", "review.may_fix", "review.model", "review.quorum", "review.required",
    "review.trigger", "task_types.*.*",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ChangedSetting:
    """A value that was written, and what is in force now: another layer may set it, too."""

    key: str
    file: Path
    # the value in the file before, as it can be given to `set_value`; None: it was not there
    before: Any
    was_set: bool
    value: Any
    origin: str


def is_page_key(key: str) -> bool:
    """Whether a page may change it. A whole section is never one: it could name a program."""
    parts = key.split(".")
    return any(
        len(parts) == pattern.count(".") + 1 and all(map(fnmatchcase, parts, pattern.split(".")))
        for pattern in PAGE_KEYS
    )


def set_value(start: Path, key: str, text: str, *, for_project: bool, via: str = "cli") -> ChangedSetting:
    """Write the value, as in a YAML file, to the user's own file: for all projects, or for the one of `start`."""
    if not text.strip():
        raise BadInput(f"The value of {key} is empty.", hint=f'Use `burnish config unset {key}`, or "" for empty text.')
    if len(text) > MAX_LENGTH:
        raise BadInput(f"The value has more than {MAX_LENGTH:,} characters.", hint="Write it into the file.")
    value = scalar(text, key)
    if via != "cli" and via != "api" and isinstance(value, dict):
        raise BadInput(f"{key} is not a section.", hint="Give one value.")
    return _change(
        start, key, for_project=for_project, via=via, edit=lambda old, path, name: with_setting(old, path, value, name)
    )


def unset_value(start: Path, key: str, *, for_project: bool, via: str = "cli") -> ChangedSetting:
    """Remove the value from the user's own file."""
    return _change(start, key, for_project=for_project, via=via, edit=without_setting)


def own_values(start: Path) -> dict[str, tuple[Any, Any]]:
    """What the user's file has for a key: for all projects, and for this one."""
    layer, root = _user_layer(), root_of(start)
    everywhere = _leaves((), layer.data if layer else {})
    of_project = project_layer(layer, root) if root and layer else None
    here = _leaves((), of_project.data if of_project else {})
    return {key: (everywhere.get(key), here.get(key)) for key in {**everywhere, **here}}


def _leaves(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        return {".".join(path): value} if path else {}
    found: dict[str, Any] = {}
    for key, one in value.items():
        found |= _leaves((*path, str(key)), one)
    return found


def _change(start: Path, key: str, *, for_project: bool, via: str, edit: Any) -> ChangedSetting:
    refuse_inside_phase()
    if via not in ("cli", "api") and not is_page_key(key):
        raise Refused(
            f"{key} cannot be changed here: it may name a program or a file, or what confines them.",
            hint=f"In a terminal: burnish config set {key} VALUE",
        )
    root, file = root_of(start), user_folder() / "config.yaml"
    if for_project and root is None:
        raise BadInput(f"{start} is not in a repository.", hint="Leave out --project.")
    path = tuple(key.split("."))
    if not all(path) or path[0] == "projects":
        raise BadInput(f"{key} is not the name of a setting.", hint="`burnish config show` lists them.")
    # one change at a time: each writes the whole file
    with slot(home_of() / "locks", "settings", 1):
        text = read_text(file) or ""
        layer = text_layer(text, str(file))
        if for_project and root is not None:
            path = ("projects", project_name(layer, root) or str(root), *path)
        new_text = edit(text, path, str(file))
        config = settings_with(root, new_text)
        if new_text != text:
            _write(file, new_text)
    return ChangedSetting(key, file, _value_at(layer, path), layer.has(path), *_in_force(config, key))


def _in_force(config: Config, key: str) -> tuple[Any, str]:
    found = next(((value, origin) for name, value, origin in config.items() if name == key), None)
    return found or (None, config.origin(key))


def _value_at(layer: Layer, path: tuple[str, ...]) -> Any:
    here: Any = layer.data
    for part in path:
        here = here.get(part) if isinstance(here, dict) else None
    return here


def _user_layer() -> Layer | None:
    file = user_folder() / "config.yaml"
    text = read_text(file)
    return None if text is None else text_layer(text, str(file))


def _write(file: Path, text: str) -> None:
    """Atomically, with the rights of the old file, and never through a link to another place."""
    if file.is_symlink():
        raise BurnishError(f"{file} is a link.", hint=f"Change it where it leads to: {file.resolve()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        mode = file.stat().st_mode & 0o777 if file.exists() else 0o600
        write_whole(file, text.encode(), mode=mode)
    except OSError as error:
        raise BurnishError(
            f"Cannot write {file}: {error.strerror}.", hint="Check the permissions and the free disk space."
        ) from error
