"""Skips Typer's pydantic conversion at start-up and hides Python types in --help."""

from __future__ import annotations

from typing import Any


def lighten(command: Any) -> None:
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
