"""What the real programs print, kept for the tests of the normal run: `python -m tools.agents --record claude`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from burnish.agents.registry import AGENTS
from burnish.errors import PhaseFailed
from burnish.proc.shim_files import outcome_file
from burnish.review import contract
from testing.model_turns import Answer, Cut, Move, Refuse
from tools.agent_bench import Bench, bench, script
from tools.agent_programs import Program
from tools.agent_trials import APPROVAL, NUMBER, editing, said_block
from tools.agent_work import APP, working

FOLDER = Path(__file__).parents[1] / "tests" / "agents" / "samples"
FAILURES: dict[str, Move] = {
    "401": Refuse(401, "invalid api key"),
    "404": Refuse(404, "the model does not exist"),
    "429": Refuse(429, "slow down"),
    "500": Refuse(500, "internal error"),
    "cut": Cut(),
}


def record(program: Program) -> Path:
    cases: dict[str, Any] = {}
    with bench(program, script()) as it:
        it.server.brain = editing(program, it.repo.path / "hello.txt")
        cases["implement"] = _recorded(it)
        cases["work"] = work(it)
        it.server.brain = script(Answer(APPROVAL)) if program.schema else script(said_block())
        schema = json.dumps(contract.json_schema()) if program.schema else ""
        cases["review"] = _recorded(it, read_only=True, schema=schema, number=NUMBER)
        for name, move in FAILURES.items():
            it.server.brain = script(move)
            it.key = "bad-key" if name == "401" else it.key.replace("bad", "test")
            cases[name] = _recorded(it)
    FOLDER.mkdir(exist_ok=True)
    target = FOLDER / f"{program.name}.json"
    target.write_text(json.dumps({"version": program.version, **cases}, indent=1, ensure_ascii=False) + "\n")
    return target


def record_work(program: Program) -> Path:
    """Only the case `work`, in the samples that exist."""
    target = FOLDER / f"{program.name}.json"
    with bench(program, script()) as it:
        cases = {**json.loads(target.read_text()), "work": work(it)}
    target.write_text(json.dumps(cases, indent=1, ensure_ascii=False) + "\n")
    return target


def work(it: Bench) -> dict[str, Any]:
    """With a command that fails and an edit."""
    it.server.brain = working(it.program, it.repo.path)
    it.repo.commit({"app.py": APP, ".gitignore": "__pycache__/\n"})
    return _recorded(it)


def _recorded(it: Bench, **changes: Any) -> dict[str, Any]:
    try:
        it.call(**changes)
    except PhaseFailed as failure:
        print(f"    {failure.what}")
    folder = max((it.home / "burnish" / "calls").iterdir(), key=lambda path: path.stat().st_mtime) / "try-1"
    outcome = json.loads(outcome_file(folder).read_text())
    kept = {name: _tidy(it, folder / name) for name in AGENTS[it.program.name].output_files if (folder / name).exists()}
    texts = {name: _tidy(it, folder / name) for name in ("stdout", "stderr")}
    ended = {"ended": outcome["ended"]} if outcome["ended"] != "exit" else {}
    return {"exit_code": outcome["exit_code"], **ended, **texts, "files": kept}


def _tidy(it: Bench, path: Path) -> str:
    """Without the machine's own paths, and without the long lists that say nothing about the call."""
    text = path.read_text(errors="replace").replace(str(it.root), "/w").replace(str(it.program.folder), "/opt/it")
    text = text.replace(re.sub(r"[^A-Za-z0-9]", "-", str(it.root)), "-w")
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:1", text)
    return "".join(_short(line) for line in text.splitlines(keepends=True))


def _short(line: str) -> str:
    try:
        event = json.loads(line)
    except ValueError:
        return line if len(line) < 3000 else line[:3000] + "\n"
    if not isinstance(event, dict):
        return line
    most = 200 if event.get("type") == "system" else 1500
    # of an error without its stack
    event = {key: _message_alone(value) if key == "err" else value for key, value in event.items()}
    short = {key: value for key, value in event.items() if len(json.dumps(value)) < most}
    return line if short == json.loads(line) else json.dumps(short) + "\n"


def _message_alone(error: Any) -> Any:
    return {"message": error["message"]} if isinstance(error, dict) and "message" in error else error
