"""burnish demo"""

from __future__ import annotations

import contextlib
import io
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from burnish.cli.output import coloured, columns, one_line, paint, say, say_json, wrap
from burnish.cli.parameters import Option
from burnish.cli.session import SESSION, AsJson, start_dir
from burnish.errors import BadInput, BurnishError

if TYPE_CHECKING:
    from burnish.demo.stage import Stage

INTERRUPTED = 130
OPENING = (
    "A small repository with three tasks. A script plays the agent that writes the code;",
    "the tests, the reviewer (static rules, no AI) and the verdicts are real.",
)


def demo(
    keep: Annotated[bool, Option("--keep", help="Keep the sample repository.")] = False,
    where: Annotated[
        Path | None,
        Option("--dir", metavar="DIR", help="Create the sample repository in the new directory DIR and keep it."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Run three sample tasks, without AI, network or your files.

    The exit code is 0 if the tasks ended as expected, so burnish works on this machine, and 3 otherwise.
    """
    from burnish.demo.stage import create_stage

    folder = _folder(where)
    keep = keep or where is not None
    show = DemoView(silent=as_json or SESSION.quiet)
    try:
        stage = create_stage(folder)
        records, unexpected = _run_tasks(stage, show)
        keep = keep or bool(unexpected)
        if as_json:
            say_json(
                {
                    "ok": not unexpected,
                    "directory": str(folder) if keep else None,
                    "wrong": unexpected,
                    "tasks": records,
                }
            )
        if unexpected:
            raise BurnishError(f"The demo did not end as expected: {'; '.join(unexpected)}.", hint=_failure_hint(stage))
        show.lines(*(_explore_lines(stage, records) if keep else _next_steps()))
        return 0
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


class DemoView:
    """Prints the text between the commands."""

    def __init__(self, *, silent: bool) -> None:
        self.silent = silent
        self.flags = ["-q"] if silent else ["-v"] * SESSION.verbose
        self.colour = coloured(sys.stdout)

    def heading(self, text: str) -> None:
        self.lines("", paint(text, "bold", on=self.colour))

    def lines(self, *lines: str) -> None:
        if not self.silent:
            for line in lines:
                say(line)
            sys.stdout.flush()

    def run_command(self, *words: str, stage: Stage) -> int:
        """Print and run a command line in the sample repository."""
        from burnish.cli.main import main

        self.heading(f"$ burnish {' '.join(words)}")
        with contextlib.redirect_stdout(io.StringIO()) if self.silent else contextlib.nullcontext():
            return main(["-C", str(stage.repo), *words, *self.flags])


def _run_tasks(stage: Stage, show: DemoView) -> tuple[list[dict[str, Any]], list[str]]:
    """Run the tasks; return their records and the unexpected outcomes."""
    from burnish.demo.stage import TASKS, summarize, unexpected_outcomes
    from burnish.runtime import open_reader
    from burnish.views.task import show_json

    show.lines(*OPENING)
    with stage.entered():
        for number in range(1, len(TASKS) + 1):
            if show.run_command("run", str(number), stage=stage) == INTERRUPTED:
                raise KeyboardInterrupt
        show.run_command("status", stage=stage)
        reader = open_reader(stage.repo)
        tasks = reader.store.tasks(reader.key)
        records = [show_json(reader.store, reader.key, task.id) for task in tasks]
    show.heading("What happened, from the event log")
    width = min(columns(sys.stdout), 110)
    for record in records:
        show.lines(f"  T{record['id']} {one_line(record['title'])}")
        for text in summarize(record):
            first, *rest = wrap(one_line(text), width - 6)
            show.lines(f"    · {first}", *(f"      {line}" for line in rest))
    return records, unexpected_outcomes(tasks)


def _folder(where: Path | None) -> Path:
    if where is None:
        return Path(tempfile.mkdtemp(prefix="burnish-demo-")).resolve()
    folder = (start_dir() / where.expanduser()).absolute()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInput(f"{folder} exists and is not empty.", hint="Give a directory that does not exist.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(
            f"Cannot create {folder}: {error.strerror}.", hint="Give a directory that you can write to."
        ) from error
    return folder.resolve()


def _command_name() -> str:
    """The command that runs this burnish: its name if it is on PATH, else its path."""
    own = Path(sys.executable).parent / "burnish"
    found = shutil.which("burnish")
    if found and Path(found).parent == own.parent:
        return "burnish"
    return shlex.quote(str(own))


def _enter_commands(stage: Stage) -> list[str]:
    """Shell commands after which `burnish` runs this installation with the state of the demo."""
    here = shlex.quote(str(Path(sys.executable).parent))
    path = [] if _command_name() == "burnish" else [f'export PATH={here}:"$PATH"']
    return [*path, f"export BURNISH_HOME={shlex.quote(str(stage.home))}", f"cd {shlex.quote(str(stage.repo))}"]


def _explore_lines(stage: Stage, records: list[dict[str, Any]]) -> list[str]:
    branch = one_line(str(records[0]["branch"]))
    return [
        "",
        f"The demo ended as expected: burnish works on this machine. It is kept in {stage.folder}. Explore it:",
        *(f"  {line}" for line in _enter_commands(stage)),
        *_table(
            ("burnish show 2", "the finding and how it was resolved"),
            ("burnish show review-cycle://2/review-cycle-1.md", "the review that reported it"),
            ("burnish diff 2 --since-review", "what the agent changed after the review"),
            ("burnish log 3", "output of the agent and the tests"),
            (f"git merge {branch} && burnish done 1", "merge and close the first task"),
            (
                'burnish edit 3 --verdict APPROVED --reason "no refunds any more"',
                "override the guard with a recorded reason",
            ),
        ),
    ]


def _next_steps() -> list[str]:
    name = _command_name()
    return [
        "",
        "The demo ended as expected: burnish works on this machine. The sample was removed. Next:",
        *_table(
            (f"{name} demo --keep", "run it again and keep the files"),
            (f"{name} review", "in your repository: review your last change"),
            (f"{name} init", "in your repository: write settings for a first task"),
        ),
    ]


def _table(*rows: tuple[str, str]) -> list[str]:
    size = max(len(command) for command, _ in rows)
    return [f"  {command:<{size}}  # {words}" for command, words in rows]


def _failure_hint(stage: Stage) -> str:
    enter = "; ".join(_enter_commands(stage))
    return f"The files are kept: {enter}; burnish status. Check this machine: burnish doctor"
