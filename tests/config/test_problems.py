from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from burnish.config import load
from burnish.errors import BadInput, BurnishError
from testing.long_forms import examples


def refused(root: Path, text: str) -> BadInput:
    (root / "burnish.yaml").write_text(text)
    with pytest.raises(BadInput) as caught:
        load(root, env={"XDG_CONFIG_HOME": str(root / "none")})
    assert caught.value.hint
    assert "\n" not in caught.value.what + caught.value.hint
    return caught.value


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ("reviw: {}", "burnish.yaml:1: unknown setting reviw.", "Did you mean review?"),
        ("a: 1\nreview:\n  max_cycle: 3", "burnish.yaml:1: unknown setting a.", "Known here: agent, agents"),
        (
            "review:\n\n  max_cycle: 3",
            "burnish.yaml:3: unknown setting review.max_cycle.",
            "Did you mean review.max_cycles?",
        ),
        ("max_cycles: 3", "burnish.yaml:1: unknown setting max_cycles.", "Did you mean review.max_cycles?"),
        ("workspace: {copies: []}", "unknown setting workspace.copies.", "Did you mean workspace.copy?"),
        (
            "review:\n  agents:\n  - static\n  - {agent: x, modle: y}",
            "burnish.yaml:4: unknown setting review.agents.1.modle.",
            "review.agents.1.model?",
        ),
        (
            "agents:\n  claude:\n    modle: x",
            "burnish.yaml:3: unknown setting agents.claude.modle.",
            "Did you mean agents.claude.model?",
        ),
        (
            "checks:\n  extra:\n    types: {comand: mypy}",
            "burnish.yaml:3: unknown setting checks.extra.types.comand.",
            "checks.extra.types.command?",
        ),
        ("roles: {parze: {agent: llm}}", "unknown setting roles.parze.", "Did you mean roles.parse?"),
        ("review: {review_model: x}", "unknown setting review.review_model.", "Did you mean review.model?"),
        ("review_model: x", "unknown setting review_model.", "Did you mean review.model?"),
        ("roles: {review: {review_model: x}}", "roles.review.review_model.", "Did you mean roles.review.model?"),
        (
            "task_types: {plan: {reviewModel: x}}",
            "unknown setting task_types.plan.reviewModel.",
            "Did you mean task_types.plan.review_model?",
        ),
        ("prompts: {review.sistem: {}}", "unknown setting prompts.review.sistem.", "prompts.review.system?"),
    ],
)
def test_an_unknown_key_is_named_with_its_line_and_a_better_one(
    tmp_path: Path, text: str, what: str, hint: str
) -> None:
    error = refused(tmp_path, text)
    assert what in error.what
    assert hint in error.hint


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ("review:\n  max_cycles: true", "burnish.yaml:2: review.max_cycles cannot be True.", "Write a whole number."),
        ("review: {max_cycles: 0}", "cannot be 0", "Write 1 or more"),
        ("review: {max_cycles: '3'}", "cannot be '3'", "Write a whole number."),
        ("review: {required: 'yes'}", "cannot be 'yes'", "Write true or false."),
        ("review: {model: 4.1}", "cannot be 4.1", 'Put it in quotes: "4.1".'),
        ("review: {quorum: most}", "cannot be 'most'", "Write 'all', 'majority' or 'any'."),
        ("review: {agents: []}", "review.agents cannot be []", "may not be empty"),
        ("review: {agents: static}", "review.agents cannot be 'static'", "Write a list"),
        ("review: 3", "review cannot be 3", "Write keys below it: required,"),
        ("merge: {on_moved: rechek}", "cannot be 'rechek'", "Did you mean recheck?"),
        ("hitl_review: maybe", "cannot be 'maybe'", "Write false, true, 'every' or 'final'."),
        ("hitl_review: yes", "cannot be 'yes'", "Did you mean true?"),
        ("hitl_review: no", "cannot be 'no'", "Did you mean false?"),
        ("agents: {robot: {argv: [x]}}", "agents.robot.kind is missing", "kind: command"),
        ("agents: {robot: }", "agents.robot", ""),
        ("agents: {robot: {kind: command}}", "needs argv", ""),
        ("agents: {'a b': {kind: claude}}", "'a b' is not a name for agents", "letters"),
        ("checks: {test: 5}", "checks.test cannot be 5", "command"),
        ("checks: {test: {command: []}}", "a command is a string for the shell, or a list of words", ""),
        ("checks: {lint: ''}", "checks.lint is wrong: it is empty: write a command, or `off` to run none", ""),
        ("checks: {test: {command: x, junit: a, tap: b}}", "one report", ""),
        ("checks: {extra: {lint: x}}", "lint is a check of its own", ""),
        ("checks: {extra: {types: {blocking: false}}}", "checks.extra.types.command is missing", ""),
        ("checks: {extra: {types: auto}}", "only test and lint can be auto", ""),
        ("pipeline: [{agents: [claude]}]", "pipeline.0.name is missing", ""),
        ("budget: {task_usd: .nan}", "budget.task_usd cannot be nan", ""),
        ("checks: {test: {run: x, cwd: ../other}}", "a folder of the repository", ""),
        ("checks: {test: {run: x, cwd: /tmp}}", "a folder of the repository", ""),
        ("checks: {test: {run: x, command: y}}", "two names of one setting", ""),
        ("isolation: {env: {A: true}}", "isolation.env.A cannot be True", "quotes"),
    ],
)
def test_a_wrong_value_is_one_line_what_and_one_line_what_to_do(
    tmp_path: Path, text: str, what: str, hint: str
) -> None:
    error = refused(tmp_path, text)
    assert what in error.what
    assert hint in error.hint
    assert error.exit_code == 2


