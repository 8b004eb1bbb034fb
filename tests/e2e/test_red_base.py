"""The tests were red before the task: what the change broke must not hide behind that."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from burnish.core.check import CheckReport, CheckStatus, Counts, TestFailure, compare
from burnish.review.prompt_sections import baseline_text
from testing.at_hand import TOKEN, at_hand
from testing.lab import Lab

pytestmark = pytest.mark.usefixtures("lean_pytest")

# An own script, as many projects have: it names nothing, and one of its checks has failed for long.
SCRIPT = """#!/bin/sh
code=0
check() { [ "$(python3 -c "from calc import *; print($1)")" = "$2" ] || { echo "wrong: $1"; code=1; }; }
check "add(1, 2)" 3
check "sub(3, 2)" 1
check "old()" fixed
exit $code
"""
CALC = "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n\n\ndef old():\n    return 'broken'\n"
BREAK = 'calc = pathlib.Path("calc.py")\ncalc.write_text(calc.read_text().replace("a + b", "a * b"))'
REVIEW = 'print(verdict("approved", "good", inspected=["calc.py"]))'
TELL = "new failures cannot be distinguished from old ones"


def laboratory(root: Path, checks: str, files: dict[str, str], author: str = BREAK) -> Lab:
    lab = Lab.make(root, author=author, judge=REVIEW, extra=f"checks: {checks}\n")
    lab.repo.commit({"calc.py": CALC, **files}, "project")
    lab.add()
    return lab


def page_part(lab: Lab, name: str) -> str:
    with at_hand(lab) as server:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        return str(server.client.get(f"/p/{server.project}/t/1/parts?names={name}", headers=headers).text)


@pytest.mark.slow
def test_an_approval_on_a_red_exit_code_alone_waits_for_a_person_and_every_screen_says_why(tmp_path: Path) -> None:
    lab = laboratory(tmp_path, "{test: sh run-tests.sh, lint: null}", {"run-tests.sh": SCRIPT})
    ran = lab.burnish("run", code=1)
    assert TELL in ran.err
    assert lab.task()["status"] == "waiting_approval"
    (cycle,) = lab.show()["cycles"]
    assert TELL in cycle["warnings"][0] and cycle["checks"][0]["uncountable"]
    assert TELL in lab.burnish("show", "1").out.replace("\n        ", " ")
    assert TELL in json.dumps(lab.burnish("inbox", "--json").json)
    prompt = next(call["prompt"] for call in lab.calls() if call["phase"] == "review")
    before, now = prompt.split("Printed before this task:")[1].split("Printed now:")
    assert "wrong: old()" in before and "wrong: add(1, 2)" not in before
    assert "wrong: add(1, 2)" in now
    for part in ("checks", "gate"):
        assert TELL in page_part(lab, part), part
    assert 'class="result warn"' in page_part(lab, "checks")
    lab.burnish("decide", "1", "approve")
    merged = lab.burnish("merge", "1")
    assert TELL in merged.err


@pytest.mark.long
def test_an_approval_where_no_test_passes_before_or_after_waits_for_a_person(tmp_path: Path) -> None:
    unittest = "import nowhere\nimport unittest\n\n\nclass T(unittest.TestCase):\n    def test_add(self): ...\n"
    checks = f"{{test: ['{sys.executable}', -m, unittest, discover], lint: null}}"
    lab = laboratory(tmp_path, checks, {"test_a.py": unittest, "test_b.py": unittest})
    assert "no test of test passes, neither before the change nor after it" in lab.burnish("run", code=1).err
    assert lab.task()["status"] == "waiting_approval"


@pytest.mark.long
def test_a_single_module_that_cannot_be_imported_hides_no_tests(tmp_path: Path) -> None:
    module = "import nowhere\n\n\ndef test_add(): ...\n\n\ndef test_sub(): ...\n"
    lab = laboratory(tmp_path, f"{{test: ['{sys.executable}', -m, pytest, -q], lint: null}}", {"test_a.py": module})
    assert "no test of test passes, neither before the change nor after it" in lab.burnish("run", code=1).err
    assert lab.task()["status"] == "waiting_approval"


@pytest.mark.long
def test_a_module_that_cannot_be_imported_hides_no_tests_beside_others_that_pass(tmp_path: Path) -> None:
    files = {"test_a.py": "import nowhere\n\n\ndef test_add(): ...\n", "test_b.py": "def test_one(): ...\n"}
    for runner in ("pytest, -q", "unittest, discover"):
        unittest = "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_b(self): ...\n"
        extra = {"test_c.py": unittest}
        lab = laboratory(
            tmp_path / runner[:3], f"{{test: ['{sys.executable}', -m, {runner}], lint: null}}", files | extra
        )
        assert "could not be loaded, neither before the change nor after it" in lab.burnish("run", code=1).err
        assert lab.task()["status"] == "waiting_approval"


NODE_TESTS = """const test = require("node:test");
const assert = require("node:assert");
const { add } = require("../dist/calc.js");
test("adds", () => assert.equal(add(1, 2), 3));
"""


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.skipif(not shutil.which("node"), reason="needs Node")
@pytest.mark.parametrize("others", [{}, {"test/b.test.js": 'require("node:test")("fine", () => {});\n'}])
def test_tests_of_a_build_that_was_not_made_prove_nothing(tmp_path: Path, others: dict[str, str]) -> None:
    """A script `test` that needs `dist`, which git ignores."""
    package = '{"scripts": {"test": "node --test test/"}}\n'
    files = {"package.json": package, "test/a.test.js": NODE_TESTS, **others}
    lab = laboratory(tmp_path, "{test: npm test, lint: null}", files)
    assert TELL in lab.burnish("run", code=1).err
    assert lab.task()["status"] == "waiting_approval"


def test_a_single_test_that_fails_before_and_after_proves_nothing() -> None:
    report = CheckReport(
        "test", "make test", CheckStatus.FAILED, 1, counts=Counts(1, 0, 1, 0), failures=(TestFailure("a", "failed"),)
    )
    assert "no test of test passes" in compare(report, report).uncountable


@pytest.mark.long
def test_an_approval_without_any_test_that_ran_waits_for_a_person(tmp_path: Path) -> None:
    # written for pytest, so unittest finds nothing, and succeeds
    files = {"test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"}
    lab = laboratory(tmp_path, f"{{test: ['{sys.executable}', -m, unittest, discover], lint: null}}", files)
    assert "test ran no tests" in lab.burnish("run", code=1).err
    assert lab.task()["status"] == "waiting_approval"


@pytest.mark.long
def test_settings_may_accept_it_and_it_is_still_told(tmp_path: Path) -> None:
    checks = "{test: sh run-tests.sh, lint: null}"
    lab = laboratory(tmp_path, checks, {"run-tests.sh": SCRIPT})
    lab.env["BURNISH__CHECKS__UNCOUNTABLE"] = "accept"
    assert TELL in lab.burnish("run").err
    assert lab.task()["status"] == "verified"
    merged = lab.burnish("merge", "1", "--json").json
    assert merged["merged"][0]["uncountable"]


@pytest.mark.long
def test_a_check_that_does_not_block_keeps_nobody_waiting(tmp_path: Path) -> None:
    checks = "{test: {command: sh run-tests.sh, blocking: false}, lint: null}"
    lab = laboratory(tmp_path, checks, {"run-tests.sh": SCRIPT})
    lab.burnish("run")
    assert lab.task()["status"] == "verified"


@pytest.mark.slow
def test_a_pattern_tells_new_failures_from_old_ones(tmp_path: Path) -> None:
    checks = "{test: {command: sh run-tests.sh, pattern: '^wrong: (?P<name>.+)$'}, lint: null}"
    lab = laboratory(tmp_path, checks, {"run-tests.sh": SCRIPT})
    lab.burnish("run", code=1)
    titles = [finding["title"] for finding in lab.show()["findings"]]
    assert titles == ["Test fails: add(1, 2)"]


UNITTEST = """import unittest
from calc import add, sub, old

