"""Recognises a step that starts a test runner, and what its variables and options add to the bare runner. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from burnish.checks.command_line import parse_command
from burnish.checks.own_commands.steps import CommandStep


@dataclass(frozen=True, slots=True)
class RunnerCall:
    """A call of a test runner: variables and options that change what is tested, and the selection of tests."""

    language: str
    runner: str
    env: tuple[tuple[str, str], ...] = ()
    options: tuple[str, ...] = ()
    # options behind `--` or `-args`, for the tests themselves
    last: tuple[str, ...] = ()
    selection: tuple[str, ...] = ()

    @property
    def adds_nothing(self) -> bool:
        return not self.env and not self.options and not self.last

    def includes(self, other: RunnerCall) -> bool:
        pairs = ((self.env, other.env), (self.options, other.options), (self.last, other.last))
        return self != other and all(set(theirs) <= set(own) for own, theirs in pairs)


@dataclass(frozen=True, slots=True)
class _Options:
    """Which options of a runner change nothing, which ones select tests, and which ones have a value."""

    no_effect: re.Pattern[str]
    selects: re.Pattern[str]
    with_value: re.Pattern[str]


def _options(no_effect: str, selects: str, with_value: str) -> _Options:
    return _Options(re.compile(no_effect), re.compile(selects), re.compile(with_value))


_PYTEST = _options(
    # how results are shown, stored, measured, ordered and distributed
    r"-[vqslx]+|-r\w*|-n\d*|--(?:tb|color|code-highlight|cov|no-cov|junit|numprocesses|maxprocesses|dist|tx|durations|maxfail"
    r"|exitfirst|capture|show-capture|verbose|verbosity|quiet|showlocals|no-header|no-summary|html|self-contained-html|reruns"
    r"|benchmark|lf|ff|nf|last-failed|failed-first|new-first|sw|stepwise|cache-clear|cache-show|pdb|log-|alluredir|basetemp"
    r"|disable-warnings|disable-pytest-warnings|timeout|instafail|force-sugar|emoji|xfail-tb|full-trace|setup-show|report-log"
    r"|doctest-modules|no-migrations|reuse-db|create-db|continue-on-collection-errors|picked|testmon|random-order"
    r"|randomly|md-report|nunit|ctrf|json-report|parallel-threads|workers|profile|pastebin)[\w-]*(?:=.*)?|-p=?no:.*",
    r"-[km]|-[km].+|--(?:ignore|ignore-glob|deselect|co|collect-only)(?:=.*)?",
    r"-[kmpcoWnr]|--(?:ignore|ignore-glob|deselect|tb|color|cov|cov-report|cov-config|junitxml|junit-xml|durations|maxfail"
    r"|rootdir|confcutdir|ds|dc|capture|timeout|basetemp|html|reruns|log-level|log-cli-level|dist|numprocesses|import-mode"
    r"|override-ini|pythonwarnings|doctest-glob)",
)
_UNITTEST = _options(
    r"discover|-[vqfb]+|--(?:verbose|quiet|failfast|buffer|locals|durations)(?:=.*)?",
    r"-[stpk]|--(?:start-directory|pattern|top-level-directory)(?:=.*)?",
    r"-[stpk]",
)
# Files that the bare runner does not find: `discover -p 'check_*.py'`.
_FOREIGN_PATTERN = re.compile(r"(?:^|\s)(?:-p\s*|--pattern[= ])(?!test|\*_test)")
_DJANGO = _options(
    r"test|-v\d?|--(?:verbosity|parallel|keepdb|failfast|noinput|no-input|timing|debug-mode|buffer|reverse|shuffle)(?:=.*)?|[0-3]",
    r"--(?:tag|exclude-tag|pattern)(?:=.*)?|-[kp]",
    r"-[kp]|--(?:tag|exclude-tag|pattern|settings|pythonpath|verbosity)",
)
_GO = _options(
    r"test|-{1,2}(?:v|x|json|short|failfast|cover|covermode|coverprofile|coverpkg|count|cpu|parallel|p|timeout|shuffle|vet|bench"
    r"|benchtime|benchmem|o|c|outputdir|cpuprofile|memprofile|trace|test\.v|work|n)(?:=.*)?",
    r"-{1,2}(?:run|skip)(?:=.*)?",
    r"-{1,2}(?:tags|run|skip|covermode|coverprofile|coverpkg|count|cpu|parallel|p|timeout|vet|bench|benchtime|o|ldflags|gcflags|mod"
    r"|modfile|outputdir|exec)",
)
_CARGO = _options(
    r"test|t|nextest|run|r|\+.*|-[vqj]+\d*|--(?:verbose|quiet|color|no-fail-fast|jobs|locked|offline|frozen|workspace|all|release|profile"
    r"|message-format|target-dir|timings|no-run|all-targets|nocapture|show-output|test-threads|no-capture|manifest-path)(?:=.*)?",
    r"--(?:lib|bins|bin|examples|example|tests|test|doc|package|exclude|benches)(?:=.*)?|-p|--skip|--exact",
    r"-[pFj]|--(?:features|bin|example|test|package|exclude|profile|target|target-dir|jobs|color|test-threads|skip|manifest-path)",
)
_MAVEN = _options(
    r"-[qBeVUXo]|-ntp|-T\S*|-fae|-ff|--(?:batch-mode|quiet|no-transfer-progress|fail-at-end|offline)|clean|test|verify|install|package|-DskipITs.*|-Dstyle.*",
    r"-pl|-Dtest=.*|-am",
    r"-pl|-T|-P|-f",
)
_GRADLE = _options(
    r"-[qisS]|--(?:info|stacktrace|quiet|no-daemon|continue|parallel|console|scan|rerun-tasks|build-cache|warning-mode)(?:=.*)?|clean|test|check|build|assemble",
    r"--tests(?:=.*)?|:?[\w:-]+:test",
    r"--tests|-x",
)
_OTHER = _options(
    r"test|spec|default|-[vqf]+|--(?:colou?rs?|format|verbose|quiet|no-progress|coverage[\w-]*|testdox|stop-on-failure|require|order|ci|runInBand|reporter|run|silent|bail)(?:=.*)?",
    r"(?!)",
    r"--(?:format|order|reporter|require)|-[fr]",
)

_RUNNERS: dict[str, tuple[str, _Options]] = {
    "pytest": ("Python", _PYTEST),
    "unittest": ("Python", _UNITTEST),
    "django": ("Python", _DJANGO),
    "nose": ("Python", _OTHER),
    "go": ("Go", _GO),
    "cargo": ("Rust", _CARGO),
    "maven": ("Java", _MAVEN),
    "gradle": ("Java", _GRADLE),
    "rspec": ("Ruby", _OTHER),
    "rake": ("Ruby", _OTHER),
    "phpunit": ("PHP", _OTHER),
    "node": ("JavaScript", _OTHER),
    "deno": ("Deno", _OTHER),
}
# Variables that change how results look or where files are written.
IGNORED_VARIABLES = re.compile(
    r"PATH|PWD|HOME|TMPDIR|TEMP|CI|SHELL|VIRTUAL_ENV|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|PYTHONIOENCODING|PY_COLORS|FORCE_COLOR|NO_COLOR|TERM|COLUMNS"
    r"|COVERAGE_\w+|PIP_\w+|UV_\w+|TOX\w*|NOX\w*|CARGO_TERM_\w+|RUST_BACKTRACE|RUSTDOCFLAGS|MAKEFLAGS|VENV\w*|CARGO_INCREMENTAL"
    r"|npm_config_\w+|TOXENV|CODECOV_\w+|SETUPTOOLS_SCM_\w+|PYTHONWARNINGS_DEFAULT"
)
# The folder of the repository, which is where checks run, and what the shell would add to a search path.
_HERE = re.compile(r"\$\(pwd\)|\$\{?PWD\}?|\$\{?CURDIR\}?|`pwd`")
_REST_OF_PATH = re.compile(r":?\$\{?PYTHONPATH\}?(?::-?\})?:?|:?\$\{PYTHONPATH[^}]*\}:?")
_NODE_TESTS = (("test",), ("t",), ("run", "test"))
_BEFORE_TESTS = {"cargo": "--", "go": "-args", "node": "--"}
# Options behind `npm test --` that show, measure or select; the last group has a value.
_NO_SCRIPT_OPTION = re.compile(
    r"-[uwitgR]|--(?:watch\w*|coverage[\w.]*|ci|silent|verbose|run|bail|colors?|no-color\w*|update\w*|runInBand|passWithNoTests"
    r"|maxWorkers|forceExit|detectOpenHandles|json|outputFile\S*|reporters?|testNamePattern|testPathPattern\w*|grep|fgrep"
    r"|selectProjects|project|filter|shard|no-watch|if-present|workspaces?)(?:=.*)?"
)
_SCRIPT_VALUE = re.compile(
    r"-[tgRw]|--(?:reporters?|testNamePattern|testPathPattern\w*|grep|fgrep|maxWorkers|selectProjects|project|filter|shard|outputFile\S*)"
)


def runner_call(step: CommandStep, exists: Callable[[str], bool]) -> RunnerCall | None:
    """The runner that a step starts, None if it starts another program. `exists`: a path of its folder."""
    words, env = _interpreter(step.words, dict(step.env))
    name, arguments = _runner(words)
    if not name:
        return None
    language, options = _RUNNERS[name]
    found = _divided(name, arguments, options, exists)
    addopts = env.pop("PYTEST_ADDOPTS", "")
    if name == "pytest" and addopts and "$" not in addopts:
        more = _divided(name, _split(addopts), options, exists)
        found = (tuple(dict.fromkeys((*found[0], *more[0]))), found[1], found[2])
    variables = tuple(
        sorted((key, _plain(value)) for key, value in env.items() if value and not IGNORED_VARIABLES.fullmatch(key))
    )
    return RunnerCall(language, name, variables, *found)


def is_resolved(call: RunnerCall) -> bool:
    texts = [*(value for _, value in call.env), *call.options, *call.last]
    return not any("$" in text or "\0" in text or "`" in text or "{" in text for text in texts)


def _plain(value: str) -> str:
    return _REST_OF_PATH.sub("", _HERE.sub(".", value))


def _split(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError:
        return ()


def _interpreter(words: tuple[str, ...], env: dict[str, str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Options of the interpreter as variables, and `coverage run` as the interpreter."""
    for at, word in enumerate(words[:6]):
        if word == "coverage" and words[at + 1 : at + 2] == ("run",):
            rest = words[at + 2 :]
            while rest and rest[0].startswith("-") and rest[0] != "-m":
                rest = rest[2:] if rest[0] in ("--source", "--rcfile", "--include", "--omit", "--context") else rest[1:]
            return ("python", *rest), env
        if re.fullmatch(r"(?:.*/)?python[\d.]*", word):
            rest = words[at + 1 :]
            while rest and rest[0].startswith("-") and rest[0] not in ("-m", "-c"):
                if rest[0] == "-W" and rest[1:]:
                    env["PYTHONWARNINGS"] = rest[1]
                elif rest[0].startswith("-W") and rest[0][2:]:
                    env["PYTHONWARNINGS"] = rest[0][2:]
                elif rest[:2] == ("-X", "dev") or rest[0] == "-Xdev":
                    env["PYTHONDEVMODE"] = "1"
                rest = rest[2:] if rest[0] in ("-W", "-X") else rest[1:]
            if rest[:2] == ("-m", "coverage") and rest[2:3] == ("run",):
                return _interpreter(rest[1:], env)
            return (*words[: at + 1], *rest), env
    return words, env


