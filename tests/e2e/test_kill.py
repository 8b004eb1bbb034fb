"""kill -9 at every step boundary and inside every phase: the next run ends as if nothing had happened."""

from __future__ import annotations

import math
import os
import random
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

import burnish
from testing.attack_counts import CountAttacks
from testing.both_stores import BOTH_STORES
from testing.lab import AUTHOR, CRITIC, Lab

pytestmark = BOTH_STORES

TORTURE = bool(os.environ.get("BURNISH_TORTURE"))
CHECKS = "checks: {test: 'test -f app.py', lint: null}\n"
SOURCE = Path(burnish.__file__).parent
# Places that the plain loop does not pass; the tests of those features die there.
SIDE_ROADS = {
    "base-tests-": "test_base_tests.py",
    "fix-": "test_may_fix.py",
    "followups-": "test_followups.py",
    "outside-": "test_outside.py",
    "share-": "test_machine_faults.py",
    "target-": "../engine/test_conflicts.py",
}


def every_failpoint() -> list[str]:
    """Every place the source names, so that a new one is never forgotten."""
    texts = [file.read_text() for file in SOURCE.rglob("*.py")]
    names = [name for text in texts for name in re.findall(r'failpoint\("([a-z-]+)"\)', text)]
    assert len(names) == len(set(names)) > 12, names
    return sorted(names)


def failpoints() -> list[str]:
    return [name for name in every_failpoint() if not name.startswith(tuple(SIDE_ROADS))]


def test_places_off_the_main_road_have_deaths_of_their_own() -> None:
    for start, file in SIDE_ROADS.items():
        text = (Path(__file__).parent / file).read_text()
        assert all(name in text for name in every_failpoint() if name.startswith(start)), file


def assert_ended_well(lab: Lab, *, extra_starts: int = 0) -> None:
    """Verified after two cycles, every finished phase paid once, one commit per phase, nothing left running."""
    task = lab.show(1)
    assert (task["status"], task["final_verdict"], task["cycle"]) == ("verified", "APPROVED", 2), task
    assert [(f["id"], f["state"]) for f in task["findings"]] == [("F1", "resolved")]
    branch = task["branch"]
    assert lab.phases_committed(branch) == [("1", "implement"), ("2", "improve")]
    assert "if b else None" in lab.text(branch)
    phases = [(1, "implement", "robot"), (1, "review", "judge"), (2, "improve", "robot"), (2, "review", "judge")]
    assert lab.paid() == {("1", cycle, phase, agent): 1 for cycle, phase, agent in phases}
    assert len(lab.calls()) <= len(phases) + extra_starts
    numbers = [event["id"] for event in lab.events()]
    assert numbers == list(range(1, len(numbers) + 1))
    assert lab.processes() == []
    artifacts = lab.repo.git("ls-tree", "-r", "--name-only", f"refs/burnish/artifacts/{branch[8:]}")
    assert {"review-cycle-1.md", "review-cycle-2.md"} <= {Path(line).name for line in artifacts.splitlines()}


def die_and_go_on(lab: Lab, point: str) -> Lab:
    before = lab.repo.fingerprint()
    lab.apart("run", code=-signal.SIGKILL, BURNISH_FAILPOINT=point)
    lab.apart("run")
    assert lab.repo.fingerprint() == before
    return lab


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("quarter", range(4))
def test_a_runner_killed_at_any_failpoint_is_taken_up_where_it_was(tmp_path: Path, quarter: int) -> None:
    points = failpoints()[quarter::4]
    labs = [Lab.make(tmp_path / point, extra=CHECKS) for point in points]
    for lab in labs:
        lab.add()
    with ThreadPoolExecutor(3) as threads:
        for lab in threads.map(die_and_go_on, labs, points):
            assert_ended_well(lab)


@pytest.mark.long
def test_killed_twice_in_the_second_cycle_it_still_ends_the_same_way(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, extra=CHECKS)
    lab.add()
    lab.apart("run", code=-signal.SIGKILL, BURNISH_FAILPOINT="work-replied:2")
    lab.apart("run", code=-signal.SIGKILL, BURNISH_FAILPOINT="review-replied")
    lab.apart("run")
    assert_ended_well(lab)


# An agent that is killed after it signed and before its answer is out has not ended: nothing lies between the two.
LEAVE = "sys.stdout.flush()\nsign('end')\nos._exit(0)\n"
SLOW_AUTHOR = "time.sleep(0.4)\n" + AUTHOR + "time.sleep(0.4)\n" + LEAVE
SLOW_CRITIC = "time.sleep(0.4)\n" + CRITIC + LEAVE


# Writes, and is then at work until it is killed; the second attempt ends.
HELD_AUTHOR = (
    AUTHOR + "held = pathlib.Path(LOG).with_name('held')\nif not held.exists():\n    held.touch()\n    time.sleep(60)\n"
)


