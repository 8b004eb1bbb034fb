"""The tools that build and test a folder of a repository, with the reason for each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from burnish.core.policy import CheckSpec

Read = Callable[[str], str | None]
# a string for the shell, or words
Command = str | tuple[str, ...]

PYTEST = ("python", "-m", "pytest", "-q")
RUFF = ("ruff", "check", "--output-format=concise")
# At most this many files are opened; of hundreds of test files the first few are enough.
MAX_OPENED = 20
# Words at the begin of a command that the shell itself carries out.
SHELL_WORDS = frozenset(
    "if for do while until case { ! [ . cd echo eval exec exit export false printf read set source test time trap true"
    " ulimit umask unset wait".split()
)
# settings that `init` writes
BUILD = ("checks", "build")
SETUP = ("workspace", "setup")


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """A command, and the reason for it."""

    command: Command
    why: str
    # It prints TAP that names all of its tests.
    tap: bool = False


@dataclass(frozen=True, slots=True)
class UnrunTests:
    """Tests of the project that no check runs: they may need services, or are not part of its usual build."""

    # what a person would type or look for
    what: str
    # a word that is in each command that runs them
    mark: str
    why: str
    # the files of these tests, where they are known
    files: tuple[str, ...] = ()
    # files with other tests as well, which are run
    partly: tuple[str, ...] = ()

    def words(self, folder: str) -> str:
        return f"`{self.what}`{f' in {folder}' if folder else ''}: {self.why}"

    def note(self, folder: str) -> str:
        return f"Not run: {self.words(folder)}. To run it, add it to checks.extra."


@dataclass(frozen=True, slots=True)
class Tools:
    """One language in one folder; `weight` counts its source files."""

    folder: str
    language: str
    test: ToolChoice | None = None
    lint: ToolChoice | None = None
    setup: ToolChoice | None = None
    weight: int = 0
    # Tools that were found but left out, e.g. a linter that is not installed.
    notes: tuple[str, ...] = ()
    # Patterns of the files that its checks depend on; empty for all files.
    paths: tuple[str, ...] = ()
    # What the tests need on each tree before they run.
    build: ToolChoice | None = None
    # Further tests in the same folder that `test` does not run.
    more_tests: tuple[ToolChoice, ...] = ()
    unrun_tests: tuple[UnrunTests, ...] = ()


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Facts about the machine and repository; the defaults assume that everything is installed."""

    # True if git ignores this path (from the root; folders end in /).
    ignored: Callable[[str], bool] = lambda path: False
    # True if this program is on PATH.
    has_program: Callable[[str], bool] = lambda name: True
    # True if the Python on PATH can import this module.
    has_module: Callable[[str], bool] = lambda name: True
    # The target of a link as git stores it, None for other files.
    link_target: Callable[[str], str | None] = lambda path: None


@dataclass(frozen=True, slots=True)
class ProjectFolder:
    """One folder of a project; `paths` are all files below it, relative to it."""

    folder: str
    paths: tuple[str, ...]
    names: frozenset[str]
    read_from_root: Read
    around: Surroundings = field(default_factory=Surroundings)

    def read(self, name: str) -> str:
        """The text of a file, "" if there is none."""
        if "/" not in name and name not in self.names:
            return ""  # reading a file from git starts a process
        return self.read_from_root(self._from_root(name)) or ""

    def ignores(self, name: str) -> bool:
        return self.around.ignored(self._from_root(name))

    def first(self, *names: str) -> str | None:
        return next((name for name in names if name in self.names), None)

    def count(self, *endings: str) -> int:
        return sum(path.endswith(endings) for path in self.paths)

    def _from_root(self, name: str) -> str:
        return f"{self.folder}/{name}" if self.folder else name


@dataclass(frozen=True, slots=True)
class FoundChecks:
    """The checks that `auto` stands for, and notes on what was left out and why."""

    specs: tuple[CheckSpec, ...] = ()
    notes: tuple[str, ...] = ()
    # each with the folder of its project
    unrun_tests: tuple[tuple[str, UnrunTests], ...] = ()
    # test files of Python, from the root
    python_tests: tuple[str, ...] = ()

    def unrun_by(self, specs: Iterable[CheckSpec]) -> list[tuple[str, UnrunTests]]:
        """The tests that none of these checks runs either."""
        from burnish.checks.unrun_tests import unselected_tests

        checks = tuple(specs)
        # with the folder of each check as `folder/`
        commands = [f"{spec.cwd}/ " + re.sub(r"\bcd ([^ ]+)", r"cd \1/", spec.words) for spec in checks]
        unrun_tests = [
            (folder, one)
            for folder, one in self.unrun_tests
            if not any(re.search(rf"(?<![\w:/-]){re.escape(one.mark)}(?![\w:-])", words) for words in commands)
        ]
        return [*unrun_tests, *unselected_tests(self.specs, checks, self.python_tests)]
