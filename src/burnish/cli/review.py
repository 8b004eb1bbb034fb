"""burnish review"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from burnish.cli.output import clean, coloured, columns, cut, is_plain, one_line, say, say_json, tell
from burnish.cli.pager import paged
from burnish.cli.parameters import Argument, Option
from burnish.cli.report import ReportText, report, verdict_words
from burnish.cli.run import ExitZero
from burnish.cli.session import SESSION, AsJson, start_dir, write_output
from burnish.core.task import task_id
from burnish.errors import BadInput

if TYPE_CHECKING:
    from burnish.features.review.adhoc_review import AdhocResult, ReviewTarget

EXIT_COULD_NOT_RUN = 3
_TASK = re.compile(r"[Tt]?[0-9]+")


def review(
    what: Annotated[
        str | None,
        Argument(metavar="TASK | REV | A..B", help="The task, commit or range to review.", show_default=False),
    ] = None,
    rev: Annotated[
        str | None, Option("--rev", metavar="REV", help="Review revision REV, even if a task has that number.")
    ] = None,
    dirty: Annotated[bool, Option("--dirty", help="Review uncommitted changes, including new files.")] = False,
    staged: Annotated[bool, Option("--staged", help="Review staged changes.")] = False,
    pushed: Annotated[
        bool, Option("--pushed", help="In a pre-push hook of pre-commit: review the commits that are pushed.")
    ] = False,
    pull: Annotated[
        int | None,
        Option("--pr", min=1, metavar="N", help="Review pull request N of GitHub; its tests run only with --tests."),
    ] = None,
    base: Annotated[str | None, Option("--base", metavar="REF", help="Compare with the merge base of REF.")] = None,
    agent: Annotated[
        list[str] | None, Option("--agent", metavar="AGENT", help="Review with AGENT; repeat for a panel.")
    ] = None,
    model: Annotated[str | None, Option("--model", metavar="MODEL", help="Use MODEL for the reviewers.")] = None,
    tests: Annotated[
        bool | None,
        Option("--tests/--no-tests", help="Run (or do not run) code of the change: tests and linters with plug-ins."),
    ] = None,
    source: Annotated[
        str | None,
        Option("--from", metavar="FILE", help="Record a review of TASK from FILE (-: standard input)."),
    ] = None,
    verdict: Annotated[
        str | None,
        Option("--verdict", metavar="VERDICT", help="With --from: use VERDICT if the review has none."),
    ] = None,
    commit: Annotated[
        str | None, Option("--commit", metavar="SHA", help="With --from: name the reviewed commit.")
    ] = None,
    edit: Annotated[
        bool, Option("--edit", help="Review TASK yourself: open its change with the findings in $EDITOR.")
    ] = False,
    format: Annotated[
        str | None, Option("--format", metavar="FORMAT", help="Print the findings as github, sarif or rdjson.")
    ] = None,
    output: Annotated[
        Path | None,
        Option("--output", "-o", metavar="FILE", help="Write the findings to FILE, too: .sarif or .rdjson."),
    ] = None,
    exit_zero: ExitZero = False,
    as_json: AsJson = False,
) -> int:
    """Review a change, or review a task again.

    A change needs no task and no settings. Without arguments, review the uncommitted changes; if there are none,
    the current branch; else the last commit.

    With TASK, have the last commit of the task reviewed; no code is changed. To have it changed, use
    `burnish improve`. With --from, record a review by a person or another tool (Markdown, contract JSON, SARIF or
    rdjson). With --pr, fetch a pull request and review it. With --edit, write comments below the lines of the change
    and send them as your review.

    In CI: `burnish review A...B --format github -o burnish.sarif`.
    """
    findings_output = FindingsOutput.of(format, output, as_json=as_json)
    if findings_output.is_used and (edit or source):
        raise BadInput("--format and -o belong to a review without a task.", hint="Use: burnish export TASK")
    if edit:
        if what is None or not _TASK.fullmatch(what) or source or rev or dirty or staged or pushed:
            raise BadInput("--edit reviews a task.", hint="Usage: burnish review TASK --edit")
        from burnish.cli.edit_review import edit_review

        return edit_review(task_id(what), as_json=as_json)
    if source is not None or verdict or commit:
        return _take(what, source, verdict, commit, exit_zero=exit_zero, as_json=as_json)
    sources = [
        word
        for word, on in (
            *(("TASK or REV", what), ("--rev", rev), ("--dirty", dirty), ("--staged", staged)),
            *(("--pushed", pushed), ("--pr", pull), ("--pr and --base", pull and base)),
        )
        if on
    ]
    if len(sources) > 1:
        raise BadInput(f"{' and '.join(sources)} cannot be combined.", hint="Use one of them.")
    flags = _flags(agent, model)
    if pull is not None:
        return _review_pull(pull, flags, tests, findings_output, exit_zero=exit_zero, as_json=as_json)
    number = _task_number(what) if what else None
    if number is not None:
        if findings_output.is_used:
            raise BadInput("--format and -o belong to a review without a task.", hint=f"Use: burnish export {number}")
        return _review_task(number, flags, exit_zero=exit_zero, as_json=as_json)
    return _review_change(
        _pushed_target(base) if pushed else _review_target(what or rev, dirty, staged, base),
        flags,
        tests,
        findings_output,
        exit_zero=exit_zero,
        as_json=as_json,
    )


@dataclass(frozen=True, slots=True)
class FindingsOutput:
    """The findings of a review for other tools: what to print, and the file to write."""

    format: str | None = None
    file: Path | None = None
    file_format: str = ""

    @classmethod
    def of(cls, format: str | None, file: Path | None, *, as_json: bool) -> FindingsOutput:
        if format is None and file is None:
            return cls()
        if format and as_json:
            raise BadInput("--format and --json cannot be combined.", hint="Use one of them.")
        if format and format not in _FINDING_FORMATS:
            raise BadInput(f"{format!r} is not a format of findings.", hint="Choose from: github, sarif, rdjson.")
        if file and file.suffix not in (".sarif", ".rdjson"):
            raise BadInput(f"{file} has no ending of a format.", hint="Name a file that ends with .sarif or .rdjson.")
        return cls(format, file, file.suffix[1:] if file else "")

    @property
    def is_used(self) -> bool:
        return self.format is not None or self.file is not None

    def write(self, result: AdhocResult) -> None:
        from burnish.features.export.export import findings_text

        if self.file is not None:
            write_output(self.file, findings_text(result.findings, self.file_format))
        if self.format is not None:
            sys.stdout.write(findings_text(result.findings, self.format))


_FINDING_FORMATS = ("github", "sarif", "rdjson")


def _review_pull(
    number: int,
    flags: dict[str, Any],
    tests: bool | None,
    findings_output: FindingsOutput,
    *,
    exit_zero: bool,
    as_json: bool,
) -> int:
    """Review somebody's pull request. Its code runs only with --tests."""
    from burnish.features.github.fetch_pull import fetch_pull

    found = fetch_pull(start_dir(), number)
    if not SESSION.quiet:
        tell(one_line(f"Pull request {number}: {found.pull.title} ({found.pull.url})"))
        if tests is None:
            tell("Its tests are not run, because they are somebody else's code. To run them: --tests")
    return _review_change(found.target, flags, bool(tests), findings_output, exit_zero=exit_zero, as_json=as_json)


