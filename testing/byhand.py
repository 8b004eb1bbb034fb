"""What a person does behind burnish's back, and everything that must stay as it was when something is refused."""

from __future__ import annotations

import subprocess

from testing.lab import Lab

# An author that adds a line, and is content.
ADDS_A_LINE = 'app.write_text(app.read_text() + f"# {phase} {cycle}\\n")'
SEES_BOTH = "print(verdict('approved', inspected=['app.py', 'by-hand.py']))"


def commit_by_hand(lab: Lab, number: str | int = 1) -> str:
    """Move the task's branch in the user's repository, as a person with a clone would."""
    branch = lab.task(number)["branch"]
    words = (
        f"commit refs/heads/{branch}\ncommitter P <p@e> 1700000000 +0000\ndata 7\nby hand\n"
        f"from refs/heads/{branch}^0\nM 100644 inline by-hand.py\ndata 6\nx = 1\n\n"
    )
    subprocess.run(["git", "fast-import", "--quiet"], cwd=lab.repo.path, input=words.encode(), check=True)
    return lab.repo.git("rev-parse", branch)


def facts(lab: Lab) -> tuple[object, ...]:
    """The whole story, every ref, and every byte of the user's repository."""
    return lab.events(), lab.refs("refs/"), lab.repo.fingerprint()
