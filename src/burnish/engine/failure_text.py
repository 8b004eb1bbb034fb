"""Why an attempt failed, for people and for the prompts of the next one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from burnish.core.history import History
from burnish.review.fence import cut_text

# room for the note of how much was left out
_NOTE = 60


# Commands that need a task. What raises an error often does not know which task it works for.
_COMMAND = re.compile(r"`burnish (log|retry|review|improve|show|diff|findings)`")


def with_task(hint: str, task: int) -> str:
    """The hint with `burnish log 5` for `burnish log`, so that it can be typed."""
    return _COMMAND.sub(rf"`burnish \1 {task}`", hint)


def error_text(result: Mapping[str, Any], error_kb: int) -> str:
    """Why an attempt failed, and the end of what its program printed: `error_kb` in all."""
    what, output = str(result.get("what") or ""), str(result.get("output") or "").strip()
    if not output or output in what:
        return what
    head = f"{what[:200]}\n\nThe end of what it printed:\n"
    return head + cut_text(output, error_kb * 1024 - len(head.encode()) - _NOTE, keep="tail")


def previous_error(history: History, cycle: int, error_kb: int) -> str:
    failed = [p.result for p in history.phases if p.state == "failed" and p.cycle == cycle]
    return error_text(failed[-1], error_kb) if failed else ""
