"""Detects changes in the user's checkouts while an agent works elsewhere. Reads only."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from burnish.folder_walk import walk_folders
from burnish.git.discovery import list_checkouts
from burnish.git.project import Project, is_secret
from burnish.git.refs import packed_user_refs

# a limit, because the checkouts are read before and after every phase
MAX_CHECKOUTS = 10
# of a checkout, in folders without tracked files
MAX_UNTRACKED = 20_000
# what git reads beside the files: attributes name filters, and filters are programs
_SETTINGS = ("config", "config.worktree", "info/attributes", "info/exclude", "info/grafts", "objects/info/alternates")
_REF_FOLDERS = ("refs/heads", "refs/tags", "refs/replace")


@dataclass(slots=True)
class CheckoutState:
    """What the checkouts are at one moment."""

    # name of a file, a folder or a ref → a value that differs after a change
    entries: dict[str, object] = field(default_factory=dict)
    # prefixes of checkouts with more untracked files than are read
    cut: set[str] = field(default_factory=set)


def read_checkouts(project: Project, tracked_paths: Collection[str]) -> CheckoutState:
    """State of all work trees by `stat`, without a process unless there are folders without tracked files.

    Ignored folders (installed packages) are skipped. Of an index its entries count: `git status` rewrites the file.
    """
    state = CheckoutState()
    tracked_folders = _with_parents(tracked_paths)
    for prefix, root in _checkouts_by_prefix(project).items():
        if prefix:
            state.entries[prefix] = True
        others: list[str] = []
        for folder in tracked_folders:
            others += (path for path in _read_folder(root, folder, state, prefix) if path not in tracked_folders)
        _read_untracked(project, root, others, state, prefix)
    entries, common_dir = state.entries, project.common_dir
    entries[".git/HEAD"] = _content(project.git_dir / "HEAD")
    entries |= {f".git/{name}": _content(common_dir / name) for name in _SETTINGS}
    for place in (*(common_dir / "worktrees").glob("*/config.worktree"), *_index_files(project)):
        entries[f".git/{place.relative_to(common_dir)}"] = _content(place)
    _read_folder(common_dir, "hooks", state, ".git/")
    entries |= {f".git/{ref}": points for ref, points in _user_refs(project).items()}
    return state


def _with_parents(paths: Collection[str]) -> set[str]:
    """The folders of the paths, and all folders above."""
    found = {""}
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return found


def _index_files(project: Project) -> list[Path]:
    folders = [project.common_dir, *sorted((project.common_dir / "worktrees").glob("*"))[:MAX_CHECKOUTS]]
    return [folder / "index" for folder in folders]


def _user_refs(project: Project) -> dict[str, bytes]:
    """What the user's branches, tags, replacements and the stash point to, from loose and packed refs."""
    loose = {"refs/stash": _content(project.common_dir / "refs" / "stash")}
    for top in _REF_FOLDERS:
        for here, folders, names in walk_folders(project.common_dir / top):
            if top == "refs/heads":
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
    old, new = before.entries, after.entries
    names = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    # a work tree or a folder that was added or removed meanwhile counts as one change
    whole = {name.rstrip("/") for name in names if True in (old.get(name), new.get(name))}
    names = [name for name in names if not whole & _folders_above(name)]
    tracked_folders = _with_parents(tracked_paths)
    if before.cut or after.cut:
        names = [name for name in names if _is_comparable(name, before, after, tracked_folders)]
    indexes = {f".git/{place.relative_to(project.common_dir)}" for place in _index_files(project)}
    # that of a work tree that was added or removed says nothing more
    names = [n for n in names if n not in indexes or (n in old and n in new and _differ(project, old[n], new[n]))]
    tracked_names = tracked_folders.union(tracked_paths)
    ignored_names: set[str] = set()
    for prefix, place in _checkouts_by_prefix(project).items():
        own = [name.removeprefix(prefix) for name in names if name.startswith(prefix) and not name.endswith("/")]
        may_be_ignored = [
            n for n in own if n not in tracked_names and not n.startswith((".git/", "/")) and not is_secret(n)
        ]
        ignored_names |= (
            {prefix + name for name in _ignored(project, place, may_be_ignored)} if may_be_ignored else set()
        )
    return [name for name in names if name not in ignored_names]


def _folders_above(name: str) -> set[str]:
    parts = name.rstrip("/").split("/")
    return {"/".join(parts[:end]) for end in range(1, len(parts))}


def _is_comparable(name: str, before: CheckoutState, after: CheckoutState, tracked_folders: Collection[str]) -> bool:
    """Where not all untracked files were read, one that only one state has may be as old as the others."""
    # the names of other checkouts are absolute
    prefixes = (prefix for prefix in sorted(before.cut | after.cut, reverse=True) if prefix or name[0] != "/")
    cut = next((prefix for prefix in prefixes if name.startswith(prefix)), None)
    if cut is None or name.startswith(".git/") or name in before.entries.keys() & after.entries.keys():
        return True
    return name.removeprefix(cut).rpartition("/")[0] in tracked_folders


def _differ(project: Project, old_index: object, new_index: object) -> bool:
    old, new = _index_entries(project, old_index), _index_entries(project, new_index)
    # git cannot read a split index here, because its shared part stays in the user's git folder
    return old is None or new is None or old != new


def _index_entries(project: Project, data: object) -> bytes | None:
    """Paths, modes, hashes and flags in an index file; None if git cannot read it."""
    if not isinstance(data, bytes):
        return None
    with tempfile.NamedTemporaryFile(dir=project.own, prefix="index-") as file:
        file.write(data)
        file.flush()
        answer = project.git("ls-files", "--stage", "-v", "-z", index=Path(file.name), ok=(0, 128))
    return answer.stdout if answer.exit_code == 0 else None


def _checkouts_by_prefix(project: Project) -> dict[str, Path]:
    """Prefix of names → checkout: the user's own first, then the other work trees."""
    others = [place for place in list_checkouts(project.common_dir) if place != project.root]
    return {"": project.root} | {f"{place}/": place for place in others[:MAX_CHECKOUTS]}


def _read_untracked(project: Project, root: Path, folders: list[str], state: CheckoutState, prefix: str) -> None:
    """The files in folders without tracked files, but not in ignored ones and other repositories."""
    end = len(state.entries) + MAX_UNTRACKED
    while folders:
        folders = [folder for folder in folders if not (root / folder / ".git").exists()]
        ignored_folders = _ignored(project, root, folders) if folders else frozenset()
        below: list[str] = []
        for folder in sorted(set(folders) - ignored_folders):
            if len(state.entries) > end:
                state.cut.add(prefix)
                return
            below += _read_folder(root, folder, state, prefix)
        folders = below


def _read_folder(root: Path, folder: str, state: CheckoutState, prefix: str) -> list[str]:
    """Add what the folder has to the state; returns the folders in it."""
    place, folders = root / folder, list[str]()
    if place.is_symlink():
        return []
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
                state.entries[prefix + path] = is_folder or written
                if is_folder:
                    folders.append(path)
    return folders


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
