"""`make agents`: what it says of each program is what burnish knows of it, and its table tells lack from failure."""

from __future__ import annotations

import subprocess

import pytest

from burnish.agents.base import AgentSettings
from burnish.agents.registry import AGENTS, STOP_HOOKS
from burnish.config.kinds import CLI_KINDS
from testing.agent_samples import NAMES, request
from tools.agent_bench import Lacks
from tools.agent_extras import holds_up, speaks_acp
from tools.agent_page import cell, page, written_cells
from tools.agent_programs import APIS, PROGRAMS
from tools.agent_trials import API_TRIALS, TRIALS, resumes
from tools.agents import EVERY, trials_of

RUN = {name: program for name, program in PROGRAMS.items() if not program.unable}


def test_every_program_is_tried_or_says_why_not() -> None:
    assert set(PROGRAMS) == set(CLI_KINDS) & set(AGENTS), (
        "Add the program to PROGRAMS (tools/agent_programs.py); if it cannot be installed, with the reason as `unable`."
    )
    assert {name for name in PROGRAMS if AGENTS[name].verified} == set(RUN) == set(NAMES), (
        "A program without `unable` needs a sample (make agents ARGS=--record) and `verified` in its adapter."
    )
    assert {name for name, program in RUN.items() if program.at_work} == set(STOP_HOOKS), (
        "A program with a stop hook needs `at_work` in tools/agent_programs.py, and no other program has it."
    )


@pytest.mark.parametrize("name", RUN)
def test_who_goes_on_in_a_session_is_told_of_it(name: str) -> None:
    call = AGENTS[name].call(request(session="the-session"), AgentSettings("it", name, resume=True))
    assert any("the-session" in word for word in call.argv) == RUN[name].resumes


def test_what_a_program_lacks_is_said_and_not_tried() -> None:
    for trial in (holds_up, speaks_acp, resumes):
        with pytest.raises(Lacks):
            trial(PROGRAMS["aider"])


def test_without_a_program_only_a_reviewer_is_tried() -> None:
    assert set(API_TRIALS) < set(TRIALS)
    for label in EVERY:
        wanted = API_TRIALS if label.removeprefix("llm ") in APIS else TRIALS
        assert trials_of(label, []) == list(wanted)
    assert trials_of("llm Gemini", ["implements", "401"]) == ["401"]


def test_a_cell_tells_lack_failure_and_seconds_apart() -> None:
    good = {"good": True, "told": "1.5 s", "seconds": 4.2, "lacks": ""}
    assert cell("401", good) == "yes, 4.2 s" and cell("start-up", good) == "1.5 s"
    assert cell("acp", {**good, "lacks": "it does not speak it"}) == "– (it does not speak it)"
    assert cell("401", {**good, "good": False, "told": "a | b\nmore"}) == "**failed**: a / b"


def test_the_page_has_a_column_for_each_program_that_ran_and_a_word_for_each_that_did_not() -> None:
    trial = {"good": True, "told": "", "seconds": 1.0, "lacks": ""}
    results = {
        "claude": {"version": "1.2", "unable": "", "trials": {"401": trial}},
        "amp": {"version": "", "unable": "it talks to its own service only", "trials": {}},
        "llm Gemini": {"version": "", "unable": "", "trials": {"401": trial}},
    }
    text = page(results)
    assert "| trial | claude 1.2 |" in text and "| 401 | yes, 1.0 s |" in text
    assert "**amp** was not run: it talks to its own service only." in text
    assert "| trial of `llm` | Gemini |" in text


def test_the_newest_versions_have_a_table_of_their_own() -> None:
    trial = {"good": True, "told": "", "seconds": 1.0, "lacks": ""}
    results = {
        "claude": {"version": "1.2", "unable": "", "trials": {"401": trial}},
        "newest claude": {"version": "9.9.1", "unable": "", "trials": {"404": trial}},
    }
    text = page(results)
    assert "| trial | claude 1.2 |" in text and "| trial of the newest | claude 9.9.1 |" in text
    # and is found again on the page
    assert written_cells(text)["claude 9.9.1", "404"] == "yes, 1.0 s"
    assert trials_of("newest claude", ["401"]) == ["401"]


@pytest.mark.parametrize(
    ("printed", "version"), [('"2.1.400"', "2.1.400"), ('{"latest": "1.0.2"}', "1.0.2"), ("oops", ""), ('"-rf"', "")]
)
def test_the_newest_version_is_what_the_package_index_says(
    monkeypatch: pytest.MonkeyPatch, printed: str, version: str
) -> None:
    done = subprocess.CompletedProcess((), 0, printed, "")
    monkeypatch.setattr("tools.agent_programs.subprocess.run", lambda *args, **options: done)
    newest = PROGRAMS["claude"].newest()
    assert (newest.version if not newest.unable else "") == version
    assert PROGRAMS["amp"].newest() is PROGRAMS["amp"]


def test_a_result_of_another_machine_stays_on_the_page_until_the_trial_is_run_here() -> None:
    claude = f"claude {PROGRAMS['claude'].version}"
    written = written_cells(f"| trial | {claude} | codex 0 |\n| --- | --- | --- |\n| 401 | yes, 3.8 s | yes, 1 s |\n")
    found = {"good": True, "told": "9 of 9 tokens", "seconds": 2.0, "lacks": ""}
    text = page({"claude": {"version": PROGRAMS["claude"].version, "trials": {"money": found}}}, written)

    assert "| 401 | yes, 3.8 s |" in text and "| money | 9 of 9 tokens |" in text and "| 404 | not run |" in text
    # a column of another version is not kept
    assert "codex 0 " not in text


def test_a_newest_version_that_was_tried_elsewhere_stays_on_the_page_until_the_adapter_names_it() -> None:
    newer, older = "qwen 999.1", "qwen 0.0.1"
    row = "| 401 | yes, 3.8 s | yes, 9 s |\n"
    written = written_cells(f"| trial of the newest | {newer} | {older} |\n| --- | --- | --- |\n{row}")
    text = page({}, written)
    assert f"| trial of the newest | {newer} |" in text and older not in text
    assert "| 401 | yes, 3.8 s |" in text