def _take(
    what: str | None, source: str | None, verdict: str | None, commit: str | None, *, exit_zero: bool, as_json: bool
) -> int:
    if source is None:
        raise BadInput("--verdict and --commit need --from FILE.", hint="Usage: burnish review TASK --from FILE")
    if what is None:
        raise BadInput("Missing argument 'TASK'.", hint="Usage: burnish review TASK --from FILE")
    from burnish.cli.handoff import take_review
    from burnish.runtime import refuse_inside_phase

    refuse_inside_phase()
    return take_review(task_id(what), source, verdict, commit, exit_zero=exit_zero, as_json=as_json)


def _flags(agents: list[str] | None, model: str | None) -> dict[str, Any]:
    flags: dict[str, Any] = {"agents": agents} if agents else {}
    if model:
        flags["model"] = model
    return {"review": flags} if flags else {}


def _review_target(rev: str | None, dirty: bool, staged: bool, base: str | None) -> ReviewTarget:
    from burnish.features.review.adhoc_review import ReviewTarget

    kind = "dirty" if dirty else "staged" if staged else "rev" if rev else "auto"
    return ReviewTarget(kind, rev or "", base)


def _pushed_target(base: str | None) -> ReviewTarget:
    """What pre-commit says is pushed, which need not be checked out. It names no range for a first commit."""
    before, after = (os.environ.get(f"PRE_COMMIT_{name}_REF", "") for name in ("FROM", "TO"))
    branch = os.environ.get("PRE_COMMIT_LOCAL_BRANCH", "")
    rev = f"{before}...{after}" if before and after and base is None else after or branch
    return _review_target(rev or None, dirty=False, staged=False, base=base)