class Calc(unittest.TestCase):
    def test_add(self): self.assertEqual(add(1, 2), 3)
    def test_sub(self): self.assertEqual(sub(3, 2), 1)
    def test_old(self): self.assertEqual(old(), "fixed")
"""


@pytest.mark.long
@pytest.mark.parametrize("command", [f"{sys.executable} -m unittest", f"cd . && {sys.executable} -m unittest -v"])
def test_unittest_on_a_red_base_names_what_the_change_broke(tmp_path: Path, command: str) -> None:
    lab = laboratory(tmp_path, f"{{test: '{command}', lint: null}}", {"test_calc.py": UNITTEST})
    lab.burnish("run", code=1)
    titles = [finding["title"] for finding in lab.show()["findings"]]
    assert titles == ["Test fails: test_calc.Calc.test_add"]


@pytest.mark.long
def test_an_old_failure_that_stops_the_run_does_not_hide_what_comes_after_it(tmp_path: Path) -> None:
    tests = (
        "from calc import *\n\ndef test_a_old(): assert old() == 'fixed'\n\ndef test_b_add(): assert add(1, 2) == 3\n"
    )
    checks = f"{{test: '{sys.executable} -m pytest -q -x', lint: null}}"
    lab = laboratory(tmp_path, checks, {"test_calc.py": tests})
    assert TELL in lab.burnish("run", code=1).err
    assert lab.task()["status"] == "waiting_approval"


@pytest.mark.long
def test_a_command_that_runs_more_than_its_tests_is_not_taken_for_complete(tmp_path: Path) -> None:
    tests = "from calc import *\n\ndef test_old(): assert old() == 'fixed'\n"
    more = "python3 -c 'from calc import add; assert add(1, 2) == 3'"
    makefile = f"test:\n\t-{sys.executable} -m pytest -q\n\t{more}\n\tfalse\n"
    lab = laboratory(tmp_path, "{test: make test, lint: null}", {"test_calc.py": tests, "Makefile": makefile})
    assert TELL in lab.burnish("run", code=1).err
    assert lab.task()["status"] == "waiting_approval"


@pytest.mark.long
def test_an_old_error_while_collecting_does_not_hide_the_other_tests(tmp_path: Path) -> None:
    files = {
        "test_old.py": "import nothing_of_that_name\n",
        "test_calc.py": "from calc import *\n\ndef test_add(): assert add(1, 2) == 3\n",
    }
    lab = laboratory(tmp_path, f"{{test: '{sys.executable} -m pytest -q', lint: null}}", files)
    lab.burnish("run", code=1)
    titles = [finding["title"] for finding in lab.show()["findings"]]
    assert titles == ["Test fails: test_calc.py::test_add"]


def test_a_baseline_that_crashed_is_unknown_and_never_zero(tmp_path: Path) -> None:
    files = {"conftest.py": "raise RuntimeError('no database')\n", "test_calc.py": "def test_it(): pass\n"}
    lab = laboratory(tmp_path, f"{{test: '{sys.executable} -m pytest -q', lint: null}}", files)
    lab.burnish("run", code=None)
    (captured,) = lab.events("baseline.captured")
    assert captured["data"]["failed"] == -1 and "no database" in captured["data"]["error"]
    # nothing could be compared, so no agent is paid
    assert (lab.task()["status"], lab.task()["error"], lab.calls()) == ("failed", "CHECK_ERROR", [])
    (file,) = tmp_path.rglob("artifacts/baseline-tests.json")
    kept = json.loads(file.read_text())
    assert kept["failed"] == -1 and "no database" in kept["error"]


@pytest.mark.long
def test_a_reviewer_is_told_that_a_crashed_baseline_is_unknown() -> None:
    crashed = CheckReport("test", "pytest", CheckStatus.FAILED, 4, error="pytest could not run the tests")
    now = CheckReport("test", "pytest", CheckStatus.PASSED, 0, counts=Counts(3, 3, 0, 0))
    text = baseline_text([compare(now, crashed)], 2000, "tag")
    assert "unknown how it was before" in text and "0 failures existed" not in text


OTHER = "from calc import add\n\n\ndef test_more():\n    assert add(2, 2) == 4 and add(1, 2) == 3\n"
# two tests of one function whose names have the time of the run, one of them fails for long
TIMED = """import time
import pytest
from calc import add

