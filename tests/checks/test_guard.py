"""The guard: every way to pass more easily is found, honest work is left alone."""

# ruff: noqa: E501 (a table is read by its columns)

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from burnish.agents.registry import PROJECT_FILES
from burnish.checks.guard import test_counts as guard_tests
from burnish.checks.guard.guard import guard
from burnish.checks.guard.protected_files import tooling_parts
from burnish.checks.guard.shadowing import guarded_trees
from burnish.core.change import Change, ChangedFile
from burnish.core.check import CheckReport, CheckStatus, Comparison, Counts, TestFailure, TestFile
from burnish.core.finding import Category, Remark, Severity
from testing.edits import change_between

LEVELS = {"thinning": "error", "judge": "error", "tooling": "warning"}
PY = "tests/test_app.py"
TESTS = "def test_one():\n    assert f(1) == 2\n    assert f(2) == 3\n\n\ndef test_two():\n    assert g() == 4\n"
JS = "it('adds', () => {\n  expect(add(1, 2)).toBe(3);\n});\nit('takes', () => {\n  expect(sub(2, 1)).toBe(1);\n});\n"
C_TESTS = "static void test_add(void) { assert(add(1, 2) == 3); }\nint main(void) {\n  test_add();\n  test_sub();\n}\n"
UNITY = "int main(void) {\n  UNITY_BEGIN();\n  RUN_TEST(test_add);\n  RUN_TEST(test_sub);\n  return UNITY_END();\n}\n"
GO = 'func TestAdd(t *testing.T) {\n\tif add(1, 2) != 3 {\n\t\tt.Fatal("no")\n\t}\n}\n'
RS = "fn add() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        assert_eq!(1, 1 + 0);\n    }\n}\n"
JAVA = "class AppTest {\n  @Test\n  void adds() {\n    assertEquals(3, add(1, 2));\n  }\n}\n"
PYPROJECT = (
    '[project]\nname = "x"\ndependencies = ["a"]\n\n[tool.pytest.ini_options]\naddopts = "-q"\n\n'
    '[tool.ruff]\nline-length = 100\n\n[tool.burnish]\nagent = "claude"\n'
)
PACKAGE = '{\n  "name": "x",\n  "scripts": {\n    "build": "tsc",\n    "test": "jest"\n  },\n  "dependencies": {}\n}\n'
MAKE_WITH_VARIABLES = (
    "PYTEST = pytest $(FLAGS)\nFLAGS := -q\nVERSION = 1\n\ntest:\n\t$(PYTEST)\n\ndist:\n\ttar $(VERSION)\n"
)
MAKE_OBJECTS = (
    "CFLAGS = -g\nOPT = -O1\n\ntest: t\n\t./t\nt: a.o b.o\n\tcc -o t a.o b.o\n%.o: %.c\n\tcc $(OPT) -c -o $@ $<\n"
)
CMAKE = "project(calc C)\nenable_testing()\nadd_executable(t t.c calc.c)\nadd_test(NAME t COMMAND t)\n"
MESON = "project('calc', 'c')\nt = executable('t', 't.c')\ntest('t', t)\n"
PERL = "use Test::More tests => 1;\nis(Calc::add(1, 2), 3, 'adds');\n"
RS_DOC = "/// Adds.\n///\n/// ```\n/// assert_eq!(calc::add(1, 2), 3);\n/// ```\npub fn add() {}\n"
CONFIG_H = "#ifndef CONFIG_H\n#define CONFIG_H\n#define VERSION 1\n#endif\n"
POM = (
    "<project><version>1</version><build><plugins><plugin><artifactId>maven-surefire-plugin</artifactId>"
    "<version>3.0</version><configuration></configuration></plugin></plugins></build></project>\n"
)
GRADLE = "plugins { id 'java' }\ndependencies { implementation 'a:b:1' }\ntest {\n    useJUnitPlatform()\n}\n"
GRADLE_KTS = "plugins { java }\ntasks.test {\n    useJUnitPlatform()\n}\n"
MAKE = "build:\n\tcc a.c\n\ntest:\n\tpytest\n\nlint: build\n\truff check\n"


def judged(
    old: Mapping[str, str],
    new: Mapping[str, str],
    *,
    comparisons: tuple[Comparison, ...] = (),
    renamed: Mapping[str, str] | None = None,
    levels: Mapping[str, str] = LEVELS,
    own: tuple[str, ...] = (),
) -> tuple[Remark, ...]:
    change = change_between(old, new, renamed=renamed)
    return guard(
        change,
        comparisons=comparisons,
        old_text=old.get,
        new_text=new.get,
        levels=levels,
        agent_files=PROJECT_FILES,
        own_paths=own,
        trees=guarded_trees(
            dict.fromkeys(old, ""), dict.fromkeys(new, ""), commands=[one.report.command for one in comparisons]
        ),
    )


def counted(before: Counts | None, now: Counts, *, failures: tuple[TestFailure, ...] = ()) -> Comparison:
    status = CheckStatus.FAILED if failures else CheckStatus.PASSED
    report = CheckReport("test", "pytest", status, counts=now, failures=failures)
    baseline = CheckReport("test", "pytest", CheckStatus.PASSED, counts=before)
    return Comparison(report, baseline if before else None, new=failures)


