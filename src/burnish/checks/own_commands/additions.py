"""Compares the tools that were found with the project's own test commands, and adds what these do beyond them. Pure."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from burnish.checks.makefile import UNKNOWN
from burnish.checks.own_commands.python_scripts import read_toml
from burnish.checks.own_commands.runner_calls import (
    IGNORED_VARIABLES,
    RunnerCall,
    assignments,
    command_of,
    is_resolved,
    runner_call,
    without_selection,
)
from burnish.checks.own_commands.step_kinds import (
    MANAGERS,
    file_argument,
    is_comparison,
    is_other_command,
    is_preparation,
    is_test_of_project,
    service_of,
    without_manager,
)
from burnish.checks.own_commands.steps import NOT_TESTS, CommandStep, OwnCommands
from burnish.checks.python_dependencies import read_dependencies
from burnish.checks.tools import MAX_OPENED, Command, ProjectFolder, ToolChoice, Tools, UnrunTests

_MAX_MORE = 10
_PYTEST_OPTION = re.compile(
    r"--(?:rootdir|import-mode|strict|strict-markers|strict-config|doctest-\S+|pyargs|noconftest|keep-duplicates|confcutdir|override-ini"
    r"|pythonwarnings|assert|runxfail|collect-in-virtualenv|trace-config|inifile|config-file)"
)
_SCRIPT_RUNNERS = ("npm", "pnpm", "yarn", "bun")
_DEPENDENCY_FILES = re.compile(
    r"pyproject\.toml|setup\.(?:py|cfg)|tox\.ini|noxfile\.py|Pipfile|package\.json|Gemfile|composer\.json|[\w.-]*requirements[\w.-]*\.(?:txt|in)"
)


@dataclass(slots=True)
class _RunnerGroup:
    """Calls of one runner with the same variables and options."""

    call: RunnerCall
    entries: list[str]
    file: str
    selection: list[str] = field(default_factory=list)
    # one of the calls runs all tests
    runs_all: bool = False


@dataclass(slots=True)
class _Found:
    """What the commands of one folder add to its tools."""

    groups: dict[int, list[_RunnerGroup]] = field(default_factory=dict)
    further: list[ToolChoice] = field(default_factory=list)
    unrun: list[UnrunTests] = field(default_factory=list)


def with_own_commands(tools: Sequence[Tools], place_of: Callable[[str], ProjectFolder]) -> tuple[Tools, ...]:
    """The tools with the variables, options and further commands of the project's own test commands."""
    result = list(tools)
    for folder in dict.fromkeys(("", *(one.folder for one in tools))):
        found = _read(result, place_of(folder))
        for index, groups in found.groups.items():
            result[index] = _with_calls(result[index], groups)
        result = _with_further(result, folder, found)
    return tuple(_without_covered(one) for one in result)


def _read(tools: Sequence[Tools], place: ProjectFolder) -> _Found:
    found = _Found()
    entries = dict(OwnCommands(place).entries())
    commands = {_words(one.test.command) for one in tools if one.test and one.folder == place.folder}
    # Checks that run a command of the project as a whole run its steps, too.
    covered_steps = {(step.words, step.env) for entry in commands & entries.keys() for step in entries[entry]}
    for entry, steps in entries.items():
        others = [step for step in steps if (step.words, step.env) not in covered_steps]
        _OwnEntry(entry, others, tools, place, found).read()
    return found


