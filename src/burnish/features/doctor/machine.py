"""What this machine has and lacks: git, Python, room, a sandbox, agents."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from types import MappingProxyType

from burnish.adapters.configured_agents import InstalledAgent, installed_agents
from burnish.adapters.stores import has_store, open_store
from burnish.agents.login_refresh import LoginCheck
from burnish.agents.registry import AGENTS as ADAPTERS
from burnish.errors import BurnishError
from burnish.features.doctor.diagnostic import Diagnostic, DiagnosticGroup
from burnish.git.run import git_version
from burnish.proc.file_systems import lock_problem
from burnish.proc.own_programs import find_own_program
from burnish.proc.sandbox import available, sandbox_obstacle
from burnish.store import Store

MACHINE, AGENTS, RUNS = DiagnosticGroup("machine"), DiagnosticGroup("agents"), DiagnosticGroup("runs")
LOOP_GIT, MERGE_GIT = (2, 34), (2, 38)
LEAST_PYTHON = (3, 11)
NO_VERSIONS: Mapping[str, str] = MappingProxyType({})
# Bytes free: below the first things go wrong, below the second they may soon.
NO_ROOM, LITTLE_ROOM = 100 * 2**20, 2 * 2**30
SLOW_QUERY_MS = 50.0
# A run that is left alone overnight.
NIGHT_SECONDS = 10 * 3600.0


def machine_signs(home: Path, *, encoding: str) -> Iterator[Diagnostic]:
    yield git_sign(find_own_program("git"))
    yield python_sign(sys.version_info[:3])
    yield home_sign(home)
    yield from lock_signs(home)
    yield room_sign(home)
    yield from sandbox_signs()
    yield terminal_sign(encoding)
    if find_own_program("gh"):
        yield MACHINE.ok("gh", "there, for pull requests")
    else:
        yield MACHINE.weak("gh", "not installed: needed by `burnish pr` alone", "Install the GitHub CLI, `gh`.")


def git_sign(program: str | None, version: tuple[int, int] | None = None) -> Diagnostic:
    if program is None:
        return MACHINE.missing("git", "not installed", "Install git 2.38 or newer.")
    major, minor = version or git_version()
    text = f"git {major}.{minor}"
    if (major, minor) < LOOP_GIT:
        return MACHINE.missing("git", f"{text} is too old", "Install git 2.38 or newer; 2.34 is the least.")
    if (major, minor) < MERGE_GIT:
        return MACHINE.weak("git", f"{text} cannot merge for burnish", "Install git 2.38 or newer.")
    return MACHINE.ok("git", text)


def python_sign(version: tuple[int, ...]) -> Diagnostic:
    text = "Python " + ".".join(map(str, version))
    if version[:2] < LEAST_PYTHON:
        return MACHINE.missing("python", f"{text} is too old", "Install Python 3.11 or newer and burnish with it.")
    return MACHINE.ok("python", text)


def home_sign(home: Path) -> Diagnostic:
    """All state lies there; a folder that is not there yet will be made."""
    remedy = "Make it a folder that you may write, or set BURNISH_HOME to another."
    if os.path.lexists(home) and not home.is_dir():
        return MACHINE.missing("home", f"{home} is not a folder", remedy)
    place = _nearest(home)
    if not _writable(place):
        return MACHINE.missing("home", f"{place} cannot be written", remedy)
    if place != home:
        return MACHINE.ok("home", f"{home} (not made yet)")
    if home.stat().st_mode & 0o077:
        return MACHINE.weak("home", f"{home} can be read by other users", f"chmod 700 {home}")
    return MACHINE.ok("home", str(home))


def lock_signs(home: Path) -> Iterator[Diagnostic]:
    """Tried where there is a home: doctor makes none."""
    if not (home / "locks").is_dir():
        return
    if problem := lock_problem(home / "locks"):
        remedy = "Set BURNISH_HOME to a folder on a local disk, or mount this one with locking."
        yield MACHINE.missing("locks", f"do not work in {home}: {problem}", remedy)
    else:
        yield MACHINE.ok("locks", "hold in the burnish home")


def room_sign(home: Path, free: int | None = None) -> Diagnostic:
    free = shutil.disk_usage(_nearest(home)).free if free is None else free
    text = f"{free / 2**30:.1f} GB free for workspaces"
    remedy = "Free some space, or set BURNISH_HOME to a folder on another disk."
    if free < NO_ROOM:
        return MACHINE.missing("room", text, remedy)
    return MACHINE.weak("room", text, remedy) if free < LITTLE_ROOM else MACHINE.ok("room", text)


def sandbox_signs() -> Iterator[Diagnostic]:
    """What keeps an agent from going where it should not, and from staying after its end."""
    rights = "agents and checks run with all your rights"
    if platform.system() != "Linux":
        remedy = "Run burnish in a Linux container or virtual machine."
        yield MACHINE.weak("sandbox", f"there is no bubblewrap on this system: {rights}", remedy)
        effect = "a program that detaches itself may outlive its agent"
        yield MACHINE.weak("processes", f"no subreaper on this system: {effect}", "Look for it with `ps` if you must.")
        return
    if obstacle := sandbox_obstacle():
        yield MACHINE.weak("sandbox", f"{obstacle.cause}: {rights}", obstacle.cure)
    else:
        yield MACHINE.ok("sandbox", "bubblewrap works: agents and checks see no home and write only their workspace")
    if _has_subreaper():
        yield MACHINE.ok("processes", "whole process trees are ended, detached ones too")
    else:
        effect = "a program that detaches itself may outlive its agent"
        yield MACHINE.weak("processes", f"no subreaper: {effect}", "Use a Linux kernel 3.4 or newer.")


def terminal_sign(encoding: str) -> Diagnostic:
    if encoding.lower().replace("-", "") in ("utf8", "utf8sig"):
        return MACHINE.ok("terminal", "UTF-8")
    remedy = "Set LANG to a UTF-8 one, e.g. C.UTF-8, or BURNISH_PLAIN=1 for words alone."
    return MACHINE.weak("terminal", f"{encoding or 'an unknown encoding'}: marks show as question marks", remedy)


def agent_signs(versions: Mapping[str, str] = NO_VERSIONS, *, others: bool = False) -> Iterator[Diagnostic]:
    """The programs on PATH, with their versions by kind. `others`: the settings name agents of their own."""
    found = installed_agents()
    if not found and not others:
        remedy = "Install one (claude, codex, gemini, …), or describe any command under `agents:`."
        yield AGENTS.weak("agents", "none is installed: only `static` reviews", remedy)
    for agent in found:
        yield program_sign(agent, versions.get(agent.kind, ""))
        yield from login_signs(LoginCheck(agent.kind, ADAPTERS[agent.kind].login, Path.home(), os.environ))


def program_sign(agent: InstalledAgent, version: str) -> Diagnostic:
    """`version`: the number that the program prints; "" if it printed none."""
    adapter = ADAPTERS[agent.kind]
    oldest = adapter.min_version
    details = {"path": agent.path, "version": version, "min_version": oldest}
    words = f"version {version}" if version else "version unknown"
    if not agent.verified:
        what = f"{words}, {agent.path}: unverified, never tried against the real program"
        return AGENTS.weak(agent.kind, what, "Try it on a small task first.", details)
    if version and _parts(version) < _parts(oldest):
        what = f"{words} is older than {oldest}, the oldest one that burnish was tried with, {agent.path}"
        return AGENTS.weak(agent.kind, what, f"Update it: {adapter.update}", details)
    return AGENTS.ok(agent.kind, f"{words} (supported from {oldest}), {agent.path}", details)


def _parts(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def login_signs(check: LoginCheck) -> Iterator[Diagnostic]:
    """A login that a call in the sandbox cannot renew. Reads token files; starts nothing."""
    if available():
        return  # without a sandbox the program renews its own login
    name = f"{check.name} login"
    for warning in check.warnings(0):
        yield AGENTS.weak(name, warning.removesuffix(check.login.advice).rstrip(), check.login.advice)
        return
    expires = check.expires_at()
    if expires is None:
        return
    moment = f"expires on {datetime.fromtimestamp(expires).astimezone():%Y-%m-%d at %H:%M}"
    if check.login.refresh:
        yield AGENTS.ok(name, f"{moment}, renewed before a call. For one that lasts: {check.login.advice}")
    elif check.lasts(NIGHT_SECONDS):
        yield AGENTS.ok(name, moment)
    else:
        yield AGENTS.weak(name, f"{moment}, and burnish cannot renew it", check.login.advice)


def database_sign(home: Path) -> tuple[Diagnostic, Store | None]:
    if not has_store(home):
        return MACHINE.ok("database", "none yet; `burnish init` or `burnish add` makes it"), None
    try:
        store = open_store(home, create=False)
        count = len(store.projects())
        projects = f"{count} project{'' if count == 1 else 's'}"
        if not store.is_shared:
            return MACHINE.ok("database", f"readable, {projects}"), store
        return _server_sign(store, projects), store
    except BurnishError as error:
        return MACHINE.missing("database", error.what, error.hint), None


def _server_sign(store: Store, projects: str) -> Diagnostic:
    """The server of the database, and how long a query takes."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        store.projects()
        times.append(time.perf_counter() - start)
    milliseconds = sorted(times)[2] * 1000
    found = f"{store.name}, {store.server()}, {milliseconds:.1f} ms a query, {projects}"
    if milliseconds < SLOW_QUERY_MS:
        return MACHINE.ok("database", found)
    return MACHINE.weak("database", found, "Use a server that is nearer: each step of a task waits for many queries.")


def _nearest(folder: Path) -> Path:
    """The folder, or the closest one above it that is there."""
    return next(place for place in (folder, *folder.parents) if place.is_dir())


def _writable(folder: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _has_subreaper() -> bool:
    import ctypes

    answer = ctypes.c_int()
    try:
        return bool(ctypes.CDLL(None).prctl(37, ctypes.byref(answer), 0, 0, 0) == 0)  # PR_GET_CHILD_SUBREAPER
    except (OSError, AttributeError):
        return False
