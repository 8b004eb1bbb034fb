"""What a project would test beside the bare runner is a check, or `init` names it as not run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from burnish.checks.discover import decide, discover, find_checks
from burnish.checks.tools import Surroundings
from burnish.core.policy import CheckSpec
from testing.layouts import PYTEST, TEST

CALC = {"calc.py": "", "test_calc.py": TEST, "smoke.py": "", "invariants.py": "", "it/sub.py": "", "chk/sub.py": ""}
SCRIPT = '{"name": "calc", "scripts": {"test": "node test.js"%s}}'
NODE = {"package.json": SCRIPT % "", "test.js": ""}
RUST = {"Cargo.toml": '[package]\nname = "x"\n', "src/lib.rs": ""}
WORKFLOW = (
    "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: checkout@v4\n      - run: %s\n"
)
HOOKS = (
    "repos:\n- repo: https://example.org/mirrors-mypy\n  rev: v1\n  hooks:\n  - {id: mypy, args: [--strict]}\n"
    "  - {id: end-of-file-fixer}\n"
)
LOCAL_HOOK = "repos:\n- repo: local\n  hooks:\n  - {id: mine, entry: python smoke.py, language: system}\n"
MESON = "project('x', 'c')\ntest('a', executable('a', 'a.c'))\n"
CMAKE = "project(x C)\nenable_testing()\n"


def settings(files: dict[str, str], **around: Any) -> dict[str, Any]:
    found = decide(discover(files, files.get, Surroundings(**around)))
    return {one.key[-1]: one.value for one in found if one.key[0] == "checks"}


def unrun(files: dict[str, str], **around: Any) -> list[str]:
    found = discover(files, files.get, Surroundings(**around))
    return [one.what for tools in found for one in tools.unrun_tests]


def make(text: str) -> dict[str, str]:
    return {**CALC, "Makefile": text}


RUN: dict[str, tuple[dict[str, str], str, Any]] = {
    "a type checker": (
        {**make("test:\n\tpytest\n\tmypy --strict calc.py\n"), "requirements-dev.txt": "pytest\nmypy\n"},
        "python-test",
        "mypy --strict calc.py",
    ),
    "a module of the tree": (make("test:\n\tpytest\n\tpython -m invariants\n"), "python-test", "python3 -m invariants"),
    "tasks of invoke": (
        {
            **CALC,
            "tasks.py": "from invoke import task\n@task\ndef test(c):\n    c.run('pytest')\n"
            "    c.run('python smoke.py')\n",
        },
        "python-test",
        "python3 smoke.py",
    ),
    "a command of tox in another folder": (
        {**CALC, "tox.ini": "[testenv]\nchangedir = chk\ncommands =\n    pytest\n    python sub.py\n"},
        "python-test",
        "cd chk && python3 sub.py",
    ),
    "a command of tox in another folder with a search path": (
        {
            **CALC,
            "tox.ini": "[testenv]\nsetenv = PYTHONPATH={toxinidir}\nchangedir = chk\n"
            "commands =\n    pytest {toxinidir}\n    python sub.py\n",
        },
        "python-test",
        "cd chk && PYTHONPATH=../ python3 sub.py",
    ),
    "options for the script of a package": (
        {**NODE, "Makefile": "test:\n\tnpm test -- --slow --coverage\n"},
        "test",
        "npm test -- --slow",
    ),
    "options with a value": (
        {**NODE, "package.json": SCRIPT % ', "ci": "npm test -- --reporter dot --stage full a.test.js"'},
        "test",
        "npm test -- --stage full",
    ),
    "options behind yarn": ({**NODE, "Makefile": "test:\n\tyarn test --slow\n"}, "test", "npm test -- --slow"),
    "a program that another target builds": (
        {
            "a.c": "",
            "Makefile": "test: t_a\n\t./t_a\n\ncheck: t_a t_b\n\t./t_a\n\t./t_b\n\nt_%: t_%.c\n\t$(CC) -o $@ $^\n",
        },
        "make-test",
        "make check",
    ),
    "an option of meson": (
        {"a.c": "", "meson.build": MESON, "meson_options.txt": "option('slow_tests', type: 'boolean', value: false)\n"},
        "build",
        "meson setup build -Dslow_tests=true",
    ),
    "a feature of meson": (
        {
            "a.c": "",
            "meson.build": MESON,
            "meson.options": "option('x', type: 'feature', value: 'auto', description: 'Build the tests')\n",
        },
        "build",
        "meson setup build -Dx=enabled",
    ),
    "an option of CMake whose description names tests": (
        {"a.c": "", "CMakeLists.txt": f'{CMAKE}option(SLOW "Run slow tests" OFF)\n'},
        "build",
        "cmake -S . -B build -DSLOW=ON && cmake --build build",
    ),
}


@pytest.mark.parametrize(("files", "name", "command"), RUN.values(), ids=RUN.keys())
def test_what_the_project_s_command_runs_is_part_of_the_checks(files: dict[str, str], name: str, command: str) -> None:
    assert settings(files)[name] == command


CI_FILES = {
    ".gitlab-ci.yml": "stages: [test]\ntest:\n  script:\n    - pytest\n    - python smoke.py\n",
    ".circleci/config.yml": "jobs:\n  test:\n    steps:\n      - checkout\n      - run: pytest\n"
    "      - run:\n          name: smoke\n          command: python smoke.py\n",
    ".travis.yml": "language: python\nscript:\n  - pytest\n  - python smoke.py\n",
    "azure-pipelines.yml": "jobs:\n  - job: test\n    steps:\n      - script: pytest\n      - bash: python smoke.py\n",
    "bitbucket-pipelines.yml": "pipelines:\n  default:\n    - step:\n        script:\n          - pytest\n"
    "          - python smoke.py\n",
}
TYPED_JOB = WORKFLOW % "pytest" + "  types:\n    runs-on: ubuntu-latest\n    steps:\n      - run: mypy calc.py\n"

NAMED: dict[str, tuple[dict[str, str], str]] = {
    **{f"a script in {name}": ({**CALC, name: text}, "python3 smoke.py") for name, text in CI_FILES.items()},
    "a type checker of pre-commit": ({**CALC, ".pre-commit-config.yaml": HOOKS}, "mypy --strict"),
    "a hook of the repository itself": (
        {**CALC, ".pre-commit-config.yaml": LOCAL_HOOK},
        "python3 smoke.py",
    ),
    "a type checker in a workflow": ({**CALC, ".github/workflows/ci.yml": TYPED_JOB}, "mypy calc.py"),
    "a script in a workflow that checks types": (
        {
            "package.json": SCRIPT % ', "typecheck": "tsc --noEmit"',
            "test.js": "",
            ".github/workflows/ci.yml": WORKFLOW % "npm test" + "      - run: npm run typecheck\n",
        },
        "npm run typecheck",
    ),
    "a coverage in the settings alone": ({**CALC, ".coveragerc": "[report]\nfail_under = 90\n"}, "coverage report"),
    "bats that is not installed": ({**CALC, "test/add.bats": "@test 'adds' {\n  true\n}\n"}, "bats -r test"),
    "scons that is not installed": ({**CALC, "SConstruct": "env.Alias('test', run)\n"}, "scons -Q test"),
    "a coverage below make": (
        make("test:\n\tcoverage run -m pytest\n\tcoverage report --fail-under=90\n"),
        "coverage report --fail-under=90",
    ),
    "a coverage in the settings": (
        {**make("test:\n\tcoverage run -m pytest\n\tcoverage report\n"), ".coveragerc": "[report]\nfail_under = 90\n"},
        "coverage report",
    ),
    "a coverage as an option": (make("test:\n\tpytest --cov=calc --cov-fail-under=90\n"), "pytest --cov-fail-under=90"),
    "a type checker that the set-up may not install": (
        {**make("test:\n\tpytest\n\tmypy calc.py\n"), "requirements.txt": "requests\npytest\n"},
        "mypy calc.py",
    ),
    "an unknown program": (make("test:\n\tpytest\n\thyperlint run calc\n"), "hyperlint run calc"),
    "a target": (make("test:\n\tpytest\ntest-integration:\n\tpython it/sub.py\n"), "make test-integration"),
    "a target where no test target is": (make("e2e:\n\tpython it/sub.py\n"), "make e2e"),
    "a target with a variable": (make("test:\n\tpytest\nfull:\n\tFULL=1 pytest\n"), "make full"),
    "a recipe of just": ({**CALC, "justfile": "test:\n    pytest\nsmoke:\n    python it/sub.py\n"}, "just smoke"),
    "an environment of tox": (
        {
            **CALC,
            "tox.ini": "[tox]\nenv_list = py311\n[testenv]\ncommands = pytest\n"
            "[testenv:integration]\ncommands = python it/sub.py\n",
        },
        "tox -e integration",
    ),
    "a session of nox": (
        {
            **CALC,
            "noxfile.py": "import nox\nnox.options.sessions = ['tests']\n@nox.session\ndef tests(session):\n"
            "    session.run('pytest')\n@nox.session\ndef integration(session):\n"
            "    session.run('python', 'it/sub.py')\n",
        },
        "nox -s integration",
    ),
    "a task of rake": (
        {
            "Rakefile": "Rake::TestTask.new(:test)\ntask(:integration) { sh 'ruby it.rb' }\ntask default: :test\n",
            "test/test_x.rb": "",
        },
        "rake integration",
    ),
    "a script of a package": ({**NODE, "package.json": SCRIPT % ', "it": "node it/sub.js"'}, "npm run it"),
    "test files beside those that a script names": (
        {
            "package.json": SCRIPT.replace("node test.js", "node --test test/unit/") % "",
            "test/unit/a.test.js": "",
            "test/integration/b.test.js": "",
        },
        "tests in test/integration",
    ),
    "projects of jest that a script does not select": (
        {"package.json": SCRIPT.replace("node test.js", "jest --selectProjects unit") % "", "a.test.js": ""},
        "other projects of the test runner",
    ),
    "a step of a workflow": (
        {**CALC, ".github/workflows/ci.yml": WORKFLOW % "|\n          pytest\n          python smoke.py\n"},
        "python3 smoke.py",
    ),
    "an option in a workflow": (
        {**NODE, ".github/workflows/ci.yml": WORKFLOW % "npm test -- --slow"},
        "npm test -- --slow",
    ),
    "marks in .pytest.ini": ({**CALC, ".pytest.ini": "[pytest]\naddopts = -m 'not slow'\n"}, "pytest -m slow"),
    "marks in pytest.toml": ({**CALC, "pytest.toml": '[pytest]\naddopts = ["-m", "not slow"]\n'}, "pytest -m slow"),
    "marks in tool.pytest": (
        {**CALC, "pyproject.toml": '[tool.pytest]\naddopts = ["-m", "not slow"]\n'},
        "pytest -m slow",
    ),
    "an option of conftest.py": (
        {
            **CALC,
            "conftest.py": "def pytest_addoption(parser):\n    parser.addoption('--runslow', action='store_true')\n",
        },
        "pytest --runslow",
    ),
    "tests that unittest loads": (
        {
            **CALC,
            "tests/test_doc.py": "def load_tests(loader, tests, ignore):\n    tests.addTests(DocTestSuite(calc))\n",
        },
        "python -m unittest tests.test_doc",
    ),
    "tests in examples": ({**RUST, "examples/demo.rs": "fn main() {}\n#[test]\nfn x() {}\n"}, "cargo test --examples"),
    "a target without tests": (
        {**RUST, "Cargo.toml": '[package]\nname = "x"\n[[test]]\nname = "sub"\ntest = false\n'},
        "cargo test --test sub",
    ),
    "presets of CMake": (
        {
            "a.c": "",
            "CMakeLists.txt": CMAKE,
            "CMakePresets.json": '{"configurePresets": [{"cacheVariables": {"X": 1}}]}',
        },
        "cmake --preset",
    ),
    "a configuration of CMake": (
        {"a.c": "", "CMakeLists.txt": f"{CMAKE}add_test(NAME a COMMAND a CONFIGURATIONS Release)\n"},
        "ctest -C Release",
    ),
    "a suite of meson": (
        {"a.c": "", "meson.build": f"{MESON}add_test_setup('q', exclude_suites: ['slow'], is_default: true)\n"},
        "meson test --suite slow",
    ),
}


@pytest.mark.parametrize(("files", "words"), NAMED.values(), ids=NAMED.keys())
def test_what_no_check_runs_is_named(files: dict[str, str], words: str) -> None:
    assert unrun(files, has_program=lambda name: name not in ("mypy", "hyperlint", "bats", "scons")) == [words]


NOTHING = {
    "a coverage that pytest-cov measures": {
        **CALC,
        ".coveragerc": "[report]\nfail_under = 90\n",
        "pytest.ini": "[pytest]\naddopts = --cov=calc\n",
    },
    "the same tests in a file of GitLab": {
        **CALC,
        ".gitlab-ci.yml": "test:\n  script:\n    - pip install .\n    - pytest\n",
    },
    "other forms of the same tests": make(
        "test:\n\tpytest\ntest-watch:\n\tptw\ncov:\n\tpytest --cov\nfast:\n\tpytest -x\n"
    ),
    "targets that the test target starts": make("test: unit it\nunit:\n\tpytest\nit:\n\tpython it/sub.py\n"),
    "other targets": make(
        "test:\n\tpytest\nserve:\n\tpython app.py\nbuild:\n\tpython -m build\ndeploy:\n\t./deploy.sh\n"
    ),
    "scripts that others start": {
        **NODE,
        "package.json": SCRIPT.replace("node test.js", "npm run unit") % ', "unit": "node test.js"',
    },
    "a workflow with the same tests": {
        **CALC,
        ".github/workflows/ci.yml": WORKFLOW % "|\n          pip install .\n          pytest -v --cov=calc\n",
    },
    "a workflow without tests": {**CALC, ".github/workflows/pages.yml": WORKFLOW % "python tools/pages.py"},
    "values of the runner": {**CALC, ".github/workflows/ci.yml": WORKFLOW % "pytest --x=${{ matrix.x }}"},
    "a workflow that cannot be read": {**CALC, ".github/workflows/ci.yml": "jobs: [\n"},
}


@pytest.mark.parametrize("files", NOTHING.values(), ids=NOTHING.keys())
def test_the_same_tests_in_another_form_are_not_named(files: dict[str, str]) -> None:
    assert unrun(files) == []


def test_a_linter_of_make_that_is_not_installed_is_not_a_check() -> None:
    files = {"a.c": "", "Makefile": "test:\n\t./t\nlint:\n\t@clang-tidy a.c\n"}
    assert "lint" in settings(files)
    assert "lint" not in settings(files, has_program=lambda name: name != "clang-tidy")
    (tools,) = discover(files, files.get, Surroundings(has_program=lambda name: name != "clang-tidy"))
    assert tools.notes == ("clang-tidy is not installed here (target `lint` in Makefile): not added as a check.",)


def test_a_script_that_other_tests_start_with_arguments_is_not_a_check() -> None:
    script = '#!/bin/sh\nset -eu\ncd "$(dirname "${1}")"\n"$2" | diff "${1}" -\n'
    assert settings({**CALC, "tests/run_test.sh": script}) == {"test": PYTEST}


def test_documents_that_the_tests_of_a_part_read_start_its_checks() -> None:
    test = (
        "from pathlib import Path\nROOT = Path(__file__).resolve().parents[2]\n"
        "def test_a():\n    (ROOT / 'docs' / 'api.json')\n"
    )
    files = {
        "docs/api.json": "",
        "services/api/test_api.py": test,
        "services/api/requirements.txt": "pytest\n",
        "services/web/package.json": SCRIPT % "",
        "services/web/test.js": "",
    }
    found = {one.folder: one.paths for one in discover(files, files.get, Surroundings())}
    assert "docs/**" in found["services/api"]
    other = {**files, "services/api/test_api.py": TEST}
    assert (
        "docs/**" not in {one.folder: one.paths for one in discover(other, other.get, Surroundings())}["services/api"]
    )


def test_the_tests_of_cmake_are_a_check_beside_those_of_a_makefile_that_does_not_start_them() -> None:
    files = {"a.c": "", "CMakeLists.txt": CMAKE, "Makefile": "test: a\n\t./a\n"}
    found = settings(files)
    assert found["test"] == "make test"
    assert str(found["cmake-test"]).startswith("ctest --test-dir build")
    assert found["build"] == "cmake -S . -B build && cmake --build build"
    assert "cmake-test" not in settings({**files, "Makefile": "test:\n\tcmake -B o && cmake --build o && ctest\n"})
    assert "cmake-test" not in settings(files, has_program=lambda name: name != "cmake")


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"lib/Calc.pm": "", "t/calc.t": "use Test::More;\n"}, "prove -lr t"),
        ({"add.sh": "", "t/add.t": "#!/bin/sh\necho 1..1\n"}, "prove -r t"),
        ({"add.sh": "", "test/add.bats": "", "test/sub/more.bats": ""}, "bats -r test"),
        ({"a.c": "", "SConstruct": "env = Environment()\nenv.Alias('check', run)\n"}, "scons -Q check"),
        ({"a.c": "", "tests/Makefile": "check: a\n\t./a\n"}, "make -C tests check"),
        ({"a.c": "", "Makefile": "all: a.o\n", "test/Makefile": "test: a\n\t./a\n"}, "make -C test test"),
    ],
    ids=["Perl", "TAP of a shell script", "bats", "SCons", "tests/Makefile", "test/Makefile below another one"],
)
def test_tests_without_a_project_file_at_the_root_are_found(files: dict[str, str], command: str) -> None:
    assert settings(files) == {"test": command}


def test_tests_in_perl_are_a_check_beside_those_of_another_language() -> None:
    assert settings({**CALC, "t/calc.t": "use Test::More;\n"}) == {"test": PYTEST, "perl-test": "prove -r t"}


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"a.c": "", "t/a.t": "#!/bin/sh\n", "Makefile": "test: a\n\tprove t\n"}, "make test"),
        ({"a.sh": "", "t/a.t": "#!/bin/sh\n", "Makefile": "test:\n\t./t/a.t\n"}, "make test"),
        ({"a.sh": "", "test/a.bats": "", "Makefile": "test:\n\t./libs/bats/bin/bats test\n"}, "make test"),
        ({"a.c": "", "Makefile": "test: a\n\t./a\n", "tests/Makefile": "test:\n\t./b\n"}, "make test"),
        ({"calc.py": "", "test_calc.py": TEST, "t/a.t": "  $ echo output of cram\n"}, PYTEST),
    ],
)
def test_tests_that_the_project_s_own_command_starts_are_not_started_without_it(
    files: dict[str, str], command: str
) -> None:
    assert settings(files)["test"] == command
    assert not {"perl-test", "bats-test"} & settings(files).keys()


CASE = "it('adds', () => {})\n"
NODE_FILES = {
    "lib/a.js": "",
    "lib/b.test.js": CASE,
    "test/a.js": CASE,
    "test/sub/d.js": CASE,
    "test/sub/deep/e.js": CASE,
    "test/helpers/h.js": "exports.x = 1\n",
    "test/fixtures/f.js": CASE,
}


@pytest.mark.parametrize(
    ("script", "folders"),
    [
        ("mocha", ["lib", "test/sub", "test/sub/deep"]),
        ("mocha --recursive", []),
        # sh reads `**` as `*`
        ("mocha test/**/*.js", ["lib", "test", "test/sub/deep"]),
        ("mocha 'test/**/*.js' lib/*.test.js", []),
        ("mocha test", ["lib"]),
        ("node --test test/*.js", ["lib", "test/sub", "test/sub/deep"]),
        ("node --test", []),
        ("mocha './test/{a,b}.js' test/sub", ["lib"]),
    ],
)
def test_test_files_that_a_pattern_of_the_script_does_not_match_are_named(script: str, folders: list[str]) -> None:
    files = {"package.json": json.dumps({"name": "calc", "scripts": {"test": script}}), **NODE_FILES}
    found = find_checks(files, files.get)
    assert [unrun.what for _, unrun in found.unrun_by(found.specs)] == [f"tests in {one}" for one in folders]


def test_settings_of_mocha_may_name_the_tests() -> None:
    package = {"name": "calc", "scripts": {"test": "mocha"}, "devDependencies": {"mocha": "^10.0.0"}}
    files = {"package.json": json.dumps(package), ".mocharc.yml": "recursive: true\n", **NODE_FILES}
    assert not find_checks(files, files.get).unrun_by(find_checks(files, files.get).specs)


TYPED = {"a.py": "", "tests/test_a.py": "def test_a(): pass\n"}


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (
            {"package.json": '{"scripts": {"test": "node --test", "typecheck": "tsc --noEmit"}}'},
            ["npm run typecheck"],
        ),
        (
            {"package.json": '{"scripts": {"test": "node --test", "test:types": "tsc --noEmit"}}'},
            ["npm run test:types"],
        ),
        (
            {"package.json": '{"scripts": {"test": "npm run types && node --test", "types": "tsc --noEmit"}}'},
            [],
        ),
        ({**TYPED, "Makefile": "test:\n\tpytest\ntypes:\n\tmypy a.py\n"}, ["make types"]),
        ({**TYPED, "Makefile": "test:\n\tpytest\nlint:\n\tmypy a.py\n"}, []),
        (
            {**TYPED, "tox.ini": "[testenv]\ncommands = pytest\n[testenv:mypy]\ncommands = mypy a.py\n"},
            ["tox -e mypy"],
        ),
    ],
    ids=["script", "script called a test", "part of the tests", "make target", "the linter", "tox environment"],
)
def test_type_checkers_that_no_check_runs_are_named(files: dict[str, str], names: list[str]) -> None:
    found = find_checks(files, files.get)
    assert [unrun.what for _, unrun in found.unrun_by(found.specs)] == names


def test_a_type_checker_that_only_has_settings_is_not_taken_for_installed() -> None:
    files = {
        **TYPED,
        "pyproject.toml": '[project]\nname = "a"\n[dependency-groups]\ndev = ["pytest"]\n[tool.uv]\n'
        "[tool.pyrefly]\nproject-includes = ['tests']\n",
        "noxfile.py": "import nox\n@nox.session\ndef pyrefly(session):\n    session.install('pyrefly')\n"
        "    session.run('pyrefly', 'check')\n@nox.session\ndef tests(session):\n    session.run('pytest')\n",
    }
    found = find_checks(files, files.get, Surroundings(has_program=lambda name: name in ("uv", "nox")))
    assert [str(spec.command) for spec in found.specs] == ["uv run --no-sync python -m pytest -q"]
    assert [unrun.what for _, unrun in found.unrun_by(found.specs)] == ["pyrefly check"]


PARTS = {
    "calc.py": "",
    "tests/unit/test_a.py": TEST,
    "tests/integration/test_b.py": TEST,
    "web/package.json": '{"name": "web", "scripts": {"test": "node --test"}}',
    "web/test/a.test.js": "const test = require('node:test')\n",
}
UNIT, ALL, WEB = (
    CheckSpec("test", "python3 -m pytest -q tests/unit"),
    CheckSpec("test", "pytest -q"),
    CheckSpec("web-test", "npm test", cwd="web"),
)
INTEGRATION_UNRUN = "`pytest tests/integration`: no check names these tests"
WEB_UNRUN = "`npm test` in web: no check runs the tests of this part"


@pytest.mark.parametrize(
    ("specs", "words"),
    [
        ((UNIT,), [WEB_UNRUN, INTEGRATION_UNRUN]),
        ((UNIT, WEB, CheckSpec("slow", "pytest tests/integration/test_b.py::test_add")), []),
        ((ALL,), [WEB_UNRUN]),
        ((ALL, WEB), []),
        ((CheckSpec("test", "pytest -q -k sub"), WEB), ["`pytest`: `-k sub` of the check may leave tests out"]),
        ((CheckSpec("test", "pytest -m slow"), CheckSpec("fast", "pytest -m 'not slow'"), WEB), []),
        ((CheckSpec("test", "pytest -q && cd web && npm test"),), []),
        ((WEB,), ["`python -m pytest -q`: no check runs the tests of this part"]),
        ((CheckSpec("test", "pytest", cwd="tests"), WEB), []),
        ((CheckSpec("test", "make test"),), []),
        ((CheckSpec("lint", "ruff check"),), []),
    ],
    ids=[
        "one folder",
        "each",
        "one part",
        "both parts",
        "deselected",
        "all marks",
        "one line",
        "other part",
        "folder of all tests",
        "make",
        "no tests",
    ],
)
def test_tests_that_checks_written_by_hand_leave_out_are_named(specs: tuple[CheckSpec, ...], words: list[str]) -> None:
    found = find_checks(PARTS, PARTS.get)
    assert found.unrun_by(found.specs) == []
    assert sorted(unrun.words(folder) for folder, unrun in found.unrun_by(specs)) == sorted(words)


RUST = {
    "Cargo.toml": '[package]\nname = "calc"\n',
    "src/lib.rs": "#[test]\nfn a() {}\n",
    "tests/it.rs": "#[test]\nfn b() {}\n",
}
CASE = "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertTrue(1)\n"
CASES = {"a.py": "", "tests/__init__.py": "", "tests/test_a.py": CASE, "tests/test_b.py": CASE}


@pytest.mark.parametrize(
    ("files", "command", "words"),
    [
        (RUST, "cargo test --lib", ["`cargo`: `--lib` of the check may leave tests out"]),
        (RUST, "cargo test", []),
        (RUST, "cargo test --workspace --all-features", []),
        (CASES, "python -m unittest tests.test_a", ["`unittest tests`: no check names these tests"]),
        (CASES, "python -m unittest tests.test_a.T tests.test_b", []),
        (CASES, "python -m unittest tests.test_a tests/test_b.py", []),
        (CASES, "python -m unittest discover", []),
        (CASES, "python -m unittest", []),
        (CASES, "python -m unittest -k one", ["`unittest`: `-k one` of the check may leave tests out"]),
    ],
)
def test_a_selection_of_other_runners_is_named(files: dict[str, str], command: str, words: list[str]) -> None:
    found = find_checks(files, files.get)
    assert [unrun.words(folder) for folder, unrun in found.unrun_by((CheckSpec("test", command),))] == words


C_FILES = {"calc.c": "int add(int a, int b);\n", "test_calc.c": "int main(void) { return add(1, 2) != 3; }\n"}


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("tests: calc.o\n\tcc -o tests calc.o\n\n.PHONY: check\ncheck: tests\n\t./tests\n", "make check"),
        ("tests: calc.o\n\tcc -o tests calc.o\n\ntest: tests\n\t./tests\n", "make test"),
        (".PHONY: test check\ntest: calc.o\n\t./calc\n\ncheck: test\n\tcc -o lint calc.c\n", "make test"),
    ],
    ids=["built and started by check", "built and started by test", "a target for people"],
)
def test_a_target_that_only_builds_the_tests_is_no_test_command(text: str, command: str) -> None:
    assert settings({**C_FILES, "Makefile": text}) == {"test": command}
