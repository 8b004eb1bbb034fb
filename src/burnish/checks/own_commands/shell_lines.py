"""Splits a line of shell text into simple commands, as far as that can be done without running it. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"(?P<space>[ \t\r]+)|(?P<comment>(?<!\S)\#[^\n]*)|(?P<redirect>\d*(?:>>?|<)&?[ \t]*(?:[^\s;|&()<>]+|$))"
    r"|(?P<operator>&&|\|\||;;|[;|&()\n])"
    r"|(?P<word>(?:'[^']*'|\"(?:[^\"\\]|\\.|\\\n)*\"|\\.|\$\((?:'[^']*'|\"(?:[^\"\\]|\\.)*\"|[^()'\"]|\((?:'[^']*'|[^()'])*\))*\)|`[^`]*`|[^\s'\"\\;|&()<>`])+)|(?P<other>.)",
    re.S,
)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.S)
# Words of the shell before a command, and those that begin a structure.
_BEFORE_COMMAND = frozenset(("then", "else", "do", "{", "!", "time", "exec", "command", "if", "elif", "while", "until"))
_STRUCTURE = frozenset(
    ("if", "for", "while", "until", "case", "then", "else", "elif", "fi", "do", "done", "esac", "{", "}")
)
_MAX_COMMANDS = 200
_MAX_CHARACTERS = 20_000


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """One command without the assignments before it; its words are unquoted."""

    words: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    text: str


@dataclass(slots=True)
class ShellLine:
    commands: list[SimpleCommand] = field(default_factory=list)
    # It does more than start one command after the other: loops, conditions, pipes, functions.
    is_structured: bool = False


def split_line(line: str) -> ShellLine:
    """The commands of a line. Structured lines list the commands that they may start."""
    result = ShellLine()
    line = line.replace("\\\n", " ")
    start, end, words = -1, 0, list[str]()
    for match in _TOKEN.finditer(line[:_MAX_CHARACTERS] + "\n"):
        kind = match.lastgroup
        if kind == "word":
            start = match.start() if start < 0 else start
            end = match.end()
            words.append(match[0])
        elif kind == "redirect" and start >= 0:
            end = match.end()
        elif kind == "operator":
            result.is_structured |= match[0] not in ("&&", ";", "\n")
            if words and len(result.commands) < _MAX_COMMANDS:
                _add(result, words, line[start:end])
            start, words = -1, []
        elif kind == "other":
            result.is_structured = True
    return result


def _add(line: ShellLine, words: list[str], text: str) -> None:
    while words and words[0] in _STRUCTURE | _BEFORE_COMMAND:
        line.is_structured |= words[0] in _STRUCTURE
        if words[0] in ("for", "case"):
            return
        text = text[len(words[0]) :].lstrip()
        words = words[1:]
    env: list[tuple[str, str]] = []
    if words and words[0] == "env" and len(words) > 1 and _ASSIGNMENT.fullmatch(words[1]):
        text = text[len("env") :].lstrip()
        words = words[1:]
    while words and (match := _ASSIGNMENT.fullmatch(words[0])):
        env.append((match[1], unquoted(match[2])))
        text = text[len(words[0]) :].lstrip()
        words = words[1:]
    if words or env:
        line.commands.append(SimpleCommand(tuple(map(unquoted, words)), tuple(env), text))


def unquoted(text: str) -> str:
    def plain(match: re.Match[str]) -> str:
        if match[1] is not None:
            return match[1]
        if match[2] is not None:
            return re.sub(r"\\([\"\\$`])", r"\1", match[2])
        return match[3]

    return re.sub(r"'([^']*)'|\"((?:[^\"\\]|\\.)*)\"|\\(.)", plain, text, flags=re.S)
