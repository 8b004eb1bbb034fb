"""What a project's own test command adds to the bare runner: variables, options and further commands."""

from __future__ import annotations

from typing import Any

import pytest

from burnish.checks.discover import decide, discover
from burnish.checks.tools import Surroundings
from testing.layouts import PYTEST, TEST, package

# a conftest.py would be the reason for pytest
PLUGIN = "parser.addoption('--runslow')\nparser.addoption('--stage')\n"
SCRIPTS = dict.fromkeys(("smoke.py", "integration.py", "tools/smoke.py", "tests/smoke.py"), "")
CALC = {"calc.py": "", "test_calc.py": TEST, "plugin.py": PLUGIN, **SCRIPTS}
GO = {"go.mod": "module x\n", "x_test.go": ""}
RUST = {"Cargo.toml": '[package]\nname = "x"\n', "src/lib.rs": ""}


def checks(files: dict[str, str], **around: Any) -> dict[str, Any]:
    found = decide(discover(files, files.get, Surroundings(**around)))
    return {one.key[-1]: one.value for one in found if one.key[0] == "checks" and one.key[-1] != "lint"}


def unrun(files: dict[str, str], **around: Any) -> list[str]:
    return [one.words("") for tools in discover(files, files.get, Surroundings(**around)) for one in tools.unrun_tests]


def make(text: str) -> dict[str, str]:
    return {**CALC, "Makefile": text}


SLOW = "python3 -m pytest -q"
VARIABLES: dict[str, tuple[dict[str, str], str]] = {
    "before the runner": (make("test:\n\tRUN_SLOW=1 pytest\n"), f"RUN_SLOW=1 {SLOW}"),
    "behind env": (make("test:\n\tenv RUN_SLOW=1 python -m pytest tests\n"), f"RUN_SLOW=1 {SLOW}"),
    "exported by the Makefile": (make("export TZ = Asia/Tokyo\ntest:\n\tpytest\n"), f"TZ=Asia/Tokyo {SLOW}"),
    "exported by name": (make("TZ := UTC\nexport TZ\ntest:\n\tpytest\n"), f"TZ=UTC {SLOW}"),
    "exported for a target": (make("test: export RUN_SLOW=1\ntest:\n\tpytest\n"), f"RUN_SLOW=1 {SLOW}"),
    "of an included file": (
        {**make("include .env\nexport\ntest:\n\tpytest\n"), ".env": "LEVEL=full\n"},
        f"LEVEL=full {SLOW}",
    ),
    "exported in the line": (make("test:\n\texport RUN_SLOW=1; pytest\n"), f"RUN_SLOW=1 {SLOW}"),
    "of a variable": (make("ENV ?= RUN_SLOW=1\nPY = python3\ntest:\n\t$(ENV) $(PY) -m pytest\n"), f"RUN_SLOW=1 {SLOW}"),
    "a search path": (make("test:\n\tPYTHONPATH=$(CURDIR)/src:$$PYTHONPATH pytest\n"), f"PYTHONPATH=./src {SLOW}"),
    "with make called again": (make("test:\n\t$(MAKE) unit RUN=1\nunit:\n\tSLOW=$(RUN) pytest\n"), f"SLOW=1 {SLOW}"),
    "of tox": (
        {**CALC, "tox.ini": "[testenv]\nsetenv =\n    RUN_SLOW=1\ncommands = pytest {posargs}\n"},
        f"RUN_SLOW=1 {SLOW}",
    ),
    "of an environment of tox": (
        {
            **CALC,
            "tox.ini": "[tox]\nenvlist = py312,lint\n[testenv]\nset_env = A = b\n"
            "commands = pytest\n[testenv:lint]\ncommands = ruff check\n",
        },
        f"A=b {SLOW}",
    ),
    "of tox in TOML": (
        {
            **CALC,
            "tox.toml": 'env_list = ["py"]\n[env_run_base]\ncommands = [["pytest"]]\nset_env = { RUN_SLOW = "1" }\n',
        },
        f"RUN_SLOW=1 {SLOW}",
    ),
    "of nox": (
        {
            **CALC,
            "noxfile.py": "import nox\n@nox.session\ndef tests(session):\n"
            '    session.run("pytest", *session.posargs, env={"RUN_SLOW": "1"})\n',
        },
        f"RUN_SLOW=1 {SLOW}",
    ),
    "of a script": ({**CALC, "run_tests.sh": "#!/bin/sh\nset -e\nexport RUN_SLOW=1\npytest\n"}, f"RUN_SLOW=1 {SLOW}"),
    "of a justfile": ({**CALC, "justfile": "export RUN_SLOW := '1'\n\ntest:\n    pytest\n"}, f"RUN_SLOW=1 {SLOW}"),
    "of a Taskfile": (
        {**CALC, "Taskfile.yml": 'version: "3"\ntasks:\n  test:\n    env: {RUN_SLOW: "1"}\n    cmds: [pytest]\n'},
        f"RUN_SLOW=1 {SLOW}",
    ),
    "of pdm": (
        {
            **CALC,
            "pyproject.toml": '[tool.pdm.scripts]\n_.env = {A = "1"}\n'
            'test = {cmd = "pytest", env = {RUN_SLOW = "1"}}\n',
        },
        "A=1 RUN_SLOW=1 pdm run python -m pytest -q",
    ),
    "of poe": (
        {**CALC, "pyproject.toml": '[tool.poe.tasks.test]\ncmd = "pytest"\nenv = {RUN_SLOW = "1"}\n'},
        f"RUN_SLOW=1 {SLOW}",
    ),
    "of hatch": (
        {
            **CALC,
            "pyproject.toml": '[tool.hatch.envs.default.env-vars]\nRUN_SLOW = "1"\n'
            '[tool.hatch.envs.default.scripts]\ntest = "pytest {args:tests}"\n',
        },
        f"RUN_SLOW=1 {SLOW}",
    ),
    "as an option of the interpreter": (make("test:\n\tpython -W error -m pytest\n"), f"PYTHONWARNINGS=error {SLOW}"),
}


