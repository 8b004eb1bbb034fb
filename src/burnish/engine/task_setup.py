"""Getting a task's workspace ready, the first time and after a crash."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from burnish.core.check import CheckReport
from burnish.core.commit import Base, Commit
from burnish.core.event import Event, RecordedEvent
from burnish.core.journal import read
from burnish.core.journal_events import RUN_SETTINGS, BaselineCaptured, PhaseRescued, RunStarted, new_event
from burnish.core.policy import CheckSpec, Policy, fill_isolation_env
from burnish.core.status import ErrorCode, Status
from burnish.core.task import Task, TaskType
from burnish.engine.before_paying import refuse_missing_agents, usable_checks
from burnish.engine.ports import CheckedCommit, CheckPlace, Deps
from burnish.engine.ports_git import TaskWorkspace
from burnish.engine.shared_branch import continued, tip_to_continue
from burnish.engine.transitions import first_findings, status_events
from burnish.errors import PhaseFailed
from burnish.review.records import render_baseline_json

# When one of these changes, `workspace.setup` runs again.
LOCK_FILES = [
    "requirements.txt",
    "pyproject.toml",
    "uv.lock",
    "poetry.lock",
    "Pipfile.lock",
    "package.json",
    "package-lock.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    "bun.lockb",
    "go.sum",
    "Cargo.lock",
    "Gemfile.lock",
    "pom.xml",
    "build.gradle",
]


# Names of files that `workspace.setup` made and that are never committed; they are not reported as left out.
SETUP_FILES = "laid-by-setup"


@dataclass(frozen=True, slots=True)
class TaskSetup:
    """Where one task is worked on."""

    task_id: int
    policy: Policy
    base: Base
    workspace: TaskWorkspace
    # the commit that the workspace was reset to, if it has not been changed since
    untouched: set[str] = field(default_factory=set)

    def check_out(self, commit: str) -> None:
        """Reset the workspace to that commit, unless it is unchanged since the last reset."""
        if commit not in self.untouched:
            self.workspace.reset_to(commit, base=self.base)
        self.untouched.clear()

    def head(self) -> Commit:
        head = self.workspace.head()
        if head is None:
            raise PhaseFailed(
                ErrorCode.GIT_ERROR,
                "The task's branch is gone.",
                hint="`burnish retry` brings it back, or continues from the last commit that can be read.",
            )
        return head

    def head_tree(self, label: str) -> CheckedCommit:
        """The newest commit, to be checked."""
        return CheckedCommit(self._plain(self.head().sha), self._plain(self.base.commit), label)

    def base_tree(self, label: str) -> CheckedCommit:
        base = self._plain(self.base.commit)
        return CheckedCommit(base, base, label)

    def _plain(self, commit: str) -> str:
        return self.workspace.plain(commit)


def prepare(deps: Deps, task: Task, policy: Policy) -> tuple[Task, TaskSetup]:
    """The workspace of a task that is to be run, whatever state it was left in."""
    refuse_missing_agents(deps, task, policy)
    for note in policy.notes if task.status is Status.BACKLOG else ():
        deps.progress.note(f"Task {task.id}: {note}")
    task = begin(deps, task, policy) if task.status is Status.BACKLOG or not task.base else task
    deps.failpoint("run-started")
    base = deps.repository.base_of(task)
    workspace = deps.repository.workspace(task)
    deps.task_files.wait_for_orphans(task)
    setup = TaskSetup(task.id, policy, base, workspace)
    if task.commit:
        setup.head()  # a branch that is gone is not made again in silence
    new_heads = _make(workspace, _start(deps, task, policy, base))
    if new_heads:
        # an older workspace may have been set up; this one was not
        deps.task_files.stamp(task, "setup", "")
    setup.untouched.update(new_heads)
    if workspace.moved_to:
        data = PhaseRescued(task.phase or "run", folder=str(workspace.moved_to))
        task = deps.record(task, new_event("phase.rescued", data, run=task.run, cycle=task.cycle))
    deps.repository.bring(workspace.path)
    deps.failpoint("workspace-created")
    if task.spec.type in (TaskType.IMPLEMENT, TaskType.IMPROVE):
        set_up(deps, task, setup)
        capture_baseline(deps, task, only(setup, [s for s in setup.policy.checks if not s.paths]))
        setup = without_unusable(deps, task, setup)
    return task, setup


def on_base(deps: Deps, setup: TaskSetup) -> TaskSetup:
    """The same place, from where its change begins now."""
    task = deps.event_log.task(setup.task_id)
    base = deps.repository.base_of(task)
    if base == setup.base:
        return setup
    setup = replace(setup, base=base)
    capture_baseline(deps, task, only(setup, [s for s in setup.policy.checks if not s.paths]))
    return without_unusable(deps, task, setup)


def only(setup: TaskSetup, checks: Iterable[CheckSpec]) -> TaskSetup:
    """The same place with some of its checks; those with `paths` wait until it is known what the change touches."""
    return replace(setup, policy=replace(setup.policy, checks=tuple(checks)))


def without_unusable(deps: Deps, task: Task, setup: TaskSetup) -> TaskSetup:
    """The same place with the checks that can be run; raises where one that counts cannot be run at the base."""
    at_base = {s.name: deps.event_log.baseline(setup.base.tree, s.words) for s in setup.policy.checks}
    checks = usable_checks(deps, task, setup.policy.checks, at_base)
    return setup if checks == setup.policy.checks else replace(setup, policy=replace(setup.policy, checks=checks))


def _make(workspace: TaskWorkspace, base: Base) -> set[str]:
    """The directory, if it is not there: at the branch's tip where there is one. Returns what it was put at."""
    head = workspace.head()
    if head is None:
        workspace.create(base)
        return {base.commit}
    if not workspace.exists():
        workspace.reset_to(head.sha, base=base)
        return {head.sha}
    return set()


