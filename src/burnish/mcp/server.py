"""The tools as a server of the SDK, over standard input and output, and over HTTP."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnish import __version__
from burnish.adapters.redaction import secrets_from_environment
from burnish.errors import BurnishError, NotFound

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer
    from pydantic import ValidationError

    from burnish.features.server.registry import ProjectRegistry
    from burnish.mcp.reviews import BackgroundReviews
    from burnish.mcp.tools import McpTools

_MAX_VALUE = 50

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


def require_sdk() -> None:
    """Raise if the extra is not installed."""
    if find_spec("mcp") is None:
        raise BurnishError(
            "The MCP server needs the package mcp.", hint="Install it with burnish: pip install 'burnish[mcp]'"
        )


def serve_stdio(start: Path) -> None:
    """Answer a client on standard input and output until it closes them."""
    require_sdk()
    from burnish.mcp.access import FolderAccess
    from burnish.mcp.tools import McpTools

    tools = McpTools(FolderAccess(start))
    try:
        asyncio.run(build_server(tools).run_stdio_async())
    finally:
        tools.reviews.close()


def build_server(tools: McpTools) -> MCPServer[Any]:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp_types import ToolAnnotations
    from pydantic import ValidationError

    from burnish.mcp.tools import CHANGING, INSTRUCTIONS

    parameters = {tool.__name__: tuple(inspect.signature(tool).parameters) for tool in tools.all()}

    class StrictServer(MCPServer[Any]):
        """The SDK ignores arguments that a tool does not have: `request_review` would review something else."""

        async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
            unknown = next((one for one in arguments if one not in parameters.get(name, arguments)), None)
            if unknown is not None:
                names = ", ".join(parameters[name]) or "none"
                raise ToolError(f"{name} has no argument {unknown[:50]!r}. Its arguments: {names}.")
            try:
                return await super().call_tool(name, arguments, context)
            except ToolError as error:
                if isinstance(error.__cause__, ValidationError):
                    raise ToolError(_wrong_arguments(name, error.__cause__)) from None
                raise

    # the SDK configures logging at its import and for each server; only errors belong on stderr
    server = StrictServer(
        "burnish", instructions=INSTRUCTIONS, version=__version__, log_level="ERROR", subscriptions=False
    )
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    for tool in tools.all():
        changes = tool.__name__ in CHANGING
        hints = ToolAnnotations(read_only_hint=not changes, destructive_hint=False, open_world_hint=False)
        server.add_tool(_with_errors(tool), annotations=hints, structured_output=True)
    return server


def _wrong_arguments(tool: str, error: ValidationError) -> str:
    """What is wrong with the first argument, in one line."""
    first = error.errors(include_url=False)[0]
    name = first["loc"][0] if first["loc"] else "an argument"
    if first["type"] == "missing":
        return f"{tool} needs the argument {name}."
    value = secrets_from_environment().redact(repr(first["input"]))
    given = value if len(value) <= _MAX_VALUE else f"{value[: _MAX_VALUE - 1]}…"
    return f"{tool}: {name} cannot be {given}. {first['msg'].replace('Input', 'It')}."


def _with_errors(tool: Callable[..., Any]) -> Callable[..., Any]:
    """The tool, whose errors for users become answers with what to do, without secrets."""
    from mcp.server.mcpserver.exceptions import ToolError

    def answer(error: BurnishError) -> ToolError:
        return ToolError(secrets_from_environment().redact(f"{error.what} {error.hint}".strip()))

    @functools.wraps(tool)
    async def call_async(**values: Any) -> Any:
        try:
            return await tool(**values)
        except BurnishError as error:
            raise answer(error) from None

    @functools.wraps(tool)
    def call(**values: Any) -> Any:
        try:
            return tool(**values)
        except BurnishError as error:
            raise answer(error) from None

    return call_async if inspect.iscoroutinefunction(tool) else call


@dataclass
class McpEndpoint:
    """ASGI: answers `POST /mcp/PROJECT`. The request guard of the board has checked the request before."""

    registry: ProjectRegistry
    _servers: dict[str, MCPServer[Any]] = field(default_factory=dict)
    _reviews: dict[str, BackgroundReviews] = field(default_factory=dict)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        key = scope["path"].removeprefix("/mcp").strip("/")
        if scope.get("state", {}).get("via") != "api":
            return await _refuse(send, 403, "MCP needs the token.", "Send it as Authorization: Bearer TOKEN.")
        if scope["method"] != "POST":
            # no stream of notifications is offered, and sessions are not kept
            return await _refuse(send, 405, "Only POST is answered here.", "", allow="POST")
        try:
            await asyncio.to_thread(require_sdk)
            server = await asyncio.to_thread(self._server, key)
        except BurnishError as error:
            return await _refuse(send, 404 if isinstance(error, NotFound) else 501, error.what, error.hint)
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        # one manager per request: without sessions there is nothing to keep
        manager = StreamableHTTPSessionManager(server.session_manager.app, json_response=True, stateless=True)
        async with manager.run():
            await manager.handle_request(scope, receive, send)
        return None

    def _server(self, key: str) -> MCPServer[Any]:
        from burnish.mcp.access import ServedAccess
        from burnish.mcp.reviews import BackgroundReviews
        from burnish.mcp.tools import McpTools

        self.registry.project(key)
        if key not in self._servers:
            reviews = self._reviews.setdefault(key, BackgroundReviews())
            server = build_server(McpTools(ServedAccess(self.registry, key), reviews))
            server.streamable_http_app()  # makes `session_manager`
            self._servers[key] = server
        return self._servers[key]

    def close(self) -> None:
        for reviews in self._reviews.values():
            reviews.close()


async def _refuse(send: Send, status: int, what: str, hint: str, *, allow: str = "") -> None:
    body = json.dumps({"title": what, "status": status, "detail": hint}).encode()
    headers = [(b"content-type", b"application/problem+json"), (b"content-length", str(len(body)).encode())]
    headers += [(b"allow", allow.encode())] if allow else []
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
