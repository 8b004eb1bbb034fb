"""What is installed for the checks of one tree: the user's own folders, or a cached layer that set-up made."""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from burnish.adapters.checks.stored_environments import delete_unused, environment_in_use, home_of
from burnish.checks.dependency_files import dependency_paths, fingerprint, included_paths, named_paths, relevant
from burnish.checks.generated_files import (
    has_build_output,
    has_copied_packages,
    has_copied_project,
    has_vendored_sources,
    included_sources,
    leaves_files,
    may_change_output,
    native_sources,
)
from burnish.checks.generated_packages import has_generated_packages
from burnish.checks.installed import EnvironmentFolder, difference, environment_folders
from burnish.checks.installed_yarn import CLASSIC_RECORD, RECORD
from burnish.checks.setup_home import has_built_programs, kept_files
from burnish.git.files import disk_errors, remove_tree
from burnish.git.merge import touched
from burnish.git.project import Project
from burnish.git.reading import list_files, read_files
from burnish.proc.folders import private_folder
from burnish.regular_files import read_regular

Command = str | tuple[str, ...]
# Environments of a project that are kept; the least recently used are deleted first.
MOST_KEPT = 5
# Written by programs that ran during set-up; they may describe sources that have changed since.
_CACHES = frozenset(("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".git"))
_NODE_RECORDS = (".package-lock.json", ".modules.yaml", CLASSIC_RECORD, RECORD)
_PROGRAMS = (
    "python3",
    "python",
    "node",
    "npm",
    "pnpm",
    "yarn",
    "bun",
    "uv",
    "poetry",
    "pdm",
    "cargo",
    "rustc",
    "go",
    "java",
)


@dataclass(frozen=True, slots=True)
class CheckEnvironment:
    """What checks find installed. `root` holds `folders`: the user's checkout, or the layer."""

    fingerprint: str
    root: Path | None = None
    folders: tuple[EnvironmentFolder, ...] = ()
    # files that set-up made, to be seen below the tree under test
    layer: Path | None = None
    # files that set-up left in its home directory, in a sandbox
    home: Path | None = None
    warnings: tuple[str, ...] = ()

    @property
    def description(self) -> str:
        if self.layer:
            return "made by the set-up command"
        names = ", ".join(folder.path for folder in self.folders)
        return f"{names} of your checkout" if names else "the programs on PATH"


@dataclass(frozen=True, slots=True)
class SetUpFiles:
    """What set-up wrote: the tree on the disk, and folders that stand for parts of its home directory, by path."""

    tree: Path
    home: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CheckEnvironments:
    """Chooses and makes the environments of one project."""

    project: Project
    cache: Path
    # `workspace.setup`, and what `init` would write there
    setup: Command | None
    found_setup: Callable[[str], Command | None]
    # is there a sandbox that mounts the tree at the checkout's path?
    confined: bool
    # runs the set-up command on a commit, with the credentials of package indexes or without, and returns what it
    # wrote, before it is thrown away
    run_setup: Callable[[Command, str, bool], AbstractContextManager[SetUpFiles]]
    # does `checks.build` make what is built from the sources again, on each tree?
    builds: bool
    lock: Callable[[str], AbstractContextManager[None]]
    # is `checks.test` `auto`? Then the set-up is what `init` would find as well.
    automatic: bool = False
    # `isolation.env`, which set-up gets
    variables: Mapping[str, str] = field(default_factory=dict)
    # keeps what is chosen from being deleted, from the choice on and as long as the owner of the stack wishes
    in_use: ExitStack = field(default_factory=ExitStack)

    def prepare(self, commit: str, base: str, *, own: bool = False) -> CheckEnvironment:
        """The environment for the checks of `commit`; set-up runs only for dependencies that are new.

        `own`: made by set-up if there is a command for it, whatever the checkout holds.
        """
        tracked = list_files(self.project, commit)
        contents = self._inputs(commit, tracked, base)
        folders = environment_folders(self.project.root, tracked)
        current = not own and bool(folders) and self._same_as_checkout(contents)
        # what installing leaves beside the sources is not in a clean tree
        complete = current and not leaves_files(contents) and not self._holds_sources(self.project.root, contents)
        if self.confined and complete and not any(difference(self.project.root, one, contents) for one in folders):
            return self._of_checkout(folders, contents)
        if command := self.setup or self._unasked_setup(commit, bool(folders), complete):
            return self._made(command, commit, base, contents)
        if not self.confined or not folders:
            return CheckEnvironment(fingerprint(contents, "none", *_tool_versions(os.environ.get("PATH", ""))))
        warning = "" if current else "The change declares other dependencies than your checkout has installed."
        return self._of_checkout(folders, contents, warning)

    def _inputs(self, commit: str, tracked: Sequence[str], base: str) -> dict[str, bytes | None]:
        """What decides about the environment: the dependency files, what set-up names, and what installing compiles."""
        # those of the base: what it names and is not there is what it makes
        named = named_paths(command_words(self.setup or ""), list_files(self.project, base))
        contents = read_files(self.project, commit, sorted({*dependency_paths(tracked), *named}))
        while more := included_paths(contents, tracked):
            contents |= read_files(self.project, commit, more)
        sources = read_files(self.project, commit, native_sources(tracked, contents))
        while more := included_sources(sources, tracked):
            sources |= read_files(self.project, commit, more)
        return contents | sources

    def _holds_sources(self, root: Path, contents: Mapping[str, bytes | None]) -> bool:
        """Do the folders of the checkout hold copies of its sources, or what was generated from them?"""
        return has_copied_packages(root, contents) or (not self.builds and has_generated_packages(root, contents))

    def _unasked_setup(self, commit: str, folders: bool, complete: bool) -> Command | None:
        """Without `workspace.setup`: what `init` would write, where the checkout's own folders will not do."""
        wanted = folders or self.automatic
        return self.found_setup(commit) if wanted and not (self.confined and complete) else None

    def _same_as_checkout(self, contents: dict[str, bytes | None]) -> bool:
        for path, data in contents.items():
            there = read_regular(self.project.root / path)
            if there is None:
                return False
            if relevant(path, there) != relevant(path, data or b""):
                return False
        return True

    def _of_checkout(
        self, folders: Sequence[EnvironmentFolder], contents: dict[str, bytes | None], warning: str = ""
    ) -> CheckEnvironment:
        root = self.project.root
        key = fingerprint(contents, "checkout", str(root), *_installed_facts(root, folders))
        return CheckEnvironment(key, root, tuple(folders), warnings=(warning,) if warning else ())

    def _made(self, command: Command, commit: str, base: str, contents: dict[str, bytes | None]) -> CheckEnvironment:
        facts = (
            command_words(command),
            str(self.project.root),
            str(self.confined),
            *(f"{name}={value}" for name, value in sorted(self.variables.items())),
            *_tool_versions(os.environ.get("PATH", "")),
        )
        key = fingerprint(contents, *facts)
        if key == fingerprint(self._inputs(base, list_files(self.project, base), base), *facts):
            # the same dependencies: made from the base, so that no author has a hand in what others share
            layer = self._layer(key, command, base, credentials=True)
            copied = has_copied_packages(layer, contents) or has_copied_project(layer)
            copied = copied or has_vendored_sources(layer, contents)
            # `checks.build` makes again what lies in the tree, but nothing in the home directory
            output = has_build_output(layer, contents) or has_generated_packages(layer, contents)
            built = has_built_programs(home_of(layer)) or (output and not self.builds)
            stale = (copied or built) and self._sources_differ(base, commit)
        else:
            stale = True
        if stale:
            key = fingerprint(contents, *facts, commit)
            layer = self._layer(key, command, commit, credentials=commit == base)
        self._prune(layer)
        folders = environment_folders(layer, contents)
        home = home_of(layer)
        return CheckEnvironment(key, layer, folders, layer=layer, home=home if home.is_dir() else None)

    def _sources_differ(self, base: str, commit: str) -> bool:
        return commit != base and may_change_output(touched(self.project, base, commit))

    def _layer(self, key: str, command: Command, commit: str, *, credentials: bool) -> Path:
        """The files that set-up makes on this commit; it runs only if they are not kept."""
        layer = self.cache / key[:32]
        private_folder(self.cache)
        with self.lock(f"environment-{layer.name}"):
            # before it is looked for: `burnish clean` may be about to delete it
            self.in_use.enter_context(environment_in_use(layer))
            if not layer.is_dir():
                self._make(command, commit, layer, credentials=credentials)
            os.utime(layer)
        return layer

    def _make(self, command: Command, commit: str, layer: Path, *, credentials: bool) -> None:
        tracked = list_files(self.project, commit)
        partial = layer.with_name(f".{layer.name}.partial")
        with self.run_setup(command, commit, credentials) as made, disk_errors(f"keeping the environment in {layer}"):
            remove_tree(partial)
            partial.mkdir(mode=0o700)
            collect_untracked(made.tree, tracked, partial)
            remove_tree(home_of(layer))
            collect_home(made.home, home_of(layer))
            partial.rename(layer)

    def _prune(self, current: Path) -> None:
        kept = sorted((one for one in self.cache.iterdir() if not one.name.startswith(".")), key=_used_at, reverse=True)
        day_ago = time.time() - 86_400
        for layer in kept[MOST_KEPT:]:
            if layer != current and _used_at(layer) < day_ago:
                delete_unused(layer)


def collect_untracked(files: Path, tracked: Iterable[str], into: Path) -> None:
    """Move what git does not track out of a tree, caches of sources that git does track aside."""
    names = set(tracked)
    folders = {parent for name in names for parent in _parents(name)}

    def collect(below: str) -> None:
        for entry in sorted(os.scandir(files / below), key=lambda one: one.name):
            path = f"{below}/{entry.name}" if below else entry.name
            if entry.name in _CACHES or path in names:
                continue
            if path in folders and entry.is_dir(follow_symlinks=False):
                collect(path)
                continue
            target = into / path
            target.parent.mkdir(parents=True, exist_ok=True)
            Path(entry.path).rename(target)

    collect("")


def collect_home(written: Mapping[str, Path], into: Path) -> None:
    """Move what set-up wrote into its home directory to `into`, which is not made where nothing is kept."""
    for below, folder in written.items():
        for path in list(kept_files(folder, Path.home(), below)):
            target = into / path
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            (folder / path.removeprefix(f"{below}/")).rename(target)


def command_words(command: Command) -> str:
    return command if isinstance(command, str) else shlex.join(command)


def _parents(path: str) -> Iterable[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _used_at(layer: Path) -> float:
    try:
        return layer.stat().st_mtime
    except OSError:
        return 0.0


def workspace_environment(project: Project, commit: str) -> CheckEnvironment:
    """What checks in a workspace find beside it: the environment folders of the checkout, and the programs on PATH."""
    folders = environment_folders(project.root, list_files(project, commit))
    facts = (*_installed_facts(project.root, folders), *_tool_versions(os.environ.get("PATH", "")))
    return CheckEnvironment(fingerprint({}, "workspace", str(project.root), *facts), project.root, folders)


def _installed_facts(root: Path, folders: Iterable[EnvironmentFolder]) -> list[str]:
    return [f"{one.path} {_installed_state(root / one.path)}" for one in folders]


def _installed_state(folder: Path) -> str:
    """Changes when packages are installed or removed there."""
    digest = hashlib.sha256()
    records = (folder / name for name in _NODE_RECORDS)
    for place in (folder, *sorted(folder.glob("lib/python*/site-packages")), *records):
        try:
            digest.update(f"{place.name} {place.stat().st_mtime_ns} ".encode())
        except OSError:
            continue
    return digest.hexdigest()


@lru_cache
def _tool_versions(path: str) -> tuple[str, ...]:
    """Which programs set-up and checks find, without starting one."""
    found = [platform.platform()]
    for name in _PROGRAMS:
        if program := shutil.which(name, path=path):
            real = os.path.realpath(program)
            found.append(f"{name} {real} {Path(real).stat().st_mtime_ns}")
    return tuple(found)
