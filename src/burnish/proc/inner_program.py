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
# of the fields of `stat_fields`: page faults of the children that were reaped, and the exit status
CHILD_FAULTS, EXIT_STATUS = 8, 49


class InnerProgram:
    """The program of one sandbox; `levels`: the number of PID namespaces around it."""

    def __init__(self, wrapper: int, levels: int) -> None:
        self.wrapper, self.depth = wrapper, len(namespace_ids(os.getpid())) + levels
        # process id and ids in the namespaces, once found: a process id may be used again
        self.pid, self.ids = 0, [0]
        # the processes that were stopped at the last look
        self.suspects: set[int] = set()
        self.has_ended = False

    def end_status(self) -> int | None:
        """The wait status if the program had ended at the last look, too, and its sandbox has not; None otherwise."""
        first = self.first_process()
        if not first:
            return None
        self.find_program(first)
        states = {pid: state_of(pid) for pid in (first, self.pid) if pid}
        suspects = {pid for pid, state in states.items() if state == "T"}
        for pid in suspects & (self.suspects | {first}):
            send(pid, CONTINUE)
        had_ended, self.suspects = self.has_ended, suspects
        self.has_ended = self.is_over(first)
        return self.status() if self.has_ended and had_ended else None

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

    def first_process(self) -> int:
        """The first process of the inner sandbox; 0 if there is none yet, or none any more."""
        pid = self.wrapper
        for _ in range(LONGEST_CHAIN):
            ids = namespace_ids(pid)
            if len(ids) == self.depth:
                return pid if ids[-1] == FIRST else 0
            below = children(pid)
            if not below:
                return 0
            pid = below[0]
        return 0


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
