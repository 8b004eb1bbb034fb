"""Finds the tests among the scripts of package.json, composer.json and deno.json: those that one command leaves out."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from burnish.checks.command_line import CommandLine, parse_command
from burnish.checks.tools import ProjectFolder, UnrunTests
from burnish.checks.unrun_tests import SAMPLES

# `test:unit`, `test-e2e`, `integration:test`, `e2e`
_TEST_NAME = re.compile(r"tests?[:_.-].+")
_OTHER_TEST_NAME = re.compile(
    r".+[:_.-]tests?|(?:unit|e2e|integration|acceptance|functional|specs?)(?:[:_.-].+)?|tests"
)
# Other forms of the same tests, measurements, and scripts that prepare tests.
_VARIANT = re.compile(
    r"(?:^|[:_.-])(?:watch|debug|inspect|cov|coverage|ci|update|u|w|snapshots?|snap|dev|ui|gui|open|headed|verbose|all|changed"
    r"|related|only|reports?|staged|fix|bail|fast|quick|single|file|once|run|local|clean|setup|teardown|prepare|pre|post|build"
    r"|compile|install|deps|start|serve|server|seed|migrate|generate|bench|benchmarks?|perf|performance|load|stress|soak"
    r"|nightly|mutation|mutate|size|lint|format|prettier|list|help|config|init|env)(?:$|[:_.-])",
    re.I,
)
_RUNNER = re.compile(
    r"(?<![\w/-])(?:jest|vitest|_?mocha|ava|tap|tape|uvu|jasmine|qunit|lab|wtr|web-test-runner|cucumber(?:-js)?"
    r"|bun test|deno test|(?:node|tsx)\b.*\s--test|react-scripts test|ng (?:test|e2e)|vue-cli-service test:\w+"
    r"|phpunit|pest|behat|codecept|phpspec|playwright test|cypress run|karma start|wdio|nightwatch|testcafe"
    r"|bats|pytest|tsd)(?![\w/-])"
)
_LINTER = re.compile(
    r"(?:(?:npx|pnpm exec|yarn|bunx)\s+(?:-\S+\s+)*)?(?:eslint|tslint|stylelint|standard|semistandard|ts-standard|xo"
    r"|biome|oxlint|prettier|markdownlint(?:-cli2?)?|tsc|vue-tsc|jshint|htmlhint|publint|attw|knip|depcheck)(?![\w-])"
    r"|(?:npm|pnpm|yarn|bun)\s+(?:run\s+)?(?:-\S+\s+)*(?:lint|format|prettier|type-?check|types|tsc|style|xo|eslint)\b"
    r"|(?:vendor/bin/)?(?:phpcs|phpstan|psalm|php-cs-fixer|pint)\b|php -l\b|deno (?:lint|fmt|check)\b"
    r"|@(?:lint|phpcs|phpstan|cs|stan)"
)
_NO_COMMAND = re.compile(r"(?:echo|true|exit|:)(?![\w-])")
# Programs of tests that need a browser, a container, a server or a file that git does not have.
_SERVICES = re.compile(
    r"(?<![\w/])(?:docker|podman|compose|kubectl|minikube|testcontainers|localstack|supabase|firebase|playwright|cypress"
    r"|puppeteer|selenium|webdriver|wdio|nightwatch|testcafe|appium|detox|browserstack|karma|ng e2e|test-storybook"
    r"|start-server-and-test|start-test|wait-on|newman|k6|sudo|dotenv|env-cmd|--env-file)(?![\w/])|https?://",
    re.I,
)
_INTEGRATION_NAME = re.compile(
    r"(?:^|[:_.-])(?:e2e|end-to-end|integrations?|int|it|acceptance|system|smoke|contract|functional|api|db|database|live"
    r"|remote|external|network|browser)(?:$|[:_.-])",
    re.I,
)
# Packages whose users have a service beside their integration tests.
_SERVICE_PACKAGES = re.compile(
    r"pg|pg-promise|postgres|mysql2?|mariadb|mongodb|mongoose|redis|ioredis|kafkajs|amqplib|nats|@?elastic.*|cassandra-driver"
    r"|typeorm|sequelize|knex|prisma|@prisma/client|drizzle-orm|testcontainers|@testcontainers/.*|aws-sdk|@aws-sdk/.*"
    r"|@google-cloud/.*|firebase.*|puppeteer(?:-core)?|playwright(?:-core)?|@playwright/test|cypress|selenium-webdriver"
    r"|predis/predis|doctrine/.*|illuminate/database"
)
_COMMANDS = re.compile(r"&&|\|\||;|\n|&")
_WORDS = re.compile(r"[^\s'\"\\;&|()]+")
# Options that do not select tests.
_SELECTS_NOTHING = re.compile(
    r"run|--(?:run|test|coverage|reporter|silent|verbose|ci|passWithNoTests|no-watch|watch|watchAll|runInBand|forceExit|color"
    r"|colors|detectOpenHandles|maxWorkers|logHeapUsage|experimental|no-warnings|import|loader|require|no-cache|pool"
    r"|no-file-parallelism|test-reporter|enable|allow)[\w-]*(?:=.*)?|-(?:i|w|q|s)"
)
# The test command of a project that has no script without such an ending.
_USUAL_VARIANTS = ("test:ci", "test:run", "test:once", "test:all", "test:coverage", "test:cov", "test-ci")
# Runners that find all their tests without names of files; with names they run some of them.
_WHOLE_PROJECT = frozenset(("jest", "vitest"))


@dataclass(frozen=True, slots=True)
class TestScripts:
    """The script that is the test command, further ones with other tests, and those that no check runs."""

    first: str | None
    more: tuple[str, ...] = ()
    # each with the reason
    unrun: tuple[tuple[str, str], ...] = ()


def find_test_scripts(scripts: Mapping[str, str], dependencies: Collection[str], *, has_services: bool) -> TestScripts:
    """`has_services`: the repository starts services for its tests, e.g. by a docker-compose.yml."""
    names = [name for name in scripts if _is_test_script(name, scripts[name])]
    usual = "test" if _has_tests(scripts.get("test", "")) else None
    reasons = {name: _why_unrun(name, scripts, dependencies, has_services) for name in names}
    offline_names = sorted((name for name in names if not reasons[name]), key=_rank)
    variants = (name for name in _USUAL_VARIANTS if _has_tests(scripts.get(name, "")))
    first = usual or next(iter(offline_names), None) or next(variants, None)
    covered_names = _reached(first, scripts) if first else set()
    more: list[str] = []
    for name in offline_names:
        others = (one for one in (first, *more) if one)
        if name not in covered_names and not any(_is_same(name, other, scripts) for other in others):
            more.append(name)
            covered_names |= _reached(name, scripts)
    unrun = tuple((name, why) for name, why in reasons.items() if why and name not in covered_names)
    return TestScripts(first, tuple(more), unrun)


def is_variant(name: str) -> bool:
    """True for another form of the same tests (`test:watch`), a measurement, or what prepares tests."""
    return _VARIANT.search(name) is not None


def is_lint_only(script: str) -> bool:
    """True if a script starts linters and no tests, e.g. `eslint . && tsc --noEmit`."""
    commands = _real_commands(script)
    return bool(commands) and all(_LINTER.match(command) for command in commands)


def _real_commands(script: str) -> list[str]:
    commands = (command.strip() for command in _COMMANDS.split(script))
    return [command for command in commands if command and not _NO_COMMAND.match(command)]


def _has_tests(script: str) -> bool:
    return bool(_real_commands(script)) and "no test specified" not in script and not is_lint_only(script)


def _is_test_script(name: str, script: str) -> bool:
    if name == "test" or _VARIANT.search(name) or not _has_tests(script):
        return False
    return bool(_TEST_NAME.fullmatch(name) or (_OTHER_TEST_NAME.fullmatch(name) and _RUNNER.search(script)))


def _rank(name: str) -> tuple[bool, bool]:
    """Unit tests first, integration tests last."""
    return "unit" not in name, _INTEGRATION_NAME.search(name) is not None


def _why_unrun(name: str, scripts: Mapping[str, str], dependencies: Collection[str], has_services: bool) -> str:
    """Why the tests of a script may need more than the tree, "" if they do not."""
    text = "\n".join(scripts[one] for one in sorted(_reached(name, scripts) - {"test"}))
    if match := _SERVICES.search(text):
        return f"it may need services, a browser or other files ({match[0].strip()})"
    if not _INTEGRATION_NAME.search(name):
        return ""
    if has_services:
        return "it may need the services of the repository's compose file"
    package = next((one for one in sorted(dependencies) if _SERVICE_PACKAGES.fullmatch(one)), "")
    return f"it may need services ({package} among the dependencies)" if package else ""


def _reached(name: str, scripts: Mapping[str, str]) -> set[str]:
    """The scripts that this one starts, directly or not, with itself."""
    found: set[str] = set()
    pending = [name]
    while pending:
        one = pending.pop()
        if one in scripts and one not in found:
            found.add(one)
            pending += [f"pre{one}", f"post{one}", *_named(scripts[one], scripts)]
    return found


def _named(script: str, scripts: Mapping[str, str]) -> Iterator[str]:
    """The other scripts that a script names, also by a pattern: `run-s test:*`, `concurrently npm:test:*`, `@test`."""
    for word in _WORDS.findall(script):
        name = re.sub(r"^(?:(?:npm|yarn|pnpm|bun|node):|@)", "", word)
        if "*" in name and not name.startswith(("*", ".", "/")) and ":" in name:
            pattern = re.escape(name).replace(r"\*", ".*")
            yield from (one for one in scripts if re.fullmatch(pattern, one))
        elif name in scripts:
            yield name


def _is_same(name: str, other: str, scripts: Mapping[str, str]) -> bool:
    """True if the other script runs the tests of this one, too: this one starts it, or its runner on fewer files."""
    if other in _reached(name, scripts):
        return True
    line, other_line = (parse_command(scripts[one], None) for one in (name, other))
    if line is None or other_line is None or line.name != other_line.name:
        return scripts[name] == scripts[other]
    own_options, other_options = (_options(one) for one in (line, other_line))
    if own_options - other_options:
        return False
    selection = {word for word in other_line.arguments if not _SELECTS_NOTHING.fullmatch(word)} - own_options
    own_files = {word for word in line.arguments if not word.startswith("-") and not _SELECTS_NOTHING.fullmatch(word)}
    is_whole = not selection and line.name in _WHOLE_PROJECT
    return is_whole or (own_files <= set(other_line.arguments) and bool(own_files))


def _options(line: CommandLine) -> set[str]:
    """Options that may select other tests, and variables."""
    before = line.texts[: line.program]
    options = (word for word in line.arguments if word.startswith("-") and not _SELECTS_NOTHING.fullmatch(word))
    return {*(word for word in before if "=" in word), *options}


# -- test files -----------------------------------------------------------------------------------
# Files with tests that no script names.

_MAX_OPENED = 40
_NODE_TEST_FILE = re.compile(r"(?:.*/)?[^/]+\.(?:test|spec)\.[cm]?[jt]sx?")
_IN_TEST_FOLDER = re.compile(r"(?:.*/)?(?:tests?|specs?|__tests__)/.+\.[cm]?[jt]sx?$")
_CASE = re.compile(r"^[ \t]*(?:describe|it|test)(?:\.\w+)?\(", re.M)
# Runners that run exactly the files that they are given; those of jest and vitest are patterns.
_NODE_RUNNERS = ("node", "mocha", "_mocha", "tape", "tap", "ava", "uvu", "tsx", "borp")


def unrun_node_tests(place: ProjectFolder, scripts: Mapping[str, str], run_names: Iterable[str]) -> list[UnrunTests]:
    """Test files beside those that the scripts name, and projects that they do not select."""
    texts = "\n".join(scripts.values())
    browser_tests = [
        UnrunTests(f"npx {words}", program, f"{files[0]}: these tests may need a browser")
        for program, words in (("playwright", "playwright test"), ("cypress", "cypress run"))
        if (files := [one for one in sorted(place.names) if one.startswith(f"{program}.config.")])
        and program not in texts
    ]
    return [*browser_tests, *_unrun_files(place, scripts, run_names)]


def _unrun_files(place: ProjectFolder, scripts: Mapping[str, str], run_names: Iterable[str]) -> list[UnrunTests]:
    lines = [line for name in run_names if (line := parse_command(scripts.get(name, ""), None))]
    if any(re.search(r"--(?:selectProjects|project)\b", " ".join(line.arguments)) for line in lines):
        return [UnrunTests("other projects of the test runner", "\0", "the script `test` selects some projects")]
    if lines and all(line.name in ("jest", "vitest") for line in lines):
        return list(_ignored_by_settings(place))
    if not lines or not all(line.name in _NODE_RUNNERS for line in lines):
        return []
    words = [word for line in lines for word in line.arguments if not word.startswith("-")]
    texts = "\n".join(scripts.values())
    files = [path for path in _node_test_files(place) if "node_modules/" not in path]
    if not words and all(line.name in ("mocha", "_mocha") for line in lines) and not _mocha_settings(place, texts):
        words = ["./test/*.*"]
    patterns = [_pattern(word, texts, files) for word in words]
    if not patterns or "." in map(posixpath.normpath, words):
        return []
    outside = [path for path in files if not any(pattern.match(path) for pattern in patterns)]
    folders = dict.fromkeys(posixpath.dirname(path) for path in outside)
    why = "the script `test` does not name them"
    # a script that names the folder itself may be meant for it
    others = re.sub(r"\S*\*\S*", "", texts)
    return [
        # "test" alone is part of most commands
        UnrunTests(f"tests in {one or 'the root'}", one if "/" in one else f"{one}/" if one else "\0", why)
        for one in folders
        if not one or one not in others
    ]


def _node_test_files(place: ProjectFolder) -> Iterator[str]:
    """Files that are named as tests, and those in a folder of tests that define some."""
    others = [path for path in place.paths if _IN_TEST_FOLDER.match(path) and not _NODE_TEST_FILE.fullmatch(path)]
    opened_files = frozenset(others[:_MAX_OPENED])
    for path in place.paths:
        is_named = _NODE_TEST_FILE.fullmatch(path) is not None
        if not SAMPLES.search(path) and (is_named or (path in opened_files and _CASE.search(place.read(path)))):
            yield path


def _mocha_settings(place: ProjectFolder, scripts: str) -> bool:
    """True if other places than the command name the tests of mocha, or folders below `test`."""
    is_set = any(name.startswith(".mocharc") or name == "test/mocha.opts" for name in (*place.names, *place.paths))
    return is_set or '"mocha":' in re.sub(r'"mocha": *"', "", place.read("package.json")) or "--recursive" in scripts


def _pattern(word: str, texts: str, files: Sequence[str]) -> re.Pattern[str]:
    """The files that a word of a script names. Without quotes the shell reads `**` as `*`, if that names a file."""
    word = posixpath.normpath(word)
    in_shell = re.compile(f"{_as_expression(word, '[^/]*')}(?:/|$)")
    is_quoted = re.search(rf"[\"'](?:\./)?{re.escape(word)}", texts) is not None
    if "**" in word and not is_quoted and any(map(in_shell.match, files)):
        return in_shell
    return re.compile(f"{_as_expression(word, '.*')}(?:/|$)")


def _as_expression(word: str, folders: str) -> str:
    """A pattern of files as a regular expression; `folders` stands for `**`."""
    parts = re.split(r"(\*\*/?|\*|\?|\{[^{}]*\}|[@+?*!]\([^()]*\))", word)
    found = ""
    for part in parts:
        if part.startswith("**"):
            found += folders if folders != ".*" else "(?:.*/)?" if part == "**/" else ".*"
            found += "/" if folders != ".*" and part == "**/" else ""
        elif part in ("*", "?"):
            found += "[^/]*" if part == "*" else "[^/]"
        elif part.startswith("{"):
            found += f"(?:{'|'.join(re.escape(one).replace(re.escape('*'), '[^/]*') for one in part[1:-1].split(','))})"
        elif part[:2] in ("@(", "+(", "?(", "*(", "!("):
            found += "[^/]*"
        else:
            found += re.escape(part)
    return found


# `/node_modules/` and the like have no tests of the project.
_NO_TESTS = re.compile(r"node_modules|dist|build|lib|out|coverage|fixtures?|examples?|templates?|benchmarks?", re.I)


def _ignored_by_settings(place: ProjectFolder) -> Iterator[UnrunTests]:
    """Test files that settings of jest or vitest leave out."""
    names = [
        one for one in sorted(place.names) if re.fullmatch(r"(?:jest|vitest|vite)\.config\.\w+|package\.json", one)
    ]
    files = [path for path in place.paths if _NODE_TEST_FILE.fullmatch(path) and not SAMPLES.search(path)]
    for name in names:
        text = place.read(name)
        lists = re.findall(r"[\"']?\b(?:testPathIgnorePatterns|exclude)[\"']?\s*:\s*\[([^\]]*)\]", text)
        for pattern in (one for some in lists for one in re.findall(r"[\"'`]([^\"'`]+)[\"'`]", some)):
            words = re.findall(r"[\w-]{2,}", re.sub(r"<rootDir>|\.\w+$", "", pattern))
            own = [path for path in files if words and all(word in path for word in words)]
            if own and not _NO_TESTS.search(pattern):
                yield UnrunTests(
                    f"tests in {posixpath.dirname(own[0])}", posixpath.dirname(own[0]), f"{name} leaves {pattern} out"
                )
        # vitest, with `include` in its part for tests
        test = re.search(r"\btest\s*:\s*\{([^{}]*)", text) if name.startswith("vit") else None
        include = re.search(r"\binclude\s*:\s*\[([^\]]*)\]", test[1]) if test else None
        starts = (
            [re.split(r"[*?{\[]", one, maxsplit=1)[0] for one in re.findall(r"[\"'`]([^\"'`]+)", include[1])]
            if include
            else []
        )
        starts = [posixpath.normpath(one) for one in starts if one.strip(" ,\n")]
        outside = [path for path in files if not path.startswith(tuple(starts))] if starts and "." not in starts else []
        for folder in dict.fromkeys(posixpath.dirname(path) for path in outside):
            yield UnrunTests(
                f"tests in {folder or 'the root'}", folder or "\0", f"`include` in {name} does not name them"
            )
