"""`burnish service`: a systemd user unit or a launchd agent that keeps a run of a project, or the board, running."""

from __future__ import annotations

import os
import plistlib
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from burnish.errors import BadInput, BurnishError, Refused
from burnish.git.files import write_whole
from burnish.proc.folders import private_folder
from burnish.runtime.reader import refuse_inside_phase

if TYPE_CHECKING:
    from burnish.runtime.app import App

SYSTEMD, LAUNCHD = "systemd", "launchd"
# Both kinds of file may have comments; a file without it was written by somebody else.
MARK = "Written by `burnish service`"
# what the service needs of the environment of the person who installs it; never a key or a token
_VARIABLES = ("PATH", "BURNISH_HOME", "XDG_CONFIG_HOME", "LANG")


@dataclass(frozen=True, slots=True)
class Service:
    kind: str
    path: Path
    text: str
    # what the person types after --install, and after --remove
    enable: str
    disable: str


@dataclass(frozen=True, slots=True)
class BoardOptions:
    """The server with Auto on, instead of `run --watch`. Its token is in a file, so that no log has it."""

    port: int
    token_file: Path


def project_service(
    app: App,
    *,
    kind: str | None,
    jobs: int,
    budget: float | None,
    pulls: int | None = None,
    board: BoardOptions | None = None,
) -> Service:
    """The service for the project of this checkout."""
    refuse_inside_phase()
    kind = kind or (LAUNCHD if sys.platform == "darwin" else SYSTEMD)
    command = ["serve", "--auto"] if board else ["run", "--watch"]
    argv = [sys.executable, "-P", "-m", "burnish.cli", "-C", str(app.repo.root), *command, "-j", str(jobs)]
    argv += ["--budget", f"{budget:g}"] if budget is not None else []
    argv += ["--pulls", str(pulls)] if pulls is not None else []
    argv += ["--port", str(board.port), "--token-file", str(board.token_file)] if board else []
    name = re.sub(r"[^A-Za-z0-9_.-]", "-", app.key)
    env = {key: os.environ[key] for key in _VARIABLES if os.environ.get(key)}
    env["PATH"] = os.pathsep.join(part for part in env.get("PATH", "").split(os.pathsep) if part.startswith("/"))
    if kind == LAUNCHD:
        log = app.home / "projects" / app.key / "runs" / "service.log"
        return launchd_agent(name, argv, env, home=Path.home(), log=log, is_board=board is not None)
    folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "systemd" / "user"
    return systemd_unit(name, argv, env, folder=folder, title=app.repo.root.name, is_board=board is not None)


def install(app: App, service: Service) -> None:
    """Write the file. A file that somebody else wrote is not replaced."""
    refuse_inside_phase()
    app.trust.require()
    _refuse_foreign(service.path)
    try:
        service.path.parent.mkdir(parents=True, exist_ok=True)
        private_folder(app.home / "projects" / app.key / "runs")
        write_whole(service.path, service.text.encode(), mode=0o644)
    except OSError as error:
        raise BurnishError(f"Cannot write {service.path}: {error.strerror}.", hint="Check who may write it.") from error


def remove(service: Service) -> bool:
    """Remove the file, and the link that starts it at login. False if it is not installed."""
    refuse_inside_phase()
    if not service.path.is_file():
        return False
    _refuse_foreign(service.path)
    link = service.path.parent / "default.target.wants" / service.path.name
    try:
        with suppress(FileNotFoundError):
            if service.kind == SYSTEMD and link.is_symlink():
                link.unlink()
        service.path.unlink()
    except OSError as error:
        hint = "Check who may write its folder."
        raise BurnishError(f"Cannot remove {service.path}: {error.strerror}.", hint=hint) from error
    return True


def _refuse_foreign(path: Path) -> None:
    try:
        text = path.read_bytes()[:4096]
    except FileNotFoundError:
        return
    except OSError as error:
        raise BurnishError(f"Cannot read {path}: {error.strerror}.", hint="Check who may read it.") from error
    if MARK.encode() not in text:
        raise Refused(f"{path} was not written by burnish.", hint="Move it away first.")


# -- systemd --------------------------------------------------------------------------------------


def systemd_unit(
    name: str, argv: list[str], env: Mapping[str, str], *, folder: Path, title: str, is_board: bool = False
) -> Service:
    """A unit of the user's own manager. It ends gently, and starts again only after a crash."""
    _refuse_unprintable(*argv, *env.values())
    # `:` keeps `$` as it is. env: systemd accepts no quotes and backslashes in the name of the executable itself.
    command = " ".join([":/usr/bin/env", *map(_systemd_word, argv)])
    variables = "".join(f"Environment={_systemd_word(f'{key}={value}')}\n" for key, value in env.items())
    # the server prints its URL with the token there, and other users may be able to read the journal
    output = "StandardOutput=null\n" if is_board else ""
    text = f"""# {MARK}
[Unit]
Description={_systemd_text(f"burnish {'serve --auto' if is_board else 'run --watch'} of {title}")}

[Service]
Type=exec
ExecStart={command}
{variables}{output}# burnish ends its agents itself and keeps their work
KillMode=mixed
TimeoutStopSec=60
# 1: a task was not approved; 130: ended by a signal
SuccessExitStatus=1 130
Restart=on-abnormal
RestartSec=60

[Install]
WantedBy=default.target
"""
    unit = f"burnish-{name}.service"
    enable = f"systemctl --user daemon-reload && systemctl --user enable --now {unit}"
    disable = f"systemctl --user stop {unit}; systemctl --user daemon-reload"
    return Service(SYSTEMD, folder / unit, text, enable, disable)


def _systemd_word(text: str) -> str:
    """One word of a command line or an assignment: systemd.syntax(7), systemd.unit(5) for `%`."""
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "%": "%%"}
    return '"' + "".join(escapes.get(letter, letter) for letter in text) + '"'


def _systemd_text(text: str) -> str:
    return " ".join(text.replace("%", "%%").replace("\\", "\\\\").split())


# -- launchd --------------------------------------------------------------------------------------


def launchd_agent(
    name: str, argv: list[str], env: Mapping[str, str], *, home: Path, log: Path, is_board: bool = False
) -> Service:
    _refuse_unprintable(*argv, *env.values(), str(log))
    label = f"burnish.{name}"
    content = {
        "Label": label,
        "ProgramArguments": argv,
        "EnvironmentVariables": dict(env),
        "RunAtLoad": True,
        # started again after a crash only
        "KeepAlive": {"Crashed": True},
        "ThrottleInterval": 60,
        "ExitTimeOut": 60,
        "ProcessType": "Background",
        "StandardOutPath": os.devnull if is_board else str(log),
        "StandardErrorPath": str(log),
    }
    path = home / "Library" / "LaunchAgents" / f"{label}.plist"
    head, _, rest = plistlib.dumps(content).decode().partition("<plist")
    text = f"{head}<!-- {MARK} -->\n<plist{rest}"
    domain = "gui/$(id -u)"
    enable, disable = f"launchctl bootstrap {domain} {quote(str(path))}", f"launchctl bootout {domain}/{label}"
    return Service(LAUNCHD, path, text, enable, disable)


def _refuse_unprintable(*words: str) -> None:
    """Neither kind of file can hold all control characters, nor names that are not UTF-8."""
    for word in words:
        if re.search(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]", word):
            raise BadInput(
                f"{word!r} has characters that a service file cannot contain.",
                hint="Move the checkout, or correct the variable.",
            )
