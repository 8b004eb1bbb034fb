"""What a run reports: JSON lines on stderr, and spans and metrics to a real receiver of OTLP over HTTP."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from burnish.adapters import telemetry
from burnish.core.event import RecordedEvent
from testing.lab import Lab

pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="the extra otel is not installed")


@dataclass
class Receiver:
    url: str = ""
    bodies: list[tuple[str, bytes]] = field(default_factory=list)

    def spans(self) -> list[Any]:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        requests = [ExportTraceServiceRequest.FromString(body) for path, body in self.bodies if path == "/v1/traces"]
        return [s for r in requests for one in r.resource_spans for scope in one.scope_spans for s in scope.spans]

    def metrics(self) -> dict[str, Any]:
        from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

        requests = [ExportMetricsServiceRequest.FromString(body) for path, body in self.bodies if path == "/v1/metrics"]
        found = [
            m for r in requests for one in r.resource_metrics for scope in one.scope_metrics for m in scope.metrics
        ]
        return {one.name: one for one in found}


@contextmanager
def receiver() -> Iterator[Receiver]:
    found = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.bodies.append((self.path, gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *words: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def attributes(span: Any) -> dict[str, Any]:
    values = {one.key: one.value for one in span.attributes}
    return {key: value.string_value or value.int_value or value.double_value for key, value in values.items()}


@pytest.mark.slow
def test_a_run_is_one_trace_of_cycles_phases_agents_and_checks(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path / "lab", extra="checks: {test: 'python3 -c pass', lint: null}\n")
    lab.add("Add division")
    with receiver() as collector:
        process = lab.spawn("run", "1", OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, out + err
    spans = collector.spans()

    assert len({span.trace_id for span in spans}) == 1
    by_id = {span.span_id: span for span in spans}
    assert len(by_id) == len(spans)

    def parents(span: Any) -> list[str]:
        above = by_id.get(span.parent_span_id)
        return [] if above is None else [above.name, *parents(above)]

    tree = {(span.name, *parents(span)) for span in spans}
    assert ("task 1",) in tree
    assert ("implement", "cycle 0", "task 1") in tree or ("implement", "cycle 1", "task 1") in tree
    assert any(one[0].startswith("agent ") and one[1] == "implement" and one[-1] == "task 1" for one in tree)
    assert any(one[0].startswith("check ") and one[1] == "check" and one[-1] == "task 1" for one in tree)
    assert any(one[0] == "review" and one[-1] == "task 1" for one in tree)
    assert all(one[-1] == "task 1" for one in tree)
    for span in spans:
        assert span.start_time_unix_nano <= span.end_time_unix_nano
        above = by_id.get(span.parent_span_id)
        assert above is None or above.end_time_unix_nano >= span.end_time_unix_nano - 50_000_000
    run = next(span for span in spans if span.name == "task 1")
    assert attributes(run)["burnish.status"] == "verified"
    metrics = collector.metrics()
    assert {"burnish.phases", "burnish.phase.duration", "burnish.tokens"} <= metrics.keys()
    assert sum(point.as_int for point in metrics["burnish.phases"].sum.data_points) >= 3


@pytest.mark.slow
def test_json_lines_are_all_that_a_run_prints_on_stderr(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path / "lab", extra="checks: {test: 'python3 -c pass', lint: null}\n")
    lab.add("Add division")
    process = lab.spawn("run", "1", "--log-format", "json")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, out + err
    lines = [json.loads(line) for line in err.splitlines()]

    assert lines and all({"time", "level", "message"} <= line.keys() for line in lines)
    phases = [line["phase"] for line in lines if line.get("event") == "phase.finished"]
    assert phases[0] == "implement" and "check" in phases and "review" in phases
    assert {line["task"] for line in lines if "task" in line} == {1}
    assert len({line["trace_id"] for line in lines if line.get("run")}) == 1

    process = lab.spawn("run", "99", BURNISH_LOG="json")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    error = json.loads(err.splitlines()[-1])
    assert error["level"] == "error" and "99" in error["message"]


def test_secrets_are_not_in_the_log(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from burnish.cli.output import tell

    secret = "sk-proj-0123456789abcdefghijABCDEFGHIJ"
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    monkeypatch.setenv("BURNISH_LOG", "json")
    tell(f"the key is {secret}")
    line = json.loads(capsys.readouterr().err)
    assert secret not in line["message"] and line["message"].startswith("the key is")


def event(type: str, **data: Any) -> RecordedEvent:
    return RecordedEvent(1, "2026-01-01T00:00:00.000Z", "p", 7, 1, 1, type, data)


def test_a_report_that_fails_does_not_fail_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BURNISH_LOG", "json")
    telemetry.observers.cache_clear()
    try:
        monkeypatch.setattr(sys, "stderr", None)
        for observe in telemetry.observers():
            observe([event("phase.failed", phase="implement", error="X")])
    finally:
        telemetry.observers.cache_clear()


def test_a_process_without_the_variables_loads_nothing_of_opentelemetry(hermetic: object) -> None:
    code = (
        "import sys, burnish.runtime.app, burnish.adapters.telemetry as t; t.observers();"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_opentelemetry_is_off_unless_an_endpoint_is_set() -> None:
    assert not telemetry.wants_otel({})
    assert not telemetry.wants_otel({"OTEL_SERVICE_NAME": "x"})
    assert telemetry.wants_otel({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"})
    assert telemetry.wants_otel({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x"})
    assert not telemetry.wants_otel({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "true"})
