"""What a reviewer prints while it works, as `review.progress` events: few, short, and none of a quick review."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from burnish.core.agent import AgentRequest
from burnish.core.journal_events import ReviewProgress, new_event
from burnish.core.task import Task
from burnish.engine.ports import Deps
from burnish.review.fence import one_line

# seconds between two events, and at most so many of one call: the log has every line
PACE = 2.0
MOST = 100
LONGEST = 300


@dataclass(slots=True)
class ReviewStream:
    deps: Deps
    task: Task
    request: AgentRequest
    sent: int = 0
    last: float = field(default_factory=time.monotonic)

    def line(self, text: str) -> None:
        """Called with each line of output; the newest one stands for those before it."""
        now, words = time.monotonic(), one_line(text, longest=LONGEST)
        # the verdict is reported as a whole, when the review is complete
        is_verdict = "burnish-verdict" in words or words.startswith(("{", "```"))
        if self.request.role != "review" or not words or is_verdict or self.sent >= MOST or now - self.last < PACE:
            return
        self.sent, self.last = self.sent + 1, now
        data = ReviewProgress(self.request.agent, words)
        self.deps.record(self.task, new_event("review.progress", data, run=self.task.run, cycle=self.request.cycle))