@dataclass(slots=True)
class _OwnEntry:
    """One test command of a folder, compared with the tools."""

    command: str
    steps: Sequence[CommandStep]
    tools: Sequence[Tools]
    place: ProjectFolder
    found: _Found

    def read(self) -> None:
        calls = [(step, self._call(step)) for step in self.steps]
        comparisons = [step for step in self.steps if is_comparison(step)]
        others = [step for step, call in calls if call is None and self._is_further(step)]
        if service := next(filter(None, (service_of(step) for step in self.steps)), ""):
            if others or comparisons or any(call and not call.adds_nothing for _, call in calls):
                why = f"it may need services ({service})"
                self._leave_out(self.command, self.command, why)
            return
        if comparisons:
            # What is compared may come from any step before it.
            self._add_whole(comparisons[0])
        preparation: list[str] = []
        for step, call in calls:
            if call is not None and (is_resolved(call) and not (step.line and step.is_unknown)):
                self._add_call(step, call)
            elif call is not None and not call.adds_nothing:
                self._add_whole(step)
            elif step in others:
                self._add_further(step, preparation)
            elif is_preparation(step) and not step.is_unknown:
                preparation.append(_shell_text(step, self.place.folder))

    def _call(self, step: CommandStep) -> RunnerCall | None:
        call = runner_call(step, lambda path: self._exists(step, path))
        return call if call and self._tools_of(step.folder, call.language) is not None else None

    def _exists(self, step: CommandStep, path: str) -> bool:
        full = posixpath.normpath(posixpath.join(step.folder, path))
        own = posixpath.relpath(full, self.place.folder or ".") if self.place.folder else full
        return own in self.place.paths or any(one.startswith(f"{own}/") for one in self.place.paths)

    def _tools_of(self, folder: str, language: str) -> int | None:
        """The tools with tests of this language in the folder, or in the nearest one above."""
        candidates = [
            (len(one.folder), index)
            for index, one in enumerate(self.tools)
            if one.test and one.language == language and (not one.folder or f"{folder}/".startswith(f"{one.folder}/"))
        ]
        return max(candidates)[1] if candidates else None

    def _add_call(self, step: CommandStep, call: RunnerCall) -> None:
        index = self._tools_of(step.folder, call.language)
        assert index is not None
        groups = self.found.groups.setdefault(index, [])
        tools = self.tools[index]
        if tools.test and not _is_same_runner(tools.test.command, call.runner):
            # pytest runs the tests of unittest, too; options of one are not those of the other
            call = replace(call, options=(), last=(), selection=())
        if call.runner == "pytest" and any(one.what.startswith("pytest -m") for one in tools.unrun_tests):
            call = _with_marks(call)
        if option := self._unknown_option(call):
            why = f"`{self.command}` uses this option, and the set-up may not install its plugin"
            self._leave_out(f"pytest {option}", option, why)
            call = replace(call, options=(), selection=())
        words = _words(tools.test.command).split() if tools.test else []
        call = replace(call, options=tuple(one for one in call.options if not (one.startswith("--") and one in words)))
        group = next((one for one in groups if without_selection(one.call) == without_selection(call)), None)
        if group is None:
            group = _RunnerGroup(call, [], step.file)
            groups.append(group)
        group.entries.append(self.command)
        group.runs_all |= not call.selection
        prefix = f"{posixpath.relpath(step.folder, tools.folder or '.')}/" if step.folder != tools.folder else ""
        group.selection += [f"{prefix}{one}" if prefix and not one.startswith("-") else one for one in call.selection]
        group.runs_all &= not prefix

    def _unknown_option(self, call: RunnerCall) -> str:
        """An option of pytest that neither pytest, nor the project, nor a declared plugin defines; "" if none."""
        options = (
            [one.partition("=")[0] for one in call.options if one.startswith("--")] if call.runner == "pytest" else []
        )
        options = [one for one in options if not _PYTEST_OPTION.fullmatch(one)]
        if not options:
            return ""
        files = [path for path in self.place.paths if path.endswith("conftest.py")]
        files += [path for path in self.place.paths if path.endswith(".py") and "plugin" in path]
        texts = [self.place.read(path) for path in files[:MAX_OPENED]]
        names = read_dependencies(self.place, read_toml(self.place.read("pyproject.toml"))).all_names
        return next((one for one in options if not _is_defined(one, texts, names)), "")

    def _is_further(self, step: CommandStep) -> bool:
        texts = (step.text, " ".join(without_manager(step.words)))
        if not step.words or any(map(is_other_command, texts)):
            return False
        program = posixpath.basename(step.words[0])
        if program in _SCRIPT_RUNNERS:
            return self._is_further_script(step)
        if not any(is_test_of_project(text) for text in texts):
            return False
        if program in ("make", "just", "task", "rake", "bundle") and NOT_TESTS.fullmatch(step.words[-1]):
            return False
        if program == "make" and "-C" in step.words[:-1]:
            folder = posixpath.normpath(step.words[step.words.index("-C") + 1])
            # in a loop the folder is a variable
            return not any((one.folder == folder or ("$" in folder and one.folder)) and one.test for one in self.tools)
        return not any(self._is_covered(step, choice) for choice in self._choices(step.folder))

    def _choices(self, folder: str) -> list[ToolChoice]:
        return [
            choice
            for one in self.tools
            if one.folder == folder
            for choice in (one.test, one.lint, *one.more_tests)
            if choice
        ]

    def _is_covered(self, step: CommandStep, choice: ToolChoice) -> bool:
        """True if a check runs this command already, also in another interpreter."""
        text = re.sub(r"^(?:\S*/)?python[\d.]*\s", "python ", _words(choice.command))
        words = re.sub(r"^(?:\S*/)?python[\d.]*\s", "python ", " ".join(step.words))
        return text.endswith(words) or text == words.removeprefix("bundle exec ")

    def _is_further_script(self, step: CommandStep) -> bool:
        """True for a script of package.json that no check starts and that exists."""
        words = [word for word in step.words[1:] if not word.startswith("-")]
        name = words[1] if words[:1] in (["run"], ["run-script"]) and words[1:] else words[0] if words else ""
        names = {_words(choice.command).split()[-1] for choice in self._choices(step.folder)}
        unrun_names = {unrun.mark for one in self.tools if one.folder == step.folder for unrun in one.unrun_tests}
        return name not in {*names, *unrun_names, "", "test", "t"} and NOT_TESTS.fullmatch(name) is None

    def _add_further(self, step: CommandStep, preparation: Sequence[str]) -> None:
        if step.is_unknown and (UNKNOWN in step.text or not step.line):
            self._add_whole(step)
            return
        if step.text == self.command and self.command.startswith("./"):
            step = replace(step, text=self._entry_command())
        step = self._in_environment(step)
        text = _shell_text(step, self.place.folder)
        program = _program(step)
        if (
            "/" in program
            and not self._exists(step, program)
            and not program.startswith(("/", ".venv/", "node_modules/"))
        ):
            if not preparation:
                self._add_whole(step)
                return
        elif (file := file_argument(step)) and not preparation and not self._exists(step, file):
            self._leave_out(text, text, f"`{self.command}` runs it, and the repository has no {file}")
            return
        elif not self._has_program(program):
            self._leave_out(text, text, f"`{self.command}` runs it, and {program} is not installed here")
            return
        command = " && ".join((*preparation, text))
        self._add(ToolChoice(command, f"`{self.command}` in {step.file} also runs it"))

    def _add_whole(self, step: CommandStep) -> None:
        """The project's own command, where a part of it cannot be read."""
        program = self.command.split()[0]
        why = f"it also runs `{step.text.replace(UNKNOWN, '…').strip()[:60]}`"
        if program.startswith("./") or self._has_program(program):
            self._add(ToolChoice(self._entry_command(), f"{step.file}: {why}"))
        else:
            self._leave_out(self.command, self.command, f"{why}, and {program} is not installed here")

    def _entry_command(self) -> str:
        """The project's own command; a script by its shell, since it may be committed without the executable bit."""
        if not self.command.startswith("./"):
            return self.command
        path = self.command.removeprefix("./")
        first = self.place.read(path).partition("\n")[0]
        return f"{'bash' if 'bash' in first else 'sh'} {path}"

    def _in_environment(self, step: CommandStep) -> CommandStep:
        """`uv run` that installs nothing; without a manager that is not installed, as pip replaces it."""
        if step.line or step.words[0] not in MANAGERS or step.words[1:2] != ("run",):
            return step
        if self.place.around.has_program(step.words[0]):
            is_uv = step.words[0] == "uv" and "--no-sync" not in step.words
            return replace(step, text=step.text.replace("uv run", "uv run --no-sync", 1)) if is_uv else step
        words = without_manager(step.words)
        words = ("python", *words) if words and words[0].endswith(".py") else words
        return replace(step, words=words, text=shlex.join(words)) if words else step

    def _has_program(self, program: str) -> bool:
        if self.place.around.has_program(program) or program in MANAGERS:
            return self.place.around.has_program(program)
        files = [name for name in self.place.names if _DEPENDENCY_FILES.fullmatch(name)]
        return any(re.search(rf"(?<![\w-]){re.escape(program)}(?![\w-])", self.place.read(name)) for name in files)

    def _add(self, choice: ToolChoice) -> None:
        if not any(one.command == choice.command for one in (*self.found.further, *self._choices(self.place.folder))):
            self.found.further.append(choice)

    def _leave_out(self, what: str, mark: str, why: str) -> None:
        if not any(one.what == what for one in self.found.unrun):
            self.found.unrun.append(UnrunTests(what, mark, why))