def _review_change(
    target: ReviewTarget,
    flags: dict[str, Any],
    tests: bool | None,
    findings_output: FindingsOutput,
    *,
    exit_zero: bool,
    as_json: bool,
) -> int:
    from burnish.adapters.agents import StopTokens
    from burnish.features.review.adhoc_review import review_change
    from burnish.runtime.signals import stopping_on_signals

    stops = StopTokens()
    with _progress_printer() as words, stopping_on_signals(stops, words):
        try:
            result = review_change(
                start_dir(), target, flags=flags, tests=tests, stop=stops.of(0), say=words, on_output=_output_printer()
            )
        except BaseException:
            if stops.asked:
                raise KeyboardInterrupt from None
            raise
    if result.unused and not SESSION.quiet:
        tell(clean(result.unused))
    if findings_output.is_used:
        findings_output.write(result)
    if as_json:
        for note in result.notes:
            tell(clean(note))
        say_json(result.as_json())
    elif findings_output.format:
        _tell_end(result)
    else:
        _show(result)
    if result.could_not_start:
        return EXIT_COULD_NOT_RUN
    return 0 if result.passed or exit_zero else 1


def _tell_end(result: AdhocResult) -> None:
    """The notes, the checks and the verdict on stderr: stdout holds the findings alone."""
    for note in (*result.notes, *(check.line for check in result.checks)):
        tell(clean(note))
    words = f"Verdict: {verdict_words(result)}" if result.panel else result.nothing_to_review
    tell(one_line(words))


def _output_printer() -> Callable[[str], None] | None:
    """Prints agent output with -v."""
    if not SESSION.verbose or SESSION.quiet:
        return None
    from burnish.cli.progress import ActionLines

    return ActionLines(lambda line: tell(f"  | {clean(line)}"), threading.Lock()).add


@contextmanager
def _progress_printer() -> Iterator[Callable[[str], None]]:
    """Yields a function that prints progress on stderr, with a spinner on a terminal."""
    if SESSION.quiet:
        yield lambda text: None
    elif sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and not (is_plain() or SESSION.verbose):
        from rich.console import Console
        from rich.text import Text

        console = Console(stderr=True, highlight=False)
        with console.status(Text("Starting…")) as status:
            yield lambda text: status.update(Text(cut(one_line(text), console.width - 4)))
    else:
        yield lambda text: tell(one_line(text))


def _show(result: AdhocResult) -> None:
    if result.pair.note and not SESSION.quiet:
        tell(clean(result.pair.note))
    if result.panel is None:
        say(one_line(result.nothing_to_review))
        for note in result.notes:
            tell(clean(note))
        return
    with paged():
        page = ReportText(columns(sys.stdout), coloured(sys.stdout), is_plain())
        for line in report(result, page):
            say(line)


def _task_number(text: str) -> int | None:
    """The number of a task that exists; a revision may look like one."""
    if not _TASK.fullmatch(text):
        return None
    from burnish.runtime.reader import known_task

    number = int(text.lstrip("Tt"))
    is_task = known_task(start_dir(), number)
    if is_task and not SESSION.quiet:
        tell(f"Reviewing task {number}. To review the revision {text} instead: burnish review --rev {text}")
    return number if is_task else None


def _review_task(number: int, flags: dict[str, Any], *, exit_zero: bool, as_json: bool) -> int:
    from burnish import runtime
    from burnish.cli.progress import watcher
    from burnish.cli.run import report_code, say_report
    from burnish.features.run.run import run_tasks
    from burnish.features.tasks.edit import review_again
    from burnish.runtime.requests import RunRequest
    from burnish.views.task import review_json

    runtime.refuse_inside_phase()
    app = runtime.open_app(start_dir(), flags=flags)
    review_again(app, number)
    request = RunRequest(ids=(number,))
    progress = watcher(several=False, quiet=SESSION.quiet, verbose=SESSION.verbose)
    try:
        came = run_tasks(app, request, progress=progress)
    finally:
        progress.close()
    if as_json:
        say_json(review_json(app.store, app.key, number))
    else:
        say_report(came, request)
    return report_code(came, exit_zero=exit_zero)
