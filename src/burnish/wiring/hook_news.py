"""The newest review that the git hook had done in the background, where it wants a person. Kept light, for start-up."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

SHOWS = "burnish hook last"


@dataclass(frozen=True, slots=True)
class CommitNews:
    """A commit whose review found something, or could not be done."""

    project: str
    commit: str
    why: str
    # since when
    since: str
    command: str = SHOWS

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def commits_folder(home: Path, common_dir: Path) -> Path:
    """Where the reviews of one repository's commits are kept."""
    key = hashlib.sha256(os.fsencode(common_dir)).hexdigest()[:16]
    return home / "hooks" / "commits" / key


def commit_news(home: Path, project: str, common_dir: Path) -> CommitNews | None:
    """Of the commit that was reviewed last; a later one that passed has settled it."""
    kept = [said for path in commits_folder(home, common_dir).glob("*.json") if (said := _read(path))]
    last = max(kept, key=lambda said: said["asked"], default=None)
    if last is None or last["passed"] or last["state"] not in ("done", "failed"):
        return None
    words = last["error"] if last["state"] == "failed" else last["summary"]
    what = "its review failed" if last["state"] == "failed" else str(last["verdict"] or "the review could not be read")
    when = datetime.fromtimestamp(last["finished"] or last["asked"], UTC).isoformat(timespec="milliseconds")
    return CommitNews(project, last["commit"], f"{what}: {words}" if words else what, when.replace("+00:00", "Z"))


def _read(path: Path) -> dict[str, Any] | None:
    wanted = ("commit", "asked", "state", "verdict", "passed", "summary", "error", "finished")
    try:
        said = json.loads(path.read_bytes())
        return {key: said[key] for key in wanted}
    except (OSError, ValueError, TypeError, KeyError):
        return None  # written by another version, or gone meanwhile
