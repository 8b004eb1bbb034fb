"""burnish serve"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from burnish.cli.paint import say, say_json, tell
from burnish.cli.session import AsJson

if TYPE_CHECKING:
    from burnish.web.server import Address


def serve(
    host: Annotated[str, typer.Option("--host", metavar="HOST", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65535, metavar="PORT", help="4270 if it is free, else any.")
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
    as_json: AsJson = False,
) -> None:
    """Serve the board and the API for every project, and run tasks in the background.

    The address is printed once, with its token. Ctrl-C stops it; what it ran goes on with the next start.
    """
    from burnish.web.server import serve as serve_until_stopped
    from burnish.wiring import refuse_inside_phase

    refuse_inside_phase()

    def ready(address: Address) -> None:
        if as_json:
            say_json({"url": address.url, "token": address.token, "login": address.with_token, "pid": os.getpid()})
        else:
            say(address.with_token)
            tell("Ctrl-C stops it. Whoever has this address can do what you can.")
        if open_browser:
            typer.launch(address.with_token)

    serve_until_stopped(host, port, env=os.environ, ready=ready)
    tell("Stopped. What was running goes on with the next `burnish serve` or `burnish run`.")
