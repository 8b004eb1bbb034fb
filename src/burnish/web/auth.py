"""Who may come in: pure judgement of a request's headers, over http and WebSocket alike."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

READING = frozenset({"GET", "HEAD"})
KEY_HEADER = "x-burnish-key"
LOGIN = "/login"
MOST_BODY = 2 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """What of a request counts at the door."""

    kind: str  # http or websocket
    method: str
    path: str
    headers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def one(self, name: str) -> str | None:
        """The header's value; a header that comes twice is nobody's friend and counts as wrong."""
        values = self.headers.get(name, ())
        return values[0] if len(values) == 1 else ("\x00" if values else None)

    def cookie(self, name: str) -> str | None:
        for part in (self.one("cookie") or "").split(";"):
            key, _, value = part.strip().partition("=")
            if key == name:
                return value
        return None

    @property
    def writes(self) -> bool:
        return self.kind == "http" and self.method not in READING


@dataclass(frozen=True, slots=True)
class Refusal:
    status: int
    what: str
    hint: str


@dataclass(frozen=True, slots=True)
class Granted:
    """Let in: `api` by the token, `web` by a browser's session, `login` to show a token and nothing else."""

    via: str


@dataclass(frozen=True, slots=True)
class RequestPolicy:
    """The rules of one server. Sessions are asked for, since they change."""

    token: str
    hosts: frozenset[str]
    cookie_name: str
    # is there such a session; does this key belong to it
    knows: Callable[[str], bool]
    owns: Callable[[str, str], bool]
    # was this cookie issued by a server process that has ended
    is_from_earlier_start: Callable[[str], bool] = lambda cookie: False

    def judge(self, ask: RequestInfo) -> Granted | Refusal:
        """In this order: the place it was sent to, where it comes from, what it brings, who it is."""
        return self._host(ask) or self._origin(ask) or self._body(ask) or self._who(ask)

    def _host(self, ask: RequestInfo) -> Refusal | None:
        # Not only Origin = Host: a name that was rebound to this machine has both, and is not on the list.
        if (ask.one("host") or "").lower() in self.hosts:
            return None
        return Refusal(421, "This server does not answer under that name.", _address(self.hosts))

    def _origin(self, ask: RequestInfo) -> Refusal | None:
        origin = ask.one("origin")
        foreign = Refusal(403, "The request comes from another site.", _address(self.hosts))
        if origin is not None and not self._ours(origin):
            return foreign
        # What a page elsewhere asks for in the background; a link that a person follows is another thing.
        strange = ask.one("sec-fetch-site") not in (None, "same-origin", "none")
        followed = ask.one("sec-fetch-mode") == "navigate" and not ask.writes
        return foreign if strange and not followed else None

    def _ours(self, origin: str) -> bool:
        # letter by letter: whatever takes an origin apart can be made to stumble over one
        scheme, _, host = origin.lower().partition("://")
        return scheme == "http" and host in self.hosts

    def _body(self, ask: RequestInfo) -> Refusal | None:
        if not ask.writes:
            return None
        length = ask.one("content-length")
        if length is not None and not _fits(length):
            return Refusal(413, "The request is too large.", f"At most {MOST_BODY // 1024 // 1024} MB are taken.")
        brings = length not in (None, "0") or ask.one("transfer-encoding") is not None
        kind = (ask.one("content-type") or "").partition(";")[0].strip().lower()
        if brings and kind != "application/json":
            return Refusal(415, "Only JSON is taken here.", "Send it as Content-Type: application/json.")
        return None

    def _who(self, ask: RequestInfo) -> Granted | Refusal:
        given = ask.one("authorization")
        if given is not None:
            scheme, _, token = given.partition(" ")
            fits = scheme.lower() == "bearer" and same(token.strip(), self.token)
            return Granted("api") if fits else STRANGER
        session = ask.cookie(self.cookie_name)
        if session is None or not self.knows(session):
            asks_in = ask.kind == "http" and not ask.writes and ask.path == LOGIN
            ended = session is not None and self.is_from_earlier_start(session)
            return Granted("login") if asks_in else RESTARTED if ended else STRANGER
        return self._with_cookie(ask, session)

    def _with_cookie(self, ask: RequestInfo, session: str) -> Granted | Refusal:
        """Cookies ignore ports: any server on this machine gets them. So they may look, and no more."""
        if (ask.kind == "websocket" or ask.writes) and ask.one("origin") is None:
            return Refusal(403, "A browser says where a request comes from; this one does not.", "Use the token.")
        if ask.writes and not self.owns(session, ask.one(KEY_HEADER) or ""):
            return Refusal(
                403, "This page may look, but not act.", "Open the address that `burnish serve` printed once more."
            )
        return Granted("web")


STRANGER = Refusal(401, "The token is missing or wrong.", "Open the address that `burnish serve` printed.")
RESTARTED = Refusal(
    401,
    "burnish serve was restarted, and your login ended with the earlier one.",
    "Log in again: open the address that `burnish serve` printed, or stop it and start `burnish serve --open`.",
)


def _fits(length: str) -> bool:
    # a number of many digits costs, and a superscript is a digit as well
    return length.isascii() and length.isdigit() and len(length) <= 12 and int(length) <= MOST_BODY


def same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


def hosts_of(names: Iterable[str], port: int) -> frozenset[str]:
    """What a browser may write as Host to reach us."""
    found = set()
    for name in names:
        bare = f"[{name}]" if ":" in name else name.lower()
        found.add(f"{bare}:{port}")
        if port == 80:
            found.add(bare)
    return frozenset(found)


def _address(hosts: frozenset[str]) -> str:
    return f"It answers at http://{min(hosts, default='')}"
