"""One request put to one agent: its folders on disk, and whether it was answered already."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from burnish.agents.base import (
    Agent,
    AgentFailure,
    AgentSettings,
    Call,
    FinishedCall,
    KnowsModel,
    RecordsSession,
    ReportsUsage,
    StartsServers,
)
from burnish.agents.failure import is_session_gone
from burnish.agents.file_mentions import plain_answer
from burnish.agents.jsonlines import LEFT_OUT, json_value, other_messages, read_events, recover_events, text_around
from burnish.agents.monitor import Meter
from burnish.agents.other_verdicts import conflicting_verdict, torn_output, unfinished_answer
from burnish.agents.steps import ReportsSteps, ToolStarted
from burnish.agents.usage import at_least, of_failed_attempt, uses_nothing
from burnish.core.agent import AgentReply, AgentRequest, Use
from burnish.core.cost import CostSource
from burnish.core.status import ErrorCode
from burnish.errors import PhaseFailed
from burnish.proc.run import ExitRecord, finished_call, read_text
from burnish.proc.shim_files import exit_record, read_outcome
from burnish.regular_files import read_regular

# characters of a failed program's output that are kept in the event log
MAX_OUTPUT_LENGTH = 4000
# What burnish reads again from the folder of a call, which the agent may write: the prompt, who was asked, the command.
RECORDS = ("prompt.md", "agent", "command")


@dataclass(frozen=True, slots=True)
class AgentCall:
    """One agent and one request; each attempt leaves a folder of its own, `try-N`, in the call's."""

    request: AgentRequest
    entry: AgentSettings
    agent: Agent
    # takes secrets out of a text. What a failure quotes is cut, and a part of a secret cannot be found any more.
    redact: Callable[[str], str] = str

    def folders(self) -> list[Path]:
        """Earlier attempts, oldest first."""
        return attempt_folders(self.request.call_dir)

    def new_folder(self) -> Path:
        folders = self.folders()
        number = attempt_number(folders[-1]) + 1 if folders else 1
        folder = self.request.call_dir / f"try-{number}"
        folder.mkdir(mode=0o700)
        return folder

    def describe(self, folder: Path) -> Call:
        """Write the files that the program will read, and a record that identifies the call later."""
        # resolved: a program looks up whether it may trust a folder by its real path
        request = replace(self.request, call_dir=folder, cwd=self.request.cwd.resolve())
        call = self.agent.call(request, self.entry)
        if request.read_only and isinstance(self.agent, StartsServers):
            call = self.agent.without_servers(call, os.environ)
        # not in the folder of the call, which the agent may write
        write_private(self._model_file(folder), self.configured_model() or "")
        write_private(agent_file(folder), self.entry.name)
        records = dict(zip(RECORDS, (request.prompt, self._mark(), shlex.join(call.argv)), strict=True))
        for name, text in {**call.files, **records}.items():
            write_private(folder / name, text)
        if call.stdin is not None and call.stdin != request.prompt:
            write_private(folder / "stdin", call.stdin)
        return call

    def _model_file(self, folder: Path) -> Path:
        return self.request.call_dir / f"{folder.name}-model"

    def _model(self, folder: Path) -> str | None:
        """The model that was configured when the call began: an author without a sandbox can change the settings."""
        file = self._model_file(folder)
        return _text(file) or None if file.exists() else self.configured_model()

    def _session_file(self, folder: Path) -> Path:
        return self.request.call_dir / f"{folder.name}-session"

    def record_session(self, folder: Path, sessions: Path | None) -> None:
        """Keep what is needed of the program's session, whose folder may be gone after the call."""
        if sessions is None or not isinstance(self.agent, RecordsSession):
            return
        found = self.agent.session_record(sessions, read_text(folder / "stdout"))
        write_private(self._session_file(folder), json.dumps(found))

    def stdin(self, call: Call, folder: Path) -> Path | None:
        if call.stdin is None:
            return None
        return folder / ("prompt.md" if call.stdin == self.request.prompt else "stdin")

    def _mark(self) -> str:
        effort = self.entry.effort(self.request)
        return json.dumps([self.entry.name, self.request.model, self.request.role, *([effort] if effort else ())])

    def answered(self) -> tuple[Path, AgentReply] | None:
        """The folder and the reply of an attempt that had ended when burnish was killed: it is paid for already."""
        for folder in reversed(self.folders()):
            record = finished_call(folder)
            if record is None or _text(folder / "agent") != self._mark():
                continue
            if _text(folder / "prompt.md") != self.request.prompt:
                continue
            reply = self.read(folder, record)
            if isinstance(reply, AgentReply):
                return folder, reply
        return None

    def configured_model(self) -> str | None:
        """The model that was asked for, or that the user's settings of the program name."""
        if self.request.model or not isinstance(self.agent, KnowsModel):
            return self.request.model
        return self.agent.configured_model(os.environ)

    def failed_use(self, folder: Path, meter: Meter | None = None) -> Use | None:
        """What an attempt has used that gave no answer; None if its program was never started, or used nothing."""
        if not (folder / "stdout").exists():
            return None
        record = exit_record(folder, read_outcome(folder) or {})
        live_use = (meter or Meter(self.agent, record.stdout)).rest()
        if not isinstance(self.agent, ReportsUsage):
            return of_failed_attempt(None, live_use)
        call = self._spoken(folder, record)
        call = call if self.entry.kind in _PLAIN_TEXT else _with_recovered(call)
        report = self.agent.bill(call)
        if report and not call.model and report.session and isinstance(self.agent, KnowsModel):
            call = replace(call, model=self.agent.session_model(os.environ, report.session))
            report = self.agent.bill(call)
        is_free = uses_nothing(report, live_use) if report else not call.stdout.strip()
        if is_free and self._is_refused(call):
            return None
        return of_failed_attempt(report, live_use)

    def _is_refused(self, call: FinishedCall) -> bool:
        """Whether the program ended because its plan is used up, or because it does not know the session."""
        answer = self.agent.read(call)
        if not call.exit_code or not isinstance(answer, AgentFailure):
            return False
        return bool(answer.limit) or bool(call.resumed and is_session_gone(answer.what))

    def _damaged_report(self, call: FinishedCall) -> Use:
        """What the program reported in lines that another process wrote into: these must not lower the bill."""
        report = self.agent.bill(_with_recovered(call)) if isinstance(self.agent, ReportsUsage) else None
        return Use(report.cost_usd, report.tokens, report.cost_source) if report else Use()

    def _spoken(self, folder: Path, record: ExitRecord) -> FinishedCall:
        request = self.request
        return FinishedCall(
            exit_code=record.exit_code,
            signal=record.signal,
            ended=record.ended,
            stdout=read_text(record.stdout),
            stderr=read_text(record.stderr),
            role=request.role,
            seconds=record.seconds,
            model=self._model(folder),
            resumed=request.session if self.entry.resume else None,
            session_usage=request.session_usage if self.entry.resume else None,
            files={name: _text(folder / name, errors="replace") for name in self.agent.output_files},
            session_record=_json_object(self._session_file(folder)),
        )

    def refuse_cut(self, record: ExitRecord, *, is_stopped: bool) -> None:
        """Raise `PhaseFailed` if a limit of time or memory ended the program; a person may have stopped it, too."""
        if record.ended == "timeout":
            limit = _minutes(self.request.timeout_seconds)
            raise PhaseFailed(
                ErrorCode.TIMEOUT,
                f"{self.entry.name} was still working after {limit}.",
                hint=f"Raise {self.request.timeout_setting} in the settings, or make the task smaller.",
                retryable=True,
                output=last_output(self.redact(read_text(record.stderr))),
            )
        if record.out_of_memory and not is_stopped:
            raise PhaseFailed(
                ErrorCode.AGENT_FAILED,
                f"{self.entry.name} was killed: it used more memory than machine.memory_gb allows.",
                hint="Raise machine.memory_gb in your config.yaml, or make the task smaller.",
                output=last_output(self.redact(read_text(record.stderr))),
            )

    def read(self, folder: Path, record: ExitRecord, meter: Meter | None = None) -> AgentReply | AgentFailure:
        """`meter`: the one that has counted while the program worked."""
        call = self._spoken(folder, record)
        stdout = call.stdout
        answer = self.agent.read(call)
        if isinstance(answer, AgentFailure) and not call.exit_code:
            # It ended well, or a signal ended it: a process that it started may have written the message.
            answer = replace(answer, limit="")
        if isinstance(answer, AgentFailure):
            answer = self.with_doubt(answer, stdout)
        if isinstance(answer, AgentReply):
            answer = self._without_one_verdict(call, answer.text) or answer
        if isinstance(answer, AgentFailure):
            return self._without_secrets(call, answer)
        if not call.model and answer.session and isinstance(self.agent, KnowsModel):
            call = replace(call, model=self.agent.session_model(os.environ, answer.session))
            again = self.agent.read(call)
            answer = again if isinstance(again, AgentReply) else answer
            if self.request.role not in ("review", "parse") and answer.cost_usd is not None:
                # commands that it runs can change the file of the session
                answer = replace(answer, cost_source=CostSource.PARTIAL)
        if self.request.role in ("review", "parse"):
            before, after = text_around(stdout, answer.text)
            # some adapters know them from elsewhere than events
            others = (*answer.other_messages, *other_messages(stdout, answer.text))
            before = (*answer.text_before, *before)
            text = plain_answer(answer.text, prompt=_text(folder / "stdin"))
            answer = replace(answer, text=text, other_messages=others, text_before=before, text_after=after)
        live_use = (meter or Meter(self.agent, record.stdout)).rest()
        answer = at_least(answer, live_use, cut=bool(LEFT_OUT.search(stdout)))
        if self.entry.kind not in _PLAIN_TEXT and read_events(stdout).gaps:
            answer = at_least(answer, self._damaged_report(call), cut=True)
        return replace(
            answer,
            model=answer.model or call.model,
            seconds=record.seconds,
            command=answer.command or _text(folder / "command"),
            transcript=str(record.stdout),
            agent=self.entry.name,
        )

    def with_doubt(self, answer: AgentFailure, stdout: str) -> AgentFailure:
        """A usage limit is unconfirmed if the model used a tool before. The tool is in the output before it begins."""
        if not answer.limit or not isinstance(self.agent, ReportsSteps):
            return answer
        stream = read_events(stdout)
        steps = (step for event in stream.events for step in self.agent.steps(event))
        used_tool = bool(stream.gaps) or any(isinstance(step, ToolStarted) for step in steps)
        return replace(answer, is_limit_unconfirmed=used_tool)

    def _without_one_verdict(self, call: FinishedCall, answer: str) -> AgentFailure | None:
        name = self.entry.name
        failure = None
        if self.entry.kind not in _PLAIN_TEXT:
            failure = torn_output(name, call, answer) or unfinished_answer(name, call, answer)
        return failure or conflicting_verdict(name, call, answer)

    def _without_secrets(self, call: FinishedCall, failure: AgentFailure) -> AgentFailure:
        """The same failure, in words that are taken from the redacted output."""
        clean = replace(call, stdout=self.redact(call.stdout), stderr=self.redact(call.stderr))
        again = self.agent.read(clean) if (clean.stdout, clean.stderr) != (call.stdout, call.stderr) else failure
        if isinstance(again, AgentFailure):
            failure = replace(failure, what=again.what, hint=again.hint, output=again.output)
        return replace(failure, output=failure.output or last_output(clean.stderr, clean.stdout))


