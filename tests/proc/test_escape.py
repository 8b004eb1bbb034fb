"""Five seconds after a stop, a timeout or the death of burnish, no process is left (promise 10)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from burnish.proc import run as proc_run
from burnish.proc.run import ShimLost, StopToken, run, wait_for_orphans
from burnish.proc.shim_files import outcome_file

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc and a subreaper")

TIMES = 100 if os.environ.get("BURNISH_TORTURE") else 1
READY = "import os, signal, time\nprint('ready', flush=True)\n"
SHAPES = {
    "double fork": READY + "if not os.fork():\n if not os.fork(): time.sleep(99)\n os._exit(0)\ntime.sleep(99)",
    "setsid": READY + "if not os.fork(): os.setsid(); time.sleep(99)\ntime.sleep(99)",
    "TERM ignored": "import os, signal, time\nsignal.signal(15, signal.SIG_IGN)\nos.fork()\n"
    "print('ready', flush=True)\ntime.sleep(99)",
    "pipe held open": READY
    + "if not os.fork():\n os.setsid()\n while True: print('x'); time.sleep(.1)\ntime.sleep(99)",
    "busy fork": READY
    + "if not os.fork():\n signal.signal(15, signal.SIG_IGN)\n while True:\n"
    + "  if os.fork(): os._exit(0)\n  os.setsid()\ntime.sleep(99)",
}
RUNNER = """
import sys
from pathlib import Path
from burnish.proc.run import Command, run
code, root, mark, path = sys.argv[1:]
root = Path(root)
run(Command((sys.executable, "-I", "-S", "-c", code), root, {"PATH": path, "MARK": mark}, root / "call",
            lock_file=root / "lock"))
"""


@pytest.fixture(params=[(shape, turn) for shape in SHAPES for turn in range(TIMES)], ids=str)
def shape(request: pytest.FixtureRequest) -> str:
    return SHAPES[request.param[0]]


@pytest.mark.representatives(2)
@pytest.mark.attacks("outlive a stop", 1)
def test_a_stop_leaves_nothing(shape: str, bench) -> None:
    stop, results = StopToken(), []
    thread = threading.Thread(target=lambda: results.append(run(bench.python(shape), stop=stop)))
    thread.start()
    bench.wait_until_ready()
    asked = time.monotonic()
    stop.request()
    thread.join()

    assert bench.alive() == []
    assert time.monotonic() - asked < 60
    assert results[0].ended == "stopped"


@pytest.mark.slow
@pytest.mark.representatives(2)
@pytest.mark.attacks("outlive a time limit", 1)
def test_a_timeout_leaves_nothing(shape: str, bench) -> None:
    started = time.monotonic()

    done = run(bench.python(shape, timeout_seconds=0.3))

    assert bench.alive() == []
    assert time.monotonic() - started < 60
    assert done.ended == "timeout"


@pytest.mark.slow
@pytest.mark.representatives(2)
@pytest.mark.attacks("outlive kill -9 of burnish", 1)
def test_kill_9_of_burnish_leaves_nothing(shape: str, bench, spawn_runner) -> None:
    runner = spawn_runner(shape)
    bench.wait_until_ready()
    runner.send_signal(signal.SIGKILL)
    runner.wait()
    killed = time.monotonic()

    assert wait_for_orphans(bench.root / "lock")
    assert bench.alive() == []
    assert time.monotonic() - killed < 60
    assert '"orphaned"' in outcome_file(bench.call_dir).read_text()


@pytest.fixture
def spawn_runner(bench):
    def spawn(code: str) -> subprocess.Popen[bytes]:
        argv = [sys.executable, "-c", RUNNER, code, str(bench.root), bench.mark, os.environ["PATH"]]
        return subprocess.Popen(argv)

    return spawn


def test_what_a_finished_program_left_behind_ends_too(bench) -> None:
    """A grandchild that holds the pipe open does not hang us, and does not live on."""
    done = run(bench.python("import os, time\nif not os.fork(): os.setsid(); time.sleep(99)\nprint('mine')"))

    assert (done.ended, done.exit_code) == ("exit", 0)
    assert done.seconds < 60
    assert bench.stdout() == b"mine\n"
    assert bench.alive() == []


def test_stop_now_does_not_wait_for_manners(bench) -> None:
    stop, results = StopToken(), []
    command = bench.python(SHAPES["TERM ignored"])
    thread = threading.Thread(target=lambda: results.append(run(command, stop=stop)))
    thread.start()
    bench.wait_until_ready()
    asked = time.monotonic()
    stop.request()
    stop.request(now=True)
    thread.join()

    assert time.monotonic() - asked < 1.5
    assert results[0].signal == signal.SIGKILL
    assert bench.alive() == []


def test_an_error_of_ours_ends_the_program_as_well(bench) -> None:
    def fail(_: str) -> None:
        raise RuntimeError("the screen is broken")

    with pytest.raises(RuntimeError):
        run(bench.python(READY + "time.sleep(99)"), on_output=fail)

    assert bench.alive() == []


def test_a_program_that_kills_its_shim_does_not_outlive_it(bench) -> None:
    with pytest.raises(ShimLost):
        run(bench.python("import os, time\nos.kill(os.getppid(), 9)\ntime.sleep(99)"))

    bench.wait_until_gone()


def test_a_program_that_freezes_its_shim_gains_nothing(bench) -> None:
    code = "import os, time\nos.kill(os.getppid(), 19)\ntime.sleep(99)"

    done = run(bench.python(code, timeout_seconds=0.5))

    assert done.ended == "timeout"
    assert bench.alive() == []


@pytest.mark.skipif(not os.environ.get("BURNISH_TORTURE"), reason="takes ten seconds")
def test_a_shim_that_is_frozen_again_and_again_is_ended_by_force(bench) -> None:
    code = "import os, signal, time\nsignal.signal(15, signal.SIG_IGN)\nwhile True: os.kill(os.getppid(), 19)"

    with pytest.raises(ShimLost):
        run(bench.python(code, timeout_seconds=0.5))

    bench.wait_until_gone()


WITHOUT_LINUX = """
import sys
sys.platform = "darwin"
shim = {"__name__": "shim"}
exec(compile(open(SHIM).read(), SHIM, "exec"), shim)
shim["children"] = lambda pid: []
shim["main"]()
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["TERM ignored", "group holds the pipe"])
def test_without_a_subreaper_the_process_group_still_ends(bench, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """As on macOS: no /proc, nobody adopts orphans."""
    elsewhere = bench.root / "shim.py"
    elsewhere.write_text(f"SHIM = {proc_run.SHIM!r}\n{WITHOUT_LINUX}")
    monkeypatch.setattr(proc_run, "SHIM", str(elsewhere))
    holds = "import os, time\nif not os.fork(): time.sleep(99)\nprint('mine')"

    done = run(bench.python(SHAPES.get(name, holds), timeout_seconds=0.5 if name in SHAPES else 60))

    bench.wait_until_gone()
    assert (done.ended, done.exit_code) == (("exit", 0) if name not in SHAPES else ("timeout", None))
