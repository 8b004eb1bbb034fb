"""Ctrl-C, SIGTERM and cancel: agents end, work is kept, the next run goes on."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from testing.lab import APPROVE, AUTHOR, CRITIC, Lab

# Writes half of its work, then takes for ever, unless it is told to hurry.
SLOW = f"""
hurry = pathlib.Path("FLAG")
app.write_text(app.read_text() + "half = 1\\n")
sign("half")
end = time.time() + 60
while not hurry.exists() and time.time() < end: time.sleep(0.02)
{AUTHOR}
"""


@pytest.fixture
def slow(tmp_path: Path) -> Lab:
    return Lab.make(tmp_path, author=SLOW.replace("FLAG", str(tmp_path / "hurry")))


def hurry(lab: Lab) -> None:
    (lab.root / "hurry").touch()


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_once_the_agent_ends_its_work_is_kept_and_the_next_run_goes_on(slow: Lab, number: int) -> None:
    slow.add()
    runner = slow.start("run")
    slow.until(lambda: slow.calls("half"))
    runner.send_signal(number)
    out, err = runner.communicate(timeout=60)
    assert runner.returncode == 130, (out, err)
    assert "Traceback" not in err and "burnish run" in err
    assert slow.processes() == []
    task = slow.task()
    assert (task["status"], task["error"]) == ("in_progress", "INTERRUPTED")
    assert "half = 1" in slow.text("refs/burnish/rescue/1-1-implement")

    hurry(slow)
    slow.burnish("run")
    task = slow.task()
    assert (task["status"], task["error"]) == ("verified", None)
    assert "refs/burnish/rescue/1-1-implement" in slow.calls()[1]["prompt"]
    assert slow.phases_committed(task["branch"]) == [("1", "implement"), ("2", "improve")]


@pytest.mark.long
def test_stopped_twice_it_ends_at_once_even_if_the_agent_will_not(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author="import signal\nsignal.signal(15, signal.SIG_IGN)\nsign('half')\ntime.sleep(60)")
    lab.add()
    runner = lab.start("run")
    lab.until(lambda: lab.calls("half"))
    runner.send_signal(signal.SIGINT)
    time.sleep(0.3)
    begun = time.monotonic()
    runner.send_signal(signal.SIGINT)
    runner.communicate(timeout=60)
    assert time.monotonic() - begun < 2.5
    assert runner.returncode == 130
    lab.until(lambda: lab.processes() == [], 5)
    lab.agent("robot", AUTHOR)
    lab.burnish("run")
    assert lab.task()["status"] == "verified"


@pytest.mark.slow
def test_stopped_during_the_review_the_work_is_not_paid_for_again(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge="time.sleep(60)")
    lab.add()
    runner = lab.start("run")
    lab.until(lambda: len(lab.calls()) == 2)
    runner.send_signal(signal.SIGINT)
    runner.communicate(timeout=60)
    task = lab.task()
    assert (task["status"], task["error"]) == ("code_review", "INTERRUPTED")
    lab.agent("judge", CRITIC)
    lab.burnish("run")
    assert lab.task()["status"] == "verified"
    assert [c["phase"] for c in lab.calls()].count("implement") == 1


@pytest.mark.long
def test_a_reviewer_who_had_answered_when_the_panel_was_stopped_is_not_asked_again(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author="app.write_text('x = 1\\n')", judge=APPROVE)
    lab.agent("second", "time.sleep(60)")
    lab.settle("review: {agents: [judge, second]}\n")
    lab.add()
    runner = lab.start("run")
    lab.until(lambda: len(lab.calls()) == 3 and len(lab.calls("end")) == 2)
    time.sleep(0.2)
    runner.send_signal(signal.SIGINT)
    runner.communicate(timeout=60)
    lab.agent("second", APPROVE)
    lab.burnish("run")
    assert lab.task()["status"] == "verified"
    assert [c["agent"] for c in lab.calls()].count("judge") == 1


@pytest.mark.long
def test_stopped_during_lint_fix_the_agents_answer_is_kept(tmp_path: Path) -> None:
    fix = f"touch {tmp_path}/fixing; test -f {tmp_path}/hurry || sleep 60"
    lab = Lab.make(tmp_path, extra=f"checks: {{test: null, lint: null, lint_fix: '{fix}'}}\n")
    lab.add()
    runner = lab.start("run")
    lab.until((tmp_path / "fixing").exists)
    runner.send_signal(signal.SIGINT)
    runner.communicate(timeout=60)
    assert runner.returncode == 130
    hurry(lab)
    lab.burnish("run")
    assert lab.task()["status"] == "verified"
    assert set(lab.paid().values()) == {1}


@pytest.mark.slow
def test_cancel_from_elsewhere_ends_the_agent_within_seconds_and_keeps_its_work(slow: Lab) -> None:
    slow.add()
    runner = slow.start("run")
    slow.until(lambda: slow.calls("half"))
    begun = time.monotonic()
    slow.burnish("cancel", "1")
    out, err = runner.communicate(timeout=60)
    assert time.monotonic() - begun < 30  # it would work for a minute
    assert runner.returncode == 1 and "Traceback" not in err, (out, err)
    assert slow.processes() == []
    assert slow.task()["status"] == "cancelled"
    assert any("half = 1" in slow.text(ref) for ref in slow.refs("refs/burnish/rescue/"))

    hurry(slow)
    slow.burnish("edit", "1", "--status", "backlog")
    slow.burnish("run")
    assert slow.task()["status"] == "verified"


def test_a_second_runner_is_told_who_holds_the_task(slow: Lab) -> None:
    slow.add()
    runner = slow.start("run")
    slow.until(lambda: slow.calls("half"))
    said = slow.burnish("run", "1", code=4)
    assert f"pid {runner.pid}" in said.err and "since" in said.err and "burnish cancel 1" in said.err
    for refused in (
        ["rm", "1"],
        ["done", "1", "--reason", "x"],
        ["edit", "1", "--verdict", "APPROVED", "--reason", "x"],
    ):
        slow.burnish(*refused, code=4)
    assert slow.task()["status"] == "in_progress"
    hurry(slow)
    runner.communicate(timeout=60)
    assert slow.task()["status"] == "verified"


@pytest.mark.long
def test_cancel_after_the_runner_was_killed_keeps_what_lay_in_the_workspace(slow: Lab) -> None:
    slow.add()
    runner = slow.start("run")
    slow.until(lambda: slow.calls("half"))
    runner.kill()
    runner.communicate()
    slow.until(lambda: slow.processes() == [], 10)
    slow.burnish("cancel", "1")
    assert slow.task()["status"] == "cancelled"
    assert any("half = 1" in slow.text(ref) for ref in slow.refs("refs/burnish/rescue/"))
    slow.burnish("rm", "1")


@pytest.mark.long
def test_an_agent_that_approves_itself_is_refused_wherever_it_stands(tmp_path: Path) -> None:
    import sys

    repo = tmp_path / "repo"
    cheat = f"""
import subprocess
def burnish(*words, **env):
    call = [{sys.executable!r}, "-m", "burnish.cli", "-C", {str(repo)!r}, *words]
    home = {{"BURNISH_HOME": {str(tmp_path / "home/burnish")!r}}}
    return subprocess.run(call, env={{**env, **home}}, capture_output=True).returncode
tries = [burnish("done", "1", "--reason", "x", **env)
         for env in (dict(os.environ), {{"PATH": os.environ["PATH"], "HOME": {str(tmp_path / "home")!r}}})]
tries += [burnish("edit", "1", "--verdict", "APPROVED", "--reason", "x", **os.environ)]
here["tries"] = tries
"""
    lab = Lab.make(tmp_path, author=cheat + AUTHOR, judge=cheat + CRITIC)
    lab.add()
    lab.burnish("run")
    assert {tuple(c["tries"]) for c in lab.calls("end")} == {(4, 4, 4)}
    assert lab.task()["overrides"] == 0
