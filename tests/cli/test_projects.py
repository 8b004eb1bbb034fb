"""burnish projects, burnish open"""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from burnish.cli.main import main
from burnish.cli.output import width
from burnish.cli.projects import ago, table
from burnish.core.event import Event
from burnish.features.projects.projects import KnownProject
from burnish.proc.identity import hold
from burnish.store import Store
from testing.userrepo import UserRepo
from tests.cli.conftest import Person

Capture = pytest.CaptureFixture[str]
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def known(capsys: Capture) -> list[dict[str, object]]:
    assert main(["projects", "--json"]) == 0
    return list(json.loads(capsys.readouterr().out)["projects"])


def test_nothing_is_known_at_first_and_looking_leaves_nothing(hermetic: Path, capsys: Capture) -> None:
    assert known(capsys) == []
    assert main(["projects"]) == 0
    assert "burnish init" in capsys.readouterr().out
    assert not (hermetic / "burnish").exists()


def test_a_project_is_listed_with_its_tasks_and_forgotten_with_its_events_kept(
    user_repo: UserRepo, hermetic: Path, capsys: Capture
) -> None:
    at = ["-C", str(user_repo.path)]
    assert main([*at, "add", "One"]) == main([*at, "add", "Two"]) == 0
    capsys.readouterr()
    (one,) = known(capsys)
    assert (one["name"], one["tasks"], one["root"], one["there"]) == ("repo", 2, str(user_repo.path), True)
    assert main(["projects"]) == 0
    assert "repo  2 tasks  just now" in capsys.readouterr().out
    assert main(["projects", "forget", str(user_repo.path), "--json"]) == 0
    capsys.readouterr()
    assert known(capsys) == []
    with Store.open(hermetic / "burnish") as store:
        assert len(store.events(str(one["key"]))) == 2
    assert main([*at, "add", "Three"]) == 0
    assert "task 3" in capsys.readouterr().out


def test_a_checkout_that_is_gone_is_said_to_be(user_repo: UserRepo, capsys: Capture) -> None:
    assert main(["-C", str(user_repo.path), "init"]) == 0
    shutil.rmtree(user_repo.path)
    capsys.readouterr()
    assert known(capsys)[0]["there"] is False
    assert main(["projects"]) == 0
    said = capsys.readouterr()
    assert "(missing)" in said.out and "`burnish status` in its new folder" in said.err


def test_two_of_one_name_are_told_apart(tmp_path: Path, capsys: Capture) -> None:
    for folder in ("a", "b"):
        repo = UserRepo.make(tmp_path / folder / "app")
        assert main(["-C", str(repo.path), "init"]) == 0
    capsys.readouterr()
    keys = [str(one["key"]) for one in known(capsys)]
    assert main(["projects", "forget", "app"]) == 2
    said = capsys.readouterr().err
    assert all(key in said for key in keys)
    assert main(["projects", "forget", keys[0]]) == 0
    capsys.readouterr()
    assert [one["key"] for one in known(capsys)] == keys[1:]


def test_a_project_at_work_is_not_forgotten(user_repo: UserRepo, hermetic: Path, capsys: Capture) -> None:
    assert main(["-C", str(user_repo.path), "add", "One"]) == 0
    home = hermetic / "burnish"
    with Store.open(home) as store, hold(home / "locks") as lock:
        key = store.projects()[0].key
        assert store.claim(key, lock.runner.uuid, ids=None, is_dead=lambda _: False)
        store.record(key, 1, [Event("task.status", {"from": "backlog", "to": "in_progress"})])
        assert main(["projects", "forget", "repo"]) == 4
        assert "Task 1 of repo is running" in capsys.readouterr().err
    assert main(["projects", "forget", "repo"]) == 0  # its runner is gone


