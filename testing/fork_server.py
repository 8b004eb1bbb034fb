"""Processes of burnish that are forked from one that has imported it: a start costs a fraction of a new interpreter.

Each process is a real one, with nothing of another in its memory but modules.
"""

from __future__ import annotations

import array
import atexit
import importlib
import json
import os
import pkgutil
import select
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NoReturn, TextIO

from testing.children import leave_running

_PACKAGES = tuple("adapters agents checks cli config core engine features git proc review runtime store views".split())
# screens and servers, which a run does not import
_LEFT_OUT = ("burnish.cli.serve", "burnish.cli.tui")
_STARTING = threading.Lock()


class ForkedProcess:
    """A command at work, with the part of `subprocess.Popen` that tests use."""

    def __init__(self, argv: Sequence[str], line: socket.socket, out: int, err: int) -> None:
        self.args, self._line = [*argv], line
        self.stdout: TextIO = os.fdopen(out)
        self.stderr: TextIO = os.fdopen(err)
        self.returncode: int | None = None
        self.pid = int(_read_line(line))

    def poll(self) -> int | None:
        return self._collect(0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._collect(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return code

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        end = None if timeout is None else time.monotonic() + timeout
        texts = [b"", b""]
        with selectors.DefaultSelector() as selector:
            for number, stream in enumerate((self.stdout, self.stderr)):
                if not stream.closed:
                    selector.register(stream, selectors.EVENT_READ, number)
            while selector.get_map():
                ready = selector.select(None if end is None else max(0.0, end - time.monotonic()))
                if not ready:
                    raise subprocess.TimeoutExpired(self.args, timeout or 0)
                for key, _ in ready:
                    new = os.read(key.fd, 1 << 16)
                    texts[key.data] += new
                    if not new:
                        selector.unregister(key.fileobj)
        self.stdout.close()
        self.stderr.close()
        self.wait(None if end is None else max(1.0, end - time.monotonic()))
        return texts[0].decode(), texts[1].decode()

    def send_signal(self, number: int) -> None:
        # the process id is this child's until it is collected, so that no other process gets the signal
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> ForkedProcess:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is not None:
            self.kill()
        self.stdout.close()
        self.stderr.close()
        self.wait()

    def _collect(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._line], [], [], timeout)[0]:
            _read_line(self._line)
            self._line.sendall(b"\n")
            self.returncode = int(_read_line(self._line))
            self._line.close()
        return self.returncode


class ForkServer:
    """Runs commands of burnish, each in a process of its own; several threads may call it."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair()
        argv = [sys.executable, "-m", "testing.fork_server", str(theirs.fileno())]
        # a process looks for the variables of a phase in those of its parents
        env = {name: value for name, value in os.environ.items() if not name.startswith("BURNISH")}
        self._start_variables = _start_variables(env)
        root = Path(__file__).parent.parent
        self._process = subprocess.Popen(argv, env=env, cwd=root, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
        leave_running(self._process)
        theirs.close()

    def close(self) -> None:
        self._control.close()
        self._process.wait(30)

    def can_start(self, env: Mapping[str, str]) -> bool:
        """False for variables that have an effect at the start of an interpreter alone."""
        return self._start_variables == _start_variables(env)

    def start(self, argv: Sequence[str], env: Mapping[str, str]) -> ForkedProcess:
        ours, theirs = socket.socketpair()
        (out, their_out), (err, their_err) = os.pipe(), os.pipe()
        socket.send_fds(self._control, [b"."], [theirs.fileno(), their_out, their_err])
        theirs.close()
        os.close(their_out)
        os.close(their_err)
        request = {"argv": [*argv], "env": {**env}, "cwd": str(Path.cwd())}
        ours.sendall(json.dumps(request).encode() + b"\n")
        return ForkedProcess(argv, ours, out, err)

    def run(self, argv: Sequence[str], env: Mapping[str, str], timeout: float = 60) -> tuple[int, str, str]:
        """Exit code, stdout and stderr."""
        with self.start(argv, env) as process:
            out, err = process.communicate(timeout)
        return process.wait(), out, err


def _start_variables(env: Mapping[str, str]) -> dict[str, str]:
    names = {name for name in env if name.startswith(("PYTHON", "LD_"))} - {"PYTHONDONTWRITEBYTECODE"}
    return {name: env[name] for name in names}


def _read_line(line: socket.socket) -> bytes:
    """Byte by byte, because what comes later must stay in the socket."""
    text = b""
    while not text.endswith(b"\n"):
        byte = line.recv(1)
        if not byte:
            raise AssertionError("the server of processes has ended")
        text += byte
    return text


def shared_server() -> ForkServer:
    """One for all tests of this process."""
    with _STARTING:
        return _server_of(os.getpid())


@cache
def _server_of(pid: int) -> ForkServer:
    server = ForkServer()
    atexit.register(lambda: server.close() if os.getpid() == pid else None)
    return server


def _serve(control: socket.socket) -> None:
    while fds := _next_request(control):
        _reap()
        if os.fork() == 0:
            control.close()
            _attend(*fds)
        for fd in fds:
            os.close(fd)
    _reap()


def _next_request(control: socket.socket) -> list[int]:
    _, ancillary, _, _ = control.recvmsg(1, socket.CMSG_SPACE(3 * array.array("i").itemsize))
    fds = array.array("i")
    for _, _, data in ancillary:
        fds.frombytes(data)
    for fd in fds:
        os.set_inheritable(fd, False)
    return list(fds)


def _reap() -> None:
    """Collect the processes that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _attend(line: int, out: int, err: int) -> NoReturn:
    """In a process of the request's own: start the command, tell its process id and how it ended."""
    with socket.socket(fileno=line).makefile("rw") as talk:
        request = json.loads(talk.readline())
        pid = os.fork()
        if pid == 0:
            os.close(line)
            _run(request["argv"], request["env"], request["cwd"], out, err)
        # a reader waits until each process that holds them has closed them
        os.close(out)
        os.close(err)
        print(pid, file=talk, flush=True)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        print("ended", file=talk, flush=True)
        talk.readline()
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), file=talk, flush=True)
    os._exit(0)


def _run(argv: Sequence[str], env: Mapping[str, str], cwd: str, out: int, err: int) -> NoReturn:
    """In the child: never returns to the server's loop."""
    from burnish.cli.main import run

    os.dup2(out, 1)
    os.dup2(err, 2)
    os.close(out)
    os.close(err)
    # those of the server know whether its own output was a file
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", errors="backslashreplace", buffering=1, closefd=False)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = ["burnish", *argv]
    code: object = 1
    try:
        run()
        code = 0
    except SystemExit as error:
        code = error.code
    except BaseException:
        traceback.print_exc()
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
    _serve(socket.socket(fileno=int(sys.argv[1])))
