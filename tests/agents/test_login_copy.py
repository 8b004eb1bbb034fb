"""The copy of a login: made from the user's files, complete, without what must not be copied, and gone afterwards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from burnish.agents import confined_login as module
from burnish.agents.confined_login import CopyPlan, login_copy


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    files = {
        ".claude/CLAUDE.md": "Be strict.\n",
        ".claude/rules/a.md": "A rule.\n",
        ".claude/settings.json": "{}",
        ".claude/projects/x/session.jsonl": "private",
        ".claude/.credentials.json": json.dumps({"claudeAiOauth": {"accessToken": "at", "refreshToken": "SECRET-RT"}}),
        ".claude.json": "{}",
        "elsewhere/skill/SKILL.md": "A skill.\n",
    }
    for name, text in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    (home / ".claude/skills").symlink_to(home / "elsewhere")
    (home / ".claude/loop").symlink_to(home / ".claude")
    (home / ".claude/nowhere").symlink_to(home / "gone")
    os.mkfifo(home / ".claude/pipe")
    return home


def plan(home: Path, **changes: object) -> CopyPlan:
    values = {
        "paths": (home / ".claude", home / ".claude.json"),
        "skipped": (str(home / ".claude/projects"),),
        "token_files": (home / ".claude/.credentials.json",),
    }
    return CopyPlan(home, **{**values, **changes})  # type: ignore[arg-type]


def files_of(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_copy_has_the_users_files_and_no_more(home: Path, tmp_path: Path) -> None:
    before = files_of(home)
    with login_copy(tmp_path / "logins", plan(home)) as copy:
        found = files_of(copy.home)
        assert found == {
            ".claude.json": "{}",
            ".claude/.credentials.json": '{"claudeAiOauth": {"accessToken": "at", "refreshToken": ""}}',
            ".claude/CLAUDE.md": "Be strict.\n",
            ".claude/rules/a.md": "A rule.\n",
            ".claude/settings.json": "{}",
            ".claude/skills/skill/SKILL.md": "A skill.\n",
        }
        assert copy.shared == []
        modes = {path.stat().st_mode & 0o077 for path in (copy.folder, *copy.folder.rglob("*"))}
        assert modes == {0}
        (copy.home / ".claude/CLAUDE.md").write_text("Always approve.\n")
    assert os.listdir(tmp_path / "logins") == []  # noqa: PTH208
    assert files_of(home) == before


def test_a_token_file_that_cannot_be_parsed_is_left_out(home: Path, tmp_path: Path) -> None:
    (home / ".claude/.credentials.json").write_text("encrypted: refreshToken SECRET-RT")
    with login_copy(tmp_path / "logins", plan(home)) as copy:
        assert not (copy.home / ".claude/.credentials.json").exists()


def test_refresh_tokens_are_taken_out_of_every_json_file(home: Path, tmp_path: Path) -> None:
    (home / ".claude/other.json").write_text(
        json.dumps({"deep": [{"refresh_token": "SECRET-RT", "access_token": "a"}]})
    )
    with login_copy(tmp_path / "logins", plan(home, token_files=())) as copy:
        assert "SECRET-RT" not in "".join(files_of(copy.home).values())


def test_what_is_large_is_shown_read_only_instead(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_FILES", 20)
    large = home / ".claude/plugins/market/cache"
    for number in range(30):
        (large / f"{number}").mkdir(parents=True)
        (large / f"{number}" / "file").write_text("x")
    (home / ".claude/plugins/config.json").write_text("{}")
    with login_copy(tmp_path / "logins", plan(home)) as copy:
        (shared,) = copy.shared
        assert (shared.source, shared.target, shared.writable) == (large, large, False)
        assert (copy.home / ".claude/plugins/config.json").exists()
        assert not any((copy.home / ".claude/plugins/market/cache").glob("*"))


def test_a_login_outside_of_the_home_is_copied_to_the_same_place(home: Path, tmp_path: Path) -> None:
    apart = tmp_path / "apart"
    apart.mkdir()
    (apart / "auth.json").write_text('{"tokens": {"refresh_token": "SECRET-RT"}}')
    with login_copy(tmp_path / "logins", CopyPlan(home, paths=(apart,), token_files=(apart / "auth.json",))) as copy:
        (shared,) = copy.shared
        assert shared.target == apart and shared.writable and shared.source.is_relative_to(copy.folder)
        assert (shared.source / "auth.json").read_text() == '{"tokens": {"refresh_token": ""}}'


def test_sessions_come_from_the_folder_of_the_task(home: Path, tmp_path: Path) -> None:
    sessions = {home / ".claude/projects": tmp_path / "task" / "claude"}
    with login_copy(tmp_path / "logins", plan(home, sessions=sessions)) as copy:
        (shared,) = copy.shared
        assert (shared.source, shared.target) == (tmp_path / "task" / "claude", home / ".claude/projects")
    assert (tmp_path / "task" / "claude").stat().st_mode & 0o777 == 0o700


def test_what_an_agent_leaves_in_its_copy_is_deleted_and_links_are_not_followed(home: Path, tmp_path: Path) -> None:
    with login_copy(tmp_path / "logins", plan(home)) as copy:
        (copy.home / "trap").symlink_to(home / "elsewhere")
        (copy.home / "shut" / "deep").mkdir(parents=True)
        (copy.home / "shut").chmod(0)
    assert not copy.folder.exists()
    assert (home / "elsewhere/skill/SKILL.md").exists()


def test_copies_of_a_killed_process_are_removed_by_the_next_one(home: Path, tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from burnish.agents.confined_login import *\n"
        f"home = Path({str(home)!r})\n"
        f"with login_copy(Path({str(tmp_path / 'logins')!r}), CopyPlan(home, (home / '.claude',))):\n"
        "    print('ready', flush=True); time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    try:
        assert process.stdout and process.stdout.readline() == b"ready\n"
        with login_copy(tmp_path / "logins", plan(home)):
            assert len(list((tmp_path / "logins").glob("*.lock"))) == 2  # the other one is in use
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert process.stdout
        process.stdout.close()
    assert len(list((tmp_path / "logins").glob("*/home/.claude/CLAUDE.md"))) == 1
    with login_copy(tmp_path / "logins", plan(home)) as copy:
        assert [path.name for path in (tmp_path / "logins").glob("*.lock")] == [f"{copy.folder.name}.lock"]
