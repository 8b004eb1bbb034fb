"""Resolves the test commands that a project writes down into single steps, through the files that they start. Pure.

Read are Makefiles, justfiles, Taskfiles, shell scripts, tox, nox, scripts of pyproject.toml and Pipfile, package.json
and Rakefiles. A step that cannot be resolved stays as it is written.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from burnish.checks.makefile import UNKNOWN, Makefile, read_makefile
from burnish.checks.own_commands.python_scripts import PythonScripts
from burnish.checks.own_commands.shell_lines import SimpleCommand, split_line
from burnish.checks.own_commands.task_files import TaskFile, read_justfile, read_taskfile
from burnish.checks.tools import ProjectFolder

# What people type to run all tests.
ENTRY_NAMES = ("test", "tests", "check", "ci", "verify", "test-all", "test_all", "testall", "all-tests", "validate")
_SCRIPT_ENTRIES = re.compile(
    r"(?:(?:scripts?|bin|ci|tools|hack|dev|\.?ci|build)/)?(?:run[-_]?)?(?:all[-_]?)?tests?(?:[-_]all)?(?:\.sh|\.bash)?"
    r"|(?:scripts?|bin|ci)/(?:check|ci|cibuild|verify)(?:\.sh|\.bash)?|(?:check|ci|verify)\.(?:sh|bash)"
    r"|(?:ci|tests?)/(?:run|run[-_]?(?:all|tests?))(?:\.sh|\.bash)?"
)
# Targets that prepare or measure something else than tests.
NOT_TESTS = re.compile(
    r"(?:.*[-_.:])?(?:lint(?:er|ers|ing)?|fmt|format(?:ting)?|vet|deps?|dependencies|tools?|install|setup|clean|help|build"
    r"|docker|check|style|types?|typing|typecheck|type-check|mypy|pyright|flake8|ruff|rubocop|standard|brakeman|reek|black|isort|pylint|docs?|venv|init"
    r"|dist|package|publish|release|audit|security|pre-?commit|bench(?:mark)?s?|cov(?:erage)?|changelog|(?:code)?spell(?:ing)?|downstream)"
    r"(?:[-_.:].*)?"
)
_SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh"))
_MANAGERS = frozenset(("uv", "poetry", "pdm", "pipenv", "hatch", "rye"))
_MAX_DEPTH = 8
_MAX_STEPS = 100
# Words of a script that mean its own folder.
_OWN_FOLDER = re.compile(
    r"\$\(\s*(?:cd\s+)?\"?\$?\(?\s*dirname\s+(?:--\s+)?\"?\$\{?(?:0|BASH_SOURCE(?:\[0\])?)\}?\"?\s*\)?\"?(?:\s*&&\s*pwd)?\s*\)"
    r"|\$\{(?:0|BASH_SOURCE(?:\[0\])?)%/\*\}"
)
_PLAIN_VALUE = re.compile(r"[\w./ :,=@%+-]*")
_RAKE_DEFAULT = re.compile(
    r"^\s*(?:multi)?task[ (]+(?::?default\b:?|['\"]default['\"])[ \t]*(?:=>|,)?[ \t]*"
    r"(\[[^\]]{0,500}\]|%[iw][\[(][^\])]{0,500}|[^\n]{0,500})",
    re.M,
)
_REPOSITORY = re.compile(r"\$\(\s*git rev-parse --show-toplevel\s*\)")


@dataclass(frozen=True, slots=True)
class CommandStep:
    """One command that a project's own test command starts."""

    words: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    text: str
    # from the root of the repository
    folder: str
    # what a person types, and the file that it is from
    entry: str
    file: str
    # The line around it, if that does more than start one command after the other.
    line: str = ""

    @property
    def is_unknown(self) -> bool:
        """True if a value in it is known only when it runs."""
        return UNKNOWN in self.text or any("$" in value or UNKNOWN in value for _, value in self.env)


@dataclass(frozen=True, slots=True)
class _Context:
    entry: str
    file: str
    folder: str
    env: Mapping[str, str]
    # the commands that are being resolved, against endless recursion
    above: tuple[str, ...] = ()
    # variables of the shell that are not new_env
    variables: Mapping[str, str] = field(default_factory=dict)


