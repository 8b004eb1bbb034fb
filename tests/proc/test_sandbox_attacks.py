"""A program in a sandbox cannot get out: sockets, processes, files, kernel settings, mounts, markers (promises 10, 19).

Each attack is also tried outside of the sandbox where that is harmless: an attack that fails there proves nothing.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from burnish.proc.mounts import Overlay, with_overlays
from burnish.proc.private_places import MARKERS
from burnish.proc.run import Command, run
from burnish.proc.sandbox import Sandbox
from testing.attack_counts import CountAttacks
from testing.bubblewrap import needs_bubblewrap
from testing.sandbox_attacks import ATTACKS, attack, only_in_a_namespace

TIMES = 10 if os.environ.get("BURNISH_TORTURE") else 1
# Outside of a sandbox these succeed for any user; that is the proof that the attack works.
CONTROLS = (
    "socket in the temporary folder",
    "socket in the checkout",
    "abstract socket",
    "see a process outside",
    "signal a process outside",
    "environment of a process outside",
    "private file",
    "database",
    "shared memory",
    "System V shared memory",
    "write to the checkout",
    "write to the burnish home",
)


def landlock_version() -> int:
    return int(ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1))


@dataclass
class Target:
    """Somebody's machine: a home, a checkout, a burnish home, listening sockets and a process."""

    root: Path
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)
    pid: int = 0

    @property
    def box(self) -> Sandbox:
        home = self.root / "home"
        return Sandbox(home, home / "project", home / "burnish")

    @property
    def work(self) -> Path:
        return self.box.burnish_home / "work"

    def facts(self) -> dict[str, Any]:
        box, clean = self.box, {"PATH": os.environ["PATH"], "HOME": str(self.box.home)}
        burnish = [sys.executable, "-m", "burnish.cli", "-C", str(box.checkout), "decide", "1", "approve"]
        return {
            "socket": str(self.root / "agent.sock"),
            "checkout_socket": str(box.checkout / "s"),
            "abstract": self.mark,
            "pid": self.pid,
            "mark": self.mark,
            "secret": str(box.home / "secret"),
            "database": str(box.burnish_home / "burnish.db"),
            "shared_memory": f"/dev/shm/{self.mark}",
            "shm_key": int(self.mark[:7], 16),
            "home": str(box.home),
            "checkout": str(box.checkout),
            "burnish_home": str(box.burnish_home),
            "markers": [str(place) for place in MARKERS],
            "burnish": burnish,
            "clean": clean | {"BURNISH_HOME": str(box.burnish_home)},
        }

    def outside(self, name: str) -> str:
        argv = [sys.executable, "-I", "-c", attack(name, self.facts())]
        return subprocess.run(argv, cwd=self.work, capture_output=True, text=True, timeout=30, check=False).stdout

    def inside(self, code: str, *, seconds: float = 30, overlays: tuple[Overlay, ...] = ()) -> str:
        env = {"PATH": os.environ["PATH"], "HOME": str(self.box.home), "TMPDIR": str(self.root / "tmp")}
        program = (sys.executable, "-I", "-c", only_in_a_namespace(code))
        argv = with_overlays(self.box.around(program, env=env, writable=(self.work,)), overlays)
        call = self.root / f"call-{uuid.uuid4().hex}"
        call.mkdir()
        result = run(Command(argv, self.work, env, call, timeout_seconds=seconds, wrapped=True))
        return result.stdout.read_text() + result.stderr.read_text()


@pytest.fixture
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    needs_bubblewrap()
    one = Target(tmp_path_factory.mktemp("t"))
    for folder in (one.work, one.box.checkout, one.root / "tmp"):
        folder.mkdir(parents=True)
    one.box.home.joinpath("secret").write_text("secret")
    (one.box.burnish_home / "burnish.db").write_text("decisions")
    facts = one.facts()
    Path(facts["shared_memory"]).write_text("secret")
    libc = ctypes.CDLL(None)
    segment = libc.shmget(facts["shm_key"], 4096, 0o1600)
    with contextlib.ExitStack() as stack:
        for name in (facts["socket"], facts["checkout_socket"], "\0" + one.mark):
            server = stack.enter_context(socket.socket(socket.AF_UNIX))
            server.bind(name)
            server.listen(64)
        env = {"MARK": one.mark, "PATH": os.environ["PATH"]}
        victim = stack.enter_context(subprocess.Popen(["sleep", "300"], env=env, start_new_session=True))
        one.pid = victim.pid
        yield one
        assert victim.poll() is None, "the process outside was killed"
        victim.kill()
    libc.shmctl(segment, 0, None)
    Path(facts["shared_memory"]).unlink()


@pytest.mark.slow
@pytest.mark.parametrize("turn", range(TIMES))
def test_no_attack_gets_out_of_the_sandbox(target: Target, turn: int, count_attacks: CountAttacks) -> None:
    # abstract sockets are not promised before Linux 6.12
    names = [name for name in ATTACKS if name != "abstract socket" or landlock_version() >= 6]
    printed = {name: target.inside(attack(name, target.facts())) for name in names}
    successes = {name: text for name, text in printed.items() if "GOT" in text or "bwrap:" in text}
    count_attacks("get out of the sandbox", len(names), len(successes))
    assert successes == {}
    assert (target.box.burnish_home / "burnish.db").read_text() == "decisions"
    assert sorted(path.name for path in target.box.checkout.iterdir()) == ["s"]


