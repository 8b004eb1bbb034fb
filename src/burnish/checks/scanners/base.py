"""The input and output of scanners, and the functions they share."""

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
# Programs on PATH may belong to a version manager (asdf, mise, volta), which chooses the version by files in the
# working directory and above it. A change or the checkout may contain such files.
_NEUTRAL_FOLDER = Path("/")
_SHELL = "/bin/sh"


# argv, environment, readable folders, writable folders → argv that runs in a sandbox
Wrap = Callable[[tuple[str, ...], Mapping[str, str], tuple[Path, ...], tuple[Path, ...]], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class ScanContext:
    """The reviewed files and how they may be analysed. Nothing is written into `files` or `checkout`."""

    files: Path
    out_dir: Path
    checkout: Path
    env: Mapping[str, str]
    base_text: Callable[[str], str | None]
    is_test: Callable[[str], bool]
    stop: StopToken | None = None
    timeout_seconds: float = 120.0
    # Programs that run code of the repository, or read untrusted files, run in a sandbox like checks.
    wrap: Wrap | None = None
    # True if the repository's own settings for an analyser may be used.
    own_settings: bool = True
    # True if `files` contains every file of the commit; False if only the changed ones.
    whole_tree: bool = True


@dataclass(frozen=True, slots=True)
class ScanResult:
    """All remarks of an analyser on the changed files, on any line, and notes on what it could not do.

    `unexamined`: files that it gave up, with the reason: too slow, too deep, or the analyser crashed.
    """

    remarks: tuple[Remark, ...] = ()
    notes: tuple[str, ...] = ()
    unexamined: Mapping[str, str] = field(default_factory=dict)


class Scanner(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def executes(self) -> str:
        """Whose code it runs: "" for none, `checkout` (plug-ins and settings there), `change` (build scripts)."""

    def wants(self, path: str) -> bool: ...

    def scan(self, context: ScanContext, paths: tuple[str, ...]) -> ScanResult: ...


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The output of a program; `trouble` says why the output is unreliable."""

    stdout: str = ""
    stderr: str = ""
    exit_code: int | None = None
    trouble: str = ""
    # True if its input was too much for it: it was ended by a signal, its time was up, or its report is too long
    crashed: bool = False


def call(
    context: ScanContext,
    name: str,
    argv: tuple[str, ...],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: Path | None = None,
    writable: Path | None = None,
    cpu_seconds: int | None = None,
) -> ToolOutput:
    """Run one program with a time limit. Errors are returned as `trouble`, not raised.

    `cpu_seconds`: processor time for each of its processes.

    Pass `cwd` only if a program needs the repository as working directory; others get absolute paths.
    `writable`: a folder that nothing outside of the sandbox writes to or follows links in. Programs may run code of the
    change, so they cannot write to the folders with their output and with files for other programs.
    """
    try:
        call_dir = context.out_dir / name
        call_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        full_env = {**context.env, **(env or {})}
        if cpu_seconds and Path(_SHELL).exists():
            argv = (_SHELL, "-c", 'ulimit -t "$0"; exec "$@"', str(cpu_seconds), *argv)
        command = Command(
            argv=_confined_argv(context, argv, full_env, writable),
            cwd=cwd or _NEUTRAL_FOLDER,
            env=full_env,
            call_dir=call_dir,
            stdin=stdin,
            timeout_seconds=context.timeout_seconds,
            wrapped=context.wrap is not None,
        )
        exit_record = run(command, stop=context.stop)
    except BurnishError as error:
        return ToolOutput(trouble=error.what)
    except (OSError, ValueError) as error:  # e.g. an invalid file name, a full disk
        return ToolOutput(trouble=str(error)[:200])
    return _tool_output(exit_record, context.timeout_seconds)


def find_program(context: ScanContext, name: str, *, inside: bool = False) -> str | None:
    """A program on PATH; without `inside`, none in the reviewed files or the checkout, also not through a link."""
    for entry in (context.env.get("PATH") or os.defpath).split(os.pathsep):
        program = shutil.which(name, path=entry)
        if program and (inside or not _is_of_repository(program, context)):
            return program
    return None


def _is_of_repository(program: str, context: ScanContext) -> bool:
    forms = (Path(program), Path(os.path.realpath(program)))
    return any(form.is_relative_to(place) for form in forms for place in (context.files, context.checkout))


def _confined_argv(
    context: ScanContext, argv: tuple[str, ...], env: Mapping[str, str], writable: Path | None
) -> tuple[str, ...]:
    if writable:
        writable.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not context.wrap:
        return argv
    return context.wrap(argv, env, (context.files, context.out_dir), (writable,) if writable else ())


def _tool_output(exit_record: ExitRecord, seconds: float) -> ToolOutput:
    problem = ""
    if exit_record.ended == "timeout":
        problem = f"it timed out after {seconds:g} seconds"
    elif exit_record.ended != "exit":
        problem = "it was stopped"
    elif exit_record.signal is not None:
        problem = f"it was ended by signal {exit_record.signal}"
    # a sandbox turns a signal into an exit code
    code = exit_record.exit_code or 0
    has_crashed = exit_record.ended == "timeout" or exit_record.signal is not None or 128 < code < 128 + 65
    if has_crashed and not problem:
        problem = f"it was ended by signal {code - 128}"
    if not problem and exit_record.stdout.stat().st_size > READ:
        problem, has_crashed = f"it reported more than {READ // 1024**2} MB", True
    return ToolOutput(
        read_text(exit_record.stdout, limit=READ),
        read_text(exit_record.stderr, limit=64_000),
        exit_record.exit_code,
        problem,
        has_crashed,
    )


def read_json(text: str) -> Any:
    """The parsed JSON; None if it is invalid."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def last_line(text: str) -> str:
    lines = [line.strip() for line in clean_text(text).splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no output"


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
        """The lines, and the one before them, in which a call may begin."""
        if path not in self._kept:
            try:
                self._kept[path] = ["", *read_text(self.root / path).split("\n")]
            except (OSError, ValueError):
                self._kept[path] = []
        return "\n".join(self._kept[path][max(first - 1, 0) : last + 1])
