"""What `make agents` found, as tables in docs/agents.md."""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.agent_programs import APIS, PROGRAMS
from tools.agent_trials import API_TRIALS, TRIALS

PAGE = Path(__file__).parents[1] / "docs" / "agents.md"
BEGIN, END = "<!-- written by make agents: begin -->", "<!-- written by make agents: end -->"


def write(results: Mapping[str, Any]) -> None:
    text = PAGE.read_text()
    head, _, rest = text.partition(BEGIN)
    tail = rest.partition(END)[2]
    PAGE.write_text(f"{head}{BEGIN}\n{page(results)}\n{END}{tail}")


def page(results: Mapping[str, Any]) -> str:
    programs = {name: f"{name} {results[name]['version']}" for name in PROGRAMS if _ran(results, name)}
    apis = {f"llm {name}": name for name in APIS if _ran(results, f"llm {name}")}
    lines = table("trial", programs, tuple(TRIALS), results)
    for name in PROGRAMS:
        if why := results.get(name, {}).get("unable"):
            lines.append(f"\n**{name}** was not run: {why}.")
    if apis:
        lines += ["", "`llm`, which asks a model without a program in between, by whose wire:", ""]
        lines += table("trial of `llm`", apis, API_TRIALS, results)
    machine = f"{platform.system()}, Python {platform.python_version()}"
    written = f"Last written on {time.strftime('%Y-%m-%d')}, {machine}."
    return "\n".join([*lines, "", f"{written} A trial keeps the result of its last run; seconds depend on the load."])


def _ran(results: Mapping[str, Any], label: str) -> bool:
    return bool(results.get(label, {}).get("trials"))


def table(corner: str, columns: Mapping[str, str], trials: Sequence[str], results: Mapping[str, Any]) -> list[str]:
    rows = [
        [corner, *columns.values()],
        ["---"] * (len(columns) + 1),
        *([trial, *(cell(trial, results[label]["trials"].get(trial)) for label in columns)] for trial in trials),
    ]
    return ["| " + " | ".join(row) + " |" for row in rows]


def cell(trial: str, found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "not run"
    if not found["good"]:
        return f"**failed**: {found['told'].splitlines()[0][:80]}".replace("|", "/")
    if found.get("lacks"):
        return f"– ({found['lacks']})"
    return str(found["told"]) if trial in ("start-up", "money") else f"yes, {found['seconds']} s"
