"""Detects changes in the user's checkouts while an agent works elsewhere. Reads only."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from burnish.folder_walk import walk_folders
from burnish.git.discovery import list_checkouts
from burnish.git.project import Project, is_secret
from burnish.git.refs import packed_user_refs

# name of a file, a folder or a ref → a value that differs after a change
CheckoutState = Mapping[str, object]
# a limit, because the checkouts are read before and after every phase
MAX_CHECKOUTS = 10
# what git reads beside the files: attributes name filters, and filters are programs
_SETTINGS = ("config", "config.worktree", "info/attributes", "info/exclude")


def read_checkouts(project: Project, tracked_paths: Collection[str]) -> CheckoutState:
    """State of every folder with tracked files, in all work trees, by `stat` only, without a process.

    Folders without tracked files (installed packages) are skipped, and so is the index, which `git status` rewrites.
    """
    state: dict[str, object] = {}
    folders_with_files = {os.path.dirname(path) for path in tracked_paths} | {""}  # noqa: PTH120 (thousands of them)
    for prefix, root in _checkouts_by_prefix(project).items():
        if prefix:
            state[prefix] = True
        for folder in folders_with_files:
            _read_folder(root, folder, state, prefix=prefix)
    state[".git/HEAD"] = _content(project.git_dir / "HEAD")
    state |= {f".git/{name}": _content(project.common_dir / name) for name in _SETTINGS}
    for place in (project.common_dir / "worktrees").glob("*/config.worktree"):
        state[f".git/{place.relative_to(project.common_dir)}"] = _content(place)
    _read_folder(project.common_dir, "hooks", state, prefix=".git/")
    state |= {f".git/{ref}": points for ref, points in _user_refs(project).items()}
    return state


def _user_refs(project: Project) -> dict[str, bytes]:
    """Commits of the user's branches and of the stash, from loose and packed refs."""
    loose = {"refs/stash": _content(project.common_dir / "refs" / "stash")}
    for here, folders, names in walk_folders(project.common_dir / "refs" / "heads"):
        folders[:] = [name for name in folders if name != "burnish"]
        for name in names:
            # locks exist for a moment while the user's git works
            if not name.endswith(".lock"):
                place = Path(here, name)
                loose[str(place.relative_to(project.common_dir))] = _content(place)
    # packed refs are read last: a ref that is packed meanwhile is found there
    return packed_user_refs(project) | {ref: text.strip() for ref, text in loose.items() if text is not None}


def changed_checkouts(
    project: Project, before: CheckoutState, after: CheckoutState, tracked_paths: Collection[str]
) -> list[str]:
    """Sorted names of what is new, deleted or changed; without ignored untracked files."""
    names = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    # a work tree that was added or removed meanwhile counts as one change
    added_or_removed = tuple(name for name in names if name.endswith("/"))
    names = [name for name in names if name in added_or_removed or not name.startswith(added_or_removed)]
    tracked_set = frozenset(tracked_paths)
    ignored_names: set[str] = set()
    for prefix, place in _checkouts_by_prefix(project).items():
        own = [name.removeprefix(prefix) for name in names if name.startswith(prefix) and name not in added_or_removed]
        may_be_ignored = [
            n for n in own if n not in tracked_set and not n.startswith((".git/", "/")) and not is_secret(n)
        ]
        ignored_names |= (
            {prefix + name for name in _ignored(project, place, may_be_ignored)} if may_be_ignored else set()
        )
    return [name for name in names if name not in ignored_names]


def _checkouts_by_prefix(project: Project) -> dict[str, Path]:
    """Prefix of names → checkout: the user's own first, then the other work trees."""
    others = [place for place in list_checkouts(project.common_dir) if place != project.root]
    return {"": project.root} | {f"{place}/": place for place in others[:MAX_CHECKOUTS]}


def _read_folder(root: Path, folder: str, state: dict[str, object], *, prefix: str = "") -> None:
    place = root / folder
    if place.is_symlink():
        return
    with suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if path == ".git":
                continue
            with suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                is_folder = entry.is_dir(follow_symlinks=False)
                # for a folder only its existence counts: its files have their own entries, or are not watched;
                # st_ctime_ns: a program can set the other time of a file back
                written = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_mode)
                state[prefix + path] = is_folder or written


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _ignored(project: Project, place: Path, names: list[str]) -> frozenset[str]:
    # "./" keeps git from reading a name like ":(top)" as pathspec magic
    query = b"".join(b"./" + os.fsencode(name) + b"\0" for name in names)
    args = ("check-ignore", "-z", "--stdin", "--no-index")
    answer = project.git(*args, work_tree=place, stdin=query, ok=(0, 1)).stdout.split(b"\0")
    return frozenset(os.fsdecode(path[2:]) for path in answer if path)
