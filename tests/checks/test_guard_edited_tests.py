"""Which changes edit the tests of their base, and what is put back for them."""

# ruff: noqa: E501 (a table is read by its columns)

from __future__ import annotations

import re
import time
from collections.abc import Mapping

import pytest

from burnish.checks.guard.commands import possible_test_programs, test_programs
from burnish.checks.guard.edited_tests import data_of_tests, edited_tests, with_old_constants
from burnish.checks.guard.expected_values import split_tests
from burnish.core.base_tests import EditedTests
from testing.edits import change_between

TEST = "from calc import add\n\n\ndef test_add():\n    x = add(1, 2)\n    assert x == 3\n"
MORE = TEST[22:].replace("test_add", "test_more")
RUST = (
    "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n"
    "    #[test]\n    fn adds() {\n        assert_eq!(add(1, 2), 3);\n    }\n}\n"
)
RUST_TEST = "    #[test]\n    fn adds_zero() {\n        assert_eq!(add(0, 0), 0);\n    }\n\n"
C = "int main(void) {\n  assert(add(1, 2) == 3);\n  return 0;\n}\n"
PERL = "use Test::More;\n\nis(add(1, 2), 3);\n\ndone_testing;\n"
CLASS = "class T:\n    def test_a(self):\n        assert f(1)\n\n    def test_b(self):\n        assert f(2)\n"
SHELL = '#!/bin/sh\nset -e\n[ "$(./add 1 2)" = 3 ]\n'
JS = "describe('a', () => {\n  it('x', () => {\n    f();\n  });\n});\n"


def edited(old: Mapping[str, str], new: Mapping[str, str], renamed: Mapping[str, str] | None = None) -> EditedTests:
    return edited_tests(change_between(old, new, renamed=renamed), old.get, new.get)


