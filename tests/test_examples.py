"""The `$ burnish …` lines of pages are run in a repository with tasks: none is refused as wrong usage, none fails."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from testing.lab import CRITIC, REJECT, Lab

ROOT = Path(__file__).parents[1]
_LINE = re.compile(r"^\$ burnish ([a-z].*)$", re.MULTILINE)

# What cannot be run here, by the begin of the line, with the reason.
NOT_RUN: dict[str, str] = {
    "run --watch": "it runs until it is ended",
    "pr": "it needs GitHub (a stand-in for gh is used in its own tests)",
    "review --pr": "it needs GitHub",
}
# Refusals and findings are answers, too: which tasks there are depends on the page. Wrong usage is not.
CODES = (0, 1, 4)
# The pages whose examples are run; the commands of the others are only parsed (tests/test_words.py).
PAGES = ("tasks.md", "decide.md", "export.md", "feedback.md", "budgets.md", "github.md")


def _pages() -> list[Path]:
    return [ROOT / "docs" / name for name in PAGES]


def _lines(page: Path) -> list[str]:
    return [line.rstrip() for line in _LINE.findall(page.read_text("utf-8"))]


def _reason(line: str) -> str:
    return next((why for begin, why in NOT_RUN.items() if line.startswith(begin)), "")


def _words(line: str) -> list[str]:
    """Without what belongs to the shell; tasks with other numbers are task 1."""
    words = shlex.split(re.split(r" [|>&] ?|;", line)[0], comments=True)
    return ["1" if re.fullmatch(r"[4-9]|\d\d+", word) and words[n] != "-j" else word for n, word in enumerate(words)]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """Task 1 is verified, task 2 is blocked with an open finding, task 3 waits."""
    lab = Lab.make(tmp_path_factory.mktemp("examples") / "lab")
    lab.add("Add division")
    lab.burnish("run")
    lab.agent("judge", REJECT)
    lab.add("Refuse zero weight", "--max-cycles", "1")
    lab.burnish("run", code=1)
    lab.agent("judge", CRITIC)
    lab.add("Sort the list")
    return lab


@pytest.mark.slow
@pytest.mark.parametrize("page", _pages(), ids=lambda page: page.name)
def test_the_examples_of_a_page_can_be_run(lab: Lab, page: Path) -> None:
    wrong = []
    for line in _lines(page):
        if _reason(line):
            continue
        answer = lab.apart(*_words(line), code=None, timeout=60)
        if answer.code not in CODES:
            wrong.append(f"{page.name}: {line}\n  exit code {answer.code}: {answer.err[-300:]}")
    assert not wrong, "\n".join(wrong)
