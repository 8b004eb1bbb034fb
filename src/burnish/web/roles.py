"""The least role for every route and socket. A route without an entry is refused, except to the owner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from starlette.routing import BaseRoute, Match, Mount

from burnish.core.people import Role
from burnish.web.static_files import static_prefix

_V, _R, _M = Role.VIEWER, Role.REVIEWER, Role.MAINTAINER
_P = "/api/v1/projects/{project}"
_T = f"{_P}/tasks/{{task}}"

LEAST: Mapping[str, Role] = {
    # pages
    "GET /login": _V,
    "POST /login": _V,
    "POST /logout": _V,
    "GET /": _V,
    "GET /projects": _V,
    "GET /all": _V,
    "GET /all/part": _V,
    "GET /all/list": _V,
    "GET /all/list/part": _V,
    "GET /p/{project}": _V,
    "GET /p/{project}/cards": _V,
    "GET /p/{project}/why": _V,
    "GET /p/{project}/found": _V,
    "GET /p/{project}/form": _M,
    "GET /p/{project}/form/{task}": _M,
    "GET /p/{project}/list": _V,
    "GET /p/{project}/list/part": _V,
    "GET /p/{project}/t/{task}": _V,
    "GET /p/{project}/t/{task}/parts": _V,
    "GET /p/{project}/t/{task}/output/{name}": _V,
    "GET /p/{project}/t/{task}/output/{name}/raw": _V,
    "GET /p/{project}/t/{task}/artifact/{name}": _V,
    "GET /p/{project}/t/{task}/artifact/{name}/raw": _V,
    "GET /p/{project}/t/{task}/file/{number}": _V,
    "GET /p/{project}/t/{task}/file/{number}/lines": _V,
    "GET /p/{project}/stats": _V,
    "GET /p/{project}/stats/part": _V,
    "GET /p/{project}/prompts": _V,
    "GET /p/{project}/prompts/part/{name}": _V,
    "GET /p/{project}/settings": _M,
    "GET /inbox": _V,
    "GET /inbox/part": _V,
    "GET /inbox/count": _V,
    "GET /inbox/next": _V,
    "GET /audit": _M,
    # the code of a notification's button decides who may answer
    "POST /answer": _V,
    # sockets, files, other programs
    "WS /ws": _V,
    "MOUNT /static": _V,
    "MOUNT /mcp": _M,
    "GET /metrics": _V,
    "GET /api/v1/openapi.json": _V,
    # reading
    f"GET {_P}/tasks": _V,
    f"GET {_T}": _V,
    f"GET {_P}/auto": _V,
    f"GET {_T}/findings": _V,
    f"GET {_T}/review-json": _V,
    f"GET {_T}/draft": _V,
    f"GET {_T}/diff": _V,
    f"GET {_T}/path": _V,
    f"GET {_T}/logs": _V,
    f"GET {_T}/logs/{{name:path}}": _V,
    f"GET {_T}/transcript": _V,
    f"GET {_T}/artifacts": _V,
    f"GET {_T}/artifacts/{{name:path}}": _V,
    f"GET {_T}/prompts": _V,
    f"GET {_T}/export": _V,
    f"GET {_T}/evidence/{{name}}": _V,
    f"GET {_P}/export": _V,
    "GET /api/v1/images/{name}": _V,
    f"GET {_P}/events": _V,
    f"GET {_P}/inbox": _V,
    f"GET {_P}/prompts": _V,
    f"GET {_P}/prompts/{{name}}": _V,
    f"GET {_P}/stats": _V,
    f"GET {_P}/cost": _V,
    "GET /api/v1/stats": _V,
    "GET /api/v1/cost": _V,
    "GET /api/v1/projects": _V,
    "GET /api/v1/tasks": _V,
    "GET /api/v1/inbox": _V,
    "GET /api/v1/limits": _V,
    "GET /api/v1/server": _V,
    "GET /api/v1/me": _V,
    "POST /api/v1/markdown": _V,
    "PATCH /api/v1/me/preferences": _V,
    # a person's own marks of what was read
    f"PUT {_T}/viewed": _V,
    f"PUT {_T}/seen": _V,
    # reviewing and deciding
    f"POST {_T}/decide": _R,
    f"POST {_T}/override": _R,
    f"POST {_T}/comments": _R,
    f"POST {_T}/findings/{{finding}}/waive": _R,
    f"POST {_T}/findings/{{finding}}/reopen": _R,
    f"POST {_T}/findings/{{finding}}/resolve": _R,
    f"POST {_T}/findings/{{finding}}/reply": _R,
    f"POST {_T}/handoff": _R,
    f"POST {_T}/review-from": _R,
    f"POST {_T}/draft/comments": _R,
    f"PATCH {_T}/draft/comments/{{comment}}": _R,
    f"DELETE {_T}/draft/comments/{{comment}}": _R,
    f"POST {_T}/draft/send": _R,
    "POST /api/v1/images": _R,
    # changing what runs, and what is merged
    f"POST {_P}/tasks": _M,
    f"PATCH {_T}": _M,
    f"DELETE {_T}": _M,
    f"POST {_P}/run": _M,
    f"POST {_P}/auto": _M,
    f"POST {_P}/stop": _M,
    f"POST {_T}/run": _M,
    f"POST {_T}/stop": _M,
    f"POST {_T}/queue": _M,
    f"POST {_T}/cancel": _M,
    f"POST {_T}/pause": _M,
    f"POST {_T}/unpause": _M,
    f"POST {_T}/retry": _M,
    f"POST {_T}/review": _M,
    f"POST {_T}/improve": _M,
    f"POST {_T}/rebase": _M,
    f"POST {_T}/done": _M,
    f"POST {_T}/apply": _M,
    f"POST {_T}/merge": _M,
    f"POST {_P}/merge-verified": _M,
    f"POST {_T}/pr": _M,
    f"POST {_T}/pr/sync": _M,
    "POST /api/code-review/generate-review": _M,
    # settings, projects, people
    f"GET {_P}/config": _M,
    f"PUT {_P}/config/{{key}}": _M,
    f"DELETE {_P}/config/{{key}}": _M,
    f"GET {_P}/doctor": _M,
    f"GET {_P}/clean": _M,
    f"POST {_P}/clean": _M,
    f"POST {_P}/rebuild": _M,
    f"PUT {_P}/prompts/{{name}}": _M,
    f"DELETE {_P}/prompts/{{name}}": _M,
    f"POST {_P}/prompts/reset": _M,
    f"POST {_P}/prompts/{{name}}/preview": _M,
    "POST /api/v1/projects": _M,
    "DELETE /api/v1/projects/{project}": _M,
    "DELETE /api/v1/limits/{login}": _M,
    "GET /api/v1/people": _M,
    "POST /api/v1/people": _M,
    "PATCH /api/v1/people/{name}": _M,
    "DELETE /api/v1/people/{name}": _M,
    "POST /api/v1/people/{name}/link": _M,
    "GET /api/v1/audit": _M,
}


def least_for_task(method: str, path: str) -> Role:
    """The least role for an act on a task, for templates: they hide its button from others."""
    return LEAST.get(f"{method} {_T}{path.partition('?')[0]}", _M)


# Requests that change nothing that others see, or that record themselves.
QUIET = frozenset(
    {
        "unknown path",
        "MOUNT /static",
        "POST /api/v1/markdown",
        "PATCH /api/v1/me/preferences",
        f"PUT {_T}/viewed",
        f"PUT {_T}/seen",
        f"POST {_T}/draft/comments",
        f"PATCH {_T}/draft/comments/{{comment}}",
        f"DELETE {_T}/draft/comments/{{comment}}",
        f"POST {_P}/prompts/{{name}}/preview",
        "POST /login",
        "POST /api/v1/people",
        "PATCH /api/v1/people/{name}",
        "DELETE /api/v1/people/{name}",
        "POST /api/v1/people/{name}/link",
    }
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The route of a request. `label` has the names of its parameters, not their values."""

    label: str
    project: str = ""
    task: int | None = None

    @property
    def least(self) -> Role | None:
        """None: the table has no entry."""
        return LEAST.get(self.label)

    @property
    def is_audited(self) -> bool:
        # a page reads up to ten static files
        is_reading = self.label.partition(" ")[0] in ("GET", "WS") or self.label == "MOUNT /static"
        return not is_reading and self.label not in QUIET


