"""A token that would not last is renewed once, by the program itself, before the call; else a person is warned."""

from __future__ import annotations

import json
import os
import stat
import sys
import threading
import time
from pathlib import Path

import pytest

from burnish.agents.base import Login, TokenFile
from burnish.agents.login_refresh import LoginCheck
from burnish.agents.registry import AGENTS

HOUR = 3600.0
# Counts how often it is started and where, then writes a token that lasts.
PROGRAM = """
import json, os, pathlib, sys, time
home = pathlib.Path(os.environ["HOME"])
with (home / "starts").open("a") as file:
    file.write(f"{os.getcwd()} {' '.join(sys.argv[1:])}\\n")
if sys.argv[1:] == ["serve"]:
    for line in sys.stdin:
        if "renew" in line:
            break
time.sleep(0.2)
if not (home / "offline").exists():
    (home / ".it" / "new").write_text(json.dumps({"expires": time.time() + 8 * 3600}))
    (home / ".it" / "new").rename(home / ".it" / "auth.json")
print('{"done": 1}', flush=True)
if sys.argv[1:] == ["serve"]:
    sys.stdin.read()
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "bin" / "it"
    path.parent.mkdir()
    path.write_text(f"#!{sys.executable} -IS\n{PROGRAM}")
    path.chmod(0o755)
    return str(path)


def check(tmp_path: Path, left: float, **changes: object) -> LoginCheck:
    home = tmp_path / "home"
    (home / ".it").mkdir(parents=True, exist_ok=True)
    (home / ".it" / "auth.json").write_text(json.dumps({"expires": time.time() + left}))
    facts = {"refresh": ("status",), "advice": "Set IT_KEY.", "key_variables": ("IT_KEY",)}
    login = Login((".it",), token_files=(TokenFile(".it/auth.json", ("expires",)),), **{**facts, **changes})  # type: ignore[arg-type]
    return LoginCheck("it", login, home, {"HOME": str(home), "PATH": os.defpath})


def starts(tmp_path: Path) -> list[str]:
    path = tmp_path / "home" / "starts"
    return path.read_text().splitlines() if path.exists() else []


def test_a_token_that_lasts_is_left_alone(tmp_path: Path, program: str) -> None:
    it = check(tmp_path, 2 * HOUR)
    it.renew(program, HOUR, folder=tmp_path / "locks")
    assert starts(tmp_path) == [] and it.warning(HOUR) == ""


@pytest.mark.parametrize("left", [-HOUR, 0.5 * HOUR])
def test_a_token_that_would_expire_is_renewed_away_from_any_repository(
    tmp_path: Path, program: str, left: float
) -> None:
    it = check(tmp_path, left)
    it.renew(program, HOUR, folder=tmp_path / "locks")
    assert starts(tmp_path) == [f"{tmp_path / 'locks'} status"]
    assert it.lasts(HOUR) and it.warning(HOUR) == ""


def test_calls_at_the_same_time_renew_it_once(tmp_path: Path, program: str) -> None:
    it = check(tmp_path, -HOUR)
    folder = {"folder": tmp_path / "locks"}
    calls = [threading.Thread(target=it.renew, args=(program, HOUR), kwargs=folder) for _ in range(8)]
    for call in calls:
        call.start()
    for call in calls:
        call.join(20)
    assert len(starts(tmp_path)) == 1 and it.lasts(HOUR)


def test_a_program_that_waits_for_its_stdin_is_ended_after_its_answer(tmp_path: Path, program: str) -> None:
    it = check(tmp_path, -HOUR, refresh=("serve",), refresh_input="renew\n", refresh_until='"done"')
    begun = time.monotonic()
    it.renew(program, HOUR, folder=tmp_path / "locks")
    assert it.lasts(HOUR) and time.monotonic() - begun < 10


def test_a_login_that_cannot_be_renewed_is_a_warning_that_says_what_to_do(tmp_path: Path, program: str) -> None:
    it = check(tmp_path, 0.5 * HOUR)
    (it.home / "offline").touch()
    it.renew(program, HOUR, folder=tmp_path / "locks")
    warning = it.warning(HOUR)
    assert warning.startswith("it's login expires at ") and "60 minutes" in warning and "Set IT_KEY." in warning
    assert check(tmp_path, -HOUR).warning(HOUR).startswith("it's login expired at ")


def test_without_a_way_to_renew_nothing_is_started(tmp_path: Path, program: str) -> None:
    it = check(tmp_path, -HOUR, refresh=())
    it.renew(program, HOUR, folder=tmp_path / "locks")
    assert starts(tmp_path) == [] and it.warning(HOUR)


def test_a_key_in_the_environment_is_used_instead_of_the_login(tmp_path: Path, program: str) -> None:
    it = check(tmp_path, -HOUR)
    keyed = LoginCheck("it", it.login, it.home, {**it.env, "IT_KEY": "k"})
    keyed.renew(program, HOUR, folder=tmp_path / "locks")
    assert starts(tmp_path) == [] and keyed.warning(HOUR) == ""


def test_a_program_that_is_not_there_is_only_a_warning(tmp_path: Path) -> None:
    it = check(tmp_path, -HOUR)
    it.renew(str(tmp_path / "gone"), HOUR, folder=tmp_path / "locks")
    assert it.warning(HOUR)
    assert stat.S_IMODE((tmp_path / "locks").stat().st_mode) == 0o700


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_these_programs_can_renew_their_token_without_asking_a_model(name: str) -> None:
    assert AGENTS[name].login.refresh and AGENTS[name].login.advice
