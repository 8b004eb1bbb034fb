"""`make projects`: init, add and run on real projects, as a new user would, with a scripted author.

    python -m tools.projects FOLDER [NAME…] [--work DIR] [--bug NAME FILE OLD NEW] [--record]

FOLDER holds clones of projects; each is cloned again and never written to. For each project:

1. `burnish init --try`, with settings of a home of its own; nothing is edited by hand.
2. A task whose author appends a comment to a source file: it must end verified.
3. A second such task: it must install nothing.
4. A task whose author plants a bug: it must not end verified.

The bugs are in tools/projects.toml. Prints the results as a Markdown table; --record writes it to docs/projects.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from tools.projects_page import ProjectResult, TaskResult, row, table, write

TABLE = Path(__file__).with_suffix(".toml")
BURNISH = (sys.executable, "-m", "burnish.cli", "--plain")
LIMIT_SECONDS = 1200
FIRST, SECOND, BROKEN = "Explain the first module", "Explain the second module", "Simplify the module"
_COMMENTS = {".py": "# {}", ".pyi": "# {}", ".rb": "# {}", ".sh": "# {}", ".c": "/* {} */", ".h": "/* {} */"}


@dataclass(frozen=True)
class PlantedBug:
    """One replacement in one file that the project's own tests notice."""

    file: str
    old: str
    new: str
    # gets the comment of the harmless change; "" for the same file
    harmless: str = ""

    @property
    def comment(self) -> str:
        suffix = Path(self.harmless or self.file).suffix
        return _COMMENTS.get(suffix, "// {}").format("Explained elsewhere.") + "\n"

    def script(self) -> list[dict[str, Any]]:
        """What the author and the reviewer of the three tasks do. The reviewer approves everything."""
        harmless = {self.harmless or self.file: {"append": self.comment}}
        broken = {self.file: {"replace": {self.old: self.new}}}
        return [
            {"on": "implement", "task": BROKEN, "files": broken, "say": "Simplified."},
            {"on": "implement", "files": harmless, "say": "Explained."},
            {"on": "review", "verdict": "approved", "summary": "Looks good."},
        ]


@dataclass
class Newcomer:
    """A clone of the project, and a home in which burnish has never run."""

    root: Path
    project: Path
    env: dict[str, str] = field(default_factory=dict)

    @classmethod
    def make(cls, root: Path, source: Path, bug: PlantedBug) -> Newcomer:
        project = root / source.name
        root.mkdir(parents=True)
        subprocess.run(["git", "clone", "-q", "--no-hardlinks", str(source), str(project)], check=True)
        script, settings = root / "script.json", root / "config" / "burnish" / "config.yaml"
        script.write_text(json.dumps(bug.script()))
        settings.parent.mkdir(parents=True)
        agents = {"author": {"kind": "scripted", "script": str(script)}}
        review = {"agents": ["author"], "max_cycles": 1}
        settings.write_text(json.dumps({"agent": "author", "agents": agents, "review": review}))
        env = {name: value for name, value in os.environ.items() if not name.startswith("BURNISH")}
        env |= {"BURNISH_HOME": str(root / "home"), "XDG_CONFIG_HOME": str(root / "config")}
        env["BURNISH__NOTIFY__DESKTOP"] = "false"
        return cls(root, project, env)

    def burnish(self, *words: str) -> tuple[int, str]:
        """The exit code and what went to standard output; everything is kept in log.txt."""
        argv = [*BURNISH, *words]
        done = subprocess.run(
            argv, cwd=self.project, env=self.env, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
        )
        with (self.root / "log.txt").open("a") as log:
            log.write(f"$ burnish {' '.join(words)}\n{done.stdout}{done.stderr}[exit code {done.returncode}]\n")
        return done.returncode, done.stdout

    def environments(self) -> set[str]:
        return {str(path) for path in (self.root / "home" / "environments").glob("*/[!.]*")}

    def run(self, title: str) -> TaskResult:
        _, added = self.burnish("add", title, "--json")
        number = str(json.loads(added)["id"])
        before = self.environments()
        began = time.monotonic()
        self.burnish("run", number)
        seconds = time.monotonic() - began
        shown = json.loads(self.burnish("show", number, "--json")[1])
        checks = [check for cycle in shown["cycles"] for check in cycle["checks"]]
        new = [name for check in checks for name in check["new"]]
        note, titles = str(shown.get("note") or ""), [finding["title"] for finding in shown["findings"]]
        why = next(iter(titles), note) if shown["status"] == "blocked" else note or next(iter(titles), "")
        prepared = preparation_seconds(shown["events"])
        return TaskResult(shown["status"], seconds, prepared, self.environments() - before, tuple(new), why)


def preparation_seconds(events: Sequence[dict[str, Any]]) -> float | None:
    """From the start of the run to the first call of the author; None if it was not called."""
    times = {event["type"]: datetime.fromisoformat(event["ts"]) for event in reversed(events)}
    if "run.started" not in times or "phase.started" not in times:
        return None
    return (times["phase.started"] - times["run.started"]).total_seconds()


def try_project(source: Path, bug: PlantedBug, work: Path) -> ProjectResult:
    newcomer = Newcomer.make(work / source.name, source, bug)
    _, printed = newcomer.burnish("init", "--try", "--json")
    found = json.loads(printed)
    languages = sorted({part["language"] for part in found["projects"]})
    settings = {one["key"]: one["value"] for one in found["settings"]}
    trial = found.get("trial") or {"usable": False, "steps": []}
    result = ProjectResult(source.name, ", ".join(languages), settings, trial)
    if not trial["usable"]:
        return result
    result.good = newcomer.run(FIRST)
    result.second = newcomer.run(SECOND)
    result.broken = newcomer.run(BROKEN)
    return result


def load_bugs(file: Path = TABLE) -> dict[str, PlantedBug]:
    return {name: PlantedBug(**entry) for name, entry in tomllib.loads(file.read_text("utf-8")).items()}


def parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tools.projects", description="burnish on real projects")
    parser.add_argument("folder", type=Path, help="a folder with clones of projects")
    parser.add_argument("names", nargs="*", help="only these; else all that have an entry in the table of bugs")
    parser.add_argument("--work", type=Path, help="where to work (kept); else a temporary folder")
    parser.add_argument("--bug", nargs=4, action="append", default=[], metavar=("NAME", "FILE", "OLD", "NEW"))
    parser.add_argument("--record", action="store_true", help="write the table to docs/projects.md")
    return parser.parse_args(argv)


def main(argv: Sequence[str]) -> int:
    chosen = parse(argv)
    bugs = load_bugs() | {name: PlantedBug(*words) for name, *words in chosen.bug}
    sources = [chosen.folder / name for name in chosen.names or sorted(bugs) if (chosen.folder / name).is_dir()]
    if missing := [source.name for source in sources if source.name not in bugs]:
        print(f"No bug is known for {', '.join(missing)}: add it to {TABLE.name} or give --bug.", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        work = (chosen.work or Path(scratch)).resolve()
        results = []
        for source in sources:
            results.append(try_project(source.resolve(), bugs[source.name], work))
            print(row(results[-1]), flush=True)
    print(f"\n{table(results)}")
    if chosen.record:
        write(results)
    return 0 if all(result.good_and_bad_told_apart for result in results) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
