"""Builds the server: routes behind the security middleware."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from starlette.middleware.gzip import GZipMiddleware
from starlette.staticfiles import StaticFiles

from burnish import __version__
from burnish.features.server.registry import ProjectRegistry
from burnish.web import api, login, pages, socket
from burnish.web.asciijson import AsciiJson
from burnish.web.auth import RequestPolicy
from burnish.web.change_notifier import ChangeNotifier
from burnish.web.login_codes import LoginCodes
from burnish.web.middleware import Asgi, SecurityMiddleware
from burnish.web.problems import install
from burnish.web.sessions import Sessions

STATIC = Path(__file__).with_name("static")


def create(registry: ProjectRegistry, door: RequestPolicy, sessions: Sessions, codes: LoginCodes) -> Asgi:
    """The whole application."""
    return SecurityMiddleware(routes(registry, door, sessions, codes), door)


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
    for router in (login.router, socket.router, *api.routers(), *pages.routers()):
        app.include_router(router)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    return app
