"""What a person sees who is to decide: the plan, what the reviewer changed, notes of the checks, unseen files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from burnish.cli.gate import screen
from burnish.features.decide.decisions import decision_view
from testing.at_hand import TOKEN, AtHand, at_hand
from testing.lab import APPROVE, AUTHOR, Lab

FIXES = """
text = app.read_text()
if "You may fix what you find" in prompt:
    app.write_text(text.replace("a / b  # BUG", "a / b if b else None"))
    print(verdict("approved", "guarded the division", [flaw, {**flaw, "title": "No docstring", "line": 3}]))
else:
    print(verdict("approved", "good"))
"""
PICTURES = AUTHOR + 'pathlib.Path("logo.png").write_bytes(bytes(range(256)))\n'


def page_of(server: AtHand) -> str:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    return str(server.client.get(f"/p/{server.project}/t/1", headers=headers).text)


def opened_tab(html: str) -> str:
    found = re.search(r'id="tab-(\w+)"[^>]*aria-selected="true"', html)
    return found[1] if found else ""


def look(lab: Lab) -> tuple[str, str]:
    """The page, and the gate on a terminal of 80 columns."""
    with at_hand(lab) as server:
        shown = decision_view(server.registry.open(server.project), 1).shown
        return page_of(server), "\n".join(screen(shown, room=80, colour=False))


@pytest.mark.slow
def test_the_gate_of_a_plan_shows_the_plan_and_speaks_of_no_commit(tmp_path: Path, hermetic: object) -> None:
    author = r'print("## Plan\n\n1. Guard the **division**.\n")'
    lab = Lab.make(tmp_path, author=author, extra="approval: required\n")
    lab.add("Plan it", "-t", "plan")
    lab.burnish("run", "1", code=None)
    page, terminal = look(lab)
    gate = page.partition('id="part-gate"')[2].partition("</section>")[0]
    assert "<li>Guard the <strong>division</strong>.</li>" in gate
    assert "not reviewed" not in gate and "View the changes" not in gate and ">commit <" not in gate
    assert opened_tab(page) == "story"
    assert "burnish show 1" in terminal and "Verdict" not in terminal and "burnish diff" not in terminal
    assert lab.burnish("show", "1").out.count("Guard the **division**") == 1


@pytest.mark.slow
def test_the_gate_tells_what_the_reviewer_fixed_and_that_nothing_was_tested(tmp_path: Path, hermetic: object) -> None:
    settings = "review: {agents: [judge], may_fix: true}\napproval: required\n"
    lab = Lab.make(tmp_path, judge=FIXES, extra=settings)
    lab.add()
    lab.burnish("run", "1", code=None)
    page, terminal = look(lab)
    gate = page.partition('id="part-gate"')[2].partition("</section>")[0]
    assert "fixed, 2 issues" in gate and "guarded the division" in gate and "No docstring" in gate
    assert "Fixed F1, F2: guarded the division" in page, "in the story, too"
    for text in (gate, terminal):
        assert "nothing was tested" in text


@pytest.mark.slow
def test_unseen_files_are_named_once_in_words_and_once_in_the_list(tmp_path: Path, hermetic: object) -> None:
    lab = Lab.make(tmp_path, author=PICTURES, judge=APPROVE, extra="approval: required\n")
    lab.add()
    lab.burnish("run", "1", code=None)
    gate = look(lab)[0].partition('id="part-gate"')[2].partition("</section>")[0]
    assert gate.count("logo.png") == 2


def test_a_task_without_changes_opens_its_story_and_says_it_once(tmp_path: Path, hermetic: object) -> None:
    lab = Lab.make(tmp_path, author='print("It exists already in lib/math.py.")')
    lab.add()
    lab.burnish("run", "1", code=1)
    with at_hand(lab) as server:
        page = page_of(server)
    head = page.partition('id="part-head"')[2].partition("</header>")[0]
    assert head.count("The agent changed nothing.") == 1 and "It exists already in lib/math.py." in head
    assert opened_tab(page) == "story"


@pytest.mark.slow
def test_at_the_gate_a_question_is_answered_by_a_button_of_that_name(tmp_path: Path, hermetic: object) -> None:
    judge = 'print(verdict("needs_discussion", "Should zero give None?"))'
    lab = Lab.make(tmp_path, judge=judge, extra="review: {agents: [judge]}\nhitl_review: every\n")
    lab.add()
    lab.burnish("run", "1", code=None)
    page, _ = look(lab)
    gate = page.partition('id="part-gate"')[2].partition("</section>")[0]
    assert ">Send the answer <kbd" in gate and "Request changes" not in gate
    assert "The reviewer asks you on cycle 1" in gate
    assert '<span class="question">Should zero give None?</span>' in gate
    # one text field explains an approval against the review, too
    assert gate.count("<textarea") == 1
