"""burnish attest, burnish verify"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from burnish.cli.output import count, mark, one_line, say, say_json, tell
from burnish.cli.parameters import Argument, Option
from burnish.cli.session import AsJson, TaskId, open_app, start_dir, write_output
from burnish.core.task import task_id

if TYPE_CHECKING:
    from burnish.features.merge.attestation import Verified


def attest(
    task: TaskId,
    output: Annotated[
        Path | None, Option("-o", "--output", metavar="FILE", help="Also write the statement to FILE.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Sign a statement of a task's approval.

    The statement has the commit, the tree, the base, checks, reviewers, verdicts and overrides. It is signed with the
    SSH or GPG key that git signs with, and stored under refs/burnish/attest/. `burnish verify` checks it anywhere.
    """
    from burnish import runtime

    runtime.refuse_inside_phase()
    from burnish.features.merge.attestation import attest as sign_statement

    attestation = sign_statement(open_app(), task_id(task))
    if output is not None:
        write_output(output, attestation.envelope)
    if as_json:
        say_json(
            {
                "id": str(attestation.task.id),
                "commit": attestation.commit,
                "ref": attestation.ref,
                "file": str(output or "") or None,
            }
        )
        return
    say(f"{mark('✓')} Signed the approval of task {attestation.task.id} at {attestation.commit[:12]}")
    tell(f"  Push it: git push origin {attestation.ref}")


def verify(
    commit: Annotated[str, Argument(metavar="COMMIT", help="The commit to verify.", show_default=False)],
    allowed_signers: Annotated[
        Path | None,
        Option(
            "--allowed-signers",
            metavar="FILE",
            help="Accept keys in FILE: allowed signers of SSH, or exported GPG keys.",
        ),
    ] = None,
    statement: Annotated[
        Path | None, Option("--statement", metavar="FILE", help="Read the statement from FILE, not from the ref.")
    ] = None,
    allow_override: Annotated[
        bool, Option("--allow-override", help="Accept an approval that a person gave against the review.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check the signed statement of a commit's approval.

    It needs the repository, and no burnish home. Exit code 1: the commit has no statement that holds.
    """
    from burnish.features.merge.attestation import verify as check_statement

    start = start_dir()
    found = check_statement(
        start,
        commit,
        signers=start / allowed_signers if allowed_signers else None,
        statement=start / statement if statement else None,
        allow_override=allow_override,
    )
    if as_json:
        say_json(found.as_json())
        return
    say(f"{mark('✓')} {found.commit[:12]} was approved by {_approvers(found)}, signed by {one_line(found.signer)}")
    if found.unseen_count:
        tell(f"  No reviewer saw the content of {count(found.unseen_count, 'file')}.")


def _approvers(found: Verified) -> str:
    """The reviewers and the people; against which review, if a person overrode it."""

    def listed(names: Iterable[str]) -> str:
        return ", ".join(one_line(name) for name in dict.fromkeys(names))

    if found.overriders:
        review = f" of {listed(found.reviewers)}" if found.reviewers else ""
        return f"{listed((*found.overriders, *found.people))} against the review{review}"
    return listed((*found.reviewers, *found.people)) or "a person"