class OwnCommands:
    """The test commands that one folder writes down."""

    def __init__(self, place: ProjectFolder) -> None:
        self.place = place
        self._paths = frozenset(place.paths)

    def entries(self) -> Iterator[tuple[str, list[CommandStep]]]:
        """Each command that a person may type to run the tests, with its steps."""
        for command, file in self._entry_commands():
            yield command, self.steps_of(command, file)

    def steps_of(self, command: str, file: str) -> list[CommandStep]:
        context = _Context(command, file, self.place.folder, {})
        steps = self._resolve(SimpleCommand(tuple(command.split()), (), command), context)
        return list(dict.fromkeys(steps))[:_MAX_STEPS]

    def script_steps(self, text: str, file: str, folder: str, env: Mapping[str, str]) -> list[CommandStep]:
        """The steps of shell text that another file contains."""
        return self._lines_steps(_logical_lines(text), _Context(file, file, folder, env))[0][:_MAX_STEPS]

    def _entry_commands(self) -> Iterator[tuple[str, str]]:
        make, names = self.makefile, self.place.names
        yield from ((f"make {name}", make.name) for name in ENTRY_NAMES if name in make.rules)
        for start, tasks in (("just", self.justfile), ("task", self.taskfile)):
            yield from ((f"{start} {name}", tasks.name) for name in ENTRY_NAMES if name in tasks.tasks)
        for start, name, file in self.python.entries(ENTRY_NAMES):
            yield f"{start} {name}".strip(), file
        for path in sorted(path for path in self._paths if _SCRIPT_ENTRIES.fullmatch(path)):
            if self._is_shell_script(path) and not needs_arguments(self.place.read(path)):
                yield f"./{path}", path
        if "Rakefile" in names:
            yield "rake default", "Rakefile"
        scripts = self.scripts
        yield from ((f"npm run {name}", "package.json") for name in (*ENTRY_NAMES[2:], "test:all") if name in scripts)

    # -- one command -------------------------------------------------------------------------------

    def _resolve(self, command: SimpleCommand, context: _Context) -> Iterator[CommandStep]:
        """The steps of a command: those of the target or script that it starts, else the command itself."""
        env = {**context.env, **dict(command.env)}
        key = f"{context.folder}\0{' '.join(command.words)}"
        inner = None
        if key not in context.above and len(context.above) < _MAX_DEPTH and UNKNOWN not in command.text:
            inner = self._started(command.words, replace(context, env=env, above=(*context.above, key)))
        if inner is not None:
            yield from inner
        else:
            yield CommandStep(
                command.words, tuple(env.items()), command.text, context.folder, context.entry, context.file
            )

    def _started(self, words: tuple[str, ...], context: _Context) -> Iterable[CommandStep] | None:
        """The steps of what this command starts; None if this folder has no such command."""
        if context.folder != self.place.folder or not words:
            return None
        program, arguments = posixpath.basename(words[0]), list(words[1:])
        while program in _MANAGERS and arguments[:1] == ["run"] and arguments[1:2]:
            name = arguments[1]
            if self.python.commands(f"{program} run", name) is not None:
                return self._script_steps(f"{program} run", name, context)
            program, arguments = posixpath.basename(name), arguments[2:]
            words = (name, *arguments)
        if program in ("python", "python3") and arguments[:1] == ["-m"] and arguments[1:2] in (["tox"], ["nox"]):
            program, arguments = arguments[1], arguments[2:]
        match program:
            case "make" | "gmake":
                return self._make_steps(arguments, context)
            case "just":
                return self._task_steps(self.justfile, arguments, context)
            case "task" if self.taskfile.name:
                return self._task_steps(self.taskfile, arguments, context)
            case "tox" | "nox" | "poe" | "task" | "inv" | "invoke":
                return self._script_steps(program, " ".join(arguments), context)
            case "rake":
                return self._rake_steps(arguments, context)
            case "npm" | "pnpm" | "yarn" | "bun":
                return self._node_steps(program, arguments, context)
        path = arguments[0] if program in _SHELLS and len(arguments) == 1 else words[0]
        return self._shell_script(posixpath.normpath(path), context)

    def _lines_steps(self, lines: Iterable[str], context: _Context) -> tuple[list[CommandStep], _Context]:
        """The steps of lines in one shell, and the folder and variables after them."""
        steps: list[CommandStep] = []
        for raw_line in lines:
            line = _with_values(raw_line, {**context.variables, **context.env})
            shell_line = split_line(line)
            for command in shell_line.commands:
                if not command.words or command.words[0] in ("export", "declare", "set", "unset", "readonly", "local"):
                    # a value that a condition sets is not known
                    context = context if shell_line.is_structured else _assigned(context, command)
                    continue
                if command.words[0] in ("cd", "pushd") and len(command.words) > 1:
                    context = replace(context, folder=_below(context.folder, command.words[1]))
                    continue
                found = list(self._resolve(command, context))
                if shell_line.is_structured:
                    found = [replace(one, line=one.line or line) for one in found]
                steps += found
        return steps, context

    # -- make, just, task --------------------------------------------------------------------------

    @cached_property
    def makefile(self) -> Makefile:
        return read_makefile(self.place)

    @cached_property
    def justfile(self) -> TaskFile:
        return read_justfile(self.place)

    @cached_property
    def taskfile(self) -> TaskFile:
        return read_taskfile(self.place)

    def _make_steps(self, arguments: list[str], context: _Context) -> list[CommandStep] | None:
        make = self.makefile
        variables = dict(_assignment(word) for word in arguments if "=" in word and not word.startswith("-"))
        targets = [word for word in arguments if not word.startswith("-") and "=" not in word]
        if any(word.startswith(("-C", "-f")) for word in arguments) or not targets:
            return None
        if not all(target in make.rules for target in targets):
            return None
        if variables:
            make = replace(make, variables={**make.variables, **variables})
        steps: list[CommandStep] = []
        for target in targets:
            steps += self._target_steps(make, target, context, {target})
        return steps

    def _target_steps(
        self, make: Makefile, target: str, context: _Context, target_names: set[str]
    ) -> list[CommandStep]:
        steps: list[CommandStep] = []
        rule = make.rules[target]
        for source in rule.sources:
            if source in make.rules and source not in target_names and not NOT_TESTS.fullmatch(source):
                target_names.add(source)
                steps += self._target_steps(make, source, context, target_names)
        env = {**make.exported(target), **context.env}
        for line in rule.recipe:
            text = make.expand(line.lstrip("@-+ "), target)
            # a line is a shell of its own
            steps += self._lines_steps([text.lstrip("@-+ ")], replace(context, env=env))[0]
        return steps

    def _task_steps(self, tasks: TaskFile, arguments: list[str], context: _Context) -> list[CommandStep] | None:
        names = [word for word in arguments if word in tasks.tasks]
        if not names or len(names) != len(arguments):
            return None
        steps: list[CommandStep] = []
        for name in names:
            for inner, env, lines in tasks.commands(name, NOT_TESTS):
                if lines is None:
                    file = tasks.name
                    start = f"{tasks.program} {inner}"
                    steps.append(
                        CommandStep(
                            (tasks.program, inner), tuple(env.items()), start, context.folder, context.entry, file
                        )
                    )
                else:
                    for line in lines:
                        steps += self._lines_steps([line], replace(context, env={**env, **context.env}))[0]
        return steps

    # -- Python ------------------------------------------------------------------------------------

    @cached_property
    def python(self) -> PythonScripts:
        return PythonScripts(self.place)

    def _script_steps(self, start: str, name: str, context: _Context) -> list[CommandStep] | None:
        commands = self.python.commands(start, name)
        if commands is None:
            return None
        steps: list[CommandStep] = []
        for env, line in commands:
            steps += self._lines_steps([line], replace(context, env={**env, **context.env}))[0]
        return steps

    # -- shell scripts -----------------------------------------------------------------------------

    def _is_shell_script(self, path: str) -> bool:
        if path not in self._paths:
            return False
        first = self.place.read(path)[:100].partition("\n")[0]
        return bool(re.match(r"#!.*\b(?:ba|da|z|k)?sh\b", first)) or (
            path.endswith((".sh", ".bash")) and "#!" not in first
        )

    def _shell_script(self, path: str, context: _Context) -> list[CommandStep] | None:
        """The steps of a script, if all of its lines are simple; None for another script."""
        if not self._is_shell_script(path):
            return None
        text = self.place.read(path)
        if re.search(r"^\s*(?:function\s+\w+|\w+\s*\(\))\s*\{?", text, re.M) or "<<" in text:
            return None
        text = _OWN_FOLDER.sub(posixpath.dirname(path) or ".", text)
        text = _REPOSITORY.sub(".", text)
        lines = list(_logical_lines(text))
        steps, after = self._lines_steps(lines, context)
        # Variables for the text of the script alone: prefixes of programs, lists of files.
        inner_names = {
            name
            for name, value in after.env.items()
            if not value or (f"${{{name}}}" in text and re.search(r"/$|\s", value))
        }
        inner_names |= {name for name, value in after.env.items() if f"${name}" in text and re.search(r"/$|\s", value)}
        steps = [replace(one, env=tuple(pair for pair in one.env if pair[0] not in inner_names)) for one in steps]
        is_moved = after.folder.startswith("..") or "$" in after.folder
        return None if is_moved or any("$" in step.folder for step in steps) else steps

    # -- rake and npm ------------------------------------------------------------------------------

    def _rake_steps(self, arguments: list[str], context: _Context) -> list[CommandStep] | None:
        """Tasks that a task without code of its own starts."""
        if arguments != ["default"]:
            return None
        text = re.sub(r"(?<!\S)#.*", "", self.place.read("Rakefile"))
        names = [name for match in _RAKE_DEFAULT.finditer(text) for name in _rake_names(match[1])]
        steps = []
        for name in dict.fromkeys(names):
            if not NOT_TESTS.fullmatch(name):
                words = ("bundle", "exec", "rake", name) if "Gemfile" in self.place.names else ("rake", name)
                steps.append(
                    CommandStep(
                        words, tuple(context.env.items()), " ".join(words), context.folder, "rake", context.file
                    )
                )
        return steps

    @cached_property
    def scripts(self) -> dict[str, str]:
        try:
            scripts = json.loads(self.place.read("package.json") or "{}").get("scripts", {})
            return {str(name): str(text) for name, text in scripts.items()}
        except (ValueError, AttributeError, RecursionError):
            return {}

    def _node_steps(self, program: str, arguments: list[str], context: _Context) -> list[CommandStep] | None:
        """The steps of a script that other scripts consist of; a script of tests is one step."""
        words = [word for word in arguments if not word.startswith("-")]
        name = words[1] if words[:1] in (["run"], ["run-script"]) and len(words) > 1 else words[0] if words else ""
        is_entry = name in (*ENTRY_NAMES[2:], "test:all") and len(words) <= 2
        if not is_entry or name not in self.scripts:
            return None
        steps: list[CommandStep] = []
        for one in (f"pre{name}", name, f"post{name}"):
            for line in (self.scripts.get(one, ""),):
                steps += self._lines_steps([_without_runners_of_scripts(line)], context)[0]
        return steps


