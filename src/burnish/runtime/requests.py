"""The request and the report of a run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from burnish.core.task import Task
from burnish.errors import BadInput
from burnish.proc import clock


@dataclass(frozen=True, slots=True)
class LogFile:
    """The output of an agent or a check."""

    run: int
    cycle: int
    phase: str
    attempt: int
    kind: str
    path: Path

    @property
    def name(self) -> str:
        """Its name in requests: the path from the call or output folder on."""
        parts = self.path.parts
        start = max(n for n, part in enumerate(parts) if part in ("calls", "outputs"))
        return ":".join(parts[start:])

    @property
    def is_review(self) -> bool:
        """Whether it is the text that a reviewer printed, which has its verdict."""
        return self.phase == "review" and self.path.name == "stdout"

    @property
    def is_transcript(self) -> bool:
        return self.kind.endswith("transcript")

    def as_json(self) -> dict[str, Any]:
        size = self.path.stat().st_size if self.path.exists() else 0
        facts = {"phase": self.phase, "attempt": self.attempt, "kind": self.kind}
        return {"name": self.name, "run": self.run, "cycle": self.cycle, **facts, "path": str(self.path), "bytes": size}


@dataclass(frozen=True, slots=True)
class RunRequest:
    ids: tuple[int, ...] = ()
    everything: bool = False
    jobs: int = 1
    no_review: bool = False
    budget: float | None = None
    hitl: str | None = None
    dry_run: bool = False
    # run what is added, unblocked or answered meanwhile, until a person stops the run
    watch: bool = False
    # with `watch`: seconds between two synchronizations of pull requests
    pulls: int | None = None
    # stop then, in seconds since the epoch
    until: float | None = None
    # USD and tokens of the project when a run began that a server continues: its budget counts from there
    spent_before: tuple[float, int] | None = None
    # the same for agents that have a budget, in USD
    agents_before: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class RunReport:
    # every task that was run, or that was named and needed nothing
    tasks: tuple[Task, ...] = ()
    # tasks that could not start, each with the reason
    waiting: tuple[tuple[Task, str], ...] = ()
    notes: tuple[str, ...] = ()
    # it ended before all was done: `signal`, `stop` (burnish stop), `until` or `budget`; "" otherwise
    ended_by: str = ""
    # the verified tasks for which no test was run
    untested: frozenset[int] = frozenset()
    # what the tasks cost in this run, as far as it is known; the costs of `tasks` have those of earlier runs
    cost_usd: float = 0.0
    # for --dry-run: what would be run, in order
    planned: tuple[Task, ...] = ()


def next_time(text: str) -> datetime:
    """The next moment at which the clock shows `HH:MM`."""
    match = re.fullmatch(r"(\d{1,2}):(\d{2})", text.strip())
    hour, minute = (int(match[1]), int(match[2])) if match else (99, 99)
    if hour > 23 or minute > 59:
        raise BadInput(f"{text!r} is not a time of day.", hint="Use HH:MM, for example 07:00.")
    now = clock.now()
    then = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
    then = then if then > now else then + timedelta(days=1)
    # with the difference to UTC of that day
    return then.replace(tzinfo=None).astimezone()
