"""Forward against a rejection, and what every acceptance by a person is bound to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from burnish.core.approval import asked_for
from burnish.core.event import Event
from burnish.core.gate import Actor, GateChoice
from burnish.core.history import History, JudgedPhase
from burnish.core.journal import GateResult, WorkResult
from burnish.core.journal_events import DecisionMade, OverrideRecorded, ReviewApproved, new_event
from burnish.core.override import OverrideReasons
from burnish.core.policy import Policy
from burnish.core.recorded_reviews import stored_review
from burnish.core.status import FinalVerdict, ReviewStatus, Status, check_move
from burnish.core.task import Task
from burnish.engine.ports import EventLog, FollowUp
from burnish.engine.ports_git import Repository
from burnish.engine.transitions import status_events
from burnish.errors import BadInput, Refused

# A prefix of a commit's name that is long enough to mean one commit.
MIN_LENGTH = 7


def judged_commit(history: History) -> JudgedPhase | None:
    """The newest review of the run, or the work if it has no review yet: what a decision is about."""
    for cycle in range(history.cycle, 0, -1):
        phase: JudgedPhase | None = stored_review(history, cycle) or history.tip(cycle)
        if phase and phase.result.commit and not _is_unchanged(phase):
            return phase
    return None


def _is_unchanged(phase: JudgedPhase) -> bool:
    return isinstance(phase.result, WorkResult) and phase.result.changed is False


def check_seen(repository: Repository, history: History, commit: str = "") -> JudgedPhase:
    """A decision belongs to the commit that was shown; if that is not what is there now, it is refused."""
    task, phase = history.task, judged_commit(history)
    if phase is None:
        raise Refused(
            f"Task {task.id} has no commit to decide on.", hint=f"`burnish retry {task.id}` runs the author again."
        )
    reviewed_commit = phase.result.commit
    head = repository.workspace(task).head()
    if head is None or head.sha != reviewed_commit:
        now = f"is at {head.sha[:12]} now" if head else "is gone"
        raise Refused(
            f"The branch of task {task.id} {now}, but {reviewed_commit[:12]} is what was reviewed.",
            hint=f"`burnish run {task.id}` has what is there now judged; then decide.",
        )
    prefix = commit.strip().lower()
    if prefix and (len(prefix) < MIN_LENGTH or not reviewed_commit.startswith(prefix)):
        raise Refused(
            f"Task {task.id} is at {reviewed_commit[:12]}, not at {commit.strip()[:40]}: the decision is out of date.",
            hint=f"Look at it again (burnish show {task.id}), then decide on {reviewed_commit[:12]}.",
        )
    return phase


def approved(task: Task, phase: JudgedPhase, judge: str, why: str, person: Actor, *, spec_hash: str = "") -> Event:
    """Bound to base, tree, judge and what was asked for (the task as it is now) like any other approval."""
    data = ReviewApproved(
        base=task.base,
        tree=phase.result.tree,
        commit=phase.result.commit,
        criteria_hash=judge,
        spec_hash=spec_hash or asked_for(task.spec),
        by=person.name,
        why=why,
    )
    return new_event("review.approved", data, run=task.run, cycle=task.cycle)


def override(
    event_log: EventLog,
    repository: Repository,
    task_id: int,
    policy: Policy,
    grounds: OverrideReasons,
    person: Actor,
    *,
    commit: str = "",
    follow_up: FollowUp | None = None,
) -> Task:
    """Forward against a rejection, with the reason on record; bound to what is on the branch."""
    history = event_log.history(task_id)
    task = history.task
    road = moves_to_verified(task)
    phase = check_seen(repository, history, commit)
    data = DecisionMade(
        action="accept",
        by=person.name,
        why=f"override, {grounds.words}",
        review_status=ReviewStatus.PASSED,
        via=person.via,
        choice="override",
        commit=phase.result.commit,
    )
    events = [
        *gate_closed(history, GateChoice.APPROVE),
        overridden(history, grounds, person, follow_up),
        new_event("decision.made", data, run=task.run, cycle=history.cycle),
        approved(task, phase, policy.judge, f"override, {grounds.words}", person),
    ]
    event_log.record(task_id, *events, *walk(task, road))
    return event_log.task(task_id)


def overridden(history: History, grounds: OverrideReasons, person: Actor, follow_up: FollowUp | None = None) -> Event:
    task = history.task
    review_cycles = [p.cycle for p in history.phases if p.phase == "review" and p.state == "finished"]
    data = OverrideRecorded(
        by=person.name,
        via=person.via,
        category=grounds.ground,
        explanation=grounds.explanation,
        answers=dict(grounds.answers),
        before=task.status,
        verdict=task.final_verdict,
        # what it accepts: not to be fixed by a later improve
        findings=tuple(finding.id for finding in history.findings if finding.alive),
        review_ref=f"review-cycle://{task.id}/review-cycle-{max(review_cycles)}.md" if review_cycles else "",
        follow_up=str(follow_up(history, grounds)) if grounds.follow_up and follow_up else "",
    )
    return new_event("override.recorded", data, run=task.run, cycle=task.cycle)


def reasons_missing(task: Task, command: str, open_ids: Sequence[str] = ()) -> BadInput:
    """Exit code 2, with what to type. `open_ids`: the review approves, and these findings are still open."""
    flags = "--pre-existing, --wrong-context, --out-of-scope or --environmental"
    findings = f"{', '.join(open_ids)} {'is' if len(open_ids) == 1 else 'are'} still open"
    why = (
        f"While {findings}, accepting task {task.id}"
        if open_ids
        else f"Accepting task {task.id} goes against its review, so it"
    )
    return BadInput(
        f"{why} is an override and needs a reason.",
        hint=f'{command} --explain "why" (or {flags})',
    )


ROADS = {
    Status.BLOCKED: (Status.VERIFIED,),
    Status.WAITING_APPROVAL: (Status.VERIFIED,),
    Status.CODE_REVIEW: (Status.VERIFIED,),
    Status.IN_PROGRESS: (Status.CODE_REVIEW, Status.VERIFIED),
    Status.FAILED: (Status.CODE_REVIEW, Status.VERIFIED),
}


def moves_to_verified(task: Task) -> tuple[Status, ...]:
    """The legal way to `verified` from where the task stands."""
    if task.status not in ROADS:
        check_move(str(task.id), task.status, Status.VERIFIED)
    return ROADS[task.status]


def walk(task: Task, road: tuple[Status, ...]) -> list[Event]:
    events = []
    for status in road:
        last = status is Status.VERIFIED
        final, review = (FinalVerdict.APPROVED, ReviewStatus.PASSED) if last else (None, None)
        events.append(status_events(task, status, final_verdict=final, review_status=review))
        task = replace(task, status=status)
    return events


def gate_closed(history: History, choice: GateChoice) -> list[Event]:
    """The gate's row in the journal, if it stands open."""
    task, gate = history.task, history.phase(history.cycle, "gate")
    if gate is None or gate.state != "started":
        return []
    result = GateResult("gate", gate.attempt, choice=choice)
    return [new_event("phase.finished", result, run=task.run, cycle=history.cycle)]
