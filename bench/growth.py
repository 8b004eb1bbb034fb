"""What one more task costs when there are 1, 100 or 1,000: the curve should be flat."""

from __future__ import annotations

from bench.ground import ground
from bench.reading import fill


def status_among_many(tasks: int = 10_000, events: int = 100_000) -> None:
    with ground() as place:
        fill(place, tasks, events)
        taken = min(place.cpu_seconds("burnish", "status") for _ in range(5))
        print(f"status with {tasks:,} tasks and {events:,} events: {taken:.2f} s of CPU (promise: 0.25 s)")


def main() -> None:
    status_among_many()
    first = None
    for tasks in (1, 100, 1000):
        with ground() as place:
            fill(place, tasks, tasks * 10)
            place.burnish("add", "The one that is run", "--priority", "9")
            taken = place.cpu_seconds("burnish", "run", str(tasks + 1))
            first = first or taken
            print(
                f"a run of one task among {tasks:>5,}: {taken:.2f} s of CPU = {taken / first:.2f} x that among 1 "
                f"(promise: 1.05 x); {place.loose_objects()} loose objects and {place.packs()} packs in the repository"
            )


if __name__ == "__main__":
    main()
