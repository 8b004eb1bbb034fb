"""A browser shows the token once, and gets a cookie to look with and a key to act with."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from burnish.web.door import LOGIN, STRANGER, Door, same
from burnish.web.pages.rendering import page
from burnish.web.sessions import SECONDS, Sessions

router = APIRouter(include_in_schema=False)


@router.get(LOGIN)
def login(request: Request, token: str = "") -> Response:
    door: Door = request.app.state.door
    sessions: Sessions = request.app.state.sessions
    if not same(token, door.token):
        if request.state.via == "web":
            return RedirectResponse("/", 303)
        return page(request, "problem.html.j2", status=401, what=STRANGER.what, hint=STRANGER.hint, bare=True)
    session = sessions.begin()
    # The key goes into the page's own storage, which another port cannot read, and into no other page.
    answer = page(request, "login.html.j2", key=session.key, bare=True)
    answer.set_cookie(door.cookie_name, session.cookie, max_age=SECONDS, httponly=True, samesite="strict", path="/")
    return answer
