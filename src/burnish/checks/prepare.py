"""Prepares a check: its argv, its report file, and options that make its runner report each case."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from burnish.checks.command_line import Command, parse_command
from burnish.checks.runners import JUNIT_FILE, PYTEST, KnownCommand, known_command
from burnish.core.policy import CheckSpec

_PYTEST_WORDS = re.compile(
    r"\s*(?:[A-Za-z_]\w*=[\w./:@%+,-]*\s+)*"  # VARIABLE=value
    r"(?:[\w./+-]*/)?(?:py\.test|pytest|python[\d.]*\s+(?:-[A-Za-z]+\s+)*?-m\s+pytest)(?=\s|$)"
)
# The user configured a report already: do not change the options, and read the output.
_OWN_REPORT = {
    "pytest": re.compile(r"--junit-?xml\b"),
    "go test": re.compile(r"(?<!\S)--?(?:json|c|bench)\b"),
    "jest": re.compile(r"--(?:json|outputFile|watch\w*)\b"),
    "vitest": re.compile(r"--(?:outputFile|watch)\b|--reporter[= ]json\b"),
    "node --test": re.compile(r"--test-reporter\b|--watch\b"),
    "cargo test": re.compile(r"--no-fail-fast\b|--no-run\b"),
    "cargo nextest": re.compile(r"--no-fail-fast\b"),
    "Gradle": re.compile(r"--continue\b"),
}
MAY_RUN_MORE = "its command may run more tests than it reports"
STOPS_EARLY = "its command stops at the first failure"
SKIPS_MODULES = "Maven skips the modules after a failed one"


@dataclass(frozen=True, slots=True)
class PreparedCheck:
    """The command to start, and the report to read afterwards."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    # Format of the report file; None without a report.
    report: str | None
    report_file: str | None
    # The user configured the report: without it the result is unknown.
    promised: bool
    known: KnownCommand | None = None
    # Starts with pytest; the shell may run more commands afterwards.
    is_pytest: bool = False

    @property
    def may_hide(self) -> str:
        """Why its results may not list all failed tests; "" if they do."""
        if self.promised:
            return ""
        if self.known is None:
            return MAY_RUN_MORE
        if self.known.skips_modules:
            return SKIPS_MODULES
        return STOPS_EARLY if self.known.stops_early else ""


def prepare(spec: CheckSpec, *, report_dir: Path, env: Mapping[str, str], root: Path | None = None) -> PreparedCheck:
    """Replace `{report_dir}`, and let a known runner write a report if the user configured none."""
    command = _filled(spec.command, report_dir)
    known_runner = known_command(command, root) if spec.name != "lint" else None
    is_pytest = pytest_end(command) is not None or (known_runner is not None and known_runner.runner is PYTEST)
    if spec.report or spec.pattern:
        file = _local(spec.report_file or "-", report_dir) if spec.report else None
        return PreparedCheck(_argv(command, env), env, spec.report, file, True, known_runner, is_pytest)
    if spec.name == "lint" or (is_pytest and _OWN_REPORT["pytest"].search(spec.words)):
        return PreparedCheck(_argv(command, env), env, None, None, False, known_runner, is_pytest)
    if known_runner:
        return _with_report(spec, command, known_runner, report_dir, env)
    options = PYTEST.options(str(report_dir / JUNIT_FILE))
    if is_pytest:
        return PreparedCheck(_argv(_with_options(command, options), env), env, "junit", JUNIT_FILE, False, None, True)
    # `make test` and the like: pytest, if there is one below, gets the options by this variable.
    words = " ".join([*filter(None, [env.get("PYTEST_ADDOPTS")]), shlex.join(options)])
    return PreparedCheck(_argv(command, env), {**env, "PYTEST_ADDOPTS": words}, "junit", JUNIT_FILE, False)


def _with_report(
    spec: CheckSpec, command: Command, known_runner: KnownCommand, report_dir: Path, env: Mapping[str, str]
) -> PreparedCheck:
    runner = known_runner.runner
    kind, file = runner.report or (None, None)
    own = _OWN_REPORT.get(runner.name)
    text = " ".join((spec.words, *known_runner.arguments))
    options = () if own and own.search(text) else runner.options(str(report_dir / file) if file else "")
    new_command = known_runner.with_options(options) if options else None
    if new_command is None:
        return PreparedCheck(_argv(command, env), env, None, None, False, known_runner, runner is PYTEST)
    return PreparedCheck(_argv(new_command, env), env, kind, file, False, known_runner, runner is PYTEST)


def _filled(command: Command, report_dir: Path) -> Command:
    if isinstance(command, str):
        return command.replace("{report_dir}", shlex.quote(str(report_dir)))
    return tuple(word.replace("{report_dir}", str(report_dir)) for word in command)


def _local(file: str, report_dir: Path) -> str:
    return file.removeprefix("{report_dir}/").removeprefix(f"{report_dir}/")


def pytest_end(command: Command) -> int | None:
    """The position where pytest's arguments begin, if the command begins with pytest."""
    if isinstance(command, str):
        match = _PYTEST_WORDS.match(command)
        return match.end() if match else None
    line = parse_command(command, None)
    is_program = command and re.fullmatch(r"py\.test|pytest|python[\d.]*", Path(command[0]).name)
    return line.program + 1 if is_program and line and line.name in ("pytest", "py.test") else None


def _with_options(command: Command, options: tuple[str, ...]) -> Command:
    assert isinstance(command, str)
    end = pytest_end(command) or 0
    return f"{command[:end]} {shlex.join(options)}{command[end:]}"


def _argv(command: Command, env: Mapping[str, str]) -> tuple[str, ...]:
    if isinstance(command, str):
        return ("/bin/sh", "-c", command)
    program = command[0]
    if program in ("python", "ruff") and not shutil.which(program, path=env.get("PATH")):
        return (_stand_in(program, env), *command[1:])
    return command


def _stand_in(program: str, env: Mapping[str, str]) -> str:
    """`python3` for `python` on systems without it, and the ruff that is installed with burnish."""
    if program == "python":
        return "python3" if shutil.which("python3", path=env.get("PATH")) else program
    own = Path(sys.executable).parent / program
    return str(own) if own.is_file() else program
