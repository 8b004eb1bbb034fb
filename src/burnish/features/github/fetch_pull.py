"""Fetches somebody's pull request for a review."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from burnish.errors import BadInput, BurnishError
from burnish.features.github.client import GitHub, PullState
from burnish.features.merge.pull_request import remote_of
from burnish.git.discovery import discover
from burnish.git.remotes import fetch
from burnish.git.review_target import ReviewTarget
from burnish.runtime.reader import refuse_inside_phase
from burnish.runtime.trust import examine


@dataclass(frozen=True, slots=True)
class FetchedPull:
    pull: PullState
    target: ReviewTarget


def fetch_pull(start: Path, number: int) -> FetchedPull:
    """Fetch a pull request and its base into refs of burnish; the range from their merge base to the head."""
    # it uses the login of the person
    refuse_inside_phase()
    trust = examine(discover(start))
    trust.require()  # the git dir names the remote, and programs that reach it
    root = trust.found.root
    pull = GitHub.of(root).pull(str(number))
    if pull is None:
        raise BadInput(f"There is no pull request {number}.", hint="`gh pr list` lists them.")
    remote = remote_of(root, pull.base)
    head, base = f"refs/burnish/pulls/{number}/head", f"refs/burnish/pulls/{number}/base"
    refs = (f"+refs/pull/{number}/head:{head}", f"+refs/heads/{pull.base}:{base}")
    result = fetch(root, "--", remote, *refs)
    if result.exit_code:
        lines = result.stderr.decode(errors="replace").strip().split("\n")
        raise BurnishError(
            f"The pull request could not be fetched from {remote}: {lines[0]}",
            hint=f"Try it by hand: git fetch {remote} refs/pull/{number}/head",
        )
    return FetchedPull(pull, ReviewTarget("rev", f"{base}...{head}"))
