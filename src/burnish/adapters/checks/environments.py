"""The environment for the checks of one tree: the user's own folders, or a cached layer made by set-up."""

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
from burnish.checks.build_inputs import version_modules
from burnish.checks.dependency_files import dependency_paths, fingerprint, included_paths, named_paths, relevant
from burnish.checks.environment import withheld_credentials
from burnish.checks.generated_files import (
    build_helpers,
    has_build_output,
    has_built_programs,
    has_copied_packages,
    has_copied_project,
    has_generated_packages,
    has_vendored_sources,
    included_sources,
    kept_files,
    leaves_files,
    may_change_output,
    native_sources,
)
from burnish.checks.installed import CLASSIC_RECORD, RECORD, EnvironmentFolder, difference, environment_folders
from burnish.core.error_lines import first_error, last_lines
from burnish.core.status import ErrorCode
from burnish.errors import PhaseFailed
from burnish.git.files import disk_errors, remove_tree
from burnish.git.merge import touched
from burnish.git.objects import list_files, read_files
from burnish.git.project import Project
from burnish.proc.file_systems import full_disk_failure
from burnish.proc.folders import private_folder
from burnish.regular_files import read_regular

Command = str | tuple[str, ...]
# The number of stored environments per project; the least recently used are deleted first.
MAX_KEPT = 5
# Written by programs during set-up; they may describe outdated sources.
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
    """The installed packages for checks. `root` contains `folders`: the user's checkout, or the layer."""

    fingerprint: str
    root: Path | None = None
    folders: tuple[EnvironmentFolder, ...] = ()
    # Files that set-up made, shown below the tree under test.
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
    """Files that set-up wrote: the tree on disk, and folders for parts of its home directory, by path."""

    tree: Path
    home: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CheckEnvironments:
    """Selects and creates the environments of one project."""

    project: Project
    cache: Path
    # `workspace.setup`, and the command that `init` would write there
    setup: Command | None
    found_setup: Callable[[str], Command | None]
    # True if a sandbox mounts the tree at the checkout's path.
    confined: bool
    # Runs the set-up command on a commit, with or without credentials of package indexes, and returns the files that
    # it wrote, before they are removed.
    run_setup: Callable[[Command, str, bool], AbstractContextManager[SetUpFiles]]
    # True if `checks.build` rebuilds output from the sources on each tree.
    builds: bool
    lock: Callable[[str], AbstractContextManager[None]]
    # True if `checks.test` is `auto`; then the set-up is also detected as in `init`.
    automatic: bool = False
    # `isolation.env`, which set-up gets
    variables: Mapping[str, str] = field(default_factory=dict)
    # Protects the selected environment from deletion until the owner closes the stack.
    in_use: ExitStack = field(default_factory=ExitStack)

    def prepare(self, commit: str, base: str, *, own: bool = False) -> CheckEnvironment:
        """The environment for the checks of `commit`; set-up runs only for dependencies that are new.

        `own`: made by set-up if there is a command for it, even if the checkout has an environment.
        """
        paths = list_files(self.project, commit)
        contents = self._inputs(commit, paths, base)
        folders = environment_folders(self.project.root, paths)
        is_current = not own and bool(folders) and self._same_as_checkout(contents)
        # A clean tree lacks the files that installing writes beside the sources.
        is_complete = is_current and not leaves_files(contents) and not self._holds_sources(self.project.root, contents)
        if self.confined and is_complete and not any(difference(self.project.root, one, contents) for one in folders):
            return self._checkout_environment(folders, contents)
        if command := self.setup or self._default_setup(commit, bool(folders), is_complete):
            return self._environment_from_setup(command, commit, base, contents)
        if not self.confined or not folders:
            return CheckEnvironment(fingerprint(contents, "none", *_tool_versions(os.environ.get("PATH", ""))))
        warning = "" if is_current else "The change declares other dependencies than those installed in your checkout."
        return self._checkout_environment(folders, contents, warning)

    def _inputs(self, commit: str, paths: Sequence[str], base: str) -> dict[str, bytes | None]:
        """The files that determine the environment: dependency files, files named by set-up, and compiled sources."""
        # Files of the base only: others that set-up names are its output.
        setup_files = named_paths(command_words(self.setup or ""), list_files(self.project, base))
        contents = read_files(self.project, commit, sorted({*dependency_paths(paths), *setup_files}))
        while more := included_paths(contents, paths):
            contents |= read_files(self.project, commit, more)
        sources = read_files(self.project, commit, native_sources(paths, contents))
        while more := included_sources(sources, paths):
            sources |= read_files(self.project, commit, more)
        if sources:
            sources |= contents
            while more := build_helpers(sources, paths):
                sources |= read_files(self.project, commit, more)
        return contents | sources

    def _holds_sources(self, root: Path, contents: Mapping[str, bytes | None]) -> bool:
        """True if the checkout's folders contain copies of its sources, or files generated from them."""
        return has_copied_packages(root, contents) or (not self.builds and has_generated_packages(root, contents))

    def _default_setup(self, commit: str, folders: bool, complete: bool) -> Command | None:
        """Without `workspace.setup`: the command that `init` would write, if the checkout's folders are not usable."""
        is_allowed = folders or self.automatic
        return self.found_setup(commit) if is_allowed and not (self.confined and complete) else None

    def _same_as_checkout(self, contents: dict[str, bytes | None]) -> bool:
        modules = version_modules(contents)
        for path, data in contents.items():
            current = read_regular(self.project.root / path)
            if current is None:
                return False
            if relevant(path, current, modules) != relevant(path, data or b"", modules):
                return False
        return True

    def _checkout_environment(
        self, folders: Sequence[EnvironmentFolder], contents: dict[str, bytes | None], warning: str = ""
    ) -> CheckEnvironment:
        root = self.project.root
        key = fingerprint(contents, "checkout", str(root), *_installed_facts(root, folders))
        return CheckEnvironment(key, root, tuple(folders), warnings=(warning,) if warning else ())

    def _environment_from_setup(
        self, command: Command, commit: str, base: str, contents: dict[str, bytes | None]
    ) -> CheckEnvironment:
        facts = (
            command_words(command),
            str(self.project.root),
            str(self.confined),
            *(f"{name}={value}" for name, value in sorted(self.variables.items())),
            *_tool_versions(os.environ.get("PATH", "")),
        )
        key = fingerprint(contents, *facts)
        if key == fingerprint(self._inputs(base, list_files(self.project, base), base), *facts):
            # The same dependencies: made from the base, so that no author affects the shared environment.
            layer = self._layer(key, command, base, credentials=True)
            has_copies = has_copied_packages(layer, contents) or has_copied_project(layer)
            has_copies = has_copies or has_vendored_sources(layer, contents)
            # `checks.build` rebuilds files in the tree, but not those in the home directory.
            output = has_build_output(layer, contents) or has_generated_packages(layer, contents)
            has_build = has_built_programs(home_of(layer)) or (output and not self.builds)
            is_stale = (has_copies or has_build) and self._sources_differ(base, commit)
        else:
            is_stale = True
        if is_stale:
            key = fingerprint(contents, *facts, commit)
            layer = self._layer(key, command, commit, credentials=commit == base)
        self._prune(layer)
        folders = environment_folders(layer, contents)
        home = home_of(layer)
        return CheckEnvironment(key, layer, folders, layer=layer, home=home if home.is_dir() else None)

    def _sources_differ(self, base: str, commit: str) -> bool:
        return commit != base and may_change_output(touched(self.project, base, commit))

    def _layer(self, key: str, command: Command, commit: str, *, credentials: bool) -> Path:
        """The files that set-up makes on this commit; runs set-up only if they are not stored."""
        layer = self.cache / key[:32]
        private_folder(self.cache)
        with self.lock(f"environment-{layer.name}"):
            # Before it is looked up, since `burnish clean` may be about to delete it.
            self.in_use.enter_context(environment_in_use(layer))
            if not layer.is_dir():
                self._make(command, commit, layer, credentials=credentials)
            os.utime(layer)
        return layer

    def _make(self, command: Command, commit: str, layer: Path, *, credentials: bool) -> None:
        paths = list_files(self.project, commit)
        partial = layer.with_name(f".{layer.name}.partial")
        with (
            self.run_setup(command, commit, credentials) as setup_files,
            disk_errors(f"storing the environment in {layer}"),
        ):
            remove_tree(partial)
            partial.mkdir(mode=0o700)
            collect_untracked(setup_files.tree, paths, partial)
            remove_tree(home_of(layer))
            collect_home(setup_files.home, home_of(layer))
            partial.rename(layer)

    def _prune(self, current: Path) -> None:
        layers = sorted(
            (one for one in self.cache.iterdir() if not one.name.startswith(".")), key=_used_at, reverse=True
        )
        day_ago = time.time() - 86_400
        for layer in layers[MAX_KEPT:]:
            if layer != current and _used_at(layer) < day_ago:
                delete_unused(layer)


