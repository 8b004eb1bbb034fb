"""The stored answer on where the project's packages are imported from holds only for the tree that was asked about."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

from burnish.core.policy import CheckSpec
from burnish.errors import PhaseFailed
from burnish.runtime.ports import tree_checks
from testing.approved import app_of
from testing.lab import Lab


def problem_of(lab: Lab, files: dict[str, str], folder: Path) -> str:
    """What is wrong with the imports of a commit that adds these files."""
    commit = lab.repo.commit(files, "files")
    with app_of(lab) as app:
        checks = tree_checks(app, None, lambda name: nullcontext())
        specs = [CheckSpec("test", "pytest -q")]
        try:
            _, origins = checks.environment(commit, commit, specs, None, folder)
        except PhaseFailed as failure:
            return failure.what
    return origins.problem


@pytest.mark.slow
def test_settings_that_change_places_are_asked_about_again(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "calc").mkdir(parents=True)
    (elsewhere / "calc" / "__init__.py").touch()
    honest, hostile = "[pytest]\npythonpath = src\n", f"[pytest]\npythonpath = {elsewhere}\n"
    before = {"pytest.ini": honest, "src/calc/__init__.py": "", "z/pytest.ini": hostile}
    assert problem_of(lab, before, tmp_path / "out-1") == ""
    (lab.repo.path / "z" / "pytest.ini").unlink()
    # the same texts in the same order, in other places
    after = {"a/pytest.ini": honest, "pytest.ini": hostile}
    assert "calc is imported from" in problem_of(lab, after, tmp_path / "out-2")


def test_a_package_that_becomes_a_link_is_asked_about_again(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    outside = tmp_path / "outside.py"
    outside.touch()
    before = {"pytest.ini": "[pytest]\npythonpath = src\n", "src/calc/__init__.py": "", "x.py": ""}
    assert problem_of(lab, before, tmp_path / "out-1") == ""
    module = lab.repo.path / "src" / "calc" / "__init__.py"
    module.unlink()
    module.symlink_to(outside)
    assert "calc is imported from" in problem_of(lab, {"x.py": "1"}, tmp_path / "out-2")
