"""Watches the program inside of a sandbox from outside: its end counts even if its first process does not report it.

A program can stop the first process of its sandbox, or change its memory, by ptrace or through /proc. Loaded by
`shim.py` from this folder, without the package, and only for calls of some seconds: only cheap imports.
"""
# ruff: noqa: PTH123

from __future__ import annotations

import os

KILL, CONTINUE = 9, 18
# in the namespace of the sandbox: bubblewrap's own process, and the first one that it starts
FIRST, PROGRAM = 1, 2
# from the wrapper down to the first process of the sandbox
LONGEST_CHAIN = 8
# of the fields of `stat_fields`: flags, page faults of the children that were reaped, and the exit status
FLAGS, CHILD_FAULTS, EXIT_STATUS = 6, 8, 49
EXITING = 0x4
# That many looks show that the sandbox does not report the end of its program; more if it may only be slow.
LOOKS, SLOW_LOOKS = 2, 7


class InnerProgram:
    """The program of one sandbox; `levels`: the number of PID namespaces around it."""

    def __init__(self, wrapper: int, levels: int) -> None:
        self.wrapper, self.depth = wrapper, len(namespace_ids(os.getpid())) + levels
        # process id and ids in the namespaces, once found: a process id may be used again
        self.pid, self.ids = 0, [0]
        # the processes that were stopped at the last look
        self.suspects: set[int] = set()
        # looks at which the program had ended, and its sandbox had not
        self.looks = 0

    def end_status(self) -> int | None:
        """The wait status if the program had ended at earlier looks, too, and its sandbox has not; None otherwise."""
        chain = self.chain()
        if not chain:
            return None
        first = chain[-1]
        self.find_program(first)
        states = {pid: state_of(pid) for pid in (first, self.pid) if pid}
        suspects = {pid for pid, state in states.items() if state == "T"}
        for pid in suspects & (self.suspects | {first}):
            send(pid, CONTINUE)
        self.suspects = suspects
        self.looks = self.looks + 1 if self.is_over(first) else 0
        return self.status() if self.looks >= (SLOW_LOOKS if is_at_work(chain) else LOOKS) else None

    def find_program(self, first: int) -> None:
        for pid in () if self.pid else children(first):
            ids = namespace_ids(pid)
            if len(ids) == self.depth and ids[-1] == PROGRAM:
                self.pid, self.ids = pid, ids

    def is_over(self, first: int) -> bool:
        """Whether the program ended. If it was never seen, orphans or a child that was reaped show that it did."""
        if not self.pid:
            return bool(children(first)) or stat_fields(first)[CHILD_FAULTS : CHILD_FAULTS + 1] not in ([], ["0"])
        return namespace_ids(self.pid) != self.ids or state_of(self.pid) in "ZX"

    def status(self) -> int:
        """The status of a program that was not reaped; otherwise unknown, which counts as killed."""
        fields = stat_fields(self.pid) if self.pid and namespace_ids(self.pid) == self.ids else []
        return int(fields[EXIT_STATUS]) if len(fields) > EXIT_STATUS else KILL

    def chain(self) -> list[int]:
        """The wrapper and what is below it, down to the sandbox's first process; empty if that is not there."""
        pids = [self.wrapper]
        for _ in range(LONGEST_CHAIN):
            ids = namespace_ids(pids[-1])
            if len(ids) == self.depth:
                return pids if ids[-1] == FIRST else []
            below = children(pids[-1])
            if not below:
                break
            pids.append(below[0])
        return []


def is_at_work(chain: list[int]) -> bool:
    """Whether the sandbox may still report: on a busy machine, its processes wait for their turn or end slowly.

    The program can stop the first process alone; the others are outside of its sandbox.
    """
    states = [state_of(pid) for pid in chain]
    return is_ending(chain[-1]) or states[-1] in "RDZX" or any(state != "S" for state in states[:-1])


def is_ending(pid: int) -> bool:
    fields = stat_fields(pid)
    return len(fields) > FLAGS and bool(int(fields[FLAGS]) & EXITING)


def namespace_ids(pid: int) -> list[int]:
    """The ids of a process in its PID namespaces, the outermost first; empty if it is gone."""
    for line in read(f"/proc/{pid}/status").split("\n"):
        if line.startswith("NSpid:"):
            return [int(word) for word in line.split()[1:]]
    return []


def state_of(pid: int) -> str:
    """One letter; X for a process that is gone."""
    fields = stat_fields(pid)
    return fields[0] if fields else "X"


def stat_fields(pid: int) -> list[str]:
    """The fields of /proc/…/stat after the name, which may contain anything."""
    return read(f"/proc/{pid}/stat").rpartition(")")[2].split()


def children(pid: int) -> list[int]:
    return [int(word) for word in read(f"/proc/{pid}/task/{pid}/children").split()]


def read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read().decode("latin-1")
    except OSError:
        return ""


def send(pid: int, number: int) -> None:
    try:  # noqa: SIM105
        os.kill(pid, number)
    except OSError:
        pass  # ended already
