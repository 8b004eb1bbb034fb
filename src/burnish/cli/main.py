"""The entry point: find the verb, load it, run it, and print errors with an exit code."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from burnish.cli.interrupts import install_handlers
from burnish.cli.output import complain, tell
from burnish.cli.parameters import read_plain
from burnish.cli.session import SESSION
from burnish.errors import BurnishError, Untrusted

# group → verb → where it is; only the verb that was typed is loaded. The first group holds the five most used.
GROUPS = {
    "Start": {
        "add": "burnish.cli.add:add",
        "run": "burnish.cli.run:run",
        "status": "burnish.cli.status:status",
        "review": "burnish.cli.review:review",
        "merge": "burnish.cli.merge:merge",
    },
    "Review": {
        "findings": "burnish.cli.findings:findings",
        "comment": "burnish.cli.comment:comment",
        "apply": "burnish.cli.findings:apply",
        "waive": "burnish.cli.findings:waive",
        "resolve": "burnish.cli.findings:resolve",
        "reopen": "burnish.cli.findings:reopen",
        "handoff": "burnish.cli.handoff:handoff",
        "hook": "burnish.cli.hook:hook",
    },
    "Tasks": {
        "list": "burnish.cli.status:list_tasks",
        "show": "burnish.cli.show:show",
        "edit": "burnish.cli.edit:edit",
        "retry": "burnish.cli.run:retry",
        "improve": "burnish.cli.run:improve",
        "stop": "burnish.cli.run:stop",
        "pause": "burnish.cli.pause:pause",
        "unpause": "burnish.cli.pause:unpause",
        "cancel": "burnish.cli.edit:cancel",
        "rm": "burnish.cli.edit:rm",
        "import": "burnish.cli.import_tasks:import_tasks",
    },
    "Decide": {
        "inbox": "burnish.cli.inbox:inbox",
        "decide": "burnish.cli.decide:decide",
        "override": "burnish.cli.decide:override",
    },
    "Merge": {
        "rebase": "burnish.cli.run:rebase",
        "pr": "burnish.cli.pr:pr",
        "attest": "burnish.cli.attest:attest",
        "verify": "burnish.cli.attest:verify",
        "done": "burnish.cli.edit:done",
        "sync": "burnish.cli.sync:sync",
        "clean": "burnish.cli.clean:clean",
    },
    "Look": {
        "diff": "burnish.cli.inspect:diff",
        "log": "burnish.cli.log:log",
        "events": "burnish.cli.log:events",
        "path": "burnish.cli.inspect:path",
        "open": "burnish.cli.open:open_task",
        "stats": "burnish.cli.stats:stats",
        "cost": "burnish.cli.stats:cost",
        "limits": "burnish.cli.limits:limits",
        "export": "burnish.cli.export:export",
        "tui": "burnish.cli.tui:tui",
        "serve": "burnish.cli.serve:serve",
        "mcp": "burnish.cli.mcp:mcp",
    },
    "Set up": {
        "init": "burnish.cli.init:init",
        "demo": "burnish.cli.demo:demo",
        "doctor": "burnish.cli.doctor:doctor",
        "config": "burnish.cli.config:config",
        "prompts": "burnish.cli.prompts:prompts",
        "service": "burnish.cli.service:service",
        "trust": "burnish.cli.trust:trust",
        "untrust": "burnish.cli.trust:untrust",
        "projects": "burnish.cli.projects:projects",
        "people": "burnish.cli.people:people",
        "audit": "burnish.cli.people:audit",
        "rebuild": "burnish.cli.rebuild:rebuild",
        "store": "burnish.cli.store:store",
        "uninstall": "burnish.cli.uninstall:uninstall",
        "worker": "burnish.cli.worker:worker",
        "help": "burnish.cli.help:help_about",
        "version": "burnish.cli.version:version",
    },
}
ALIASES = {"work": "run"}
VERBS = {verb: where for verbs in GROUPS.values() for verb, where in verbs.items()}
VERBS |= {alias: VERBS[verb] for alias, verb in ALIASES.items()}

# A write fails with one of these if the disk is full or the output is closed.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


def run() -> NoReturn:
    install_handlers()
    sys.exit(main(sys.argv[1:]))


def main(argv: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    SESSION.reset()
    _drop_relative_path()
    if not _streams():
        return 3
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a ✓ must not fail on a Latin-1 terminal
    try:
        code = _call_or_ask(argv)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        return _pipe_closed()
    except KeyboardInterrupt:
        tell("Interrupted.")
        return 130
    except BurnishError as error:
        if SESSION.debug:
            _traceback()
        complain(error.what, error.hint)
        return error.exit_code
    except OSError as error:
        return _no_room(error) if error.errno in NO_ROOM else _bug(error)
    except Exception as error:
        return _bug(error)


def _drop_relative_path() -> None:
    """Remove relative entries from PATH: a program of the repository would be run as git, ruff or an agent."""
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    absolute_entries = [entry for entry in entries if os.path.isabs(entry)]  # noqa: PTH117
    if absolute_entries != entries:
        os.environ["PATH"] = os.pathsep.join(absolute_entries) or os.defpath


def _streams() -> bool:
    """Open closed standard streams on /dev/null, so that no file gets their numbers; False if stdout was closed."""
    if sys.stdin is None:
        sys.stdin = Path(os.devnull).open()  # noqa: SIM115
    is_closed = sys.stdout is None
    if is_closed:
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115
    if is_closed:
        complain("Standard output is closed.", "Redirect it, e.g. > /dev/null.")
    return not is_closed


def _call_or_ask(argv: Sequence[str]) -> int:
    """Run the command; if it needs a trusted checkout and the user now trusts it, run it again."""
    try:
        return _call(argv)
    except Untrusted as error:
        from burnish.cli.trust import offer

        if not offer(error):
            raise
    SESSION.reset()
    return _call(argv)


def _call(argv: Sequence[str]) -> int:
    plain_call = _plain_call(argv)
    if plain_call is not None:
        code = plain_call()
        return code if isinstance(code, int) else 0
    from burnish.cli.command_line import call

    verb = _verb(argv)
    # --version needs no other verb: loading all of them takes longer than `status`
    only_version = "--version" in argv and not {"-h", "--help"} & set(argv)
    group = build(verb or ("version" if only_version else None))
    return call(group, argv, f"burnish {verb}" if verb in VERBS else "burnish")


def _plain_call(argv: Sequence[str]) -> Callable[[], Any] | None:
    """The call of a verb whose command line needs no library to be read."""
    words = ["version"] if list(argv) == ["--version"] else list(argv)
    if not words or words[0] not in VERBS or "_BURNISH_COMPLETE" in os.environ:
        return None
    module, name = VERBS[words[0]].split(":")
    function = getattr(import_module(module), name)
    found = read_plain(function, words[1:])
    if found is None:
        return None
    values, shared_flags = found
    for flag in shared_flags:
        setattr(SESSION, flag, True)
    return partial(function, **values)


def build(only: str | None = None) -> Any:
    """The command group, with every verb or with one of them."""
    from burnish.cli.command_line import build_group

    return build_group(GROUPS, ALIASES, only)


def _verb(argv: Sequence[str]) -> str | None:
    if "_BURNISH_COMPLETE" in os.environ:
        return None
    words = iter(argv)
    for word in words:
        if word == "-C":
            next(words, None)
        elif not word.startswith("-"):
            return word
    return None


def _bug(error: Exception) -> int:
    if SESSION.debug:
        _traceback()
    words = str(error).partition("\n")[0][:200]
    complain(
        f"This is a bug in burnish: {type(error).__name__}{': ' if words else ''}{words}",
        "Run the command again with --debug and report the output. Recorded data is not affected.",
    )
    return 3


def _no_room(error: OSError) -> int:
    """Report a full disk, or output that cannot be written."""
    if SESSION.debug:
        _traceback()
    complain(
        f"Cannot write: {(error.strerror or 'no space left').lower()}.",
        "Free disk space for the output and the burnish home, then run the command again. Recorded data is kept.",
    )
    _drop_output()
    return 3


def _traceback() -> None:
    import traceback

    traceback.print_exc()


def _pipe_closed() -> int:
    """The reader closed the pipe, e.g. `burnish log 1 | head`: not an error."""
    _drop_output()
    return 0


def _drop_output() -> None:
    """Redirect stdout to /dev/null: Python flushes it again at exit, which would fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
