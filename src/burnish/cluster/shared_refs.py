"""Refs of tasks on the git remote that machines share: fetched before a phase, pushed after it, by compare-and-swap.

Each ref of burnish has a copy on the remote: `refs/heads/burnish/3-x` is `refs/burnish/shared/heads/burnish/3-x` there,
so that no branch of the user is touched and no build is started. `refs/burnish/fetched/…` has what the remote had when
this clone last fetched or pushed. A push names that value, and the remote refuses it if another machine was faster.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from burnish.errors import BurnishError, Refused
from burnish.git.base import is_ancestor
from burnish.git.project import Project
from burnish.git.publishing import adopting_packs, publish
from burnish.git.refs import delete_ref, list_refs, read_ref, update_ref
from burnish.git.remotes import fetch
from burnish.git.rescue import PREFIX as RESCUES
from burnish.git.rescue import keep
from burnish.git.target_branch import user_git
from burnish.proc.capture import Captured
from burnish.sanitize import clean_text

SHARED = "refs/burnish/shared/"
FETCHED = "refs/burnish/fetched/"
ID = "id"
FETCHED_ID = f"{FETCHED}{ID}"
BRANCHES = "refs/heads/burnish/"
ARTIFACTS = "refs/burnish/artifacts/"
BASES = "refs/burnish/bases/"
_KINDS = (BRANCHES, ARTIFACTS, RESCUES, BASES)
# No hook, monitor or maintenance of the clone runs for this; access to the remote is the user's own.
_PLAIN = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "maintenance.auto=false")
_PUSH = ("push", "--quiet", "--no-verify")
_IMAGES = f"{SHARED}images/"
_SECONDS = 300.0
# git has no ref `x` beside `x/y`
_BLOCKING_REF = re.compile(r"'([^']+)' exists; cannot create ")


class RemoteAway(BurnishError):
    """The remote could not be reached, did not answer, or did not accept what was sent."""


class PushRejected(Refused):
    """Another machine has changed a ref on the remote since this one last looked."""


@dataclass(frozen=True, slots=True)
class SharedRefs:
    """The refs of one project on its remote."""

    project: Project
    remote: str

    def fetch(self, numbers: Iterable[int], branches: Iterable[str] = ()) -> None:
        """Learn what the remote has of these tasks, and of branches of the user that tasks start from."""
        patterns = [f"{kind.removeprefix('refs/')}{number}-*" for kind in _KINDS for number in sorted(set(numbers))]
        specs = [f"+{SHARED}{pattern}:{FETCHED}{pattern}" for pattern in patterns]
        specs += [f"+refs/heads/{name}*:refs/remotes/{self.remote}/{name}*" for name in sorted(set(branches))]
        self._fetch("--prune", self.remote, *specs)

    def fetch_all(self) -> None:
        """Learn what the remote has of all tasks."""
        specs = [f"+{SHARED}{kind[5:]}*:{FETCHED}{kind[5:]}*" for kind in _KINDS]
        self._fetch("--prune", self.remote, *specs)

    def on_remote(self) -> dict[str, str]:
        """What the remote had when it was last asked, by the name of the ref in this clone."""
        found = list_refs(self.project, FETCHED)
        return {f"refs/{ref.removeprefix(FETCHED)}": sha for ref, sha in found.items()}

    def bring(self, numbers: Iterable[int]) -> list[str]:
        """Move the refs of these tasks to what the remote has. Work that only this clone has is kept. Returns notes."""
        found = self.of_tasks(numbers)
        commits = self.commits_of(found)
        notes = [self._bring(ref, sha) for ref, sha in commits.items()]
        if others := [ref for ref in found if ref not in commits]:
            more = f" (and {len(others) - 1} others)" if others[1:] else ""
            notes.append(f"{others[0]}{more} of the remote {self.remote} is not used: burnish does not push such a ref")
        return [note for note in notes if note]

    def commits_of(self, refs: Mapping[str, str]) -> dict[str, str]:
        """The refs as burnish writes them. Anyone who can push chooses what a ref names, and its name."""
        flat = {ref: sha for ref, sha in refs.items() if any(ref.rpartition("/")[0] + "/" == kind for kind in _KINDS)}
        ids = "".join(f"{sha}\n" for sha in flat.values())
        lines = self.project.git("cat-file", "--batch-check", stdin=ids.encode()).stdout.decode().splitlines()
        commits = {line.partition(" ")[0] for line in lines if " commit " in line}
        return {ref: sha for ref, sha in flat.items() if sha in commits}

    def of_tasks(self, numbers: Iterable[int]) -> dict[str, str]:
        """What the remote had of these tasks when it was last asked."""
        own = re.compile(rf"(?:{'|'.join(_KINDS)})(?:{'|'.join(map(str, sorted(set(numbers))))})-")
        return {ref: sha for ref, sha in self.on_remote().items() if own.match(ref)}

    def _bring(self, ref: str, there: str) -> str:
        here = read_ref(self.project, ref)
        if here == there or (here and is_ancestor(self.project, there, here)):
            return ""  # what this clone has beyond it is pushed with the next phase
        note = ""
        if here and not is_ancestor(self.project, here, there):
            label = ref.rpartition("/")[2]
            kept_ref = keep(self.project, f"{label}-{'here' if ref.startswith(BRANCHES) else 'artifacts'}", here)
            note = f"{ref} differs from the remote's: what this machine had is kept as {kept_ref}"
        update_ref(self.project, ref, there, here or self.project.zero)
        return note

    def push(self, refs: Mapping[str, str | None]) -> None:
        """Set the refs on the remote to these commits (None: remove), if it has what this clone last saw there."""
        remote_refs = self.on_remote()
        changes = {ref: sha for ref, sha in refs.items() if remote_refs.get(ref) != sha}
        if not changes:
            return
        for sha in changes.values():
            if sha:
                publish(self.project, sha)
        leases = [f"--force-with-lease={_there(ref)}:{remote_refs.get(ref, '')}" for ref in changes]
        specs = [f"{sha or ''}:{_there(ref)}" for ref, sha in changes.items()]
        result = self._git(*_PUSH, "--atomic", *leases, self.remote, *specs, check=False)
        if result.exit_code:
            raise _why(result, self.remote)
        for ref, sha in changes.items():
            self._note_remote(ref, sha)

    def _note_remote(self, ref: str, sha: str | None) -> None:
        name = f"{FETCHED}{ref.removeprefix('refs/')}"
        before = read_ref(self.project, name)
        if sha and before != sha:
            update_ref(self.project, name, sha, before or self.project.zero)
        elif before and not sha:
            delete_ref(self.project, name, before)

    def _fetch(self, *args: str) -> None:
        with adopting_packs(self.project):
            result = _fetch(self.project.root, *args)
        if result.exit_code:
            raise _why(result, self.remote)

    def _git(self, *args: str, check: bool = True) -> Captured:
        result = _run(self.project.root, *args)
        if check and result.exit_code:
            raise _why(result, self.remote)
        return result


def publish_id(root: Path, remote: str, id: str, old_id: str = "") -> bool:
    """Give the remote the id of this repository, in place of `old_id`; False if it has another one."""
    name = f"{SHARED}{ID}"
    lease = f"--force-with-lease={name}:{old_id}"
    result = _run(root, *_PUSH, lease, remote, f"{id}:{name}")
    if result.exit_code and remote_id(root, remote) != id:
        return False
    _run(root, "update-ref", "--no-deref", FETCHED_ID, id)
    return True


def remote_id(root: Path, remote: str) -> str | None:
    """The id that the remote has; raises if it cannot be reached."""
    result = _run(root, "ls-remote", remote, f"{SHARED}{ID}")
    if result.exit_code:
        raise _why(result, remote)
    words = result.stdout.split()
    return words[0].decode() if words else None


def adopt_id(root: Path, remote: str) -> bool:
    """Give a clone the id that its repository has on the remote; False if there is none, or it cannot be reached."""
    spec = f"+{SHARED}{ID}:refs/burnish/local/id"
    try:
        if _fetch(root, remote, spec).exit_code:
            return False
    except BurnishError:
        return False
    return _run(root, "update-ref", "--no-deref", FETCHED_ID, "refs/burnish/local/id").exit_code == 0


def push_image(root: Path, remote: str, file: Path) -> None:
    """Give the remote an image of a description; its name is the hash of its content."""
    blob = _run(root, "hash-object", "-w", "--no-filters", "--", str(file))
    sha = blob.stdout.decode().strip()
    result = blob if blob.exit_code else _run(root, *_PUSH, remote, f"{sha}:{_IMAGES}{file.name}")
    if result.exit_code:
        raise _why(result, remote)


def fetch_image(root: Path, remote: str, name: str, longest: int) -> bytes | None:
    """An image from the remote; None if it has none of that name, or one that is too large."""
    answer = _run(root, "ls-remote", remote, f"{_IMAGES}{name}")
    words = answer.stdout.decode().split()
    if answer.exit_code or not words:
        return None
    size = ""
    if _fetch(root, remote, f"{_IMAGES}{name}").exit_code == 0:
        size = _run(root, "cat-file", "-s", words[0]).stdout.decode().strip()
    if not size.isdecimal() or int(size) > longest:
        return None
    return _run(root, "cat-file", "blob", words[0]).stdout


def has_remote(root: Path, remote: str) -> bool:
    """Whether the clone has a remote of that name."""
    if remote.startswith("-"):
        return False
    return _run(root, "config", "--get-all", f"remote.{remote}.url").exit_code == 0


def remote_problem(root: Path, remote: str) -> str:
    """Why the remote cannot be reached; "" if it can."""
    try:
        result = _run(root, "ls-remote", remote, f"{SHARED}{ID}")
    except BurnishError as error:
        return error.what
    lines = result.stderr.decode(errors="replace").strip().splitlines()
    return (lines[-1] if lines else "git gave no reason") if result.exit_code else ""


def _run(root: Path, *args: str) -> Captured:
    try:
        return user_git(root, *_PLAIN, *args, timeout=_SECONDS)
    except BurnishError as error:
        raise RemoteAway(error.what, hint=error.hint) from error


def _fetch(root: Path, *args: str) -> Captured:
    try:
        return fetch(root, "--no-auto-maintenance", *args, options=_PLAIN, timeout=_SECONDS)
    except BurnishError as error:
        raise RemoteAway(error.what, hint=error.hint) from error


def _there(ref: str) -> str:
    return f"{SHARED}{ref.removeprefix('refs/')}"


def _why(result: Captured, remote: str) -> BurnishError:
    lines = [line.strip() for line in result.stderr.decode(errors="replace").splitlines() if line.strip()]
    if any("stale info" in line or "[rejected]" in line for line in lines):
        return PushRejected(
            f"Another machine has changed the task on the remote {remote} meanwhile.",
            hint="Nothing was overwritten. The task continues from what the remote has.",
        )
    answers = [line.removeprefix("remote: ") for line in lines if line.startswith(("remote: error:", "remote: fatal:"))]
    if refusals := answers or [line for line in lines if "[remote rejected]" in line]:
        hint = "Check its rules and your rights there, and its objects with `git fsck`."
        if blocking := _BLOCKING_REF.search(refusals[0]):
            hint = (
                f"Remove the ref that is in the way: git push {remote} --delete {shlex.quote(clean_text(blocking[1]))}"
            )
        return RemoteAway(f"The git remote {remote} reports an error: {clean_text(refusals[0])[:300]}", hint=hint)
    reason = next((line for line in lines if line.startswith(("fatal:", "error:", "ssh:"))), "git gave no reason")
    return RemoteAway(f"The git remote {remote} could not be reached: {reason}", hint="Check it with `git ls-remote`.")
