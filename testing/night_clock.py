"""A clock for a whole night: the processes of a test wait by it, and the test moves it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from burnish.proc.clock import VARIABLE
from testing.lab import Lab


@dataclass(slots=True)
class NightClock:
    """Begins at `start` (HH:MM, local time) and runs on with the real time; jumps only when it is told to."""

    file: Path
    start: str
    offset: float = 0.0

    def __post_init__(self) -> None:
        now = datetime.now().astimezone()
        hour, minute = map(int, self.start.split(":"))
        first = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
        self._move((first - now).total_seconds())

    @property
    def now(self) -> datetime:
        return datetime.now().astimezone() + timedelta(seconds=self.offset)

    def of(self, *labs: Lab) -> None:
        for lab in labs:
            lab.env[VARIABLE] = str(self.file)

    def jump_to(self, text: str) -> None:
        """To the next moment at which it shows `HH:MM:SS`."""
        hour, minute, second = map(int, text.split(":"))
        then = self.now.replace(hour=hour, minute=minute, second=second, microsecond=0)
        then += timedelta(days=1) if then < self.now else timedelta()
        self._move(self.offset + (then - self.now).total_seconds())

    def advance(self, seconds: float) -> None:
        self._move(self.offset + seconds)

    def _move(self, offset: float) -> None:
        self.offset = offset
        # whole at any moment: other processes read it
        new = self.file.with_suffix(".new")
        new.write_text(f"{offset:.3f}")
        new.chmod(0o600)
        new.replace(self.file)
