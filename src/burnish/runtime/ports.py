"""The engine's ports for one project, for a run, a preview or a decision."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from burnish.adapters.agents import StopTokens, TaskAgents, TaskChecks
from burnish.adapters.budget import BudgetTracker
from burnish.adapters.checks.tree_checks import TreeChecks, tests_are_automatic
from burnish.adapters.checks.trees import author_view
from burnish.adapters.configured_agents import missing_agent
from burnish.adapters.inprocess_reviewers import inprocess_reviewers
from burnish.adapters.redaction import RedactingProgress, secrets_from_environment
from burnish.adapters.sandbox import SandboxPolicy, checkout_link, other_checkouts, resolve_sandbox_policy
from burnish.adapters.task_files import IMAGES, HomeTaskFiles
from burnish.adapters.task_locks import renewing_lease
from burnish.agents.base import AgentSettings
from burnish.agents.limit_wait import LimitWait
from burnish.agents.runner import AgentRunner
from burnish.checks.installed import environment_folders
from burnish.cluster.task_share import TaskShare
from burnish.config.policy import author_of
from burnish.core.agent import Use
from burnish.core.event import RecordedEvent
from burnish.core.gate import Actor
from burnish.core.history import History
from burnish.core.override import OverrideReasons
from burnish.core.policy import Policy
from burnish.core.task import Task
from burnish.engine.followups import after_override
from burnish.engine.ports import Deps, FollowUp, Progress
from burnish.engine.worker_slots import WorkerSlots
from burnish.git.base import checkout_branch
from burnish.proc.identity import RunnerLock
from burnish.proc.memory import available_memory, is_memory_cap_available
from burnish.proc.mounts import TreeView
from burnish.proc.sandbox import Sandbox
from burnish.runtime.app import App
from burnish.runtime.requests import RunRequest
from burnish.runtime.tasks import add_task
from burnish.store import Store
from burnish.views.cost import usd_by_agent


class NullProgress:
    """Reports nothing."""

    def event(self, task: Task, event: RecordedEvent) -> None: ...
    def output(self, task_id: int, line: str) -> None: ...
    def spent(self, task_id: int, use: Use) -> None: ...
    def note(self, text: str) -> None: ...


def deps_for(app: App, request: RunRequest, progress: Progress, stops: StopTokens, runner: str) -> Deps:
    folder = app.home / "projects" / app.key / "tasks"
    task_files = HomeTaskFiles(folder, app.locks, stops.everything)
    reached = failpoint(os.environ.get("BURNISH_FAILPOINT", ""))
    share = task_share(app, progress.note, stops, folder, runner)
    share = replace(share, failpoint=reached) if share else None
    start = partial(checkout_branch, app.repo)
    event_log = replace(app.event_log, runner=runner, share=share, start_branch=start)
    cap = int(app.config.output_cap_mb * 1024 * 1024)
    agents = app.agent_settings()
    budget_tracker = _budget_tracker(app, request, agents)
    sandbox_policy = sandbox_policy_of(app)
    worker_slots = WorkerSlots()
    settings = app.config.limits
    limits = LimitWait(app.store.limits, quiet_hours=settings.quiet_hours, window_percent=settings.window_percent)

    def is_limited(task: Task) -> bool:
        entry = agents.get(author_of(app.config, task.spec, app.installed))
        return entry is not None and not entry.fallback and limits.current(entry) is not None

    trees = tree_checks(app, sandbox_policy.sandbox, task_files.lock, progress.note)
    if request.jobs > 1 and trees.takes_turns:
        progress.note("Without a sandbox, checks run for one task at a time: the environment contains its own path.")

    memory_bytes = app.config.machine.memory_bytes
    memory_cap = memory_bytes if memory_bytes and is_memory_cap_available() else None

    def has_room() -> bool:
        free_bytes = available_memory() if memory_bytes else None
        return memory_bytes is None or free_bytes is None or free_bytes >= memory_bytes

    def lock_file(task_id: int) -> str:
        return f"shims-{app.key}-{task_id}"

    def agents_for(task_id: int) -> TaskAgents:
        caller = AgentRunner(
            agents,
            checkout=app.repo.root,
            lock_dir=app.locks,
            cap_bytes=cap,
            stop=stops.of(task_id),
            sandbox=sandbox_policy.sandbox,
            programs=checkout_link(app.repo) if sandbox_policy.sandbox else None,
            author_view=partial(_author_view, app, task_id),
            redact=secrets_from_environment().redact,
            limits=replace(limits, idle=partial(worker_slots.idle, task_id)),
            memory_bytes=memory_cap,
        )
        return TaskAgents(caller, app.locks / lock_file(task_id), confinement=sandbox_policy, paid=budget_tracker.paid)

    def checks_for(task_id: int) -> TaskChecks:
        lock = app.locks / lock_file(task_id)
        return TaskChecks(
            trees,
            app.repo.root,
            stops.of(task_id),
            lock,
            cap,
            confinement=sandbox_policy,
            memory_bytes=memory_cap,
        )

    return Deps(
        event_log=event_log,
        repository=app.repository,
        agents=agents_for,
        checks=checks_for,
        task_files=task_files,
        progress=RedactingProgress(progress, event_log.secrets),
        policy_for=lambda task: task_policy(app, request, task),
        prompts=app.prompts,
        now=app.store.now,
        runner=runner,
        stopping=lambda task_id: stops.of(task_id).requested,
        failpoint=reached,
        budget_tracker=budget_tracker,
        add=partial(add_task, app),
        program=inprocess_reviewers(app.repo, agents, stops.everything, sandbox_policy),
        person=Actor(app.person, "gate"),
        missing_agent=lambda name: missing_agent(app.config, name),
        has_limits=lambda: bool(app.store.limits.usage_limits()),
        is_limited=is_limited,
        worker_slots=worker_slots,
        has_room=has_room,
        follow_up=follow_up(app),
        sandbox=sandbox_policy.name,
        rights=sandbox_policy.words,
    )


def task_share(app: App, note: Callable[[str], None], stops: StopTokens, folder: Path, runner: str) -> TaskShare | None:
    """How a runner shares the commits of tasks with other machines; None if this one works alone."""
    refs = app.shared_refs
    if refs is None:
        return None
    waits = partial(app.store.note_wait, runner, app.key)
    wait = lambda task_id, seconds: stops.of(task_id).wait(seconds)  # noqa: E731
    return TaskShare(refs, folder, app.home / IMAGES, note, wait, waits)


def _author_view(app: App, task_id: int, workspace: Path, scratch: Path) -> TreeView:
    base = app.store.task(app.key, task_id).base
    folders = environment_folders(app.repo.root, app.repository.files(base)) if base else ()
    return author_view(app.repo, folders, workspace, scratch)


def task_policy(app: App, request: RunRequest, task: Task) -> Policy:
    policy = app.policy(task)
    if request.no_review and not policy.review_required:
        policy = replace(policy, review_enabled=False)
    return replace(policy, hitl=request.hitl) if request.hitl else policy


def _budget_tracker(app: App, request: RunRequest, agents: Mapping[str, AgentSettings]) -> BudgetTracker:
    """The budget of this invocation, for all its tasks. A run with --watch leaves the reserve of the settings."""
    budget = app.config.budget
    usd, tokens = budget.session_usd, budget.session_tokens
    if request.watch and budget.reserve is not None:
        usd, tokens = budget.without_reserve()
    most = request.budget if request.budget is not None else usd
    has_reserve = (most, tokens) != (budget.session_usd, budget.session_tokens) and request.budget is None
    everywhere = _costs_everywhere(app) if app.store.is_shared else None
    tracker = BudgetTracker(
        agents,
        lambda: app.store.spent(app.key),
        most,
        tokens,
        has_reserve=has_reserve,
        on_all_machines=everywhere,
    )
    now = agent_costs(app) if request.agents_before else {}
    for name, before in (request.agents_before or {}).items():
        tracker.continue_agent(name, now.get(name, before) - before)
    return tracker.opened(request.spent_before)


def _costs_everywhere(app: App) -> Callable[[], Mapping[str, float]]:
    """What agents cost from now on, on all machines; counted again after each new event."""
    since, last_count = app.store.now(), [(-1, dict[str, float]())]

    def costs() -> Mapping[str, float]:
        newest = app.store.last_event(app.key)
        if last_count[0][0] != newest:
            last_count[0] = (newest, usd_by_agent(app.store.ended_phases(app.key, since)))
        return last_count[0][1]

    return costs


def agent_costs(app: App) -> dict[str, float]:
    """What agents with a budget have cost in this project so far, in USD."""
    if not any(entry.budget_usd is not None for entry in app.agent_settings().values()):
        return {}
    costs = usd_by_agent(app.store.tally([app.key]))
    return {name: costs.get(name, 0.0) for name, entry in app.agent_settings().items() if entry.budget_usd is not None}


def sandbox_policy_of(app: App) -> SandboxPolicy:
    """The sandbox policy for the tasks of a project; other checkouts that burnish knows are read-only."""
    repo = app.repo
    return resolve_sandbox_policy(
        app.config,
        checkout=repo.root,
        burnish_home=app.home,
        readable=(repo.common_dir,),
        read_only=other_checkouts(repo.common_dir, app.store.projects()),
        project=repo,
    )


def tree_checks(
    app: App,
    sandbox: Sandbox | None,
    lock: Callable[[str], AbstractContextManager[None]],
    note: Callable[[str], None] = lambda text: None,
) -> TreeChecks:
    """The tree checks for the tasks of a project."""
    return TreeChecks(
        project=app.repo,
        home=app.home,
        key=app.key,
        sandbox=sandbox,
        setup=app.config.workspace.setup,
        build=app.config.checks.build,
        found_setup=app.found_setup,
        found_build=app.found_build,
        lock=lock,
        automatic=tests_are_automatic(app.config),
        copies=tuple(app.config.workspace.copies),
        cap_bytes=int(app.config.output_cap_mb * 1024 * 1024),
        note=note,
        isolation_env=app.config.isolation.env,
        setup_credentials=app.config.workspace.setup_credentials,
    )


def follow_up(app: App) -> FollowUp:
    """A function that creates the follow-up task, once per run of a task."""

    def make(history: History, grounds: OverrideReasons) -> int:
        spec = after_override(history, grounds)
        ids = [task.id for task in app.store.tasks(app.key) if task.spec.follows == spec.follows]
        return ids[0] if ids else add_task(app, spec).id

    return make


def _runner_card(lock: RunnerLock) -> dict[str, object]:
    """A description of this runner, shown to users whose task it holds."""
    me = lock.runner
    return {
        "id": me.uuid,
        "pid": me.pid,
        "host": me.host,
        "user": me.user,
        "start_time": me.start_time,
        "boot_id": me.boot_id,
        "pid_namespace": me.pid_namespace,
        "command": secrets_from_environment().redact(" ".join(["burnish", *sys.argv[1:]]))[:200],
    }


@contextmanager
def registered_runner(store: Store, lock: RunnerLock, **more: object) -> Iterator[str]:
    """Record this runner, and renew its lease until the block ends. The value is its id."""
    runner = lock.runner.uuid
    store.register_runner(_runner_card(lock) | more)
    try:
        with renewing_lease(store, runner):
            yield runner
    finally:
        store.forget_runner(runner)


def failpoint(setting: str) -> Callable[[str], None]:
    """A function that kills this process at a named place: `name`, or `name:2` for the second time. For tests only.

    `name@stop` or `name:2@stop` stops it there until SIGCONT.
    """
    place_setting, _, action = setting.partition("@")
    name, _, nth = place_setting.partition(":")
    remaining = [int(nth or 1)]

    def reached(place: str) -> None:
        if place != name:
            return
        remaining[0] -= 1
        if remaining[0] == 0:
            os.kill(os.getpid(), signal.SIGSTOP if action == "stop" else signal.SIGKILL)

    return reached
