"""`burnish uninstall`: lists everything that burnish stored on this machine, and removes it."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from burnish.adapters.stores import has_store, open_store
from burnish.adapters.task_locks import is_runner_dead
from burnish.core.finding import listed
from burnish.core.images import NAME as IMAGE_NAME
from burnish.errors import BurnishError, Refused
from burnish.features.clean.clean import clean, weigh
from burnish.features.hooks.install import NAMES, uninstall
from burnish.features.hooks.programs import GIT
from burnish.features.projects.projects import list_projects
from burnish.features.run.service import MARK
from burnish.git.discovery import discover
from burnish.git.files import disk_usage, is_real_dir, remove_tree, write_whole
from burnish.git.kept_packs import pack_folder
from burnish.git.project import Project, open_project
from burnish.git.refs import OURS, delete_ref, list_refs
from burnish.git.rescue import PREFIX as RESCUES
from burnish.regular_files import read_regular
from burnish.runtime.app import App
from burnish.runtime.reader import home_of, refuse_inside_phase
from burnish.user_settings import database_url, user_folder

# what burnish creates in its home; anything else there belongs to somebody else
_HOME = frozenset(
    "answers environments hooks images locks logins machine projects reviews serve sessions snapshots stop throwaway "
    "trees trust workspaces".split()
)
_DATABASE = "burnish.db"
# names of what burnish creates in those of these folders that a user may have, too: keys of projects, hashes
_PROJECT_KEY = re.compile(r".+-[0-9a-f]{8}")
_ENTRIES = {
    **dict.fromkeys(("environments", "projects", "snapshots", "throwaway", "trees", "workspaces"), _PROJECT_KEY),
    "answers": re.compile(r"[0-9a-f]{16}\.json"),
    "hooks": re.compile("backups|commits|repositories|sessions|stops"),
    "images": IMAGE_NAME,
    "reviews": re.compile(r"r-\w+"),
    "trust": re.compile(r"[0-9a-f]{32}\.json"),
}
# written where the database is not in the home
_MACHINE = "machine"
# what burnish writes into the folder of the user's settings
_CONFIG = ("config.yaml", "prompts")
# files that `--install-completion` writes, and the files of the shell with lines that load them
_COMPLETION = {
    ".bash_completions/burnish.sh": ".bashrc",
    ".zfunc/_burnish": ".zshrc",
    ".config/fish/completions/burnish.fish": "",
}
# what it adds to .zshrc, the second only after the first and where there was no other style; both serve all of ~/.zfunc
_ZSH_LINES = (b"fpath+=~/.zfunc; autoload -Uz compinit; compinit", b"zstyle ':completion:*' menu select")


@dataclass
class Stored:
    """What there is, and what was removed of it."""

    home: Path
    config: Path
    home_bytes: int = 0
    # whether there is (or was, before it was removed) such a folder
    has_home: bool = False
    has_config: bool = False
    # paths in the home and in the folder of settings that burnish did not create
    foreign: list[str] = field(default_factory=list)
    # why the home stays
    shared_home: str = ""
    hooks: list[str] = field(default_factory=list)
    services: list[str] = field(default_factory=list)
    completion: list[str] = field(default_factory=list)
    # repository → number of refs
    refs: dict[str, int] = field(default_factory=dict)
    # repository, ref and commit of work that is on no other branch
    unmerged: list[tuple[str, str, str]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    database: str = ""
    notes: list[str] = field(default_factory=list)
    removed: bool = False

    @property
    def is_empty(self) -> bool:
        """True if there is nothing of burnish. Files of others, and a database elsewhere, do not count."""
        has_own_home = self.has_home and not self.shared_home
        return not (has_own_home or self.has_config or self.hooks or self.services or self.completion or self.refs)

    def as_json(self) -> dict[str, Any]:
        rows = [{"repository": root, "ref": ref, "commit": commit} for root, ref, commit in self.unmerged]
        names = (
            "home_bytes",
            "shared_home",
            "foreign",
            "hooks",
            "services",
            "completion",
            "refs",
            "missing",
            "notes",
            "removed",
        )
        values = {name: getattr(self, name) for name in names}
        return {"home": str(self.home), "config": str(self.config), **values, "unmerged": rows}


def everything_stored() -> Stored:
    """All that burnish stored on this machine. Changes nothing."""
    refuse_inside_phase()
    home = home_of()
    report = Stored(home, user_folder(), disk_usage(home) if home.is_dir() else 0)
    report.has_home, report.has_config = home.is_dir(), os.path.lexists(report.config)
    report.shared_home = _shared_home(home)
    report.foreign = [str(path) for path in (*_foreign(home), *_foreign_settings(report.config))]
    report.services = [str(path) for path in _services()]
    report.completion = [str(path) for name in _COMPLETION if (path := Path.home() / name).is_file()]
    report.completion += [f"{path} (lines of completion)" for path, _ in _files_without_completion()]
    report.database = "a PostgreSQL database" if database_url() else ""
    for project_row in list_projects():
        if not project_row.there:
            report.missing.append(str(project_row.root))
            continue
        project = open_project(discover(project_row.root), home=home, key=project_row.key)
        refs = _own_refs(project)
        report.refs[str(project_row.root)] = len(refs)
        report.unmerged += [
            (str(project_row.root), ref, sha) for ref, sha in refs.items() if _is_unmerged(project, ref, sha)
        ]
    report.hooks = [
        str(path) for root, name, everywhere in _hooks() for path in _remove_hook(root, name, everywhere, dry_run=True)
    ]
    return report


def remove_everything(*, with_unmerged: bool) -> Stored:
    """Remove all of it. Uncommitted work is rescued first; unmerged work stays unless `with_unmerged`."""
    refuse_inside_phase()
    home = home_of()
    _refuse_while_running(home)
    notes = [note for project_row in list_projects() if project_row.there for note in _rescue(project_row.root)]
    report = everything_stored()
    report.notes += notes
    for root, name, everywhere in list(_hooks()):
        _remove_hook(root, name, everywhere, dry_run=False)
    for project_row in list_projects():
        if project_row.there:
            _remove_from_repository(project_row.root, project_row.key, report, with_unmerged=with_unmerged)
    for path in _services():
        link = path.parent / "default.target.wants" / path.name
        if link.is_symlink():
            link.unlink()
        path.unlink()
    _remove_completion()
    if home.is_dir() and not report.shared_home:
        for path in set(home.iterdir()) - set(_foreign(home)):
            remove_tree(path)
        with suppress(OSError):  # something else is in it
            home.rmdir()
    _remove_settings(report.config)
    if with_unmerged:
        report.unmerged = []
    report.removed = True
    return report


def _refuse_while_running(home: Path) -> None:
    if not has_store(home):
        return
    with open_store(home, create=False) as store:
        alive = [card for card in store.runners() if not is_runner_dead(store, home / "locks", str(card["id"]))]
    if alive:
        raise Refused(
            f"{len(alive)} run of burnish is active." if len(alive) == 1 else f"{len(alive)} runs are active.",
            hint="Stop it first: burnish stop, in its repository.",
        )
    with suppress(FileNotFoundError), (home / "serve" / "lock").open("r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused("burnish serve is running.", hint="Stop it first.") from None


# -- the home and the settings --------------------------------------------------------------------


def _foreign(home: Path) -> list[Path]:
    entries = sorted(home.iterdir()) if home.is_dir() else []
    return [path for path in entries if path.name not in _HOME and not path.name.startswith(_DATABASE)]


def _shared_home(home: Path) -> str:
    """Why the home is not burnish's alone; "" if it is. Folders such as `projects` there may be the user's own."""
    if not home.is_dir():
        return ""
    if Path.home().resolve().is_relative_to(home.resolve()):
        return "it contains your home directory"
    if any((home / name).exists() for name in (".git", "HEAD")):
        return "it is a git repository"
    if folders := [path.name for path in _foreign(home) if path.is_dir()]:
        return f"it also has other folders: {listed(folders, 3)}"
    if entries := _foreign_entries(home):
        return f"it has files that burnish did not create: {listed(entries, 3)}"
    names = {path.name for path in home.iterdir()}
    if names and not any(name == _MACHINE or name.startswith(_DATABASE) for name in names):
        return "burnish has no database in it"
    return ""


def _foreign_entries(home: Path) -> list[str]:
    """Paths of what burnish did not create in the folders that have names of burnish."""
    known_keys = {row.key for row in list_projects()}
    folders = [home / name for name in _ENTRIES if is_real_dir(home / name)]
    return [
        f"{folder.name}/{path.name}"
        for folder in folders
        for path in sorted(folder.iterdir())
        if not _ENTRIES[folder.name].fullmatch(path.name) and path.name not in known_keys
    ]


def _foreign_settings(folder: Path) -> list[Path]:
    # of a link, only the link itself is removed
    is_own = folder.is_dir() and not folder.is_symlink()
    return [path for path in sorted(folder.iterdir()) if path.name not in _CONFIG] if is_own else []


def _remove_settings(folder: Path) -> None:
    if not is_real_dir(folder):
        remove_tree(folder)
        return
    for name in _CONFIG:
        remove_tree(folder / name)
    with suppress(OSError):  # something else is in it
        folder.rmdir()


# -- repositories ---------------------------------------------------------------------------------


def _rescue(root: Path) -> Iterator[str]:
    """Save uncommitted work of every workspace as a rescue ref; yields what was saved."""
    app = App.open(root, flags={})
    try:
        reports = clean(app, [weight for weight in weigh(app) if weight.workspace])
    finally:
        app.store.close()
    for report in reports:
        if report.error:
            raise Refused(f"{root}: {report.error.what}", hint=report.error.hint)
        if report.rescue:
            yield f"{root}: uncommitted work of {report.weight.name} is in {report.rescue}"


def _own_refs(project: Project) -> dict[str, str]:
    return {ref: sha for prefix in OURS for ref, sha in list_refs(project, prefix).items()}


def _is_unmerged(project: Project, ref: str, sha: str) -> bool:
    """Is it work of a task or a rescue with a commit that no branch, tag or remote of the user's has?"""
    if not ref.startswith(("refs/heads/", RESCUES)):
        return False
    others = [f"--exclude={prefix}*" for prefix in OURS]
    return bool(project.user_git("rev-list", "-n", "1", sha, "--not", *others, "--all").stdout.strip())


