"""A task in a repository of 100,000 files, compared with `git worktree add`: `python -m bench many_files [FILES]`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import gettempdir

from bench.ground import Ground, ground
from bench.pages import write_block
from burnish.git.files import disk_usage

FILES = 100_000
# without a sandbox, each phase writes and removes all files: a minute and more per task with FILES
FILES_WITHOUT = 20_000
ROUNDS = 2
GOAL = 1.3
APPROVER = r"""#!/bin/sh
number=$(sed -n 's/.*burnish-verdict \([0-9a-f]\{6,\}\).*/\1/p' | head -n 1)
body='"verdict": "approved", "prior": [], "findings": []'
printf '```burnish-verdict %s\n{"summary": "s", "inspected": ["app.py"], "compliance": [], %s}\n```\n' "$number" "$body"
"""


def main() -> None:
    files = next((int(word) for word in sys.argv[1:] if word.isdecimal()), FILES)
    rows = [("off", min(files, FILES_WITHOUT))]
    if shutil.which("bwrap"):
        rows.insert(0, ("auto", files))
    lines = [
        "| a task with one check, one cycle | files | first task | further task | `git worktree add` | ratio | "
        "without what a task costs with one file | home before and after a further task, MB | one copy, MB |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for mode, count in rows:
        lines.append(_row(mode, count))
        print(lines[-1], flush=True)
    lines += ["", f"Seconds of processor time, on {_file_system()}. The goal is a ratio of {GOAL}."]
    write_block("docs/performance.md", "python -m bench many_files", "\n".join(lines))


def _row(mode: str, files: int) -> str:
    with ground(1) as place:
        fixed = min(_tasks(place, mode, 2)[0][1:])
    with ground(files) as place:
        worktree = min(_worktree(place, number) for number in range(ROUNDS))
        one_copy = disk_usage(place.root / "tree-0") / 1e6
        (first, *others), homes = _tasks(place, mode, ROUNDS + 1)
    least = min(others)
    name = "with a sandbox" if mode == "auto" else "without a sandbox"
    return (
        f"| {name} | {files:,} | {first:.1f} | {least:.1f} | {worktree:.1f} | {least / worktree:.2f} | "
        f"{(least - fixed) / worktree:.2f} | {homes[-2]:.0f}, {homes[-1]:.0f} | {one_copy:.0f} |"
    )


def _tasks(place: Ground, mode: str, count: int) -> tuple[list[float], list[float]]:
    """Processor time of each, and megabytes of the home after it. Each is a run of its own."""
    (place.root / "judge").write_text(APPROVER)
    settings = (place.repo / "burnish.yaml").read_text().replace("test: null", 'test: "test -f app.py"')
    (place.repo / "burnish.yaml").write_text(f"{settings}sandbox: {{mode: {mode}}}\n")
    place.git("commit", "-qam", "settings")
    place.burnish("trust")
    costs, homes = [], []
    for number in range(count):
        place.burnish("add", f"Task {number}")
        costs.append(place.cpu_seconds("burnish", "run"))
        homes.append(disk_usage(Path(place.env["BURNISH_HOME"])) / 1e6)
    return costs, homes


def _worktree(place: Ground, number: int) -> float:
    """It stays until all is removed: removing it may take minutes on a busy disk."""
    folder = place.root / f"tree-{number}"
    return place.cpu_seconds("git", "worktree", "add", "-q", "--detach", folder, "HEAD")


def _file_system() -> str:
    argv = ["df", "--output=fstype", gettempdir()]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()[-1]


if __name__ == "__main__":
    main()
