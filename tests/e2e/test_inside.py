"""Promise 19: an agent cannot approve, waive or merge. Every way is tried from inside a phase; none is accepted."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from burnish.cli.main import VERBS, main
from burnish.errors import Refused
from burnish.features.clean import clean as cleaning
from burnish.features.decide import decisions as people
from burnish.features.merge import merge as merging
from burnish.features.merge import pull_request
from burnish.features.rebuild import rebuild as rebuilding
from burnish.features.review import external_review as outside
from burnish.features.review import handoff
from burnish.features.run.run import run_tasks
from burnish.features.tasks import edit as tasks
from burnish.runtime.requests import RunRequest
from testing.byhand import facts
from testing.deciding_commands import DECISIONS, HARMLESS_VERBS, OTHER_COMMANDS
from testing.lab import APPROVE, REJECT, Lab
from testing.userrepo import UserRepo

# An agent that tries them all: without the variable that names its task and in a session of its own; the first in
# every other way, too, and each as a new interpreter.
TRAITOR = """
import subprocess
app.write_text(app.read_text() + "# x\\\\n")
clean = {k: v for k, v in os.environ.items() if not k.startswith("BURNISH_")} | HOME
came = []
for env, apart in ((clean, True), (clean, False), (os.environ | HOME, False)):
    argv = [PYTHON, "-m", "burnish.cli", "-C", REPO, *WAYS[0]]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, start_new_session=apart,
                          stdin=subprocess.DEVNULL)
    came.append([WAYS[0], done.returncode, done.stderr])
argv = [PYTHON, "-c", OTHERS, REPO, json.dumps(WAYS[1:])]
done = subprocess.run(argv, env=clean, cwd=ROOT, stdout=subprocess.PIPE, start_new_session=True, check=True)
pathlib.Path(OUT).write_text(json.dumps(came + json.loads(done.stdout)))
"""
# The other ways: processes that are forked from one that has imported burnish.
OTHERS = """
import json, os, sys
from testing.fork_server import ForkServer
server = ForkServer()
tries = [(way, server.run(["-C", sys.argv[1], *way], os.environ)) for way in json.loads(sys.argv[2])]
server.close()
print(json.dumps([[way, code, err] for way, (code, _, err) in tries]))
"""


@pytest.mark.slow
def test_every_way_is_refused_from_inside_a_phase_and_nothing_has_changed(tmp_path: Path) -> None:
    author = 'app.write_text(app.read_text() + f"# {task} {phase} {cycle}\\n")'
    # without a sandbox, which would hide the store from it altogether
    lab = Lab.make(tmp_path, judge=APPROVE, author=author)
    lab.add("Waits")
    lab.burnish("run", "--hitl-review", code=1)
    lab.add("Verified")
    lab.agent("judge", REJECT)
    lab.add("Blocked", "--max-cycles", "1")
    lab.burnish("run", "3", code=1)
    lab.agent("judge", APPROVE)
    lab.burnish("run", "2")
    kinds = {"1": "waiting_approval", "3": "blocked", "2": "verified"}
    assert {n: lab.task(n)["status"] for n in kinds} == kinds
    before = [lab.events(task=n) for n in kinds], lab.repo.git("rev-parse", "main")
    out = tmp_path / "came.json"
    home = {key: lab.env[key] for key in ("HOME", "BURNISH_HOME")}
    names = {"WAYS": DECISIONS, "PYTHON": sys.executable, "REPO": str(lab.repo.path), "OUT": str(out), "HOME": home}
    names |= {"OTHERS": OTHERS, "ROOT": str(Path(__file__).parents[2])}
    told = "".join(f"{name} = {value!r}\n" for name, value in names.items())
    lab.agent("robot", told + TRAITOR)
    lab.add("Treason")

    lab.apart("run", "4", timeout=280)

    came = json.loads(out.read_text())
    assert len(came) == 2 + len(DECISIONS)
    accepted = [(way, code, said) for way, code, said in came if code != 4 or "from inside a phase" not in said]
    assert accepted == []
    assert ([lab.events(task=n) for n in kinds], lab.repo.git("rev-parse", "main")) == before


def test_every_verb_is_tried_or_known_to_be_harmless() -> None:
    tried = {command[0] for command in (*DECISIONS, *OTHER_COMMANDS)}
    assert not tried & HARMLESS_VERBS
    assert set(VERBS) - HARMLESS_VERBS == tried, (
        "Add a new verb in testing/deciding_commands.py: to HARMLESS_VERBS if it only reads, else to OTHER_COMMANDS."
    )


@pytest.mark.representatives(3)
@pytest.mark.parametrize("command", OTHER_COMMANDS, ids=" ".join)
def test_the_other_verbs_are_refused_too(
    command: list[str], user_repo: UserRepo, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BURNISH_TASK", "1")
    before = user_repo.fingerprint()
    assert main(["-C", str(user_repo.path), *command]) == 4
    assert "from inside a phase" in capsys.readouterr().err
    assert user_repo.fingerprint() == before


def test_what_screens_call_refuses_before_it_looks_at_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BURNISH_TASK", "1")
    nothing: Any = None
    ways: list[Callable[[], object]] = [
        lambda: tasks.edit_task(nothing, 1, {}, status=None),
        lambda: tasks.remove_task(nothing, 1),
        lambda: tasks.cancel_task(nothing, 1),
        lambda: tasks.retry_task(nothing, 1, restart=False),
        lambda: tasks.review_again(nothing, 1),
        lambda: tasks.waive_finding(nothing, 1, "F1", reason="x"),
        lambda: tasks.reopen_finding(nothing, 1, "F1"),
        lambda: run_tasks(nothing, RunRequest(), nothing),
        lambda: people.decide(nothing, 1, nothing),
        lambda: people.override(nothing, 1, nothing),
        lambda: people.improve(nothing, 1, "", review=True),
        lambda: people.done(nothing, 1, None),
        lambda: merging.merge(nothing, nothing, nothing),
        lambda: handoff.hand_off(nothing, 1, force=False),
        lambda: outside.bring_review(nothing, 1, nothing, nothing),
        lambda: pull_request.open_pull_request(nothing, 1, draft=False),
        lambda: cleaning.clean(nothing, []),
        lambda: rebuilding.rebuild(nothing, from_ref=False),
    ]
    for way in ways:
        with pytest.raises(Refused, match="from inside a phase"):
            way()


def test_outside_of_a_phase_the_same_are_taken(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE, author='app.write_text(app.read_text() + "# x\\n")')
    lab.add()
    lab.burnish("run", "--hitl-review", code=1)
    before = facts(lab)
    lab.apart("decide", "1", "approve")
    assert facts(lab) != before and lab.task()["status"] == "verified"
