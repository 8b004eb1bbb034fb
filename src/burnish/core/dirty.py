"""Uncommitted files in a workspace, and whether they block a review."""

from __future__ import annotations

from collections.abc import Collection, Iterable

# What people keep there for burnish: part of the project like any source file.
KEPT_BY_PEOPLE = ("prompts/", "context/")
OWN = ".burnish/"
TASKS = ".burnish/tasks/"


def classify(
    paths: Iterable[str], *, task_name: str, written_by_burnish: Collection[str] = ()
) -> tuple[list[str], list[str]]:
    """(blocking, benign): source and the task's own files block; burnish's own and other tasks' files do not.

    `task_name` is the task's folder, e.g. `29-add-login`; `written_by_burnish` names files in it that are ours.
    """
    ours = frozenset(written_by_burnish)
    blocking: list[str] = []
    benign: list[str] = []
    for path in sorted(set(paths)):
        (benign if path in ours or _benign(path, task_name) else blocking).append(path)
    return blocking, benign


def _benign(path: str, task_name: str) -> bool:
    if path.startswith(TASKS):
        return not path.startswith(f"{TASKS}{task_name}/") and path != f"{TASKS}{task_name}"
    return path.startswith(OWN) and not path.removeprefix(OWN).startswith(KEPT_BY_PEOPLE)
