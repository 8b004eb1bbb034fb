"""Which changes edit the tests of their base, and what is put back for them."""

from __future__ import annotations

import time
from collections.abc import Mapping

import pytest

from burnish.checks.guard.edited_tests import edited_tests
from burnish.core.base_tests import EditedTests
from testing.edits import change_between

TEST = "from calc import add\n\n\ndef test_add():\n    x = add(1, 2)\n    assert x == 3\n"
RUST = (
    "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n"
    "    #[test]\n    fn adds() {\n        assert_eq!(add(1, 2), 3);\n    }\n}\n"
)
CLASS = "class T:\n    def test_a(self):\n        assert f(1)\n\n    def test_b(self):\n        assert f(2)\n"
METHOD = "    def test_c(self):\n        assert f(3)\n\n    def test_b"
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
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_file_of_tests_is_put_back(name: str) -> None:
    path, old, new = EDITS[name]
    found = edited({path: old, "calc.py": "a + b\n"}, {path: new, "calc.py": "a - b\n"})
    assert found.paths == (path,)
    assert [(entry.path, bool(entry.mode)) for entry in found.entries] == [(path, True)]


NO_EDITS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "a new test file": ({}, {"tests/test_new.py": TEST}),
    "a new test at the end": ({"tests/test_calc.py": TEST}, {"tests/test_calc.py": TEST + TEST[22:]}),
    "a new test before another": (
        {"tests/test_calc.py": TEST},
        {"tests/test_calc.py": TEST.replace("def test", "def test_more():\n    assert add(0, 0) == 0\n\n\ndef test")},
    ),
    "a new method": ({"tests/test_a.py": CLASS}, {"tests/test_a.py": CLASS.replace("    def test_b", METHOD)}),
    "a new case": (
        {"tests/test_a.py": "CASES = [\n    (1, 2, 3),\n    (2, 2, 4),\n]\n"},
        {"tests/test_a.py": "CASES = [\n    (1, 2, 3),\n    (0, 0, 0),\n    (2, 2, 4),\n]\n"},
    ),
    "a new test in JavaScript": ({"a.test.js": JS}, {"a.test.js": JS.replace("  it(", "  it('y', g);\n\n  it(")}),
    "a new import": ({"tests/test_a.py": TEST}, {"tests/test_a.py": "import os\n" + TEST}),
    "code alone": ({"calc.py": "a\n"}, {"calc.py": "b\n"}),
    "a build file": ({"tsconfig.test.json": "{}\n"}, {"tsconfig.test.json": '{"a": 1}\n'}),
    "requirements of tests": ({"tests/requirements.txt": "a==1\n"}, {"tests/requirements.txt": "a==2\n"}),
    "a new Rust test": ({"src/lib.rs": RUST}, {"src/lib.rs": RUST[:-2] + "\n    #[test]\n    fn more() {}\n}\n"}),
    "code beside Rust tests": ({"src/lib.rs": RUST}, {"src/lib.rs": RUST.replace("a + b", "a - b")}),
}  # fmt: skip


@pytest.mark.parametrize("name", NO_EDITS)
def test_additions_and_code_are_no_edit(name: str) -> None:
    assert edited(*NO_EDITS[name]) == EditedTests()


def test_files_beside_an_edit_are_put_back_too() -> None:
    old = {"tests/test_a.py": TEST, "tests/test_b.py": TEST, "tests/test_c.py": TEST, "calc.py": "a\n"}
    new = {
        "tests/test_a.py": TEST.replace("3", "4"),
        "tests/test_b.py": TEST + TEST[22:],
        "tests/test_new.py": TEST,
        "calc.py": "b\n",
    }
    found = edited(old, new)
    assert set(found.paths) == {"tests/test_a.py", "tests/test_c.py"}
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
