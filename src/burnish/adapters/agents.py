"""The engine's ports for agents and checks, for one task, with the task's stop token."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from burnish.adapters import redaction as discretion
from burnish.adapters.checks.checkout_paths import refuse_absolute_paths
from burnish.adapters.checks.environments import CheckEnvironment, setup_failure, workspace_environment
from burnish.adapters.checks.guarding import guard_change, tests_edited_by
from burnish.adapters.checks.moved_environment import MadeEnvironment
from burnish.adapters.checks.stored_environments import environment_in_use
from burnish.adapters.checks.tree_checks import SETUP_SECONDS, CheckContext, TreeChecks, raise_if_stopped
from burnish.adapters.checks.trees import copy_below
from burnish.adapters.checks.workspace_checks import WorkspaceTree, other_tree_imported, workspace_tree
from burnish.adapters.sandbox import OPEN, SandboxPolicy
from burnish.agents.call_command import OnSetback
from burnish.agents.runner import AgentRunner
from burnish.checks.environment import index_settings, setup_environment
from burnish.checks.flakes import Run as Rerun
from burnish.checks.flakes import confirm_failures, flaky_failures
from burnish.checks.outcome import error_report
from burnish.checks.run import run_checks
from burnish.core.agent import AgentReply, AgentRequest, Use
from burnish.core.base_tests import EditedTests
from burnish.core.change import Change
from burnish.core.check import CheckReport, CheckStatus, Comparison, TestFailure, compare
from burnish.core.error_lines import last_lines
from burnish.core.finding import Remark
from burnish.core.policy import CheckSpec
from burnish.core.secrets import Secrets
from burnish.core.text_encoding import escape_hidden_text
from burnish.engine.ports import Beyond, CheckedCommit, CheckPlace, Reads
from burnish.errors import PhaseFailed
from burnish.proc.file_systems import full_disk_failure
from burnish.proc.run import StopToken


@dataclass
class StopTokens:
    """One token per running task, and a way to stop all of them."""

    asked: bool = False
    tokens: dict[int, StopToken] = field(default_factory=dict)
    everything: StopToken = field(default_factory=StopToken)
    # no further task starts; what is at work goes on to its end
    is_draining: bool = False

    @property
    def is_closed(self) -> bool:
        """True if no further task may start."""
        return self.asked or self.is_draining

    def of(self, task_id: int) -> StopToken:
        if task_id not in self.tokens:
            token = StopToken()
            self.tokens[task_id] = token
            if self.asked:
                token.request()
        return self.tokens[task_id]

    def stopped(self) -> frozenset[int]:
        """The tasks with a requested stop, whether they had started or not."""
        return frozenset(id for id, token in list(self.tokens.items()) if token.requested)

    def forget(self, task_id: int) -> None:
        """The task may be run again."""
        if not self.asked:
            self.tokens.pop(task_id, None)

    def request(self, *, now: bool = False) -> None:
        self.asked = True
        self.everything.request(now=now)
        for token in list(self.tokens.values()):
            token.request(now=now)


@dataclass(frozen=True, slots=True)
class TaskAgents:
    runner: AgentRunner
    # Held by the shims of a task; None for a review without a task, since nothing waits for its shims.
    lock_file: Path | None
    secrets: Secrets = field(default_factory=discretion.secrets_from_environment)
    confinement: SandboxPolicy = OPEN
    # Called with each reply, to record its cost.
    paid: Callable[[AgentRequest, AgentReply], None] = lambda request, reply: None

    def call(
        self,
        request: AgentRequest,
        *,
        on_output: Callable[[str], None] | None = None,
        beyond: Beyond | None = None,
        on_setback: OnSetback = lambda setback: None,
    ) -> AgentReply:
        """Call the agent. Redacts secrets in the prompt, in progress output, in the reply and in the call's files.

        The prompt has no text that a person cannot see on a screen.
        """
        self.confinement.require()
        clean_request = replace(request, prompt=escape_hidden_text(self.secrets.redact(request.prompt)))
        tell = discretion.redacting_listener(self.secrets, on_output) if on_output else None
        try:
            reply = self.runner.call(
                clean_request, on_output=tell, lock_file=self.lock_file, beyond=beyond, on_setback=on_setback
            )
        except PhaseFailed as failure:
            raise discretion.clean_failure(self.secrets, failure) from failure.__cause__
        finally:
            discretion.redact_folder(request.call_dir, self.secrets)
        self.paid(request, reply)
        return discretion.clean_reply(self.secrets, reply)

    def unrecorded_use(self, request: AgentRequest) -> Use:
        return sum((one.use for one in self.runner.unrecorded_attempts(request)), Use())


@dataclass(frozen=True, slots=True)
class TaskChecks:
    trees: TreeChecks
    checkout: Path
    stop: StopToken
    lock_file: Path
    cap_bytes: int
    secrets: Secrets = field(default_factory=discretion.secrets_from_environment)
    confinement: SandboxPolicy = OPEN
    # most memory of one check
    memory_bytes: int | None = None

    def environment(self, specs: Sequence[CheckSpec], tree: CheckedCommit, *, out_dir: Path) -> str:
        return self.trees.baseline_key(self.prepared(specs, tree, out_dir=out_dir), tree.base)

    def prepared(self, specs: Sequence[CheckSpec], tree: CheckedCommit, *, out_dir: Path) -> CheckEnvironment:
        """The environment for the checks of a commit; runs set-up first if it is new."""
        with self._redacted_output(out_dir):
            environment, _ = self.trees.environment(tree.commit, tree.base, specs, self.stop, out_dir)
        return environment

    def furnish(self, workspace: Path, specs: Sequence[CheckSpec], tree: CheckedCommit, *, out_dir: Path) -> bool:
        if self.confinement.sandbox is None and not specs:
            return False  # No check needs an environment, so that set-up runs in the workspace alone.
        environment = self.prepared(specs, tree, out_dir=out_dir)
        with environment_in_use(environment.layer):
            if self.confinement.sandbox is None:
                # It was made at another path, which a virtual environment contains.
                return self._copy_moved(environment, workspace)
            if environment.layer:
                copy_below(environment.layer, workspace)
        return True

    def _copy_moved(self, environment: CheckEnvironment, workspace: Path) -> bool:
        if environment.layer is None:
            return False
        source = MadeEnvironment(environment.layer, self.trees.setup_path, environment.folders)
        return source.copy_to(workspace)

    @contextmanager
    def on(
        self, specs: Sequence[CheckSpec], tree: CheckedCommit, *, out_dir: Path, env: Mapping[str, str]
    ) -> Iterator[CheckContext]:
        with ExitStack() as stack:
            with self._redacted_output(out_dir):
                context = stack.enter_context(self.trees.on(specs, tree, out_dir=out_dir, env=env, stop=self.stop))
            yield context

    def folder_environment(self, specs: Sequence[CheckSpec], tree: CheckedCommit) -> str:
        if not specs:
            return ""
        return self.trees.baseline_key(workspace_environment(self.trees.project, tree.commit), tree.base)

    @contextmanager
    def inside(
        self, specs: Sequence[CheckSpec], tree: CheckedCommit, *, folder: Path, env: Mapping[str, str]
    ) -> Iterator[CheckContext]:
        with self._workspace(folder, tree.commit) as workspace:
            if workspace.sandbox is None:
                refuse_absolute_paths(self.trees.project, tree.commit, specs, self.trees.isolation_env)
            origins = workspace.origins(specs, tree.commit, env, self.stop)
            raise_if_stopped(self.stop)
            if origins.problem:
                is_confined, has_setup = workspace.sandbox is not None, self.trees.setup is not None
                raise other_tree_imported(origins.problem, is_confined=is_confined, has_setup=has_setup)
            failure = self._build_inside(workspace, tree, env) if specs else ""
            yield CheckContext(folder, workspace.variables, workspace.placement, origins.packages, failure=failure)

    def _build_inside(self, workspace: WorkspaceTree, tree: CheckedCommit, env: Mapping[str, str]) -> str:
        """Run `checks.build` in the workspace: what was built there before may be of other sources."""
        variables = workspace.variables(env)
        place, out_dir = workspace.placement(variables), workspace.scratch / "build"
        failure = self.trees.run_build(tree.base, place, variables, self.stop, out_dir)
        raise_if_stopped(self.stop)
        return self.secrets.redact(failure)

    def _workspace(self, folder: Path, commit: str = "") -> AbstractContextManager[WorkspaceTree]:
        place = self.trees.home / "throwaway" / self.trees.key
        return workspace_tree(self.trees.project, folder, self.confinement.require(), place, commit)

    def run(
        self, specs: Sequence[CheckSpec], *, place: CheckPlace, out_dir: Path, env: Mapping[str, str]
    ) -> tuple[CheckReport, ...]:
        assert isinstance(place, CheckContext)
        if place.failure:
            return tuple(error_report(spec, place.failure) for spec in specs)
        variables = place.variables(env)
        try:
            reports = run_checks(
                specs,
                place=place.placement(variables),
                out_dir=out_dir,
                env=variables,
                stop=self.stop,
                cap_bytes=self.cap_bytes,
                lock_file=self.lock_file,
                clean_output=partial(discretion.redact_folder, secrets=self.secrets),
                memory_bytes=self.memory_bytes,
            )
            refuse_on_full_disk(reports, (place.files, out_dir))
        except PhaseFailed as failure:
            raise discretion.clean_failure(self.secrets, failure) from failure.__cause__
        raise_if_stopped(self.stop)
        return tuple(discretion.clean_report(self.secrets, report) for report in reports)

    @contextmanager
    def _redacted_output(self, out_dir: Path) -> Iterator[None]:
        """Redact the output of programs; raise if they were stopped, since partial output is not a result."""
        try:
            yield
        except PhaseFailed as failure:
            raise discretion.clean_failure(self.secrets, failure) from failure.__cause__
        finally:
            discretion.redact_folder(out_dir, self.secrets)
        raise_if_stopped(self.stop)

    def compare(self, report: CheckReport, baseline: CheckReport | None) -> Comparison:
        return compare(report, baseline)

    def flaky_failures(
        self,
        spec: CheckSpec,
        report: CheckReport,
        failures: Sequence[TestFailure],
        *,
        place: CheckPlace,
        out_dir: Path,
        env: Mapping[str, str],
    ) -> frozenset[str]:
        assert isinstance(place, CheckContext)
        return flaky_failures(spec, report, failures, self._rerun(place, out_dir, env), root=place.files)

    def confirm_failures(
        self, spec: CheckSpec, report: CheckReport, *, place: CheckPlace, out_dir: Path, env: Mapping[str, str]
    ) -> CheckReport:
        assert isinstance(place, CheckContext)
        return confirm_failures(spec, report, self._rerun(place, out_dir, env), root=place.files)

    def _rerun(self, place: CheckContext, out_dir: Path, env: Mapping[str, str]) -> Rerun:
        """A function that runs a check again, with its output beside that of the first run."""

        def run(spec: CheckSpec, label: str) -> CheckReport:
            place.reset()
            (report,) = self.run([spec], place=place, out_dir=out_dir.with_name(f"{out_dir.name}-{label}"), env=env)
            return report

        return run

    def guard(
        self,
        change: Change,
        *,
        comparisons: tuple[Comparison, ...],
        old: Reads,
        new: Reads,
        levels: Mapping[str, str],
    ) -> tuple[Remark, ...]:
        return guard_change(self.trees, change, comparisons=comparisons, old=old, new=new, levels=levels)

    def edited_tests(
        self, change: Change, commands: Sequence[str], *, old: Reads, new: Reads
    ) -> tuple[EditedTests, ...]:
        return tests_edited_by(self.trees.project, change, commands, old=old, new=new)

    def command(
        self, command: str | tuple[str, ...], tree: CheckedCommit, *, cwd: Path, out_dir: Path, timeout: float
    ) -> tuple[int, str]:
        """Run a user's command as a check without a report."""
        spec = CheckSpec("command", command, timeout_seconds=timeout)
        with self.inside((), tree, folder=cwd, env={}) as place:
            (report,) = self.run([spec], place=place, out_dir=out_dir, env={})
        return _exit_and_tail(report)

    def set_up(
        self, command: str | tuple[str, ...], tree: CheckedCommit, *, cwd: Path, out_dir: Path, env: Mapping[str, str]
    ) -> None:
        """`workspace.setup` in a folder, with the user's package indexes.

        A `.venv` of the folder itself is not on its PATH, because set-up writes there when it runs again. In a sandbox
        the checkout's `.venv` is at the same path.
        """
        spec = CheckSpec("command", command, timeout_seconds=SETUP_SECONDS)
        credentials = self.trees.gives_credentials(tree)
        with self._workspace(cwd) as workspace:
            roots = () if workspace.sandbox else (self.checkout,)
            variables = setup_environment(os.environ, roots=roots, extra=env, credentials=credentials)
            place = workspace.placement(variables, index_settings(Path.home(), credentials=credentials))
            context = CheckContext(cwd, lambda _: variables, lambda _: place)
            (report,) = self.run([spec], place=context, out_dir=out_dir, env={})
        code, tail = _exit_and_tail(report)
        if code:
            raise setup_failure(code, tail, credentials=credentials, folders=(cwd, out_dir))


def refuse_on_full_disk(reports: Sequence[CheckReport], folders: Sequence[Path]) -> None:
    """Raise DISK_FULL if a check failed on a full disk, since its result is not valid.

    The output of a check counts only if it could not run: tests may print anything.
    """
    for report in reports:
        if report.status is not CheckStatus.PASSED:
            output = last_lines(report.tail or report.error) if report.status is CheckStatus.ERROR else ""
            if full := full_disk_failure(f"`{report.command}`", folders, output):
                raise full


def _exit_and_tail(report: CheckReport) -> tuple[int, str]:
    # a command in list form whose program is missing has no output, and the code that a shell would give
    missing = report.exit_code is None and not report.output_path
    code = 127 if missing else report.exit_code if report.exit_code is not None else 1
    return code, report.tail or report.error
