"""A runner is dead when its lock can be had and its process has ended, and by no other sign (promises 8 and 9)."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from burnish.proc import identity
from burnish.proc.identity import RunnerIdentity, describe, hold, is_dead, process_start
from burnish.proc.slots import slot
from burnish.proc.stop import Stopped, StopToken

HOLD = """
import sys, time
from pathlib import Path
from burnish.proc.identity import hold
print(hold(Path(sys.argv[1])).runner.uuid, flush=True)
time.sleep(99)
"""

# a server in which one run ends with an error, on a disk that is full by then
GIVE_UP = """
import dataclasses, json, os, sys, time
from pathlib import Path
from burnish.proc.identity import hold
try:
    with hold(Path(sys.argv[1])) as lock:
        raise OSError(28, "No space left on device")
except OSError:
    print(json.dumps(dataclasses.asdict(lock.runner)), flush=True)
time.sleep(99)
"""


def test_we_are_alive_in_our_own_eyes_and_dead_after_release(tmp_path: Path) -> None:
    with hold(tmp_path) as lock:
        assert not is_dead(tmp_path, lock.runner.uuid)
        assert describe(tmp_path, lock.runner.uuid) == lock.runner
    assert is_dead(tmp_path, lock.runner.uuid)


def test_a_living_runner_is_never_dead_and_a_killed_one_is_at_once(tmp_path: Path) -> None:
    runner = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE)
    assert runner.stdout is not None
    uuid = runner.stdout.readline().decode().strip()
    file = tmp_path / f"runner-{uuid}"
    for age in (0, 86_400, -86_400):  # the clock goes forward and back by a day
        os.utime(file, (time.time() - age, time.time() - age))
        assert not is_dead(tmp_path, uuid)
    runner.kill()
    runner.wait()
    runner.stdout.close()

    assert is_dead(tmp_path, uuid)


def test_a_runner_that_could_not_remove_its_record_is_dead_for_other_processes_while_its_server_lives(
    tmp_path: Path,
) -> None:
    with subprocess.Popen([sys.executable, "-c", GIVE_UP, str(tmp_path)], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        recorded = RunnerIdentity(**json.loads(server.stdout.readline()))
        assert (recorded.pid, process_start(server.pid)) == (server.pid, recorded.start_time)
        assert is_dead(tmp_path, recorded.uuid, lambda: recorded)
        server.kill()


def test_a_pid_that_was_given_out_again_saves_nobody(tmp_path: Path) -> None:
    """The dead runner's file names a pid that lives, but began earlier, or before this start of the machine."""
    with hold(tmp_path) as ours:
        for change in ({"start_time": "1"}, {"boot_id": "another"}):
            dead_runner(tmp_path, ours.path, change)
            assert is_dead(tmp_path, "abc"), change
        assert not is_dead(tmp_path, ours.runner.uuid)


def dead_runner(locks: Path, ours: Path, changes: dict[str, object]) -> Path:
    """The file of a runner whose lock is free."""
    file = locks / "runner-abc"
    file.write_text(json.dumps({**json.loads(ours.read_text()), "uuid": "abc", **changes}))
    return file


def test_a_free_lock_is_no_proof_while_the_process_lives(tmp_path: Path) -> None:
    """As with a lock that does not hold on this file system."""
    with hold(tmp_path) as ours, subprocess.Popen(["sleep", "60"]) as other:
        dead_runner(tmp_path, ours.path, {"pid": other.pid, "start_time": process_start(other.pid)})
        assert not is_dead(tmp_path, "abc")
        other.kill()
        other.wait()
        assert is_dead(tmp_path, "abc")


def test_in_another_pid_namespace_the_lock_decides(tmp_path: Path) -> None:
    with hold(tmp_path) as ours:
        dead_runner(tmp_path, ours.path, {"pid_namespace": "pid:[1]", "pid": 1})
        assert is_dead(tmp_path, "abc")


def test_another_machine_on_a_shared_folder_is_never_taken_for_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hold(tmp_path) as ours:
        file = dead_runner(tmp_path, ours.path, {"boot_id": "another", "host": "elsewhere"})
        assert is_dead(tmp_path, "abc"), "a local disk belongs to one machine at a time"
        monkeypatch.setattr(identity, "is_shared", lambda folder: True)
        assert not is_dead(tmp_path, "abc")
        recorded = describe(tmp_path, "abc")
        file.unlink()
        assert is_dead(tmp_path, "abc", lambda: recorded), "a person has removed the file"


