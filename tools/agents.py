"""`make agents`: the real agent programs, each in its own folder and home, against a model on loopback.

python -m tools.agents [NAME…] [--only TRIAL…] [--newest] [--record]     results go to docs/agent-trials.md

`--newest` tries the newest version of each program after the one that its adapter names; their results are a table of
their own.

Two programs are tried at a time, each by a process of its own; start-up is measured at the end, alone.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tools.agent_bench import Lacks
from tools.agent_page import write
from tools.agent_programs import APIS, PROGRAMS, Program, place
from tools.agent_trials import API_TRIALS, TRIALS

ALONE = "start-up"
NEWEST = "newest "
EVERY = {**PROGRAMS, **{f"llm {name}": api for name, api in APIS.items()}}


def tried(label: str, program: Program, wanted: Sequence[str]) -> dict[str, Any]:
    """Every trial's remark and time; what went wrong instead, if it did."""
    why = program.unable or program.install()
    if why:
        print(f"{label}: not run: {why}", flush=True)
        return {"version": program.version, "unable": why, "trials": {}}
    found: dict[str, Any] = {}
    for name in (name for name in TRIALS if name in wanted):
        begun, lacks = time.monotonic(), ""
        try:
            told, good = TRIALS[name](program), True
        except Lacks as missing:
            told, good, lacks = str(missing), True, str(missing)
        except Exception as problem:
            told, good = f"{type(problem).__name__}: {str(problem)[:400]}", False
            if not isinstance(problem, AssertionError):
                told += "\n" + traceback.format_exc(limit=-3)
        took = round(time.monotonic() - begun, 1)
        found[name] = {"good": good, "told": told, "seconds": took, "lacks": lacks}
        word = "–" if lacks else "ok" if good else "FAILED"
        print(f"{label:14} {name:30} {took:6.1f} s  {word:6} {told}", flush=True)
    return {"version": program.version, "unable": "", "trials": found}


def program_of(label: str) -> Program:
    """The program of a column; of `newest NAME` the newest version, which is found out once more by each process."""
    return EVERY[label.removeprefix(NEWEST)].newest() if label.startswith(NEWEST) else EVERY[label]


def trials_of(label: str, only: Sequence[str]) -> list[str]:
    whole = API_TRIALS if EVERY[label.removeprefix(NEWEST)].only_reviews else tuple(TRIALS)
    return [name for name in whole if not only or name in only]


def in_a_process(label: str, wanted: Sequence[str]) -> dict[str, Any]:
    """The environment is a process's own, and every trial sets it."""
    if not wanted:
        program = EVERY[label.removeprefix(NEWEST)]
        return {"version": program.version, "unable": program.unable, "trials": {}}
    with tempfile.NamedTemporaryFile() as file:
        argv = [sys.executable, "-m", "tools.agents", label, "--to", file.name, "--only", *wanted]
        subprocess.run(argv, cwd=Path(__file__).parents[1], check=True)
        return dict(json.loads(Path(file.name).read_text()))


def kept(results: dict[str, Any] | None = None) -> dict[str, Any]:
    """What earlier runs found, so that one program can be tried alone."""
    path = place() / "results.json"
    if results is not None:
        path.write_text(json.dumps(results, indent=1))
        return results
    return dict(json.loads(path.read_text())) if path.exists() else {}


def keep(label: str, found: dict[str, Any], *, replace: bool) -> None:
    results = kept()
    if not replace:
        found["trials"] = {**results.get(label, {}).get("trials", {}), **found["trials"]}
    write(kept({**results, label: found}))


def all_of_them(labels: Sequence[str], only: Sequence[str]) -> int:
    def most(label: str) -> dict[str, Any]:
        return in_a_process(label, [name for name in trials_of(label, only) if name != ALONE])

    with ThreadPoolExecutor(2) as pool:
        for label, found in zip(labels, pool.map(most, labels), strict=True):
            keep(label, found, replace=not only)
    for label in labels:
        if ALONE in trials_of(label, only):
            keep(label, in_a_process(label, [ALONE]), replace=False)
    results = kept()
    return int(any(not trial["good"] for label in labels for trial in results[label]["trials"].values()))


def main() -> int:
    parser = argparse.ArgumentParser(prog="make agents", description=__doc__)
    labels = [*EVERY, *(f"{NEWEST}{name}" for name in PROGRAMS)]
    parser.add_argument("names", nargs="*", choices=[*labels, []], help="which programs; all if left out")
    parser.add_argument("--newest", action="store_true", help="also try the newest version of each program")
    parser.add_argument("--only", nargs="+", default=[], choices=list(TRIALS), help="which trials")
    parser.add_argument("--record", action="store_true", help="write tests/agents/samples again instead")
    parser.add_argument("--to", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    place().mkdir(parents=True, exist_ok=True)
    labels = given.names or list(EVERY)
    if given.newest:
        labels += [f"{NEWEST}{name}" for name in labels if name in PROGRAMS and not PROGRAMS[name].unable]
    if given.to:
        given.to.write_text(json.dumps(tried(labels[0], program_of(labels[0]), given.only)))
        return 0
    if given.record:
        from tools.agent_samples import record

        for program in (PROGRAMS[name] for name in labels if name in PROGRAMS):
            print(program.unable or program.install() or record(program))
        return 0
    return all_of_them(labels, given.only)


if __name__ == "__main__":
    raise SystemExit(main())
