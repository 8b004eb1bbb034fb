"""Power is cut at step boundaries and in between: what an event says is on the disk, and the next run ends as usual."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import psutil
import pytest

from testing.attack_counts import CountAttacks
from testing.lab import Lab
from testing.power import cut_power, disk, sync_disk, why_no_disk
from testing.recorded_writes import RecordedDisk, record, why_no_recording
from tests.e2e.test_kill import CHECKS, TORTURE, assert_ended_well, failpoints

ON_DISK = pytest.mark.skipif(bool(why_no_disk()), reason=why_no_disk() or "-")
ONCE = {"run-started:2", "workspace-created:2"}
MOMENTS = [moment for point in failpoints() for nth in (1, 2) if (moment := f"{point}:{nth}") not in ONCE]
# A disk may take seconds to sync: the ordinary run has one moment of each phase.
FEW = ["workspace-created:1", "work-replied:1", "work-committed:2", "check-finished:1", "decided:2"]
# how many cuts between the boundaries `make torture` takes, and how many events a run has
RANDOM_CUTS = int(os.environ.get("BURNISH_POWER_CUTS", "40")) if TORTURE else 0
EVENTS = 40


@pytest.fixture(autouse=True)
def synced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests do without syncing."""
    monkeypatch.delenv("BURNISH_NO_SYNC")
    monkeypatch.delenv("GIT_TEST_FSYNC")


def lose_power_at(root: Path, moment: str | float, kind: str = "ext4") -> list[str]:
    """The whole story with one cut, at a failpoint or between two events; returns what is wrong after it."""
    place = root / "disk"
    with disk(root / "image", place, kind):
        # what agents were paid for is remembered by the world outside
        (place / "lab").mkdir()
        (place / "lab" / "calls.jsonl").symlink_to(root / "calls.jsonl")
        # SQLite removes the log of a database by its path when a connection is closed: one that this process still had
        # open from before the cut removed the log on the disk of after it, and the task with it
        lab = Lab.make(place / "lab", extra=CHECKS, own_processes=True)
        lab.add()
        sync_disk(place)
        before = lab.repo.fingerprint()
        if isinstance(moment, str):
            lab.apart("run", code=-signal.SIGKILL, BURNISH_FAILPOINT=moment)
            cut_power(root / "image", root / "cut")
        else:
            cut_after(lab, moment, root)
    with disk(root / "cut", place, kind):
        return list(_problems(lab, before, paid_once=isinstance(moment, str)))


def cut_after(lab: Lab, moment: float, root: Path) -> None:
    """The whole part of `moment` is a number of events, the rest a share of a second after the last of them.

    Every process is stopped while the device is copied, and ended afterwards.
    """
    with lab.start("run") as process:
        end = time.monotonic() + 90
        while process.poll() is None and _events(lab) < int(moment) and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep((moment % 1) / 2)
        with suppress(psutil.Error):
            _stop_all(process.pid)
        cut_power(root / "image", root / "cut")
        with suppress(psutil.Error):
            for one in _family(process.pid):
                one.kill()
        process.kill()
        process.communicate(timeout=60)
    lab.until(lambda: not lab.processes())


def _events(lab: Lab) -> int:
    base = f"file:{lab.env['BURNISH_HOME']}/burnish.db?mode=ro"
    with suppress(sqlite3.Error), closing(sqlite3.connect(base, uri=True, timeout=1)) as store:
        return int(store.execute("SELECT COUNT(*) FROM events").fetchone()[0])
    return 0


def _family(pid: int) -> list[psutil.Process]:
    runner = psutil.Process(pid)
    return [runner, *runner.children(recursive=True)]


def _stop_all(pid: int) -> None:
    """Twice: a process may have been started while the first ones were stopped."""
    for one in (*_family(pid), *_family(pid)):
        with suppress(psutil.NoSuchProcess):
            one.suspend()


def _problems(lab: Lab, before: object, *, paid_once: bool) -> Iterator[str]:
    _start_machine_again(lab)
    # a git process that was cut leaves its lock, as one of the user's would: the next run removes it
    yield from (one for one in _harm(lab) if ".lock': File exists" not in one)
    said = lab.apart("run", code=None)
    tasks = lab.burnish("status", "--json").json["tasks"]
    if said.code or [task["status"] for task in tasks] != ["verified"]:
        yield f"stuck: run: {said.code} {said.err[-300:]} {said.out[-300:]}"
        return
    yield from _harm(lab)
    if lab.repo.fingerprint() != before:
        yield "harmed: the user's files, index or refs are others"
    try:
        # a cut in the middle of a call may take its answer: that call is made again
        assert_ended_well(lab, extra_starts=4) if paid_once else assert_same_work(lab)
    except AssertionError as error:
        yield f"lost: {error!r} {traceback.format_exc()[-400:]}"


def _start_machine_again(lab: Lab) -> None:
    """Everything on the disk is older than the machine's start."""
    for file in Path(lab.env["BURNISH_HOME"]).rglob("checked-in-boot"):
        file.write_text("an earlier one")
    for lock in (lab.repo.path / ".git").rglob("*.lock"):
        os.utime(lock, (1, 1))


def _harm(lab: Lab) -> Iterator[str]:
    for command in (("log", "--all", "--oneline"), ("fsck", "--strict"), ("gc", "-q")):
        argv = ["git", "-C", str(lab.repo.path), *command]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode or "error" in done.stderr or "fatal" in done.stderr:
            yield f"harmed: git {command[0]}: {done.stderr.strip()[-600:]}"


