"""When old files of a project were last removed, and what: written by runs, shown by `status`."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

NAME = "last-cleaning.json"
SWITCHED_OFF = "Old files are not removed: clean.after_days and clean.max_gb are 0 in your settings."


@dataclass(frozen=True, slots=True)
class CleaningRecord:
    # when it was last looked for old files
    checked_at: str
    # when something was last removed, and what; "" if nothing ever was
    removed_at: str = ""
    tasks: int = 0
    environments: int = 0
    bytes: int = 0
    is_switched_off: bool = False
    # workspaces that were moved instead, because burnish cannot tell which of their files are saved
    put_aside: int = 0

    @property
    def words(self) -> str:
        """One line for people; empty where there is nothing to report."""
        if self.is_switched_off:
            return SWITCHED_OFF
        if not self.removed_at:
            return ""
        day = datetime.fromisoformat(self.removed_at).astimezone().strftime("%Y-%m-%d")
        sentences = [self._removal_words(day)] if self.tasks or self.environments else []
        if self.put_aside:
            folders = _count(
                self.put_aside, "workspace that burnish did not create", "workspaces that burnish did not create"
            )
            sentences.append(f"Moved aside on {day}: {folders} (burnish clean).")
        return " ".join(sentences)

    def _removal_words(self, day: str) -> str:
        parts = [_count(self.tasks, "task that is over", "tasks that are over")] if self.tasks else []
        parts += [_count(self.environments, "unused environment", "unused environments")] if self.environments else []
        return f"Removed on {day}: old files of {' and '.join(parts)}, {_size(self.bytes)} (settings: clean)."


def read_record(home: Path, key: str) -> CleaningRecord | None:
    """None where there is none that can be read."""
    try:
        record = CleaningRecord(**json.loads(_place(home, key).read_bytes()))
        for moment in filter(None, (record.checked_at, record.removed_at)):
            if datetime.fromisoformat(moment).tzinfo is None:
                return None
    except (OSError, ValueError, TypeError):
        return None
    return record


def write_record(home: Path, key: str, record: CleaningRecord) -> None:
    # without a sync: if it is lost, the next run waits a day longer
    place = _place(home, key)
    draft = place.with_name(f".{NAME}.{os.getpid()}")
    draft.write_text(json.dumps(asdict(record)))
    draft.replace(place)


def _place(home: Path, key: str) -> Path:
    return home / "projects" / key / NAME


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _size(number: int) -> str:
    return f"{number / 1e9:.1f} GB" if number >= 1e9 else f"{number / 1e6:.1f} MB"
