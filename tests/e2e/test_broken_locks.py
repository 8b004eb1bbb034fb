"""Locks that do not lock: such a home is refused, and where only `flock` misleads nothing is paid twice."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from testing.broken_locks import (
    FCNTL_FAILS,
    FCNTL_WITHOUT_EFFECT,
    FLOCK_FAILS,
    FLOCK_WITHOUT_EFFECT,
    RUNNER_LOCKS_WITHOUT_EFFECT,
    broken_locks,
)
from testing.lab import APPROVE, Lab

EDIT = "app.write_text(app.read_text() + '# x\\n')\n"
WAYS = {
    "flock does not exclude a second holder": FLOCK_WITHOUT_EFFECT,
    "flock fails (No locks available)": FLOCK_FAILS,
    "fcntl does not exclude a second holder": FCNTL_WITHOUT_EFFECT,
    "fcntl fails (No locks available)": FCNTL_FAILS,
}


@pytest.mark.representatives(1)
@pytest.mark.parametrize("why", WAYS)
def test_a_home_whose_locks_do_not_hold_is_refused_before_anything_is_paid(tmp_path: Path, why: str) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE)
    lab.add()
    env = broken_locks(tmp_path / "site", WAYS[why])
    said = lab.apart("run", "1", code=3, **env)
    assert f"File locks do not work in the burnish home {lab.env['BURNISH_HOME']}: {why}." in said.err, said
    assert "Set BURNISH_HOME to a folder on a local disk" in said.err
    assert not lab.calls()


@pytest.mark.long
def test_without_locks_reading_goes_on_and_doctor_names_the_cause(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE)
    lab.add()
    env = broken_locks(tmp_path / "site", FLOCK_FAILS)
    assert "Add division" in lab.apart("status", **env).out
    doctor = " ".join(lab.apart("doctor", code=None, **env).out.split())
    assert "locks missing do not work in" in doctor and "flock fails (No locks available)" in doctor
    assert "File locks do not work" in lab.apart("serve", "--port", "0", code=3, **env).err


@pytest.mark.long
def test_a_new_home_without_locks_is_refused_in_words(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE)
    env = broken_locks(tmp_path / "site", FLOCK_FAILS) | {"BURNISH_HOME": str(tmp_path / "new")}
    for words in (["status"], ["add", "x"]):
        assert "File locks do not work in" in lab.apart(*words, code=3, **env).err, words


@pytest.mark.long
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the broken lock is told by /proc")
def test_runners_that_see_each_others_lock_as_free_pay_for_no_phase_twice(tmp_path: Path) -> None:
    go = tmp_path / "go"
    lab = Lab.make(
        tmp_path, judge=APPROVE, author=f"while not pathlib.Path({str(go)!r}).exists(): time.sleep(0.05)\n{EDIT}"
    )
    for number in range(3):
        lab.add(f"Task {number}")
    env = broken_locks(tmp_path / "site", RUNNER_LOCKS_WITHOUT_EFFECT)
    runners = [lab.start("run", "--all", **env) for _ in range(3)]
    try:
        lab.until(lambda: lab.calls())
        loser = lab.apart("run", str(lab.calls()[0]["task"]), code=None, **env)
    finally:
        go.touch()
    ended = [runner.communicate(timeout=90) for runner in runners]
    assert [runner.returncode for runner in runners] == [0, 0, 0], ended
    assert max(lab.paid().values()) == 1, lab.paid()
    assert len(lab.calls()) == 6 and {lab.task(n)["status"] for n in (1, 2, 3)} == {"verified"}
    assert not lab.events("lock.taken_over")
    assert loser.code == 4 and "is being run by" in loser.err, loser


@pytest.mark.long
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the broken lock is told by /proc")
def test_a_task_of_a_killed_runner_is_taken_over_with_broken_locks_too(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE, author="time.sleep(0 if (app.parent / 'x').exists() else 60)\n")
    lab.add()
    env = broken_locks(tmp_path / "site", RUNNER_LOCKS_WITHOUT_EFFECT)
    with lab.start("run", "1", **env) as runner:
        lab.until(lambda: lab.calls())
        runner.kill()
        runner.communicate(timeout=60)
    lab.agent("robot", EDIT)
    lab.apart("run", "1", **env)
    assert lab.task()["status"] == "verified" and len(lab.events("lock.taken_over")) == 1


@pytest.mark.long
def test_a_runner_whose_lock_file_was_removed_keeps_its_task(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE, author="time.sleep(1.5)\napp.write_text(app.read_text() + '# x\\n')\n")
    lab.add()
    with lab.start("run", "1") as runner:
        lab.until(lambda: lab.calls())
        for file in Path(lab.env["BURNISH_HOME"], "locks").glob("runner-*"):
            file.unlink()
        assert f"pid {runner.pid}" in lab.burnish("run", "1", code=4).err
        runner.communicate(timeout=60)
    assert lab.task()["status"] == "verified" and len(lab.calls()) == 2


@pytest.mark.representatives(1)
@pytest.mark.parametrize("ending", [EDIT, "app.write_text('half')\nsys.exit(3)\n"], ids=["work", "failure"])
def test_a_runner_that_lost_its_claim_commits_nothing_and_reports_it(tmp_path: Path, ending: str) -> None:
    go = tmp_path / "go"
    wait = f"while not pathlib.Path({str(go)!r}).exists(): time.sleep(0.05)\n"
    lab = Lab.make(tmp_path, judge=APPROVE, author=wait + ending)
    lab.add()
    with lab.start("run", "1") as runner:
        try:
            lab.until(lambda: lab.calls())
            before = lab.refs("refs/heads/burnish") | lab.refs("refs/burnish")
            with closing(sqlite3.connect(lab.env["BURNISH_HOME"] + "/burnish.db")) as db, db:
                db.execute("UPDATE tasks SET runner = 'another'")
        finally:
            go.touch()
        told = runner.communicate(timeout=60)[1]
    assert "Task 1 is no longer held by this run." in told
    assert lab.refs("refs/heads/burnish") | lab.refs("refs/burnish") == before and len(lab.calls()) == 1
    assert not lab.events("phase.finished", "phase.failed", "phase.rescued", "lock.taken_over")


@pytest.mark.attacks("links in place of locks", 2)
@pytest.mark.parametrize("make", [lambda place, victim: place.symlink_to(victim), lambda place, _: place.mkdir()])
def test_what_stands_in_place_of_a_lock_is_named_and_not_followed(
    tmp_path: Path, make: Callable[[Path, Path], None]
) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE)
    lab.add()
    lab.burnish("run")
    lab.add()
    victim = tmp_path / "victim"
    victim.write_text("mine")
    locks = Path(lab.env["BURNISH_HOME"]) / "locks"
    for place in [place for place in locks.iterdir() if not place.name.startswith("runner-")]:
        place.unlink()
        make(place, victim)
    result = lab.apart("run", code=3)
    assert "is not a regular file." in result.err and "Traceback" not in result.err
    assert victim.read_text() == "mine" and lab.task(2)["status"] != "verified"
