"""What one more task costs when there are 1, 100 or 1,000: the curve should be flat."""

from __future__ import annotations

import json
from contextlib import ExitStack

from bench.ground import Ground, ground
from bench.reading import fill
from bench.verified_tasks import copy_verified

RUNS = 9


def status_among_many(tasks: int = 10_000, events: int = 100_000) -> None:
    with ground() as place:
        fill(place, tasks, events)
        for argv in (("status",), ("status", "--json")):
            taken = min(place.cpu_seconds("burnish", *argv) for _ in range(5))
            print(
                f"{' '.join(argv)} with {tasks:,} tasks and {events:,} events: {taken:.2f} s of CPU (promise: 0.25 s)"
            )


def run_among_verified(counts: tuple[int, ...] = (1, 100, 1000)) -> None:
    """In turn, so that what else the machine does at the time is the same for all."""
    with ExitStack() as stack:
        places = {count: stack.enter_context(ground()) for count in counts}
        for count, place in places.items():
            place.burnish("add", "First")
            place.burnish("run", "1")
            copy_verified(place, count - 1)
        taken: dict[int, list[float]] = {count: [] for count in counts}
        for _ in range(RUNS):
            for count, place in places.items():
                taken[count].append(_run_one_more(place))
        first = min(taken[counts[0]])
        for count, place in places.items():
            best = min(taken[count])
            print(
                f"a run of one task among {count:>5,} verified: {best:.2f} s of CPU = {best / first:.2f} x that "
                f"among 1 (promise: 1.05 x); {place.loose_objects()} loose objects and {place.packs()} packs"
            )


def _run_one_more(place: Ground) -> float:
    number = json.loads(place.burnish("add", "One more", "--json"))["id"]
    return place.cpu_seconds("burnish", "run", number)


def main() -> None:
    status_among_many()
    run_among_verified()


if __name__ == "__main__":
    main()
