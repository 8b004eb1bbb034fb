"""Writes the transcript of a call while the program works, beside its raw output."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from burnish.agents.base import Agent
from burnish.agents.monitor import Meter, NewLines, parse_event
from burnish.agents.steps import ReportsLines, ReportsSteps, RowBuilder, Said, Step, shortened
from burnish.core.transcript import Row, RowKind, row_from_json
from burnish.sanitize import clean_text

MAX_ROWS = 5000
MAX_BYTES = 4 * 1024 * 1024
CUT = "The transcript ends here: the call has more rows than are stored. `burnish log --raw` shows all of its output."


def transcript_file(folder: Path) -> Path:
    """Beside the folder of the attempt, which an author may write."""
    return folder.with_name(f"{folder.name}-transcript.jsonl")


@dataclass(slots=True)
class TranscriptWriter:
    """Reads the program's events as they come, and appends a row for each thing that was said or done."""

    agent: ReportsSteps | ReportsLines
    # the folder of the attempt
    folder: Path
    roots: tuple[str, ...]
    redact: Callable[[str], str]
    # gets each row, also those of actions that have only begun
    on_row: Callable[[Row], None]
    meter: Meter | None = None
    _lines: NewLines = field(init=False)
    _builder: RowBuilder = field(init=False)
    _rows: int = 0
    _bytes: int = 0
    _is_full: bool = False
    _last_text: str = ""

    def __post_init__(self) -> None:
        self._lines = NewLines(self.folder / "stdout")
        self._builder = RowBuilder(self.roots)
        # at once: readers must know that there will be one, and not show the events meanwhile
        self._append([])

    def look(self) -> None:
        """Read the new events."""
        self._take(self._new_rows())

    def finish(self) -> None:
        """Read the rest, when the program has ended."""
        before = -1
        while before != self._lines.position:
            before = self._lines.position
            self.look()
        self._take(self._builder.end())

    def add_answer(self, text: str) -> None:
        """A program may print nothing but its answer."""
        if not self._rows:
            self._take(self._builder.add(Said(text)))

    def add_failure(self, what: str) -> None:
        """Why the call failed, unless the program has said it as its last message."""
        if what and what not in self._last_text:
            self._take(iter([Row(RowKind.ERROR, what)]))

    def _new_rows(self) -> Iterator[Row]:
        lines = self._lines.read()
        # the rest after the last line feed
        for line in lines[:-1] if lines and not lines[-1] else lines:
            for step in self._steps(line):
                yield from self._builder.add(step)

    def _steps(self, line: bytes) -> Iterable[Step]:
        # redacted before anything is cut: a part of a secret cannot be found any more
        if isinstance(self.agent, ReportsLines):
            return self.agent.line_steps(self.redact(line.decode(errors="replace").rstrip("\r\n")))
        event = parse_event(line) if line.lstrip().startswith(b"{") else None
        try:
            return () if event is None else self.agent.steps(self._redacted(event))
        except RecursionError:
            return ()

    def _redacted(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.redact(value)
        if isinstance(value, list):
            return [self._redacted(one) for one in value]
        if isinstance(value, dict):
            return {self.redact(key): self._redacted(one) for key, one in value.items()}
        return value

    def _take(self, rows: Iterator[Row]) -> None:
        finished_rows = []
        new_rows = list(rows)
        use = self.meter.look() if new_rows and self.meter and self.meter.counts else None
        for one in new_rows:
            row = self._clean(one, use.usd if use else None)
            self.on_row(row)
            if not row.is_running:
                finished_rows.append(row)
                self._last_text = row.text
        if finished_rows:
            self._store(finished_rows)

    def _clean(self, row: Row, cost_usd: float | None) -> Row:
        # again: a message may come in several pieces
        text, detail = (clean_text(self.redact(text)) for text in (row.text, row.detail))
        return shortened(replace(row, text=text, detail=detail, cost_usd=cost_usd))

    def _store(self, rows: list[Row]) -> None:
        lines = []
        for row in rows:
            if self._is_full:
                break
            self._is_full = self._rows == MAX_ROWS or self._bytes + len(row.text) > MAX_BYTES
            line = json.dumps((Row(RowKind.ERROR, CUT) if self._is_full else row).as_json(), ensure_ascii=False)
            self._rows += 1
            self._bytes += len(line)
            lines.append(f"{line}\n")
        if lines:
            self._append(lines)

    def _append(self, lines: list[str]) -> None:
        # A transcript is a reading of the output, which is stored in any case.
        with suppress(OSError):
            fd = os.open(transcript_file(self.folder), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            with os.fdopen(fd, "a", encoding="utf-8", errors="replace") as file:
                file.writelines(lines)


def writer_for(
    agent: Agent,
    folder: Path,
    *,
    roots: tuple[str, ...],
    redact: Callable[[str], str],
    on_row: Callable[[Row], None],
    meter: Meter | None = None,
) -> TranscriptWriter | None:
    """None for a program that prints any text."""
    if not isinstance(agent, ReportsSteps | ReportsLines):
        return None
    return TranscriptWriter(agent, folder, roots, redact, on_row, meter)


def read_rows(file: Path, since: int = 0) -> tuple[list[Row], int]:
    """The whole rows from a byte position on, and the position after them."""
    try:
        with file.open("rb") as transcript:
            transcript.seek(since)
            data = transcript.read(MAX_BYTES * 2)
    except OSError:
        return [], since
    end = data.rfind(b"\n") + 1
    rows = []
    for line in data[:end].split(b"\n"):
        values = parse_event(line) if line else None
        if values is not None and (row := row_from_json(values)):
            rows.append(row)
    return rows, since + end
