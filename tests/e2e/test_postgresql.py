"""The whole loop with the state in PostgreSQL: kills, restarts of the server, two runners, two homes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from testing.both_stores import POSTGRESQL_NAME
from testing.lab import AUTHOR, Lab
from testing.postgresql import postgresql_server
from testing.serving import serving

pytestmark = pytest.mark.slow

# Works until the test has created the file.
WAITS = """
while phase == "implement" and not os.path.exists(GATE):
    time.sleep(0.05)
"""


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with postgresql_server().database() as url:
        lab = Lab.make(tmp_path)
        for file in Path(lab.env["BURNISH_HOME"]).glob("burnish.db*"):
            file.unlink()  # the settings were trusted before they named the server
        lab.user_settings(f"database: {url}\n")
        yield lab


def waiting_author(lab: Lab) -> Path:
    gate = lab.root / "gate"
    lab.agent("robot", f"GATE = {str(gate)!r}\n" + WAITS + AUTHOR)
    return gate


def statuses(lab: Lab) -> dict[str, str]:
    return {task["id"]: task["status"] for task in lab.burnish("status", "--json").json["tasks"]}


def paid_once(lab: Lab) -> bool:
    return set(lab.paid().values()) == {1}


def test_a_task_goes_from_add_to_merge(lab: Lab) -> None:
    lab.add()
    lab.add("Another")
    lab.burnish("run", "--all")
    assert statuses(lab) == {"1": "verified", "2": "verified"}
    assert lab.show()["status"] == "verified"
    assert len(lab.burnish("inbox", "--json").json["inbox"]) == 2
    lab.burnish("merge", "1")
    assert statuses(lab)["1"] == "completed"
    ids = [event["id"] for event in lab.events()]
    assert ids == list(range(1, len(ids) + 1))
    assert "PostgreSQL" in lab.burnish("doctor", code=None).out
    assert not list(Path(lab.env["BURNISH_HOME"]).glob("burnish.db*"))


def test_the_board_shows_what_another_process_does(lab: Lab) -> None:
    lab.add()
    with serving(lab) as server:
        assert [task["status"] for task in server.of_project("GET", "/tasks").json()["tasks"]] == ["backlog"]
        lab.apart("run", "--all")
        assert [task["status"] for task in server.of_project("GET", "/tasks").json()["tasks"]] == ["verified"]


def test_a_run_that_was_killed_is_continued_and_nothing_is_paid_twice(lab: Lab) -> None:
    lab.add()
    lab.apart("run", "--all", code=None, kill_when=lambda: len(lab.calls("end")) >= 2)
    lab.apart("run", "--all")
    assert statuses(lab) == {"1": "verified"}
    # only the phase in flight may have been worked on twice
    assert sum(lab.paid().values()) - len(lab.paid()) <= 1


@pytest.mark.attacks("restart of the database server in a phase", 1, store=POSTGRESQL_NAME)
def test_a_restart_of_the_server_in_the_middle_of_a_phase_is_not_noticed(lab: Lab) -> None:
    gate = waiting_author(lab)
    lab.add()
    with lab.start("run", "--all") as run:
        lab.until(lambda: bool(lab.calls()))
        postgresql_server().stop()
        time.sleep(0.5)
        postgresql_server().start()
        gate.touch()
        out, err = run.communicate(timeout=90)
        assert run.wait() == 0, (out, err)
    assert statuses(lab) == {"1": "verified"}
    assert paid_once(lab)


def test_two_runners_share_the_tasks(lab: Lab) -> None:
    for number in range(8):
        lab.add(f"Task {number}")
    with lab.start("run", "--all", "-j", "4") as one, lab.start("run", "--all", "-j", "4") as two:
        ended = [run.communicate(timeout=150) for run in (one, two)]
        assert [run.wait() for run in (one, two)] == [0, 0], ended
    assert set(statuses(lab).values()) == {"verified"} and len(statuses(lab)) == 8
    assert paid_once(lab)
    ids = [event["id"] for event in lab.events()]
    assert ids == list(range(1, len(ids) + 1))


def test_a_run_with_another_home_leaves_a_task_to_the_one_that_has_it(lab: Lab, tmp_path: Path) -> None:
    gate = waiting_author(lab)
    lab.add()
    with lab.start("run", "--all") as first:
        lab.until(lambda: bool(lab.calls()))
        # as on another machine: the locks of the first home are not there
        other = {"BURNISH_HOME": str(tmp_path / "other-home")}
        lab.apart("trust", code=None, **other)
        second = lab.apart("run", "1", code=None, **other)
        assert second.code != 0 and "being run by" in second.err + second.out, second
        assert len(lab.calls()) == 1
        gate.touch()
        out, err = first.communicate(timeout=60)
        assert first.wait() == 0, (out, err)
    assert statuses(lab) == {"1": "verified"}
    assert not lab.events("lock.taken_over")
