"""What the target branch changed, for the author who resolves a conflict and for the reviewers of the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from burnish.core.commit import MergeConflict, TargetCommit
from burnish.review.quoting import cut_text, fenced, one_line, quoted

MAX_CONFLICTS = 50
# bytes of the messages of all commits, and of one
MAX_MESSAGES, MAX_MESSAGE = 6 * 1024, 1024


@dataclass(frozen=True, slots=True)
class TargetChanges:
    """The target's side of a merge, as far as it concerns the paths with a conflict."""

    name: str
    commit: str
    conflicts: tuple[MergeConflict, ...]
    # commits of the target that the branch did not have, newest first
    commits: tuple[TargetCommit, ...] = ()
    # diffs of the paths with a conflict, from where the two sides parted
    their_diff: str = ""
    our_diff: str = ""
    # paths with a conflict that are as the task had them before the merge
    unchanged: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(conflict.path for conflict in self.conflicts))


def conflict_text(changes: TargetChanges, limit: int, tag: str) -> str:
    """For the author: what to resolve, and what each side wanted. At most about `limit` bytes of diffs."""
    name, commit = _name(changes), changes.commit[:12]
    how = (
        f"{name} has changed since this task began. The files here are the merge of your branch with {name} at"
        f" `{commit}`, and both sides changed the same places. Resolve the conflicts, before anything else:\n\n"
        f"- In a file with markers, this task's side is between `<<<<<<<` and `=======`, and the side of {name} between"
        " `=======` and `>>>>>>>`.\n"
        "- Keep what both sides want: what this task asks for, and what the commits below do. Do not drop a change of"
        f" {name} unless the task asks for that; the reviewers compare the result with {name}.\n"
        "- Remove all markers. Do not run `git merge`, `git rebase` or `git commit`; what you leave is committed as the"
        " merge.\n"
        "- Other changed files are merged already. Change them only if the result needs it.\n"
        "- If both sides cannot hold, explain it in your final message."
    )
    parts = [how, f"The conflicts:\n\n{fenced(_conflict_lines(changes.conflicts), tag=tag)}", _their_part(changes, tag)]
    parts.append(_diff(f"What {name} changed in these files", changes.their_diff, limit // 2, tag))
    parts.append(_diff("What this task changed in these files", changes.our_diff, limit // 2, tag))
    return "\n\n".join(part.rstrip() for part in parts if part)


def merge_text(changes: TargetChanges, limit: int, tag: str) -> str:
    """For a reviewer: what the target wanted, and how to see that the merge dropped it."""
    name = _name(changes)
    how = (
        f"{name} at `{changes.commit[:12]}` was merged into this change, and the author resolved conflicts. The diff"
        f" above compares with {name} as it is now: a line of {name} that the diff removes or replaces was dropped by"
        " the change. For each conflict, check that the result does what the task asks for and what the commits below"
        f" do. A change of {name} that was dropped, and that the task does not ask to drop, is an error."
    )
    parts = [how, f"The conflicts:\n\n{fenced(_conflict_lines(changes.conflicts), tag=tag)}"]
    if changes.unchanged:
        names = fenced("\n".join(quoted(path) for path in changes.unchanged[:MAX_CONFLICTS]), tag=tag)
        parts.append(
            f"These are exactly as before the merge, so nothing of {name}'s change to them is left:\n\n{names}"
        )
    parts += [_their_part(changes, tag), _diff(f"What {name} changed in these files", changes.their_diff, limit, tag)]
    return "\n\n".join(part.rstrip() for part in parts if part) + "\n"


def _name(changes: TargetChanges) -> str:
    return f"`{one_line(changes.name)}`".replace("``", "the target")


def _conflict_lines(conflicts: Sequence[MergeConflict]) -> str:
    lines = [
        f"{quoted(one.path)}{f' ({one_line(one.kind)})' if one.kind else ''}"
        + (f": {one_line(one.message, longest=300)}" if one.message else "")
        for one in conflicts[:MAX_CONFLICTS]
    ]
    more = len(conflicts) - MAX_CONFLICTS
    return "\n".join([*lines, *([f"… and {more:,} more"] if more > 0 else [])])


def _their_part(changes: TargetChanges, tag: str) -> str:
    if not changes.commits:
        return ""
    texts = [f"{one.sha[:12]} {cut_text(one.message, MAX_MESSAGE)}" for one in changes.commits]
    return f"Commits of {_name(changes)} that change them, newest first:\n\n" + fenced(
        cut_text("\n\n".join(texts), MAX_MESSAGES), tag=tag
    )


def _diff(title: str, diff: str, limit: int, tag: str) -> str:
    return f"{title}:\n\n{fenced(cut_text(diff, limit), tag=tag)}" if diff.strip() else ""