@pytest.mark.parametrize(("files", "expected"), VARIABLES.values(), ids=VARIABLES.keys())
def test_variables_of_the_project_s_command_reach_its_runner(files: dict[str, str], expected: str) -> None:
    assert checks(files)["test"] == expected


OPTIONS: dict[str, tuple[dict[str, str], Any]] = {
    "pytest": (make("test:\n\tpytest -v --runslow --cov=calc tests/ -x\n"), (*PYTEST, "--runslow")),
    "pytest with a value": (
        make("test:\n\tpytest -W error --stage full\n"),
        (*PYTEST, "-W", "error", "--stage", "full"),
    ),
    "pytest below coverage": (make("test:\n\tcoverage run -m pytest --runslow\n"), (*PYTEST, "--runslow")),
    "pytest with PYTEST_ADDOPTS": (make("test:\n\tPYTEST_ADDOPTS=--runslow pytest\n"), (*PYTEST, "--runslow")),
    "pytest below tox": (
        {**CALC, "tox.ini": "[testenv]\ncommands = pytest --runslow {posargs}\n"},
        (*PYTEST, "--runslow"),
    ),
    "pytest in another command": (
        make("test:\n\tpytest\ncheck: lint\n\tpytest --runslow\nlint:\n\truff check\n"),
        (*PYTEST, "--runslow"),
    ),
    "go": (
        {**GO, "Makefile": "test:\n\tgo test -race -v -tags integration ./...\n"},
        "go test -race -tags integration ./...",
    ),
    "go with flags of the tests": (
        {**GO, "Makefile": "test:\n\tgo test ./... -args -full\n"},
        "go test ./... -args -full",
    ),
    "cargo": ({**RUST, "justfile": "test:\n  cargo test -- --include-ignored\n"}, "cargo test -- --include-ignored"),
    "cargo with features": (
        {**RUST, "Makefile": "test:\n\tcargo test --features full\n"},
        "cargo test --features full",
    ),
    "unittest": (
        {
            "tests/test_a.py": "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): ...\n",
            "Makefile": "test:\n\tX=1 python -m unittest\n",
        },
        "X=1 python3 -m unittest discover -s tests",
    ),
    "Maven": ({"pom.xml": "<project/>", "Makefile": "test:\n\tmvn test -Pfull\n"}, "mvn -q -B test -Pfull"),
    "npm": ({"package.json": package({"test": "jest"}), "Makefile": "test:\n\tTZ=UTC npm test\n"}, "TZ=UTC npm test"),
}


