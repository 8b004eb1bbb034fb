"""Rescue refs: work that would otherwise be lost is kept under `refs/burnish/rescue/`. They are never moved."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from burnish.core.secrets import Secrets
from burnish.core.status import ErrorCode
from burnish.errors import PhaseFailed
from burnish.git import agent_gitdir
from burnish.git.files import remove_tree
from burnish.git.integrity import find_unreadable
from burnish.git.objects import Author, read_commit, write_commit
from burnish.git.project import Project
from burnish.git.publishing import publish
from burnish.git.refs import StaleRef, list_refs, read_ref, update_ref

PREFIX = "refs/burnish/rescue/"
ARTIFACTS = "refs/burnish/artifacts/"


def keep(project: Project, label: str, sha: str) -> str:
    """Create a rescue ref for the commit; a number is added to the label if it is in use. Returns the ref."""
    for ref, there in _numbered_refs(project, label):
        if there == sha:
            return ref
        if there is None:
            publish(project, sha, always=True)
            try:
                update_ref(project, ref, sha, project.zero)
            except StaleRef:
                continue
            return ref
    raise PhaseFailed(
        ErrorCode.GIT_ERROR, f"There are 1,000 rescue refs for {label}.", hint="Remove some: `burnish clean`."
    )


def keep_tree(project: Project, label: str, tree: str, parent: str, message: str, author: Author) -> str:
    """Commit the tree and create a rescue ref; an equal commit, with the same message, keeps its ref."""
    for ref, there in _numbered_refs(project, label):
        if there is None:
            break
        old = read_commit(project, there)
        if (old.tree, old.parents, old.message.strip()) == (tree, (parent,), message.strip()):
            return ref
    return keep(project, label, write_commit(project, tree, (parent,), message, author))


def kept_refs(project: Project, number: int, name: str) -> list[str]:
    """Readable refs with rescued work and artifacts of one task, newest rescue first."""
    all_refs = list_refs(project, PREFIX) | list_refs(project, ARTIFACTS)
    own = re.compile(f"(?:{PREFIX}{number}-|{ARTIFACTS}{re.escape(name)}$)")
    task_refs = {ref: sha for ref, sha in all_refs.items() if own.match(ref)}
    unreadable = find_unreadable(project, list(task_refs.values()), with_trees=True)
    return sorted((ref for ref, sha in task_refs.items() if sha not in unreadable), reverse=True)


def _numbered_refs(project: Project, label: str) -> Iterator[tuple[str, str | None]]:
    for number in range(1, 1000):
        ref = PREFIX + (label if number == 1 else f"{label}-{number}")
        yield ref, read_ref(project, ref)


def take_agent_gitdir(
    project: Project, root: Path, label: str, own_commits: list[str], *, secrets: Secrets, most: int
) -> str | None:
    """Remove the agent's `.git`; its own commits are kept under rescue refs, the first of which is returned."""
    rescue_refs: list[str] = []
    for aside in agent_gitdir.move_gitdir_aside(root):
        theirs = [sha for sha in agent_gitdir.read_tips(aside / "git") if sha not in own_commits]
        try:
            copied_commits = (
                agent_gitdir.copy_commits(project, aside / "git", theirs, own_commits, secrets, most) if theirs else []
            )
        except PhaseFailed as failed:
            if failed.code == ErrorCode.DISK_FULL:
                raise
            agent_gitdir.keep_gitdir(project, aside, label)
            continue
        rescue_refs += [keep(project, f"{label}-git", sha) for sha in copied_commits]
        remove_tree(aside)
    with suppress(OSError):  # without such a folder, or with one that could not be moved
        agent_gitdir.folder_aside(root).rmdir()
    return rescue_refs[0] if rescue_refs else None
