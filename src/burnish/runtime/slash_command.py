"""`review.slash_command`: finds the command's text. burnish expands it itself, so that every agent can use it.

Claude Code finds a project's commands only if it also loads the project's settings and hooks, which a reviewer must
not; and it would send the whole request twice.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from burnish.config.named_files import PARSER, command_file
from burnish.config.repository import read_accepted
from burnish.config.settings import Config
from burnish.errors import BadInput

# as `own_prompts` names them
REVIEW, PARSE = "command:review", "command:parse"
LARGEST = 10_000_000
_NAME = re.compile(r"/?([\w-]+(?::[\w-]+)*)")


def commands(
    config: Config, root: Path | None, env: Mapping[str, str] = os.environ, *, outside: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The texts of the review command and, if it exists, of the command that reads reviews.

    Without a `root`, which is a checkout that is trusted, only the user's own commands.
    `outside`: accepted links that leave it.
    """
    command = config.review.slash_command
    if not command:
        return {}
    where = f"review.slash_command ({config.origin('review.slash_command')})"
    name = _NAME.fullmatch(command)
    if not name:
        raise BadInput(f"{where} cannot be {command!r}.", hint="Use only the command's name, e.g. /review-task.")
    text = _text(name[1], root, env, outside or {})
    if text is None:
        raise BadInput(
            f"{where}: there is no {command} in .claude/commands, of this project or your own.",
            hint="`burnish init --slash` writes /review-task; or correct the setting.",
        )
    parser = _text(PARSER, root, env, outside or {})
    return {REVIEW: text, **({PARSE: parser} if parser is not None else {})}


def _text(name: str, root: Path | None, env: Mapping[str, str], outside: Mapping[str, str]) -> str | None:
    """The project's command, from its checkout and never from the change; else the user's."""
    if root is not None:
        data = read_accepted(root, command_file(name), outside, longest=LARGEST)
        if data is not None:
            return data.decode("utf-8", "replace")
    folder = Path(env.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude") / "commands"
    file = folder.joinpath(*name.split(":")).with_suffix(".md")
    return file.read_text("utf-8", "replace") if file.is_file() else None