@pytest.mark.parametrize(("files", "expected"), OPTIONS.values(), ids=OPTIONS.keys())
def test_options_of_the_project_s_command_reach_its_runner(files: dict[str, str], expected: Any) -> None:
    assert checks(files)["test"] == expected


FURTHER: dict[str, tuple[dict[str, str], list[Any]]] = {
    "unittest with a pattern of its own": (
        {
            "tests/__init__.py": "",
            "tests/test_a.py": "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): ...\n",
            "tests/check_b.py": "import unittest\nclass T(unittest.TestCase):\n    def test_b(self): ...\n",
            "Makefile": "test:\n\tpython -m unittest discover -s tests -t . -p 'check_*.py'\n",
        },
        [("python", "-m", "unittest", "discover"), "python3 -m unittest discover -s tests -t . -p 'check_*.py'"],
    ),
    "after the runner": (make("test:\n\tpytest\n\tpython smoke.py\n"), [PYTEST, "python3 smoke.py"]),
    "in one line": (make("test:\n\tpytest && python smoke.py --all\n"), [PYTEST, "python3 smoke.py --all"]),
    "of another target": (
        make("test:\n\tpytest\nintegration:\n\tpython integration.py\ncheck: test integration\n"),
        [PYTEST, "python3 integration.py"],
    ),
    "with variables": (
        make("export A=1\nci:\n\tpytest\n\tB=2 python smoke.py\n"),
        [f"A=1 {SLOW}", "A=1 B=2 python3 smoke.py"],
    ),
    "in a folder": (make("test:\n\tpytest\n\tcd tools && python smoke.py\n"), [PYTEST, "cd tools && python3 smoke.py"]),
    "in a loop": (
        make("test:\n\tpytest\n\tfor f in a b; do python smoke.py $$f || exit 1; done\n"),
        [PYTEST, "sh -c 'for f in a b; do python smoke.py $f || exit 1; done'"],
    ),
    "named by the variable of a loop": (
        {
            **make("test:\n\t./ci/all.sh\n"),
            "ci/all.sh": "#!/bin/sh\npytest\nfor f in smoke.py; do\n  python3 $f\ndone\n",
        },
        [PYTEST, "sh -c 'for f in smoke.py; do python3 $f; done'"],
    ),
    "the same runner with other variables": (
        make("test:\n\tTZ=UTC pytest\n\tTZ=Asia/Tokyo pytest\n"),
        [f"TZ=UTC {SLOW}", f"TZ=Asia/Tokyo {SLOW}"],
    ),
    "the same runner for some tests": (
        make("test:\n\tpytest tests/unit\n\tRUN_SLOW=1 pytest tests/slow\n"),
        [PYTEST, f"RUN_SLOW=1 {SLOW} tests/slow"],
    ),
    "two commands of tox": (
        {**CALC, "tox.ini": "[testenv]\ncommands =\n    pytest\n    python smoke.py\n"},
        [PYTEST, "python3 smoke.py"],
    ),
    "two sessions of nox": (
        {
            **CALC,
            "noxfile.py": 'import nox\n@nox.session\ndef tests(session):\n    session.run("pytest")\n\n\n@nox.session\n'
            'def smoke(session):\n    session.run("python", "smoke.py")\n'
            '@nox.session\ndef lint(session):\n    session.run("ruff")\n',
        },
        [PYTEST, "python3 smoke.py"],
    ),
    "of a script": (
        {
            **CALC,
            "scripts/test": '#!/usr/bin/env bash\nset -euo pipefail\ncd "$(dirname "$0")/.."\n'
            'ruff check\npytest "$@"\npython smoke.py\n',
        },
        [PYTEST, "python3 smoke.py"],
    ),
    "of a script below make": (
        {**make("test:\n\t./scripts/check_all.sh\n"), "scripts/check_all.sh": "#!/bin/sh\npytest\npython smoke.py\n"},
        [PYTEST, "python3 smoke.py"],
    ),
    "of a justfile": (
        {**CALC, "justfile": "test: unit\n  python smoke.py\nunit:\n  pytest\n"},
        [PYTEST, "python3 smoke.py"],
    ),
    "of a Taskfile": (
        {**CALC, "Taskfile.yml": 'version: "3"\ntasks:\n  test: [pytest, python smoke.py]\n'},
        [PYTEST, "python3 smoke.py"],
    ),
    "of pdm": (
        {
            **CALC,
            "pyproject.toml": '[tool.pdm.scripts]\ntest = {composite = ["unit", "smoke"]}\n'
            'unit = "pytest"\nsmoke = "python smoke.py"\n',
        },
        ["pdm run python -m pytest -q", "python3 smoke.py"],
    ),
    "of poe": (
        {
            **CALC,
            "pyproject.toml": '[tool.poe.tasks]\ntest = ["unit", "smoke"]\n'
            'unit = "pytest"\nsmoke.cmd = "python smoke.py"\n',
        },
        [PYTEST, "python3 smoke.py"],
    ),
    "of hatch": (
        {**CALC, "pyproject.toml": '[tool.hatch.envs.default.scripts]\ntest = ["pytest", "python smoke.py"]\n'},
        [PYTEST, "python3 smoke.py"],
    ),
    "of npm": (
        {
            "package.json": package(
                {
                    "test": "jest",
                    "smoke": "node smoke.js",
                    "lint": "eslint .",
                    "ci": "npm run lint && npm test && npm run smoke",
                }
            )
        },
        ["npm test", "npm run smoke"],
    ),
    "of rake": (
        {
            "Rakefile": 'require "rake/testtask"\nRake::TestTask.new\ntask default: [:test, :integration, :rubocop]\n',
            "test/test_a.rb": "",
        },
        ["rake test", "rake integration"],
    ),
    "of rake in the old style": (
        {"Rakefile": "Rake::TestTask.new\ntask :default => %w[test integration]\n", "test/test_a.rb": ""},
        ["rake test", "rake integration"],
    ),
    "of go": (
        {**GO, "Makefile": "test:\n\tgo test ./...\n\tgo run ./cmd/smoke\n"},
        ["go test ./...", "go run ./cmd/smoke"],
    ),
    "of go with another tag": (
        {**GO, "Makefile": "test:\n\tgo test ./...\n\tgo test -tags integration ./integration/...\n"},
        ["go test ./...", "go test -tags integration ./integration/..."],
    ),
    "of cargo": (
        {**RUST, "Makefile": "test:\n\tcargo test\n\tcargo test -- --ignored\n"},
        ["cargo test", "cargo test -- --ignored"],
    ),
    "of a script that cannot be read": (
        {**CALC, "run_tests.sh": "#!/bin/bash\nsmoke() {\n  python smoke.py\n}\npytest\nsmoke\n"},
        [PYTEST, "bash run_tests.sh"],
    ),
    "that a preparation precedes": (
        make("test:\n\tpytest\n\tmkdir -p out\n\tpython smoke.py out\n"),
        [PYTEST, "mkdir -p out && python3 smoke.py out"],
    ),
    "below a manager": (
        {**make("test:\n\tuv run pytest\n\tuv run tests/smoke.py\n"), "uv.lock": ""},
        ["uv run --no-sync python -m pytest -q", "uv run --no-sync tests/smoke.py"],
    ),
    "whose file make alone knows": (make("test:\n\tpytest\n\tpython3 $(wildcard smok*.py)\n"), [PYTEST, "make test"]),
    "that a function of make writes": (make("test:\n\tpytest\n\t$(call run,smoke)\n"), [PYTEST, "make test"]),
    "that make alone can read": (
        make("test:\n\tpytest\n\tpython smoke.py $(wildcard data/*.csv)\n"),
        [PYTEST, "make test"],
    ),
}


