"""Syntax alone, by parsers that load no code and no settings of the repository: node, the shell, gofmt.

They stand in where an analyser is left out because it would run the repository's own code.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from burnish.checks.scanners.base import Ground, Said, Seen, call, line_number
from burnish.core.finding import Category, Remark, Severity

SYNTAX = "syntax-error"
# One process for each file: more than this is left to people.
MOST_FILES = 200


@dataclass(frozen=True, slots=True)
class Parser:
    """`argv` parses one file and prints where it stops: `place` finds the line, `words` the reason."""

    name: str
    endings: tuple[str, ...]
    # the first that is installed
    programs: tuple[tuple[str, ...], ...]
    place: re.Pattern[str]
    words: re.Pattern[str]
    # not an error of the file: another dialect, or another way to load it
    doubtful: re.Pattern[str] | None = None
    executes: bool = False

    def wants(self, path: str) -> bool:
        return path.endswith(self.endings)

    def scan(self, ground: Ground, paths: tuple[str, ...]) -> Seen:
        argv = next((found for words in self.programs if (found := _located(words, ground))), None)
        if argv is None:
            return Seen()
        notes = (f"{self.name}: only the first {MOST_FILES} files were parsed",) if len(paths) > MOST_FILES else ()
        remarks: list[Remark] = []
        for number, path in enumerate(paths[:MOST_FILES]):
            said = call(ground, f"{self.name}-{number}", (*argv, f"./{path}"))
            if said.exit_code and not said.trouble and (remark := self._remark(path, said)):
                remarks.append(remark)
        return Seen(tuple(remarks), notes)

    def _remark(self, path: str, said: Said) -> Remark | None:
        text = said.stderr or said.stdout
        place, words = self.place.search(text), self.words.search(text)
        line = line_number(int(place[1])) if place else None
        if line is None or words is None or (self.doubtful and self.doubtful.search(text)):
            return None
        title = words[1].strip()[:200]
        why = f"{self.name} cannot read this file: nothing in it can run."
        return Remark(
            Category.CODE, Severity.ERROR, title, why, file=path, line=line, end_line=line, rule=SYNTAX, source="static"
        )


def _located(words: tuple[str, ...], ground: Ground) -> tuple[str, ...] | None:
    program = shutil.which(words[0], path=ground.env.get("PATH"))
    # a program of the reviewed files or of the checkout would be the repository's own code
    if program is None or any(Path(program).is_relative_to(place) for place in (ground.files, ground.checkout)):
        return None
    return (program, *words[1:])


NODE = Parser(
    "node",
    (".js", ".mjs", ".cjs"),
    (("node", "--check"),),
    place=re.compile(r"^\S.*?:(\d+)$", re.MULTILINE),
    words=re.compile(r"^SyntaxError: (.+)$", re.MULTILINE),
    # JSX and Flow, or a module in a file that node takes for a script
    doubtful=re.compile(r"token '<'|outside a module|token 'export'|await is only valid|strict mode reserved word"),
)
SHELL = Parser(
    "shell",
    (".sh", ".bash"),
    (("bash", "-n"), ("sh", "-n")),
    place=re.compile(r":(?: line)? (\d+): "),
    words=re.compile(r":(?: line)? \d+: ([Ss]yntax error.*)"),
)
GOFMT = Parser(
    "gofmt",
    (".go",),
    (("gofmt", "-e", "-l"),),
    place=re.compile(r"\.go:(\d+):\d+: "),
    words=re.compile(r"\.go:\d+:\d+: (.+)"),
)
PARSERS = (NODE, SHELL, GOFMT)