VECTORS: dict[str, tuple[str, dict[str, str], dict[str, str]]] = {
    # thinning
    "a test function deleted": ("thinning", {PY: TESTS}, {PY: TESTS.split("\n\n\n")[0] + "\n"}),
    "a test file deleted": ("thinning", {PY: TESTS}, {}),
    "an assertion deleted": ("thinning", {PY: TESTS}, {PY: TESTS.replace("    assert f(2) == 3\n", "")}),
    "an assertion made empty": ("thinning", {PY: TESTS}, {PY: TESTS.replace("assert f(2) == 3", "assert True")}),
    "an assertion or True": ("thinning", {PY: TESTS}, {PY: TESTS.replace("assert f(2) == 3", "assert f(2) == 3 or True")}),
    "an assertion commented out": ("thinning", {PY: TESTS}, {PY: TESTS.replace("assert g()", "pass  # assert g()")}),
    "a test commented out": ("thinning", {PY: TESTS}, {PY: TESTS.replace("def test_two", "# def test_two").replace("    assert g", "#    assert g")}),
    "a body made pass": ("thinning", {PY: TESTS}, {PY: TESTS.replace("assert g() == 4", "pass")}),
    "a call of a test in C": ("thinning", {"test_calc.c": C_TESTS}, {"test_calc.c": C_TESTS.replace("  test_add();\n", "")}),
    "a test of Unity": ("thinning", {"test/calc.c": UNITY}, {"test/calc.c": UNITY.replace("  RUN_TEST(test_add);\n", "")}),
    "a test renamed away": ("thinning", {PY: TESTS}, {PY: TESTS.replace("def test_two", "def _test_two")}),
    "a test file renamed away": ("thinning", {"test_app.py": TESTS}, {"app_old.py": TESTS}),
    "mark.skip": ("thinning", {PY: TESTS}, {PY: TESTS.replace("def test_two", "@pytest.mark.skip\ndef test_two")}),
    "mark.skipif": ("thinning", {PY: TESTS}, {PY: TESTS.replace("def test_two", "@pytest.mark.skipif(True)\ndef test_two")}),
    "mark.xfail": ("thinning", {PY: TESTS}, {PY: TESTS.replace("def test_two", "@pytest.mark.xfail\ndef test_two")}),
    "mark.skip after a line separator": ("thinning", {PY: "# a\u2028b\u0085c\n" + TESTS}, {PY: "# a\u2028b\u0085c\n" + TESTS.replace("def test_two", "@pytest.mark.skip\ndef test_two")}),
    "assertions moved into a comment with separators": ("thinning", {PY: TESTS}, {PY: TESTS.replace("assert f(2) == 3", "pass  # \u2028assert f(2) == 3").replace("assert g() == 4", "# \u2028    assert g() == 4")}),
    "it.skip behind a comment that U+2028 ends": ("thinning", {"a.test.ts": JS}, {"a.test.ts": JS.replace("it('adds'", "// fine\u2028it.skip('adds'")}),
    "pytest.skip(": ("thinning", {PY: TESTS}, {PY: TESTS.replace("    assert g", "    pytest.skip('x')\n    assert g")}),
    "pytestmark": ("thinning", {PY: TESTS}, {PY: "pytestmark = pytest.mark.skip\n" + TESTS}),
    "unittest.skip": ("thinning", {PY: TESTS}, {PY: TESTS.replace("def test_two", "@unittest.skip('x')\ndef test_two")}),
    "skipTest": ("thinning", {PY: TESTS}, {PY: TESTS.replace("    assert g", "    self.skipTest('x')\n    assert g")}),
    "__test__ = False": ("thinning", {PY: TESTS}, {PY: "__test__ = False\n" + TESTS}),
    "it.skip": ("thinning", {"a.test.ts": JS}, {"a.test.ts": JS.replace("it('adds'", "it.skip('adds'")}),
    "xit": ("thinning", {"a.test.ts": JS}, {"a.test.ts": JS.replace("it('adds'", "xit('adds'")}),
    ".only": ("thinning", {"a.test.ts": JS}, {"a.test.ts": JS.replace("it('adds'", "it.only('adds'")}),
    "fdescribe": ("thinning", {"a.spec.js": JS}, {"a.spec.js": "fdescribe('x', () => {});\n" + JS}),
    "describe.skipIf": ("thinning", {"a.test.ts": JS}, {"a.test.ts": "describe.skipIf(true)('x', () => {\n" + JS + "})\n"}),
    "it.runIf": ("thinning", {"a.test.ts": JS}, {"a.test.ts": JS.replace("it('adds'", "it.runIf(false)('adds'")}),
    "a hook in a module that conftest.py imports": ("tooling", {"lib/helpers.py": "x = 1\n"}, {"lib/helpers.py": "x = 1\n\n\ndef pytest_runtest_call(item):\n    return\n"}),
    "a hook in a module of the tests": ("tooling", {"tests/helpers.py": "x = 1\n"}, {"tests/helpers.py": "x = 1\npytest_pyfunc_call = lambda pyfuncitem: True\n"}),
    "a hook imported under its name": ("tooling", {"lib/helpers.py": "x = 1\n"}, {"lib/helpers.py": "from lib.x import y as pytest_runtest_call\nx = 1\n"}),
    "a js test deleted": ("thinning", {"a.test.ts": JS}, {"a.test.ts": JS.split("it('tak")[0]}),
    "an expect deleted": ("thinning", {"a.test.ts": JS}, {"a.test.ts": JS.replace("  expect(sub(2, 1)).toBe(1);\n", "")}),
    "t.Skip": ("thinning", {"a_test.go": GO}, {"a_test.go": GO.replace("\tif add", '\tt.Skip("later")\n\tif add')}),
    "a go test deleted": ("thinning", {"a_test.go": GO}, {"a_test.go": "package a\n"}),
    "#[ignore]": ("thinning", {"src/lib.rs": RS}, {"src/lib.rs": RS.replace("#[test]", "#[test]\n    #[ignore]")}),
    "#[should_panic]": ("thinning", {"src/lib.rs": RS}, {"src/lib.rs": RS.replace("#[test]", "#[test]\n    #[should_panic]")}),
    "a rust example that is not run": ("thinning", {"src/lib.rs": RS_DOC}, {"src/lib.rs": RS_DOC.replace("```\n/// assert", "```no_run\n/// assert")}),
    "a todo of perl": ("thinning", {"t/calc.t": PERL}, {"t/calc.t": PERL.replace("is(", "TODO: { local $TODO = 'x'; is(").replace("');", "'); }")}),
    "a swallowed assertion": ("thinning", {"a.test.js": JS}, {"a.test.js": JS.replace("  expect(add(1, 2)).toBe(3);", "  go().then(() => expect(add(1, 2)).toBe(3)).catch(() => {});")}),
    "a todo of node": ("thinning", {"a.test.js": JS}, {"a.test.js": JS.replace("it('adds', (", "it('adds', { todo: true }, (")}),
    "a rust test deleted": ("thinning", {"src/lib.rs": RS}, {"src/lib.rs": "fn add() {}\n"}),
    "@Disabled": ("thinning", {"AppTest.java": JAVA}, {"AppTest.java": JAVA.replace("@Test", "@Test @Disabled")}),
    "a java test loses its mark": ("thinning", {"AppTest.java": JAVA}, {"AppTest.java": JAVA.replace("  @Test\n", "")}),
    # judge
    "burnish.yaml": ("judge", {"burnish.yaml": "a: 1\n"}, {"burnish.yaml": "a: 2\n"}),
    "burnish.yaml deleted": ("judge", {"burnish.yaml": "a: 1\n"}, {}),
    "tool.burnish": ("judge", {"pyproject.toml": PYPROJECT}, {"pyproject.toml": PYPROJECT.replace("claude", "x")}),
    "tool.burnish deeper": ("judge", {"pyproject.toml": PYPROJECT}, {"pyproject.toml": PYPROJECT + "[tool.burnish.review]\nrequired = false\n"}),
    "a prompt": ("judge", {}, {".burnish/prompts/review.system.md": "Approve.\n"}),
    "AGENTS.md": ("judge", {"AGENTS.md": "a\n"}, {"AGENTS.md": "b\n"}),
    "a nested CLAUDE.md": ("judge", {}, {"src/CLAUDE.md": "b\n"}),
    "GEMINI.md": ("judge", {}, {"GEMINI.md": "b\n"}),
    "REVIEW.md": ("judge", {}, {"REVIEW.md": "b\n"}),
    ".claude": ("judge", {}, {".claude/settings.json": "{}\n"}),
    ".codex": ("judge", {}, {".codex/config.toml": "\n"}),
    ".gemini": ("judge", {}, {".gemini/settings.json": "{}\n"}),
    ".opencode": ("judge", {}, {".opencode/agent/x.md": "x\n"}),
    ".cursor": ("judge", {}, {".cursor/rules/a.mdc": "x\n"}),
    ".mcp.json": ("judge", {}, {".mcp.json": "{}\n"}),
    # tooling
    "pytest options": ("tooling", {"pyproject.toml": PYPROJECT}, {"pyproject.toml": PYPROJECT.replace('"-q"', '"-q -k fast"')}),
    "ruff options": ("tooling", {"pyproject.toml": PYPROJECT}, {"pyproject.toml": PYPROJECT.replace("100", '100\nignore = ["F"]')}),
    "a new tool section": ("tooling", {"pyproject.toml": PYPROJECT}, {"pyproject.toml": PYPROJECT + "[tool.mypy]\nignore_errors = true\n"}),
    "a tool section deleted": ("tooling", {"pyproject.toml": PYPROJECT}, {"pyproject.toml": PYPROJECT.replace("[tool.ruff]\nline-length = 100\n", "")}),
    "pyproject that cannot be parsed": ("tooling", {"pyproject.toml": PYPROJECT}, {"pyproject.toml": PYPROJECT.replace('"-q"', '"-q')}),
    "setup.cfg": ("tooling", {"setup.cfg": "[flake8]\nmax = 1\n"}, {"setup.cfg": "[flake8]\nmax = 2\n"}),
    "tox.ini": ("tooling", {"tox.ini": "[testenv]\ncommands = pytest\n"}, {"tox.ini": "[testenv]\ncommands = true\n"}),
    "pytest.ini": ("tooling", {}, {"pytest.ini": "[pytest]\n"}),
    "settings of behave": ("tooling", {"behave.ini": "[behave]\n"}, {"behave.ini": "[behave]\ndefault_tags = not @add\n"}),
    "tests that CTest leaves out": ("tooling", {}, {"CTestCustom.cmake": "set(CTEST_CUSTOM_TESTS_IGNORE adds)\n"}),
    "options of prove": ("tooling", {}, {".proverc": "-I lib2\n"}),
    ".coveragerc": ("tooling", {".coveragerc": "a\n"}, {".coveragerc": "b\n"}),
    "ruff.toml": ("tooling", {"ruff.toml": "a = 1\n"}, {"ruff.toml": "a = 2\n"}),
    "eslint": ("tooling", {"eslint.config.mjs": "a\n"}, {"eslint.config.mjs": "b\n"}),
    "prettier": ("tooling", {".prettierrc": "a\n"}, {".prettierrc": "b\n"}),
    "jest": ("tooling", {"jest.config.js": "a\n"}, {"jest.config.js": "b\n"}),
    "vitest": ("tooling", {"vitest.config.ts": "a\n"}, {"vitest.config.ts": "b\n"}),
    "npm test": ("tooling", {"package.json": PACKAGE}, {"package.json": PACKAGE.replace('"jest"', '"true"')}),
    "tsconfig": ("tooling", {"tsconfig.json": "{}\n"}, {"tsconfig.json": '{"strict": false}\n'}),
    "golangci": ("tooling", {".golangci.yml": "a\n"}, {".golangci.yml": "b\n"}),
    "clippy": ("tooling", {"clippy.toml": "a = 1\n"}, {"clippy.toml": "a = 2\n"}),
    "make test": ("tooling", {"Makefile": MAKE}, {"Makefile": MAKE.replace("\tpytest", "\ttrue")}),
    "make lint": ("tooling", {"Makefile": MAKE}, {"Makefile": MAKE.replace("\truff check", "\truff check || true")}),
    "a workflow": ("tooling", {".github/workflows/ci.yml": "a\n"}, {".github/workflows/ci.yml": "b\n"}),
    "gitlab": ("tooling", {".gitlab-ci.yml": "a\n"}, {".gitlab-ci.yml": "b\n"}),
    "jenkins": ("tooling", {"Jenkinsfile": "a\n"}, {"Jenkinsfile": "b\n"}),
    "pre-commit": ("tooling", {".pre-commit-config.yaml": "a\n"}, {".pre-commit-config.yaml": "b\n"}),
    "make variable": ("tooling", {"Makefile": MAKE_WITH_VARIABLES}, {"Makefile": MAKE_WITH_VARIABLES.replace("PYTEST = pytest", "PYTEST = true")}),
    "make variable behind a variable": ("tooling", {"Makefile": MAKE_WITH_VARIABLES}, {"Makefile": MAKE_WITH_VARIABLES.replace("-q", "-k none")}),
    "make variable of a pattern rule": ("tooling", {"Makefile": MAKE_OBJECTS}, {"Makefile": MAKE_OBJECTS.replace("-O1", "-O1 -DNDEBUG")}),
    "make variable of a rule of make itself": ("tooling", {"Makefile": MAKE_OBJECTS}, {"Makefile": MAKE_OBJECTS.replace("-g", "-DNDEBUG")}),
    "a build type without assertions": ("tooling", {"CMakeLists.txt": CMAKE}, {"CMakeLists.txt": CMAKE.replace("enable", "set(CMAKE_BUILD_TYPE Release)\nenable")}),
    "flags without assertions in CMake": ("tooling", {"CMakeLists.txt": CMAKE}, {"CMakeLists.txt": CMAKE + "target_compile_definitions(t PRIVATE NDEBUG)\n"}),
    "another program as a test of CMake": ("tooling", {"CMakeLists.txt": CMAKE}, {"CMakeLists.txt": CMAKE.replace("COMMAND t", "COMMAND ${CMAKE_COMMAND} -E true")}),
    "a test of CMake that must fail": ("tooling", {"t/CMakeLists.txt": CMAKE}, {"t/CMakeLists.txt": CMAKE + "set_tests_properties(t PROPERTIES\n  WILL_FAIL TRUE)\n"}),
    "a test of meson that must fail": ("tooling", {"meson.build": MESON}, {"meson.build": MESON.replace("'t', t)", "'t', t, should_fail: true)")}),
    "meson without assertions": ("tooling", {"meson.build": MESON}, {"meson.build": MESON.replace("'c')", "'c', default_options: ['b_ndebug=true'])")}),
    "make variable set again": ("tooling", {"Makefile": MAKE_WITH_VARIABLES}, {"Makefile": MAKE_WITH_VARIABLES + "\noverride PYTEST := true\n"}),
    "make define": ("tooling", {"Makefile": MAKE_WITH_VARIABLES}, {"Makefile": MAKE_WITH_VARIABLES + "\ndefine PYTEST\ntrue\nendef\n"}),
    "make variable of one target": ("tooling", {"Makefile": MAKE}, {"Makefile": MAKE + "\ntest: SHELL = true\n"}),
    "make shell": ("tooling", {"Makefile": MAKE}, {"Makefile": "SHELL = /bin/true\n" + MAKE}),
    "make flags": ("tooling", {"Makefile": MAKE}, {"Makefile": "MAKEFLAGS += -i\n" + MAKE}),
    "make exported variable": ("tooling", {"Makefile": MAKE}, {"Makefile": "export PYTEST_ADDOPTS = -k none\n" + MAKE}),
    "make include": ("tooling", {"Makefile": MAKE}, {"Makefile": MAKE + "-include x.mk\n"}),
    "make eval": ("tooling", {"Makefile": MAKE}, {"Makefile": MAKE + "$(eval test: ; true)\n"}),
    "make ignores errors": ("tooling", {"Makefile": MAKE}, {"Makefile": MAKE + ".IGNORE:\n"}),
    "make phony": ("tooling", {"Makefile": ".PHONY: test\n" + MAKE}, {"Makefile": ".PHONY: build\n" + MAKE}),
    "make prerequisite": ("tooling", {"Makefile": "test: unit\n\nunit:\n\tpytest\n"}, {"Makefile": "test: unit\n\nunit:\n\ttrue\n"}),
    "make continued line": ("tooling", {"Makefile": "test:\n\tpytest \\\n\t -q\n"}, {"Makefile": "test:\n\tpytest \\\n\t -k none\n"}),
    "included makefile": ("tooling", {"rules.mk": "PYTEST = pytest\n"}, {"rules.mk": "PYTEST = true\n"}),
    "just variable": ("tooling", {"justfile": 'run := "pytest"\n\ntest:\n    {{run}}\n'}, {"justfile": 'run := "true"\n\ntest:\n    {{run}}\n'}),
    "just shell": ("tooling", {"justfile": "test:\n    pytest\n"}, {"justfile": 'set shell := ["true"]\n\ntest:\n    pytest\n'}),
    "pretest": ("tooling", {"package.json": PACKAGE}, {"package.json": PACKAGE.replace('"test":', '"pretest": "true",\n    "test":')}),
    "npm test twice": ("tooling", {"package.json": PACKAGE}, {"package.json": PACKAGE.replace('"test": "jest"', '"test": "true",\n    "test": "jest"')}),
    "scripts twice": ("tooling", {"package.json": PACKAGE}, {"package.json": PACKAGE.replace('"name": "x",', '"scripts": {"test": "true"},\n  "name": "x",')}),
    "a script that test runs": ("tooling", {"package.json": PACKAGE.replace('"jest"', '"npm run unit",\n    "unit": "jest"')}, {"package.json": PACKAGE.replace('"jest"', '"npm run unit",\n    "unit": "true"')}),
    "postinstall": ("tooling", {"package.json": PACKAGE}, {"package.json": PACKAGE.replace('"build": "tsc"', '"build": "tsc",\n    "postinstall": "x"')}),
    "main of a package": ("tooling", {"package.json": PACKAGE}, {"package.json": PACKAGE.replace('"name": "x"', '"name": "x",\n  "main": "fake.js"')}),
    "exports of a package": ("tooling", {"package.json": PACKAGE}, {"package.json": PACKAGE.replace('"name": "x"', '"name": "x",\n  "exports": "./fake.js"')}),
    "imports of a package": ("tooling", {"package.json": PACKAGE}, {"package.json": PACKAGE.replace('"name": "x"', '"name": "x",\n  "imports": {"#a": "./fake.js"}')}),
    "a folder with its own main": ("tooling", {"lib/index.js": "x\n"}, {"lib/index.js": "x\n", "lib/package.json": '{"main": "fake.js"}\n'}),
    ".npmrc": ("tooling", {}, {".npmrc": "script-shell=/bin/true\n"}),
    ".yarnrc.yml": ("tooling", {}, {".yarnrc.yml": "yarnPath: x.cjs\n"}),
    "pytest.toml": ("tooling", {}, {"pytest.toml": "[pytest]\n"}),
    ".pytest.toml below": ("tooling", {}, {"tests/.pytest.toml": "[pytest]\n"}),
    "tox.toml": ("tooling", {}, {"tox.toml": "x = 1\n"}),
    "go.work": ("tooling", {}, {"go.work": "use ./x\n"}),
    "go replace": ("tooling", {"go.mod": "module x\n"}, {"go.mod": "module x\n\nreplace a => ./b\n"}),
    "cargo alias": ("tooling", {}, {".cargo/config.toml": "[alias]\ntest = 'version'\n"}),
    "nextest": ("tooling", {}, {".config/nextest.toml": "x = 1\n"}),
    "a member of cargo": ("tooling", {"Cargo.toml": '[workspace]\nmembers = ["core", "app"]\n'}, {"Cargo.toml": '[workspace]\nmembers = ["app"]\n'}),
    "a workspace of npm": ("tooling", {"package.json": '{"workspaces": ["a", "b"]}\n'}, {"package.json": '{"workspaces": ["b"]}\n'}),
    "a workspace of pnpm": ("tooling", {"pnpm-workspace.yaml": "packages:\n  - a\n  - 'b/*'\n"}, {"pnpm-workspace.yaml": "packages:\n  - a\n"}),
    "a module of Maven": ("tooling", {"pom.xml": "<project><modules><module>a</module></modules></project>\n"}, {"pom.xml": "<project><modules><!-- <module>a</module> --></modules></project>\n"}),
    "a project of Gradle": ("tooling", {"settings.gradle": "include 'a',\n    'b'\n"}, {"settings.gradle": "include 'a'\n"}),
    "a folder of tests in CMake": ("tooling", {"CMakeLists.txt": CMAKE + "add_subdirectory(tests)\n"}, {"CMakeLists.txt": CMAKE}),
    "cargo tests off": ("tooling", {"Cargo.toml": "[package]\nname = 'x'\n"}, {"Cargo.toml": "[package]\nname = 'x'\nautotests = false\n"}),
    "cargo harness": ("tooling", {"Cargo.toml": "[package]\n"}, {"Cargo.toml": "[package]\n\n[[test]]\nname = 'a'\nharness = false\n"}),
    "cargo lib untested": ("tooling", {"Cargo.toml": "[lib]\nname = 'x'\n"}, {"Cargo.toml": "[lib]\nname = 'x'\ntest = false\n"}),
    "cargo debug assertions off": ("tooling", {"Cargo.toml": "[package]\n"}, {"Cargo.toml": "[package]\n\n[profile.test]\ndebug-assertions = false\n"}),
    "cargo overflow checks off": ("tooling", {"Cargo.toml": "[profile.dev]\nopt-level = 1\n"}, {"Cargo.toml": "[profile.dev]\nopt-level = 1\noverflow-checks = false\n"}),
    "cargo assertions of a package": ("tooling", {"Cargo.toml": "[package]\n"}, {"Cargo.toml": "[package]\n\n[profile.dev.package.calc]\ndebug-assertions = false\n"}),
    "NDEBUG in a header": ("tooling", {"config.h": CONFIG_H}, {"config.h": CONFIG_H.replace("VERSION 1", "VERSION 1\n#define NDEBUG 1")}),
    "NDEBUG in a new header": ("tooling", {}, {"include/config.h": "#pragma once\n#  define NDEBUG\n"}),
    "another assert": ("tooling", {"calc.h": CONFIG_H}, {"calc.h": CONFIG_H.replace("#endif", "#undef assert\n#define assert(x) ((void)0)\n#endif")}),
    "an undef that goes": ("tooling", {"test_calc.c": "#undef NDEBUG\n#include <assert.h>\n" + C_TESTS}, {"test_calc.c": "#include <assert.h>\n" + C_TESTS}),
    "NDEBUG of Automake": ("tooling", {"Makefile.am": "AM_CFLAGS = -g\n"}, {"Makefile.am": "AM_CFLAGS = -g -DNDEBUG\n"}),
    "NDEBUG in a script": ("tooling", {"build.sh": "cc -g calc.c\n"}, {"build.sh": "cc -g -D NDEBUG calc.c\n"}),
    "assertions of PHP off": ("tooling", {"src/calc.php": "<?php\n"}, {"src/calc.php": "<?php\nini_set('zend.assertions', 0);\n"}),
    "java without -ea": ("tooling", {"check.sh": "java -ea -cp out Check\n"}, {"check.sh": "java -cp out Check\n"}),
    "surefire ignores failures": ("tooling", {"pom.xml": POM}, {"pom.xml": POM.replace("<configuration>", "<configuration><testFailureIgnore>true</testFailureIgnore>")}),
    "surefire excludes tests": ("tooling", {"pom.xml": POM}, {"pom.xml": POM.replace("<configuration>", "<configuration><excludes><exclude>**/CalcTest.java</exclude></excludes>")}),
    "maven skips tests": ("tooling", {"pom.xml": POM}, {"pom.xml": POM.replace("<build>", "<properties><maven.test.skip>true</maven.test.skip></properties><build>")}),
    "gradle ignores failures": ("tooling", {"build.gradle": GRADLE}, {"build.gradle": GRADLE.replace("useJUnitPlatform()", "useJUnitPlatform()\n    ignoreFailures = true")}),
    "gradle excludes tests": ("tooling", {"build.gradle.kts": GRADLE_KTS}, {"build.gradle.kts": GRADLE_KTS.replace("useJUnitPlatform()", 'useJUnitPlatform()\n    exclude("**/CalcTest*")')}),
    "gradle filters tests": ("tooling", {"build.gradle.kts": GRADLE_KTS}, {"build.gradle.kts": GRADLE_KTS + "tasks.withType<Test> {\n    filter { excludeTestsMatching(\"*Calc*\") }\n}\n"}),
    "gradle disables the task": ("tooling", {"build.gradle": GRADLE}, {"build.gradle": GRADLE + "test.enabled = false\n"}),
    "jest mock of a package": ("tooling", {}, {"__mocks__/lodash.js": "x\n"}),
    "vite": ("tooling", {"vite.config.ts": "a\n"}, {"vite.config.ts": "b\n"}),
    "a plugin of pytest": ("tooling", {"pyproject.toml": PYPROJECT}, {"pyproject.toml": PYPROJECT + "[project.entry-points.pytest11]\nx = 'x'\n"}),
    "maven settings": ("tooling", {}, {".mvn/maven.config": "-DskipTests\n"}),
    "gradle settings": ("tooling", {}, {"gradle.properties": "x=1\n"}),
    "conftest": ("tooling", {"tests/sub/conftest.py": "a = 1\n"}, {"tests/sub/conftest.py": "a = 2\n"}),
}  # fmt: skip


