"""Parses the command of a check and finds the test runner that it starts, if it is one simple command."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from burnish.regular_files import read_regular

Command = str | tuple[str, ...]

# One word without shell syntax. Globs are accepted, since the words keep their place.
_WORD = re.compile(r"(?:'[^'\n]*'|\"[^\"$`\\\n]*\"|[^\s'\"\\;|&<>()$`#\n])+")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.S)
_CD = re.compile(r"\s*cd\s+([\w./@+-]+|'[^'\n]*')\s*&&\s*")
# Installs other Maven projects of the repository without running their tests.
_INSTALLS = re.compile(r"\s*(?:[\w.-]*/)?mvnw?\s[\w./:=@+ -]*\sinstall\s[\w./:=@+ -]*-DskipTests(?:=true)?\s+&&\s*")
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
# prefix → options that take a value
_PREFIXES: dict[tuple[str, ...], frozenset[str]] = {
    ("uv", "run"): frozenset(
        {"--with", "--python", "-p", "--extra", "--group", "--package", "--project", "--env-file"}
    ),
    ("poetry", "run"): frozenset(),
    ("pdm", "run"): frozenset(),
    ("pipenv", "run"): frozenset(),
    ("hatch", "run"): frozenset(),
    ("rye", "run"): frozenset(),
    ("npx",): frozenset(),
    ("pnpm", "exec"): frozenset(),
    ("yarn", "exec"): frozenset(),
    ("bunx",): frozenset(),
    ("bun", "x"): frozenset(),
    ("cross-env",): frozenset(),
    ("nyc",): frozenset(
        {"-r", "--reporter", "-x", "--exclude", "-n", "--include", "-e", "--extension", "--report-dir"}
    ),
    ("c8",): frozenset({"-r", "--reporter", "-x", "--exclude", "-n", "--include", "-o", "--reports-dir", "--src"}),
}
_SCRIPT_RUNNERS = ("npm", "pnpm", "yarn", "bun")
_TEST_WORDS = ("test", "t", "tst")
_PNPM_RUN = ("run", "test")
# Options that start the scripts of other packages.
_OTHER_PACKAGES = re.compile(r"-(?:-workspaces?|-ws|-recursive|-filter(?:-prod)?|-prefix|-dir|-cwd|ws|[wrFC])(?:=.*)?")


@dataclass(frozen=True, slots=True)
class Word:
    text: str
    # The position in the shell line, or the index in a list.
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class CommandLine:
    """One simple command; `program` is the index of the word that is the test runner itself."""

    command: Command
    words: tuple[Word, ...]
    program: int
    # the folder it runs in, from the tree's root
    folder: str = "."
    # The script of package.json that it starts, and what must precede further arguments.
    script: CommandLine | None = None
    separator: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(word.text for word in self.words)

    @property
    def name(self) -> str:
        return PurePosixPath(self.words[self.program].text).name

    @property
    def arguments(self) -> tuple[str, ...]:
        return self.texts[self.program + 1 :]

    def insert(self, position: int, options: tuple[str, ...]) -> Command:
        """The command with more words after the word at `position`."""
        at = self._pnpm_test
        if isinstance(self.command, tuple):
            start = self.command[: position + 1]
            if at is not None and at <= position:
                start = (*start[:at], *_PNPM_RUN, *start[at + 1 :])
            return (*start, *options, *self.command[position + 1 :])
        end = self.words[position].end
        text = self.command[:end]
        if at is not None and at <= position:
            word = self.words[at]
            text = f"{text[: word.start]}{' '.join(_PNPM_RUN)}{text[word.end :]}"
        return f"{text} {shlex.join(options)}{self.command[end:]}"

    @property
    def _pnpm_test(self) -> int | None:
        """The position of `test` in `pnpm test`, which takes options for its own; `pnpm run test` passes them on."""
        if self.name != "pnpm" or self.script is None:
            return None
        first = next(positionals(self, after=self.program), None)
        return first if first is not None and self.words[first].text in _TEST_WORDS else None

    def without(self, positions: frozenset[int]) -> CommandLine:
        """The command without the words at these positions."""
        command: Command
        if isinstance(self.command, tuple):
            command = tuple(word for n, word in enumerate(self.command) if n not in positions)
        else:
            text = self.command
            for n in sorted(positions, reverse=True):
                text = text[: self.words[n].start].rstrip() + text[self.words[n].end :]
            command = text
        again = split_command(command)
        assert again is not None
        words, folder = again
        return CommandLine(command, words, self.program, folder, self.script, self.separator)


def parse_command(command: Command, root: Path | None) -> CommandLine | None:
    """None where the shell does more than start one program."""
    split = split_command(command)
    if split is None:
        return None
    words, folder = split
    position = _skip_prefixes([word.text for word in words])
    if position is None:
        return None
    line = CommandLine(command, words, position, folder)
    return _with_script(line, root) if line.name in _SCRIPT_RUNNERS else line


def split_command(command: Command) -> tuple[tuple[Word, ...], str] | None:
    if isinstance(command, tuple):
        return tuple(Word(text, n, n) for n, text in enumerate(command)), "."
    folder, at = ".", 0
    if match := _CD.match(command):
        folder, at = match[1].strip("'"), match.end()
    while match := _INSTALLS.match(command, at):
        at = match.end()
    words: list[Word] = []
    for match in _WORD.finditer(command, at):
        if command[at : match.start()].strip(" \t"):
            return None
        words.append(Word(_unquoted(match[0]), match.start(), match.end()))
        at = match.end()
    return (tuple(words), folder) if words and not command[at:].strip() else None


def _unquoted(text: str) -> str:
    return re.sub(r"'([^']*)'|\"([^\"]*)\"", lambda match: match[1] or match[2] or "", text)


def _skip_prefixes(texts: list[str]) -> int | None:
    """The index of the program: behind assignments, environment managers, coverage tools and `python -m`."""
    at, start = 0, -1
    while start < at:
        start = at
        while at < len(texts) and _ASSIGNMENT.fullmatch(texts[at]):
            at += 1
        at = _skip_manager(texts, at)
    if at >= len(texts):
        return None
    if not _PYTHON.fullmatch(PurePosixPath(texts[at]).name):
        return at
    at += 1
    while at < len(texts) and texts[at].startswith("-") and texts[at] != "-m":
        at += 2 if texts[at] in ("-W", "-X") else 1
    if at < len(texts) and texts[at] == "-m":
        at += 1
    return at if at < len(texts) else None


def _skip_manager(texts: list[str], at: int) -> int:
    for prefix, value_options in _PREFIXES.items():
        if tuple(texts[at : at + len(prefix)]) == prefix:
            at += len(prefix)
            while at < len(texts) and texts[at].startswith("-"):
                at += 2 if texts[at] in value_options else 1
            return at
    return at


def _with_script(line: CommandLine, root: Path | None) -> CommandLine | None:
    """Resolves `npm test` to its script; None unless that is one simple command without pre and post scripts."""
    own = line.arguments[: line.arguments.index("--")] if "--" in line.arguments else line.arguments
    if any(_OTHER_PACKAGES.fullmatch(word) for word in own):
        return None
    name = _script_name(line)
    scripts = _scripts(root / line.folder) if root and name else {}
    script = scripts.get(name or "")
    if not script or any(f"{when}{name}" in scripts for when in ("pre", "post")):
        return None
    inner = parse_command(script, None)
    if inner is None or inner.name in _SCRIPT_RUNNERS:
        return None
    separator = "--" if line.name == "npm" and "--" not in line.arguments else ""
    return CommandLine(line.command, line.words, line.program, line.folder, inner, separator)


def _script_name(line: CommandLine) -> str | None:
    words = [word for word in line.arguments if not word.startswith("-")]
    if words[:1] in (["run"], ["run-script"]):
        return words[1] if len(words) > 1 else None
    if line.name in ("npm", "pnpm") and words[:1] in [[word] for word in _TEST_WORDS]:
        return "test"
    return "test" if line.name == "yarn" and words[:1] == ["test"] else None


def _scripts(folder: Path) -> dict[str, str]:
    try:
        package = json.loads(read_regular(folder / "package.json", longest=1024 * 1024) or b"")
        scripts = package.get("scripts", {})
        return {str(name): str(text) for name, text in scripts.items()}
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}


def positionals(line: CommandLine, *, after: int) -> Iterator[int]:
    """Indexes of the words behind `after` that are not options."""
    return (n for n in range(after + 1, len(line.words)) if not line.words[n].text.startswith("-"))


# -- uncommitted files ----------------------------------------------------------------------------
# Detects commands that check only uncommitted files: on a commit they find nothing and pass. Also those that test only
# what the last commit changed: what an earlier commit of the task broke passes.

# The words of one command, up to the next command of the shell line.
_REST = r"(?=((?:[^;&|\n])*))"


@dataclass(frozen=True, slots=True)
class _Selection:
    command: re.Pattern[str]
    # Options that select files in another way.
    other: re.Pattern[str]
    advice: str
    reason: str = "It checks only uncommitted files, and a commit has none."


def _selection(command: str, other: str, advice: str) -> _Selection:
    return _Selection(re.compile(command + _REST), re.compile(other), advice)


# `test -z "$(git diff --name-only)"` asks whether a command before it changed files.
_NOT_COMPARED = r"(?<!-z \"\$\()(?<!-z \$\()"
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
        _NOT_COMPARED
        + r"\bgit\s+diff(?=[^;&|)`\n]*\s--name-(?:only|status)\b)(?:\s+-\S+)*(?:\s+HEAD(?![\w~^@.]))?(?:\s+-\S+)*"
        r"(?:(?<=\s--)\s+[^;&|)`\n]+)?\s*(?=[|)`]|$)",
        r"--(?:exit-code|quiet)\b",
        "List all files (`git ls-files`), or compare with a commit.",
    ),
    _selection(
        _NOT_COMPARED + r"\bgit\s+ls-files\b(?=[^;&|)`\n]*\s(?:-[a-z]*[mo][a-z]*|--modified|--others)(?!\S))",
        r"(?<!\S)(?:-[a-z]*c[a-z]*|--cached)(?!\S)",
        "List all files: `git ls-files`.",
    ),
    _selection(r"(?<![\w./-])darker\b(?=\s)", r"(?<!\S)(?:-r|--revision)\b", "Name a commit: `--revision`."),
    _selection(r"\bgit[\s-]clang-format\b", r"clang-format\s+(?:-\S+\s+)*[\w./]", "Run clang-format on all files."),
    _selection(
        r"\bnx\s+affected\b(?=[^;&|\n]*\s--(?:uncommitted|untracked)\b)", r"(?!)", "Test all: `nx run-many -t test`."
    ),
    _Selection(
        re.compile(r"\bjest\b(?=[^;&|\n]*\s--lastCommit(?!\S))" + _REST),
        re.compile(r"(?!)"),
        "Remove --lastCommit.",
        "It tests only what the last commit changed, and a task may have several commits.",
    ),
    _Selection(
        re.compile(
            r"\b(?:nx|turbo|lerna|pnpm|rush|moon)\b"
            r"(?=[^;&|\n]*(?:\[HEAD\b|\s--(?:base|since|filter|from)[= ]\S*HEAD[~^@]))" + _REST
        ),
        re.compile(r"(?!)"),
        "Test all packages: `nx run-many -t test`, `turbo run test`, `pnpm -r test`.",
        "It tests only packages that the last commit changed, and a task may have several commits.",
    ),
)

# Behind scripts only these count: other commands may look at uncommitted files for other reasons.
_OF_TESTS = tuple(one for one in _SELECTIONS if re.match(r"\\b(?:\(\?:nx|nx|jest|vitest|pytest)", one.command.pattern))


def uncommitted_only(command: Command, root: Path) -> str:
    """Why this command checks nothing in a commit, with a hint; "" if it checks files."""
    texts = [command if isinstance(command, str) else " ".join(command)]
    line = parse_command(command, root)
    if line and line.script:
        texts.append(" ".join((*line.script.texts, *line.arguments)))
    started_texts = [] if line and line.script else _started_texts(command, root)
    for text, selections in (*((text, _SELECTIONS) for text in texts), *((one, _OF_TESTS) for one in started_texts)):
        for one in selections:
            for found in one.command.finditer(text):
                if not one.other.search(found[0] + found[1]):
                    return f"{one.reason} {one.advice}"
    return ""


def _started_texts(command: Command, root: Path) -> list[str]:
    """What a command starts by name: scripts of package.json, recipes of a Makefile, a shell script."""
    split = split_command(command)
    if split is None:
        return []
    words, folder = split
    position = _skip_prefixes([word.text for word in words])
    if position is None:
        return []
    line = CommandLine(command, words, position, folder)
    if line.name in _SCRIPT_RUNNERS:
        scripts = _scripts(root / folder)
        return [scripts[name] for name in _reached(_script_name(line) or "", scripts)]
    arguments = [word for word in line.arguments if not word.startswith("-")]
    if line.name in ("make", "gmake"):
        text = next(filter(None, (_text(root / folder / name) for name in ("GNUmakefile", "Makefile", "makefile"))), "")
        recipes = dict(re.findall(r"^([\w.-]+)[ \t]*:(?![:=])(.*(?:\n\t.*)*)", text, re.M))
        return [recipes[name] for name in _reached(arguments[0] if arguments else "", recipes)]
    is_shell = line.name in ("sh", "bash", "dash", "zsh")
    script = arguments[0] if is_shell and arguments else line.texts[position]
    return [_text(root / folder / script)] if script.endswith(".sh") or is_shell else []


def _reached(name: str, scripts: dict[str, str]) -> list[str]:
    """The scripts that one names, directly or not, with itself."""
    found: list[str] = []
    pending = [name]
    while pending:
        one = pending.pop()
        if one in scripts and one not in found:
            found.append(one)
            pending += re.findall(r"[^\s'\"\\;&|()]+", scripts[one])
    return found


def _text(path: Path) -> str:
    try:
        return (read_regular(path, longest=1024 * 1024) or b"").decode("utf-8", "replace")
    except OSError:
        return ""
