"""One test command of a project: what its steps add to the tools that were found, and what no check runs. Pure."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from burnish.checks.makefile import UNKNOWN
from burnish.checks.own_commands.python_scripts import read_toml
from burnish.checks.own_commands.runner_calls import (
    IGNORED_VARIABLES,
    RunnerCall,
    assignments,
    is_resolved,
    runner_call,
    without_selection,
)
from burnish.checks.own_commands.step_kinds import (
    MANAGERS,
    checks_types,
    file_argument,
    is_checker,
    is_comparison,
    is_other_command,
    is_own_code,
    is_preparation,
    is_test_of_project,
    is_threshold,
    service_of,
    without_manager,
)
from burnish.checks.own_commands.steps import NOT_TESTS, CommandStep
from burnish.checks.own_commands.unreached import is_named_test
from burnish.checks.python_dependencies import read_dependencies
from burnish.checks.tools import MAX_OPENED, Command, ProjectFolder, ToolChoice, Tools, UnrunTests

_PYTEST_OPTION = re.compile(
    r"--(?:rootdir|import-mode|strict|strict-markers|strict-config|doctest-\S+|pyargs|noconftest|keep-duplicates|confcutdir|override-ini"
    r"|pythonwarnings|assert|runxfail|collect-in-virtualenv|trace-config|inifile|config-file)"
)

_SCRIPT_RUNNERS = ("npm", "pnpm", "yarn", "bun")

_DEPENDENCY_FILES = re.compile(
    r"pyproject\.toml|setup\.(?:py|cfg)|tox\.ini|noxfile\.py|Pipfile|package\.json|Gemfile|composer\.json|[\w.-]*requirements[\w.-]*\.(?:txt|in)"
)


@dataclass(slots=True)
class RunnerGroup:
    """Calls of one runner with the same variables and options."""

    call: RunnerCall
    entries: list[str]
    file: str
    selection: list[str] = field(default_factory=list)
    # one of the calls runs all tests
    runs_all: bool = False


@dataclass(slots=True)
class Found:
    """What the commands of one folder add to its tools."""

    groups: dict[int, list[RunnerGroup]] = field(default_factory=dict)
    further: list[ToolChoice] = field(default_factory=list)
    unrun: list[UnrunTests] = field(default_factory=list)


Reached = Collection[tuple[tuple[str, ...], tuple[tuple[str, str], ...]]]


@dataclass(slots=True)
class OwnEntry:
    """One test command of a folder, compared with the tools."""

    command: str
    steps: Sequence[CommandStep]
    tools: Sequence[Tools]
    place: ProjectFolder
    found: Found

    def read(self) -> None:
        calls = [(step, self.call_of(step)) for step in self.steps]
        comparisons = [step for step in self.steps if is_comparison(step)]
        others = [step for step, call in calls if call is None and self._is_further(step)]
        if service := next(filter(None, (service_of(step) for step in self.steps)), ""):
            if others or comparisons or any(call and not call.adds_nothing for _, call in calls):
                why = f"it may need services ({service})"
                self.leave_out(self.command, self.command, why)
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
                preparation.append(shell_text(step, self.place.folder))
            else:
                self._name_dropped(step)

    def is_unreached(self, step: CommandStep, reached_steps: Reached) -> bool:
        """True if a step tests more than the checks that were found."""
        if (step.words, step.env) in reached_steps or not step.words:
            return False
        call = self.call_of(step)
        if checks_types(step):
            return not any(self._is_covered(step, one) for one in (*self._choices(step.folder), *self.found.further))
        if call is None:
            return (not self.command or is_named_test(self.command)) and self._is_further(step)
        groups = [one.call for some in self.found.groups.values() for one in some]
        call = without_selection(call)
        is_covered = any(without_selection(one) == call or one.includes(call) for one in groups)
        return not call.adds_nothing and not is_covered and is_resolved(call)

    def is_test(self, step: CommandStep) -> bool:
        """True for a test runner, and for a command that tests code of the repository."""
        is_runner = bool(step.words) and runner_call(step, lambda path: self._exists(step, path)) is not None
        return not step.is_unknown and (is_runner or self._is_further(step))

    def add_of_workflow(self, step: CommandStep) -> None:
        text = shell_text(self._in_environment(step), self.place.folder)
        if service := service_of(step):
            self.leave_out(text, text, f"{step.file} runs it, and it may need services ({service})")
        else:
            self._add(ToolChoice(text, f"{step.file} runs it"))

    def _name_dropped(self, step: CommandStep) -> None:
        """Adds a type checker that is installed; names other steps that can fail and are not known."""
        text = shell_text(step, self.place.folder)
        if step.is_unknown or step.line or not step.words:
            return
        if is_threshold(step, self._coverage_settings()):
            self.leave_out(text, text, f"`{self.command}` demands this coverage, which checks do not measure")
        elif is_checker(step):
            program = _checker_program(step)
            if any(self._is_covered(step, one) for one in self._choices(step.folder)):
                return
            if self._is_installed(program, step.folder):
                self._add(ToolChoice(shell_text(self._in_environment(step), self.place.folder), self._also(step)))
            else:
                self.leave_out(text, text, f"`{self.command}` runs it, and the set-up may not install {program}")
        elif not any(map(is_other_command, (step.text, " ".join(without_manager(step.words))))):
            is_program = re.fullmatch(r"[\w./-]+", step.words[0]) is not None
            if is_program and not self._is_target(step) and not is_own_code(step.text):
                self.leave_out(text, text, f"`{self.command}` runs it, and it is not known whether it tests")

    def _is_installed(self, program: str, folder: str) -> bool:
        """True if the set-up surely installs this program, or if there is none and it is on PATH."""
        setups = [str(one.setup.command) for one in self.tools if one.setup and one.folder in ("", folder)]
        if not setups:
            return self.place.around.has_program(program)
        files = [file for text in setups for file in re.findall(r"-r (\S+)", text)]
        names: frozenset[str] = frozenset()
        if any(re.search(r"\b(?:uv sync|poetry install|pdm (?:install|sync))", text) for text in setups):
            names = read_dependencies(self.place, read_toml(self.place.read("pyproject.toml"))).all_names
        if any(re.search(r"\b(?:npm|pnpm|yarn|bun) (?:ci|install)", text) for text in setups):
            files.append("package.json")
        name = "typescript" if program in ("tsc", "vue-tsc") else program
        texts = [*setups, *map(self.place.read, files)]
        return name in names or any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) for text in texts)

    def _coverage_settings(self) -> bool:
        files = [name for name in (".coveragerc", "pyproject.toml", "setup.cfg", "tox.ini") if name in self.place.names]
        return any(re.search(r"^\s*fail_under\s*=", self.place.read(name), re.M) for name in files)

    def _is_target(self, step: CommandStep) -> bool:
        """True for calls of programs whose targets were read, and scripts that other checks run."""
        return posixpath.basename(step.words[0]) in ("make", "just", "task", "rake", "tox", "nox", *_SCRIPT_RUNNERS)

    def _also(self, step: CommandStep) -> str:
        return f"`{self.command}` in {step.file} also runs it"

    def call_of(self, step: CommandStep) -> RunnerCall | None:
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
            self.leave_out(f"pytest {option}", option, why)
            call = replace(call, options=(), selection=())
        if threshold := next((word for word in step.words if word.startswith("--cov-fail-under")), ""):
            why = f"`{self.command}` demands this coverage, which checks do not measure"
            self.leave_out(f"pytest {threshold}", threshold, why)
        words = command_words(tools.test.command).split() if tools.test else []
        call = replace(call, options=tuple(one for one in call.options if not (one.startswith("--") and one in words)))
        group = next((one for one in groups if without_selection(one.call) == without_selection(call)), None)
        if group is None:
            group = RunnerGroup(call, [], step.file)
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
        if not step.words or is_checker(step) or any(map(is_other_command, texts)):
            return False
        program = posixpath.basename(step.words[0])
        if program in _SCRIPT_RUNNERS:
            return self._is_further_script(step)
        if not any(is_test_of_project(text) for text in texts) and not self._is_own_module(step):
            return False
        if program in ("make", "just", "task", "rake", "bundle") and NOT_TESTS.fullmatch(step.words[-1]):
            return False
        if program == "make" and "-C" in step.words[:-1]:
            folder = posixpath.normpath(step.words[step.words.index("-C") + 1])
            # in a loop the folder is a variable
            return not any((one.folder == folder or ("$" in folder and one.folder)) and one.test for one in self.tools)
        return not any(self._is_covered(step, choice) for choice in self._choices(step.folder))

    def _is_own_module(self, step: CommandStep) -> bool:
        """True for `python -m MODULE` with a module of the tree."""
        match = re.search(r"\bpython[\d.]*\s+-m\s+([\w.]+)", step.text)
        path = match[1].replace(".", "/") if match else ""
        starts = ("", "src/") if path else ()
        return any(self._exists(step, f"{start}{path}{end}") for start in starts for end in (".py", "/__main__.py"))

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
        text = re.sub(r"^(?:\S*/)?python[\d.]*\s", "python ", command_words(choice.command))
        words = re.sub(r"^(?:\S*/)?python[\d.]*\s", "python ", " ".join(step.words))
        return text.endswith(words) or text == words.removeprefix("bundle exec ")

    def _is_further_script(self, step: CommandStep) -> bool:
        """True for a script of package.json that no check starts and that exists."""
        words = [word for word in step.words[1:] if not word.startswith("-")]
        name = words[1] if words[:1] in (["run"], ["run-script"]) and words[1:] else words[0] if words else ""
        names = {command_words(choice.command).split()[-1] for choice in self._choices(step.folder)}
        unrun_names = {unrun.mark for one in self.tools if one.folder == step.folder for unrun in one.unrun_tests}
        return name not in {*names, *unrun_names, "", "test", "t"} and NOT_TESTS.fullmatch(name) is None

    def _add_further(self, step: CommandStep, preparation: Sequence[str]) -> None:
        if (step.is_unknown and (UNKNOWN in step.text or not step.line)) or self._sets_result(step):
            self._add_whole(step)
            return
        if step.text == self.command and self.command.startswith("./"):
            step = replace(step, text=self._entry_command())
        step = self._in_environment(step)
        text = shell_text(step, self.place.folder)
        program = _program(step)
        if (
            "/" in step.words[0]
            and not self._exists(step, program)
            and not program.startswith(("/", ".venv/", "node_modules/"))
        ):
            if not preparation:
                self._add_whole(step)
                return
        elif (file := file_argument(step)) and not preparation and not self._exists(step, file):
            self.leave_out(text, text, f"`{self.command}` runs it, and the repository has no {file}")
            return
        elif not step.words[0].startswith("./") and not self._has_program(program):
            self.leave_out(text, text, f"`{self.command}` runs it, and {program} is not installed here")
            return
        command = " && ".join((*preparation, text))
        self._add(ToolChoice(command, self._also(step)))

    def _sets_result(self, step: CommandStep) -> bool:
        """True if the line of a script only remembers a failure, with which another line ends: `exit $failed`."""
        if not step.line or not self.command.startswith("./"):
            return False
        names = set(re.findall(r"(?<![\w$])([A-Za-z_]\w*)\+?=", step.line)) | set(
            re.findall(r"\(\((\w+)[+]", step.line)
        )
        rest = self.place.read(self.command.removeprefix("./")).replace(step.line, "")
        return any(re.search(rf"(?:\bexit\b|\[|\btest\b|\(\()[^\n]*\$?\{{?\b{name}\b", rest) for name in names)

    def _add_whole(self, step: CommandStep) -> None:
        """The project's own command, where a part of it cannot be read."""
        program = self.command.split()[0]
        why = f"it also runs `{step.text.replace(UNKNOWN, '…').strip()[:60]}`"
        if program.startswith("./") or self._has_program(program):
            self._add(ToolChoice(self._entry_command(), f"{step.file}: {why}"))
        else:
            self.leave_out(self.command, self.command, f"{why}, and {program} is not installed here")

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
        # `[tool.x]` has settings of a program, and declares nothing
        texts = (re.sub(r"^\[tool\.[^\]]*\]$", "", self.place.read(name), flags=re.M) for name in files)
        return any(re.search(rf"(?<![\w.-]){re.escape(program)}(?![\w-])", text) for text in texts)

    def _add(self, choice: ToolChoice) -> None:
        if not any(one.command == choice.command for one in (*self.found.further, *self._choices(self.place.folder))):
            self.found.further.append(choice)

    def leave_out(self, what: str, mark: str, why: str) -> None:
        what = " ".join(what.split())
        if not any(one.what == what for one in self.found.unrun):
            self.found.unrun.append(UnrunTests(what, mark, why))


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
    return names.get(runner, runner) in command_words(command)


def _is_defined(option: str, texts: Iterable[str], packages: Iterable[str]) -> bool:
    stem = option.strip("-").split("-")[0]
    return any(option in text for text in texts) or any(stem in name for name in packages)


def _program(step: CommandStep) -> str:
    return step.words[0].removeprefix("./") if step.words[0].startswith("./") else step.words[0]


def shell_text(step: CommandStep, folder: str) -> str:
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


def command_words(command: Command) -> str:
    return command if isinstance(command, str) else " ".join(command)


def _checker_program(step: CommandStep) -> str:
    """`mypy` of `python -m mypy`, `tsc` of `npx tsc`."""
    words = without_manager(step.words)
    return next((word for word in words if not re.fullmatch(r"(?:\S*/)?python[\d.]*|npx|-m", word)), words[0])