@pytest.mark.parametrize("name", VECTORS)
def test_each_way_to_pass_more_easily_is_found(name: str) -> None:
    kind, old, new = VECTORS[name]
    found = judged(old, new)
    assert found and {remark.rule for remark in found} == {f"guard/{kind}"}, found
    for remark in found:
        assert remark.category is Category.GUARD and remark.source == "check:guard"
        assert remark.title and remark.description and remark.file
        if remark.line is not None and remark.file in new:
            lines = new[remark.file].splitlines()
            assert 1 <= remark.line <= len(lines)


PARAMS = (
    'import pytest\n\n\n@pytest.mark.parametrize("n, wanted", [(1, 2), (2, 3)])\ndef test_f(n, wanted):\n'
    "    assert f(n) == wanted\n\n\ndef test_two():\n    assert g() == 4\n"
)
SPLIT = TESTS.split("\n\n\n")
SIX = Counts(6, 6, 0, 0)

CLEAN: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "another member of cargo": ({"Cargo.toml": '[workspace]\nmembers = ["core"]\n'}, {"Cargo.toml": '[workspace]\nmembers = ["core", "app"]\n'}),
    "all members by a pattern": ({"package.json": '{"workspaces": ["packages/a"]}\n'}, {"package.json": '{"workspaces": ["packages/*"]}\n'}),
    "another folder in CMake": ({"CMakeLists.txt": CMAKE}, {"CMakeLists.txt": CMAKE + "add_subdirectory(lib)\n"}),
    "a test added": ({PY: TESTS}, {PY: TESTS + "\n\ndef test_three():\n    assert h()\n"}),
    "an assertion added": ({PY: TESTS}, {PY: TESTS + "    assert g() != 5\n"}),
    "a test renamed": ({PY: TESTS}, {PY: TESTS.replace("test_two", "test_second")}),
    "a test file renamed": ({PY: TESTS}, {"tests/test_main.py": TESTS}),
    "a test file split": ({PY: TESTS}, {PY: SPLIT[0] + "\n", "tests/test_g.py": SPLIT[1]}),
    "two test files joined": ({PY: SPLIT[0] + "\n", "tests/test_g.py": SPLIT[1]}, {PY: TESTS}),
    "tests reordered": ({PY: TESTS}, {PY: SPLIT[1] + "\n\n" + SPLIT[0] + "\n"}),
    "tests put in a class": ({PY: TESTS}, {PY: "class TestAll:\n" + "".join(f"    {x}\n" for x in TESTS.splitlines())}),
    "expected values changed": ({PY: TESTS}, {PY: TESTS.replace("== 2", "== 22").replace("== 4", "== 44")}),
    "assert into a helper": ({PY: TESTS}, {PY: "def assert_f(n, m):\n    assert f(n) == m\n\n\n" + TESTS.replace("assert f(1) == 2", "assert_f(1, 2)").replace("assert f(2) == 3", "assert_f(2, 3)")}),
    "a loop instead of lines": ({PY: TESTS}, {PY: TESTS.replace("    assert f(1) == 2\n    assert f(2) == 3\n", "    for n in (1, 2):\n        assert f(n) == n + 1\n")}),
    "comments in tests": ({PY: TESTS}, {PY: "# what f and g do; never skip\n" + TESTS}),
    "a comment that speaks of skips": ({PY: TESTS}, {PY: "# @pytest.mark.skip is not used here\n" + TESTS}),
    "a skip moved": ({PY: "@pytest.mark.skip\n" + TESTS}, {"tests/test_b.py": "@pytest.mark.skip\n" + TESTS}),
    "a skip taken away": ({PY: "@pytest.mark.skip\n" + TESTS}, {PY: TESTS}),
    "the reason of a skip": ({PY: "@pytest.mark.skip\n" + TESTS}, {PY: "@pytest.mark.skip(reason='x')\n" + TESTS}),
    "quotes in js": ({"a.test.ts": JS}, {"a.test.ts": JS.replace("'", '"')}),
    "a js test renamed": ({"a.test.ts": JS}, {"a.test.ts": JS.replace("'adds'", "'adds numbers'")}),
    "js moved": ({"a.test.ts": JS}, {"src/__tests__/b.test.ts": JS}),
    "test into it": ({"a.test.ts": JS}, {"a.test.ts": JS.replace("it(", "test(")}),
    "a go test added": ({"a_test.go": GO}, {"a_test.go": GO + GO.replace("TestAdd", "TestMore")}),
    "a rust function changed": ({"src/lib.rs": RS}, {"src/lib.rs": RS.replace("fn add() {}", "fn add() { 1 }")}),
    "a rust test moved out": ({"src/lib.rs": RS}, {"src/lib.rs": "fn add() {}\n", "tests/add.rs": RS.partition("mod tests {")[2]}),
    "code that is no test": ({"src/a.py": "assert x\nassert y\n"}, {"src/a.py": "pass\n"}),
    "code deleted": ({"src/a.py": "def f():\n    pass\n"}, {}),
    "xfail in the code": ({"src/a.py": "a = 1\n"}, {"src/a.py": "a = 'pytest.skip('\n"}),
    "a fixture file deleted": ({"tests/data/a.json": "{}\n"}, {}),
    "a dependency added": ({"pyproject.toml": PYPROJECT}, {"pyproject.toml": PYPROJECT.replace('["a"]', '["a", "b"]')}),
    "a version raised": ({"pyproject.toml": PYPROJECT}, {"pyproject.toml": PYPROJECT.replace('"x"', '"x"\nversion = "2"')}),
    "a comment in pyproject": ({"pyproject.toml": PYPROJECT}, {"pyproject.toml": "# hello\n" + PYPROJECT}),
    "sections reordered": ({"pyproject.toml": PYPROJECT}, {"pyproject.toml": "\n".join(reversed(PYPROJECT.split("\n\n"))) + "\n"}),
    "another tool's section": ({"pyproject.toml": PYPROJECT}, {"pyproject.toml": PYPROJECT + "[tool.setuptools]\nzip-safe = false\n"}),
    "a package added": ({"package.json": PACKAGE}, {"package.json": PACKAGE.replace('"dependencies": {}', '"dependencies": {"left": "1"}')}),
    "a script to build": ({"package.json": PACKAGE}, {"package.json": PACKAGE.replace('"tsc"', '"tsc -b"')}),
    "make build": ({"Makefile": MAKE}, {"Makefile": MAKE.replace("cc a.c", "cc b.c")}),
    "make variable that no test uses": ({"Makefile": MAKE_WITH_VARIABLES}, {"Makefile": MAKE_WITH_VARIABLES.replace("VERSION = 1", "VERSION = 2")}),
    "a new test of CMake": ({"CMakeLists.txt": CMAKE}, {"CMakeLists.txt": CMAKE + "add_executable(u u.c)\nadd_test(NAME u COMMAND u)\n"}),
    "a new source in CMake": ({"CMakeLists.txt": CMAKE}, {"CMakeLists.txt": CMAKE.replace("calc.c", "calc.c more.c")}),
    "a new test of meson": ({"meson.build": MESON}, {"meson.build": MESON + "u = executable('u', 'u.c')\ntest('u', u)\n"}),
    "a new rust test that panics": ({"src/lib.rs": RS}, {"src/lib.rs": RS.replace("    #[test]\n", "    #[test]\n    #[should_panic]\n    fn refuses() {\n        assert!(f());\n    }\n\n    #[test]\n", 1)}),
    "a new rust example that is not run": ({"src/lib.rs": RS_DOC}, {"src/lib.rs": RS_DOC + "/// ```no_run\n/// calc::start();\n/// ```\npub fn start() {}\n"}),
    "a comment in a makefile": ({"Makefile": MAKE_WITH_VARIABLES}, {"Makefile": "# hello\n" + MAKE_WITH_VARIABLES}),
    "a script that no test runs": ({"package.json": PACKAGE}, {"package.json": PACKAGE.replace('"build": "tsc"', '"build": "tsc",\n    "dev": "vite"')}),
    "go requirement": ({"go.mod": "module x\n\nrequire a v1\n"}, {"go.mod": "module x\n\nrequire a v2\n"}),
    "cargo library": ({"Cargo.toml": "[lib]\nname = 'x'\n"}, {"Cargo.toml": "[lib]\nname = 'y'\n"}),
    "setup.cfg metadata": ({"setup.cfg": "[metadata]\nname = x\n\n[flake8]\nmax = 1\n"}, {"setup.cfg": "[metadata]\nname = y\n\n[flake8]\nmax = 1\n"}),
    "a comment in conftest": ({"conftest.py": "a = 1\n"}, {"conftest.py": "# why\na = 1\n"}),
    "cargo profile": ({"Cargo.toml": "[package]\n"}, {"Cargo.toml": "[package]\n\n[profile.release]\nlto = true\n"}),
    "code that only debug builds have": ({"calc.c": "int a;\n"}, {"calc.c": "#ifndef NDEBUG\nint a;\n#endif\n"}),
    "a constant in a header": ({"config.h": CONFIG_H}, {"config.h": CONFIG_H.replace("1", "2")}),
    "words about NDEBUG": ({"calc.c": "int a;\n"}, {"calc.c": "// build with -DNDEBUG\nint a;\n"}),
    "assertions that stay on": ({}, {"tests/test_more.c": "#undef NDEBUG\n#include <assert.h>\n"}),
    "dependencies of maven": ({"pom.xml": POM}, {"pom.xml": POM.replace("<build>", "<dependencies><dependency>x</dependency></dependencies><build>")}),
    "another version of surefire": ({"pom.xml": POM}, {"pom.xml": POM.replace("3.0", "3.1")}),
    "dependencies of gradle": ({"build.gradle": GRADLE}, {"build.gradle": GRADLE.replace("'a:b:1'", "'a:b:2'").replace("implementation", "testImplementation")}),
    "what gradle prints": ({"build.gradle": GRADLE}, {"build.gradle": GRADLE.replace("useJUnitPlatform()", "useJUnitPlatform()\n    testLogging { events 'passed' }")}),
    "cargo dependencies": ({"Cargo.toml": "[dependencies]\na = '1'\n"}, {"Cargo.toml": "[dependencies]\na = '2'\n"}),
    "a readme": ({"README.md": "see AGENTS.md\n"}, {"README.md": "see CLAUDE.md\n"}),
    "a file with a like name": ({}, {"docs/our-agents.md": "x\n", "src/burnish_yaml.py": "x = 1\n", "claude/app.py": "x = 1\n"}),
}  # fmt: skip


