"""Workers on several machines: separate homes and clones, one PostgreSQL database, one bare git remote."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from testing.lab import AUTHOR, CRITIC
from testing.machines import LEASE, Machine, Machines
from testing.postgresql import postgresql_server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    with postgresql_server().database() as url:
        yield Machines.make(tmp_path, url, "a", "b")


def test_a_task_that_was_added_on_one_machine_is_run_on_another_and_merged_on_the_first(machines: Machines) -> None:
    a, b = machines.all["a"], machines.all["b"]
    a.burnish("add", "Add division")
    with b.worker() as worker:
        worker.until(lambda: a.statuses() == {"verified"})
    assert "a / b if b else None" in a.burnish("diff", "1").out
    assert set(machines.lab.paid().values()) == {1}
    a.burnish("merge", "1")
    assert a.status() == b.status() == "completed"
    assert any("/1-" in ref for ref in machines.on_remote())
    a.burnish("clean", "--all-completed")
    assert not any("/1-" in ref for ref in machines.on_remote())
    assert "a / b if b else None" in a.burnish("diff", "1").out
    assert "a / b if b else None" in a.lab.repo.git("show", "HEAD:app.py")


def test_tasks_go_only_to_a_worker_that_offers_what_they_need(machines: Machines) -> None:
    a, b = machines.all["a"], machines.all["b"]
    a.burnish("add", "Add division", "--needs", "docker")
    assert "needs docker, which no worker offers" in a.burnish("status").out
    assert "needs docker" in a.burnish("inbox").out
    a.burnish("run", "--all")
    with a.worker() as plain, b.worker("--label", "docker") as worker:
        worker.until(lambda: a.statuses() == {"verified"})
        assert "no worker offers" not in a.burnish("status").out
        later = a.burnish("add", "Another", "--needs", "docker").out.splitlines()[1]
        assert later == "A worker runs it. To run it here: burnish run 2"
        doctor = a.burnish("doctor", code=None).out
        assert doctor.count("worker ") >= 2 and "labels docker" in doctor and "can be reached" in doctor
        assert plain.process.poll() is None
    starts = a.lab.events("phase.started")
    assert {event["data"]["machine"] for event in starts} == {machine_of(b)}
    assert machine_of(b) in a.burnish("log", "1").err


def machine_of(machine: Machine) -> str:
    host, letters = (Path(machine.lab.env["BURNISH_HOME"]) / "machine").read_text().split()
    return f"{host}-{letters[:6]}"


# Works until the test has created the file of its phase.
WAITS = """
while os.path.exists(GATE + phase):
    time.sleep(0.05)
