"""The tree under test: a clean checkout of one commit with its environment, seen at the checkout's path."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from burnish.adapters.checks.environments import CheckEnvironment
from burnish.checks.environment import named_files
from burnish.checks.installed import EnvironmentFolder
from burnish.checks.placement import Placement
from burnish.errors import BadInput
from burnish.folder_walk import walk_folders
from burnish.git.checkout import TaskTree, temporary_index, throwaway
from burnish.git.files import disk_errors, remove_tree
from burnish.git.objects import list_entries, tree_of
from burnish.git.project import Project
from burnish.proc.capture import capture
from burnish.proc.environment import variables_for_mounts
from burnish.proc.mounts import Mount, Overlay, TreeView, mountable, overlay_works, with_overlays
from burnish.proc.program_files import show_package_caches
from burnish.proc.sandbox import Sandbox


@dataclass(frozen=True, slots=True)
class CheckTree:
    """One tree under test. `build` layers, newest first, hold what `checks.build` wrote."""

    project: Project
    files: Path
    environment: CheckEnvironment
    sandbox: Sandbox | None
    scratch: Path
    overlays: bool
    uppers: dict[str, Path] = field(default_factory=dict)
    # per check, the layers of the package caches in the home directory
    home_uppers: dict[str, list[tuple[Path, Path]]] = field(default_factory=dict)
    build: list[Path] = field(default_factory=list)
    made_at: float = field(default_factory=time.time)
    # Folders on disk for the parts of the home directory that set-up writes to, by relative path.
    home_parts: dict[str, Path] = field(default_factory=dict)
    direct: bool = False

    @property
    def path(self) -> Path:
        """Where programs see the tree: at the checkout's path, so that installed packages find it."""
        return self.project.root if self.sandbox else self.files

    def path_variable(self, source: str) -> str:
        """PATH for the checks: the environment's programs first, and nothing of the checkout without a sandbox."""
        own = [str(self.path / folder.programs) for folder in self.environment.folders if folder.kind == "python"]
        rest = source.split(os.pathsep)
        if not self.sandbox:
            rest = [one for one in rest if not _is_below(one, self.project.root)]
        return os.pathsep.join(dict.fromkeys([*own, *rest]))

    def placement(self, env: Mapping[str, str], readable: Sequence[Path] = ()) -> Placement:
        if self.sandbox is None:
            return Placement.plain(self.files, checkout=self.project.root, made_at=self.made_at)
        return Placement(
            self.files,
            self.path,
            lambda argv, name, report_dir: self.confined_argv(argv, name, env, report_dir, readable),
            lambda name: self.uppers.get(name, self.files),
            checkout=self.project.root,
            made_at=self.made_at,
            home=(self.sandbox.home.resolve(), self.environment.home) if self.environment.home else None,
            home_written=lambda name: self.home_uppers.get(name, ()),
        )

    def confined_argv(
        self, argv: Sequence[str], name: str, env: Mapping[str, str], report_dir: Path, readable: Sequence[Path] = ()
    ) -> tuple[str, ...]:
        """The command inside the sandbox, with the tree at the checkout's path."""
        assert self.sandbox
        overlays = self._overlays(name) if self.overlays else []
        tree = overlays[0].target if overlays else self.files
        env = variables_for_mounts(env, roots=(self.path,))
        home = self._home()
        packages = show_package_caches(
            self.sandbox.home, env, self.scratch, programs=True, added_files=self.environment.home
        )
        mounts_to_write = (one for one in packages.mounts if one.mode == "write")
        layers = [(mount.target, one.upper) for one, mount in zip(packages.overlays, mounts_to_write, strict=True)]
        self.home_uppers[name] = layers
        if self.direct:
            root = self.sandbox.home.resolve()
            self.home_parts.update({target.relative_to(root).as_posix(): upper for target, upper in layers})
        mounts = [Mount(self.path, "write", tree), Mount(self.path / ".git", "write", tree / ".git"), *packages.mounts]
        mounts += [Mount(self.path / one, "empty") for one in self._hidden_caches()] if overlays else []
        inside = enclose(
            self.sandbox,
            argv,
            env=env,
            programs=self._programs_on_disk(env),
            writable=(report_dir,),
            readable=readable,
            trees=mounts,
            mounts=home.mounts,
        )
        return with_overlays(inside, (*overlays, *home.overlays, *packages.overlays))

    def _home(self) -> TreeView:
        """The home directory of set-up, whose files are stored, or that of checks, with the stored files."""
        assert self.sandbox
        root = self.sandbox.home.resolve()
        if root == self.project.root.resolve() or not (self.direct or self.environment.home):
            return TreeView()
        place = Path(tempfile.mkdtemp(prefix="home-", dir=self.scratch))
        if self.direct:
            self.home_parts[""] = place
            return TreeView((Mount(root, "write", place),))
        assert self.environment.home
        if not (self.overlays and mountable([self.environment.home])):
            copy_below(self.environment.home, place)
            return TreeView((Mount(root, "write", place),))
        overlay = Overlay((self.environment.home,), place, place / "merged")
        overlay.create()
        return TreeView((Mount(root, "write", overlay.target),), (overlay,))

    def _overlays(self, name: str) -> list[Overlay]:
        """Overlays of the tree over its environment, with a temporary layer for this call on top."""
        place = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.scratch))
        layer = [self.environment.layer] if self.environment.layer else []
        found = [Overlay((*self.build, self.files, *layer), place / "tree", place / "merged")]
        found[0].create()
        self.uppers[name] = found[0].upper
        if layer or not self.environment.root:
            return found
        for number, folder in enumerate(self.environment.folders):
            (found[0].upper / folder.path).mkdir(parents=True)
            over = Overlay(
                (self.environment.root / folder.path,), place / f"folder-{number}", found[0].target / folder.path
            )
            for part in (over.upper, over.scratch / "work"):
                part.mkdir(parents=True, mode=0o700)
            found.append(over)
        return found

    def _hidden_caches(self) -> list[str]:
        """Caches in the checkout's environment folders: they describe the sources of the checkout, not of this tree."""
        root = self.environment.root
        if root is None or self.environment.layer:
            return []
        found = [name for folder in self.environment.folders for name in folder.caches]
        return [name for name in found if (root / name).is_dir() and not (root / name).is_symlink()]

    def _programs_on_disk(self, env: Mapping[str, str]) -> list[Path]:
        """The folders of a layer's programs outside of the sandbox, to find out what they need."""
        root, home = self.environment.root, self.environment.home
        found = [root / folder.programs for folder in self.environment.folders] if root else []
        if home and self.sandbox:
            own = self.sandbox.home.resolve()
            folders = [Path(word) for word in env["PATH"].split(os.pathsep)]
            found += [home / one.relative_to(own) for one in folders if one.is_relative_to(own)]
        return found

    def keep_build(self, name: str) -> None:
        """Make the files that `checks.build` wrote part of the tree for later checks."""
        if name in self.uppers:
            self.build.insert(0, self.uppers[name])