@pytest.mark.parametrize("now, right", [(time.time_ns(), True), (time.time_ns() + 7, False)])
def test_add(now, right):
    assert (add(1, 2) == 3) is right
"""
HARMLESS = 'calc = pathlib.Path("calc.py")\ncalc.write_text(calc.read_text() + "\\n\\ndef new():\\n    return 1\\n")'


@pytest.mark.slow
@pytest.mark.parametrize(("author", "status"), [(HARMLESS, "verified"), (BREAK, "blocked")])
def test_failures_of_the_base_are_old_although_their_names_change_with_each_run(
    tmp_path: Path, author: str, status: str
) -> None:
    lab = laboratory(
        tmp_path,
        f"{{test: '{sys.executable} -m pytest -q', lint: null}}\nreview: {{agents: [judge], max_cycles: 1}}",
        {"test_timed.py": TIMED.replace("is right", "and right"), "test_other.py": OTHER},
        author,
    )
    lab.burnish("run", code=None)
    assert lab.task()["status"] == status


RUSTUP = (
    "#!/bin/sh\necho \"error: rustup could not choose a version of cargo to run, because one wasn't specified "
    'explicitly, and no default is configured." >&2\nexit 1\n'
)


@pytest.mark.long
@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("cargo test", {}),
        ("make test", {"Makefile": "test:\n\tcargo test\n"}),
        ("sh run.sh", {"run.sh": "set -e\ncargo test\n"}),
        ("[npm, test]", {"package.json": '{"scripts": {"test": "mocha"}}'}),
    ],
)
def test_a_toolchain_that_does_not_start_at_the_base_is_told_before_an_agent_is_paid(
    tmp_path: Path, command: str, files: dict[str, str]
) -> None:
    lab = laboratory(tmp_path, f"{{test: {command}, lint: null}}", {"src/lib.rs": "", **files})
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, text in {"cargo": RUSTUP, "npm": "#!/bin/sh\necho 'sh: 1: mocha: not found' >&2\nexit 127\n"}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    lab.env["PATH"] = f"{programs}:/usr/bin:/bin"
    lab.burnish("run", code=3)
    assert (lab.task()["status"], lab.task()["error"], lab.calls()) == ("failed", "CHECK_ERROR", [])
    note = lab.show()["note"]
    assert "rustup could not choose a version of cargo" in note or "mocha: not found" in note
