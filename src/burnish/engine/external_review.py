"""Reviews by people and tools outside: handing a task over, and taking their word as a cycle's review."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import NoReturn

from burnish.core.agent import AgentRequest
from burnish.core.commit import Base, Commit
from burnish.core.event import Event
from burnish.core.flow import CheckStep, DecideStep, ReviewStep, checked, decision_after_work, next_step
from burnish.core.history import History, with_result
from burnish.core.journal import ReviewResult
from burnish.core.journal_events import ApprovalVoided, DecisionMade, new_event
from burnish.core.policy import Policy, ReviewerSpec
from burnish.core.review import Review, ReviewerResult, Verdict
from burnish.core.status import Status, check_move
from burnish.core.task import Task, TaskType
from burnish.engine.checking import check
from burnish.engine.commands.lifecycle import void_stale
from burnish.engine.deciding import settle
from burnish.engine.panel_review import ReviewerReply, ReviewSession
from burnish.engine.ports import Deps
from burnish.engine.review_input import review_input
from burnish.engine.reviewing import conclude, start_events
from burnish.engine.task_setup import TaskSetup, capture_baseline, set_up
from burnish.engine.transitions import judge_again_on_new_base, status_events
from burnish.engine.work import save_leftovers
from burnish.errors import Refused


@dataclass(frozen=True, slots=True)
class ExternalReview:
    """A review that a person brought, ready to be written down."""

    review: Review
    by: str
    raw: str
    # markdown, contract, sarif, rdjson
    kind: str
    # of the file, for people
    name: str
    # where the verdict is in the file
    origin: str = ""
    # changed paths that it cannot have seen; a person who says so has seen everything
    unseen: tuple[str, ...] = ()

    def reading(self) -> dict[str, object]:
        """What burnish took from the file."""
        return {
            "file": self.name,
            "verdict": self.review.verdict.value,
            "place": self.origin,
            "findings": len(self.review.remarks),
            "rulings": {ruling.id: ruling.state.value for ruling in self.review.rulings},
        }

    def reading_text(self) -> str:
        review = self.review
        origin = (
            f"{self.origin} of {self.name}" if self.origin != "--verdict" else f"--verdict, and not from {self.name}"
        )
        count = f"{len(review.remarks)} finding{'s' * (len(review.remarks) != 1)}"
        rulings = [f"{ruling.id} {ruling.state}" for ruling in review.rulings]
        return (
            f"Read {review.verdict.upper()} from {origin}, {', '.join((count, *rulings))}; "
            "text beside it is stored with the review"
        )


def refuse_unreviewable(history: History, head: Commit | None, base_tree: str) -> Commit:
    """There must be a change, and the table must allow a review of it."""
    task = history.task
    if task.spec.type not in (TaskType.IMPLEMENT, TaskType.IMPROVE):
        raise Refused(f"Task {task.id} is a {task.spec.type} task: it has no change of its own to review.")
    if head is None or head.tree == base_tree:
        raise Refused(f"Task {task.id} has no change to review.", hint=f"`burnish run {task.id}` works on it.")
    if task.status is not Status.CODE_REVIEW:
        check_move(str(task.id), task.status, Status.CODE_REVIEW)
    return head


def cycle_for(history: History, policy: Policy, head: Commit) -> int:
    """The cycle that a review of `head` belongs to: this one, or one of its own if this one is not about it."""
    cycle = history.cycle
    tip = history.tip(cycle)
    about = tip is not None and tip.result.commit == head.sha and bool(tip.result.changed)
    return cycle if about and not decision_after_work(history, policy, cycle) else cycle + 1


def attempt_for(history: History, cycle: int) -> int:
    return max((p.attempt for p in history.phases if (p.cycle, p.phase) == (cycle, "review")), default=0) + 1


def hand_over(
    history: History, policy: Policy, head: Commit, base: Base, *, by: str, why: str, is_approved: bool
) -> list[Event]:
    """The events that make a task wait for a review from outside; none if it does so already."""
    task, cycle = history.task, cycle_for(history, policy, head)
    decision = history.decision(cycle)
    is_handed_over = decision is not None and decision.action == "wait" and decision.data.is_external
    waits = is_handed_over and history.finished(cycle, "review") is None
    if task.status is Status.CODE_REVIEW and waits and cycle == history.cycle:
        return []
    events = [new_event("approval.voided", ApprovalVoided(why), run=task.run, cycle=task.cycle)] if is_approved else []
    if cycle > history.cycle:
        events += judge_again_on_new_base(history, head.sha, head.tree, why, base=base.commit)
    else:
        events.append(_clear(task, cycle, by, why))
    wait = DecisionMade(action="wait", by=by, why=why, is_external=True)
    events.append(new_event("decision.made", wait, run=task.run, cycle=cycle, explicit=("review_status",)))
    if task.status is not Status.CODE_REVIEW:
        events.append(status_events(task, Status.CODE_REVIEW, cycle=cycle, note=why))
    return events


def _clear(task: Task, cycle: int, by: str, why: str) -> Event:
    data = DecisionMade(action="again", by=by, why=why, supersede=("review",))
    return new_event("decision.made", data, run=task.run, cycle=cycle)


def check_first(deps: Deps, setup: TaskSetup) -> None:
    """Run the checks if they have not run on this commit: an external review does not replace them."""
    history = deps.event_log.history(setup.task_id)
    task, cycle, head = history.task, history.cycle, setup.head()
    if checked(history, cycle):
        return
    rescue_ref = save_leftovers(deps, setup, task, cycle, "by-hand") if setup.workspace.exists() else None
    if rescue_ref or not setup.workspace.exists() or setup.workspace.checked_out_commit() != head.sha:
        setup.workspace.reset_to(head.sha, base=setup.base)
    set_up(deps, task, setup)
    capture_baseline(deps, task, setup)
    check(deps, setup, history, CheckStep(cycle))


def rejected_before(history: History, tree: str) -> bool:
    """Whether a review of this tree asked for changes, so that approving it goes against that review."""
    return any(review.verdict != Verdict.APPROVED for review in _reviews_of_tree(history, tree))


def _reviews_of_tree(history: History, tree: str) -> list[ReviewResult]:
    reviews = [p.result for p in with_result(history.phases, ReviewResult) if p.phase == "review"]
    return [review for review in reviews if review.tree == tree]


def refuse_against_rejection(history: History, tree: str, review: Review) -> None:
    """Refuse an approval of code that was rejected: that is an override, and needs its reasons."""
    task = history.task
    reviews = _reviews_of_tree(history, tree)
    has_rejection = any(review.verdict == Verdict.REJECTED or review.blocking for review in reviews)
    if review.verdict is Verdict.APPROVED and (has_rejection or history.rejected_by_person(tree)):
        raise Refused(
            f"This code of task {task.id} was rejected: to approve it is an override.",
            hint=f"Give the reason: burnish override {task.id}",
        )


def take(deps: Deps, setup: TaskSetup, external_review: ExternalReview) -> None:
    """Record it like any other review of this cycle: artifact, ledger and journal in one transaction."""
    history = deps.event_log.history(setup.task_id)
    task, cycle = history.task, history.cycle
    step, attempt = ReviewStep(cycle), attempt_for(history, cycle)
    raw = deps.task_files.write(
        task, _raw_name(deps, task, cycle, attempt, external_review), external_review.raw.encode()
    )
    policy = replace(setup.policy, reviewers=(ReviewerSpec(external_review.by),), quorum="all")
    result = ReviewerResult(
        agent=external_review.by,
        model=None,
        reading=replace(external_review.review, notes=(external_review.reading_text(), *external_review.review.notes)),
        reviewed_at=deps.now(),
        raw_sha256=hashlib.sha256(external_review.raw.encode()).hexdigest(),
        raw_path=str(raw),
        command=f"burnish review {task.id} --from {external_review.name}",
        provider=external_review.kind,
    )
    session = ReviewSession(
        review_input=review_input(deps, setup, history, cycle),
        policy=policy,
        files=setup.workspace.path,
        task=task.id,
        call=lambda name: deps.task_files.call(task, cycle, "review", attempt, name),
        ask=_refuse_to_ask,
        now=deps.now,
    )
    uncovered_paths = external_review.unseen if external_review.review.verdict is Verdict.APPROVED else ()
    before = [
        _clear(task, cycle, external_review.by, f"reviewed by {external_review.by}"),
        *start_events(deps, task, policy, step, attempt),
    ]
    deps.progress.note(f"{external_review.reading_text()}.")
    for note in external_review.review.notes:
        deps.progress.note(f"{external_review.name}: {note}.")
    conclude(
        deps,
        setup,
        history,
        step,
        attempt,
        session,
        (ReviewerReply(result, uncovered_paths, external_review.unseen),),
        [],
        before=before,
    )


def _raw_name(deps: Deps, task: Task, cycle: int, attempt: int, external_review: ExternalReview) -> str:
    """The file name; a second review of the same cycle does not overwrite the first."""
    name, ending = f"outside-review-{cycle}", _ending(external_review)
    earlier = deps.task_files.read(task, f"{name}{ending}")
    return f"{name}{ending}" if earlier in (None, external_review.raw.encode()) else f"{name}.attempt-{attempt}{ending}"


def _ending(external_review: ExternalReview) -> str:
    endings = {"markdown": ".md", "contract": ".json", "sarif": ".sarif", "rdjson": ".json"}
    own = PurePath(external_review.name).suffix
    return own if own in (".md", ".json", ".sarif", ".jsonl", ".txt") else endings[external_review.kind]


def _refuse_to_ask(request: AgentRequest) -> NoReturn:
    raise AssertionError(f"{request.agent} is not an agent that can be called")


def decide(deps: Deps, setup: TaskSetup) -> bool:
    """Settle what the review came to; False if more is to be asked first (a step of the pipeline)."""
    # a person has just decided: the gate has nothing to ask
    setup = replace(setup, policy=replace(setup.policy, hitl="off"))
    history = deps.event_log.history(setup.task_id)
    step = next_step(history, setup.policy)
    if not isinstance(step, DecideStep):
        return False
    settle(deps, setup, history, step)
    void_stale(deps.event_log, deps.repository, deps.event_log.task(setup.task_id), setup.policy)
    return True
