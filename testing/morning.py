"""A morning to decide: fifteen things in the inbox from real runs, three of them changes of over 20 files.

    .venv/bin/python -m testing.morning FOLDER

Prints the variables and the directory in which to start `burnish serve --open` or `burnish tui`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from testing.lab import Lab

TITLES = (
    *("Rename the package of helpers", "Add type hints everywhere", "Log by one logger"),
    *(f"Validate the field {name}" for name in ("name", "email", "street")),
    *(f"Round the total of {name}" for name in ("orders", "taxes", "tips")),
    *("Drop the old API", "Log in by passkey"),
    *("Cache the rates", "Read the settings of the mail server", "Change the greeting", "Send the report twice"),
)
BUDGET, SECRET, CONFLICT, FAILED = 12, 13, 14, 15
# By number: 24 files each in the first three. 13 writes a secret once, 14 conflicts with main, 15 fails while offline.
AUTHOR = """
kind = int(task)
greeting = pathlib.Path("greeting.txt")
if kind == 15 and (pathlib.Path(LOG).parent / "offline").exists():
    sys.exit("the network is gone")
if kind <= 3:
    for at in range(24):
        path = pathlib.Path(f"part_{kind}/module_{at:02}.py")
        path.parent.mkdir(exist_ok=True)
        body = "".join(f"    value = value + {line}\\n" for line in range(12 if cycle == 1 else 11))
        path.write_text(f"def step_{at}(value):\\n{body}    return value\\n")
elif kind == 13:
    is_first = not any(call["task"] == "13" and call["at"] == "end" for call in map(json.loads, open(LOG)))
    value = '"AKIA' + 'Q7W3ERTYUIOPASD2"' if is_first else 'os.environ["MAIL_KEY"]'
    pathlib.Path("mail.py").write_text(f"import os\\n\\nMAIL_KEY = {value}\\n")
elif kind == 14 and "<<<<<<<" in greeting.read_text():
    greeting.write_text("Good morning, and welcome\\n")
elif kind == 14:
    greeting.write_text("Good morning\\n")
else:
    pathlib.Path(f"field_{kind}.py").write_text(f"def check(value):\\n    return bool(value)  # {phase} {cycle}\\n")
print("Done.")
"""
# In their first cycle three get a finding and two a question; everything else is approved.
JUDGE = """
kind = int(task)
files = [str(path) for path in pathlib.Path(".").rglob("*") if path.is_file()]
remark = {**flaw, "file": f"field_{kind}.py", "line": 2}
remark |= {"title": "An empty value is accepted", "description": "A blank is true."}
question = "Do **old** entries stay valid?"
if cycle == 1 and kind in (10, 11):
    print(verdict("needs_discussion", question, [{**remark, "severity": "warning"}], inspected=files))
elif cycle == 1 and kind in (7, 8, 9):
    print(verdict("changes_requested", "One value is accepted that must not be.", [remark], inspected=files))
else:
    print(verdict("approved", "Does what the task asks for.", inspected=files))
"""
# A program that reports what it spends: 25 cents for each call.
SPENDER = """
import json, os, pathlib, sys
sys.stdin.read()
pathlib.Path("rates.py").write_text(f"RATES = {{}}  # {os.environ['BURNISH_PHASE']} {os.environ['BURNISH_CYCLE']}\\n")
usage = {"input_tokens": 90, "output_tokens": 10}
result = {"type": "result", "is_error": False, "result": "Done.", "session_id": "one"}
print(json.dumps({**result, "total_cost_usd": 0.25, "usage": usage}))
"""
SETTINGS = "hitl_review: every\nreview: {agents: [judge], max_cycles: 1}\nbudget: {task_usd: 0.2}\n"


def morning(folder: Path) -> Lab:
    """The project with its tasks, each run to the point where it needs a person."""
    lab = Lab.make(folder / "lab", author=AUTHOR, judge=JUDGE, extra=SETTINGS)
    claude = lab.root / "bin" / "claude"
    claude.parent.mkdir()
    claude.write_text(f"#!{sys.executable} -IS\n{SPENDER}")
    claude.chmod(0o755)
    lab.env["PATH"] = f"{claude.parent}{os.pathsep}{os.environ['PATH']}"
    (lab.root / "offline").touch()
    lab.repo.commit({"greeting.txt": "Hello\n"})
    for number, title in enumerate(TITLES, 1):
        agent = ["--agent", "claude"] if number == BUDGET else []
        lab.add(title, "-d", f"{title}, as we talked about.", "--tag", title.split()[0].lower(), *agent)
    lab.burnish("run", "--all", "-j", "2", code=None)
    lab.burnish("decide", str(CONFLICT), "approve")
    lab.repo.commit({"greeting.txt": "Welcome\n"})
    return lab


def go_online(lab: Lab) -> None:
    """What failed can succeed from now on."""
    (lab.root / "offline").unlink()


if __name__ == "__main__":
    made = morning(Path(sys.argv[1]))
    print(" ".join(f"{name}={value}" for name, value in made.env.items()))
    print(f"cd {made.repo.path}")
