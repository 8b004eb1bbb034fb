"""burnish trust, untrust; and the question that run and review ask on a terminal"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from burnish.cli.output import coloured, columns, pad, paint, say, say_json, tell, visible, width
from burnish.cli.parameters import Argument, Option
from burnish.cli.session import AsJson, follow_move, start_dir, tell_approval_cost
from burnish.errors import Untrusted

if TYPE_CHECKING:
    from burnish.features.trust.report import NamedThing, TrustReport
    from burnish.git.discovery import FoundRepository

# lines of the list and of the difference that the question shows; `s` shows the rest
MAX_LINES = 24


def trust(
    shown_id: Annotated[
        str | None,
        Argument(
            metavar="ID",
            help="Accept only what `burnish trust --show` listed under this id; refuse if it has changed since.",
            show_default=False,
        ),
    ] = None,
    show: Annotated[
        bool, Option("--show", help="List what the repository would run and read; accept nothing.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Trust this checkout: run its checks and apply its settings.

    This accepts the settings, prompts, context files and templates as they are now. A later change needs your
    consent again.
    """
    from burnish.errors import BadInput
    from burnish.features.trust.report import report_of
    from burnish.git.discovery import discover
    from burnish.runtime import trust as trusting

    found = discover(start_dir())
    if not show:
        follow_move()
        _accept(found, shown_id, as_json=as_json)
        return 0
    if shown_id is not None:
        raise BadInput("--show takes no id.", hint="Use `burnish trust --show`, or `burnish trust ID`.")
    report = report_of(trusting.examine(found))
    if as_json:
        say_json(report.as_json())
    else:
        for line in lines(report, room=columns(sys.stdout), colour=coloured(sys.stdout)):
            say(line)
    return report.problem.exit_code if report.problem else 0


def _accept(found: FoundRepository, shown_id: str | None, *, as_json: bool) -> None:
    from burnish.features.trust.report import accept
    from burnish.runtime import trust as trusting

    was_trusted = trusting.examine(found).is_trusted
    report = accept(found, how=trusting.BY_COMMAND, shown_id=shown_id)
    if as_json:
        say_json(report.as_json())
        return
    if was_trusted:
        say(f"Already trusted: {visible(str(found.root))}")
    else:
        say(f"Trusted: {visible(str(found.root))}. Its checks may run and its settings apply. This was accepted:")
        for line in (*_news(report, coloured(sys.stdout)), *body(report, room=columns(sys.stdout))):
            say(line)
        say("`burnish untrust` revokes the trust.")
    tell_approval_cost()


def untrust(as_json: AsJson = False) -> None:
    """Revoke the trust in this checkout."""
    from burnish.git.discovery import discover
    from burnish.runtime import trust as trusting

    found = discover(start_dir())
    was_trusted = trusting.revoke(found)
    if as_json:
        say_json({"root": str(found.root), "trusted": False, "was_trusted": was_trusted})
    elif was_trusted:
        say(f"No longer trusted: {visible(str(found.root))}. None of its code runs until `burnish trust`.")
    else:
        say(f"Was not trusted: {visible(str(found.root))}")


def lines(report: TrustReport, *, room: int, colour: bool) -> Iterator[str]:
    """The lines of the report."""
    yield paint(_state(report), "bold", on=colour)
    yield from body(report, room=room)
    if report.difference:
        yield "Changed since it was trusted:"
        yield from (paint(f"  {visible(line)}", _tone(line), on=colour) for line in report.difference)
    if report.problem:
        yield f"It cannot be trusted because its settings do not load: {visible(report.problem.what)}"
        yield f"  {visible(report.problem.hint)}"
    elif not report.trust.is_trusted:
        yield f"To trust exactly this: {report.trust.command(report.id)}"


def body(report: TrustReport, *, room: int) -> Iterator[str]:
    """What the checkout would run and read."""
    groups = (
        ("Programs and agents that it runs:", report.programs),
        ("Environment variables that it passes to programs:", report.environment),
        ("Paths outside the repository:", report.outside),
    )
    for title, things in groups:
        if things:
            yield title
            yield from _rows(things, room)
    files = [path for path in report.trust.content.files if path not in report.trust.content.links]
    if files:
        yield "Prompts, scripts, context files and templates that it contains:"
        yield from (f"  {visible(path)}" for path in sorted(files))
    if report.trust.content.ignored:
        yield "Ignored, because only your config.yaml may set it:"
        for one in report.trust.content.ignored:
            yield f"  {visible(one.key)}  ({visible(one.place)}): {one.reason}"
    if not any(things for _, things in groups) and not files:
        yield "It names no program, environment variable or path outside the repository."


def _rows(things: Sequence[NamedThing], room: int) -> Iterator[str]:
    """One row per thing. Nothing is shortened: the hidden part of a command could be the harmful one."""
    keys = min(max(width(visible(one.key)) for one in things), max(12, room // 3))
    for one in things:
        yield f"  {pad(visible(one.key), keys)}  {visible(one.words)}  ({visible(one.place)})"


def _state(report: TrustReport) -> str:
    trust, root = report.trust, visible(str(report.trust.found.root))
    if trust.acceptance and trust.is_trusted:
        by = trust.acceptance.by.removeprefix("user:")
        return f"{root} is trusted, by {by} on {trust.acceptance.at[:10]} ({trust.acceptance.how})."
    return f"{root} has changed since it was trusted." if trust.accepted else f"{root} is not trusted."


def _tone(line: str) -> str:
    return "green" if line.startswith("+") else "red" if line.startswith("-") else "dim"


def offer(error: Untrusted) -> bool:
    """Ask the user whether to trust the checkout; False without a terminal."""
    from burnish.cli.gate import can_ask
    from burnish.features.trust.report import ChangedSinceShown, accept, report_of
    from burnish.git.discovery import discover
    from burnish.runtime import trust as trusting
    from burnish.runtime.reader import refuse_inside_phase

    if not can_ask():
        return False
    refuse_inside_phase()
    found = discover(Path(error.root))
    report = report_of(trusting.examine(found))
    colour, room = coloured(sys.stderr), columns(sys.stderr)
    tell(paint(_state(report), "bold", on=colour))
    report_lines = [*_news(report, colour), *body(report, room=room)]
    for line in report_lines[:MAX_LINES]:
        tell(line)
    rest = len(report_lines) - MAX_LINES
    if rest > 0:
        tell(f"  … and {rest} more lines: answer s")
    if not _answer(report, report_lines[MAX_LINES:]):
        return False
    try:
        accept(found, how=trusting.BY_ANSWER, shown_id=report.id)
    except ChangedSinceShown:
        tell("The checkout changed while you were reading, so it is not trusted. Run the command again.")
        return False
    return True


def _news(report: TrustReport, colour: bool) -> list[str]:
    return [paint(f"  {visible(line)}", _tone(line), on=colour) for line in report.difference]


def _answer(report: TrustReport, rest: Sequence[str]) -> bool:
    while True:
        sys.stderr.write("Trust this checkout, so that its tests and programs may run? [y/N/s(how)] ")
        sys.stderr.flush()
        answer = sys.stdin.readline().strip().lower()
        if answer in ("s", "show"):
            for line in rest or list(body(report, room=columns(sys.stderr))):
                tell(line)
            continue
        if answer in ("", "n", "no"):
            return False
        if answer in ("y", "yes"):
            return True
        tell("Please answer y, n or s.")
