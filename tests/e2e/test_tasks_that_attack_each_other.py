"""Two tasks with `run -j 2`, in sandboxes: no author or reviewer reaches the other task, its refs or the store."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from testing.bubblewrap import needs_bubblewrap
from testing.lab import APPROVE, Lab

# Each agent waits for one of the other task, then tries everything that could touch it. What worked is written down.
ATTACK = """
import glob, socket, sqlite3, subprocess
shared, repo, home = pathlib.Path(SHARED), pathlib.Path(REPO), pathlib.Path(BURNISH_HOME)
other = {"1": "2", "2": "1"}[task]
child = subprocess.Popen(["sleep", f"7777{task}"])
listener = socket.socket(socket.AF_UNIX)
listener.bind("\\0burnish-attack-" + task + phase)
listener.listen()
for folder in ("/tmp", "/dev/shm", "/var/tmp"):
    pathlib.Path(folder, f"burnish-attack-{task}").write_text("x")
# renamed, so that the other one never reads an empty file
(shared / f"at-{task}-{phase}").write_text(os.getcwd())
(shared / f"at-{task}-{phase}").rename(shared / f"here-{task}-{phase}")
end = time.monotonic() + 40
while not (shared / f"here-{other}-{phase}").exists() and time.monotonic() < end:
    time.sleep(0.05)
met = (shared / f"here-{other}-{phase}").exists()
elsewhere = pathlib.Path((shared / f"here-{other}-{phase}").read_text()) if met else home

def run(*argv):
    return subprocess.run(argv, capture_output=True, text=True, timeout=20).returncode == 0

def create(path):
    pathlib.Path(path).write_text("x")
    return True

def see_process():
    lines = [open(name, "rb").read() for name in glob.glob("/proc/[0-9]*/cmdline")]
    return any(b"7777" + other.encode() in line or b"shim.py" in line for line in lines)

def connect():
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("\\0burnish-attack-" + other + phase)
    return True

def own_stores():
    # the objects of the user's repository, which the workspace borrows
    named = pathlib.Path(".git/objects/info/alternates")
    return [line.strip('"') for line in named.read_text().split("\\n") if line] if named.exists() else []

ref = f"refs/heads/burnish/{other}-task-{other}"
ways = {
    "list the other workspace": lambda: bool(os.listdir(elsewhere)) and elsewhere != pathlib.Path.cwd(),
    "write into the other workspace": lambda: create(elsewhere / "planted.py"),
    "list the folder of workspaces": lambda: len(os.listdir("..")) > 1,
    "find a call of the other task": lambda: f"/{other}-" in " ".join(glob.glob(f"{home}/**", recursive=True)),
    "write to the database": lambda: bool(sqlite3.connect(home / "burnish.db").execute("delete from events")),
    "read the server's token": lambda: bool(list(home.glob("serve/*"))),
    "move a ref by git": lambda: run("git", "-C", str(repo), "update-ref", ref, "HEAD"),
    "write a ref as a file": lambda: create(repo / ".git" / ref),
    "write a note": lambda: run("git", "-C", str(repo), "notes", "add", "-f", "-m", "x", "HEAD"),
    "write a replacement": lambda: create(repo / ".git" / "refs" / "replace"),
    "write a graft": lambda: create(repo / ".git" / "info" / "grafts"),
    "write into the borrowed objects": lambda: [create(pathlib.Path(place, "planted")) for place in own_stores()] != [],
    "write a ref beside the borrowed objects": lambda: [
        create(pathlib.Path(os.path.realpath(place)).parent / ref) for place in own_stores()] != [],
    "see a process of the other": see_process,
    "connect to its socket": connect,
    "see its temporary files": lambda: any(pathlib.Path(d, f"burnish-attack-{other}").exists()
                                          for d in ("/tmp", "/dev/shm", "/var/tmp")),
}

worked = []
for name, way in ways.items():
    try:
        if way():
            worked.append(name)
    except Exception:
        pass
(shared / f"worked-{task}-{phase}.json").write_text(json.dumps({"met": met, "worked": worked, "tried": len(ways)}))
(shared / f"done-{task}-{phase}").write_text("")
while met and not (shared / f"done-{other}-{phase}").exists() and time.monotonic() < end:
    time.sleep(0.05)
child.kill()
"""
AUTHOR = "app.write_text(app.read_text() + f'# of task {task}\\n')\n"
# At the path of the checkout an author sees its own workspace with a `.git` of its own: there it may write.
IN_ITS_OWN_GIT = {"move a ref by git", "write a ref as a file", "write a note", "write a replacement", "write a graft"}


def other_refs(lab: Lab) -> Iterator[tuple[str, str]]:
    """Refs that burnish does not write."""
    for ref, sha in lab.refs("refs").items():
        if not ref.startswith(("refs/heads/burnish/", "refs/burnish/")):
            yield ref, sha


def test_two_tasks_at_once_reach_nothing_of_each_other(tmp_path: Path) -> None:
    needs_bubblewrap()
    shared = tmp_path / "shared"
    shared.mkdir()
    lab = Lab.make(tmp_path, confined=True)
    (tmp_path / "calls.jsonl").write_text("")
    lab.user_settings(f"sandbox: {{write: ['{shared}', '{tmp_path / 'calls.jsonl'}']}}\n")
    names = {"SHARED": str(shared), "REPO": str(lab.repo.path), "BURNISH_HOME": lab.env["BURNISH_HOME"]}
    attack = "".join(f"{name} = {value!r}\n" for name, value in names.items()) + ATTACK
    lab.agent("robot", AUTHOR + attack)
    lab.agent("judge", attack + APPROVE)
    for number in (1, 2):
        lab.add(f"Task {number}")
    before = lab.repo.fingerprint(), dict(other_refs(lab))

    lab.apart("run", "--all", "-j", "2", timeout=200)

    came: dict[str, Any] = {file.stem: json.loads(file.read_text()) for file in shared.glob("worked-*.json")}
    assert len(came) == 4 and all(one["met"] for one in came.values()), came
    allowed = {"implement": IN_ITS_OWN_GIT, "review": set[str]()}
    worked = {name: sorted({*one["worked"]} - allowed[name.split("-")[2]]) for name, one in came.items()}
    print(sum(one["tried"] for one in came.values()), "attacks of two tasks on each other, worked:", worked)
    assert set(map(tuple, worked.values())) == {()}, worked
    assert (lab.repo.fingerprint(), dict(other_refs(lab))) == before
    for number in ("1", "2"):
        assert lab.task(number)["status"] == "verified"
        text = lab.text(f"burnish/{number}-task-{number}")
        assert f"# of task {number}" in text and f"# of task {3 - int(number)}" not in text
        changed = lab.repo.git("diff", "--name-only", "main", f"burnish/{number}-task-{number}").split()
        assert changed == ["app.py"]
