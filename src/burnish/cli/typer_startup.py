"""A way round the dearest part of typer's start, and round words of Python in its help."""

from __future__ import annotations

from typing import Any


def lighten(command: Any) -> None:
    """All parameters of a command, and the help option, which is made only when it is asked for."""
    make_help = command.get_help_option

    def get_help_option(context: Any) -> Any:
        option = make_help(context)
        _lighten(option)
        return option

    command.get_help_option = get_help_option
    for param in command.params:
        _lighten(param)
        if param.param_type_name == "argument" and hasattr(param, "display_type_rich"):
            # its name says what it is: `TASK`, not `TASK <str>`
            param.display_type_rich = lambda ctx: ""


def _lighten(param: Any) -> None:
    """Pass by the conversion of what needs none: for it newer typers load pydantic, half of a start."""
    kind = getattr(param, "type_descriptor", None)
    if kind is None or "process_value" in vars(param):
        return  # an older typer, which has no need of it; or done already
    convert = param.process_value

    def process(context: Any, value: Any) -> Any:
        absent = (value is None or value == ()) and not param.required
        if not (absent or _is_ready(kind.annotation, value)):
            return convert(context, value)
        return param.callback(context, param, value) if param.callback else value

    param.process_value = process


def _is_ready(annotation: Any, value: Any) -> bool:
    """Text where text is wanted, or a default that has its type already."""
    if annotation == list[str]:
        return isinstance(value, tuple | list) and bool(value) and all(isinstance(word, str) for word in value)
    return annotation in (str, int, float, bool) and type(value) is annotation
