"""Reviews of a change that run in a thread while the client waits or asks again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnish.errors import BurnishError, NotFound, Refused

if TYPE_CHECKING:
    from burnish.adapters.agents import StopTokens
    from burnish.features.review.adhoc_review import ReviewTarget

MAX_RUNNING = 2
MAX_RESULTS = 50


def _stop_tokens() -> StopTokens:
    from burnish.adapters.agents import StopTokens

    return StopTokens()


@dataclass
class BackgroundReview:
    id: str
    stops: StopTokens = field(default_factory=_stop_tokens)
    is_over: threading.Event = field(default_factory=threading.Event)
    result: dict[str, Any] | None = None
    failure: BurnishError | None = None


@dataclass
class BackgroundReviews:
    """The reviews of one server. Results of the last ones are kept until it ends."""

    _reviews: OrderedDict[str, BackgroundReview] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self, folder: Path, target: ReviewTarget, *, tests: bool | None) -> BackgroundReview:
        with self._lock:
            if sum(not review.is_over.is_set() for review in self._reviews.values()) >= MAX_RUNNING:
                raise Refused(f"{MAX_RUNNING} reviews are running already.", hint="Wait for one: read_review.")
            number = 1 + int(next(reversed(self._reviews), "r0")[1:])
            review = self._reviews[f"r{number}"] = BackgroundReview(f"r{number}")
            while len(self._reviews) > MAX_RESULTS:
                self._reviews.popitem(last=False)
        # a daemon: a client that has gone waits for nothing; `close` ends its agents
        threading.Thread(target=_run, args=(review, folder, target, tests), daemon=True).start()
        return review

    def get(self, id: str) -> BackgroundReview:
        with self._lock:
            found = self._reviews.get(id)
        if found is None:
            raise NotFound(f"There is no review {id!r}.", hint="Ask for one: request_review.")
        return found

    def close(self, seconds: float = 10.0) -> None:
        """Stop the agents of all reviews that run."""
        with self._lock:
            running = [review for review in self._reviews.values() if not review.is_over.is_set()]
        for review in running:
            review.stops.of(0).request()
        for review in running:
            review.is_over.wait(seconds)


def _run(review: BackgroundReview, folder: Path, target: ReviewTarget, tests: bool | None) -> None:
    from burnish.features.review.adhoc_review import review_change

    try:
        result = review_change(
            folder, target, flags={}, tests=tests, stop=review.stops.of(0), say=lambda text: None, on_output=None
        )
        review.result = {**result.as_json(), "passed": result.passed}
    except BurnishError as error:
        review.failure = error
    except Exception as error:
        review.failure = BurnishError(f"The review ended with {type(error).__name__}.", hint="Try `burnish review`.")
    finally:
        review.is_over.set()
