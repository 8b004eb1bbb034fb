"""`docs/settings.md`, generated from the types of the settings by `python -m burnish.config.docs_page`."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from burnish.config import sections, values
from burnish.config.problems import unwrapped
from burnish.config.settings import Config, written

HEAD = """# Settings

Generated from the code by `python -m burnish.config.docs_page > docs/settings.md`; a test fails if it is out of date.

Each layer overrides the one before it:

1. the defaults below
2. `config.yaml` in your config folder (`~/.config/burnish`, or `$XDG_CONFIG_HOME/burnish`)
3. `burnish.yaml` in the project's checkout, or `[tool.burnish]` in its `pyproject.toml` (both is an error), if you
   have [trusted](trust.md) that checkout
4. the values in your `config.yaml` for this checkout only, under `projects: {<path>: {…}}`
5. variables such as `BURNISH__REVIEW__MAX_CYCLES=5`: two underscores between names, the value as in YAML
6. flags

Mappings are merged across layers. Lists and single values are replaced, and so is a check or a role as a whole.
`burnish config show` prints each value and where it came from. An unknown key is an error.
Settings are read from the project's checkout, never from a task's workspace. `BURNISH_HOME` moves all state.
`BURNISH_NO_SYNC=1` turns off `fsync`. Use it for tests and temporary homes only: a power failure may damage the home
and the repository.

Never taken from a repository, trusted or not: `sandbox`, `agents.<name>.login`, `clean`, `limits`, `machine`,
`notify`, `serve`, `database`, `merge.auto`, `review.unseen`, `checks.where: workspace`, `checks.uncountable: accept`,
`workspace.setup_credentials: always` and `projects`. Write them in your own `config.yaml`, for one project under
`projects`. `burnish config show` lists what was ignored, and why.
"""

# Types that are used in several places, or under names that the user chooses.
SHARED: tuple[tuple[str, type[BaseModel]], ...] = (
    ("agents.<name>", sections.AgentSection),
    ("roles.<role>", values.RoleEntry),
    ("task_types.<type>", sections.TaskKind),
    ("review.agents[]", values.ReviewerEntry),
    ("pipeline[]", sections.Step),
    ("checks.test, checks.lint", values.CheckEntry),
    ("checks.extra.<name>", values.ExtraCheck),
    ("prompts.<name>", sections.PromptSwitch),
)


def settings_page() -> str:
    """The whole page."""
    parts = [HEAD, "## Every setting", _table(_rows("", Config))]
    for title, model in SHARED:
        parts += [f"## `{title}`", (model.__doc__ or "").strip(), _table(_rows("", model))]
    reference = (files("burnish.config") / "reference.yaml").read_text(encoding="utf-8")
    parts += ["## The whole file with its defaults", f"```yaml\n{reference}```"]
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def _rows(prefix: str, model: type[BaseModel]) -> Iterator[tuple[str, str, str, str]]:
    shared_names = {one for _, one in SHARED}
    for name, field in model.model_fields.items():
        key = f"{prefix}{field.alias or name}"
        (first, *_) = unwrapped(field.annotation)
        if isinstance(first, type) and issubclass(first, BaseModel) and first not in shared_names:
            yield from _rows(f"{key}.", first)
        elif first is sections.TaskKind:
            yield f"`{key}`", "section", "see below", f"tasks of type {name}"
        else:
            yield f"`{key}`", _type_text(field), _default(field), field.description or ""


def _table(rows: Iterator[tuple[str, str, str, str]]) -> str:
    lines = ["| key | type | default | meaning |", "|---|---|---|---|"]
    return "\n".join([*lines, *("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)])


def _type_text(field: FieldInfo) -> str:
    words = list(dict.fromkeys(_one_type(one) for one in unwrapped(field.annotation)))
    return " or ".join(words)


def _one_type(one: Any) -> str:
    origin, arguments = typing.get_origin(one), typing.get_args(one)
    if origin is typing.Literal:
        return ", ".join(f"`{str(word).lower()}`" for word in arguments)
    if origin is tuple:
        return "list of " + " or ".join(_one_type(part) for part in unwrapped(arguments[0]))
    if origin is dict:
        return "mapping"
    if one is values.CheckEntry:
        return "command or section"
    if one is values.ReviewerEntry:
        return "name or section"
    if isinstance(one, type) and issubclass(one, BaseModel):
        return "section"
    names = {str: "text", bool: "true, false", int: "whole number", float: "number", types.NoneType: "empty"}
    return names.get(one, str(one))


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = written(field.get_default(call_default_factory=True, validated_data={}))
    if isinstance(value, dict):
        return f"`{{{', '.join(value)}}}`"
    if isinstance(value, list):
        return f"`[{', '.join(map(str, value))}]`"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return "empty" if value is None else f"`{value}`"


if __name__ == "__main__":
    print(settings_page(), end="")
