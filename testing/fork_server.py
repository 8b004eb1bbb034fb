"""Processes of burnish that are forked from one that has imported it: a start costs half the time of a new interpreter.

For tests that start hundreds of them. Each process is a real one, with nothing of another in its memory but modules.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NoReturn

import psutil

from testing.lab import Lab, Said

_PACKAGES = tuple("adapters agents checks cli config core engine features git proc review runtime store views".split())
# screens and servers, which a run does not import
_LEFT_OUT = ("burnish.cli.serve", "burnish.cli.tui")


class ForkServer:
    """Runs commands of a laboratory, one after the other."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def apart(
        self, lab: Lab, *argv: str, code: int | None = 0, kill_when: Callable[[], bool] | None = None, **env: str
    ) -> Said:
        """As `Lab.apart`; killed as soon as `kill_when` is true, if it has not ended by then."""
        out, err = lab.root / "forked.out", lab.root / "forked.err"
        words = ["-C", str(lab.repo.path), *argv]
        request = {"argv": words, "env": {**os.environ, **lab.env, **env}, "out": str(out), "err": str(err)}
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        pid = int(self._process.stdout.readline())
        if kill_when is not None:
            lab.until(lambda: not _is_running(pid) or kill_when())
            os.kill(pid, signal.SIGKILL)
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        ended = int(self._process.stdout.readline())
        return lab.judged(Said(ended, out.read_text(), err.read_text()), argv, code)


def _is_running(pid: int) -> bool:
    return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


@contextmanager
def fork_server() -> Iterator[ForkServer]:
    argv = [sys.executable, "-m", "testing.fork_server"]
    root = Path(__file__).parent.parent
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root) as process:
        yield ForkServer(process)
        assert process.stdin
        process.stdin.close()
        process.wait(30)


def _serve(requests: IO[str], replies: IO[str]) -> None:
    while line := requests.readline():
        request = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _run(request["argv"], request["env"], request["out"], request["err"])
        print(pid, file=replies, flush=True)
        # the process id stays this child's until it is reaped, so that nobody kills another process by it
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        requests.readline()
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), file=replies, flush=True)


def _run(argv: Sequence[str], env: Mapping[str, str], out: str, err: str) -> NoReturn:
    """In the child: never returns to the server's loop."""
    from burnish.cli.main import run

    for number, path, flags in ((0, os.devnull, os.O_RDONLY), (1, out, os.O_WRONLY), (2, err, os.O_WRONLY)):
        fd = os.open(path, flags | (0 if number == 0 else os.O_CREAT | os.O_TRUNC), 0o600)
        os.dup2(fd, number)
        os.close(fd)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = ["burnish", *argv]
    code: object = 1
    try:
        run()
        code = 0
    except SystemExit as error:
        code = error.code
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 0 if code is None else 1)


def _import_burnish() -> None:
    for package in _PACKAGES:
        top = importlib.import_module(f"burnish.{package}")
        for module in pkgutil.iter_modules(top.__path__, f"burnish.{package}."):
            if not module.name.endswith("__main__") and module.name not in _LEFT_OUT:
                importlib.import_module(module.name)


if __name__ == "__main__":
    _import_burnish()
    _serve(sys.stdin, sys.stdout)
