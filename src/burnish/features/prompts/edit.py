"""The user's own prompts as a person keeps them: written, switched, taken away, tried on a task."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from burnish import config as settings
from burnish.config.editing import with_setting
from burnish.config.repository import is_inside, read_accepted, table_layer
from burnish.config.sources import read_text
from burnish.errors import BadInput, BurnishError, Refused
from burnish.review.templates import check, shipped, variable_descriptions
from burnish.runtime.prompts import (
    MAX_PROMPT_BYTES,
    NAMES,
    PROJECT,
    USER,
    file_of,
    in_force,
    own_prompts,
    require_name,
    variables,
)
from burnish.runtime.reader import refuse_inside_phase
from burnish.runtime.trust import current_trust, staying_trusted

if TYPE_CHECKING:
    from burnish.core.task import Task
    from burnish.features.prompts.preview import RenderedPrompt
    from burnish.runtime.app import App


class PromptScope(StrEnum):
    PROJECT = "project"
    GLOBAL = "global"

    @property
    def everywhere(self) -> bool:
        return self is PromptScope.GLOBAL


@dataclass(frozen=True, slots=True)
class PromptOverride:
    """The user's own text in one of the two places."""

    where: PromptScope
    path: Path
    # None: there is none
    text: str | None

    @property
    def seen(self) -> str:
        """A hash of the text, to detect changes since it was read."""
        return "" if self.text is None else hashlib.sha256(self.text.encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True, slots=True)
class SavedPrompt:
    """Everything about one prompt."""

    name: str
    # shipped, user or project: whose text is in force
    origin: str
    text: str
    default: str
    project: PromptOverride
    everywhere: PromptOverride
    enabled: bool
    # the file whose switch turned it off or on; "": none
    switched_at: str
    # why the text that is in force would be refused; "": it would not
    problem: str
    variables: dict[str, str]

    def own(self, where: PromptScope) -> PromptOverride:
        return self.everywhere if where.everywhere else self.project


def kept(app: App, name: str) -> SavedPrompt:
    user, root = settings.user_folder(), app.repo.root
    prompt = in_force(
        name, app.config, root, user, trusted=app.trust.is_trusted, accepted_files=app.trust.accepted_files
    )
    switch = app.config.prompts.get(name)  # type: ignore[call-overload]
    descriptions = variable_descriptions(name)
    return SavedPrompt(
        name=name,
        origin=prompt.origin,
        text=prompt.text,
        default=shipped(name),
        project=_own(app, name, PromptScope.PROJECT),
        everywhere=_own(app, name, PromptScope.GLOBAL),
        enabled=switch is None or switch.enabled,
        switched_at=app.config.origin(f"prompts.{name}.enabled") if switch is not None else "",
        problem=_problem(name, prompt.text) if prompt.origin in (PROJECT, USER) else "",
        variables={one: descriptions.get(one, "") for one in sorted(variables(name))},
    )


def all_kept(app: App) -> list[SavedPrompt]:
    return [kept(app, name) for name in NAMES]


def save(app: App, name: str, text: str, where: PromptScope, *, expected_hash: str | None = None) -> Path:
    """Written only if it could be rendered, and, where `seen` is given, only over the text that was read."""
    refuse_inside_phase()
    text = text.replace("\r\n", "\n")
    check_text(name, text)
    own = _own(app, name, where)
    if expected_hash is not None and expected_hash != own.seen:
        raise Refused(
            f"{own.path} has changed since you opened it.",
            hint="Copy your text, reload the page, and merge the two.",
        )
    with recording_trust(app, own.path, "prompts edit"):
        _write(own.path, text, _ground(app, where))
    return own.path


def reset(app: App, names: Iterable[str], where: PromptScope) -> list[tuple[str, Path]]:
    """Remove the user's own texts; returns those that existed."""
    refuse_inside_phase()
    removed_files = []
    for name in names:
        file = _file(app, name, where)
        if file.is_file():
            with recording_trust(app, file, "prompts reset"):
                file.unlink()
            removed_files.append((name, file))
    return removed_files