"""


def held(machines: Machines, *phases: str) -> Path:
    """Agents that wait in these phases while a file is there; the name of the file without the phase."""
    gate = machines.root / "gate-"
    text = f"GATE = {str(gate)!r}\n" + WAITS
    machines.lab.agent("robot", text + AUTHOR)
    machines.lab.agent("judge", text + CRITIC)
    for phase in phases:
        Path(f"{gate}{phase}").touch()
    return gate


def let_go(gate: Path, phase: str) -> None:
    Path(f"{gate}{phase}").unlink()


def agents_at(machines: Machines, phase: str) -> list[dict[str, Any]]:
    return [call for call in machines.lab.calls() if call["phase"] == phase]


def one_line_of_history(machines: Machines) -> None:
    """No two writers: each phase is committed once, and the remote has what is on record."""
    a = machines.all["a"]
    task = a.tasks()["1"]
    shared = machines.on_remote()
    assert shared[f"refs/burnish/shared/heads/{task['branch']}"] == task["commit"]
    a.burnish("diff", "1")
    committed = a.lab.phases_committed(task["branch"])
    assert len(committed) == len(set(committed)), committed


@pytest.mark.parametrize("phase", ["implement", "review", "improve"])
def test_a_worker_that_is_killed_in_a_phase_is_replaced(machines: Machines, phase: str) -> None:
    a, b = machines.all["a"], machines.all["b"]
    gate = held(machines, phase)
    a.burnish("add", "Add division")
    with a.worker() as first, b.worker() as second:
        first.until(lambda: agents_at(machines, phase))
        holder = a.tasks()["1"]
        victim, other = (first, second) if machine_of(a) == running_on(a, machines) else (second, first)
        assert holder["status"] in ("in_progress", "code_review")
        victim.signal(signal.SIGKILL)
        let_go(gate, phase)
        other.until(lambda: a.statuses() == {"verified"}, seconds=120)
    one_line_of_history(machines)
    paid = machines.lab.paid()
    assert sum(paid.values()) - len(paid) <= 1, paid


def running_on(machine: Machine, machines: Machines) -> str:
    return str(machine.lab.events("phase.started")[-1]["data"]["machine"])


def test_a_worker_that_sleeps_longer_than_its_lease_changes_nothing_when_it_wakes(machines: Machines) -> None:
    a, b = machines.all["a"], machines.all["b"]
    gate = held(machines, "implement")
    a.burnish("add", "Add division")
    with a.worker() as first:
        first.until(lambda: agents_at(machines, "implement"))
        first.signal(signal.SIGSTOP)
        with b.worker() as second:
            second.until(lambda: len(agents_at(machines, "implement")) == 2, seconds=60)
            let_go(gate, "implement")
            second.until(lambda: a.statuses() == {"verified"}, seconds=120)
            first.signal(signal.SIGCONT)
            first.until(lambda: "no longer held by this run" in first.text(), seconds=60)
    one_line_of_history(machines)
    assert len(a.lab.events("lock.taken_over")) == 1


def test_a_worker_that_wakes_does_not_run_a_task_twice_that_another_gave_back_meanwhile(machines: Machines) -> None:
    a, b = machines.all["a"], machines.all["b"]
    gate = held(machines, "implement")
    a.burnish("add", "Add division")
    with a.worker("-j", "2") as first:
        first.until(lambda: agents_at(machines, "implement"))
        first.signal(signal.SIGSTOP)
        with b.worker() as second:
            second.until(lambda: len(agents_at(machines, "implement")) == 2, seconds=60)
            second.signal(signal.SIGTERM)
            second.until(lambda: "No further task" in second.text())
            second.signal(signal.SIGTERM)
            second.process.wait(60)
        assert a.statuses() == {"in_progress"} and not a.holders()
        before = len(a.lab.events("phase.finished"))
        first.signal(signal.SIGCONT)
        time.sleep(float(LEASE))  # long enough to claim it again
        assert not a.holders(), "a thread of this worker still works on it"
        let_go(gate, "implement")
        first.until(lambda: "no longer held by this run" in first.text(), seconds=60)
        assert len(a.lab.events("phase.finished")) == before
        first.until(lambda: a.statuses() == {"verified"}, seconds=120)
    one_line_of_history(machines)


def test_a_signal_drains_a_worker_after_its_phase_and_another_goes_on(machines: Machines) -> None:
    a, b = machines.all["a"], machines.all["b"]
    gate = held(machines, "implement")
    a.burnish("add", "Add division")
    with a.worker() as first:
        first.until(lambda: agents_at(machines, "implement"))
        a.burnish("worker", "--drain")
        first.until(lambda: "No further task" in first.text())
        let_go(gate, "implement")
        assert first.process.wait(60) == 0, first.text()
    assert a.status() == "code_review" or a.status() == "in_progress"
    assert set(machines.lab.paid()) == {("1", 1, "implement", "robot")}
    with b.worker() as second:
        second.until(lambda: a.statuses() == {"verified"})
    assert set(machines.lab.paid().values()) == {1}
    one_line_of_history(machines)


def test_the_database_restarts_and_the_remote_is_away_in_the_middle_of_a_phase(machines: Machines) -> None:
    a, b = machines.all["a"], machines.all["b"]
    gate = held(machines, "implement")
    a.burnish("add", "Add division")
    with b.worker() as worker:
        worker.until(lambda: agents_at(machines, "implement"))
        postgresql_server().stop()
        away = machines.remote.with_name("away.git")
        machines.remote.rename(away)
        postgresql_server().start()
        let_go(gate, "implement")
        worker.until(lambda: "could not be reached" in worker.text())
        assert a.status() == "in_progress"
        assert "Task 1 waits: The git remote origin could not be reached" in a.burnish("status").out
        away.rename(machines.remote)
        worker.until(lambda: a.statuses() == {"verified"})
        assert "is there again" in worker.text()
        assert "waits: " not in a.burnish("status").out
    assert set(machines.lab.paid().values()) == {1}
    one_line_of_history(machines)


def test_a_task_is_stopped_and_cancelled_from_another_machine(machines: Machines) -> None:
    a, b = machines.all["a"], machines.all["b"]
    gate = held(machines, "implement")
    a.burnish("add", "Add division")
    with b.worker() as worker:
        worker.until(lambda: agents_at(machines, "implement"))
        assert "being run by" in a.burnish("run", "1", code=None).err
        a.burnish("cancel", "1")
        worker.until(lambda: a.statuses() == {"cancelled"} and "cancelled" in worker.text())
    assert not machines.lab.calls("end")
    assert any("/1-" in ref for ref in machines.on_remote())
    a.burnish("clean", "--all-completed")
    assert not any("/1-" in ref for ref in machines.on_remote())
    let_go(gate, "implement")
    a.burnish("retry", "1")
    assert b.status() == "verified"
    one_line_of_history(machines)


def test_a_limit_of_an_agent_counts_for_all_machines(machines: Machines) -> None:
    a, b = machines.all["a"], machines.all["b"]
    gate = held(machines, "implement")
    for machine in (a, b):
        machine.lab.user_settings(f"database: {machines.url}\nlimits: {{agents: {{robot: 2}}}}\n")
    for number in range(4):
        a.burnish("add", f"Task {number}")
    with a.worker("-j", "3") as first, b.worker("-j", "3"):
        first.until(lambda: len(agents_at(machines, "implement")) == 2)
        time.sleep(3)
        assert len(agents_at(machines, "implement")) == 2
        let_go(gate, "implement")
        first.until(lambda: a.statuses() == {"verified"}, seconds=180)
    assert set(machines.lab.paid().values()) == {1}


def test_a_task_goes_on_only_where_its_labels_are_offered(machines: Machines) -> None:
    a, b = machines.all["a"], machines.all["b"]
    gate = held(machines, "implement")
    a.burnish("add", "Add division", "--needs", "docker")
    with a.worker() as plain:
        with b.worker("--label", "docker") as victim:
            victim.until(lambda: agents_at(machines, "implement"))
            victim.signal(signal.SIGKILL)
        let_go(gate, "implement")
        plain.until(lambda: "0 of its tasks continue here, 1 go to other machines" in plain.text(), seconds=60)
        time.sleep(3)
        assert len(agents_at(machines, "implement")) == 1
        assert "needs docker, which no worker offers" in a.burnish("status").out
        a.burnish("edit", "1", "--needs", "none")
        plain.until(lambda: a.statuses() == {"verified"}, seconds=120)
    one_line_of_history(machines)


def test_what_the_remote_has_of_a_removed_task_goes_and_this_clone_keeps_it(machines: Machines) -> None:
    a, b = machines.all["a"], machines.all["b"]
    for title in ("Add division", "Add a sum"):
        a.burnish("add", title)
    with b.worker("-j", "2") as worker:
        worker.until(lambda: a.statuses() == {"verified"})
    branch = a.tasks()["1"]["branch"]
    a.burnish("rm", "1")
    assert {ref.rpartition("/")[2].partition("-")[0] for ref in machines.on_remote()} == {"id", "2"}
    assert a.lab.repo.git("rev-parse", branch).strip()
    a.burnish("merge", "2", "--delete-branch")
    assert set(machines.on_remote()) == {"refs/burnish/shared/id"}


FAILS_ONCE = """
import sys
if not os.path.exists(MARK):
    open(MARK, "w").close()
    sys.exit("the network is away")
