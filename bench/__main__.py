"""`make bench`: ratios measured in one run, never absolute promises about somebody else's machine."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import time

import bench

FIRST = ("reading", "loop", "growth")
NOT_RUN = ("ground", "pages", "verified_tasks", "__main__")


def main() -> None:
    found = [m.name for m in pkgutil.iter_modules(bench.__path__) if m.name not in NOT_RUN]
    wanted = sys.argv[1:] or [*FIRST, *(name for name in found if name not in FIRST)]
    for name in wanted:
        start = time.perf_counter()
        print(f"== {name}", flush=True)
        sys.argv = [f"bench.{name}"]
        importlib.import_module(f"bench.{name}").main()
        print(f"   ({time.perf_counter() - start:.0f} s)\n", flush=True)


if __name__ == "__main__":
    main()
