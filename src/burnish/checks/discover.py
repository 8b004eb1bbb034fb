"""Finds out from its files how a repository is tested, linted and set up, per language and folder. Pure."""

from __future__ import annotations

import functools
import posixpath
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from burnish.checks import (
    build_systems,
    cmake_tools,
    java_tools,
    make_tools,
    more_languages,
    node_tools,
    other_tools,
    python_tools,
)
from burnish.checks.other_tools import is_tested_elsewhere
from burnish.checks.own_commands import with_own_commands
from burnish.checks.parts import is_part_of_build, with_installed_projects, with_paths
from burnish.checks.python_dependencies import is_uv_member, is_uv_workspace
from burnish.checks.script_tests import script_tests
from burnish.checks.tools import (
    BUILD,
    SETUP,
    Command,
    FoundChecks,
    ProjectFolder,
    Read,
    Surroundings,
    ToolChoice,
    Tools,
    UnrunTests,
)
from burnish.checks.unrun_tests import python_test_files
from burnish.core.policy import CheckSpec

# Folders whose projects are not parts of this one: fixtures, examples, templates, other people's code.
_FOREIGN = re.compile(
    r"(?:^|/)(?:examples?|samples?|demos?|[\w-]*fixtures?|testdata|test[-_][\w-]*|templates?|[^/]*\{\{[^/]*|docs?|"
    r"node_modules|vendor|third[-_]party|tests?|testing|testsuites?|__tests__|__fixtures__|spec|e2e|resources?|"
    r"src/it|archetype-resources|benchmarks?|playgrounds?|scaffold(?:ing|s)?|skeletons?|stubs?|snippets?|tutorials?)(?:/|$)",
    re.I,
)
_NOT_OURS = re.compile(r"(?:^|/)(?:node_modules|site-packages|vendor|third_party|\.venv|venv)/")
_DETECTORS: dict[str, Callable[[ProjectFolder], Tools | None]] = {
    "JavaScript": node_tools.node_tools,
    "Go": other_tools.go_tools,
    "Rust": other_tools.rust_tools,
    "Java": java_tools.java_tools,
    "Ruby": other_tools.ruby_tools,
    "PHP": other_tools.php_tools,
    "Deno": other_tools.deno_tools,
    ".NET": build_systems.dotnet_tools,
    "Elixir": build_systems.elixir_tools,
    "Bazel": build_systems.bazel_tools,
    "Ant": build_systems.ant_tools,
    "SCons": build_systems.scons_tools,
    "Perl": build_systems.perl_tools,
    "Bats": build_systems.bats_tools,
    "ShellSpec": build_systems.shellspec_tools,
    **more_languages.DETECTORS,
}
_MARKERS = {
    **dict.fromkeys(python_tools.MARKERS, "Python"),
    "package.json": "JavaScript",
    "go.mod": "Go",
    "Cargo.toml": "Rust",
    "pom.xml": "Java",
    "build.gradle": "Java",
    "build.gradle.kts": "Java",
    # `gradle init` writes no build file beside it.
    "settings.gradle": "Java",
    "settings.gradle.kts": "Java",
    "Gemfile": "Ruby",
    "Rakefile": "Ruby",
    "composer.json": "PHP",
    "phpunit.xml": "PHP",
    "phpunit.xml.dist": "PHP",
    "phpunit.dist.xml": "PHP",
    "deno.json": "Deno",
    "deno.jsonc": "Deno",
    "mix.exs": "Elixir",
    "build.xml": "Ant",
    "MODULE.bazel": "Bazel",
    "WORKSPACE.bazel": "Bazel",
    "WORKSPACE": "Bazel",
    **more_languages.MARKERS,
}
# Languages that a repository may have without a project file of its own name.
_WITHOUT_MARKER = ("Python", "JavaScript", "Ruby", "Java", ".NET", "SCons", "Perl", "Bats", "ShellSpec")
# Folders of tests, and other names that a part of a repository may have among its siblings: `packages/test-utils`.
_OF_TESTS = re.compile(r"tests?|testing|spec|e2e|__tests__|(?:integration|acceptance|system|e2e)[-_]?tests?", re.I)
_OTHER_PARTS = re.compile(r"docs?|test[-_][\w-]*|testing|templates?|resources?", re.I)
MAX_FOLDERS = 30


