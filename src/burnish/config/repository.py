"""What a repository brings that steers burnish: its settings, and its own prompts, context and templates.

Everything here only reads files inside the repository: a link that leads out of it is named, never followed.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from burnish.config.sources import Layer, pyproject_layer, yaml_layer
from burnish.errors import BadInput, Untrusted
from burnish.regular_files import read_below, read_regular

FOLDERS = (".burnish/prompts", ".burnish/context", ".burnish/templates")
# A person has to look through this list.
MAX_FILES, MAX_DEPTH = 2_000, 12
MAX_TEXT_BYTES = 200_000
MAX_FILE_BYTES = 50_000_000


@dataclass(frozen=True, slots=True)
class RepositoryContent:
    """What a person accepts when they trust a checkout."""

    # None: the repository has no settings
    layer: Layer | None = None
    ignored: tuple[IgnoredKey, ...] = ()
    # path → SHA-256 of the content, or what a link says
    files: Mapping[str, str] = field(default_factory=dict)
    # path → text, of those that are text and not huge
    texts: Mapping[str, str] = field(default_factory=dict)
    # path → where it leads, of links that leave the repository
    links: Mapping[str, str] = field(default_factory=dict)

    @property
    def settings(self) -> Mapping[str, Any]:
        """What is in force of the repository's settings once it is trusted."""
        return self.layer.data if self.layer else {}

    @property
    def is_empty(self) -> bool:
        return not self.settings and not self.files

    @property
    def digest(self) -> str:
        """The same for the same effective content, whatever file it is in and however that is written."""
        plain = json.dumps([self.settings, dict(self.files)], sort_keys=True, default=str, ensure_ascii=True)
        return hashlib.sha256(plain.encode()).hexdigest()


def is_inside(root: Path, path: Path) -> bool:
    """Does the path, with every link in it resolved, lie in the checkout?"""
    try:
        return path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError):  # a circle of links
        return False


def read_inside(root: Path, path: Path, *, longest: int) -> bytes | None:
    """The first bytes of a regular file that lies in the checkout; None for anything else."""
    try:
        ground, target = root.resolve(), path.resolve()
    except (OSError, RuntimeError):  # a circle of links
        return None
    # without links: another process may put one there after the path was resolved
    return read_below(ground, target.relative_to(ground), longest=longest) if target.is_relative_to(ground) else None


def name_in(root: Path, name: str) -> str:
    """A path that settings name, from the root; absolute where it is not in the checkout."""
    path = root / name
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def read_accepted(
    root: Path, name: str, accepted_files: Mapping[str, str], *, longest: int, exact: bool = True
) -> bytes | None:
    """A file that settings name, from the root; one outside of the checkout only where a person accepted the link.

    `accepted_files` are the files of the content that was examined. With `exact`, a file whose content is not the
    accepted one is refused: it may have changed since. An absolute path is part of the settings, which a person has
    accepted or written.
    """
    name = name_in(root, name)
    path = root / name
    if is_inside(root, path):
        data = read_inside(root, path, longest=MAX_FILE_BYTES)
        if data is None or not exact:
            return data if data is None else data[:longest]
        if accepted_files.get(name) != hashlib.sha256(data).hexdigest():
            raise Untrusted(
                f"{name} has changed since this command examined it. Nothing was run.",
                hint="Check it with `burnish trust --show`, and type the command again.",
                root=str(root),
            )
        return data[:longest]
    if not name.startswith("/") and accepted_files.get(name) != link_to(target_of(path)):
        return None
    outside = path.resolve()
    return read_regular(outside, longest=longest, follow=False)


def repository_layer(root: Path) -> tuple[Layer | None, tuple[IgnoredKey, ...]]:
    """The settings in the repository, without what only a user may set."""
    if os.path.lexists(root / "burnish.yml"):
        raise BadInput("burnish.yml is not read.", hint="Rename it to burnish.yaml.")
    own = root / "burnish.yaml"
    if not is_inside(root, own):
        raise BadInput(
            f"burnish.yaml is a link that leads out of the repository, to {_target(own)}.",
            hint="Put a copy in its place, or write the settings in your config.yaml under `projects`.",
        )
    layer = yaml_layer(own, "burnish.yaml", root) if _is_readable(own) else None
    in_table = table_layer(root)
    if layer and in_table:
        raise BadInput(
            "Settings are in burnish.yaml and in [tool.burnish] of pyproject.toml.",
            hint="Keep one of the two.",
        )
    found = layer or in_table
    return without_reserved(found) if found else (None, ())


def table_layer(root: Path) -> Layer | None:
    """`[tool.burnish]` of the checkout; None where pyproject.toml is not a regular file in it."""
    table = root / "pyproject.toml"
    return pyproject_layer(table, root) if is_inside(root, table) and _is_readable(table) else None


