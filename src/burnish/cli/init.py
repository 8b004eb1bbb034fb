"""burnish init"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

from burnish.cli.output import (
    clean,
    coloured,
    columns,
    cut,
    duration,
    is_plain,
    mark,
    one_line,
    pad,
    paint,
    say,
    say_json,
    tell,
    visible,
    width,
    wrap,
)
from burnish.cli.parameters import Option
from burnish.cli.session import SESSION, AsJson, follow_move, start_dir
from burnish.errors import BadInput

if TYPE_CHECKING:
    from burnish.checks.discover import DiscoveredChecks
    from burnish.features.init.init import File, InitReport
    from burnish.features.init.trial import TrialReport

WORDS = {
    "written": "Wrote {}.",
    "planned": "Would write {}.",
    "kept": "{} exists and was not changed; --force overwrites it.",
    "same": "{} is up to date.",
}


def init(
    slash: Annotated[
        bool, Option("--slash", help="Also write /review-task and /parse-review for Claude Code.")
    ] = False,
    force: Annotated[bool, Option("--force", help="Overwrite existing files.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Print what would be written; write nothing.")] = False,
    try_now: Annotated[
        bool | None,
        Option("--try/--no-try", help="Run set-up and checks once (default: ask on a terminal).", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Write burnish.yaml for this repository.

    burnish detects the test command, linters and installed agents, and writes them with the reason for each.
    It overwrites files only with --force. It runs code of the repository only with --try or if you agree, and only
    in a trusted checkout (`burnish trust`).
    """
    from burnish.features.init.init import initiate

    if dry_run and try_now:
        raise BadInput("--dry-run and --try cannot be combined.", hint="Use one of them.")
    if not dry_run:
        follow_move()
    outcome = initiate(start_dir(), slash=slash, force=force, dry_run=dry_run)
    if as_json:
        trial = _try_out() if try_now else None
        say_json({**_json(outcome), "trial": trial.as_json() if trial else None})
        return 0 if trial is None or trial.usable else 3
    room, on = columns(sys.stdout), coloured(sys.stdout)
    for line in report(outcome, room=min(room, 120), colour=on):
        say(line)
    for note in outcome.notes:
        first, *rest = wrap(visible(note), min(columns(sys.stderr), 120) - 6)
        tell(paint("note: ", "yellow", on=coloured(sys.stderr)) + first)
        for line in rest:
            tell(f"      {line}")
    if dry_run or not (_wants_trial() if try_now is None else try_now):
        return 0
    trial = _try_out()
    for line in trial_lines(trial, room=min(room, 120), colour=on):
        say(line)
    return 0 if trial.usable else 3


def _wants_trial() -> bool:
    """Ask whether to run the checks; False without a terminal."""
    from burnish.cli.gate import can_ask

    if SESSION.quiet or not can_ask():
        return False
    sys.stdout.flush()
    sys.stderr.write("\nRun set-up and tests once now? This runs code of the repository. [Y/n] ")
    sys.stderr.flush()
    answer = sys.stdin.readline()
    # an empty line is yes, the end of the input is not
    return answer.strip().lower() in ("", "y", "yes") and answer != ""


def _try_out() -> TrialReport:
    from burnish.features.init.trial import try_out

    with _waiting() as tell_now:
        return try_out(start_dir(), tell=tell_now)


def trial_lines(trial: TrialReport, *, room: int, colour: bool) -> list[str]:
    """What ran, how long it took, and the next step."""
    lines = [""]
    names = max((width(step.name) for step in trial.steps), default=0)
    for step in trial.steps:
        sign, tone = ("✓", "green") if step.usable and not step.hint else ("✗", "green" if step.usable else "red")
        sign, tone = ("!", "yellow") if step.red else (sign, tone)
        sign = paint(mark(sign), tone, on=colour)
        first, *rest = wrap(one_line(f"{step.words} ({duration(step.seconds)})"), room - names - 6)
        lines += [f"  {sign} {pad(step.name, names)}  {first}", *(" " * (names + 6) + line for line in rest)]
        lines += [cut(f"      │ {clean(line)}", room) for line in step.output.splitlines()]
        lines += [f"      {line}" for line in wrap(step.hint, room - 6)] if step.hint else []
    if not trial.has_tests and trial.usable:
        lines += wrap("No tests ran. Until checks.test is set, changes are reviewed without tests.", room)
    elif trial.usable:
        lines += ["", 'The checks work. Next: burnish add "TITLE", then burnish run']
    return lines


