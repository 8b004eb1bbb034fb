"""`burnish run`: runs tasks until no task is ready."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from burnish.adapters.agents import StopTokens
from burnish.adapters.notifications import notifying
from burnish.adapters.sandbox import missing_paths
from burnish.agents.base import AgentSettings
from burnish.agents.countable import uncounted_tokens, uncounted_usd, uncounted_windows
from burnish.config.sections import BudgetSection
from burnish.core.agent import WINDOW_SETTING
from burnish.core.flow import RUNNING
from burnish.core.policy import Policy
from burnish.core.recorded_reviews import is_tested
from burnish.core.status import Status
from burnish.core.task import Task
from burnish.engine.archive import archive
from burnish.engine.commands import lifecycle as actions
from burnish.engine.commands.lifecycle import void_stale
from burnish.engine.human_gate import ask_person
from burnish.engine.loop import disk_trouble
from burnish.engine.pool import MET, Pool, Watch
from burnish.engine.ports import Deps, Gate, Progress
from burnish.engine.restore_approval import WHY as RESTORED
from burnish.engine.restore_approval import restore_approval
from burnish.engine.shared_branch import refuse_if_branch_held, refuse_if_branch_stuck
from burnish.errors import BurnishError, PhaseFailed, Refused
from burnish.features.run.repair import heal
from burnish.features.run.stop import remove_old_requests, take_request, take_task_requests
from burnish.git.base import uncommitted
from burnish.proc import clock
from burnish.proc.awake import KeepAwake
from burnish.proc.identity import hold
from burnish.proc.memory import is_memory_cap_available
from burnish.review.templates import check_commit_message
from burnish.runtime.lost_branches import settle_lost
from burnish.runtime.ports import deps_for, registered_runner, sandbox_policy_of, task_policy
from burnish.runtime.reader import refuse_inside_phase
from burnish.runtime.requests import RunReport, RunRequest
from burnish.runtime.signals import stopping_on_signals
from burnish.runtime.tasks import expire_waivers
from burnish.runtime.trust import current_trust

if TYPE_CHECKING:
    from burnish.runtime.app import App
    from burnish.store.approval_rows import RecordedApproval


def check(app: App, request: RunRequest) -> list[str]:
    """Refuse what cannot be run, before anything changes; what failed and was named is made ready.

    Returns what that changed besides the status.
    """
    if not request.dry_run:
        # The environment of the runner may change settings, and with them the reviewers.
        refuse_inside_phase()
        app.trust.require()
        sandbox_policy_of(app).require()
    refuse_uncounted(app.config.budget, _uncounted(app, request))
    if request.watch and request.budget is None:
        _refuse_whole_reserve(app.config.budget)
    return _check_ids(app, request)


def _uncounted(app: App, request: RunRequest) -> list[str]:
    policies = [task_policy(app, request, task) for task in _planned(app, request)]
    windows = [WINDOW_SETTING] if app.config.limits.window_percent is not None else []
    return uncounted_budgets(app.config.budget, request.budget, app.agent_settings(), policies, windows=windows)


def run_tasks(
    app: App, request: RunRequest, progress: Progress, gate: Gate | None = None, *, stops: StopTokens | None = None
) -> RunReport:
    """Run what is asked for; returns when it is done, waits for a person, or was stopped."""
    notes = check(app, request)
    if request.dry_run:
        return RunReport(planned=tuple(_planned(app, request)))
    stops = stops or StopTokens()
    with (
        disk_trouble(),
        hold(app.locks) as lock,
        stopping_on_signals(stops, _note_function(progress, gate)),
        registered_runner(app.store, lock, project=app.key) as runner,
        notifying(app.event_log, app.config.notify, progress, home=app.home, project=app.key) as notifying_progress,
    ):
        deps = deps_for(app, request, notifying_progress, stops, runner)
        report = _run(app, request, replace(deps, gate=gate), stops, notes)
        if request.watch:
            notifying_progress.notifier.run_finished(report.tasks, report.cost_usd)
        return report


def _note_function(progress: Progress, gate: Gate | None) -> Callable[[str], None]:
    """A note function that is silent at the gate, since no agent runs there."""
    return lambda text: None if gate and gate.asking else progress.note(text)


def _run(app: App, request: RunRequest, deps: Deps, stops: StopTokens, notes: list[str]) -> RunReport:
    notes = notes + before_run(app, deps, request)
    for note in notes:
        deps.progress.note(note)
    request = _at_gate(app, request, deps, stops)
    # without ids and without --all: the next ready task, one
    most = None if request.everything or request.ids or request.watch else 1
    pool = Pool(
        deps,
        list(request.ids) or None,
        most=most,
        stopping=lambda: stops.is_closed,
        out=_StopRequests(app, stops, deps.runner).stopped_ids,
    )
    if request.watch:
        is_trusted = StandingTrust(app, deps.progress.note).holds
        pool.watch = Watch(partial(retry_failed, app, deps), is_trusted, clock=clock.elapsed, readmit=stops.forget)
    with _watching(app, pool, stops, request.until, deps.runner) as requests:
        finished_tasks = pool.run(request.jobs)
    ended_by = requests[0] if requests else "signal" if stops.asked else "budget" if pool.spent else ""
    if not stops.asked:
        remove_old_files(app, deps)
    run_ids = {t.id for t in finished_tasks}
    other_tasks = [app.store.task(app.key, i) for i in request.ids if i not in run_ids]
    waiting = [(t, _why_waiting(app, t)) for t in other_tasks if t.status is Status.BACKLOG]
    settled_tasks = [t for t in other_tasks if t.status is not Status.BACKLOG]
    if request.everything or request.watch:
        unmet = {t.id for t, _ in app.store.waiting(app.key)} | app.event_log.later().keys()
        waiting += [(t, _why_waiting(app, t)) for t in app.store.tasks(app.key, ids=unmet)] if unmet else []
    if ended_by and (request.everything or request.watch):
        waiting += [(t, "the run ended first") for t in _ready(app, request) if t.id not in run_ids]
    all_tasks = (*finished_tasks, *settled_tasks)
    untested_ids = [
        t.id for t in all_tasks if t.status is Status.VERIFIED and not is_tested(app.event_log.history(t.id), t.cycle)
    ]
    return RunReport(all_tasks, tuple(waiting), tuple(notes), ended_by, frozenset(untested_ids), pool.cost_usd)


def remove_old_files(app: App, deps: Deps) -> None:
    """Remove old files from time to time. Errors do not change the result of the run."""
    from burnish.features.clean.automatic import clean_if_due

    with suppress(BurnishError, OSError):
        record = clean_if_due(app)
        if record:
            deps.progress.note(record.words)


def _at_gate(app: App, request: RunRequest, deps: Deps, stops: StopTokens) -> RunRequest:
    """Ask first about tasks whose gate was left without an answer; no work is repeated."""
    if deps.gate is None:
        return request
    ids = request.ids or None
    waiting = app.store.tasks(app.key, statuses=(Status.WAITING_APPROVAL,), ids=ids)
    ids_to_ask = [t.id for t in waiting if deps.policy_for(t).hitl != "off"]
    if not (request.ids or request.everything):
        ids_to_ask = ids_to_ask[:1]
    for number in ids_to_ask:
        if not stops.asked:
            # It is not claimed yet: a person's answer needs no claim.
            ask_person(replace(deps, event_log=app.event_log), number)
    return request if request.ids or request.everything or not ids_to_ask else replace(request, ids=tuple(ids_to_ask))


def _check_ids(app: App, request: RunRequest) -> list[str]:
    """A task that another runner holds is refused by name; one that failed goes on, since it was named."""
    tasks = [app.store.task(app.key, number) for number in request.ids]
    if app.config.commit.message:
        check_commit_message(app.config.commit.message)
    for task in tasks:
        refuse_if_branch_held(app.event_log, task)
        refuse_if_branch_stuck(app.event_log, app.repository, task)
        actions.refuse_paused(task)
        if task.status is Status.CANCELLED:
            raise Refused(f"Task {task.id} is cancelled.", hint=f"Restore and run it: burnish retry {task.id}")
    # only now, when nothing is refused any more, does anything change
    failed_tasks = [task for task in tasks if task.status is Status.FAILED and not request.dry_run]
    ready = [actions.retry(app.event_log, app.repository, task.id, by=app.person) for task in failed_tasks]
    return [f"Task {task.id}: {task.note}." for task in ready if task.note]


def _ready(app: App, request: RunRequest) -> list[Task]:
    """What could be run now, in order; without the long texts unless tasks were named."""
    statuses = (Status.BACKLOG, Status.IN_PROGRESS, Status.CODE_REVIEW)
    blocked_ids = {t.id for t, _ in app.store.waiting(app.key)}
    found = app.store.tasks(app.key, statuses=statuses, ids=request.ids or None, brief=not request.ids)
    tasks = [t for t in found if t.id not in blocked_ids and not t.is_paused]
    return sorted(tasks, key=lambda t: (-t.spec.priority, t.id))


def _planned(app: App, request: RunRequest) -> list[Task]:
    tasks = _ready(app, request)
    if request.ids:
        return tasks
    return [app.store.task(app.key, t.id) for t in (tasks if request.everything or request.watch else tasks[:1])]


def before_run(app: App, deps: Deps, request: RunRequest) -> list[str]:
    """Repair what an earlier run left, and return notes for the user."""
    notes = [deps.rights] if deps.rights else []
    missing = missing_paths(app.config) if app.config.sandbox.mode != "off" else ""
    notes += [f"Warning: {missing}."] if missing else []
    notes += _uncounted(app, request)
    notes += [f"The clock is moved by {clock.offset():g} seconds ({clock.VARIABLE})."] if clock.offset() else []
    if app.config.machine.memory_gb is not None and not is_memory_cap_available():
        notes.append("machine.memory_gb does not limit programs here: it needs `systemd-run --user --scope`.")
    if request.no_review and app.config.review.required:
        notes.append("--no-review has no effect while review.required is true (see burnish.yaml).")
    remove_old_requests(app.home, app.event_log.is_dead)
    if app.is_behind:
        # what is missing here is on another machine: nothing is judged by it
        return notes
    repair = heal(app)
    branches = settle_lost(app, repair.branches, repair.tips)
    notes += [*repair.notes, *branches.notes]
    if branches.had_unreadable and not repair.is_thorough:
        # objects are gone although the machine was not started again: other refs may have lost theirs, too
        repair = heal(app, thorough=True)
        branches = settle_lost(app, repair.branches, repair.tips)
        notes += [*repair.notes, *branches.notes]
    remove_idle_trees(app)
    for number in dict.fromkeys([*repair.unarchived, *deps.event_log.unarchived()]):
        task = deps.event_log.task(number)
        if app.shared_refs and not (app.task_folder(task) / "artifacts").is_dir():
            continue  # another machine has its files
        if task.branch and not (task.runner and task.status in RUNNING):
            with noting_failures(notes, task):
                archive(deps, deps.repository.workspace(task), task, task.cycle)
    notes += expire_waivers(app)
    notes += void_stale_approvals(app, branches.tips)
    for task in app.store.tasks(app.key, statuses=(Status.CODE_REVIEW,)):
        with noting_failures(notes, task):
            if restore_approval(app.event_log, app.repository, task, app.policy(task)):
                notes.append(f"Task {task.id} is approved again: {RESTORED}.")
    dirty = uncommitted(app.repo)
    if dirty:
        notes.append(f"{dirty} uncommitted path{'s' * (dirty != 1)} in your checkout will not be part of the task.")
    return notes


def _why_waiting(app: App, task: Task) -> str:
    unmet = [app.store.task(app.key, i) for i in task.spec.depends_on]
    names = [f"{t.id} ({t.status})" for t in unmet if t.status not in MET]
    if not names and (first := app.event_log.later().get(task.id)):
        return f"it continues the branch of {first} ({app.store.task(app.key, first).status}), which has none yet"
    return f"it depends on {', '.join(names)}" if names else "another task was run first"


@dataclass(slots=True)
class StandingTrust:
    """A run that stands for days starts new tasks only while its checkout is trusted as it is."""

    app: App
    note: Callable[[str], None]
    was_reported: bool = False

    def holds(self) -> bool:
        trust = current_trust(self.app.trust, self.app.home)
        if trust.is_trusted:
            self.was_reported = False
            return True
        if not self.was_reported:
            self.was_reported = True
            self.note(f"{trust.why.removesuffix(' Nothing was run.')} New tasks wait. {trust.remedy}")
        return False


def retry_failed(app: App, deps: Deps, task: Task) -> None:
    """Let a task go on that failed for a reason which may have passed."""
    with suppress(BurnishError):
        actions.retry(app.event_log, app.repository, task.id, by="burnish")
        deps.progress.note(f"Trying task {task.id} again after {task.error}.")


@dataclass(frozen=True, slots=True)
class _StopRequests:
    """What other terminals asked this run to stop, as it is known at the moment of the question."""

    app: App
    stops: StopTokens
    runner: str
    # from taking a request until it counts
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def stopped_ids(self) -> frozenset[int]:
        with self._lock:
            for task_id in take_task_requests(self.app.home, self.runner):
                self.stops.of(task_id).request()
        return self.stops.stopped()


@contextmanager
def _watching(app: App, pool: Pool, stops: StopTokens, until: float | None, runner: str) -> Iterator[list[str]]:
    """Stop what another process cancels or stops, within a second, and everything at the time `until`.

    Yields a list that then has what ended the run: `until` or `stop`.
    """
    over, requests = threading.Event(), list[str]()
    awake = KeepAwake(is_enabled=app.config.machine.keep_awake)

    def look() -> None:
        while not over.wait(0.5):
            awake.hold(bool(pool.running))
            is_late = until is not None and clock.epoch() >= until
            asked_ids = _asked_elsewhere(app, runner)
            for task_id in asked_ids:
                stops.of(task_id).request()
            if take_request(app.home, runner) or is_late or 0 in asked_ids:
                if not stops.asked:
                    requests.append("until" if is_late else "stop")
                stops.request()
            # takes requests, which end running tasks
            pool.out()
            # a paused task that waits for a usage limit is in no phase that has to end
            idle_ids = set(pool.deps.worker_slots.waiting)
            try:
                running_tasks = app.store.tasks(app.key, ids=sorted(pool.running)) if pool.running else []
            except BurnishError:
                continue
            for task in running_tasks:
                if task.status is Status.CANCELLED or (task.is_paused and task.id in idle_ids):
                    stops.of(task.id).request()

    watcher = threading.Thread(target=look, name="cancel-watcher", daemon=True)
    watcher.start()
    try:
        yield requests
    finally:
        over.set()
        watcher.join()
        awake.release()


def _asked_elsewhere(app: App, runner: str) -> list[int]:
    """What other machines asked this run to stop; 0: the whole run."""
    if not app.store.is_shared:
        return []
    with suppress(BurnishError):  # the server restarts: asked again in half a second
        return app.store.take_stop_requests(f"{runner}/{app.key}")
    return []


def remove_idle_trees(app: App) -> None:
    """Remove what a killed run or an earlier version of burnish left; a run removes its own trees when it ends."""
    app.repository.remove_kept_trees(of_this_boot=False)
    folders = [app.home / kind / app.key for kind in ("snapshots", "throwaway")]
    names = [entry.name.lstrip(".") for folder in folders if folder.is_dir() for entry in os.scandir(folder)]
    numbers = {int(start) for name in names if (start := name.partition("-")[0]).isdecimal()}
    if not numbers:
        return
    for task in app.store.tasks(app.key, ids=sorted(numbers), brief=True):
        if task.status not in RUNNING and task.status is not Status.BACKLOG:
            app.repository.remove_trees(task)


# -- stale approvals ------------------------------------------------------------------------------
# At the start of a run: approvals of commits, settings or tasks that have changed since are taken back.
#
# Every approved task is looked at, so that most are settled by one row of one query and one look at the branch.

APPROVED = (Status.VERIFIED, Status.WAITING_APPROVAL)


def void_stale_approvals(app: App, tips: Mapping[str, str]) -> list[str]:
    """What to report. `tips`: where the branches point that lead to a readable commit and tree."""
    policies: dict[tuple[str, str], Policy] = {}
    found = [one for one in app.store.recorded_approvals(app.key, APPROVED) if not _holds(app, one, tips, policies)]
    notes: list[str] = []
    kinds = {one.id: one for one in found}
    for task in app.store.tasks(app.key, statuses=APPROVED, ids=kinds) if kinds else ():
        with noting_failures(notes, task):
            policy = _policy_of(app, kinds[task.id], policies, task)
            why = void_stale(app.event_log, app.repository, task, policy, is_branch_sound=task.branch in tips)
            if why:
                notes.append(f"Task {task.id} is no longer approved: {why}.")
    return notes


def _holds(
    app: App, approval: RecordedApproval, tips: Mapping[str, str], policies: dict[tuple[str, str], Policy]
) -> bool:
    """Is nothing different from what was approved? False also where it takes a closer look to tell."""
    if not approval.is_unchanged or tips.get(approval.branch or "") != approval.commit:
        return False
    try:
        return _policy_of(app, approval, policies).judge == approval.judge
    except BurnishError:
        return False


def _policy_of(
    app: App, approval: RecordedApproval, policies: dict[tuple[str, str], Policy], task: Task | None = None
) -> Policy:
    """Made once for all tasks that differ only in what no policy depends on."""
    if approval.base is None:
        return app.policy(task or app.store.task(app.key, approval.id))
    key = (approval.kind, approval.base)
    if key not in policies:
        policies[key] = app.policy(task or app.store.task(app.key, approval.id))
    return policies[key]


@contextmanager
def noting_failures(notes: list[str], task: Task) -> Iterator[None]:
    """What is wrong with one task stops no other one."""
    try:
        yield
    except PhaseFailed as error:
        notes.append(f"Task {task.id}: {error.what} {error.hint}".rstrip())


# -- uncounted budgets ----------------------------------------------------------------------------
# Budgets that cannot be counted: announced before a run begins, or refused (`budget.uncounted`).


def uncounted_budgets(
    budget: BudgetSection,
    run_usd: float | None,
    agents: Mapping[str, AgentSettings],
    policies: Iterable[Policy],
    *,
    windows: list[str],
) -> list[str]:
    """One line for each agent and kind of budget that cannot be kept. `run_usd`: what `--budget` says.

    `windows`: the settings that count windows of a plan.
    """
    most_usd = run_usd if run_usd is not None else budget.session_usd
    session = "--budget" if run_usd is not None else "budget.session_usd"
    usd = [name for name, most in (("budget.task_usd", budget.task_usd), (session, most_usd)) if most is not None]
    counts = (("budget.task_tokens", budget.task_tokens), ("budget.session_tokens", budget.session_tokens))
    tokens = [name for name, most in counts if most is not None]
    found: dict[str, None] = {}
    for name, model, is_author in dict.fromkeys(agent for policy in policies for agent in _agents_of(policy, agents)):
        entry = agents[name]
        own = [f"agents.{name}.budget_usd"] if entry.budget_usd is not None else []
        if (own or usd) and (why := uncounted_usd(entry, model, os.environ, is_author=is_author)):
            found[_line([*usd, *own], name, why)] = None
        if tokens and (why := uncounted_tokens(entry, is_author=is_author)):
            found[_line(tokens, name, why)] = None
        if windows and entry.kind != "static" and (why := uncounted_windows(entry)):
            found[_line(windows, name, why)] = None
    return list(found)


def _refuse_whole_reserve(budget: BudgetSection) -> None:
    usd, _ = budget.without_reserve()
    if usd == 0:
        raise Refused(
            f"budget.reserve ({budget.reserve}) leaves nothing of budget.session_usd ({budget.session_usd}).",
            hint="Lower the reserve, or give the run a budget of its own: --budget USD",
        )


def refuse_uncounted(budget: BudgetSection, lines: list[str]) -> None:
    if lines and budget.uncounted == "refuse":
        raise Refused(lines[0], hint="Set a model with a known price, or `budget: {uncounted: warn}`.")


def _line(budgets: list[str], agent: str, why: str) -> str:
    return f"{', '.join(budgets)} cannot be counted for {agent}: {why}."


def _agents_of(policy: Policy, agents: Mapping[str, AgentSettings]) -> Iterator[tuple[str, str | None, bool]]:
    """Everyone who may be called for a task, with which model, and as an author; fallbacks with their own model."""
    authors = [
        (policy.agent, policy.model),
        (policy.improve_agent or policy.agent, policy.improve_model or policy.model),
    ]
    reviewers = [(one.agent, one.model) for one in policy.reviewers]
    reviewers += [(one.agent, one.model) for step in policy.pipeline for one in step.reviewers]
    calls = [(*one, True) for one in authors] + [(*one, False) for one in reviewers]
    for name, model, is_author in calls:
        visited_names: list[str] = []
        following: str | None = name
        while following and following in agents and following not in visited_names:
            visited_names.append(following)
            yield following, model if following == name else None, is_author
            following = agents[following].fallback