@dataclass(frozen=True, slots=True)
class DiscoveredChecks:
    """One setting for burnish.yaml, and the reason for it."""

    key: tuple[str, ...]
    value: Command
    why: str
    # of a check: the folder that it runs in, and the patterns of the files that it depends on
    cwd: str = ""
    paths: tuple[str, ...] = ()
    # it prints TAP
    tap: bool = False


_EVERYTHING = Surroundings()


def discover(files: Iterable[str], read: Read, around: Surroundings = _EVERYTHING) -> tuple[Tools, ...]:
    """The tools of each part of the repository: the root first, then the parts with most code."""
    # Several tools read the same files, and reading a file from git starts a process.
    read = functools.cache(read)
    paths = sorted(path for path in files if not _NOT_OURS.search(path))
    folders = _folders(paths)
    # Files of fixtures and examples do not describe the project around them.
    foreign = {path.rpartition("/")[0] for path in paths if path.rpartition("/")[2] in _MARKERS} - folders.keys()
    # A folder `tests` with settings of its own belongs to the project around it.
    foreign = {one for one in foreign if _FOREIGN.search(_parent(one)) or not _OF_TESTS.fullmatch(_name_of(one))}

    @functools.cache
    def place_of(folder: str) -> ProjectFolder:
        return _place(folder, paths, read, without=set(), around=around)

    found: list[Tools] = []
    for folder, languages in sorted(folders.items(), key=lambda item: (item[0].count("/"), item[0])):
        for language in languages:
            if language == "Python":
                tools = _python_tools(folder, folders, foreign, paths, read, around)
            else:
                tools = _DETECTORS[language](place_of(folder))
            if tools and tools.test and not tools.build:
                tools = replace(tools, build=make_tools.make_build(place_of(folder), language))
            if tools and language == "JavaScript":
                tools = _without_workspace(tools, found, paths, read)
            # In a subfolder, a set-up alone serves no check, unless it installs the members of a workspace.
            serves_checks = tools and tools.setup and (not folder or is_uv_workspace(folder, read))
            if tools and (tools.test or tools.more_tests or tools.lint or tools.unrun_tests or serves_checks):
                found += [tools] if not _covered(tools, found, paths, read) else []
    found = build_systems.with_installed_systems(found, place_of(""))
    found = with_installed_projects(_without_empty_suites(found, paths), paths, read)
    found.sort(key=lambda tools: (tools.folder != "", -tools.weight, tools.folder))
    parts = with_paths(found, paths, read, around.link_target)
    others = (_unrun_projects(paths, folders, read, around), _too_many(parts[MAX_FOLDERS:]))
    result = _with_make(tuple(parts[:MAX_FOLDERS]), place_of(""))
    result = script_tests(with_own_commands(result, place_of), place_of)
    # without a language, since they only name tests
    return (*result, *(Tools("", "", unrun_tests=unrun) for unrun in others if unrun))


def _too_many(parts: Sequence[Tools]) -> tuple[UnrunTests, ...]:
    why = f"at most {MAX_FOLDERS} are run"
    tests = [(tools.folder, tools.test) for tools in parts if tools.test]
    return tuple(UnrunTests(f"{_words(test.command)} in {folder}", f"{folder}/", why) for folder, test in tests)


def _unrun_projects(
    paths: list[str], folders: Mapping[str, Sequence[str]], read: Read, around: Surroundings
) -> tuple[UnrunTests, ...]:
    """The tests of projects in folders such as `e2e`, which no command of the project around them runs."""
    found = []
    for path in paths:
        folder, _, name = path.rpartition("/")
        parent, _, own_name = folder.rpartition("/")
        language = _MARKERS.get(name, "Python")
        if language == "Python" or folder in folders or _FOREIGN.search(parent) or not _OF_TESTS.fullmatch(own_name):
            continue
        place = _place(folder, paths, read, without=set(), around=around)
        tools = _DETECTORS[language](place)
        if not tools or not tools.test or _is_tested_by_parent(folder, language, paths, folders, read):
            continue
        why = "tests in a project of their own may need services"
        found.append(UnrunTests(f"{_words(tools.test.command)} in {folder}", f"{folder}/", why))
    return tuple(dict.fromkeys(found))


