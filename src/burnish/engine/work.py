"""Implement and improve: the agent works, what it did is committed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from burnish.core.agent import AgentReply, AgentRequest
from burnish.core.commit import Commit, TargetMerge
from burnish.core.error_lines import first_error
from burnish.core.event import Event
from burnish.core.flow import ReviewStep, WorkStep
from burnish.core.history import History, with_result
from burnish.core.journal import REVIEW_FIX, Failure, WorkResult
from burnish.core.journal_events import PhaseRescued, PhaseStarted, RunStarted, new_event
from burnish.core.status import ErrorCode, Status
from burnish.core.task import Task, TaskType
from burnish.engine.author_prompts import brief_author, disputes_in, give_back, work_prompt
from burnish.engine.failure_text import with_task
from burnish.engine.guard_phase import touched_event, watched
from burnish.engine.metering import metered_call
from burnish.engine.ports import CallDir, Deps
from burnish.engine.target_merge import BEFORE_MERGE, commit_clean_merge, merge_words, needs_author, pending_merge
from burnish.engine.task_setup import SETUP_FILES, TaskSetup, isolation_env
from burnish.engine.transitions import rebased, status_events
from burnish.errors import NotCommitted, PhaseFailed
from burnish.review.prose import last_words
from burnish.review.templates import commit_subject, commit_variables
from burnish.sanitize import escape_controls


def work(deps: Deps, setup: TaskSetup, history: History, step: WorkStep) -> None:
    """One phase of the author's, from prompt to commit; nothing is paid for twice."""
    task = history.task
    earlier_commit, merge = committed(setup, task, step), pending_merge(setup, history, step)
    if merge and not needs_author(history, step, merge):
        commit_clean_merge(deps, setup, history, step, merge, earlier_commit)
        return
    attempt, call, fresh = _enter(deps, setup, history, step, is_committed=earlier_commit is not None)
    if fresh:
        deps.repository.check_movable(str(task.branch))
        # the leftovers of a stopped attempt are recorded now, and the next prompt mentions them
        history = deps.event_log.history(task.id)
        if not _has_uncommitted_work(history, step):
            setup.check_out(setup.head().sha)
            if merge and merge.conflicts:
                setup.workspace.lay_merge(merge)
            give_back(setup, history, step)
        brief_author(deps, setup, history, step)
        deps.failpoint("work-put-right")
        task = deps.record(task, _started(deps, setup, task, step, attempt))
    elif earlier_commit:
        # killed between moving the branch and remembering it: the files must be those of the branch
        setup.workspace.reset_to(earlier_commit.sha, base=setup.base)
    deps.failpoint("work-started")
    prompt = call.prompt() or work_prompt(deps, setup, history, step, number=call.number(), merge=merge)
    with watched(deps, setup, task, step.cycle, step.phase) as touched_paths:
        reply = _ask(deps, setup, task, step, call, prompt, session=session_of(deps, setup, history, step))
    deps.failpoint("work-replied")
    commit = earlier_commit or _commit(deps, setup, task, step, reply, merge)
    deps.failpoint("work-committed")
    _finish(deps, setup, history, step, attempt, call, reply, commit, touched_paths, merge)


def committed(setup: TaskSetup, task: Task, step: WorkStep | ReviewStep) -> Commit | None:
    """A commit with this phase's trailers is its result, even if we died before writing it down."""
    head = setup.head()
    if head.sha == setup.base.commit:
        # somebody else's task of the same number, merged before ours began
        return None
    trailers = {"Burnish-Task": str(task.id), "Burnish-Cycle": str(step.cycle), "Burnish-Phase": step.phase}
    return head if all(head.trailers.get(key) == value for key, value in trailers.items()) else None


def _enter(
    deps: Deps, setup: TaskSetup, history: History, step: WorkStep, *, is_committed: bool
) -> tuple[int, CallDir, bool]:
    """The attempt to go on with: the one that was cut if its agent had finished, else a new one."""
    task = history.task
    last = history.phase(step.cycle, step.phase)
    if last is None:
        attempts = [p.attempt for p in history.phases if (p.cycle, p.phase) == (step.cycle, step.phase)]
        attempt = max(attempts, default=0) + 1
        return attempt, deps.task_files.call(task, step.cycle, step.phase, attempt), True
    call = deps.task_files.call(task, step.cycle, step.phase, last.attempt)
    # a workspace that was made again has nothing of what the agent wrote
    is_there = call.finished() and setup.head().sha not in setup.untouched
    if last.state == "started" and (is_committed or is_there):
        return last.attempt, call, False
    if last.state == "started":
        _cut(deps, setup, history, step, last.attempt, call)
    attempt = last.attempt + 1
    return attempt, deps.task_files.call(task, step.cycle, step.phase, attempt), True


