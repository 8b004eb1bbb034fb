"""Tests that fail by chance: run again, told, and not a reason to pay for a fix."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from testing.lab import Lab

pytestmark = pytest.mark.usefixtures("lean_pytest")

REVIEW = 'print(verdict("approved", "good", inspected=["calc.py"]))'
EDIT = 'calc = pathlib.Path("calc.py")\ncalc.write_text(calc.read_text() + "# more\\n")'
PYTEST = f"{{test: '{sys.executable} -m pytest -q', lint: null}}"
CALC = "def add(a, b):\n    return a + b\n"


def chance(marks: Path, name: str, *, fails: str) -> str:
    """A test that counts its runs in a folder beside the repository; `fails` says in which it fails."""
    return (
        "import os, pathlib\n"
        f"marks = pathlib.Path({str(marks)!r})\n\n"
        f"def test_{name}():\n"
        f"    mark = marks / {name!r}\n"
        "    run = int(mark.read_text()) + 1 if mark.exists() else 1\n"
        "    mark.write_text(str(run))\n"
        f"    assert not ({fails})\n"
    )


def laboratory(root: Path, tests: dict[str, str], author: str = EDIT) -> Lab:
    lab = Lab.make(root, author=author, judge=REVIEW, extra=f"checks: {PYTEST}\n")
    (root / "marks").mkdir()
    lab.repo.commit({"calc.py": CALC, **tests}, "project")
    lab.add()
    return lab


def runs(lab: Lab, name: str) -> int:
    return int((lab.root / "marks" / name).read_text())


@pytest.mark.slow
def test_a_test_that_passes_when_it_is_run_again_is_a_warning_and_costs_no_fix(tmp_path: Path) -> None:
    # the base passes; the first run of the change fails, alone and in the suite it passes
    tests = {"test_net.py": chance(tmp_path / "marks", "net", fails="run == 2")}
    lab = laboratory(tmp_path, tests)
    ran = lab.burnish("run")
    assert "Flaky: test_net.py::test_net" in ran.err
    assert lab.task()["status"] == "verified"
    assert [call["phase"] for call in lab.calls()] == ["implement", "review"]
    (check,) = lab.show()["cycles"][0]["checks"]
    assert (check["flaky"], check["new"], check["status"]) == (["test_net.py::test_net"], [], "passed")
    assert runs(lab, "net") == 4, "base, change, alone, suite"
    assert lab.burnish("stats", "--json").json["flaky"] == {"total": 1, "tests": {"test_net.py::test_net": 1}}
    assert "test_net.py::test_net" in lab.burnish("stats").out


@pytest.mark.slow
def test_a_test_that_fails_each_time_is_blamed_on_the_change(tmp_path: Path) -> None:
    lab = laboratory(tmp_path, {"test_net.py": chance(tmp_path / "marks", "net", fails="run >= 2")})
    lab.settle(f"checks: {PYTEST}\nreview: {{max_cycles: 1}}\n")
    lab.burnish("run", code=1)
    assert [f["title"] for f in lab.show()["findings"]] == ["Test fails: test_net.py::test_net"]
    assert runs(lab, "net") == 5, "base, change, three times alone, and the suite not once more"


@pytest.mark.long
def test_a_test_that_fails_only_after_others_is_not_taken_for_flaky(tmp_path: Path) -> None:
    files = {
        "test_a.py": "import calc\n\ndef test_first():\n    calc.used = True\n",
        "test_b.py": "import calc\n\ndef test_second():\n    assert {'used', 'NEW'} - set(vars(calc))\n",
    }
    lab = laboratory(tmp_path, files, author=EDIT.replace("# more", "NEW = 1"))
    lab.settle(f"checks: {PYTEST}\nreview: {{max_cycles: 1}}\n")
    lab.burnish("run", code=1)
    assert [f["title"] for f in lab.show()["findings"]] == ["Test fails: test_b.py::test_second"]


@pytest.mark.long
def test_what_the_first_run_left_in_the_tree_does_not_help_the_second(tmp_path: Path) -> None:
    keeps = "import os\nimport calc\n\ndef test_add():\n    known = os.path.exists('data/state')\n"
    keeps += "    os.makedirs('data', exist_ok=True)\n    open('data/state', 'w').close()\n"
    keeps += "    assert known or calc.add(1, 2) == 3\n"
    lab = laboratory(tmp_path, {"test_net.py": keeps}, author=EDIT.replace('+ "# more\\n"', '.replace("+", "-")'))
    lab.settle(f"checks: {PYTEST}\nreview: {{max_cycles: 1}}\n")
    lab.burnish("run", code=1)
    assert [f["title"] for f in lab.show()["findings"]] == ["Test fails: test_net.py::test_add"]


@pytest.mark.long
def test_a_change_to_the_test_itself_is_not_excused(tmp_path: Path) -> None:
    test = chance(tmp_path / "marks", "net", fails="run == 2")
    touch = 'net = pathlib.Path("test_net.py")\nnet.write_text(net.read_text() + "# more\\n")'
    lab = laboratory(tmp_path, {"test_net.py": test}, author=touch)
    lab.settle(f"checks: {PYTEST}\nreview: {{max_cycles: 1}}\n")
    lab.burnish("run", code=1)
    assert [f["title"] for f in lab.show()["findings"]] == ["Test fails: test_net.py::test_net"]


@pytest.mark.long
def test_a_failure_by_chance_on_the_base_does_not_excuse_a_real_one(tmp_path: Path) -> None:
    # fails on the base once, passes when confirmed, and fails for good with the change
    lab = laboratory(tmp_path, {"test_net.py": chance(tmp_path / "marks", "net", fails="run == 1 or run >= 4")})
    lab.settle(f"checks: {PYTEST}\nreview: {{max_cycles: 1}}\n")
    lab.burnish("run", code=1)
    (captured,) = lab.events("baseline.captured")
    assert captured["data"]["flaky"] == ["test_net.py::test_net"] and captured["data"]["failed"] == 0
    assert [f["title"] for f in lab.show()["findings"]] == ["Test fails: test_net.py::test_net"]


@pytest.mark.long
def test_a_second_task_from_the_same_base_has_its_baseline_file_too(tmp_path: Path) -> None:
    lab = laboratory(tmp_path, {"test_calc.py": "import calc\n\ndef test_add(): assert calc.add(1, 2) == 3\n"})
    lab.add()
    lab.burnish("run", "1")
    lab.agent("robot", "sys.exit(3)")
    lab.burnish("run", "2", code=3)
    files = sorted(path.parent.parent.name[0] for path in tmp_path.rglob("artifacts/baseline-tests.json"))
    assert files == ["1", "2"], "also where the run failed before any review"
