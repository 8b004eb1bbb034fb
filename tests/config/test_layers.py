from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from burnish.config import load, user_folder
from burnish.errors import BadInput, BurnishError

USER = Path("xdg/burnish/config.yaml")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    (tmp_path / USER).parent.mkdir(parents=True)
    return {"XDG_CONFIG_HOME": str(tmp_path / "xdg")}


def test_each_layer_wins_over_the_one_below_it(root: Path, env: dict[str, str], tmp_path: Path) -> None:
    def seen(flags: dict[str, object] | None = None) -> tuple[int, str]:
        config = load(root, env=env, flags=flags)
        return config.review.max_cycles, config.origin("review.max_cycles")

    assert seen() == (3, "default")
    (tmp_path / USER).write_text("review:\n  max_cycles: 4\n")
    assert seen() == (4, f"{tmp_path / USER}:2")
    (root / "burnish.yaml").write_text("# words\nreview: {max_cycles: 5}\n")
    assert seen() == (5, "burnish.yaml:2")
    env["BURNISH__REVIEW__MAX_CYCLES"] = "6"
    assert seen() == (6, "BURNISH__REVIEW__MAX_CYCLES")
    assert seen({"review.max_cycles": 7}) == (7, "command line")
    assert seen({"review.max_cycles": None}) == (6, "BURNISH__REVIEW__MAX_CYCLES")


def test_pyproject_is_as_good_as_a_file_of_its_own(root: Path, env: dict[str, str]) -> None:
    (root / "pyproject.toml").write_text("[project]\nname = 'x'\n[tool.burnish.review]\nmax_cycles = 8\n")
    config = load(root, env=env)
    assert (config.review.max_cycles, config.origin("review.max_cycles")) == (8, "pyproject.toml [tool.burnish]")


def test_two_files_for_one_project_are_refused(root: Path, env: dict[str, str]) -> None:
    (root / "pyproject.toml").write_text("[tool.burnish]\nagent = 'codex'\n")
    (root / "burnish.yaml").write_text("agent: codex\n")
    with pytest.raises(BadInput, match=r"burnish\.yaml and in \[tool\.burnish\]"):
        load(root, env=env)


def test_a_pyproject_of_somebody_else_is_none_of_our_business(root: Path, env: dict[str, str]) -> None:
    (root / "pyproject.toml").write_text("this is [ no toml, and mentions burnish\n")
    assert load(root, env=env).agent == "auto"
    (root / "pyproject.toml").write_text("[tool.burnish\n")
    with pytest.raises(BadInput, match="not valid TOML"):
        load(root, env=env)


def test_mappings_are_joined_and_lists_are_replaced(root: Path, env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / USER).write_text(
        "agents: {claude: {model: opus}, robot: {kind: command, argv: [r]}}\nreview: {agents: [claude, robot]}\n"
    )
    (root / "burnish.yaml").write_text("agents: {claude: {max_parallel: 2}}\nreview: {agents: [static]}\n")
    config = load(root, env=env)
    assert (config.agents["claude"].model, config.agents["claude"].max_parallel) == ("opus", 2)
    assert config.agents["robot"].argv == ("r",)
    assert [one.agent for one in config.review.agents] == ["static"]


def test_a_check_of_a_file_is_never_half_of_another(root: Path, env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / USER).write_text("checks: {test: {command: a, junit: a.xml}}\nroles: {parse: {agent: llm, model: m}}\n")
    (root / "burnish.yaml").write_text("checks: {test: {command: b}}\nroles: {parse: {agent: claude}}\n")
    config = load(root, env=env)
    assert config.checks.test and (config.checks.test.command, config.checks.test.junit) == ("b", None)
    assert config.roles["parse"].model is None


def test_a_variable_changes_one_part_of_a_check(root: Path, env: dict[str, str]) -> None:
    (root / "burnish.yaml").write_text("checks: {test: make test}\n")
    config = load(root, env={**env, "BURNISH__CHECKS__TEST__BLOCKING": "false"})
    assert config.checks.test and (config.checks.test.command, config.checks.test.blocking) == ("make test", False)
    assert config.origin("checks.test.blocking") == "BURNISH__CHECKS__TEST__BLOCKING"