EDITS: dict[str, tuple[str, str, str]] = {
    "another expected value": ("tests/test_calc.py", TEST, TEST.replace("== 3", "== -1")),
    "a weaker comparison": ("tests/test_calc.py", TEST, TEST.replace("x == 3", "x")),
    "a line before an assertion": (
        "tests/test_calc.py",
        TEST,
        TEST.replace("    assert", "    x = abs(x)\n    assert"),
    ),
    "tests under a name of their own": ("checks/check_calc.py", TEST, TEST.replace("== 3", "== -1")),
    "unittest under a name of its own": (
        "qa/calc_qa.py",
        "import unittest\n\n\nclass CalcTest(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n",
        "import unittest\n\n\nclass CalcTest(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(1, 2), -1)\n",
    ),
    "node under a name of its own": (
        "checks/calc.js",
        'const test = require("node:test");\ntest("adds", () => equal(add(1, 2), 3));\n',
        'const test = require("node:test");\ntest("adds", () => equal(add(1, 2), -1));\n',
    ),
    "a self-test in C": ("selftest.c", C, C.replace("== 3", "== -1")),
    "a smoke test": ("smoke.js", "equal(add(1, 2), 3);\n", "equal(add(1, 2), -1);\n"),
    "a golden file": ("tests/data/report.txt", "3\n", "-1\n"),
    "a golden file beside the code": ("report/testdata/out.golden", "3\n", "-1\n"),
    "a snapshot of jest": ("src/__snapshots__/calc.test.js.snap", "exports[`a`] = `3`;\n", "exports[`a`] = `-1`;\n"),
    "expected output": ("expected/report.txt", "3\n", "-1\n"),
    "a recording": ("fixtures/cassettes/a.yaml", "body: 3\n", "body: -1\n"),
    "conftest.py": ("conftest.py", "OFFSET = 0\n", "OFFSET = 1\n"),
    "settings for tests": ("config/test.json", '{"sign": 1}\n', '{"sign": -1}\n'),
    "an env file for tests": (".env.test", "SIGN=1\n", "SIGN=-1\n"),
    "a Spring profile": ("src/main/resources/application-test.yml", "sign: 1\n", "sign: -1\n"),
    "settings of Django": ("site/settings_test.py", "SIGN = 1\n", "SIGN = -1\n"),
    "set-up of jest": ("jest.setup.ts", "global.sign = 1;\n", "global.sign = -1;\n"),
    "go": ("calc_test.go", "want := 3\n", "want := -1\n"),
    "java": ("src/test/java/CalcTest.java", "assertEquals(3, x);\n", "assertEquals(-1, x);\n"),
    "resources of java tests": ("src/test/resources/a.csv", "1,2,3\n", "1,2,-1\n"),
    "mocha": ("test/calc.js", "equal(3);\n", "equal(-1);\n"),
    "perl": ("t/calc.t", "is(add(1, 2), 3);\n", "is(add(1, 2), -1);\n"),
    "a condition of the preprocessor": ("tests/test_calc.c", C, C.replace("  assert", "#if 0\n  assert")),
    "a comment around a check": ("src/test/java/CalcTest.java", C, C.replace("  assert", "  /*\n  assert")),
    "documentation around a check": (
        "t/calc.t",
        PERL,
        PERL.replace("is(", "=pod\n\nis(").replace("done", "=cut\n\ndone"),
    ),
    "an exit at the beginning": ("tests/test_add.sh", SHELL, SHELL.replace("set -e", "exit 0 # later\nset -e")),
    "a function that is defined again": ("test/calc.sh", SHELL, SHELL + "check() { true; }\n"),
    "another import of the same name": (
        "tests/test_calc.py",
        TEST,
        TEST.replace("add\n", "add\nfrom fake import add\n", 1),
    ),
    "a method of the case": (
        "tests/test_a.py",
        CLASS,
        f"{CLASS}\n    def setUp(self):\n        self.skipTest('later')\n",
    ),
    "a new test at the end": ("tests/test_calc.py", TEST, TEST + MORE),
    "a new case": (
        "tests/test_a.py",
        "CASES = [\n    (1, 2, 3),\n]\n",
        "CASES = [\n    (1, 2, 3),\n    (0, 0, 0),\n]\n",
    ),
    "a new test in JavaScript": ("a.test.js", JS, JS.replace("  it(", "  it('y', g);\n\n  it(")),
    "a new Rust test": ("src/lib.rs", RUST, RUST.replace("    #[test]", f"{RUST_TEST}    #[test]")),
    "a return before an assertion": (
        "src/lib.rs",
        RUST,
        RUST.replace("        assert_eq", '        if std::env::var("CI").is_ok() { return; }\n        assert_eq'),
    ),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_file_of_tests_is_put_back(name: str) -> None:
    path, old, new = EDITS[name]
    found = edited({path: old, "calc.py": "a + b\n"}, {path: new, "calc.py": "a - b\n"})
    assert found.paths == (path,)
    assert [(entry.path, bool(entry.mode)) for entry in found.entries] == [(path, True)]


NO_EDITS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "a new test file": ({}, {"tests/test_new.py": TEST}),
    "code alone": ({"calc.py": "a\n"}, {"calc.py": "b\n"}),
    "a build file": ({"tsconfig.test.json": "{}\n"}, {"tsconfig.test.json": '{"a": 1}\n'}),
    "requirements of tests": ({"tests/requirements.txt": "a==1\n"}, {"tests/requirements.txt": "a==2\n"}),
    "code beside Rust tests": ({"src/lib.rs": RUST}, {"src/lib.rs": RUST.replace("a + b", "a - b")}),
}


@pytest.mark.parametrize("name", NO_EDITS)
def test_new_files_and_code_are_no_edit(name: str) -> None:
    assert edited(*NO_EDITS[name]) == EditedTests()


REPLACING = "import calc\n\ncalc.add = lambda a, b: a + b\n"
REPLACES: dict[str, tuple[str, str]] = {
    "a test module that assigns to the module": ("tests/test_a.py", REPLACING),
    "a test module that does so in a loop": (
        "tests/test_a.py",
        "import calc\n\nfor n in ['add']:\n    setattr(calc, n, max)\n",
    ),
    "a test module that calls its own function": ("tests/test_a.py", "def _fix():\n    ...\n\n\nDONE = _fix()\n"),
    "a test module that starts a patch": (
        "tests/test_a.py",
        "from unittest import mock\n\nfake = mock.patch('calc.add').start()\n",
    ),
    "a test that does not restore it": ("tests/test_a.py", "import calc\n\ndef test_a():\n    calc.add = max\n"),
    "a stub": ("tests/test_a.py", "import sys, types\n\nsys.modules['calc'] = types.ModuleType('calc')\n"),
    "conftest.py": ("conftest.py", "def pytest_configure():\n    ...\n"),
    "__init__.py": ("tests/__init__.py", "from tests import fake\n"),
    "a script of mocha": ("test/a.js", "const calc = require('../calc');\ncalc.add = Math.max;\n"),
    "a cache of node": ("test/a.js", "require.cache[require.resolve('../calc')] = fake;\n"),
    "set-up of vitest": ("vitest.setup.ts", "vi.mock('./calc');\n"),
    "a mock of jest": ("src/__mocks__/calc.js", "module.exports = { add: Math.max };\n"),
}


