"""The report of what tests imported: tests can write it, so it is read with care."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from burnish.checks.environment import check_environment
from burnish.checks.import_report import imported_elsewhere, with_import_report
from burnish.checks.placement import Placement
from burnish.checks.run import run_checks
from burnish.core.check import CheckStatus
from burnish.core.policy import CheckSpec
from testing.lean_pytest import LEAN_PYTEST
from tests.e2e.test_trees_under_test import virtual_environment


def test_a_python_path_of_the_user_comes_before_the_plugin(tmp_path: Path) -> None:
    env = with_import_report(CheckSpec("test", "make test"), tmp_path, {"PYTHONPATH": "src"})
    assert env["PYTHONPATH"].split(":") == ["src", str(tmp_path / "imports")]


def test_a_check_that_runs_no_tests_gets_no_plugin(tmp_path: Path) -> None:
    assert with_import_report(CheckSpec("lint", "ruff check"), tmp_path, {"A": "1"}) == {"A": "1"}


@pytest.mark.parametrize("text", ["", "[]", "{", '{"calc": 1}', "[" * 100_000, '{"other": "/elsewhere/other.py"}'])
def test_a_damaged_report_says_nothing(tmp_path: Path, text: str) -> None:
    tree, report = tmp_path / "tree", tmp_path / "report" / "imports"
    (tree / "calc").mkdir(parents=True)
    (tree / "calc" / "__init__.py").touch()
    report.mkdir(parents=True)
    (report / "1.json").write_text(text)
    assert imported_elsewhere(report.parent, tree, "", tree) == ""
    (report / "2.json").write_text('{"calc": "/elsewhere/calc/__init__.py"}')
    assert "/elsewhere/calc" in imported_elsewhere(report.parent, tree, "", tree)


@pytest.mark.parametrize(
    ("folder", "files", "accepted"),
    [
        (".nox/tests", {"__init__.py": "a = 1\n", "_version.py": "1\n", "__pycache__/a.pyc": ""}, True),
        (".tox/py312", {"__init__.py": "a = 1\n"}, True),
        (".nox/tests", {"__init__.py": "a = 2\n"}, False),
        (".nox/tests", {"__init__.py": "a = 1\n", "removed.py": ""}, False),
        (".nox/tests", {"__init__.py": "a = 1\n", "_native.so": ""}, False),
        (".venv", {"__init__.py": "a = 1\n"}, False),
    ],
    ids=["nox", "tox", "other content", "a module that the tree lacks", "compiled", "a copy of set-up"],
)
def test_a_copy_that_a_session_of_nox_installed_counts_as_the_tree_if_it_is_equal(
    tmp_path: Path, folder: str, files: dict[str, str], accepted: bool
) -> None:
    tree, layer, report = tmp_path / "tree", tmp_path / "layer", tmp_path / "report" / "imports"
    place = f"{folder}/lib/python3.12/site-packages/calc"
    for path, text in {f"layer/{place}/{name}": text for name, text in files.items()}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tree / "src/calc").mkdir(parents=True)
    (tree / "src/calc/__init__.py").write_text("a = 1\n")
    report.mkdir(parents=True)
    (report / "1.json").write_text(json.dumps({"calc": f"/home/me/calc/{place}/__init__.py"}))
    problem = imported_elsewhere(report.parent, tree, "", Path("/home/me/calc"), layer)
    assert (problem == "") is accepted


def test_the_sitecustomize_of_the_environment_still_runs(tmp_path: Path) -> None:
    """PYTHONPATH comes before site-packages, so that of the report hides it."""
    place = tmp_path / "venv"
    venv.create(place, with_pip=False, symlinks=True)
    (packages,) = place.glob("lib/python*/site-packages")
    (packages / "sitecustomize.py").write_text("import sys\nsys.own = __file__\n")
    env = with_import_report(CheckSpec("test", "make test"), tmp_path, {})
    words = "import sys, sitecustomize; print(sys.own, sitecustomize.__file__)"
    argv = [place / "bin/python", "-c", words]
    said = subprocess.run(argv, env=dict(env), capture_output=True, text=True, check=True)
    assert said.stdout.split() == [str(packages / "sitecustomize.py")] * 2 and not said.stderr


def test_a_run_of_unittest_reports_what_it_imported_and_one_that_only_imports_unittest_does_not(tmp_path: Path) -> None:
    (tmp_path / "calc").mkdir()
    (tmp_path / "calc/__init__.py").touch()
    (tmp_path / "test_calc.py").write_text(
        "import unittest, calc\nclass T(unittest.TestCase):\n    def test_a(self): pass\n    def test_b(self): pass\n"
    )
    env = dict(with_import_report(CheckSpec("test", "make test"), tmp_path, {}))
    subprocess.run([sys.executable, "-c", "import unittest.mock, calc"], cwd=tmp_path, env=env, check=True)
    assert imported_elsewhere(tmp_path, tmp_path, "", tmp_path) == "" and not list(tmp_path.glob("imports/*.json"))
    argv = [sys.executable, "-m", "unittest", "-q"]
    said = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    assert "Ran 2 tests" in said.stderr and len(list(tmp_path.glob("imports/*.json"))) == 1
    other = tmp_path / "other"
    (other / "calc").mkdir(parents=True)
    (other / "calc/__init__.py").touch()
    assert f"calc is imported from {tmp_path}/calc" in imported_elsewhere(tmp_path, other, "", other)


@pytest.mark.parametrize("module", ["src/calc.py", "src/acme/calc.py"])
def test_a_module_without_a_package_that_comes_from_the_checkout_is_reported(tmp_path: Path, module: str) -> None:
    checkout, tree = tmp_path / "checkout", tmp_path / "tree"
    for folder in (checkout, tree):
        (folder / module).parent.mkdir(parents=True)
        (folder / module).touch()
        name = module.removeprefix("src/").removesuffix(".py").replace("/", ".")
        text = f"import unittest, {name}\nclass T(unittest.TestCase):\n    def test_a(self): pass\n"
        (folder / "test_calc.py").write_text(text)
    for number, root in enumerate((tree, checkout)):
        out = tmp_path / str(number)
        env = with_import_report(
            CheckSpec("test", "make test"), out, {"PYTHONPATH": f"{root}/src"}, Placement.plain(tree, checkout=checkout)
        )
        subprocess.run([sys.executable, "-m", "unittest", "-q"], cwd=tree, env=dict(env), check=True)
        problem = imported_elsewhere(out, tree, "", tree, None, checkout)
        assert problem == (f"{name} is imported from {root}/{module}, not from the tree under test" if number else "")


# Tests that import the tree, and start the program of the project in another folder, where the tree is not found.
STARTS_PROGRAM = """
import subprocess, sys