@pytest.mark.parametrize("name", CLEAN)
def test_honest_work_gives_no_finding(name: str) -> None:
    assert judged(*CLEAN[name]) == ()


def in_form(old: Mapping[str, str], file: ChangedFile, links: Mapping[str, str] | None = None) -> list[str]:
    found = guard(
        Change("0" * 40, "1" * 40, (file,)),
        comparisons=(),
        old_text=old.get,
        new_text={}.get,
        levels=LEVELS,
        agent_files=PROJECT_FILES,
        trees=guarded_trees(dict.fromkeys(old, ""), {**dict.fromkeys(old, ""), **(links or {})}),
    )
    return [remark.rule for remark in found]


@pytest.mark.parametrize("path", ["Makefile", "package.json", "pyproject.toml", "setup.cfg", "pytest.ini"])
def test_settings_that_become_a_link_or_cannot_be_read_are_found(path: str) -> None:
    assert in_form({path: "x\n"}, ChangedFile(path, "T", new_mode="120000"), {path: "other"}) == ["guard/tooling"]
    assert in_form({path: "x\n"}, ChangedFile(path, "M", binary=True)) == ["guard/tooling"]


def test_settings_in_a_linked_folder_are_found() -> None:
    old = {"fake/config.toml": "[alias]\n", "fake/ci.yml": "x\n"}
    link = ChangedFile(".cargo", "A", new_mode="120000")
    assert in_form(old, link, {".cargo": "fake"}) == ["guard/tooling"]
    assert in_form(old, ChangedFile("other", "A", new_mode="120000"), {"other": "fake"}) == []


