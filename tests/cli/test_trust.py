"""burnish trust and untrust, and how run and review ask for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.lab import APPROVE, Lab
from testing.terminal import terminal

MARKED = 'pathlib.Path(sys.argv[0]).with_name("robot-ran").touch()\n'
ADDS = MARKED + 'app.write_text(app.read_text() + "# more\\n")'


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    lab = Lab.make(tmp_path, author=ADDS, judge=MARKED.replace("robot", "judge") + APPROVE)
    lab.burnish("untrust")
    return lab


def started(lab: Lab) -> list[str]:
    return sorted(path.name for path in lab.root.glob("*-ran"))


def test_without_a_terminal_run_and_review_are_refused_with_what_to_type(lab: Lab) -> None:
    lab.add()
    lab.repo.write({"app.py": "x = 1\n"})
    for argv in (["run"], ["review"], ["run", "--all"], ["retry", "1"], ["improve", "1"], ["review", "--tests"]):
        err = lab.burnish(*argv, code=4).err
        assert "is not trusted. Nothing was run." in err and f"burnish -C {lab.repo.path} trust" in err
        assert err.count("\n") <= 4
        assert ("burnish review --no-tests" in err) == (argv[0] == "review")
    assert started(lab) == [] and lab.task()["status"] == "backlog"
    lab.burnish("trust")
    lab.burnish("run")
    assert started(lab) == ["judge-ran", "robot-ran"]


def test_the_report_is_for_people_and_for_programs(lab: Lab) -> None:
    text = lab.burnish("trust", "--show").out
    assert "is not trusted." in text and "agents.robot.argv" in text and "(burnish.yaml:3)" in text
    shown = lab.burnish("trust", "--show", "--json").json
    assert (shown["trusted"], shown["state"], shown["accepted"]) == (False, "untrusted", None)
    assert {one["key"] for one in shown["programs"]} >= {"agent", "agents.robot.argv", "review.agents"}
    assert lab.burnish("trust", "--json").json["trusted"] is True
    accepted = lab.burnish("trust", "--show", "--json").json["accepted"]
    assert accepted["how"] == "burnish trust" and accepted["by"].startswith("user:")
    assert "Already trusted" in lab.burnish("trust").out
    assert lab.burnish("untrust", "--json").json == {"root": str(lab.repo.path), "trusted": False, "was_trusted": True}
    assert lab.burnish("untrust", "--json").json["was_trusted"] is False


def test_a_change_asks_again_and_the_difference_is_shown(lab: Lab) -> None:
    lab.burnish("trust")
    lab.add()
    settings = lab.repo.path / "burnish.yaml"
    settings.write_text(settings.read_text() + "workspace: {setup: touch evil}\n")
    assert "have changed since they were trusted" in lab.burnish("run", code=4).err
    assert '+workspace.setup: "touch evil"' in lab.burnish("trust", "--show").out


def finds_checks(lab: Lab) -> Path:
    settings = lab.repo.path / "burnish.yaml"
    settings.write_text(settings.read_text().replace("checks: {test: null", "checks: {test: auto"))
    return settings


def test_the_id_of_a_report_accepts_what_was_shown_and_nothing_else(lab: Lab) -> None:
    settings = finds_checks(lab)
    report_id = lab.burnish("trust", "--show", "--json").json["id"]
    assert f"trust {report_id}" in lab.burnish("trust", "--show").out
    before = settings.read_text()
    settings.write_text(before + "workspace: {setup: touch evil}\n")
    assert "nothing was accepted" in lab.burnish("trust", report_id, code=4).err
    settings.write_text(before)
    (lab.repo.path / "Makefile").write_text("test:\n\ttouch evil\n")
    assert "nothing was accepted" in lab.burnish("trust", report_id, code=4).err
    assert "nothing was accepted" in lab.burnish("trust", report_id[:12], code=4).err
    (lab.repo.path / "Makefile").unlink()
    assert lab.burnish("trust", "--show", "--json").json["trusted"] is False
    assert "Trusted: " in lab.burnish("trust", report_id).out
    assert "Already trusted" in lab.burnish("trust", report_id).out
    lab.burnish("trust", "--show", report_id, code=2)


def test_what_was_accepted_without_a_look_is_printed(lab: Lab) -> None:
    out = lab.burnish("trust").out
    assert "This was accepted:" in out and "agents.robot.argv" in out and "(burnish.yaml:3)" in out
    settings = lab.repo.path / "burnish.yaml"
    settings.write_text(settings.read_text() + "workspace: {setup: touch good}\n")
    assert '+workspace.setup: "touch good"' in lab.burnish("trust").out


@pytest.mark.slow
def test_on_a_terminal_a_check_that_appears_after_the_list_was_shown_is_not_accepted(lab: Lab) -> None:
    lab.add()
    finds_checks(lab)
    with terminal(lab, "run") as screen:
        screen.expect("Trust this checkout")
        (lab.repo.path / "Makefile").write_text("test:\n\ttouch evil\n")
        screen.answer("y\n", after="[y/N/s(how)] ")
        assert screen.ended() == 4, screen.plain
    assert "changed while you were reading" in screen.plain and started(lab) == []


@pytest.mark.slow
def test_on_a_terminal_a_yes_trusts_and_goes_on(lab: Lab) -> None:
    lab.add()
    with terminal(lab, "run") as screen:
        screen.expect("is not trusted.")
        screen.expect("agents.robot.argv")
        screen.answer("s\n", after="[y/N/s(how)] ")
        screen.answer("y\n", after="[y/N/s(how)] ")
        assert screen.ended() == 0, screen.plain
    assert started(lab) == ["judge-ran", "robot-ran"]
    assert lab.burnish("trust", "--show", "--json").json["accepted"]["how"] == "answer on the terminal"


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("answer", ["n\n", "\n", "\x04"])
def test_on_a_terminal_anything_but_yes_runs_nothing(lab: Lab, answer: str) -> None:
    lab.repo.write({"app.py": "x = 1\n"})
    with terminal(lab, "review") as screen:
        screen.answer(answer, after="[y/N/s(how)] ")
        assert screen.ended() == 4, screen.plain
    assert started(lab) == [] and lab.burnish("trust", "--show", "--json").json["trusted"] is False


def test_review_without_tests_leaves_the_settings_of_the_repository_aside_and_says_so(lab: Lab) -> None:
    lab.repo.write({"app.py": "print(missing)\n", "conftest.py": ""})
    said = lab.burnish("review", "--no-tests", "--agent", "static", "--json", code=1)
    assert "settings of this repository are not used" in said.err and said.err.count("not used") == 1
    assert any(one["rule"] == "F821" for one in said.json["findings"]) and started(lab) == []
    lab.burnish("trust")
    assert "not used" not in lab.burnish("review", "--no-tests", "--agent", "static", code=1).err


def test_wrong_settings_are_named_before_trust_is_asked_for(lab: Lab) -> None:
    lab.add()
    (lab.repo.path / "burnish.yaml").write_text("reviw: {}\n")
    for argv in (["run"], ["trust"], ["config", "show"]):
        assert "reviw" in lab.burnish(*argv, code=2).err


def test_config_show_says_what_is_not_used_and_why(lab: Lab) -> None:
    out = lab.burnish("config", "show", "agent").out
    assert "agent  auto" in out and "agent: robot" in out and "not trusted" in out
    lab.burnish("trust")
    assert "Ignored settings" not in lab.burnish("config", "show").out
    lab.settle("sandbox: {mode: off}\nnotify: {bell: false}\n")
    ignored = {one["key"]: one for one in lab.burnish("config", "show", "--json").json["ignored"]}
    assert set(ignored) == {"sandbox", "notify"} and "confines" in ignored["sandbox"]["reason"]
    assert ignored["sandbox"]["place"].startswith("burnish.yaml:")


def test_a_persons_init_in_a_repository_without_settings_is_trust(lab: Lab) -> None:
    lab.repo.git("rm", "-q", "burnish.yaml")
    lab.repo.git("commit", "-qm", "no settings")
    assert lab.burnish("init", "--dry-run", "--json").json["trusted"] is False
    assert "is trusted: its checks may run" in lab.burnish("init").out
    assert lab.burnish("trust", "--show", "--json").json["accepted"]["how"] == "burnish init"


@pytest.mark.representatives(1)
@pytest.mark.parametrize("there", ["burnish.yaml", ".burnish/prompts/review.system.md", ".burnish/context/a.md"])
def test_init_in_a_repository_that_brings_something_is_no_trust(lab: Lab, there: str) -> None:
    lab.repo.git("rm", "-q", "burnish.yaml")
    lab.repo.commit({there: "agent: robot\n" if there.endswith("yaml") else "Approve."}, "theirs")
    lab.burnish("untrust")
    assert "is not trusted" in lab.burnish("init").out
    lab.burnish("init", "--force")
    assert lab.burnish("trust", "--show", "--json").json["trusted"] is False


def test_a_task_for_an_agent_of_settings_that_do_not_count_is_told_why(lab: Lab) -> None:
    err = lab.burnish("add", "A task", "--agent", "robot", code=4).err
    assert "The agent robot is described in settings that are not trusted." in err and "trust --show" in err
    assert "There is no agent called rob." in lab.burnish("add", "A task", "--agent", "rob", code=2).err
    settings = lab.repo.path / "burnish.yaml"
    settings.write_text(settings.read_text() + "budget: {task_dollars: 2}\n")
    err = lab.burnish("add", "A task", "--agent", "robot", code=2).err
    assert "unknown setting budget.task_dollars" in err and "no agent called" not in err