@pytest.mark.parametrize(("files", "expected"), FURTHER.values(), ids=FURTHER.keys())
def test_further_commands_are_checks_of_their_own(files: dict[str, str], expected: list[Any]) -> None:
    assert list(checks(files).values()) == expected


NOTHING = {
    "coverage and colours": make(
        "test:\n\tPYTHONUNBUFFERED=1 pytest -vv --tb=short --cov --cov-report term -n auto tests\n"
    ),
    "linters": make("test: lint\n\tpytest\nlint:\n\truff check\ncheck: lint test\n\tflake8 calc.py\n"),
    "installation": make("test:\n\tpip install -e .\n\tpython -m pip install pytest\n\tpytest\n\tcoverage report\n"),
    "messages and files": make(
        "test:\n\t@echo run\n\trm -rf out\n\t@mkdir -p out\n"
        '\tpytest | tee out/log\n\t@if [ -n "$$X" ]; then echo x; fi\n'
    ),
    "tox below make": {
        **make("test:\n\ttox -q\n"),
        "tox.ini": "[tox]\nenvlist = py311\n[testenv]\ndeps = pytest\ncommands = pytest {posargs}\n",
    },
    "docs and types of tox": {
        **CALC,
        "tox.ini": "[tox]\nenvlist = py311,docs,mypy\n[testenv]\n"
        "commands = pytest\n[testenv:docs]\ncommands = sphinx-build a b\n",
    },
    "variables of a script": {
        **CALC,
        "scripts/test": '#!/bin/sh\nexport PREFIX=""\nif [ -d venv ]; then\n  export PREFIX="venv/bin/"\nfi\n'
        'FILES="a b"\n${PREFIX}ruff check $FILES\n${PREFIX}coverage run -m pytest "$@"\n',
    },
    "functions of make without words": make("FLAGS ?= $(filter -g,${CFLAGS})\nexport FLAGS\ntest:\n\tpytest\n"),
    "messages of make": make("test:\n\t$(info running tests)\n\tpytest\n"),
    "another environment": make(
        "VENV = .venv\ntest: $(VENV)\n\t$(VENV)/bin/pytest\n$(VENV):\n\tpython -m venv .venv\n"
    ),
}