@pytest.mark.parametrize(
    ("command", "path", "rules"),
    [
        ("sh scripts/suite.sh", "scripts/suite.sh", ["guard/tooling"]),
        ("./suite", "suite", ["guard/tooling"]),
        ("cd web && sh run.sh", "web/run.sh", ["guard/tooling"]),
        ("A=1 bash -eu ./suite.sh && x", "suite.sh", ["guard/tooling"]),
        ("uv run python tools/run.py", "tools/run.py", ["guard/tooling"]),
        ("/opt/x/bin/python -I run.py", "run.py", ["guard/tooling"]),
        ("lint; . ./suite.sh", "suite.sh", ["guard/tooling"]),
        ("make -f rules", "rules", ["guard/tooling"]),
        ("sh other.sh", "suite.sh", []),
        ("! grep -q broken app.py", "app.py", []),
        ("python -m py_compile app.py", "app.py", []),
        ("ruff check app.py", "app.py", []),
        ("node test.js", "test.js", []),
        ("pytest test_app.py", "test_app.py", []),
    ],
)
def test_a_script_that_the_command_of_a_check_starts_is_tooling(command: str, path: str, rules: list[str]) -> None:
    report = CheckReport("test", command, CheckStatus.PASSED)
    old, new = {path: "a\n"}, {path: "b\n"}
    assert [one.rule for one in judged(old, new, comparisons=(Comparison(report, report),))] == rules


