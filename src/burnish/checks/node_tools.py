"""Finds the tools of JavaScript and TypeScript projects: scripts of package.json with npm, pnpm, yarn or bun."""

from __future__ import annotations

import re
from typing import Any

from burnish.checks.node_build import needs_build, package_of
from burnish.checks.tools import ProjectFolder, ToolChoice, Tools

_LOCKS = {
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lockb": "bun",
    "bun.lock": "bun",
    "package-lock.json": "npm",
    "npm-shrinkwrap.json": "npm",
}
_WORKSPACES = ("pnpm-workspace.yaml", "turbo.json", "nx.json", "lerna.json")
# linters by program → package
_LINTERS = {
    "eslint": "eslint",
    "biome": "@biomejs/biome",
    "standard": "standard",
    "xo": "xo",
    "oxlint": "oxlint",
    "tslint": "tslint",
    "stylelint": "stylelint",
}
_ESLINT = re.compile(r"(?:\.eslintrc(?:\.\w+)?|eslint\.config\.\w+)")


def node_tools(place: ProjectFolder) -> Tools | None:
    package = package_of(place.read("package.json"))
    if not package:
        return None
    manager, why = _manager(place, package)
    weight = place.count(".js", ".ts", ".jsx", ".tsx", ".mjs", ".cjs", ".vue", ".svelte")
    test, lint = _test(package, manager), _lint(place, package, manager)
    notes: tuple[str, ...] = ()
    if lint and (absent := _absent_linter(place, package)):
        note = f"Script `lint` in package.json needs {absent}, which is not among the dependencies"
        lint, notes = None, (f"{note}: not added as a check.",)
    setup, build = _setup(place, package, manager, why), _build(place, package, manager) if test else None
    return Tools(place.folder, "JavaScript", test, lint, setup, weight, notes, build=build)


def _build(place: ProjectFolder, package: dict[str, Any], manager: str) -> ToolChoice | None:
    folder = needs_build(place, package)
    return ToolChoice(f"{manager} run build", f"the tests use {folder}, which git ignores") if folder else None


def _absent_linter(place: ProjectFolder, package: dict[str, Any]) -> str:
    """The linter of the script `lint` if no dependency installs it; "" if it is installed or unknown."""
    words = _script(package, "lint").split()
    program = words[0] if words and words[0] in _LINTERS else ""
    # A workspace's packages may declare the dependency.
    return "" if _LINTERS.get(program, program) in _dependencies(package) or covers_below(place) else program


def covers_below(place: ProjectFolder) -> bool:
    """True if its scripts also cover the packages in its subfolders."""
    return bool(place.first(*_WORKSPACES)) or "workspaces" in package_of(place.read("package.json"))


def _manager(place: ProjectFolder, package: dict[str, Any]) -> tuple[str, str]:
    for name, manager in _LOCKS.items():
        if name in place.names:
            return manager, name
    manager_name = str(package.get("packageManager", "")).partition("@")[0]
    return (
        (manager_name, "packageManager in package.json") if manager_name in _LOCKS.values() else ("npm", "package.json")
    )


def _test(package: dict[str, Any], manager: str) -> ToolChoice | None:
    script = _script(package, "test")
    if script and "no test specified" not in script:
        # Without a terminal most runners run once; react-scripts needs CI=true.
        prefix = "CI=true " if "react-scripts" in script else ""
        return ToolChoice(
            f"{prefix}{manager} {'run ' if manager == 'bun' else ''}test", "script `test` in package.json"
        )
    for name, words in (("vitest", "vitest run"), ("jest", "jest")):
        if name in _dependencies(package):
            return ToolChoice(f"{_runner(manager)} {words}", f"{name} among the dependencies")
    return None


def _lint(place: ProjectFolder, package: dict[str, Any], manager: str) -> ToolChoice | None:
    if _script(package, "lint"):
        return ToolChoice(f"{manager} run lint", "script `lint` in package.json")
    config_file = next((name for name in sorted(place.names) if _ESLINT.fullmatch(name)), None)
    if config_file and "eslint" in _dependencies(package):
        return ToolChoice(f"{_runner(manager)} eslint .", config_file)
    if (name := place.first("biome.json", "biome.jsonc")) and "@biomejs/biome" in _dependencies(package):
        return ToolChoice(f"{_runner(manager)} biome check .", name)
    return None


def _setup(place: ProjectFolder, package: dict[str, Any], manager: str, why: str) -> ToolChoice | None:
    if why not in _LOCKS:
        # Packages of a workspace import each other through links that the installation creates.
        return ToolChoice(f"{manager} install", why) if _dependencies(package) or covers_below(place) else None
    if manager == "yarn":
        modern = ".yarnrc.yml" in place.names
        return ToolChoice(f"yarn install {'--immutable' if modern else '--frozen-lockfile'}", why)
    return ToolChoice("npm ci" if manager == "npm" else f"{manager} install --frozen-lockfile", why)


def _runner(manager: str) -> str:
    return {"npm": "npx --no-install", "pnpm": "pnpm exec", "yarn": "yarn run", "bun": "bun x"}[manager]


def _script(package: dict[str, Any], name: str) -> str:
    scripts = package.get("scripts")
    return str(scripts.get(name) or "") if isinstance(scripts, dict) else ""


def _dependencies(package: dict[str, Any]) -> set[str]:
    groups = (package.get(name) for name in ("dependencies", "devDependencies"))
    return {name for group in groups if isinstance(group, dict) for name in group}