def begin(deps: Deps, task: Task, policy: Policy) -> Task:
    """A new run: where it starts is decided and written down before anything is made."""
    other = continued(deps.event_log, task)
    if task.spec.type is TaskType.REVIEW:
        base: Base | None = under_review(deps, task, policy)[0]
    elif other:
        base = tip_to_continue(deps, task, other)
    else:
        base = deps.repository.base(task.spec.base_ref or policy.base_ref, unmerged_tips(deps, task))
    if base is None:
        names = ", ".join(str(i) for i in task.spec.depends_on)
        raise PhaseFailed(
            ErrorCode.GIT_ERROR,
            f"The branches of tasks {names} do not merge cleanly, so task {task.id} cannot start from all of them.",
            hint="Merge them by hand (`burnish merge`), then `burnish retry` this one.",
        )
    number = task.run + 1
    data = RunStarted(
        run=number,
        branch=(other and other.branch) or f"burnish/{task.name}",
        target=base.target,
        base=base.commit,
        max_cycles=policy.max_cycles,
        auto_review=policy.auto_review,
        agent=policy.agent,
        model=policy.model,
        runner=deps.runner,
    )
    start_event = new_event("run.started", data, run=number, explicit=RUN_SETTINGS)
    first = status_events(task, Status.IN_PROGRESS, cycle=0) if task.status is not Status.IN_PROGRESS else None
    findings = first_findings(deps.event_log, task, number)
    return deps.record(task, *(e for e in (start_event, first) if e), *findings)


def _start(deps: Deps, task: Task, policy: Policy, base: Base) -> Base:
    """Where its branch begins: at the base, but a review's at the head that it looks at."""
    if task.spec.type is not TaskType.REVIEW or deps.repository.workspace(task).tip():
        return base
    return under_review(deps, task, policy)[1]


def under_review(deps: Deps, task: Task, policy: Policy) -> tuple[Base, Base]:
    """What a `review` task compares: base and head. The head is another task's branch, or a branch of the user's."""
    ref = task.spec.base_ref or policy.base_ref
    if task.spec.of is not None and deps.event_log.task(task.spec.of).commit:
        other = deps.event_log.task(task.spec.of)
        head = deps.repository.base(other.commit, ())
        base = deps.repository.base(other.base, ()) if ref is None else deps.repository.fork(str(other.commit), ref)
    else:
        head, base = deps.repository.base(None, ()), None
        if head and ref:
            named_base, base = deps.repository.base(ref, ()), deps.repository.fork(head.commit, ref)
            if named_base and base and base.commit == head.commit:
                # it was the head that was named: it goes beyond where the user stands
                head = named_base
    if head is None or base is None or base.commit == head.commit:
        raise PhaseFailed(
            ErrorCode.CONFIG_ERROR,
            f"Task {task.id} has nothing to review: no branch, or one that does not differ from its base.",
            hint="Say which: `burnish add … -t review --of ID`, or --base REF for what is to be compared.",
        )
    return base, head


