"""A PostgreSQL server of the tests' own, in a temporary folder: one for each process that runs tests."""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import psycopg
import pytest

from testing.children import leave_running
from testing.other_user import NOBODY

_numbers = itertools.count(1)


@dataclass
class PostgresqlServer:
    """Stopped with the process that runs the tests. It listens on a socket in its folder only."""

    programs: Path
    folder: Path
    process: subprocess.Popen[bytes] | None = field(default=None)
    # an address of this machine to listen on besides the socket
    listen: str = ""
    # settings of the server besides those of all tests
    settings: dict[str, str] = field(default_factory=dict)

    @classmethod
    def make(cls, programs: Path, listen: str = "", **settings: str) -> PostgresqlServer:
        folder = Path(tempfile.mkdtemp(prefix="burnish-pg-"))
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        server = cls(programs, folder, listen=listen, settings=settings)
        atexit.register(server.remove)
        options = ["-A", "trust", "-U", "burnish", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]
        made = subprocess.run(
            [*_as_other_user(), programs / "initdb", "-D", folder / "data", *options], capture_output=True, cwd="/"
        )
        assert made.returncode == 0, made.stderr.decode()
        with (folder / "data" / "pg_hba.conf").open("a") as rules:
            rules.write(f"host all all {listen}/24 trust\n" if listen else "")
        server.start()
        return server

    def url(self, database: str) -> str:
        return f"postgresql://burnish@/{database}?host={self.folder}"

    def start(self) -> None:
        settings = {
            "listen_addresses": self.listen,
            "fsync": "off",
            "full_page_writes": "off",
            "max_connections": "100",
            **self.settings,
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        where = ["-D", self.folder / "data", "-k", self.folder]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*_as_other_user(), self.programs / "postgres", *where, *options],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                cwd="/",
                start_new_session=True,
            )
        leave_running(self.process)
        deadline = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self.url("postgres")).close()
                return
            except psycopg.OperationalError:
                running = self.process.poll() is None and time.monotonic() < deadline
                assert running, (self.folder / "log").read_text()
            time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT ends all connections and stops; SIGQUIT is a crash."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(60)

    def standby(self) -> PostgresqlServer:
        """A second server that copies each commit of this one before it counts, and can be read meanwhile."""
        folder = Path(tempfile.mkdtemp(prefix="burnish-pg-"))
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        copy = [self.programs / "pg_basebackup", "-h", self.folder, "-U", "burnish", "-D", folder / "data"]
        done = subprocess.run(
            [*_as_other_user(), *copy, "--write-recovery-conf", "--checkpoint=fast", "--no-sync"],
            capture_output=True,
            cwd="/",
        )
        assert done.returncode == 0, done.stderr.decode()
        server = PostgresqlServer(self.programs, folder)
        atexit.register(server.remove)
        server.start()
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            connection.execute("SELECT pg_reload_conf()")
        return server

    def promote(self) -> None:
        """Make a standby the server that is written."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute("SELECT pg_promote()")

    def remove(self) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextmanager
    def database(self) -> Iterator[str]:
        """The address of a new database, which orders text as a dictionary does: unlike SQLite."""
        name = f"test_{os.getpid()}_{next(_numbers)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            order = "LOCALE_PROVIDER icu ICU_LOCALE 'en'" if connection.info.server_version >= 150000 else ""
            connection.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8' {order}")
        try:
            yield self.url(name)
        finally:
            with suppress(psycopg.Error), psycopg.connect(self.url("postgres"), autocommit=True) as connection:
                connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def _as_other_user() -> list[str]:
    """PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return []
    ids = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    return ["setpriv", *ids, "--pdeathsig=INT", "--"]


def postgresql_programs() -> Path | None:
    """The folder with `initdb` and `postgres`; Debian does not put it on the PATH."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: float(folder.parent.name))
    if found := shutil.which("initdb"):
        folders.append(Path(found).resolve().parent)
    return next((folder for folder in reversed(folders) if (folder / "postgres").exists()), None)


@cache
def postgresql_server() -> PostgresqlServer:
    """Skips the test if no server can be started; fails it in CI."""
    programs = postgresql_programs()
    why = "PostgreSQL is not installed" if programs is None else ""
    if programs and os.geteuid() == 0 and not shutil.which("setpriv"):
        why = "PostgreSQL refuses to run as root, and there is no setpriv"
    if not why and programs:
        return PostgresqlServer.make(programs)
    if os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(why)
    pytest.skip(why)
