"""burnish init, as it is typed and shown."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from burnish.cli.init import report
from burnish.cli.main import main
from burnish.cli.output import width
from burnish.features.init.init import initiate
from testing.layouts import MONO
from testing.userrepo import UserRepo

Capture = pytest.CaptureFixture[str]


def test_it_says_what_it_decided_why_and_what_to_type_next(user_repo: UserRepo, capsys: Capture) -> None:
    user_repo.commit({"tests/conftest.py": ""})
    assert main(["-C", str(user_repo.path), "init"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Python at the root" in out and "conftest.py" in out
    assert "Wrote burnish.yaml." in out and "burnish add" in out
    assert main(["-C", str(user_repo.path), "init"]) == 0
    assert "match what was found" in capsys.readouterr().out


def test_a_dry_run_shows_the_file(user_repo: UserRepo, capsys: Capture) -> None:
    assert main(["-C", str(user_repo.path), "init", "--dry-run"]) == 0
    out, err = capsys.readouterr()
    assert "Would write burnish.yaml." in out and "\nagent: auto " in out
    assert "note: No test command found." in err


def test_json_has_it_all(user_repo: UserRepo, capsys: Capture) -> None:
    user_repo.commit({**MONO["front and back"][0], "burnish.yaml": "checks: {test: make}\n"})
    assert main(["-C", str(user_repo.path), "init", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["files"] == [{"path": str(user_repo.path / "burnish.yaml"), "state": "kept"}]
    assert said["differences"][0]["key"] == "checks.test"
    assert {"folder": "web", "language": "JavaScript"} in said["projects"]
    assert {one["key"] for one in said["settings"]} >= {"agent", "checks.test", "checks.extra.api-test"}


@pytest.mark.parametrize("room", [60, 80, 120])
def test_the_report_keeps_to_its_room(room: int, user_repo: UserRepo) -> None:
    user_repo.commit(MONO["front and back"][0])
    outcome = initiate(user_repo.path, slash=True, force=False, dry_run=False)
    lines = report(outcome, room=room, colour=False)
    assert max(width(line) for line in lines if str(user_repo.path) not in line) <= room


def test_nothing_is_left_to_decide_in_an_empty_repository_of_a_user_with_settings(
    tmp_path: Path, hermetic: Path, capsys: Capture
) -> None:
    own = hermetic / ".config" / "burnish" / "config.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("agent: claude\nreview: {agents: [static]}\n")
    subprocess.run(["git", "init", "-q", str(tmp_path / "new")], check=True)
    for argv in (["init", "--dry-run"], ["init"]):
        main(["-C", str(tmp_path / "new"), *argv])
        assert "bug in burnish" not in capsys.readouterr().err
