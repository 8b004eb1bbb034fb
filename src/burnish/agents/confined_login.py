"""The login of a call in the sandbox: which one it is, whether it lasts, and the mounts that show a copy of it."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from burnish.agents.base import Agent, AgentSettings, SetsHomeSettings
from burnish.agents.login import NO_LOGIN, Login
from burnish.agents.login_copy import CopyPlan, LoginCopy, login_copy, replace_settings
from burnish.agents.login_refresh import LoginCheck, not_copied_warning
from burnish.core.agent import AgentRequest
from burnish.folder_walk import walk_folders
from burnish.proc.environment import listed_environment
from burnish.proc.mounts import Mount
from burnish.proc.own_programs import find_own_program
from burnish.proc.stop import StopToken


@dataclass(frozen=True, slots=True)
class MountedLogin:
    """What a call needs besides its own folders: mounts, and variables that name places in them."""

    mounts: tuple[Mount, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    # what a person should know about the copy
    warnings: tuple[str, ...] = ()


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
        plan = self._plan(login, request, entry, env)
        with login_copy(self.burnish_home / "logins", plan) as copy:
            # a program that is started as a `command` or `acp` agent keeps the user's settings, unless it reviews
            if isinstance(owner, SetsHomeSettings) and (owner.name == entry.kind or request.quotes_change):
                for path, values in owner.home_settings(request).items():
                    replace_settings(copy, plan, self._real(login.located(path, self.home, env)), values)
            variables = {name: str(login.located(path, self.home, env)) for name, path in login.session_variables}
            warnings = tuple(not_copied_warning(entry.name, file, login.advice) for file in copy.left_out)
            yield MountedLogin(_mounts(plan, copy), variables if plan.sessions else {}, warnings)

    def _owner(self, entry: AgentSettings) -> Agent | None:
        """The adapter whose login it is; of a `command` or `acp` agent that of the program it starts."""
        if self.agents[entry.kind].login.places:
            return self.agents[entry.kind]
        name = Path(entry.argv[0]).name if entry.argv else ""
        by_program = (agent for agent in self.agents.values() if agent.login.places)
        names = ((agent, {agent.program, *agent.login.programs}) for agent in by_program)
        return next((agent for agent, programs in names if name in programs), None)

    def _plan(self, login: Login, request: AgentRequest, entry: AgentSettings, env: Mapping[str, str]) -> CopyPlan:
        def real(path: str, of: Login = login) -> Path:
            return self._real(of.located(path, self.home, env))

        settings_places = [self._real(Path(path).expanduser()) for path in entry.login]
        # whatever a setting lists: the same files are secret, and the same folders private
        logins = (login, *(agent.login for agent in self.agents.values()))
        folder = _session_folder(request, entry)
        sessions = {real(path): folder / path.replace("/", "_") for path in login.sessions} if folder else {}
        return CopyPlan(
            self.home.resolve(),
            places=(*map(real, login.places), *settings_places),
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
        places = [path.relative_to(plan.home) for path in plan.places if path.is_relative_to(plan.home)]
        folders = [place for place in places if (copy.home / place).is_dir()]
        home = [Mount(plan.home / place, "write", source=copy.home / place) for place in (Path(), *folders)]
    other_mounts = [Mount(one.target, "write" if one.writable else "read", source=one.source) for one in copy.shared]
    return (*home, *other_mounts)
