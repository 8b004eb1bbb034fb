"""A change of files whose only tests were not run is verified, and every screen says so."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from testing.lab import Lab

pytestmark = pytest.mark.usefixtures("lean_pytest")

AUTHOR = 'pathlib.Path("store.py").write_text("def insert(x):\\n    return x - 1\\n")\n'
JUDGE = 'print(verdict("approved", "good", inspected=["store.py"]))'
SETTINGS = "checks: {{test: {test}, lint: null}}\nreview: {{agents: [judge], max_cycles: 1}}\n"
PYTEST = f"{sys.executable} -m pytest -q"
STORE_TEST = "from store import insert\n\n\ndef test_insert():\n    assert insert(1) == 2\n"
FILES = {
    "store.py": "def insert(x):\n    return x + 1\n",
    "calc.py": "def add(a, b):\n    return a + b\n",
    "tests/test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
}
SKIPPED = f"import pytest\n\npytestmark = pytest.mark.skipif(True, reason='needs a database')\n\n{STORE_TEST}"
MARKED = f"import pytest\n\npytestmark = pytest.mark.database\n\n{STORE_TEST}"
# files, and the note
SKIPPED_ON_CI = STORE_TEST.replace("def test", "@pytest.mark.skipif('CI' in os.environ, reason='slow')\ndef test")
PROJECTS = {
    "skipped because of CI": (
        {"tests/test_store.py": f"import os, pytest\n{SKIPPED_ON_CI}\n\ndef test_other():\n    assert insert\n"},
        "Tests of store.py may have been skipped: tests/test_store.py asks for the variable CI, which checks set.",
    ),
    "skipped": (
        {"tests/test_store.py": SKIPPED},
        "The tests of store.py were not run: tests/test_store.py (all of its tests were skipped).",
    ),
    "deselected": (
        {
            "tests/test_store.py": MARKED,
            "pytest.ini": "[pytest]\naddopts = -m 'not database'\nmarkers = database\npythonpath = .\n",
        },
        "The tests of store.py were not run: tests/test_store.py (`pytest -m database`: `addopts` deselects these",
    ),
    "a packed copy": (
        {"package.json": '{"name": "store"}\n', "store-1.0.0.tgz": "packed\n"},
        "store-1.0.0.tgz is a packed copy of a package of this repository and was not packed again",
    ),
    "another framework": (
        {"features/steps/store.py": "from behave import then\nfrom store import insert\n"},
        "The tests of store.py were not run: features/steps/store.py (`behave`: features may need a browser",
    ),
}


def lab_with(tmp_path: Path, files: dict[str, str]) -> Lab:
    lab = Lab.make(tmp_path, author=AUTHOR, judge=JUDGE, extra=SETTINGS.format(test=PYTEST))
    lab.repo.commit({**FILES, "pytest.ini": "[pytest]\npythonpath = .\n", **files}, "a project")
    lab.add()
    return lab


@pytest.mark.parametrize("project", PROJECTS)
def test_the_change_of_a_file_whose_only_tests_were_not_run_is_named_on_every_screen(
    tmp_path: Path, project: str
) -> None:
    files, note = PROJECTS[project]
    lab = lab_with(tmp_path, files)
    assert note in lab.burnish("run", code=None).err.replace("\n", " ")
    assert lab.task()["status"] == "verified"
    assert any(one.startswith(note) for one in lab.show()["cycles"][0]["warnings"])
    merged = lab.burnish("merge", "1", "--json", code=None).json
    assert note in str(merged)


def test_a_file_that_a_test_names_that_ran_gets_no_note(tmp_path: Path) -> None:
    files = {
        "tests/test_store.py": SKIPPED,
        "tests/test_more.py": "import store\n\n\ndef test_it():\n    assert store\n",
    }
    lab = lab_with(tmp_path, files)
    lab.burnish("run", code=None)
    assert lab.task()["status"] == "verified"
    assert lab.show()["cycles"][0]["warnings"] == []


@pytest.mark.long
def test_a_command_that_names_one_test_file_leaves_the_others_untested(tmp_path: Path) -> None:
    lab = lab_with(tmp_path, {"tests/test_store.py": STORE_TEST})
    lab.settle(SETTINGS.format(test=f"{PYTEST} tests/test_calc.py"))
    lab.burnish("run", code=None)
    assert lab.show()["cycles"][0]["warnings"] == [
        "The tests of store.py were not run: tests/test_store.py (`pytest tests`: no check names these tests)."
    ]