def enclose(
    sandbox: Sandbox,
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    programs: Sequence[Path],
    writable: Sequence[Path],
    readable: Sequence[Path],
    trees: Sequence[Mount],
    mounts: Sequence[Mount] = (),
) -> tuple[str, ...]:
    """`argv` in the sandbox with `trees` mounted; `programs`: folders outside of it with the programs of the trees."""
    path = os.pathsep.join([*map(str, programs), env.get("PATH", "")])
    if "/" not in argv[0] and not shutil.which(argv[0], path=path):
        return tuple(argv)  # cannot be started; the error should name the program
    # Resolved inside the sandbox: a tree's program is at this path only there.
    words = argv if argv[0].startswith("/") else ("/usr/bin/env", *argv)
    readable_places = (*named_files(env), *readable)
    return sandbox.around(
        words, env={**env, "PATH": path}, writable=writable, readable=readable_places, trees=trees, mounts=mounts
    )


@contextmanager
def check_tree(
    project: Project,
    commit: str,
    place: Path,
    environment: CheckEnvironment,
    sandbox: Sandbox | None,
    *,
    direct: bool = False,
    task_tree: TaskTree | None = None,
    adds_files: bool = False,
) -> Iterator[CheckTree]:
    """Check out `commit` at `place` temporarily, after its environment, so that sources are newer than the layer.

    `direct`: programs write into the tree itself, so that the files of set-up can be stored.
    `task_tree`: an existing clean tree to reuse. Afterwards it takes this tree over, if checks could not write to it.
    `adds_files`: the caller writes files into it.
    """
    scratch = place.with_name(f".{place.name}.scratch")
    reusable_tree = task_tree if sandbox and not environment.layer else None
    if task_tree and not reusable_tree:
        # Not usable: its files are older than the layer, or programs may have written to it.
        task_tree.remove()
    with throwaway(project, commit, place, clean_tree=reusable_tree) as files:
        _age_build_results(project, commit, files)
        try:
            with disk_errors(f"making {scratch}"):
                remove_tree(scratch)
                scratch.mkdir(mode=0o700)
            environment_roots = (
                [environment.root, *(environment.root / one.path for one in environment.folders)]
                if environment.root
                else []
            )
            roots = [files, scratch, *environment_roots]
            overlays = not direct and sandbox is not None and mountable(roots) and overlay_works(place.parent)
            tree = CheckTree(project, files, environment, sandbox, scratch, overlays, direct=direct)
            if not overlays:
                _copy_environment(environment, files)
            yield tree
            if overlays and task_tree:
                clean_at = "" if adds_files else tree_of(project, commit)
                task_tree.take(files, temporary_index(files), clean_at=clean_at)
        finally:
            remove_tree(scratch)


