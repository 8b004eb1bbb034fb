"""Finds the tests of languages with one usual command: a table of their project files, test files and programs."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from burnish.checks.tools import MAX_OPENED, ProjectFolder, ToolChoice, Tools


@dataclass(frozen=True, slots=True)
class _Language:
    # names of project files; a pattern, since some have the name of the project
    marker: str
    # files with tests
    tests: str
    command: str
    # what such a file, or else a project file, contains if there are tests
    text: str = ""
    setup: str = ""
    build: str = ""

    @property
    def program(self) -> str:
        return (self.build or self.command).split()[0]


LANGUAGES = {
    "Swift": _Language(r"Package\.swift", r"Tests/.+\.swift", "swift test"),
    "Dart": _Language(r"pubspec\.yaml", r"test/.+_test\.dart", "dart test", "", "dart pub get"),
    "Haskell": _Language(
        r"[\w.-]+\.cabal|cabal\.project|stack\.yaml",
        r".+\.cabal|(?:.*/)?package\.yaml",
        "cabal test all",
        r"^(?:test-suite\s|tests:)",
    ),
    "OCaml": _Language(
        r"dune-project", r"(?:.*/)?dune", "dune test", r"\((?:inline_)?tests?\b|\(cram\b|\balias runtest"
    ),
    "Zig": _Language(r"build\.zig", r"build\.zig", "zig build test", r"\.step\(\s*\"test\""),
    "Nim": _Language(r"[\w-]+\.nimble", r"tests/.+\.nim", "nimble test"),
    "Crystal": _Language(r"shard\.yml", r"spec/.+_spec\.cr", "crystal spec"),
    "D": _Language(r"dub\.(?:json|sdl)", r"source/.+\.d|src/.+\.d", "dub test", r"\bunittest\b"),
    "Erlang": _Language(
        r"rebar\.config", r"(?:.*/)?(?:test/.+|src/.+)\.erl", "rebar3 do eunit, ct", r"_test_?\(|eunit\.hrl|all\(\)"
    ),
    "Clojure": _Language(r"project\.clj", r"test/.+\.cljc?", "lein test"),
    "Scala": _Language(r"build\.sbt", r"(?:.*/)?src/test/.+\.(?:scala|java)", "sbt test"),
    "Lua": _Language(r"\.busted|[\w.-]+\.rockspec", r"(?:spec|tests?)/.+_spec\.lua", "busted"),
    "Julia": _Language(r"Project\.toml", r"test/runtests\.jl", "julia --project=. -e 'using Pkg; Pkg.test()'"),
    "R": _Language(
        r"DESCRIPTION", r"tests/testthat/test.+\.[rR]", "Rscript -e 'testthat::test_local(stop_on_failure = TRUE)'"
    ),
    "Gleam": _Language(r"gleam\.toml", r"test/.+\.gleam", "gleam test"),
    "Fortran": _Language(r"fpm\.toml", r"test/.+\.[fF]\d\d", "fpm test"),
    "Solidity": _Language(r"foundry\.toml", r"(?:.*/)?[^/]+\.t\.sol", "forge test"),
    "Rego": _Language(
        r"\.manifest|\.regal(?:/config)?\.yaml|[\w-]+_test\.rego", r"(?:.*/)?[^/]+_test\.rego", "opa test ."
    ),
    "Elm": _Language(r"elm\.json", r"tests/.+\.elm", "elm-test"),
    "xmake": _Language(r"xmake\.lua", r"xmake\.lua", "xmake test", r"\badd_tests\("),
    "Autotools": _Language(
        r"configure\.(?:ac|in)",
        r"(?:.*/)?Makefile\.am",
        "make check",
        r"^\s*(?:TESTS|check_\w+)\b",
        build="autoreconf -fi && ./configure && make",
    ),
}


def _tools(name: str, place: ProjectFolder) -> Tools | None:
    language = LANGUAGES[name]
    marker = next((one for one in sorted(place.names) if re.fullmatch(language.marker, one)), "")
    files = [path for path in place.paths if re.fullmatch(language.tests, path)] if marker else []
    if language.text:
        files = [path for path in files[:MAX_OPENED] if re.search(language.text, place.read(path), re.M)]
    if not files:
        return None
    command, setup = language.command, language.setup
    if name == "Dart" and re.search(r"^\s+sdk:\s*flutter", place.read(marker), re.M):
        command, setup = "flutter test", "flutter pub get"
    elif "stack.yaml" in place.names:
        command = "stack test"
    build = ToolChoice(language.build, marker) if language.build else None
    if build and (script := place.first("autogen.sh", "bootstrap.sh", "bootstrap")):
        # most of these scripts call configure, unless this variable is set
        build = ToolChoice(f"NOCONFIGURE=1 sh ./{script} && ./configure && make", f"{script} and {marker}")
    test = ToolChoice(command, " and ".join(dict.fromkeys((marker, files[0]))))
    first = ToolChoice(setup, marker) if setup else None
    return Tools(place.folder, name, test, None, first, len(files), build=build)


DETECTORS: dict[str, Callable[[ProjectFolder], Tools | None]] = {name: partial(_tools, name) for name in LANGUAGES}
# Project files whose name is always the same, so that they are found in subfolders, too.
MARKERS = {
    file: next(name for name, one in LANGUAGES.items() if re.fullmatch(one.marker, file))
    for file in (
        *(
            "Package.swift",
            "pubspec.yaml",
            "stack.yaml",
            "dune-project",
            "build.zig",
            "shard.yml",
            "dub.json",
            "dub.sdl",
        ),
        *(
            "rebar.config",
            "project.clj",
            "build.sbt",
            "gleam.toml",
            "fpm.toml",
            "foundry.toml",
            "elm.json",
            "xmake.lua",
        ),
        *("configure.ac", "configure.in"),
    )
}
