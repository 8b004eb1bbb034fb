"""Tests of changed files that were not run: every screen names them, and a file without any other test waits."""

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
SKIPPED_ON_CI = STORE_TEST.replace("def test", "@pytest.mark.skipif('CI' in os.environ, reason='slow')\ndef test")
LEFT_OUT_ON_CI = """import os


def pytest_collection_modifyitems(items):
    if os.environ.get("CI"):
        items[:] = [one for one in items if one.name != "test_insert"]
"""
NOT_COLLECTED_ON_CI = "import os\n\nif os.environ.get('CI'):\n    collect_ignore = ['test_store.py']\n"
OTHER_TEST = "\n\ndef test_other():\n    assert insert\n"
PARTLY_SKIPPED = STORE_TEST.replace("def test", "@pytest.mark.skipif(True, reason='DATABASE_URL is not set')\ndef test")
PARTLY_MARKED = STORE_TEST.replace("def test", "@pytest.mark.database\ndef test")
# files, and the note
NAMED = {
    "skipped because of CI": (
        {"tests/test_store.py": f"import os, pytest\n{SKIPPED_ON_CI}\n\ndef test_other():\n    assert insert\n"},
        "Tests of store.py may have been skipped: tests/test_store.py asks for the variable CI, which checks set.",
    ),
    "left out because of CI": (
        {"tests/test_store.py": STORE_TEST + OTHER_TEST, "conftest.py": LEFT_OUT_ON_CI},
        "Tests of store.py may have been skipped: conftest.py asks for the variable CI, which checks set.",
    ),
    "one of two skipped": (
        {"tests/test_store.py": f"import pytest\n{PARTLY_SKIPPED}{OTHER_TEST}"},
        "Not all tests of store.py were run: tests/test_store.py (1 of 2 tests were skipped: DATABASE_URL is not set).",
    ),
    "one of two deselected": (
        {
            "tests/test_store.py": f"import pytest\n{PARTLY_MARKED}{OTHER_TEST}",
            "pytest.ini": "[pytest]\naddopts = -m 'not database'\nmarkers = database\npythonpath = .\n",
        },
        "Not all tests of store.py were run: tests/test_store.py (`pytest -m database`: `addopts` deselects these",
    ),
    "another file skipped": (
        {"tests/test_store.py": SKIPPED, "tests/test_more.py": "import store\n\n\ndef test_it():\n    assert store\n"},
        "Not all tests of store.py were run: tests/test_store.py (all of its tests were skipped: needs a database).",
    ),
    "a packed copy": (
        {"package.json": '{"name": "store"}\n', "store-1.0.0.tgz": "packed\n"},
        "store-1.0.0.tgz is a packed copy of a package of this repository and was not packed again",
    ),
}
UNTESTED = {
    "a module that skips itself": (
        {
            "tests/test_store.py": "import pytest\n\npytest.skip('DB is not set', allow_module_level=True)\n"
            + STORE_TEST
        },
        "The tests of store.py were not run: tests/test_store.py (all of its tests were skipped: DB is not set).",
    ),
    "skipped": (
        {"tests/test_store.py": SKIPPED},
        "The tests of store.py were not run: tests/test_store.py (all of its tests were skipped: needs a database).",
    ),
    "the module `tests.py` of an app": (
        {"shop/tests.py": SKIPPED, "pytest.ini": "[pytest]\npython_files = tests.py test_*.py\npythonpath = .\n"},
        "The tests of store.py were not run: shop/tests.py (all of its tests were skipped: needs a database).",
    ),
    "not collected because of CI": (
        {"tests/test_store.py": STORE_TEST, "tests/conftest.py": NOT_COLLECTED_ON_CI},
        "The tests of store.py were not run: tests/test_store.py (no check reports a test of this file).",
    ),
    "deselected": (
        {
            "tests/test_store.py": MARKED,
            "pytest.ini": "[pytest]\naddopts = -m 'not database'\nmarkers = database\npythonpath = .\n",
        },
        "The tests of store.py were not run: tests/test_store.py (`pytest -m database`: `addopts` deselects these",
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


@pytest.mark.parametrize("project", NAMED)
def test_tests_of_a_changed_file_that_were_not_run_are_named_on_every_screen(tmp_path: Path, project: str) -> None:
    files, note = NAMED[project]
    lab = lab_with(tmp_path, files)
    assert note in lab.burnish("run", code=None).err.replace("\n", " ")
    assert lab.task()["status"] == "verified"
    assert any(one.startswith(note) for one in lab.show()["cycles"][0]["warnings"])
    merged = lab.burnish("merge", "1", "--json", code=None).json
    assert note in str(merged)


@pytest.mark.parametrize("project", UNTESTED)
def test_the_change_of_a_file_without_any_test_that_was_run_waits_for_a_person(tmp_path: Path, project: str) -> None:
    files, note = UNTESTED[project]
    lab = lab_with(tmp_path, files)
    printed = lab.burnish("run", code=None)
    assert note in printed.err.replace("\n", " ")
    assert lab.task()["status"] == "waiting_approval"
    assert "no test of store.py was run" in str(lab.burnish("inbox", "--json", code=None).json)
    assert any(one.startswith(note) for one in lab.show()["cycles"][0]["warnings"])
    lab.burnish("decide", "1", "approve")
    assert note in str(lab.burnish("merge", "1", "--json", code=None).json)


def test_a_user_can_accept_changes_of_files_whose_tests_were_not_run(tmp_path: Path) -> None:
    lab = lab_with(tmp_path, {"tests/test_store.py": SKIPPED})
    lab.user_settings("checks: {uncountable: accept}\n")
    lab.burnish("run", code=None)
    assert lab.task()["status"] == "verified"


@pytest.mark.parametrize("checks", ["test: null, lint: null", "test: null, lint: 'true'"])
def test_nothing_waits_in_a_project_whose_settings_name_no_tests(tmp_path: Path, checks: str) -> None:
    lab = lab_with(tmp_path, {"tests/test_store.py": STORE_TEST})
    lab.settle(f"checks: {{{checks}}}\nreview: {{agents: [judge], max_cycles: 1}}\n")
    lab.burnish("run", code=None)
    assert lab.task()["status"] == "verified"
    assert "were not run" not in str(lab.show()["cycles"][0]["warnings"])


EXPECTED_FAILURE = "\n\n@pytest.mark.xfail\ndef test_no():\n    assert insert(1) == 9\n"
QUIET = {
    "a helper that names the file": {"tests/conftest.py": "import store\n", "tests/test_store.py": STORE_TEST},
    "a test of another platform": {
        "tests/test_store.py": "import pytest\n"
        + PARTLY_SKIPPED.replace("DATABASE_URL is not set", "Windows only")
        + OTHER_TEST
    },
    "a test that is expected to fail": {"tests/test_store.py": f"import pytest\n{STORE_TEST}{EXPECTED_FAILURE}"},
    "an inherited test": {
        "tests/test_base.py": "class TestIt:\n    def test_it(self):\n        pass\n",
        "tests/test_store.py": "import store\nfrom test_base import TestIt\n\nclass TestStore(TestIt):\n    pass\n",
    },
}


@pytest.mark.parametrize("project", QUIET)
def test_a_sound_change_of_a_file_whose_tests_were_run_gets_no_note(tmp_path: Path, project: str) -> None:
    lab = lab_with(tmp_path, QUIET[project])
    lab.agent("robot", AUTHOR.replace("x - 1", "1 + x"))
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
