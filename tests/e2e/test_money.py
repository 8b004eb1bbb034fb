"""Budgets of a task, a run and an agent: reached means blocked, with all that was done kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.core.budget import Limit
from testing.lab import Lab
from testing.program import PROGRAM, put_on_path, spender


@pytest.mark.representatives(1)
@pytest.mark.parametrize(
    ("settings", "argv", "name", "phases"),
    [
        ("budget: {task_usd: 0.5}", (), "budget.task_usd", ["implement", "review"]),
        ("budget: {task_tokens: 200}", (), "budget.task_tokens", ["implement", "review"]),
        ("budget: {session_usd: 0.3}", (), "budget.session_usd", ["implement", "review"]),
        ("", ("--budget", "0.25"), "budget.session_usd", ["implement"]),
        ("budget: {session_tokens: 300}", (), "budget.session_tokens", ["implement", "review", "improve"]),
        ("agents: {claude: {budget_usd: 0.6}}", (), "agents.claude.budget_usd", ["implement", "review", "improve"]),
    ],
)
def test_a_budget_that_is_reached_blocks_and_keeps_the_work(
    tmp_path: Path, settings: str, argv: tuple[str, ...], name: str, phases: list[str]
) -> None:
    lab = Lab.make(tmp_path)
    put_on_path(lab, settings)
    lab.add()
    lab.burnish("run", "1", *argv, code=1)

    task = lab.task()
    assert (task["status"], task["reason"], task["cost_usd"]) == ("blocked", "budget", 0.25 * len(phases))
    (reached,) = lab.events("budget.reached")
    assert name in reached["data"]["why"]
    done = [e["data"]["phase"] for e in lab.events("phase.finished") if e["data"]["phase"] != "check"]
    assert done == phases
    assert "BUG" in lab.text(task["branch"]) or "improve" in phases


def test_a_budget_of_the_run_that_is_reached_ends_the_run_once_and_blocks_no_task_that_waits(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    put_on_path(lab, "")
    for number in range(4):
        lab.add(f"Task {number}")
    said = lab.burnish("run", "--all", "--budget", "0.25", code=1)
    assert [lab.task(number)["status"] for number in (1, 2, 3, 4)] == ["blocked", "backlog", "backlog", "backlog"]
    assert len(lab.events("budget.reached")) == 1
    assert said.err.count("This run has cost $0.25 of $0.25 (budget.session_usd). No further task is started.") == 1
    assert "The budget of this run is used up. 3 tasks not started. `burnish run` continues." in said.err
    assert lab.burnish("run", "--all", "--budget", "0.25", "--json", code=1).json["ended_by"] == "budget"


def test_a_run_that_stands_leaves_the_reserve_and_ends_then(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    put_on_path(lab, "budget: {session_usd: 0.5, reserve: 50%}")
    lab.add("First")
    lab.add("Second")
    said = lab.burnish("run", "--watch", code=1)
    assert "of $0.25 (budget.session_usd minus budget.reserve). No further task is started." in said.err
    assert [lab.task(number)["status"] for number in (1, 2)] == ["blocked", "backlog"]
    # a run that a person starts may use all of it
    assert "of $0.50 (budget.session_usd)" in lab.burnish("run", "--all", code=1).err
    lab.commit_settings(lab.repo.git("show", "HEAD:burnish.yaml").replace("50%", "0.5"))
    assert "leaves nothing" in lab.burnish("run", "--watch", code=4).err


@pytest.mark.long
def test_what_was_done_is_not_paid_again_with_a_new_budget(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    put_on_path(lab, "agents: {claude: {budget_usd: 0.5}}")
    lab.add()
    lab.burnish("run", "1", code=1)
    assert (lab.task()["status"], lab.task()["reason"]) == ("blocked", "budget")
    lab.burnish("retry", "1")  # a run of its own: the agent's budget begins anew
    assert (lab.task()["status"], lab.task()["cost_usd"]) == ("verified", 1.0)


@pytest.mark.long
def test_four_fifths_are_told_once(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    put_on_path(lab, "budget: {task_usd: 0.6, session_usd: 0.62}\nagents: {claude: {budget_usd: 0.61}}")
    lab.add()
    said = lab.burnish("run", "1", code=1)
    warned = [e["data"]["budget"] for e in lab.events("budget.warned")]
    assert warned == ["budget.task_usd", "budget.session_usd", "agents.claude.budget_usd"]
    assert "Budget: the task has cost $0.50 of $0.60" in said.err
    assert "$0.75" in lab.burnish("status").out


# a program's own cost with token counts that are refused, or that are missing
REFUSED_COUNTS = {
    "1e3": '"input_tokens": 1e3',
    "negative": '"input_tokens": -90',
    "text": '"input_tokens": "90"',
    "huge": '"input_tokens": 10**12',
    "cache": '"input_tokens": 90, "cache_read_input_tokens": 1e9',
    "missing": '"other": 90',
}


@pytest.mark.representatives(1)
@pytest.mark.parametrize("count", REFUSED_COUNTS)
@pytest.mark.parametrize("budget", ["task_tokens", "session_tokens"])
def test_a_token_budget_that_refused_counts_make_too_low_is_announced_once(
    tmp_path: Path, count: str, budget: str
) -> None:
    lab = Lab.make(tmp_path)
    text = PROGRAM.replace('"input_tokens": 90', REFUSED_COUNTS[count])
    put_on_path(lab, f"budget: {{{budget}: 500}}", text)
    lab.add()
    said = lab.burnish("run", "1")

    (warned,) = lab.events("budget.warned")
    assert (warned["data"]["budget"], warned["data"]["uncounted"]) == (f"budget.{budget}", True)
    assert "cannot be counted" in warned["data"]["why"] and warned["data"]["why"] in said.err
    assert (lab.task()["status"], lab.task()["cost_usd"]) == ("verified", 1.0)


def test_a_token_budget_that_must_be_counted_ends_a_task_whose_program_reports_no_whole_numbers(
    tmp_path: Path,
) -> None:
    lab = Lab.make(tmp_path)
    text = PROGRAM.replace('"input_tokens": 90', '"input_tokens": 1e3')
    put_on_path(lab, "budget: {task_tokens: 500, uncounted: refuse}", text)
    lab.add()
    lab.burnish("run", "1", code=1)

    assert (lab.task()["status"], lab.task()["reason"], lab.task()["cost_usd"]) == ("blocked", "budget", 0.25)
    (reached,) = lab.events("budget.reached")
    assert "budget.task_tokens cannot be counted" in reached["data"]["why"]


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Agents at work are looked at ten times a second instead of every other."""
    monkeypatch.setattr("burnish.proc.run._LOOK_EVERY", 0.1)


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.usefixtures("often")
@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ("budget: {task_usd: 0.8}", "budget.task_usd"),
        ("budget: {task_tokens: 32000}", "budget.task_tokens"),
        ("budget: {session_usd: 0.8}", "budget.session_usd"),
        ("budget: {session_tokens: 32000}", "budget.session_tokens"),
        ("agents: {claude: {budget_usd: 0.8}}", "agents.claude.budget_usd"),
    ],
)
def test_an_agent_that_passes_a_budget_is_ended_at_work_and_nothing_is_lost(
    tmp_path: Path, settings: str, name: str
) -> None:
    lab = Lab.make(tmp_path)
    put_on_path(lab, settings, spender("implement"))
    lab.add()
    said = lab.burnish("run", "1", code=1)

    task = lab.task()
    assert (task["status"], task["reason"], task["error"]) == ("blocked", "budget", None)
    (reached,), (warned,) = lab.events("budget.reached"), lab.events("budget.warned")
    assert name in reached["data"]["why"] and warned["data"]["budget"] == name
    assert warned["id"] < reached["id"]
    # what was spent is known, and it is not the twenty-five dollars that were coming
    assert 0.75 < task["cost_usd"] < 10 and task["tokens"] == round(task["cost_usd"] * 40_000)
    (ref,) = lab.refs("refs/burnish/rescue")
    assert lab.text(ref, "half.py") == "half = 1"
    assert lab.processes() == []
    assert "Budget:" in said.err


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("settings", ["budget: {session_usd: 3}", "agents: {claude: {budget_usd: 3}}"])
def test_four_agents_at_work_share_the_budget_of_a_run(tmp_path: Path, settings: str) -> None:
    lab = Lab.make(tmp_path)
    put_on_path(lab, settings, spender("implement"))
    for number in range(4):
        lab.add(f"Task {number}")
    lab.burnish("run", "--all", "-j", "4", code=1)

    costs = [lab.task(number)["cost_usd"] or 0 for number in (1, 2, 3, 4)]
    # counted each by itself, none would have ended before it had cost three dollars
    assert sum(costs) >= 3 and min(costs) < 3
    assert {lab.task(number)["status"] for number in (1, 2, 3, 4)} <= {"blocked", "backlog"}
    assert lab.processes() == []


