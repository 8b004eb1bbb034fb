"""Why an attempt failed, for the prompts of the next one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from burnish.core.history import History
from burnish.review.fence import cut_text

# room for the note of how much was left out
_NOTE = 60


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
