"""burnish config"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from burnish.cli.config import table, written
from burnish.cli.main import main
from burnish.cli.output import width
from burnish.config.sources import parse_yaml
from burnish.features.settings.provenance import values
from testing.userrepo import UserRepo
from tests.cli.conftest import Person

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def repo(user_repo: UserRepo) -> UserRepo:
    user_repo.write({"burnish.yaml": "# mine\nreview:\n  max_cycles: 5\n"})
    user_repo.trust()
    return user_repo


def asks(repo: UserRepo, capsys: Capture, *argv: str, code: int = 0) -> str:
    assert main(["-C", str(repo.path), "config", *argv]) == code
    out, err = capsys.readouterr()
    return out if code == 0 else err


def test_each_value_comes_with_its_origin(repo: UserRepo, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BURNISH__APPROVAL", "required")
    said = {one["key"]: one for one in json.loads(asks(repo, capsys, "show", "--json"))["settings"]}
    assert said["review.max_cycles"] == {"key": "review.max_cycles", "value": 5, "origin": "burnish.yaml:3"}
    assert said["approval"]["value"] == "required" and "BURNISH__APPROVAL" in said["approval"]["origin"]
    assert said["agent"] == {"key": "agent", "value": "auto", "origin": "default"}


def test_one_key_or_a_section_can_be_asked_for(repo: UserRepo, capsys: Capture) -> None:
    assert asks(repo, capsys, "show", "review.max_cycles").split() == ["review.max_cycles", "5", "burnish.yaml:3"]
    lines = asks(repo, capsys, "show", "budget").splitlines()
    assert len(lines) == 6 and all(line.startswith("budget.") for line in lines)
    assert asks(repo, capsys, "show") == asks(repo, capsys)


@pytest.mark.parametrize(
    ("argv", "what", "hint"),
    [
        (["show", "review.max_cycle"], "review.max_cycle.", "review.max_cycles"),
        (["show", "quorum"], "quorum", "review.quorum"),
        (["show", "zzz"], "zzz", "lists them all"),
        (["review.max_cycles"], "review.max_cycles", "config show review.max_cycles"),
        (["path", "review"], "takes no key", "config show review"),
    ],
)
def test_what_does_not_exist_is_told_in_two_lines(
    argv: list[str], what: str, hint: str, repo: UserRepo, capsys: Capture
) -> None:
    first, second = asks(repo, capsys, *argv, code=2).splitlines()
    assert what in first and hint in second


def test_the_files_that_are_read_are_named(
    repo: UserRepo, hermetic: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BURNISH__SANDBOX__WRITE")
    own = hermetic / ".config" / "burnish" / "config.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("agent: claude\n")
    found = json.loads(asks(repo, capsys, "path", "--json"))["sources"]
    used = [one["path"] for one in found if one["used"]]
    assert used == [str(own), str(repo.path / "burnish.yaml")]
    assert str(own) in asks(repo, capsys, "path")


def test_outside_a_repository_the_users_own_are_shown(tmp_path: Path, capsys: Capture) -> None:
    assert main(["-C", str(tmp_path), "config", "show", "agent"]) == 0
    assert capsys.readouterr().out.split() == ["agent", "auto", "default"]
    assert main(["-C", str(tmp_path), "config", "path"]) == 0
    assert "burnish.yaml" not in capsys.readouterr().out


def test_the_reference_is_a_file_that_loads(repo: UserRepo, capsys: Capture) -> None:
    text = asks(repo, capsys, "reference")
    assert parse_yaml(text, "reference")[0]["review"]["max_cycles"] == 3
    assert json.loads(asks(repo, capsys, "reference", "--json"))["reference"].rstrip() == text.rstrip()


def test_wrong_settings_are_an_error_of_the_settings(repo: UserRepo, capsys: Capture) -> None:
    repo.write({"burnish.yaml": "reviw: {}\n"})
    assert "reviw" in asks(repo, capsys, "show", code=2)


@pytest.mark.parametrize("room", [60, 80, 200])
def test_the_table_keeps_to_its_room(room: int, repo: UserRepo) -> None:
    repo.write({"burnish.yaml": "checks:\n  test: " + "long " * 60 + "\ntask_types: {implement: {max_cycles: 9}}\n"})
    repo.trust()
    lines = list(table(values(repo.path, None), room=room, colour=False))
    assert max(map(width, lines)) <= room
    assert sum("burnish.yaml:" in line for line in lines) == 2


def test_values_are_written_as_in_the_file() -> None:
    assert [written(v) for v in ("auto", "", " x", None, True, 3, ["a"], {})] == [
        "auto", '""', '" x"', "null", "true", "3", '["a"]', "{}",
    ]  # fmt: skip


@pytest.mark.parametrize("trusted", [True, False])
def test_config_show_masks_secrets_in_settings(person: Person, monkeypatch: pytest.MonkeyPatch, trusted: bool) -> None:
    token, value = "ghp_" + "Ab3dEf6hIj9lMn2pQr5tUv8xYz1bCd4fGh7j", "q8Zr4Tn7Wx2Lk9VbQm"
    monkeypatch.setenv("DEPLOY_TOKEN", value)
    person.repo.commit({"burnish.yaml": f"checks: {{test: 'run --auth {token} --other {value} now'}}\n"}, "settings")
    person.types("trust" if trusted else "untrust")

    for argv in (["config", "show"], ["config", "show", "--json"], ["config", "show", "checks.test"]):
        text = person.types(*argv)
        assert token not in text and value not in text, argv
    assert "GitHub token, 40 characters not shown" in text
    assert " now" in text
