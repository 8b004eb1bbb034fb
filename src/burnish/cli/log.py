"""burnish log, burnish events"""

from __future__ import annotations

import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from burnish.cli.output import clean, columns, cut, fitted, json_text, one_line, say, say_json, tell
from burnish.cli.parameters import Argument, Option
from burnish.cli.session import SESSION, AsJson, TaskId, offer_tasks, open_app, open_reader
from burnish.core.flow import RUNNING
from burnish.core.task import task_id
from burnish.errors import BadInput

if TYPE_CHECKING:
    from burnish.agents.steps import AnswerLines
    from burnish.core.event import RecordedEvent
    from burnish.core.secrets import LineFilter, Secrets
    from burnish.runtime import App
    from burnish.runtime.requests import LogFile

Follow = Annotated[bool, Option("-f", "--follow", help="Print new lines as they are written.")]
PHASES = ("setup", "baseline", "implement", "improve", "check", "review")
# each call of an agent leaves a folder
AGENT_PHASES = {"implement", "improve", "review"}
_PAUSE = 0.3
# after the end of a program, its answer is read and joins the transcript
_ANSWER_SECONDS = 3.0
# An agent may print a gigabyte without a newline: never hold more than this of a line.
_MAX_LENGTH = 64 * 1024


def log(
    task: TaskId,
    follow: Follow = False,
    phase: Annotated[
        str | None,
        Option("--phase", metavar="PHASE", help="Show one of setup, baseline, implement, improve, check, review."),
    ] = None,
    raw: Annotated[bool, Option("--raw", help="Show the output as the programs printed it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what agents said and did, and the output of checks.

    -v also shows the prompts, and what programs print to stderr although they end well. Use `burnish events` for
    the list of recorded events.
    """
    from burnish.features.tasks.logs import task_logs

    number = task_id(task)
    app = open_app(reading=True)
    _check_phase(phase, {file.phase for file in task_logs(app, number)})
    if as_json:
        say_json({"logs": [file.as_json() for file in _files(app, number, phase)]})
        return
    from burnish.cli.pager import paged
    from burnish.core.secrets import LineFilter as Filter
    from burnish.core.secrets import Secrets

    read: dict[Path, int] = {}
    answers: dict[Path, AnswerLines] = {}
    # what a running phase prints is redacted on the disk only when it is over
    filters: dict[Path, LineFilter] = defaultdict(partial(Filter, Secrets.of(os.environ)))
    with paged(enabled=not follow and bool(_files(app, number, phase))):
        while True:
            running = app.store.task(app.key, number).status in RUNNING
            for file in _shown(_files(app, number, phase), raw=raw, running=running):
                _print_more(file, read, filters, None if raw else answers)
            if not (follow and running):
                break
            time.sleep(_PAUSE)
    if not read:
        tell(_why_nothing(app, number, phase))


def _why_nothing(app: App, number: int, phase: str | None) -> str:
    from burnish.features.tasks.logs import task_logs

    task, others = app.store.task(app.key, number), sorted({file.phase for file in task_logs(app, number)})
    if machines := _other_machines(app, number, phase):
        return f"The output of task {number} is on {', '.join(machines)}: run `burnish log {number}` there."
    if phase and others and task.error:
        look = ", ".join(f"burnish log {number} --phase {one}" for one in others)
        return f"No output of {phase}: the task {task.status} ({task.error}) before it. See: {look}"
    phases = _started_phases(app, number)
    shown_phases = {phase, "baseline"} if phase == "check" else {phase} if phase else phases
    if task.status in RUNNING and task.runner:
        return f"No output yet: the task is running. Follow it: burnish log -f {number}"
    if task.status in RUNNING or not phases & shown_phases:
        return f"No output yet. Run the task: burnish run {number}"
    if phases & AGENT_PHASES and not (app.task_folder(task) / "calls").is_dir():
        return f"The output of task {number} was removed, as that of tasks that ended long ago (settings: clean)."
    return f"{phase.capitalize() if phase else 'The task'} ran and printed nothing."


def _other_machines(app: App, number: int, phase: str | None) -> list[str]:
    """The machines whose burnish homes have the output of these phases, if it is not in this one."""
    from burnish.core.journal import read
    from burnish.core.journal_events import PhaseStarted

    if not app.store.is_shared:
        return []
    starts = [
        read(PhaseStarted, event.data) for event in app.store.events(app.key, task=number, types=["phase.started"])
    ]
    machines = {start.machine for start in starts if phase in (None, start.phase)}
    return sorted(machines - {"", app.store.machine()})


def _started_phases(app: App, number: int) -> set[str]:
    """The phases that were started, as recorded: their output is empty, not missing."""
    from burnish.core.journal import read
    from burnish.core.journal_events import PhaseStarted

    starts = app.store.events(app.key, task=number, types=["phase.started"])
    phases = {read(PhaseStarted, event.data).phase for event in starts}
    if app.store.events(app.key, task=number, types=["baseline.captured"]):
        phases.add("baseline")
    return phases


def _check_phase(phase: str | None, logged_phases: set[str]) -> None:
    phases = [*PHASES, *sorted(logged_phases.difference(PHASES))]
    if phase is not None and phase not in phases:
        raise BadInput(f"Unknown phase {phase!r}.", hint=f"Choose from: {', '.join(phases)}.")


def _files(app: App, number: int, phase: str | None) -> list[LogFile]:
    # Prompts are input, not output: shown with -v only.
    from burnish.features.tasks.logs import task_logs

    phases = (phase, "baseline") if phase == "check" else (phase,)
    return [
        file
        for file in task_logs(app, number)
        if (phase is None or file.phase in phases) and (SESSION.verbose or not file.kind.endswith("prompt"))
    ]


def _shown(files: list[LogFile], *, raw: bool, running: bool = False) -> list[LogFile]:
    """Either the transcript of an attempt or the stdout of its program."""
    if raw:
        return [file for file in files if not file.is_transcript]
    read_outputs = {_output_of(file) for file in files if file.is_transcript}
    if running:
        # what a call that still runs prints to stderr would come between the rows of its transcript
        read_outputs |= {_attempt(file) / "stderr" for file in files if file.is_transcript and _is_running(file)}
    if not SESSION.verbose:
        # of a call that ended well it is noise
        read_outputs |= {_attempt(file) / "stderr" for file in files if file.is_transcript and _has_ended_well(file)}
    visible_files = [file for file in files if file.path not in read_outputs]
    # What a program prints to stderr beside its events comes after the transcript.
    positions = {_attempt(file): number for number, file in enumerate(visible_files) if file.is_transcript}
    numbers = {file.path: max(n, positions.get(file.path.parent, n)) for n, file in enumerate(visible_files)}
    return sorted(visible_files, key=lambda file: (numbers[file.path], not file.is_transcript))


def _is_running(transcript: LogFile) -> bool:
    """Whether rows may follow: the program runs, or has ended just now and its answer is not written yet."""
    from burnish.proc.shim_files import outcome_file, read_outcome

    attempt = _attempt(transcript)
    return read_outcome(attempt) is None or time.time() - outcome_file(attempt).stat().st_mtime < _ANSWER_SECONDS


def _has_ended_well(transcript: LogFile) -> bool:
    """Whether the program exited with 0 after it said or did something."""
    from burnish.proc.shim_files import read_outcome

    outcome = read_outcome(_attempt(transcript)) or {}
    return outcome.get("exit_code") == 0 and transcript.path.stat().st_size > 0


def _output_of(transcript: LogFile) -> Path:
    return _attempt(transcript) / "stdout"


def _attempt(transcript: LogFile) -> Path:
    """The folder of the attempt."""
    return transcript.path.with_name(transcript.path.name.removesuffix("-transcript.jsonl"))


def _print_rows(path: Path, read: dict[Path, int]) -> None:
    from burnish.agents.transcript import read_rows

    rows, read[path] = read_rows(path, read[path])
    for row in rows:
        for line in row.lines():
            # at whole words; code and output keep their columns
            is_prose = not line.startswith("    ")
            indent = 2 if line.startswith("•") else 0
            say(fitted(clean(line), sys.stdout, by=indent) if is_prose else clean(line))


def _print_more(
    file: LogFile,
    read: dict[Path, int],
    filters: dict[Path, LineFilter],
    answers: dict[Path, AnswerLines] | None = None,
) -> None:
    """Print what was appended to the file since the last call; with `answers`, verdicts of reviewers in words."""
    from burnish.features.tasks.logs import is_sarif

    # a transcript is empty until the agent has said or done something
    if not file.path.exists() or (file.is_transcript and not file.path.stat().st_size):
        return
    if file.path not in read:
        read[file.path] = 0
        whose = f"cycle {file.cycle} " if file.cycle else ""
        kind = file.kind.removesuffix("transcript").strip()
        say(f"── {whose}{file.phase}, attempt {file.attempt}{f', {kind}' if kind else ''} ──")
        if is_sarif(file.path):
            say(f"SARIF report, {file.path.stat().st_size:,} bytes: {file.path}")
            read[file.path] = file.path.stat().st_size
    if file.is_transcript:
        _print_rows(file.path, read)
        return
    new_lines = _lines_from(file.path, read, filters[file.path].secrets)
    lines: Iterator[str] = (line for one in new_lines if (line := filters[file.path](one)) is not None)
    if answers is not None and file.is_review:
        lines = _with_verdicts(file.path, lines, filters[file.path].secrets, answers)
    for line in lines:
        say(clean(line))


def _with_verdicts(
    path: Path, lines: Iterable[str], secrets: Secrets, answers: dict[Path, AnswerLines]
) -> Iterator[str]:
    from burnish.agents.steps import AnswerLines
    from burnish.features.tasks.logs import ENDED, resting_seconds

    answer = answers.setdefault(path, AnswerLines(secrets.redact))
    for line in lines:
        yield from answer.take(line)
    if resting_seconds(path) > ENDED:
        yield from answer.end()


def _lines_from(path: Path, read: dict[Path, int], secrets: Secrets) -> Iterator[str]:
    """What was appended. The last line waits for its end while the program runs, so that no secret is cut."""
    from burnish.core.secrets import NEAR_CUT, bytes_of_cut_secret
    from burnish.features.tasks.logs import ENDED, resting_seconds

    with path.open("rb") as file:
        file.seek(read[path])
        while line := file.readline(_MAX_LENGTH):
            after = file.peek(NEAR_CUT) if len(line) == _MAX_LENGTH else b""
            if not line.endswith(b"\n") and not after and resting_seconds(path) < ENDED:
                return
            if not line.endswith(b"\n"):
                end = len(line) - bytes_of_cut_secret(secrets, line, after)
                file.seek(read[path] + end if end else read[path] + len(line))
                line = line[:end] or line
            read[path] += len(line)
            yield line.decode(errors="replace").rstrip("\r\n")


def events(
    task: Annotated[
        str | None,
        Argument(metavar="TASK", help="Show only events of TASK.", show_default=False, autocompletion=offer_tasks),
    ] = None,
    follow: Follow = False,
    after: Annotated[int, Option("--since", metavar="ID", help="Show only events after event ID.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Show recorded events, oldest first.

    -f with --json prints one JSON object per line. Use `burnish log` for the output of agents and checks.
    """
    from burnish.views.task import event_json, recorded_events

    number = task_id(task) if task else None
    reader = open_reader()
    if reader.project is None and number is None:
        say_json({"events": []}) if as_json else tell("No events yet.")
        return
    found = recorded_events(reader.store, reader.key, number, since=after)
    if as_json and not follow:
        say_json({"events": [event_json(event) for event in found]})
        return
    if not follow:
        from burnish.cli.pager import paged

        with paged():
            for event in found:
                _say_event(event, as_json)
        return
    while True:
        for event in found:
            _say_event(event, as_json)
            after = event.id
        time.sleep(_PAUSE)
        found = reader.store.events(reader.key, task=number, since=after)


def _say_event(event: RecordedEvent, as_json: bool) -> None:
    from burnish.cli.progress import brief
    from burnish.views.task import event_json

    if as_json:
        say(json_text(event_json(event)))
    else:
        whose = f"T{event.task}" if event.task else "-"
        line = f"{event.id:>6}  {event.ts[:19]}  {whose:<5} {event.type:<18} {one_line(brief(event))}".rstrip()
        # one event, one line: `--json` has all of it
        say(cut(line, columns(sys.stdout)) if sys.stdout.isatty() else line)
    sys.stdout.flush()
