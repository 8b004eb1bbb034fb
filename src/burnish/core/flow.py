"""The next step of a task, computed from its history. After a crash the same call gives the step to resume."""

from __future__ import annotations

from dataclasses import dataclass, replace

from burnish.core.decision import Accept, ConvergenceState, Decision, Revise, Wait, after_checks, after_work
from burnish.core.finding import is_unread_comment
from burnish.core.history import DecisionRecord, History, review_phase
from burnish.core.journal import REVIEW_FIX, DecisionData
from burnish.core.policy import Policy
from burnish.core.recorded_reviews import (
    approved_to_continue,
    by_person,
    last_blockers_gone,
    reviewed,
    settled_by_waiver,
    stored_review,
)
from burnish.core.status import Status
from burnish.core.task import TaskType


@dataclass(frozen=True, slots=True)
class WorkStep:
    cycle: int
    phase: str  # implement or improve


@dataclass(frozen=True, slots=True)
class CheckStep:
    cycle: int


@dataclass(frozen=True, slots=True)
class ReviewStep:
    cycle: int
    # "" is the review itself, else a step of the pipeline after it
    step: str = ""
    # the reviewer may fix what it finds; a review that only reads comes after it
    fixing: bool = False

    @property
    def phase(self) -> str:
        return REVIEW_FIX if self.fixing else review_phase(self.step)


@dataclass(frozen=True, slots=True)
class DecideStep:
    cycle: int


@dataclass(frozen=True, slots=True)
class StopStep:
    why: str


Step = WorkStep | CheckStep | ReviewStep | DecideStep | StopStep

# What `improve` asks for: the work alone, or a review after it.
WORK_ALONE, REVIEW_TOO = "improve", "review"

RUNNING = frozenset({Status.IN_PROGRESS, Status.CODE_REVIEW})


def next_step(history: History, policy: Policy) -> Step:
    task = history.task
    if task.status not in RUNNING:
        return StopStep(f"the task is {task.status}")
    cycle = history.cycle
    decision = history.decision(cycle)
    if decision:
        return (
            WorkStep(cycle + 1, "improve") if decision.action == "revise" else StopStep(f"decided: {decision.action}")
        )
    work = history.work(cycle)
    if not work and task.spec.type is not TaskType.REVIEW:
        return WorkStep(cycle, "implement" if cycle == 1 else "improve")
    if task.spec.type is TaskType.PLAN or (work and decision_after_work(history, policy, cycle)):
        return DecideStep(cycle)
    if task.spec.type is not TaskType.REVIEW and not checked(history, cycle):
        return CheckStep(cycle)
    if decision_after_checks(history, policy, cycle) or not reviews(history, policy):
        return DecideStep(cycle)
    due = judged(history, policy, cycle)
    return due if isinstance(due, ReviewStep) else DecideStep(cycle)


def judged(history: History, policy: Policy, cycle: int) -> Decision | ReviewStep:
    """The decision from the recorded reviews, or the review that is still missing."""
    now, spec = convergence_state(history, policy, cycle), history.task.spec
    criteria = (*spec.criteria, *(item.text for item in spec.checklist))
    first = reviewed(history, policy, cycle, "", now, criteria)
    if first is None:
        return ReviewStep(cycle, fixing=may_fix(history, policy, cycle))
    whole, before = first, ""
    for step in policy.pipeline if spec.type is not TaskType.REVIEW else ():
        if not isinstance(whole, Accept | Wait):
            return whole
        if policy.hitl == "every" and not _let_pass(history, cycle, before):
            return Wait(f"a person decides before {step.name}")
        before = step.name
        # only the main review judges criteria; a pipeline step has its own subject
        outcome = reviewed(history, policy, cycle, step.name, now, ())
        if outcome is None:
            return ReviewStep(cycle, step.name)
        whole = outcome if not isinstance(outcome, Accept) else whole
    return whole


def _let_pass(history: History, cycle: int, step: str) -> bool:
    """Whether a person let this review pass, so that the next step may start. A person's own review passes."""
    record = stored_review(history, cycle, step)
    return approved_to_continue(history, cycle, step) or bool(record and by_person(record.result))


def passes_as_waived(history: History, policy: Policy) -> bool:
    """Whether the stored review passes once the last blocker is waived. It decides as `run` would."""
    cycle = history.cycle
    last = history.decision(cycle)
    blockers = last.data.blockers if last and last.action == "ask" else ()
    if last is None or not last_blockers_gone(history.findings, blockers, policy.block_on):
        return False
    waiver = DecisionRecord(last.run, cycle, "again", last.by, DecisionData(waived=True, blockers=blockers))
    due = judged(replace(history, decisions=(*history.decisions, waiver)), policy, cycle)
    return bool(due.step) if isinstance(due, ReviewStep) else isinstance(due, Accept | Wait)


def pending_steps(history: History, policy: Policy) -> tuple[str, ...]:
    """Pipeline steps that have not judged this cycle yet, after a review that has."""
    cycle, kind = history.cycle, history.task.spec.type
    if kind in (TaskType.REVIEW, TaskType.PLAN) or stored_review(history, cycle) is None:
        return ()
    return tuple(step.name for step in policy.pipeline if stored_review(history, cycle, step.name) is None)


