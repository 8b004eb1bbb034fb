"""What an agent has used while it still works, read from its own output as it grows."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from burnish.agents.base import AgentSettings
from burnish.agents.jsonlines import Json, dig, words
from burnish.agents.prices import cost
from burnish.agents.usage import TokenCount, dollars, token_count
from burnish.core.agent import Use

# No line that counts is longer; one that is holds a file.
LONGEST_LINE = 1024 * 1024
# What an event tells: the number of the call to the model that it belongs to, and what that call has used up to now.
# The same call may be told of several times, each time with more.
Count = tuple[str, Use]
# Asked with the agent's name and what it has used so far: why it must stop, if it must.
Beyond = Callable[[str, Use], str | None]


def _qwen_messages(event: Json) -> Count | None:
    """Qwen Code prints the same, but counts what came from the cache as input too."""
    usage = dig(event, "message", "usage")
    if event.get("type") != "assistant" or not isinstance(usage, dict):
        return None
    used = TokenCount.of(*(usage.get(f"{name}_tokens") for name in ("input", "cache_read_input", "output")))
    price = used.price(words(dig(event, "message", "model")))
    return words(dig(event, "message", "id")), Use(price, used.total)


def _messages(event: Json) -> Count | None:
    """Claude Code."""
    usage = dig(event, "message", "usage")
    if event.get("type") != "assistant" or not isinstance(usage, dict):
        return None
    given, written, cached, out = (
        token_count(usage.get(name))
        for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    )
    price = cost(words(dig(event, "message", "model")), new=given + written, cached=cached, out=out)
    return words(dig(event, "message", "id")), Use(price, given + written + cached + out)


def _steps(event: Json) -> Count | None:
    """opencode ends each step with its price."""
    part = event.get("part")
    if event.get("type") != "step_finish" or not isinstance(part, dict):
        return None
    used = part.get("tokens")
    tokens = sum(token_count(dig(used, name)) for name in ("input", "output", "reasoning"))
    tokens += sum(token_count(dig(used, "cache", name)) for name in ("read", "write"))
    # free of charge is what it says of models whose price it does not know
    return words(part.get("id")), Use(dollars(part.get("cost")) or None, tokens)


def _sums(event: Json) -> Count | None:
    """Ours that talks for a program: always the whole."""
    told = event.get("so_far")
    if not isinstance(told, dict):
        return None
    return "all", Use(dollars(told.get("cost")), token_count(told.get("tokens")))


METERS: dict[str, Callable[[Json], Count | None]] = {
    "claude": _messages,
    "qwen": _qwen_messages,
    "opencode": _steps,
    "acp": _sums,
}


@dataclass(slots=True)
class Meter:
    """Of one call. Each look reads on from where the last one ended."""

    kind: str
    output: Path
    _at: int = 0
    _calls: dict[str, Use] = field(default_factory=dict)

    @property
    def counts(self) -> bool:
        return self.kind in METERS

    def look(self) -> Use:
        for line in self._new_lines():
            if line.startswith(b"{") and (event := _loads(line)) is not None:
                self._count(event)
        return sum(self._calls.values(), Use())

    def rest(self) -> Use:
        """All that the finished output tells."""
        before = -1
        while self.counts and before != self._at:
            before = self._at
            self.look()
        return sum(self._calls.values(), Use())

    def _count(self, event: Json) -> None:
        found = METERS[self.kind](event)
        if found:
            # A call without a number is one of its own. A later line on the same call may only raise it: a child of
            # the agent can write into its output.
            name, use = found[0] or str(len(self._calls)), found[1]
            before = self._calls.get(name, Use())
            usd = max((value for value in (before.usd, use.usd) if value is not None), default=None)
            self._calls[name] = Use(usd, max(before.tokens, use.tokens))

    def _new_lines(self) -> list[bytes]:
        """Whole lines only: the rest of the last one is on its way."""
        data = b""
        with suppress(OSError), self.output.open("rb") as file:
            if self._at > self.output.stat().st_size:
                # it was cut by another process; what was counted stays
                self._at = 0
            file.seek(self._at)
            data = file.read(16 * LONGEST_LINE)
        end = data.rfind(b"\n") + 1
        if not end and len(data) > LONGEST_LINE:
            end = len(data)
        self._at += end
        return data[:end].split(b"\n")


@dataclass(slots=True)
class Spending:
    """Of a program that tells what it uses while it works, and of somebody who wants to know."""

    entry: AgentSettings
    folder: Path
    beyond: Beyond | None
    # what earlier attempts of the same call have used
    before: Use = field(default_factory=Use)
    why: str | None = None
    meter: Meter = field(init=False)

    def __post_init__(self) -> None:
        self.meter = Meter(self.entry.kind, self.folder / "stdout")

    @property
    def looks(self) -> bool:
        return self.beyond is not None and self.meter.counts

    def over(self) -> bool:
        if self.looks and self.beyond:
            used = self.meter.look()
            self.why = self.beyond(self.entry.name, self.before + used) if used != Use() else None
        return bool(self.why)


def _loads(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
