"""Machines whose clocks disagree: what counts is the clock of the database. Whole workers have a wrong one."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from testing.both_stores import POSTGRESQL_NAME
from testing.lab import AUTHOR
from testing.machines import LEASE, Machines
from testing.moved_clock import moved_clock
from testing.postgresql import postgresql_server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

DAY, HOUR = 86_400, 3600
HELD = """
while os.path.exists(GATE) and "/a/home/" in os.getcwd():
    time.sleep(0.05)
"""
FAILS_ON_A = """
if "/a/home/" in os.getcwd():
    sys.exit("the network is away")
"""


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    with postgresql_server().database() as url:
        yield Machines.make(tmp_path, url, "a", "b")


@pytest.mark.representatives(1)
@pytest.mark.parametrize(
    ("here", "there"),
    [
        pytest.param(*pair, marks=pytest.mark.attacks("clocks of two machines disagree", 1, store=POSTGRESQL_NAME))
        for pair in [(DAY, -DAY), (-DAY, DAY), (HOUR, -HOUR), (-HOUR, HOUR), (0, DAY), (-DAY, 0)]
    ],
)
def test_only_a_worker_that_is_dead_loses_its_task_whatever_the_clocks_show(
    machines: Machines, here: int, there: int
) -> None:
    a, b = machines.all["a"], machines.all["b"]
    gate = machines.root / "gate"
    gate.touch()
    machines.lab.agent("robot", f"GATE = {str(gate)!r}\n{HELD}{AUTHOR}")
    a.burnish("add", "Add division")
    with a.worker(**moved_clock(machines.root, here)) as first, b.worker(**moved_clock(machines.root, there)) as second:
        first.until(lambda: machines.lab.calls())
        if "/a/home/" not in first_place(machines):
            # the other was faster: then it ends the task undisturbed
            second.until(lambda: b.statuses() == {"verified"})
            return
        time.sleep(float(LEASE) * 3)
        assert len(machines.lab.calls()) == 1 and not a.lab.events("lock.taken_over")
        first.signal(signal.SIGKILL)
        second.until(lambda: b.statuses() == {"verified"}, seconds=120)
    assert len(b.lab.events("lock.taken_over")) == 1
    paid = machines.lab.paid()
    assert sum(paid.values()) == len(paid)
    times = [datetime.fromisoformat(event["ts"]) for event in b.lab.events()]
    assert all(abs(datetime.now(UTC) - moment) < timedelta(minutes=15) for moment in times)
    assert times == sorted(times)


def first_place(machines: Machines) -> str:
    return str(machines.lab.calls()[0]["cwd"])


def test_a_failure_on_a_machine_with_an_old_clock_is_tried_again_by_another(machines: Machines) -> None:
    a, b = machines.all["a"], machines.all["b"]
    machines.lab.agent("robot", FAILS_ON_A + AUTHOR)
    a.burnish("add", "Add division")
    with a.worker(**moved_clock(machines.root, -DAY)) as first:
        first.until(lambda: a.statuses() == {"failed"})
    hours = machines.root / "clock"
    hours.write_text("0")
    hours.chmod(0o600)
    with b.worker(BURNISH_TEST_CLOCK=str(hours), **moved_clock(machines.root, DAY)) as second:
        time.sleep(8)
        hours.write_text("400")
        second.until(lambda: b.statuses() == {"verified"}, seconds=60)
