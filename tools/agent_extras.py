"""Trials of what only some programs have: a hook at their stop, and the Agent Client Protocol."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from burnish.agents.base import AgentSettings
from burnish.agents.registry import STOP_HOOKS
from burnish.core.status import ErrorCode
from testing.lab import Lab
from testing.model_turns import Brain, Move, Say, Shell, Turn, Write
from tools.agent_bench import Bench, Lacks, bench, script
from tools.agent_programs import Program

REASON = "burnish reviewed what you changed"
# of what a reviewer finds in `judge`
TITLE = "Zero is not handled"
FLAWED, SOUND = "def f():\\n    return undefined_x\\n", "def f():\\n    return 1\\n"


# A reviewer's turn, the number of its review, whether it finds something, and where.
Judge = Callable[[Turn, str, bool, Mapping[str, Any]], Move]


def holds_up(program: Program, *, judge: Judge | None = None) -> str:
    """`burnish hook install`: its stop is refused once, with the findings as the reason; then it is let go.

    With `judge` the reviewer is the same program, as a second process that the hook starts; else it is `static`.
    """
    if not program.at_work:
        raise Lacks("no hook of it can hold up its stop")
    if judge and STOP_HOOKS[program.name].strips_keys:
        raise Lacks("it keeps its key from its hooks")
    with bench(program, script(), generous=True) as it:
        agents = f"agents: {{{program.name}: {{model: {program.model}}}}}\n" if judge else ""
        reviewers = f"review: {{agents: [{program.name if judge else 'static'}]}}\n"
        it.repo.commit({"burnish.yaml": f"{agents}{reviewers}checks: {{test: null, lint: null}}\n"}, "settings")
        new = it.repo.path / "new.py"
        it.server.brain = hasty(new, judge)
        env = {**it.env, "BURNISH_HOME": str(it.home / "burnish"), "BURNISH__SANDBOX__MODE": "off"}
        lab = Lab(it.root, it.repo, env)
        lab.trust()
        lab.apart("hook", "install", program.name)
        # a hook for all projects reviews in those that burnish knows
        lab.apart("add", "Known to burnish")
        alone = {**os.environ, **env, **program.control_env, "DISABLE_AUTOUPDATER": "1"}
        code, printed = it.alone(program.at_work, "Write new.py", alone)
        said = f"exit code {code}: {printed[-400:]}"
        held = [turn for turn, _ in it.server.turns if told_why(turn)]
        assert held, f"its stop was not refused; {said}"
        assert (TITLE if judge else "undefined") in json.dumps(held[0].body), "the findings are not part of the reason"
        reviews = sum(bool(_review_number(turn)) for turn, _ in it.server.turns)
        assert bool(reviews) == bool(judge), f"{reviews} requests of a reviewer"
        assert code == 0 and "undefined" not in new.read_text(), said
        rounds = _rounds(it.home / "burnish")
        assert rounds == [1], f"refused {rounds} times"
        lab.apart("hook", "uninstall", program.name)
        assert not (left := _left(it, new)), f"the hook left something behind: {left}"
        return f"{len(held)} turns after it" + (f", {reviews} of the reviewer" if judge else "")


def hasty(new: Path, judge: Judge | None = None) -> Brain:
    """A model that stops too early, and then fixes the findings."""

    def brain(turn: Turn) -> Move:
        if judge and (number := _review_number(turn)):
            is_flawed = bool(re.search(r"^\+.*undefined_x", turn.prompt, re.MULTILINE))
            return judge(turn, number, is_flawed, {"file": new.name, "line": 2, "quote": "return undefined_x"})
        if not turn.tools:
            return Say("ok")
        if told_why(turn):
            sound = "undefined" not in new.read_text()
            return Say("Fixed it.") if sound else Shell(f"printf '{SOUND}' > {new}")
        return Say("I am done.") if new.exists() else Shell(f"printf '{FLAWED}' > {new}")

    return brain


def _review_number(turn: Turn) -> str:
    match = re.search(r"burnish-verdict ([0-9a-f]{12,})", turn.prompt)
    return match[1] if match else ""


def told_why(turn: Turn) -> bool:
    return REASON in json.dumps(turn.body)


def _left(it: Bench, new: Path) -> list[str]:
    """Changes in the repository, the program's own folder aside: some rewrite their settings."""
    own = f".{it.program.name}/"
    paths = [line[3:] for line in it.repo.git("status", "--porcelain", "-uall").splitlines()]
    hook = STOP_HOOKS[it.program.name]
    # not what it remembers of hooks that it has once run
    places = (it.repo.path / hook.local_file, it.home / hook.home_folder / hook.user_file)
    files = [str(file) for file in places if file.is_file() and "hook run" in file.read_text()]
    return [path for path in paths if path != new.name and not path.startswith(own)] + files


def _rounds(home: Path) -> list[int]:
    return [json.loads(path.read_text())["rounds"] for path in (home / "hooks" / "sessions").glob("*")]


def speaks_acp(program: Program) -> str:
    """By the generic adapter: an author writes, a reviewer that tries to does not, a wrong key is told."""
    if not program.acp:
        other = "only by another package" if program.at_work else "it does not speak it"
        raise Lacks(program.acp_problem or other)
    if find_spec("acp") is None:
        raise Lacks(f"{Path(sys.executable).name} has no agent-client-protocol")
    with bench(program, script()) as it:
        target = it.repo.path / "hello.txt"
        it.server.brain = script(Write(str(target), "hello\n"), Say("All done."))
        reply = _by_acp(it)
        assert target.exists() and "All done" in reply, f"hello.txt: {target.exists()}; {reply[:200]}"
    with bench(program, script(), confined=True) as it:
        leak = it.repo.path / "leak.txt"
        it.server.brain = script(Write(str(leak), "x\n"), Say("I have looked."))
        before = it.fingerprint()
        looked = _by_acp(it, read_only=True)
        assert it.fingerprint() == before and not leak.exists(), "a reviewer wrote"
        it.key = "bad-key"
        failure = it.failure(entry=_acp_entry(it))
        assert failure.code is ErrorCode.AGENT_FAILED and not failure.retryable, failure
        assert not it.left(), it.left()
        return looked[:80]


def _by_acp(it: Bench, *, read_only: bool = False) -> str:
    try:
        return it.call(entry=_acp_entry(it), read_only=read_only, model=None).text
    except Exception as problem:
        if not read_only:
            raise
        # some end their turn when they are refused something
        return str(problem)


def _acp_entry(it: Bench) -> AgentSettings:
    names = (it.program.key, *it.program.env(it.server.url))
    return AgentSettings(name="it", kind="acp", argv=(it.program.name, *it.program.acp), env=names)
