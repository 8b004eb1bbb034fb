"""`review.slash_command`: where the command's text is. burnish fills it in itself, so that every agent can be given it.

Claude Code finds a project's commands only where it also takes the project's settings and hooks, which a reviewer must
not; and it would send the whole request twice.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from burnish.config.settings import Config
from burnish.errors import BadInput

# as `own_prompts` names them
REVIEW, PARSE = "command:review", "command:parse"
PARSER = "/parse-review"
_NAME = re.compile(r"/?([\w-]+(?::[\w-]+)*)")


def commands(config: Config, root: Path | None, env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The texts of the review command and, where it stands beside it, of the one that reads reviews.

    Without a `root`, which is a checkout that is trusted, only the user's own commands.
    """
    wanted = config.review.slash_command
    if not wanted:
        return {}
    where = f"review.slash_command ({config.origin('review.slash_command')})"
    name = _NAME.fullmatch(wanted)
    if not name:
        raise BadInput(f"{where} cannot be {wanted!r}.", hint="Write the command's name alone, e.g. /review-task.")
    text = _text(name[1], root, env)
    if text is None:
        raise BadInput(
            f"{where}: there is no {wanted} in .claude/commands, of this project or your own.",
            hint="`burnish init --slash` writes /review-task; or correct the setting.",
        )
    parser = _text(PARSER.removeprefix("/"), root, env)
    return {REVIEW: text, **({PARSE: parser} if parser is not None else {})}


def _text(name: str, root: Path | None, env: Mapping[str, str]) -> str | None:
    """The project's, from its checkout and never from the change; else the user's own."""
    for folder in _folders(root, env):
        file = folder.joinpath(*name.split(":")).with_suffix(".md")
        if file.is_file():
            return file.read_text("utf-8", "replace")
    return None


def _folders(root: Path | None, env: Mapping[str, str]) -> Iterator[Path]:
    if root is not None:
        yield root / ".claude" / "commands"
    yield Path(env.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude") / "commands"