def unmerged_tips(deps: Deps, task: Task) -> list[str]:
    """Commits of the tasks this one builds on; a plan has none."""
    tips = []
    for number in task.spec.depends_on:
        other = deps.event_log.task(number)
        if other.branch and other.commit and other.status is not Status.COMPLETED:
            tips.append(other.commit)
    return tips


def set_up(deps: Deps, task: Task, setup: TaskSetup) -> None:
    """`workspace.setup`, once, and again when a lock file has changed."""
    if not setup.policy.setup:
        return
    mark = _setup_mark(setup)
    if deps.task_files.stamp(task, "setup") == mark:
        return
    deps.progress.note(f"Task {task.id}: setting up the workspace…")
    if not _furnish(deps, task, setup):
        run_setup_in(deps, task, setup, setup.workspace.path, "setup", setup.head_tree(f"{task.name}-setup"))
    setup.workspace.remove_junk()
    if deps.task_files.stamp(task, SETUP_FILES) is None:
        deps.task_files.stamp(task, SETUP_FILES, "\0".join(deps.repository.left_out(setup.workspace)))
    deps.task_files.stamp(task, "setup", mark)


def _furnish(deps: Deps, task: Task, setup: TaskSetup) -> bool:
    """Give the author the environment that the checks have, where one was made; set-up is not run a second time."""
    if setup.policy.checks_where != "clean":
        return False
    out_dir, checks = deps.task_files.out_dir(task, 0, "setup"), setup.policy.checks
    tree = setup.head_tree(f"{task.name}-setup")
    return deps.checks(task.id).furnish(setup.workspace.path, checks, tree, out_dir=out_dir)


def run_setup_in(deps: Deps, task: Task, setup: TaskSetup, files: Path, label: str, tree: CheckedCommit) -> None:
    if not setup.policy.setup:
        return
    out_dir = deps.task_files.out_dir(task, 0, label)
    env = isolation_env(setup.policy, task, "setup")
    deps.checks(task.id).set_up(setup.policy.setup, tree, cwd=files, out_dir=out_dir, env=env)


def _setup_mark(setup: TaskSetup) -> str:
    head = setup.head()
    found = setup.workspace.read(head.sha, LOCK_FILES)
    digest = hashlib.sha256(repr(setup.policy.setup).encode())
    for name in LOCK_FILES:
        digest.update(name.encode() + (found.get(name) or b"-"))
    return digest.hexdigest()


def capture_baseline(deps: Deps, task: Task, setup: TaskSetup) -> None:
    """Every check at the base commit, shared by all tasks that start from the same tree."""
    if not setup.policy.checks:
        return
    environment = baseline_environment(deps, setup)
    if _missing(deps, setup, environment):
        _capture(deps, task, setup, environment)
    write_baseline(deps, task, setup, environment)


def _missing(deps: Deps, setup: TaskSetup, environment: str) -> list[CheckSpec]:
    checks, tree = setup.policy.checks, setup.base.tree
    # what could not be run then may be installed by now
    return [spec for spec in checks if not _is_known(deps.event_log.baseline(tree, spec.words, environment))]


def _capture(deps: Deps, task: Task, setup: TaskSetup, environment: str) -> None:
    # One of several tasks does it, the others wait for the result.
    with deps.task_files.lock(f"baseline-{setup.base.tree[:16]}"):
        specs = _missing(deps, setup, environment)
        if not specs:
            return
        deps.progress.note(f"Task {task.id}: running the checks on the base for comparison…")
        out_dir, env = deps.task_files.out_dir(task, 0, "baseline"), isolation_env(setup.policy, task, "baseline")
        checks = deps.checks(task.id)
        # the same copy as for the checks of the change, so that only files that differ are written for these
        tree = replace(setup.base_tree(f"{task.name}-baseline"), task=task.name)
        with check_place(deps, task, setup, specs, tree, out_dir, env) as place:
            # what checks leave on the base is not shown
            reports = checks.run([replace(spec, evidence=()) for spec in specs], place=place, out_dir=out_dir, env=env)
            for spec, first in zip(specs, reports, strict=True):
                # A failure by chance would excuse a real one later, for every task that starts from this tree.
                report = checks.confirm_failures(spec, first, place=place, out_dir=out_dir, env=env)
                deps.event_log.save_baseline(setup.base.tree, spec.words, environment, report, place.origins)
                deps.record(task, baseline_event(task, setup.base, report, environment, place.origins))


