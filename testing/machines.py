"""Several machines on this one: each has a home and a clone of its own; they share a database and a git remote."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from testing.children import record_child
from testing.lab import Lab, Said
from testing.userrepo import UserRepo

# seconds of a lease in these tests; the real one is longer
LEASE = "3"


@dataclass
class Machine:
    """A laboratory whose clone came from the remote."""

    name: str
    lab: Lab
    url: str

    def burnish(self, *argv: str, code: int | None = 0) -> Said:
        return self.lab.apart(*argv, code=code, timeout=120)

    def tasks(self) -> dict[str, dict[str, Any]]:
        return {task["id"]: task for task in self.burnish("status", "--json").json["tasks"]}

    def status(self, number: str = "1") -> str:
        return str(self.tasks()[number]["status"])

    def statuses(self) -> set[str]:
        """As the database has them, without a process: for a test that waits."""
        with psycopg.connect(self.url) as connection:
            return {str(row[0]) for row in connection.execute("SELECT status FROM burnish.tasks").fetchall()}

    def status_of(self, number: int) -> str:
        """Of one task, without a process."""
        with psycopg.connect(self.url) as connection:
            rows = connection.execute("SELECT status FROM burnish.tasks WHERE id = %s", [number]).fetchall()
        return str(rows[0][0])

    def holders(self) -> set[str]:
        """The runners that hold a task."""
        with psycopg.connect(self.url) as connection:
            rows = connection.execute("SELECT runner FROM burnish.tasks WHERE runner IS NOT NULL").fetchall()
        return {str(row[0]) for row in rows}

    @contextmanager
    def worker(self, *argv: str, prefix: tuple[str, ...] = (), **env: str) -> Iterator[WorkerProcess]:
        """A worker as a process of its own; drained at the end, if it still runs."""
        log = self.lab.root / f"worker-{self.name}.log"
        words = [*prefix, sys.executable, "-m", "burnish.cli", "-C", str(self.lab.repo.path), "worker", *argv]
        variables = {**os.environ, **self.lab.env, "PYTHONFAULTHANDLER": "1", **env}
        with log.open("ab") as out:
            process = subprocess.Popen(words, env=variables, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        record_child(process)
        worker = WorkerProcess(process, log)
        try:
            worker.until(lambda: "runs up to" in worker.text())
            yield worker
        finally:
            worker.end()


@dataclass
class WorkerProcess:
    process: subprocess.Popen[bytes]
    log: Path

    def text(self) -> str:
        return self.log.read_text(errors="replace")

    def until(self, true: Callable[[], object], seconds: float = 240) -> None:
        end = time.monotonic() + seconds
        while not true():
            assert self.process.poll() is None, self.text()
            if time.monotonic() > end:
                self.signal(signal.SIGCONT)
                self.signal(signal.SIGABRT)  # faulthandler prints where each thread is
                self.process.wait(10)
                raise AssertionError(f"it did not come about:\n{self.text()}")
            time.sleep(0.1)

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self) -> int:
        if self.process.poll() is None:
            self.signal(signal.SIGCONT)
            self.signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
        return self.process.wait()


@dataclass
class Machines:
    """The machines, the remote and what the agents of all of them signed."""

    root: Path
    url: str
    lab: Lab
    remote: Path
    all: dict[str, Machine] = field(default_factory=dict)

    @classmethod
    def make(cls, root: Path, url: str, *names: str, **kwargs: Any) -> Machines:
        lab = Lab.make(root / "origin", **kwargs)
        remote = root / "remote.git"
        subprocess.run(["git", "clone", "-q", "--bare", lab.repo.path, remote], check=True)
        machines = cls(root, url, lab, remote)
        for name in names:
            machines.add(name)
        return machines

    def publish(self) -> None:
        """Give the remote, and the clones that are made later, what the user has committed."""
        self.lab.repo.git("push", "-q", str(self.remote), "HEAD")

    def add(self, name: str, *, trust: bool = True, has_database: bool = True) -> Machine:
        place = self.root / name
        home = place / "home"
        home.mkdir(parents=True)
        checkout = place / f"src-{name}"
        subprocess.run(["git", "clone", "-q", self.remote, checkout], check=True)
        repo = UserRepo(checkout)
        for key, value in (("user.name", "Ann"), ("user.email", "ann@example.org")):
            repo.git("config", key, value)
        env = {
            "HOME": str(home),
            "BURNISH_HOME": str(home / "burnish"),
            "BURNISH__NOTIFY__DESKTOP": "false",
            "BURNISH__SANDBOX__MODE": "off",
            "BURNISH_LEASE_SECONDS": LEASE,
        }
        if "PATH" in self.lab.env:
            env["PATH"] = self.lab.env["PATH"]
        lab = Lab(self.lab.root, repo, env, self.lab.extra, self.lab.names, own_processes=True)
        lab.user_settings(f"database: {self.url}\n" if has_database else "")
        machine = Machine(name, lab, self.url)
        if trust:
            machine.burnish("trust")
        self.all[name] = machine
        return machine

    def on_remote(self, prefix: str = "refs/burnish/shared/") -> dict[str, str]:
        command = ["git", "-C", str(self.remote), "for-each-ref", "--format=%(refname) %(objectname)", prefix]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
        return dict(line.split(" ") for line in lines)
