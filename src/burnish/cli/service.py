"""burnish service"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from burnish.cli.output import clean, say, say_json, tell
from burnish.cli.parameters import Option
from burnish.cli.session import AsJson, open_app
from burnish.core.cost import MAX_BUDGET
from burnish.errors import BadInput

if TYPE_CHECKING:
    from burnish.features.run.service import BoardOptions


def service(
    do_install: Annotated[bool, Option("--install", help="Write the file; print the command that starts it.")] = False,
    do_remove: Annotated[bool, Option("--remove", help="Remove the file; print the command that ends it.")] = False,
    jobs: Annotated[int, Option("-j", "--parallel", min=1, metavar="N", help="Run up to N tasks in parallel.")] = 1,
    budget: Annotated[
        float | None,
        Option("--budget", min=0, max=MAX_BUDGET, metavar="USD", help="Stop before more than USD is spent in one run."),
    ] = None,
    pulls: Annotated[
        int | None,
        Option("--pulls", min=5, max=86_400, metavar="N", help="Also `burnish pr watch` every N seconds."),
    ] = None,
    board: Annotated[
        bool, Option("--board", help="Serve the board with Auto on (`burnish serve --auto`) instead of `run --watch`.")
    ] = False,
    port: Annotated[
        int | None, Option("--port", min=1, max=65535, metavar="PORT", help="With --board: its port (default: 4270).")
    ] = None,
    token_file: Annotated[
        str | None, Option("--token-file", metavar="FILE", help="With --board: read the token from FILE.")
    ] = None,
    kind: Annotated[
        str | None,
        Option("--kind", metavar="systemd|launchd", help="Write a file for this program (default: by system)."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print a systemd unit or launchd agent for `burnish run --watch`.

    The service runs the tasks of this project from your login on, without a terminal. --install writes the file into
    your home directory; you start it with the command that is printed. `burnish stop` ends its run. With --board, the
    service is `burnish serve --auto`.
    """
    from burnish import runtime
    from burnish.features.run import service as services

    runtime.refuse_inside_phase()
    if do_install and do_remove:
        raise BadInput("--install and --remove cannot be combined.", hint="Use one of them.")
    if kind not in (None, services.SYSTEMD, services.LAUNCHD):
        raise BadInput(f"{kind!r} is not a kind of service.", hint="Choose from: systemd, launchd.")
    if pulls is not None and board:
        raise BadInput("--pulls and --board cannot be combined.", hint="Beside the board, use `burnish pr watch`.")
    options = None if do_remove else _board_options(board, port, token_file)
    app = open_app()
    unit = services.project_service(app, kind=kind, jobs=jobs, budget=budget, pulls=pulls, board=options)
    is_there = True
    if do_install:
        services.install(app, unit)
    elif do_remove:
        is_there = services.remove(unit)
    if as_json:
        action: Literal["installed", "removed", "printed"] = (
            "installed" if do_install else "removed" if do_remove and is_there else "printed"
        )
        command = unit.disable if do_remove else unit.enable
        say_json({"path": str(unit.path), "kind": unit.kind, "action": action, "command": command, "text": unit.text})
    elif do_install:
        say(f"Wrote {clean(str(unit.path))}")
        if options:
            tell(f"  The board: http://127.0.0.1:{options.port}/login?token=… (the token is in {options.token_file})")
        tell(f"  Start it now and at each login: {unit.enable}")
        if unit.kind == services.SYSTEMD:
            tell("  Keep it running after you log out: loginctl enable-linger")
    elif do_remove:
        say(f"Removed {clean(str(unit.path))}" if is_there else f"Not installed: {clean(str(unit.path))}")
        if is_there:
            tell(f"  End it, if it runs: {unit.disable}")
    else:
        sys.stdout.write(unit.text)
        tell(f"Install it: burnish service --install (writes {clean(str(unit.path))})")


def _board_options(board: bool, port: int | None, token_file: str | None) -> BoardOptions | None:
    from burnish.features.run.service import BoardOptions

    if not board:
        if port is not None or token_file is not None:
            raise BadInput("--port and --token-file need --board.", hint="Add --board, or omit them.")
        return None
    if token_file in (None, "-"):
        raise BadInput(
            "--board needs --token-file FILE: a service has no terminal for the token.",
            hint="Make one: (umask 077; openssl rand -hex 24 > ~/.burnish-token)",
        )
    from burnish.cli.serve import require_web_packages
    from burnish.cli.session import start_dir

    require_web_packages()
    from burnish.web.server import PORT, read_token, token_for

    path = start_dir() / Path(str(token_file)).expanduser()
    token_for("127.0.0.1", read_token(str(path)), f"--token-file {token_file}")
    return BoardOptions(port or PORT, path.absolute())
