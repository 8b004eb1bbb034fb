"""The verbs as commands of Typer: help, completion, and command lines that `parameters.read_plain` leaves to it.

Only this module imports Typer.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from burnish.cli.output import complain
from burnish.cli.parameters import SHARED, Option, declared
from burnish.cli.session import SESSION
from burnish.errors import BadInput

Groups = Mapping[str, Mapping[str, str]]

# typer brings its own copy of click in newer versions: take the class from what it hands out.
_UsageError: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "UsageError")


def call(group: Any, argv: Sequence[str], where: str) -> int:
    """Run a command line; wrong usage is exit code 2 with a hint at the help of `where`."""
    if "_BURNISH_COMPLETE" in os.environ:
        group.main(prog_name="burnish")
    if any(word.startswith(("--install-comp", "--show-comp")) for word in argv):
        _complete_at_first_tab()
    try:
        with group.make_context("burnish", list(argv)) as context:
            code = group.invoke(context)
    except typer.Exit as done:
        return done.exit_code
    except typer.Abort:
        raise KeyboardInterrupt from None
    except _UsageError as error:
        complain(*_explained(error, where))
        return 2
    return code if isinstance(code, int) else 0


def _explained(error: Any, where: str) -> tuple[str, str]:
    """What is wrong with the command line, in one line, and what to type."""
    where = error.ctx.command_path if error.ctx else where
    # without the prefix of the validation library
    words = " ".join(error.format_message().split()).replace(": Value error, ", ": ")
    # in the words of a person
    words = re.sub(r"Input should be a valid integer, .*", "a whole number is needed.", words)
    words = re.sub(r"Input should be a valid number, .*", "a number is needed.", words)
    see = f"See `{where} --help`."
    if extra := re.search(r"unexpected extra argument\S* \((.*)\)$", words):
        hint = f'Put quotes around text with spaces: "two words". {see}'
        return f"Unexpected argument {extra[1].split()[0]!r}.", hint
    if words.startswith("Missing argument") and error.ctx:
        return words, f"{' '.join(error.ctx.get_usage().split())}. {see}"
    return words, see


def _complete_at_first_tab() -> None:
    """Typer's script for zsh only defines the completion at the first Tab, and offers nothing; ours also calls it."""
    scripts = getattr(import_module("typer._completion_shared"), "_completion_scripts", {})
    last_line = '[[ "$funcstack[1]" = "_%(prog_name)s" ]] && %(complete_func)s'
    if last_line not in scripts.get("zsh", last_line):
        scripts["zsh"] = f"{scripts['zsh'].rstrip()}\n\n{last_line}\n"


