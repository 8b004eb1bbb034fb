"""Watches an agent while it works: what it has used, and whether it only tries again and again."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from burnish.agents.base import AbortsEarly, Agent, AgentFailure, ReportsUsageLive
from burnish.agents.jsonlines import Json
from burnish.core.agent import Use

# No line that counts is longer; one that is holds a file.
MAX_LINE_LENGTH = 1024 * 1024
# Asked with the agent's name and what it has used so far: why it must stop, if it must.
Beyond = Callable[[str, Use], str | None]


@dataclass(slots=True)
class NewLines:
    """The lines of a growing file. Each read continues where the last one ended."""

    path: Path
    position: int = 0

    def read(self) -> list[bytes]:
        """Whole lines only: the rest of the last one is on its way."""
        data = b""
        with suppress(OSError), self.path.open("rb") as file:
            if self.position > self.path.stat().st_size:
                # it was cut by another process; what was read stays
                self.position = 0
            file.seek(self.position)
            data = file.read(16 * MAX_LINE_LENGTH)
        end = data.rfind(b"\n") + 1
        if not end and len(data) > MAX_LINE_LENGTH:
            end = len(data)
        self.position += end
        return data[:end].split(b"\n")


@dataclass(slots=True)
class Meter:
    """The usage of one call."""

    agent: Agent
    output: Path
    _calls: dict[str, Use] = field(default_factory=dict)
    _lines: NewLines = field(init=False)

    def __post_init__(self) -> None:
        self._lines = NewLines(self.output)

    @property
    def counts(self) -> bool:
        return isinstance(self.agent, ReportsUsageLive)

    def look(self) -> Use:
        for line in self._lines.read():
            if line.startswith(b"{") and (event := parse_event(line)) is not None:
                self._count(event)
        return sum(self._calls.values(), Use())

    def rest(self) -> Use:
        """All that the finished output tells."""
        before = -1
        while self.counts and before != self._lines.position:
            before = self._lines.position
            self.look()
        return sum(self._calls.values(), Use())

    def _count(self, event: Json) -> None:
        report = self.agent.call_usage(event) if isinstance(self.agent, ReportsUsageLive) else None
        if report:
            # A call without an id counts as a new one. A later line on the same call may only raise it: a child of
            # the agent can write into its output.
            name, use = report[0] or str(len(self._calls)), report[1]
            before = self._calls.get(name, Use())
            usd = max((value for value in (before.usd, use.usd) if value is not None), default=None)
            self._calls[name] = Use(usd, max(before.tokens, use.tokens))


@dataclass(slots=True)
class Spending:
    """Compares what a call has used so far with a limit."""

    name: str
    agent: Agent
    folder: Path
    beyond: Beyond | None
    # what earlier attempts of the same call have used
    before: Use = field(default_factory=Use)
    why: str | None = None
    meter: Meter = field(init=False)
    _compared: Use = field(default_factory=Use)

    def __post_init__(self) -> None:
        self.meter = Meter(self.agent, self.folder / "stdout")

    @property
    def looks(self) -> bool:
        return self.beyond is not None and self.meter.counts

    def over(self, *, is_due: bool) -> bool:
        """Whether the call must end; False if it has used nothing more, unless `is_due`: other calls may have."""
        if not self.looks or self.beyond is None:
            return False
        use = self.meter.look()
        if use == Use() or (use == self._compared and not is_due):
            return False
        self._compared = use
        self.why = self.beyond(self.name, self.before + use)
        return bool(self.why)


def parse_event(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


_END_BYTES = 64 * 1024


@dataclass(slots=True)
class Watchdog:
    """With a program that tries again and again by itself: we do that better, and say so."""

    agent: Agent
    folder: Path
    spending: Spending
    why: AgentFailure | None = None

    @property
    def looks(self) -> bool:
        return self.spending.looks or isinstance(self.agent, AbortsEarly)

    def over(self, is_due: bool) -> bool:
        if self.spending.over(is_due=is_due):
            return True
        if not is_due or not isinstance(self.agent, AbortsEarly):
            return False
        self.why = self.agent.abort_reason(_end(self.folder / "stdout"), _end(self.folder / "stderr"))
        return self.why is not None


def _end(path: Path) -> str:
    """What was printed last, from a whole line on."""
    with suppress(OSError), path.open("rb") as file:
        begun = max(0, path.stat().st_size - _END_BYTES)
        file.seek(begun)
        text = file.read(_END_BYTES).decode("utf-8", "replace")
        return text.partition("\n")[2] if begun else text
    return ""
