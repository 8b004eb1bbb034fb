"""A task in a repository of 100,000 files, compared with `git worktree add`: `python -m bench many_files [FILES]`."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bench.ground import Ground, ground
from bench.pages import write_block
from burnish.git.files import disk_usage

FILES = 100_000
ROUNDS = 3
GOAL = 1.3
APPROVER = r"""#!/bin/sh
number=$(sed -n 's/.*burnish-verdict \([0-9a-f]\{6,\}\).*/\1/p' | head -n 1)
body='"verdict": "approved", "prior": [], "findings": []'
printf '```burnish-verdict %s\n{"summary": "s", "inspected": ["app.py"], "compliance": [], %s}\n```\n' "$number" "$body"
"""
# (seconds, seconds of CPU)
Cost = tuple[float, float]


def main() -> None:
    files = next((int(word) for word in sys.argv[1:] if word.isdecimal()), FILES)
    modes = ["auto", "off"] if shutil.which("bwrap") else ["off"]
    lines = [
        f"| a task with one check, one cycle, {files:,} files | first task of a base | further task | "
        "ratio to `git worktree add`, processor time | the same, time | home after it, MB |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for mode in modes:
        lines.append(_row(mode, files))
        print(lines[-1], flush=True)
    text = "\n".join(lines)
    write_block("docs/performance.md", "python -m bench many_files", text)


def _row(mode: str, files: int) -> str:
    with ground(1) as place:
        small = _tasks(place, mode)[1:]
    with ground(files) as place:
        place.git("repack", "-adq")
        worktree = min((_worktree(place, number) for number in range(ROUNDS)), key=lambda cost: cost[1])
        first, *others = _tasks(place, mode)
        home = disk_usage(Path(place.env["BURNISH_HOME"])) / 1e6
    least, fixed = (min(costs, key=lambda cost: cost[1]) for costs in (others, small))
    ratios = [(one - without) / alone for one, without, alone in zip(least, fixed, worktree, strict=True)]
    name = "with a sandbox" if mode == "auto" else "without a sandbox"
    return (
        f"| {name} | {first[1]:.1f} s CPU | {least[1]:.1f} s CPU, of which {fixed[1]:.1f} with one file | "
        f"{ratios[1]:.2f} x {worktree[1]:.1f} s (goal {GOAL}) | {ratios[0]:.2f} x {worktree[0]:.1f} s | {home:.0f} |"
    )


def _tasks(place: Ground, mode: str) -> list[Cost]:
    """Each is a run of its own."""
    (place.root / "judge").write_text(APPROVER)
    settings = (place.repo / "burnish.yaml").read_text().replace("test: null", 'test: "test -f app.py"')
    (place.repo / "burnish.yaml").write_text(f"{settings}sandbox: {{mode: {mode}}}\n")
    place.git("commit", "-qam", "settings")
    place.burnish("trust")
    costs = []
    for number in range(ROUNDS + 1):
        place.burnish("add", f"Task {number}")
        costs.append(_cost(lambda: place.cpu_seconds("burnish", "run")))
    return costs


def _worktree(place: Ground, number: int) -> Cost:
    folder = place.root / f"tree-{number}"
    cost = _cost(lambda: place.cpu_seconds("git", "worktree", "add", "-q", "--detach", folder, "HEAD"))
    place.git("worktree", "remove", "--force", str(folder))
    return cost


def _cost(run: Callable[[], float]) -> Cost:
    start = time.perf_counter()
    cpu = run()
    return time.perf_counter() - start, cpu


if __name__ == "__main__":
    main()
