"""Log-in of a browser: exchanges the token or a one-time code for a cookie and a key."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from burnish.web.auth import LOGIN, STRANGER, RequestPolicy, same
from burnish.web.login_codes import LoginCodes
from burnish.web.pages.rendering import page
from burnish.web.sessions import SECONDS, Sessions, WebSession

router = APIRouter(include_in_schema=False)


@router.get(LOGIN)
def login(request: Request, token: str = "", code: str = "") -> Response:
    door: RequestPolicy = request.app.state.door
    sessions: Sessions = request.app.state.sessions
    session = sessions.begin() if same(token, door.token) else _exchange(code, request)
    if session is None and request.state.via == "web":
        # already logged in: the URL was opened again
        return RedirectResponse("/", 303)
    if session is None:
        return page(request, "problem.html.j2", status=401, what=STRANGER.what, hint=STRANGER.hint, bare=True)
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
