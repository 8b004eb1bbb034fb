"""Checks on clean trees: selects or creates the environment, verifies it, and mounts it for each check."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from burnish.adapters.checkout_files import detection_context
from burnish.adapters.checks.checkout_paths import refuse_absolute_paths
from burnish.adapters.checks.environments import (
    CheckEnvironment,
    CheckEnvironments,
    Command,
    CredentialsWithheld,
    SetUpFiles,
    command_words,
    setup_failure,
)
from burnish.adapters.checks.last_results import SETUP, record_result
from burnish.adapters.checks.stored_environments import environment_in_use
from burnish.adapters.checks.trees import CheckTree, check_tree, copied_files_digest, copy_ignored_files, remember_tree
from burnish.adapters.redaction import redact_folder, secrets_from_environment
from burnish.checks.dependency_files import dependency_paths
from burnish.checks.environment import check_environment, index_settings, setup_environment
from burnish.checks.import_origins import (
    PYTEST_SETTINGS,
    QUESTION_FORM,
    Origins,
    project_names,
    question_spec,
    read_origins,
    runs_tests,
)
from burnish.checks.outcome import TIMED_OUT
from burnish.checks.placement import Placement
from burnish.checks.run import run_checks
from burnish.config.settings import Config
from burnish.core.check import CheckReport, CheckStatus
from burnish.core.policy import CheckSpec, fill_isolation_env
from burnish.core.status import ErrorCode
from burnish.engine.ports import CheckedCommit
from burnish.errors import PhaseFailed
from burnish.git.checkout import TaskTree
from burnish.git.discovery import FoundRepository
from burnish.git.files import write_whole
from burnish.git.objects import Contents, list_files, list_links, read_commit, read_files
from burnish.git.project import Project
from burnish.proc.run import StopToken
from burnish.proc.sandbox import Sandbox

SETUP_SECONDS = 1200.0


@dataclass(frozen=True, slots=True)
class CheckContext:
    """Where checks run: a tree on disk, their variables, and how a command is placed in the sandbox."""

    files: Path
    variables: Callable[[Mapping[str, str]], dict[str, str]]
    placement: Callable[[Mapping[str, str]], Placement]
    origins: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    # why no check can be run here
    failure: str = ""
    # Called before a check runs again: removes the files that its first run left in the tree.
    reset: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class TreeChecks:
    """Runs the checks of one project on clean checkouts. Shared by its tasks."""

    project: Project
    home: Path
    key: str
    sandbox: Sandbox | None
    setup: Command | None
    build: Command | None
    found_setup: Callable[[str], Command | None]
    lock: Callable[[str], AbstractContextManager[None]]
    automatic: bool = False
    # `checks.build` that `init` would write for a base
    found_build: Callable[[str], Command | None] = lambda base: None
    # The folder for trees; by default below the burnish home.
    place: Path | None = None
    # `workspace.copy`
    copies: tuple[str, ...] = ()
    cap_bytes: int = 64 * 1024 * 1024
    note: Callable[[str], None] = lambda text: None
    # with its `{task}`, `{agent}` and `{cycle}`
    isolation_env: Mapping[str, str] = field(default_factory=dict)
    # `workspace.setup_credentials`
    setup_credentials: str = "base"
    known: dict[tuple[str, str], tuple[CheckEnvironment, Origins]] = field(default_factory=dict)

    @property
    def takes_turns(self) -> bool:
        """True if the checks of several tasks run one after another: only if set-up makes an environment."""
        return self.sandbox is None and bool(self.setup or self.automatic)

    @property
    def setup_path(self) -> Path:
        """Where set-up and the checks of its environment run without a sandbox."""
        return self.home / "trees" / self.key / "tree"

    def build_for(self, base: str) -> Command | None:
        """`checks.build`; without it, and with automatic tests, the command that `init` would write for the base."""
        return self.build or (self.found_build(base) if self.automatic else None)

    def environment(
        self, commit: str, base: str, specs: Sequence[CheckSpec], stop: StopToken | None, out_dir: Path
    ) -> tuple[CheckEnvironment, Origins]:
        """The environment for `commit`, verified to import the tree under test. Runs set-up if it is new."""
        with ExitStack() as in_use:
            return self._select_environment(commit, base, specs, stop, out_dir, in_use)

    def _select_environment(
        self,
        commit: str,
        base: str,
        specs: Sequence[CheckSpec],
        stop: StopToken | None,
        out_dir: Path,
        in_use: ExitStack,
    ) -> tuple[CheckEnvironment, Origins]:
        """The same; no process deletes the environment before `in_use` is closed."""
        if (commit, base) in self.known:
            in_use.enter_context(environment_in_use(self.known[commit, base][0].layer))
        if (commit, base) not in self.known or _is_deleted(self.known[commit, base][0]):
            with self._recorded(commit, base):
                environments = replace(self._environments(base, stop, out_dir), in_use=in_use)
                self.known[commit, base] = self._proved_environment(environments, commit, base, specs, stop)
        return self.known[commit, base]

    def _proved_environment(
        self,
        environments: CheckEnvironments,
        commit: str,
        base: str,
        specs: Sequence[CheckSpec],
        stop: StopToken | None,
    ) -> tuple[CheckEnvironment, Origins]:
        if self.sandbox is None:
            refuse_absolute_paths(self.project, commit, specs, self.isolation_env)
        environment = environments.prepare(commit, base)
        origins = self._prove(environment, commit, specs, stop)
        if origins.problem and not environment.layer and (own := environments.prepare(commit, base, own=True)).layer:
            environment, origins = own, self._prove(own, commit, specs, stop)
        if origins.problem:
            raise self._wrong_tree_failure(origins.problem, commit)
        return environment, origins

    @contextmanager
    def _recorded(self, commit: str, base: str) -> Iterator[None]:
        """Record the result of set-up on a base, which `doctor` shows."""
        command = self.setup or (self.found_setup(commit) if self.automatic else None)
        problem = ""
        try:
            yield
        except PhaseFailed as failure:
            if failure.code is not ErrorCode.SETUP_FAILED:
                raise
            problem = secrets_from_environment().redact(failure.what)
            raise
        finally:
            if command and commit == base and (problem or (commit, base) in self.known):
                words = command_words(command)
                record_result(self.home, self.key, SETUP, command=words, commit=commit, problem=problem)

    def _wrong_tree_failure(self, problem: str, commit: str) -> PhaseFailed:
        """The error for tests that import other code than the tree under test, with a suitable hint."""
        if self.setup:
            hint = "Install the project in editable mode (`pip install -e .`) in workspace.setup."
        elif self.found_setup(commit):
            hint = "Install the project in editable mode, or set workspace.setup (`burnish init` writes it)."
        else:
            hint = (
                "Run the tests with `python -m pytest`, which imports the tree first, or install the project in "
                "editable mode, e.g. in workspace.setup."
            )
        if self.sandbox is None:
            hint += " With bubblewrap, the environment in your checkout can be used."
        return PhaseFailed(ErrorCode.CHECK_ERROR, f"The tests would not test the change: {problem}.", hint=hint)

    def baseline_key(self, environment: CheckEnvironment, base: str) -> str:
        """A key of everything that affects check results besides the tree and the command.

        A baseline from before a correction of one of these would excuse new failures.
        """
        settings = (self.build_for(base), sorted(self.isolation_env.items()), self.copies)
        if not any(settings):
            return environment.fingerprint
        facts = [environment.fingerprint, *settings, copied_files_digest(self.project.root, self.copies)]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()

    @contextmanager
    def on(
        self,
        specs: Sequence[CheckSpec],
        tree: CheckedCommit,
        *,
        out_dir: Path,
        env: Mapping[str, str],
        stop: StopToken | None = None,
    ) -> Iterator[CheckContext]:
        """A clean, built checkout of the commit with its environment; files that checks write there are removed.

        `env`: further variables for the checks.
        """
        setup_error, place = "", out_dir / "environment"
        with ExitStack() as in_use:
            try:
                environment, origins = self._select_environment(tree.commit, tree.base, specs, stop, place, in_use)
            except PhaseFailed as error:
                # Missing credentials are not the author's fault: a person must decide.
                lacks_credentials = isinstance(error, CredentialsWithheld)
                if error.code is not ErrorCode.SETUP_FAILED or tree.commit == tree.base or lacks_credentials:
                    raise
                # Set-up works on the base, or the task would have stopped there: the change broke it.
                setup_error = f"{error.what}\n{error.output}"
                environment, origins = self._select_environment(tree.base, tree.base, specs, stop, place, in_use)
            tested_tree = in_use.enter_context(self._tree(tree.commit, tree.label, environment, task=tree.task))
            failure = setup_error or self._build(
                tested_tree, tree.base, self._variables(tested_tree, env), stop, out_dir
            )
            yield CheckContext(
                tested_tree.files,
                partial(self._variables, tested_tree),
                tested_tree.placement,
                origins.packages,
                environment.warnings,
                failure,
                # With overlays each run has its own layer.
                (lambda: None) if tested_tree.overlays else remember_tree(tested_tree.files),
            )

    def _environments(self, base: str, stop: StopToken | None, out_dir: Path) -> CheckEnvironments:
        return CheckEnvironments(
            project=self.project,
            cache=self.home / "environments" / self.key,
            setup=self.setup,
            found_setup=self.found_setup,
            confined=self.sandbox is not None,
            run_setup=lambda command, commit, credentials: self._run_setup(command, commit, credentials, stop, out_dir),
            builds=self.build_for(base) is not None,
            lock=self.lock,
            automatic=self.automatic,
            variables=self.isolation_env,
        )

    @contextmanager
    def _tree(
        self, commit: str, label: str, environment: CheckEnvironment, *, direct: bool = False, task: str = ""
    ) -> Iterator[CheckTree]:
        """Without a sandbox, trees with an environment made by set-up use one path, one after another.

        Virtual environments and generated files contain the path for which they were made.
        """
        place = (self.place or self.home / "throwaway" / self.key) / label
        tree_lock: AbstractContextManager[None] = nullcontext()
        if self.sandbox is None and (direct or environment.layer):
            place, tree_lock = self.setup_path, self.lock(f"tree-{self.key}")
        task_tree = TaskTree.of(self.project, task, self.home / "snapshots" / self.key / task) if task else None
        with (
            tree_lock,
            environment_in_use(environment.layer),
            check_tree(
                self.project,
                commit,
                place,
                environment,
                self.sandbox,
                direct=direct,
                task_tree=task_tree,
                adds_files=bool(self.copies),
            ) as tree,
        ):
            copy_ignored_files(self.project.root, self.copies, tree.files)
            yield tree

    def _shared_variables(self) -> dict[str, str]:
        """`isolation.env` for shared work: the environment that set-up makes, and the query of import origins."""
        return fill_isolation_env(self.isolation_env.items(), task="setup", agent="setup", cycle=0)

    def _variables(self, tree: CheckTree, extra: Mapping[str, str]) -> dict[str, str]:
        env = check_environment(os.environ, extra=extra)
        return env | {"PATH": tree.path_variable(env["PATH"])}

    def gives_credentials(self, tree: CheckedCommit) -> bool:
        """True if set-up of this tree gets the credentials of package indexes."""
        return self.setup_credentials == "always" or tree.commit == tree.base

    @contextmanager
    def _run_setup(
        self, command: Command, commit: str, credentials: bool, stop: StopToken | None, out_dir: Path
    ) -> Iterator[SetUpFiles]:
        credentials = credentials or self.setup_credentials == "always"
        self.note("Setting up the environment of the checks…")
        empty = CheckEnvironment("")
        with self._tree(commit, f"setup-{commit[:16]}", empty, direct=True) as tree:
            spec = CheckSpec("setup", command, timeout_seconds=SETUP_SECONDS)
            variables = setup_environment(os.environ, extra=self._shared_variables(), credentials=credentials)
            env = variables | {"PATH": tree.path_variable(variables["PATH"])}
            place = tree.placement(env, index_settings(Path.home(), credentials=credentials))
            (report,) = run_checks(
                [spec], place=place, out_dir=out_dir, env=env, stop=stop, clean_output=_without_secrets
            )
            if stop and stop.requested:
                raise PhaseFailed(ErrorCode.INTERRUPTED, "Set-up was stopped.", hint="Run `burnish run` to continue.")
            if report.status is not CheckStatus.PASSED:
                output = report.tail or report.error
                raise setup_failure(report.exit_code, output, credentials=credentials, folders=(self.home,))
            yield SetUpFiles(tree.files, tree.home_parts)

    def _build(self, tree: CheckTree, base: str, env: Mapping[str, str], stop: StopToken | None, out_dir: Path) -> str:
        """Run `checks.build` on this tree; returns why it failed, or ""."""
        failure = self.run_build(base, tree.placement(env), env, stop, out_dir)
        tree.keep_build("build")
        return failure

    def run_build(
        self, base: str, place: Placement, env: Mapping[str, str], stop: StopToken | None, out_dir: Path
    ) -> str:
        """Run `checks.build` there; returns why it failed, or ""."""
        command = self.build_for(base)
        if not command:
            return ""
        spec = CheckSpec("build", command, timeout_seconds=SETUP_SECONDS)
        (report,) = run_checks([spec], place=place, out_dir=out_dir, env=env, stop=stop, clean_output=_without_secrets)
        return "" if report.status is CheckStatus.PASSED else f"checks.build failed: {report.error or report.tail}"

    def _prove(
        self, environment: CheckEnvironment, commit: str, specs: Sequence[CheckSpec], stop: StopToken | None
    ) -> Origins:
        """Query the interpreter of each test command for the origin of the packages, up to the first problem."""
        paths = list_files(self.project, commit)
        projects = project_names(read_files(self.project, commit, dependency_paths(paths)))
        found: dict[str, str] = {}
        for spec in specs:
            if runs_tests(spec):
                origins = self._query_origins(environment, commit, spec, (paths, projects), stop)
                found |= dict(origins.packages)
                if origins.problem:
                    return Origins(tuple(found.items()), origins.problem)
        return Origins(tuple(found.items()))

    def _query_origins(
        self,
        environment: CheckEnvironment,
        commit: str,
        test: CheckSpec,
        tree: tuple[Sequence[str], Sequence[str]],
        stop: StopToken | None,
    ) -> Origins:
        """The answer for one test command, stored for the environment. `tree`: its files and its projects."""
        paths, projects = tree
        spec = question_spec(test, paths, projects)
        if spec is None:
            return Origins()
        digest = self._question_digest(environment, commit, test, tree)
        proof_file = self.home / "environments" / self.key / f".proof-{digest}"
        # One task runs the query, the others wait for the answer.
        with self.lock(f"proof-{digest}"):
            if proof_file.is_file():
                return _decode_origins(proof_file.read_text("utf-8"))
            with self._tree(commit, f"origins-{digest}-{os.getpid()}", environment) as tested_tree:
                env, out_dir = self._variables(tested_tree, self._shared_variables()), tested_tree.scratch / "out"
                (report,) = run_checks([spec], place=tested_tree.placement(env), out_dir=out_dir, env=env, stop=stop)
                output = output_of(report)
            origins = read_origins(output, test, paths, error=no_answer(report))
            if report.status is CheckStatus.PASSED:
                proof_file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                write_whole(proof_file, json.dumps([origins.packages, origins.problem]).encode())
        return origins

    def _question_digest(
        self, environment: CheckEnvironment, commit: str, test: CheckSpec, tree: tuple[Sequence[str], Sequence[str]]
    ) -> str:
        """A hash of everything that affects the answer: paths and content of its files, and which of them are links."""
        paths, projects = tree
        names = (*PYTEST_SETTINGS, "conftest.py")
        settings = [path for path in paths if path.rpartition("/")[2] in names]
        texts = {
            path: hashlib.sha256(data or b"").hexdigest()
            for path, data in read_files(self.project, commit, settings).items()
        }
        packages = sorted(path for path in paths if path.rpartition("/")[2] == "__init__.py")
        # the tree, as for the guard: it is listed once
        files = list_links(self.project, read_commit(self.project, commit).tree)
        links = sorted((path, target) for path, target in files.items() if target)
        facts = [environment.fingerprint, test.words, packages, projects, sorted(texts.items()), links, QUESTION_FORM]
        words = json.dumps([*facts, sorted(self._shared_variables().items())])
        return hashlib.sha256(words.encode()).hexdigest()[:32]


# What Python before 3.8 prints, for which the query is not written.
_OLD_PYTHON = re.compile(r"SyntaxError|No module named '?importlib\.metadata|future feature annotations")
_NOT_STARTED = (126, 127)


def no_answer(report: CheckReport) -> str:
    """Why an interpreter that was started did not answer the query; "" if it did, or could not be started."""
    if report.error.startswith(TIMED_OUT):
        return "it did not answer in time"
    has_crashed = report.status is CheckStatus.FAILED and report.exit_code not in _NOT_STARTED
    if not has_crashed or _OLD_PYTHON.search(report.tail):
        return ""
    return next(iter(report.tail.strip().splitlines()[-1:]), f"exit code {report.exit_code}")


def output_of(report: CheckReport) -> str:
    return Path(report.output_path).read_text("utf-8", "replace") if report.output_path else ""


def _is_deleted(environment: CheckEnvironment) -> bool:
    """True if `burnish clean` removed an environment that this process has cached."""
    return environment.layer is not None and not environment.layer.is_dir()


def tests_are_automatic(config: Config) -> bool:
    return config.checks.test is not None and config.checks.test.command == "auto"


def found_commands(project: Project, commit: str) -> dict[tuple[str, ...], Command]:
    """The commands that `init` would write for the files of a commit, by setting."""
    from burnish.checks.discover import decide, discover  # the rules of all languages: slow to load

    paths = list_files(project, commit)
    contents = Contents(project, commit, paths)
    around = detection_context(project.root, FoundRepository(project.root, project.git_dir, project.common_dir))
    choices = decide(discover(paths, lambda path: decode_text(contents.get(path)), around))
    return {choice.key: choice.value for choice in choices}


def decode_text(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="replace")


def _without_secrets(folder: Path) -> None:
    redact_folder(folder, secrets_from_environment())


def _decode_origins(text: str) -> Origins:
    packages, problem = json.loads(text)
    return Origins(tuple((str(name), str(place)) for name, place in packages), str(problem))


def raise_if_stopped(stop: StopToken) -> None:
    """Raise if a stop was requested: the output of a stopped check is not a result."""
    if stop.requested:
        raise PhaseFailed(ErrorCode.INTERRUPTED, "The checks were stopped.", hint="Run `burnish run` to continue.")