def checked(history: History, cycle: int) -> bool:
    """Whether the checks ran on the current commit: fixes of a reviewer are checked again."""
    check, fix = history.check(cycle), history.review_fix(cycle)
    if check and fix and fix.result.changed:
        return check.result.commit == fix.result.commit
    return bool(check)


def may_fix(history: History, policy: Policy, cycle: int) -> bool:
    """Once per cycle, and only for a single reviewer: two would overwrite each other's fixes."""
    alone = len(policy.reviewers) == 1 and history.task.spec.type is not TaskType.REVIEW
    return policy.may_fix and alone and history.review_fix(cycle) is None


def reviews(history: History, policy: Policy) -> bool:
    """Whether this cycle is reviewed automatically. A required review is never skipped."""
    if history.task.spec.type is TaskType.REVIEW:
        return True
    step = requested_step(history, history.cycle)
    if step:
        return step == REVIEW_TOO or asked_for_review(history)
    if not history.task.auto_review or policy.trigger == "explicit":
        return asked_for_review(history)
    return policy.review_required or policy.review_enabled


def asked_for_review(history: History) -> bool:
    """A person typed `burnish review 29`."""
    own = [d for d in history.decisions if d.action == "again" and d.cycle == history.cycle and d.by != "burnish"]
    again = [set(d.data.supersede) for d in own]
    # a request to redo the work is not a request for a review
    return any("review" in phases and not phases & {"implement", "improve"} for phases in again)


def requested_step(history: History, cycle: int) -> str:
    """`improve` or `review` where a person asked for this cycle by hand, as a step of its own; else nothing."""
    before = history.decision(cycle - 1) if cycle > 1 else None
    return before.data.step if before else ""


def is_step_by_step(history: History, cycle: int) -> bool:
    """Whether a person starts the next step, whatever the result of this one."""
    by_hand = not history.task.auto_review and stored_review(history, cycle) is not None
    return by_hand or bool(requested_step(history, cycle))


def target_to_merge(history: History, cycle: int) -> DecisionRecord | None:
    """The decision by which the work of this cycle is to merge the target into the branch, if it is."""
    before = history.decision(cycle - 1) if cycle > 1 else None
    return before if before and before.data.target_commit else None


def last_target_merge(history: History, cycle: int) -> int:
    """The newest cycle up to this one that merged the target into the branch; 0 if there is none."""
    return next((number for number in range(cycle, 1, -1) if target_to_merge(history, number)), 0)


def is_merging_target(history: History) -> bool:
    """Whether the target was to be merged into the branch, and the result has not been accepted since."""
    for record in reversed(history.decisions):
        if record.action == "accept" or record.data.target_commit:
            return record.action != "accept"
    return False


def decision_after_work(history: History, policy: Policy, cycle: int) -> Decision | None:
    """None = there is something to judge, or a person has settled what there was."""
    return None if settled_by_waiver(history, cycle) else after_work(convergence_state(history, policy, cycle))


def decision_after_checks(history: History, policy: Policy, cycle: int) -> Decision | None:
    if stored_review(history, cycle):
        return None
    now = convergence_state(history, policy, cycle)
    decision = after_checks(history.findings, now, on_failure=policy.on_failure, block_on=policy.block_on)
    comments = tuple(f.id for f in history.findings if is_unread_comment(f, cycle))
    if decision or not comments or _is_by_hand(history, policy):
        return decision
    # a review of work whose author has not read them could not approve it
    return Revise("a person commented on it", comments)


def _is_by_hand(history: History, policy: Policy) -> bool:
    """Whether a person starts the step that comes after the checks."""
    is_explicit = not history.task.auto_review or policy.trigger == "explicit"
    return is_explicit or bool(requested_step(history, history.cycle)) or asked_for_review(history)


def convergence_state(history: History, policy: Policy, cycle: int) -> ConvergenceState:
    """The state of this run that convergence is judged by."""
    # on a new base the same tree is another change, and the cycles count from there
    before_merge = max(0, last_target_merge(history, cycle) - 1)
    works = [history.work(n) for n in range(before_merge + 1, cycle)]
    work = history.work(cycle)
    past = [history.decision(n) for n in range(1, cycle)]
    disputes = {f.id: f.disputes for f in history.findings}
    disputed_ids = work.result.disputes if work else ()
    # commits by a person do not count as repeated work of the author
    own = bool(work and work.result.changed and not work.result.by_hand)
    return ConvergenceState(
        cycle=cycle,
        max_cycles=max(history.task.max_cycles, 1) + before_merge,
        earlier_blockers=tuple(frozenset(d.data.blockers) for d in past if d),
        earlier_trees=("",) * before_merge + tuple(w.result.tree for w in works if w and w.result.changed),
        tree=work.result.tree if work and own else "",
        unchanged=bool(work and work.result.changed is False),
        left_out=work.result.left_out if work else (),
        last_words=work.result.last_words if work else "",
        disputed=tuple(id for id in disputed_ids if disputes.get(id, 0) < 2),
        disputed_again=tuple(id for id in disputed_ids if disputes.get(id, 0) >= 2),
    )