def _has_uncommitted_work(history: History, step: WorkStep) -> bool:
    """Did the last attempt leave work that only lacks a commit? The next one goes on with it."""
    results = [p.result for p in history.phases if (p.cycle, p.phase) == (step.cycle, step.phase)]
    return bool(results and isinstance(results[-1], Failure) and results[-1].kept)


def _cut(deps: Deps, setup: TaskSetup, history: History, step: WorkStep, attempt: int, call: CallDir) -> None:
    """A runner died in the middle: what lies in the workspace is saved before anything else."""
    task = history.task
    rescue = save_leftovers(deps, setup, task, step.cycle, step.phase, attempt)
    request = _request(deps, setup, task, step, call, call.prompt() or "", session_of(deps, setup, history, step))
    usage = deps.agents(task.id).unrecorded_use(request)
    failure = Failure(
        step.phase,
        attempt,
        cost_usd=usage.usd,
        cost_source=usage.source,
        tokens=usage.tokens,
        agent=request.agent,
        error="INTERRUPTED",
        what="burnish was stopped in the middle of it",
        rescue=rescue,
    )
    deps.record(task, new_event("phase.failed", failure, run=task.run, cycle=step.cycle))


def save_leftovers(
    deps: Deps, setup: TaskSetup, task: Task, cycle: int, phase: str, attempt: int | None = None
) -> str | None:
    """Everything uncommitted, under a rescue ref."""
    label = f"{cycle}-{phase}"
    setup.workspace.collect_agent_git(label)
    rescue = setup.workspace.rescue(label, attempt=attempt)
    if rescue:
        deps.record(task, new_event("phase.rescued", PhaseRescued(phase, rescue), run=task.run, cycle=cycle))
    return rescue


def _started(deps: Deps, setup: TaskSetup, task: Task, step: WorkStep, attempt: int) -> Event:
    data = PhaseStarted(step.phase, attempt, deps.runner, author_of(setup, step)[0], deps.sandbox)
    return new_event("phase.started", data, run=task.run, cycle=step.cycle)


def _request(
    deps: Deps, setup: TaskSetup, task: Task, step: WorkStep, call: CallDir, prompt: str, session: AuthorSession | None
) -> AgentRequest:
    improving = step.phase == "improve"
    agent, model = author_of(setup, step)
    return AgentRequest(
        agent=agent,
        role=step.phase,
        prompt=prompt,
        cwd=setup.workspace.path,
        call_dir=call.path,
        task=task.id,
        cycle=step.cycle,
        phase=step.phase,
        model=model,
        timeout_seconds=setup.policy.improve_timeout if improving else setup.policy.implement_timeout,
        timeout_setting=f"task_types.{task.spec.type}.{'improve_' if improving else ''}timeout_minutes",
        env=isolation_env(setup.policy, task, agent),
        session=session.id if session else None,
        session_usage=session.usage if session else None,
        session_dir=deps.task_files.session_dir(task),
        images=deps.task_files.images(task),
    )


def _ask(
    deps: Deps,
    setup: TaskSetup,
    task: Task,
    step: WorkStep,
    call: CallDir,
    prompt: str,
    *,
    session: AuthorSession | None,
) -> AgentReply:
    request = _request(deps, setup, task, step, call, prompt, session)
    return metered_call(deps, setup.policy, task)(request)


def _commit(
    deps: Deps, setup: TaskSetup, task: Task, step: WorkStep, reply: AgentReply, merge: TargetMerge | None
) -> Commit | None:
    deps.event_log.require_claim(task.id)  # the workspace, too, would be another runner's
    head = setup.head()
    if setup.workspace.checked_out_commit() != head.sha:
        # its files know nothing of the newer commit: ours on top would undo it
        raise PhaseFailed(
            ErrorCode.GIT_ERROR,
            f"{task.branch} was moved while the agent worked on it.",
            hint="The work is kept under a rescue ref; `burnish retry` goes on from the new commit.",
        )
    setup.workspace.collect_agent_git(f"{step.cycle}-{step.phase}")
    if task.spec.type is TaskType.PLAN:
        setup.workspace.remove_junk()
        return None
    _lint_fix(deps, setup, task, step)
    subject, body = merge_words(task, merge) if merge else commit_words(deps, setup, task, step)
    trailers = {
        "Burnish-Task": str(task.id),
        "Burnish-Cycle": str(step.cycle),
        "Burnish-Phase": step.phase,
        "Burnish-Agent": reply.agent or author_of(setup, step)[0],
    }
    message = f"{subject}\n\n{body}" if body else subject
    deps.event_log.require_claim(task.id)
    if merge:
        setup.workspace.keep_tip(BEFORE_MERGE)
    commit = setup.workspace.commit(message, trailers, author=deps.repository.author(), expect=head.sha, merge=merge)
    if commit:
        setup.untouched.add(commit.sha)
    return commit


