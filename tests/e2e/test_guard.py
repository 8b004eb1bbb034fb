"""The guard in the loop: a person, and only a person, accepts that a change makes it easier to pass."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from testing.lab import APPROVE, Lab

LOOSEN = """
pathlib.Path("burnish.yaml").write_text("agent: robot\\n")
app.write_text(app.read_text() + "y = 1\\n")
"""


def test_a_rewritten_judge_blocks_though_no_check_is_configured(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=LOOSEN, judge=APPROVE)
    lab.add()
    lab.burnish("run", code=1)
    task = lab.task()
    assert (task["status"], task["reason"]) == ("blocked", "guard")
    (finding,) = lab.show()["findings"]
    assert (finding["category"], finding["severity"], finding["rule"]) == ("guard", "error", "guard/judge")
    assert finding["file"] == "burnish.yaml" and finding["line"]
    assert [call["phase"] for call in lab.calls()] == ["implement"], "no review is paid for"


def test_a_person_accepts_it_by_waiving(tmp_path: Path) -> None:
    judge = 'print(verdict("approved", "good", inspected=["app.py", "burnish.yaml"]))'
    lab = Lab.make(tmp_path, author=LOOSEN, judge=judge)
    lab.add()
    lab.burnish("run", code=1)
    lab.burnish("waive", "1", "F1", "--reason", "it was asked for")
    lab.burnish("run", "1", code=None)
    assert lab.task()["status"] == "verified"
    assert lab.show()["findings"][0]["state"] == "waived"


@pytest.mark.long
def test_a_deleted_test_is_told_with_its_name(tmp_path: Path) -> None:
    thin = 'pathlib.Path("test_app.py").write_text("def test_add():\\n    assert True\\n")'
    lab = Lab.make(tmp_path, author=thin, judge=APPROVE)
    tests = "def test_add():\n    assert 1 + 2 == 3\n\n\ndef test_more():\n    assert 2 + 2 == 4\n"
    lab.repo.commit({"test_app.py": tests}, "tests")
    lab.add()
    lab.burnish("run", code=1)
    deleted, hollow = sorted(lab.show()["findings"], key=lambda one: str(one["title"]))
    assert deleted["rule"] == hollow["rule"] == "guard/thinning"
    assert "test_more" in deleted["description"] and hollow["title"] == "test_add no longer tests what it tested before"


@pytest.mark.long
def test_off_is_off(tmp_path: Path) -> None:
    judge = 'print(verdict("approved", "good", inspected=["app.py", "burnish.yaml"]))'
    off = "checks: {test: null, lint: null, guard: {thinning: 'off', judge: 'off', tooling: 'off'}}\n"
    lab = Lab.make(tmp_path, author=LOOSEN, judge=judge, extra=off)
    lab.add()
    lab.burnish("run")
    assert lab.show()["findings"] == []


def test_what_changes_in_the_users_own_checkout_while_an_agent_runs_is_told_and_does_not_block(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE)
    lab.agent(
        "robot",
        f"theirs = pathlib.Path({str(lab.repo.path)!r})\n(theirs / 'app.py').write_text('mine now\\n')\n"
        "(theirs / 'new.py').write_text('')\napp.write_text(app.read_text() + 'y = 1\\n')",
    )
    lab.add()
    said = lab.burnish("run")
    told = "2 files in your own checkout changed while the agent ran"
    assert f"Guard: {told} (implement): app.py, new.py" in said.err
    (breach,) = lab.events("guard.breach")
    assert breach["data"]["paths"] == ["app.py", "new.py"]
    (finding,) = lab.show()["findings"]
    assert (finding["category"], finding["severity"], finding["title"]) == ("guard", "warning", told)
    assert lab.task()["status"] == "verified" and (lab.repo.path / "app.py").read_text() == "mine now\n"


def test_a_new_file_that_shadows_the_test_runner_blocks(tmp_path: Path) -> None:
    shadow = (
        'pathlib.Path("pytest.py").write_text("raise SystemExit(0)\\n")\napp.write_text(app.read_text() + "y = 1\\n")'
    )
    lab = Lab.make(tmp_path, author=shadow, judge=APPROVE)
    lab.add()
    lab.burnish("run", code=1)
    assert (lab.task()["status"], lab.task()["reason"]) == ("blocked", "guard")
    (finding,) = lab.show()["findings"]
    assert (finding["rule"], finding["severity"], finding["file"]) == ("guard/shadowing", "error", "pytest.py")


@pytest.mark.long
def test_a_new_link_that_shadows_the_test_runner_blocks(tmp_path: Path) -> None:
    shadow = """
folder = pathlib.Path("fake")
folder.mkdir()
(folder / "__init__.py").write_text("raise SystemExit(0)\\n")
pathlib.Path("pytest").symlink_to("fake")
app.write_text(app.read_text() + "y = 1\\n")
"""
    lab = Lab.make(tmp_path, author=shadow, judge=APPROVE)
    lab.add()
    lab.burnish("run", code=1)
    assert (lab.task()["status"], lab.task()["reason"]) == ("blocked", "guard")
    (finding,) = lab.show()["findings"]
    assert (finding["rule"], finding["severity"], finding["file"]) == ("guard/shadowing", "error", "pytest")


@pytest.mark.long
def test_a_suite_whose_number_of_tests_becomes_unknown_blocks(tmp_path: Path) -> None:
    """The author's change keeps the exit code and loses the report."""
    quiet = 'pathlib.Path("suite.sh").write_text("exit 0\\n")'
    lab = Lab.make(tmp_path, author=quiet, judge=APPROVE, extra="checks: {test: sh suite.sh, lint: null}\n")
    suite = f"exec {sys.executable} -m pytest -q -p no:cacheprovider test_app.py\n"
    lab.repo.commit({"suite.sh": suite, "test_app.py": "def test_it():\n    assert True\n"}, "suite")
    lab.add()
    lab.burnish("run", code=1)
    assert (lab.task()["status"], lab.task()["reason"]) == ("blocked", "guard")
    error, warning = sorted(lab.show()["findings"], key=lambda one: str(one["severity"]))
    assert error["severity"] == "error" and "unknown: 1 → ?" in error["title"]
    # the command of the check starts the script
    assert (warning["severity"], warning["rule"], warning["file"]) == ("warning", "guard/tooling", "suite.sh")


@pytest.mark.long
def test_a_changed_script_of_set_up_is_reported(tmp_path: Path) -> None:
    """It runs with the credentials of the user's package indexes, before any reviewer has seen it."""
    author = 'pathlib.Path("prepare.sh").write_text("env > prepared\\n")'
    judge = 'print(verdict("approved", "good", inspected=["prepare.sh"]))'
    lab = Lab.make(tmp_path, author=author, judge=judge)
    settings = (lab.repo.path / "burnish.yaml").read_text() + "workspace: {setup: sh prepare.sh}\n"
    files = {"burnish.yaml": settings, "prepare.sh": "touch prepared\n", ".gitignore": "prepared\n"}
    lab.repo.commit(files, "set-up")
    lab.burnish("trust")
    lab.add()
    lab.burnish("run", code=None)
    (finding,) = lab.show()["findings"]
    assert (finding["severity"], finding["rule"], finding["file"]) == ("warning", "guard/tooling", "prepare.sh")