def baseline_environment(deps: Deps, setup: TaskSetup) -> str:
    """What decides about the result of the checks beside the tree of the base: a baseline holds only for the same."""
    if setup.policy.checks_where != "clean":
        found = deps.checks(setup.task_id).folder_environment(setup.policy.checks, setup.base_tree("baseline"))
        return hashlib.sha256(repr((found, setup.policy.setup, setup.policy.isolation_env)).encode()).hexdigest()
    task = deps.event_log.task(setup.task_id)
    out_dir = deps.task_files.out_dir(task, 0, "setup")
    return deps.checks(task.id).environment(setup.policy.checks, setup.base_tree("baseline"), out_dir=out_dir)


def write_baseline(deps: Deps, task: Task, setup: TaskSetup, environment: str) -> None:
    """`baseline-tests.json`, also where another task ran the tests on this tree."""
    spec = next((spec for spec in setup.policy.checks if spec.name == "test"), None)
    report = deps.event_log.baseline(setup.base.tree, spec.words, environment) if spec else None
    if report is None:
        return
    events = [e for e in deps.event_log.events(task.id) if e.type == "baseline.captured"]
    test_events = [e for e in events if _is_test_of(e, setup.base.tree)]
    if not test_events:
        deps.record(task, baseline_event(task, setup.base, report, environment, is_shared=True))
        test_events = [e for e in deps.event_log.events(task.id) if e.type == "baseline.captured"]
    text = render_baseline_json(setup.base.commit, setup.base.tree, report, test_events[-1].ts)
    deps.task_files.write(task, "baseline-tests.json", text.encode())


def _is_test_of(event: RecordedEvent, tree: str) -> bool:
    baseline = read(BaselineCaptured, event.data)
    return baseline.check == "test" and baseline.tree == tree


def _is_known(report: CheckReport | None) -> bool:
    return report is not None and not report.unknown


@contextmanager
def check_place(
    deps: Deps,
    task: Task,
    setup: TaskSetup,
    specs: Sequence[CheckSpec],
    tree: CheckedCommit,
    out_dir: Path,
    env: Mapping[str, str],
) -> Iterator[CheckPlace]:
    """Where checks run on a commit that is not in the workspace."""
    checks = deps.checks(task.id)
    if setup.policy.checks_where == "clean":
        with checks.on(specs, tree, out_dir=out_dir, env=env) as place:
            yield place
        return
    with deps.repository.throwaway(tree.commit, tree.label) as files:
        run_setup_in(deps, task, setup, files, "baseline-setup", replace(tree, label=f"{task.name}-setup"))
        with checks.inside(specs, tree, folder=files, env=env) as place:
            yield place


def serial_checks(deps: Deps, policy: Policy) -> AbstractContextManager[None]:
    """With `isolation.strategy: serialized`, one task of the project at a time."""
    return deps.task_files.lock("checks") if policy.isolation == "serialized" else nullcontext()


def baseline_event(
    task: Task,
    base: Base,
    report: CheckReport,
    environment: str = "",
    origins: tuple[tuple[str, str], ...] = (),
    *,
    is_shared: bool = False,
) -> Event:
    """`shared`: another task ran the checks on this tree."""
    data = BaselineCaptured(
        check=report.name,
        commit=base.commit,
        tree=base.tree,
        command=report.command,
        status=report.status,
        failed=-1 if (failure_count := report.failed_count) is None else failure_count,
        error=report.error,
        flaky=report.flaky,
        environment=environment[:16],
        origins=dict(origins),
        shared=is_shared,
    )
    return new_event("baseline.captured", data, run=task.run)


def isolation_env(policy: Policy, task: Task, agent: str) -> dict[str, str]:
    """`isolation.env` for one phase of a task."""
    return fill_isolation_env(policy.isolation_env, task=str(task.id), agent=agent, cycle=task.cycle)
