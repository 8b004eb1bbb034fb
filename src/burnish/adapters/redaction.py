"""Redacts secrets in everything that goes to an agent, into the event log or to disk."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from burnish.core.agent import AgentReply, Use
from burnish.core.check import CheckReport
from burnish.core.codec import decode, encode
from burnish.core.escape_codes import plain_texts
from burnish.core.event import Event, RecordedEvent
from burnish.core.finding import Finding
from burnish.core.secret_shapes import KEY_BEGIN
from burnish.core.secrets import NEAR_CUT, LineFilter, Secrets, bytes_of_cut_secret, last_gap
from burnish.core.task import Item, Spec, Task
from burnish.engine.ports import Progress
from burnish.errors import BadInput, PhaseFailed
from burnish.folder_walk import walk_folders

_MAX_HOLE_BYTES = 1 << 30
# Files of burnish; the agent's number must not be changed.
_OURS = re.compile(r"number|.*-outcome\.json")
_PIECE = 1 << 20
_MAX_LINE_LENGTH = 1 << 16


def secrets_from_environment() -> Secrets:
    """The secrets in this process's environment."""
    return Secrets.of(os.environ)


def clean_event(secrets: Secrets, event: Event) -> Event:
    return replace(event, data=secrets.clean(event.data))


def clean_report(secrets: Secrets, report: CheckReport) -> CheckReport:
    whole = encode(report)
    clean = secrets.clean(whole)
    return report if clean == whole else decode(CheckReport, clean)


def clean_reply(secrets: Secrets, reply: AgentReply) -> AgentReply:
    # A reply is never empty: a reply that was all secret becomes a note.
    return replace(
        reply,
        text=secrets.redact(reply.text),
        command=secrets.redact(reply.command),
        other_messages=tuple(map(secrets.redact, reply.other_messages)),
        text_before=tuple(map(secrets.redact, reply.text_before)),
        text_after=tuple(map(secrets.redact, reply.text_after)),
    )


def clean_finding(secrets: Secrets, finding: Finding) -> Finding:
    return decode(Finding, secrets.clean(encode(finding)))


def clean_lines(secrets: Secrets, text: str) -> str:
    """Redact a file whose lines are shown by number; keeps the number of lines."""
    # Redacting by line takes twenty times as long, and few files need it.
    if not KEY_BEGIN.search(text) and not any(plain_texts(text)) and secrets.redact(text) == text:
        return text
    line_filter = LineFilter(secrets)
    return "\n".join(line_filter(line) or "" for line in text.split("\n"))


def clean_failure(secrets: Secrets, failure: PhaseFailed) -> PhaseFailed:
    failure.what, failure.hint = secrets.redact(failure.what), secrets.redact(failure.hint)
    failure.output = secrets.redact(failure.output)
    failure.args = (failure.what,)
    return failure


def clean_spec(secrets: Secrets, spec: Spec) -> Spec:
    """Redact the texts of a task; its title becomes part of a branch name."""
    if spec.base_ref and secrets.find(spec.base_ref):
        raise BadInput("The name of the base looks like a secret.", hint="Rename the branch, then try again.")
    return replace(
        spec,
        title=secrets.redact(spec.title),
        description=secrets.redact(spec.description),
        scope=secrets.redact(spec.scope),
        criteria=tuple(map(secrets.redact, spec.criteria)),
        checklist=tuple(Item(secrets.redact(item.text), item.done) for item in spec.checklist),
        plan=secrets.redact(spec.plan),
    )


def clean_changes(secrets: Secrets, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Redact a person's edits of a task."""

    def clean(value: Any) -> Any:
        if isinstance(value, Item):
            return Item(secrets.redact(value.text), value.done)
        return tuple(map(clean, value)) if isinstance(value, tuple) else secrets.clean(value)

    return {name: clean(value) for name, value in changes.items()}


@dataclass(frozen=True, slots=True)
class RedactingProgress:
    """Redacts notes. Events and output are redacted before."""

    inner: Progress
    secrets: Secrets

    def event(self, task: Task, event: RecordedEvent) -> None:
        self.inner.event(task, event)

    def output(self, task_id: int, line: str) -> None:
        self.inner.output(task_id, line)

    def spent(self, task_id: int, use: Use) -> None:
        self.inner.spent(task_id, use)

    def note(self, text: str) -> None:
        self.inner.note(self.secrets.redact(text))


def redacting_listener(secrets: Secrets, tell: Callable[[str], None]) -> Callable[[str], None]:
    """A listener that redacts lines before it passes them on."""
    clean = LineFilter(secrets)

    def listen(line: str) -> None:
        clean_line = clean(line)
        if clean_line is not None:
            tell(clean_line)

    return listen


def redact_folder(folder: Path, secrets: Secrets) -> None:
    """Redact every file that a phase left in a folder of burnish."""
    for here, _folders, names in walk_folders(folder):
        for name in names:
            if not _OURS.fullmatch(name):
                # A full disk, or a file without permissions: it stays unchanged, in a folder of mode 0700.
                with suppress(OSError):
                    redact_file(Path(here) / name, secrets)


def redact_file(path: Path, secrets: Secrets) -> None:
    """Redact a file in place, in pieces. Skips links; removes a very large sparse file."""
    if path.is_symlink() or not path.is_file():
        return
    info = path.stat()
    if info.st_size > _MAX_HOLE_BYTES and info.st_blocks * 512 < info.st_size // 2:
        # `truncate -s 8T` needs no space and no time, but takes hours to read.
        path.unlink()
        return
    with path.open("rb") as file:
        if not any(_clean(secrets, piece) != piece for piece in _pieces(file, secrets)):
            return
    with path.open("rb") as file:
        fd, name = tempfile.mkstemp(dir=path.parent, prefix=".redacted-")
        draft = Path(name)
        try:
            with os.fdopen(fd, "wb") as target:
                target.writelines(_clean(secrets, piece) for piece in _pieces(file, secrets))
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)


def _clean(secrets: Secrets, piece: bytes) -> bytes:
    return secrets.redact(piece.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def _pieces(file: BinaryIO, secrets: Secrets) -> Iterator[bytes]:
    """Pieces of the file that do not split lines or keys, if possible."""
    rest = b""
    while data := rest + file.read(_PIECE):
        data += file.readline(_MAX_LINE_LENGTH)
        while data.rfind(b"-----BEGIN") > data.rfind(b"-----END") and len(data) - data.rfind(b"-----BEGIN") < 20_000:
            line = file.readline(_MAX_LINE_LENGTH)
            if not line:
                break
            data += line
        data, rest = _at_a_gap(data, secrets)
        yield data


def _at_a_gap(data: bytes, secrets: Secrets) -> tuple[bytes, bytes]:
    """Split a very long line between words, or outside of secrets, so that no secret is split."""
    if data.endswith(b"\n") or len(data) < _PIECE:
        return data, b""
    at = last_gap(data, len(data) - 4096)
    if not at:
        at = len(data) - NEAR_CUT
        at -= bytes_of_cut_secret(secrets, data[:at], data[at:])
    return data[:at], data[at:]
