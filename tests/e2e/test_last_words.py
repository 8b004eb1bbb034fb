"""What an agent says at its end reaches the person."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.lab import Lab

REFUSES = 'print("I looked around.\\n\\nI will not do this: the licence of app.py forbids changes.")'


def test_a_refusal_stands_in_the_reason_and_on_the_page_of_the_task(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=REFUSES)
    lab.add()
    lab.burnish("run", code=1)
    task = lab.show(1)
    assert (task["status"], task["reason"]) == ("blocked", "no_changes")
    assert "the licence of app.py forbids changes" in task["note"]
    assert "the licence of app.py forbids changes" in lab.burnish("inbox").out.replace("\n    ", " ")
    assert "I looked around." in lab.burnish("show", "1").out
    assert task["cycles"][0]["last_words"].endswith("forbids changes.")


@pytest.mark.long
def test_an_agent_that_found_nothing_to_do_is_first_given_a_clearer_description(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=REFUSES)
    lab.add()
    lab.burnish("run", code=1)
    [entry] = lab.burnish("inbox", "--json").json["inbox"]
    assert entry["command"] == 'burnish edit 1 -d "…"'
    page = lab.burnish("show", "1").out
    assert page.index('Next: burnish edit 1 -d "…"') < page.index("burnish retry 1")
    assert "Next: burnish retry 1" in lab.burnish("edit", "1", "-d", "Divide, in a new file.").err


@pytest.mark.long
def test_an_author_that_fixes_nothing_is_quoted_with_the_reason(tmp_path: Path) -> None:
    author = """
if phase == "implement":
    app.write_text(app.read_text() + "def div(a, b):\\n    return a / b  # BUG\\n")
else:
    print("Division by zero is handled by the caller.")
"""
    lab = Lab.make(tmp_path, author=author)
    lab.add()
    lab.burnish("run", code=1)
    task = lab.show(1)
    assert task["reason"] == "stalled" and "handled by the caller" in task["note"]


@pytest.mark.long
def test_long_last_words_are_cut_at_their_beginning(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author='print("word " * 5000 + "The end says why.")')
    lab.add()
    lab.burnish("run", code=1)
    task = lab.show(1)
    assert task["note"].endswith("The end says why.") and len(task["note"]) < 500
    assert len(task["cycles"][0]["last_words"]) < 2200
