"""Files that an agent's instruction files import: by `@path`, by lists in settings, and by links, transitively.

Only the base is read, because reviewers get the instruction files of the base. A path that does not exist in the base
counts too, because a change could add it.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache

from burnish.core.project_files import is_named
from burnish.git.objects import read_objects
from burnish.git.project import Project

# depth to which links and imports are followed; claude follows imports five deep
_DEEPEST = 10
_MOST_FILES = 1000
_LARGEST = 1_000_000
_LINK, _FILE = "120000", ("100644", "100755")
# `@docs/guide.md`, `@./a.md`, `@"a b.md"`, `@a\ b.md`; not the `@` of an address
_IMPORT = re.compile(r"""(?<![\w@/.])@(?:"([^"\n]{1,500})"|((?:\\.|[^\s\\`'"<>|*?]){1,500}))""")
_SETTINGS = (".json", ".jsonc", ".yml", ".yaml", ".toml")
_TEXT_FILE = re.compile(r"[^\s\"',\[\]{}]{1,500}\.(?:md|mdc|mdx|txt|rst)\b|\"[^\"\n]{1,500}\.(?:md|mdc|mdx|txt|rst)\"")


@dataclass(frozen=True, slots=True)
class Imported:
    """Files and folders that the instruction files of a commit import, relative to the root of the repository."""

    # `*` and `?` for globs in settings
    files: frozenset[str] = frozenset()
    # targets of links that have the name of an instruction folder
    folders: frozenset[str] = frozenset()

    def has(self, path: str) -> bool:
        """Whether the path is imported, is inside an imported folder, or replaces a folder above an imported one."""
        parts = path.split("/")
        if path in self.files or any("/".join(parts[:count]) in self.folders for count in range(1, len(parts) + 1)):
            return True
        if any(one.startswith(f"{path}/") for one in (*self.files, *self.folders)):
            return True
        return any(fnmatchcase(path, glob) for glob in self.files if "*" in glob or "?" in glob)


@dataclass(slots=True)
class _Tree:
    """The files of one commit: path → (mode, object)."""

    entries: dict[str, tuple[str, str]]
    project: Project
    contents: dict[str, str] = field(default_factory=dict)

    def load(self, paths: Iterable[str]) -> None:
        """Read many files with one process."""
        missing = [path for path in dict.fromkeys(paths) if path in self.entries and path not in self.contents]
        answers = read_objects(self.project, [self.entries[path][1] for path in missing]) if missing else []
        for path, found in zip(missing, answers, strict=True):
            self.contents[path] = (found[1] if found else b"")[:_LARGEST].decode("utf-8", "surrogateescape")

    def mode(self, path: str) -> str:
        return self.entries[path][0] if path in self.entries else ""

    def text(self, path: str) -> str:
        self.load([path])
        return self.contents[path]

    def steps(self, path: str) -> Iterator[str]:
        """The path and the targets of the links on it, one after the other; stops at the border of the repository."""
        for _ in range(_DEEPEST):
            yield path
            parts = path.split("/")
            prefixes = ("/".join(parts[:count]) for count in range(1, len(parts) + 1))
            link = next((one for one in prefixes if self.mode(one) == _LINK), None)
            rest = path[len(link) + 1 :] if link else ""
            target = _inside(posixpath.dirname(link), posixpath.join(self.text(link), rest)) if link else None
            if target is None:
                return
            path = target


def imported_paths(project: Project, commit: str, names: Sequence[str]) -> Imported:
    """Follow imports and links from every file of the commit that matches one of the patterns."""
    return _imported_paths(project, commit, tuple(names))


@lru_cache(maxsize=64)  # the base is the same in every cycle
def _imported_paths(project: Project, commit: str, names: tuple[str, ...]) -> Imported:
    tree = _Tree(_entries(project, commit), project)
    files: set[str] = set()
    folders: set[str] = set()
    level = [path for path in tree.entries if is_named(path, names)]
    for depth in range(_DEEPEST):
        tree.load(level[:_MOST_FILES])
        following: list[str] = []
        for path in level[:_MOST_FILES]:
            steps = list(tree.steps(path))
            files.update(steps)
            if depth == 0 and len(steps) > 1 and not tree.mode(steps[-1]):
                folders.add(steps[-1])
                following += [one for one in tree.entries if one.startswith(f"{steps[-1]}/")]
            if tree.mode(steps[-1]) in _FILE:
                # programs resolve an import relative to the link, to its target, or to the root
                places = {posixpath.dirname(path), posixpath.dirname(steps[-1]), ""}
                imports = _imports(steps[-1], tree.text(steps[-1]))
                following += [one for name in imports for at in places if (one := _inside(at, name))]
        level = [path for path in dict.fromkeys(following) if path not in files]
        files.update(level)
    return Imported(frozenset(path for path in files if not is_named(path, names)), frozenset(folders))


def _entries(project: Project, commit: str) -> dict[str, tuple[str, str]]:
    output = project.git("ls-tree", "-r", "-z", commit).stdout
    found: dict[str, tuple[str, str]] = {}
    for entry in output.split(b"\0"):
        head, _, raw = entry.partition(b"\t")
        if raw:
            mode, _, sha = head.decode().split()
            found[os.fsdecode(raw)] = (mode, sha)
    return found


def _imports(path: str, text: str) -> list[str]:
    if path.endswith(_SETTINGS):
        return [word.strip('"') for word in _TEXT_FILE.findall(text)][:_MOST_FILES]
    words = (in_quotes or re.sub(r"\\(.)", r"\1", plain) for in_quotes, plain in _IMPORT.findall(text))
    # punctuation may follow a path
    return [name for word in words for name in dict.fromkeys((word, word.rstrip(".,;:!)]}")))][:_MOST_FILES]


def _inside(folder: str, name: str) -> str | None:
    """The path relative to the root; None outside of the repository."""
    if not name or name.startswith(("/", "~")) or "\0" in name:
        return None
    path = posixpath.normpath(posixpath.join(folder, name))
    return None if path in (".", "..") or path.startswith("../") else path
