"""Test scripts that no test command starts are a check of their own, or are named as not run."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from burnish.checks.discover import decide, discover, find_checks
from burnish.checks.tools import Surroundings
from testing.layouts import PYTEST, TEST

PYTHON = {"calc.py": "", "tests/test_calc.py": TEST}
SCRIPT = '#!/bin/sh\nset -e\ntest "$(python3 -m calc)" = 3\n'
BASH = "#!/usr/bin/env bash\n[[ 1 == 1 ]]\n"
WORKFLOW = "on: push\njobs:\n  test:\n    steps:\n      - uses: checkout@v4\n      - run: npm ci\n      - run: %s\n"
NODE_TEST = "import test from 'node:test';\n"


def found(files: dict[str, str], **around: Any) -> tuple[dict[str, Any], list[str]]:
    """The checks by name, and what is named as not run."""
    tools = discover(files, files.get, Surroundings(**around))
    checks = {one.key[-1]: one.value for one in decide(tools) if one.key[0] == "checks"}
    return checks, [unrun.what for one in tools for unrun in one.unrun_tests]


def loop(patterns: str, program: str = 'sh "$t"') -> str:
    return (
        f"n=0 r=0; for t in {patterns}; do n=$((n+1)); {program} >&2 "
        '&& echo "ok $n - $t" || { echo "not ok $n - $t"; r=1; }; done; echo "1..$n"; exit $r'
    )


RUN: dict[str, tuple[dict[str, str], str, str]] = {
    "beside tests of another language": (
        {**PYTHON, "tests/test_cli.sh": SCRIPT},
        "shell-test",
        loop("tests/test_*.sh"),
    ),
    "alone": ({"calc": SCRIPT, "tests/test_cli.sh": SCRIPT}, "test", loop("tests/test_*.sh")),
    "one of them in bash": (
        {**PYTHON, "tests/test_a.sh": SCRIPT, "tests/test_b.sh": BASH},
        "shell-test",
        loop("tests/test_*.sh", 'bash "$t"'),
    ),
    "with another ending": ({**PYTHON, "test/cli_test.sh": SCRIPT}, "shell-test", loop("test/*_test.sh")),
    "at the root": ({**PYTHON, "test_cli.sh": SCRIPT}, "shell-test", loop("test_*.sh")),
    "without an ending": (
        {"go.mod": "module a\n", "a_test.go": "package a\n", "test/test-cli": BASH},
        "shell-test",
        loop("test/test-*", 'bash "$t"'),
    ),
    "in the folder of a part": (
        {"a/go.mod": "module a\n", "a/a_test.go": "package a\n", "a/tests/test_cli.sh": SCRIPT},
        "a-test",
        loop("tests/test_*.sh"),
    ),
    "that use paths of their own folder": (
        {**PYTHON, "tests/test_cli.sh": "#!/bin/sh\n. ./helpers.sh\n../calc.py\n", "tests/helpers.sh": ""},
        "shell-test",
        loop("tests/test_*.sh", '(cd "${t%/*}" && sh "${t##*/}")'),
    ),
    "that a linter alone names": (
        {**PYTHON, "tests/test_cli.sh": SCRIPT, "Makefile": "lint:\n\tshellcheck tests/*.sh\ntest:\n\tpytest\n"},
        "shell-test",
        loop("tests/test_*.sh"),
    ),
    "that a target beside the tests starts": (
        {**PYTHON, "tests/test_cli.sh": SCRIPT, "Makefile": "test:\n\tpytest\ncli:\n\tsh tests/test_cli.sh\n"},
        "shell-test",
        loop("tests/test_*.sh"),
    ),
    "that a workflow starts": (
        {**PYTHON, "tests/test_cli.sh": SCRIPT, ".github/workflows/ci.yml": WORKFLOW % "bash tests/test_cli.sh"},
        "shell-test",
        loop("tests/test_*.sh"),
    ),
    "beside one that needs a service": (
        {**PYTHON, "tests/test_cli.sh": SCRIPT, "tests/test_db.sh": SCRIPT + "docker run postgres\n"},
        "shell-test",
        loop("tests/test_cli.sh"),
    ),
}


@pytest.mark.parametrize(("files", "name", "command"), RUN.values(), ids=RUN.keys())
def test_scripts_that_nothing_starts_are_a_check(files: dict[str, str], name: str, command: str) -> None:
    checks, unrun = found(files)
    assert checks[name] == command
    assert not any("test_cli" in what for what in unrun), "it is run"


STARTED = {
    "a loop of make": {"Makefile": "test:\n\tpytest\n\tfor t in tests/*.sh; do sh $$t || exit 1; done\n"},
    "a target that make test needs": {"Makefile": "test: cli\n\tpytest\ncli:\n\tsh tests/test_cli.sh\n"},
    "a script of tests": {"run_tests.sh": '#!/bin/sh\nrun() {\n  "$@"\n}\nrun pytest\nrun sh tests/test_cli.sh\n'},
    "a test of another language": {
        "tests/test_scripts.py": "def test_it():\n    check_call(['sh', 'tests/test_cli.sh'])\n"
    },
    "another test script, which reads its functions": {"tests/cli_test.sh": "#!/bin/sh\n. tests/test_cli.sh\ntrue\n"},
}


@pytest.mark.parametrize("files", STARTED.values(), ids=STARTED.keys())
def test_a_script_that_a_test_command_starts_is_not_run_twice(files: dict[str, str]) -> None:
    checks, _ = found({**PYTHON, "tests/test_cli.sh": SCRIPT, **files})
    assert "test_cli.sh; do" not in str(checks.get("shell-test", "")) and "test_*" not in str(
        checks.get("shell-test", "")
    )


PLAIN = "from calc import add\n\nif __name__ == '__main__':\n    assert add(1, 2) == 3\n"


def test_python_tests_without_a_framework_are_run_as_scripts_if_there_are_no_others() -> None:
    command = loop("tests/test_*.py", 'PYTHONPATH=".:$PYTHONPATH" python3 "$t"')
    assert found({"calc.py": "", "tests/test_sum.py": PLAIN}) == ({"test": command}, [])
    assert found({**PYTHON, "tests/test_sum.py": PLAIN}) == ({"test": PYTEST}, ["python3 tests/test_sum.py"])


NAMED = {
    "a service": ("tests/test_db.sh", SCRIPT + "docker run postgres\n", "may need services (docker)"),
    "functions that another program calls": ("tests/test_it.sh", "#!/bin/bash\ntest_a() {\n  true\n}\n", "functions"),
    "a script that may be a test": ("tests/cli.sh", SCRIPT, "not known whether it is a test"),
    "arguments": ("tests/test_arguments.sh", '#!/bin/sh\nset -u\n"$1" --version\n', "needs arguments"),
}


@pytest.mark.parametrize(("path", "text", "why"), NAMED.values(), ids=NAMED.keys())
def test_scripts_that_cannot_be_a_check_are_named(path: str, text: str, why: str) -> None:
    files = {**PYTHON, path: text}
    notes = [unrun.note(one.folder) for one in discover(files, files.get) for unrun in one.unrun_tests]
    assert len(notes) == 1 and path in notes[0] and why in notes[0]


def test_data_and_helpers_of_tests_are_not_taken_for_tests() -> None:
    others = {
        **{f"tests/{name}": SCRIPT for name in ("lib.sh", "test_helpers.sh", "common.sh", "fixtures/test_a.sh")},
        "tests/data.txt": "#!/bin/sh\n",
        "tests/test_image.png": "",
        "scripts/test_speed.sh": SCRIPT,
    }
    checks, unrun = found({**PYTHON, **others})
    assert (checks, unrun) == ({"test": PYTEST}, [])


def test_the_loop_reports_each_script_and_fails_if_one_of_them_fails(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    for name, text in (("a", "echo ok 7 - inner\n"), ("b", "exit 3\n"), ("c", "true\n")):
        (tmp_path / f"tests/test_{name}.sh").write_text(f"#!/bin/sh\n{text}")
    files = {f"tests/test_{name}.sh": (tmp_path / f"tests/test_{name}.sh").read_text() for name in "abc"}
    [spec] = find_checks(files, files.get).specs
    done = subprocess.run(["sh", "-c", str(spec.command)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "ok 1 - tests/test_a.sh\nnot ok 2 - tests/test_b.sh\nok 3 - tests/test_c.sh\n1..3\n"
    assert (done.returncode, spec.report, spec.report_file) == (1, "tap", "-")


WITHOUT_RUNNER: dict[str, tuple[dict[str, str], str]] = {
    "a workflow with node --test": (
        {"tests/calc.mjs": NODE_TEST, ".github/workflows/ci.yml": WORKFLOW % "node --test tests/"},
        "node --test tests/*.mjs",
    ),
    "tests of node without a script": (
        {"package.json": '{"name": "calc"}', "test/calc.js": "require('node:test')\n"},
        "node --test",
    ),
    "mocha without a script": (
        {"package.json": '{"devDependencies": {"mocha": "10"}}', "test/calc.js": ""},
        "npx --no-install mocha",
    ),
    "a workflow with a script": (
        {"calc.mjs": "", "qa/sum.mjs": "", ".github/workflows/ci.yml": WORKFLOW % "node qa/sum.mjs"},
        "node qa/sum.mjs",
    ),
    "tests that a subfolder of CMake declares": (
        {
            "CMakeLists.txt": "project(x C)\nadd_library(x x.c)\nadd_subdirectory(tests)\n",
            "tests/CMakeLists.txt": "enable_testing()\nadd_test(NAME a COMMAND a)\n",
        },
        "ctest --test-dir build/tests --output-on-failure --no-tests=error",
    ),
    "tests that a file of CMake declares": (
        {
            "CMakeLists.txt": "project(x C)\ninclude(${CMAKE_CURRENT_SOURCE_DIR}/cmake/testing.cmake)\n",
            "cmake/testing.cmake": "include(CTest)\n",
        },
        "ctest --test-dir build --output-on-failure --no-tests=error",
    ),
}


@pytest.mark.parametrize(("files", "command"), WITHOUT_RUNNER.values(), ids=WITHOUT_RUNNER.keys())
def test_tests_without_a_usual_command_are_found(files: dict[str, str], command: str) -> None:
    checks, _ = found(files)
    assert checks["test"] == command


def test_a_script_that_a_workflow_runs_is_one_check_and_not_named_as_left_out() -> None:
    script = "#!/bin/sh\nset -eu\npython3 - <<'EOF'\nimport calc\nassert calc.add(1, 2) == 3\nEOF\necho verified\n"
    files = {"calc.py": "", "verify.sh": script, ".github/workflows/ci.yml": WORKFLOW % "./verify.sh"}
    checks, unrun = found(files, has_program=lambda name: not name.endswith(".sh"))
    assert (checks, unrun) == ({"test": "sh verify.sh"}, [])


OTHER_LANGUAGES: dict[str, tuple[dict[str, str], str]] = {
    "Swift": ({"Package.swift": "", "Tests/CalcTests/Calc.swift": ""}, "swift test"),
    "Flutter": (
        {"pubspec.yaml": "dependencies:\n  flutter:\n    sdk: flutter\n", "test/a_test.dart": ""},
        "flutter test",
    ),
    "Haskell": ({"calc.cabal": "name: calc\ntest-suite spec\n  type: x\n"}, "cabal test all"),
    "Haskell with stack": ({"calc.cabal": "test-suite spec\n", "stack.yaml": ""}, "stack test"),
    "OCaml": ({"dune-project": "", "test/dune": "(test (name calc))\n"}, "dune test"),
    "Zig": ({"build.zig": 'const t = b.step("test", "Run tests");\n'}, "zig build test"),
    "Scala": ({"build.sbt": "", "src/test/scala/Calc.scala": ""}, "sbt test"),
    "Julia": ({"Project.toml": "", "test/runtests.jl": ""}, "julia --project=. -e 'using Pkg; Pkg.test()'"),
    "Autotools": ({"configure.ac": "", "Makefile.am": "TESTS = a\n"}, "make check"),
}


@pytest.mark.parametrize(("files", "command"), OTHER_LANGUAGES.values(), ids=OTHER_LANGUAGES.keys())
def test_languages_with_one_usual_command(files: dict[str, str], command: str) -> None:
    checks, unrun = found(files)
    assert (checks["test"], unrun) == (command, [])
    checks, unrun = found({**PYTHON, **files}, has_program=lambda name: name.startswith("py"))
    assert (checks["test"], unrun) == (PYTEST, [command]), "beside other tests it is named"


def test_the_build_of_autotools_runs_on_each_tree() -> None:
    files = {"configure.ac": "", "Makefile.am": "check_PROGRAMS = a\n", "autogen.sh": "#!/bin/sh\n"}
    checks, _ = found(files)
    assert checks["build"] == "NOCONFIGURE=1 sh ./autogen.sh && ./configure && make"


LEFT_OUT: dict[str, tuple[dict[str, str], str]] = {
    "norecursedirs of pytest": (
        {**PYTHON, "pytest.ini": "[pytest]\nnorecursedirs = slow\n", "tests/slow/test_b.py": TEST},
        "pytest tests/slow",
    ),
    "collect_ignore of a conftest.py": (
        {**PYTHON, "tests/conftest.py": 'collect_ignore = ["test_b.py"]\n', "tests/test_b.py": TEST},
        "pytest tests/test_b.py",
    ),
    "Robot Framework": ({**PYTHON, "tests/calc.robot": ""}, "robot tests"),
    "playwright without a script": (
        {"package.json": '{"scripts": {"test": "vitest run"}}', "playwright.config.ts": "", "a.test.ts": ""},
        "npx playwright test",
    ),
    "patterns that jest ignores": (
        {
            "package.json": '{"scripts": {"test": "jest"}, "jest": {"testPathIgnorePatterns": ["/slow/", "/dist/"]}}',
            "test/slow/b.test.js": "",
            "test/a.test.js": "",
        },
        "tests in test/slow",
    ),
    "files that vitest does not include": (
        {
            "package.json": '{"scripts": {"test": "vitest run"}}',
            "vitest.config.ts": "export default { test: { include: ['src/**/*.test.ts'] } }\n",
            "src/a.test.ts": "",
            "tests/b.test.ts": "",
        },
        "tests in tests",
    ),
}


MEMBERS = {
    "packages/a/package.json": '{"name": "a", "scripts": {"test": "node --test"}}',
    "packages/a/a.test.js": NODE_TEST,
    "packages/b/package.json": '{"name": "b"}',
    "packages/b/b.test.js": NODE_TEST,
    "packages/c/package.json": '{"name": "c", "devDependencies": {"vitest": "2"}}',
}


@pytest.mark.parametrize("script", ["npm test --workspaces --if-present", "turbo run test", "pnpm -r test"])
def test_tests_of_a_package_that_the_script_of_the_root_skips_are_a_check(script: str) -> None:
    root = {"package.json": f'{{"workspaces": ["packages/*"], "scripts": {{"test": "{script}"}}}}'}
    assert found({**root, **MEMBERS})[0] == {"test": "npm test", "packages-b-test": "node --test"}


def test_a_runner_of_the_root_runs_the_tests_of_all_packages() -> None:
    root = {"package.json": '{"workspaces": ["packages/*"], "scripts": {"test": "jest"}}'}
    assert found({**root, **MEMBERS})[0] == {"test": "npm test"}


def test_tests_of_another_part_in_a_job_of_their_own_are_named() -> None:
    steps = ("{run: node test/run.mjs, working-directory: web}", "run: node tools/deploy.mjs")
    job = "  web:\n    steps:\n" + "".join(f"      - {step}\n" for step in steps)
    files = {**PYTHON, "web/test/run.mjs": "", ".github/workflows/ci.yml": WORKFLOW % "pytest" + job}
    assert found(files)[1] == ["cd web && node test/run.mjs"]


def test_kotlin_for_several_platforms_and_tests_on_a_device() -> None:
    kotlin = {"settings.gradle.kts": "", "build.gradle.kts": 'plugins { kotlin("multiplatform") }\n', "gradlew": ""}
    assert found({**kotlin, "src/commonTest/kotlin/A.kt": ""})[0]["test"] == "./gradlew allTests"
    android = {"build.gradle": "", "gradlew": "", "app/src/androidTest/java/A.java": ""}
    assert found(android) == ({"test": "./gradlew test"}, ["./gradlew connectedAndroidTest"])


@pytest.mark.parametrize(("files", "what"), LEFT_OUT.values(), ids=LEFT_OUT.keys())
def test_tests_that_settings_leave_out_are_named(files: dict[str, str], what: str) -> None:
    assert found(files)[1] == [what]


def test_a_workflow_without_tests_gives_no_test_command() -> None:
    files = {"a.mjs": "", ".github/workflows/ci.yml": WORKFLOW % "npx eslint . && npm publish"}
    assert found(files) == ({}, [])


ENTRY = '#!/bin/sh\n. ./calc.sh\nif [ "$(add 1 2)" = 3 ]; then echo right; else echo wrong; exit 1; fi\n'


@pytest.mark.parametrize("path", ["run_tests.sh", "run-tests", "tests/run.sh"])
def test_a_script_that_runs_all_tests_is_found_if_nothing_else_is_tested(path: str) -> None:
    checks, unrun = found({"calc.sh": "add() { echo $(($1 + $2)); }\n", path: ENTRY})
    assert path in str(checks["test"]) or "*" in str(checks["test"])
    assert not unrun


def test_a_script_that_runs_the_tests_of_another_language_is_no_check_of_its_own() -> None:
    checks, _ = found({**PYTHON, "run_tests.sh": "#!/bin/sh\npython3 -m pytest -q\n"})
    assert not any("run_tests" in str(value) for value in checks.values())


LOOP = "for f in cases/*.in; do\n  if ! ./calc < $f | diff - ${f%.in}.out; then failed=1; fi\ndone\n"


def test_a_script_that_ends_with_a_failure_that_a_loop_remembers_runs_as_a_whole() -> None:
    checks, _ = found({"calc": "", "cases/a.in": "", "run_tests.sh": f"#!/bin/sh\nfailed=0\n{LOOP}exit $failed\n"})
    assert checks["test"] == "sh run_tests.sh"


def test_specs_of_ruby_without_a_gemfile_are_found_where_rspec_is_installed() -> None:
    files = {"lib/calc.rb": "", "spec/calc_spec.rb": ""}
    assert found(files)[0]["test"] == "rspec"
    assert "test" not in found(files, has_program=lambda name: name != "rspec")[0]
    checks, _ = found({"lib/calc.rb": "", "test/calc_test.rb": ""})
    assert str(checks["test"]).startswith("ruby -Ilib -Itest")