def _with_calls(tools: Tools, groups: list[_RunnerGroup]) -> Tools:
    """The tools with the variables and options of the project's own calls of their runner."""
    groups = [one for one in groups if not any(_replaces(other, one) for other in groups)]
    if not tools.test or not groups:
        return tools
    bare = tools.test.command
    first = next((one for one in groups if one.call.adds_nothing), groups[0])
    test = tools.test if first.call.adds_nothing else _choice(tools.test, bare, first, ())
    more = [_choice(tools.test, _without_paths(bare), one, one.selection) for one in groups if one is not first]
    env = first.call.env
    others = [
        ToolChoice(f"{assignments(env)}{_words(choice.command)}", choice.why) if env else choice
        for choice in tools.more_tests
    ]
    return replace(tools, test=test, more_tests=(*others, *more[:_MAX_MORE]))


def _replaces(group: _RunnerGroup, other: _RunnerGroup) -> bool:
    """True if a group runs the same tests with more options. Calls of one command are all meant."""
    return group.call.includes(other.call) and not set(group.entries) & set(other.entries)


def _choice(test: ToolChoice, bare: Command, group: _RunnerGroup, selection: Iterable[str]) -> ToolChoice:
    command = command_of(bare, group.call, () if group.runs_all else tuple(dict.fromkeys(selection)))
    entry = group.entries[0]
    return ToolChoice(command, f"{test.why}, as `{entry}` in {group.file} runs it")


