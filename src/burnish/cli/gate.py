"""The human gate on a terminal: show the review and read a decision."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from burnish.cli import questions
from burnish.cli.output import (
    BY_SEVERITY,
    coloured,
    columns,
    count,
    cut,
    fitted,
    one_line,
    paint,
    spoken,
    tell,
    width,
    wrap,
)
from burnish.core.finding import Finding, blocks, worst_first
from burnish.core.gate import GateChoice, GateDecision, GateView

KEYS = {"a": GateChoice.APPROVE, "r": GateChoice.REJECT, "f": GateChoice.FIX, "s": GateChoice.SKIP}
MENU = "  [a]pprove  [r]eject  [f]ix-and-retry"
SKIP = "  [s]kip"
TONES = {"approved": "green", "changes_requested": "yellow", "rejected": "red", "needs_discussion": "magenta"}
# Seconds between checks whether an answer is still needed.
PATIENCE = 0.25
_MAX_WIDTH = 79
_MAX_ITEMS = 20
# lines of a finding's description and of its suggestion
_DESCRIBED, _SUGGESTED = 3, 2


class NoAnswer(Exception):
    """The input ended, or the answer is no longer needed."""


class TerminalGate:
    """Asks the user at the terminal. Thread-safe: one question at a time."""

    def __init__(self, aside: Callable[[], AbstractContextManager[None]]) -> None:
        self.aside = aside
        self.asking = False

    def ask(self, view: GateView, waits: Callable[[], bool]) -> GateDecision | None:
        with self.aside():
            self.asking = True
            try:
                for line in screen(view, room=columns(sys.stderr), colour=coloured(sys.stderr)):
                    tell(line)
                return _answer(view, waits)
            except NoAnswer:
                tell("")
                return None
            finally:
                self.asking = False


def can_ask() -> bool:
    """Whether a user can be asked: stdin is a terminal and this process is in its foreground group."""
    if not questions.on_terminal():
        return False
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except OSError:
        return False


def screen(view: GateView, *, room: int, colour: bool) -> Iterator[str]:
    rule = paint("═" * min(room, _MAX_WIDTH), "cyan", on=colour)
    task = view.task
    cycles = f"cycle {view.cycle}/{task.max_cycles}"
    if view.cycle > task.max_cycles:
        cycles = f"cycle {view.cycle} (max {task.max_cycles})"
    title = cut(f"Review: T{task.id} — {one_line(task.spec.title)}", min(room, _MAX_WIDTH) - width(cycles) - 2)
    gap = " " * max(2, min(room, _MAX_WIDTH) - width(title) - width(cycles))
    yield ""
    yield rule
    yield f"{paint(title, 'bold', on=colour)}{gap}{paint(cycles, 'dim', on=colour)}"
    yield rule
    yield ""
    if view.is_plan:
        facts = f"The plan waits for your approval. To read it in another terminal: burnish show {task.id}"
    else:
        yield from _findings(view, room, colour)
        yield ""
        yield from _verdict(view, room, colour)
        yield from unseen_lines(view, room, colour)
        facts = f"Commit {view.commit[:12]}. To see the change in another terminal: burnish diff {task.id}"
    yield paint(cut(facts, room), "dim", on=colour)
    yield ""
    yield paint(f"{MENU}{SKIP if view.may_skip else ''}", "bold", on=colour)


def _findings(view: GateView, room: int, colour: bool) -> Iterator[str]:
    found = worst_first(view.findings)
    nothing = "No open issues." if view.fixed else "No issues found."
    yield f"{count(len(found), 'issue')} found:" if found else nothing
    for finding in found[:_MAX_ITEMS]:
        severity = finding.remark.severity.value
        label = paint(f"{severity.upper()}:", BY_SEVERITY.get(severity, "dim"), on=colour)
        first, *more = wrap(_words(finding), max(20, room - len(severity) - 4)) or [""]
        yield f"  {label} {first}"
        yield from (f"    {line}" for line in more)
        yield from (paint(f"    {line}", "dim", on=colour) for line in _details(finding, room - 4))
    if len(found) > _MAX_ITEMS:
        yield f"  … and {len(found) - _MAX_ITEMS} more: burnish findings {view.task.id}"
    yield from _fixed(view, room, colour)


def _fixed(view: GateView, room: int, colour: bool) -> Iterator[str]:
    """What the reviewer changed itself: an approval includes it."""
    if not view.fixed:
        return
    first, *more = _few(one_line(view.fixed), room - 2, _DESCRIBED)
    yield paint(f"The reviewer changed the code: {first}", "cyan", on=colour)
    yield from (f"  {line}" for line in more)
    for finding in worst_first(view.fixed_findings)[:_MAX_ITEMS]:
        yield f"  {paint('FIXED:', 'green', on=colour)} {cut(f'{finding.id} {_words(finding)}', room - 9)}"


def _words(finding: Finding) -> str:
    remark = finding.remark
    place = f" ({one_line(remark.file)}{f':{remark.line}' if remark.line else ''})" if remark.file else ""
    return f"{one_line(remark.title)}{place}"


def _details(finding: Finding, room: int) -> Iterator[str]:
    """The description and suggestion of a finding, shortened to a few lines."""
    remark = finding.remark
    description = one_line(remark.description)
    if description and description != one_line(remark.title):
        yield from _few(description, room, _DESCRIBED)
    if remark.suggestion:
        first, *more = _few(one_line(remark.suggestion), room - 2, _SUGGESTED)
        yield f"→ {first}"
        yield from (f"  {line}" for line in more)


def _few(text: str, room: int, most: int) -> list[str]:
    lines = wrap(text, max(20, min(room, _MAX_WIDTH - 4)))
    return lines if len(lines) <= most else [*lines[: most - 1], cut(f"{lines[most - 1]} …", max(20, room))]


def _verdict(view: GateView, room: int, colour: bool) -> Iterator[str]:
    word = _fixed_word(view) or view.verdict.upper() or "NONE (no review, or its reply could not be read)"
    summary = f" — {one_line(view.summary)}" if view.summary else ""
    first, *more = wrap(f"{word}{summary}", room - 9)[:6]
    head, tail = first[: len(word)], first[len(word) :]
    yield f"Verdict: {paint(head, TONES.get(view.verdict, 'red'), on=colour)}{tail}"
    yield from (f"         {line}" for line in more)
    yield from (f"         {line}" for line in (wrap(f"{view.but}.", room - 9) if view.but else ()))
    for warning in view.warnings[:_MAX_ITEMS]:
        first, *more = _few(f"Note: {one_line(warning)}", room, _DESCRIBED)
        yield paint(first, "yellow", on=colour)
        yield from (f"  {line}" for line in more)
    standing = [f.id for f in view.findings if blocks(f, view.block_on)]
    if view.against:
        why = f" ({', '.join(standing)} open)" if standing else ""
        yield paint(cut(f"Approving is an override{why} and needs a reason.", room), "yellow", on=colour)


def _fixed_word(view: GateView) -> str:
    """An approval of code that the reviewer changed itself."""
    if not view.fixed or view.verdict != "approved":
        return ""
    number = len(view.fixed_findings)
    return f"REVIEW_FIXED (auto-fixed {count(number, 'issue')})" if number else "REVIEW_FIXED"


def unseen_lines(view: GateView, room: int, colour: bool) -> Iterator[str]:
    """The files that an approval accepts although no reviewer saw their content."""
    files = view.unseen_files
    if not files:
        return
    yield paint(
        f"Not seen by any reviewer ({count(len(files), 'file')}); inspect them before you approve:", "yellow", on=colour
    )
    for file in files[:_MAX_ITEMS]:
        yield cut(f"  {one_line(file.path)}: {one_line(file.description)}", room)
    if len(files) > _MAX_ITEMS:
        yield f"  … and {len(files) - _MAX_ITEMS} more: burnish show {view.task.id} --json"


def _answer(view: GateView, waits: Callable[[], bool]) -> GateDecision:
    def line(prompt: str) -> str:
        return _read(prompt, waits, keys=False)

    while True:
        choice = KEYS.get(_read("> ", waits, keys=True))
        if choice is None:
            keys = "a, r, f or s" if view.may_skip else "a, r or f"
            tell(f"Press {keys}. Ctrl-C leaves the task waiting.")
        elif choice is GateChoice.SKIP and not view.may_skip:
            tell(
                fitted(
                    "The review is required, so it cannot be skipped (`review.required: false` allows it).", sys.stderr
                )
            )
        elif (choice is GateChoice.APPROVE and view.against) or (choice is GateChoice.SKIP and view.skip_against):
            return GateDecision(choice, "", view.commit, questions.ask(line))
        elif choice is GateChoice.FIX:
            note = line("Note for the fix (Enter for none): ").strip()
            if note or view.findings or view.against:
                return GateDecision(choice, note, view.commit)
            tell("No finding is open: describe in the note what to fix.")
        else:
            return GateDecision(choice, "", view.commit)


def _read(prompt: str, waits: Callable[[], bool], *, keys: bool) -> str:
    """Read a key or a line; input typed before the prompt is discarded for keys."""
    fd = sys.stdin.fileno()
    with _cbreak(fd) if keys else contextlib.nullcontext():
        if keys:
            with contextlib.suppress(termios.error):
                termios.tcflush(fd, termios.TCIFLUSH)
        sys.stderr.write(spoken(prompt))
        sys.stderr.flush()
        text = _typed(fd, waits).strip()
        if keys:
            word = text.lower()
            # a whole word counts as its first letter; anything longer, e.g. an arrow key, does not
            word = next((key for key, choice in KEYS.items() if word in (key, choice.value)), "")
            tell(KEYS[word].value if word else "")
            return word
        return text


def _typed(fd: int, waits: Callable[[], bool]) -> str:
    while waits():
        if select.select([fd], [], [], PATIENCE)[0]:
            try:
                data = os.read(fd, 4096)
            except OSError:
                data = b""  # the terminal is gone
            # Ctrl-D where keys are read one by one
            if data in (b"", b"\x04"):
                tell("")
                tell("No answer: the task keeps waiting.")
                raise NoAnswer
            return data.decode("utf-8", "replace")
    raise NoAnswer


@contextlib.contextmanager
def _cbreak(fd: int) -> Iterator[None]:
    """Read single keys; a terminal that cannot do that reads lines."""
    try:
        before = termios.tcgetattr(fd)
        tty.setcbreak(fd)
    except termios.error:
        yield
        return
    try:
        yield
    finally:
        with contextlib.suppress(termios.error):
            termios.tcsetattr(fd, termios.TCSADRAIN, before)