def needs_arguments(script: str) -> bool:
    """True for a script that always fails without arguments, e.g. since other tests start it with theirs."""
    text = re.sub(r"(?:^|(?<=\s))#(?!\S*\}).*", "", script)
    is_strict = re.search(r"^\s*set\s+-\w*u|^\s*set\s.*nounset", text, re.M) is not None
    is_asked = "$#" in text or re.search(r"^\s*(?:function\s+\w+|\w+\s*\(\))", text, re.M)
    return is_strict and not is_asked and re.search(r"\$(?:1(?!\d)|\{1\})", text) is not None


def _rake_names(text: str) -> list[str]:
    """`[:test, "db:check"]` and `%i[test lint]`."""
    if listed_words := re.match(r"%[iw][\[(](.*)", text, re.S):
        return listed_words[1].split()
    return re.findall(r"(?<!\w)[:'\"]([A-Za-z][\w:]*)", text)


def _without_runners_of_scripts(line: str) -> str:
    """`run-s lint test` and `npm-run-all lint test` as `npm run lint && npm run test`."""
    match = re.fullmatch(r"\s*(?:run-s|run-p|npm-run-all2?)\s+([\w:.\s-]+)", line)
    if not match:
        return line
    return " && ".join(f"npm run {word}" for word in match[1].split() if not word.startswith("-"))