def _runner(words: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    if words[:1] == ("bundle",) and words[1:2] == ("exec",):
        words = words[2:]
    if words[:1] and words[0] in ("npm", "pnpm", "yarn", "bun"):
        start = next((one for one in _NODE_TESTS if words[1 : len(one) + 1] == one), None)
        rest = words[len(start) + 1 :] if start else ()
        if start and (not rest or rest[0] == "--" or words[0] == "yarn"):
            return "node", ("--", *_script_options(rest))
    line = parse_command(words, None) if words else None
    if line is None:
        return "", ()
    arguments = line.arguments
    first = arguments[0] if arguments else ""
    match line.name:
        case "pytest" | "py.test":
            return "pytest", arguments
        case "unittest" if not _FOREIGN_PATTERN.search(" ".join(arguments)):
            return "unittest", arguments
        case "manage.py" | "django-admin" if first == "test":
            return "django", arguments
        case "nose2" | "nosetests":
            return "nose", arguments
        case "go" if first == "test":
            return "go", arguments
        case "gotestsum":
            return "go", arguments[arguments.index("--") + 1 :] if "--" in arguments else ()
        case "cargo" if {"test", "t", "nextest"} & set(arguments[:2]):
            return "cargo", arguments
        case "mvn" | "mvnw" if {"test", "verify", "install", "package"} & set(arguments):
            return "maven", arguments
        case "gradle" | "gradlew" if any(
            re.fullmatch(r"(?:.*:)?(?:test|check|build|\w+Test)", one) for one in arguments
        ):
            return "gradle", arguments
        case "rspec":
            return "rspec", arguments
        case "rake" | "rails" if first in ("test", "spec"):
            return "rake", arguments
        case "phpunit" | "pest":
            return "phpunit", arguments
        case "jest" | "vitest" | "mocha" | "ava":
            return "node", ()
        case "node" if "--test" in arguments:
            return "node", ()
        case "deno" if first == "test":
            return "deno", ()
    return "", ()


def _script_options(words: tuple[str, ...]) -> tuple[str, ...]:
    """What options behind `npm test --` change, without files that they select."""
    found: list[str] = []
    rest = [word for word in words if word != "--"]
    while rest:
        word = rest.pop(0)
        has_value = bool(rest) and "=" not in word and not rest[0].startswith("-") and not re.search(r"[./]", rest[0])
        if not word.startswith("-"):
            continue
        if _NO_SCRIPT_OPTION.fullmatch(word):
            del rest[: bool(has_value and _SCRIPT_VALUE.fullmatch(word))]
            continue
        found += [word, *([rest.pop(0)] if has_value else [])]
    return tuple(found)


def _divided(
    name: str, arguments: tuple[str, ...], kinds: _Options, exists: Callable[[str], bool]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Options that change the run, those for the tests themselves, and the selection."""
    separator = _BEFORE_TESTS.get(name, "")
    last: tuple[str, ...] = ()
    if separator and separator in arguments:
        at = arguments.index(separator)
        arguments, last = arguments[:at], arguments[at + 1 :]
        last = tuple(word for word in last if not kinds.no_effect.fullmatch(word))
    options: list[str] = []
    selection: list[str] = []
    words = list(arguments)
    while words:
        word = words.pop(0)
        has_value = kinds.with_value.fullmatch(word) is not None
        if word.startswith("--") and "=" not in word and not has_value and name == "pytest" and words:
            # the option of a plugin or of conftest.py: a path behind it is one of tests
            has_value = not words[0].startswith("-") and not exists(words[0]) and not kinds.no_effect.fullmatch(word)
        value = [words.pop(0)] if has_value and words else []
        if kinds.selects.fullmatch(word):
            selection += [word, *value]
        elif kinds.no_effect.fullmatch(word) or word == "--":
            continue
        elif word.startswith("-") or (name == "gradle" and "/" not in word):
            options += [word, *value]
        else:
            selection.append(word)
    return tuple(options), last, tuple(selection)


# -- commands -------------------------------------------------------------------------------------


def command_of(bare: str | tuple[str, ...], call: RunnerCall, selection: Collection[str] = ()) -> str | tuple[str, ...]:
    """The bare command with what a call adds; with a selection in place of all tests."""
    words = [bare] if isinstance(bare, str) else list(bare)
    text = bare if isinstance(bare, str) else shlex.join(words)
    separator = _BEFORE_TESTS.get(call.runner, "--")
    options = shlex.join(call.options)
    if call.runner == "go":
        packages = shlex.join(selection) if selection else "./..."
        text = re.sub(r"\./\.\.\.$", "", text).rstrip()
        text = " ".join(filter(None, (text, options, packages)))
    else:
        text = " ".join(filter(None, (text, options, shlex.join(selection))))
    if call.last:
        text = f"{text} {separator} {shlex.join(call.last)}"
    if isinstance(bare, tuple) and not call.env:
        return tuple(shlex.split(text))
    if isinstance(bare, tuple) and bare[0] == "python":
        # In a shell line, a missing `python` is not replaced by `python3`.
        text = f"python3{text[len('python') :]}"
    return f"{assignments(call.env)}{text}"


def assignments(env: Collection[tuple[str, str]]) -> str:
    return "".join(f"{name}={shlex.quote(value)} " for name, value in env)


def without_selection(call: RunnerCall) -> RunnerCall:
    return replace(call, selection=())
