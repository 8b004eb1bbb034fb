"""Progress as plain lines: for logs, pipes and terminals that cannot do more."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from burnish.cli.output import (
    BY_STATUS,
    clean,
    coloured,
    count,
    fitted,
    is_json_log,
    is_plain,
    mark,
    one_line,
    paint,
    short_title,
    tell,
)
from burnish.core.agent import Use
from burnish.core.check import INDISTINGUISHABLE
from burnish.core.commit import left_out_words
from burnish.core.event import RecordedEvent
from burnish.core.flow import RUNNING
from burnish.core.journal import CheckRecord, CheckResult, Failure, RecordedCounts, read
from burnish.core.journal_events import ReviewCompleted, TaskStatus
from burnish.core.recorded_reviews import tests_ran
from burnish.core.status import Status
from burnish.core.task import Task
from burnish.core.transcript import INDENT, line_at_end
from burnish.views.status import MARKS, WAITING, status_words


class ActionLines:
    """Prints what agents do. An action that ends at once has one line: the one at its end.

    `write` gets the lines; `lock` protects it, since a timer calls it as well.
    """

    # an action that takes longer is shown when it begins, too
    SECONDS: float = 1.5

    def __init__(self, write: Callable[[str], None], lock: threading.Lock) -> None:
        self._write = write
        self._lock = lock
        self._begun = ""
        self._timer: threading.Timer | None = None

    def add(self, line: str) -> None:
        with self._lock:
            end = line_at_end(self._begun)
            if end and (line == end or line.startswith(f"{end} (")):
                self._begun = ""
            self.flush()
            if not line_at_end(line):
                self._write(line)
                return
            self._begun = line
            self._timer = threading.Timer(self.SECONDS, self._show)
            self._timer.daemon = True
            self._timer.start()

    def flush(self) -> None:
        """Print the action that has begun. The caller holds the lock."""
        if self._timer:
            self._timer.cancel()
            self._timer = None
        if self._begun:
            self._write(self._begun)
            self._begun = ""

    def _show(self) -> None:
        with self._lock:
            self.flush()


class PlainProgress:
    """Lines on stderr. `several` puts the task's number before each."""

    def __init__(self, *, several: bool, verbose: bool) -> None:
        self.several = several
        self.verbose = verbose
        self.lock = threading.Lock()
        self.met: set[int] = set()
        self.rested: set[int] = set()
        self.untested: set[int] = set()
        self.colour = coloured(sys.stderr)
        # by task, with -v
        self.actions: dict[int, ActionLines] = {}

    def event(self, task: Task, event: RecordedEvent) -> None:
        with self.lock:
            if task.id in self.actions:
                self.actions[task.id].flush()
            if task.id not in self.met:
                self.met.add(task.id)
                self.write(opening(task))
            if event.type == "phase.finished" and (result := read(CheckResult, event.data)).phase == "check":
                ran = tests_ran(result.checks)
                (self.untested.discard if ran else self.untested.add)(task.id)
            words = event_line(task, event)
            if words:
                self.write(f"{self._whose(task.id)}{words}")
            for line in printed(event):
                self.write(f"{self._whose(task.id)}  │ {line}")
            self._rest(task)

    def output(self, task_id: int, line: str) -> None:
        if self.verbose:
            if task_id not in self.actions:
                self.actions[task_id] = ActionLines(partial(self._write_output, task_id), self.lock)
            self.actions[task_id].add(line.rstrip())

    def _write_output(self, task_id: int, line: str) -> None:
        text = f"{self._whose(task_id)}  │ {clean(line)}"
        # code and output keep their columns
        self.write(text if line.startswith(INDENT) else fitted(text, sys.stderr, by=6))

    def spent(self, task_id: int, use: Use) -> None:
        """Shown in live lines only."""

    def note(self, text: str) -> None:
        with self.lock:
            self.write(clean(text))

    def close(self) -> None:
        with self.lock:
            for actions in self.actions.values():
                actions.flush()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Leave the screen to a question."""
        yield

    def write(self, text: str) -> None:
        tell(text)

    def _whose(self, task_id: int) -> str:
        return f"T{task_id} " if self.several else "  "

    def _rest(self, task: Task) -> None:
        """Print the result of a task once, as soon as it ends: with several tasks the run may take much longer."""
        if task.status in RUNNING or task.status is Status.BACKLOG:
            self.rested.discard(task.id)
        elif self.several and task.id not in self.rested:
            self.rested.add(task.id)
            self.write(
                paint(result(task, has_tests=task.id not in self.untested), BY_STATUS[task.status], on=self.colour)
            )


class QuietProgress(PlainProgress):
    """-q: print no progress."""

    def event(self, task: Task, event: RecordedEvent) -> None:
        """Not shown."""

    def output(self, task_id: int, line: str) -> None:
        """Not shown."""

    def note(self, text: str) -> None:
        """Not shown."""


class JsonProgress(QuietProgress):
    """`--log-format json`: events print themselves; notes are lines among them."""

    def note(self, text: str) -> None:
        PlainProgress.note(self, text)


def watcher(*, several: bool, quiet: bool, verbose: bool) -> PlainProgress:
    """The progress that suits where stderr goes."""
    # with JSON lines, the events themselves are printed
    if quiet or is_json_log():
        return QuietProgress(several=several, verbose=False)
    # -v prints every line of output: a line that redraws itself below would only flicker.
    if sys.stderr.isatty() and not verbose and not is_plain() and os.environ.get("TERM") != "dumb":
        from burnish.cli.live import LiveProgress

        return LiveProgress(several=several)
    return PlainProgress(several=several, verbose=verbose)


# -- progress text --------------------------------------------------------------------------------
# Progress lines: the text for each event of a task.

STARTS = {
    "implement": "Implementing…",
    "improve": "Improving…",
    "check": "Running checks…",
    "review": "Running review…",
    "review-fix": "Running review with fixes…",
    "gate": "Waiting for a person…",
}
ENDS = {"implement": "Implementation complete", "improve": "Improvement complete"}
_MAX_LENGTH = 160
_MAX_NOTES = 10
_HASH = re.compile(r"\b[0-9a-f]{40,64}\b")


def event_line(task: Task, event: RecordedEvent) -> str | None:
    """`[1/3] Review: CHANGES_REQUESTED - one error`, or None if the event has no line."""
    words = _words(event)
    if words is None:
        return None
    return f"{counter(task, event.cycle)} {words}"


def counter(task: Task, cycle: int) -> str:
    """`[2/3]`, and past the maximum `[cycle 4 (max 3)]`."""
    number = max(cycle, 1)
    return f"[{number}/{task.max_cycles}]" if number <= task.max_cycles else f"[cycle {number} (max {task.max_cycles})]"


def opening(task: Task) -> str:
    return f"Running task {task.id}: {short_title(task.spec.title)}"


def _words(event: RecordedEvent) -> str | None:
    data = event.data
    phase = str(data.get("phase", ""))
    match event.type:
        case "phase.started" | "phase.finished" if data.get("by_hand"):
            judging = f"Using the branch as it is: {_short(data.get('why'))}"
            return judging if event.type == "phase.started" else None
        case "phase.started":
            name, _, step = phase.partition(":")
            return f"Running review: {one_line(step)}…" if step else STARTS.get(name)
        case "phase.finished":
            notes = data.get("warnings") or ()
            if phase in ENDS and data.get("left_out"):
                return f"{ENDS[phase]}. {_short(left_out_words(data['left_out']))}"
            return f"Note: {_short(notes[0])}" if phase == "check" and notes else ENDS.get(phase)
        case "phase.failed":
            why = data.get("what") or data.get("error")
            ending = "interrupted" if read(Failure, data).is_interrupted else "failed"
            return f"{phase.capitalize()} {ending}: {_short(why)}"
        case "phase.progress":
            return _short(data.get("message"))
        case "phase.rescued":
            subject = "Uncommitted work" if phase == "restart" else f"Work of the interrupted {phase or 'phase'}"
            places = [str(data[key]) for key in ("ref", "folder", "withheld") if data.get(key)]
            return f"{subject} was saved to {' and '.join(places) or 'a rescue ref'}"
        case "check.finished":
            return _check(event)
        case "review.completed":
            return _review(event)
        case "review.failed":
            return f"Review failed: {_short(data.get('why') or data.get('error'))}"
        case "approval.voided":
            return f"Approval void: {_short(data.get('why'))}"
        case "budget.warned" | "budget.reached":
            return f"Budget: {_short(data.get('why') or event.type)}"
        case "guard.breach":
            return f"Guard: {_short(data.get('what') or data.get('why'))}"
        case "lock.taken_over":
            return "Took over from a runner that is no longer alive"
    return None


def _check(event: RecordedEvent) -> str:
    check = read(CheckRecord, event.data)
    name, status = one_line(check.name or "check"), check.status or "done"
    if status == "not_run":
        return f"Check {name}: not run: {_short(check.why)}"
    counts = check.counts or RecordedCounts()
    passed = f", {counts.passed} passed" if counts.passed is not None else ""
    failed = f", {counts.failed} failed{_since_base(check)}" if counts.failed else ""
    skips = f", {counts.skipped} skipped" if counts.skipped else ""
    fixed = f", {check.fixed_count} fixed" if check.fixed else ""
    flaky = f", {len(check.flaky)} flaky" if check.flaky else ""
    unsure = f" ({INDISTINGUISHABLE})" if check.uncountable else ""
    return f"Check {name}: {status}{passed}{failed}{skips}{fixed}{flaky}{unsure}"


def _since_base(check: CheckRecord) -> str:
    """Which of the failures are the change's own."""
    if not check.baseline:
        return ""
    return f" ({check.new_count} new)" if check.new_count else " (as before)"