def _is_tested_by_parent(
    folder: str, language: str, paths: list[str], folders: Mapping[str, Sequence[str]], read: Read
) -> bool:
    """True if the command of a project above runs the tests in this folder, too."""
    above = [other for other, languages in folders.items() if language in languages and _is_above(other, folder)]
    if language == "Rust":
        return is_tested_elsewhere(folder, paths, read)
    if language == "Java":
        return any(is_part_of_build(folder, other, paths, read) for other in above)
    places = [_place(other, paths, read, without=set()) for other in above]
    return language == "JavaScript" and any(node_tools.covers_below(place) for place in places)


def _words(command: Command) -> str:
    return command if isinstance(command, str) else " ".join(command)


def _python_tools(
    folder: str,
    folders: Mapping[str, Sequence[str]],
    foreign: set[str],
    paths: list[str],
    read: Read,
    around: Surroundings,
) -> Tools | None:
    projects = [other for other, languages in folders.items() if "Python" in languages]

    def place(own: str) -> ProjectFolder:
        below = {other for other in projects if other != own} | foreign
        return _place(own, paths, read, without=below, around=around)

    root = next((other for other in projects if is_uv_member(folder, other, read)), None)
    members = [place(other) for other in projects if is_uv_member(other, folder, read)]
    uv_root = None if root is None else place(root)
    return python_tools.python_tools(place(folder), uv_root=uv_root, uv_members=members)


def _folders(paths: list[str]) -> dict[str, list[str]]:
    """Folders that contain a project, with its languages."""
    found: dict[str, list[str]] = {}
    marked_folders = {path.rpartition("/")[0] for path in paths if path.rpartition("/")[2] in _MARKERS}
    for path in paths:
        folder, _, name = path.rpartition("/")
        language = _MARKERS.get(name)
        if language and not _is_foreign(folder, marked_folders) and language not in found.setdefault(folder, []):
            found[folder].append(language)
    for path in sorted(paths, key=lambda path: path.count("/")):
        folder, _, name = path.rpartition("/")
        if name == "requirements.txt" and not _FOREIGN.search(folder):
            above = (other for other in found if other == folder or _is_above(other, folder))
            if not any("Python" in found[other] for other in above):
                found.setdefault(folder, []).append("Python")
    # Scripts and tests without a project file belong to the root.
    top = found.setdefault("", [])
    top += [
        language
        for language in (*_WITHOUT_MARKER, *more_languages.LANGUAGES)
        if language not in top and not any(language in theirs for theirs in found.values())
    ]
    return found


def _is_foreign(folder: str, marked_folders: set[str]) -> bool:
    """True for folders of fixtures and the like, unless it is one of several projects side by side."""
    parent, _, name = folder.rpartition("/")
    if not _FOREIGN.search(folder) or _FOREIGN.search(parent) or not parent or not _OTHER_PARTS.fullmatch(name):
        return _FOREIGN.search(folder) is not None
    return not any(_parent(other) == parent and not _FOREIGN.search(other) for other in marked_folders)


def _parent(folder: str) -> str:
    return folder.rpartition("/")[0]


def _name_of(folder: str) -> str:
    return folder.rpartition("/")[2]


def _place(
    folder: str, paths: list[str], read: Read, *, without: set[str], around: Surroundings = _EVERYTHING
) -> ProjectFolder:
    start = f"{folder}/" if folder else ""
    inner = tuple(f"{other}/" for other in without if other.startswith(start))
    own = tuple(path[len(start) :] for path in paths if path.startswith(start) and not path.startswith(inner))
    return ProjectFolder(folder, own, frozenset(path for path in own if "/" not in path), read, around)


