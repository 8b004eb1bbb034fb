"""A program that changes the first process of its sandbox, or what it inherits, changes nothing outside."""

from __future__ import annotations

import os
import platform
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from burnish.errors import BurnishError
from burnish.proc import shim
from burnish.proc.run import Command, ExitRecord, StopToken, run
from burnish.proc.sandbox import Sandbox
from testing.bubblewrap import needs_bubblewrap
from testing.sandbox_attacks import only_in_a_namespace

# Makes the first process leave its session and stay when its parent dies, by system calls that are written into it.
HIJACK = """
import ctypes, os, sys, time
libc = ctypes.CDLL(None)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
ATTACH, GETREGS, SETREGS, STEP, DETACH, CLONED = 16, 12, 13, 9, 17, 0x40000000
class Registers(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in (
        "r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base ds es "
        "fs gs").split()]
def call(number, first=0, second=0):
    before, after = Registers(), Registers()
    libc.ptrace(GETREGS, 1, None, ctypes.byref(before))
    wanted = Registers.from_buffer_copy(bytes(before))
    wanted.rax, wanted.orig_rax, wanted.rdi, wanted.rsi = number, 2**64 - 1, first, second
    memory = os.open("/proc/1/mem", os.O_RDWR)
    code = os.pread(memory, 2, before.rip)
    os.pwrite(memory, bytes([0x0F, 0x05]), before.rip)
    libc.ptrace(SETREGS, 1, None, ctypes.byref(wanted))
    libc.ptrace(STEP, 1, None, None)
    os.waitpid(1, CLONED)
    libc.ptrace(GETREGS, 1, None, ctypes.byref(after))
    os.pwrite(memory, code, before.rip)
    libc.ptrace(SETREGS, 1, None, ctypes.byref(before))
    return ctypes.c_longlong(after.rax).value
def hijack():
    if libc.ptrace(ATTACH, 1, None, None) == 0:
        os.waitpid(1, CLONED)
        setsid, prctl, parent_death_signal = 112, 157, 1
        call(setsid)
        call(prctl, parent_death_signal, 0)
        libc.ptrace(DETACH, 1, None, None)
try:
    hijack()
except OSError:
    pass
if os.fork():
    time.sleep(15)
os.setsid()
open("tried", "w").close()
until = time.monotonic() + 15
while time.monotonic() < until:
    open("alive", "a").write("x")
    time.sleep(.02)
"""


@dataclass(frozen=True)
class Workplace:
    """Where one program runs, and what it is given."""

    root: Path

    @property
    def work(self) -> Path:
        return self.root / "home/burnish/work"

    @property
    def call(self) -> Path:
        return self.root / "home/burnish/call"

    def run(self, code: str, *, stdin: Path | None = None, stop: StopToken | None = None) -> ExitRecord:
        home = self.root / "home"
        env = {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(self.root / "tmp")}
        box = Sandbox(home, home / "project", home / "burnish")
        program = (sys.executable, "-I", "-c", only_in_a_namespace(code))
        argv = box.around(program, env=env, writable=(self.work,))
        command = Command(argv, self.work, env, self.call, stdin=stdin, timeout_seconds=30, wrapped=True)
        return run(command, stop=stop)

    def size(self) -> int:
        path = self.work / "alive"
        return path.stat().st_size if path.exists() else 0


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Workplace]:
    needs_bubblewrap()
    one = Workplace(tmp_path)
    for folder in (one.work, one.call, tmp_path / "home/project", tmp_path / "tmp"):
        folder.mkdir(parents=True)
    yield one


def wait_for(path: Path) -> None:
    until = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < until, f"there is no {path.name}"
        time.sleep(0.02)


@pytest.mark.attacks("outlive the sandbox", 1)
@pytest.mark.skipif(platform.machine() != "x86_64", reason="writes machine code")
def test_no_process_outlives_a_killed_shim_when_the_first_process_was_changed(place: Workplace) -> None:
    def lose() -> None:
        with pytest.raises(BurnishError):
            place.run(HIJACK)

    thread = threading.Thread(target=lose)
    before = set(shim.children(os.getpid()))
    thread.start()
    try:
        wait_for(place.work / "tried")
        (watcher,) = set(shim.children(os.getpid())) - before
        os.kill(watcher, signal.SIGKILL)
    finally:
        thread.join(30)
    time.sleep(0.3)
    size = place.size()
    time.sleep(0.3)
    assert place.size() == size > 0