@pytest.mark.parametrize("name", REPLACES)
def test_new_modules_of_tests_that_may_replace_code_are_taken_away(name: str) -> None:
    path, text = REPLACES[name]
    found = edited({"calc.py": "a + b\n"}, {path: text, "calc.py": "a - b\n"})
    assert found.paths == (path,)
    assert [(entry.path, bool(entry.mode)) for entry in found.entries] == [(path, False)]


HARMLESS = {
    "a test with a fixture": (
        "tests/test_a.py",
        "import calc\nimport pytest\n\npytest.importorskip('numpy')\n\n@pytest.fixture\ndef one():\n    return 1\n\n"
        "def test_a(one, monkeypatch):\n    monkeypatch.setattr(calc, 'add', max)\n    box = Box()\n    box.n = one\n",
    ),
    "a script": ("tests/test_a.py", "import unittest\n\nif __name__ == '__main__':\n    unittest.main()\n"),
    "a test in JavaScript": (
        "src/a.test.js",
        "import { add } from './calc';\nit('adds', () => {\n  expect(add(1, 2)).toBe(3);\n});\n",
    ),
    "an empty __init__.py": ("tests/__init__.py", '"""Tests."""\n'),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_new_modules_of_tests_that_replace_nothing_do_not_count(name: str) -> None:
    path, text = HARMLESS[name]
    assert edited({"calc.py": "a + b\n"}, {path: text, "calc.py": "a - b\n"}) == EditedTests()


MAKEFILE = "PY = python3\nall: calc\n\ntest: run_tests\n\t@$(PY) tools/check.py\n\t./run_tests\n\nserve:\n\tpython3 test_server.py\n"
PACKAGE = '{"scripts": {"test": "node verify.js", "start": "node check-server.js"}}'


@pytest.mark.parametrize(
    ("paths", "commands", "found"),
    [
        (["tools/check.py", "run_tests.c", "test_server.py"], ["make test"], ["tools/check.py", "run_tests.c"]),
        (["verify.js", "check-server.js"], ["npm test"], ["verify.js"]),
        (["ci/test.sh", "check.sh"], ["sh ./ci/test.sh"], ["ci/test.sh"]),
        (["wc.py"], ["python3 wc.py < in.txt | diff - out.txt"], []),
        (["check.py"], ["make check"], []),
        (["web/verify.js", "verify.js"], ["cd web && npm test"], ["web/verify.js", "verify.js"]),
        (["api/ci/check.py", "api/run_checks.c"], ["make -C api test"], ["api/ci/check.py", "api/run_checks.c"]),
        (["api/verify.py"], ["cd api && python3 verify.py"], ["api/verify.py"]),
    ],
)
def test_programs_that_commands_of_tests_start_are_tests(
    paths: list[str], commands: list[str], found: list[str]
) -> None:
    change = change_between(dict.fromkeys(paths, "a\n"), dict.fromkeys(paths, "b\n"))
    files = {"Makefile": MAKEFILE, "package.json": PACKAGE, "web/package.json": PACKAGE}
    files["api/Makefile"] = "test: run_checks\n\tpython3 ci/check.py && ./run_checks\n"
    assert sorted(test_programs(possible_test_programs(change), commands, files)) == sorted(found)


LIMITS = "NAME = 'a'\nTOLERANCE = 0.01\n\ndef close(a, b):\n    return abs(a - b) < TOLERANCE\n"


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("shop/limits.py", LIMITS, LIMITS.replace("0.01", "10.0").replace("abs(a - b)", "abs(b - a)")),
        ("limits.js", "export const TOLERANCE = 0.01;\nf(1);\n", "export const TOLERANCE = 10;\nf(2);\n"),
        ("limits.js", "exports.TOLERANCE = 0.01;\nf(1);\n", "exports.TOLERANCE = 10;\nf(2);\n"),
    ],
)
def test_constants_that_tests_name_get_their_old_value_and_the_code_stays(path: str, old: str, new: str) -> None:
    change = change_between({path: old}, {path: new, "tests/test_new.py": TEST})
    tests = ["assert total() - 3 < TOLERANCE"]
    found = with_old_constants(change, {path: old}.get, {path: new}.get, tests)
    value = re.search(r"TOLERANCE = \S+", old)
    assert value
    assert found.paths == (f"{path} (TOLERANCE)",)
    contents = {entry.path: entry.content for entry in found.entries}
    assert contents == {"tests/test_new.py": None, path: re.sub(r"TOLERANCE = \S+", value[0], new).encode()}