def collect_untracked(files: Path, tracked_paths: Iterable[str], into: Path) -> None:
    """Move untracked files out of a tree, except caches of tracked sources."""
    names = set(tracked_paths)
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


def collect_home(home_parts: Mapping[str, Path], into: Path) -> None:
    """Move the files that set-up wrote into its home directory to `into`, which is created only if needed."""
    for below, folder in home_parts.items():
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
    """The environment of checks in a workspace: the checkout's environment folders and the programs on PATH."""
    folders = environment_folders(project.root, list_files(project, commit))
    facts = (*_installed_facts(project.root, folders), *_tool_versions(os.environ.get("PATH", "")))
    return CheckEnvironment(fingerprint({}, "workspace", str(project.root), *facts), project.root, folders)


def _installed_facts(root: Path, folders: Iterable[EnvironmentFolder]) -> list[str]:
    return [f"{one.path} {_installed_state(root / one.path)}" for one in folders]


def _installed_state(folder: Path) -> str:
    """A hash that changes when packages are installed or removed there."""
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
    """The programs that set-up and checks use, without starting one."""
    found = [platform.platform()]
    for name in _PROGRAMS:
        if program := shutil.which(name, path=path):
            real = os.path.realpath(program)
            found.append(f"{name} {real} {Path(real).stat().st_mtime_ns}")
    return tuple(found)


# -- setup failure --------------------------------------------------------------------------------
# The error for a failed set-up.


class CredentialsWithheld(PhaseFailed):
    """Set-up of a change failed without credentials that it would have on the base."""


def setup_failure(exit_code: int | None, output: str, *, credentials: bool, folders: Sequence[Path]) -> PhaseFailed:
    """The error for a failed set-up that wrote into `folders`."""
    if full := full_disk_failure("workspace.setup", folders, last_lines(output)):
        return full
    message = f"workspace.setup failed with exit code {exit_code}: {first_error(output) or 'no output'}"
    if credentials or not withheld_credentials(os.environ, Path.home()):
        hint = "Correct workspace.setup in burnish.yaml, then run `burnish retry`."
        return PhaseFailed(ErrorCode.SETUP_FAILED, message, hint=hint, output=last_lines(output))
    return CredentialsWithheld(
        ErrorCode.SETUP_FAILED,
        f"{message} (without the credentials of your package indexes, which only set-up of the base gets)",
        hint="Check the change. `workspace.setup_credentials: always` in your config.yaml passes the credentials; then "
        "run `burnish retry`.",
        output=last_lines(output),
    )
