"""How repositories of many kinds are tested, linted and made ready, as their files tell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.adapters.checkout_files import find_checks_at
from burnish.checks.discover import MAX_FOLDERS, FoundChecks, decide, discover, find_checks
from burnish.checks.tools import Surroundings
from burnish.core.policy import CheckSpec
from testing.layouts import MONO, NODE, OTHERS, PYTHON, in_folder, package


def settings(files: dict[str, str]) -> dict[str, Any]:
    choices = decide(discover(files, files.get))
    return {".".join(one.key): in_folder(one.cwd, one.value) if one.cwd else one.value for one in choices}


def paths(files: dict[str, str]) -> dict[str, tuple[str, ...]]:
    return {one.key[-1]: one.paths for one in decide(discover(files, files.get)) if one.key[0] == "checks"}


@pytest.mark.parametrize(("files", "expected"), PYTHON.values(), ids=PYTHON.keys())
def test_python(files: dict[str, str], expected: dict[str, Any]) -> None:
    assert settings(files) == expected


@pytest.mark.parametrize(("files", "expected"), NODE.values(), ids=NODE.keys())
def test_javascript(files: dict[str, str], expected: dict[str, Any]) -> None:
    assert settings(files) == expected


@pytest.mark.parametrize(("files", "expected"), OTHERS.values(), ids=OTHERS.keys())
def test_other_languages(files: dict[str, str], expected: dict[str, Any]) -> None:
    assert settings(files) == expected


@pytest.mark.parametrize(("files", "expected"), MONO.values(), ids=MONO.keys())
def test_several_projects_in_one_repository(files: dict[str, str], expected: dict[str, Any]) -> None:
    assert settings(files) == expected


def test_checks_of_a_part_depend_on_its_folder_and_on_what_belongs_to_no_part() -> None:
    files = {
        "api/go.mod": "module example.org/api\n",
        "api/a.go": "",
        "web/package.json": package({"test": "jest"}),
        "proto/user.proto": "",
        "docs/index.md": "",
        ".github/workflows/ci.yml": "",
        "Makefile": "",
        "services/README.md": "",
        "services/auth/Cargo.toml": "",
        "services/common/schema.sql": "",
    }
    shared = ("/*", "proto/**", "services/*", "services/common/**")
    assert paths(files) == {
        "test": ("api/**", *shared),
        "lint": ("api/**", *shared),
        "web-test": ("web/**", *shared),
        "services-auth-test": ("services/auth/**", *shared),
        "services-auth-lint": ("services/auth/**", *shared),
    }


@pytest.mark.parametrize(
    "manifest",
    [
        {
            "app/go.mod": "module example.org/app\nrequire example.org/lib v0.0.0\n",
            "lib/go.mod": "module example.org/lib\n",
        },
        {"app/go.mod": "module app\nreplace x => ../lib/v2\n", "lib/go.mod": "module example.org/other\n"},
        {"app/Cargo.toml": '[dependencies]\nx = { path = "../lib" }\n', "lib/Cargo.toml": '[package]\nname = "y"\n'},
        {"app/package.json": package({"test": "jest"}, dependencies={"x": "file:../lib"}), "lib/go.mod": "module l\n"},
        {"app/pom.xml": "<parent><relativePath>../lib/pom.xml</relativePath></parent>", "lib/go.mod": "module l\n"},
        {
            "app/pom.xml": "<dependency><artifactId>core-lib</artifactId></dependency>",
            "lib/pom.xml": "<parent><artifactId>p</artifactId></parent><artifactId>core-lib</artifactId>",
        },
        {"app/conftest.py": "sys.path.insert(0, '../lib')\n", "app/pyproject.toml": "", "lib/go.mod": "module l\n"},
    ],
    ids=["name of a Go module", "replace", "path of a crate", "file:", "parent pom", "artifact", "conftest"],
)
def test_a_part_that_uses_another_one_is_checked_with_it(manifest: dict[str, str]) -> None:
    files = {**manifest, "other/go.mod": "module o\n"}
    found = {name: patterns for name, patterns in paths(files).items() if patterns[:1] == ("app/**",)}
    assert found and all("lib/**" in one and "other/**" not in one for one in found.values())


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("app/conftest.py", "sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', 'lib'))\n"),
        ("app/tests/conftest.py", "sys.path.insert(0, '../../lib')\n"),
        ("app/tests/conftest.py", 'sys.path.append(str(Path(__file__).parents[2] / "lib"))\n'),
        ("app/app.py", "import os, calclib\n"),
        ("app/src/app/main.py", "def load():\n    from calclib.rates import RATE\n"),
        ("app/app.py", "from lib.calclib import add\n"),
        ("app/src/main.ts", "import { add } from '../../lib/add';\n"),
        ("app/main.c", '#include "../lib/add.h"\n'),
    ],
)
def test_a_part_whose_sources_use_another_one_is_checked_with_it(file: str, text: str) -> None:
    lib = {"lib/setup.py": "", "lib/calclib.py": "", "lib/test_lib.py": "def test_it(): pass\n"}
    app = {"app/pyproject.toml": "", "app/test_app.py": "import os\ndef test_it(): pass\n", file: text}
    found = paths({**lib, **app, "other/go.mod": "module o\n", "other/a.go": 'import "os"\n'})
    of_app = [one for one in found.values() if one[:1] == ("app/**",)]
    assert of_app and all("lib/**" in one and "other/**" not in one for one in of_app)
    assert ("lib/**", "/*") in found.values()


GO_WORKSPACE = {
    "go.work": "use (\n\t./app\n\t./lib\n)\n",
    "app/go.mod": "module example.org/app\n",
    "app/app.go": 'import "example.org/lib/rates"\n',
    "lib/go.mod": "module example.org/lib\n",
}
ALIAS = {
    "tsconfig.base.json": '{"compilerOptions": {"paths": {"@acme/lib/*": ["./lib/src/*"]}}}',
    "app/package.json": package({"test": "jest"}),
    "app/src/main.ts": 'import { add } from "@acme/lib/add";\n',
    "lib/go.mod": "module l\n",
}
UNDECLARED = {
    "app/package.json": package({"test": "jest"}),
    "app/src/main.js": "const { add } = require('@acme/lib')\n",
    "lib/package.json": '{"name": "@acme/lib", "scripts": {"test": "jest"}}',
}
NAMESPACE = {
    "app/pyproject.toml": "",
    "app/src/acme/app/__init__.py": "from acme import lib\n",
    "app/tests/test_app.py": "def test_it(): pass\n",
    "lib/pyproject.toml": "",
    "lib/src/acme/lib/__init__.py": "",
    "lib/tests/test_lib.py": "def test_it(): pass\n",
}


@pytest.mark.parametrize(
    "files",
    [
        GO_WORKSPACE,
        ALIAS,
        UNDECLARED,
        NAMESPACE,
        {**NAMESPACE, "app/src/acme/app/__init__.py": "lib = importlib.import_module('acme.lib')\n"},
    ],
    ids=["Go workspace", "alias at the root", "npm package", "namespace package", "import by name"],
)
def test_a_part_is_checked_with_one_that_its_sources_name_without_declaring_it(files: dict[str, str]) -> None:
    test = {"other/pyproject.toml": "", "other/tests/test_other.py": "def test_it(): pass\n"}
    found = paths({**files, **test, "other/src/acme/other/__init__.py": ""})
    of_app = [one for one in found.values() if one[:1] == ("app/**",)]
    assert of_app and all("lib/**" in one and "other/**" not in one for one in of_app)
    assert all("app/**" not in one for one in found.values() if one[:1] == ("lib/**",))


ROOT_IN_PYTHON = "ROOT = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))\n"


@pytest.mark.parametrize(
    "files",
    [
        {"app/e2e.test.js": 'const root = path.resolve(__dirname, "..");\nrun({ cwd: path.join(root, "lib") });\n'},
        {"app/root.js": 'exports.root = resolve(__dirname, "..");\n', "app/a.test.js": "run(`${root}/lib/main.py`);\n"},
        {"app/tests/test_e2e.py": ROOT_IN_PYTHON + 'cwd = os.path.join(ROOT, "lib")\n'},
        {"app/tests/test_e2e.py": "ROOT = Path(__file__).parents[2]\ncwd = ROOT.joinpath('lib')\n"},
        {"app/a_test.go": 'root := filepath.Dir(filepath.Dir(file))\ncmd.Dir = filepath.Join(root, "lib")\n'},
        {"app/test.sh": 'cd "$(git rev-parse --show-toplevel)"\npython -m pytest lib\n'},
        {"app/package.json": package({"test": "cd .. && python3 lib/main.py"})},
    ],
    ids=["JavaScript", "a module for the root", "dirname", "parents", "Go", "shell", "script"],
)
def test_a_part_is_checked_with_one_whose_path_it_computes_from_the_root(files: dict[str, str]) -> None:
    parts = {"app/package.json": package({"test": "jest"}), "lib/go.mod": "module l\n", "other/go.mod": "module o\n"}
    found = paths({**parts, **files})
    of_app = [one for one in found.values() if one[:1] == ("app/**",)]
    assert of_app and all("lib/**" in one and "other/**" not in one for one in of_app)


@pytest.mark.parametrize(
    "text",
    [
        'fetch("/lib/users"); call(...lib);\n',
        'import { a } from "../src/a"; const name = "lib";\n',
    ],
)
def test_the_name_of_a_folder_alone_is_not_a_use_of_it(text: str) -> None:
    parts = {"app/package.json": package({"test": "jest"}), "app/src/a.js": "", "lib/go.mod": "module l\n"}
    found = paths({**parts, "app/test/a.test.js": text})
    assert [one for one in found.values() if one[:1] == ("app/**",)] == [("app/**", "/*")]


def test_a_part_with_too_many_sources_to_read_is_checked_for_every_change() -> None:
    many = {f"web/src/m{number}.js": "" for number in range(1001)}
    found = paths({"web/package.json": package({"test": "jest"}), "api/go.mod": "module a\n", **many})
    assert found["web-test" if "web-test" in found else "test"] == ()


def test_the_project_at_the_root_and_the_only_project_are_checked_for_every_change() -> None:
    assert paths({"go.mod": "module r\n", "tool/go.mod": "module t\n"})["test"] == ()
    assert set(paths({"backend/go.mod": "module b\n", "notes/a.txt": ""}).values()) == {()}


def test_a_part_inside_another_one_depends_on_it() -> None:
    found = paths({"a/go.mod": "module a\n", "a/b/package.json": package({"test": "jest"}), "c/go.mod": "module c\n"})
    assert found["a-b-test"] == ("a/b/**", "a/**", "/*")


def test_every_decision_has_a_reason() -> None:
    for cases in (PYTHON, NODE, OTHERS, MONO):
        for files, _ in cases.values():
            assert all(one.why for one in decide(discover(files, files.get)))


NAMES = [
    "pyproject.toml",
    "package.json",
    "go.mod",
    "Cargo.toml",
    "pom.xml",
    "Gemfile",
    "Makefile",
    "test_a.py",
    "a.rb",
]


@hypothesis.settings(deadline=None)
@given(st.dictionaries(st.tuples(st.sampled_from(["", "a/", "a/b/", "c d/"]), st.sampled_from(NAMES)), st.text()))
def test_whatever_the_files_say_no_key_is_decided_twice(found: dict[tuple[str, str], str]) -> None:
    files = {folder + name: text for (folder, name), text in found.items()}
    keys = [one.key for one in decide(discover(files, files.get))]
    assert len(keys) == len(set(keys))


CASE = "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        pass\n"


@pytest.mark.parametrize(
    ("files", "command"),
    [
        # relative imports in tests inside of the package; files that unittest does not look for by itself
        ({"calc/__init__.py": "", "calc/tests/__init__.py": "", "calc/tests/add_test.py": CASE}, "-p *_test.py"),
        ({"calc.py": "", "tests/test_add.py": CASE}, "-s tests"),
        ({"calc.py": "", "tests/__init__.py": "", "tests/test_add.py": CASE}, ""),
    ],
)
def test_unittest_finds_the_tests_where_they_are(files: dict[str, str], command: str) -> None:
    (one,) = [one for one in decide(discover(files, files.get)) if one.key == ("checks", "test")]
    assert " ".join(one.value) == f"python -m unittest discover {command}".strip()


@pytest.mark.parametrize(
    ("files", "commands"),
    [
        # unittest enters only packages below the folder that it starts in
        ({"tests/test_a.py": CASE, "tests/unit/test_b.py": CASE}, ["-s tests", "-s tests/unit"]),
        ({"tests/api/test_a.py": CASE, "tests/unit/test_b.py": CASE}, ["-s tests/api", "-s tests/unit"]),
        ({"tests/test_a.py": CASE, "tests/unit/__init__.py": "", "tests/unit/test_b.py": CASE}, ["-s tests"]),
        ({"test_a.py": CASE, "test_b.py": CASE, "tests/test_c.py": CASE}, ["", "-s tests"]),
        ({"src/a/__init__.py": "", "src/a/test_a.py": CASE, "tests/test_b.py": CASE}, ["-s src", "-s tests"]),
        # and only files of one pattern
        ({"test_a.py": CASE, "test_b.py": CASE, "c_test.py": CASE}, ["", "-p *_test.py"]),
        # scripts and data of tests
        ({"tests/test_a.py": CASE, "tools/test_it.py": "print(1)\n", "tests/data/test_b.py": CASE}, ["-s tests"]),
    ],
)
def test_unittest_is_run_in_each_folder_that_it_does_not_enter_by_itself(
    files: dict[str, str], commands: list[str]
) -> None:
    found = [one.value for one in decide(discover(files, files.get)) if one.key[-1].endswith("test")]
    assert [" ".join(value) for value in found] == [f"python -m unittest discover {one}".strip() for one in commands]


@pytest.mark.parametrize(("requirements", "runs_both"), [("django", True), ("django\npytest-django", False)])
def test_a_script_with_a_test_function_does_not_replace_django_s_runner(requirements: str, runs_both: bool) -> None:
    files = {
        "manage.py": "",
        "requirements.txt": requirements,
        "shop/__init__.py": "",
        "shop/tests.py": CASE,
        "scripts/test_login.py": "def test_login():\n    pass\n",
    }
    found = {one.key[-1]: one.value for one in decide(discover(files, files.get)) if one.key[0] == "checks"}
    assert found["test"] == ("python", "-m", "pytest", "-q")
    assert found.get("python-test") == (("python", "manage.py", "test") if runs_both else None)


def test_further_runs_of_unittest_have_names_of_their_own_and_too_many_are_noted() -> None:
    files = {f"task{number:02}/test_a.py": CASE for number in range(12)}
    found = find_checks(files, files.get)
    assert [spec.name for spec in found.specs][:3] == ["test", "python-test", "python-2-test"]
    assert len({spec.name for spec in found.specs}) == len(found.specs) == 10
    assert found.notes == ("unittest would need 12 runs: task11/test_a.py and others are left out.",)


def test_a_runner_of_the_project_s_own_is_preferred_to_unittest() -> None:
    files = {"runtests.py": "import django", "tests/__init__.py": "", "tests/test_a.py": CASE, "a/__init__.py": ""}
    (one,) = [one for one in decide(discover(files, files.get)) if one.key == ("checks", "test")]
    assert one.value == ("python", "runtests.py")


@pytest.mark.parametrize(
    ("command", "options"),
    [
        (
            "pytest --doctest-modules {env_site_packages_dir}/calc {tox_root}/tests {posargs}",
            "--doctest-modules calc tests",
        ),
        ("coverage run -m pytest --doctest-modules {toxinidir}/calc", "--doctest-modules calc"),
        # without paths every script of the repository would be imported, and other paths are not known
        ("pytest --doctest-modules", ""),
        ("pytest --doctest-modules {envtmpdir}/calc tests", ""),
        ("pytest tests", ""),
    ],
)
def test_doctests_that_tox_runs_are_run(command: str, options: str) -> None:
    files = {
        "tox.ini": f"[testenv]\ndeps = pytest\ncommands = {command}\n",
        "calc/__init__.py": "",
        "tests/test_a.py": "def test_a(): ...\n",
    }
    (one,) = [one for one in decide(discover(files, files.get)) if one.key == ("checks", "test")]
    assert " ".join(one.value) == f"python -m pytest -q {options}".strip()


@pytest.mark.parametrize("kind", ["npm", "pnpm"])
def test_packages_of_a_workspace_are_tested_where_its_root_has_no_test_script(kind: str) -> None:
    root = {"private": True} | ({"workspaces": ["lib", "app"]} if kind == "npm" else {})
    lock = (
        {"package-lock.json": "{}"}
        if kind == "npm"
        else {"pnpm-lock.yaml": "", "pnpm-workspace.yaml": "packages: ['*']\n"}
    )
    files = {
        **lock,
        "package.json": json.dumps(root),
        "lib/package.json": json.dumps({"name": "lib"}),
        "app/package.json": json.dumps({"name": "app", "scripts": {"test": "node --test"}}),
    }
    decided = {one.key: one for one in decide(discover(files, files.get))}
    test = decided["checks", "test"]
    assert (test.value, test.cwd) == ("npm test", "app")
    # installed once, at the root
    assert decided["workspace", "setup"].value == ("npm ci" if kind == "npm" else "pnpm install --frozen-lockfile")
    files["package.json"] = json.dumps({**root, "scripts": {"test": "npm test --workspaces"}})
    assert [(one.value, one.cwd) for one in decide(discover(files, files.get)) if "checks" in one.key] == [
        ("npm test" if kind == "npm" else "pnpm test", "")
    ]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("pytest.toml", '[pytest]\naddopts = ["-n", "2"]\n'),
        (".pytest.toml", '[pytest]\naddopts = ["-n", "2"]\n'),
        ("pytest.ini", "[pytest]\naddopts = -n 2\n"),
        (".pytest.ini", "[pytest]\naddopts = -n 2\n"),
        ("tox.ini", "[pytest]\naddopts = -n 2\n"),
        ("setup.cfg", "[tool:pytest]\naddopts = -n 2\n"),
    ],
)
def test_plugins_that_a_settings_file_of_pytest_needs_are_installed(file: str, text: str) -> None:
    project = '[project]\nname = "calc"\nversion = "1"\n'
    test = "import pytest\n\n\ndef test_a():\n    pass\n"
    files = {"pyproject.toml": project, "requirements.txt": "six\n", "tests/test_a.py": test, file: text}
    assert "pytest-xdist" in str(settings(files)["workspace.setup"])
    table = f"{project}[tool.pytest]\naddopts = ['-n', '2']\n"
    assert "pytest-xdist" in str(settings({**files, "pyproject.toml": table, file: ""})["workspace.setup"])


def test_a_module_of_go_without_tests_has_no_test_check_beside_one_that_has_some() -> None:
    """`go test` of it finds no tests, for which each approval would wait for a person."""
    files = {
        "go.work": "use (\n./app\n./lib\n)\n",
        "app/go.mod": "module example.org/app\n",
        "app/app.go": 'import "example.org/lib"\n',
        "app/app_test.go": "",
        "lib/go.mod": "module example.org/lib\n",
        "lib/lib.go": "",
    }
    found = paths(files)
    assert sorted(found) == ["lib-lint", "lint", "test"] and "lib/**" in found["test"]
    assert "lib-test" in paths({**files, "lib/lib_test.go": ""})
    assert "lib-test" in paths({path: text for path, text in files.items() if path != "app/app_test.go"})


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("maven with failsafe in a profile, and with containers", ["`tests named *IT`", "`mvn verify` in other"]),
        ("gradle with further test tasks", ["`gradle slowTest`"]),
        ("gradle with containers", ["`gradle itest`"]),
        ("go with a script of tests below make that needs containers", ["`make test`"]),
        ("integration tests beside the others", ["`npm run test:e2e`", "`npm run e2e:test`"]),
        ("integration tests with a database", ["`npm run test:integration`"]),
        ("scripts that the test script starts", []),
        ("rust with all features in its workflow", []),
        ("rust with features", ["`cargo test --all-features`: code and tests of the features sums are not compiled"]),
        ("rust with features that tests do not need", []),
        (
            "go with build tags of tests",
            ["`go test -tags integration ./...`: tests with this build tag may need services"],
        ),
        ("php with a default suite", ["`phpunit --testsuite api`: `defaultTestSuite` is unit"]),
    ],
)
def test_tests_that_no_check_runs_are_named_with_the_reason(name: str, words: list[str]) -> None:
    files, _ = {**OTHERS, **NODE}[name]
    found = find_checks(files, files.get)
    notes = [unrun.words(folder) for folder, unrun in found.unrun_by(found.specs)]
    assert [note.partition(": it ")[0].partition(": the ")[0].partition(": failsafe ")[0] for note in notes] == words


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (
            {"pyproject.toml": '[tool.pytest.ini_options]\ntestpaths = ["tests/unit"]\naddopts = "-m \'not slow\'"\n'},
            [
                "`pytest tests/api`: `testpaths` does not name tests/api",
                "`pytest -m slow`: `addopts` deselects these tests (-m 'not slow')",
            ],
        ),
        (
            {"pytest.ini": "[pytest]\naddopts =\n    --strict\n    --ignore=tests/api\n"},
            ["`pytest tests/api`: `addopts` ignores this folder"],
        ),
        (
            {"pytest.ini": "[pytest]\naddopts = -ra -k 'not slow' --deselect tests/api/test_b.py::test_it\n"},
            [
                "`pytest -k slow`: `addopts` deselects these tests (-k 'not slow')",
                "`pytest tests/api/test_b.py::test_it`: `addopts` deselects it",
            ],
        ),
        ({"setup.cfg": "[tool:pytest]\ntestpaths =\n    tests\n[other]\naddopts = -m 'not slow'\n"}, []),
        (
            {"features/steps/a.py": ""},
            ["`behave`: features may need a browser or services"],
        ),
    ],
    ids=["testpaths and marks", "ignored folder", "words and single tests", "everything", "behave"],
)
def test_python_tests_that_settings_leave_out_are_named(files: dict[str, str], words: list[str]) -> None:
    tests = dict.fromkeys(("tests/unit/test_a.py", "tests/api/test_b.py", "docs/test_c.py"), "def test_it(): pass\n")
    files = {**tests, **files}
    found = find_checks(files, files.get)
    assert [unrun.words(folder) for folder, unrun in found.unrun_by(found.specs)] == words


def test_links_to_another_part_make_a_part_depend_on_it() -> None:
    files = {f"{name}/package.json": package({"test": "jest"}, name=name) for name in ("app", "lib", "other", "tools")}
    links = {"app/shared": "../lib/src", "tools/one.js": "../other/../lib/one.js"}
    around = Surroundings(link_target=links.get)
    found = {one.cwd: one.paths for one in decide(discover({**files, **links}, files.get, around))}
    assert found["app"] == ("app/**", "lib/**", "/*") and found["tools"] == ("tools/**", "lib/**", "/*")
    assert found["lib"] == ("lib/**", "/*")
    everywhere = Surroundings(link_target={"shared": "lib/src"}.get)
    found = {one.cwd: one.paths for one in decide(discover([*files, "shared"], files.get, everywhere))}
    assert found["other"] == ("other/**", "lib/**", "/*")


def test_projects_that_no_command_tests_are_named() -> None:
    files = {
        "go.mod": "module a\n",
        "test/go.mod": "module a/test\n",
        "e2e/package.json": package({"test": "jest"}),
        "tests/fixtures/package.json": package({"test": "jest"}),
        "examples/package.json": package({"test": "jest"}),
    }
    found = find_checks(files, files.get)
    assert [unrun.what for _, unrun in found.unrun_by(found.specs)] == ["npm test in e2e", "go test ./... in test"]
    assert not found.unrun_by([CheckSpec("a", "npm test", cwd="e2e"), CheckSpec("b", "cd test && go test ./...")])
    root = package({"test": "npm test -ws"}, workspaces=["e2e"])
    covered = {"package.json": root, "e2e/package.json": package({"test": "x"})}
    assert not find_checks(covered, covered.get).unrun_tests


def test_parts_beyond_the_maximum_are_named() -> None:
    files = {f"part{n:02}/go.mod": f"module part{n:02}\n" for n in range(MAX_FOLDERS + 2)}
    found = find_checks(files | {f"part{n:02}/a_test.go": "" for n in range(MAX_FOLDERS + 2)}, files.get)
    names = [unrun.mark for _, unrun in found.unrun_by(found.specs)]
    assert names == [f"part{MAX_FOLDERS}/", f"part{MAX_FOLDERS + 1}/"]


def test_tests_that_a_check_of_the_settings_runs_are_not_named() -> None:
    files = {"package.json": package({"test": "jest src", "test:e2e": "playwright test"})}
    found = find_checks(files, files.get)
    assert found.unrun_by(found.specs)
    assert not found.unrun_by([CheckSpec("e2e", "npm run test:e2e")])
    assert found.unrun_by([CheckSpec("e2e", "npm run test:e2e:debug")])


@pytest.mark.parametrize(
    ("modules", "packages"),
    [
        ({"pytest"}, ["pytest", "pytest-cov", "pytest-xdist"]),
        ({"pytest", "pytest_cov"}, ["pytest", "pytest-cov", "pytest-xdist"]),
        ({"pytest", "pytest_cov", "xdist"}, []),
    ],
)
def test_plugins_that_the_settings_of_pytest_need_are_installed(modules: set[str], packages: list[str]) -> None:
    files = {
        "calc.py": "",
        "tests/test_calc.py": "def test_add(): ...\n",
        "pytest.ini": "[pytest]\naddopts = --cov=calc -n 2\n",
    }
    (tools,) = discover(files, files.get, Surroundings(has_module=modules.__contains__))
    command = str(tools.setup.command) if tools.setup else ""
    assert [word for word in command.split() if word.startswith("pytest")] == packages


def test_the_checks_of_a_large_commit_are_found_once_per_commit_and_state_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("burnish.adapters.checkout_files.STORED_OVER_FILES", 1)
    files = {"Cargo.toml": '[package]\nname = "a"\n', "src/lib.rs": "#[test]\nfn a() {}\n"}
    searched = []

    def at(commit: str, *, clippy: bool = True) -> FoundChecks:
        def listing(commit: str) -> list[str]:
            searched.append(commit)
            return list(files)

        around = Surroundings(has_program=lambda name: clippy or name != "cargo-clippy")
        return find_checks_at(commit, listing, files.get, around, tmp_path / "found.json")

    assert at("a") == at("a") == find_checks(files, files.get) and searched == ["a"]
    assert at("b") == at("a") and searched == ["a", "b", "a"]
    assert at("a", clippy=False) != at("a", clippy=True) and searched == ["a", "b", "a", "a", "a"]
    (tmp_path / "found.json").write_text("{")
    assert at("a") == find_checks(files, files.get)