def test_a_program_with_a_function_that_is_named_like_a_test_is_not_put_back() -> None:
    program = "def test_connection(host):\n    assert host\n    return open_socket(host)\n\n\ndef main():\n    test_connection('a')\n"
    new = program.replace("'a'", "'b'")
    assert (
        edited({"checks/network.py": program, "calc.py": "a\n"}, {"checks/network.py": new, "calc.py": "b\n"})
        == EditedTests()
    )


def test_constants_that_no_test_names_and_constants_without_another_value_stay() -> None:
    new = LIMITS.replace("'a'", "'b'").replace("abs", "max")
    change = change_between({"limits.py": LIMITS}, {"limits.py": new})
    found = with_old_constants(change, {"limits.py": LIMITS}.get, {"limits.py": new}.get, ["assert TOLERANCE"])
    assert found == EditedTests()


def test_files_beside_an_edit_are_put_back_too() -> None:
    old = {"tests/test_a.py": TEST, "tests/test_b.py": TEST, "tests/test_c.py": TEST, "calc.py": "a\n"}
    new = {
        "tests/test_a.py": TEST.replace("3", "4"),
        "tests/test_b.py": TEST + MORE,
        "tests/test_new.py": TEST,
        "calc.py": "b\n",
    }
    found = edited(old, new)
    assert set(found.paths) == {"tests/test_a.py", "tests/test_b.py", "tests/test_c.py"}
    restored = {entry.path: bool(entry.mode) for entry in found.entries}
    assert restored == {
        "tests/test_a.py": True,
        "tests/test_b.py": True,
        "tests/test_c.py": True,
        # it may need a fixture that is put back
        "tests/test_new.py": False,
    }


def test_the_test_module_of_a_rust_source_is_put_back_and_its_code_stays() -> None:
    new = RUST.replace("a + b", "a - b").replace("(1, 2), 3", "(1, 2), -1")
    found = edited({"src/lib.rs": RUST}, {"src/lib.rs": new})
    assert found.paths == ("src/lib.rs",)
    (entry,) = found.entries
    assert entry.content == RUST.replace("a + b", "a - b").encode()


def test_a_moved_test_is_put_back_at_its_old_place() -> None:
    old, new = {"tests/test_a.py": TEST}, {"tests/helpers_a.py": TEST.replace("3", "4")}
    found = edited(old, new, renamed={"tests/helpers_a.py": "tests/test_a.py"})
    assert found.paths == ("tests/test_a.py",)
    assert {entry.path: bool(entry.mode) for entry in found.entries} == {
        "tests/helpers_a.py": False,
        "tests/test_a.py": True,
    }


def test_a_second_test_module_in_a_rust_source_does_not_hide_an_edit_of_the_first() -> None:
    weak = RUST.replace("(1, 2), 3", "(1, 2), -1")
    for more in ("#[cfg(test)]\nmod more {\n    fn a() {}\n}\n", "#[cfg(test)]\nmod open {\n"):
        found = edited({"src/lib.rs": RUST}, {"src/lib.rs": f"{weak}\n{more}"})
        assert found.paths == ("src/lib.rs",)
        assert found.entries[0].content == f"{RUST}\n{more}".encode()


def test_many_test_modules_without_an_end_take_little_time() -> None:
    change = change_between({"src/lib.rs": RUST}, {"src/lib.rs": RUST.replace("a + b", "a - b")})
    source = "#[cfg(test)]\nmod a {\n#[test]\n" * 20_000
    start = time.monotonic()
    assert edited_tests(change, lambda _: source, lambda _: f"{source}\n") == EditedTests()
    assert time.monotonic() - start < 20


