"""Reviews of commits in the background: one at a time, each kept until somebody looks."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from burnish.adapters.agents import StopTokens
from burnish.adapters.redaction import secrets_from_environment
from burnish.errors import BurnishError
from burnish.features.hooks.limits import limited
from burnish.features.hooks.news import CommitNews, commits_folder, stop_news
from burnish.features.hooks.programs import GIVE_UP
from burnish.features.review.adhoc_review import AdhocResult, ReviewTarget, review_change
from burnish.git.discovery import FoundRepository, discover
from burnish.git.files import write_whole
from burnish.git.run import bare_env, git
from burnish.regular_files import read_regular
from burnish.runtime.reader import home_of
from burnish.views.task import finding_json

KEPT = 50
# a script that makes a hundred commits does not pay for a hundred reviews
MAX_WAITING = 10


@dataclass(frozen=True, slots=True)
class CommitReview:
    """`state`: waiting, running, done, failed."""

    commit: str
    root: str
    # their order
    asked: float
    state: str = "waiting"
    verdict: str | None = None
    passed: bool = False
    summary: str = ""
    findings: tuple[dict[str, Any], ...] = ()
    # as a person reads it
    text: str = ""
    error: str = ""
    finished: float | None = None


@dataclass(frozen=True, slots=True)
class CommitReviews:
    """Of one repository, in the burnish home."""

    folder: Path

    @classmethod
    def of(cls, found: FoundRepository) -> CommitReviews:
        return cls(commits_folder(home_of(), found.common_dir))

    def keep(self, review: CommitReview) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        plain = secrets_from_environment().clean(json.loads(json.dumps(asdict(review))))
        write_whole(self.folder / f"{review.commit}.json", json.dumps(plain).encode())

    def all(self) -> list[CommitReview]:
        """The newest last."""
        found = []
        for path in self.folder.glob("*.json"):
            try:
                record = json.loads(read_regular(path) or b"")
                found.append(CommitReview(**(record | {"findings": tuple(record["findings"])})))
            except (OSError, ValueError, TypeError, KeyError):
                continue  # written by another version, or gone meanwhile
        return sorted(found, key=lambda review: review.asked)

    def next_time(self) -> float:
        """Now; later than all others also if the clock was set back."""
        return max([time.time(), *(review.asked + 0.001 for review in self.all())])

    def latest(self, head: str | None) -> CommitReview | None:
        """Of the commit that is checked out; else the one that was asked for last."""
        every = self.all()
        last = next((review for review in every if review.commit == head), every[-1] if every else None)
        if last and last.state == "running":
            with self.turn() as free:
                if free:  # no process works on it any more
                    return replace(last, state="failed", error="It was interrupted.")
        return last

    @contextmanager
    def turn(self) -> Iterator[bool]:
        """Is it ours to review now? The system frees the place of the dead."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(self.folder / "turn", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            yield _locked(handle)
        finally:
            os.close(handle)

    def leave_out_oldest(self) -> None:
        """The newest of those that wait are reviewed; the others are on record as left out."""
        waiting = [review for review in self.all() if review.state == "waiting"]
        for review in waiting[:-MAX_WAITING]:
            words = f"Left out: {MAX_WAITING} newer commits were waiting. burnish review {review.commit[:10]}"
            self.keep(replace(review, state="failed", error=words, finished=time.time()))

    def forget_old(self) -> None:
        for review in self.all()[:-KEPT]:
            (self.folder / f"{review.commit}.json").unlink(missing_ok=True)


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def head_of(found: FoundRepository) -> str | None:
    env = bare_env(found.git_dir) | {"GIT_DIR": str(found.git_dir)}
    args = ("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    return git(*args, cwd=found.git_dir, env=env, ok=(0, 1, 128)).stdout.decode().strip() or None


def last_review(start: Path) -> tuple[CommitReview | None, str | None]:
    """What came of the last commit, and the commit that is checked out: it may have been made without the hook."""
    found = discover(start)
    head = head_of(found)
    return CommitReviews.of(found).latest(head), head


def failed_stop_reviews(start: Path) -> list[CommitNews]:
    """Reviews at an agent's stop that came to nothing, for `burnish hook last`."""
    return stop_news(home_of(), "", discover(start).common_dir)


def is_rebasing(found: FoundRepository) -> bool:
    """Whether git is replaying commits, which need no new review."""
    return any((found.git_dir / name).is_dir() for name in ("rebase-merge", "rebase-apply"))


def on_commit(
    found: FoundRepository,
    commit: str,
    *,
    stops: StopTokens,
    say: Callable[[str], None],
    render: Callable[[AdhocResult], str],
) -> None:
    """Put the commit in the queue, and work through it unless somebody is at it already."""
    reviews = CommitReviews.of(found)
    reviews.keep(CommitReview(commit, os.fspath(found.root), reviews.next_time()))
    reviews.leave_out_oldest()
    misses = 0
    # Looked at again after the turn is given back: one may have come when its owner had just looked. And tried more
    # than once: somebody may only have asked whether a review is running.
    while not stops.asked and misses < 3 and _next(reviews) is not None:
        with reviews.turn() as ours:
            if ours:
                _work_through(reviews, lambda review: _reviewed(found, review, stops, say, render), stops)
        misses = 0 if ours else misses + 1
        time.sleep(0.2 * misses)


def _work_through(reviews: CommitReviews, look: Callable[[CommitReview], CommitReview], stops: StopTokens) -> None:
    for review in reviews.all():
        if review.state == "running":  # we hold the lock, so the process that began it has ended
            reviews.keep(replace(review, state="failed", error="It was interrupted.", finished=time.time()))
    while not stops.asked and (waiting := _next(reviews)) is not None:
        reviews.keep(replace(waiting, state="running"))
        reviews.keep(look(waiting))
    reviews.forget_old()


def _next(reviews: CommitReviews) -> CommitReview | None:
    return next((review for review in reviews.all() if review.state == "waiting"), None)


def _reviewed(
    found: FoundRepository,
    review: CommitReview,
    stops: StopTokens,
    say: Callable[[str], None],
    render: Callable[[AdhocResult], str],
) -> CommitReview:
    wish = ReviewTarget("rev", review.commit)
    try:
        with limited(stops, seconds=GIVE_UP) as stop:
            done = review_change(found.root, wish, flags={}, tests=None, stop=stop, say=say)
    except BurnishError as error:
        words = f"{error.what} {error.hint}".strip()
        return replace(review, state="failed", error=words, finished=time.time())
    return replace(
        review,
        state="done",
        verdict=done.verdict.value if done.verdict else None,
        passed=done.passed,
        summary=(done.panel.summary or done.panel.why) if done.panel else "There is no change in it.",
        findings=tuple(finding_json(finding) for finding in done.findings),
        text=render(done),
        finished=time.time(),
    )
