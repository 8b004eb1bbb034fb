"""burnish init --try: set-up and tests are run once, and the result is shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from burnish.cli.main import main
from burnish.errors import Untrusted
from burnish.features.init.trial import try_out
from testing.bubblewrap import needs_bubblewrap
from testing.lab import Lab
from testing.terminal import terminal
from testing.userrepo import UserRepo

pytestmark = pytest.mark.usefixtures("lean_pytest")

Capture = pytest.CaptureFixture[str]
TESTS = {"test_app.py": "def test_a(): ...\n\n\ndef test_b(): ...\n", ".gitignore": ".venv/\n*.log\n"}


def types(repo: UserRepo, *argv: str) -> int:
    return main(["-C", str(repo.path), *argv])


@pytest.mark.slow
def test_the_result_of_set_up_and_tests_is_shown(user_repo: UserRepo, capsys: Capture) -> None:
    user_repo.commit({**TESTS, "burnish.yaml": "workspace: {setup: 'echo made > made.log'}\n"})
    user_repo.trust()
    before = user_repo.fingerprint()
    assert types(user_repo, "init", "--try") == 0
    out, err = capsys.readouterr()
    assert "✓ set-up  done (" in out and "✓ test    2 tests ran, none failed (" in out
    assert "The checks work. Next: burnish add" in out
    assert "Running the set-up: echo made > made.log" in err and "Running the checks: test" in err
    assert user_repo.fingerprint() == before


@pytest.mark.slow
def test_skipped_tests_do_not_count_as_run(user_repo: UserRepo, capsys: Capture) -> None:
    skipped = "\n\n@pytest.mark.skipif('CI' in os.environ, reason='slow')\ndef test_c(): ...\n"
    user_repo.commit({**TESTS, "test_app.py": f"import os, pytest\n{TESTS['test_app.py']}{skipped}"})
    user_repo.trust()
    assert types(user_repo, "init", "--try") == 0
    assert " 2 tests ran, none failed, 1 skipped (checks run with CI=1 and isolation.env) (" in capsys.readouterr().out


def test_a_set_up_that_fails_is_told_with_its_cause_and_how_to_go_on(user_repo: UserRepo, capsys: Capture) -> None:
    fails = "printf 'start\\\\nerror: no such package x\\\\nhint: none\\\\n'; exit 2"
    user_repo.commit({**TESTS, "burnish.yaml": f'workspace: {{setup: "{fails}"}}\n'})
    user_repo.trust()
    assert types(user_repo, "init", "--try") == 3
    out = capsys.readouterr().out
    assert "✗ set-up  failed with exit code 2: error: no such package x" in out
    assert "│ hint: none" in out and "then: burnish init --try" in out and "It works" not in out


def test_a_check_that_cannot_be_started_is_told(user_repo: UserRepo, capsys: Capture) -> None:
    user_repo.commit({"burnish.yaml": "checks: {test: nowhere-tool --all, lint: null}\n"})
    user_repo.trust()
    assert types(user_repo, "init", "--try", "--json") == 3
    trial = json.loads(capsys.readouterr().out)["trial"]
    assert trial["usable"] is False and "nowhere-tool: not found" in trial["steps"][0]["result"]


@pytest.mark.long
def test_tests_that_fail_before_any_task_are_no_obstacle(user_repo: UserRepo, capsys: Capture) -> None:
    user_repo.commit({**TESTS, "test_old.py": "def test_old():\n    assert False\n"})
    assert types(user_repo, "init", "--try") == 0
    assert "3 tests ran, 1 failed: they fail before any task, so no task is blamed for them" in " ".join(
        capsys.readouterr().out.split()
    )


@pytest.mark.slow
def test_a_test_file_that_cannot_be_loaded_is_announced_before_the_first_task(
    user_repo: UserRepo, capsys: Capture
) -> None:
    user_repo.commit({**TESTS, "test_old.py": "import nowhere\n\n\ndef test_old(): ...\n"})
    assert types(user_repo, "init", "--try") == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "3 tests ran, 1 failed before any task, and the tests of test_old could not be loaded" in printed
    assert "so approvals wait for a person" in printed and "no task is blamed" not in printed


@pytest.mark.long
def test_a_linter_that_fails_before_any_task_is_not_marked_as_good(user_repo: UserRepo, capsys: Capture) -> None:
    user_repo.commit({"burnish.yaml": "checks: {test: 'true', lint: 'echo wrong; exit 1'}\n"})
    user_repo.trust()
    assert types(user_repo, "init", "--try") == 0
    printed = capsys.readouterr().out
    assert "! lint  fails with exit code 1 before any task: wrong" in printed and "✓ test  passes" in printed


def test_a_test_command_that_fails_and_reports_no_test_does_not_work(user_repo: UserRepo, capsys: Capture) -> None:
    user_repo.commit({"Makefile": "test:\n\t@echo 'error: cannot resolve the plugin'; exit 1\n"})
    assert types(user_repo, "init", "--try") == 3
    out = " ".join(capsys.readouterr().out.split())
    assert "✗ test fails with exit code 2 before any task: error: cannot resolve the plugin" in out
    assert "No test ran or was reported" in out and "It works" not in out


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize(
    ("test", "result"),
    [
        ("import nowhere\n\n\ndef test_a(): ...\n", "✗ test all 2 tests failed: "),
        ("def no_test(): ...\n", "✗ test ran, and found no tests"),
    ],
)
def test_tests_of_which_none_can_pass_or_none_is_found_are_not_called_usable(
    user_repo: UserRepo, capsys: Capture, test: str, result: str
) -> None:
    user_repo.commit({"test_a.py": test, "test_b.py": test, "conftest.py": ""})
    assert types(user_repo, "init", "--try") == 3
    out = " ".join(capsys.readouterr().out.split())
    assert result in out and "Correct checks.test or workspace.setup" in out and "It works" not in out


@pytest.mark.representatives(1)
@pytest.mark.parametrize("options", [[], ["--no-try"], ["--json"], ["--dry-run"]])
def test_without_a_terminal_nothing_is_asked_and_nothing_is_run(
    user_repo: UserRepo, capsys: Capture, tmp_path: Path, options: list[str]
) -> None:
    user_repo.commit({"Makefile": f"test:\n\ttouch {tmp_path}/ran\n"})
    assert types(user_repo, "init", *options) == 0
    out, err = capsys.readouterr()
    assert "Run set-up" not in out + err and not (tmp_path / "ran").exists()


def test_a_dry_run_cannot_be_tried(user_repo: UserRepo, capsys: Capture) -> None:
    assert types(user_repo, "init", "--dry-run", "--try") == 2
    assert not (user_repo.path / "burnish.yaml").exists()


def test_a_checkout_with_settings_of_its_own_must_be_trusted_first(
    user_repo: UserRepo, tmp_path: Path, capsys: Capture
) -> None:
    user_repo.commit({"burnish.yaml": f"checks: {{test: 'touch {tmp_path}/ran'}}\n"})
    with pytest.raises(Untrusted):
        try_out(user_repo.path, tell=lambda text: None)
    assert types(user_repo, "init", "--try") == 4
    assert "burnish" in capsys.readouterr().err and not (tmp_path / "ran").exists()


def test_it_runs_in_the_sandbox(user_repo: UserRepo, hermetic: Path, capsys: Capture) -> None:
    needs_bubblewrap()
    (hermetic / "private").write_text("x")
    user_repo.commit({"burnish.yaml": "checks: {test: 'test ! -e ~/private', lint: null}\n"})
    user_repo.trust()
    assert types(user_repo, "init", "--try") == 0
    assert "✓ test  passes" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize(("keys", "runs"), [("y\n", True), ("\n", True), ("n\n", False), ("\x04", False)])
def test_on_a_terminal_it_asks_and_a_no_runs_nothing(tmp_path: Path, keys: str, runs: bool) -> None:
    lab = Lab.make(tmp_path, extra=f"checks: {{test: 'touch {tmp_path}/ran', lint: null}}\n")
    with terminal(lab, "init") as screen:
        screen.answer(keys, after="[Y/n] ")
        assert screen.ended() == 0
        assert "Run set-up and tests once now?" in screen.plain
        assert ("The checks work." in screen.plain) is runs
    assert (tmp_path / "ran").exists() is runs


@pytest.mark.long
def test_doctor_tells_the_last_result_of_the_set_up(user_repo: UserRepo, capsys: Capture) -> None:
    fails = "echo 'error: no such package x' && exit 2"
    user_repo.commit({**TESTS, "burnish.yaml": f'workspace: {{setup: "{fails}"}}\n'})
    user_repo.trust()
    assert types(user_repo, "init", "--try") == 3
    assert _doctor_sign(user_repo, capsys, "set-up", code=1)["state"] == "missing"
    sign = _doctor_sign(user_repo, capsys, "set-up", code=1)
    assert "did not work on 2" in sign["what"] and "exit code 2: error: no such package x" in sign["what"]
    user_repo.commit({"README": "another commit\n"})
    assert _doctor_sign(user_repo, capsys, "set-up", code=None)["state"] == "weak"
    user_repo.commit({"burnish.yaml": "workspace: {setup: 'true'}\n"})
    user_repo.trust()
    assert _doctor_sign(user_repo, capsys, "set-up", code=None)["state"] == "ok"


@pytest.mark.long
def test_doctor_tells_that_a_test_command_did_not_work(user_repo: UserRepo, capsys: Capture) -> None:
    user_repo.commit({"Makefile": "test:\n\t@test -e works\n"})
    assert types(user_repo, "init", "--try") == 3
    assert "did not work" in _doctor_sign(user_repo, capsys, "test", code=1)["what"]


@pytest.mark.long
def test_what_failed_and_works_now_is_ok_for_doctor(user_repo: UserRepo, tmp_path: Path, capsys: Capture) -> None:
    mirror = tmp_path / "mirror"
    user_repo.commit({**TESTS, "burnish.yaml": f"workspace: {{setup: 'test -e {mirror}'}}\nsandbox: {{mode: off}}\n"})
    user_repo.trust()
    assert types(user_repo, "init", "--try") == 3
    assert _doctor_sign(user_repo, capsys, "set-up", code=1)["state"] == "missing"
    mirror.touch()
    assert types(user_repo, "init", "--try") == 0
    assert _doctor_sign(user_repo, capsys, "set-up", code=None)["state"] == "ok"


def _doctor_sign(repo: UserRepo, capsys: Capture, name: str, *, code: int | None) -> dict[str, str]:
    capsys.readouterr()
    assert types(repo, "doctor", "--json") == code or code is None
    signs: list[dict[str, str]] = json.loads(capsys.readouterr().out)
    return next(sign for sign in signs if sign["name"] == name)


def test_variables_of_isolation_are_filled_as_in_a_run(user_repo: UserRepo, capsys: Capture) -> None:
    check = 'test "$DB" = db_try_try_0'
    user_repo.commit(
        {
            "burnish.yaml": f"isolation: {{env: {{DB: 'db_{{task}}_{{agent}}_{{cycle}}'}}}}\n"
            f"checks: {{test: '{check}', build: '{check}', lint: null}}\n"
        }
    )
    user_repo.trust()
    assert types(user_repo, "init", "--try") == 0
    assert "✓ test  passes" in capsys.readouterr().out


def test_tests_that_pass_below_a_command_that_fails_are_not_told_as_a_success(
    user_repo: UserRepo, capsys: Capture
) -> None:
    user_repo.commit({**TESTS, "burnish.yaml": "checks: {test: 'python3 -m pytest -q; exit 3', lint: off}\n"})
    user_repo.trust()
    types(user_repo, "init", "--try")
    out = " ".join(capsys.readouterr().out.split())
    assert "2 tests ran, none failed, and the command fails with exit code 3 before any task" in out