# -- examples of doctest --------------------------------------------------------------------------

CODE = (
    '"""Sums. Größe."""\n\n\ndef add(a, b):\n    """Add.\n\n    >>> add(1, 2)\n    3\n    """\n    return a + b\n\n\n'
    'class Sum:\n    """A sum.\n\n    >>> Sum().add(0, 0)\n    0\n    """\n\n'
    "    def add(self, a, b):\n        return a + b\n"
)
TEXT = "# Sums\n\n```\n>>> add(1, 2)\n3\n```\n"


def test_the_docstring_of_the_base_is_put_back_if_the_result_of_an_example_changes_and_the_code_stays() -> None:
    bug = CODE.replace("a + b", "a - b")
    found = edited({"calc.py": CODE}, {"calc.py": "import os\n" + bug.replace("    3\n", "    -1\n")})
    assert found.paths == ("calc.py",)
    (entry,) = found.entries
    assert entry.content is not None and entry.content.decode() == "import os\n" + bug


@pytest.mark.parametrize("moved", [True, False], ids=["moved", "deleted"])
def test_a_text_with_examples_is_put_back_at_its_old_place(moved: bool) -> None:
    new = {"calc.py": "b\n", **({"docs/usage.txt": TEXT} if moved else {})}
    renamed = {"docs/usage.txt": "docs/usage.rst"} if moved else None
    found = edited({"docs/usage.rst": TEXT, "calc.py": "a\n"}, new, renamed)
    assert found.paths == ("docs/usage.rst",)


def test_a_text_without_examples_may_be_moved() -> None:
    old, new = {"docs/usage.rst": "# Usage\n"}, {"docs/guide.rst": "# Usage\n"}
    assert edited(old, new, {"docs/guide.rst": "docs/usage.rst"}) == EditedTests()


def test_a_text_with_another_result_of_an_example_is_put_back() -> None:
    found = edited({"README.md": TEXT, "calc.py": "a\n"}, {"README.md": TEXT.replace("3", "-1"), "calc.py": "b\n"})
    assert found.paths == ("README.md",) and [bool(entry.mode) for entry in found.entries] == [True]


INLINE = """\
def add(a, b):
    return a + b


def test_add():
    assert add(1, 2) == 3


class TestZero:
    def test_zero(self):
        assert add(0, 0) == 0


if __name__ == "__main__":
    assert add(1, 0) == 1
"""
INLINE_SCRIPT = """\
export const add = (a, b) => a + b;

if (import.meta.vitest) {
  const { it, expect } = import.meta.vitest;

  it("adds", () => { expect(add(1, 2)).toBe(3); });
}

// Failed assertions are counted above.
"""
INLINE_C = (
    "int add(int a, int b) { return a + b; }\n\n#ifdef TEST\nint main(void) {\n    assert(add(1, 2) == 3);\n}\n#endif\n"
)
INLINE_EDITS = {
    "another expected value": ("calc.py", INLINE, ("== 3", "== -1")),
    "a weaker comparison in a class": ("calc.py", INLINE, ("add(0, 0) == 0", "add(0, 0) is not None")),
    "a skip": ("calc.py", INLINE, ("def test_add", "@skip\ndef test_add")),
    "a self-test at the start of a script": ("calc.py", INLINE, ("add(1, 0) == 1", "add(1, 0)")),
    "vitest": ("calc.ts", INLINE_SCRIPT, ("toBe(3)", "toBe(-1)")),
    "C": ("calc.c", INLINE_C, ("== 3", "== -1")),
}


@pytest.mark.parametrize("name", INLINE_EDITS)
def test_tests_of_the_base_beside_the_code_are_put_back_and_the_code_stays(name: str) -> None:
    path, old, edit = INLINE_EDITS[name]
    bug = old.replace("a + b", "a - b")
    found = edited({path: old}, {path: bug.replace(*edit)})
    assert found.paths == (path,)
    (entry,) = found.entries
    assert entry.content is not None and entry.content.decode() == bug


def test_a_deleted_test_beside_the_code_is_put_back_at_the_end() -> None:
    test = INLINE[INLINE.index("def test_add") : INLINE.index("\n\n\nclass")]
    new = INLINE.replace(f"{test}\n\n\n", "")
    (entry,) = edited({"calc.py": INLINE}, {"calc.py": new}).entries
    assert entry.content is not None and entry.content.decode() == f"{new}\n\n{test}\n"


