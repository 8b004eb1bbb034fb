"""Finds the tools of JavaScript and TypeScript projects: scripts of package.json with npm, pnpm, yarn or bun."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from burnish.checks.command_line import parse_command
from burnish.checks.project_scripts import TestScripts, find_test_scripts, is_lint_only, unrun_node_tests
from burnish.checks.tools import ProjectFolder, ToolChoice, Tools, UnrunTests
from burnish.checks.unrun_tests import SAMPLES

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
# Scripts that npm and the like run by themselves before the tests or while installing.
_BEFORE_TESTS = tuple("pretest preinstall install postinstall prepublish preprepare prepare postprepare".split())
_COMPILERS = re.compile(r"\b(?:build|compile|tsc|tsup|rollup|esbuild|swc|babel|webpack|vite build|unbuild|parcel)\b")
_SOURCE = re.compile(r"\.[cm]?[jt]sx?")
_TEST_FILE = re.compile(r"(?:^|/)(?:tests?|__tests__|specs?)(?:/|\.)|[.-](?:test|spec)\.")
_IMPORT = re.compile(r"""(?:\bfrom|\bimport|\brequire\s*\(|\bimport\s*\()\s*["']([^"'\n]{1,200})["']""")
# A program that tests start: `./dist/cli.js` is one of the project's folder, `../dist/cli.js` one beside the test.
_PROGRAM = re.compile(r"""["'](\.{1,2}/[^"'\n]{1,200}\.[cm]?js)["']""")
_ENTRY_KEYS = ("main", "module", "exports", "bin")
# Folders that only a build writes to, also where they are committed.
_BUILD_FOLDER = re.compile(r"(?:dist|build|out)/")
_RUNNER_SETTINGS = re.compile(r"(?:jest\.config|\.mocharc|ava\.config)\.\w+")
_TESTS_IN_SETTINGS = re.compile(
    r"""["']?\b(?:testMatch|roots|rootDir|spec|files)["']?\s*:\s*(\[[^\]]*\]|["'`][^"'`\n]*["'`])"""
)
# Folders that no build makes.
_FOREIGN = re.compile(r"(?:^|/)(?:\.\.|node_modules|coverage)(?:/|$)")
_COMPOSE = re.compile(r"(?:docker-)?compose[\w.-]*\.ya?ml")
MAX_FILES = 40


def node_tools(place: ProjectFolder) -> Tools | None:
    package = _json(place.read("package.json"))
    if not package:
        test = _node_test(place)
        return Tools(place.folder, "JavaScript", test, weight=place.count(".js", ".mjs", ".cjs")) if test else None
    manager, why = _manager(place, package)
    weight = place.count(".js", ".ts", ".jsx", ".tsx", ".mjs", ".cjs", ".vue", ".svelte")
    scripts = _test_scripts(place, package)
    test, lint = _test(place, package, scripts.first, manager), _lint(place, package, manager)
    notes: tuple[str, ...] = ()
    if lint and (absent := _absent_linter(place, package)):
        note = f"Script `lint` in package.json needs {absent}, which is not among the dependencies"
        lint, notes = None, (f"{note}: not added as a check.",)
    more_tests = [_run_script(package, name, manager) for name in scripts.more]
    if is_lint_only(_script(package, "test")) and _script(package, "test") != _script(package, "lint"):
        choice = _run_script(package, "test", manager)
        lint, more_tests = (lint, [*more_tests, choice]) if lint else (choice, more_tests)
    setup, build = _setup(place, package, manager, why), _build(place, package, manager) if test else None
    return Tools(
        place.folder,
        "JavaScript",
        test,
        lint,
        setup,
        weight,
        notes,
        build=build,
        more_tests=tuple(more_tests),
        unrun_tests=(
            *(UnrunTests(f"{manager} run {name}", name, why) for name, why in scripts.unrun),
            *unrun_node_tests(place, _script_texts(package), [one for one in (scripts.first, *scripts.more) if one]),
        ),
    )


def _test_scripts(place: ProjectFolder, package: dict[str, Any]) -> TestScripts:
    has_services = any(_COMPOSE.fullmatch(name) for name in place.names)
    return find_test_scripts(_script_texts(package), _dependencies(package), has_services=has_services)


def _script_texts(package: dict[str, Any]) -> dict[str, str]:
    scripts = package.get("scripts")
    return {str(name): str(text) for name, text in scripts.items()} if isinstance(scripts, dict) else {}


def _build(place: ProjectFolder, package: dict[str, Any], manager: str) -> ToolChoice | None:
    scripts = _test_scripts(place, package)
    folder, is_committed = _needs_build(place, package, [name for name in (scripts.first, *scripts.more) if name])
    why = "is built from src" if is_committed else "git ignores"
    return ToolChoice(f"{manager} run build", f"the tests use {folder}, which {why}") if folder else None


def _absent_linter(place: ProjectFolder, package: dict[str, Any]) -> str:
    """The linter of the script `lint` if no dependency installs it; "" if it is installed or unknown."""
    words = _script(package, "lint").split()
    program = words[0] if words and words[0] in _LINTERS else ""
    # A workspace's packages may declare the dependency.
    return "" if _LINTERS.get(program, program) in _dependencies(package) or covers_below(place) else program


def covers_below(place: ProjectFolder) -> bool:
    """True if its scripts also cover the packages in its subfolders."""
    return bool(place.first(*_WORKSPACES)) or "workspaces" in _json(place.read("package.json"))


_FILE_RUNNERS = frozenset(("node", "tsx", "mocha", "_mocha", "jest", "vitest", "ava", "tape", "tap", "uvu"))


def tests_below(place: ProjectFolder, member: str) -> bool:
    """False if the test script runs only files outside of this folder of a package, e.g. `node --test test/`."""
    package = _json(place.read("package.json"))
    line = parse_command(_script(package, "test") or "", None)
    is_script = line is not None and line.name in ("node", "tsx") and "--test" not in line.arguments
    if line is None or is_script or line.name not in _FILE_RUNNERS:
        return True  # other scripts start those of the packages, or are not understood
    patterns = [word.removeprefix("./") for word in line.arguments if re.search(r"^[^-].*[/.*]", word)]
    if not patterns and line.name in ("mocha", "_mocha"):
        # its default is the folder `test`
        return "mocha" in package or any(name.startswith(".mocharc") for name in place.names)
    starts = [re.split(r"[*{?\[]", pattern, maxsplit=1)[0].rstrip(".") for pattern in patterns]
    return not starts or any(f"{member}/".startswith(start) or start.startswith(f"{member}/") for start in starts)


# Commands that start the script of each package that has one.
_EACH_PACKAGE = re.compile(
    r"\b(?:turbo|lerna run|wsrun|ultra)\b|\b(?:pnpm|yarn|npm|bun)\b.*"
    r"(?:\s-r\b|--recursive|--workspaces?\b|\s-ws\b|\bworkspaces? (?:foreach|run)|--filter)"
)


def is_reached(root: ProjectFolder, member: ProjectFolder) -> bool:
    """False if the root starts the scripts `test` of its packages, and this one has tests without such a script."""
    script = _script(_json(root.read("package.json")), "test")
    if not any(_SOURCE.search(path) and _TEST_FILE.search(path) for path in member.paths):
        return True
    return bool(_script(_json(member.read("package.json")), "test")) or not _EACH_PACKAGE.search(script)


def _manager(place: ProjectFolder, package: dict[str, Any]) -> tuple[str, str]:
    for name, manager in _LOCKS.items():
        if name in place.names:
            return manager, name
    manager_name = str(package.get("packageManager", "")).partition("@")[0]
    return (
        (manager_name, "packageManager in package.json") if manager_name in _LOCKS.values() else ("npm", "package.json")
    )


def _test(place: ProjectFolder, package: dict[str, Any], script: str | None, manager: str) -> ToolChoice | None:
    if script:
        return _run_script(package, script, manager)
    for name, words in (
        ("vitest", "vitest run"),
        ("jest", "jest"),
        ("mocha", "mocha"),
        ("ava", "ava"),
        ("jasmine", "jasmine"),
    ):
        if name in _dependencies(package):
            return ToolChoice(f"{_runner(manager)} {words}", f"{name} among the dependencies")
    return _node_test(place)


# What `node --test` runs without names of files.
_FOUND_BY_NODE = re.compile(r"(?:.*/)?(?:test/.+|(?:test|test-[^/]+|[^/]+[._-]test)\.[cm]?js)")


def _node_test(place: ProjectFolder) -> ToolChoice | None:
    """`node --test` for tests that import node:test, where no script starts them."""
    paths = [path for path in place.paths if re.search(r"\.[cm]?js$", path) and _TEST_FILE.search(path)]
    paths = [path for path in paths if not SAMPLES.search(path) and "node_modules/" not in path]
    files = [path for path in paths[:MAX_FILES] if re.search(r"""["']node:test["']""", place.read(path))]
    if not files:
        return None
    others = [path for path in files if not _FOUND_BY_NODE.fullmatch(path)]
    patterns = dict.fromkeys(posixpath.join(posixpath.dirname(one), f"*{posixpath.splitext(one)[1]}") for one in others)
    # with names of files, node runs these alone
    words = ["node --test", *(patterns if len(others) == len(files) else files if others else ())]
    return ToolChoice(" ".join(words), f"tests that import node:test, e.g. {files[0]}")


def _run_script(package: dict[str, Any], name: str, manager: str) -> ToolChoice:
    # Without a terminal most runners run once; react-scripts needs CI=true.
    prefix = "CI=true " if "react-scripts" in _script(package, name) else ""
    run = "" if name == "test" and manager != "bun" else "run "
    return ToolChoice(f"{prefix}{manager} {run}{name}", f"script `{name}` in package.json")


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


def _needs_build(place: ProjectFolder, package: Mapping[str, Any], names: Sequence[str]) -> tuple[str, bool]:
    """The folder that the tests use and only the script `build` makes, e.g. `dist`; "" if there is none.

    Also whether it is committed: tests of the committed files would not test a change to the sources.
    """
    scripts = package.get("scripts")
    if not isinstance(scripts, dict) or not scripts.get("build") or not names:
        return "", False
    first, before = names[0], tuple(f"pre{name}" for name in names)
    if any(_COMPILERS.search(str(scripts.get(name) or "")) for name in (first, *before, *_BEFORE_TESTS)):
        return "", False
    commands = " ".join(str(scripts[name]) for name in names)
    has_sources = any(path.startswith("src/") for path in place.paths)
    # `init` does not list the files of such a folder, even if they are committed.
    sources = {path for path in place.paths if not (has_sources and _BUILD_FOLDER.match(path))}
    source_folders = {path[:end] for path in sources for end in _slashes(path)}
    for path in dict.fromkeys(_paths_of_tests(place, package, commands)):
        folder = next((path[:end] for end in _slashes(f"{path}/") if path[:end] not in source_folders), "")
        if not folder or folder in sources or _FOREIGN.search(folder):
            continue
        if place.ignores(f"{folder}/"):
            return folder, False
        if has_sources and _BUILD_FOLDER.match(f"{folder}/"):
            return folder, True
    return "", False


def _slashes(path: str) -> Iterator[int]:
    return (place for place, letter in enumerate(path) if letter == "/")


def _paths_of_tests(place: ProjectFolder, package: Mapping[str, Any], command: str) -> Iterator[str]:
    """Paths that the test command and the tests name, from the folder of the project."""
    words = (word.strip("'\"") for word in command.split() if not word.startswith("-"))
    yield from (posixpath.normpath(word) for word in words if "/" in word or _BUILD_FOLDER.match(f"{word}/"))
    yield from _paths_of_settings(place, package)
    entries = dict(_packages(place, package))
    files = [path for path in place.paths if _SOURCE.search(path) and _TEST_FILE.search(path)]
    for file in files[:MAX_FILES]:
        text = place.read(file)
        beside = posixpath.dirname(file)
        for name in _PROGRAM.findall(text):
            yield posixpath.normpath(name if name.startswith("./") else posixpath.join(beside, name))
        for name in _IMPORT.findall(text):
            if name.startswith("."):
                path = posixpath.normpath(posixpath.join(beside, name))
                yield from entries.get("", ()) if path == "." else [path]
            else:
                yield from entries.get(name, ())


def _paths_of_settings(place: ProjectFolder, package: Mapping[str, Any]) -> Iterator[str]:
    """Paths in which the settings of jest, mocha and ava search for tests."""
    texts = [json.dumps(package[name]) for name in ("jest", "mocha", "ava") if name in package]
    texts += [place.read(name) for name in sorted(place.names) if _RUNNER_SETTINGS.fullmatch(name)]
    for text in texts:
        for value in _TESTS_IN_SETTINGS.findall(text):
            for name in re.findall(r"""["'`]([^"'`\n]{1,200})["'`]""", value):
                # without what jest writes for the folder of the project
                path = re.sub(r"^<rootDir>/?", "", name)
                yield from () if path.startswith(("!", "*", "/")) or not path else [posixpath.normpath(path)]


def _packages(place: ProjectFolder, package: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """The packages of the repository with the files that they are imported from; "" is the one of the folder."""
    own = list(_entries([package.get(key) for key in _ENTRY_KEYS]))
    yield "", own
    yield str(package.get("name")), own
    for path in [path for path in place.paths if path.endswith("/package.json")][:MAX_FILES]:
        other = _json(place.read(path))
        inner = _entries([other.get(key) for key in _ENTRY_KEYS])
        yield str(other.get("name")), [posixpath.join(posixpath.dirname(path), entry) for entry in inner]


def _json(text: str) -> dict[str, Any]:
    """A package.json; empty if it cannot be read."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _entries(value: object, depth: int = 0) -> Iterator[str]:
    """The files that `main`, `exports` and the like name."""
    if isinstance(value, str):
        yield posixpath.normpath(value)
    elif isinstance(value, dict | list) and depth < 5:
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _entries(inner, depth + 1)