# The oldest time that a zip file can hold, with a day for time zones.
_OLD = 315_619_200
_BUILD_RESULTS = (".o", ".obj", ".lo", ".la", ".a", ".so", ".dylib", ".dll", ".exe", ".class", ".gch", ".pch")
_MACHINE_CODE = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")


def _age_build_results(project: Project, commit: str, files: Path) -> None:
    """Make committed build results older than all sources, so that make and the like build them again.

    A checkout writes all files at the same time, and a changed source would seem to be built.
    """
    entries = list_entries(project, commit)
    likely = [name for name, entry in entries.items() if name.endswith(_BUILD_RESULTS) or entry.startswith("100755")]
    for name in likely:
        is_program = entries[name].startswith("100755") and "." not in name.rpartition("/")[2]
        if not (is_program or (entries[name].startswith("100") and name.endswith(_BUILD_RESULTS))):
            continue
        path = files / name
        with suppress(OSError):
            if not is_program or _starts_with_machine_code(path):
                os.utime(path, (_OLD, _OLD), follow_symlinks=False)


def _starts_with_machine_code(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) in _MACHINE_CODE


def author_view(project: Project, folders: Sequence[EnvironmentFolder], workspace: Path, scratch: Path) -> TreeView:
    """The author's view: the workspace is also at the checkout's path, so that installed packages import it.

    Environment folders of the checkout are mounted over it, with a temporary layer on top.
    """
    root = project.root
    mounts = [Mount(root, "write", workspace)]
    # An earlier call may have replaced it by a link, which bubblewrap would follow.
    if not (workspace / ".git").is_symlink():
        mounts.append(Mount(root / ".git", "write", workspace / ".git"))
    overlays: list[Overlay] = []
    for number, folder in enumerate(folders):
        own = workspace / folder.path
        if own.is_symlink() or not own.parent.is_dir() or (own.is_dir() and any(own.iterdir())):
            continue
        lower, place = root / folder.path, scratch / str(number)
        if not (mountable([lower, place]) and overlay_works(workspace.parent)):
            mounts.append(Mount(lower, "read"))
            continue
        overlay = Overlay((lower,), place, place / "merged")
        overlay.create()
        overlays.append(overlay)
        mounts.append(Mount(lower, "write", overlay.target))
    scratch.mkdir(parents=True, exist_ok=True, mode=0o700)
    packages = show_package_caches(Path.home(), os.environ, scratch)
    return TreeView((*mounts, *packages.mounts), (*overlays, *packages.overlays))