def _lint_fix(deps: Deps, setup: TaskSetup, task: Task, step: WorkStep) -> None:
    """`checks.lint_fix`, so that its edits are part of the commit; how many it made is remembered for the review."""
    if not setup.policy.lint_fix:
        return
    out_dir = deps.task_files.out_dir(task, step.cycle, "lint-fix")
    code, output = deps.checks(task.id).command(
        setup.policy.lint_fix,
        setup.head_tree(f"{task.name}-lint-fix"),
        cwd=setup.workspace.path,
        out_dir=out_dir,
        timeout=600,
    )
    # Other codes are usual: many linters fail if problems are left.
    if code in (126, 127):
        why = first_error(output) or f"exit code {code}"
        deps.progress.note(f"Task {task.id}: checks.lint_fix could not be started, so it changed nothing: {why}")
    match = re.search(r"\b(\d+) fixed\b|\b[Ff]ixed (\d+)\b", output)
    deps.task_files.stamp(task, f"lint-fix-{task.run}-{step.cycle}", (match[1] or match[2]) if match else "0")


def commit_words(deps: Deps, setup: TaskSetup, task: Task, step: WorkStep) -> tuple[str, str]:
    """Subject and body; `commit.message` may rewrite the subject."""
    title = " ".join(task.spec.title.split())
    if step.cycle == 1:
        subject, body = f"feat: {title}", ""
    else:
        ids = [f.id for f in deps.event_log.findings(task.id) if f.alive]
        subject = f"fix: address review feedback (cycle {step.cycle})"
        body = f"Fixes from review cycle {step.cycle - 1}" + (f"\n\n{', '.join(ids)}" if ids else "")
    if setup.policy.commit_message:
        variables = commit_variables(
            task.spec,
            task=task.id,
            cycle=step.cycle,
            max_cycles=task.max_cycles,
            phase=step.phase,
            subject=subject,
        )
        subject = commit_subject(setup.policy.commit_message, variables) or subject
    return subject, body


def _finish(
    deps: Deps,
    setup: TaskSetup,
    history: History,
    step: WorkStep,
    attempt: int,
    call: CallDir,
    reply: AgentReply,
    commit: Commit | None,
    touched_paths: list[str],
    merge: TargetMerge | None,
) -> None:
    task = deps.event_log.task(history.task.id)
    disputes = disputes_in(reply.text, call.number(), history.findings) if step.phase == "improve" else ()
    head = commit or setup.head()
    agent, model = who_did(setup, step, reply)
    result = WorkResult(
        step.phase,
        attempt,
        cost_usd=reply.cost_usd,
        cost_source=reply.cost_source,
        tokens=reply.tokens,
        commit=head.sha,
        tree=head.tree,
        changed=commit is not None,
        agent=agent,
        model=model,
        seconds=round(reply.seconds, 3),
        call_dir=str(call.path),
        session=reply.session,
        session_usage=dict(reply.session_usage) if reply.session_usage else None,
        disputes=tuple(d.finding.id for d in disputes),
        left_out=tuple(left_out(deps, setup, task)),
        touched=tuple(touched_paths[:50]),
        last_words=last_words(reply.text),
    )
    deps.task_files.write(task, f"agent-output-{step.cycle}.md", reply.text.encode(errors="replace"))
    if task.spec.type is TaskType.PLAN:
        deps.task_files.write(task, "plan.md", reply.text.encode(errors="replace"))
    events = [*touched_event(task, step.cycle, step.phase, touched_paths), *taken_over(setup, task, step, reply)]
    events += [*(rebased(task, merge.base) if merge else ())]
    events += [new_event("phase.finished", result, run=task.run, cycle=step.cycle)]
    events += [d.event(task, step.cycle) for d in disputes]
    if task.status is Status.IN_PROGRESS and (commit or disputes or task.spec.type is TaskType.PLAN):
        events.append(status_events(task, Status.CODE_REVIEW, cycle=step.cycle))
    deps.record(task, *events)
    deps.failpoint("work-finished")


