"""What is asked of a run, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from burnish.core.task import Task


@dataclass(frozen=True, slots=True)
class LogFile:
    """Something an agent or a check printed."""

    run: int
    cycle: int
    phase: str
    attempt: int
    kind: str
    path: Path


@dataclass(frozen=True, slots=True)
class RunRequest:
    ids: tuple[int, ...] = ()
    everything: bool = False
    jobs: int = 1
    no_review: bool = False
    budget: float | None = None
    hitl: str | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class RunReport:
    # every task that was run, or that was named and needed nothing
    tasks: tuple[Task, ...] = ()
    # tasks that could not start, each with the reason
    waiting: tuple[tuple[Task, str], ...] = ()
    notes: tuple[str, ...] = ()
    interrupted: bool = False
    # for --dry-run: what would be run, in order
    planned: tuple[Task, ...] = ()