"""


def test_a_transient_failure_is_tried_again_by_a_worker(machines: Machines) -> None:
    a, b = machines.all["a"], machines.all["b"]
    machines.lab.agent("robot", f"MARK = {str(machines.root / 'failed')!r}\n{FAILS_ONCE}{AUTHOR}")
    hours = machines.root / "clock"
    hours.write_text("0")
    hours.chmod(0o600)
    a.burnish("add", "Add division")
    with b.worker("--log-format", "json", BURNISH_TEST_CLOCK=str(hours)) as worker:
        worker.until(lambda: a.statuses() == {"failed"})
        time.sleep(8)
        assert a.statuses() == {"failed"}
        hours.write_text("400")
        worker.until(lambda: a.statuses() == {"verified"}, seconds=60)
        lines = [json.loads(line) for line in worker.text().splitlines()]
    assert any("Trying task 1 again after AGENT_FAILED" in str(line) for line in lines)


def test_a_second_signal_stops_a_phase_at_once_and_another_machine_repeats_it(machines: Machines) -> None:
    a, b = machines.all["a"], machines.all["b"]
    gate = held(machines, "implement")
    a.burnish("add", "Add division")
    with a.worker() as first:
        first.until(lambda: agents_at(machines, "implement"))
        first.signal(signal.SIGTERM)
        first.until(lambda: "No further task" in first.text())
        first.signal(signal.SIGTERM)
        first.process.wait(30)
    assert not machines.lab.calls("end")
    let_go(gate, "implement")
    with b.worker() as second:
        second.until(lambda: a.statuses() == {"verified"}, seconds=120)
    one_line_of_history(machines)


def test_stop_ends_a_task_on_another_machine_and_decide_works_from_anywhere(machines: Machines) -> None:
    a, b = machines.all["a"], machines.all["b"]
    gate = held(machines, "implement")
    a.burnish("add", "Add division", "--skip-tests")
    with b.worker() as worker:
        worker.until(lambda: agents_at(machines, "implement"))
        a.burnish("stop", "1")
        worker.until(lambda: not a.holders())
        time.sleep(3)
        assert not a.holders() and len(agents_at(machines, "implement")) == 1
        assert "burnish unpause 1" in a.burnish("status").out
        let_go(gate, "implement")
        a.burnish("unpause", "1")
        worker.until(lambda: a.statuses() == {"waiting_approval"}, seconds=120)
        a.burnish("decide", "1", "approve", "--reason", "read it")
        worker.until(lambda: b.status() == "verified")
    assert "a / b if b else None" in a.burnish("diff", "1").out