def _assigned(context: _Context, command: SimpleCommand) -> _Context:
    """The context after `A=1` or `export A=1 B`."""
    words = command.words[1:] if command.words[:1] == ("export",) else ()
    new_env = dict(_assignment(word) for word in words if "=" in word)
    new_env |= {word: context.variables[word] for word in words if word in context.variables}
    own = dict(command.env)
    new_env |= {name: value for name, value in own.items() if name in context.env}
    return replace(context, env={**context.env, **new_env}, variables={**context.variables, **own})


def _with_values(line: str, variables: Mapping[str, str]) -> str:
    """The line with the values of variables that the lines before it set; without the arguments of a script."""
    line = re.sub(r"(?<!\\)\"?\$(?:[@*]|\{[@*]\})\"?", "", line)

    def value(match: re.Match[str]) -> str:
        known_value = variables.get(match[1] or match[2])
        return known_value if known_value is not None and _PLAIN_VALUE.fullmatch(known_value) else match[0]

    return re.sub(r"\$(?:\{(\w+)\}|(\w+))", value, line) if variables else line


def _assignment(word: str) -> tuple[str, str]:
    name, _, value = word.partition("=")
    return name, value


def _below(folder: str, path: str) -> str:
    found = posixpath.normpath(posixpath.join(folder, path))
    return "" if found == "." else found


def _logical_lines(text: str) -> Iterator[str]:
    """The lines of a script; a structure of several lines is one line."""
    depth, pending = 0, list[str]()
    for line in text.replace("\\\n", " ").splitlines():
        words = re.sub(r"(?:^|(?<=\s))#.*", "", line)
        starts = len(re.findall(r"(?:^|[;&|]\s*|\s)(?:if|for|while|until|case)\s", f" {words} "))
        ends = len(re.findall(r"(?:^|[;\s])(?:fi|done|esac)(?=[\s;]|$)", words))
        depth = max(0, depth + starts - ends)
        if words.strip():
            pending.append(words.strip())
        if depth == 0 and pending:
            yield "\n".join(pending)
            pending = []
    if pending:
        yield "\n".join(pending)
