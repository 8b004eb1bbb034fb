"""Commands that only read, against the import of two libraries; and with many tasks and events."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

from bench.ground import Ground, ground
from burnish.core.event import Event
from burnish.core.task import Spec
from burnish.store import Store

READING = (("status", "--json"), ("list",), ("show", "1"), ("log", "1"))


def fill(place: Ground, tasks: int, events: int) -> None:
    """Tasks with their share of events, written as burnish writes them."""
    place.burnish("add", "First")
    with Store.open(Path(place.env["BURNISH_HOME"])) as store:
        key = store.projects()[0].key
        for number in range(tasks - 1):
            store.add_task(key, Spec(f"Task {number}", "Something to be done.\n" * 5), max_cycles=3, auto_review=True)
        share = events // tasks
        for number in range(1, tasks + 1):
            said = [Event("phase.progress", {"phase": "implement", "message": f"step {n}"}) for n in range(share)]
            store.record(key, number, said)


def p95(place: Ground, *argv: str, times: int = 20) -> float:
    program = Path(sys.executable).parent / "burnish"
    taken = sorted(place.seconds(program, *argv) for _ in range(times))
    return taken[int(len(taken) * 0.95) - 1]


def against_imports(times: int = 25) -> None:
    """CPU time of a start, taken in turns, so that a busy machine slows all of them alike."""
    program = Path(sys.executable).parent / "burnish"
    commands: dict[str, tuple[str | Path, ...]] = {
        "import typer, pydantic": (sys.executable, "-c", "import typer, pydantic"),
        "burnish status --json": (program, "status", "--json"),
        "burnish --version": (program, "--version"),
    }
    with ground() as place:
        fill(place, 2, 20)
        rounds = [[place.cpu_seconds(*argv) for argv in commands.values()] for _ in range(times)]
    medians = [statistics.median(column) for column in zip(*rounds, strict=True)]
    print(f"CPU time of a start, median of {times} (promise: status at most 0.9 x, --version less than status):")
    for name, seconds in zip(commands, medians, strict=True):
        print(f"  {name:24} {seconds * 1000:4.0f} ms  {seconds / medians[0]:.2f} x")


def with_many(tasks: int = 1000, events: int = 100_000) -> None:
    with ground() as place:
        fill(place, tasks, events)
        print(f"{tasks:,} tasks, {events:,} events, p95 of 20 starts (promise: 0.25 s on a quiet machine):")
        for argv in READING:
            print(f"  burnish {' '.join(argv):16} {p95(place, *argv):.3f} s")
        print(f"  burnish add             {place.seconds('burnish', 'add', 'One more'):.3f} s  (promise: 2 s)")


def main() -> None:
    against_imports()
    with_many()


if __name__ == "__main__":
    main()
