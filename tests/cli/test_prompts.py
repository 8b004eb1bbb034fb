"""What agents are told: shown, replaced, checked, brought back, and rendered for a task."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.lab import APPROVE, Lab

ADDS = 'app.write_text(app.read_text() + f"# {phase} {cycle}\\n")'
NAMES = ["review.system", "review.template", "fix.template", "implement.template"]


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    lab = Lab.make(tmp_path, author=ADDS, judge=APPROVE)
    lab.env["XDG_CONFIG_HOME"] = str(tmp_path / "xdg")
    return lab


def own(lab: Lab, name: str, text: str, *, everywhere: bool = False) -> Path:
    folder = Path(lab.env["XDG_CONFIG_HOME"]) / "burnish" if everywhere else lab.repo.path / ".burnish"
    file = folder / "prompts" / f"{name}.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    lab.trust()
    return file


def origins(lab: Lab) -> dict[str, str]:
    return {one["name"]: one["origin"] for one in lab.burnish("prompts", "--json").json["prompts"]}


def test_the_projects_own_wins_over_the_users_and_a_switch_leaves_both_aside(lab: Lab) -> None:
    assert origins(lab) == dict.fromkeys(NAMES, "shipped")
    own(lab, "fix.template", "Fix {{ title }}.\n{{ findings }}", everywhere=True)
    assert origins(lab)["fix.template"] == "user"
    own(lab, "fix.template", "Repair {{ title }}.\n{{ findings }}")
    assert origins(lab)["fix.template"] == "project"
    assert lab.burnish("prompts", "show", "fix.template").out.startswith("Repair")
    lab.settle("prompts: {fix.template: {enabled: false}}\n")
    assert origins(lab)["fix.template"] == "shipped"
    assert "switched off" in lab.burnish("prompts", "list").out


def test_edit_without_a_terminal_makes_a_copy_of_the_default_and_reset_takes_it_away(lab: Lab) -> None:
    file = Path(lab.burnish("prompts", "edit", "review.system").out.strip())
    assert file == lab.repo.path / ".burnish" / "prompts" / "review.system.md"
    everywhere = Path(lab.burnish("prompts", "edit", "review.system", "--global").out.strip())
    assert str(everywhere).startswith(lab.env["XDG_CONFIG_HOME"])
    default = lab.burnish("prompts", "show", "review.system").out
    assert file.read_text() == everywhere.read_text() and file.read_text().strip() == default.strip()
    file.write_text("Only me.\n")
    lab.burnish("prompts", "edit", "review.system")
    assert file.read_text() == "Only me.\n"
    assert str(everywhere) in lab.burnish("prompts", "reset", "review.system").out
    assert not file.exists() and everywhere.exists()
    lab.burnish("prompts", "reset", "--all", "--global")
    assert not everywhere.exists()
    assert "no prompt" in lab.burnish("prompts", "reset", "--all").out


def test_an_unknown_variable_is_refused_wherever_it_is_met_and_before_anything_is_paid_for(lab: Lab) -> None:
    own(lab, "implement.template", "Do {{ tilte }}\n")
    lab.add()
    for argv in (("show", "implement.template"), ("edit", "implement.template"), ("render", "1")):
        said = lab.burnish("prompts", *argv, code=2).err
        assert "Unknown variable tilte" in said and "title" in said.partition("Known variables")[2]
    assert "tilte" in lab.burnish("run", "1", code=2).err
    assert lab.task()["status"] == "backlog" and not lab.calls()
    own(lab, "implement.template", "Do {{ title\n")
    assert "prompts reset" in lab.burnish("run", "1", code=2).err
    lab.burnish("prompts", "reset", "implement.template")
    lab.burnish("run", "1")


def test_a_reviewers_own_prompt_is_listed_and_checked_too(lab: Lab) -> None:
    lab.repo.commit({"prompts/safety.md": "Look at {{ titel }}\n"})
    lab.settle("review: {agents: [{agent: judge, prompt: prompts/safety.md}]}\n")
    lab.add()
    assert origins(lab)["prompts/safety.md"] == "reviewer"
    assert "titel" in lab.burnish("run", code=2).err


@pytest.mark.parametrize(
    "argv",
    [("fly",), ("show",), ("show", "nothing"), ("edit",), ("reset",), ("render",), ("render", "9"), ("show", "a", "b")],
)
def test_what_makes_no_sense_is_refused(lab: Lab, argv: tuple[str, ...]) -> None:
    lab.burnish("prompts", *argv, code=2)


@pytest.mark.slow
def test_render_shows_word_for_word_what_is_sent(lab: Lab) -> None:
    """All but the number, which is drawn anew for each call."""
    lab.agent("judge", 'print(verdict("changes_requested", "no", [flaw]))')
    lab.add("Add division", "--accept", "it divides", "--max-cycles", "1")
    before = lab.burnish("prompts", "render", "1", "--json").json["prompts"]
    assert "no change yet" in lab.burnish("prompts", "render", "1", "review.template", code=2).err
    assert "nothing to fix" in lab.burnish("prompts", "render", "1", "fix.template", code=2).err
    lab.burnish("run", code=1)
    implement, review = (c["prompt"] for c in lab.calls()[:2])
    assert [one["to"] for one in before] == ["robot"]
    assert plain(before[0]["text"]) == plain(implement)
    lab.burnish("edit", "1", "--max-cycles", "2")
    lab.burnish("retry", "1", "--later")
    (fix,) = lab.burnish("prompts", "render", "1", "fix.template", "--json").json["prompts"]
    assert "Zero is not handled" in fix["text"] and "burnish-disputes 0000000000000000" in fix["text"]
    lab.burnish("run", "1", code=1)
    improve, second = (c["prompt"] for c in lab.calls() if c["cycle"] == 2)
    assert plain(fix["text"]) == plain(improve)
    assert "# Acceptance Criteria" in review and "# Earlier Findings" in second
    text = lab.burnish("prompts", "render", "1").out
    assert "burnish-verdict 0000000000000000" in text and "it divides" in text


def plain(text: str) -> str:
    """Without the numbers and the marks made of them."""
    import re

    return re.sub(r"\b[0-9a-f]{8,16}\b", "#", text)
