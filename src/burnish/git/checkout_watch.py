"""The user's checkouts before and after somebody worked elsewhere: what is different in them. Nothing is written."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from burnish.folder_walk import walk_folders
from burnish.git.project import Project
from burnish.git.refs import packed_user_refs
from burnish.git.working_tree import is_secret
from burnish.git.worktrees import list_checkouts

# The name of a file, a folder or a ref → whatever differs when it was touched.
Seen = Mapping[str, object]
# More work trees than that are not looked at: it is done before and after every phase.
MOST_PLACES = 10


def read_checkouts(project: Project, tracked: Collection[str]) -> Seen:
    """Every folder that holds a tracked file, by `stat` alone: no process, and no look into what is only installed.

    The same folders of the repository's other work trees. The index is left out, as every `git status` writes it anew.
    """
    seen: dict[str, object] = {}
    holding = {os.path.dirname(path) for path in tracked} | {""}  # noqa: PTH120 (thousands of them)
    for prefix, root in _places(project).items():
        if prefix:
            seen[prefix] = True
        for folder in holding:
            _folder(root, folder, seen, prefix=prefix)
    seen[".git/config"] = _content(project.common_dir / "config")
    seen[".git/HEAD"] = _content(project.git_dir / "HEAD")
    _folder(project.common_dir, "hooks", seen, prefix=".git/")
    seen |= {f".git/{ref}": points for ref, points in _user_refs(project).items()}
    return seen


def _user_refs(project: Project) -> dict[str, bytes]:
    """Where the user's branches and the stash point, wherever that is written: `git gc` moves it into one file."""
    loose = {"refs/stash": _content(project.common_dir / "refs" / "stash")}
    for here, folders, names in walk_folders(project.common_dir / "refs" / "heads"):
        folders[:] = [name for name in folders if name != "burnish"]
        for name in names:
            # a lock is there for a moment, while the user's git works
            if not name.endswith(".lock"):
                place = Path(here, name)
                loose[str(place.relative_to(project.common_dir))] = _content(place)
    # in this order: a ref that is packed meanwhile is seen at one of the two places
    return packed_user_refs(project) | {ref: text.strip() for ref, text in loose.items() if text is not None}


def changed_checkouts(project: Project, before: Seen, after: Seen, tracked: Collection[str]) -> list[str]:
    """What is new, gone or changed, in order; untracked files that git is told to ignore aside."""
    names = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    # a work tree that was made or taken away meanwhile is one thing, not all that lies in it
    whole = tuple(name for name in names if name.endswith("/"))
    names = [name for name in names if name in whole or not name.startswith(whole)]
    known = frozenset(tracked)
    ignored: set[str] = set()
    for prefix, place in _places(project).items():
        own = [name.removeprefix(prefix) for name in names if name.startswith(prefix) and name not in whole]
        doubtful = [n for n in own if n not in known and not n.startswith((".git/", "/")) and not is_secret(n)]
        ignored |= {prefix + name for name in _ignored(project, place, doubtful)} if doubtful else set()
    return [name for name in names if name not in ignored]


def _places(project: Project) -> dict[str, Path]:
    """What names begin with there → each checkout: the user's own, then the repository's other ones."""
    others = [place for place in list_checkouts(project.common_dir) if place != project.root]
    return {"": project.root} | {f"{place}/": place for place in others[:MOST_PLACES]}


def _folder(root: Path, folder: str, seen: dict[str, object], *, prefix: str = "") -> None:
    place = root / folder
    if place.is_symlink():
        return
    with suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if path == ".git":
                continue
            with suppress(OSError):
                facts = entry.stat(follow_symlinks=False)
                inside = entry.is_dir(follow_symlinks=False)
                # of a folder only that it is there: its files are looked at, or are not ours to look at
                seen[prefix + path] = inside or (facts.st_mtime_ns, facts.st_size, facts.st_mode)


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _ignored(project: Project, place: Path, names: list[str]) -> frozenset[str]:
    # "./" keeps a name like ":(top)" from being read as more than a name.
    asked = b"".join(b"./" + os.fsencode(name) + b"\0" for name in names)
    args = ("check-ignore", "-z", "--stdin", "--no-index")
    told = project.git(*args, work_tree=place, stdin=asked, ok=(0, 1)).stdout.split(b"\0")
    return frozenset(os.fsdecode(path[2:]) for path in told if path)
