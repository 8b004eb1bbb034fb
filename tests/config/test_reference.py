"""The reference file: nothing unknown, nothing different, nothing forgotten; and the page made of the types."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

from burnish.checks.report_formats import FILE_FORMATS
from burnish.config import load
from burnish.config.docs_page import settings_page
from burnish.config.kinds import KINDS, PROMPTS, REPORTS, ROLES
from burnish.config.problems import known_keys
from burnish.config.sections import AgentSection
from burnish.config.settings import Config
from burnish.config.values import CheckEntry
from burnish.errors import BurnishError

REFERENCE = (files("burnish.config") / "reference.yaml").read_text()
PAGE = Path(__file__).parents[2] / "docs" / "settings.md"


def loaded(root: Path, text: str) -> Config:
    """As the user's own file: a repository may not have all of it."""
    own = root / "xdg" / "burnish" / "config.yaml"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text(text)
    return load(root, env={"XDG_CONFIG_HOME": str(root / "xdg")})


def test_the_reference_is_what_there_is_without_any_file(tmp_path: Path) -> None:
    config = loaded(tmp_path, REFERENCE)
    plain = load(None, env={"XDG_CONFIG_HOME": str(tmp_path / "none")})
    assert config.model_dump() == plain.model_dump() == Config().model_dump()
    assert [(key, value) for key, value, _ in config.items()] == [(key, value) for key, value, _ in plain.items()]


def test_the_reference_names_every_section(tmp_path: Path) -> None:
    config = loaded(tmp_path, REFERENCE)
    unsaid = {key for key, value, origin in config.items() if origin == "default" and value != {}}
    # said in other words there: "the other switches are on", and the keys of other kinds of agent and type
    said = ("review.context.", "agents.claude.", "task_types.")
    assert {key for key in unsaid if not key.startswith(said)} == set()


# The keys that users were promised. A list of its own on purpose: types, reference.yaml and docs/settings.md are
# compared with each other above and below, and a key that all three lose would not be missed.
DOCUMENTED = {
    "agents.claude": "kind model max_parallel fallback resume effort budget_usd login",
    "task_types.implement": (
        "auto_review model review_model max_cycles timeout_minutes review_timeout_minutes improve_timeout_minutes"
    ),
    "review": (
        "required enabled agents quorum model max_cycles block_on trigger may_fix accept_unsigned followups"
        " slash_command unseen context limits"
    ),
    "checks": "test lint lint_fix on_failure where build uncountable guard timeout_minutes extra",
    "checks.guard": "thinning judge tooling",
    "isolation": "strategy env",
    "sandbox": "mode network read write",
    "workspace": "setup setup_credentials copy artifacts base",
    "commit": "message max_file_mb",
    "merge": "on_moved on_conflict",
    "budget": "task_usd session_usd task_tokens session_tokens uncounted reserve",
    "hook": "max_rounds",
    "clean": "after_days max_gb",
    "limits": "quiet_hours",
    "machine": "keep_awake memory_gb",
    "notify": "urls desktop bell sound quiet_hours on",
    "": (
        "agent agents roles defaults task_types review fix pipeline approval hitl_review checks isolation sandbox"
        " workspace commit merge prompts budget hook clean limits machine notify database output_cap_mb projects"
    ),
}


@pytest.mark.parametrize("section", DOCUMENTED)
def test_every_key_that_is_documented_is_known(section: str) -> None:
    known = known_keys(tuple(section.split(".")) if section else ())
    assert [key for key in DOCUMENTED[section].split() if key not in known] == []


@pytest.mark.parametrize(
    ("line", "example"),
    [
        ("  # robot:", '  robot: {kind: command, argv: [tools/robot, "{prompt_file}"], env: [ROBOT_TOKEN]}'),
        ("roles: {}", "roles: {parse: {agent: llm, model: some-model}}"),
        (
            "  agents: [auto]",
            "  agents: [claude, {agent: llm, model: m, prompt: p.md, categories: [code], timeout_minutes: 5}]",
        ),
        ("  agents: [auto]", "  agents: [static]"),
        ("pipeline: []", "pipeline: [{name: security, agents: [claude], prompt: prompts/security.md}]"),
        ("approval: auto", "approval: required"),
        ("  extra: {}", "  extra: {types: {command: mypy src, blocking: true}}"),
        ("  extra: {}", '  extra: {scan: {command: "semgrep --sarif -o {report_dir}/s.sarif", sarif: s.sarif}}'),
        ("prompts: {}", "prompts: {review.system: {enabled: true}}"),
        ("database: null", "database: postgresql://host/burnish"),
        ("  trigger: completion", "  trigger: script_completion"),
        ("isolation:", 'isolation: {strategy: env_var, env: {TEST_DB: "test_{task}_{agent}_{cycle}"}}'),
    ],
)
def test_the_examples_in_the_comments_can_be_used(tmp_path: Path, line: str, example: str) -> None:
    lines = REFERENCE.splitlines()
    (number,) = (n for n, text in enumerate(lines) if text.startswith(line))
    lines[number] = example
    loaded(tmp_path, "\n".join(lines))


def test_the_lists_of_known_names_agree_with_the_types() -> None:
    assert tuple(AgentSection.model_fields["kind"].annotation.__args__) == KINDS  # type: ignore[union-attr]
    assert tuple(known_keys(("prompts",))) == PROMPTS
    assert tuple(known_keys(("roles",))) == ROLES


def test_a_check_can_name_a_report_of_every_format() -> None:
    assert set(REPORTS) == set(FILE_FORMATS), (
        "Add each format of FILE_FORMATS (checks/report_formats.py) to REPORTS (config/kinds.py), the keys of a check."
    )
    assert set(REPORTS) <= set(CheckEntry.model_fields), (
        "Add a field to CheckEntry (config/values.py) for each format of REPORTS (config/kinds.py)."
    )


def test_the_page_of_settings_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == settings_page(), (
        "run: .venv/bin/python -m burnish.config.docs_page > docs/settings.md"
    )


def test_the_page_says_what_every_setting_means() -> None:
    empty = [line for line in settings_page().splitlines() if line.startswith("| `") and line.endswith("|  |")]
    assert empty == []


@pytest.mark.parametrize(
    ("text", "budgets"),
    [
        ("{session_usd: 20, session_tokens: 1000, reserve: 5}", (15.0, 1000)),
        ("{session_usd: 20, session_tokens: 1000, reserve: 20%}", (16.0, 800)),
        ("{session_usd: 4, reserve: 5}", (0.0, None)),
        ("{reserve: 5}", (None, None)),
    ],
)
def test_a_run_that_stands_may_spend_what_the_reserve_leaves(
    tmp_path: Path, text: str, budgets: tuple[float | None, int | None]
) -> None:
    assert loaded(tmp_path, f"budget: {text}").budget.without_reserve() == budgets


@pytest.mark.parametrize("reserve", ["0", "-1", "100%", "0%", "much", "true", "[5]", ".inf", ".nan", "1e400"])
def test_a_reserve_is_an_amount_or_a_share(tmp_path: Path, reserve: str) -> None:
    with pytest.raises(BurnishError, match="a reserve is an amount above 0"):
        loaded(tmp_path, f"budget: {{reserve: {reserve}}}")
