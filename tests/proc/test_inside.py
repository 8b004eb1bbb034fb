"""burnish knows when it is called by something that it has started itself."""

from __future__ import annotations

import sys

import pytest

from burnish.proc.inside import inside_phase
from burnish.proc.run import run

ASK = "from burnish.proc.inside import inside_phase; print(inside_phase())"
FORK_AWAY = "import os, time\nif os.fork(): time.sleep(1); os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\n"
# Two processes between the first one and the one that asks; those in ENDED end after the nearer one was looked at.
LOSE_ANCESTORS = """
import os, signal, time
from burnish.proc.identity import ancestors
ended, told = os.pipe()
if far := os.fork():
    os.close(told)
    os.waitpid(far, 0)
    os.read(ended, 1)
    os._exit(0)
far = os.getpid()
if os.fork():
    signal.pause()
near = os.getpid()
if os.fork():
    signal.pause()
walk = ancestors()
next(walk)
for pid in [far, near][:ENDED]:
    os.kill(pid, signal.SIGKILL)
    while os.path.exists(f"/proc/{pid}"):
        time.sleep(0.01)
print(any(word.endswith("shim.py") for ancestor in walk for word in ancestor.words), flush=True)
"""


def test_we_are_not_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not inside_phase()
    monkeypatch.setenv("BURNISH_TASK", "1")
    assert inside_phase()


def test_a_program_that_drops_the_variable_is_still_inside(bench) -> None:
    done = run(bench.python("", argv=(sys.executable, "-c", ASK)))

    assert done.stdout.read_text() == "True\n"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a subreaper")
def test_forking_away_from_the_shim_does_not_help(bench) -> None:
    wait = "time.sleep(.3)\n"
    done = run(bench.python("", argv=(sys.executable, "-c", FORK_AWAY + wait + ASK)))

    assert done.stdout.read_text() == "True\n"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a subreaper")
@pytest.mark.parametrize("ended", [1, 2])
def test_ancestors_that_end_while_they_are_looked_at_do_not_hide_the_shim(bench, ended: int) -> None:
    done = run(bench.python("", argv=(sys.executable, "-c", LOSE_ANCESTORS.replace("ENDED", str(ended)))))

    assert done.stdout.read_text() == "True\n"