@pytest.mark.parametrize(
    ("text", "what"),
    [("notify: {quiet_hours: late}", "22:00-07:00"), ("database: mysql://x", "postgresql://")],
)
def test_a_wrong_value_of_what_only_a_user_may_set(tmp_path: Path, text: str, what: str) -> None:
    (tmp_path / "burnish").mkdir()
    (tmp_path / "burnish" / "config.yaml").write_text(text)
    with pytest.raises(BadInput, match=what):
        load(None, env={"XDG_CONFIG_HOME": str(tmp_path)})


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("agent: a\nagent: b\n", 'burnish.yaml:2 is not valid YAML: found duplicate key "agent".'),
        ("review:\n  model: a\n  model: b\n", 'burnish.yaml:3 is not valid YAML: found duplicate key "model".'),
        ("agent: [a\nreview: b\n", "burnish.yaml:2 is not valid YAML"),
        ("agent:\n\tb: c\n", "burnish.yaml:2 is not valid YAML"),
        ("agent: !!python/name:os.system\n", "burnish.yaml:1 is not valid YAML"),
        ("agent: a\x00b\n", "is not valid YAML"),
        ("- a\n", "holds no settings"),
        ("words\n", "holds no settings"),
        ("1: 2\n", "not text: 1"),
        ("agents: &a {b: *a}\n", "nested too deep"),
        (
            "a: &a [x, x, x, x, x, x, x, x, x]\n"
            + "".join(
                f"{new}: &{new} [{', '.join(['*' + old] * 9)}]\n" for old, new in zip("abcdef", "bcdefg", strict=True)
            ),
            "more than 3000 entries",
        ),
        ("agent: a\n---\nagent: b\n", "is not valid YAML"),
        ("x" * 1_000_001, "larger than 1 MB"),
    ],
)
def test_a_file_that_is_no_yaml_is_refused_with_its_line(tmp_path: Path, text: str, what: str) -> None:
    assert what in refused(tmp_path, text).what


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "burnish.yaml").write_bytes(b"agent: \xff\n")
    with pytest.raises(BadInput, match="not UTF-8"):
        load(tmp_path, env={})


KEYS = st.sampled_from(
    [
        "agent",
        "agents",
        "claude",
        "review",
        "checks",
        "test",
        "extra",
        "max_cycles",
        "model",
        "pipeline",
        "kind",
        "argv",
        "roles",
        "prompts",
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 9) | st.floats() | st.text("ab:{}[]#&*! '\"\n-", max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_whatever_is_written_is_either_settings_or_an_error_in_words(tmp_path: Path, data: dict[str, object]) -> None:
    import json

    (tmp_path / "burnish.yaml").write_text(json.dumps(data))
    try:
        config = load(tmp_path, env={"XDG_CONFIG_HOME": str(tmp_path / "none")})
    except BurnishError as error:
        assert error.what and error.hint
    else:
        assert all(origin for _, _, origin in config.items())


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("review: {max_cycles: 0}", "Write 1 or more."),
        ("review: {max_cycles: 1.5}", "Write a whole number."),
        ("review: {max_cycles: x}", "Write a whole number."),
        ("output_cap_mb: 0", "Write more than 0."),
        ("output_cap_mb: .nan", "Write a number."),
        ("output_cap_mb: much", "Write a number."),
    ],
)
def test_numbers_are_asked_for_in_plain_words(tmp_path: Path, text: str, hint: str) -> None:
    assert refused(tmp_path, text).hint == hint


def test_a_misspelt_variable_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"^BURNISH__REVEW__MAX_CYCLES: unknown setting revew"):
        load(tmp_path, env={"XDG_CONFIG_HOME": str(tmp_path), "BURNISH__REVEW__MAX_CYCLES": "2"})
