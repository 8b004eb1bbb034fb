"""Access rules: which HTTP and WebSocket requests are allowed. `middleware.py` applies them to every route."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address

from burnish.core.people import OWNER, Person, Role, is_name

READING = frozenset({"GET", "HEAD"})
KEY_HEADER = "x-burnish-key"
LOGIN = "/login"
# proves that a request comes from the proxy: other programs of its machine have the same address
PROXY_HEADER = "x-burnish-proxy"
# takes one-time codes of notifications, without any other credential
ANSWER = "/answer"
MAX_BODY = 2 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """The parts of a request that access depends on."""

    kind: str  # http or websocket
    method: str
    path: str
    headers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # of the client, or of the proxy in front of it
    address: str = ""

    def one(self, name: str) -> str | None:
        """The value of a header. A repeated header counts as invalid."""
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
    """Allowed: `api` by a token, `web` by a session of a browser, `proxy` by the name that a proxy sent, `login` and
    `answer` only to present a code.
    """

    via: str
    person: Person = OWNER


@dataclass(frozen=True, slots=True)
class People:
    """Looks people up, at each request: revoking has an effect at once. These functions read the database."""

    by_token: Callable[[str], Person | None] = lambda token: None
    # of a session that `RequestPolicy.knows`; None: the person was revoked
    by_session: Callable[[str], Person | None] = lambda cookie: OWNER
    by_name: Callable[[str], Person | None] = lambda name: None


@dataclass(frozen=True, slots=True)
class ProxyRules:
    """Which reverse proxies are believed, and what they say about the person."""

    is_trusted: Callable[[str], bool]
    header: str
    # of names that are not known; None: refused
    unknown_role: Role | None = None
    # what the proxy sends in `PROXY_HEADER`; "": no proxy is believed
    secret: str = ""

    def proves(self, request: RequestInfo) -> bool:
        """Whether the request has the secret of the proxy."""
        return bool(self.secret) and same(request.one(PROXY_HEADER) or "", self.secret)


@dataclass(frozen=True, slots=True)
class RequestPolicy:
    """The rules of one server. Sessions change, so they are looked up by functions."""

    token: str
    hosts: frozenset[str]
    cookie_name: str
    # whether a session exists; whether a key belongs to it
    knows: Callable[[str], bool]
    owns: Callable[[str, str], bool]
    # whether an earlier server process issued the cookie
    is_from_earlier_start: Callable[[str], bool] = lambda cookie: False
    # further hosts, at which only answers of notifications may arrive
    answer_hosts: Callable[[], frozenset[str]] = frozenset
    people: People = People()
    proxy: ProxyRules | None = None
    # with the scheme, for a server behind a proxy, e.g. https://burnish.example.org
    origins: frozenset[str] = frozenset()

    def judge(self, request: RequestInfo) -> Granted | Refusal:
        """Check the host, the origin, the body and the credentials, in this order."""
        if request.path == ANSWER:
            return self._answer(request)
        return self._host(request) or self._origin(request) or self._body(request) or self._who(request)

    def _answer(self, request: RequestInfo) -> Granted | Refusal:
        """A program posts a code: no page of any site, and nothing that a person opens."""
        if (request.one("host") or "").lower() not in self.hosts | self.answer_hosts():
            return self._host(request) or STRANGER
        if request.kind != "http" or request.method != "POST":
            return Refusal(
                405, "An answer is posted by the button of a notification.", "Opening a link decides nothing."
            )
        if request.one("origin") is not None or request.one("cookie") is not None:
            return Refusal(403, "An answer comes from a notification, not from a page.", "Use the board there.")
        return self._body(request) or Granted("answer")

    def _host(self, request: RequestInfo) -> Refusal | None:
        # Comparing Origin with Host is not enough: with DNS rebinding both are equal.
        if (request.one("host") or "").lower() in self.hosts:
            return None
        return Refusal(421, "This server does not answer to that host name.", _address(self.hosts))

    def _origin(self, request: RequestInfo) -> Refusal | None:
        origin = request.one("origin")
        foreign = Refusal(403, "The request comes from another site.", _address(self.hosts))
        if origin is not None and not self._ours(origin):
            return foreign
        # Background requests of other sites are refused; links that the user follows are allowed.
        is_cross_site = request.one("sec-fetch-site") not in (None, "same-origin", "none")
        is_navigation = request.one("sec-fetch-mode") == "navigate" and not request.writes
        return foreign if is_cross_site and not is_navigation else None

    def _ours(self, origin: str) -> bool:
        # compared as text: URL parsers can be tricked
        if origin.lower() in self.origins:
            return True
        scheme, _, host = origin.lower().partition("://")
        return scheme == "http" and host in self.hosts

    def _body(self, request: RequestInfo) -> Refusal | None:
        if not request.writes:
            return None
        length = request.one("content-length")
        if length is not None and not _fits(length):
            return Refusal(413, "The request is too large.", f"The limit is {MAX_BODY // 1024 // 1024} MB.")
        has_body = length not in (None, "0") or request.one("transfer-encoding") is not None
        kind = (request.one("content-type") or "").partition(";")[0].strip().lower()
        if has_body and kind != "application/json" and not _is_login_form(request, kind):
            return Refusal(415, "The body must be JSON.", "Send it as Content-Type: application/json.")
        return None

    def _who(self, request: RequestInfo) -> Granted | Refusal:
        credentials = request.one("authorization")
        if credentials is not None:
            scheme, _, token = credentials.partition(" ")
            if scheme.lower() != "bearer":
                return STRANGER
            if same(token.strip(), self.token):
                return Granted("api")
            person = self.people.by_token(token.strip())
            return Granted("api", person) if person else STRANGER
        if (by_proxy := self._by_proxy(request)) is not None:
            return by_proxy
        is_login = request.kind == "http" and request.path == LOGIN and request.method in ("GET", "HEAD", "POST")
        session = request.cookie(self.cookie_name)
        if is_login and request.writes:
            return Granted("login")
        if session is None or not self.knows(session):
            is_earlier = session is not None and self.is_from_earlier_start(session)
            return Granted("login") if is_login else RESTARTED if is_earlier else STRANGER
        return self._with_cookie(request, session)

    def _with_cookie(self, request: RequestInfo, session: str) -> Granted | Refusal:
        """Cookies are sent to all ports of this machine, so a cookie alone only allows reading."""
        if (request.kind == "websocket" or request.writes) and request.one("origin") is None:
            return Refusal(403, "The request has a cookie but no Origin header.", "Use the token.")
        if request.writes and not self.owns(session, request.one(KEY_HEADER) or ""):
            return Refusal(
                403, "This page can read but not change anything.", "Open the URL that `burnish serve` printed again."
            )
        person = self.people.by_session(session)
        return Granted("web", person) if person else REVOKED

    def _by_proxy(self, request: RequestInfo) -> Granted | Refusal | None:
        """The person that a trusted proxy names; None if it names none. From other addresses the header is ignored."""
        if self.proxy is None or not self.proxy.is_trusted(request.address):
            return None
        name = request.one(self.proxy.header)
        if name is None:
            return None
        if not self.proxy.proves(request):
            return UNPROVEN
        person = self.people.by_name(name)
        if person is None and self.proxy.unknown_role and is_name(name):
            person = Person(name, self.proxy.unknown_role)
        if person is None:
            return Refusal(403, "You have no access to this server.", "Ask its owner: `burnish people add NAME`.")
        # the browser sends what the proxy knows it by with every request, as a cookie
        if (request.kind == "websocket" or request.writes) and request.one("origin") is None:
            return Refusal(403, "The request has no Origin header.", "Use a token.")
        return Granted("proxy", person)

    def client_address(self, request: RequestInfo) -> str:
        """Where the request comes from: behind a proxy that has proven itself, the last address that it forwarded."""
        is_proxy = self.proxy is not None and self.proxy.is_trusted(request.address) and self.proxy.proves(request)
        # a client can send the header, too: the proxy appends to it what it has seen itself
        last = request.headers.get("x-forwarded-for", ("",))[-1].rpartition(",")[2].strip() if is_proxy else ""
        try:
            return str(ip_address(last.removeprefix("[").removesuffix("]"))) if last else request.address
        except ValueError:
            return request.address

    def asks_database(self, request: RequestInfo) -> bool:
        """Whether `judge` may have to wait for the database."""
        credentials = request.one("authorization")
        if credentials is not None:
            return not same(credentials.partition(" ")[2].strip(), self.token)
        return self.proxy is not None or request.cookie(self.cookie_name) is not None


def _is_login_form(request: RequestInfo, kind: str) -> bool:
    return request.path == LOGIN and request.method == "POST" and kind == "application/x-www-form-urlencoded"


def forbidden(person: Person, least: Role | None) -> Refusal | None:
    """Refuses what the role does not allow. `least` None: only the owner may do it."""
    if person is OWNER or (least is not None and person.role.covers(least)):
        return None
    need = f"It needs the role {least}" if least else "Only the owner of the server may do it"
    return Refusal(
        403,
        f"Your role is {person.role}, which does not allow this. {need}.",
        "Ask a maintainer: `burnish people role`.",
    )


STRANGER = Refusal(
    401, "The token is missing or wrong.", "Log in with your own token, or open the URL that `burnish serve` printed."
)
UNPROVEN = Refusal(
    403,
    "The request names a person, but does not prove that it comes from the proxy.",
    "Let the proxy send the content of serve/proxy-secret, in the burnish home, as X-Burnish-Proxy.",
)
REVOKED = Refusal(401, "Your access was revoked.", "Ask a maintainer for a new token.")
RESTARTED = Refusal(
    401,
    "burnish serve was restarted, which ended your login.",
    "To log in again, open the URL that `burnish serve` printed, or restart it with `burnish serve --open`.",
)


def _fits(length: str) -> bool:
    # int() is slow for many digits, and isdigit() accepts superscripts
    return length.isascii() and length.isdigit() and len(length) <= 12 and int(length) <= MAX_BODY


def same(value: str, expected: str) -> bool:
    return hmac.compare_digest(value.encode("utf-8", "replace"), expected.encode())


def hosts_of(names: Iterable[str], port: int) -> frozenset[str]:
    """The values of the Host header that are accepted."""
    found = set()
    for name in names:
        bare = f"[{name}]" if ":" in name else name.lower()
        found.add(f"{bare}:{port}")
        if port == 80:
            found.add(bare)
    return frozenset(found)


def _address(hosts: frozenset[str]) -> str:
    return f"It answers at http://{min(hosts, default='')}"