def _remove_from_repository(root: Path, key: str, report: Stored, *, with_unmerged: bool) -> None:
    project = open_project(discover(root), home=report.home, key=key)
    refs_to_keep = {ref for repository, ref, _ in report.unmerged if repository == str(root) and not with_unmerged}
    for ref, sha in _own_refs(project).items():
        if ref in refs_to_keep:
            continue
        try:
            delete_ref(project, ref, sha)
        except BurnishError as error:
            report.notes.append(f"{root}: {error.what} {error.hint}")
    # the objects are the user's now: git removes those that no ref needs
    for keep in pack_folder(project).glob("*.keep"):
        if (read_regular(keep, longest=100) or b"").startswith(b"burnish:"):
            keep.unlink()
    remove_tree(project.common_dir / "burnish")
    for prefix in OURS:
        for folder in (project.common_dir / prefix, project.common_dir / "logs" / prefix):
            _remove_empty(folder)


def _remove_empty(folder: Path) -> None:
    if folder.is_dir() and not folder.is_symlink():
        for below in folder.iterdir():
            _remove_empty(below)
        with suppress(OSError):
            folder.rmdir()


# -- files of other programs ----------------------------------------------------------------------


def _hooks() -> Iterator[tuple[Path, str, bool]]:
    """Repository, name and whether it is the person's own hook, of each that may be installed."""
    roots = [project_row.root for project_row in list_projects() if project_row.there]
    yield from ((root, name, False) for root in roots for name in NAMES)
    yield from ((Path.home(), name, True) for name in NAMES if name != GIT)


