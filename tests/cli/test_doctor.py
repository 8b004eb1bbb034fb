"""burnish doctor, as it is shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from burnish.cli.doctor import chart
from burnish.cli.main import main
from burnish.cli.output import width
from burnish.features.doctor.diagnostic import DiagnosticGroup
from testing.userrepo import UserRepo

Capture = pytest.CaptureFixture[str]


def test_the_exit_code_says_whether_tasks_can_run(user_repo: UserRepo, capsys: Capture) -> None:
    assert main(["-C", str(user_repo.path), "doctor"]) == 1
    assert "No agent program was found on PATH: looked for claude, codex" in " ".join(capsys.readouterr().out.split())
    user_repo.commit({"burnish.yaml": "agent: robot\nagents: {robot: {kind: command, argv: [sh]}}\n"})
    user_repo.trust()
    assert main(["-C", str(user_repo.path), "doctor"]) == 0
    assert "Tasks can run" in capsys.readouterr().out
    user_repo.git("branch", "burnish")
    assert main(["-C", str(user_repo.path), "doctor"]) == 1
    assert "Missing: branch." in capsys.readouterr().out


def test_json_is_a_list_with_a_remedy_for_all_that_is_not_ok(tmp_path: Path, capsys: Capture) -> None:
    assert main(["-C", str(tmp_path), "doctor", "--json"]) == 0
    signs = json.loads(capsys.readouterr().out)
    assert {"name", "state", "what", "remedy"} < set(signs[0])
    assert {"git", "python", "home", "database"} <= {sign["name"] for sign in signs}
    assert all(sign["remedy"] for sign in signs if sign["state"] != "ok")


def test_outside_a_repository_it_does_not_claim_that_tasks_can_be_run(tmp_path: Path, capsys: Capture) -> None:
    assert main(["-C", str(tmp_path), "doctor"]) == 0
    printed = capsys.readouterr().out
    assert "is not inside a git repository" in " ".join(printed.split())
    assert "Tasks can run" not in printed
    assert printed.splitlines()[-1] == "Only the machine was checked: run `burnish doctor` again in a repository."


@pytest.mark.parametrize("room", [60, 80, 200])
def test_the_chart_keeps_to_its_room(room: int) -> None:
    group = DiagnosticGroup("machine")
    signs = [group.ok("git", "git 2.39"), group.weak("sandbox", "words " * 30, "do this and then " * 12)]
    lines = chart(signs, room=room, colour=False)
    assert max(map(width, lines)) <= room
    assert lines[0] == "machine" and lines[1].split() == ["git", "ok", "git", "2.39"]
    assert lines[-1] == "Tasks can run; 1 warning."


def test_all_well_is_said_in_few_words() -> None:
    assert chart([DiagnosticGroup("machine").ok("git", "git 2.39")], room=80, colour=False)[-1] == "No problems found."
