"""Builds the server: routes behind the security middleware."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import parse_qs

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool
from starlette.middleware.gzip import GZipMiddleware

from burnish import __version__
from burnish.core.people import AuditEntry
from burnish.features.server.registry import ProjectRegistry
from burnish.store.people import Identity, PeopleRecords
from burnish.web import api, metrics, pages, socket
from burnish.web.asciijson import AsciiJson
from burnish.web.audit import AuditTrail
from burnish.web.audit import Request as AuditedRequest
from burnish.web.auth import LOGIN, STRANGER, RequestPolicy, same
from burnish.web.login_page import LOGIN_PAGE_HEADERS, link_page, login_page
from burnish.web.middleware import Asgi, SecurityMiddleware
from burnish.web.pages.rendering import page
from burnish.web.problems import install
from burnish.web.roles import Endpoint
from burnish.web.sessions import SECONDS, LoginCodes, Sessions, WebSession
from burnish.web.socket import ChangeNotifier
from burnish.web.static_files import FOLDER, ImmutableFiles, static_prefix


def create(
    registry: ProjectRegistry,
    door: RequestPolicy,
    sessions: Sessions,
    codes: LoginCodes,
    endpoints: Mapping[str, Asgi] | None = None,
) -> Asgi:
    """The whole application, with further ones by path (`/mcp`)."""
    app = routes(registry, door, sessions, codes)
    for path, endpoint in (endpoints or {}).items():
        app.mount(path, endpoint)
    return guarded(app, door)


def guarded(app: FastAPI, door: RequestPolicy) -> SecurityMiddleware:
    """The application behind the access rules, with the audit trail."""
    return SecurityMiddleware(app, door, app.state.audit, app.state.counts.request)


def routes(registry: ProjectRegistry, door: RequestPolicy, sessions: Sessions, codes: LoginCodes) -> FastAPI:
    hub = ChangeNotifier(lambda: registry.store.version)

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        hub.open(asyncio.get_running_loop())
        registry.changed = hub.nudge
        registry.runs.resume()
        yield
        await asyncio.to_thread(registry.runs.close)
        hub.close()

    app = FastAPI(
        title="burnish",
        version=__version__,
        lifespan=life,
        # FastAPI's pages load scripts from a CDN
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
        default_response_class=AsciiJson,
    )
    app.state.registry, app.state.hub, app.state.door, app.state.sessions = registry, hub, door, sessions
    app.state.login_codes = codes
    app.state.counts = metrics.ServerCounts()
    app.state.audit = AuditTrail(lambda entry: registry.store.people.record(entry))
    app.add_middleware(GZipMiddleware, minimum_size=1000)
    install(app)
    for router in (login_router, socket.router, metrics.router, *api.routers(), *pages.routers()):
        app.include_router(router)
    app.mount(static_prefix(), ImmutableFiles(directory=FOLDER), name="static")
    return app


# -- login ----------------------------------------------------------------------------------------
# Log-in of a browser: exchanges the token or a one-time code for a cookie and a key.

login_router = APIRouter(include_in_schema=False)


@login_router.get(LOGIN)
def login(request: Request, token: str = "", code: str = "", link: str = "") -> Response:
    door: RequestPolicy = request.app.state.door
    if link:
        return _offer_link(request, link)
    # not the token of a person: a link of that person would log another one in
    session = _of_owner(token, request) or _exchange(code, request)
    if session is None and request.state.via == "web":
        # already logged in: the URL was opened again
        return RedirectResponse("/", 303)
    if session is None:
        return _stranger(request, token or code)
    return _logged_in(request, door, session)


@login_router.post(LOGIN)
async def log_in(request: Request) -> Response:
    """The form of the login page: a token, or the code of a one-time link."""
    fields = parse_qs((await request.body()).decode("utf-8", "replace"))
    token, link = (fields.get(name, [""])[0].strip() for name in ("token", "link"))
    return await run_in_threadpool(_log_in, request, token, link)


def _log_in(request: Request, token: str, link: str) -> Response:
    people: PeopleRecords = request.app.state.registry.store.people
    session = _of_token(token, request)
    if session is None and link and (identity := people.take_link(link)):
        session = _begin(request, identity)
    if session is None:
        return _stranger(request, token or link)
    return _logged_in(request, request.app.state.door, session)


def _of_token(token: str, request: Request) -> WebSession | None:
    if not token:
        return None
    if session := _of_owner(token, request):
        return session
    people: PeopleRecords = request.app.state.registry.store.people
    identity = people.of_token(token)
    return _begin(request, identity) if identity else None


def _of_owner(token: str, request: Request) -> WebSession | None:
    sessions: Sessions = request.app.state.sessions
    return sessions.begin() if same(token, request.app.state.door.token) else None


def _begin(request: Request, identity: Identity) -> WebSession:
    """A session of a person, which ends when the person is revoked."""
    people: PeopleRecords = request.app.state.registry.store.people
    sessions: Sessions = request.app.state.sessions
    people.saw(identity)
    who = identity.person
    people.record(AuditEntry("", who.name, who.role.value, "web", request.state.address, "", None, "login", 200))
    return sessions.begin(identity.token)


def _offer_link(request: Request, link: str) -> Response:
    """Not used by opening it: programs that preview links would use it up."""
    people: PeopleRecords = request.app.state.registry.store.people
    identity = people.look_at_link(link)
    if identity is None:
        return _stranger(request, link)
    return Response(link_page(identity.person.name, link), 200, dict(LOGIN_PAGE_HEADERS))


def _stranger(request: Request, credential: str) -> Response:
    if credential:
        audit: AuditTrail = request.app.state.audit
        audit.refused(AuditedRequest(None, "web", request.state.address, Endpoint("login")), 401)
    return Response(login_page(STRANGER, was_tried=bool(credential)), 401, dict(LOGIN_PAGE_HEADERS))


@login_router.post("/logout")
def log_out(request: Request) -> Response:
    """End the session of this browser."""
    sessions: Sessions = request.app.state.sessions
    sessions.end(request.cookies.get(request.app.state.door.cookie_name) or "")
    # open sockets look whether their session still exists
    request.app.state.hub.nudge()
    return AsciiJson({})


def _logged_in(request: Request, door: RequestPolicy, session: WebSession) -> Response:
    # The page puts the key into local storage, which another port cannot read.
    answer = page(request, "login.html.j2", key=session.key, bare=True)
    # Removes storage and service workers that another program left at this address while no server ran.
    answer.headers["Clear-Site-Data"] = '"storage"'
    is_secure = any(origin.startswith("https://") for origin in door.origins)
    answer.set_cookie(
        door.cookie_name,
        session.cookie,
        max_age=SECONDS,
        httponly=True,
        samesite="strict",
        path="/",
        secure=is_secure and request.headers.get("host", "").lower() in {one[8:] for one in door.origins},
    )
    return answer


def _exchange(code: str, request: Request) -> WebSession | None:
    """The session for a one-time code. A used code ends the session it gave, except the sender's own."""
    sessions: Sessions = request.app.state.sessions
    codes: LoginCodes = request.app.state.login_codes
    own = request.cookies.get(request.app.state.door.cookie_name)
    sessions_begun: list[WebSession] = []

    def begin() -> str:
        sessions_begun.append(sessions.begin())
        return sessions_begun[0].cookie

    def end(cookie: str) -> None:
        if cookie != own:
            sessions.end(cookie)
            request.app.state.hub.nudge()

    return sessions_begun[0] if code and codes.redeem(code, begin, end) else None
