"""The test runners that burnish supports, and how the command of a check is prepared for its runner."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from burnish.checks.command_line import Command, CommandLine, parse_command, positionals
from burnish.core.policy import CheckSpec
from burnish.regular_files import read_regular

JUNIT_FILE = "burnish-junit.xml"
JSON_FILE = "burnish-tests.json"
TAP_FILE = "burnish-tests.tap"


@dataclass(frozen=True, slots=True)
class TestRunner:
    """One test runner. Without a report, its output is read with `text_formats`."""

    name: str
    text_formats: tuple[str, ...]
    # format and name of the report file that `options` makes it write
    report: tuple[str, str] | None = None
    # The arguments to add, for a report file's path.
    options: Callable[[str], tuple[str, ...]] = lambda path: ()
    # Arguments that make it stop at the first failure.
    stops_early: str = ""
    # Names of files with its settings, and what makes it stop there.
    settings_files: str = ""
    stopping_settings: bytes = b""
    # Folders and name prefix of the JUnit files that it writes into the tree by default.
    tree_reports: tuple[tuple[str, ...], str] | None = None


# `bail: true` or `"bail": 1` in settings of JavaScript, JSON or YAML
_BAIL = rb"""\bbail["']?\s*:\s*(?:true|[1-9])"""
PYTEST = TestRunner(
    "pytest",
    ("pytest",),
    ("junit", JUNIT_FILE),
    # xunit1 has the file and the line of each test; a collection error must not hide the other tests.
    lambda path: (f"--junitxml={path}", "-o", "junit_family=xunit1", "--continue-on-collection-errors"),
    r"-x|--exitfirst|--maxfail(?:=.*)?|--stepwise|--sw|-(?![rkmpcoWn])[A-Za-z]*x[A-Za-z]*|--lf|--last-failed",
)
UNITTEST = TestRunner("unittest", ("unittest",), stops_early="-f|--failfast")
DJANGO = TestRunner("Django", ("unittest",), stops_early="--failfast")
GO = TestRunner("go test", ("go-json", "go"), ("go", "-"), lambda path: ("-json",), r"--?failfast(?:=.*)?")
CARGO = TestRunner("cargo test", ("cargo",), options=lambda path: ("--no-fail-fast",))
NEXTEST = TestRunner(
    "cargo nextest",
    ("nextest",),
    options=lambda path: ("--no-fail-fast",),
    stops_early=r"--fail-fast|--max-fail(?:=.*)?",
)
JEST = TestRunner(
    "jest",
    ("jest",),
    ("jest", JSON_FILE),
    lambda path: ("--json", f"--outputFile={path}"),
    r"--bail(?:=.*)?|-b|-o|--onlyChanged|--onlyFailures",
    r"jest\.config\.\w+|package\.json",
    _BAIL,
)
VITEST = TestRunner(
    "vitest",
    ("vitest",),
    ("jest", JSON_FILE),
    lambda path: ("--reporter=default", "--reporter=json", f"--outputFile.json={path}"),
    r"--bail(?:=.*)?|--changed(?:=.*)?",
    r"vite(?:st)?\.config\.\w+",
    _BAIL,
)
# mocha supports one reporter at a time; another one would replace the readable output.
MOCHA = TestRunner(
    "mocha",
    ("mocha", "tap"),
    stops_early="--bail|-b",
    settings_files=r"\.mocharc\.\w+|package\.json",
    stopping_settings=_BAIL,
)
NODE = TestRunner(
    "node --test",
    ("tap", "node"),
    ("tap", TAP_FILE),
    lambda path: (
        *("--test-reporter=spec", "--test-reporter-destination=stdout"),
        *("--test-reporter=tap", f"--test-reporter-destination={path}"),
    ),
)
MAVEN = TestRunner(
    "Maven",
    (),
    stops_early="-ff|--fail-fast",
    settings_files=r"pom\.xml",
    stopping_settings=rb"<skipAfterFailureCount>\s*[1-9]",
    tree_reports=(("target/surefire-reports", "target/failsafe-reports"), "TEST-"),
)
GRADLE = TestRunner(
    "Gradle",
    (),
    options=lambda path: ("--continue",),
    stops_early="--fail-fast",
    settings_files=r"build\.gradle(?:\.kts)?",
    stopping_settings=rb"\bfailFast\s*=\s*true",
    tree_reports=(("build/test-results",), "TEST-"),
)

_MAVEN_GOALS = frozenset({"test", "verify", "package", "install"})
# Goals that run the tests of failsafe, after those of surefire.
_MAVEN_INTEGRATION = frozenset({"verify", "install"})
SKIPS_MODULES = "Maven skips the modules after a failed one"
SKIPS_INTEGRATION_TESTS = "Maven skips its integration tests after a failed test"
_GRADLE_TASKS = frozenset({"test", "check", "build"})


@dataclass(frozen=True, slots=True)
class KnownCommand:
    """A command that starts exactly one runner."""

    runner: TestRunner
    line: CommandLine
    # Options are added after this word; None if they cannot be added.
    position: int | None
    # What Maven skips after a failure; "" for nothing.
    skips_rest: str = ""
    # Its settings make it stop at the first failure.
    has_stopping_settings: bool = False

    def with_options(self, options: tuple[str, ...]) -> Command | None:
        if self.position is None:
            return None
        separator = (self.line.separator,) if self.line.separator else ()
        return self.line.insert(self.position, (*separator, *options))

    @property
    def arguments(self) -> tuple[str, ...]:
        inner = self.line.script.arguments if self.line.script else ()
        return (*inner, *self.line.arguments)

    @property
    def stops_early(self) -> bool:
        pattern = self.runner.stops_early
        by_argument = bool(pattern) and any(re.fullmatch(pattern, word) for word in self.arguments)
        return by_argument or self.has_stopping_settings


def known_command(command: Command, root: Path | None) -> KnownCommand | None:
    """The runner that this command starts, if it starts exactly one and nothing else."""
    line = parse_command(command, root)
    if line is None:
        return None
    if line.script:
        inner = _match(line.script)
        if inner is None:
            return None
        runner, _ = inner
        # After a path, Node passes further words to the test files.
        has_paths = runner is NODE and any(positionals(line.script, after=line.script.program))
        at_end = None if has_paths or runner in (GO, CARGO, NEXTEST, MAVEN, GRADLE) else len(line.words) - 1
        return KnownCommand(runner, line, at_end, has_stopping_settings=_has_stopping_settings(runner, root, line))
    found = _match(line)
    if found is None:
        return None
    runner, position = found
    skips_rest = _skipped_after_failure(root, line) if runner is MAVEN else ""
    return KnownCommand(runner, line, position, skips_rest, _has_stopping_settings(runner, root, line))


def _match(line: CommandLine) -> tuple[TestRunner, int] | None:
    """The runner, and the word that its options follow."""
    at, words = line.program, line.arguments
    first = words[0] if words else ""
    match line.name:
        case "pytest" | "py.test":
            return PYTEST, at
        case "unittest":
            return UNITTEST, at
        case "manage.py" | "django-admin" if first == "test":
            return DJANGO, at + 1
        case "go" if first == "test":
            return GO, at + 1
        case "cargo":
            return _match_cargo(line)
        case "jest":
            return JEST, at
        case "react-scripts" if first == "test":
            return JEST, at + 1
        case "vitest" if first not in ("watch", "dev", "bench", "list", "init", "typecheck", "related"):
            return VITEST, at + (first in ("run",))
        case "mocha" | "_mocha":
            return MOCHA, at
        case "node" | "nodejs" | "tsx" if "--test" in words:
            return NODE, at
        case "mvn" | "mvnw" if _MAVEN_GOALS & set(words):
            return MAVEN, at
        case "gradle" | "gradlew" if _GRADLE_TASKS & {word.rpartition(":")[2] for word in words}:
            return GRADLE, at
    return None


def _match_cargo(line: CommandLine) -> tuple[TestRunner, int] | None:
    words = list(line.arguments)
    at = line.program + 1
    if words and words[0].startswith("+"):
        words, at = words[1:], at + 1
    if words[:1] in (["test"], ["t"]):
        return CARGO, at
    return (NEXTEST, at + 1) if words[:2] in (["nextest", "run"], ["nextest", "r"]) else None


def _has_stopping_settings(runner: TestRunner, root: Path | None, line: CommandLine) -> bool:
    """True if a file of settings beside the tests makes the runner stop at the first failure."""
    if root is None or not runner.settings_files:
        return False
    try:
        names = sorted(entry.name for entry in os.scandir(root / line.folder))
    except OSError:
        return False
    texts = (
        read_regular(root / line.folder / name, longest=1024 * 1024)
        for name in names
        if re.fullmatch(runner.settings_files, name)
    )
    return any(text is not None and re.search(runner.stopping_settings, text) for text in texts)


def _skipped_after_failure(root: Path | None, line: CommandLine) -> str:
    """What Maven does not run after a failed test; "" if it runs everything."""
    data = read_regular(root / line.folder / "pom.xml", longest=1024 * 1024) if root else None
    if data is None or re.search(rb"<modules\b", data):
        return SKIPS_MODULES
    runs_integration_tests = _MAVEN_INTEGRATION & set(line.arguments) and b"maven-failsafe-plugin" in data
    return SKIPS_INTEGRATION_TESTS if runs_integration_tests else ""


# -- prepare --------------------------------------------------------------------------------------
# Prepares a check: its argv, its report file, and options that make its runner report each case.

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
        if self.known.skips_rest:
            return self.known.skips_rest
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
        return _with_report(spec, command, known_runner, report_dir, env, root)
    options = PYTEST.options(str(report_dir / JUNIT_FILE))
    if is_pytest:
        return PreparedCheck(_argv(_with_options(command, options), env), env, "junit", JUNIT_FILE, False, None, True)
    # `make test` and the like: pytest, if there is one below, gets the options by this variable.
    words = " ".join([*filter(None, [env.get("PYTEST_ADDOPTS")]), shlex.join(options)])
    return PreparedCheck(_argv(command, env), {**env, "PYTEST_ADDOPTS": words}, "junit", JUNIT_FILE, False)


def _with_report(
    spec: CheckSpec,
    command: Command,
    known_runner: KnownCommand,
    report_dir: Path,
    env: Mapping[str, str],
    root: Path | None,
) -> PreparedCheck:
    runner = known_runner.runner
    kind, file = runner.report or (None, None)
    own = _OWN_REPORT.get(runner.name)
    text = " ".join((spec.words, *known_runner.arguments))
    options = () if own and own.search(text) else runner.options(str(report_dir / file) if file else "")
    if options and runner is PYTEST:
        options = (*options, *_naming_retries(text, root / known_runner.line.folder if root else None))
    new_command = known_runner.with_options(options) if options else None
    if new_command is None:
        return PreparedCheck(_argv(command, env), env, None, None, False, known_runner, runner is PYTEST)
    return PreparedCheck(_argv(new_command, env), env, kind, file, False, known_runner, runner is PYTEST)


_PYTEST_SETTINGS = (
    "pytest.toml",
    ".pytest.toml",
    "pytest.ini",
    ".pytest.ini",
    "pyproject.toml",
    "tox.ini",
    "setup.cfg",
)
_RETRIES = re.compile(r"--reruns\b|^\s*reruns\s*=", re.M)
_REPORTED = re.compile(r"(?<![\w-])-r ?([A-Za-z]+)")


def _naming_retries(command: str, folder: Path | None) -> tuple[str, ...]:
    """The option with which pytest-rerunfailures names the tests that it runs again: alone, it prints their number."""
    data = (read_regular(folder / name, longest=1024 * 1024) for name in _PYTEST_SETTINGS) if folder else ()
    text = "\n".join([command, *(one.decode("utf-8", "replace") for one in data if one)])
    # an own `-r` of the command would take precedence
    if not _RETRIES.search(text) or _REPORTED.search(command):
        return ()
    letters = (_REPORTED.findall(text) or ["fE"])[-1]
    return (f"-r{letters}R",) if not set(letters) & set("RN") else ()


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
