"""`docs/commands.md`, made from the commands by `python -m tools.commands_page > docs/commands.md`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from enum import Enum
from importlib import import_module
from typing import Any

from burnish.cli.main import ALIASES, GROUPS
from burnish.cli.parameters import SHARED, Argument, Option, declared

HEAD = """# Commands

```console
$ burnish --help                # the commands, in groups
$ burnish COMMAND --help        # one command with its options
```

Generated from the code by `python -m tools.commands_page > docs/commands.md`; a test fails if it is out of date.

[Exit codes](get-started.md#exit-codes) are the same for all commands. Every command takes
these options, before or after its name:

"""
COLUMNS = "| option | meaning |\n|---|---|"


def commands_page() -> str:
    """The text of the page."""
    shared = "\n".join([COLUMNS, *(_row(_names(option, bool), option.details["help"]) for option in SHARED.values())])
    groups = (f"## {group}\n\n" + "\n".join(map(_section, verbs)) for group, verbs in GROUPS.items())
    return HEAD + shared + "\n\n" + "\n".join(groups)


def _section(verb: str) -> str:
    place = next(verbs[verb] for verbs in GROUPS.values() if verb in verbs)
    module, function = place.split(":")
    code = getattr(import_module(module), function)
    arguments = [(parameter, kind, d) for parameter, kind, d in declared(code) if isinstance(d, Argument)]
    usage = " ".join(
        ["burnish", verb, "[OPTIONS]", *(_argument(parameter, kind, d) for parameter, kind, d in arguments)]
    )
    rows = [
        *(_row(f"`{d.details['metavar'].strip('[]')}`", d.details.get("help", "")) for _, _, d in arguments),
        *_options(code),
    ]
    parts = [f"### {verb}\n", f"```\n{usage}\n```\n", _text(code)]
    parts += [f"`{alias}` is an alias of this command.\n" for alias, target in ALIASES.items() if target == verb]
    if rows:
        parts.append("\n".join([COLUMNS, *rows]) + "\n")
    return "\n".join(parts)


def _argument(parameter: inspect.Parameter, kind: Any, argument: Argument) -> str:
    name = argument.details["metavar"].strip("[]")
    if str(kind).startswith("list"):
        name += "..."
    return name if parameter.default is parameter.empty else f"[{name}]"


def _options(code: Callable[..., Any]) -> Iterator[str]:
    for parameter, kind, option in declared(code):
        if isinstance(option, Option) and not option.details.get("hidden"):
            yield _row(_names(option, kind), option.details["help"] + _default(parameter.default))


def _names(option: Option, kind: Any) -> str:
    metavar = option.details.get("metavar", "")
    if isinstance(kind, type) and issubclass(kind, Enum):
        metavar = "|".join(member.value for member in kind)
    # a switch has two names in one, "--tests/--no-tests"
    switches = zip(*(names.split("/") for names in option.names), strict=True)
    return " / ".join(
        ", ".join(f"`{name} {metavar}`" if metavar else f"`{name}`" for name in names) for names in switches
    )


def _default(value: Any) -> str:
    if isinstance(value, Enum):
        value = value.value
    return "" if isinstance(value, bool) or value in (None, "", inspect.Parameter.empty) else f" Default: {value}."


def _row(name: str, meaning: str) -> str:
    escaped_name, escaped_meaning = (text.replace("|", "\\|") for text in (name, meaning))
    return f"| {escaped_name} | {escaped_meaning} |"


def _text(code: Callable[..., Any]) -> str:
    """The help of a command as paragraphs."""
    paragraphs = re.split(r"\n\s*\n", inspect.getdoc(code) or "")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs) + "\n"


if __name__ == "__main__":
    print(commands_page(), end="")