@pytest.mark.parametrize(
    "argv",
    [["projects", "forget"], ["projects", "forget", "nobody"], ["projects", "remove", "x"]],
)
def test_wrong_usage_is_two_lines_and_exit_code_2(argv: list[str], capsys: Capture) -> None:
    assert main(argv) == 2
    assert len(capsys.readouterr().err.splitlines()) == 2


@pytest.mark.parametrize(
    ("moment", "words"),
    [
        ("2026-06-01T11:59:30.000Z", "just now"),
        ("2026-06-01T11:58:00.000Z", "2 minutes ago"),
        ("2026-06-01T10:59:00.000Z", "1 hour ago"),
        ("2026-05-30T11:00:00.000Z", "2 days ago"),
        ("2025-05-30T11:00:00.000Z", "2025-05-30"),
        ("nonsense", "nonsense"),
    ],
)
def test_the_last_activity_in_words(moment: str, words: str) -> None:
    assert ago(moment, NOW) == words


@pytest.mark.parametrize("room", [60, 80, 200])
def test_the_list_keeps_to_its_room(room: int) -> None:
    one = KnownProject("k", "project-" * 6, Path("/very/long/path" * 12), True, 1234, 5, "2026-05-30T11:00:00.000Z")
    lines = list(table([one, one], room=room, colour=False, now=NOW))
    assert max(map(width, lines)) <= room and lines[0].rstrip().endswith("path")


def test_open_starts_the_editor_on_the_workspace(
    person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    person.types("add", "Task")
    person.types("open", "1", code=2)
    assert "no workspace yet" in person.err
    person.types("run", "-q")
    where = person.asks("path", "1")["path"]
    assert person.types("open", "1") == f"cd {where}\n"
    (tmp_path / "ed").write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/opened\nexit $ED_CODE\n')
    (tmp_path / "ed").chmod(0o755)
    monkeypatch.setenv("EDITOR", "false")
    monkeypatch.setenv("VISUAL", f"{tmp_path}/ed -x")
    assert person.types("open", "1", "--print") == f"{tmp_path}/ed -x {where}\n"
    assert person.asks("open", "1") == {"id": "1", "path": where, "editor": [f"{tmp_path}/ed", "-x"]}
    assert not (tmp_path / "opened").exists()
    monkeypatch.setenv("ED_CODE", "0")
    person.types("open", "1")
    assert (tmp_path / "opened").read_text() == f"-x {where}\n"
    monkeypatch.setenv("ED_CODE", "7")
    person.types("open", "1", code=3)
    monkeypatch.setenv("VISUAL", "no-such-editor")
    person.types("open", "1", code=2)
    assert "$VISUAL" in person.err


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("name", ["VISUAL", "EDITOR"])
def test_open_starts_no_editor_of_an_untrusted_checkout(
    person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    person.types("add", "Task")
    person.types("run", "-q")
    editor = person.repo.path / "ed"
    editor.write_text(f"#!/bin/sh\ntouch {tmp_path}/opened\n")
    editor.chmod(0o755)
    monkeypatch.setenv(name, str(editor))
    person.types("untrust")

    person.types("open", "1", code=2)

    assert "not trusted" in person.err and not (tmp_path / "opened").exists()
    person.types("trust")
    person.types("open", "1")
    assert (tmp_path / "opened").exists()


def test_only_what_a_living_runner_holds_is_called_running(
    user_repo: UserRepo, hermetic: Path, capsys: Capture
) -> None:
    assert main(["-C", str(user_repo.path), "add", "One"]) == 0
    home = hermetic / "burnish"
    with Store.open(home) as store:
        key = store.projects()[0].key
        store.record(key, 1, [Event("task.status", {"from": "backlog", "to": "in_progress"})])
        capsys.readouterr()
        assert known(capsys)[0]["running"] == 0
        with hold(home / "locks") as lock:
            assert store.claim(key, lock.runner.uuid, ids=None, is_dead=lambda _: False)
            assert known(capsys)[0]["running"] == 1
        assert known(capsys)[0]["running"] == 0
