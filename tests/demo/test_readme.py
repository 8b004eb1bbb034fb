"""The README promises only what is there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from burnish.agents.registry import AGENTS
from burnish.cli.main import build
from burnish.config import load
from burnish.config.kinds import KINDS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
SPOKEN = re.findall(r"`burnish ([a-z][^`]*)`", re.sub(r"^```.*?^```", "", README, flags=re.MULTILINE | re.DOTALL))
TYPED = [
    line.split("burnish ", 1)[1] for _, text in BLOCKS for line in text.splitlines() if line.startswith("burnish ")
]


@pytest.fixture(scope="module")
def verbs() -> Any:
    return build().commands


@pytest.mark.parametrize("line", [*TYPED, *SPOKEN])
def test_each_command_line_is_one_that_burnish_understands(line: str, verbs: Any) -> None:
    verb, *words = shlex.split(line, comments=True)
    assert verb in verbs
    verbs[verb].make_context(verb, words)  # raises on an argument or option that it does not know


def test_there_are_commands_to_look_at() -> None:
    assert {"init", "add", "run", "review"} <= {line.split()[0] for line in TYPED}


def test_the_settings_shown_are_settings(tmp_path: Path) -> None:
    (text,) = (text for language, text in BLOCKS if language == "yaml")
    (tmp_path / "burnish.yaml").write_text(text, "utf-8")
    config = load(tmp_path)
    assert config.agent == "robot" and [one.agent for one in config.review.agents] == ["judge", "static"]


def test_each_make_target_is_there() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in set(re.findall(r"\bmake ([a-z]+)", "\n".join(text for _, text in BLOCKS))):
        assert re.search(rf"^{target}:.*##", makefile, re.MULTILINE), target


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)#]+)\)", README))))
def test_each_link_leads_somewhere(target: str) -> None:
    assert "://" not in target and (ROOT / target).is_file()


def test_the_table_of_agents_names_all_and_calls_built_only_what_is() -> None:
    rows = re.findall(r"^\| (`.*?`) \| .* \| (built|later) \|$", README, re.MULTILINE)
    said = {name: state for names, state in rows for name in re.findall(r"`(\w+)`", names)}
    assert set(said) == set(KINDS), "List each kind of agent in the table of agents in README.md."
    assert {name for name, state in said.items() if state == "built"} <= {*AGENTS, "static"}
