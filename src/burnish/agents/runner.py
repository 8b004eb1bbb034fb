"""The one place that calls agents: prompt to disk, process, transcript, reply; again if that helps."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from burnish.agents.base import Agent, AgentFailure, AgentSettings
from burnish.agents.call_command import CallCommands, OnSetback
from burnish.agents.confined_login import ConfinedLogins
from burnish.agents.failure import in_short, is_session_gone, with_name, without_name
from burnish.agents.limit_wait import LimitWait
from burnish.agents.monitor import Beyond, Meter, Spending, Watchdog
from burnish.agents.question import AgentCall, agent_file, unrecorded_folders, write_private
from burnish.agents.registry import AGENTS
from burnish.agents.transcript import TranscriptWriter, transcript_file, writer_for
from burnish.agents.usage import with_failed_attempts
from burnish.core.agent import LOST_SESSION, WINDOW_SETTING, AgentReply, AgentRequest, FailedAttempt, Setback, Use
from burnish.core.status import ErrorCode
from burnish.core.transcript import Row
from burnish.errors import BurnishError, OverBudget, PhaseFailed
from burnish.proc import clock
from burnish.proc.file_systems import full_disk_failure
from burnish.proc.mounts import TreeView
from burnish.proc.run import (
    DiskFull,
    ProgramMissing,
    ShimLost,
    Stopped,
    StopToken,
    read_text,
    run,
)
from burnish.proc.sandbox import Sandbox
from burnish.proc.slots import slot

OnOutput = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often, and how long to wait in between: base, twice that, four times that, up to `most`."""

    attempts: int = 4
    base_seconds: float = 5.0
    most_seconds: float = 60.0

    def pause(self, attempt: int) -> float:
        return float(min(self.most_seconds, self.base_seconds * 2 ** (attempt - 1)))


@dataclass(frozen=True, slots=True)
class _Watch:
    """Who listens to a call, who waits for its end, and who may end it."""

    on_output: OnOutput | None
    lock_file: Path | None
    beyond: Beyond | None
    on_setback: OnSetback


