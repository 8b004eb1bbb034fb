"""The entry point: find the verb, load it, run it, and print errors with an exit code."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from burnish.cli.interrupts import install_handlers
from burnish.cli.output import complain, tell
from burnish.cli.session import SESSION, SHARED, options
from burnish.cli.typer_startup import lighten
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
        "waive": "burnish.cli.findings:waive",
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
        "cancel": "burnish.cli.edit:cancel",
        "rm": "burnish.cli.edit:rm",
    },
    "Decide": {
        "inbox": "burnish.cli.inbox:inbox",
        "decide": "burnish.cli.decide:decide",
        "override": "burnish.cli.decide:override",
    },
    "Merge": {
        "pr": "burnish.cli.pr:pr",
        "done": "burnish.cli.edit:done",
        "clean": "burnish.cli.clean:clean",
    },
    "Look": {
        "diff": "burnish.cli.inspect:diff",
        "log": "burnish.cli.log:log",
        "events": "burnish.cli.log:events",
        "path": "burnish.cli.inspect:path",
        "open": "burnish.cli.open:open_task",
        "stats": "burnish.cli.stats:stats",
        "cost": "burnish.cli.cost:cost",
        "serve": "burnish.cli.serve:serve",
    },
    "Set up": {
        "init": "burnish.cli.init:init",
        "demo": "burnish.cli.demo:demo",
        "doctor": "burnish.cli.doctor:doctor",
        "config": "burnish.cli.config:config",
        "prompts": "burnish.cli.prompts:prompts",
        "trust": "burnish.cli.trust:trust",
        "untrust": "burnish.cli.trust:untrust",
        "projects": "burnish.cli.projects:projects",
        "rebuild": "burnish.cli.rebuild:rebuild",
        "version": "burnish.cli.version:version",
    },
}
ALIASES = {"work": "run"}
VERBS = {verb: where for verbs in GROUPS.values() for verb, where in verbs.items()}
_LONGEST_VERB = max(map(len, VERBS))
VERBS |= {alias: VERBS[verb] for alias, verb in ALIASES.items()}

# A write fails with one of these if the disk is full or the output is closed.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)

# typer brings its own copy of click in newer versions: take the class from what it hands out.
_UsageError: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "UsageError")


class VerbGroup(TyperGroup):
    """Lists the verbs in their groups."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for group, verbs in GROUPS.items():
            rows = [
                (verb.ljust(_LONGEST_VERB), summary(self.commands[verb])) for verb in verbs if verb in self.commands
            ]
            if rows:
                with formatter.section(group):
                    formatter.write_dl(rows)


def summary(command: Any) -> str:
    """The first line of a command's help, without its full stop."""
    return str(command.help).partition("\n")[0].rstrip(".")


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
    except (KeyboardInterrupt, typer.Abort):
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
    # --version needs no other verb: loading all of them takes longer than `status`
    only_version = "--version" in argv and not {"-h", "--help"} & set(argv)
    group = build(_verb(argv) or ("version" if only_version else None))
    if "_BURNISH_COMPLETE" in os.environ:
        group.main(prog_name="burnish")
    try:
        with group.make_context("burnish", list(argv)) as context:
            code = group.invoke(context)
    except typer.Exit as done:
        return done.exit_code
    except _UsageError as error:
        verb = _verb(argv)
        where = error.ctx.command_path if error.ctx else f"burnish {verb}" if verb in VERBS else "burnish"
        # one line, without the prefix of the validation library
        words = " ".join(error.format_message().split()).replace(": Value error, ", ": ")
        complain(words, f"See `{where} --help`.")
        return 2
    return code if isinstance(code, int) else 0


def build(only: str | None = None) -> Any:
    """The command group, with every verb or with one of them."""
    app = typer.Typer(
        cls=VerbGroup,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    app.callback(invoke_without_command=True)(options)
    for name in [only] if only in VERBS else VERBS:
        module, function = VERBS[str(name)].split(":")
        app.command(name, hidden=name in ALIASES)(getattr(import_module(module), function))
    group: Any = typer.main.get_command(app)
    shared_options = [option for option in group.params if option.name in SHARED]
    for command in group.commands.values():
        own_names = {word for param in command.params for word in param.opts}
        command.params += [option for option in shared_options if not own_names & set(option.opts)]
    for command in (group, *group.commands.values()):
        lighten(command)
    return group


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
