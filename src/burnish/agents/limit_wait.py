"""Waits until the plan of an agent's login may be used again."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

from burnish.agents.base import AgentFailure, AgentSettings
from burnish.agents.registry import AGENTS
from burnish.agents.usage_limits import MAX_WAIT, reset_time
from burnish.core.agent import WINDOW_SETTING, PlanWindow, Setback, UsageLimit
from burnish.core.quiet_hours import after_quiet_hours
from burnish.proc import clock
from burnish.proc.run import Stopped, StopToken

# a limit without a known end: the program is asked again after this time
PROBE_EVERY = timedelta(minutes=20)
# The clocks of the machine and of the server may differ.
_MARGIN = timedelta(seconds=5)
# the reset should have happened already
_LATE_PAUSE = timedelta(minutes=1)
# A limit that ended longer ago than this is another one than the one that is reported now.
_SAME_LIMIT = timedelta(hours=1)
_MAX_STORED = 300
_PAUSE = 5.0


class UsageLimits(Protocol):
    """The limits on record, shared by all runners."""

    def usage_limits(self) -> list[UsageLimit]: ...
    def begin_usage_limit(self, limit: UsageLimit) -> None: ...
    def end_usage_limit(self, login: str) -> bool: ...
    def plan_windows(self, login: str) -> list[PlanWindow]: ...
    def set_plan_windows(self, login: str, windows: Sequence[PlanWindow], now: str) -> None: ...


def login_of(entry: AgentSettings, env: Mapping[str, str] = os.environ) -> str:
    """The name of the login: `claude`, or `claude (~/.claude-work)` where the user's variables choose another one.

    Agents of one program share its login. Of other commands burnish knows only their name.
    """
    if entry.kind in ("command", "acp", "scripted", "llm") or entry.kind not in AGENTS:
        return entry.name
    agent = AGENTS[entry.kind]
    names = (*agent.login.key_variables, *(name for name in agent.keys if name.endswith(("_BASE_URL", "_API_BASE"))))
    values = [(name, env[name]) for name in names if env.get(name)]
    if values:
        # by a part of a hash: a login is shown, and a key is not
        digest = hashlib.sha256(repr(sorted(values)).encode(errors="surrogateescape")).hexdigest()[:6]
        return f"{entry.kind} ({values[0][0]} {digest})"
    home = Path(env.get("HOME") or Path.home())
    for variable, folder in agent.login.folder_variables:
        value = env.get(variable, "")
        if folder and value.startswith("/") and Path(value) != home / folder:
            is_below = Path(value).is_relative_to(home)
            return f"{entry.kind} ({f'~/{Path(value).relative_to(home)}' if is_below else value})"
    return entry.kind


@dataclass(frozen=True, slots=True)
class LimitWait:
    limits: UsageLimits
    # the time with the zone of the user
    clock: Callable[[], datetime] = clock.now
    # the user's `limits.quiet_hours`: no limit ends in them
    quiet_hours: str | None = None
    # the user's `limits.window_percent`: a login waits for the reset of a window of which so much is used
    window_percent: float | None = None
    # entered while a call waits: another task may run meanwhile; is told whether the call was stopped
    idle: Callable[[Callable[[], bool]], AbstractContextManager[None]] = field(default=lambda is_stopped: nullcontext())

    def current(self, entry: AgentSettings) -> UsageLimit | None:
        """The limit of the agent's login, if it has not ended."""
        login, now = login_of(entry), self.clock()
        found = next((one for one in self.limits.usage_limits() if one.login == login and one.end > now), None)
        return found or self._window_limit(login, now)

    def _window_limit(self, login: str, now: datetime) -> UsageLimit | None:
        """Record a limit if the login has used so much of a window that the rest is left to the user."""
        if self.window_percent is None:
            return None
        windows = [one for one in self.limits.plan_windows(login) if one.end > now]
        used_up = [one for one in windows if one.share * 100 >= self.window_percent]
        if not used_up:
            return None
        end = max(one.end for one in used_up).astimezone(now.tzinfo)
        resume = after_quiet_hours(min(end, now + MAX_WAIT) + _MARGIN, self.quiet_hours)
        worst = max(used_up, key=lambda one: one.share)
        message = f"{worst.words} are used ({WINDOW_SETTING}: {self.window_percent:g})"
        until, since = (moment.astimezone(UTC).isoformat(timespec="seconds") for moment in (resume, now))
        limit = UsageLimit(login, until, True, message, since)
        self.limits.begin_usage_limit(limit)
        return limit

    def begin(self, entry: AgentSettings, failure: AgentFailure) -> UsageLimit | None:
        """Record what the program reported; None if it has been so for longer than any plan's window."""
        login, now = login_of(entry), self.clock()
        before = next((one for one in self.limits.usage_limits() if one.login == login), None)
        is_same = before is not None and now - before.end < _SAME_LIMIT
        since = min(now, datetime.fromisoformat(before.since)) if before and is_same else now
        if now - since > MAX_WAIT:
            return None
        end = reset_time(failure.limit, now)
        if end is not None:
            end += _LATE_PAUSE if end <= now else _MARGIN
        next_call = (end or now + PROBE_EVERY).astimezone(now.tzinfo)
        resume = after_quiet_hours(next_call, self.quiet_hours)
        until = resume.astimezone(UTC).isoformat(timespec="seconds")
        message = failure.limit[:_MAX_STORED]
        # after quiet hours, it is not the reset that ends the wait
        is_reset = end is not None and resume == next_call
        limit = UsageLimit(login, until, is_reset, message, since.astimezone(UTC).isoformat())
        self.limits.begin_usage_limit(limit)
        return limit

    def end(self, entry: AgentSettings, windows: Sequence[PlanWindow] = ()) -> None:
        """The program has answered, and reported how much of its plan is used."""
        login, now = login_of(entry), self.clock()
        if windows:
            last = (now + MAX_WAIT).astimezone(UTC).isoformat(timespec="seconds")
            current_windows = [replace(one, until=min(one.until, last)) for one in windows if one.end > now]
            self.limits.set_plan_windows(login, current_windows, now.astimezone(UTC).isoformat(timespec="seconds"))
        # One that has not ended was reported while this call was under way: no call begins during a limit.
        if any(one.login == login and one.end <= now for one in self.limits.usage_limits()):
            self.limits.end_usage_limit(login)
        self._window_limit(login, now)

    def is_uncounted(self, entry: AgentSettings, windows: Sequence[PlanWindow]) -> bool:
        """Whether `limits.window_percent` is set and the login has reported no window that it could count."""
        return self.window_percent is not None and not windows and not self.limits.plan_windows(login_of(entry))

    def wait(self, entry: AgentSettings, stop: StopToken, on_setback: Callable[[Setback], None]) -> None:
        """Return when the login may be used. A person can end the limit (`burnish limits --clear`)."""
        last_until = ""
        with self.idle(lambda: stop.requested):
            while limit := self.current(entry):
                if limit.until != last_until:
                    last_until = limit.until
                    words = f"{limit.words(self.clock())}. Waiting."
                    on_setback(Setback(entry.name, words, "reached its limit", until=limit.until))
                rest = (limit.end - self.clock()).total_seconds()
                if clock.pause(stop, max(0.1, min(_PAUSE, rest))):
                    raise Stopped(f"The task was waiting: {limit.words(self.clock())}.")
        if stop.requested:
            raise Stopped("The task was waiting for a free place.")
