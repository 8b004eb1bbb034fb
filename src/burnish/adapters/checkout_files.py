"""Lists and reads the files of a checkout on disk, and gives the other facts that detection needs."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from burnish import __version__, checks
from burnish.checks.tools import FoundChecks, Read, Surroundings
from burnish.config.repository import read_inside
from burnish.core import codec
from burnish.errors import BurnishError
from burnish.git.discovery import FoundRepository
from burnish.git.files import write_whole
from burnish.git.ignored_paths import find_uncommittable, find_untracked, is_ignored
from burnish.proc.capture import capture
from burnish.proc.environment import path_outside
from burnish.proc.folders import private_folder

# Third-party or generated files, often very large.
PASSED_OVER = frozenset(
    "node_modules bower_components site-packages __pycache__ venv env target build dist out coverage vendor "
    "third_party Pods DerivedData".split()
)
LOCK_FILE = re.compile(
    r"(?:^|/)(?:package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|yarn\.lock|bun\.lockb?|uv\.lock|poetry\.lock"
    r"|pdm\.lock|Pipfile\.lock|Gemfile\.lock|Cargo\.lock|go\.sum)$"
)
MAX_FILES, MAX_DEPTH, MAX_BYTES = 20_000, 8, 400_000


# Folders of builds whose name a part of a repository may have, too: `packages/env`. git ignores those of builds.
_NAMES_OF_PARTS = frozenset(("build", "env", "out", "target", "coverage"))
_PROJECT_FILES = ("package.json", "pyproject.toml", "setup.py", "go.mod", "Cargo.toml", "pom.xml", "build.gradle")
# Hidden folders that tell how a project is tested.
_WITH_SETTINGS = frozenset((".github", ".cargo", ".circleci", ".buildkite", ".woodpecker", ".config", ".ci"))


def files_of(root: Path) -> list[str]:
    """Relative paths without hidden and third-party folders; only the upper levels of a very large checkout."""
    found: list[str] = []
    level = [""]
    for _ in range(MAX_DEPTH):
        below: list[str] = []
        for folder in level:
            files, folders = _look(root / folder)
            found += [f"{folder}{name}" for name in files]
            below += [f"{folder}{name}/" for name in folders]
            if len(found) > MAX_FILES:
                return found
        level = below
    return found


def committable_files(found: FoundRepository) -> list[str]:
    """The same without files that git ignores, because set-up and checks run on a commit.

    Untracked lock files are left out, too: installing with them fails on the commit. Other new files are included,
    since the user is about to commit them.
    """
    paths = files_of(found.root)
    try:
        missing = find_uncommittable(found, paths)
        locks = [path for path in paths if LOCK_FILE.search(path)]
        missing |= find_untracked(found, locks) if locks else set()
    except BurnishError:  # without git `doctor` still looks at the files
        return paths
    return [path for path in paths if path not in missing]


def _look(folder: Path) -> tuple[list[str], list[str]]:
    files, folders = [], []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if not entry.name.isprintable():
                    continue  # not printable, so messages about it would be unreadable
                # git stores a link to a folder as a file
                if entry.is_file() or (entry.is_symlink() and entry.is_dir()):
                    files.append(entry.name)
                elif entry.is_dir(follow_symlinks=False) and _is_ours(folder, entry.name):
                    folders.append(entry.name)
    except OSError:
        return [], []
    return sorted(files), sorted(folders)


def _is_ours(folder: Path, name: str) -> bool:
    # A nested repository is another project.
    is_hidden = name.startswith(".") and name not in _WITH_SETTINGS
    is_part = name in _NAMES_OF_PARTS and any((folder / name / file).is_file() for file in _PROJECT_FILES)
    return not is_hidden and (is_part or name not in PASSED_OVER) and not (folder / name / ".git").exists()


def file_reader(root: Path) -> Callable[[str], str | None]:
    """A function that reads one of the files; None if it is missing, not a plain file, or a link to the outside."""

    def read(path: str) -> str | None:
        data = read_inside(root, root / path, longest=MAX_BYTES)
        return None if data is None else data.decode("utf-8-sig", "replace")

    return read


def detection_context(root: Path, found: FoundRepository | None = None) -> Surroundings:
    """The machine as seen by a check of the project at `root`. Starts no program below `root`."""
    path = path_outside(os.environ.get("PATH", os.defpath), root)
    return Surroundings(
        ignored=lambda name: found is not None and _is_ignored(found, name),
        has_program=lambda name: _has_program(name, path, root),
        has_module=lambda name: _has_module(name, path),
        link_target=lambda name: _link_target(root / name),
    )


def _link_target(path: Path) -> str | None:
    try:
        return str(path.readlink())
    except OSError:  # not a link
        return None


def _is_ignored(found: FoundRepository, name: str) -> bool:
    try:
        return is_ignored(found, name)
    except BurnishError:  # git is missing, which `doctor` reports; False is the safe answer
        return False


def _has_program(name: str, path: str, root: Path) -> bool:
    return shutil.which(name, path=f"{root / '.venv' / 'bin'}{os.pathsep}{path}") is not None


@lru_cache(maxsize=32)
def _has_module(name: str, path: str) -> bool:
    """True if the Python on PATH can import the module. Isolated (-I): imports nothing from the current folder."""
    program = shutil.which("python3", path=path) or shutil.which("python", path=path)
    if program is None:
        return False
    script = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"
    try:
        result = capture([program, "-I", "-c", script, name], cwd=Path("/"), env={"PATH": path}, timeout=20)
    except BurnishError:
        return False
    return result.exit_code == 0


# -- checks of a large commit -----------------------------------------------------------------------
# Searching 100,000 paths takes most of a second, and each run would search those of the same base.

# A commit with fewer files is searched each time.
STORED_OVER_FILES = 10_000
FOUND_CHECKS = "found-checks.json"
_MAX_FACTS = 1_000
_FACTS = ("ignored", "has_program", "has_module", "link_target")


def find_checks_at(
    commit: str, files: Callable[[str], Sequence[str]], read: Read, around: Surroundings, store: Path
) -> FoundChecks:
    """The checks of a commit, with the last result for a large one in the file `store`.

    The result depends on the commit, on burnish and on facts about the machine. A stored one is used if each fact that
    it was made from is still the same.
    """
    stored_checks = _stored_checks(store, commit, around)
    if stored_checks is not None:
        return stored_checks
    from burnish.checks.discover import find_checks  # the rules of all languages: slow to load

    facts: dict[tuple[str, str], bool | str | None] = {}
    paths = files(commit)
    found = find_checks(paths, read, _recording(around, facts))
    if len(paths) > STORED_OVER_FILES and len(facts) <= _MAX_FACTS:
        rows = [[*question, answer] for question, answer in facts.items()]
        data = {"state": _state(commit), "facts": rows, "found": codec.encode(found)}
        # the next run searches again
        with suppress(OSError):
            private_folder(store.parent)
            write_whole(store, json.dumps(data).encode(), durable=False)
    return found


def _recording(around: Surroundings, facts: dict[tuple[str, str], bool | str | None]) -> Surroundings:
    def ask(kind: str, name: str) -> bool | str | None:
        if (kind, name) not in facts:
            facts[kind, name] = getattr(around, kind)(name)
        return facts[kind, name]

    return Surroundings(
        ignored=lambda name: bool(ask("ignored", name)),
        has_program=lambda name: bool(ask("has_program", name)),
        has_module=lambda name: bool(ask("has_module", name)),
        link_target=lambda name: target if isinstance(target := ask("link_target", name), str) else None,
    )


def _stored_checks(store: Path, commit: str, around: Surroundings) -> FoundChecks | None:
    try:
        data = json.loads(store.read_bytes())
        if data["state"] != _state(commit):
            return None
        for kind, name, answer in data["facts"]:
            if kind not in _FACTS or getattr(around, kind)(name) != answer:
                return None
        found = codec.decode(FoundChecks, data["found"])
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None  # not there yet, or damaged
    specs = [
        replace(spec, command=spec.command if isinstance(spec.command, str) else tuple(spec.command))
        for spec in found.specs
    ]
    return replace(found, specs=tuple(specs))


def _state(commit: str) -> list[str]:
    """The commit and burnish's code, which in a development checkout changes without its version."""
    files = Path(str(checks.__file__)).parent.rglob("*.py")
    return [commit, __version__, str(max(file.stat().st_mtime_ns for file in files))]