@pytest.mark.slow
def test_agents_that_spend_fast_pass_the_budget_of_a_run_by_what_each_reports_at_once(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    put_on_path(lab, "budget: {session_usd: 1.5}", spender("implement").replace("time.sleep(0.3)", "time.sleep(0.4)"))
    for number in range(4):
        lab.add(f"Task {number}")
    lab.burnish("run", "--all", "-j", "4", code=1)

    # each reports $0.25 at once, and once more before it is ended; every two seconds would have been up to $5 more
    assert 1.5 <= sum(lab.task(number)["cost_usd"] or 0 for number in (1, 2, 3, 4)) <= 1.5 + 2 * 4 * 0.25
    assert lab.processes() == []


@pytest.mark.long
@pytest.mark.usefixtures("often")
def test_with_more_money_it_goes_on_and_is_told_of_what_was_rescued(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    put_on_path(lab, "budget: {task_usd: 0.5}", spender("implement"))
    lab.add()
    lab.burnish("run", "1", code=1)
    spent = lab.task()["cost_usd"]
    put_on_path(lab, "budget: {task_usd: 50}")
    lab.burnish("retry", "1")
    assert (lab.task()["status"], lab.task()["cost_usd"]) == ("verified", pytest.approx(spent + 1.0))
    prompts = [e["data"].get("call_dir", "") for e in lab.events("phase.finished")]
    assert "refs/burnish/rescue/1-1-implement" in (Path(prompts[0]) / "prompt.md").read_text()


@pytest.mark.long
@pytest.mark.usefixtures("often")
def test_a_reviewer_that_passes_a_budget_blocks_the_task_and_leaves_the_work(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    panel = "review: {agents: [claude, {agent: claude, model: other}], quorum: any}"
    put_on_path(lab, f"budget: {{task_usd: 1.5}}\n{panel}", spender("review"))
    lab.add()
    lab.burnish("run", "1", code=1)
    task = lab.task()
    assert (task["status"], task["reason"]) == ("blocked", "budget")
    assert "BUG" in lab.text(task["branch"])
    failed = [e["data"] for e in lab.events("phase.failed")]
    assert [(f["phase"], f["error"]) for f in failed] == [("review", "BUDGET")]
    # both reviewers were at work: what they spent is counted together
    assert task["cost_usd"] == pytest.approx(0.25 + failed[0]["cost_usd"]) and failed[0]["cost_usd"] >= 1.25
    assert lab.processes() == []


def test_a_limit_speaks_in_its_own_unit() -> None:
    assert Limit("budget.task_usd", "the task", 0.8, 1.0).near
    assert not Limit("budget.task_usd", "the task", 0.79, 1.0).near
    tokens = Limit("budget.task_tokens", "the task", 10, 10, tokens=True)
    assert tokens.reached and tokens.words == "the task has used 10 of 10 tokens (budget.task_tokens)"


LIAR = """
import json, os
{program}
if os.environ["BURNISH_PHASE"] != "check":
    print(json.dumps({{"type": "result", "result": result["result"], "session_id": "one", "total_cost_usd": {cost},
                      "structured_output": result.get("structured_output")}}))
"""


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("cost", ["-1000", "float('nan')", "float('-inf')", "10 ** 400", "0"])
def test_a_forged_result_line_does_not_get_around_a_budget(tmp_path: Path, cost: str) -> None:
    lab = Lab.make(tmp_path)
    put_on_path(lab, "budget: {task_usd: 0.5}", LIAR.format(program=PROGRAM, cost=cost))
    lab.add()
    lab.burnish("run", "1", code=1)

    task = lab.task()
    assert (task["status"], task["reason"], task["cost_usd"]) == ("blocked", "budget", 0.5)
    assert task["cost_source"] == "program"
    assert "$0.50" in lab.burnish("cost").out


UNPRICED = PROGRAM.replace('"total_cost_usd": 0.25,', '"total_cost_usd": -1,')


@pytest.mark.slow
def test_an_unknown_cost_is_shown_as_unknown_on_every_screen_and_announced_once(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    put_on_path(lab, "budget: {task_usd: 0.5}", UNPRICED)
    lab.add()
    said = lab.burnish("run", "1", code=None)

    task, shown = lab.task(), lab.show()
    assert (task["cost_usd"], task["cost_source"]) == (None, "unknown")
    assert {p["cost_source"] for c in shown["cycles"] for p in c["phases"] if p["phase"] != "check"} >= {"unknown"}
    assert "cost unknown" in lab.burnish("status").out and "cost unknown" in lab.burnish("show", "1").out
    assert "  cost      unknown, " in lab.burnish("show", "1").out
    assert "cost unknown" in lab.burnish("cost").out and "$0.00" not in lab.burnish("cost").out
    assert [e["data"]["budget"] for e in lab.events("budget.warned")] == ["budget.task_usd"]
    assert "cannot be counted: claude reported no cost" in said.err


def test_a_budget_that_cannot_be_counted_is_noted_once_for_all_agents_of_a_task(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, extra="budget: {task_usd: 5}\n")
    lab.add()
    lab.burnish("run", "1", code=None)
    assert {call["agent"] for call in lab.calls()} == {"robot", "judge"}
    (warned,) = lab.events("budget.warned")
    assert warned["data"]["why"].startswith("budget.task_usd cannot be counted: robot reported no cost")


@pytest.mark.long
def test_a_call_without_a_cost_ends_a_task_whose_budget_must_be_counted(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    put_on_path(lab, "budget: {task_usd: 0.5, uncounted: refuse}", UNPRICED)
    lab.add()
    lab.burnish("run", "1", code=1)

    assert (lab.task()["status"], lab.task()["reason"]) == ("blocked", "budget")


COMMAND = "agent: mine\nagents: {mine: {kind: command, argv: [cat]}}\nreview: {agents: [mine]}\n"


@pytest.mark.representatives(1)
@pytest.mark.parametrize(
    ("budget", "argv", "name"),
    [
        ("budget: {task_usd: 1", (), "budget.task_usd cannot be counted for mine: command agents report no cost"),
        ("budget: {session_tokens: 9", (), "budget.session_tokens cannot be counted for mine"),
        ("budget: {task_usd: null", ("--budget", "5"), "--budget cannot be counted for mine"),
    ],
)
def test_a_budget_that_cannot_be_counted_is_announced_before_the_run_or_refused(
    tmp_path: Path, budget: str, argv: tuple[str, ...], name: str
) -> None:
    lab = Lab.make(tmp_path)
    lab.repo.commit({"burnish.yaml": f"{COMMAND}{budget}}}\n"}, "settings")
    lab.trust()
    lab.add()
    assert name in lab.burnish("run", "1", *argv, code=None).err
    before = len(lab.events())

    lab.repo.commit({"burnish.yaml": f"{COMMAND}{budget}, uncounted: refuse}}\n"}, "settings")
    lab.trust()
    lab.add()
    refused = lab.burnish("run", "2", *argv, code=4)
    assert name in refused.err and "uncounted" in refused.err
    assert not lab.events("run.started", task=2) and before


@pytest.mark.long
def test_nothing_is_announced_without_a_budget(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    lab.repo.commit({"burnish.yaml": COMMAND}, "settings")
    lab.trust()
    lab.add()
    assert "cannot be counted" not in lab.burnish("run", "1", code=None).err


@pytest.mark.long
def test_a_reviewer_that_failed_is_named_in_the_bill(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    put_on_path(lab, "")
    lab.repo.commit(
        {
            "burnish.yaml": "agent: claude\nagents: {judge: {kind: command, argv: [sh, -c, 'exit 3']}}\n"
            "review: {agents: [judge]}\nchecks: {test: null, lint: null}\n"
        },
        "settings",
    )
    lab.trust()
    lab.add()
    lab.burnish("run", "1", code=None)

    names = {line["agent"] for line in lab.burnish("cost", "--json").json["by_agent"]}
    assert "judge" in names and "unknown" not in names
