"""Detects commands that check only uncommitted files: on a commit they find nothing and pass."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from burnish.checks.command_line import Command, parse_command

# The words of one command, up to the next command of the shell line.
_REST = r"(?=((?:[^;&|\n])*))"


@dataclass(frozen=True, slots=True)
class _Selection:
    command: re.Pattern[str]
    # Options that select files in another way.
    other: re.Pattern[str]
    advice: str


def _selection(command: str, other: str, advice: str) -> _Selection:
    return _Selection(re.compile(command + _REST), re.compile(other), advice)


_ALL_FILES = "Check all files: `{0} --all-files`."
_SELECTIONS = (
    _selection(
        r"\bpre-commit\s+run\b",
        r"(?<!\S)(?:-a|--all-files|--files|--from-ref|--to-ref|-s|-o|--source|--origin)\b",
        _ALL_FILES.format("pre-commit run"),
    ),
    _selection(
        r"\blefthook\s+run\s+\S+",
        r"(?<!\S)--(?:all-files|files?|files-from-stdin)\b",
        _ALL_FILES.format("lefthook run pre-commit"),
    ),
    _selection(r"(?<![\w./-])lint-staged\b", r"(?<!\S)--(?:diff|help)\b", "Run the linters directly."),
    _selection(r"\bjest\b(?=[^;&|\n]*\s(?:-o|--onlyChanged)(?!\S))", r"--changedSince\b", "Remove --onlyChanged."),
    _selection(r"\bvitest\b(?=[^;&|\n]*\s--changed(?:\s+-|\s*$|\s*[;&|]))", r"(?!)", "Remove --changed."),
    _selection(r"\bpytest\b(?=[^;&|\n]*\s--picked(?!\S))", r"--mode[= ]branch\b", "Remove --picked."),
    _selection(
        r"\bgit\s+diff(?=(?:\s+-\S+)*\s+--name-(?:only|status)\b)(?:\s+-\S+)*\s*(?=[|)`]|$)",
        r"--(?:exit-code|quiet)\b",
        "List all files (`git ls-files`), or compare with a commit.",
    ),
)


def uncommitted_only(command: Command, root: Path) -> str:
    """Why this command checks nothing in a commit, with a hint; "" if it checks files."""
    texts = [command if isinstance(command, str) else " ".join(command)]
    line = parse_command(command, root)
    if line and line.script:
        texts.append(" ".join((*line.script.texts, *line.arguments)))
    for text in texts:
        for one in _SELECTIONS:
            for found in one.command.finditer(text):
                if not one.other.search(found[0] + found[1]):
                    return f"It checks only uncommitted files, and a commit has none. {one.advice}"
    return ""
