"""Finds the tests of a Makefile, and what its tests need before they run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from burnish.checks.tools import ProjectFolder, ToolChoice, Tools, UnrunTests

# Targets that other checks and set-up replace, and services that a check cannot start.
_NOT_BUILT = re.compile(
    r"(?:.*[-_])?(?:lint|fmt|format|vet|deps?|dependencies|tools?|install|setup|tidy|mod|vendor|download|clean|check|"
    r"verify|test|help|all|docker|up|start)(?:[-_].*)?"
)
_NOT_TESTS = re.compile(
    r"(?:.*[-_])?(?:lint|fmt|format|vet|deps?|tools?|install|setup|clean|help|build|docker|check)(?:[-_].*)?"
)
_RULE = re.compile(r"([\w./-]{1,200})[ \t]{0,20}:(?![:=])")
_SERVICES = re.compile(r"\b(?:docker|podman|kubectl|compose|sudo|minikube|kind)\b")


# How each language starts its tests in a Makefile.
_RUNNERS = {
    "Go": re.compile(r"\bgo test\b"),
    "Python": re.compile(r"\b(?:pytest|py\.test|unittest|manage\.py test)\b"),
    "Rust": re.compile(r"\bcargo (?:test|nextest)\b"),
    "JavaScript": re.compile(
        r"\b(?:npm (?:run )?test|pnpm (?:run )?test|yarn (?:run )?test|jest|vitest|mocha|node --test)\b"
    ),
    "Ruby": re.compile(r"\b(?:rake|rspec)\b"),
    "PHP": re.compile(r"\b(?:phpunit|pest|composer test)\b"),
}
# Recipes that install what set-up installs.
_INSTALLS = re.compile(
    r"\bvenv\b|\bvirtualenv\b|\bpip3? install\b|\b(?:npm|pnpm|yarn|bun) (?:ci|install)\b"
    r"|\b(?:poetry|pdm|bundle|composer) install\b|\buv sync\b"
)


def make_build(place: ProjectFolder, language: str) -> ToolChoice | None:
    """What the project's own `make test` makes before the tests: generated sources, libraries, programs."""
    name, rules = make_rules(place) if language in _RUNNERS else ("", {})
    sources, recipe = rules.get("test", ([], ""))
    targets = [one for one in sources if one in rules and rules[one][1] and not _NOT_BUILT.fullmatch(one)]
    targets = [one for one in targets if not _INSTALLS.search(rules[one][1])]
    starts_services = any(_SERVICES.search(rules[one][1]) for one in targets)
    if not targets or starts_services or not _RUNNERS[language].search(recipe):
        return None
    return ToolChoice(f"make {' '.join(targets)}", f"what `make test` in {name} needs")


def make_rules(place: ProjectFolder) -> tuple[str, dict[str, tuple[list[str], str]]]:
    """The name of the Makefile, and its rules with one target: what the target needs, and its recipe."""
    name = place.first("GNUmakefile", "Makefile", "makefile") or ""
    rules: dict[str, tuple[list[str], str]] = {}
    target = ""
    for line in (place.read(name) if name else "").replace("\\\n", " ").splitlines():
        if line.startswith("\t"):
            sources, recipe = rules.get(target, ([], ""))
            rules[target] = sources, f"{recipe}{line}\n"
        elif match := _RULE.match(line):
            target = match[1]
            rules[target] = line[match.end() :].partition("#")[0].split(), ""
    return name, rules


def make_tools(place: ProjectFolder) -> Tools | None:
    """Targets of a Makefile; the fallback if no language tools are found."""
    name = place.first("GNUmakefile", "Makefile", "makefile")
    if not name:
        return None
    targets = set(re.findall(r"^([\w.-]+)[ \t]*::?(?![=:])", place.read(name), re.M))
    test = next((target for target in ("test", "tests", "check") if target in targets), None)
    return Tools(
        place.folder,
        "Make",
        ToolChoice(f"make {test}", f"target `{test}` in {name}") if test else None,
        ToolChoice("make lint", f"target `lint` in {name}") if "lint" in targets else None,
    )


# Programs that tests of other languages are started with: other checks run these tests, or they are not tests.
_NOT_MORE_TESTS = re.compile(
    r"(?:.*/)?(?:(?:python|pypy)[\d.]*|pytest|py\.test|coverage|tox|nox|uv|poetry|pdm|pipenv|hatch|go|gotestsum|cargo|npm"
    r"|npx|pnpm|yarn|bun|deno|node|mvnw?|gradlew?|bundle|rspec|rake|ruby|php|phpunit|composer|cmake|ctest|meson|ninja|ruff"
    r"|mypy|flake8|black|isort|golangci-lint|gofmt|eslint|prettier|shellcheck|echo|printf|cd|mkdir|rm|cp|mv|touch|set"
    r"|export|true|exit|test|\[|if|fi|then|else|for|do|done|pip|pip3|git|command|which|cat|chmod|source|\.|date|time|sleep"
    r"|\$\(MAKE\)|make)"
)
# `python tests/cli_check.py`
_FILE_OF_TESTS = re.compile(
    r"(?:python[\d.]*|node|ruby|php|perl)\s+(?:\./)?(?:tests?|e2e|integration|spec)/[\w./-]+\.\w+(?:\s|$)"
)
_SCRIPT_OF_TESTS = re.compile(
    r"(?:(?:ba|z|da)?sh\s+(?:-\w+\s+)*)?(?:\./)?[\w./-]*(?:tests?|spec|check|e2e|integration|smoke)[\w./-]*(?:\s|$)"
    r"|(?:bats|prove|shellspec)\s"
)


def tests_of_make(place: ProjectFolder) -> ToolChoice | UnrunTests | None:
    """`make test` if it also starts scripts of tests or the like, which the tools of a language do not run."""
    name, rules = make_rules(place)
    commands = list(_recipe_lines("test", rules))
    more = next((one for one in commands if _starts_more_tests(one)), None)
    if more is None or not place.around.has_program("make"):
        return None
    why = f"it also runs `{more.strip()[:60]}`"
    if _SERVICES.search("\n".join(commands)):
        return UnrunTests("make test", "make test", f"{why} and may need services")
    return ToolChoice("make test", f"target `test` in {name}: {why}")


def _starts_more_tests(command: str) -> bool:
    if _FILE_OF_TESTS.match(command):
        return True
    return not _NOT_MORE_TESTS.fullmatch(command.split()[0]) and _SCRIPT_OF_TESTS.match(command) is not None


def _recipe_lines(target: str, rules: dict[str, tuple[list[str], str]]) -> Iterator[str]:
    """The single commands of a target and of the targets that it needs, without what make itself reads."""
    found: list[str] = []
    pending = [target]
    while pending:
        one = pending.pop()
        if one in found or one not in rules or (one != target and _NOT_TESTS.fullmatch(one)):
            continue
        found.append(one)
        sources, recipe = rules[one]
        pending += [*sources, *re.findall(r"\$[({]MAKE[)}]\s+([\w-]+)", recipe)]
        for line in recipe.splitlines():
            for command in re.split(r"&&|\|\||;", line.strip().lstrip("@-+")):
                words = re.sub(r"^(?:[A-Za-z_]\w*=\S*\s+)+", "", command.strip())
                if words:
                    yield words
