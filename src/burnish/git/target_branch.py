"""Moves a branch of the user, on explicit request: by compare-and-swap, or with the user's own git."""

from __future__ import annotations

import os
from itertools import takewhile
from pathlib import Path

from burnish.core.status import ErrorCode
from burnish.errors import BadInput, PhaseFailed, Refused
from burnish.git.project import Project
from burnish.git.publishing import publish
from burnish.git.refs import INVALID_REF_NAME, StaleRef, heads, read_ref
from burnish.proc.capture import Captured, capture
from burnish.proc.own_programs import find_own_program

# variables that redirect git to another repository; all others of the user's environment are passed on
LOCATION_VARIABLES = (
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
# files that exist during a merge, cherry-pick or rebase
UNDER_WAY = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "sequencer")
_MAX_PATHS = 5
# git overwrites ignored files by default, and the user's `mergeOptions` may ask for a squash, which changes files
# without moving the branch
FORWARD = ("merge", "--ff-only", "--no-squash", "--no-overwrite-ignore")


# in blocks of 512 bytes; not `preexec_fn`, which must not be used in a server with threads
_LIMIT_FILES = 'ulimit -f "$0" 2>/dev/null; exec "$@"'


def target_ref(project: Project, branch: str) -> tuple[str, str]:
    """The ref of a branch of the user, and its commit."""
    ref = f"refs/heads/{branch.removeprefix('refs/heads/')}"
    if ref.startswith("refs/heads/burnish/"):
        raise BadInput(f"{branch} is one of burnish's own branches.", hint="Name one of yours: --into BRANCH.")
    sha = None if INVALID_REF_NAME.search(ref) else read_ref(project, ref)
    if sha is None:
        raise BadInput(f"There is no branch {branch!r}.", hint="List branches with `git branch`; name one with --into.")
    real = project.user_git("symbolic-ref", "--quiet", ref, ok=(0, 1, 128)).stdout.decode().strip()
    if real:
        raise BadInput(f"{branch} is a symbolic ref to {real}.", hint="Name that branch with --into.")
    return ref, sha


def checkout_of(project: Project, ref: str) -> Path | None:
    """The checkout that has the branch checked out, if any."""
    return next((place for place, head in heads(project) if head == ref), None)


def user_git(
    place: Path, *args: str, timeout: float = 600.0, max_bytes: int | None = None, max_file_bytes: int | None = None
) -> Captured:
    """Run git with the user's settings, hooks and helpers. Only for what the user explicitly requested.

    `max_bytes` limits its output, `max_file_bytes` each file that it writes.
    """
    env = {name: value for name, value in os.environ.items() if name not in LOCATION_VARIABLES}
    program = find_own_program("git") or "git"
    limit = ("/bin/sh", "-c", _LIMIT_FILES, str(max_file_bytes // 512)) if max_file_bytes else ()
    argv = [*limit, program, *map(os.fsencode, args)]
    return capture(argv, cwd=place, env=env, timeout=timeout, max_bytes=max_bytes)


def check_clean(project: Project, place: Path, ref: str) -> None:
    """Refuse unless the checkout is on the branch, without uncommitted changes or a merge in progress."""
    branch = ref.removeprefix("refs/heads/")
    git_dir = user_git(place, "rev-parse", "--absolute-git-dir")
    here = Path(os.fsdecode(git_dir.stdout).rstrip("\n")) if git_dir.exit_code == 0 else None
    if here is None:
        raise Refused(
            f"{branch} is checked out at {place}, which git cannot read.",
            hint="Run `git worktree prune`, then merge again.",
        )
    found = next((name for name in UNDER_WAY if (here / name).exists()), None)
    if found or user_git(place, "symbolic-ref", "--quiet", "HEAD").stdout.decode().strip() != ref:
        raise Refused(
            f"{branch} is checked out at {place}, where a merge or rebase is in progress.",
            hint="Finish or abort it first, then merge again.",
        )
    status = user_git(
        place, "--no-optional-locks", "status", "--porcelain", "-z", "--untracked-files=no", "--no-renames"
    )
    if status.exit_code:
        raise git_failure(status, "git status")
    dirty = [os.fsdecode(record[3:]) for record in status.stdout.split(b"\0") if record]
    if dirty:
        more = f" and {len(dirty) - 3} more" if len(dirty) > 3 else ""
        raise Refused(
            f"{branch} is checked out at {place} with uncommitted changes: {', '.join(dirty[:3])}{more}.",
            hint="Commit them or run `git stash` there, then merge again.",
        )


def fast_forward(project: Project, place: Path, ref: str, new: str, old: str) -> None:
    """Run `git merge --ff-only` in the user's checkout with the user's git; ignored files are not overwritten."""
    check_clean(project, place, ref)
    publish(project, new)
    _check_unmoved(project, ref, old)
    # what was approved are the objects themselves, not others in their place (`git replace`)
    result = user_git(place, "--no-replace-objects", *FORWARD, "--quiet", new)
    if read_ref(project, ref) == new:
        return
    _check_unmoved(project, ref, old)
    reason = _error_text(result) or "git gives no reason"
    raise Refused(
        f"git could not fast-forward {ref.removeprefix('refs/heads/')}: {reason}",
        hint=f"Fix this in {place} (ignored files are not overwritten either), then merge again.",
    )


def _check_unmoved(project: Project, ref: str, old: str) -> None:
    now = read_ref(project, ref)
    if now != old:
        raise StaleRef(
            f"{ref.removeprefix('refs/heads/')} moved to {(now or 'nothing')[:12]} meanwhile.",
            hint="Nothing was merged; merge again.",
        )


def swap(project: Project, ref: str, new: str, old: str, *, verified_ref: tuple[str, str]) -> None:
    """Move the branch from `old` to `new` if `verified_ref` has not moved, in one transaction."""
    other, tip = verified_ref
    publish(project, new)
    lines = ["start", f"verify {other} {tip}", f"update {ref} {new} {old}", "prepare", "commit", ""]
    text = "\n".join(lines).encode("utf-8", "surrogateescape")
    result = project.user_git("update-ref", "--no-deref", "--stdin", stdin=text, ok=(0, 1, 128))
    if result.exit_code == 0:
        return
    _check_unmoved(project, ref, old)
    _check_unmoved(project, other, tip)
    raise git_failure(result, "git update-ref")


def git_failure(result: Captured, what: str, *, hint: str = "Run `burnish doctor`.") -> PhaseFailed:
    reason = _error_text(result) or f"exit code {result.exit_code}"
    return PhaseFailed(ErrorCode.GIT_ERROR, f"{what} failed: {reason}", hint=hint)


def _error_text(result: Captured) -> str:
    """git's error line, and the paths that it lists below."""
    lines = [line for line in result.stderr.decode(errors="replace").split("\n") if line.strip()]
    at = next((n for n, line in enumerate(lines) if line.startswith(("error:", "fatal:"))), 0)
    paths = [line.strip() for line in takewhile(lambda line: line.startswith("\t"), lines[at + 1 :])]
    more = f" and {len(paths) - _MAX_PATHS} more" if len(paths) > _MAX_PATHS else ""
    why = lines[at].strip() if lines else ""
    return f"{why} {', '.join(paths[:_MAX_PATHS])}{more}".strip()
