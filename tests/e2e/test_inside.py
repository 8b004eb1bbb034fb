"""Promise 19: an agent cannot approve, waive or merge. Every way is tried from inside a phase; none is accepted."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from testing.byhand import facts
from testing.lab import APPROVE, REJECT, Lab

# Every command by which a person decides: task 1 waits, 2 is verified, 3 is blocked.
WAYS = [
    *[["decide", "1", *words] for words in (["approve"], ["reject"], ["fix", "-m", "x"], ["skip"])],
    ["decide", "3", "fix", "-m", "x"],
    *[["override", number, "--explain", "x"] for number in "13"],
    ["edit", "3", "--verdict", "APPROVED", "--reason", "x"],
    *[["done", number, "--reason", "x"] for number in "23"],
    ["improve", "2", "-m", "x"],
    ["waive", "3", "F1", "--reason", "x"],
    ["merge", "2"],
    ["merge", "--all-verified"],
]
# An agent that tries them all: without the variable that names its task and in a session of its own; the first in
# every other way, too.
TRAITOR = """
import subprocess
app.write_text(app.read_text() + "# x\\\\n")
clean = {k: v for k, v in os.environ.items() if not k.startswith("BURNISH_")} | HOME
came = []
for at, way in enumerate(WAYS):
    for env, apart in ((clean, True), (clean, False), (os.environ | HOME, False))[: 3 if at == 0 else 1]:
        argv = [PYTHON, "-m", "burnish.cli", "-C", REPO, *way]
        done = subprocess.run(argv, env=env, capture_output=True, text=True, start_new_session=apart,
                              stdin=subprocess.DEVNULL)
        came.append([way, done.returncode, done.stderr])
pathlib.Path(OUT).write_text(json.dumps(came))
"""


def test_every_way_is_refused_from_inside_a_phase_and_nothing_has_changed(tmp_path: Path) -> None:
    author = 'app.write_text(app.read_text() + f"# {task} {phase} {cycle}\\n")'
    # without a sandbox, which would hide the store from it altogether
    lab = Lab.make(tmp_path, judge=APPROVE, author=author, extra="sandbox: {mode: 'off'}\n")
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
    names = {"WAYS": WAYS, "PYTHON": sys.executable, "REPO": str(lab.repo.path), "OUT": str(out), "HOME": home}
    told = "".join(f"{name} = {value!r}\n" for name, value in names.items())
    lab.agent("robot", told + TRAITOR)
    lab.add("Treason")

    lab.apart("run", "4", timeout=280)

    came = json.loads(out.read_text())
    assert len(came) == 2 + len(WAYS)
    accepted = [(way, code, said) for way, code, said in came if code != 4 or "from inside a phase" not in said]
    assert accepted == []
    assert ([lab.events(task=n) for n in kinds], lab.repo.git("rev-parse", "main")) == before


def test_outside_of_a_phase_the_same_are_taken(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE, author='app.write_text(app.read_text() + "# x\\n")')
    lab.add()
    lab.burnish("run", "--hitl-review", code=1)
    before = facts(lab)
    lab.apart("decide", "1", "approve")
    assert facts(lab) != before and lab.task()["status"] == "verified"
