"""burnish config"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from burnish.cli.output import clean, coloured, columns, cut, one_line, pad, paint, say, say_json, tell, visible, width
from burnish.cli.pager import paged
from burnish.cli.parameters import Argument, Option
from burnish.cli.session import AsJson, start_dir, tell_approval_cost
from burnish.errors import BadInput

if TYPE_CHECKING:
    from burnish.config.repository import IgnoredKey
    from burnish.features.settings.provenance import Value

ACTIONS = ("show", "path", "reference", "set", "unset")


def config(
    action: Annotated[
        str, Argument(metavar="[show|path|reference|set|unset]", help="The action; show if omitted.")
    ] = "show",
    key: Annotated[
        str | None,
        Argument(
            metavar="KEY", help="With show, set and unset: a setting, e.g. review.max_cycles; with show a section."
        ),
    ] = None,
    value: Annotated[
        str | None, Argument(metavar="VALUE", help="With set: the value, as it is written in a YAML file.")
    ] = None,
    for_project: Annotated[
        bool, Option("--project", help="With set and unset: only for this repository, under `projects`.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show settings with their sources; change one in your own file.

    path prints the files that settings are read from. reference prints a commented file with all settings. set and
    unset change one value in your config.yaml and leave the rest of it as it is. They never write burnish.yaml.
    """
    from burnish.features.settings import provenance as explain

    if action not in ACTIONS:
        hint = f"Choose from: {', '.join(ACTIONS)}."
        if key is None:
            hint += f" To show one setting: burnish config show {action}"
        raise BadInput(f"Unknown action {action!r}.", hint=hint)
    if action in ("set", "unset"):
        _change(action, key, value, for_project=for_project, as_json=as_json)
        return
    if value is not None or for_project:
        what = f"argument {value!r}" if value is not None else "option --project"
        raise BadInput(f"Unexpected {what}.", hint="To change a setting: burnish config set KEY VALUE")
    if key is not None and action != "show":
        raise BadInput(
            f"Unexpected argument {key!r}: config {action} takes no key.",
            hint=f"To show one setting: burnish config show {key}",
        )
    if action == "reference":
        text = explain.reference()
        if as_json:
            say_json({"reference": text})
            return
        with paged():
            say(text.rstrip("\n"))
    elif action == "path":
        _paths(as_json)
    else:
        _show(explain.values(start_dir(), key), explain.ignored(start_dir(), key), as_json)


def _change(action: str, key: str | None, value: str | None, *, for_project: bool, as_json: bool) -> None:
    from burnish import runtime
    from burnish.features.settings.change import set_value, unset_value
    from burnish.features.settings.provenance import plain, without_password

    runtime.refuse_inside_phase()
    if key is None or (value is None) == (action == "set"):
        usage = "set KEY VALUE" if action == "set" else "unset KEY"
        raise BadInput(f"config {action} takes {usage.partition(' ')[2]}.", hint=f"burnish config {usage}")
    if value is None:
        result = unset_value(start_dir(), key, for_project=for_project)
    else:
        result = set_value(start_dir(), key, value, for_project=for_project)
    before, now = (without_password(key, one) for one in (result.before, result.value))
    if as_json:
        found = {"key": key, "file": str(result.file), "before": plain(before), "was_set": result.was_set}
        say_json({**found, "value": plain(now), "origin": result.origin})
        return
    say(visible(f"{key}: {written(now)}  ({result.origin})"))
    if action == "set" and not result.origin.startswith(str(result.file)):
        tell(f"  It is also set in {one_line(result.origin)}, which counts.")
    tell_approval_cost()


def _show(values: list[Value], ignored_keys: list[IgnoredKey], as_json: bool) -> None:
    from burnish.features.settings.provenance import plain

    if as_json:
        ignored_json = [plain(one.as_json()) for one in ignored_keys]
        say_json({"settings": [one.as_json() for one in values], "ignored": ignored_json})
        return
    with paged():
        for line in table(values, room=columns(sys.stdout), colour=coloured(sys.stdout)):
            say(line)
        if ignored_keys:
            say("")
            say("Ignored settings of this repository:")
        for one in ignored_keys:
            say(visible(f"  {one.key}: {written(one.value)}  ({one.place}; {one.reason})"))
    tell_approval_cost()


def table(values: list[Value], *, room: int, colour: bool) -> Iterator[str]:
    """Keys, values and origins under each other; in little room only origins that tell something, below."""
    keys = max(width(visible(one.key)) for one in values)
    origins = max(width(one_line(one.origin)) for one in values)
    narrow = keys + origins + 16 > room
    most = room - keys - 2 - (0 if narrow else origins + 2)
    words = min(max(width(written(one.value)) for one in values), max(8, most))
    for one in values:
        is_changed = one.origin != "default"
        text = written(one.value)
        # a single setting is not shortened
        text_shown = text if len(values) == 1 else cut(text, words)
        value_cell = paint(pad(text_shown, words), "bold", on=colour and is_changed)
        origin = paint(one_line(one.origin), "cyan" if is_changed else "dim", on=colour)
        line = f"{pad(visible(one.key), keys)}  {value_cell}"
        yield line.rstrip() if narrow else f"{line}  {origin}"
        if text_shown != text:
            yield f"    cut from {width(text)} characters: config show {visible(one.key)}"
        if narrow and is_changed:
            yield f"    from {origin}"


def written(value: Any) -> str:
    """A value on one line, as it is written in the file."""
    if isinstance(value, str):
        return visible(value) if value and value == value.strip() else json.dumps(value)
    from burnish.features.settings.provenance import plain

    return visible(json.dumps(plain(value), ensure_ascii=False))


def _paths(as_json: bool) -> None:
    from burnish.features.settings import provenance as explain

    found = explain.sources(start_dir())
    if as_json:
        say_json({"sources": [{"name": one.name, "path": one.path, "used": one.used} for one in found]})
        return
    on = coloured(sys.stdout)
    for one in found:
        state = paint("read", "green", on=on) if one.used else paint("none", "dim", on=on)
        say(f"{one.name:<11}  {state}  {clean(one.path)}")