def left_out(deps: Deps, setup: TaskSetup, task: Task) -> list[str]:
    """Files of the agent that are never committed because of their names, without those that setup created."""
    if task.spec.type is TaskType.PLAN:
        return []
    setup_names = (deps.task_files.stamp(task, SETUP_FILES) or "").split("\0")
    return [name for name in deps.repository.left_out(setup.workspace, is_compared=True) if name not in setup_names]


def record_failure(
    deps: Deps, setup: TaskSetup, task: Task, cycle: int, phase: str, attempt: int, error: PhaseFailed
) -> None:
    """Record a failed phase: save the work, reset the workspace, write the event."""
    # a secret or a file that is too large stays in the workspace: nothing of it may get into git
    is_kept = isinstance(error, NotCommitted)
    working = phase in ("implement", "improve", REVIEW_FIX) and not is_kept
    rescue = save_leftovers(deps, setup, task, cycle, phase, attempt) if working else None
    if rescue:
        setup.workspace.reset_to(setup.head().sha, base=setup.base)
    # the next run reads the answers of a review that was stopped, and records them
    is_read_again = error.code == ErrorCode.INTERRUPTED and not error.breached
    usage = deps.budget_tracker.unrecorded(task.id, include_answered=not is_read_again)
    failure = Failure(
        phase,
        attempt,
        cost_usd=usage.usd,
        cost_source=usage.source,
        tokens=usage.tokens,
        agent=error.agent,
        error=str(error.code),
        what=error.what,
        hint=with_task(error.hint, task.id),
        # the end of what the program printed, for the next attempt and for people
        output=escape_controls(error.output),
        rescue=rescue,
        kept=is_kept,
        commit=setup.head().sha,
        breached=error.breached,
    )
    event = new_event("phase.failed", failure, run=task.run, cycle=cycle, explicit=("output", "kept"))
    deps.record(task, event)


# -- attribution ----------------------------------------------------------------------------------
# Who works on a phase, and who did it in the end.


def author_of(setup: TaskSetup, step: WorkStep) -> tuple[str, str | None]:
    """Agent and model of this phase."""
    if step.phase == "improve" and setup.policy.improve_agent:
        return setup.policy.improve_agent, setup.policy.improve_model
    return setup.policy.agent, setup.policy.model


@dataclass(frozen=True, slots=True)
class AuthorSession:
    """A session of an agent on this task, and the tokens that its program had counted in it so far."""

    id: str
    usage: Mapping[str, int] | None


def session_of(deps: Deps, setup: TaskSetup, history: History, step: WorkStep) -> AuthorSession | None:
    """The one in which the same agent worked on this task last; whether it goes on there is the agent's setting.

    None if that was on another machine, whose sessions are not here.
    """
    agent = author_of(setup, step)[0]
    works = [p for p in with_result(history.phases, WorkResult) if p.phase in ("implement", "improve")]
    own = [p for p in works if p.result.session and p.result.agent == agent]
    if not own or step.phase != "improve":
        return None
    last = own[-1]
    if deps.task_files.call(history.task, last.cycle, last.phase, last.attempt).prompt() is None:
        return None
    session, usage = str(last.result.session), last.result.session_usage
    return AuthorSession(session, usage if isinstance(usage, dict) else None)


def who_did(setup: TaskSetup, step: WorkStep, reply: AgentReply) -> tuple[str, str | None]:
    """Agent and model that did it: the fallback where the agent that was asked could not."""
    agent, model = author_of(setup, step)
    same = reply.agent in ("", agent)
    return reply.agent or agent, reply.model or (model if same else None)


def taken_over(setup: TaskSetup, task: Task, step: WorkStep, reply: AgentReply) -> list[Event]:
    """Where a fallback did the work, the task is the fallback's, until the one that was meant does some again."""
    fell_back = reply.agent not in ("", author_of(setup, step)[0])
    agent, model = (reply.agent, reply.model) if fell_back else (setup.policy.agent, setup.policy.model)
    if task.agent in (None, agent):
        return []
    data = RunStarted(task.run, agent=agent, model=model)
    return [new_event("run.started", data, run=task.run, cycle=step.cycle, explicit=("agent", "model"))]
