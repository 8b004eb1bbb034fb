"""`checks.where: workspace`: checks run where the author worked, and still test the change, not the checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.bubblewrap import needs_bubblewrap
from testing.lab import Lab
from tests.e2e.test_trees_under_test import BREAK, GOOD, make_lab, run, set_up, virtual_environment


@pytest.fixture(params=["confined", "unconfined"])
def lab(request: pytest.FixtureRequest, tmp_path: Path) -> Lab:
    return workspace_lab(tmp_path, confined=request.param == "confined")


def workspace_lab(root: Path, *, confined: bool) -> Lab:
    if confined:
        needs_bubblewrap()
    lab = make_lab(root, confined=confined)
    sandbox = f"sandbox: {{write: ['{root}']}}\n" if confined else ""
    lab.user_settings(f"{sandbox}checks: {{where: workspace}}\n")
    return lab


@pytest.mark.slow
def test_an_editable_install_in_the_checkout_does_not_hide_a_broken_change(tmp_path: Path) -> None:
    lab = workspace_lab(tmp_path, confined=True)
    virtual_environment(lab.repo.path / ".venv", editable=lab.repo.path / "src")
    assert run(lab) == "blocked"
    (check,) = lab.show()["cycles"][0]["checks"]
    assert (check["status"], check["new"]) == ("failed", ["tests/test_calc.py::test_add"])


@pytest.mark.long
def test_a_good_change_passes_with_the_environment_of_the_checkout(tmp_path: Path) -> None:
    lab = workspace_lab(tmp_path, confined=True)
    lab.agent("robot", GOOD)
    virtual_environment(lab.repo.path / ".venv", editable=lab.repo.path / "src")
    before = lab.repo.fingerprint()
    assert run(lab) == "verified"
    assert lab.repo.fingerprint() == before
    captured = next(event for event in lab.events() if event["type"] == "baseline.captured")
    assert captured["data"]["origins"] == {"calc": str(lab.repo.path / "src/calc/__init__.py")}


def test_without_a_sandbox_an_editable_install_of_the_checkout_is_refused_before_an_agent_is_paid(
    tmp_path: Path,
) -> None:
    lab = workspace_lab(tmp_path, confined=False)
    virtual_environment(lab.repo.path / ".venv", editable=lab.repo.path / "src")
    assert run(lab) == "failed"
    assert lab.task()["error"] == "CHECK_ERROR" and not lab.calls()
    note = lab.show()["note"]
    assert "calc is imported from" in note and "workspace.setup" in note


@pytest.mark.long
@pytest.mark.parametrize(("author", "status"), [(BREAK, "blocked"), (GOOD, "verified")])
def test_set_up_in_the_workspace_installs_the_workspace(lab: Lab, author: str, status: str) -> None:
    virtual_environment(lab.repo.path / ".venv", editable=lab.repo.path / "src")
    lab.settle(set_up(lab))
    lab.agent("robot", author)
    assert run(lab) == status


@pytest.mark.slow
def test_the_build_runs_in_the_workspace_too(lab: Lab) -> None:
    """What set-up built there is that of the base."""
    copies = "mkdir -p dist && cp src/calc/__init__.py dist/built.txt"
    test = "def test_built():\n    assert 'a + b' in open('dist/built.txt').read()\n"
    lab.repo.commit({"tests/test_calc.py": test, ".gitignore": ".venv\n__pycache__\ndist\n"}, "a build")
    settings = set_up(lab, copies).replace("checks: {", f"checks: {{build: '{copies}', ")
    lab.settle(settings)
    assert run(lab) == "blocked", lab.show()["note"]
    (check,) = lab.show()["cycles"][0]["checks"]
    assert check["new"] == ["tests/test_calc.py::test_built"]


@pytest.mark.long
def test_a_package_that_was_missing_in_the_checkout_takes_a_new_baseline_once_it_is_there(tmp_path: Path) -> None:
    """Else the failure at the base, which it caused, would excuse a new one in the same test."""
    lab = workspace_lab(tmp_path, confined=True)
    needs = "from calc import add\n\n\ndef test_add():\n    import helper\n    assert add(1, 2) == 3\n"
    lab.repo.commit({"tests/test_calc.py": needs}, "a test that needs a package")
    virtual_environment(lab.repo.path / ".venv", editable=lab.repo.path / "src")
    lab.agent("robot", GOOD)
    run(lab)
    assert lab.show()["cycles"][0]["checks"][0]["old"] == ["tests/test_calc.py::test_add"]
    (packages,) = (lab.repo.path / ".venv").glob("lib/python*/site-packages")
    (packages / "helper.py").write_text("")
    lab.agent("robot", BREAK)
    lab.add("break it")
    lab.burnish("run", "2", code=None)
    assert lab.task(2)["status"] == "blocked"
    assert lab.show(2)["cycles"][0]["checks"][0]["new"] == ["tests/test_calc.py::test_add"]
