"""burnish serve"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from burnish.cli.output import say, say_json, tell, use_log_format
from burnish.cli.parameters import Option
from burnish.cli.session import AsJson, LogFormat, start_dir
from burnish.core.cost import MAX_BUDGET
from burnish.errors import BadInput, BurnishError
from burnish.proc.own_programs import own_path

if TYPE_CHECKING:
    from burnish.features.server.registry import ProjectRegistry
    from burnish.runtime.requests import RunRequest
    from burnish.web.server import Address
    from burnish.web.sessions import LoginCodes


def serve(
    host: Annotated[str, Option("--host", metavar="HOST", help="Listen on HOST.")] = "127.0.0.1",
    port: Annotated[
        int | None,
        Option("--port", min=0, max=65535, metavar="PORT", help="Listen on PORT (default: 4270 if free, else any)."),
    ] = None,
    token_file: Annotated[
        str | None, Option("--token-file", metavar="FILE", help="Read the token from FILE (-: standard input).")
    ] = None,
    open_browser: Annotated[bool, Option("--open", help="Open the board in the browser.")] = False,
    auto: Annotated[
        bool, Option("--auto", help="Run every task of the project in this folder as it becomes ready.")
    ] = False,
    jobs: Annotated[
        int, Option("-j", "--jobs", min=1, max=64, metavar="N", help="With --auto: N tasks in parallel.")
    ] = 1,
    budget: Annotated[
        float | None,
        Option(
            "--budget", min=0, max=MAX_BUDGET, metavar="USD", help="With --auto: stop before more than USD is spent."
        ),
    ] = None,
    log_format: LogFormat = None,
    as_json: AsJson = False,
) -> None:
    """Serve the web board and the API for every project.

    Tasks started on the board run in this process. With --auto, Auto is on for this project; the board switches it
    off. The URL with its token is printed once. Ctrl-C stops the server;
    interrupted tasks continue at the next start.
    """
    use_log_format(log_format)
    require_web_packages()
    from burnish.features.server.registry import ProjectRegistry
    from burnish.mcp.server import McpEndpoint
    from burnish.runtime import refuse_inside_phase
    from burnish.runtime.requests import RunRequest
    from burnish.web.server import serve as serve_until_stopped
    from burnish.web.server import token_files

    refuse_inside_phase()
    if budget is not None and not auto:
        raise BadInput("--budget needs --auto.", hint="Runs that you start on the board have their own budget.")
    auto_run = RunRequest(watch=True, jobs=jobs, budget=budget)
    key = _checked_project(auto_run) if auto else ""
    registry = ProjectRegistry.here()

    def ready(address: Address, codes: LoginCodes) -> None:
        if as_json:
            say_json({"url": address.url, "token": address.token, "login": address.with_token, "pid": os.getpid()})
        else:
            say(address.with_token)
        sys.stdout.flush()  # a file or a pipe gets it now, not when the server ends
        if not as_json:
            tell("Anyone with this URL has full access. Ctrl-C stops the server.")
        if key:
            _switch_auto_on(registry, key, auto_run)
        if open_browser:
            _open(address.with_code(codes.issue()))

    if token_file is not None:
        token_file = str(start_dir() / Path(token_file).expanduser())
    token = _token(host, token_file, has_people=bool(registry.store.people.everyone()))
    files, mcp = token_files(token_file), McpEndpoint(registry)
    try:
        serve_until_stopped(
            host, port, token=token, ready=ready, token_files=files, registry=registry, endpoints={"/mcp": mcp}
        )
    finally:
        mcp.close()
    tell("Stopped. Interrupted tasks continue with the next `burnish serve` or `burnish run`.")


def require_web_packages() -> None:
    """The web part is optional: who only reviews changes does not install a server."""
    missing = [name for name in ("fastapi", "uvicorn", "websockets") if find_spec(name) is None]
    if missing:
        what = f"`burnish serve` needs packages that are not installed: {', '.join(missing)}."
        raise BurnishError(what, hint="pip install 'burnish[serve]' (or the same extra from your checkout or URL)")


def _checked_project(request: RunRequest) -> str:
    """The project of the current directory; refuses now what Auto would refuse."""
    from burnish.cli.session import open_app
    from burnish.features.run.run import check

    app = open_app()
    try:
        check(app, request)
        return app.key
    finally:
        app.store.close()


def _switch_auto_on(registry: ProjectRegistry, key: str, request: RunRequest) -> None:
    """Auto may be on since the last start, with options of its own."""
    if registry.runs.auto(key):
        tell("Auto is on since the last start, with the options from then.")
        return
    try:
        registry.begin(registry.open(key), request)
    except BurnishError as error:
        tell(f"Auto could not be switched on: {error.what} {error.hint}".rstrip())


def _token(host: str, file: str | None, *, has_people: bool) -> str:
    from burnish.web.server import TOKEN, read_token, token_for

    # removed, so that no child process inherits it
    from_environment = os.environ.pop(TOKEN, "")
    if file is not None:
        return token_for(host, read_token(file), f"--token-file {file}")
    return token_for(host, from_environment, has_people=has_people)


def _open(url: str) -> None:
    """In a thread: some browsers are waited for, and the server has to answer them meanwhile."""
    # a separate process with a safe PATH: webbrowser looks up the browser by name
    argv, env = [sys.executable, "-I", "-m", "webbrowser", url], {**os.environ, "PATH": own_path()}
    options = {"env": env, "cwd": "/", "stdout": subprocess.DEVNULL, "check": False}
    threading.Thread(target=subprocess.run, args=(argv,), kwargs=options, daemon=True).start()
