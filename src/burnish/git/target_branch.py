"""Moving a branch of the user's, because they asked for it by name: by compare-and-swap, or by their own git."""

from __future__ import annotations

import os
from itertools import takewhile
from pathlib import Path

from burnish.core.status import ErrorCode
from burnish.errors import BadInput, PhaseFailed, Refused
from burnish.git.project import Project
from burnish.git.publishing import publish
from burnish.git.refs import UNFIT, StaleRef, heads, read_ref
from burnish.proc.capture import Captured, capture
from burnish.proc.own_programs import find_own_program

# What tells git to work somewhere else; the rest of the environment is the user's own and stays.
ELSEWHERE = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
)
# A merge, pick or rebase that is under way: the files are not what HEAD says.
UNDER_WAY = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "sequencer")
_MOST_PATHS = 5
# By itself git would write over what is ignored; and `mergeOptions` of the user's may ask for a squash, which moves no
# branch and yet changes files.
FORWARD = ("merge", "--ff-only", "--no-squash", "--no-overwrite-ignore")


def target_ref(project: Project, branch: str) -> tuple[str, str]:
    """The full name of a branch of the user's, and where it is."""
    ref = f"refs/heads/{branch.removeprefix('refs/heads/')}"
    if ref.startswith("refs/heads/burnish/"):
        raise BadInput(f"{branch} is a branch of burnish's own.", hint="Name one of yours: --into BRANCH.")
    sha = None if UNFIT.search(ref) else read_ref(project, ref)
    if sha is None:
        raise BadInput(f"There is no branch {branch!r} here.", hint="`git branch` lists them; name one with --into.")
    real = project.user_git("symbolic-ref", "--quiet", ref, ok=(0, 1, 128)).stdout.decode().strip()
    if real:
        raise BadInput(f"{branch} is only another name of {real}.", hint="Name that one with --into.")
    return ref, sha


def checkout_of(project: Project, ref: str) -> Path | None:
    """The checkout that holds the branch, if one does."""
    return next((place for place, head in heads(project) if head == ref), None)


def user_git(place: Path, *args: str, timeout: float = 600.0) -> Captured:
    """git as the user would type it there: their settings, hooks and helpers. Only for what they asked for by name."""
    env = {name: value for name, value in os.environ.items() if name not in ELSEWHERE}
    program = find_own_program("git") or "git"
    return capture([program, *map(os.fsencode, args)], cwd=place, env=env, timeout=timeout)


def check_clean(project: Project, place: Path, ref: str) -> None:
    """Refuse unless the checkout holds the branch and nothing of the user's would be in the way."""
    branch = ref.removeprefix("refs/heads/")
    git_dir = user_git(place, "rev-parse", "--absolute-git-dir")
    here = Path(os.fsdecode(git_dir.stdout).rstrip("\n")) if git_dir.exit_code == 0 else None
    if here is None:
        raise Refused(
            f"{branch} is checked out at {place}, which git cannot read.", hint="`git worktree prune`, then again."
        )
    found = next((name for name in UNDER_WAY if (here / name).exists()), None)
    if found or user_git(place, "symbolic-ref", "--quiet", "HEAD").stdout.decode().strip() != ref:
        raise Refused(
            f"{branch} is checked out at {place}, in the middle of a merge or a rebase.",
            hint="Finish or abort that first, then merge again.",
        )
    status = user_git(
        place, "--no-optional-locks", "status", "--porcelain", "-z", "--untracked-files=no", "--no-renames"
    )
    if status.exit_code:
        raise last_line_of(status, "git status")
    dirty = [os.fsdecode(record[3:]) for record in status.stdout.split(b"\0") if record]
    if dirty:
        more = f" and {len(dirty) - 3} more" if len(dirty) > 3 else ""
        raise Refused(
            f"{branch} is checked out at {place} with uncommitted work: {', '.join(dirty[:3])}{more}.",
            hint="Commit it or `git stash` it there, then merge again.",
        )


def fast_forward(project: Project, place: Path, ref: str, new: str, old: str) -> None:
    """`git merge --ff-only` in the user's checkout, by the user's git; ignored files in the way stay, as others do."""
    check_clean(project, place, ref)
    publish(project, new)
    _still(project, ref, old)
    done = user_git(place, *FORWARD, "--quiet", new)
    if read_ref(project, ref) == new:
        return
    _still(project, ref, old)
    words = _last(done) or "it does not say why"
    raise Refused(
        f"Your git did not fast-forward {ref.removeprefix('refs/heads/')}: {words}",
        hint=f"Put right what it names in {place} (ignored files are kept, too), then merge again.",
    )


def _still(project: Project, ref: str, old: str) -> None:
    now = read_ref(project, ref)
    if now != old:
        raise StaleRef(
            f"{ref.removeprefix('refs/heads/')} moved to {(now or 'nothing')[:12]} in the meantime.",
            hint="Nothing was merged; merge again.",
        )


def swap(project: Project, ref: str, new: str, old: str, *, unmoved: tuple[str, str]) -> None:
    """Move the branch from `old` to `new` while another ref stands still: one transaction, all or nothing."""
    other, tip = unmoved
    publish(project, new)
    lines = ["start", f"verify {other} {tip}", f"update {ref} {new} {old}", "prepare", "commit", ""]
    text = "\n".join(lines).encode("utf-8", "surrogateescape")
    done = project.user_git("update-ref", "--no-deref", "--stdin", stdin=text, ok=(0, 1, 128))
    if done.exit_code == 0:
        return
    _still(project, ref, old)
    _still(project, other, tip)
    raise last_line_of(done, "git update-ref")


def last_line_of(done: Captured, what: str) -> PhaseFailed:
    words = _last(done) or f"exit code {done.exit_code}"
    return PhaseFailed(ErrorCode.GIT_ERROR, f"{what} failed: {words}", hint="Run `burnish doctor`.")


def _last(done: Captured) -> str:
    """The line that says why, and the paths that git lists under it."""
    lines = [line for line in done.stderr.decode(errors="replace").split("\n") if line.strip()]
    at = next((n for n, line in enumerate(lines) if line.startswith(("error:", "fatal:"))), 0)
    paths = [line.strip() for line in takewhile(lambda line: line.startswith("\t"), lines[at + 1 :])]
    more = f" and {len(paths) - _MOST_PATHS} more" if len(paths) > _MOST_PATHS else ""
    why = lines[at].strip() if lines else ""
    return f"{why} {', '.join(paths[:_MOST_PATHS])}{more}".strip()
