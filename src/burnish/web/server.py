"""`burnish serve`: binds the port, announces the URL, serves until stopped."""

from __future__ import annotations

import errno
import fcntl
import ipaddress
import json
import logging
import os
import secrets
import signal
import socket
import stat
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.errors import BadInput, BurnishError, Refused
from burnish.features.server.registry import ProjectRegistry
from burnish.proc.folders import private_folder
from burnish.proc.private_places import record_token_files
from burnish.web.auth import Asgi, RequestPolicy, hosts_of
from burnish.web.sessions import LoginCodes, Sessions

if TYPE_CHECKING:
    import uvicorn

PORT = 4270
TOKEN = "BURNISH_SERVE_TOKEN"
MIN_LENGTH = 16


@dataclass(frozen=True, slots=True)
class Address:
    host: str
    port: int
    token: str

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    @property
    def with_token(self) -> str:
        return f"{self.url}/login?token={self.token}"

    def with_code(self, code: str) -> str:
        return f"{self.url}/login?code={code}"


# Called when the server is ready, with its address and the issuer of one-time codes.
Ready = Callable[[Address, LoginCodes], None]


def serve(
    host: str,
    port: int | None,
    *,
    token: str,
    ready: Ready,
    token_files: Sequence[Path] = (),
    registry: ProjectRegistry | None = None,
    endpoints: Mapping[str, Asgi] | None = None,
) -> None:
    """Blocks until stopped. Active runs are stopped too and resumed at the next start.

    `token_files` are hidden from agents and checks. `endpoints` are further applications by path, behind the same
    access rules.
    """
    registry = registry or ProjectRegistry.here()
    try:
        with _only_one(registry.home) as tell, _bound(host, port) as listening:
            record_token_files(registry.home, token_files)
            address = Address(_name(host, listening), listening.getsockname()[1], token)
            tell(address.url)
            _serve(registry, address, listening, ready, endpoints or {})
    finally:
        registry.close()


