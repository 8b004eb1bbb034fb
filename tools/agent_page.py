"""What `make agents` found, as tables in docs/agent-trials.md."""

from __future__ import annotations

import platform
import re
import time
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tools.agent_programs import APIS, PROGRAMS
from tools.agent_trials import API_TRIALS, TRIALS

PAGE = Path(__file__).parents[1] / "docs" / "agent-trials.md"
BEGIN, END = "<!-- written by make agents: begin -->", "<!-- written by make agents: end -->"


def write(results: Mapping[str, Any]) -> None:
    text = PAGE.read_text()
    head, _, rest = text.partition(BEGIN)
    written, _, tail = rest.partition(END)
    PAGE.write_text(f"{head}{BEGIN}\n{page(results, written_cells(written))}\n{END}{tail}")


# By the heading of its column and the name of its row.
Cells = Mapping[tuple[str, str], str]


def written_cells(text: str) -> Cells:
    """The cells of the page as it is: results of another machine, whose file of results is not here."""
    cells: dict[tuple[str, str], str] = {}
    columns: list[str] = []
    for line in text.splitlines():
        row = [cell.strip() for cell in line.strip("|").split(" | ")] if line.startswith("| ") else []
        if row and row[0].startswith("trial"):
            columns = row[1:]
        elif row and row[0] != "---":
            cells |= {(column, row[0]): cell for column, cell in zip(columns, row[1:], strict=False)}
    return cells


def page(results: Mapping[str, Any], written: Cells = MappingProxyType({})) -> str:
    headings = {
        name: f"{name} {results.get(name, {}).get('version', program.version)}" for name, program in PROGRAMS.items()
    }
    known = {column for column, _ in written}
    programs = {name: text for name, text in headings.items() if _ran(results, name) or text in known}
    newest = _newest(results, known)
    apis = {f"llm {name}": name for name in APIS if _ran(results, f"llm {name}") or name in known}
    lines = table("trial", programs, tuple(TRIALS), results, written)
    for name in PROGRAMS:
        if why := results.get(name, {}).get("unable") or PROGRAMS[name].unable:
            lines.append(f"\n**{name}** was not run: {why}.")
    if newest:
        lines += ["", "The newest versions, as far as they were tried:", ""]
        lines += table("trial of the newest", newest, tuple(TRIALS), results, written)
    if apis:
        lines += ["", "`llm`, which asks a model without a program in between, by whose wire:", ""]
        lines += table("trial of `llm`", apis, API_TRIALS, results, written)
    machine = f"{platform.system()}, Python {platform.python_version()}"
    written = f"Last written on {time.strftime('%Y-%m-%d')}, {machine}."
    return "\n".join([*lines, "", f"{written} A trial keeps the result of its last run; seconds depend on the load."])


def _newest(results: Mapping[str, Any], known: Set[str]) -> dict[str, str]:
    """Columns of the newest versions; of the headings of the page, those that are newer than what the adapter names."""
    columns: dict[str, str] = {}
    for name, program in PROGRAMS.items():
        newer = [text for text in known if text.startswith(f"{name} ") and _version(text) > _version(program.version)]
        if _ran(results, f"newest {name}"):
            columns[f"newest {name}"] = f"{name} {results[f'newest {name}']['version']}"
        elif newer:
            columns[f"newest {name}"] = max(newer, key=_version)
    return columns


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text))


def _ran(results: Mapping[str, Any], label: str) -> bool:
    return bool(results.get(label, {}).get("trials"))


def table(
    corner: str, columns: Mapping[str, str], trials: Sequence[str], results: Mapping[str, Any], written: Cells
) -> list[str]:
    def text(label: str, trial: str) -> str:
        found = results.get(label, {}).get("trials", {}).get(trial)
        return cell(trial, found) if found else written.get((columns[label], trial), "not run")

    rows = [
        [corner, *columns.values()],
        ["---"] * (len(columns) + 1),
        *([trial, *(text(label, trial) for label in columns)] for trial in trials),
    ]
    return ["| " + " | ".join(row) + " |" for row in rows]


def cell(trial: str, found: Mapping[str, Any]) -> str:
    if not found["good"]:
        return f"**failed**: {found['told'].splitlines()[0][:80]}".replace("|", "/")
    if found.get("lacks"):
        return f"– ({found['lacks']})"
    return str(found["told"]) if trial in ("start-up", "money") else f"yes, {found['seconds']} s"
