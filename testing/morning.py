"""A morning to decide: fifteen things in the inbox from real runs, three of them changes of over 20 files.

    .venv/bin/python -m testing.morning FOLDER

Prints the variables and the directory in which to start `burnish serve --open` or `burnish tui`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from testing.lab import Lab

TITLES = (
    *("Rename the package of helpers", "Add type hints everywhere", "Log by one logger"),
    *(f"Validate the field {name}" for name in ("name", "email", "street", "city", "zone")),
    *(f"Round the total of {name}" for name in ("orders", "taxes", "tips")),
    *("Drop the old API", "Log in by passkey"),
    *("Read the rates of today", "Send the report twice"),
)
# Files by the kind of task: 24 for the first three; the last two fail.
AUTHOR = """
kind = int(task)
if kind > 13:
    sys.exit("the network is gone")
if kind <= 3:
    for at in range(24):
        path = pathlib.Path(f"part_{kind}/module_{at:02}.py")
        path.parent.mkdir(exist_ok=True)
        body = "".join(f"    value = value + {line}\\n" for line in range(12))
        path.write_text(f"def step_{at}(value):\\n{body}    return value\\n")
else:
    pathlib.Path(f"field_{kind}.py").write_text(f"def check(value):\\n    return bool(value)  # {phase} {cycle}\\n")
print("Done.")
"""
# The first eight are approved, three get a finding, two a question.
JUDGE = """
kind = int(task)
place = f"field_{kind}.py"
remark = {**flaw, "file": place, "line": 2, "title": "An empty value is accepted", "description": "A blank is true."}
if kind > 11:
    print(verdict("needs_discussion", "Do **old** entries stay valid?", [{**remark, "severity": "warning"}]))
elif kind > 8:
    print(verdict("changes_requested", "One value is accepted that must not be.", [remark]))
else:
    print(verdict("approved", "Does what the task asks for."))
"""


def morning(folder: Path) -> Lab:
    """The project with its tasks, each run to the point where it needs a person."""
    lab = Lab.make(
        folder / "lab",
        author=AUTHOR,
        judge=JUDGE,
        extra="hitl_review: every\nreview: {agents: [judge], max_cycles: 1}\n",
    )
    for title in TITLES:
        lab.add(title, "-d", f"{title}, as we talked about.", "--tag", title.split()[0].lower())
    lab.burnish("run", "--all", "-j", "2", code=None)
    return lab


if __name__ == "__main__":
    made = morning(Path(sys.argv[1]))
    print(" ".join(f"{name}={value}" for name, value in made.env.items()))
    print(f"cd {made.repo.path}")
