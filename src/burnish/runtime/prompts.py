"""The user's own prompts; those of the project override those of the user."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from burnish.config.repository import PARSER, command_file, name_in, read_accepted
from burnish.config.settings import Config
from burnish.errors import BadInput, NotFound
from burnish.review import context, fix_prompt, implement_prompt
from burnish.review.templates import check, shipped

NAMES = ("review.system", "review.template", "fix.template", "implement.template")
MAX_PROMPT_BYTES = 10_000_000
SHIPPED, USER, PROJECT, REVIEWER = "shipped", "user", "project", "reviewer"


@dataclass(frozen=True, slots=True)
class Prompt:
    """The effective prompt."""

    name: str
    origin: str
    text: str
    # Its path; None if it was installed with burnish.
    path: Path | None = None
    # The user has an own text, but it is disabled.
    switched_off: bool = False


def folder(root: Path, user_folder: Path, *, everywhere: bool) -> Path:
    return user_folder / "prompts" if everywhere else root / ".burnish" / "prompts"


def file_of(name: str, root: Path, user_folder: Path, *, everywhere: bool) -> Path:
    return folder(root, user_folder, everywhere=everywhere) / f"{require_name(name)}.md"


def require_name(name: str) -> str:
    if name not in NAMES:
        raise NotFound(f"There is no prompt {name!r}.", hint=f"Known prompts: {', '.join(NAMES)}.")
    return name


def in_force(
    name: str, config: Config, root: Path, user_folder: Path, *, trusted: bool, accepted_files: Mapping[str, str]
) -> Prompt:
    """The project's text if its checkout is trusted, else the user's, else the default of burnish."""
    require_name(name)
    off = any(one == name and not switch.enabled for one, switch in config.prompts.items())
    for origin, everywhere in ((PROJECT, False), (USER, True)) if trusted else ((USER, True),):
        file = file_of(name, root, user_folder, everywhere=everywhere)
        if file.is_file():
            if off:
                return Prompt(name, SHIPPED, shipped(name), switched_off=True)
            return Prompt(name, origin, _text(root, file, accepted_files, mine=everywhere), file)
    return Prompt(name, SHIPPED, shipped(name), switched_off=off)


def _text(root: Path, file: Path, accepted_files: Mapping[str, str], *, mine: bool) -> str:
    """The text of a user's file, or of a file in the checkout, as it was accepted."""
    if mine:
        return file.read_text("utf-8", "replace")
    name = name_in(root, str(file))
    data = read_accepted(root, name, accepted_files, longest=MAX_PROMPT_BYTES)
    if data is None:
        raise BadInput(
            f"The prompt {name} is not a regular file of this repository, or a link that leads out of it.",
            hint="Replace it by a copy, or check it with `burnish trust --show`.",
        )
    return data.decode("utf-8", "replace")


def reviewers_own(config: Config, root: Path, *, trusted: bool, accepted_files: Mapping[str, str]) -> list[Prompt]:
    """The prompt files of reviewers and pipeline steps; those in the checkout only if it is trusted."""
    entries = [*config.review.agents, *(a for step in config.pipeline for a in step.agents)]
    paths = [e.prompt for e in entries] + [step.prompt for step in config.pipeline]
    found = []
    for path in dict.fromkeys(p for p in paths if p):
        file = root / path
        if not trusted and not Path(path).is_absolute():
            raise BadInput(
                f"The reviewer's prompt {path} is part of this checkout, which is not trusted.",
                hint="`burnish trust --show` lists what it would run, `burnish trust` accepts it.",
            )
        if not file.is_file():
            raise BadInput(
                f"The reviewer's prompt {path} does not exist.", hint="Create the file, or correct review.agents."
            )
        found.append(Prompt(path, REVIEWER, _text(root, file, accepted_files, mine=False), file))
    return found


def variables(name: str) -> frozenset[str]:
    """The variables that this prompt may use."""
    if name == "fix.template":
        return fix_prompt.variable_names()
    return implement_prompt.variable_names() if name == "implement.template" else context.variable_names()


def refuse_unknown(prompt: Prompt) -> None:
    """Raise for a prompt with unknown variables, before anything is paid for."""
    if prompt.path is not None:
        check(prompt.text, variables(prompt.name), whose=f"{prompt.name} ({prompt.path})", name=prompt.name)


def own_prompts(
    config: Config,
    root: Path,
    user_folder: Path,
    *,
    trusted: bool,
    accepted_files: Mapping[str, str],
    instead: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Name → text of every prompt that is not the shipped one; reviewers' files as `reviewer:<path>`, slash
    commands as `command:<role>`.

    `accepted_files`: the files of the checkout as they were examined; another content of them is refused.
    `instead`: texts to use instead of the stored ones.
    """
    overrides = instead or {}
    prompts = [
        in_force(name, config, root, user_folder, trusted=trusted, accepted_files=accepted_files)
        for name in NAMES
        if name not in overrides
    ]
    own = [p for p in prompts if p.path] + reviewers_own(config, root, trusted=trusted, accepted_files=accepted_files)
    for prompt in own:
        refuse_unknown(prompt)
    texts = {f"reviewer:{p.name}" if p.origin == REVIEWER else p.name: p.text for p in own}
    return texts | slash_commands(config, root if trusted else None, accepted_files=accepted_files) | dict(overrides)


# -- slash command --------------------------------------------------------------------------------
# `review.slash_command`: finds the command's text. burnish expands it itself, so that every agent can use it.
#
# Claude Code finds a project's commands only if it also loads the project's settings and hooks, which a reviewer must
# not; and it would send the whole request twice.

# as `own_prompts` names them
REVIEW, PARSE = "command:review", "command:parse"
MAX_COMMAND_BYTES = 10_000_000
_NAME = re.compile(r"/?([\w-]+(?::[\w-]+)*)")


def slash_commands(
    config: Config,
    root: Path | None,
    env: Mapping[str, str] = os.environ,
    *,
    accepted_files: Mapping[str, str],
) -> dict[str, str]:
    """The texts of the review command and, if it exists, of the command that reads reviews.

    Without a `root`, which is a checkout that is trusted, only the user's own commands.
    `accepted_files`: its files as they were examined.
    """
    command = config.review.slash_command
    if not command:
        return {}
    where = f"review.slash_command ({config.origin('review.slash_command')})"
    name = _NAME.fullmatch(command)
    if not name:
        raise BadInput(f"{where} cannot be {command!r}.", hint="Use only the command's name, e.g. /review-task.")
    text = _command_text(name[1], root, env, accepted_files)
    if text is None:
        raise BadInput(
            f"{where}: there is no {command} in .claude/commands, of this project or your own.",
            hint="`burnish init --slash` writes /review-task; or correct the setting.",
        )
    parser = _command_text(PARSER, root, env, accepted_files)
    return {REVIEW: text, **({PARSE: parser} if parser is not None else {})}


def _command_text(
    name: str, root: Path | None, env: Mapping[str, str], accepted_files: Mapping[str, str]
) -> str | None:
    """The project's command, from its checkout and never from the change; else the user's."""
    if root is not None:
        data = read_accepted(root, command_file(name), accepted_files, longest=MAX_COMMAND_BYTES)
        if data is not None:
            return data.decode("utf-8", "replace")
    folder = Path(env.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude") / "commands"
    file = folder.joinpath(*name.split(":")).with_suffix(".md")
    return file.read_text("utf-8", "replace") if file.is_file() else None
