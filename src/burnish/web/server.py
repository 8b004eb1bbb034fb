"""`burnish serve`: binds the port, announces the URL, serves until stopped."""

from __future__ import annotations

import errno
import fcntl
import gc
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

from burnish.adapters.answer_codes import answer_hosts
from burnish.adapters.telemetry import JsonLogHandler, is_json_log
from burnish.config.loading import load
from burnish.core.people import OWNER, Person, Role
from burnish.errors import BadInput, BurnishError, Refused
from burnish.features.server.registry import ProjectRegistry
from burnish.proc.folders import private_folder
from burnish.proc.private_places import record_token_files
from burnish.store.people import Identity
from burnish.web.auth import People, ProxyRules, RequestPolicy, hosts_of
from burnish.web.middleware import Asgi
from burnish.web.sessions import LoginCodes, Sessions

if TYPE_CHECKING:
    import uvicorn

    from burnish.config.sections import ServeSection

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
    front = front_settings(load(None, repository=False).serve, registry.home)
    policy = request_policy(address, sessions, registry.home, people_of(registry, sessions), front)
    app = create(registry, policy, sessions, codes, endpoints)
    if is_json_log():
        logging.basicConfig(handlers=[JsonLogHandler()], level=logging.WARNING, force=True)
    settings = uvicorn.Config(
        app,
        log_level="error",
        log_config=None if is_json_log() else uvicorn.config.LOGGING_CONFIG,
        # fixed, whatever else is installed; h11 limits the size of headers
        http="h11",
        ws="websockets-sansio",
        # clients do not send messages
        ws_max_size=4096,
        server_header=False,
        # else uvicorn takes the address of the client from a header of the proxy
        proxy_headers=False,
        timeout_graceful_shutdown=3,
    )

    class Announced(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            # what is loaded by now stays: a full collection would stop the server for 60 ms to look through it
            gc.collect()
            gc.freeze()
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


def request_policy(
    address: Address,
    sessions: Sessions,
    home: Path | None = None,
    people: People | None = None,
    front: FrontSettings | None = None,
) -> RequestPolicy:
    names = {address.host}
    if _is_loopback(address.host):
        names |= {"127.0.0.1", "localhost", "::1"}
    front = front or FrontSettings()
    return RequestPolicy(
        address.token,
        hosts_of(names, address.port) | front.hosts,
        # cookies are shared by all ports, so the name contains the port
        f"burnish_{address.port}",
        sessions.knows,
        sessions.owns,
        sessions.is_from_earlier_start,
        (lambda: answer_hosts(home)) if home else frozenset,
        people or People(),
        front.proxy,
        front.origins,
    )


def people_of(registry: ProjectRegistry, sessions: Sessions) -> People:
    """Looks people up in the database of the server."""

    def by_session(cookie: str) -> Person | None:
        login = sessions.login_of(cookie)
        return OWNER if login == "" else _person(registry.store.people.of_digest(login)) if login else None

    return People(
        lambda token: _person(registry.store.people.of_token(token)),
        by_session,
        lambda name: _person(registry.store.people.named(name)),
    )


def _person(identity: Identity | None) -> Person | None:
    return identity.person if identity else None


@dataclass(frozen=True, slots=True)
class FrontSettings:
    """How a reverse proxy in front of the server is used."""

    proxy: ProxyRules | None = None
    hosts: frozenset[str] = frozenset()
    origins: frozenset[str] = frozenset()


def front_settings(settings: ServeSection, home: Path) -> FrontSettings:
    """From the section `serve` of the user's own settings. In the burnish home is the secret of the proxy."""
    hosts, origins = frozenset[str](), frozenset[str]()
    if settings.url:
        scheme, _, rest = settings.url.lower().rstrip("/").partition("://")
        if scheme not in ("http", "https") or not rest or "/" in rest:
            raise BadInput(
                f"serve.url: {settings.url} is not the address of a server.",
                hint="Write it like https://burnish.example.org, without a path.",
            )
        hosts, origins = frozenset({rest}), frozenset({f"{scheme}://{rest}"})
    if not settings.proxy_header:
        return FrontSettings(None, hosts, origins)
    networks = [_network(one) for one in settings.proxies]
    if not networks:
        raise BadInput(
            "serve.proxy_header needs serve.proxies.", hint="List the address of your proxy, e.g. [127.0.0.1]."
        )

    def is_trusted(address: str) -> bool:
        try:
            return any(ipaddress.ip_address(address) in network for network in networks)
        except ValueError:
            return False

    role = None if settings.proxy_role == "none" else Role(settings.proxy_role)
    rules = ProxyRules(is_trusted, settings.proxy_header.lower(), role, _proxy_secret(home))
    return FrontSettings(rules, hosts, origins)


def _proxy_secret(home: Path) -> str:
    """What the proxy sends to prove itself; made at the first start. Agents do not see the burnish home."""
    place = home / "serve" / "proxy-secret"
    private_folder(place.parent)
    with os.fdopen(os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600), "r+") as file:
        secret = file.readline(1000).strip()
        if not secret:
            secret = secrets.token_urlsafe(32)
            file.write(f"{secret}\n")
    if len(secret) < MIN_LENGTH:
        raise BadInput(f"{place} is too short.", hint="Remove it: the next start makes a new one.")
    return secret


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        raise BadInput(
            f"serve.proxies: {text} is not an address or a network.", hint="Write 10.0.0.5 or 10.0.0.0/24."
        ) from None


def token_for(host: str, token: str = "", source: str = TOKEN, *, has_people: bool = False) -> str:
    """The token that the user set, from `source`; else a new one for each start, on a loopback address or with people
    who have tokens of their own.
    """
    plain = token.isascii() and token.replace("-", "").replace("_", "").isalnum()
    if token and not (plain and len(token) >= MIN_LENGTH):
        raise BadInput(
            f"The token in {source} is too short or has other characters than letters, digits, - and _.",
            hint=f"Use at least {MIN_LENGTH} of them, e.g. openssl rand -hex 24",
        )
    if not token and not has_people and not _is_loopback(host):
        raise BadInput(
            f"--host {host} lets other machines in, and no token is set.",
            hint=f"Write one to a file and name it: burnish serve --host {host} --token-file FILE (or set {TOKEN}), "
            "or add people: burnish people add NAME",
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
        hint = f"Name another one, or write one: (umask 077; openssl rand -hex 24 > {file})"
        raise BadInput(f"The token file {file} cannot be read: {error.strerror}.", hint=hint) from error
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
