"""Reports recorded events to other programs: JSON lines on stderr, and OpenTelemetry spans and metrics.

Both are made from events after they are stored, so that they cannot hold up or change a run. Events have no secrets.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from burnish.core.event import RecordedEvent
from burnish.core.journal import PhaseResult, read
from burnish.core.journal_events import PhaseStarted, RunFinished

if TYPE_CHECKING:
    from opentelemetry.context import Context

Observer = Callable[[Sequence[RecordedEvent]], None]

_ENDPOINTS = ("", "_TRACES", "_METRICS")
_ERRORS = ("phase.failed", "review.failed", "notify.failed", "guard.breach")
_WARNINGS = ("budget.warned", "budget.reached", "approval.voided", "lock.taken_over", "review.max_cycles")


def is_json_log(env: Mapping[str, str] | None = None) -> bool:
    return (os.environ if env is None else env).get("BURNISH_LOG") == "json"


def wants_otel(env: Mapping[str, str] | None = None) -> bool:
    source = os.environ if env is None else env
    if source.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    return any(source.get(f"OTEL_EXPORTER_OTLP{part}_ENDPOINT") for part in _ENDPOINTS)


@cache
def observers() -> tuple[Observer, ...]:
    """What this process reports to, by its environment."""
    found: list[Observer] = [log_events] if is_json_log() else []
    if wants_otel():
        try:
            found.append(SpanReporter().observe)
        except ImportError:
            logging.getLogger("burnish").warning(
                "OTEL_EXPORTER_OTLP_ENDPOINT is set, but OpenTelemetry is not installed: pip install 'burnish[otel]'"
            )
    return tuple(_guarded(one) for one in found)


def _guarded(observe: Observer) -> Observer:
    """A report that fails must not fail the run: the events are stored."""

    def call(events: Sequence[RecordedEvent]) -> None:
        with suppress(Exception):
            observe(events)

    return call


# -- JSON lines -----------------------------------------------------------------------------------


def log_line(level: str, message: str, **more: Any) -> None:
    """One JSON object on stderr. ASCII only, so that no control character reaches a terminal."""
    now = datetime.now().astimezone().isoformat(timespec="milliseconds")
    line = {"time": now, "level": level, "message": message, **more}
    sys.stderr.write(json.dumps(line) + "\n")
    sys.stderr.flush()


def log_events(events: Sequence[RecordedEvent]) -> None:
    for event in events:
        level = "error" if event.type in _ERRORS else "warning" if event.type in _WARNINGS else "info"
        more = {"project": event.project, "task": event.task, "phase": _phase(event)}
        numbers = {"run": event.run, "cycle": event.cycle, "event": event.type, "id": event.id}
        log_line(level, _message(event), **more, **numbers, trace_id=f"{trace_id(event):032x}" if event.task else "")


def _phase(event: RecordedEvent) -> str:
    """The phase that an event is about; "" if it is about none."""
    if event.type == "phase.started":
        return read(PhaseStarted, event.data).phase
    return read(PhaseResult, event.data).phase if event.type in ("phase.finished", "phase.failed") else ""


def _message(event: RecordedEvent) -> str:
    data = event.data
    words = [event.type, str(data.get("phase") or data.get("name") or "")]
    words += [str(data[key]) for key in ("from", "to", "status", "verdict", "error", "what", "why") if data.get(key)]
    return " ".join(word for word in words if word)[:2000]


class JsonLogHandler(logging.Handler):
    """Messages of libraries, e.g. of the web server, in the same form."""

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        if record.exc_info and record.exc_info[1]:
            message += f": {type(record.exc_info[1]).__name__}: {record.exc_info[1]}"
        log_line(record.levelname.lower(), message[:4000], logger=record.name)


# -- OpenTelemetry --------------------------------------------------------------------------------


def trace_id(event: RecordedEvent) -> int:
    """The same for all events of one run of a task, also after a restart or on another machine."""
    return _number(16, event.project, event.task, event.run)


def _span_id(event: RecordedEvent, *parts: object) -> int:
    return _number(8, event.project, event.task, event.run, *parts)


def _number(size: int, *parts: object) -> int:
    return int.from_bytes(hashlib.sha256("/".join(map(str, parts)).encode()).digest()[:size]) or 1


def _nanoseconds(ts: str) -> int:
    return int(datetime.fromisoformat(ts).timestamp() * 1e6) * 1000


@dataclass
class _Span:
    """The times of a span that is not sent yet."""

    start: int
    end: int = 0
    id: int = 0


class SpanReporter:
    """run > cycle > phase > agent or check. Ids follow from the task, so that parts of a run belong together."""

    def __init__(self) -> None:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        self._ids = _given_ids()
        name = {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": "burnish"}
        resource = Resource.create(name)
        provider = TracerProvider(resource=resource, id_generator=self._ids)
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        meters = MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter())], resource=resource)
        self._providers = (provider, meters)
        self._tracer = provider.get_tracer("burnish")
        meter = meters.get_meter("burnish")
        self._phases = meter.create_counter("burnish.phases", description="phases by state")
        self._seconds = meter.create_histogram("burnish.phase.duration", unit="s")
        self._cost = meter.create_counter("burnish.cost", unit="USD")
        self._tokens = meter.create_counter("burnish.tokens")
        self._open: dict[tuple[object, ...], _Span] = {}

    def observe(self, events: Sequence[RecordedEvent]) -> None:
        for event in events:
            if event.task is not None and event.run:
                self._observe(event)

    def flush(self) -> None:
        for provider in self._providers:
            provider.force_flush()

    def _observe(self, event: RecordedEvent) -> None:
        now = _nanoseconds(event.ts)
        run = self._open.setdefault(("run", event.project, event.task, event.run), _Span(now))
        run.end = now
        match event.type:
            case "phase.started":
                self._open[self._phase_key(event)] = _Span(now, id=_span_id(event, event.id))
                self._open.setdefault(self._cycle_key(event), _Span(now))
            case "check.finished":
                self._send_check(event, now)
            case "phase.finished" | "phase.failed":
                self._send_phase(event, now)
            case "run.finished":
                self._send_run(event, now)

    @staticmethod
    def _phase_key(event: RecordedEvent) -> tuple[object, ...]:
        return ("phase", event.project, event.task, event.run, event.cycle, _phase(event))

    @staticmethod
    def _cycle_key(event: RecordedEvent) -> tuple[object, ...]:
        return ("cycle", event.project, event.task, event.run, event.cycle)

    def _send_phase(self, event: RecordedEvent, now: int) -> None:
        data, phase = event.data, _phase(event)
        state = event.type.removeprefix("phase.")
        span = self._open.pop(self._phase_key(event), _Span(now))
        self._open.setdefault(self._cycle_key(event), _Span(span.start)).end = now
        agent, seconds = str(data.get("agent") or ""), data.get("seconds")
        use = {"burnish.agent": agent, "burnish.cost_usd": data.get("cost_usd"), "burnish.tokens": data.get("tokens")}
        own = {key: value for key, value in use.items() if value}
        phase_id, cycle_id = span.id or _span_id(event, event.id), _span_id(event, event.cycle)
        if agent:
            start = now - int(float(seconds) * 1e9) if seconds else span.start
            self._send(event, f"agent {agent}", _span_id(event, event.id, "agent"), phase_id, (start, now), own)
        error = str(data.get("error") or "") if state == "failed" else ""
        self._send(event, phase, phase_id, cycle_id, (span.start, now), {"burnish.state": state, **own}, error)
        labels = {"phase": phase, "state": state, "project": event.project}
        self._phases.add(1, labels)
        self._seconds.record((now - span.start) / 1e9, labels)
        if agent:
            self._cost.add(float(data.get("cost_usd") or 0), {"agent": agent})
            self._tokens.add(int(data.get("tokens") or 0), {"agent": agent})

    def _send_check(self, event: RecordedEvent, now: int) -> None:
        data = event.data
        start = now - int(float(data.get("seconds") or 0) * 1e9)
        phase = self._open.get(("phase", event.project, event.task, event.run, event.cycle, "check"))
        parent = phase.id if phase else _span_id(event, event.cycle)
        own = {"burnish.status": str(data.get("status") or "")}
        self._send(event, f"check {data.get('name') or ''}", _span_id(event, event.id), parent, (start, now), own)

    def _send_run(self, event: RecordedEvent, now: int) -> None:
        run_key = ("run", event.project, event.task, event.run)
        cycles = [key for key in self._open if key[0] == "cycle" and key[1:4] == run_key[1:]]
        for key in cycles:
            cycle = self._open.pop(key)
            ids = (_span_id(event, key[4]), _span_id(event))
            self._send(event, f"cycle {key[4]}", *ids, (cycle.start, cycle.end or now), {"burnish.cycle": key[4]})
        run = self._open.pop(run_key)
        own = {"burnish.status": read(RunFinished, event.data).status}
        self._send(event, f"task {event.task}", _span_id(event), None, (run.start, now), own)

    def _send(
        self,
        event: RecordedEvent,
        name: str,
        span_id: int,
        parent: int | None,
        times: tuple[int, int],
        attributes: Mapping[str, Any],
        error: str = "",
    ) -> None:
        from opentelemetry.trace import Status, StatusCode

        own: dict[str, Any] = {"burnish.project": event.project, "burnish.task": event.task or 0}
        own["burnish.run"] = event.run
        self._ids.next = (trace_id(event), span_id)
        span = self._tracer.start_span(
            name, context=_context(trace_id(event), parent), start_time=times[0], attributes={**own, **attributes}
        )
        if error:
            span.set_status(Status(StatusCode.ERROR, error))
        span.end(times[1])


def _context(trace: int, parent: int | None) -> Context:
    from opentelemetry.context import Context
    from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

    if parent is None:
        return Context()
    above = SpanContext(trace, parent, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
    return set_span_in_context(NonRecordingSpan(above), Context())


def _given_ids() -> Any:
    import threading

    from opentelemetry.sdk.trace.id_generator import IdGenerator

    class GivenIds(IdGenerator, threading.local):
        """Uses the ids that were set just before, by the same thread."""

        next: tuple[int, int] = (1, 1)

        def generate_trace_id(self) -> int:
            return self.next[0]

        def generate_span_id(self) -> int:
            return self.next[1]

    return GivenIds()
