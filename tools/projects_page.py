"""The table of `tools.projects`: what became of each project, in docs/projects.md."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[1] / "docs" / "projects.md"
BEGIN, END = "<!-- projects: begin -->", "<!-- projects: end -->"
HEADER = (
    "| project | language | set-up and test command that `init` found | tests | set-up, first | set-up, second | "
    "harmless change | planted bug |\n|---|---|---|---|---|---|---|---|"
)


@dataclass(frozen=True)
class TaskResult:
    status: str
    seconds: float
    # until the author was called
    prepared: float | None
    # environments that were made for it
    installed: set[str]
    new_failures: tuple[str, ...]
    why: str


@dataclass
class ProjectResult:
    name: str
    language: str
    settings: dict[str, Any]
    trial: dict[str, Any]
    good: TaskResult | None = None
    second: TaskResult | None = None
    broken: TaskResult | None = None

    @property
    def good_and_bad_told_apart(self) -> bool:
        """Both harmless changes verified, the second without an installation, and the bug not verified."""
        if not (self.good and self.second and self.broken):
            return False
        passed = self.good.status == self.second.status == "verified" and not self.second.installed
        # "failed" would be a task that never got as far as its checks
        return passed and self.broken.status in ("blocked", "waiting_approval", "code_review")


def row(result: ProjectResult) -> str:
    steps = {step["name"]: step for step in result.trial["steps"]}
    first = f"{steps['set-up']['seconds']:.0f} s" if "set-up" in steps else "none"
    cells = (
        result.name,
        result.language,
        _found(result.settings),
        "; ".join(_tests(step) for name, step in steps.items() if name != "set-up") or "not run",
        first if result.trial["usable"] or "set-up" not in steps else f"{first}: {steps['set-up']['result']}",
        _prepared(result.second),
        _outcome(result.good),
        _outcome(result.broken),
    )
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def table(results: Sequence[ProjectResult]) -> str:
    return "\n".join([HEADER, *map(row, results)])


def write(results: Sequence[ProjectResult], page: Path = PAGE) -> None:
    text = page.read_text("utf-8")
    before, rest = text.split(BEGIN)
    page.write_text(f"{before}{BEGIN}\n{table(results)}\n{END}{rest.split(END)[1]}", "utf-8")


def _found(settings: dict[str, Any]) -> str:
    setup = str(settings.get("workspace.setup", "no set-up"))
    # how a virtual environment is made is the same everywhere
    setup = re.sub(r"python3 -m venv \.venv && (?:echo '\*' > \.venv/\.gitignore && )?", "", setup)
    setup = setup.replace(".venv/bin/python -m pip install -q", "pip install")
    test = settings.get("checks.test", "no test")
    return f"`{setup}`; `{test if isinstance(test, str) else ' '.join(test)}`"


def _tests(step: dict[str, Any]) -> str:
    counted = re.match(r"([\d,]+) tests? ran, (?:none|([\d,]+)) failed", step["result"])
    # the first problem of a linter is of no interest here
    text = re.sub(
        r"fails with exit code \d+ before any task.*", "fails before any task", str(step["result"]), flags=re.S
    )
    text = text if not counted else counted[1] + (f", {counted[2]} failed" if counted[2] else "")
    return text if step["name"] == "test" else f"{step['name']} {text}"


def _prepared(task: TaskResult | None) -> str:
    if task is None or task.prepared is None:
        return "–"
    return f"{task.prepared:.1f} s" + (", **installed again**" if task.installed else "")


def _outcome(task: TaskResult | None) -> str:
    if task is None:
        return "not run"
    if task.status == "verified":
        return f"verified ({task.seconds:.0f} s)"
    failures = len(task.new_failures)
    caught = f"{failures} new failure{'' if failures == 1 else 's'}" if failures else task.why
    return f"{task.status}: {caught}"
