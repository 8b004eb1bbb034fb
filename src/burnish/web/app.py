"""Builds the server: routes behind the security middleware."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import RedirectResponse
from starlette.middleware.gzip import GZipMiddleware

from burnish import __version__
from burnish.features.server.registry import ProjectRegistry
from burnish.web import api, pages, socket
from burnish.web.asciijson import AsciiJson
from burnish.web.auth import DOOR_HEADERS, LOGIN, STRANGER, Asgi, RequestPolicy, SecurityMiddleware, door_page, same
from burnish.web.pages.rendering import page
from burnish.web.problems import install
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
    return SecurityMiddleware(app, door)


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
    app.add_middleware(GZipMiddleware, minimum_size=1000)
    install(app)
    for router in (login_router, socket.router, *api.routers(), *pages.routers()):
        app.include_router(router)
    app.mount(static_prefix(), ImmutableFiles(directory=FOLDER), name="static")
    return app


# -- login ----------------------------------------------------------------------------------------
# Log-in of a browser: exchanges the token or a one-time code for a cookie and a key.

login_router = APIRouter(include_in_schema=False)


@login_router.get(LOGIN)
def login(request: Request, token: str = "", code: str = "") -> Response:
    door: RequestPolicy = request.app.state.door
    sessions: Sessions = request.app.state.sessions
    session = sessions.begin() if same(token, door.token) else _exchange(code, request)
    if session is None and request.state.via == "web":
        # already logged in: the URL was opened again
        return RedirectResponse("/", 303)
    if session is None:
        return Response(door_page(STRANGER), 401, dict(DOOR_HEADERS))
    # The page puts the key into local storage, which another port cannot read.
    answer = page(request, "login.html.j2", key=session.key, bare=True)
    # Removes storage and service workers that another program left at this address while no server ran.
    answer.headers["Clear-Site-Data"] = '"storage"'
    answer.set_cookie(door.cookie_name, session.cookie, max_age=SECONDS, httponly=True, samesite="strict", path="/")
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

    return sessions_begun[0] if code and codes.redeem(code, begin, end) else None
