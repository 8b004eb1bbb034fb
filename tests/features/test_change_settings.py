"""One setting in the user's own file, changed from a terminal, the API or a page."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from burnish.config.editing import with_setting, without_setting
from burnish.config.settings import Config
from burnish.config.sources import parse_yaml
from burnish.errors import BadInput
from burnish.features.settings.change import is_page_key
from burnish.features.settings.provenance import without_password
from testing.at_hand import AtHand, at_hand
from testing.lab import Lab

OWN = "# mine\nreview:\n  max_cycles: 4  # enough\nbudget: {task_usd: 2}\n"


@pytest.fixture
def lab(tmp_path: Path, hermetic: object) -> Lab:
    made = Lab.make(tmp_path)
    made.user_settings(OWN)
    made.add("One task")
    return made


def own_file(lab: Lab) -> Path:
    return Path(lab.env["HOME"]) / ".config" / "burnish" / "config.yaml"


def value(lab: Lab, key: str) -> Any:
    (found,) = json.loads(lab.burnish("config", "show", key, "--json").out)["settings"]
    return found["value"]


def test_the_terminal_changes_one_value_and_leaves_the_rest(lab: Lab) -> None:
    before = own_file(lab).read_text()
    project_file = (lab.repo.path / "burnish.yaml").read_bytes()
    said = lab.burnish("config", "set", "review.max_cycles", "7")
    assert said.out.startswith("review.max_cycles: 7")
    assert own_file(lab).read_text() == before.replace("max_cycles: 4  # enough", "max_cycles: 7  # enough")
    lab.burnish("config", "set", "budget.session_usd", "9.5")
    assert value(lab, "budget.session_usd") == 9.5
    lab.burnish("config", "unset", "budget.session_usd")
    lab.burnish("config", "set", "review.max_cycles", "4")
    assert own_file(lab).read_text() == before
    assert (lab.repo.path / "burnish.yaml").read_bytes() == project_file


def test_a_value_for_this_project_is_written_under_projects(lab: Lab) -> None:
    lab.burnish("config", "set", "review.max_cycles", "2", "--project")
    assert parse_yaml(own_file(lab).read_text(), "x")[0]["projects"] == {
        str(lab.repo.path): {"review": {"max_cycles": 2}}
    }
    assert value(lab, "review.max_cycles") == 2
    lab.burnish("config", "unset", "review.max_cycles", "--project")
    assert value(lab, "review.max_cycles") == 4


@pytest.mark.parametrize(
    ("key", "text", "words"),
    [
        ("review.max_cycles", "many", "review.max_cycles"),
        ("review.max_cycle", "3", "Did you mean review.max_cycles?"),
        ("projects", "{}", "not the name of a setting"),
        ("review..x", "1", "not the name of a setting"),
        ("review.max_cycles", " ", "is empty"),
    ],
)
def test_a_wrong_value_is_refused_and_nothing_is_written(lab: Lab, key: str, text: str, words: str) -> None:
    before = own_file(lab).read_bytes()
    said = lab.burnish("config", "set", key, text, code=2)
    assert words in said.err
    assert own_file(lab).read_bytes() == before


def test_it_is_refused_inside_a_phase_and_through_a_link(lab: Lab, tmp_path: Path) -> None:
    before = own_file(lab).read_bytes()
    lab.apart("config", "set", "review.max_cycles", "7", code=4, BURNISH_TASK="1")
    assert own_file(lab).read_bytes() == before
    other = tmp_path / "elsewhere.yaml"
    own_file(lab).rename(other)
    own_file(lab).symlink_to(other)
    assert "is a link" in lab.burnish("config", "set", "review.max_cycles", "7", code=3).err
    assert other.read_bytes() == before


def page_request(server: AtHand, method: str, key: str, body: Any = None, *, without_key: bool = False) -> Any:
    _, headers = server.browser()
    if without_key:
        headers = {name: one for name, one in headers.items() if name != "X-Burnish-Key"}
    where = f"/api/v1/projects/{server.project}/config/{key}"
    return server.client.request(method, where, json=body, headers=headers)


def test_a_page_changes_plain_values_and_gets_the_old_one_to_restore(lab: Lab) -> None:
    with at_hand(lab) as server:
        done = page_request(server, "PUT", "review.max_cycles", {"text": "6", "scope": "user"})
        assert done.status_code == 200, done.text
        assert (done.json()["before"], done.json()["value"]) == ("4", 6)
        again = page_request(server, "PUT", "review.max_cycles", {"text": done.json()["before"]})
        assert again.json()["value"] == 4
        wrong = page_request(server, "PUT", "review.max_cycles", {"text": "many"})
        assert wrong.status_code == 400 and "review.max_cycles" in wrong.json()["title"]
        settings = {one["key"]: one for one in server.of_project("GET", "/config").json()["settings"]}
        assert settings["review.max_cycles"]["editable"] and settings["review.max_cycles"]["own"] == "4"
        assert not settings["checks.test"]["editable"]
        assert page_request(server, "DELETE", "review.max_cycles").json()["before"] == "4"


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("checks.test", "touch /tmp/pwned"),
        ("agents.claude.argv", "[sh, -c, id]"),
        ("agents.claude", "{kind: command, argv: [sh]}"),
        ("agents", "{x: {kind: command, argv: [sh]}}"),
        ("sandbox.mode", "off"),
        ("notify.urls", "[json://evil.example]"),
        ("workspace.setup", "id"),
        ("projects", "{}"),
        ("budget", "{task_usd: 1}"),
        ("budget.task_usd.", "1"),
        ("agents.claude.env.model", "1"),
    ],
)
def test_a_page_cannot_name_a_program_or_lift_the_sandbox(lab: Lab, key: str, text: str) -> None:
    before = own_file(lab).read_bytes()
    with at_hand(lab) as server:
        assert page_request(server, "PUT", key, {"text": text}).status_code in (400, 409), key
        assert page_request(server, "DELETE", key).status_code in (400, 409), key
    assert own_file(lab).read_bytes() == before


def test_a_request_of_another_page_is_refused(lab: Lab) -> None:
    before = own_file(lab).read_bytes()
    with at_hand(lab) as server:
        refused = page_request(server, "PUT", "review.max_cycles", {"text": "6"}, without_key=True)
        assert refused.status_code in (401, 403)
    assert own_file(lab).read_bytes() == before


def test_changes_at_the_same_time_lose_none(lab: Lab) -> None:
    keys = ("review.max_cycles", "commit.max_file_mb", "hook.max_rounds", "clean.after_days", "machine.memory_gb")
    with at_hand(lab) as server:
        threads = [
            threading.Thread(target=server.of_project, args=("PUT", f"/config/{key}", {"text": "3"})) for key in keys
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        settings = {one["key"]: one["own"] for one in server.of_project("GET", "/config").json()["settings"]}
    assert {key: settings[key] for key in keys} == dict.fromkeys(keys, "3")


def test_every_key_that_a_page_may_change_is_one_value() -> None:
    assert is_page_key("budget.task_usd") and is_page_key("agents.my-bot.model")
    for key in ("agents", "agents.claude", "agents.claude.argv", "budget", "budget.a.b", "checks.test", "database"):
        assert not is_page_key(key), key


@pytest.mark.parametrize(
    ("text", "key", "value", "expected"),
    [
        ("", ("agent",), "codex", 'agent: "codex"\n'),
        ("a: 1\n", ("review", "max_cycles"), 2, "a: 1\nreview:\n  max_cycles: 2\n"),
        ("a: [1, 2] # c\n", ("a",), [3], "a: [3] # c\n"),
        ("a: {b: {c: 1}}\n", ("a", "b", "d"), None, "a: {b: {d: null, c: 1}}\n"),
        ("", ("projects", "/x: y", "agent"), "a", 'projects:\n  "/x: y": {agent: "a"}\n'),
    ],
)
def test_a_setting_is_written_in_place(text: str, key: tuple[str, ...], value: Any, expected: str) -> None:
    assert with_setting(text, key, value, "f") == expected


@pytest.mark.parametrize(
    ("text", "key", "expected"),
    [
        ("a:\n  b: 1 # x\n  c: 2\n", ("a", "b"), "a:\n  c: 2\n"),
        ("a: {b: 1, c: 2}\n", ("a", "b"), "a: {c: 2}\n"),
        ("a: {b: 1, c: 2}\n", ("a", "c"), "a: {b: 1}\n"),
        ("a: {b: 1}\n", ("a", "b"), "a: {}\n"),
        ("a: 1", ("a",), ""),
        ("a: 1\n", ("z",), "a: 1\n"),
    ],
)
def test_a_setting_is_removed_with_its_line(text: str, key: tuple[str, ...], expected: str) -> None:
    assert without_setting(text, key, "f") == expected


@pytest.mark.parametrize("text", ["a:\n  - 1\n  - 2\n", "a: |\n  text\n", "b: &x 1\na: *x\n"])
def test_a_file_written_in_another_way_is_left_alone_or_right(text: str) -> None:
    try:
        changed = with_setting(text, ("a",), 5, "f")
    except BadInput as problem:
        assert "does not change by itself" in problem.what
    else:
        assert parse_yaml(changed, "f")[0]["a"] == 5


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://u:pass-word@127.0.0.1:1/x",
        "postgresql://u:pass-word%zz@h/x",
        "postgresql://u:a@pass-word@h/x",
        "postgresql://u@127.0.0.1:1/x?password=pass-word",
        "postgresql://u:pass-word@[::1/x",
    ],
)
def test_the_password_of_the_database_is_not_shown(address: str, lab: Lab) -> None:
    own_file(lab).write_text(f"database: {address}\n")
    for argv in (
        ["config", "show"],
        ["config", "show", "--json"],
        ["config", "show", "database"],
        ["list"],
        ["status"],
    ):
        printed = lab.burnish(*argv, code=None)
        assert "pass-word" not in printed.out + printed.err
    assert without_password("agent", "http://u:p@h") == "http://u:p@h"


def settings_of(section: type[BaseModel], path: str = "") -> Iterator[tuple[str, str]]:
    """Key and type of every setting, with `x` for names that the user gives."""
    for name, info in section.model_fields.items():
        kind = info.annotation
        parts = [part for part in (kind, *get_args(kind)) if isinstance(part, type) and issubclass(part, BaseModel)]
        key = f"{path}{name}"
        for part in parts:
            yield from settings_of(part, f"{key}." if part is kind else f"{key}.x.")
        if not parts:
            yield (f"{key}.x" if "dict[" in str(kind) else key), str(kind)


def test_a_page_changes_no_text_but_names_of_models_subjects_and_hours() -> None:
    """A text may be a program, a path or an address: each that a page may change is listed here, with a reason."""
    found = dict(settings_of(Config))
    texts = {key for key, kind in found.items() if is_page_key(key) and "str" in kind.replace("Strict(strict", "")}
    kinds = ("implement", "plan", "review", "improve")
    names_of_models = {f"task_types.{kind}.{key}" for kind in kinds for key in ("model", "review_model")}
    names_of_models |= {"agents.x.model", "agents.x.effort", "review.model"}
    one_of_the_agents = {"agent"}
    hours_and_amounts = {"notify.quiet_hours", "limits.quiet_hours", "budget.reserve"}
    subject_of_commits = {"commit.message"}
    assert len(found) > 100
    assert texts == names_of_models | one_of_the_agents | hours_and_amounts | subject_of_commits
