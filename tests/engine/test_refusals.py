"""What is refused changes nothing, and is refused when it is typed, not a run later."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from testing.lab import AUTHOR, Lab


def test_a_run_that_names_an_unknown_task_leaves_the_known_ones_alone(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author="sys.exit(3)")
    lab.add()
    lab.burnish("run", "1", code=3)
    before = lab.events()
    lab.burnish("run", "1", "99", code=2)
    assert lab.events() == before
    assert (lab.task()["status"], lab.task()["error"]) == ("failed", "AGENT_FAILED")


def test_a_cancelled_task_is_not_run_but_says_how_to_put_it_back(lab: Lab) -> None:
    lab.add()
    lab.burnish("cancel", "1")
    assert "burnish retry 1" in lab.burnish("run", "1", code=4).err


@pytest.mark.representatives(1)
@pytest.mark.parametrize(
    "argv", [("--accept", ""), ("--item", "  "), ("--base", "nope"), ("--priority", "99999999999999999999")]
)
def test_what_could_never_run_is_refused_when_it_is_added(lab: Lab, argv: tuple[str, str]) -> None:
    said = lab.burnish("add", "Something", *argv, code=2)
    assert len(said.err.strip().splitlines()) == 2
    assert lab.burnish("status", "--json").json["tasks"] == []


@pytest.mark.slow
def test_every_run_that_comes_to_rest_is_said_to_be_finished(lab: Lab) -> None:
    lab.add()
    lab.burnish("run")
    assert [e["data"]["status"] for e in lab.events("run.finished")] == ["verified"]


def test_more_workers_than_tasks_are_not_started(lab: Lab) -> None:
    lab.add()
    before = threading.active_count()
    lab.burnish("run", "--all", "-j", "99999999")
    assert lab.task()["status"] == "verified"
    assert threading.active_count() <= before + 1


@pytest.mark.long
def test_an_agent_may_not_change_what_its_task_is_judged_by(tmp_path: Path) -> None:
    cheat = "import subprocess\n" + "\n".join(
        f"codes.append(subprocess.run([sys.executable, '-m', 'burnish.cli', '-C', {{repo!r}}, {words}]).returncode)"
        for words in ("'edit', '1', '--max-cycles', '77'", "'cancel', '1'", "'rm', '1'")
    )
    lab = Lab.make(tmp_path)
    log = tmp_path / "codes"
    text = (
        "codes = []\n"
        + cheat.format(repo=str(lab.repo.path))
        + f"\npathlib.Path({str(log)!r}).write_text(str(codes))\n"
    )
    lab.agent("robot", text + AUTHOR)
    lab.add()
    lab.burnish("run")
    assert log.read_text() == "[4, 4, 4]"
    assert (lab.task()["status"], lab.task()["max_cycles"]) == ("verified", 3)
