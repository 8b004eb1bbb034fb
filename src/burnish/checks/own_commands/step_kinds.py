"""Tells tests of a project from other commands: linters, builds, installation, reports. Pure."""

from __future__ import annotations

import posixpath
import re

from burnish.checks.command_line import parse_command
from burnish.checks.own_commands.steps import CommandStep

MANAGERS = ("uv", "poetry", "pdm", "pipenv", "hatch", "rye")
_SERVICES = re.compile(
    r"(?<![\w./-])(?:docker|docker-compose|podman|kubectl|compose|sudo|minikube|vagrant|systemctl|localstack)(?![\w./-])"
)
_SERVICE_ADDRESS = re.compile(r"\w+://[^\s'\"]*@|(?:postgres(?:ql)?|mysql|redis|mongodb|amqps?|https?)://|localhost:\d")
# Commands that are not tests: messages, files, linters, formatters, installation, reports.
_NOT_A_TEST = re.compile(
    r"(?:(?:\S*/)?(?:echo|printf|rm|mv|set|export|unset|true|false|:|exit|test|\[|\[\[|pip3?|git|which|cat|chmod|source|\.|date|sleep|tee|grep"
    r"|sed|awk|head|tail|find|xargs|read|trap|shift|return|local|ls|pwd|tput|clear|type|hash|wait|kill|ulimit|umask|eval|declare"
    r"|ruff|mypy|dmypy|flake8|black|isort|pylint|pyright|basedpyright|pyflakes|pycodestyle|pydocstyle|bandit|vulture|pyupgrade|pre-commit"
    r"|codespell|yapf|autopep8|docformatter|interrogate|golangci-lint|gofmt|gofumpt|goimports|staticcheck|govulncheck|gosec|golint"
    r"|revive|eslint|tslint|prettier|shellcheck|shfmt|hadolint|yamllint|markdownlint\S*|stylelint|tsc|vue-tsc|biome|oxlint|standard|xo"
    r"|rubocop|standardrb|phpcs|phpstan|psalm|php-cs-fixer|pint|twine|check-manifest|check-wheel-contents|sphinx-build|mkdocs|codecov"
    r"|coveralls|genhtml|lcov|gcov|gcovr|cloc|virtualenv|safety|pip-audit|pip-compile|pip-sync|rustfmt|clang-format|clang-tidy|cppcheck"
    r"|brew|apt|apt-get|yum|apk|conda|mamba|rustup|goreleaser|xdg-open|open|semgrep|licensecheck|playwright\s+install|reuse|towncrier|deptry|ty)"
    r"|(?:\S*/)?python[\d.]*\s+(?:-\S+\s+)*-m\s+(?:pip|venv|build|mypy|ruff|black|isort|flake8|pylint|compileall|coverage|pyright|virtualenv"
    r"|ensurepip|bandit|twine|sphinx|pre_commit)"
    r"|(?:\S*/)?python[\d.]*\s+setup\.py\s+\w+|coverage\s+(?:report|xml|html|erase|combine|json|lcov|annotate|debug)|manage\.py\s+(?:check|migrate\S*|makemigrations|collectstatic)"
    r"|(?:\S*/)?python[\d.]*\s+manage\.py\s+(?:migrate|makemigrations|collectstatic|compilemessages|check)"
    r"|go\s+(?:vet|fmt|mod|install|get|tool|clean|list|env|work|version)"
    r"|cargo\s+(?:\+\S+\s+)?(?:fmt|clippy|check|doc|install|audit|deny|tarpaulin|llvm-cov|clean|update|fetch|bench|machete|udeps|outdated|hack)"
    r"|(?:npm|pnpm|yarn|bun)\s+(?:ci|install|i|audit|add|link|publish|pack|config|version|exec\s+(?:tsc|eslint|prettier))"
    r"|(?:npm|pnpm|yarn|bun)(?:\s+run)?\s+(?:-\S+\s+)*(?:\S*[:_-])?(?:lint|format|fmt|prettier|eslint|type-?check|types|tsc|style|size|docs?|clean|audit|prepare|coverage|cov|bench)(?:[:_-]\S*)?"
    r"|npx\s+(?:--?\S+\s+)*(?:tsc|eslint|prettier|biome|publint|attw|size-limit|markdownlint\S*|semantic-release)"
    r"|(?:uv|poetry|pdm|pipenv|rye)\s+(?:sync|pip|lock|install|check|build|publish|venv|python|export|update|audit|tool|env)"
    r"|(?:uv|poetry|pdm|pipenv|hatch|rye)\s+run\s+(?:-\S+\s+)*(?:ruff|mypy|flake8|black|isort|pylint|pyright|pre-commit|codespell|bandit|lint\S*|fmt\S*|format|types\S*|coverage\s+(?:report|xml|html|erase|combine|json))"
    r"|hatch\s+(?:env|fmt|build|version)|bundle\s+(?:install|check|update|exec\s+rubocop)|composer\s+(?:install|update|validate|audit|dump-autoload\S*|lint|cs\S*|phpstan|stan)|gem\s+\w+"
    r"|deno\s+(?:lint|fmt|check|cache)|tox\s+-e\s*\S*(?:lint|docs?|types?|mypy|style)\S*|dotnet\s+(?:restore|build|format)|terraform\s+\S+)(?:\s|$)"
)
# What tests are called, and programs that run nothing else.
_TEST_WORD = re.compile(
    r"(?:^|[\s./_:-])(?:self[-_]?)?(?:tests?|testing|specs?|smoke|e2e|integration|acceptance|functional|verify|checks?|doctest)(?:$|[\s./_:-])"
    r"|^(?:bats|prove|shellspec|behave|robot|cucumber|ctest|newman|roundup|shunit2|expect)\s",
    re.I,
)
# Files of the repository that a command runs (\x00: only make knows their names), and scripts that do not test.
_OWN_CODE = re.compile(
    r"(?:\S*/)?(?:python[\d.]*|node|ruby|php|perl|bash|sh|zsh|deno run|bun|tsx|lua|Rscript)\s+(?:-\S+\s+)*"
    r"(?:(?:\./)?[\w./-]+\.\w+|\$\{?\w+\}?(?:\s|$)|\x00)|\$\{?\w+\}?(?:\s|$)|\x00"
    r"|\./[\w./-]+|(?:ba|z|da)?sh\s+[\w./-]+|[\w.-]+/[\w./-]+|go\s+run\s+(?!\S+@)|cargo\s+(?:\+\S+\s+)?run\b|(?:\S*/)?python[\d.]*\s+-c\s|(?:npm|pnpm|yarn|bun)\s|(?:bundle\s+exec\s+)?rake\s"
    r"|[\w./-]+\.(?:py|sh|js|rb|pl)(?:\s|$)"
)
_OTHER_SCRIPT = re.compile(
    r"(?:^|[\s./_-])(?:gen(?:erate|erated)?|clean\S*|docs?|build|compile|reports?|lcov|coverage|cov|release|deploy|publish|format|fmt|lint\S*"
    r"|install|setup|bootstrap|bench\w*|serve|server|upload|download|sync|changelog|version|migrate|seed|dist|package|update|sync-version)(?:$|[\s./_-])",
    re.I,
)
# Comparisons of what the program printed with what it should print; not questions whether a file exists.
_COMPARES = re.compile(
    r"(?:!\s+)?(?:(?:diff|cmp|grep)\s|(?:test|\[\[?)\s.*\s(?:=|==|!=|=~|-(?:eq|ne|lt|le|gt|ge))\s)", re.S
)
# A pipe alone: its exit code is that of its last command.
_PIPE = re.compile(r"[^|&;()`]+(?:\|[^|&;()`]+)+")
# What makes files that a later command may use.
_PREPARES = re.compile(
    r"(?:(?:mkdir|cp|touch|ln|install|cmake|ninja|gcc|cc|g\+\+|c\+\+|clang|clang\+\+|tar|unzip|protoc)"
    r"|go\s+(?:build|generate)|cargo\s+(?:\+\S+\s+)?build|(?:npm|pnpm|yarn|bun)(?:\s+run)?\s+\S*build\S*"
    r"|(?:make|just|task)\s+\S*(?:build|generate|compile)\S*|(?:\S*/)?python[\d.]*\s+setup\.py\s+build\S*)(?:\s|$)"
)