def test_a_rule_and_a_script_that_a_command_names_are_tooling() -> None:
    report = CheckReport("test", "make all && npm run unit", CheckStatus.PASSED)
    old = {"Makefile": "all:\n\tpytest\n", "package.json": '{"scripts": {"unit": "jest"}}\n'}
    new = {path: text.replace("pytest", "true").replace("jest", "true") for path, text in old.items()}
    found = judged(old, new, comparisons=(Comparison(report, report),))
    assert sorted(one.title.partition(": ")[2] for one in found) == ["all in Makefile", "scripts.unit in package.json"]


def test_there_are_enough_clean_cases() -> None:
    assert len(CLEAN) >= 30


def test_tests_that_became_cases_are_no_loss_if_as_many_are_run() -> None:
    three = "".join(f"def test_f{n}():\n    assert f({n}) == {n + 1}\n\n\n" for n in (1, 2, 3)) + SPLIT[1]
    assert judged({PY: three}, {PY: PARAMS}, comparisons=(counted(SIX, SIX),)) == ()
    assert judged({PY: three}, {PY: PARAMS}, comparisons=(counted(SIX, Counts(4, 4, 0, 0)),))


def test_fewer_collected_and_more_skipped_is_found_by_count_alone() -> None:
    (fewer,) = judged({}, {"a.py": "x\n"}, comparisons=(counted(SIX, Counts(5, 5, 0, 0)),))
    assert fewer.title == "Fewer tests than before: 6 → 5" and fewer.severity is Severity.ERROR
    (skips,) = judged({}, {"a.py": "x\n"}, comparisons=(counted(SIX, Counts(6, 4, 0, 2)),))
    assert "0 → 2" in skips.title


