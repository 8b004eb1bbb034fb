"""The gate: when a person is asked, what is shown, and what becomes of the answer."""

from __future__ import annotations

from dataclasses import replace

from burnish.core.decision import Decision, Escalate, Revise
from burnish.core.event import Event
from burnish.core.flow import RUNNING
from burnish.core.gate import GateView
from burnish.core.history import History, JudgedPhase, fixed_by_reviewer, with_result
from burnish.core.journal import CheckResult, ReviewFixResult, ReviewResult
from burnish.core.journal_events import Binding, GateOpened, PhaseStarted, new_event
from burnish.core.policy import Policy
from burnish.core.recorded_reviews import stored_review, unseen_in_cycle
from burnish.core.status import ReviewStatus, Status
from burnish.core.task import TaskType
from burnish.engine.archive import archive, mark_overrides
from burnish.engine.commands.decide import checks_stand, decide, is_against
from burnish.engine.commands.override import judged_commit
from burnish.engine.ports import Deps
from burnish.engine.transitions import status_events
from burnish.errors import BurnishError


def asks_person(history: History, policy: Policy, cycle: int, decision: Decision) -> bool:
    """Whether a person is asked before the task is sent back or stops. An acceptance opens the gate elsewhere."""
    if policy.hitl == "off" or history.task.spec.type in (TaskType.PLAN, TaskType.REVIEW):
        return False
    if isinstance(decision, Revise):
        return policy.hitl == "every" and stored_review(history, cycle) is not None
    work = history.tip(cycle)
    return isinstance(decision, Escalate) and bool(work and work.result.changed)


def gate_opened_event(
    history: History, cycle: int, binding: Binding, why: str, status: ReviewStatus | None
) -> list[Event]:
    """Events that open the gate, recorded before a person is asked: after a crash the task still waits there."""
    task = history.task
    attempt, new = history.attempt(cycle, "gate")
    start_event = new_event("phase.started", PhaseStarted("gate", attempt), run=task.run, cycle=cycle)
    waits = status_events(
        replace(task, status=Status.CODE_REVIEW), Status.WAITING_APPROVAL, cycle=cycle, note=why, review_status=status
    )
    gate = new_event("gate.opened", GateOpened(**binding.values(), why=why), run=task.run, cycle=cycle)
    return [*([start_event] if new else []), gate, waits]


def ask_person(deps: Deps, task_id: int) -> bool:
    """Put the task before a person, if there is one to ask; True where the run may go on."""
    history = deps.event_log.history(task_id)
    policy = deps.policy_for(history.task)
    if deps.gate is None or history.task.status is not Status.WAITING_APPROVAL or policy.hitl == "off":
        return False
    answer = deps.gate.ask(gate_view(history, policy), lambda: _still_waits(deps, task_id))
    if answer is not None:
        try:
            decide(deps.event_log, deps.repository, task_id, answer, policy, deps.person, follow_up=deps.follow_up)
        except BurnishError as error:
            # e.g. the branch moved while the person read: nothing has changed, and the task still waits
            deps.progress.note(f"{error.what} {error.hint}")
            return False
        archive_decision(deps, task_id)
    # another person may have answered elsewhere
    return deps.event_log.task(task_id).status in RUNNING


def archive_decision(deps: Deps, task_id: int) -> None:
    """What a person decided, in the artifacts."""
    task = deps.event_log.task(task_id)
    mark_overrides(deps, task)
    archive(deps, deps.repository.workspace(task), task, task.cycle)


def _still_waits(deps: Deps, task_id: int) -> bool:
    return deps.event_log.task(task_id).status is Status.WAITING_APPROVAL and not deps.stopping(task_id)


def gate_view(history: History, policy: Policy) -> GateView:
    # in a pipeline, the last step that was reviewed
    phase: JudgedPhase | None = next(reversed(history.reviews(history.cycle)), None) or judged_commit(history)
    review = _review_shown(phase)
    fix = fixed_by_reviewer(history, history.cycle)
    return GateView(
        task=history.task,
        cycle=history.cycle,
        commit=phase.result.commit if phase else "",
        verdict=review.effective_verdict or "",
        summary=review.summary,
        but=review.caveat,
        why=history.task.note,
        findings=tuple(f for f in history.findings if f.alive),
        against=is_against(history, policy),
        may_skip=not policy.review_required,
        skip_against=checks_stand(history, policy),
        block_on=policy.block_on,
        fixed=(fix.summary or "the reviewer changed the code") if fix else "",
        fixed_findings=tuple(f for f in history.findings if fix and not f.alive and f.id in fix.issues),
        unseen_files=unseen_in_cycle(history, policy, history.cycle),
        warnings=_check_warnings(history),
    )


def _review_shown(phase: JudgedPhase | None) -> ReviewResult:
    """The review that the person decides on; an empty one where there is only work."""
    if phase and isinstance(phase.result, ReviewResult):
        return phase.result
    if phase and isinstance(phase.result, ReviewFixResult):
        return ReviewResult(effective_verdict=phase.result.verdict, summary=phase.result.summary)
    return ReviewResult()


def _check_warnings(history: History) -> tuple[str, ...]:
    checks = [p for p in with_result(history.phases, CheckResult) if p.cycle == history.cycle and not p.superseded]
    if not checks:
        return ()
    result = checks[-1].result
    with_skips = [(check.name, check.counts) for check in result.checks if check.counts and check.counts.skipped]
    skips = [f"Check {name}: {counts.skipped} of {counts.total} tests were skipped." for name, counts in with_skips]
    return (*result.warnings, *skips)
