"""`@path` in a prompt: several programs replace it by that file, outside of the fence, before the model is asked.

A reviewer's prompt quotes the change, so its author would choose files to be attached, also from outside of the
repository. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# Claude Code then attaches nothing; other programs ignore the variable.
NO_ATTACHMENTS = {"CLAUDE_CODE_DISABLE_ATTACHMENTS": "1"}
_NOTE = (
    "(In this message each at sign has a backslash before it: `\\@`. "
    "In the files, and in your answer, it stands alone.)\n\n"
)
# A program takes one with a backslash before it as a plain letter.
_MENTION = re.compile(r"(?<!\\)@")
_ESCAPED = re.compile(r"\\{1,2}@")


# Programs without an adapter that replace `@path` in their prompt, by the names of their commands and packages.
_OTHERS = ("kilo", "kilocode", "codebuff", "auggie", "iflow", "kimi", "kimi-cli")
# names that are also usual words, so that they count in a command line only
_ALSO_WORDS = ("cursor", "amp", "roo", "droid", "continue", "cn", "crush", "goose", "vibe", "kiro", "kiro-cli")


def replaces_mentions(command: Iterable[str], scripts: Iterable[str], names: Iterable[str]) -> bool:
    """Whether a command line, or the text of a script, names such a program. `names`: those that have an adapter."""
    distinct = (*names, *_OTHERS)
    in_command, in_script = _any_of(*distinct, *_ALSO_WORDS), _any_of(*distinct)
    return any(map(in_command.search, command)) or any(map(in_script.search, scripts))


def _any_of(*names: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z0-9_-])(?:{'|'.join(map(re.escape, names))})(?![a-z0-9_-])", re.IGNORECASE)


def without_mentions(prompt: str) -> str:
    """The prompt of a reviewer for a program that attaches files and has no setting against it."""
    return _NOTE + _MENTION.sub(r"\\@", prompt) if "@" in prompt else prompt


def plain_answer(answer: str, *, prompt: str) -> str:
    """What the model quoted, without the backslashes. `prompt`: what was written to the program."""
    return _ESCAPED.sub("@", answer) if prompt.startswith(_NOTE) else answer
