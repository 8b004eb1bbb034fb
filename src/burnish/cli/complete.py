"""Shell completion of tasks and projects. Errors give no completions."""

from __future__ import annotations

import os
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

from burnish.cli.output import one_line
from burnish.errors import BurnishError


def tasks(incomplete: str) -> list[tuple[str, str]]:
    """The tasks of this repository, each with its title and status."""
    from burnish.core.status import Status

    prefix = incomplete[:1] if incomplete[:1] in ("T", "t") else ""
    last = (Status.COMPLETED, Status.CANCELLED)
    # Finished tasks come last: they are rarely wanted.
    found = sorted(_tasks(), key=lambda task: (task.status in last, task.id))
    offers = [(f"{prefix}{task.id}", f"{one_line(task.spec.title)} ({task.status})") for task in found]
    return [offer for offer in offers if offer[0].startswith(incomplete)]


def projects(incomplete: str) -> list[tuple[str, str]]:
    from burnish.adapters.stores import open_store
    from burnish.runtime.reader import home_of

    try:
        with open_store(home_of(), create=False) as store:
            offers = [(project.key, one_line(str(project.root))) for project in store.projects()]
    except BurnishError:
        return []
    return [offer for offer in offers if offer[0].startswith(incomplete)]


def _tasks() -> list[Any]:
    from burnish.adapters.stores import open_store
    from burnish.git.discovery import discover
    from burnish.runtime.reader import home_of

    try:
        found = discover(_start())
        with open_store(home_of(), create=False) as store:
            project = store.project_for(found.common_dir, found.root, create=False)
            return store.tasks(project.key, brief=True) if project else []
    except (BurnishError, OSError):
        return []


def _start() -> Path:
    """The directory of the command line that is completed: its `-C DIR`, else the current one."""
    try:
        words = shlex.split(os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", ""))
    except ValueError:
        words = []
    directories = [after for word, after in pairwise(words) if word == "-C"]
    return Path(directories[0]).expanduser() if directories else Path.cwd()
