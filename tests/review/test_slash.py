"""A review through a slash command: its words around the request, and the form of the answer last."""

from __future__ import annotations

from burnish.review.context import wrap_in_command

HEAD = "---\ndescription: x\nallowed-tools: Bash(git diff:*)\n---\n"
REQUEST = "Judge this: $ARGUMENTS and $1\n\n## Output\n\nnumber 1a2b\n"
LAST = "## Output\n\nnumber 1a2b\n"


def test_the_request_stands_in_its_place_and_is_not_looked_into() -> None:
    whole = wrap_in_command(f"{HEAD}\nReview it.\n\n$ARGUMENTS\n", REQUEST, last=LAST)
    assert whole == f"Review it.\n\n{REQUEST}"


def test_what_comes_after_it_does_not_have_the_last_word() -> None:
    whole = wrap_in_command(
        f"{HEAD}Given:\n$ARGUMENTS\nEnd with VERDICT: yes.\nAgain: $ARGUMENTS\n", REQUEST, last=LAST
    )
    assert whole.count("Judge this") == 1
    assert whole.index("VERDICT: yes") < whole.rindex("number 1a2b")
    assert whole.endswith(LAST)
    assert "Again: the request above" in whole


def test_a_command_without_a_place_comes_first() -> None:
    assert wrap_in_command("Be strict.\n", REQUEST, last=LAST) == f"Be strict.\n\n{REQUEST}"
    assert wrap_in_command(HEAD, REQUEST, last=LAST) == REQUEST


def test_only_a_head_at_the_very_beginning_is_taken_off() -> None:
    text = "Rules\n---\nkeep: this\n---\n$ARGUMENTS"
    assert wrap_in_command(text, REQUEST, last=LAST).startswith("Rules\n---\nkeep: this\n---\n")
