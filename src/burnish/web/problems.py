"""Errors as problem+json (RFC 9457), or as an HTML page for browsers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.routing import Match

from burnish.errors import BadInput, BurnishError, NotFound, Refused
from burnish.web.asciijson import AsciiJson

PROBLEM = "application/problem+json"
LIST = "/api/v1/openapi.json"
# the first match counts
_STATUS: tuple[tuple[type[BurnishError], int], ...] = (
    (NotFound, 404),
    (Refused, 409),
    (BadInput, 400),
    # git, an agent or the machine failed: neither the client's error nor a bug
    (BurnishError, 424),
)
# extra attributes of errors: blocking files, conflicts; the status that a merge has left the task in
_MORE = ("blocking", "benign", "paths")
_STATUS_NOW = "task_status"

SHAPE = {
    "title": "Problem",
    "description": "What went wrong and what to do about it (RFC 9457).",
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string", "description": "What happened."},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What to do."},
        "errors": {
            "type": "array",
            "description": "For an invalid request: each location, and what is wrong there.",
            "items": {"type": "object"},
        },
        "task_status": {"type": "string", "description": "After a merge that was refused: the status of the task."},
    },
    "examples": [
        {
            "type": "about:blank",
            "title": "Task 29 is at 0b9d6a4e2f1c, not at 5f0c1e7d9b7a: the decision is out of date.",
            "status": 409,
            "detail": "Look at it again (burnish show 29), then decide on 0b9d6a4e2f1c.",
        }
    ],
}


def _declared(words: str) -> dict[str, Any]:
    return {"description": words, "content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}}}


PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: _declared("The request is not valid for this task or project."),
    401: _declared("The token is missing or wrong."),
    403: _declared("The request comes from another site, or may only read."),
    404: _declared("Not found."),
    409: _declared("Refused: an illegal move, an outdated decision, or the task is locked."),
    413: _declared("The body is too large."),
    415: _declared("The body must be JSON."),
    421: _declared("The server does not answer to that host name."),
    422: _declared("The request does not match the schema."),
    424: _declared("Git, an agent or the machine failed."),
}


def problem(status: int, title: str, detail: str = "", **more: Any) -> Response:
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, **more}
    return AsciiJson(body, status, media_type=PROBLEM)


def install(app: FastAPI) -> None:
    app.add_exception_handler(BurnishError, _burnish_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _bug)
    app.openapi = lambda: _described(app)  # type: ignore[method-assign]


def _described(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, with the schema of problems and the token."""
    if app.openapi_schema is None:
        found = get_openapi(
            title=app.title,
            version=app.version,
            description="Everything that `burnish` does on the command line. Programs send the token as Bearer.",
            routes=app.routes,
        )
        parts = found.setdefault("components", {})
        parts.setdefault("schemas", {})["Problem"] = SHAPE
        parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        found["security"] = [{"token": []}]
        app.openapi_schema = found
    return app.openapi_schema


def status_of(error: BurnishError) -> int:
    # exit code 1: it ran with a negative result
    if error.exit_code == 1:
        return 409
    return next(status for kind, status in _STATUS if isinstance(error, kind))


async def _burnish_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, BurnishError)
    more: dict[str, Any] = {name: list(getattr(error, name)) for name in _MORE if hasattr(error, name)}
    if hasattr(error, _STATUS_NOW):
        more[_STATUS_NOW] = getattr(error, _STATUS_NOW)
    return _answer(request, status_of(error), error.what, error.hint, **more)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    wrong = [{"where": [str(part) for part in one["loc"]], "what": str(one["msg"])} for one in error.errors()]
    detail = _sentence(error.errors()[0]) if wrong else ""
    return _answer(request, 422, "The request does not match the schema.", detail, errors=wrong)


def _sentence(error: Mapping[str, Any]) -> str:
    """What is wrong with one value, e.g. `description: at most 200,000 characters.`"""
    place = [str(part) for part in error["loc"] if part not in ("body", "query", "path")]
    name = ".".join(place).replace("_", " ") or "The body"
    limits = error.get("ctx") or {}
    match error["type"]:
        case "string_too_long":
            return f"{name}: at most {limits['max_length']:,} characters."
        case "string_too_short":
            return f"{name} is empty."
        case "missing":
            return f"{name} is missing."
        case "extra_forbidden":
            return f"{name} is unknown."
    return f"{name}: {error['msg']}"


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    what, hint = str(error.detail), ""
    headers = dict(error.headers or {})
    if error.status_code == 404 and what == "Not Found":
        what = "Not found."
        hint = f"{LIST} lists all paths." if _is_api(request) else "The list of projects is at /projects."
    elif error.status_code == 405:
        headers["allow"] = ", ".join(_allowed(request))
        what, hint = f"{request.method} is not allowed here.", f"Allowed: {headers['allow']}."
    elif error.status_code == 400:
        what, hint = "The body could not be read.", "Send one JSON value that is not nested deeply."
    answer = _answer(request, error.status_code, what, hint)
    answer.headers.update(headers)
    return answer


def _is_api(request: Request) -> bool:
    return request.url.path.startswith("/api/")


def _allowed(request: Request) -> list[str]:
    """The methods of all routes with this path."""
    scopes = {method: {**request.scope, "method": method} for method in ("DELETE", "GET", "PATCH", "POST", "PUT")}
    return [m for m, scope in scopes.items() if any(r.matches(scope)[0] is Match.FULL for r in request.app.routes)]


async def _bug(request: Request, error: Exception) -> Response:
    """A bug: short here; the traceback is in the terminal of the server."""
    what = f"This is a bug in burnish: {type(error).__name__}"
    return _answer(request, 500, what, "Recorded data is safe. The terminal of `burnish serve` shows the traceback.")


def _answer(request: Request, status: int, what: str, hint: str, **more: Any) -> Response:
    if "text/html" in request.headers.get("accept", "") and not _is_api(request):
        from burnish.web.pages.rendering import page

        # without a log-in the page shows no project names
        stranger = request.state.via == "login"
        key = re.match(r"/p/([\w-]+)/", request.url.path)
        board = (
            f"/p/{key[1]}" if key and any(row.key == key[1] for row in request.app.state.registry.projects()) else ""
        )
        view = {"what": what, "hint": hint, "title": what, "bare": stranger, "board": board}
        return page(request, "problem.html.j2", status=status, **view)
    return problem(status, what, hint, **more)
