"""Does git ignore a path of the user's checkout?"""

from __future__ import annotations

import tempfile
from pathlib import Path

from burnish.git.project import Found, open_project


def is_ignored(found: Found, path: str) -> bool:
    """Asked of git with a git dir of our own, as workspaces are; `path` is from the root, a folder ends in /."""
    with tempfile.TemporaryDirectory(prefix="burnish-ignored-") as place:
        project = open_project(found, home=Path(place).resolve(), key="ignored")
        answer = project.git("check-ignore", "-q", "--no-index", "--", path, work_tree=found.root, ok=(0, 1))
        return answer.exit_code == 0
