"""What came of the reviews at an agent's stop: the last one of each program in each repository."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path

from burnish.adapters.redaction import secrets_from_environment
from burnish.agents.stop_hook import StopHook
from burnish.core.review import Verdict
from burnish.errors import BurnishError
from burnish.features.hooks.news import stops_folder
from burnish.features.review.adhoc_review import AdhocResult
from burnish.git.discovery import FoundRepository
from burnish.git.files import write_whole
from burnish.runtime.reader import home_of

STRIPPED = (
    " {} removes API keys from the environment of its hooks: log the reviewer in with its own program, or choose a "
    "reviewer that needs no key."
)


def record_review(hook: StopHook, found: FoundRepository, review: AdhocResult) -> None:
    """A review that could not be read, or that did not see everything, is one that a person should know of."""
    if review.panel is not None and review.verdict is None:
        _record(hook, found, f"the review could not be read: {review.panel.why or review.panel.summary}")
    elif review.verdict is Verdict.APPROVED and review.standing_checks:
        _record(hook, found, f"approved, but {'; '.join(check.line for check in review.standing_checks)}")
    elif review.verdict is Verdict.APPROVED and not review.passed:
        missing = ", ".join(review.not_shown[:5])
        _record(hook, found, "approved, but not everything was seen" + (f": {missing}" if missing else ""))
    else:
        _record(hook, found, "")


def record_failure(hook: StopHook, found: FoundRepository, error: Exception) -> None:
    is_expected = isinstance(error, BurnishError)
    words = f"{error.what} {error.hint}" if isinstance(error, BurnishError) else f"{type(error).__name__}: {error}"
    advice = STRIPPED.format(hook.name) if is_expected and hook.strips_keys else ""
    _record(hook, found, f"its review failed: {words.strip()}{advice}")


def _record(hook: StopHook, found: FoundRepository, trouble: str) -> None:
    """Nothing here may keep the agent from stopping: a full disk least of all."""
    path: Path = stops_folder(home_of(), found.common_dir) / f"{hook.name}.json"
    record = {"agent": hook.name, "at": time.time(), "trouble": secrets_from_environment().redact(trouble)}
    with suppress(Exception):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(path, json.dumps(record).encode())