# They print text; all others print one JSON object per line.
_PLAIN_TEXT = ("aider", "command", "scripted")


def _with_recovered(call: FinishedCall) -> FinishedCall:
    """For the cost only: a damaged line is never an answer."""
    lines = [json.dumps(event) for event in recover_events(call.stdout)]
    return replace(call, stdout="\n".join([call.stdout, *lines]))


# How many attempts of a call are on record with their cost; the answer of a call that was stopped is not one of them.
RECORDED = "recorded"


def attempt_number(folder: Path) -> int:
    return int(folder.name[4:])


def attempt_folders(call_dir: Path) -> list[Path]:
    found = [path for path in call_dir.glob("try-*") if path.name[4:].isdigit()]
    return sorted(found, key=attempt_number)


def agent_file(folder: Path) -> Path:
    """Who was asked in an attempt; not in its folder, which the agent may write."""
    return folder.with_name(f"{folder.name}-agent")


def unrecorded_folders(call_dir: Path) -> list[Path]:
    """Attempts whose cost is not on record: burnish was killed before it could write it down."""
    record_text = _text(call_dir / RECORDED)
    return [one for one in attempt_folders(call_dir) if attempt_number(one) > int(record_text or 0)]


def mark_recorded(call_dir: Path) -> None:
    folders = attempt_folders(call_dir)
    if folders:
        write_private(call_dir / RECORDED, str(attempt_number(folders[-1])))


def last_output(stderr: str, stdout: str = "") -> str:
    """The end of what a failed program printed: its errors, or what else there is."""
    return (stderr.strip() or stdout.strip())[-MAX_OUTPUT_LENGTH:]


def write_private(path: Path, text: str) -> None:
    data = text.encode("utf-8", "surrogateescape")
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(data)


def _text(path: Path, *, errors: str = "surrogateescape") -> str:
    """Of a regular file. A link could lead to a private file, and a pipe would never end."""
    return (read_regular(path, follow=False) or b"").decode("utf-8", errors)


def _json_object(path: Path) -> Mapping[str, Any]:
    value = json_value(_text(path))
    return value if isinstance(value, dict) else {}


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:g} minutes" if seconds >= 120 else f"{seconds:g} seconds"
