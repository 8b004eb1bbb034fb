"""What adapters state about logins is complete and agrees with itself."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

import pytest

from burnish.agents.base import Login
from burnish.agents.registry import AGENTS
from burnish.config.kinds import CLI_KINDS

each = pytest.mark.parametrize("name", CLI_KINDS)


def within(path: str, places: tuple[str, ...]) -> bool:
    return any(PurePosixPath(path).is_relative_to(place) for place in places)


@each
def test_the_entry_is_complete(name: str) -> None:
    agent, login = AGENTS[name], AGENTS[name].login
    assert login.paths and login.advice
    # agy keeps its tokens in a keyring, and has no variable with a key
    assert bool(login.token_files) == bool(login.key_variables) == (name != "agy")
    assert set(login.key_variables) <= set(agent.keys)
    assert {variable for variable, _ in login.folder_variables} <= set(agent.keys)
    assert bool(login.sessions) == (name not in ("aider", "amp", "cline"))


@each
def test_every_path_lies_in_a_place_that_is_copied(name: str) -> None:
    login = AGENTS[name].login
    paths = [*login.skipped, *(file.path for file in login.token_files), *login.sessions]
    paths += [path for _, path in login.session_variables]
    assert [path for path in paths if not within(path, login.paths)] == []
    assert not any(path.startswith(("/", "~")) for path in (*paths, *login.paths))


@each
def test_the_users_own_sessions_are_not_copied_and_token_files_are(name: str) -> None:
    login = AGENTS[name].login
    names = [folder for folder in login.sessions if not folder.endswith("/burnish")]
    assert [path for path in names if not any(fnmatchcase(path, pattern) for pattern in login.skipped)] == []
    files = [file.path for file in login.token_files]
    assert [path for path in files if any(fnmatchcase(path, pattern) for pattern in login.skipped)] == []


def test_programs_belong_to_one_login_each() -> None:
    programs = [program for agent in AGENTS.values() for program in agent.login.programs]
    assert len(programs) == len(set(programs))


@pytest.mark.parametrize(
    ("path", "env", "place"),
    [
        (".codex/auth.json", {}, "/home/u/.codex/auth.json"),
        (".codex/auth.json", {"CODEX_HOME": "/data/codex"}, "/data/codex/auth.json"),
        (".codex", {"CODEX_HOME": "/data/codex"}, "/data/codex"),
        (".codex", {"CODEX_HOME": "relative"}, "/home/u/.codex"),
        (".codex.toml", {"CODEX_HOME": "/data/codex"}, "/home/u/.codex.toml"),
        (".config/it/a", {"XDG_CONFIG_HOME": "/data/config"}, "/data/config/it/a"),
        (".local/share/it", {"XDG_DATA_HOME": "/data/share"}, "/data/share/it"),
    ],
)
def test_variables_of_the_program_move_its_folders(path: str, env: dict[str, str], place: str) -> None:
    login = Login(folder_variables=(("CODEX_HOME", ".codex"),))
    assert login.located(path, Path("/home/u"), env) == Path(place)


def test_a_variable_can_move_the_home_itself() -> None:
    env = {"GEMINI_CLI_HOME": "/data/gemini"}
    place = AGENTS["gemini"].login.located(".gemini/oauth_creds.json", Path("/home/u"), env)
    assert place == Path("/data/gemini/.gemini/oauth_creds.json")
