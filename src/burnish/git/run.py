"""Runs git, with a clean environment, burnish's own settings, and without hooks or other programs."""

from __future__ import annotations

import functools
import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from burnish.core.status import ErrorCode
from burnish.durability import is_sync_enabled
from burnish.errors import BurnishError, PhaseFailed
from burnish.git.discovery import refuse_special_refs_and_objects
from burnish.proc.capture import Captured, capture
from burnish.proc.file_systems import FULL_DISK_MESSAGES, is_full
from burnish.proc.own_programs import find_own_program, own_path

# on every call, to override the config of a git dir
HARDENED = (
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.fsmonitor=false",
    "-c", "core.commitGraph=false",
    "-c", "core.pager=cat",
    "-c", "core.attributesFile=/dev/null",
    "-c", "core.logAllRefUpdates=false",
    "-c", "core.filesRefLockTimeout=10000",
    "-c", "core.packedRefsTimeout=10000",
    "-c", "protocol.allow=never",
    "-c", "submodule.recurse=false",
    "-c", "gc.auto=0",
)  # fmt: skip
# git syncs what it writes before it exits: events rely on it
_DURABLE = ("-c", "core.fsync=objects,derived-metadata,reference,index")
# before git 2.36; a newer one warns about it
_DURABLE_OLD = ("-c", "core.fsyncObjectFiles=true")
_READING = frozenset(
    "cat-file check-ignore diff-index diff-tree for-each-ref ls-files ls-tree merge-base rev-list rev-parse "
    "symbolic-ref version".split()
)


# seconds after which burnish checks whether a git process waits for a pipe
SLOW_GIT = 5.0
_FULL_DISK_MESSAGES = (*FULL_DISK_MESSAGES, "File too large")
_PLACES = ("GIT_DIR", "GIT_OBJECT_DIRECTORY", "GIT_INDEX_FILE", "GIT_WORK_TREE")
# exit codes of git when it cannot read an object
READ_FAILED = (128,)


class Calls:
    """Counts git processes, for benchmarks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.by_command: Counter[str] = Counter()

    @property
    def total(self) -> int:
        return sum(self.by_command.values())

    def count(self, command: str) -> None:
        with self._lock:
            self.by_command[command] += 1

    def reset(self) -> None:
        with self._lock:
            self.by_command.clear()


calls = Calls()


@functools.lru_cache(maxsize=8)
def _program(path: str) -> str:
    """The absolute path of git. `path` must have no folder that an agent can write to."""
    found = find_own_program("git", path)
    if found is None:
        raise BurnishError(
            "git is not installed.", hint="Install git 2.34 or newer, outside of the repository, and try again."
        )
    return found


@functools.lru_cache(maxsize=1)
def git_version() -> tuple[int, int]:
    text = git("version", cwd=Path("/"), env=bare_env(Path("/"))).stdout.decode()
    found = re.search(r"(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _durability(command: str, *, durable: bool) -> tuple[str, ...]:
    """Options that make git sync what it writes; none for commands that only read, which saves a version query."""
    if command in _READING:
        return ()
    if not durable or not is_sync_enabled():
        return ("-c", "core.fsync=none")
    return _DURABLE if git_version() >= (2, 36) else _DURABLE_OLD


def bare_env(home: Path) -> dict[str, str]:
    """Environment of every git process: no inherited `GIT_*`, no user or system settings."""
    env = {
        "PATH": own_path(),
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "none"),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        # before git 2.45 that is ignored, and `protocol.ext.allow` of a git dir overrides `protocol.allow`
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_PAGER": "cat",
        "GIT_EDITOR": "false",
    }
    return env | {name: os.environ[name] for name in ("TMPDIR",) if name in os.environ}


def git(
    *args: str,
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes = b"",
    ok: tuple[int, ...] = (0,),
    timeout: float = 600.0,
    when_slow: Callable[[], None] | None = None,
    durable: bool = True,
) -> Captured:
    """Run git with an environment from `bare_env`; raises PhaseFailed with git's message if the exit code is not ok.

    `when_slow` is called once if git takes longer than SLOW_GIT seconds; what it raises ends git.
    """
    command = args[2] if args[0] == "-c" else args[0]
    calls.count(command)
    options = (*HARDENED, *_durability(command, durable=durable))
    argv = [os.fsencode(arg) for arg in (_program(env["PATH"]), *options, *args)]
    check = functools.partial(_refuse_what_git_hangs_on, env.get("GIT_DIR", ""), when_slow)
    result = capture(argv, cwd=cwd, env=env, stdin=stdin, timeout=timeout, slow=(SLOW_GIT, check))
    if result.exit_code not in ok:
        folders = [cwd, *(Path(env[name]) for name in _PLACES if name in env)]
        raise failure(command, result, folders=folders)
    return result


def _refuse_what_git_hangs_on(git_dir: str, when_slow: Callable[[], None] | None) -> None:
    if when_slow:
        when_slow()
    if git_dir:
        refuse_special_refs_and_objects(Path(git_dir))


def failure(command: str, result: Captured, *, folders: Sequence[Path] = ()) -> PhaseFailed:
    """The error for a failed git call. `folders`: where git wrote; they are checked for a full disk."""
    lines = [line for line in result.stderr.decode(errors="replace").splitlines() if line.strip()]
    last = lines[-1].strip() if lines else f"exit code {result.exit_code}"
    if any(words in line for line in lines for words in _FULL_DISK_MESSAGES) or any(map(is_full, folders)):
        return PhaseFailed(
            ErrorCode.DISK_FULL,
            f"The disk is full: git {command}.",
            hint="Free some space, then `burnish retry`.",
        )
    return PhaseFailed(ErrorCode.GIT_ERROR, f"git {command} failed: {last}", hint=_hint(lines))


def _hint(lines: list[str]) -> str:
    text = "\n".join(lines)
    if ("missing" in text and "object" in text) or "unable to read" in text or "promisor" in text:
        return "Some objects are not in the repository; a partial clone needs `git fetch --refetch --no-filter`."
    if "Permission denied" in text or "insufficient permission" in text:
        return "Check that you have write permission for the repository's .git and the burnish home."
    return "Run `burnish doctor`; then `burnish retry`."
