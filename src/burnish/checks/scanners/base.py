"""What every scanner is given, and what it gives back."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from burnish.core.finding import Remark
from burnish.errors import BurnishError
from burnish.proc.run import Command, ExitRecord, StopToken, run
from burnish.proc.text import clean_text, read_text

READ = 16 * 1024 * 1024
# Names of files go on the command line; this many at a time.
MANY = 500
# Programs on PATH may be those of a version manager (asdf, mise, volta), which chooses what to start by files in the
# working directory and above it. A change brings such files, and so may the checkout.
_NEUTRAL_FOLDER = Path("/")


# argv, its environment, the folders that it reads and those that it may write to → the same, confined
Wrap = Callable[[tuple[str, ...], Mapping[str, str], tuple[Path, ...], tuple[Path, ...]], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class ScanContext:
    """The reviewed files and what may be used to look at them. Nothing is written into `files` or `checkout`."""

    files: Path
    out_dir: Path
    checkout: Path
    env: Mapping[str, str]
    base_text: Callable[[str], str | None]
    is_test: Callable[[str], bool]
    stop: StopToken | None = None
    timeout_seconds: float = 120.0
    # what runs the repository's own code, or reads what somebody else wrote, is confined like a check
    wrap: Wrap | None = None
    # may the repository's own settings for an analyser be used?
    own_settings: bool = True
    # does `files` hold every file of the commit, or only the changed ones?
    whole_tree: bool = True


@dataclass(frozen=True, slots=True)
class ScanResult:
    """Everything an analyser said about the changed files, on whatever line, and what it could not do."""

    remarks: tuple[Remark, ...] = ()
    notes: tuple[str, ...] = ()


class Scanner(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def executes(self) -> str:
        """Whose code it runs: "" for none, `checkout` (plug-ins and settings there), `change` (build scripts)."""

    def wants(self, path: str) -> bool: ...

    def scan(self, ground: ScanContext, paths: tuple[str, ...]) -> ScanResult: ...


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a program printed; `trouble` says why that is not to be relied upon."""

    stdout: str = ""
    stderr: str = ""
    exit_code: int | None = None
    trouble: str = ""


def call(
    ground: ScanContext,
    name: str,
    argv: tuple[str, ...],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: Path | None = None,
    writable: Path | None = None,
) -> ToolOutput:
    """Run one program within its time. What goes wrong is said, not raised.

    `cwd` is given only where a program needs the repository around it; all others get absolute paths.
    `writable`: a folder that nothing outside of the sandbox writes to or follows links in. Programs may run code of the
    change, so they cannot write where burnish keeps their output and lays files for others.
    """
    try:
        call_dir = ground.out_dir / name
        call_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        given = {**ground.env, **(env or {})}
        command = Command(
            argv=_confined(ground, argv, given, writable),
            cwd=cwd or _NEUTRAL_FOLDER,
            env=given,
            call_dir=call_dir,
            stdin=stdin,
            timeout_seconds=ground.timeout_seconds,
            wrapped=ground.wrap is not None,
        )
        done = run(command, stop=ground.stop)
    except BurnishError as error:
        return ToolOutput(trouble=error.what)
    except (OSError, ValueError) as error:  # a name that no system call takes, a full disk
        return ToolOutput(trouble=str(error)[:200])
    return _said(done, ground.timeout_seconds)


def find_program(ground: ScanContext, name: str, *, inside: bool = False) -> str | None:
    """A program on PATH; unless `inside`, not one of the reviewed files or the checkout, also not behind a link."""
    for entry in (ground.env.get("PATH") or os.defpath).split(os.pathsep):
        program = shutil.which(name, path=entry)
        if program and (inside or not _is_of_repository(program, ground)):
            return program
    return None


def _is_of_repository(program: str, ground: ScanContext) -> bool:
    forms = (Path(program), Path(os.path.realpath(program)))
    return any(form.is_relative_to(place) for form in forms for place in (ground.files, ground.checkout))


def _confined(
    ground: ScanContext, argv: tuple[str, ...], env: Mapping[str, str], writable: Path | None
) -> tuple[str, ...]:
    if writable:
        writable.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not ground.wrap:
        return argv
    return ground.wrap(argv, env, (ground.files, ground.out_dir), (writable,) if writable else ())


def _said(done: ExitRecord, seconds: float) -> ToolOutput:
    trouble = ""
    if done.ended == "timeout":
        trouble = f"it took longer than {seconds:g} seconds and was ended"
    elif done.ended != "exit":
        trouble = "it was stopped"
    elif done.signal is not None:
        trouble = f"it was ended by signal {done.signal}"
    return ToolOutput(read_text(done.stdout, limit=READ), read_text(done.stderr, limit=64_000), done.exit_code, trouble)


def read_json(text: str) -> Any:
    """None if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def last_line(text: str) -> str:
    lines = [line.strip() for line in clean_text(text).splitlines() if line.strip()]
    return lines[-1][:200] if lines else "it said nothing"


def batched(paths: tuple[str, ...], size: int = MANY) -> list[tuple[str, ...]]:
    return [paths[at : at + size] for at in range(0, len(paths), size)]


def line_number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**9 else None


@dataclass(slots=True)
class Lines:
    """Lines of the reviewed files, each file read once."""

    root: Path
    _kept: dict[str, list[str]] = field(default_factory=dict)

    def around(self, path: str, first: int, last: int) -> str:
        """The lines, and the one before them, where a call may begin."""
        if path not in self._kept:
            try:
                self._kept[path] = ["", *read_text(self.root / path).split("\n")]
            except (OSError, ValueError):
                self._kept[path] = []
        return "\n".join(self._kept[path][max(first - 1, 0) : last + 1])