class AgentRunner:
    """Calls the agents of one project. Safe to share between threads."""

    def __init__(
        self,
        settings: Mapping[str, AgentSettings],
        *,
        checkout: Path,
        lock_dir: Path,
        cap_bytes: int = 64 * 1024 * 1024,
        stop: StopToken | None = None,
        retry: RetryPolicy | None = None,
        agents: Mapping[str, Agent] = AGENTS,
        sandbox: Sandbox | None = None,
        programs: Path | None = None,
        author_view: Callable[[Path, Path], TreeView] | None = None,
        redact: Callable[[str], str] = str,
        limits: LimitWait | None = None,
        memory_bytes: int | None = None,
    ) -> None:
        """`programs`: where a sandbox shows the checkout itself, for programs that are named by a relative path.

        `author_view(workspace, scratch)`: what an author sees beside its workspace.
        `redact`: takes secrets out of what failures quote, before it is cut.
        `limits`: where an agent's plan is used up, the call waits; without it, the call fails.
        `memory_bytes`: most memory of a call, with all that the program starts.
        """
        self._settings = {name: entry.placed(programs or checkout) for name, entry in settings.items()}
        self._redact, self._checkout, self._lock_dir = redact, checkout, lock_dir
        self._stop, self._retry, self._agents = stop or StopToken(), retry or RetryPolicy(), agents
        self._sandbox, self._limits = sandbox, limits
        self._warned = False
        self._logins = ConfinedLogins(sandbox.home, sandbox.burnish_home, agents) if sandbox else None
        self._commands = CallCommands(checkout, cap_bytes, sandbox, self._logins, author_view, memory_bytes)

    def call(
        self,
        request: AgentRequest,
        *,
        on_output: OnOutput | None = None,
        lock_file: Path | None = None,
        beyond: Beyond | None = None,
        on_setback: OnSetback = lambda setback: None,
    ) -> AgentReply:
        """The agent's reply; from an earlier call if that had ended and the phase was cut off or failed after it.

        `beyond` is called during the call if the program reports its usage; a reason ends the call.
        """
        watch = _Watch(on_output, lock_file, beyond, on_setback)
        with _as_phase_failures():
            write_private(request.call_dir / "prompt.md", request.prompt)
        reply = self.answered(request)
        answer_folder = Path(reply.transcript).parent if reply else None
        failed = [*self.unrecorded_attempts(request, besides=answer_folder)]
        if reply is not None:
            if answer_folder not in unrecorded_folders(request.call_dir):
                # another reviewer failed, and the cost of this answer is on record with that failure
                reply = replace(reply, cost_usd=None if reply.cost_usd is None else 0.0, tokens=0)
            return with_failed_attempts(reply, tuple(failed))
        for name in dict.fromkeys(one.agent for one in failed):
            _insist_on_budget(watch, name, failed)
        names_asked: list[str] = []
        while True:
            entry = self._entry(request.agent)
            names_asked.append(entry.name)
            try:
                with _as_phase_failures():
                    return with_failed_attempts(self._ask(request, entry, watch, failed), tuple(failed))
            except PhaseFailed as failure:
                failure.agent = entry.name
                whole = sum((one.use for one in failed), Use())
                failure.cost_usd, failure.cost_source, failure.tokens = whole.usd, whole.source, whole.tokens
                # Out of time means a half-done workspace: the engine must see to that first.
                if failure.code not in _FALL_BACK or not entry.fallback or entry.fallback in names_asked:
                    raise
                _insist_on_budget(watch, entry.name, failed)
                what = without_name(entry.name, failure.what)
                on_setback(Setback(entry.name, what, "gave up", fallback=entry.fallback))
                request = replace(request, agent=entry.fallback, model=None, effort=None, session=None)

    def answered(self, request: AgentRequest) -> AgentReply | None:
        """The reply to this very request, if it was given before burnish was cut off. Starts nothing."""
        names_asked: list[str] = []
        while (entry := self._settings.get(request.agent)) and entry.name not in names_asked:
            names_asked.append(entry.name)
            question = self._question(request, entry) if entry.kind in self._agents else None
            if question and (found := question.answered()):
                folder, reply = found
                self._rewrite_transcript(question, folder, reply)
                return reply
            # The fallback may be the one who answered; the first would only fail again.
            request = replace(request, agent=entry.fallback or "", model=None, effort=None)
        return None

    def _question(self, request: AgentRequest, entry: AgentSettings) -> AgentCall:
        if request.session and self._logins and not self._logins.can_resume(request, entry):
            request = replace(request, session=None, session_usage=None)
        request = replace(request, model=request.model or entry.model)
        return AgentCall(request, entry, self._agent(entry), self._redact)

    def unrecorded_attempts(self, request: AgentRequest, *, besides: Path | None = None) -> Iterator[FailedAttempt]:
        """Attempts of this call that an earlier process of burnish was killed in; their cost is not on record."""
        for folder in unrecorded_folders(request.call_dir):
            entry = self._settings.get(agent_file(folder).read_text()) if agent_file(folder).exists() else None
            if entry is None or entry.kind not in self._agents or folder == besides:
                continue
            if (use := self._question(request, entry).failed_use(folder)) is not None:
                yield FailedAttempt(entry.name, use)

    def _ask(
        self, request: AgentRequest, entry: AgentSettings, watch: _Watch, failed: list[FailedAttempt]
    ) -> AgentReply:
        """One agent, as often as it makes sense; each attempt without an answer joins `failed`."""
        question = self._question(request, entry)
        if self._logins:
            for warning in self._logins.warnings(request, entry, lock_dir=self._lock_dir, stop=self._stop):
                watch.on_setback(Setback(entry.name, warning, "may fail", warning=True))
        attempt = doubts = 0
        while True:
            attempt += 1
            self._wait_for_limit(entry, watch)
            with slot(self._lock_dir, f"agent-{entry.name}", entry.max_parallel, self._stop):
                answer = self._counted(question, watch, failed)
            if isinstance(answer, AgentReply):
                self._settle_limit(entry, answer, watch)
                return answer
            # If the limit is real, the next attempt is refused before its model can do anything.
            ask_again = answer.is_limit_unconfirmed and self._limits is not None
            doubts += ask_again
            if answer.limit and not ask_again and self._limits and self._limits.begin(entry, answer):
                # The attempt does not count: nothing was asked. Nor do those that it confirms.
                attempt, doubts = attempt - 1 - doubts, 0
                _insist_on_budget(watch, entry.name, failed)
                continue
            if question.request.session and is_session_gone(answer.what):
                words = f"The session of {entry.name} is gone: it begins a new one with the full prompt."
                watch.on_setback(Setback(entry.name, words, LOST_SESSION, warning=True))
                question = self._question(replace(request, session=None, session_usage=None), entry)
                attempt -= 1
                continue
            # neither another attempt nor another agent would help
            if full := full_disk_failure(entry.name, (request.cwd, self._lock_dir), f"{answer.what}\n{answer.output}"):
                raise full
            attempts = min(self._retry.attempts, answer.max_attempts or self._retry.attempts)
            is_final = not ask_again and (not answer.retryable or bool(answer.limit))
            if is_final or attempt >= attempts:
                raise PhaseFailed(
                    ErrorCode.AGENT_FAILED,
                    with_name(entry.name, answer.what),
                    hint=self._hint(entry, answer),
                    retryable=answer.retryable,
                    output=answer.output,
                )
            _insist_on_budget(watch, entry.name, failed)
            pause = self._retry.pause(attempt)
            kind = in_short(answer.what)
            watch.on_setback(Setback(entry.name, answer.what, kind, pause, attempt + 1, attempts))
            if clock.pause(self._stop, pause):
                break
        raise Stopped(f"It was waiting to ask {entry.name} again.")

    def _settle_limit(self, entry: AgentSettings, reply: AgentReply, watch: _Watch) -> None:
        if self._limits is None:
            return
        self._limits.end(entry, reply.windows)
        if not self._warned and self._limits.is_uncounted(entry, reply.windows):
            self._warned = True
            words = f"{entry.name} did not report how much of its plan is used: {WINDOW_SETTING} does not stop it."
            watch.on_setback(Setback(entry.name, words, "may fail", warning=True))

    def _wait_for_limit(self, entry: AgentSettings, watch: _Watch) -> None:
        """Wait until the plan may be used again; another agent takes over if there is one."""
        limit = self._limits.current(entry) if self._limits else None
        if limit is None or self._limits is None:
            return
        if entry.fallback:
            raise PhaseFailed(ErrorCode.AGENT_FAILED, f"{limit.words(self._limits.clock())}.", retryable=True)
        self._limits.wait(entry, self._stop, watch.on_setback)

    def _counted(self, question: AgentCall, watch: _Watch, failed: list[FailedAttempt]) -> AgentReply | AgentFailure:
        """One attempt. Without an answer, whatever the reason, it has still used something."""
        folder, entry = question.new_folder(), question.entry
        spending = Spending(entry.name, question.agent, folder, watch.beyond, before=_used_by(entry.name, failed))
        answer, was_started = None, True
        try:
            answer = self._once(question, folder, spending, watch)
            return answer
        except ProgramMissing:
            was_started = False
            raise
        finally:
            has_failed = was_started and not isinstance(answer, AgentReply)
            use = question.failed_use(folder, spending.meter) if has_failed else None
            if use is not None:
                failed.append(FailedAttempt(entry.name, use))
                if watch.beyond:
                    watch.beyond(entry.name, _used_by(entry.name, failed))

    def _once(self, question: AgentCall, folder: Path, spending: Spending, watch: _Watch) -> AgentReply | AgentFailure:
        call = question.describe(folder)
        patience = Watchdog(question.agent, folder, spending)
        transcript = self._transcript(
            question,
            folder,
            lambda row: _print_row(row, watch.on_output) if watch.on_output else None,
            spending.meter,
        )
        with self._commands.prepared(question, call, folder, watch.lock_file, watch.on_setback) as (command, sessions):
            try:
                record = run(
                    command,
                    stop=self._stop,
                    on_output=(lambda _: transcript.look()) if transcript else watch.on_output,
                    enough=patience.over if patience.looks else None,
                )
            finally:
                if transcript:
                    transcript.finish()
                question.record_session(folder, sessions)
        if record.ended == "enough" and patience.spending.why:
            raise OverBudget(patience.spending.why, hint=_RAISE_BUDGET)
        if record.ended == "enough" and patience.why:
            if transcript:
                transcript.add_failure(patience.why.what)
            return question.with_doubt(patience.why, read_text(folder / "stdout"))
        question.refuse_cut(record, is_stopped=self._stop.requested)
        if record.ended != "exit":
            raise Stopped(f"{question.entry.name} was stopped.")
        reply = question.read(folder, record, spending.meter)
        if transcript:
            transcript.add_answer(reply.text) if isinstance(reply, AgentReply) else transcript.add_failure(reply.what)
        return reply

    def _rewrite_transcript(self, question: AgentCall, folder: Path, reply: AgentReply) -> None:
        """burnish was killed while it wrote the transcript of this call."""
        with suppress(OSError):
            transcript_file(folder).unlink(missing_ok=True)
            transcript = self._transcript(question, folder)
            if transcript:
                transcript.finish()
                transcript.add_answer(reply.text)

    def _transcript(
        self,
        question: AgentCall,
        folder: Path,
        on_row: Callable[[Row], None] = lambda row: None,
        meter: Meter | None = None,
    ) -> TranscriptWriter | None:
        request = question.request
        checkout = {str(self._checkout)} if self._commands.author_view_for(request) else set[str]()
        roots = {str(request.cwd), str(request.cwd.resolve()), *checkout}
        return writer_for(
            question.agent,
            folder,
            roots=tuple(sorted(roots, key=len, reverse=True)),
            redact=self._redact,
            on_row=on_row,
            meter=meter,
        )

    def _hint(self, entry: AgentSettings, failure: AgentFailure) -> str:
        """A program that burnish does not know may lack files that the sandbox hides."""
        if not self._sandbox or entry.kind not in ("command", "acp"):
            return failure.hint
        setting = f"agents: {{{entry.name}: {{login: [~/.…]}}}}"
        return (
            f"{failure.hint} It ran in the sandbox, where your home directory is empty but for its login. "
            f"If it needs more, list it in your config.yaml: `{setting}` (docs/sandbox.md)."
        ).strip()

    def _entry(self, name: str) -> AgentSettings:
        if not name:
            raise PhaseFailed(
                ErrorCode.AGENT_MISSING,
                "No agent program was found on PATH.",
                hint="Install one (`burnish doctor` lists them), or name a command as `agent:` in burnish.yaml.",
            )
        if name not in self._settings:
            raise PhaseFailed(
                ErrorCode.AGENT_MISSING,
                f"There is no agent called {name!r} in the settings.",
                hint=f"Known: {', '.join(sorted(self._settings)) or 'none'}; see `agents:` in burnish.yaml.",
            )
        return self._settings[name]

    def _agent(self, entry: AgentSettings) -> Agent:
        if entry.kind not in self._agents:
            raise PhaseFailed(
                ErrorCode.AGENT_MISSING,
                f"The agent {entry.name!r} is of the unknown kind {entry.kind!r}.",
                hint=f"Known kinds: {', '.join(sorted(self._agents))}.",
            )
        return self._agents[entry.kind]