# A path that no route has: the answer is 404, for everyone who may read.
UNKNOWN = Endpoint("unknown path")


@dataclass
class Endpoints:
    routes: Sequence[BaseRoute]

    @cached_property
    def _by_length(self) -> dict[int, list[BaseRoute]]:
        """Routes by the number of parts of their path; 0: those that match paths of any length."""
        found: dict[int, list[BaseRoute]] = {}
        for route in _flat(self.routes):
            path = str(getattr(route, "path", ""))
            length = 0 if isinstance(route, Mount) or ":path}" in path else len(path.split("/"))
            found.setdefault(length, []).append(route)
        return found

    def find(self, scope: MutableMapping[str, Any]) -> Endpoint | None:
        """None if no route has this path and method."""
        # HEAD is answered by what answers GET
        lookup = {**scope, "method": "GET"} if scope.get("method") == "HEAD" else scope
        length = len(str(scope.get("path", "")).split("/"))
        for route in (*self._by_length.get(length, ()), *self._by_length.get(0, ())):
            match, child = route.matches(lookup)
            if match is Match.FULL:
                params = child.get("path_params") or {}
                return Endpoint(label_of(route, lookup), str(params.get("project", "")), _number(params.get("task")))
        return None

    def labels(self) -> Iterator[str]:
        """Those of all routes: each needs an entry in the table."""
        for route in _flat(self.routes):
            methods = getattr(route, "methods", None)
            for method in sorted(methods) if methods else [None]:
                if method != "HEAD":
                    yield label_of(route, {"method": method})


def _flat(routes: Sequence[BaseRoute]) -> Iterator[BaseRoute]:
    for route in routes:
        inner = getattr(route, "original_router", None)
        if inner is None:
            yield route
        else:
            yield from _flat(inner.routes)


def label_of(route: BaseRoute, scope: Mapping[str, Any]) -> str:
    path = str(getattr(route, "path", ""))
    if isinstance(route, Mount):
        # the name of the folder contains a hash of its files
        return "MOUNT /static" if path == static_prefix() else f"MOUNT {path}"
    return f"{scope['method']} {path}" if getattr(route, "methods", None) else f"WS {path}"


def _number(text: object) -> int | None:
    return int(str(text)) if str(text).isascii() and str(text).isdigit() and len(str(text)) < 10 else None
