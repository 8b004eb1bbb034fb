"""Finds the tests among the scripts of package.json, composer.json and deno.json: those that one command leaves out."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from burnish.checks.command_line import CommandLine, parse_command

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