_CHECKERS = re.compile(
    r"(?:\S*/)?(?:mypy|dmypy\s+run|pyright|basedpyright|pytype|pyre|pyrefly|zuban|ty\s+check|(?:npx\s+)?(?:tsc|vue-tsc|tsd))(?=\s|$)"
    r"|(?:\S*/)?python[\d.]*\s+-m\s+(?:mypy|pyright)(?=\s|$)"
)
_TYPE_SCRIPT = re.compile(
    r"(?:npm|pnpm|yarn|bun)(?:\s+run)?\s+(?:-\S+\s+)*(?:(?:test|lint|check)[:_-])?(?:type-?checks?|check-?types|types?|tsc)"
)
_THRESHOLD = re.compile(r"(?:\S*/)?(?:python[\d.]*\s+-m\s+)?coverage\s+report(?=\s|$)")


def is_checker(step: CommandStep) -> bool:
    """True for a type checker: it finds broken code that no test runs."""
    return _CHECKERS.match(" ".join(without_manager(step.words))) is not None


def checks_types(step: CommandStep) -> bool:
    """True for a type checker, and for a script of package.json with such a name."""
    return is_checker(step) or is_type_script(" ".join(step.words))


def is_type_script(command: str) -> bool:
    """True for `npm run typecheck` and the like."""
    return _TYPE_SCRIPT.fullmatch(command) is not None


