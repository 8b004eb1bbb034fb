"""Finds the tests of .NET, Elixir, Bazel, Ant and SCons projects, and those that prove, bats and shellspec run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from burnish.checks.more_languages import LANGUAGES
from burnish.checks.tools import MAX_OPENED, ProjectFolder, ToolChoice, Tools, UnrunTests

# languages of this module and of the table, with the program that runs their tests
PROGRAMS = {
    ".NET": "dotnet",
    "Elixir": "mix",
    "Bazel": "bazel",
    "Ant": "ant",
    "SCons": "scons",
    "Perl": "prove",
    "Bats": "bats",
    "ShellSpec": "shellspec",
    **{name: language.program for name, language in LANGUAGES.items()},
}
_DOTNET_PROJECT = re.compile(r".*\.(?:cs|fs|vb)proj")
_BAZEL_FILE = re.compile(r"(?:.*/)?BUILD(?:\.bazel)?")
# Rules whose tests the tools of a language run, too.
_BAZEL_LANGUAGES = {
    "go_test": "Go",
    "py_test": "Python",
    "rust_test": "Rust",
    "java_test": "Java",
    "jest_test": "JavaScript",
    "js_test": "JavaScript",
    "ts_test": "JavaScript",
}


def dotnet_tools(place: ProjectFolder) -> Tools | None:
    """`dotnet test` for the solution, or for each project with tests."""
    projects = [path for path in place.paths if _DOTNET_PROJECT.fullmatch(path)]
    tests = [path for path in projects[:MAX_OPENED] if "Microsoft.NET.Test.Sdk" in place.read(path)]
    if not tests:
        return None
    at_root = [name for name in place.names if name.endswith((".sln", ".slnx")) or _DOTNET_PROJECT.fullmatch(name)]
    if len(at_root) == 1:
        choices = [ToolChoice("dotnet test", at_root[0])]
    else:
        choices = [ToolChoice(f"dotnet test {path}", "a project with tests") for path in tests]
    weight = place.count(".cs", ".fs", ".vb")
    return Tools(place.folder, ".NET", choices[0], weight=weight, more_tests=tuple(choices[1:]))


def elixir_tools(place: ProjectFolder) -> Tools | None:
    if "mix.exs" not in place.names or not any(path.endswith("_test.exs") for path in place.paths):
        return None
    has_packages = re.search(r"\{\s*:\w+\s*,", place.read("mix.exs")) is not None
    setup = ToolChoice("mix deps.get", "mix.exs") if has_packages else None
    return Tools(place.folder, "Elixir", ToolChoice("mix test", "mix.exs"), None, setup, place.count(".ex", ".exs"))


def bazel_tools(place: ProjectFolder) -> Tools | None:
    name = place.first("MODULE.bazel", "WORKSPACE.bazel", "WORKSPACE")
    return Tools(place.folder, "Bazel", ToolChoice("bazel test //...", name)) if name and _bazel_rules(place) else None


def _bazel_rules(place: ProjectFolder) -> set[str]:
    files = [path for path in place.paths if _BAZEL_FILE.fullmatch(path)]
    texts = [place.read(path) for path in files[:MAX_OPENED]]
    return {rule for text in texts for rule in re.findall(r"^(\w+_test)\s*\(", text, re.M)}


def ant_tools(place: ProjectFolder) -> Tools | None:
    targets = re.findall(r"<target\b[^>]*\bname\s*=\s*[\"']([\w.-]+)[\"']", place.read("build.xml"))
    test = next((name for name in ("test", "tests", "check", "junit") if name in targets), None)
    choice = ToolChoice(f"ant {test}", f"target `{test}` in build.xml")
    return Tools(place.folder, "Ant", choice, weight=place.count(".java")) if test else None


def scons_tools(place: ProjectFolder) -> Tools | None:
    name = place.first("SConstruct", "Sconstruct", "sconstruct")
    aliases = re.findall(r"\bAlias\(\s*[\"']([\w-]+)[\"']", place.read(name)) if name else []
    test = next((one for one in ("test", "tests", "check") if one in aliases), None)
    return Tools(place.folder, "SCons", ToolChoice(f"scons -Q {test}", f"alias `{test}` in {name}")) if test else None


def perl_tools(place: ProjectFolder) -> Tools | None:
    """`prove` for the folder `t`, whose files may be in any language that prints TAP."""
    files = [path for path in place.paths if re.fullmatch(r"t/(?:.*/)?[^/]+\.t", path)]
    # other programs have files of this name, too
    has_tests = any(re.match(r"#!|(?s:.*)^\s*use\s+[\w:]+", place.read(path), re.M) for path in files[:MAX_OPENED])
    if not has_tests or _is_started(place, r"\bprove\b|(?<!\w)t/"):
        return None
    has_modules = any(re.fullmatch(r"lib/.*\.pm", path) for path in place.paths)
    options, build = ("-l" if has_modules else "-"), None
    if "Makefile.PL" in place.names and place.count(".xs"):
        options, build = "-b", ToolChoice("perl Makefile.PL && make", "Makefile.PL and sources in XS")
    test = ToolChoice(f"prove {options}r t", "tests in t/")
    return Tools(place.folder, "Perl", test, weight=place.count(".pm", ".pl"), build=build)


def bats_tools(place: ProjectFolder) -> Tools | None:
    files = [path for path in place.paths if re.fullmatch(r"(?:tests?|spec|bats)/(?:.*/)?[^/]+\.bats", path)]
    # those of bats itself, which some repositories contain
    folders = dict.fromkeys(path.partition("/")[0] for path in files if "/fixtures/" not in path)
    if not folders or _is_started(place, r"\bbats\b"):
        return None
    return Tools(place.folder, "Bats", ToolChoice(f"bats -r {' '.join(folders)}", "*.bats"))


def shellspec_tools(place: ProjectFolder) -> Tools | None:
    files = [path for path in place.paths if re.fullmatch(r"spec/(?:.*/)?[^/]+_spec\.sh", path)]
    if not files or _is_started(place, r"\bshellspec\b"):
        return None
    return Tools(place.folder, "ShellSpec", ToolChoice("shellspec --format tap", files[0], tap=True))


def _is_started(place: ProjectFolder, pattern: str) -> bool:
    """True if a test command of the project starts these tests, perhaps after a build."""
    names = ("GNUmakefile", "Makefile", "makefile", "package.json", "justfile", "Justfile", "Taskfile.yml", "tox.ini")
    return any(re.search(pattern, place.read(name)) for name in names)


def with_installed_systems(found: Sequence[Tools], place: ProjectFolder) -> list[Tools]:
    """The tools; beside other tests, those whose program is not installed are named as not run."""
    others = {tools.language for tools in found if tools.test and tools.language not in PROGRAMS}
    result: list[Tools] = []
    for tools in found:
        program = PROGRAMS.get(tools.language)
        if program is None or not tools.test or not others:
            result.append(tools)
        elif tools.language == "Bazel" and {_BAZEL_LANGUAGES.get(rule, "") for rule in _bazel_rules(place)} <= others:
            continue  # the same tests
        elif place.around.has_program(program):
            result.append(tools)
        else:
            command = str(tools.test.command)
            unrun = UnrunTests(command, command, f"{program} is not installed here ({tools.test.why})")
            result.append(replace(tools, test=None, more_tests=(), setup=None, unrun_tests=(unrun,)))
    return result