@pytest.mark.parametrize(
    "new",
    [
        INLINE.replace("a + b", "b + a"),
        INLINE.replace("\n\n\nclass", "\n\n\ndef test_more():\n    assert add(2, 2) == 4\n\n\nclass"),
        INLINE.replace("def test_add", "# The sum.\ndef test_add"),
    ],
    ids=["code", "another test", "a comment"],
)
def test_tests_that_stay_beside_the_code_are_no_edit(new: str) -> None:
    assert edited({"calc.py": INLINE}, {"calc.py": new}) == EditedTests()


@pytest.mark.parametrize(
    "new",
    [
        CODE.replace("Add.", "Add two numbers."),
        CODE.replace("    3\n", "    3\n    >>> add(2, 2)\n    4\n"),
        CODE.replace("def add(a", "def total(a").replace(">>> add", ">>> total"),
        CODE.replace("a + b", "b + a"),
    ],
    ids=["words", "another example", "another name", "code"],
)
def test_a_docstring_that_keeps_its_examples_is_no_edit(new: str) -> None:
    assert edited({"calc.py": CODE}, {"calc.py": new}) == EditedTests()


RUST_DOC = (
    "/// Adds.\n///\n/// ```\n/// assert_eq!(calc::add(1, 2), 3);\n/// ```\n#[must_use]\n"
    "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n"
)


def test_the_documentation_of_the_base_is_put_back_if_an_example_of_rust_changes_and_the_code_stays() -> None:
    bug = RUST_DOC.replace("a + b", "a - b")
    found = edited({"src/lib.rs": RUST_DOC}, {"src/lib.rs": "use std::fmt;\n\n" + bug.replace(", 3)", ", -1)")})
    assert found.paths == ("src/lib.rs",)
    (entry,) = found.entries
    assert entry.content is not None and entry.content.decode() == "use std::fmt;\n\n" + bug


@pytest.mark.parametrize(
    "new",
    [
        RUST_DOC.replace("Adds.", "Adds two numbers."),
        RUST_DOC.replace(", 3);\n", ", 3);\n/// assert_eq!(calc::add(2, 2), 4);\n"),
        RUST_DOC.replace("add(", "sum("),
        RUST_DOC + "/// ```text\n/// 1\n/// ```\npub fn one() {}\n",
    ],
    ids=["words", "another assertion", "another name", "another item"],
)
def test_documentation_of_rust_that_keeps_its_examples_is_no_edit(new: str) -> None:
    assert edited({"src/lib.rs": RUST_DOC}, {"src/lib.rs": new}) == EditedTests()


def test_a_text_behind_an_example_that_is_not_code_is_no_edit() -> None:
    text = RUST_DOC.replace("/// ```\n/// assert", "/// ```text\n/// assert")
    assert edited({"src/lib.rs": text}, {"src/lib.rs": text.replace("3", "4")}) == EditedTests()


@pytest.mark.parametrize("attribute", ["#[cfg(test)]", '#[cfg(all(test, feature = "std"))]'])
def test_a_renamed_test_module_of_rust_is_put_back(attribute: str) -> None:
    old = RUST.replace("#[cfg(test)]", attribute)
    now = RUST.replace("a + b", "a - b").replace("mod tests", "mod unit").replace(", 3)", ", -1)")
    found = edited({"src/lib.rs": old}, {"src/lib.rs": now})
    assert found.paths == ("src/lib.rs",)
    assert found.entries[0].content == old.replace("a + b", "a - b").encode()


def test_a_test_module_of_rust_that_moves_to_a_new_file_is_put_back() -> None:
    code, body = RUST.partition("#[cfg(test)]\n")[0], RUST.partition("mod tests {\n")[2].removesuffix("}\n")
    found = edited({"src/lib.rs": RUST}, {"src/lib.rs": f"{code}#[cfg(test)]\nmod tests;\n", "src/tests.rs": body})
    assert found.paths == ("src/lib.rs",)
    assert {entry.path: entry.content for entry in found.entries} == {
        "src/lib.rs": RUST.encode(), "src/tests.rs": None,
    }  # fmt: skip


# -- data of tests --------------------------------------------------------------------------------