def _review(event: RecordedEvent) -> str:
    review = read(ReviewCompleted, event.data)
    summary = _short(review.summary)
    name = review.verdict.upper() if review.verdict else "UNREADABLE"
    who = f"Review ({one_line(review.step)})" if review.step else "Review"
    if review.caveat:
        return f"{who}: {name} ({_short(review.caveat)})"
    if name == "APPROVED" or not summary:
        return f"{who}: {name}"
    return f"{who}: {name} - {summary}"


def _short(value: object) -> str:
    text = one_line(str(value or ""))
    return text if len(text) <= _MAX_LENGTH else text[: _MAX_LENGTH - 1] + "…"


def printed(event: RecordedEvent) -> list[str]:
    """Further lines of an event: all notes on checks but the first, or the end of what a failed command printed."""
    if event.type == "phase.finished" and (checks := read(CheckResult, event.data)).phase == "check":
        return [f"Note: {_short(note)}" for note in checks.warnings[1:_MAX_NOTES]]
    output = read(TaskStatus, event.data).output if event.type == "task.status" else ""
    return [clean(line) for line in output.splitlines()]


def result(task: Task, *, has_tests: bool = True) -> str:
    """`✓ Task 29 verified (APPROVED after 2 cycles)`; an approval without tests is marked."""
    outcome = task.final_verdict or task.reason or task.error
    after = f" after {count(task.cycle, 'cycle')}" if task.cycle else ""
    inside = f"{outcome}{after}" if outcome else after.strip()
    if not has_tests and task.status is Status.VERIFIED:
        inside = f"{inside}; no tests were run"
    words = f"{mark(MARKS[task.status])} Task {task.id} {status_words(task.status)}"
    words += f" ({inside})" if inside else ""
    note = one_line(task.note)
    return words if task.status in (Status.VERIFIED, Status.COMPLETED) or not note else f"{words}: {note}"