def slow_lab(root: Path, author: str = SLOW_AUTHOR) -> Lab:
    return Lab.make(root, author=author, judge=SLOW_CRITIC, extra=CHECKS)


def kill_inside(lab: Lab, nth: int, wait: float) -> Lab:
    """Killed while the nth agent is at work."""
    return kill_when(lab, lambda: len(lab.calls()) >= nth, wait)


def kill_when(lab: Lab, is_time: Callable[[], bool], wait: float = 0) -> Lab:
    lab.apart("add", "Add division")
    process = lab.start("run")
    lab.until(is_time)
    time.sleep(wait)
    process.kill()
    process.communicate()
    lab.apart("run")
    return lab


@pytest.mark.slow
def test_killed_inside_a_phase_the_agent_is_ended_its_work_rescued_and_the_phase_done_again(tmp_path: Path) -> None:
    # made one after the other: a laboratory changes the variables of this process while it is trusted
    labs = [slow_lab(tmp_path / "1", HELD_AUTHOR), slow_lab(tmp_path / "2"), slow_lab(tmp_path / "3")]
    with ThreadPoolExecutor(3) as threads:
        first = threads.submit(kill_when, labs[0], (labs[0].root / "held").exists)
        list(threads.map(kill_inside, labs[1:], (2, 3), (0.1, 0.1)))
        first.result()
    for lab in labs:
        assert_ended_well(lab, extra_starts=1)
    # the first had written already: what it left was kept, and the second attempt was told
    (ref,) = labs[0].refs("refs/burnish/rescue/")
    assert ref == "refs/burnish/rescue/1-1-implement"
    assert "# BUG" in labs[0].text(ref)
    assert ref in labs[0].calls()[1]["prompt"]


# Deaths of one task, one after the other: twice at the first pass, then a pass further on, then twice again.
PASSES = ("", "", ":2", "", "")
# A batch is one test, so that workers share the batches of a failpoint.
BATCHES, DEATHS_EACH = (5, 10) if TORTURE else (1, 1)


def die_again_and_again(lab: Lab, point: str, most: int) -> int:
    """One task that is killed up to `most` times at this point and then continued; how often it was killed."""
    lab.add()
    before, deaths = lab.repo.fingerprint(), 0
    for nth in PASSES[:most]:
        ended = lab.apart("run", code=None, BURNISH_FAILPOINT=point + nth)
        if ended.code == 0:
            break
        assert ended.code == -signal.SIGKILL, ended
        deaths += 1
    lab.apart("run")
    assert lab.repo.fingerprint() == before
    assert_ended_well(lab)
    return deaths


@pytest.mark.representatives(1)
@pytest.mark.skipif(not TORTURE, reason="long: make torture")
@pytest.mark.parametrize("batch", range(BATCHES))
@pytest.mark.parametrize("point", failpoints())
def test_fifty_deaths_at_every_failpoint(tmp_path: Path, point: str, batch: int, count_attacks: CountAttacks) -> None:
    deaths = 0
    with counting_a_failure(count_attacks, "kill -9 at a failpoint"):
        while deaths < DEATHS_EACH:
            root = tmp_path / str(deaths)
            new = die_again_and_again(Lab.make(root, extra=CHECKS), point, DEATHS_EACH - deaths)
            assert new, "this point is not passed"
            deaths += new
            shutil.rmtree(root)
    count_attacks("kill -9 at a failpoint", deaths, 0)


@contextmanager
def counting_a_failure(count_attacks: CountAttacks, kind: str) -> Iterator[None]:
    try:
        yield
    except BaseException:
        count_attacks(kind, 1, 1)
        raise


@pytest.mark.skipif(not TORTURE, reason="long: make torture")
@pytest.mark.parametrize("seed", range(50 if TORTURE else 1))
def test_random_deaths_inside_every_phase(tmp_path: Path, seed: int, count_attacks: CountAttacks) -> None:
    """One task, killed once while each of its four calls is at work or shortly after it."""
    kind, chance, lab = "kill -9 inside a phase", random.Random(seed), slow_lab(tmp_path)
    lab.add()
    deaths = 0
    with counting_a_failure(count_attacks, kind):
        for _ in range(4):
            deaths += kill_after_next_call(lab, chance.uniform(0, 1.2)) == -signal.SIGKILL
        lab.apart("run")
        assert_ended_well(lab, extra_starts=deaths)
    count_attacks(kind, deaths, 0)


def kill_after_next_call(lab: Lab, wait: float) -> int:
    calls, end = len(lab.calls()), math.inf

    def is_time() -> bool:
        nonlocal end
        if end == math.inf and len(lab.calls()) > calls:
            end = time.monotonic() + wait
        return time.monotonic() >= end

    return lab.apart("run", code=None, kill_when=is_time).code