def assert_same_work(lab: Lab) -> None:
    task = lab.show(1)
    assert (task["status"], task["cycle"]) == ("verified", 2)
    assert lab.phases_committed(task["branch"]) == [("1", "implement"), ("2", "improve")]
    numbers = [event["id"] for event in lab.events()]
    assert numbers == list(range(1, len(numbers) + 1))


def test_the_moments_of_the_ordinary_run_exist() -> None:
    assert set(FEW) <= set(MOMENTS)


@pytest.mark.slow
@pytest.mark.representatives(1)
@ON_DISK
@pytest.mark.attacks("loss of power at a failpoint", 1)
@pytest.mark.parametrize("moment", MOMENTS if TORTURE else FEW)
def test_after_a_loss_of_power_the_user_s_git_works_and_nothing_is_paid_twice(tmp_path: Path, moment: str) -> None:
    assert lose_power_at(tmp_path, moment) == []


# moments at which these file systems lost something that ext4 happened to keep
@pytest.mark.representatives(1)
@pytest.mark.attacks("loss of power on xfs and btrfs", 1)
@pytest.mark.skipif(not TORTURE, reason="long: make torture")
@pytest.mark.parametrize("moment", ["work-committed:2", "check-finished:1", "decided:1"])
@pytest.mark.parametrize("kind", ["xfs", "btrfs"])
def test_after_a_loss_of_power_other_file_systems_have_what_an_event_says(
    tmp_path: Path, kind: str, moment: str
) -> None:
    if reason := why_no_disk(kind):
        pytest.skip(reason)
    assert lose_power_at(tmp_path, moment, kind) == []


@ON_DISK
@pytest.mark.parametrize("number", range(RANDOM_CUTS))
def test_after_a_loss_of_power_at_any_time_nothing_is_lost_stuck_or_harmed(
    tmp_path: Path, number: int, count_attacks: CountAttacks
) -> None:
    moment = random.Random(number).uniform(1, EVENTS)
    try:
        found = lose_power_at(tmp_path, moment)
    except Exception:
        count_attacks("loss of power at any time: stuck", 1, 1)  # never fewer tries than cuts
        raise
    for kind in ("lost", "stuck", "harmed"):
        count_attacks(f"loss of power at any time: {kind}", 1, sum(one.startswith(kind) for one in found))
    assert found == [], moment


def record_run(root: Path) -> tuple[Lab, RecordedDisk, list[str]]:
    """A task from its start to `verified`, with every call that changed its files."""
    place = root / "disk"
    place.mkdir()
    lab = Lab.make(place / "lab", extra=CHECKS, own_processes=True)
    lab.add()
    disk = RecordedDisk(place, Path.cwd())
    argv = [sys.executable, "-m", "burnish.cli", "-C", str(lab.repo.path), "run"]
    return lab, disk, record(argv, {**os.environ, **lab.env}, root / "calls")


def cut_recorded(root: Path, chance: random.Random, cuts: int) -> Iterator[tuple[str, list[str]]]:
    """For each cut: when it was, and what is wrong after it. Half of them lose all that was not synced."""
    lab, disk, lines = record_run(root)
    before, done = lab.repo.fingerprint(), 0
    for number, line in enumerate(sorted(chance.sample(range(len(lines)), cuts))):
        for call in lines[done:line]:
            disk.repeat(call)
        done = line
        disk.lay(root / "disk", keep=(lambda: False) if number % 2 == 0 else lambda: chance.random() < 0.5)
        found = list(_problems(lab, before, paid_once=False))
        yield f"call {line} of {len(lines)}, {'dropped' if number % 2 == 0 else 'torn'}", found


@pytest.fixture
def recorder() -> None:
    if reason := why_no_recording():
        # CI must try a loss of power one way or the other
        is_ci = os.environ.get("CI", "").lower() in ("1", "true")
        pytest.fail(reason) if is_ci and why_no_disk() else pytest.skip(reason)


@pytest.mark.usefixtures("recorder")
def test_a_recording_that_is_repeated_to_its_end_is_what_lies_on_the_disk(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    disk = RecordedDisk(tmp_path / "disk", tmp_path)
    script = "cd $0 && echo 1 > a && mkdir b && mv a b/c && ln -s c b/d && echo 2 >> b/c && sync -f b && echo 3 > e"
    lines = record(["sh", "-c", script, str(tmp_path / "disk")], os.environ, tmp_path / "calls")
    for line in lines:
        disk.repeat(line)
    disk.lay(tmp_path / "left")
    assert (tmp_path / "left/b/d").read_text() == "1\n2\n"
    assert not (tmp_path / "left/e").exists(), "it was not synced"


@pytest.mark.slow
@pytest.mark.usefixtures("recorder")
@pytest.mark.parametrize("number", range(RANDOM_CUTS // 5 or 1))
def test_recorded_writes_that_are_cut_and_replayed_lose_harm_and_stop_nothing(
    tmp_path: Path, number: int, count_attacks: CountAttacks
) -> None:
    wrong = []
    for moment, found in cut_recorded(tmp_path, random.Random(number), 5 if TORTURE else 2):
        for kind in ("lost", "stuck", "harmed"):
            count_attacks(f"recorded writes cut: {kind}", 1, sum(one.startswith(kind) for one in found))
        wrong += [f"{moment}: {one}" for one in found]
    assert wrong == []