def report(outcome: InitReport, *, room: int, colour: bool) -> list[str]:
    """What was found, decided and written, and the next commands."""
    lines = [*wrap(_found(outcome), room), ""]
    rows = [(visible(".".join(one.key)), visible(_in_folder(one)), visible(one.why)) for one in outcome.decided]
    keys = max((width(key) for key, _, _ in rows), default=0)
    values = min(40, max((width(value) for _, value, _ in rows), default=0))
    for key, value, why in rows:
        lines += _row(pad(key, keys), value, why, values=values, room=room, colour=colour)
    lines += ["", *_written(outcome, room, colour)]
    return lines


def _row(key: str, value: str, why: str, *, values: int, room: int, colour: bool) -> list[str]:
    """On one line if there is room, else the reason below."""
    line = f"  {key}  {pad(value, values)}"
    if width(line) + 2 + width(why) <= room:
        return [f"{line}  {paint(why, 'dim', on=colour)}"]
    margin = " " * (width(key) + 4)
    first, *rest = wrap(value, room - len(margin))
    below = [paint(part, "dim", on=colour) for part in wrap(why, room - len(margin) - 2)]
    return [f"  {key}  {first}", *(margin + part for part in rest), *(f"{margin}  {part}" for part in below)]


def _found(outcome: InitReport) -> str:
    parts = [
        f"{one.language} in {one.folder}" if one.folder else f"{one.language} at the root"
        for one in outcome.tools
        if one.language
    ]
    what = ", ".join(dict.fromkeys(parts)) or "no known language or test tool"
    return one_line(f"Found in {outcome.root}: {what}.")


def _written(outcome: InitReport, room: int, colour: bool) -> list[str]:
    lines = [part for file in outcome.files for part in wrap(_file(file, outcome), room)]
    if outcome.files[0].state == "planned":
        lines += ["", *map(visible, outcome.text.removesuffix("\n").split("\n"))]
    for one in outcome.differences:
        lines += wrap(visible(f"{one.key} is {_words(one.now)} ({one.origin}); found: {_words(one.found)}"), room)
    if outcome.files[0].state == "kept" and not outcome.differences:
        lines.append("Its settings match what was found.")
    if outcome.trusted:
        lines += wrap("This checkout is trusted: its checks may run. `burnish untrust` revokes that.", room)
    elif outcome.files[0].state != "planned":
        lines += wrap(
            "This checkout is not trusted, so burnish runs none of its code. Inspect it: burnish trust --show", room
        )
    steps = (
        ("burnish doctor", "check this machine and repository"),
        ('burnish add "TITLE"', "add the first task"),
        ("burnish run", "implement, test and review it"),
    )
    return [*lines, "", "Next:", *(f"  {pad(step, 24)}{paint(why, 'dim', on=colour)}" for step, why in steps)]


def _file(file: File, outcome: InitReport) -> str:
    return WORDS[file.state].format(one_line(str(file.path.relative_to(outcome.root))))


def _in_folder(one: DiscoveredChecks) -> str:
    return f"{_words(one.value)} (in {one.cwd})" if one.cwd else _words(one.value)


def _words(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    return "not set" if value is None else str(value)


def _json(outcome: InitReport) -> dict[str, Any]:
    return {
        "root": str(outcome.root),
        "files": [{"path": str(file.path), "state": file.state} for file in outcome.files],
        "settings": [
            {
                "key": ".".join(one.key),
                "value": one.value,
                "why": one.why,
                **({"cwd": one.cwd} if one.cwd else {}),
                **({"paths": one.paths} if one.paths else {}),
            }
            for one in outcome.decided
        ],
        "differences": [
            {"key": one.key, "now": one.now, "origin": one.origin, "found": one.found, "why": one.why}
            for one in outcome.differences
        ],
        "projects": [{"folder": one.folder, "language": one.language} for one in outcome.tools if one.language],
        "agents": [{"name": one.kind, "path": one.path, "verified": one.verified} for one in outcome.agents],
        "notes": outcome.notes,
        "trusted": outcome.trusted,
    }


@contextmanager
def _waiting() -> Iterator[Callable[[str], None]]:
    """Yields a function that shows the current step on stderr; silent with -q."""
    if SESSION.quiet:
        yield lambda text: None
        return
    if not sys.stderr.isatty() or is_plain() or os.environ.get("TERM") == "dumb":
        yield lambda text: tell(f"{one_line(text)}…")
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(file=sys.stderr, highlight=False), transient=True) as progress:
        row = progress.add_task("", total=None)
        yield lambda text: progress.reset(row, description=escape(one_line(text)), total=None)
