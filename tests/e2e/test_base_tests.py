"""A change that edits tests: the tests of its base run once more with it, and every screen names those that fail."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from testing.lab import Lab

pytestmark = pytest.mark.usefixtures("lean_pytest")

PYTEST = f"{sys.executable} -m pytest -q"
CALC = "def add(a, b):\n    return a + b\n"
TEST = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
FILES = {"calc.py": CALC, "tests/test_calc.py": TEST, "pytest.ini": "[pytest]\npythonpath = .\n"}
JUDGE = 'print(verdict("approved", "good", inspected=prompt.split()))'
EDIT = (
    "def edit(name, old, new):\n    path = pathlib.Path(name)\n"
    "    path.write_text(path.read_text().replace(old, new))\n"
)
BREAK = EDIT + 'edit("calc.py", "a + b", "a - b")\n'
NOTE = "1 test of the base fails with this change, which edits tests/test_calc.py: tests/test_calc.py::test_add."


def laboratory(
    root: Path, author: str, files: dict[str, str] | None = None, *, test: str = PYTEST, more: str = "", extra: str = ""
) -> Lab:
    lab = Lab.make(root, author=author, judge=JUDGE, extra=f"checks: {{test: {test}, lint: null{more}}}\n{extra}")
    lab.repo.commit({**FILES, **(files or {})}, "a project")
    lab.add()
    return lab


def ran(lab: Lab) -> int:
    """How often the tests ran; `count.py` of these projects writes a mark for each run."""
    return len((lab.root / "marks").read_text().splitlines())


def counting(root: Path) -> dict[str, str]:
    return {"conftest.py": f"open({str(root / 'marks')!r}, 'a').write('run\\n')\n"}


def test_a_bug_behind_another_expected_value_is_named_on_every_screen(tmp_path: Path) -> None:
    lab = laboratory(tmp_path, BREAK + 'edit("tests/test_calc.py", "== 3", "== -1")\n')
    assert NOTE in " ".join(lab.burnish("run").err.split())
    assert lab.task()["status"] == "verified", "a change of behaviour must edit its tests"
    (finding,) = lab.show()["findings"]
    assert (finding["rule"], finding["severity"], finding["file"]) == (
        "guard/expectations",
        "warning",
        "tests/test_calc.py",
    )
    assert "tests/test_calc.py::test_add: assert -1 == 3" in finding["description"]
    (check,) = lab.show()["cycles"][0]["checks"]
    assert check["base_failures"] == ["tests/test_calc.py::test_add"] and check["status"] == "passed"
    assert NOTE in " ".join(lab.burnish("show", "1").out.split())
    prompt = next(call["prompt"] for call in lab.calls() if call["phase"] == "review")
    assert prompt.count("tests/test_calc.py::test_add") >= 2 and "assert -1 == 3" in prompt
    assert NOTE in lab.burnish("show", "review-cycle://1/review-cycle-1.md").out
    assert lab.burnish("merge", "1", "--json").json["merged"][0]["expectations"] == [NOTE]


EDITS = {
    "a weaker comparison": ({}, 'edit("tests/test_calc.py", "assert add(1, 2) == 3", "assert add(1, 2)")'),
    "a line before the assertion": (
        {"tests/test_calc.py": TEST.replace("assert add(1, 2)", "x = add(1, 2)\n    assert x")},
        'edit("tests/test_calc.py", "    assert", "    x = -3 * x\\n    assert")',
    ),
    "a golden file": (
        {
            "tests/test_calc.py": "import calc, pathlib\n\n\ndef test_add():\n"
            "    assert str(calc.add(1, 2)) == pathlib.Path('tests/out.txt').read_text()\n",
            "tests/out.txt": "3",
        },
        'edit("tests/out.txt", "3", "-1")',
    ),
    "cases of a parametrised test": (
        {
            "tests/test_calc.py": "import calc, pytest\n\n\n"
            "@pytest.mark.parametrize('a, b, c', [(1, 2, 3), (0, 0, 0)])\n"
            "def test_add(a, b, c):\n    assert calc.add(a, b) == c\n"
        },
        'edit("tests/test_calc.py", "(1, 2, 3)", "(3, 0, 3)")',
    ),
    "settings for tests": (
        {
            "calc.py": "import json, pathlib\n\n"
            "SIGN = json.loads(pathlib.Path('config/test.json').read_text())['sign']\n"
            "def add(a, b):\n    return SIGN * (a + b)\n",
            "config/test.json": '{"sign": 1}\n',
        },
        'edit("calc.py", "SIGN * (a - b", "-SIGN * (a + b")\nedit("config/test.json", "1", "-1")',
    ),
    "an example in a docstring": (
        {
            "calc.py": 'def add(a, b):\n    """Add.\n\n    >>> add(1, 2)\n    3\n    """\n    return a + b\n',
            "pytest.ini": "[pytest]\npythonpath = .\naddopts = --doctest-modules\n",
            "tests/test_calc.py": "def test_nothing():\n    pass\n",
        },
        'edit("calc.py", "    3", "    -1")',
    ),
    "a module of constants": (
        {"expected.py": "ADD = 3\n", "tests/test_calc.py": f"from expected import ADD\n{TEST.replace('3', 'ADD')}"},
        'edit("expected.py", "3", "-1")',
    ),
    "data outside of the tests": (
        {
            "data/sums.json": "3\n",
            "tests/test_calc.py": "import calc, json, pathlib\n\n\ndef test_add():\n"
            "    assert calc.add(1, 2) == json.loads(pathlib.Path('data/sums.json').read_text())\n",
        },
        'edit("data/sums.json", "3", "-1")',
    ),
    "a new conftest.py with a stub": (
        {},
        'pathlib.Path("tests/conftest.py").write_text("import sys, types\\n\\nstub = types.ModuleType(\'calc\')\\n'
        "stub.add = lambda a, b: a + b\\nsys.modules['calc'] = stub\\n\")",
    ),
    "a new test module that assigns to the code": (
        {},
        'pathlib.Path("tests/test_a.py").write_text("import calc\\n\\ncalc.add = lambda a, b: a + b\\n")',
    ),
    "a tolerance of the program": (
        {
            "limits.py": "TOLERANCE = 0.01\n\n\ndef close(a, b):\n    return abs(a - b) <= TOLERANCE\n",
            "tests/test_calc.py": "import calc\nfrom limits import TOLERANCE\n\n\n"
            "def test_add():\n    assert abs(calc.add(1, 2) - 3) <= TOLERANCE\n",
        },
        'edit("limits.py", "0.01", "10.0")',
    ),
    "a helper in the package": (
        {
            "shop/__init__.py": "from shop import testing\n",
            "shop/testing.py": "def close(a, b):\n    return abs(a - b) <= 0.01\n",
            "tests/test_calc.py": "import calc\nfrom shop.testing import close\n\n\n"
            "def test_add():\n    assert close(calc.add(1, 2), 3)\n",
        },
        'edit("shop/testing.py", "0.01", "10")',
    ),
    "a fixture": (
        {
            "tests/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef expected():\n    return 3\n",
            "tests/test_calc.py": TEST.replace("()", "(expected)").replace("== 3", "== expected"),
        },
        'edit("tests/conftest.py", "return 3", "return -1")',
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EDITS)
def test_each_way_to_move_the_expectation_is_named(tmp_path: Path, name: str) -> None:
    files, edit = EDITS[name]
    lab = laboratory(tmp_path, f"{BREAK}{edit}\n", files)
    said = " ".join(lab.burnish("run", code=None).err.split())
    assert "1 test of the base fails with this change, which edits" in said, said


@pytest.mark.slow
def test_an_added_line_that_ends_a_script_of_tests_is_named(tmp_path: Path) -> None:
    files = {"tests/test_calc.sh": "set -e\npython3 -c 'import calc; assert calc.add(1, 2) == 3'\n"}
    lab = laboratory(
        tmp_path,
        f"{BREAK}edit('tests/test_calc.sh', 'set -e', 'exit 0\\nset -e')\n",
        files,
        test="sh tests/test_calc.sh",
    )
    said = " ".join(lab.burnish("run", code=None).err.split())
    assert "1 test of the base fails with this change, which edits tests/test_calc.sh" in said, said


CHECKS = {
    "run_checks.py": "import sys\nfrom calc import add\n\nCASES = [\n    (1, 2, 3),\n]\n"
    "bad = [one for one in CASES if add(*one[:2]) != one[2]]\n"
    "print(f'{len(CASES)} checks, {len(bad)} bad')\nsys.exit(bool(bad))\n",
    "Makefile": f"test:\n\t{sys.executable} run_checks.py\n.PHONY: test\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("is_sound", [False, True], ids=["another expected value", "one more case"])
def test_a_script_of_checks_that_make_starts_is_a_test(tmp_path: Path, is_sound: bool) -> None:
    sound = 'edit("calc.py", "a + b", "b + a")\nedit("run_checks.py", "CASES = [", "CASES = [\\n    (0, 0, 0),")\n'
    author = EDIT + sound if is_sound else BREAK + 'edit("run_checks.py", "1, 2, 3", "1, 2, -1")\n'
    lab = laboratory(tmp_path, author, CHECKS, test="make test")
    lab.burnish("run", code=None)
    expected = "" if is_sound else "1 test of the base fails with this change, which edits run_checks.py"
    warnings = " ".join(lab.show()["cycles"][0]["warnings"])
    assert warnings.partition(":")[0] == expected and lab.task()["status"] == "verified"


@pytest.mark.slow
def test_a_change_that_edits_no_test_runs_the_tests_once(tmp_path: Path) -> None:
    author = (
        EDIT
        + 'edit("calc.py", "a + b", "b + a")\npathlib.Path("tests/test_new.py").write_text("def test_n(): pass\\n")\n'
    )
    lab = laboratory(tmp_path, author, counting(tmp_path))
    lab.burnish("run")
    assert ran(lab) == 2, "the base and the change"
    assert lab.show()["findings"] == []


@pytest.mark.slow
def test_a_sound_change_of_a_constant_that_tests_name_gets_no_note(tmp_path: Path) -> None:
    files = {
        "calc.py": "LIMIT = 2\n\n\ndef first(items):\n    return items[:LIMIT]\n",
        "tests/test_calc.py": "from calc import LIMIT, first\n\n\n"
        "def test_first():\n    assert len(first(list(range(9)))) == LIMIT\n",
        **counting(tmp_path),
    }
    author = EDIT + 'edit("calc.py", "LIMIT = 2", "LIMIT = 5")\nedit("calc.py", "items[:", "list(items)[:")\n'
    lab = laboratory(tmp_path, author, files)
    lab.burnish("run")
    assert ran(lab) == 3, "the base, the change, and the change with the old limit"
    assert lab.task()["status"] == "verified"
    assert lab.show()["findings"] == lab.show()["cycles"][0]["warnings"] == []


@pytest.mark.slow
def test_a_sound_change_of_tests_gets_no_note(tmp_path: Path) -> None:
    """A renamed test and a new helper: the old tests pass with the new code."""
    author = (
        EDIT + 'edit("calc.py", "a + b", "b + a")\nedit("tests/test_calc.py", "test_add", "test_sum")\n'
        'pathlib.Path("tests/helper.py").write_text("x = 1\\n")\n'
    )
    lab = laboratory(tmp_path, author, counting(tmp_path))
    lab.burnish("run", code=None)
    assert ran(lab) == 3
    (cycle,) = lab.show()["cycles"]
    assert not [one for one in cycle["warnings"] if "of the base" in one]


@pytest.mark.slow
def test_a_change_of_tests_alone_costs_no_second_run(tmp_path: Path) -> None:
    lab = laboratory(tmp_path, EDIT + 'edit("tests/test_calc.py", "1, 2", "2, 1")\n', counting(tmp_path))
    lab.burnish("run")
    assert ran(lab) == 2


@pytest.mark.slow
def test_off_runs_nothing_and_error_waits_for_a_person(tmp_path: Path) -> None:
    edit = BREAK + 'edit("tests/test_calc.py", "== 3", "== -1")\n'
    lab = laboratory(tmp_path / "off", edit, counting(tmp_path / "off"), more=", guard: {expectations: 'off'}")
    lab.burnish("run")
    assert ran(lab) == 2 and lab.show()["findings"] == []
    lab = laboratory(tmp_path / "error", edit, more=", guard: {expectations: error}")
    lab.burnish("run", code=1)
    assert (lab.task()["status"], lab.task()["reason"]) == ("blocked", "guard")


@pytest.mark.slow
def test_an_exit_code_alone_counts_if_the_base_passed(tmp_path: Path) -> None:
    program = 'import sys; sys.path.insert(0, "."); import calc; assert calc.add(1, 2) == 3'
    script = f"{sys.executable} -c '{program}' 2>/dev/null"
    files = {"tests/run.sh": script + "\n"}
    edit = BREAK + 'edit("tests/run.sh", "== 3", "== -1")\n'
    lab = laboratory(tmp_path, edit, files, test="sh tests/run.sh")
    said = " ".join(lab.burnish("run", code=None).err.split())
    assert (
        "1 test of the base fails with this change, which edits tests/run.sh: test (exit code 1, no single tests)"
        in said
    )


@pytest.mark.slow
def test_a_base_that_was_red_by_its_exit_code_alone_is_unknown_in_one_line(tmp_path: Path) -> None:
    files = {"tests/run.sh": "echo wrong; exit 1\n"}
    edit = BREAK + 'edit("tests/run.sh", "wrong", "still wrong")\n'
    lab = laboratory(tmp_path, edit, files, test="sh tests/run.sh", extra="review: {agents: [judge], max_cycles: 1}\n")
    said = " ".join(lab.burnish("run", code=None).err.split())
    assert (
        "Unknown whether the tests of the base pass with this change, which edits tests: test failed before" in said
    ), said


@pytest.mark.slow
def test_a_test_that_fails_by_chance_there_is_not_named(tmp_path: Path) -> None:
    mark = tmp_path / "count"
    chance = (
        f"import pathlib\nmark = pathlib.Path({str(mark)!r})\n\n\ndef test_net():\n"
        "    run = int(mark.read_text()) + 1 if mark.exists() else 1\n"
        "    mark.write_text(str(run))\n    assert run != 3\n"
    )
    author = EDIT + 'edit("calc.py", "a + b", "b + a")\nedit("tests/test_calc.py", "1, 2", "2, 1")\n'
    lab = laboratory(tmp_path, author, {"tests/test_net.py": chance})
    lab.burnish("run")
    assert int(mark.read_text()) > 3 and lab.show()["findings"] == []


@pytest.mark.slow
def test_a_resumed_run_does_not_run_them_again(tmp_path: Path) -> None:
    lab = laboratory(tmp_path, BREAK + 'edit("tests/test_calc.py", "== 3", "== -1")\n', counting(tmp_path))
    lab.apart("run", code=None, BURNISH_FAILPOINT="base-tests-run")
    before = ran(lab)
    assert NOTE in " ".join(lab.burnish("run").err.split())
    assert ran(lab) == before + 1, "the check of the change itself"


@pytest.mark.slow
def test_checks_in_the_workspace_and_serialized_checks_do_the_same(tmp_path: Path) -> None:
    edit = BREAK + 'edit("tests/test_calc.py", "== 3", "== -1")\n'
    lab = laboratory(tmp_path, edit, extra="isolation: {strategy: serialized}\n")
    lab.user_settings("checks: {where: workspace}\n")
    lab.trust()
    assert NOTE in " ".join(lab.burnish("run").err.split())


@pytest.mark.slow
def test_only_the_checks_whose_paths_the_change_touches_run_again(tmp_path: Path) -> None:
    files = {
        "web/test_web.py": f"def test_web():\n    open({str(tmp_path / 'web')!r}, 'a').write('x')\n",
        "api/test_api.py": "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
    }
    web = f"{{web-test: {{run: '{PYTEST} web', paths: [web/**]}}}}"
    parts = f"{{test: {{run: '{PYTEST} api', paths: [api/**, calc.py]}}, lint: null, extra: {web}}}"
    author = BREAK + 'edit("api/test_api.py", "== 3", "== -1")\n'
    lab = Lab.make(tmp_path, author=author, judge=JUDGE, extra=f"checks: {parts}\n")
    lab.repo.commit({**FILES, **files}, "a project")
    lab.add()
    said = " ".join(lab.burnish("run").err.split())
    assert "1 test of the base fails with this change, which edits api/test_api.py: api/test_api.py::test_add." in said
    assert not (tmp_path / "web").exists()


@pytest.mark.slow
def test_without_tests_nothing_runs_again(tmp_path: Path) -> None:
    lab = laboratory(tmp_path, BREAK + 'edit("tests/test_calc.py", "== 3", "== -1")\n', counting(tmp_path))
    lab.add("without tests", "--skip-tests")
    lab.burnish("run", "2", code=None)
    assert not (tmp_path / "marks").exists() or ran(lab) == 1, "the base at most"
