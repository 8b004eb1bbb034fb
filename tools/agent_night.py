"""A short night with two real programs: tasks of mixed fate, a usage limit of each, a conflict, and the bill."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from burnish.agents.prices import cost
from testing.lab import Lab
from testing.model_turns import Move, Refuse, Say, Shell, Turn
from testing.night_clock import NightClock
from tools.agent_bench import Bench, Lacks, bench, script
from tools.agent_money import MODELS, with_priced_model
from tools.agent_programs import PROGRAMS, Program

Judge = Callable[[Turn, str, bool, Mapping[str, Any]], Move]
# title → status in the morning, and why a task stopped; the tasks are given to the two programs in turn
FATES = {
    "plain 1": ("verified", None),
    "plain 2": ("verified", None),
    "plain 3": ("verified", None),
    "plain 4": ("verified", None),
    "conflict 5": ("verified", None),
    "silent 6": ("blocked", "no_changes"),
    "conflict 7": ("verified", None),
    "stubborn 8": ("blocked", "max_cycles"),
}
# calls of each program before its plan is used up
CALLS_BEFORE_LIMIT = 3
PATIENCE = 400


class Plan:
    """The model: it acts by the title of the task. The plan of each dialect is used up once, at the start of a call."""

    def __init__(self, clock: NightClock, judge: Judge) -> None:
        self.clock, self.judge = clock, judge
        self.calls: dict[str, int] = {}
        self.resets: dict[str, datetime] = {}

    def __call__(self, turn: Turn) -> Move:
        if turn.number == 0:
            self.calls[turn.dialect] = self.calls.get(turn.dialect, 0) + 1
            if self.calls[turn.dialect] == CALLS_BEFORE_LIMIT + 1:
                self.resets.setdefault(turn.dialect, self.clock.now + timedelta(hours=2))
            if self.resets.get(turn.dialect, self.clock.now) > self.clock.now:
                return self._refusal(turn)
        found = re.search(r"Fate: (\w+) (\d+)", turn.prompt)
        fate, number = (found[1], found[2]) if found else ("plain", "0")
        file = "work.txt" if fate == "conflict" else f"file_{number}.py"
        sign = re.search(r"burnish-verdict ([0-9a-f]{12,})", turn.prompt)
        if sign:
            bad = bool(re.search(r"^\+.*# BUG", turn.prompt, re.MULTILINE))
            return self.judge(turn, sign[1], bad, {"file": file, "line": 2, "quote": "return a / b  # BUG"})
        if fate == "silent" or turn.number > 0:
            return Say("All done.")
        if fate == "conflict":
            # with a conflict both sides stay; before it, each task has its own second line
            resolve, change = "sed -i '/^[<=>]\\{7\\}/d'", f"sed -i 's/^two$/{number}/'"
            return Shell(f"if grep -q '<<<<' {file}; then {resolve} {file}; else {change} {file}; fi")
        fixed = fate == "plain" and "Zero is not handled" in turn.prompt
        body = (
            "return a / b if b else None"
            if fixed
            else f"return a / b  # BUG {len(self.calls)}{sum(self.calls.values())}"
        )
        return Shell(f"printf 'def div(a, b):\\n    %s\\n' '{body}' > {file}")

    def _refusal(self, turn: Turn) -> Refuse:
        reset = int(self.resets[turn.dialect].timestamp())
        if turn.dialect == "messages":
            return Refuse(429, f"Claude AI usage limit reached|{reset}")
        details = {"type": "usage_limit_reached", "plan_type": "plus", "resets_at": reset}
        return Refuse(429, "The usage limit has been reached", details)


def plays_night(program: Program, *, judge: Judge) -> str:
    """Both programs write, this one reviews; each plan is used up once, and nothing is lost, asked or paid twice."""
    names = {"claude": "codex", "codex": "claude"}
    if program.name not in names:
        raise Lacks("it is tried with claude and codex")
    other = PROGRAMS[names[program.name]]
    if why := other.install():
        raise Lacks(f"{other.name}: {why}")
    with bench(with_priced_model(program), script()) as it:
        clock = NightClock(it.root / "clock", f"{datetime.now():%H:%M}")
        plan = Plan(clock, judge)
        it.server.brain = plan
        it.server.caches = True
        lab = two_programs(it, other)
        clock.of(lab)
        for number, name in enumerate(FATES):
            lab.add(f"Fate: {name}", *(["--agent", other.name] if number % 2 else []))
        begin = time.monotonic()
        process = lab.start("run", "--watch", "-j", "2", "--until", f"{clock.now - timedelta(minutes=5):%H:%M}")
        try:
            _until(lab, lambda: len(plan.resets) == 2 and _limits(lab) == ["claude", "codex"], "both plans are used up")
            status = lab.burnish("status").out
            assert all(f"waits for {name} until" in status for name in names), status
            clock.advance(2 * 3600 + 120)
            _until(lab, lambda: not _undone(lab), lambda: f"undone: {_undone(lab)}")
        finally:
            lab.burnish("stop", code=None)
            _, err = process.communicate(timeout=60)
        assert err.count(" resets at ") >= 2, err[-600:]
        told = _billed(lab, it)
        merged(lab)
        return f"{len(it.server.turns)} turns, {told}, {time.monotonic() - begin:.0f} s"


def two_programs(it: Bench, other: Program) -> Lab:
    """A repository in which both are agents, with the login of each."""
    priced = with_priced_model(other)
    for path, text in priced.home(it.server.url).items():
        (it.home / path).parent.mkdir(parents=True, exist_ok=True)
        (it.home / path).write_text(text)
    env = {**it.env, priced.key: it.key, **priced.env(it.server.url), "BURNISH_HOME": str(it.home / "burnish")}
    env["PATH"] = f"{priced.bin}{os.pathsep}{env['PATH']}"
    lab = Lab(it.root, it.repo, env)
    lab.repo.commit({"work.txt": "one\ntwo\nthree\n"})
    agents = f"{{claude: {{model: {PROGRAMS['claude'].model}}}, codex: {{model: {MODELS['codex']}}}}}"
    roles = f"agent: {it.program.name}\nagents: {agents}\nreview: {{agents: [{it.program.name}], max_cycles: 2}}\n"
    lab.commit_settings(f"{roles}checks: {{test: null, lint: null}}\n")
    return lab


def _until(lab: Lab, true: Callable[[], object], what: str | Callable[[], str]) -> None:
    try:
        lab.until(true, PATIENCE)
    except AssertionError:
        words = what if isinstance(what, str) else what()
        raise AssertionError(f"{words}; {lab.burnish('status').out}") from None


def _limits(lab: Lab) -> list[str]:
    # a key of the environment chooses the login
    return sorted({one["login"].split(" ")[0] for one in lab.burnish("limits", "--json").json["limits"]})


def _tasks(lab: Lab) -> list[dict[str, Any]]:
    return list(lab.burnish("status", "--json").json["tasks"])


def _undone(lab: Lab) -> list[tuple[str, str]]:
    return [
        (task["title"], task["status"])
        for task in _tasks(lab)
        if (task["status"], task["reason"]) != FATES[task["title"].removeprefix("Fate: ")]
    ]


def _billed(lab: Lab, it: Bench) -> str:
    """The tokens of all tasks are those of the server, and so is the price where burnish computes it."""
    tokens, truth = sum(task["tokens"] for task in _tasks(lab)), sum(one.total for one in it.server.billed)
    assert tokens == truth, f"{tokens} of {truth} tokens"
    sources = {task["cost_source"] for task in _tasks(lab)}
    # the refused calls are free, and known to be
    assert "partial" not in sources and "unknown" not in sources, sources
    by_agent = lab.burnish("cost", "--json").json["by_agent"]
    usd = sum(one["cost_usd"] for one in by_agent if one["agent"] == "codex")
    billed = [one for one in it.server.billed if one.model == MODELS["codex"]]
    due = sum(cost(one.model, new=one.given - one.cached, cached=one.cached, out=one.out) or 0 for one in billed)
    assert abs(usd - due) < 0.0001, f"codex: ${usd:.4f} of ${due:.4f}"
    return f"{tokens} of {truth} tokens"


def merged(lab: Lab) -> None:
    """Everything that was approved is merged; the author resolves the conflict."""
    lab.burnish("merge", "--all-verified", code=None)
    left = [task for task in _tasks(lab) if task["status"] == "verified"]
    assert [task["title"].split()[1] for task in left] == ["conflict"], left
    assert "conflicts with main in work.txt" in lab.burnish("inbox").out
    lab.burnish("merge", left[0]["id"], "--resolve")
    assert not [task for task in _tasks(lab) if task["status"] == "verified"]
    assert len(lab.repo.git("show", "main:work.txt").splitlines()) == 4
