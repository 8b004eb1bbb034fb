"""Prompts as a page shows and writes them: the project's or the user's own text, its switch, its preview."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnish import config as settings
from burnish.config.loading import project_layer
from burnish.config.sources import read_text
from burnish.errors import BadInput, Refused
from burnish.review.templates import check, shipped
from burnish.wiring.prompts import NAMES, file_of, in_force, known, variables
from burnish.wiring.reader import refuse_inside_phase
from burnish.wiring.rendering import Sent, rendered

if TYPE_CHECKING:
    from burnish.wiring.app import App

PROJECT, GLOBAL = "project", "global"


@dataclass(frozen=True, slots=True)
class Words:
    """One prompt in one place."""

    name: str
    where: str
    # the text kept there; None: there is none
    text: str | None
    path: Path
    # as it came with burnish
    default: str
    # is the own text used where there is one
    enabled: bool
    # what is in force now: shipped, user or project
    origin: str
    variables: tuple[str, ...]


def words(app: App, name: str, where: str) -> Words:
    file = _file(app, name, where)
    now = in_force(name, app.config, app.repo.root, settings.user_folder())
    text = file.read_text("utf-8", "replace") if file.is_file() else None
    names = tuple(sorted(variables(name)))
    return Words(name, where, text, file, shipped(name), not now.switched_off, now.origin, names)


def write(app: App, name: str, where: str, *, text: str | None = None, enabled: bool | None = None) -> None:
    """Keep a text, or switch it on or off; a text that asks for what there is not is refused."""
    refuse_inside_phase()
    file = _file(app, name, where)
    if text is not None:
        check(text, variables(name), whose=f"your own prompt {name}", name=name)
    if enabled is not None and enabled != words(app, name, where).enabled:
        _switch(app, name, where, enabled)
    if text is not None:
        _replace(_base(app, where), file, text)


def reset(app: App, names: Iterable[str], where: str) -> list[str]:
    """Take own texts away; the names of those that were there."""
    refuse_inside_phase()
    gone = [name for name in names if _file(app, name, where).is_file()]
    for name in gone:
        _file(app, name, where).unlink()
    return gone


def preview(app: App, name: str, text: str, task_id: int) -> list[Sent]:
    """What agents would be told for a task if this were the prompt; nothing is kept."""
    check(text, variables(known(name)), whose=f"your own prompt {name}", name=name)
    return rendered(app, task_id, name, own={name: text})


def _file(app: App, name: str, where: str) -> Path:
    return file_of(name, app.repo.root, settings.user_folder(), everywhere=where == GLOBAL)


def _base(app: App, where: str) -> Path:
    return settings.user_folder() if where == GLOBAL else app.repo.root


def _replace(base: Path, file: Path, text: str) -> None:
    """As a whole or not at all. A repository may hold links that lead elsewhere: they are not followed."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.parent.resolve().is_relative_to(base.resolve()):
        raise Refused(f"{file.parent} leads out of {base}.", hint="Remove the link, then write the prompt again.")
    draft = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
        with os.fdopen(fd, "w", encoding="utf-8") as out:
            out.write(text)
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)


def _switch(app: App, name: str, where: str, enabled: bool) -> None:
    """`prompts.<name>.enabled` in the settings file of that place, its other lines and comments as they were."""
    from ruamel.yaml import YAML
    from ruamel.yaml.compat import StringIO

    file = _base(app, where) / ("config.yaml" if where == GLOBAL else "burnish.yaml")
    layer = project_layer(app.repo.root) if where == PROJECT else None
    if layer and layer.name != "burnish.yaml":
        raise BadInput(
            f"The settings of this project stand in {layer.name}, which burnish does not write.",
            hint=f'Write it there yourself: [tool.burnish.prompts."{name}"] enabled = {str(enabled).lower()}',
        )
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 10_000
    found: Any = yaml.load(read_text(file) or "") or {}
    switches = found.setdefault("prompts", {})
    switches.setdefault(name, {})["enabled"] = enabled
    out = StringIO()
    yaml.dump(found, out)
    _replace(_base(app, where), file, out.getvalue())


__all__ = ["GLOBAL", "NAMES", "PROJECT", "Words", "preview", "reset", "words", "write"]
