"""burnish handoff, and what `burnish review --from` does"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

from burnish.cli.output import clean, coloured, count, one_line, paint, say, say_json, tell
from burnish.cli.parameters import Option
from burnish.cli.session import SESSION, AsJson, TaskId, open_app, start_dir
from burnish.core.flow import RUNNING
from burnish.core.review import Verdict
from burnish.core.status import Status
from burnish.core.task import task_id
from burnish.errors import BadInput

if TYPE_CHECKING:
    from burnish.features.review.handoff import HandoffReport

MAX_BYTES = 4 * 1024 * 1024
SHOWN = 20


def handoff(
    task: TaskId,
    force: Annotated[
        bool, Option("--force", help="Hand over the committed work even if the workspace has uncommitted files.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Print a review prompt for a person or another tool.

    `burnish review TASK --from FILE` records the reply. Use `burnish review TASK` for the configured reviewers.
    """
    from burnish import runtime

    runtime.refuse_inside_phase()
    from burnish.features.review.handoff import DirtyWorkspace, hand_off

    try:
        report = hand_off(open_app(), task_id(task), force=force)
    except DirtyWorkspace as dirty:
        if as_json:
            say_json({"id": str(task_id(task)), "blocking": list(dirty.blocking), "benign": list(dirty.benign)})
        _tell_dirt(dirty.blocking, dirty.benign, is_forced=False)
        raise
    if as_json:
        say_json(report.as_json())
        return 0
    _tell_dirt(report.blocking, report.benign, is_forced=True)
    say(clean(report.prompt).rstrip("\n"))
    if not SESSION.quiet:
        for line in _where(report):
            tell(line)
    return 0


def _tell_dirt(blocking: tuple[str, ...], benign: tuple[str, ...], *, is_forced: bool) -> None:
    on = coloured(sys.stderr)
    lead, tone = ("left out", "yellow") if is_forced else ("not committed", "red")
    for label, paths, colour in ((lead, blocking, tone), ("ignored", benign, "dim")):
        for path in paths[:SHOWN]:
            tell(paint(f"{label}: {one_line(path)}", colour, on=on))
        if len(paths) > SHOWN:
            tell(paint(f"{label}: {count(len(paths) - SHOWN, 'more path')}", colour, on=on))


def _where(report: HandoffReport) -> list[str]:
    number = report.task.id
    void = [f"The approval of task {number} is void because of the handoff."] if report.voided else []
    return [
        *void,
        f"Task {number} waits for a review of {report.commit[:12]} (cycle {report.cycle}).",
        f"  files     {report.checkout}",
        f"  write to  {report.file}",
        f"  then      burnish review {number} --from {report.file}",
    ]


def take_review(
    number: int, source: str, verdict: str | None, commit: str | None, *, exit_zero: bool, as_json: bool
) -> int:
    """A review from a file, or `-` for stdin."""
    from burnish.cli.progress import watcher
    from burnish.cli.run import exit_code, say_report
    from burnish.features.review.external_review import ReviewFile, bring_review
    from burnish.runtime.requests import RunReport, RunRequest
    from burnish.views.task import review_json

    review_file = ReviewFile(*_given(source), _verdict(verdict), commit)
    app = open_app()
    progress = watcher(several=False, quiet=SESSION.quiet, verbose=SESSION.verbose)
    try:
        import_result = bring_review(app, number, review_file, progress)
    finally:
        progress.close()
    task = import_result.task
    if as_json:
        say_json({**review_json(app.store, app.key, number), "read": import_result.reading})
    else:
        say_report(RunReport(tasks=(task,)), RunRequest(ids=(number,)))
        if task.status in RUNNING and not task.waits_for and not SESSION.quiet:
            tell(f"  {'Fix it' if task.status is Status.IN_PROGRESS else 'Continue'}: burnish run {number}")
    return exit_code([task], waiting=False, interrupted=False, exit_zero=exit_zero)


def _given(source: str) -> tuple[str, str]:
    """What it is called, and what it says."""
    name = "standard input" if source == "-" else one_line(source)
    try:
        with nullcontext(sys.stdin.buffer) if source == "-" else (start_dir() / source).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as why:
        raise BadInput(
            f"Cannot read {name}: {why.strerror}.", hint="Nothing was changed. Give the file with the review."
        ) from None
    if len(data) > MAX_BYTES:
        raise BadInput(f"{name} is larger than {MAX_BYTES >> 20} MB.", hint="Nothing was changed.")
    try:
        return name, data.decode("utf-8")
    except UnicodeDecodeError:
        raise BadInput(
            f"Cannot read {name}: it is not UTF-8 text.", hint="Nothing was changed. Save it as UTF-8."
        ) from None


def _verdict(word: str | None) -> Verdict | None:
    if word is None:
        return None
    plain = word.strip().lower().replace("-", "_").replace(" ", "_")
    if plain in {verdict.value for verdict in Verdict}:
        return Verdict(plain)
    choices = ", ".join(verdict.value for verdict in Verdict)
    raise BadInput(f"Unknown verdict {word!r}.", hint=f"Choose from: {choices}.")
