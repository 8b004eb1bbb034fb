"""What is asked of an agent, and what comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from burnish.core.cost import CostSource, joint_source


@dataclass(frozen=True, slots=True)
class AgentRequest:
    """One call of an agent for one phase."""

    agent: str  # name under `agents:` in the settings
    role: str  # implement, improve, review, parse
    prompt: str
    # where it stands: the workspace, or the throw-away snapshot
    cwd: Path
    # where prompt, output and outcome of this one call are kept; made by the caller, 0700
    call_dir: Path
    task: int
    cycle: int
    phase: str
    model: str | None = None
    # how hard the model should think; None: as the settings have it for the agent and its role
    effort: str | None = None
    timeout_seconds: float = 3600.0
    # the setting that the time comes from, for people
    timeout_setting: str = "timeout_minutes"
    read_only: bool = False
    # isolation and the like; joins the listed environment
    env: Mapping[str, str] = field(default_factory=dict)
    # the secret number of this review, for agents that answer by schema
    number: str = ""
    # the JSON schema that the answer should follow, for agents that can be held to one
    schema: str = ""
    # an earlier call's session, to go on in where the settings want that
    session: str | None = None
    # tokens that the program had counted in that session so far: some count a session as a whole
    session_usage: Mapping[str, int] | None = None
    # where this task's authors keep their sessions when they run in a sandbox; None: they are not kept
    session_dir: Path | None = None
    # images of the task, which the prompt names by their paths; the program may read them
    images: tuple[Path, ...] = ()

    @property
    def quotes_change(self) -> bool:
        """The prompt holds text of a change that is to be judged, also where the reviewer may repair it."""
        return self.read_only or self.role in ("review", "parse")


@dataclass(frozen=True, slots=True)
class Use:
    """What agents report to have used so far. `usd` is None if the cost is unknown."""

    usd: float | None = None
    tokens: int = 0
    # where `usd` comes from, of calls that are over; None: nothing was used, or the call still runs
    source: CostSource | None = None

    def __add__(self, other: Use) -> Use:
        prices = [usd for usd in (self.usd, other.usd) if usd is not None]
        source = joint_source((self.source, other.source))
        return Use(sum(prices) if prices else None, self.tokens + other.tokens, source)


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """A call without an answer, and what it used. Its cost is a lower bound or unknown."""

    agent: str
    use: Use


# `Setback.kind` if the program no longer has the session that it was to resume
LOST_SESSION = "lost its session"


@dataclass(frozen=True, slots=True)
class Setback:
    """An agent could not answer, and what is done about it: asked again after a while, or another one instead."""

    agent: str
    # in its own words
    what: str
    # what that comes to, e.g. "was rate limited"
    kind: str
    again_in: float = 0.0
    # the try that comes, of so many
    attempt: int = 0
    of: int = 0
    # who takes over; "" = the same one is asked again
    fallback: str = ""
    # nothing has failed yet: the agent is started, and `what` may go wrong
    warning: bool = False
    # its plan is used up until then, and the call waits
    until: str = ""

    @property
    def words(self) -> str:
        if self.warning or self.until:
            return self.what
        if self.fallback:
            return f"{self.agent} gave up, {self.fallback} takes over: {self.what}"
        return f"{self.agent} {self.kind}, trying again in {self.again_in:.3g} s ({self.attempt} of {self.of})"


# The user's setting that leaves a part of each window of a plan unused.
WINDOW_SETTING = "limits.window_percent"
_WINDOW_NAMES = {"five_hour": "5 hours", "seven_day": "7 days"}


@dataclass(frozen=True, slots=True)
class PlanWindow:
    """How much of one window of a plan is used, as the program reported it."""

    name: str
    # of 1
    share: float
    # when it is reset, in ISO 8601, UTC
    until: str

    @property
    def end(self) -> datetime:
        return datetime.fromisoformat(self.until)

    @property
    def words(self) -> str:
        name = _WINDOW_NAMES.get(self.name, self.name.replace("_", " "))
        return f"{self.share:.0%} of {name}"


@dataclass(frozen=True, slots=True)
class UsageLimit:
    """The plan of a login is used up for a time."""

    login: str
    # in ISO 8601, UTC
    until: str
    # False: the program did not tell when, and is asked again then
    is_known: bool
    # what the program reported
    message: str
    # when it was first reported
    since: str

    @property
    def end(self) -> datetime:
        return datetime.fromisoformat(self.until)

    def time_words(self, now: datetime) -> str:
        """`03:00`, or `03:00 on Fri 20 Nov`; `now` has the zone of the user."""
        end = self.end.astimezone(now.tzinfo)
        return f"{end:%H:%M}" if end - now < timedelta(hours=20) else f"{end:%H:%M} on {end:%a} {end.day} {end:%b}"

    def wait_words(self, now: datetime) -> str:
        """`waits for claude until 03:00`; `words` names the variable or the folder of the login, if there is one."""
        return f"waits for {self.login.partition(' (')[0]} until {self.time_words(now)}"

    def words(self, now: datetime) -> str:
        """`claude's limit resets at 03:00`; `now` has the zone of the user."""
        time = self.time_words(now)
        if WINDOW_SETTING in self.message:
            return f"{self.login} waits until {time}: {self.message}"
        # a login that variables choose is named with them
        whose = f"the limit of {self.login}" if " " in self.login else f"{self.login}'s limit"
        if self.is_known:
            return f"{whose} resets at {time}"
        return f"{whose} is reached; it is asked again at {time}"


@dataclass(frozen=True, slots=True)
class AgentReply:
    """The agent's final message. Never empty."""

    text: str
    model: str | None = None
    provider: str = ""
    cost_usd: float | None = None
    tokens: int = 0
    # False: a count is missing or was refused, and `tokens` is too low
    has_all_tokens: bool = True
    seconds: float = 0.0
    session: str | None = None
    # where `cost_usd` comes from
    cost_source: CostSource = CostSource.UNKNOWN
    # tokens of the whole session so far, from programs that count it as a whole
    session_usage: Mapping[str, int] | None = None
    # the argv as a person would read it, without the prompt
    command: str = ""
    # where everything it printed lies in the burnish home
    transcript: str = ""
    # who answered, by its name in the settings: the one that was asked, or its fallback
    agent: str = ""
    # how much of its plan is used, if the program reported it
    windows: tuple[PlanWindow, ...] = ()
    # attempts before this answer; `cost_usd` and `tokens` include them
    failed_attempts: tuple[FailedAttempt, ...] = ()
    # all that the model of a reviewer wrote apart from `text`
    other_messages: tuple[str, ...] = ()
    # those parts of it that belong to the final message
    text_before: tuple[str, ...] = ()
    text_after: tuple[str, ...] = ()
