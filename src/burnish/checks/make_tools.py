"""Finds the tests of a Makefile, and what its tests need before they run."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

from burnish.checks.makefile import read_makefile
from burnish.checks.own_commands.shell_lines import split_line
from burnish.checks.tools import SHELL_WORDS, ProjectFolder, ToolChoice, Tools

# Targets that other checks and set-up replace, and services that a check cannot start.
_NOT_BUILT = re.compile(
    r"(?:.*[-_])?(?:lint|fmt|format|vet|deps?|dependencies|tools?|install|setup|tidy|mod|vendor|download|clean|check|"
    r"verify|test|help|all|docker|up|start)(?:[-_].*)?"
)
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
    makefile = read_makefile(place)
    test = makefile.rules.get("test")
    if test is None or language not in _RUNNERS:
        return None
    recipes = {name: "\n".join(rule.recipe) for name, rule in makefile.rules.items()}
    targets = [one for one in test.sources if recipes.get(one) and not _NOT_BUILT.fullmatch(one)]
    # `.venv` and the like mark that something was installed
    targets = [one for one in targets if not _INSTALLS.search(recipes[one]) and not one.startswith(".")]
    starts_services = any(_SERVICES.search(recipes[one]) for one in targets)
    if not targets or starts_services or not _RUNNERS[language].search(recipes["test"]):
        return None
    return ToolChoice(f"make {' '.join(targets)}", f"what `make test` in {makefile.name} needs")


def make_tools(place: ProjectFolder) -> Tools | None:
    """Targets of a Makefile; the fallback if no language tools are found."""
    name = place.first("GNUmakefile", "Makefile", "makefile")
    targets = _targets(place, name) if name else set()
    test = _outer_target(place, _test_target(targets))
    if test is None and (below := _tests_below(place)):
        return replace(below, lint=ToolChoice("make lint", f"target `lint` in {name}") if "lint" in targets else None)
    if not name:
        return None
    lint = ToolChoice("make lint", f"target `lint` in {name}") if "lint" in targets else None
    missing = _missing_program(place, "lint") if lint else ""
    notes = (f"{missing} is not installed here (target `lint` in {name}): not added as a check.",) if missing else ()
    return Tools(
        place.folder,
        "Make",
        ToolChoice(f"make {test}", f"target `{test}` in {name}") if test else None,
        None if missing else lint,
        notes=notes,
    )


def _targets(place: ProjectFolder, name: str) -> set[str]:
    return set(re.findall(r"^([\w.-]+)[ \t]*::?(?![=:])", place.read(name), re.M))


def _test_target(targets: Collection[str]) -> str | None:
    return next((target for target in ("test", "tests", "check") if target in targets), None)


def _outer_target(place: ProjectFolder, test: str | None) -> str | None:
    """The target that starts the program that this one only builds (`check: tests`)."""
    rules = read_makefile(place).rules
    phony = rules[".PHONY"].sources if ".PHONY" in rules else ()
    others = [one for one in ("test", "check") if test and one in rules and test in rules[one].sources]
    return next(iter(others), test) if test not in phony else test


def _tests_below(place: ProjectFolder) -> Tools | None:
    """The tests of `tests/Makefile`, which no Makefile at the root starts."""
    for folder in ("tests", "test"):
        name = next((f"{folder}/{one}" for one in ("GNUmakefile", "Makefile") if f"{folder}/{one}" in place.paths), "")
        if name and (test := _test_target(_targets(place, name))):
            return Tools(place.folder, "Make", ToolChoice(f"make -C {folder} {test}", f"target `{test}` in {name}"))
    return None


def starts_builder(place: ProjectFolder) -> bool:
    """True if the Makefile starts CMake or Meson, or if the program is not installed here."""
    text = place.read(place.first("GNUmakefile", "Makefile", "makefile") or "")
    program = "cmake" if "CMakeLists.txt" in place.names else "meson"
    return re.search(r"\b(?:cmake|ctest|meson|ninja)\b", text) is not None or not place.around.has_program(program)


def _missing_program(place: ProjectFolder, target: str) -> str:
    """A program that the recipe of a target starts and that is not installed, "" if there is none."""
    makefile = read_makefile(place)
    rule = makefile.rules.get(target)
    lines = [makefile.expand(line.lstrip("@-+ "), target) for line in rule.recipe] if rule else []
    commands = [command for line in lines for command in split_line(line).commands if command.words]
    programs = [command.words[0] for command in commands if re.fullmatch(r"[A-Za-z][\w.+-]*", command.words[0])]
    return next((one for one in programs if one not in SHELL_WORDS and not place.around.has_program(one)), "")
