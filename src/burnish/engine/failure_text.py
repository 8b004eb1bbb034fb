"""Why an attempt failed, for people and for the prompts of the next one."""

from __future__ import annotations

import re

from burnish.core.history import History
from burnish.core.journal import Failure
from burnish.review.quoting import cut_text

# room for the note of how much was left out
_NOTE = 60


# Commands that need a task. What raises an error often does not know which task it works for.
_COMMAND = re.compile(r"`burnish (log|retry|review|improve|show|diff|findings)`")


def with_task(hint: str, task: int) -> str:
    """The hint with `burnish log 5` for `burnish log`, so that it can be typed."""
    return _COMMAND.sub(rf"`burnish \1 {task}`", hint)


def error_text(failure: Failure, error_kb: int) -> str:
    """Why an attempt failed, and the end of what its program printed: `error_kb` in all."""
    what, output = failure.what, failure.output.strip()
    if not output or output in what:
        return what
    head = f"{what[:200]}\n\nThe end of what it printed:\n"
    return head + cut_text(output, error_kb * 1024 - len(head.encode()) - _NOTE, keep="tail")


def previous_error(history: History, cycle: int, error_kb: int) -> str:
    failures = [p.result for p in history.failures() if p.cycle == cycle]
    return error_text(failures[-1], error_kb) if failures else ""
