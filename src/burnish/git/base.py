"""The base commit of a task."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from burnish.core.commit import Base
from burnish.errors import BadInput, BurnishError
from burnish.git.files import copy_index, disk_errors, write_whole
from burnish.git.objects import BURNISH_AUTHOR, read_commit, write_commit
from burnish.git.project import Project, user_settings
from burnish.git.publishing import publish
from burnish.git.refs import name_conflict, read_ref
from burnish.git.run import git_version
from burnish.git.staging import find_dirty_paths
from burnish.regular_files import read_regular


def resolve_base(project: Project, ref: str | None) -> Base:
    """The commit that `ref` names now; None means HEAD of the user's checkout."""
    if ref is None:
        return _head(project)
    if not ref or ref.startswith("-") or re.search(r"[\x00-\x1f]", ref):
        raise BadInput(f"{ref!r} is not a revision.", hint="Name a branch, a tag or a commit.")
    commit, tree, branch = _resolve_names(project, f"{ref}^{{commit}}", f"{ref}^{{tree}}", f"refs/heads/{ref}")
    if commit is None or tree is None:
        raise BadInput(f"There is no revision {ref!r} in {project.root}.", hint="`git branch -a` lists the branches.")
    return Base(commit, tree, ref if branch else None)


def _head(project: Project) -> Base:
    commit, tree = _resolve_names(project, "HEAD^{commit}", "HEAD^{tree}")
    if commit is None or tree is None:
        raise no_commits(project)
    return Base(commit, tree, _head_branch(project))


def _head_branch(project: Project) -> str | None:
    """The branch that is checked out, None on a detached HEAD. Without a process: each run asks many times."""
    head = (read_regular(project.git_dir / "HEAD", longest=4096, follow=False) or b"").rstrip()
    if re.fullmatch(rb"[0-9a-f]{40,64}", head):
        return None
    # with reftable the file names `.invalid`; in old repositories it may be a link
    where = head.removeprefix(b"ref: ") if head.startswith(b"ref: refs/heads/") else b""
    if not where or where.endswith(b"/.invalid"):
        where = project.user_git("symbolic-ref", "--quiet", "HEAD", here=True, ok=(0, 1)).stdout.strip()
    branch = where.decode("utf-8", "surrogateescape")
    return branch.removeprefix("refs/heads/") if branch.startswith("refs/heads/") else None


def checkout_branch(project: Project) -> str:
    """The branch that is checked out; "" on a detached HEAD."""
    head = read_regular(project.git_dir / "HEAD", longest=4096, follow=False) or b""
    return head.removeprefix(b"ref: refs/heads/").strip().decode("utf-8", "replace") if head.startswith(b"ref:") else ""


def no_commits(project: Project) -> BurnishError:
    return BurnishError(
        f"{project.root} has no commits yet, so there is nothing to start from.",
        hint='Make a first commit: `git add -A && git commit -m "First commit"`.',
    )


def start_problems(project: Project) -> list[BurnishError]:
    """Reasons why no task can run in this repository now; read from files, without a process."""
    found = []
    head = read_regular(project.git_dir / "HEAD", longest=4096, follow=False) or b""
    branch = head.removeprefix(b"ref: ").strip().decode("utf-8", "surrogateescape")
    if head.startswith(b"ref: ") and read_ref(project, branch) is None:
        found.append(no_commits(project))
    if problem := name_conflict(project):
        found.append(problem)
    return found


def _resolve_names(project: Project, *names: str) -> list[str | None]:
    query = "".join(f"{name}\n" for name in names).encode("utf-8", "surrogateescape")
    answer = project.user_git("cat-file", "--batch-check=%(objectname)", here=True, stdin=query).stdout
    lines = answer.decode("utf-8", "replace").removesuffix("\n").split("\n")
    return [line if re.fullmatch(r"[0-9a-f]{40,64}", line) else None for line in lines]


def merged_base(project: Project, commits: Sequence[str]) -> Base | None:
    """The clean merge of several commits, or None if they conflict."""
    if git_version() < (2, 38):
        raise BurnishError(
            "Starting from several branches at once needs git 2.38 or newer.",
            hint="Update git, or let the task depend on one of them only.",
        )
    tip = commits[0]
    for commit in commits[1:]:
        if is_ancestor(project, commit, tip):
            continue
        if is_ancestor(project, tip, commit):
            tip = commit
            continue
        result = project.git("merge-tree", "--write-tree", "--no-messages", "-z", tip, commit, ok=(0, 1, 128))
        if result.exit_code != 0:
            return None
        tree = result.stdout.split(b"\0")[0].decode()
        tip = write_commit(project, tree, (tip, commit), "Merge what this task depends on", BURNISH_AUTHOR)
    # the task refers to it as its base before it has a branch
    publish(project, tip)
    return Base(tip, read_commit(project, tip).tree, None)


def is_ancestor(project: Project, ancestor: str, commit: str) -> bool:
    """Whether `ancestor` is part of `commit`'s history."""
    return project.git("merge-base", "--is-ancestor", ancestor, commit, ok=(0, 1)).exit_code == 0


def uncommitted(project: Project) -> int:
    """Number of paths in the user's checkout that differ from HEAD; works on a copy of the index."""
    index = project.git_dir / "index"
    with TemporaryDirectory(dir=project.own, prefix="look-") as folder, disk_errors("copying the index"):
        copy = Path(folder) / "index"
        if index.is_file():
            copy_index(index, copy)
        copy_shared_index(project)
        paths = set(find_dirty_paths(project, copy, project.root, file_mode=file_mode(project), ours=False).paths)
        head = _resolve_names(project, "HEAD^{tree}")[0]
        if head is not None and index.is_file():
            args = (
                "diff-index",
                "--cached",
                "--name-only",
                "--no-renames",
                "--ignore-submodules=all",
                "-z",
                head,
            )
            output = project.git(*args, index=copy, work_tree=project.root).stdout
            paths |= {os.fsdecode(name) for name in output.split(b"\0") if name}
    return len(paths)


def copy_shared_index(project: Project) -> None:
    """Copy the shared part of a split index; its name is a hash of its content."""
    current = {part.name: part for part in project.git_dir.glob("sharedindex.*")}
    for old in project.own.glob("sharedindex.*"):
        if old.name not in current:
            old.unlink(missing_ok=True)
    for name, part in current.items():
        if not (project.own / name).exists():
            write_whole(project.own / name, part.read_bytes())


def file_mode(project: Project) -> bool:
    return user_settings(project).get("core.filemode", "true").lower() not in ("false", "no", "off", "0")


def identity(project: Project) -> tuple[str, str]:
    """The user's name and address for commits made on their behalf."""
    settings = user_settings(project)
    name = os.environ.get("GIT_AUTHOR_NAME") or settings.get("user.name")
    email = os.environ.get("GIT_AUTHOR_EMAIL") or settings.get("user.email")
    return (name or BURNISH_AUTHOR[0], email or BURNISH_AUTHOR[1])
