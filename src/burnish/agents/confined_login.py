"""The login of a call in the sandbox: which one it is, whether it lasts, and the mounts that show a copy of it."""

from __future__ import annotations

import glob
import json
import os
import re
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from burnish.agents.base import NO_LOGIN, Agent, AgentSettings, HomeSettings, Login, SetsHomeSettings
from burnish.agents.credentials import file_without_refresh_tokens, json_without_refresh_tokens
from burnish.agents.jsonlines import commented_json
from burnish.agents.login_refresh import LoginCheck, not_copied_warning
from burnish.core.agent import AgentRequest
from burnish.folder_walk import walk_folders
from burnish.proc.environment import listed_environment
from burnish.proc.folders import private_folder, remove_folder
from burnish.proc.mounts import Mount
from burnish.proc.own_programs import find_own_program
from burnish.proc.slots import try_lock
from burnish.proc.stop import StopToken
from burnish.regular_files import read_regular


@dataclass(frozen=True, slots=True)
class MountedLogin:
    """What a call needs besides its own folders: mounts, and variables that name places in them."""

    mounts: tuple[Mount, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    # what a person should know about the copy
    warnings: tuple[str, ...] = ()
    # where the program's sessions are outside of the sandbox, as long as the call lasts
    sessions: Path | None = None


@dataclass(frozen=True, slots=True)
class ConfinedLogins:
    """Logins of the agents of one project, whose programs run in a sandbox."""

    home: Path
    burnish_home: Path
    agents: Mapping[str, Agent]

    def warnings(self, request: AgentRequest, entry: AgentSettings, *, lock_dir: Path, stop: StopToken) -> list[str]:
        """Renews the access token if it would expire during the call, and says what a person should know."""
        owner = self._owner(entry)
        if owner is None:
            return []
        names = (*owner.keys, *self.agents[entry.kind].keys, *entry.env)
        # The program runs outside of the sandbox: with nothing that a repository sets.
        env = listed_environment(os.environ, extra=names)
        check = LoginCheck(entry.name, owner.login, self.home, env)
        # outside of the sandbox, so never one of a checkout; None: another program uses this login, and cannot renew it
        if program := find_own_program(owner.program or owner.name):
            check.renew(program, request.timeout_seconds, folder=lock_dir, stop=stop)
        return check.warnings(request.timeout_seconds)

    def can_resume(self, request: AgentRequest, entry: AgentSettings) -> bool:
        """Is there a session of this task to go on in? One from outside the sandbox is not seen inside."""
        folder = _session_folder(request, entry)
        return folder is not None and any(files for _, _, files in walk_folders(folder))

    @contextmanager
    def mounted(self, request: AgentRequest, entry: AgentSettings, env: Mapping[str, str]) -> Iterator[MountedLogin]:
        """A copy of the login, for as long as the call lasts."""
        owner = self._owner(entry)
        login = owner.login if owner else NO_LOGIN
        # a program that is started as a `command` or `acp` agent keeps the user's settings, unless it reviews
        settings: HomeSettings = {}
        if isinstance(owner, SetsHomeSettings) and (owner.name == entry.kind or request.quotes_change):
            settings = owner.home_settings(request)
        left_out = tuple(path for path, values in settings.items() if values is None)
        plan = self._plan(replace(login, skipped=(*login.skipped, *left_out)), request, entry, env)
        with login_copy(self.burnish_home / "logins", plan) as copy:
            for path, values in settings.items():
                if values is not None:
                    replace_settings(copy, plan, self._real(login.located(path, self.home, env)), values)
            variables = {name: str(login.located(path, self.home, env)) for name, path in login.session_variables}
            warnings = tuple(not_copied_warning(entry.name, file, login.advice) for file in copy.left_out)
            sessions = [self._real(login.located(path, self.home, env)) for path in login.sessions]
            yield MountedLogin(
                _mounts(plan, copy),
                variables if plan.sessions else {},
                warnings,
                sessions=next((outside_path(copy, plan, place) for place in sessions), None),
            )

    def _owner(self, entry: AgentSettings) -> Agent | None:
        """The adapter whose login it is; of a `command` or `acp` agent that of the program it starts."""
        if self.agents[entry.kind].login.paths:
            return self.agents[entry.kind]
        name = Path(entry.argv[0]).name if entry.argv else ""
        by_program = (agent for agent in self.agents.values() if agent.login.paths)
        names = ((agent, {agent.program, *agent.login.programs}) for agent in by_program)
        return next((agent for agent, programs in names if name in programs), None)

    def _plan(self, login: Login, request: AgentRequest, entry: AgentSettings, env: Mapping[str, str]) -> CopyPlan:
        def real(path: str, of: Login = login) -> Path:
            return self._real(of.located(path, self.home, env))

        configured_paths = [self._real(Path(path).expanduser()) for path in entry.login]
        # whatever a setting lists: the same files are secret, and the same folders private
        logins = (login, *(agent.login for agent in self.agents.values()))
        folder = _session_folder(request, entry)
        sessions = {real(path): folder / path.replace("/", "_") for path in login.sessions} if folder else {}
        return CopyPlan(
            self.home.resolve(),
            paths=(*map(real, login.paths), *configured_paths),
            skipped=tuple(dict.fromkeys(_pattern(real(path, one)) for one in logins for path in one.skipped)),
            token_files=tuple({real(file.path, one) for one in logins for file in one.token_files}),
            sessions=sessions,
        )

    def _real(self, place: Path) -> Path:
        """The same place, with the home's real name; links below the home keep theirs."""
        return self.home.resolve() / place.relative_to(self.home) if place.is_relative_to(self.home) else place


def _session_folder(request: AgentRequest, entry: AgentSettings) -> Path | None:
    if not entry.resume or request.session_dir is None:
        return None
    return request.session_dir / re.sub(r"[^A-Za-z0-9_-]", "_", entry.name)


def _pattern(place: Path) -> str:
    """For fnmatch: a `*` is one, other special characters stand for themselves."""
    return glob.escape(str(place)).replace("[*]", "*")


def _mounts(plan: CopyPlan, copy: LoginCopy) -> tuple[Mount, ...]:
    """The private home, then each place of it: a program's folder that is mounted there must not cover the copy."""
    if plan.home == Path("/"):
        home = []
    else:
        places = [path.relative_to(plan.home) for path in plan.paths if path.is_relative_to(plan.home)]
        folders = [place for place in places if (copy.home / place).is_dir()]
        home = [Mount(plan.home / place, "write", source=copy.home / place) for place in (Path(), *folders)]
    other_mounts = [Mount(one.target, "write" if one.writable else "read", source=one.source) for one in copy.shared]
    return (*home, *other_mounts)


# -- login copy -----------------------------------------------------------------------------------
# A copy of a program's login for one call: made from the user's files, mounted in the sandbox, deleted afterwards.
#
# Nothing that a program writes to its copy comes back, so an author can change neither what instructs the reviewer
# nor the user's later sessions. Sessions for `resume` are mounted from a folder of the task.

# A file or folder above this is mounted read-only instead of copied at each call.
MAX_BYTES = 16 * 1024 * 1024
MAX_FILES = 2000
# How deep a large folder is taken apart, so that settings beside a large cache are still copied.
_DEPTH = 3


@dataclass(frozen=True, slots=True)
class CopyPlan:
    """What to copy; absolute paths as they are outside the sandbox."""

    home: Path
    paths: tuple[Path, ...] = ()
    # patterns of absolute paths
    skipped: tuple[str, ...] = ()
    token_files: tuple[Path, ...] = ()
    # where the program looks for its sessions → the task's folder for them
    sessions: Mapping[Path, Path] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SharedPlace:
    """One mount besides the private home: `source` outside is seen at `target` inside."""

    source: Path
    target: Path
    writable: bool


@dataclass
class LoginCopy:
    """`home` is mounted at the user's home directory, then `shared` over it."""

    folder: Path
    home: Path
    shared: list[SharedPlace] = field(default_factory=list)
    # files besides the token files that may hold a refresh token which cannot be removed
    left_out: list[Path] = field(default_factory=list)


@contextmanager
def login_copy(parent: Path, plan: CopyPlan) -> Iterator[LoginCopy]:
    """The copy, in a folder of its own below `parent` (in the burnish home). Gone when the block ends."""
    private_folder(parent, durable=False)
    _remove_leftovers(parent)
    folder, lock = _new_folder(parent)
    try:
        copy = LoginCopy(folder, folder / "home")
        private_folder(copy.home, durable=False)
        _Copier(plan, copy).fill()
        yield copy
    finally:
        remove_folder(folder)
        folder.with_suffix(".lock").unlink(missing_ok=True)
        os.close(lock)


def outside_path(copy: LoginCopy, plan: CopyPlan, place: Path) -> Path | None:
    """Where a path of the sandbox that the program may write to is outside of it."""
    folders = [(plan.home, copy.home), *((one.target, one.source) for one in copy.shared if one.writable)]
    found = [source / place.relative_to(target) for target, source in folders if place.is_relative_to(target)]
    return found[-1] if found else None


def replace_settings(copy: LoginCopy, plan: CopyPlan, place: Path, values: Mapping[str, Any]) -> None:
    """Replace `values` in the copy of a JSON file. One that cannot be parsed stays: its program refuses it."""
    file = outside_path(copy, plan, place)
    if file is None:
        return
    private_folder(file.parent, durable=False)
    if settings := _with_values(file, values):
        file.write_text(settings, "utf-8")


def linked_home(folder: Path, home: Path, settings: HomeSettings) -> Path:
    """A home below `folder` for a program without a sandbox: links to the user's files, and own copies of settings."""
    private_home = folder / "home"
    files = {Path(path): values for path, values in settings.items()}
    folders = {above for path in files for above in path.parents}
    for place in sorted(folders, key=lambda place: len(place.parts)):
        private_folder(private_home / place, durable=False)
        if place in files:
            continue  # left out, but for the files below it that have settings
        for name in _names(home / place):
            if place / name not in files and place / name not in folders:
                (private_home / place / name).symlink_to(home / place / name)
    for path, values in files.items():
        if values is None:
            continue
        text = _with_values(home / path, values)
        if text is None:
            (private_home / path).symlink_to(home / path)
        else:
            (private_home / path).write_text(text, "utf-8")
    return private_home


def _with_values(file: Path, values: Mapping[str, Any]) -> str | None:
    """The JSON object of a file, perhaps with comments, with these values instead. None: it is not one."""
    data = read_regular(file) if os.path.lexists(file) else b"{}"
    with suppress(ValueError, RecursionError):
        settings = commented_json((data or b"").decode("utf-8"))
        return json.dumps(_merged(settings, values)) if isinstance(settings, dict) else None
    return None


def _merged(settings: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(settings)
    for name, value in values.items():
        old = result.get(name)
        result[name] = _merged(old, value) if isinstance(old, dict) and isinstance(value, Mapping) else value
    return result


def _new_folder(parent: Path) -> tuple[Path, int]:
    """A name that is not in use, and its lock."""
    while True:
        folder = parent / secrets.token_hex(8)
        # another process that removes leftovers may hold the lock for a moment
        if (lock := try_lock(folder.with_suffix(".lock"))) is not None:
            return folder, lock


def _remove_leftovers(parent: Path) -> None:
    """Copies of processes that were killed."""
    for lock_file in parent.glob("*.lock"):
        lock = try_lock(lock_file)
        if lock is not None:
            remove_folder(lock_file.with_suffix(""))
            lock_file.unlink(missing_ok=True)
            os.close(lock)


@dataclass(frozen=True, slots=True)
class _Copier:
    plan: CopyPlan
    copy: LoginCopy

    def fill(self) -> None:
        # the outer one first, so that a place within another one is not copied twice
        places = sorted(dict.fromkeys(self.plan.paths), key=lambda place: len(place.parts))
        folders: list[Path] = []
        for number, place in enumerate(places):
            if not any(place.is_relative_to(other) for other in folders) and place.exists():
                self._place(place, self.copy.folder / f"place-{number}")
                folders.append(place)
        for target, source in self.plan.sessions.items():
            private_folder(source)
            self.copy.shared.append(SharedPlace(source, target, writable=True))

    def _place(self, place: Path, apart: Path) -> None:
        in_home = place.is_relative_to(self.plan.home) and self.plan.home != Path("/")
        if in_home and place != self.plan.home:
            target = self.copy.home / place.relative_to(self.plan.home)
            private_folder(target.parent, durable=False)
            self._take(place, target)
        elif not in_home and place.is_dir():
            # moved out of the home by a variable: a folder of copies at the same place
            self._take(place, apart)
            self.copy.shared.append(SharedPlace(apart, place, writable=True))

    def _take(
        self,
        source: Path,
        target: Path,
        *,
        depth: int = 0,
        small: bool = False,
        within: tuple[tuple[int, int], ...] = (),
    ) -> None:
        """Copy `source`, whatever links lead to it. `within`: the folders above, for links that lead in a circle."""
        if self._is_skipped(source):
            return
        try:
            info = source.stat()
        except OSError:
            return  # gone, or a link to nowhere
        key = (info.st_dev, info.st_ino)
        if stat.S_ISREG(info.st_mode):
            self._file(source, target, info.st_size)
        elif stat.S_ISDIR(info.st_mode) and key not in within:
            # below a small folder everything is small, but what a link leads to was not counted
            large = (not small or source.is_symlink()) and self._is_large(source)
            if large and depth >= _DEPTH:
                self._share(source)
                return
            target.mkdir(mode=0o700, exist_ok=True)
            for name in _names(source):
                self._take(source / name, target / name, depth=depth + 1, small=not large, within=(*within, key))

    def _is_large(self, folder: Path) -> bool:
        size = files = 0
        for here, folders, names in walk_folders(folder):
            folders[:] = [name for name in folders if not self._is_skipped(Path(here, name))]
            for name in names:
                files += 1
                with suppress(OSError):
                    size += Path(here, name).stat().st_size
            if size > MAX_BYTES or files > MAX_FILES:
                return True
        return False

    def _is_skipped(self, place: Path) -> bool:
        return any(fnmatchcase(str(place), pattern) for pattern in self.plan.skipped)

    def _share(self, source: Path) -> None:
        self.copy.shared.append(SharedPlace(source.resolve(), source, writable=False))

    def _file(self, source: Path, target: Path, size: int) -> None:
        secret = source in self.plan.token_files
        if size > MAX_BYTES and not secret:
            self._share(source)
            return
        try:
            data = source.read_bytes()
            mode = source.stat().st_mode & 0o700
        except OSError:
            return
        clean_data = json_without_refresh_tokens(data) if secret else file_without_refresh_tokens(data, source.suffix)
        if clean_data is None:
            if not secret:  # else `LoginCheck.warnings` tells the user
                self.copy.left_out.append(source)
            return
        fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, mode | 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(clean_data)


def _names(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir())
    except OSError:
        return []