@pytest.mark.parametrize(
    ("name", "text", "key", "value"),
    [
        ("REVIEW__REQUIRED", "false", "review.required", False),
        ("REVIEW__MODEL", "", "review.model", None),
        ("REVIEW__MODEL", "null", "review.model", None),
        ("REVIEW__MODEL", "'4.1'", "review.model", "4.1"),
        (
            "REVIEW__AGENTS",
            "[claude, {agent: codex, model: m}]",
            "review.agents",
            ["claude", {"agent": "codex", "model": "m"}],
        ),
        ("CHECKS__TEST", 'pytest -k "a: b" # c', "checks.test", 'pytest -k "a: b" # c'),
        ("CHECKS__TEST", "- x", "checks.test", "- x"),
        ("BUDGET__TASK_USD", "1.5", "budget.task_usd", 1.5),
        ("HITL_REVIEW", "true", "hitl_review", "every"),
        ("AGENTS__MY_BOT__MODEL", "m", "agents.my-Bot.model", "m"),
        ("PROMPTS__FIX_TEMPLATE__ENABLED", "false", "prompts.fix.template.enabled", False),
    ],
)
def test_variables_are_read_as_a_person_means_them(
    root: Path, env: dict[str, str], name: str, text: str, key: str, value: object
) -> None:
    (root / "burnish.yaml").write_text(
        "agents: {my-Bot: {kind: command, argv: [b]}}\nprompts: {fix.template: {enabled: true}}\n"
    )
    config = load(root, env={**env, f"BURNISH__{name}": text})
    shown = {key: (value, origin) for key, value, origin in config.items()}
    assert shown[key] == (value, f"BURNISH__{name}")


@pytest.mark.parametrize("name", ["BURNISH__", "BURNISH__REVIEW__", "BURNISH____X"])
def test_a_variable_that_names_nothing_is_refused(env: dict[str, str], name: str) -> None:
    with pytest.raises(BadInput, match="names no setting"):
        load(None, env={**env, name: "1"})


def test_a_wrong_variable_is_named(env: dict[str, str]) -> None:
    with pytest.raises(BadInput, match=r"BURNISH__REVIEW__MAX_CYCLE: unknown setting") as caught:
        load(None, env={**env, "BURNISH__REVIEW__MAX_CYCLE": "1"})
    assert caught.value.hint == "Did you mean review.max_cycles?"
    with pytest.raises(BadInput, match="BURNISH__REVIEW__AGENTS"):
        load(None, env={**env, "BURNISH__REVIEW__AGENTS": "[a"})


def test_other_variables_of_ours_are_no_settings(env: dict[str, str]) -> None:
    assert load(None, env={**env, "BURNISH_HOME": "/x", "BURNISH_TASK": "3"}).agent == "auto"


def test_an_empty_section_says_nothing(root: Path, env: dict[str, str]) -> None:
    (root / "burnish.yaml").write_text("review:\nagents:\nchecks: {guard: }\ntask_types: {plan: }\n")
    config = load(root, env=env)
    assert config.model_dump() == load(None, env=env).model_dump()
    assert {origin for _, _, origin in config.items()} == {"default"}


def test_a_type_keeps_its_defaults_when_one_value_is_written(root: Path, env: dict[str, str]) -> None:
    (root / "burnish.yaml").write_text("task_types: {implement: {max_cycles: 9}}\n")
    kind = load(root, env=env).task_types.implement
    assert (kind.auto_review, kind.max_cycles) == (True, 9)


def test_the_user_folder_follows_xdg_and_the_home(tmp_path: Path, hermetic: Path) -> None:
    assert user_folder({"XDG_CONFIG_HOME": str(tmp_path)}) == tmp_path / "burnish"
    assert user_folder({"XDG_CONFIG_HOME": "relative"}).is_relative_to(hermetic)
    assert user_folder({"HOME": str(tmp_path / "other")}).is_relative_to(tmp_path / "other")
    assert user_folder({"HOME": "relative"}).is_relative_to(hermetic)


def test_a_file_that_cannot_be_read_is_said_to_be_so(root: Path, env: dict[str, str]) -> None:
    (root / "burnish.yaml").mkdir()
    with pytest.raises(BurnishError, match=r"Cannot read .*burnish\.yaml") as caught:
        load(root, env=env)
    assert caught.value.exit_code == 3


def test_a_misnamed_file_is_not_passed_over(root: Path, env: dict[str, str]) -> None:
    (root / "burnish.yml").write_text("agent: codex\n")
    with pytest.raises(BadInput, match=r"burnish\.yml is not read"):
        load(root, env=env)


def test_reading_commands_can_import_this_without_pydantic() -> None:
    code = (
        "import sys, burnish.config, burnish.config.policy, burnish.config.kinds\n"
        "print([m for m in ('pydantic', 'ruamel.yaml', 'platformdirs') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    assert done.stdout.strip() == "[]"