def advice(task: Task) -> str | None:
    """The next command for a task that stopped."""
    if task.status is Status.VERIFIED:
        return f"Inspect: burnish diff {task.id}. Merge: burnish merge {task.id}"
    if task.status is Status.FAILED:
        return f"Inspect: burnish log {task.id}. Continue: burnish retry {task.id}"
    if task.status is Status.WAITING_APPROVAL:
        return f"Inspect: burnish show {task.id}. Decide: burnish decide {task.id} approve (or reject, fix)"
    if task.status is Status.CODE_REVIEW and task.waits_for:
        return f"Next: {WAITING.get(task.waits_for, WAITING['review']).format(task.id)}"
    if task.status is Status.BLOCKED:
        return f"Inspect: burnish show {task.id}"
    return None


def brief(event: RecordedEvent) -> str:
    """The data of an event, for a list: short values only."""
    data = event.data
    if event.type.startswith("finding.") and isinstance(data.get("finding"), Mapping):
        return _short(f"{data['finding'].get('id', '')} {data['finding'].get('remark', {}).get('title', '')}")
    if event.type == "task.status":
        words = [str(data[key]) for key in ("final_verdict", "reason", "error", "note") if data.get(key)]
        return _short(" ".join([f"{data.get('from')} → {data.get('to')}", *words]))
    pairs = [
        f"{key}={_HASH.sub(lambda found: found[0][:12], str(value))}"
        for key, value in data.items()
        if isinstance(value, str | int | float | bool) and value != "" and key != "runner"
    ]
    return _short(" ".join(pairs))
