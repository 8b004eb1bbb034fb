"""One-time codes with which a button of a notification posts one decision. Stored as hashes in the burnish home."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from burnish.core.gate import GateChoice
from burnish.errors import BurnishError, Refused
from burnish.git.files import write_whole
from burnish.proc.folders import private_folder
from burnish.regular_files import read_regular

FOLDER = "answers"
_CODE = re.compile(r"([0-9a-f]{16})\.([0-9A-Za-z_-]{40,60})")


@dataclass(frozen=True, slots=True)
class OpenAnswer:
    """What one notification may decide: one of `choices`, once, about this commit."""

    project: str
    task: int
    run: int
    commit: str
    # host of `notify.answer_url`: the only path that the server answers there is that of answers
    host: str
    expires: float
    # decision → hash of its code
    choices: dict[str, str] = field(default_factory=dict)


def issue_codes(home: Path, answer: OpenAnswer, choices: tuple[GateChoice, ...]) -> dict[GateChoice, str]:
    """A code for each decision. The first one that is used ends the others."""
    folder = home / FOLDER
    private_folder(folder)
    _drop_expired(home)
    id = secrets.token_hex(8)
    codes = {choice: f"{id}.{secrets.token_urlsafe(32)}" for choice in choices}
    answer.choices.update({choice.value: _hash(code) for choice, code in codes.items()})
    write_whole(folder / f"{id}.json", json.dumps(asdict(answer)).encode())
    return codes


@contextmanager
def redeemed_code(home: Path, code: str) -> Iterator[tuple[OpenAnswer, GateChoice]]:
    """The decision of a code, which cannot be used again; raises `Refused` for any other text.

    If the decision is refused, the answer is open again: its other button may be what the person needs.
    """
    match = _CODE.fullmatch(code)
    path = home / FOLDER / f"{match[1]}.json" if match else None
    answer = _read(path) if path else None
    if path is None or answer is None or answer.expires < time.time():
        raise _gone()
    digest = _hash(code)
    choice = next((name for name, code_hash in answer.choices.items() if hmac.compare_digest(code_hash, digest)), None)
    if choice is None:
        raise _gone()
    try:
        # Only one of two requests at the same time can remove the file.
        path.unlink()
    except FileNotFoundError:
        raise _gone() from None
    try:
        yield answer, GateChoice(choice)
    except BurnishError:
        write_whole(path, json.dumps(asdict(answer)).encode())
        raise


def _gone() -> Refused:
    return Refused("This answer was used already, or it has expired.", hint="Open the board, or run `burnish inbox`.")


def answer_hosts(home: Path) -> frozenset[str]:
    """The hosts at which an answer may arrive now."""
    now = time.time()
    return frozenset(answer.host for answer in _all(home).values() if answer.expires >= now)


def host_of(url: str) -> str:
    """The Host header of requests to this address."""
    parts = urlsplit(url)
    default = {"http": 80, "https": 443}.get(parts.scheme)
    port = "" if parts.port in (None, default) else f":{parts.port}"
    return f"{(parts.hostname or '').lower()}{port}"


def _hash(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()


def _all(home: Path) -> dict[Path, OpenAnswer]:
    return {path: answer for path in _files(home) if (answer := _read(path))}


def _files(home: Path) -> Iterator[Path]:
    folder = home / FOLDER
    return folder.glob("*.json") if folder.is_dir() else iter(())


def _read(path: Path) -> OpenAnswer | None:
    try:
        return OpenAnswer(**json.loads(read_regular(path, longest=10_000, follow=False) or b"null"))
    except (ValueError, TypeError):
        return None


def _drop_expired(home: Path) -> None:
    now = time.time()
    for path, answer in _all(home).items():
        if answer.expires < now:
            with suppress(FileNotFoundError):
                path.unlink()
