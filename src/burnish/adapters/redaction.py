"""Nothing secret leaves by accident: what goes to an agent, into the log or onto the disk is redacted here."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from burnish.core.agent import AgentReply
from burnish.core.check import CheckReport
from burnish.core.codec import decode, encode
from burnish.core.escape_codes import plain_texts
from burnish.core.event import Event, RecordedEvent
from burnish.core.finding import Finding
from burnish.core.secret_shapes import KEY_BEGIN
from burnish.core.secrets import LineFilter, Secrets
from burnish.core.task import Item, Spec, Task
from burnish.engine.ports import Progress
from burnish.errors import BadInput, PhaseFailed
from burnish.folder_walk import walk_folders

_LARGEST_HOLE = 1 << 30
# Our own words; the agent's number must stay as it is.
_OURS = re.compile(r"number|.*-outcome\.json")
_PIECE = 1 << 20
_LONGEST_LINE = 1 << 16


def secrets_from_environment() -> Secrets:
    """What this process's own environment calls secret."""
    return Secrets.of(os.environ)


def clean_event(secrets: Secrets, event: Event) -> Event:
    return replace(event, data=secrets.clean(event.data))


def clean_report(secrets: Secrets, report: CheckReport) -> CheckReport:
    whole = encode(report)
    clean = secrets.clean(whole)
    return report if clean == whole else decode(CheckReport, clean)


def clean_reply(secrets: Secrets, reply: AgentReply) -> AgentReply:
    # a reply is never empty: what is left of one that was all secret is a note
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
    """A file of which lines are shown by their numbers: there are as many afterwards."""
    # line by line takes twenty times as long, and hardly any file needs it
    if not KEY_BEGIN.search(text) and not any(plain_texts(text)) and secrets.redact(text) == text:
        return text
    shown = LineFilter(secrets)
    return "\n".join(shown(line) or "" for line in text.split("\n"))


def clean_failure(secrets: Secrets, failed: PhaseFailed) -> PhaseFailed:
    failed.what, failed.hint = secrets.redact(failed.what), secrets.redact(failed.hint)
    failed.output = secrets.redact(failed.output)
    failed.args = (failed.what,)
    return failed


def clean_spec(secrets: Secrets, spec: Spec) -> Spec:
    """A task's words; its title becomes the name of a branch."""
    if spec.base_ref and secrets.find(spec.base_ref):
        raise BadInput(
            "The name of the base holds what looks like a secret.", hint="Rename the branch, then try again."
        )
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
    """What a person edits of a task."""

    def clean(value: Any) -> Any:
        if isinstance(value, Item):
            return Item(secrets.redact(value.text), value.done)
        return tuple(map(clean, value)) if isinstance(value, tuple) else secrets.clean(value)

    return {name: clean(value) for name, value in changes.items()}


@dataclass(frozen=True, slots=True)
class RedactingProgress:
    """Those who watch hear no secrets. Events and output have none by now."""

    inner: Progress
    secrets: Secrets

    def event(self, task: Task, event: RecordedEvent) -> None:
        self.inner.event(task, event)

    def output(self, task_id: int, line: str) -> None:
        self.inner.output(task_id, line)

    def note(self, text: str) -> None:
        self.inner.note(self.secrets.redact(text))


def redacting(secrets: Secrets, tell: Callable[[str], None]) -> Callable[[str], None]:
    """The same listener, who hears no secrets."""
    clean = LineFilter(secrets)

    def hear(line: str) -> None:
        said = clean(line)
        if said is not None:
            tell(said)

    return hear


def redact_folder(folder: Path, secrets: Secrets) -> None:
    """Every file that a phase left in a folder of ours, once the phase is over."""
    for here, _folders, names in walk_folders(folder):
        for name in names:
            if not _OURS.fullmatch(name):
                # a full disk, or a file that a check took our rights to: it stays as it is, in a folder of 0700
                with suppress(OSError):
                    redact_file(Path(here) / name, secrets)


def redact_file(path: Path, secrets: Secrets) -> None:
    """In place, by pieces: it may be large. A link is left alone, a huge file that is mostly a hole is removed."""
    if path.is_symlink() or not path.is_file():
        return
    info = path.stat()
    if info.st_size > _LARGEST_HOLE and info.st_blocks * 512 < info.st_size // 2:
        # `truncate -s 8T` takes no space and no time, and would take hours to read
        path.unlink()
        return
    with path.open("rb") as file:
        if not any(_clean(secrets, piece) != piece for piece in _pieces(file)):
            return
    with path.open("rb") as file:
        fd, name = tempfile.mkstemp(dir=path.parent, prefix=".redacted-")
        draft = Path(name)
        try:
            with os.fdopen(fd, "wb") as target:
                target.writelines(_clean(secrets, piece) for piece in _pieces(file))
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)


def _clean(secrets: Secrets, piece: bytes) -> bytes:
    return secrets.redact(piece.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    """Whole lines where there are lines, a whole key where there is a key."""
    rest = b""
    while data := rest + file.read(_PIECE):
        data += file.readline(_LONGEST_LINE)
        while data.rfind(b"-----BEGIN") > data.rfind(b"-----END") and len(data) - data.rfind(b"-----BEGIN") < 20_000:
            line = file.readline(_LONGEST_LINE)
            if not line:
                break
            data += line
        data, rest = _at_a_gap(data)
        yield data


def _at_a_gap(data: bytes) -> tuple[bytes, bytes]:
    """A line without an end is cut between words, so that no secret is cut in two."""
    if data.endswith(b"\n") or len(data) < _PIECE:
        return data, b""
    gap = max(data.rfind(mark, len(data) - 4096) for mark in (b" ", b",", b'"', b"\t", b"'"))
    return (data[: gap + 1], data[gap + 1 :]) if gap >= 0 else (data, b"")
