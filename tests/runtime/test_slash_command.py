"""`review.slash_command`: found in the project or with the user, and every review goes through it."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish import config
from burnish.config.repository import repository_content
from burnish.errors import BadInput, Untrusted
from burnish.runtime.prompts import PARSE, REVIEW, slash_commands
from testing.lab import AUTHOR, Lab

# The first answer cannot be read, so that the second command is asked for as well.
MUDDLED = """
again = "that another program wrote" in prompt
print(verdict("approved", "good") if again else "VERDICT: approved")
"""
OWN = "---\ndescription: ours\n---\nOUR RULES.\n\n$ARGUMENTS\n\nEnd with one line: VERDICT: approved.\n"


def settings(root: Path, command: str) -> config.Config:
    (root / "burnish.yaml").write_text(f"review: {{slash_command: {command}}}\n")
    return config.load(root)


def commands(root: Path, command: str, user: Path) -> dict[str, str]:
    """The texts of the commands in a checkout that was examined."""
    loaded = settings(root, command)
    env = {"CLAUDE_CONFIG_DIR": str(user)}
    return slash_commands(loaded, root, env, accepted_files=repository_content(root).files)


def put(folder: Path, name: str, text: str) -> None:
    file = folder / "commands" / f"{name}.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_the_projects_own_wins_over_the_users(tmp_path: Path) -> None:
    user = tmp_path / "user"
    put(user, "mine", "the user's")
    assert commands(tmp_path, "/mine", user) == {REVIEW: "the user's"}
    put(tmp_path / ".claude", "mine", "the project's")
    put(tmp_path / ".claude", "parse-review", "reads")
    assert commands(tmp_path, "mine", user) == {REVIEW: "the project's", PARSE: "reads"}
    (tmp_path / ".claude" / "commands" / "web").mkdir()
    (tmp_path / ".claude" / "commands" / "web" / "look.md").write_text("in a folder")
    assert commands(tmp_path, "'/web:look'", user)[REVIEW] == "in a folder"


def test_a_command_that_changed_after_it_was_examined_is_refused(tmp_path: Path) -> None:
    put(tmp_path / ".claude", "mine", "the project's")
    loaded = settings(tmp_path, "/mine")
    files = repository_content(tmp_path).files
    put(tmp_path / ".claude", "mine", "of another process")
    with pytest.raises(Untrusted, match="has changed since"):
        slash_commands(loaded, tmp_path, {}, accepted_files=files)


@pytest.mark.parametrize("name", ["/nosuch", "/../../secret", "/a b", "/"])
def test_a_command_that_is_not_there_is_a_wrong_setting(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput, match=r"review\.slash_command \(burnish\.yaml:1\)"):
        commands(tmp_path, f"'{name}'", tmp_path)


def test_without_the_setting_nothing_is_looked_for(tmp_path: Path) -> None:
    assert slash_commands(config.load(tmp_path), Path("/nowhere"), accepted_files={}) == {}


def test_reviews_go_through_the_command_and_the_contract_still_holds(tmp_path: Path) -> None:
    author = AUTHOR.replace("# BUG", "")
    extra = "review: {agents: [judge], slash_command: /ours}\n"
    lab = Lab.make(tmp_path, author=author, judge=MUDDLED)
    lab.burnish("init", "--slash")
    put(lab.repo.path / ".claude", "ours", OWN)
    lab.settle(extra)
    lab.add()
    lab.burnish("run", "1")

    assert lab.task()["status"] == "verified"
    first, again = (call["prompt"] for call in lab.calls() if call["phase"] == "review")
    assert first.startswith("OUR RULES.") and "## Code Changes (git diff)" in first
    assert first.index("End with one line") < first.rindex("burnish-verdict ")
    assert again.startswith("The text below is a review that somebody wrote.")
    # the command's own words judge: new ones, and the approval is void
    put(lab.repo.path / ".claude", "ours", OWN.replace("OUR", "OTHER"))
    assert "have changed since they were trusted" in lab.burnish("run", code=4).err
    lab.trust()
    assert "no longer approved" in lab.burnish("run", "--dry-run").err + lab.burnish("run", code=None).err


def test_a_missing_command_stops_the_run_before_anything_is_paid(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, extra="review: {agents: [judge], slash_command: /review-task}\n")
    lab.add()
    said = lab.burnish("run", "1", code=2)
    assert "burnish init --slash" in said.err and not lab.calls()
