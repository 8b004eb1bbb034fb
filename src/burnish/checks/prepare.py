"""A check made ready to start: its words, its report, and what pytest is told besides."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from burnish.core.policy import CheckSpec

JUNIT = "burnish-junit.xml"
_PYTEST_WORDS = re.compile(
    r"\s*(?:[A-Za-z_]\w*=[\w./:@%+,-]*\s+)*"  # VARIABLE=value
    r"(?:[\w./+-]*/)?(?:py\.test|pytest|python[\d.]*\s+(?:-[A-Za-z]+\s+)*?-m\s+pytest)(?=\s|$)"
)
_OWN_REPORT = re.compile(r"--junit-?xml\b")


@dataclass(frozen=True, slots=True)
class Prepared:
    """What to start, and what to read afterwards."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    # junit, sarif, tap or None
    report: str | None
    report_file: str | None
    # the user said that there will be a report: without it the result is unknown
    promised: bool
    is_pytest: bool


def prepare(spec: CheckSpec, *, report_dir: Path, env: Mapping[str, str]) -> Prepared:
    """Fill in `{report_dir}`, and have pytest write a JUnit report where nobody asked for another."""
    command = _filled(spec.command, report_dir)
    is_pytest = _pytest_end(command) is not None
    if spec.report:
        file = spec.report_file or "-"
        return Prepared(_argv(command, env), env, spec.report, _local(file, report_dir), True, is_pytest)
    if spec.name == "lint" or _OWN_REPORT.search(spec.words):
        return Prepared(_argv(command, env), env, None, None, False, is_pytest)
    # xunit1 has the file and the line of each test
    options = (f"--junitxml={report_dir / JUNIT}", "-o", "junit_family=xunit1")
    if is_pytest:
        return Prepared(_argv(_with_options(command, options), env), env, "junit", JUNIT, False, True)
    # `make test` and the like: pytest, if there is one below, hears of it by this variable.
    words = " ".join([*filter(None, [env.get("PYTEST_ADDOPTS")]), shlex.join(options)])
    return Prepared(_argv(command, env), {**env, "PYTEST_ADDOPTS": words}, "junit", JUNIT, False, False)


def _filled(command: str | tuple[str, ...], report_dir: Path) -> str | tuple[str, ...]:
    if isinstance(command, str):
        return command.replace("{report_dir}", shlex.quote(str(report_dir)))
    return tuple(word.replace("{report_dir}", str(report_dir)) for word in command)


def _local(file: str, report_dir: Path) -> str:
    return file.removeprefix("{report_dir}/").removeprefix(f"{report_dir}/")


def _pytest_end(command: str | tuple[str, ...]) -> int | None:
    """Where pytest's own arguments begin, if pytest is the program."""
    if isinstance(command, str):
        match = _PYTEST_WORDS.match(command)
        return match.end() if match else None
    program = Path(command[0]).name if command else ""
    if program in ("pytest", "py.test"):
        return 1
    if not re.fullmatch(r"python[\d.]*", program):
        return None
    flags = 1
    while flags < len(command) and command[flags].startswith("-") and command[flags] != "-m":
        flags += 1
    return flags + 2 if command[flags : flags + 2] == ("-m", "pytest") else None


def _with_options(command: str | tuple[str, ...], options: tuple[str, ...]) -> str | tuple[str, ...]:
    end = _pytest_end(command) or 0
    if isinstance(command, str):
        return f"{command[:end]} {shlex.join(options)}{command[end:]}"
    return (*command[:end], *options, *command[end:])


def _argv(command: str | tuple[str, ...], env: Mapping[str, str]) -> tuple[str, ...]:
    if isinstance(command, str):
        return ("/bin/sh", "-c", command)
    program = command[0]
    if program in ("python", "ruff") and not shutil.which(program, path=env.get("PATH")):
        return (_stand_in(program, env), *command[1:])
    return command


def _stand_in(program: str, env: Mapping[str, str]) -> str:
    """Some systems have only `python3`; and burnish brings a ruff of its own."""
    if program == "python":
        return "python3" if shutil.which("python3", path=env.get("PATH")) else program
    own = Path(sys.executable).parent / program
    return str(own) if own.is_file() else program