def build_group(groups: Groups, aliases: Mapping[str, str], only: str | None) -> Any:
    """The command group, with every verb or with one of them."""
    verbs = {verb: place for listed in groups.values() for verb, place in listed.items()}
    verbs |= {alias: verbs[verb] for alias, verb in aliases.items()}
    app = typer.Typer(
        cls=_group_class(groups),
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    app.callback(invoke_without_command=True)(_options)
    for name in [only] if only in verbs else verbs:
        module, function = verbs[str(name)].split(":")
        app.command(name, hidden=name in aliases)(_for_typer(getattr(import_module(module), function)))
    group: Any = typer.main.get_command(app)
    shared_options = [option for option in group.params if option.name in SHARED]
    for command in group.commands.values():
        own_names = {word for param in command.params for word in param.opts}
        command.params += [option for option in shared_options if not own_names & set(option.opts)]
    for command in (group, *group.commands.values()):
        _lighten_command(command)
    return group


def summary(command: Any) -> str:
    """The first line of a command's help, without its full stop."""
    return str(command.help).partition("\n")[0].rstrip(".")


# what people type as verbs of their own
_DECISIONS = ("approve", "reject", "fix", "skip")


def _group_class(groups: Groups) -> type[TyperGroup]:
    longest_verb = max(len(verb) for verbs in groups.values() for verb in verbs)

    class VerbGroup(TyperGroup):
        """Lists the verbs in their groups."""

        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            if args[0] in _DECISIONS and not ctx.resilient_parsing:
                # the most similar verb of `approve` is `improve`, which starts a run
                hint = f"Decide on a task with `burnish decide ID {args[0]}`."
                raise BadInput(f"No such command '{args[0]}'.", hint=hint)
            return super().resolve_command(ctx, args)

        def format_commands(self, ctx: Any, formatter: Any) -> None:
            for group, verbs in groups.items():
                rows = [
                    (verb.ljust(longest_verb), summary(self.commands[verb])) for verb in verbs if verb in self.commands
                ]
                if rows:
                    with formatter.section(group):
                        formatter.write_dl(rows)

    return VerbGroup


def _for_typer(verb: Callable[..., Any]) -> Callable[..., Any]:
    """The verb with its declarations as those of Typer."""

    @functools.wraps(verb)
    def wrapped(**arguments: Any) -> Any:
        return verb(**arguments)

    params = []
    for param, kind, declaration in declared(verb):
        if isinstance(declaration, Option):
            kind = Annotated[kind, typer.Option(*declaration.names, **declaration.details)]
        elif declaration is not None:
            kind = Annotated[kind, typer.Argument(**declaration.details)]
        params.append(param.replace(annotation=kind, kind=param.KEYWORD_ONLY))
    wrapped.__signature__ = inspect.Signature(params)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {param.name: param.annotation for param in params}
    return wrapped


def _shared(name: str) -> Any:
    """A shared option as Typer's, which sets the value in SESSION."""

    # The option may be given before or after the verb, so that an absent one must not reset it.
    def note(value: Any) -> Any:
        if value:
            setattr(SESSION, name, value)
        return value

    option = SHARED[name]
    return typer.Option(*option.names, callback=note, expose_value=False, **option.details)


def _version(value: bool) -> None:
    if value:
        from burnish.cli.version import version

        version(as_json=False)
        raise typer.Exit


def _options(
    context: typer.Context,
    start: Annotated[str | None, _shared("start")] = None,
    quiet: Annotated[bool, _shared("quiet")] = False,
    verbose: Annotated[bool, _shared("verbose")] = False,
    debug: Annotated[bool, _shared("debug")] = False,
    plain: Annotated[bool, _shared("plain")] = False,
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_version, is_eager=True, expose_value=False),
    ] = False,
) -> None:
    """Have AI agents do coding tasks, then test, review and fix the result.

    A task runs in its own copy of the repository until it is approved or needs a person.
    `burnish COMMAND --help` explains a command.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _lighten_command(command: Any) -> None:
    """Patch all parameters of a command and its help option, which Typer creates on demand."""
    make_help = command.get_help_option

    def get_help_option(context: Any) -> Any:
        option = make_help(context)
        _lighten(option)
        return option

    command.get_help_option = get_help_option
    for param in command.params:
        _lighten(param)
        if param.param_type_name == "argument" and hasattr(param, "display_type_rich"):
            # show `TASK`, not `TASK <str>`
            param.display_type_rich = lambda ctx: ""


def _lighten(param: Any) -> None:
    """Skip the conversion of values that need none: newer Typer versions load pydantic for it."""
    kind = getattr(param, "type_descriptor", None)
    if kind is None or "process_value" in vars(param):
        return  # an older Typer, which does not need it; or already patched
    convert = param.process_value

    def process(context: Any, value: Any) -> Any:
        absent = (value is None or value == ()) and not param.required
        if not (absent or _is_ready(kind.annotation, value)):
            return convert(context, value)
        return param.callback(context, param, value) if param.callback else value

    param.process_value = process


def _is_ready(annotation: Any, value: Any) -> bool:
    """Whether the value already has the annotated type."""
    if annotation == list[str]:
        return isinstance(value, tuple | list) and bool(value) and all(isinstance(word, str) for word in value)
    return annotation in (str, int, float, bool) and type(value) is annotation