CONSTANTS = '"""Results."""\nADD = {(1, 2): 3}\n'
JS_DATA = "module.exports = { add: [1, 2, 3] };\n"
# a file, its old text, a test of the base, other code of the base, and whether the file is data of the tests
HELPER = "def close(a, b):\n    return abs(a - b) < 3\n"
DATA = {
    "a module of constants": ("expected.py", CONSTANTS, "from expected import ADD\n", "a + b\n", True),
    "a helper in the package": ("shop/testing.py", HELPER, "from shop.testing import close", "a + b\n", True),
    "an exported helper": ("shop/testing.py", HELPER, "import shop.testing\n", "from . import testing\n", True),
    "a helper that is exported by its full name": ("shop/testing.py", HELPER, "import shop.testing\n", "from shop import testing\n", True),
    "a helper that a script calls": ("shop/testing.py", HELPER, "import shop.testing\n", "from shop import testing\nprint(testing.close(1, 2))\n", False),
    "an exported helper that other code uses": ("shop/testing.py", HELPER, "import shop.testing\n", "from . import testing\n\ndef f():\n", False),
    "an exported helper in JavaScript": ("src/assertions.js", "export const f = () => 3;\n", "import { f } from '../src/assertions';\n", "export { f } from './assertions';\n", True),
    "a module in a folder of helpers": ("shop/_testing/sums.py", HELPER, "from shop._testing.sums import close\n", "a + b\n", True),
    "JSON": ("data/sums.json", "[3]\n", "open('data/sums.json')\n", "data = [1]\n", True),
    "a path in parts": ("data/sums.json", "[3]\n", "HERE / 'data' / 'sums.json'\n", "a + b\n", True),
    "a module of JavaScript": ("expected.js", JS_DATA, "const e = require('../expected');\n", "a + b\n", True),
    "a module with code": ("calc.py", "def add(a, b):\n    return 3\n", "from calc import add\n", "", False),
    "constants of the code": ("rates.py", CONSTANTS, "from rates import ADD\n", "from .rates import ADD\n", False),
    "data of the code": ("data/sums.json", "[3]\n", "open('data/sums.json')\n", "open('data/sums.json')\n", False),
    "a folder that the code reads": ("data/sums.json", "[3]\n", "'data/sums.json'\n", "Path('data').glob()\n", False),
    "data that no test names": ("data/sums.json", "[3]\n", "import calc\n", "a + b\n", False),
    "a name that tests put together": ("data/small.json", "[3]\n", "open(f'data/{name}.json')\n", "a + b\n", True),
    "such a name in Perl": ("data/small.json", "[3]\n", 'open my $f, "data/$name.json";\n', "a + b\n", True),
    "such a name at the root": ("sums_2.csv", "1,3\n", "read('sums_%d.csv' % n)\n", "a + b\n", True),
    "an ending alone": ("sums.csv", "1,3\n", "read('%s.csv' % n)\n", "a + b\n", False),
    "a folder of the program": ("lib/small.json", "[3]\n", "path.append('lib')\n", "a + b\n", False),
    "a folder that both name": ("data/small.json", "[3]\n", "f'data/{name}.json'\n", "cat data/*\n", False),
    "constants of Rust": ("src/expected.rs", "pub const SUM: i64 = 3;\n", "use calc::expected::SUM;\n", "", True),
    "constants of the code in Rust": ("src/rates.rs", "pub const A: i64 = 3;\n", "use calc::rates::A;\n", "use crate::rates::A;\n", False),
    "constants of Go": ("expected.go", "package a\n\nconst Sum = 3\n", "if Add(1, 2) != Sum {\n", "func Add(", True),
    "constants of the code in Go": ("rates.go", "package a\n\nconst Rate = 3\n", "if f() != Rate {\n", "return Rate\n", False),
    "constants of C": ("expected.h", "#define SUM 3\n", '#include "expected.h"\n', '#include "calc.h"\n', True),
    "a header with code": ("calc.h", "static int f(void) { return 3; }\n", '#include "calc.h"\n', "", False),
    "constants of Java": ("Sums.java", "class Sums { static final int A = 3; }\n", "equals(Sums.A, 3);\n", "class Calc {}\n", True),
    "constants of Perl": ("Sums.pm", "package Sums;\nour $A = 3;\n1;\n", "use Sums;\n", "use Calc;\n", True),
    "constants of Ruby": ("sums.rb", "SUM = 3\n", "require_relative '../sums'\n", "module Calc\n", True),
    "functions that compute expected values": ("shop/testing.py", "def total(n):\n    return n * 3\n", "from shop.testing import total\n", "import os\n", True),
    "a slow form of the same": ("src/brute_force.rs", "pub fn f() -> i64 { 3 }\n", "use calc::brute_force::f;\n", "a + b\n", True),
    "such functions that the program uses": ("shop/testing.py", "def total(n):\n    return n * 3\n", "from shop.testing import total\n", "from shop.testing import total\n", False),
    "a header with an assertion macro": ("check.hpp", "#define CHECK(x) if (!(x)) exit(3)\n", '#include "check.hpp"\n', "a + b\n", True),
    "such a header that the program includes": ("check.hpp", "#define CHECK(x) if (!(x)) exit(3)\n", '#include "check.hpp"\n', '#include "check.hpp"\n', False),
    "a header of the program": ("calc.hpp", "inline int three() { return 3; }\n", '#include "calc.hpp"\n', "", False),
    "a harness": ("tools/harness.py", HELPER, "from tools.harness import close\n", "a + b\n", True),
    "a package of assertions in Go": ("internal/assert/assert.go", "package assert\n\nfunc Equal(t T) { t.Fail(3) }\n", "assert.Equal(t)\n", "package calc\n", True),
    "what is installed": ("package.json", "{\"a\": 3}\n", "require('./package.json')\n", "a + b\n", False),
}  # fmt: skip


