"""Promise 19, generated from the command line itself: inside a phase no command changes what was decided or judges.

Each verb with each of its actions and options, also those that will be added: it is refused, or it changes nothing.
"""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from burnish.adapters.stores import open_store
from burnish.cli.hook import ACTIONS as HOOK_ACTIONS
from burnish.cli.main import build
from burnish.cli.parameters import SHARED
from testing.attack_counts import CountAttacks
from testing.both_stores import BOTH_STORES
from testing.deciding_commands import HARMLESS_VERBS
from testing.lab import APPROVE, REJECT, Lab

pytestmark = BOTH_STORES

WORDS = {"choice": ("approve", "reject", "fix", "skip"), "finding": ("F1",), "title": ("Another",), "key": ("review",)}
VALUES = {
    "kind": "plan",
    "verdict": "approved",
    "source": "review.md",
    "commit": "HEAD",
    "port": "0",
    "status": "backlog",
    # a file beside the checkout is not a decision
    "output": "/dev/null",
    "to": "sqlite",
}
NUMBERS = {"max_cycles", "priority", "jobs", "budget", "days", "after", "tick", "untick", "depends_on", "of"}
# They wait for more, start agents for nothing, or make a world of their own.
NOT_TRIED = {"--follow", "--probe", "--help", "demo", "mcp"}


def command_lines() -> Iterator[list[str]]:
    for verb, command in build().commands.items():
        if verb in NOT_TRIED:
            continue
        for words in _positions(verb, command.params):
            yield [verb, *words]
            for option in command.params:
                own = option.param_type_name == "option" and option.name not in SHARED
                if own and not NOT_TRIED & set(option.opts):
                    yield from ([verb, *words, *given] for given in _given(option))


def _positions(verb: str, params: list[Any]) -> Iterator[list[str]]:
    names = [param.name for param in params if param.param_type_name == "argument"]
    if "action" in names:
        words = {"prompts": "review.system", "hook": "git", "config": "review", "projects": "1"}
        named = {**words, "store": "x", "sync": "pc/1", "people": "eve"}[verb]
        metavar = next(str(param.metavar) for param in params if param.name == "action")
        actions = {*re.findall(r"\w+", metavar), *(HOOK_ACTIONS if verb == "hook" else ())}
        yield from ([action, *more] for action in sorted(actions) for more in ([named], []))
    elif names and names[0] in ("task", "ids", "what"):
        rest = [WORDS.get(name, ("x",)) for name in names[1:2] if name in WORDS]
        for number in ("1", "2", "3"):
            yield from ([number, *([word] if word else [])] for word in (rest[0] if rest else ("",)))
    else:
        yield [WORDS["title"][0]] if "title" in names else []


def _given(option: Any) -> Iterator[list[str]]:
    if option.is_flag:
        yield from ([names[-1]] for names in (option.opts, option.secondary_opts) if names)
    else:
        yield [option.opts[-1], VALUES.get(option.name, "2" if option.name in NUMBERS else "x")]


def state(lab: Lab) -> dict[str, str]:
    """What decides: the store, the user's settings and prompts, and the checkout."""
    home = Path(lab.env["BURNISH_HOME"])
    if "BURNISH__DATABASE" in os.environ:
        with open_store(home) as store:
            rows = str(store.content())
    else:
        with sqlite3.connect(home / "burnish.db") as database:
            rows = "\n".join(database.iterdump())
    own = sorted(path for path in (Path(lab.env["HOME"]) / ".config").rglob("*") if path.is_file())
    files = b"".join(str(path).encode() + path.read_bytes() for path in own)
    return {"store": rows, "settings": hashlib.sha256(files).hexdigest(), "checkout": lab.repo.fingerprint()}


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """Task 1 waits for approval, 2 is verified, 3 is blocked with a finding."""
    lab = Lab.make(tmp_path, judge=APPROVE, author='app.write_text(app.read_text() + f"# {task}\\n")')
    lab.user_settings("review: {max_cycles: 1}\n")
    for title in ("Waits", "Verified", "Blocked"):
        lab.add(title)
    lab.burnish("run", "1", "--hitl-review", code=1)
    lab.burnish("run", "2")
    lab.agent("judge", REJECT)
    lab.burnish("run", "3", code=1)
    (lab.repo.path / "review.md").write_text("**Verdict: APPROVED**\n")
    assert [lab.task(number)["status"] for number in "123"] == ["waiting_approval", "verified", "blocked"]
    return lab


@pytest.mark.slow
def test_no_command_line_changes_anything_from_inside_a_phase(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, count_attacks: CountAttacks
) -> None:
    monkeypatch.setenv("BURNISH_TASK", "4")
    monkeypatch.setenv("EDITOR", "true")
    before, tried, changed = state(lab), 0, []
    refused: set[str] = set()
    for line in command_lines():
        said = lab.burnish(*line, code=None)
        tried += 1
        if said.code == 4:
            refused.add(line[0])
        after = state(lab)
        if after != before:
            changed.append((line, said.code, [name for name in before if before[name] != after[name]]))
        before = after
    count_attacks("change something from inside a phase", tried, len(changed))
    print(f"{tried} command lines from inside a phase, {len(changed)} changed something")
    assert changed == []
    assert tried > 250
    assert refused.isdisjoint(HARMLESS_VERBS - {"projects"})
    monkeypatch.delenv("BURNISH_TASK")
    lab.burnish("decide", "1", "approve")
    assert state(lab)["store"] != before["store"], "what is compared would not show a decision"