@pytest.mark.parametrize("files", NOTHING.values(), ids=NOTHING.keys())
def test_a_command_that_adds_nothing_leaves_the_bare_runner(files: dict[str, str]) -> None:
    assert checks(files) == {"test": PYTEST}


@pytest.mark.parametrize(
    "line",
    [
        'test "$$(cat calc.txt)" = "1 + 2"',
        "diff out.txt expected.txt",
        "! grep -q ERROR out.txt",
        "python3 gen.py | diff -u colors.py -",
        "@./calc 1 2 | sort | grep -qx 3",
    ],
)
def test_a_line_that_compares_is_run_with_the_whole_command(line: str) -> None:
    assert "make test" in checks(make(f"test:\n\tpytest\n\t{line}\n")).values()


@pytest.mark.parametrize("line", ["test -d .venv", '[ -n "$$HOME" ]', "[ -f x ] || touch x"])
def test_a_question_whether_something_exists_adds_nothing(line: str) -> None:
    assert "make test" not in checks(make(f"test:\n\t{line}\n\tpytest\n")).values()


@pytest.mark.parametrize("line", ["ls | grep -q x || true", "diff a b | cat", "git log | head -1"])
def test_a_comparison_that_cannot_fail_adds_nothing(line: str) -> None:
    assert "make test" not in checks(make(f"test:\n\tpytest\n\t{line}\n")).values()


def test_an_option_whose_plugin_is_unknown_is_named_and_not_used() -> None:
    files = make("test:\n\tpytest\n\tpytest --nbval book.ipynb\n")
    assert checks(files) == {"test": PYTEST}
    assert unrun(files) == ["`pytest --nbval`: `make test` uses this option, and the set-up may not install its plugin"]


@pytest.mark.parametrize(
    "command",
    [
        "coveralls",
        "rstcheck README.rst",
        "python tools/generate_docs.py",
        "./scripts/build.sh",
        "codacy report -r x.xml",
    ],
)
def test_commands_that_are_not_tests_are_not_run(command: str) -> None:
    files = {**make(f"test:\n\tpytest\n\t{command}\n"), "tools/generate_docs.py": "", "scripts/build.sh": ""}
    assert checks(files) == {"test": PYTEST}


def test_the_reason_names_the_command_that_a_check_is_from() -> None:
    files = make("test:\n\tRUN_SLOW=1 pytest\n\tpython smoke.py\n")
    reasons = [one.why for one in decide(discover(files, files.get))]
    assert [why for why in reasons if "`make test` in Makefile" in why] == reasons


def test_commands_that_start_services_are_named_and_not_run() -> None:
    files = make("test:\n\tpytest\nintegration:\n\tdocker compose up -d\n\tDB=1 pytest -m db\nci: test integration\n")
    assert checks(files) == {"test": PYTEST}
    assert unrun(files) == ["`make ci`: it may need services (docker)"]