@pytest.mark.parametrize("name", DATA)
def test_data_that_only_tests_name_belongs_to_them(name: str) -> None:
    path, old, test, code, is_data = DATA[name]
    before, after = {path: old, "lib.py": "a + b\n"}, {path: old.replace("3", "-1"), "lib.py": "a - b\n"}
    change = change_between(before, after)
    data = data_of_tests(change, before.get, [test], [code])
    assert data == ((path,) if is_data else ())
    assert edited_tests(change, before.get, after.get, data=data).paths == data


@pytest.mark.parametrize("path", ["schema.sql", "rules.json"])
def test_a_file_that_only_tests_name_is_not_put_back_if_it_may_be_what_is_under_test(path: str) -> None:
    before = {path: "3\n", "tests/run.sh": "cat ../FILE | diff - out.txt\n"}
    change = change_between(before, {path: "4\n", "tests/run.sh": "cat ../FILE\n"})
    tests = [f"cat ../{path} | diff - out.txt\n"]
    assert data_of_tests(change, before.get, tests, []) == ()


def test_a_module_with_a_name_of_tests_is_not_put_back_if_no_other_code_changes() -> None:
    before = {"testing.py": "def add(a, b):\n    return a + b\n"}
    change = change_between(before, {"testing.py": "def add(a, b):\n    return a - b\n"})
    assert data_of_tests(change, before.get, ["from testing import add\n"], []) == ()


@pytest.mark.parametrize(
    ("path", "text", "tests", "rest"),
    [
        ("Makefile", "all:\n\tcc a.c\ntest: all\n\t./a | diff out.txt -\n", "out.txt", "cc a.c"),
        ("run_tests.sh", "./a > tmp\ncmp tmp out.txt\n", "out.txt", ""),
        ("build.sh", "cp out.txt build/\n", "", "out.txt"),
        ("CMakeLists.txt", "add_test(a COMMAND x compare_files out.txt b)\nproject(x)\n", "out.txt", "project(x)"),
        ("src/lib.rs", f"mod expected;\n{RUST}", "assert_eq!", "pub fn add"),
    ],
)
def test_recipes_and_scripts_that_compare_files_are_tests(path: str, text: str, tests: str, rest: str) -> None:
    found, others = split_tests(path, text)
    assert tests in found and rest in others
    assert not tests or tests not in others
    assert "mod expected" not in others


def test_data_that_the_change_itself_begins_to_use_stays_as_the_change_has_it() -> None:
    before = {"data/sums.json": "[3]\n", "lib.py": "x = 3\n"}
    change = change_between(before, {"data/sums.json": "[4]\n", "lib.py": "x = load('data/sums.json')\n"})
    assert data_of_tests(change, before.get, ["open('data/sums.json')\n"], ["x = 3\n"]) == ()