def _remove_hook(root: Path, name: str, everywhere: bool, *, dry_run: bool) -> list[Path]:
    try:
        change = uninstall(root, name, everywhere=everywhere, dry_run=dry_run)
    except BurnishError:
        return []  # a file that burnish cannot read, and therefore never wrote
    return [edit.path for edit in change.edits if edit.changes]


def _services() -> list[Path]:
    systemd = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "systemd" / "user"
    found = [*systemd.glob("burnish-*.service"), *(Path.home() / "Library" / "LaunchAgents").glob("burnish.*.plist")]
    return sorted(path for path in found if MARK.encode() in (read_regular(path, longest=4096) or b""))


def _remove_completion() -> None:
    for path, content in list(_files_without_completion()):
        # the file behind a link: settings of shells are often links into a repository of the user
        write_whole(path.resolve(), content, mode=path.stat().st_mode & 0o777)
    for name in _COMPLETION:
        script = Path.home() / name
        script.unlink(missing_ok=True)
        with suppress(OSError):  # completion of other programs is there, or it never existed
            script.parent.rmdir()


def _files_without_completion() -> Iterator[tuple[Path, bytes]]:
    """The user's files of bash and zsh that load our completion, each with its content without those lines."""
    for name, start_file in _COMPLETION.items():
        script, shell = Path.home() / name, Path.home() / start_file
        if not start_file or not script.is_file():
            continue
        lines = (read_regular(shell) or b"").splitlines(keepends=True)
        others = _without_zsh_lines(lines, script) if start_file == ".zshrc" else _without_line(lines, script)
        if others != lines:
            yield shell, b"".join(others)


def _without_line(lines: list[bytes], script: Path) -> list[bytes]:
    at = next((number for number, line in enumerate(lines) if str(script).encode() in line), None)
    return lines if at is None else _cut(lines, at, at)


def _cut(lines: list[bytes], first: int, last: int) -> list[bytes]:
    """Without these lines, and without the blank line above, which was added with them."""
    first -= first > 0 and not lines[first - 1].strip()
    return [*lines[:first], *lines[last + 1 :]]


def _without_zsh_lines(lines: list[bytes], script: Path) -> list[bytes]:
    """Without the block that loads ~/.zfunc, unless completion of another program is there, too."""
    if [path for path in script.parent.iterdir() if path != script]:
        return lines
    bare = [line.strip() for line in lines]
    if _ZSH_LINES[0] not in bare:
        return lines
    first = bare.index(_ZSH_LINES[0])
    return _cut(lines, first, first + 2 if bare[first + 1 : first + 3] == [b"", _ZSH_LINES[1]] else first)