def _covered(tools: Tools, found: list[Tools], paths: list[str], read: Read) -> bool:
    """True if the tools of a parent folder cover this folder."""
    if tools.language == "Rust":
        return is_tested_elsewhere(tools.folder, paths, read)
    above = [t for t in found if t.language == tools.language and _is_above(t.folder, tools.folder)]
    return tools.language == "Java" and any(is_part_of_build(tools.folder, t.folder, paths, read) for t in above)


def _without_empty_suites(found: list[Tools], paths: list[str]) -> list[Tools]:
    """The tools without `go test` for modules that have no tests, where another module has some.

    A check that runs no tests makes each approval wait for a person.
    """
    modules = sorted((tools.folder for tools in found if tools.language == "Go"), key=len, reverse=True)
    files = [path for path in paths if path.endswith("_test.go")]
    with_tests = {next((one for one in modules if not one or path.startswith(f"{one}/")), "") for path in files}
    if with_tests.isdisjoint(modules):
        return found
    return [
        replace(tools, test=None) if tools.language == "Go" and tools.folder not in with_tests else tools
        for tools in found
    ]


def _without_workspace(tools: Tools, found: list[Tools], paths: list[str], read: Read) -> Tools:
    """The tools without what the workspace root provides: the installation and the root's own scripts."""
    for other in found:
        if other.language != tools.language or not _is_above(other.folder, tools.folder):
            continue
        place = _place(other.folder, paths, read, without=set())
        if node_tools.covers_below(place):
            member = posixpath.relpath(tools.folder, other.folder or ".")
            inner = _place(tools.folder, paths, read, without=set())
            is_tested = node_tools.tests_below(place, member) and node_tools.is_reached(place, inner)
            test = None if other.test and is_tested else tools.test
            lint = None if other.lint else tools.lint
            # The root may start any script of its packages.
            names = place.read("package.json") + place.read("turbo.json") + place.read("nx.json")
            more = tuple(one for one in tools.more_tests if f'{str(one.command).rpartition(" ")[2]}"' not in names)
            build = tools.build if test or more else None
            return replace(tools, test=test, more_tests=more, lint=lint, setup=None, build=build)
    return tools


def _is_above(folder: str, other: str) -> bool:
    return folder != other and (folder == "" or other.startswith(f"{folder}/"))


def _with_make(found: tuple[Tools, ...], root: ProjectFolder) -> tuple[Tools, ...]:
    """Adds make targets, CMake or Meson where no language tool was found, which report failures in more detail."""
    make = make_tools.make_tools(root)
    builder = cmake_tools.cmake_tools(root) or cmake_tools.meson_tools(root)
    if builder and any(tools.test for tools in found if tools.folder == "") and cmake_tools.is_built_apart(root):
        # Tests of another language at the root, e.g. in Python, do not start those of CMake.
        return (*_with_targets(found, make), builder)
    if make is None or make.test is None:
        make = replace(builder, lint=make.lint if make else None) if builder else make
    elif builder and not make_tools.starts_builder(root) and not found:
        # Often the Makefile is the older of two builds, with fewer tests.
        return (*_with_targets(found, make), builder)
    return _with_targets(found, make)


def _with_targets(found: tuple[Tools, ...], make: Tools | None) -> tuple[Tools, ...]:
    if make is None:
        return found
    top = [tools for tools in found if tools.folder == ""]
    if not top:
        test = None if any(tools.test for tools in found) else make.test
        lint = None if any(tools.lint for tools in found) else make.lint
        build = make.build if test else None
        return (replace(make, test=test, lint=lint, build=build), *found) if test or lint else found
    test = None if any(tools.test for tools in top) else make.test
    lint = None if any(tools.lint for tools in top) else make.lint
    build = top[0].build or (make.build if test else None)
    first = replace(top[0], test=top[0].test or test, lint=top[0].lint or lint, build=build)
    return (first, *(tools for tools in found if tools is not top[0]))