@pytest.mark.representatives(3)
@pytest.mark.parametrize("name", CONTROLS)
def test_outside_of_the_sandbox_the_same_attack_succeeds(target: Target, name: str) -> None:
    assert "GOT" in target.outside(name)


@pytest.mark.representatives(1)
@pytest.mark.attacks("get out of the sandbox", 1)
@pytest.mark.parametrize("name", ["abstract socket", "signal a process outside"])
def test_a_sandbox_below_an_overlay_is_scoped_as_well(target: Target, name: str) -> None:
    """Checks and authors see a tree at the checkout's path: another program mounts it and then starts bubblewrap."""
    if landlock_version() < 6:
        pytest.skip("abstract sockets are not promised before Linux 6.12")
    overlay = Overlay((target.box.checkout,), target.root / "scratch", target.root / "tree")
    overlay.create()
    assert "GOT" not in target.inside(attack(name, target.facts()), overlays=(overlay,))


def test_without_network_abstract_sockets_are_closed_on_every_kernel(target: Target) -> None:
    env = {"PATH": os.environ["PATH"]}
    box = Sandbox(target.box.home, target.box.checkout, target.box.burnish_home, network=False)
    code = attack("abstract socket", target.facts())
    argv = box.around((sys.executable, "-I", "-c", code), env=env, writable=(target.work,))
    # not under the shim, which would use Landlock
    printed = subprocess.run(argv, cwd=target.work, env=env, capture_output=True, text=True, timeout=30, check=False)
    assert "ConnectionRefusedError" in printed.stdout


OTHER = """
import os, pathlib, time
pathlib.Path("running").touch()
while not os.path.exists("over"):
    time.sleep(0.02)
print("undisturbed")
"""


@pytest.mark.attacks("see or end another sandbox", 2)
def test_two_sandboxes_do_not_see_each_other(target: Target) -> None:
    """As with `-j 2`: environment, prompt and signals of the other one."""
    printed: list[str] = []
    other = threading.Thread(target=lambda: printed.append(target.inside(f"MARK = {target.mark!r}\n{OTHER}")))
    other.start()
    try:
        until = time.monotonic() + 10
        while not (target.work / "running").exists():
            assert time.monotonic() < until
            time.sleep(0.02)
        code = f"""
import os, signal
for pid in filter(str.isdigit, os.listdir("/proc")):
    if {target.mark!r} in open(f"/proc/{{pid}}/cmdline").read() and int(pid) != os.getpid() and pid != "1":
        print("GOT", pid)
os.fork() or os.kill(-1, signal.SIGKILL)
"""
        assert "GOT" not in target.inside(code)
    finally:
        (target.work / "over").touch()
        other.join(30)
    assert printed == ["undisturbed\n"]


SURVIVORS = {
    "double fork, then the main program ends": "if detach(): stay()\nos._exit(0)",
    "double fork, then everything else is killed": "if detach():\n  if os.fork(): time.sleep(.2); os.kill(-1, 9)\n"
    "  stay()\ntime.sleep(99)",
    "the parent is killed": "if detach(): stay()\nos.kill(os.getppid(), 9); os._exit(3)",
    "signals ignored": "signal.signal(15, 1); signal.signal(1, 1)\nif detach(): stay()\nos._exit(0)",
    "own user and PID namespace": "if detach():\n  os.execvp('unshare', ['unshare', '-Urpf', *ARGV])\nos._exit(0)",
    "the time is up": "if detach(): stay()\ntime.sleep(99)",
    "the first process is traced": "if detach(): stay()\nlibc.ptrace(16, 1, 0, 0); time.sleep(.2); os._exit(0)",
}
STAY = """
import ctypes, os, signal, sys, time
libc = ctypes.CDLL(None)
ARGV = [sys.executable, "-I", "-S", "-c", "import time\\nwhile True: open('alive', 'a').write('x'); time.sleep(.02)"]
def stay():
    os.execv(ARGV[0], ARGV)
def detach():
    if os.fork(): time.sleep(.3); return False
    os.setsid()
    if os.fork(): os._exit(0)
    return True
"""


@pytest.mark.slow
@pytest.mark.representatives(2)
@pytest.mark.attacks("outlive the sandbox", TIMES)
@pytest.mark.parametrize("shape", SURVIVORS)
def test_no_process_outlives_its_sandbox(target: Target, shape: str) -> None:
    for _ in range(TIMES):
        (target.work / "alive").unlink(missing_ok=True)
        assert "GOT" not in target.inside(STAY + SURVIVORS[shape], seconds=2)
        size = (target.work / "alive").stat().st_size if (target.work / "alive").exists() else 0
        time.sleep(0.2)
        assert size > 0, "the program that should be ended never ran"
        assert (target.work / "alive").stat().st_size == size
