"""The CPU of a server for one run, among 1 and among 1,000 verified tasks: it should not grow."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time

from bench.ground import Ground, ground
from bench.loop import _as_if_there
from bench.verified_tasks import copy_verified

RUNS = 8
ROUNDS = 3


def cpu_per_run(place: Ground) -> float:
    from burnish.core.status import Status
    from burnish.core.task import Spec
    from burnish.features.server.registry import ProjectRegistry
    from burnish.runtime.requests import RunRequest

    registry = ProjectRegistry.here()
    key, taken = registry.projects()[0].key, []
    for number in range(RUNS + 1):
        task = registry.store.add_task(key, Spec(f"Run {number}"), max_cycles=3, auto_review=True)
        before = resource.getrusage(resource.RUSAGE_SELF)
        registry.begin(registry.open(key), RunRequest(ids=(task.id,)))
        while registry.runs.running(key):
            time.sleep(0.5)
            registry.project(key)  # as a page does that somebody watches
        after = resource.getrusage(resource.RUSAGE_SELF)
        assert registry.store.task(key, task.id).status is Status.VERIFIED
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    registry.close()
    return statistics.median(taken[1:])


def measure(count: int) -> float:
    with ground() as place, _as_if_there(place):
        place.burnish("add", "First")
        place.burnish("run", "1")
        copy_verified(place, count - 1)
        return cpu_per_run(place)


def main(counts: tuple[int, ...] = (1, 1000)) -> None:
    """Each figure comes from processes of its own, in turn: what one leaves in memory slows down the next."""
    figures: dict[int, list[float]] = {count: [] for count in counts}
    for _ in range(ROUNDS):
        for count in counts:
            argv = [sys.executable, "-m", "bench.server", str(count)]
            figures[count].append(float(subprocess.run(argv, check=True, capture_output=True, text=True).stdout))
    first = statistics.median(figures[counts[0]])
    for count, taken in figures.items():
        middle = statistics.median(taken)
        print(f"server among {count:>5,} verified: {middle:.2f} s of its CPU per run = {middle / first:.2f} x")


if __name__ == "__main__":
    print(measure(int(sys.argv[1])))