def decide(found: tuple[Tools, ...]) -> tuple[DiscoveredChecks, ...]:
    """The settings: one test and one lint check, further ones as extra checks, and one set-up."""
    settings: list[DiscoveredChecks] = []
    used_names: set[str] = set()
    for kind in ("test", "lint"):
        for tools, choice in _choices(found, kind):
            key: tuple[str, ...] = ("checks", kind)
            if any(one.key == key for one in settings):
                key = ("checks", "extra", _name(tools, kind, used_names))
            why = _reason(tools, choice.why)
            settings.append(DiscoveredChecks(key, choice.command, why, tools.folder, tools.paths, choice.tap))
    settings += _joined(BUILD, [(tools, tools.build) for tools in found if tools.build])
    settings += _joined(SETUP, [(tools, tools.setup) for tools in found if tools.setup])
    return tuple(settings)


def _choices(found: tuple[Tools, ...], kind: str) -> list[tuple[Tools, ToolChoice]]:
    return [
        (tools, choice)
        for tools in found
        for choice in ((tools.test, *tools.more_tests) if kind == "test" else (tools.lint,))
        if choice
    ]


def _joined(key: tuple[str, ...], choices: list[tuple[Tools, ToolChoice]]) -> list[DiscoveredChecks]:
    """One setting for the commands of all parts."""
    if not choices:
        return []
    words = [_from_root(choice.command, tools.folder, among=len(choices)) for tools, choice in choices]
    why = "; ".join(_reason(tools, choice.why) for tools, choice in choices)
    return [DiscoveredChecks(key, " && ".join(map(str, words)), why)]


def _name(tools: Tools, kind: str, used_names: set[str]) -> str:
    """`web-test`; includes the language if two share a folder."""
    base = re.sub(r"[^A-Za-z0-9_.]+", "-", tools.folder).strip("-.") or tools.language.lower()
    name = f"{base}-{kind}"
    if name in used_names:
        name = f"{base}-{tools.language.lower()}-{kind}"
    if name in used_names or base == tools.language.lower():
        numbers = (f"{base}-{kind}", *(f"{base}-{number}-{kind}" for number in range(2, len(used_names) + 3)))
        name = next(one for one in numbers if one not in used_names)
    used_names.add(name)
    return name


def _reason(tools: Tools, why: str) -> str:
    return f"{tools.folder}: {why}" if tools.folder else why


def _from_root(command: Command, folder: str, *, among: int = 1) -> Command:
    """A command that can be started at the root. Several commands that change the folder run in subshells."""
    if not folder:
        return command
    if isinstance(command, tuple):
        # In a shell line, a missing `python` is not replaced by `python3`.
        command = shlex.join("python3" if word == "python" and n == 0 else word for n, word in enumerate(command))
    line = f"cd {shlex.quote(folder)} && {command}"
    return f"({line})" if among > 1 else line


# -- detect ---------------------------------------------------------------------------------------
# `checks.test: auto` and `checks.lint: auto`: the checks that `burnish init` would write.


def find_checks(files: Iterable[str], read: Read, around: Surroundings | None = None) -> FoundChecks:
    """Test and lint checks of the repository; those of subprojects are named after their folder. May be empty."""
    paths = list(files)
    found = discover(paths, read, around or Surroundings())
    # Without `paths`: dependencies between parts are a guess, which users can correct only in burnish.yaml.
    specs = [
        CheckSpec(
            one.key[-1],
            one.value,
            report="tap" if one.tap else None,
            report_file="-" if one.tap else None,
            found=True,
            cwd=one.cwd,
        )
        for one in decide(found)
        if one.key[0] == "checks" and one.key != BUILD
    ]
    notes = [f"{tools.folder}: {note}" if tools.folder else note for tools in found for note in tools.notes]
    unrun_tests = [(tools.folder, one) for tools in found for one in tools.unrun_tests]
    return FoundChecks(tuple(specs), tuple(notes), tuple(unrun_tests), python_test_files(paths))


def detect(files: Iterable[str], read: Read, around: Surroundings | None = None) -> tuple[CheckSpec, ...]:
    return find_checks(files, read, around).specs