def test_locks_that_fail_leave_the_process_as_proof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*words: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    with hold(tmp_path) as ours:
        dead_runner(tmp_path, ours.path, {"start_time": "1"})
        (tmp_path / "runner-def").touch()
        monkeypatch.setattr(fcntl, "flock", fails)
        assert is_dead(tmp_path, "abc")
        assert not is_dead(tmp_path, ours.runner.uuid)
        assert not is_dead(tmp_path, "def"), "nothing is known of it"
        dead_runner(tmp_path, ours.path, {"pid_namespace": "pid:[1]", "pid": 1})
        assert not is_dead(tmp_path, "abc"), "its process cannot be seen from here"


def test_many_may_look_at_once_without_seeing_each_other_as_alive(tmp_path: Path) -> None:
    (tmp_path / "runner-abc").touch()
    seen: list[bool] = []
    threads = [
        threading.Thread(target=lambda: seen.extend(is_dead(tmp_path, "abc") for _ in range(200))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert seen == [True] * 800


def test_a_name_that_is_no_uuid_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        is_dead(tmp_path, "../../etc/passwd")


def test_two_processes_differ_even_with_one_pid(tmp_path: Path) -> None:
    with hold(tmp_path) as one, hold(tmp_path) as two:
        assert one.runner.pid == two.runner.pid == os.getpid()
        assert one.runner.uuid != two.runner.uuid
        assert one.runner.boot_id and one.runner.start_time.replace(".", "").isdigit()


TAKE = """
import sys, time
from pathlib import Path
from burnish.proc.slots import slot
with slot(Path(sys.argv[1]), "agent/x", 2) as number:
    print(number, flush=True)
    time.sleep(99)
"""


def test_places_are_counted_over_processes_and_freed_by_death(tmp_path: Path) -> None:
    others = [subprocess.Popen([sys.executable, "-c", TAKE, str(tmp_path)], stdout=subprocess.PIPE) for _ in range(2)]
    taken = sorted(int(other.stdout.readline()) for other in others if other.stdout)
    assert taken == [0, 1]
    stop = StopToken()
    threading.Timer(0.3, stop.request).start()
    with pytest.raises(Stopped), slot(tmp_path, "agent/x", 2, stop):
        pass
    others[0].kill()
    others[0].wait()

    with slot(tmp_path, "agent/x", 2) as number:
        assert number in (0, 1)
    others[1].kill()
    for other in others:
        other.wait()
        assert other.stdout is not None
        other.stdout.close()


def test_threads_of_one_process_are_counted_too(tmp_path: Path) -> None:
    inside, most = [], []

    def work() -> None:
        with slot(tmp_path, "x", 2):
            inside.append(1)
            most.append(len(inside))
            time.sleep(0.05)
            inside.pop()

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert max(most) == 2


def test_a_lock_that_may_not_be_looked_at_is_no_proof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with hold(tmp_path) as lock:
        runner = lock.runner.uuid
    assert is_dead(tmp_path, runner)

    def forbidden(*words: object, **more: object) -> int:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    # root, as whom tests may run, may look at everything: so it is the system that says no
    monkeypatch.setattr(os, "open", forbidden)
    assert not is_dead(tmp_path, runner)


def test_a_runner_that_its_own_process_gave_up_is_dead_although_the_process_lives(tmp_path: Path) -> None:
    """A server whose run ended on a full disk could not remove the record of it."""
    lock = hold(tmp_path)
    recorded = lock.runner
    assert not is_dead(tmp_path, recorded.uuid, lambda: recorded)
    lock.release()
    assert is_dead(tmp_path, recorded.uuid, lambda: recorded)


@pytest.mark.attacks("forged files of locks", 4)
@pytest.mark.parametrize("kind", ["pipe", "link", "folder", "deep JSON"])
def test_a_file_of_another_kind_in_place_of_a_lock_is_no_proof_and_stops_nothing(kind: str, tmp_path: Path) -> None:
    place = tmp_path / "runner-abc"
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "link":
        place.symlink_to(tmp_path / "other")
        (tmp_path / "other").write_text("{}")
    elif kind == "folder":
        place.mkdir()
    else:
        place.write_text("[" * 60_000)
    assert describe(tmp_path, "abc") is None
    # a regular file that no process holds is that of a runner which ended before it wrote its record
    assert is_dead(tmp_path, "abc") is (kind == "deep JSON")