def repository_content(root: Path, user_layers: Sequence[Layer] = ()) -> RepositoryContent:
    """All that a person is asked about; `user_layers` may name files of the checkout, too."""
    layer, ignored_keys = repository_layer(root)
    walk = _FolderWalk(root)
    for name in FOLDERS:
        walk.visit(root / name, name)
    for name in named_files(layer.data) if layer else ():
        walk.visit_named(name_in(root, name))
    for name in (name_in(root, one) for other in user_layers for one in named_files(other.data)):
        if not name.startswith("/"):  # otherwise a file of the user's own
            walk.visit_named(name)
    return RepositoryContent(layer, ignored_keys, walk.files, walk.texts, walk.links)


def _is_readable(path: Path) -> bool:
    """Not a pipe or a device, which would keep the reader waiting."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return os.path.lexists(path)  # reading it says what is wrong
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def link_to(target: str) -> str:
    """What stands for the content of a link that leaves the repository."""
    return f"link to {target}"


def target_of(path: Path) -> str:
    """Where a path leads in the end."""
    try:
        return str(path.resolve())
    except (OSError, RuntimeError):
        return _target(path)


def _target(path: Path) -> str:
    try:
        return str(path.readlink() if path.is_symlink() else path.resolve())
    except (OSError, RuntimeError):
        return str(path)


@dataclass(slots=True)
class _FolderWalk:
    """Collects the files below some folders."""

    root: Path
    files: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)

    def visit(self, path: Path, name: str, depth: int = 0) -> None:
        if not os.path.lexists(path):
            return
        if depth > MAX_DEPTH or len(self.files) >= MAX_FILES:
            raise BadInput(
                f"{name} is too deep, or one of more than {MAX_FILES} files in .burnish.",
                hint="Keep prompts, context and templates few.",
            )
        if not is_inside(self.root, path):
            # to the very end: of two links in a row the second may be changed as well
            self.links[name] = target_of(path)
            self.files[name] = link_to(self.links[name])
        elif path.is_dir():
            for child in sorted(path.iterdir()):
                self.visit(child, f"{name}/{child.name}", depth + 1)
        else:
            self._add(path, name)

    def visit_named(self, name: str) -> None:
        """A single file that the settings name; a folder would be refused where it is to be read."""
        path = self.root / name
        if "\0" in name or not os.path.lexists(path):
            return
        if path.is_dir() and is_inside(self.root, path):
            self.files[name] = "is a folder"
        else:
            self.visit(path, name)

    def _add(self, path: Path, name: str) -> None:
        data = read_inside(self.root, path, longest=MAX_FILE_BYTES)
        if data is None:
            self.files[name] = "cannot be read"
            return
        self.files[name] = hashlib.sha256(data).hexdigest()
        if len(data) <= MAX_TEXT_BYTES and b"\0" not in data:
            self.texts[name] = data.decode("utf-8", "replace")


# -- named files ----------------------------------------------------------------------------------
# The files that settings name: what they say to an agent counts as much as the settings themselves.

COMMANDS = ".claude/commands"
PARSER = "parse-review"


def named_files(data: Mapping[str, Any]) -> list[str]:
    """Paths as written: prompts of reviewers and pipeline steps, scripts of agents, the slash command.

    Works on settings that are not validated yet.
    """
    steps = list(_items(data.get("pipeline")))
    reviewers = [*_items(_part(data, "review", "agents")), *(one for step in steps for one in _items(step, "agents"))]
    prompts = [_part(one, "prompt") for one in (*reviewers, *steps)]
    agents = data.get("agents")
    scripts = [_part(one, "script") for one in agents.values()] if isinstance(agents, Mapping) else []
    names = [*prompts, *scripts, *_commands(_part(data, "review", "slash_command"))]
    return list(dict.fromkeys(one for one in names if isinstance(one, str) and one))


def command_file(name: str) -> str:
    """`review:deep` is the file deep.md in the folder review."""
    return f"{COMMANDS}/{name.replace(':', '/')}.md"


def _commands(command: Any) -> Iterator[str]:
    if isinstance(command, str) and command.strip("/"):
        yield command_file(command.removeprefix("/"))
        yield command_file(PARSER)


def _part(data: Any, *path: str) -> Any:
    for name in path:
        data = data.get(name) if isinstance(data, Mapping) else None
    return data


def _items(data: Any, *path: str) -> list[Any]:
    found = _part(data, *path)
    return found if isinstance(found, list) else []


# -- reserved -------------------------------------------------------------------------------------
# Settings that belong to the user alone: they are never taken from a repository, trusted or not.

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
    ReservedKey(("limits",), "a repository must not choose when your plans are used"),
    ReservedKey(("machine",), "a repository must not choose how your machine is used"),
    ReservedKey(("serve",), "a repository must not choose who may use your server"),
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