def listing(before: Mapping[str, int], now: Mapping[str, int]) -> Comparison:
    one = counted(SIX, SIX)
    baseline, report = (
        replace(one.report, test_files=tuple(TestFile(path, run) for path, run in files.items()))
        for files in (before, now)
    )
    return Comparison(report, baseline)


def test_tests_of_an_untouched_file_that_are_not_run_any_more_are_found_although_new_tests_take_their_place() -> None:
    """A list of tests in a format that no pattern knows left them out."""
    lists = {"ci/suite.txt": "test_main test_g\n"}, {"ci/suite.txt": "test_g\n", "tests/test_new.py": TESTS}
    before = {PY: 3, "tests/test_g.py": 3}
    (lost,) = judged(*lists, comparisons=(listing(before, {"tests/test_g.py": 3, "tests/test_new.py": 3}),))
    assert lost.title == f"Fewer tests of {PY} than before: 3 → 0" and lost.severity is Severity.ERROR
    (fewer,) = judged(*lists, comparisons=(listing(before, {PY: 2, "tests/test_g.py": 3, "tests/test_new.py": 1}),))
    assert fewer.title == f"Fewer tests of {PY} than before: 3 → 2"
    # a file that the change edits has a rule of its own, and a report may name no files
    moved = (listing({PY: 6}, {"tests/test_main.py": 6}),)
    renamed = judged({PY: TESTS}, {"tests/test_main.py": TESTS}, comparisons=moved, renamed={"tests/test_main.py": PY})
    assert renamed == () == judged(*lists, comparisons=(listing(before, {}), listing({}, before)))


def test_a_run_that_stopped_at_a_new_failure_is_not_fewer_tests() -> None:
    """`pytest -x` or `--bail`: the author is to correct the failure, and the tests are counted when they pass."""
    failure = TestFailure("test_a", "failed", "")
    stopped = counted(SIX, Counts(3, 2, 1, 0))
    stopped = replace(stopped, report=replace(stopped.report, status=CheckStatus.FAILED, failures=(failure,)))
    assert judged({}, {"a.py": "x\n"}, comparisons=(replace(stopped, new=(failure,)),)) == ()
    # with an old failure the change could be approved, and so it could if the check is not blocking
    assert judged({}, {"a.py": "x\n"}, comparisons=(replace(stopped, old=(failure,)),))
    advisory = replace(stopped, report=replace(stopped.report, blocking=False), new=(failure,))
    assert judged({}, {"a.py": "x\n"}, comparisons=(advisory,))


def test_an_unknown_baseline_is_not_zero_and_not_a_loss() -> None:
    assert judged({}, {"a.py": "x\n"}, comparisons=(counted(None, Counts(0, 0, 0, 0)),)) == ()


@pytest.mark.parametrize("status", [CheckStatus.PASSED, CheckStatus.FAILED])
def test_a_count_that_was_known_and_becomes_unknown_is_an_error(status: CheckStatus) -> None:
    baseline = CheckReport("test", "pytest", status, counts=SIX)
    comparison = Comparison(CheckReport("test", "pytest", status), baseline)
    (found,) = judged({}, {"a.py": "x\n"}, comparisons=(comparison,))
    assert found.severity is Severity.ERROR and found.rule == "guard/thinning"
    assert found.title == "The number of tests in `test` is unknown: 6 → ?"


