"""Errors as problem+json (RFC 9457), or as a page for people: what happened, what to do."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from burnish.errors import BadInput, BurnishError, NotFound, Refused

PROBLEM = "application/problem+json"
# the first that fits
_STATUS: tuple[tuple[type[BurnishError], int], ...] = (
    (NotFound, 404),
    (Refused, 409),
    (BadInput, 400),
    # git, an agent or the machine is in the way: not the client's mistake, and not ours
    (BurnishError, 424),
)


def problem(status: int, title: str, detail: str = "", **more: Any) -> JSONResponse:
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, **more}
    return JSONResponse(body, status, media_type=PROBLEM)


def install(app: FastAPI) -> None:
    app.add_exception_handler(BurnishError, _known)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)


def status_of(error: BurnishError) -> int:
    return next(status for kind, status in _STATUS if isinstance(error, kind))


async def _known(request: Request, error: Exception) -> Response:
    assert isinstance(error, BurnishError)
    return _answer(request, status_of(error), error.what, error.hint)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    wrong = [{"where": [str(part) for part in one["loc"]], "what": one["msg"]} for one in error.errors()]
    where = ".".join(wrong[0]["where"]) if wrong else ""
    detail = f"{where}: {wrong[0]['what']}" if wrong else ""
    return problem(422, "The request is not what is expected here.", detail, errors=wrong)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    answer = _answer(request, error.status_code, str(error.detail), "")
    answer.headers.update(error.headers or {})
    return answer


def _answer(request: Request, status: int, what: str, hint: str) -> Response:
    if "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/api/"):
        from burnish.web.pages.rendering import page

        return page(request, "problem.html.j2", status=status, what=what, hint=hint, title=what)
    return problem(status, what, hint)