def _serve(
    registry: ProjectRegistry,
    address: Address,
    listening: socket.socket,
    ready: Ready,
    endpoints: Mapping[str, Asgi],
) -> None:
    import uvicorn

    from burnish.web.app import create

    # asyncio logs every lost connection, which would fill an unread pipe
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    sessions = Sessions()
    # earlier versions stored sessions here
    with suppress(OSError):
        (registry.home / "serve" / "sessions.json").unlink(missing_ok=True)
    codes = LoginCodes()
    app = create(registry, request_policy(address, sessions), sessions, codes, endpoints)
    settings = uvicorn.Config(
        app,
        log_level="error",
        # fixed, whatever else is installed; h11 limits the size of headers
        http="h11",
        ws="websockets-sansio",
        # clients do not send messages
        ws_max_size=4096,
        server_header=False,
        timeout_graceful_shutdown=3,
    )

    class Announced(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                ready(address, codes)

    server = Announced(settings)
    try:
        with _stopping_on_hangup(server):
            server.run(sockets=[listening])
    except KeyboardInterrupt:
        # uvicorn has shut down and re-raises the signal: the normal end of a server
        return


@contextmanager
def _stopping_on_hangup(server: uvicorn.Server) -> Iterator[None]:
    """uvicorn stops on SIGINT and SIGTERM; SIGHUP does the same, unless nohup has it ignored."""
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: object) -> None:
        server.should_exit = True

    before = signal.signal(signal.SIGHUP, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def request_policy(address: Address, sessions: Sessions) -> RequestPolicy:
    names = {address.host}
    if _is_loopback(address.host):
        names |= {"127.0.0.1", "localhost", "::1"}
    return RequestPolicy(
        address.token,
        hosts_of(names, address.port),
        # cookies are shared by all ports, so the name contains the port
        f"burnish_{address.port}",
        sessions.knows,
        sessions.owns,
        sessions.is_from_earlier_start,
    )


def token_for(host: str, token: str = "", source: str = TOKEN) -> str:
    """The token that the user set, from `source`; else a new one for each start, on a loopback address only."""
    plain = token.isascii() and token.replace("-", "").replace("_", "").isalnum()
    if token and not (plain and len(token) >= MIN_LENGTH):
        raise BadInput(
            f"The token in {source} is too short or has other characters than letters, digits, - and _.",
            hint=f"Use at least {MIN_LENGTH} of them, e.g. openssl rand -hex 24",
        )
    if not token and not _is_loopback(host):
        raise BadInput(
            f"--host {host} lets other machines in, and no token is set.",
            hint=f"Write one to a file and name it: burnish serve --host {host} --token-file FILE (or set {TOKEN})",
        )
    return token or secrets.token_urlsafe(24)


def read_token(file: str) -> str:
    """The first line of a file that only its owner can read, or of standard input (`-`)."""
    try:
        if file == "-":
            return sys.stdin.readline().strip()
        with Path(file).expanduser().open(encoding="ascii", errors="replace") as stream:
            mode = os.fstat(stream.fileno()).st_mode
            if stat.S_ISREG(mode) and mode & 0o077:
                raise BadInput(f"{file} can be read by other users.", hint=f"Make it private: chmod 600 {file}")
            token = stream.readline(1000).strip()
    except OSError as error:
        raise BadInput(f"The token file {file} cannot be read: {error.strerror}.", hint="Name another one.") from error
    if not token:
        raise BadInput(f"The token file {file} is empty.", hint=f"Write a token to it: openssl rand -hex 24 > {file}")
    return token


def token_files(file: str | None) -> tuple[Path, ...]:
    """The files that contain the token: the one that it is read from, and the one that standard output goes to."""
    stdin, stdout = (Path(f"/dev/fd/{number}").resolve() for number in (0, 1))
    source = stdin if file == "-" else Path(file).expanduser() if file else None
    return (source, stdout) if source else (stdout,)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _name(host: str, listening: socket.socket) -> str:
    """The host for the URL: a browser cannot connect to `0.0.0.0`.

    `localhost` is two addresses, of which this server has one. Any program can listen on the other, and a browser that
    tries that one first would send it the token.
    """
    if host == "localhost":
        return str(listening.getsockname()[0])
    return socket.gethostname() if host in ("0.0.0.0", "::") else host


@contextmanager
def _bound(host: str, port: int | None) -> Iterator[socket.socket]:
    """Bind the given port, or the default port, or any port if that is in use."""
    ports = [PORT, 0] if port is None else [port]
    for number in ports:
        try:
            with _listening(host, number) as found:
                yield found
            return
        except OSError as error:
            if error.errno == errno.EADDRINUSE and number != ports[-1]:
                continue
            raise BurnishError(
                f"Cannot listen on {host}, port {number}: {os.strerror(error.errno or 0)}.",
                hint="Choose another with --port (0: any that is free).",
            ) from error


def _listening(host: str, port: int) -> socket.socket:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    family, kind, proto, _, place = found[0]
    listening = socket.socket(family, kind, proto)
    try:
        # a restarted server must get its port back at once, so that open pages reconnect
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place)
        listening.listen(128)
    except BaseException:
        listening.close()
        raise
    return listening


@contextmanager
def _only_one(home: Path) -> Iterator[Callable[[str], None]]:
    """Lock the home for one server: two would resume the same runs."""
    place = home / "serve" / "lock"
    private_folder(place.parent)
    with os.fdopen(os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused(
                f"burnish serve is already running{_where(file.read())}.",
                hint="It serves all projects: open the URL that it printed, or stop it first.",
            ) from None

        def tell(url: str) -> None:
            file.seek(0)
            file.truncate()
            file.write(json.dumps({"url": url, "pid": os.getpid()}))
            file.flush()

        yield tell


def _where(text: str) -> str:
    try:
        found = json.loads(text)
        return f" at {found['url']}, pid {found['pid']}"
    except (ValueError, KeyError, TypeError):
        return ""