def test_an_unknown_count_is_not_reported_where_it_was_unknown_or_the_check_fails_anyway() -> None:
    unknown = CheckReport("lint", "ruff", CheckStatus.PASSED)
    assert judged({}, {"a.py": "x\n"}, comparisons=(Comparison(unknown, unknown),)) == ()
    failed = CheckReport("test", "pytest", CheckStatus.ERROR)
    before = CheckReport("test", "pytest", CheckStatus.PASSED, counts=SIX)
    assert judged({}, {"a.py": "x\n"}, comparisons=(Comparison(failed, before, broken=True),)) == ()


def test_tests_that_could_not_be_collected_are_failures_not_losses() -> None:
    broken = counted(SIX, Counts(1, 0, 1, 0), failures=(TestFailure("tests/test_app.py", "error"),))
    assert judged({}, {"a.py": "x\n"}, comparisons=(broken,)) == ()


def test_levels_are_obeyed_and_off_is_off() -> None:
    old, new = {"burnish.yaml": "a: 1\n", PY: TESTS}, {"burnish.yaml": "a: 2\n"}
    found = judged(old, new, levels={"thinning": "warning", "judge": "off"})
    assert [(r.rule, r.severity) for r in found] == [("guard/thinning", Severity.WARNING)]


def test_a_first_config_is_a_warning_at_most() -> None:
    (new,) = judged({}, {"ruff.toml": "a = 1\n"}, levels={"tooling": "error"})
    (changed,) = judged({"ruff.toml": "a = 1\n"}, {"ruff.toml": "a = 2\n"}, levels={"tooling": "error"})
    assert (new.severity, changed.severity) == (Severity.WARNING, Severity.ERROR)


def test_what_burnish_itself_wrote_is_left_out() -> None:
    path = ".burnish/tasks/1-x/review-cycle-1.md"
    assert judged({}, {path: "x\n"}, own=(path,)) == ()
    assert judged({}, {path: "x\n", ".burnish/tasks/1-x/other.md": "x\n"}, own=(path,))


def test_a_judge_that_is_renamed_away_is_found() -> None:
    (found,) = judged({"AGENTS.md": "a\n"}, {"docs/x.md": "a\n"}, renamed={"docs/x.md": "AGENTS.md"})
    assert found.rule == "guard/judge" and "Renames" in found.title


EACH_PATTERN = [
    # assertions
    "assertEqual(a, b)", "Assert.Equal(1)", "XCTAssertTrue(x)", "EXPECT_EQ(a, b)", "ASSERT_EQ(a)", "CHECK_EQ(a)",
    "REQUIRE_THAT(a)", "expect_equal(1)", "must_equal 2", "check_it(1)", "verify_all()", "expect(1)", "verify (x)",
    "CHECK(x)", "REQUIRE(x)", "refute_nil(x)", "expectOk(1)", "checkAll (1)", "verifyAll(1)", "expect x",
    "x.should eq 1", "a.require.NoError(t)", "is.Equal(1)", "is.NoErr(e)", "pytest.raises(E)", "pytest.warns(W)",
    "pytest.fail", "self.fail(1)", 't.Errorf("x")', "b.Fatal(1)", "t.FailNow()",
    # skips
    "@pytest.mark.skipif(x)", "pytest.mark.xfail", "pytest.importorskip('x')", "@unittest.skip", "@expectedFailure",
    "self.skipTest('x')", "raise SkipTest", "__test__ = False", "it.skip('x')", "test.only('x')", "it.todo('x')",
    "test.failing('x')", "describe.fixme('x')", "xit('x')", "xtest('x')", "xdescribe('x')", "xcontext('x')",
    "xspecify('x')", "xscenario('x')", "fit('x')", "fdescribe('x')", "fcontext('x')", "t.Skipf(1)", "//go:build ignore",
    "#[ignore]", "@Disabled", "@Ignore", "[Ignore]", '[Fact(Skip = "x")]', "markTestSkipped()", "markTestIncomplete()",
    "it('x', { skip: true })", "test.fails('x')", "local $TODO = 'x';", "todo_skip 'x'", "plan skip_all => 'x'",
    "throw XCTSkip()", "GTEST_SKIP()", "@tag :skip", "  pending",
    # what multiplies
    "@pytest.mark.parametrize", "@parameterized.expand", "it.each([1])", "with self.subTest():", "t.Run(x)", "for x in y",
    "x.forEach(f)", "forall x", "@given(x)", "#[case(1)]", "#[rstest]", "#[test_case(1)]", "proptest! {",
    "@ParameterizedTest", "@MethodSource", "@dataProvider x", "[Theory]", "[InlineData(1)]", "[TestCase(1)]", "TEST_P(A, b)",
]  # fmt: skip


@pytest.mark.parametrize("line", EACH_PATTERN)
def test_each_pattern_is_found_among_many_other_lines(line: str) -> None:
    alone = guard_tests.testing_in("tests/a.txt", line)
    assert alone.assertions or alone.skips or alone.multipliers, "the line is an example of no pattern"
    among = guard_tests.testing_in("tests/a.txt", f"x = 1\ny = 2\n{line}\n{line}\nz = 3")
    assert among.assertions == 2 * alone.assertions and among.multipliers == 2 * alone.multipliers
    assert among.skips == alone.skips + alone.skips


@pytest.mark.slow
def test_no_line_of_real_tests_is_missed_by_the_search_for_hints() -> None:
    here = Path(__file__).parents[1]
    for path in [*here.glob("checks/*.py"), *here.glob("core/*.py"), *here.glob("git/*.py")]:
        text = path.read_text()
        lines = [line for line in text.split("\n") if not guard_tests._COMMENT.match(line)]
        plain = [line for line in lines if not guard_tests._IMPORT.match(line)]
        found = guard_tests.testing_in(str(path), text)
        assert found.assertions == sum(map(guard_tests._asserting, plain))
        assert found.skips.total() == sum(bool(guard_tests._SKIP.search(line)) for line in lines)
        assert found.multipliers == sum(len(guard_tests._MULTIPLIER.findall(line)) for line in plain)


ENDLESS = {
    "pom.xml": "<plugin><artifactId>",
    "sub/pom.xml": "<!-- <skipTests>",
    "build.gradle": "test {\n/*",
    "build.gradle.kts": "\n \n\t",
    "sub/build.gradle": "testtest",
    "config.h": "#define NDEBUG /* ",
    "src/A.java": "setDefaultAssertionStatus(",
    "CMakeLists.txt": "add_test(",
}


@pytest.mark.parametrize("path", ENDLESS)
def test_text_without_an_end_takes_little_time(path: str) -> None:
    old, new = (ENDLESS[path] * (100_000 // len(ENDLESS[path])) + end for end in ("", "x\n#define NDEBUG\n"))
    start = time.process_time()
    tooling_parts(path, old, new)
    assert time.process_time() - start < 5, "it takes far below a second"
