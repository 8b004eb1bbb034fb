"""Each adapter states every fact about its program, and the facts agree with each other."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest

from burnish.agents.base import (
    Agent,
    AgentSettings,
    CannotReview,
    KnowsModel,
    LoadsProjectCode,
    ReplacesMentions,
    ReportsUsageLive,
)
from burnish.agents.registry import AGENTS, PROJECT_FILES, STOP_HOOKS
from burnish.config.kinds import CLI_KINDS, KINDS, NEED_ARGV, READ_NO_FILES, READY_KINDS
from burnish.core.path_patterns import is_named
from testing.agent_samples import NAMES

each = pytest.mark.parametrize("name", AGENTS)
program = pytest.mark.parametrize("name", CLI_KINDS)
FACTS = {name for name, member in vars(Agent).items() if isinstance(member, property)}
# a fact that only some programs have
OPTIONAL_FACTS = {
    name
    for protocol in (ReplacesMentions, CannotReview, LoadsProjectCode)
    for name, member in vars(protocol).items()
    if isinstance(member, property)
}
# `agent: auto` looks for these in this order; a further program may come anywhere between them
RANK = ["claude", "codex", "gemini", "opencode", "aider", "copilot", "qwen", "pi", "cursor", "amp"]


@each
def test_an_entry_states_every_fact_itself(name: str) -> None:
    agent = AGENTS[name]
    assert agent.name == name == type(agent).__module__.rpartition(".")[2]
    names = {field.name for field in fields(agent)}  # type: ignore[arg-type]
    assert not FACTS - names, f"agents/{name}.py lacks facts that agents/base.py describes"
    assert not names - FACTS - OPTIONAL_FACTS, f"agents/{name}.py has fields that agents/base.py does not describe"
    assert set(agent.required_settings) <= {field.name for field in fields(AgentSettings)}
    assert agent.usage.has_tokens or not (agent.usage.has_cost or agent.usage.has_model)
    assert agent.usage.has_tokens or not isinstance(agent, ReportsUsageLive | KnowsModel)


@program
def test_a_program_has_project_files_and_a_login(name: str) -> None:
    agent = AGENTS[name]
    assert agent.project_files and agent.keys and agent.login.paths and not agent.required_settings
    assert agent.verified == bool(agent.tested_version) == (name in NAMES), (
        f"`verified` and `tested_version` of agents/{name}.py are set together with tests/agents/samples/{name}.json"
    )


@program
def test_a_program_has_a_command_that_updates_it_and_an_oldest_version_if_it_was_tried(name: str) -> None:
    agent = AGENTS[name]
    assert agent.update and bool(agent.min_version) == agent.verified
    oldest, tried = (
        [int(part) for part in text.split(".") if part] for text in (agent.min_version, agent.tested_version)
    )
    assert oldest <= tried


@program
@pytest.mark.parametrize("page", ["agents.md", "budgets.md"])
def test_the_tables_of_the_docs_have_a_row_for_each_program(page: str, name: str) -> None:
    text = (Path(__file__).parents[2] / "docs" / page).read_text("utf-8")
    rows = [line for line in text.splitlines() if f"`{name}`" in line.split(" | ")[0] and line.startswith("| `")]
    assert rows, f"Add a row for {name} to the table of agents in docs/{page}."


@pytest.mark.parametrize("name", STOP_HOOKS)
def test_a_stop_hook_is_in_a_file_that_the_adapter_protects(name: str) -> None:
    agent, hook = AGENTS[name], STOP_HOOKS[name]
    assert hook.name == name and hook.event and hook.user_file and hook.home_folder
    assert any(Path(hook.home_folder).is_relative_to(place) for place in agent.login.paths)
    assert not hook.home_variable or (hook.home_variable, hook.home_folder) in agent.login.folder_variables
    assert not hook.local_file or is_named(hook.local_file, agent.project_files)
    entry = hook.entry(f"burnish hook run {name} || true", 2)
    assert hook.is_ours(entry if hook.flat else entry["hooks"][0])
    assert json.dumps(entry).count(str(2 * hook.per_second)) == 1


def test_the_tables_of_other_packages_are_those_of_the_registry() -> None:
    assert [name for name in CLI_KINDS if name in RANK] == RANK
    assert set(KINDS) - set(AGENTS) == {"static"}
    assert set(KINDS) - set(READY_KINDS) == {"acp", "command", "scripted"}
    assert set(NEED_ARGV) == {"acp", "command"} and set(READ_NO_FILES) == {"aider", "llm"}
    assert set(STOP_HOOKS) >= {"claude", "codex", "gemini", "qwen", "copilot"}
    assert all(name in PROJECT_FILES for agent in AGENTS.values() for name in agent.project_files)