def is_threshold(step: CommandStep, is_set: bool) -> bool:
    """True for a report that fails below a coverage. `is_set`: the settings of coverage demand one."""
    text = " ".join(without_manager(step.words))
    return _THRESHOLD.match(text) is not None and (is_set or "--fail-under" in text)


def is_comparison(step: CommandStep) -> bool:
    """True for a line of its own, or the end of a pipe, that compares: it fails without a program called a test."""
    is_end = _PIPE.fullmatch(step.line) is not None and step.line.rstrip().endswith(step.text)
    return (not step.line or is_end) and _COMPARES.match(step.text) is not None


def is_preparation(step: CommandStep) -> bool:
    return _PREPARES.match(step.text) is not None


def is_other_command(text: str) -> bool:
    """True for commands that are not tests, whatever they work on."""
    return _NOT_A_TEST.match(text) is not None or _PREPARES.match(text) is not None


def is_test_of_project(text: str) -> bool:
    """True for code of the repository, unless its name says that it is something else, and for what is named a test."""
    text = text.replace('"', "").replace("'", "")
    if _OWN_CODE.match(text):
        return not _OTHER_SCRIPT.search(" ".join(text.split()[:3]))
    return _TEST_WORD.search(text) is not None


def is_named_test(step: CommandStep) -> bool:
    """True for a file of the repository whose path tells that it is a test: `node web/test/run.mjs`."""
    words = [word for word in step.words[:3] if "/" in word or "." in word]
    return _OWN_CODE.match(step.text) is not None and any(_TEST_WORD.search(word) for word in words)


def is_own_code(text: str) -> bool:
    return _OWN_CODE.match(text) is not None


def service_of(step: CommandStep) -> str:
    match = _SERVICES.search(step.text) or _SERVICES.search(step.line)
    address = next((value for _, value in step.env if _SERVICE_ADDRESS.search(value)), "")
    return match[0] if match else address


def service_in(script: str) -> str:
    """A service that a script starts or connects to, "" if there is none."""
    match = _SERVICES.search(script) or _SERVICE_ADDRESS.search(script)
    return match[0] if match else ""


def without_manager(words: tuple[str, ...]) -> tuple[str, ...]:
    """The command that `uv run` and the like start."""
    line = parse_command(words, None) if words and words[0] in MANAGERS else None
    # `uv run python -m build` is read up to the module
    return (
        words[words.index("run") + 1 :]
        if line and "python" in line.texts
        else line.texts[line.program :]
        if line
        else words
    )


def file_argument(step: CommandStep) -> str:
    """The script that an interpreter starts, "" for another command."""
    is_interpreter = re.fullmatch(r"python[\d.]*|node|ruby|php|perl|(?:ba|da|z)?sh", posixpath.basename(step.words[0]))
    first = step.words[1] if is_interpreter and len(step.words) > 1 else ""
    return "" if first.startswith("-") or step.line or "$" in first else first