_FALL_BACK = (ErrorCode.AGENT_FAILED, ErrorCode.AGENT_MISSING)
_RAISE_BUDGET = "Raise the budget, then `burnish retry` goes on from here."


def _insist_on_budget(watch: _Watch, agent: str, failed: Sequence[FailedAttempt]) -> None:
    """Before an agent is asked again, or its fallback: attempts that failed may have reached a budget."""
    why = watch.beyond(agent, _used_by(agent, failed)) if watch.beyond else None
    if why:
        raise OverBudget(why, hint=_RAISE_BUDGET)


def _print_row(row: Row, print_line: Callable[[str], None]) -> None:
    line = row.line()
    for one in (line, *row.rest()) if line else ():
        print_line(one)


def _used_by(agent: str, failed: Sequence[FailedAttempt]) -> Use:
    return sum((one.use for one in failed if one.agent == agent), Use())


@contextmanager
def _as_phase_failures() -> Iterator[None]:
    """Turn each way in which a call can fail into a `PhaseFailed` with its error code."""
    try:
        yield
    except ProgramMissing as missing:
        raise PhaseFailed(ErrorCode.AGENT_MISSING, missing.what, hint=missing.hint) from missing
    except Stopped as stopped:
        raise PhaseFailed(
            ErrorCode.INTERRUPTED, stopped.what, hint="`burnish run` goes on from here.", retryable=True
        ) from stopped
    except DiskFull as full:
        raise PhaseFailed(ErrorCode.DISK_FULL, full.what, hint=full.hint, retryable=True) from full
    except ShimLost as lost:
        raise PhaseFailed(ErrorCode.AGENT_FAILED, lost.what, hint=lost.hint, retryable=True) from lost
    except PhaseFailed:
        raise
    except BurnishError as other:
        raise PhaseFailed(ErrorCode.AGENT_FAILED, other.what, hint=other.hint) from other
    except OSError as problem:
        if problem.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise PhaseFailed(
            ErrorCode.DISK_FULL,
            f"No room left: {problem}.",
            hint="Free some space, then retry.",
            retryable=True,
        ) from problem
