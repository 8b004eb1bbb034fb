"""The server put together: routes behind the guard."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from starlette.middleware.gzip import GZipMiddleware
from starlette.staticfiles import StaticFiles

from burnish import __version__
from burnish.web import api, login, pages, socket
from burnish.web.asciijson import AsciiJson
from burnish.web.door import Door
from burnish.web.guard import Asgi, Guard
from burnish.web.hub import Hub
from burnish.web.login_codes import LoginCodes
from burnish.web.problems import install
from burnish.web.sessions import Sessions
from burnish.wiring.house import House

STATIC = Path(__file__).with_name("static")


def create(house: House, door: Door, sessions: Sessions, codes: LoginCodes) -> Asgi:
    """Everything that a request can reach."""
    return Guard(routes(house, door, sessions, codes), door)


def routes(house: House, door: Door, sessions: Sessions, codes: LoginCodes) -> FastAPI:
    hub = Hub(lambda: house.store.version)

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        hub.open(asyncio.get_running_loop())
        house.changed = hub.nudge
        house.runs.resume()
        yield
        await asyncio.to_thread(house.runs.close)
        hub.close()

    app = FastAPI(
        title="burnish",
        version=__version__,
        lifespan=life,
        # the pages that FastAPI brings load their scripts from elsewhere
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
        default_response_class=AsciiJson,
    )
    app.state.house, app.state.hub, app.state.door, app.state.sessions = house, hub, door, sessions
    app.state.login_codes = codes
    app.add_middleware(GZipMiddleware, minimum_size=1000)
    install(app)
    for router in (login.router, socket.router, *api.routers(), *pages.routers()):
        app.include_router(router)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    return app