def _copy_environment(environment: CheckEnvironment, files: Path) -> None:
    """Copy the environment into the tree, if mounting is impossible; tracked files stay."""
    if environment.root is None:
        return
    if environment.layer:
        copy_below(environment.layer, files)
        return
    for folder in environment.folders:
        (files / folder.path).parent.mkdir(parents=True, exist_ok=True)
        _copy(environment.root / folder.path, files / folder.path)
        for name in folder.caches:
            remove_tree(files / name)


def copy_below(source: Path, target: Path) -> None:
    """Copy the content of one folder into another; existing files stay."""
    for entry in os.scandir(source):
        there = target / entry.name
        if not os.path.lexists(there):
            _copy(Path(entry.path), there)
        elif entry.is_dir(follow_symlinks=False) and there.is_dir() and not there.is_symlink():
            copy_below(Path(entry.path), there)


def _copy(source: Path, target: Path) -> None:
    """Copy with reflinks if supported; keeps times, since build tools compare them."""
    with disk_errors(f"copying {source}"):
        if sys.platform.startswith("linux"):
            argv = ("cp", "-a", "--reflink=auto", "--", str(source), str(target))
            if capture(argv, cwd=Path("/"), env={"PATH": os.defpath}).exit_code == 0:
                return
            remove_tree(target)
        if source.is_dir() and not source.is_symlink():
            shutil.copytree(source, target, symlinks=True)
        else:
            shutil.copy2(source, target, follow_symlinks=False)


def _is_below(place: str, root: Path) -> bool:
    return Path(place).is_absolute() and Path(place).resolve().is_relative_to(root.resolve())


# Large folders in which tests do not leave data.
_SKIPPED = frozenset((".git", ".venv", "venv", "node_modules"))


def remember_tree(root: Path) -> Callable[[], None]:
    """A function that removes all files added since: data of the first run must not affect the second."""
    before = _paths(root)

    def reset() -> None:
        for path in sorted(_paths(root) - before):
            place = root / path
            if place.is_dir() and not place.is_symlink():
                remove_tree(place)
            else:
                place.unlink(missing_ok=True)

    return reset


def _paths(root: Path) -> set[str]:
    found = set()
    for place, folders, files in walk_folders(root):
        folders[:] = [name for name in folders if name not in _SKIPPED]
        found |= {os.path.relpath(Path(place, name), root) for name in (*folders, *files)}
    return found


# -- copied files ---------------------------------------------------------------------------------
# `workspace.copy`: ignored files of the user's checkout that tests need.


def copy_ignored_files(checkout: Path, names: Sequence[str], files: Path) -> None:
    """Copy them from the checkout into a tree, with their current content."""
    for name in names:
        source, target = checkout / name, files / name
        inside = source.resolve().is_relative_to(checkout.resolve()) and ".." not in Path(name).parts
        if not inside or not source.is_file():
            raise BadInput(
                f"workspace.copy names {name}, which is not a file in your checkout.",
                hint="Use a path relative to the repository's root, or remove it from burnish.yaml.",
            )
        if not target.parent.resolve().is_relative_to(files.resolve()):
            continue  # a link that an agent created
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        shutil.copy2(source, target)


def copied_files_digest(checkout: Path, names: Sequence[str]) -> str:
    """A hash of the files' content; missing files are reported when they are copied."""
    digest = hashlib.sha256()
    for name in sorted(names):
        source = checkout / name
        content = source.read_bytes() if source.is_file() else b""
        digest.update(f"{name} {len(content)} ".encode() + content)
    return digest.hexdigest()