def switch(app: App, name: str, on: bool, where: PromptScope) -> Path:
    """Enable or disable a prompt in the settings of that scope; other settings stay unchanged."""
    refuse_inside_phase()
    require_name(name)
    file = _settings_file(app, where)
    text = read_text(file)
    new_text = with_setting(text or "", ("prompts", name, "enabled"), on, file.name)
    if new_text != text:
        with recording_trust(app, file, "prompts switch"):
            _write(file, new_text, _ground(app, where))
    return file


@contextmanager
def recording_trust(app: App, file: Path, how: str) -> Iterator[None]:
    """A file of the project that a person writes here needs no second acceptance; one of the user's own needs none."""
    root = app.repo.root
    if file.is_relative_to(root) and not is_inside(root, file):
        raise BurnishError(f"{file} lies behind a link that leads elsewhere.", hint="Put a plain file or folder there.")
    paths = (file.relative_to(root).as_posix(),) if file.is_relative_to(root) else ()
    with staying_trusted(app.trust.found, how=how, paths=paths, store=app.store):
        yield
    app.trust = current_trust(app.trust, app.home)


def fits(name: str, task: Task) -> bool:
    """Can it be tried on this task? Only the first prompt of all needs no work that was done."""
    return name == "implement.template" or bool(task.commit)


def try_on(app: App, name: str, text: str | None, task: int) -> list[RenderedPrompt]:
    """What would be sent for a task with this text in its place."""
    from burnish.features.prompts.preview import render_prompts

    if text is not None:
        check_text(name, text)
        folders = (app.repo.root, settings.user_folder())
        trusted = app.trust.is_trusted
        app.prompts = own_prompts(
            app.config,
            *folders,
            trusted=trusted,
            accepted_files=app.trust.accepted_files,
            instead={require_name(name): text},
        )
    return render_prompts(app, task, name)


def check_text(name: str, text: str) -> None:
    """Refused with the variables that there are, where it asks for another."""
    require_name(name)
    if not text.strip():
        raise BadInput(f"The prompt {name} is empty.", hint="Write something, or reset it to the default.")
    if "\x00" in text or not _is_text(text):
        raise BadInput(f"The prompt {name} contains invalid characters.", hint="Take them out.")
    check(text, variables(name), whose=name, name=name)


def _is_text(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _problem(name: str, text: str) -> str:
    try:
        check(text, variables(name), whose=name, name=name)
    except BadInput as refused:
        return f"{refused.what} {refused.hint}"
    return ""


def _own(app: App, name: str, where: PromptScope) -> PromptOverride:
    file = _file(app, name, where)
    if where.everywhere:
        return PromptOverride(where, file, file.read_text("utf-8", "replace") if file.is_file() else None)
    # a link that was not accepted could lead to any file of the user
    data = read_accepted(app.repo.root, str(file), app.trust.accepted_files, longest=MAX_PROMPT_BYTES, exact=False)
    return PromptOverride(where, file, None if data is None else data.decode("utf-8", "replace"))


def _file(app: App, name: str, where: PromptScope) -> Path:
    return file_of(name, app.repo.root, settings.user_folder(), everywhere=where.everywhere)


def _settings_file(app: App, where: PromptScope) -> Path:
    if where.everywhere:
        return settings.user_folder() / "config.yaml"
    if table_layer(app.repo.root) is not None:
        raise BadInput(
            "The settings of this project are in pyproject.toml, which burnish does not change.",
            hint='Write `enabled = false` (or true) there, below [tool.burnish.prompts."<name>"].',
        )
    return app.repo.root / "burnish.yaml"


def _ground(app: App, where: PromptScope) -> Path:
    return settings.user_folder() if where.everywhere else app.repo.root


def _write(file: Path, text: str, ground: Path) -> None:
    """Write the file atomically, and never through a link to another place."""
    if not file.resolve().is_relative_to(ground.resolve()):
        raise BurnishError(f"{file} lies behind a link that leads elsewhere.", hint="Put a plain file or folder there.")
    file = file.resolve()
    fresh = file.with_name(f".{file.name}.{os.getpid()}.new")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_text(text, "utf-8", newline="")
        if file.exists():
            fresh.chmod(file.stat().st_mode & 0o777)
        fresh.replace(file)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise BurnishError(
            f"Cannot write {file}: {error.strerror}.", hint="Check the permissions and the free disk space."
        ) from error