def test_a_further_command_whose_program_is_missing_is_named() -> None:
    files = make("test:\n\tpytest\n\tbats spec\n")
    assert checks(files, has_program=lambda name: name != "bats") == {"test": PYTEST}
    assert unrun(files, has_program=lambda name: name != "bats") == [
        "`bats spec`: `make test` runs it, and bats is not installed here"
    ]


def test_a_script_that_the_repository_does_not_have_is_named() -> None:
    files = make("test:\n\tpytest\n\tpython other/smoke.py\n")
    assert checks(files) == {"test": PYTEST}
    assert unrun(files) == ["`python3 other/smoke.py`: `make test` runs it, and the repository has no other/smoke.py"]


def test_programs_of_the_project_need_not_be_installed_to_be_read() -> None:
    files = {**CALC, "tox.ini": "[testenv]\ncommands =\n    pytest --runslow\n    python smoke.py\n"}
    assert list(checks(files, has_program=lambda name: name in ("python", "python3")).values()) == [
        (*PYTEST, "--runslow"),
        "python3 smoke.py",
    ]


def test_tests_that_a_taken_option_selects_are_not_named_as_unrun() -> None:
    files = {
        **make("test:\n\tpytest\n\tpytest -m slow\n"),
        "pytest.ini": "[pytest]\naddopts = -m 'not slow'\n",
    }
    assert checks(files) == {"test": PYTEST, "python-test": (*PYTEST, "-m", "slow")}
    assert unrun(files) == []


def test_commands_of_the_root_belong_to_the_part_whose_folder_they_enter() -> None:
    files = {
        "Makefile": "test:\n\tcd api && RUN_SLOW=1 pytest\n\tcd web && npm test\n",
        "api/pyproject.toml": "",
        "api/test_a.py": TEST,
        "web/package.json": package({"test": "jest"}),
    }
    found = decide(discover(files, files.get))
    assert {(one.cwd, one.value) for one in found if one.key[0] == "checks"} == {
        ("api", f"RUN_SLOW=1 {SLOW}"),
        ("web", "npm test"),
    }


SDK = '<Project><PackageReference Include="Microsoft.NET.Test.Sdk" /></Project>'
SYSTEMS: dict[str, tuple[dict[str, str], list[Any]]] = {
    ".NET": ({"Calc.sln": "", "tests/Calc.Tests/Calc.Tests.csproj": SDK}, ["dotnet test"]),
    ".NET without a solution": (
        {"tests/A/A.csproj": SDK, "src/B.csproj": "<Project/>"},
        ["dotnet test tests/A/A.csproj"],
    ),
    "Elixir": ({"mix.exs": "", "test/calc_test.exs": ""}, ["mix test"]),
    "Bazel": ({"MODULE.bazel": "", "BUILD": 'sh_test(\n    name = "smoke",\n)\n'}, ["bazel test //..."]),
    "Ant": ({"build.xml": '<project><target name="test" depends="build"/></project>'}, ["ant test"]),
    "just alone": ({"justfile": "test:\n  ./calc --selftest\n", "calc": "#!/usr/bin/perl\n"}, ["./calc --selftest"]),
}


@pytest.mark.parametrize(("files", "expected"), SYSTEMS.values(), ids=SYSTEMS.keys())
def test_tests_of_further_build_systems_are_found_alone_and_beside_python(
    files: dict[str, str], expected: list[Any]
) -> None:
    assert list(checks(files).values()) == expected
    assert list(checks({**CALC, **files}).values()) in ([PYTEST, *expected], [*expected, PYTEST])


@pytest.mark.parametrize("name", [".NET", "Elixir", "Bazel", "Ant"])
def test_beside_other_tests_a_build_system_that_is_not_installed_is_named(name: str) -> None:
    files, commands = SYSTEMS[name]
    program = commands[0].split()[0]
    around = {"has_program": lambda one: one != program}
    assert checks({**CALC, **files}, **around) == {"test": PYTEST}
    assert unrun({**CALC, **files}, **around)[0].startswith(f"`{commands[0]}`: {program} is not installed here")


def test_bazel_does_not_run_the_tests_of_go_again() -> None:
    assert checks({**GO, "WORKSPACE": "", "BUILD.bazel": 'go_test(\n    name = "x",\n)\n'}) == {"test": "go test ./..."}
