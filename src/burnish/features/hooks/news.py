"""Reviews by hooks that want a person: of the newest commit, and at an agent's stop. Kept light, for start-up."""

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
    """A commit whose review found something, or a review at a commit or an agent's stop that could not be done."""

    project: str
    commit: str
    why: str
    # since when
    since: str
    command: str = SHOWS
    # the program at whose stop it was; then there is no commit
    agent: str = ""

    @property
    def title(self) -> str:
        return f"Stop hook of {self.agent}" if self.agent else f"Commit {self.commit[:10]}"

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def commits_folder(home: Path, common_dir: Path) -> Path:
    """Where the reviews of one repository's commits are kept."""
    key = hashlib.sha256(os.fsencode(common_dir)).hexdigest()[:16]
    return home / "hooks" / "commits" / key


def stops_folder(home: Path, common_dir: Path) -> Path:
    """Where the outcome of the last review at a stop is kept, one file for each agent program."""
    return home / "hooks" / "stops" / commits_folder(home, common_dir).name


def hook_news(home: Path, project: str, common_dir: Path) -> list[CommitNews]:
    """Everything that hooks have to tell of one repository."""
    commit = commit_news(home, project, common_dir)
    return [*([commit] if commit else []), *stop_news(home, project, common_dir)]


def stop_news(home: Path, project: str, common_dir: Path) -> list[CommitNews]:
    """Reviews at a stop that failed, of each program until its next one succeeds; the oldest first."""
    found = []
    for path in stops_folder(home, common_dir).glob("*.json"):
        try:
            record = json.loads(_read_file(path))
            agent, at, trouble = str(record["agent"]), float(record["at"]), str(record["trouble"])
        except (OSError, ValueError, TypeError, KeyError):
            continue  # written by another version, or gone meanwhile
        if trouble:
            found.append(CommitNews(project, "", trouble, _time(at), agent=agent))
    return sorted(found, key=lambda news: news.since)


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def commit_news(home: Path, project: str, common_dir: Path) -> CommitNews | None:
    """Of the commit that was reviewed last; a later one that passed has settled it."""
    records = [record for path in commits_folder(home, common_dir).glob("*.json") if (record := _read(path))]
    last = max(records, key=lambda record: record["asked"], default=None)
    if last is None or last["passed"] or last["state"] not in ("done", "failed"):
        return None
    words = last["error"] if last["state"] == "failed" else last["summary"]
    what = "its review failed" if last["state"] == "failed" else str(last["verdict"] or "the review could not be read")
    when = _time(last["finished"] or last["asked"])
    return CommitNews(project, last["commit"], f"{what}: {words}" if words else what, when)


def _read(path: Path) -> dict[str, Any] | None:
    keys = ("commit", "asked", "state", "verdict", "passed", "summary", "error", "finished")
    try:
        record = json.loads(_read_file(path))
        return {key: record[key] for key in keys}
    except (OSError, ValueError, TypeError, KeyError):
        return None  # written by another version, or gone meanwhile


def _read_file(path: Path) -> bytes:
    """The content of a file. A pipe does not block: it has none."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        return file.read()