def _without_paths(bare: Command) -> Command:
    """The command without folders that a selection replaces."""
    if isinstance(bare, tuple) and "pytest" in bare:
        end = bare.index("pytest") + 1
        return (*bare[:end], *(word for word in bare[end:] if word == "-q"))
    return bare


def _with_marks(call: RunnerCall) -> RunnerCall:
    """`-m slow` as an option, where the settings deselect tests: it replaces their expression."""
    words = list(call.selection)
    if "-m" not in words[:-1]:
        return call
    at = words.index("-m")
    rest = (*words[:at], *words[at + 2 :])
    return replace(call, options=(*call.options, "-m", words[at + 1]), selection=rest)


def _is_same_runner(command: Command, runner: str) -> bool:
    names = {"django": "manage.py", "maven": "mvn", "gradle": "gradle", "nose": "nose", "node": ""}
    return names.get(runner, runner) in _words(command)


def _with_further(tools: list[Tools], folder: str, found: _Found) -> list[Tools]:
    """The tools with further commands, at the part of the folder that has most code."""
    if not found.further and not found.unrun:
        return tools
    indexes = [index for index, one in enumerate(tools) if one.folder == folder and one.test]
    if not indexes:
        indexes = [index for index, one in enumerate(tools) if one.folder == folder]
    further = found.further[:_MAX_MORE]
    too_many = [UnrunTests(_words(one.command), _words(one.command), one.why) for one in found.further[_MAX_MORE:]]
    unrun = (*found.unrun, *too_many)
    if not indexes:
        if folder or not further:
            return [*tools, Tools(folder, "", unrun_tests=unrun)] if unrun else tools
        return [*tools, Tools("", "Scripts", further[0], more_tests=tuple(further[1:]), unrun_tests=unrun)]
    index = indexes[0]
    one = tools[index]
    test, more = (one.test, further) if one.test else (further[0] if further else None, further[1:])
    tools[index] = replace(one, test=test, more_tests=(*one.more_tests, *more), unrun_tests=(*one.unrun_tests, *unrun))
    return tools


def _without_covered(tools: Tools) -> Tools:
    """The tools without tests that were named as not run, and that a check runs now."""
    commands = [_words(choice.command) for choice in (tools.test, *tools.more_tests) if choice]
    unrun = tuple(
        one
        for one in tools.unrun_tests
        if not any(re.search(rf"(?<![\w:/-]){re.escape(one.mark)}(?![\w:-])", text) for text in commands)
    )
    return replace(tools, unrun_tests=unrun)


def _is_defined(option: str, texts: Iterable[str], packages: Iterable[str]) -> bool:
    stem = option.strip("-").split("-")[0]
    return any(option in text for text in texts) or any(stem in name for name in packages)


def _program(step: CommandStep) -> str:
    return step.words[0].removeprefix("./") if step.words[0].startswith("./") else step.words[0]


def _shell_text(step: CommandStep, folder: str) -> str:
    """The command for a shell in the folder of the project."""
    text = step.line or step.text
    env = tuple((name, value) for name, value in step.env if not IGNORED_VARIABLES.fullmatch(name))
    step = replace(step, env=env)
    if not step.line:
        text = re.sub(r"^python(?=\s)", "python3", text)
    if step.line:
        # on one line, for burnish.yaml
        line = re.sub(
            r"\n", "; ", re.sub(r"(?<![\w-])(do|then|else|\{|&&|\|\|?)[ \t]*\n", r"\1 ", _exports(step) + text)
        )
        text = f"{'bash' if '[[' in line else 'sh'} -c {shlex.quote(line)}"
    else:
        text = f"{assignments(step.env)}{text}"
    inner = posixpath.relpath(step.folder or ".", folder or ".")
    return f"cd {inner} && {text}" if inner != "." else text


def _exports(step: CommandStep) -> str:
    known_values = [(name, value) for name, value in step.env if "$" not in value]
    return f"export {assignments(known_values).strip()}; " if known_values else ""


def _words(command: Command) -> str:
    return command if isinstance(command, str) else " ".join(command)
