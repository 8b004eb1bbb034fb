"""Settings of spec-runner, spec-kitty, automaker, gza and the review service lead to ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.config import load
from burnish.config.problems import NAMES_HERE, known_keys
from burnish.errors import BadInput


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("review: {max_revisions: 3}", "That is review.max_cycles here."),
        ("review: {test_command: pytest}", "That is checks.test here."),
        ("review: {concurrent_isolation: {}}", "That is isolation.strategy here."),
        ("defaults: {max_review_cycles: 3}", "That is review.max_cycles here."),
        ("task_types: {implement: {max_review_cycles: 3}}", "That is task_types.implement.max_cycles here."),
        ("task_timeout_minutes: 30", "That is task_types.implement.timeout_minutes here."),
        ("maxIterations: 3", "That is review.max_cycles here."),
        ("lint_fix_command: ruff --fix", "That is checks.lint_fix here."),
        ("verify_command: make test", "That is checks.test here."),
        ("review: {include_git_diff: true}", "That is review.context.git_diff here."),
        ("review: {include_session_log: true}", "That is review.context.session_log here."),
        ("executor: {hitl_review: true}", "Its settings are top-level keys here: hitl_review"),
        ("max_concurrency: 3", "burnish run --all -j N"),
        ("useWorktrees: true", "Each task has a workspace of its own"),
    ],
)
def test_a_setting_of_another_tool_is_named_as_it_is_called_here(tmp_path: Path, text: str, hint: str) -> None:
    (tmp_path / "burnish.yaml").write_text(text)
    with pytest.raises(BadInput) as caught:
        load(tmp_path, env={"XDG_CONFIG_HOME": str(tmp_path / "none")})
    assert hint in caught.value.hint


def test_every_setting_that_is_named_exists() -> None:
    for target in NAMES_HERE.values():
        *section, last = target.split(".")
        assert last in known_keys(tuple(section)), target
