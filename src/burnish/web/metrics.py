"""`/metrics`: counts of the database and of this server, as Prometheus reads them."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from fastapi import APIRouter, Request, Response

from burnish.features.server.registry import ProjectRegistry
from burnish.store.metrics import BUCKETS, StoreCounts
from burnish.web.deps import RegistryDep

router = APIRouter(include_in_schema=False)

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# upper limits, in seconds
HTTP_BUCKETS = (0.01, 0.05, 0.25, 1.0, 5.0)
LAG_BUCKETS = (0.05, 0.25, 1.0, 5.0, 60.0)
# a path that no route has: strangers must not be able to create labels
UNMATCHED = "unmatched"

Labels = Mapping[str, object]
Sample = tuple[str, Labels, float]


@dataclass
class Histogram:
    limits: tuple[float, ...]
    counts: list[int] = field(default_factory=list)
    total: float = 0.0
    number: int = 0

    def observe(self, value: float) -> None:
        self.counts = self.counts or [0] * len(self.limits)
        for at, limit in enumerate(self.limits):
            self.counts[at] += value <= limit
        self.total += value
        self.number += 1

    def samples(self, name: str, labels: Labels) -> Iterator[Sample]:
        counts = self.counts or [0] * len(self.limits)
        yield from _histogram(name, labels, zip(self.limits, counts, strict=True), self.number, self.total)


class ServerCounts:
    """What this process has counted since its start."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: dict[tuple[str, int], Histogram] = {}
        self._lag = Histogram(LAG_BUCKETS)

    def request(self, label: str, status: int, seconds: float) -> None:
        with self._lock:
            key = (label or UNMATCHED, status)
            self._requests.setdefault(key, Histogram(HTTP_BUCKETS)).observe(seconds)

    def event_sent(self, lag: float) -> None:
        """`lag`: seconds from the event to its sending to a browser."""
        with self._lock:
            self._lag.observe(max(lag, 0.0))

    def samples(self) -> list[Sample]:
        with self._lock:
            found: list[Sample] = []
            for (label, status), one in sorted(self._requests.items()):
                method, _, route = label.rpartition(" ")
                labels = {"method": method, "route": route, "status": status}
                found += one.samples("burnish_http_request_seconds", labels)
            found += self._lag.samples("burnish_event_lag_seconds", {})
            return found


@router.get("/metrics")
def metrics(request: Request, registry: RegistryDep) -> Response:
    counts: ServerCounts = request.app.state.counts
    samples = [*_of_store(registry.store.counts()), *_of_server(registry), *counts.samples()]
    return Response("".join(_lines(samples)), media_type=CONTENT_TYPE)


def _of_store(counts: StoreCounts) -> Iterator[Sample]:
    for (project, status), number in counts.tasks.items():
        yield "burnish_tasks", {"project": project, "status": status}, number
    for project, number in counts.queue.items():
        yield "burnish_queue_length", {"project": project}, number
    for one in counts.phases:
        labels = {"project": one.project, "phase": one.phase}
        yield "burnish_phases_total", {**labels, "state": one.state}, one.number
        if one.state != "started":
            buckets = ((float(limit), one.buckets[limit]) for limit in BUCKETS)
            labels = {**labels, "state": one.state}
            yield from _histogram("burnish_phase_seconds", labels, buckets, one.number, one.seconds)
    for agent in counts.agents:
        labels = {"project": agent.project, "agent": agent.agent}
        yield "burnish_agent_calls_total", labels, agent.calls
        yield "burnish_agent_cost_usd_total", labels, agent.cost_usd
        yield "burnish_agent_tokens_total", labels, agent.tokens


def _of_server(registry: ProjectRegistry) -> Iterator[Sample]:
    alive = [one for one in registry.store.runners() if registry.alive(str(one["id"]))]
    yield "burnish_runners", {}, len(alive)
    for limit in registry.limits():
        yield "burnish_usage_limit", {"login": limit.login}, 1


def _histogram(
    name: str, labels: Labels, buckets: Iterable[tuple[float, int]], number: int, total: float
) -> Iterator[Sample]:
    for limit, count in buckets:
        yield f"{name}_bucket", {**labels, "le": f"{limit:g}"}, count
    yield f"{name}_bucket", {**labels, "le": "+Inf"}, number
    yield f"{name}_sum", labels, total
    yield f"{name}_count", labels, number


# name → type and help
_FAMILIES = {
    "burnish_tasks": ("gauge", "Tasks by project and status."),
    "burnish_queue_length": ("gauge", "Tasks that a runner could take now."),
    "burnish_phases_total": ("counter", "Phases by state: started (still open), finished, failed."),
    "burnish_phase_seconds": ("histogram", "How long phases took."),
    "burnish_agent_calls_total": ("counter", "Phases in which an agent worked."),
    "burnish_agent_cost_usd_total": ("counter", "Known cost of agents, in dollars."),
    "burnish_agent_tokens_total": ("counter", "Tokens of agents."),
    "burnish_runners": ("gauge", "Runners that are alive."),
    "burnish_usage_limit": ("gauge", "1 while the plan of a login is used up."),
    "burnish_http_request_seconds": ("histogram", "Requests to this server by route and status, since its start."),
    "burnish_event_lag_seconds": ("histogram", "From an event to its sending to a browser, since the start."),
}


def _lines(samples: Iterable[Sample]) -> Iterator[str]:
    by_family: dict[str, list[Sample]] = {name: [] for name in _FAMILIES}
    for sample in samples:
        name = sample[0]
        family = next(one for one in (name, name.rpartition("_")[0]) if one in by_family)
        by_family[family].append(sample)
    for family, found in by_family.items():
        kind, words = _FAMILIES[family]
        yield f"# HELP {family} {words}\n# TYPE {family} {kind}\n"
        for name, labels, value in found:
            pairs = ",".join(f'{key}="{_escaped(str(one))}"' for key, one in labels.items())
            yield f"{name}{{{pairs}}} {_number(value)}\n" if pairs else f"{name} {_number(value)}\n"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
