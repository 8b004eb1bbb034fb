"""A switch turned in a file that somebody wrote: that one setting changes, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.config.editing import with_setting, without_setting
from burnish.config.sources import parse_yaml
from burnish.errors import BadInput

KEY = ("prompts", "review.system", "enabled")

FILES = {
    "": "prompts:\n  review.system: {enabled: false}\n",
    "# only words\n": "# only words\nprompts:\n  review.system: {enabled: false}\n",
    "agent: x": "agent: x\nprompts:\n  review.system: {enabled: false}\n",
    "agent: x  # mine\n\n# end\n": "agent: x  # mine\n\n# end\nprompts:\n  review.system: {enabled: false}\n",
    "prompts: {}  # none\nagent: x\n": "prompts: {review.system: {enabled: false}}  # none\nagent: x\n",
    "prompts:\nagent: x\n": "prompts: {review.system: {enabled: false}}\nagent: x\n",
    "prompts: ~ # no\n": "prompts: {review.system: {enabled: false}} # no\n",
    "prompts: {fix.template: {enabled: true}}\n": (
        "prompts: {review.system: {enabled: false}, fix.template: {enabled: true}}\n"
    ),
    "prompts:\n    # this one\n    fix.template: {enabled: true}\n": (
        "prompts:\n    # this one\n    review.system: {enabled: false}\n    fix.template: {enabled: true}\n"
    ),
    "prompts:\n  review.system:\n    enabled: true # keep\n": (
        "prompts:\n  review.system:\n    enabled: false # keep\n"
    ),
    "prompts: {review.system: {enabled: true}} # x\n": "prompts: {review.system: {enabled: false}} # x\n",
    "prompts:\n  review.system:\n": "prompts:\n  review.system: {enabled: false}\n",
    "prompts:\n  review.system: {}\n": "prompts:\n  review.system: {enabled: false}\n",
    "prompts:\r\n  review.system:\r\n    enabled: yes\r\n": "prompts:\r\n  review.system:\r\n    enabled: false\r\n",
    "{agent: x}\n": "{prompts: {review.system: {enabled: false}}, agent: x}\n",
}


@pytest.mark.parametrize("text", FILES)
def test_the_switch_is_turned_where_a_person_would_turn_it(text: str) -> None:
    assert with_setting(text, KEY, False, "burnish.yaml") == FILES[text]


@pytest.mark.parametrize(
    "text",
    [
        "base: &b {review.system: {enabled: true}}\nprompts: *b\n",  # would change what the anchor means elsewhere
        "agent: x\n...\n",
        "prompts: [1]\n",
    ],
)
def test_what_it_cannot_do_safely_it_leaves_to_a_person(text: str) -> None:
    with pytest.raises(BadInput) as refused:
        with_setting(text, KEY, False, "burnish.yaml")
    assert "prompts: {review.system: {enabled: false}}" in refused.value.hint


LINES = st.lists(
    st.sampled_from(
        [
            "agent: claude  # the one",
            "# a word",
            "",
            "review:\n  max_cycles: 3   # three\n  agents:\n  - a\n  - {agent: b}",
            "checks: {test: 'pytest  -q', lint: null}",
            "commit:\n    message: |\n      line one\n\n      # no comment",
            "budget: {task_usd: 1.50}",
        ]
    ),
    max_size=6,
    unique_by=lambda line: line.split(":")[0] if ":" in line else object(),
)
OWN = st.sampled_from(
    [
        "",
        "prompts:",
        "prompts: {}",
        "prompts:\n  fix.template:\n    enabled: false  # slow",
        "prompts: {review.system: {enabled: true}}",
    ]
)


@given(LINES, OWN, LINES, st.booleans())
def test_nothing_else_is_touched(before: list[str], own: str, after: list[str], value: bool) -> None:
    seen = {line.split(":")[0] for line in before if ":" in line}
    after = [line for line in after if line.split(":")[0] not in seen]
    text = "\n".join([*before, own, *after]) + "\n"
    changed = with_setting(text, KEY, value, "burnish.yaml")
    was, now = parse_yaml(text, "a")[0], parse_yaml(changed, "b")[0]
    assert now["prompts"]["review.system"]["enabled"] is value
    assert {k: v for k, v in now.items() if k != "prompts"} == {k: v for k, v in was.items() if k != "prompts"}
    for line in "\n".join([*before, *after]).splitlines():
        assert line in changed
    assert with_setting(changed, KEY, value, "burnish.yaml") == changed


BLOCKS = """\
# mine
review:
  block_on:
    - error
    - warning  # both
  max_cycles: 2
defaults:
  note: |
    two
    lines

agent: claude
"""


def test_values_of_several_lines_are_replaced_and_removed_and_the_rest_stays() -> None:
    listed = with_setting(BLOCKS, ("review", "block_on"), ["error"], "config.yaml")
    assert listed == BLOCKS.replace("\n    - error\n    - warning", ' ["error"]')
    text = with_setting(BLOCKS, ("defaults", "note"), "one", "config.yaml")
    assert text == BLOCKS.replace("|\n    two\n    lines", '"one"')
    gone = without_setting(BLOCKS, ("review", "block_on"), "config.yaml")
    assert gone == BLOCKS.replace("  block_on:\n    - error\n    - warning  # both\n", "")


def test_a_value_with_comments_between_its_lines_is_left_to_its_author() -> None:
    text = BLOCKS.replace("    - error\n", "    # because\n    - error\n")
    with pytest.raises(BadInput, match="does not change by itself"):
        with_setting(text, ("review", "block_on"), ["error"], "config.yaml")
    with pytest.raises(BadInput, match="does not change by itself"):
        without_setting(text, ("review", "block_on"), "config.yaml")
