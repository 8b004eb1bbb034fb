"""The last known result of the set-up and of each check on a user's commit, for `burnish doctor`."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from burnish.git.files import write_whole
from burnish.proc.folders import private_folder
from burnish.regular_files import read_regular

SETUP = "set-up"


@dataclass(frozen=True, slots=True)
class LastResult:
    """`problem` says why it failed; "" if it succeeded."""

    # A hash (`command_hash`), because the command may contain a secret.
    command: str
    commit: str
    at: str
    problem: str = ""


def command_hash(command: str) -> str:
    return hashlib.sha256(command.encode(errors="surrogateescape")).hexdigest()


def record_result(home: Path, key: str, name: str, *, command: str, commit: str, problem: str = "") -> None:
    """Replace the result of one name; `problem` must not contain a secret."""
    results, command = read_results(home, key), command_hash(command)
    if name in results and (results[name].command, results[name].commit, results[name].problem) == (
        command,
        commit,
        problem,
    ):
        return
    results[name] = LastResult(command, commit, datetime.now(UTC).isoformat(timespec="seconds"), problem)
    text = json.dumps({name: asdict(result) for name, result in results.items()}, indent=1)
    private_folder(_file(home, key).parent)
    write_whole(_file(home, key), text.encode())


def read_results(home: Path, key: str) -> dict[str, LastResult]:
    """Results by name; empty if nothing was recorded or the file cannot be read."""
    try:
        table = json.loads(read_regular(_file(home, key)) or b"{}")
        return {str(name): LastResult(**result) for name, result in table.items()}
    except (ValueError, TypeError, AttributeError):
        return {}


def _file(home: Path, key: str) -> Path:
    return home / "projects" / key / "last-results.json"
