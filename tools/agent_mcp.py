"""A trial of programs as clients of `burnish mcp`: what their model can do there, and what it cannot."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from burnish.mcp.tools import CHANGING
from testing.lab import REJECT, Lab
from testing.model_turns import Brain, Call, Move, Say, Shell, Turn
from testing.serving import serving
from tools.agent_bench import Bench, Lacks, bench, script
from tools.agent_programs import Program

NEW = "Handle zero in div"
TOKEN = "BURNISH_TRIAL_TOKEN"
# name of the tool, arguments, and words of its answer
CALLS: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("list_tasks", {}, "Add division"),
    ("read_findings", {"task": "1"}, "Zero is not handled"),
    ("add_task", {"title": NEW}, NEW),
    ("request_review", {}, "undefined_x"),
    # not offered: a model may try it all the same
    ("approve_task", {"task": "1"}, ""),
)
# with which each may call the tools without a person
_OPTIONS = {"claude": ("--allowedTools", "mcp__burnish"), "codex": ()}
# codex hands few variables to a server
_VARIABLES = ("BURNISH_HOME", "BURNISH__SANDBOX__MODE")
# turns until a server that starts beside the first one is there
PATIENCE = 60


def is_client(program: Program) -> str:
    """The model lists, reads, adds and asks for a review over both transports; it finds nothing that decides."""
    if program.name not in _OPTIONS:
        raise Lacks("it is tried with claude and codex")
    remarks = []
    for transport in ("stdio", "HTTP"):
        with bench(program, script()) as it:
            lab = _lab(it)
            with _server(program, lab, transport) as (words, env):
                remarks.append(f"{_conversation(it, lab, words, env)} over {transport}")
            assert not it.left(), it.left()
    return ", ".join(remarks)


def _lab(it: Bench) -> Lab:
    """Task 1 is blocked with an open finding; an uncommitted file has a flaw."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{it.env['PATH']}"
    env = {**it.env, "PATH": path, "BURNISH_HOME": str(it.home / "burnish"), "BURNISH__SANDBOX__MODE": "off"}
    lab = Lab(it.root, it.repo, env)
    lab.agent("robot", 'app.write_text(app.read_text() + "# one\\n")')
    lab.agent("judge", REJECT)
    lab.settle("")
    lab.add("Add division", "--max-cycles", "1")
    lab.burnish("run", code=1)
    lab.commit_settings(lab.settings("review: {agents: [static]}\n"))
    (it.repo.path / "new.py").write_text("def f():\n    return undefined_x\n")
    return lab


@contextmanager
def _server(program: Program, lab: Lab, transport: str) -> Iterator[tuple[Sequence[str], dict[str, str]]]:
    """The words that tell the program of the server, and the variables that it needs."""
    if transport == "stdio":
        known = [word for name in _VARIABLES for word in ("--env", f"{name}={lab.env[name]}")]
        yield ("mcp", "add", "burnish", *(known if program.name == "codex" else ()), "--", "burnish", "mcp"), {}
        return
    with serving(lab) as served:
        url, header = f"{served.url}/mcp/{served.project}", f"Authorization: Bearer {served.token}"
        if program.name == "claude":
            yield ("mcp", "add", "--transport", "http", "burnish", url, "--header", header), {}
        else:
            yield ("mcp", "add", "burnish", "--url", url, "--bearer-token-env-var", TOKEN), {TOKEN: served.token}


def _conversation(it: Bench, lab: Lab, words: Sequence[str], env: dict[str, str]) -> str:
    it.server.brain = _model()
    before = len(lab.events())
    variables = {**os.environ, **lab.env, **env, **it.program.control_env, "DISABLE_AUTOUPDATER": "1"}
    # claude hides tools behind a search of its own
    variables["ENABLE_TOOL_SEARCH"] = "false"
    code, printed = it.alone((it.program.name, *words), "", variables)
    assert code == 0, f"mcp add, exit code {code}: {printed[-400:]}"
    argv = (*it.program.at_work, *_OPTIONS[it.program.name])
    code, printed = it.alone(argv, "Work with burnish.", variables)
    assert code == 0, f"exit code {code}: {printed[-400:]}"
    asked = [turn for turn, _ in it.server.turns if turn.tools]
    answers = json.dumps(asked[-1].body)
    for name, _, expected in CALLS:
        assert expected in answers, f"{name} was not answered: {answers[-1500:]}"
    offered = {name.rpartition("__")[2] for turn in asked for name in turn.tools}
    assert offered >= CHANGING and "approve_task" not in offered, f"offered: {sorted(offered)}"
    tasks = {one["title"]: one["status"] for one in lab.burnish("status", "--json").json["tasks"]}
    assert tasks == {"Add division": "blocked", NEW: "backlog"}, tasks
    kinds = [event["type"] for event in lab.events()[before:]]
    assert kinds == ["task.created"], f"it recorded {kinds}"
    return f"{len(CALLS)} calls"


def _model() -> Brain:
    """One call after the other. codex does not wait for its servers: until they are there, its model does."""
    waits, calls = iter(range(PATIENCE)), iter(CALLS)

    def brain(turn: Turn) -> Move:
        if not turn.tools:
            return Say("ok")
        is_offered = any(name.endswith("list_tasks") for name in turn.tools)
        if not is_offered and next(waits, None) is not None:
            return Shell("sleep 1")
        name, arguments, _ = next(calls, ("", {}, ""))
        return Call("burnish", name, arguments) if name else Say("All done.")

    return brain
