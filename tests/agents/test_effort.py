"""Reasoning effort: each program's own option, by agent and role."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from burnish.adapters.configured_agents import agent_settings
from burnish.agents.registry import AGENTS
from burnish.config.kinds import effort_problem
from burnish.config.loading import load
from burnish.config.policy import RoleResolver, effort_of, policy_for
from burnish.config.settings import Config
from burnish.core.task import Spec
from burnish.errors import BadInput
from testing.agent_samples import request

OPTIONS = {
    "claude": ("--effort", "high"),
    "codex": ("-c", 'model_reasoning_effort="high"'),
    "opencode": ("--variant", "high"),
    "aider": ("--reasoning-effort", "high"),
    "copilot": ("--reasoning-effort", "high"),
    "pi": ("--thinking", "high"),
}


def loaded(folder: Path, text: str) -> Config:
    (folder / "burnish.yaml").write_text(text)
    return load(folder, env={})


@pytest.mark.parametrize("name", OPTIONS)
def test_the_effort_is_passed_as_the_programs_own_option(name: str, tmp_path: Path) -> None:
    settings = agent_settings(loaded(tmp_path, f"agents: {{{name}: {{effort: high}}}}"))[name]
    for role in ("implement", "review"):
        argv = AGENTS[name].call(request(role=role, read_only=role == "review"), settings).argv
        pairs = list(pairwise(argv))
        assert OPTIONS[name] in pairs
    plain = AGENTS[name].call(request(), agent_settings(loaded(tmp_path, ""))[name]).argv
    assert OPTIONS[name][1] not in plain


def test_a_role_overrides_the_agent_and_a_role_of_another_agent_does_not(tmp_path: Path) -> None:
    roles = "roles: {review: {effort: low}, improve: {agent: codex, effort: minimal}}"
    config = loaded(tmp_path, f"agents: {{claude: {{effort: high}}}}\n{roles}\n")
    assert dict(agent_settings(config)["claude"].efforts) == {
        "implement": "high",
        "improve": "high",
        "review": "low",
        "parse": "high",
    }
    assert dict(agent_settings(config)["codex"].efforts) == {"review": "low", "improve": "minimal"}
    # a fallback without such an option is called without it
    assert effort_of(config, "gemini", "review") is None


def test_a_command_takes_it_in_its_argv(tmp_path: Path) -> None:
    config = loaded(tmp_path, "agents: {robot: {kind: command, argv: [robot, '--think={effort}'], effort: high}}")
    assert AGENTS["command"].call(request(), agent_settings(config)["robot"]).argv == ("robot", "--think=high")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("agents: {gemini: {effort: high}}", "gemini has no option for reasoning effort"),
        ("agents: {claude: {effort: hihg}}", "the effort of claude is one of low, medium, high, xhigh, max"),
        ("agents: {r: {kind: command, argv: [r], effort: high}}", "must have {effort}"),
        ("agents: {codex: {effort: 'high\" x=\"'}}", "agents.codex.effort"),
        ("agents: {codex: {effort: --oss}}", "agents.codex.effort"),
    ],
)
def test_an_effort_that_cannot_be_passed_on_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        loaded(tmp_path, text)
    assert message in caught.value.what


def test_an_effort_of_a_role_is_refused_before_anything_is_paid_for(tmp_path: Path) -> None:
    config = loaded(tmp_path, "agent: gemini\nroles: {implement: {effort: high}}\nreview: {agents: [claude]}\n")
    with pytest.raises(BadInput, match=r"roles.implement.effort cannot be used: gemini has no option"):
        RoleResolver(config, Spec("One"), lambda name: True).worker("implement")


def test_a_reviewer_with_another_effort_is_another_reviewer(tmp_path: Path) -> None:
    panels = []
    for effort in ("{}", "{claude: {effort: low}}", "{claude: {effort: high}}"):
        config = loaded(tmp_path, f"agents: {effort}\nreview: {{agents: [claude]}}\n")
        panels.append(RoleResolver(config, Spec("One"), lambda name: True).panel(config.review.agents))
    assert [panel[0].effort for panel in panels] == [None, "low", "high"]


def test_a_single_reviewer_has_an_effort_of_its_own(tmp_path: Path) -> None:
    text = "agents: {claude: {effort: low}}\nroles: {review: {effort: medium}}\n"
    entries = "[{agent: claude, effort: max}, claude, {agent: codex, effort: high}]"
    steps = "[{name: last, agents: [{agent: claude, effort: xhigh}]}]"
    config = loaded(tmp_path, f"{text}review: {{agents: {entries}}}\npipeline: {steps}\n")
    policy = policy_for(config, Spec("One"), installed=lambda name: True, detected=())
    assert [one.effort for one in policy.reviewers] == ["max", "medium", "high"]
    assert policy.pipeline[0].reviewers[0].effort == "xhigh"

    settings = agent_settings(config)["claude"]
    for one, words in zip(policy.reviewers[:2], ("max", "medium"), strict=True):
        argv = AGENTS["claude"].call(request(role="review", read_only=True, effort=one.effort), settings).argv
        assert ("--effort", words) in list(pairwise(argv))


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ("[claude, {agent: gemini, effort: high}]", "review.agents[1].effort cannot be used: gemini has no option"),
        ("[{agent: claude, effort: hihg}]", "review.agents[0].effort cannot be used: the effort of claude is one of"),
        ("[{agent: static, effort: high}]", "review.agents[0].effort cannot be used: static has no option"),
    ],
)
def test_an_effort_that_a_reviewer_cannot_be_given_is_refused(tmp_path: Path, entries: str, message: str) -> None:
    config = loaded(tmp_path, f"review: {{agents: {entries}}}\n")
    with pytest.raises(BadInput, match=re.escape(message)):
        RoleResolver(config, Spec("One"), lambda name: True).panel(config.review.agents)


def test_an_approval_without_an_effort_does_not_count_for_one(tmp_path: Path) -> None:
    """Also not as an approval of an earlier version, which did not hash the programs of reviewers."""
    plain, high = (
        policy_for(loaded(tmp_path, text), Spec("One"), installed=lambda name: True, detected=())
        for text in ("review: {agents: [claude]}", "review: {agents: [{agent: claude, effort: high}]}")
    )
    assert not high.judges_as(plain.judge) and not plain.judges_as(high.judge)


@pytest.mark.parametrize("kind", ["gemini", "qwen", "cursor", "amp", "scripted", "static"])
def test_kinds_without_an_option(kind: str) -> None:
    assert effort_problem(kind, (), "high") == f"{kind} has no option for reasoning effort"