@pytest.mark.attacks("get out of the sandbox", 2)
@pytest.mark.parametrize(
    "attack",
    ["os.write(os.open('/proc/self/fd/0', os.O_WRONLY | os.O_TRUNC), b'other')", "os.fchmod(0, 0o4777)"],
    ids=["written", "mode changed"],
)
def test_the_file_behind_standard_input_cannot_be_changed(place: Workplace, attack: str) -> None:
    prompt = place.call / "prompt.md"
    prompt.write_text("do this")
    mode = prompt.stat().st_mode
    done = place.run(f"import os\nprint(os.read(0, 100), flush=True)\n{attack}", stdin=prompt)
    assert done.stdout.read_text() == "b'do this'\n"
    assert prompt.read_text() == "do this"
    assert prompt.stat().st_mode == mode
    assert [path.name for path in place.call.iterdir() if "copy" in path.name] == []


@pytest.mark.attacks("get out of the sandbox", 1)
def test_the_mode_of_devices_cannot_be_changed_and_they_can_be_used(place: Workplace) -> None:
    code = """
import os
for path in ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/proc/self/fd/0"):
    try:
        os.chmod(path, os.stat(path).st_mode & 0o7777)
        print("GOT", path)
    except OSError:
        pass
open("/dev/null", "w").write("x")
print(open("/dev/zero", "rb").read(1), len(open("/dev/urandom", "rb").read(9)))
"""
    assert place.run(code).stdout.read_text() == "b'\\x00' 9\n"


TRACE = """
import ctypes, os, signal, sys, time
libc = ctypes.CDLL(None)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
ATTACH = 16
def code_of_first_process(code):
    memory = os.open("/proc/1/mem", os.O_RDWR)
    for line in open("/proc/1/maps"):
        if " r-xp " in line and "libc" in line:
            start, end = (int(word, 16) for word in line.split()[0].split("-"))
            os.pwrite(memory, code * ((end - start - 2) // len(code)) + bytes([0xEB, 0xFE]), start)
"""
# how a program leaves its phase running after its own end, or stops itself without anyone who continues it
HANGING = {
    "the first process is stopped": "libc.ptrace(ATTACH, 1, None, None); os._exit(3)",
    "the first process is traced": """
if os.fork() == 0:
    os.setsid()
    libc.ptrace(ATTACH, 1, None, None)
    time.sleep(60)
time.sleep(0.5)
os._exit(3)
""",
    "the first process does not go on": """
if "x86_64" in os.uname().machine:
    code_of_first_process(bytes([0x90]))
os._exit(3)
""",
    "the program is stopped by ptrace": """
if os.fork() == 0:
    libc.ptrace(ATTACH, os.getppid(), None, None)
    os._exit(0)
time.sleep(0.5)
os._exit(3)
""",
    "the program is stopped by a signal": "os.kill(os.getpid(), signal.SIGSTOP); os._exit(3)",
}


@pytest.mark.attacks("outlive the program", 1)
@pytest.mark.parametrize("attack", HANGING.values(), ids=HANGING.keys())
def test_a_call_ends_soon_after_its_program(place: Workplace, attack: str) -> None:
    done = place.run(TRACE + attack)
    # of a program that was reaped inside, the exit code is unknown
    assert (done.ended, done.exit_code, done.signal) in (("exit", 3, None), ("exit", None, signal.SIGKILL))
    assert done.seconds < 20


@pytest.mark.slow
def test_a_sandbox_that_waits_for_its_turn_still_reports_the_exit_code_of_its_program(place: Workplace) -> None:
    """On a busy machine, bubblewrap may go on seconds after its program has ended."""
    before = set(shim.children(os.getpid()))
    results: list[ExitRecord] = []
    code = "import time\nopen('tried', 'w').close()\ntime.sleep(1)\n"
    thread = threading.Thread(target=lambda: results.append(place.run(code)))
    thread.start()
    try:
        wait_for(place.work / "tried")
        (watcher,) = set(shim.children(os.getpid())) - before
        (wrapper,) = shim.children(watcher)
        os.kill(wrapper, signal.SIGSTOP)
        (inside,) = shim.children(wrapper)
        os.kill(inside, signal.SIGSTOP)
        time.sleep(7)
        os.kill(inside, signal.SIGCONT)
        os.kill(wrapper, signal.SIGCONT)
    finally:
        thread.join(30)
    assert [(one.ended, one.exit_code, one.signal) for one in results] == [("exit", 0, None)]
