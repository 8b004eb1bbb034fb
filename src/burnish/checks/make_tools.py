"""Finds the tests of a Makefile, and what its tests need before they run."""

from __future__ import annotations

import re

from burnish.checks.makefile import read_makefile
from burnish.checks.tools import ProjectFolder, ToolChoice, Tools

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
