"""Python tests that keep their names and no longer prove anything are found; honest changes are left alone."""

# ruff: noqa: E501 (a table is read by its columns)

from __future__ import annotations

import pytest

from burnish.checks.guard.python_tests import hollow_tests
from tests.checks.test_guard import JS, PY, judged

BASE = "def test_one():\n    assert f(1) == 2\n    assert f(2) == 3\n\n\ndef test_two():\n    assert g() == 4\n"
MORE = "\n\ndef test_three():\n    assert h(1)\n    assert h(2)\n    assert h(3)\n"
BODY = "    assert f(1) == 2\n    assert f(2) == 3\n"

HOLLOW = {
    "pass": BASE.replace(BODY, "    pass\n"),
    "docstring": BASE.replace(BODY, '    """\n    assert f(1) == 2\n    """\n'),
    "ellipsis": BASE.replace(BODY, "    ...\n"),
    "return": BASE.replace(BODY, "    return\n" + BODY),
    "return behind True": BASE.replace(BODY, "    if True:\n        return\n" + BODY),
    "if False": BASE.replace(BODY, "    if False:\n        assert f(1) == 2\n        assert f(2) == 3\n"),
    "while 0": BASE.replace(BODY, "    while 0:\n        assert f(1) == 2\n"),
    "for nothing": BASE.replace(BODY, "    for x in ():\n        assert f(1) == 2\n"),
    "else of True": BASE.replace(BODY, "    if not False:\n        f(1)\n    else:\n        assert f(1) == 2\n"),
    "swallowed": BASE.replace(BODY, "    try:\n        assert f(1) == 2\n    except Exception:\n        pass\n"),
    "swallowed and printed": BASE.replace(BODY, "    try:\n        assert f(1) == 2\n    except:\n        print('x')\n"),
    "suppressed": BASE.replace(BODY, "    with contextlib.suppress(AssertionError):\n        assert f(1) == 2\n"),
    "assert True": BASE.replace("f(1) == 2", "True"),
    "assert a tuple": BASE.replace("assert g() == 4", "assert (g() == 4, 'x')"),
    "or True": BASE.replace("f(1) == 2", "f(1) == 2 or not None"),
    "constants": BASE.replace("f(1) == 2", "2 == 2"),
    "swallowed under another name": "from contextlib import suppress as quiet\n"
    + BASE.replace("    assert f(1) == 2\n", "    with quiet(AssertionError):\n        assert f(1) == 2\n"),
    "taken away by a return in finally": BASE.replace(
        "    assert f(1) == 2\n    assert f(2) == 3\n",
        "    try:\n        assert f(1) == 2\n        assert f(2) == 3\n    finally:\n        return\n",
    ),
    "named so that no runner finds it": BASE.replace("test_one", "check_one"),
    "defined twice": BASE + "\n\ndef test_one():\n    f(1)\n",
    "deleted": BASE + "\n\ndel test_one\n",
    "assigned": BASE + "\n\ntest_one = lambda: None\n",
    "never called": BASE.replace(BODY, "    def check():\n        assert f(1) == 2\n        assert f(2) == 3\n"),
    "decorator": "def quiet(test):\n    def run():\n        try:\n            test()\n        except Exception:\n            pass\n"
    "    return run\n\n\n" + BASE.replace("def test_one", "@quiet\ndef test_one"),
    "skipped inside": BASE.replace(BODY, "    pytest.skip('later')\n" + BODY),
}  # fmt: skip

