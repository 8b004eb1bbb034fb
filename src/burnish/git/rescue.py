"""Rescue refs: whatever would otherwise be lost is kept under `refs/burnish/rescue/`, and nothing there is moved."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from burnish.core.secrets import Secrets
from burnish.core.status import ErrorCode
from burnish.errors import PhaseFailed
from burnish.git import agent_gitdir as agentgit
from burnish.git.files import remove_tree
from burnish.git.objects import Author, read_commit, write_commit
from burnish.git.project import Project
from burnish.git.publishing import publish
from burnish.git.refs import StaleRef, list_refs, read_ref, update_ref
from burnish.git.soundness import find_unreadable

PREFIX = "refs/burnish/rescue/"
ARTIFACTS = "refs/burnish/artifacts/"


def keep(project: Project, label: str, sha: str) -> str:
    """A ref of that label for the commit; a number is added if the name is taken by another."""
    for ref, there in _taken(project, label):
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
        ErrorCode.GIT_ERROR, f"There are 1,000 rescue refs for {label}.", hint="Look at them: `burnish clean`."
    )


def keep_tree(project: Project, label: str, tree: str, parent: str, message: str, author: Author) -> str:
    """A commit of the tree under a rescue ref; the same rescue, with the same message, twice is one ref."""
    for ref, there in _taken(project, label):
        if there is None:
            break
        old = read_commit(project, there)
        if (old.tree, old.parents, old.message.strip()) == (tree, (parent,), message.strip()):
            return ref
    return keep(project, label, write_commit(project, tree, (parent,), message, author))


def kept_refs(project: Project, number: int, name: str) -> list[str]:
    """Refs with rescued work and artifacts of one task that can be read, newest rescue first."""
    known = list_refs(project, PREFIX) | list_refs(project, ARTIFACTS)
    own = re.compile(f"(?:{PREFIX}{number}-|{ARTIFACTS}{re.escape(name)}$)")
    wanted = {ref: sha for ref, sha in known.items() if own.match(ref)}
    wrong = find_unreadable(project, list(wanted.values()), with_trees=True)
    return sorted((ref for ref, sha in wanted.items() if sha not in wrong), reverse=True)


def _taken(project: Project, label: str) -> Iterator[tuple[str, str | None]]:
    for number in range(1, 1000):
        ref = PREFIX + (label if number == 1 else f"{label}-{number}")
        yield ref, read_ref(project, ref)


def take_git(project: Project, root: Path, label: str, laid: list[str], *, secrets: Secrets, most: int) -> str | None:
    """Move the agent's `.git` away; commits of its own go to rescue refs, the first of which is returned."""
    kept: list[str] = []
    for aside in agentgit.take_aside(root):
        theirs = [sha for sha in agentgit.tips(aside / "git") if sha not in laid]
        try:
            made = agentgit.take_commits(project, aside / "git", theirs, laid, secrets, most) if theirs else []
        except PhaseFailed as failed:
            if failed.code == ErrorCode.DISK_FULL:
                raise
            agentgit.keep_whole(project, aside, label)
            continue
        kept += [keep(project, f"{label}-git", sha) for sha in made]
        remove_tree(aside)
    return kept[0] if kept else None
