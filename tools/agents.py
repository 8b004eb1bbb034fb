"""`make agents`: the real agent programs, each in its own folder and home, against a model on loopback.

python -m tools.agents [NAME…] [--only TRIAL…] [--record]     results go to docs/agents.md
"""

from __future__ import annotations

import argparse
import json
import platform
import time
import traceback
from pathlib import Path
from typing import Any

from tools.agent_bench import Lacks
from tools.agent_programs import PROGRAMS, Program, place
from tools.agent_trials import TRIALS

PAGE = Path(__file__).parents[1] / "docs" / "agents.md"
BEGIN, END = "<!-- written by make agents: begin -->", "<!-- written by make agents: end -->"


def tried(program: Program, only: list[str]) -> dict[str, Any]:
    """Every trial's remark and time; what went wrong instead, if it did."""
    why = program.unable or program.install()
    if why:
        print(f"{program.name}: not run: {why}")
        return {"version": program.version, "unable": why, "trials": {}}
    found: dict[str, Any] = {}
    for name, trial in TRIALS.items():
        if only and name not in only:
            continue
        begun = time.monotonic()
        lacks = ""
        try:
            told, good = trial(program), True
        except Lacks as missing:
            told, good, lacks = str(missing), True, str(missing)
        except Exception as problem:
            told, good = f"{type(problem).__name__}: {str(problem)[:400]}", False
            if not isinstance(problem, AssertionError):
                told += "\n" + traceback.format_exc(limit=-3)
        took = round(time.monotonic() - begun, 1)
        found[name] = {"good": good, "told": told, "seconds": took, "lacks": lacks}
        word = "–" if lacks else "ok" if good else "FAILED"
        print(f"{program.name:9} {name:30} {took:6.1f} s  {word:6} {told}", flush=True)
    return {"version": program.version, "unable": "", "trials": found}


def kept(results: dict[str, Any] | None = None) -> dict[str, Any]:
    """What earlier runs found, so that one program can be tried alone."""
    path = place() / "results.json"
    if results is not None:
        path.write_text(json.dumps(results, indent=1))
        return results
    return dict(json.loads(path.read_text())) if path.exists() else {}


def table(results: dict[str, Any]) -> str:
    names = [name for name in PROGRAMS if results.get(name, {}).get("trials")]
    rows = [
        ["trial", *(f"{name} {results[name]['version']}" for name in names)],
        ["---"] * (len(names) + 1),
        *([trial, *(_cell(trial, results[name]["trials"].get(trial)) for name in names)] for trial in TRIALS),
    ]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    for name in PROGRAMS:
        if why := results.get(name, {}).get("unable"):
            lines.append(f"\n**{name}** was not run: {why}.")
    machine = f"{platform.system()}, Python {platform.python_version()}"
    written = f"Last written on {time.strftime('%Y-%m-%d')}, {machine}."
    return "\n".join([*lines, "", f"{written} A trial keeps the result of its last run; seconds depend on the load."])


def _cell(trial: str, found: dict[str, Any] | None) -> str:
    if found is None:
        return "not run"
    if not found["good"]:
        return f"**failed**: {found['told'].splitlines()[0][:80]}".replace("|", "/")
    if trial == "start-up":
        return str(found["told"])
    return f"– ({found['lacks']})" if found.get("lacks") else f"yes, {found['seconds']} s"


def write(results: dict[str, Any]) -> None:
    text = PAGE.read_text()
    head, _, rest = text.partition(BEGIN)
    tail = rest.partition(END)[2]
    PAGE.write_text(f"{head}{BEGIN}\n{table(results)}\n{END}{tail}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="make agents", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*PROGRAMS, []], help="which programs; all if left out")
    parser.add_argument("--only", nargs="+", default=[], help="which trials")
    parser.add_argument("--record", action="store_true", help="write tests/agents/samples anew instead")
    given = parser.parse_args()
    place().mkdir(parents=True, exist_ok=True)
    programs = [PROGRAMS[name] for name in given.names or PROGRAMS]
    if given.record:
        from tools.agent_samples import record

        for program in programs:
            print(program.unable or program.install() or record(program))
        return 0
    for program in programs:
        found = tried(program, given.only)
        # read anew each time: another run may try another program meanwhile
        results = kept()
        if given.only:
            found["trials"] = {**results.get(program.name, {}).get("trials", {}), **found["trials"]}
        write(kept({**results, program.name: found}))
    results = kept()
    return int(any(not trial["good"] for found in results.values() for trial in found["trials"].values()))


if __name__ == "__main__":
    raise SystemExit(main())
