"""Prompts of one's own, kept: written, switched in the settings, tried on a task, taken away."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.errors import BadInput, BurnishError, Refused
from burnish.features.prompts.edit import PromptScope, all_kept, kept, reset, save, switch, try_on
from burnish.review.templates import MAX_LENGTH, variable_descriptions
from burnish.runtime import open_app
from burnish.runtime.app import App
from burnish.runtime.prompts import NAMES, variables
from burnish.runtime.tasks import add_task
from testing.userrepo import UserRepo

SYSTEM = "review.system"


@pytest.fixture
def app(user_repo: UserRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> App:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    user_repo.trust()
    return open_app(user_repo.path)


def again(app: App) -> App:
    """With the settings as they are now."""
    return open_app(app.repo.root)


@pytest.mark.parametrize("name", NAMES)
def test_every_variable_has_a_meaning_and_no_meaning_lacks_its_variable(name: str) -> None:
    assert set(variable_descriptions(name)) == variables(name)
    assert all(variable_descriptions(name).values())


def test_the_projects_text_wins_and_both_places_are_told(app: App) -> None:
    assert [one.origin for one in all_kept(app)] == ["shipped"] * 4
    save(app, SYSTEM, "Mine, everywhere.\n", PromptScope.GLOBAL)
    assert kept(app, SYSTEM).origin == "user"
    file = save(app, SYSTEM, "Here: {{ title }}\r\nand on.\n", PromptScope.PROJECT)
    found = kept(app, SYSTEM)
    assert (found.origin, found.text) == ("project", "Here: {{ title }}\nand on.\n")
    assert file == app.repo.root / ".burnish/prompts/review.system.md" == found.project.path
    assert found.everywhere.text == "Mine, everywhere.\n"
    assert reset(app, NAMES, PromptScope.PROJECT) == [(SYSTEM, file)]
    assert kept(app, SYSTEM).origin == "user" and reset(app, NAMES, PromptScope.PROJECT) == []


def test_switched_off_the_text_is_kept_and_the_settings_keep_their_comments(app: App) -> None:
    save(app, SYSTEM, "Mine.\n", PromptScope.PROJECT)
    yaml = app.repo.root / "burnish.yaml"
    yaml.write_text("# ours\nagent: auto   # any\n")
    UserRepo(app.repo.root).trust()
    assert switch(app, SYSTEM, False, PromptScope.PROJECT) == yaml
    found = kept(again(app), SYSTEM)
    assert (found.origin, found.enabled, found.project.text) == ("shipped", False, "Mine.\n")
    assert found.switched_at.startswith("burnish.yaml:") and found.text == found.default
    assert yaml.read_text().startswith("# ours\nagent: auto   # any\n")
    switch(app, SYSTEM, True, PromptScope.PROJECT)
    assert kept(again(app), SYSTEM).origin == "project"


def test_a_switch_for_all_projects_stands_in_the_users_settings_and_the_project_wins(app: App, tmp_path: Path) -> None:
    before = sorted(path.name for path in app.repo.root.iterdir())
    assert switch(app, SYSTEM, False, PromptScope.GLOBAL) == tmp_path / "xdg/burnish/config.yaml"
    assert not kept(again(app), SYSTEM).enabled
    assert sorted(path.name for path in app.repo.root.iterdir()) == before
    switch(app, SYSTEM, True, PromptScope.PROJECT)
    assert kept(again(app), SYSTEM).enabled


def test_settings_in_pyproject_are_left_to_their_owner(app: App) -> None:
    (app.repo.root / "pyproject.toml").write_text('[tool.burnish]\nagent = "auto"\n')
    with pytest.raises(BadInput, match=r"pyproject\.toml"):
        switch(app, SYSTEM, False, PromptScope.PROJECT)


@pytest.mark.parametrize(
    "text",
    [
        "{{ tilte }}",
        "{gitDif}",
        "{% if %}",
        "{{ title.__class__ }}",
        "{% include 'x' %}",
        "",
        "  \n",
        "x\x00",
        "x\ud800",
        "x" * (MAX_LENGTH + 1),
    ],
)
def test_what_could_not_be_rendered_is_never_written(app: App, text: str) -> None:
    with pytest.raises(BadInput):
        save(app, SYSTEM, text, PromptScope.PROJECT)
    assert not (app.repo.root / ".burnish").exists()


def test_an_unknown_variable_names_the_known_ones(app: App) -> None:
    with pytest.raises(BadInput) as refused:
        save(app, "fix.template", "{{ code_changes }}", PromptScope.PROJECT)
    assert "code_changes" in refused.value.what and "failing_checks" in refused.value.hint


def test_nobody_writes_over_what_was_not_read(app: App) -> None:
    seen = kept(app, SYSTEM).project.seen
    save(app, SYSTEM, "First.", PromptScope.PROJECT, expected_hash=seen)
    with pytest.raises(Refused, match="changed since"):
        save(app, SYSTEM, "Second.", PromptScope.PROJECT, expected_hash=seen)
    save(app, SYSTEM, "Second.", PromptScope.PROJECT, expected_hash=kept(app, SYSTEM).project.seen)


def test_a_link_that_leads_out_of_the_project_is_not_followed(app: App, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (app.repo.root / ".burnish").symlink_to(elsewhere)
    with pytest.raises(BurnishError, match="link"):
        save(app, SYSTEM, "Mine.", PromptScope.PROJECT)
    assert list(elsewhere.iterdir()) == []


def test_a_text_is_tried_on_a_task_without_being_kept(app: App) -> None:
    from burnish.core.task import Spec
    from burnish.runtime.trust import BY_COMMAND, grant

    # a broken text on disk must not prevent correcting it
    (app.repo.root / ".burnish/prompts").mkdir(parents=True)
    (app.repo.root / ".burnish/prompts/implement.template.md").write_text("{{ wrong }}")
    grant(app.trust.found, how=BY_COMMAND)
    app = again(app)
    task = add_task(app, Spec("Add <b>division</b>"))
    (sent,) = try_on(app, "implement.template", "Do: {{ title }}", task.id)
    assert sent.text.startswith("Do: Add <b>division</b>")
    assert "wrong" in kept(app, "implement.template").problem
    with pytest.raises(BadInput, match="tilte"):
        try_on(app, "implement.template", "{{ tilte }}", task.id)


def test_the_command_line_turns_the_same_switch(app: App, capsys: pytest.CaptureFixture[str]) -> None:
    from burnish.cli.main import main

    save(app, SYSTEM, "Mine.\n", PromptScope.PROJECT)
    assert main(["-C", str(app.repo.root), "prompts", "off", SYSTEM]) == 0
    assert "enabled is false" in capsys.readouterr().out
    assert not kept(again(app), SYSTEM).enabled
    assert main(["-C", str(app.repo.root), "prompts", "on", SYSTEM, "--json"]) == 0
    assert kept(again(app), SYSTEM).origin == "project"