import calc


def test_program(tmp_path):
    assert calc.add(1, 2) == 3
    assert subprocess.run([sys.executable, "-m", "calc"], cwd=tmp_path).returncode == 0
"""
INSTALLED = {
    "pip install .": ("copy", {"url": "file:///calc", "dir_info": {}}, CheckStatus.ERROR),
    "from an index": ("copy", None, CheckStatus.PASSED),
    "editable, of the tree": ("tree", {"url": "file:///calc", "dir_info": {"editable": True}}, CheckStatus.PASSED),
    "editable, of the checkout": (
        "checkout",
        {"url": "file:///calc", "dir_info": {"editable": True}},
        CheckStatus.ERROR,
    ),
}


@pytest.mark.representatives(3)
@pytest.mark.parametrize(("kind", "origin", "status"), INSTALLED.values(), ids=INSTALLED)
def test_programs_that_tests_start_must_not_run_an_installed_copy(
    tmp_path: Path, kind: str, origin: dict[str, object] | None, status: CheckStatus
) -> None:
    tree, checkout = tmp_path / "tree", tmp_path / "checkout"
    virtual_environment(tree / ".venv")
    (packages,) = tree.glob(".venv/lib/python*/site-packages")
    for folder in (tree, checkout, *([packages] if kind == "copy" else [])):
        (folder / "calc").mkdir(parents=True)
        (folder / "calc/__init__.py").write_text("def add(a, b):\n    return a + b\n")
        (folder / "calc/__main__.py").write_text("import calc\n")
    (tree / "test_program.py").write_text(STARTS_PROGRAM)
    (tree / "pytest.ini").write_text("[pytest]\n")
    metadata = packages / "calc-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: calc\nVersion: 1\n")
    (metadata / "RECORD").write_text("calc/__init__.py,,\ncalc/__main__.py,,\n")
    if origin:
        (metadata / "direct_url.json").write_text(json.dumps(origin))
    if kind != "copy":
        (packages / "calc.pth").write_text(f"{tmp_path / kind}\n")

    spec = CheckSpec("test", ".venv/bin/python -m pytest -q")
    place = Placement.plain(tree, checkout=checkout)
    # The pytest of the check removes old folders of temporary files, also those of other runs, which may take minutes.
    env = {**check_environment(os.environ), "TMPDIR": str(tmp_path), "PYTEST_ADDOPTS": LEAN_PYTEST}
    (report,) = run_checks([spec], place=place, out_dir=tmp_path / "out", env=env)

    assert report.status is status, report.error
    if status is CheckStatus.ERROR:
        assert "calc is imported from" in report.error
