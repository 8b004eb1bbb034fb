"""`review.may_fix`: the reviewer fixes what it finds. Its edits are a separate commit, checked and reviewed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from burnish.core.codec import decode, encode
from burnish.core.commit import Commit
from burnish.core.cost import joint_source
from burnish.core.event import Event
from burnish.core.finding import FindingState, Remark
from burnish.core.flow import ReviewStep
from burnish.core.history import History
from burnish.core.journal import REVIEW_FIX, ReviewFixResult, read, written
from burnish.core.journal_events import new_event
from burnish.core.ledger.ledger import absorb_review
from burnish.core.review import Review, ReviewerResult, Verdict
from burnish.core.task import Task
from burnish.engine.metering import metered_call
from burnish.engine.panel_review import ReviewerReply, ReviewSession, run_reviewers
from burnish.engine.ports import CallDir, Deps
from burnish.engine.review_input import review_input
from burnish.engine.reviewing import conclude, reviewer_record, start_events
from burnish.engine.task_setup import TaskSetup
from burnish.engine.transitions import current_ledger, finding_events
from burnish.engine.work import committed, save_leftovers
from burnish.review.prose import only_objection


def review_and_fix(deps: Deps, setup: TaskSetup, history: History, step: ReviewStep) -> None:
    """With edits: commit them, and let checks and a reading review follow. Without: this was the review."""
    task = history.task
    attempt, new = history.attempt(step.cycle, step.phase)
    commit = committed(setup, task, step)
    if commit is None:
        if new:
            deps.repository.check_movable(str(task.branch))
        _clear_the_ground(deps, setup, history, step, attempt, new=new)
    if new:
        task = deps.record(task, *start_events(deps, task, setup.policy, step, attempt))
    deps.failpoint("fix-started")
    if commit is None:
        session = _fix_session(deps, setup, history, step, attempt)
        replies = run_reviewers(session)
        deps.failpoint("fix-replied")
        if _stops(replies):
            # its fixes are set aside: a later review cannot take this one back
            head = setup.head().sha
            save_leftovers(deps, setup, task, step.cycle, step.phase)
            setup.workspace.reset_to(head, base=setup.base)
            _only_read(deps, setup, history, step, attempt, session, replies)
            return
        # the answer is to the code as it was: after the commit it could not be asked for again
        deps.task_files.stamp(task, _stamp(task, step), json.dumps(_reply_data(replies)))
        commit = _commit(deps, setup, task, step)
        if commit is None:
            _only_read(deps, setup, history, step, attempt, session, replies)
            return
    deps.failpoint("fix-committed")
    data = _stored_replies(deps, task, step)
    result = read(ReviewFixResult, data)
    with current_ledger(deps, history) as now:
        events, issues = _fixed_findings(now, step, data.get("remarks", ()), result.verdict, commit.sha)
        result = replace(result, changed=True, commit=commit.sha, tree=commit.tree, issues=tuple(issues))
        deps.record(task, *events, _finished(task, step, attempt, result))
    deps.failpoint("fix-finished")


def _stops(replies: Sequence[ReviewerReply]) -> bool:
    """Whether a reviewer says more than that the change is to be fixed: a person is needed before anything else."""
    readings = [reply.result.reading for reply in replies]
    return any(
        reading.verdict in (Verdict.REJECTED, Verdict.NEEDS_DISCUSSION) or reading.blocking
        if isinstance(reading, Review)
        else bool(only_objection(reading.reply))
        for reading in readings
    )


def _stored_replies(deps: Deps, task: Task, step: ReviewStep) -> dict[str, Any]:
    try:
        return dict(json.loads(deps.task_files.stamp(task, _stamp(task, step)) or "{}"))
    except ValueError:
        return {}  # a loss of power tore the file


def _clear_the_ground(
    deps: Deps, setup: TaskSetup, history: History, step: ReviewStep, attempt: int, *, new: bool
) -> None:
    """The files as they were committed, unless they hold the edits of a reviewer that had finished."""
    head = setup.head().sha
    if new:
        setup.check_out(head)
    elif not _call(deps, history.task, step, attempt, setup.policy.reviewers[0].agent).finished():
        save_leftovers(deps, setup, history.task, step.cycle, step.phase)
        setup.workspace.reset_to(head, base=setup.base)


def _call(deps: Deps, task: Task, step: ReviewStep, attempt: int, name: str) -> CallDir:
    return deps.task_files.call(task, step.cycle, "review", attempt, f"fix@{name}")


def _fix_session(deps: Deps, setup: TaskSetup, history: History, step: ReviewStep, attempt: int) -> ReviewSession:
    task = history.task
    return ReviewSession(
        review_input=review_input(deps, setup, history, step.cycle),
        policy=setup.policy,
        files=setup.workspace.path,
        task=task.id,
        call=lambda name: _call(deps, task, step, attempt, name),
        ask=metered_call(deps, setup.policy, task),
        now=deps.now,
        read_only=False,
        images=deps.task_files.images(task),
    )


def _commit(deps: Deps, setup: TaskSetup, task: Task, step: ReviewStep) -> Commit | None:
    deps.event_log.require_claim(task.id)
    setup.workspace.collect_agent_git(f"{step.cycle}-{step.phase}")
    trailers = {
        "Burnish-Task": str(task.id),
        "Burnish-Cycle": str(step.cycle),
        "Burnish-Phase": REVIEW_FIX,
        "Burnish-Agent": setup.policy.reviewers[0].agent,
    }
    subject = f"fix: apply fixes of the review (cycle {step.cycle})"
    commit = setup.workspace.commit(subject, trailers, author=deps.repository.author(), expect=setup.head().sha)
    if commit:
        setup.untouched.add(commit.sha)
    return commit


def _only_read(
    deps: Deps,
    setup: TaskSetup,
    history: History,
    step: ReviewStep,
    attempt: int,
    session: ReviewSession,
    replies: tuple[ReviewerReply, ...],
) -> None:
    """Nothing was fixed: the reply is the review of this cycle."""
    head = setup.head()
    result = ReviewFixResult(changed=False, commit=head.sha, tree=head.tree)
    finish_event = _finished(history.task, step, attempt, result)
    plain = ReviewStep(step.cycle)
    number, _ = history.attempt(step.cycle, plain.phase)
    phase_start = start_events(deps, history.task, setup.policy, plain, number)[:1]
    conclude(deps, setup, history, plain, number, session, replies, [], [finish_event, *phase_start])


def _finished(task: Task, step: ReviewStep, attempt: int, result: ReviewFixResult) -> Event:
    result = replace(result, phase=step.phase, attempt=attempt)
    return new_event("phase.finished", result, run=task.run, cycle=step.cycle)


def _reply_data(replies: tuple[ReviewerReply, ...]) -> dict[str, Any]:
    results: list[ReviewerResult] = [reply.result for reply in replies]
    costs = [result.cost_usd for result in results if result.cost_usd is not None]
    readings = [result.reading for result in results if isinstance(result.reading, Review)]
    result = ReviewFixResult(
        cost_usd=sum(costs) if costs else None,
        cost_source=joint_source(result.cost_source for result in results),
        tokens=sum(result.tokens for result in results),
        verdict=readings[0].verdict if readings else None,
        summary=readings[0].summary if readings else "",
        fixers=tuple(reviewer_record(result) for result in results),
    )
    return {**written(result), "remarks": [encode(remark) for reading in readings for remark in reading.remarks]}


def _fixed_findings(
    history: History, step: ReviewStep, remarks: Sequence[Mapping[str, Any]], verdict: str | None, commit: str
) -> tuple[list[Event], list[str]]:
    """What the reviewer found before it changed the code, on record as findings.

    Those of a reviewer that approves its own result are resolved by its commit; the review that follows may raise them
    again. If it still asks for changes, it is unknown which are left: they stay open, and that review rules on each.
    """
    existing_ids = {finding.id for finding in history.findings}
    new_remarks = tuple(decode(Remark, remark) for remark in remarks)
    update = absorb_review(history.findings, remarks=new_remarks, cycle=step.cycle, narrow=False)
    note = f"fixed by the reviewer in {commit[:10]}"
    if verdict == Verdict.APPROVED:
        new = (
            f if f.id in existing_ids else replace(f, state=FindingState.RESOLVED, note=note) for f in update.findings
        )
        update = replace(update, findings=tuple(new))
    return finding_events(history.task, step.cycle, history.findings, update), list(dict.fromkeys(update.given))


def _stamp(task: Task, step: ReviewStep) -> str:
    return f"{REVIEW_FIX}-{task.run}-{step.cycle}"