HONEST = {
    "a helper asserts": BASE.replace(BODY, "    check(f, 2, 3)\n"),
    "fewer assertions": BASE.replace("    assert f(2) == 3\n", ""),
    "a loop": BASE.replace(BODY, "    for x, y in ((1, 2), (2, 3)):\n        assert f(x) == y\n"),
    "raises": BASE.replace(BODY, "    with pytest.raises((TypeError, ValueError)):\n        f(1)\n"),
    "assertRaises": BASE.replace(BODY, "    with self.assertRaises((TypeError, ValueError)):\n        f(1)\n"),
    "fail": BASE.replace(BODY, "    try:\n        f(1)\n    except TypeError:\n        pass\n    else:\n        pytest.fail('no')\n"),
    "a wait": BASE.replace(BODY, "    for _ in range(9):\n        try:\n            assert f(1) == 2\n            break\n"
                           "        except AssertionError:\n            pass\n    assert f(2) == 3\n"),
    "a condition": BASE.replace(BODY, "    if sys.platform == 'win32':\n        return\n" + BODY),
    "an inner function": BASE.replace(BODY, "    def check(x, y):\n        assert f(x) == y\n    check(1, 2)\n"),
    "a registered function": BASE.replace(BODY, "    @app.route('/')\n    def index():\n        assert f(1) == 2\n    client.get('/')\n"),
    "decorated": BASE + "\n\ntest_one = slow(test_one)\n",
    "renamed": BASE.replace("test_one", "test_first"),
    "a helper of another test": BASE.replace("test_one", "check_one") + "\n\ndef test_all():\n    check_one()\n",
    "a fixture": BASE.replace("def test_one", "@pytest.fixture\ndef one") + "\n\ndef test_all(one):\n    assert k(one)\n",
    "another name for suppress": "from contextlib import suppress as quiet\n"
    + BASE.replace(BODY, "    with quiet(OSError):\n        f(0)\n" + BODY),
    "clean-up": BASE.replace(BODY, "    try:\n        assert f(1) == 2\n        assert f(2) == 3\n    finally:\n        f(0)\n"),
    "a stub as before": BASE + "\n\ndef test_stub():\n    pass\n",
}  # fmt: skip


@pytest.mark.parametrize("name", HOLLOW)
def test_a_test_that_cannot_fail_any_more_is_found_though_others_assert_more(name: str) -> None:
    found = [remark for remark in judged({PY: BASE}, {PY: HOLLOW[name] + MORE}) if remark.rule == "guard/thinning"]

    assert found and found[0].file == PY and found[0].line


@pytest.mark.parametrize("name", HONEST)
def test_honest_changes_of_tests_are_left_alone(name: str) -> None:
    assert list(hollow_tests(BASE, HONEST[name])) == []


def test_what_was_hollow_before_and_what_cannot_be_parsed_is_left_alone() -> None:
    for text in HOLLOW.values():
        assert list(hollow_tests(text, text)) == []
        assert list(hollow_tests(text, BASE)) == []
    assert list(hollow_tests("def", BASE)) == list(hollow_tests(BASE, "def test_one(:")) == []


@pytest.mark.parametrize(
    "line",
    [
        "expect(true).toBe(true);",
        "expect(1).toEqual(1);",
        "assert(true);",
        "assert.ok(true);",
        "assert.strictEqual(1, 1);",
        "expect(true).to.be.true;",
    ],
)
def test_an_assertion_of_another_language_that_is_replaced_by_an_empty_one_is_found(line: str) -> None:
    more = "it('more', () => {\n  expect(add(2, 2)).toBe(4);\n  expect(add(3, 2)).toBe(5);\n});\n"
    new = JS.replace("expect(add(1, 2)).toBe(3);", line)

    assert [remark.rule for remark in judged({"a.test.js": JS}, {"a.test.js": new + more})] == ["guard/thinning"]
    assert judged({"a.test.js": JS}, {"a.test.js": JS + more}) == ()


def test_a_new_build_constraint_of_a_go_test_file_is_found_though_other_tests_take_its_place() -> None:
    old = "package x\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal()\n\t}\n}\n"
    other = old.replace("TestAdd", "TestOther")
    for line in ("//go:build never\n\n", "// +build never\n\n"):
        found = judged({"a_test.go": old}, {"a_test.go": line + old, "b_test.go": other})
        assert [(remark.rule, remark.line) for remark in found] == [("guard/thinning", 1)]
    assert judged({"a_test.go": f"//go:build linux\n\n{old}"}, {"a_test.go": f"//go:build linux\n\n{old}\n"}) == ()
    assert judged({}, {"a_test.go": f"//go:build integration\n\n{old}"}) == ()
