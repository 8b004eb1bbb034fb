"""Review: one reviewer or a panel reads a snapshot of the commit; their remarks are added to the ledger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from burnish.core.approval import asked_for
from burnish.core.cost import joint_source
from burnish.core.decision import effective_verdict
from burnish.core.event import Event
from burnish.core.finding import Remark, Severity
from burnish.core.flow import ReviewStep, last_target_merge
from burnish.core.history import History
from burnish.core.journal import RecordedRemark, ReviewerRecord, ReviewResult
from burnish.core.journal_events import GuardBreach, PhaseStarted, ReviewCompleted, ReviewStarted, new_event
from burnish.core.ledger.ledger import LedgerDiff, absorb_criteria, absorb_review, split_criterion_remarks
from burnish.core.ledger.remark_grouping import limit_remarks, stands_for_more
from burnish.core.policy import Policy
from burnish.core.review import PanelResult, Review, ReviewerResult, Unreadable
from burnish.core.task import Task
from burnish.engine.archive import with_earlier, write_review_files, write_reviewer_files
from burnish.engine.checking import since_waiver
from burnish.engine.guard_phase import absorb_breach, absorb_dropped, absorb_touched, touched_event, watched
from burnish.engine.metering import metered_call
from burnish.engine.panel_review import (
    PanelSlot,
    ReviewerReply,
    ReviewSession,
    mechanical,
    panel_of,
    run_reviewers,
    unseen_files,
    whose_look_counts,
)
from burnish.engine.ports import Deps, StaticReviewRequest
from burnish.engine.ports_git import ReviewSnapshot
from burnish.engine.review_input import ReviewInput, review_input
from burnish.engine.task_setup import TaskSetup
from burnish.engine.transitions import current_ledger, finding_events
from burnish.errors import PhaseFailed
from burnish.review.prompt_sections import ALL_FINDINGS, all_findings_text
from burnish.review.prose import STORED_PROSE
from burnish.review.quoting import cut_text

# of one review, in its event
MOST_GRAVE, MOST_NOTES, MOST_INSPECTED = 200, 200, 500


def review(deps: Deps, setup: TaskSetup, history: History, step: ReviewStep) -> None:
    """Run every reviewer, combine the replies and record the result."""
    task = history.task
    policy = panel_for(setup.policy, step.step)
    attempt, new = history.attempt(step.cycle, step.phase)
    if new:
        task = deps.record(task, *start_events(deps, task, policy, step, attempt))
    deps.failpoint("review-started")
    inputs = review_input(deps, setup, history, step.cycle, step.step)
    brief = {ALL_FINDINGS: all_findings_text(inputs.findings)} if inputs.findings else None
    with deps.repository.snapshot(setup.workspace, task, inputs.commit.sha, setup.base, brief) as snapshot:
        place = (step.step, history.kept_under(step.cycle, step.phase, attempt))
        session = _review_session(deps, replace(setup, policy=policy), task, inputs, snapshot, place)
        with watched(deps, setup, task, step.cycle, step.phase) as touched_paths:
            try:
                replies = run_reviewers(session)
            except PhaseFailed as failure:
                failure.breached = bool(_breaches(deps, snapshot))
                if failure.breached:
                    deps.repository.remove_review_tree(task)
                raise
        breaches = _breaches(deps, snapshot)
    if breaches:
        deps.repository.remove_review_tree(task)
    deps.failpoint("review-replied")
    before = touched_event(task, step.cycle, step.phase, touched_paths)
    conclude(deps, setup, history, step, attempt, session, replies, breaches, before, touched_paths)
    deps.failpoint("review-finished")


def _breaches(deps: Deps, snapshot: ReviewSnapshot) -> list[str]:
    """What a reviewer wrote. In a sandbox the files are mounted read-only for every program, so nothing is compared."""
    return snapshot.breaches() if deps.sandbox == "none" else []


def conclude(
    deps: Deps,
    setup: TaskSetup,
    history: History,
    step: ReviewStep,
    attempt: int,
    session: ReviewSession,
    replies: tuple[ReviewerReply, ...],
    breaches: list[str],
    before: Sequence[Event] = (),
    touched_paths: Sequence[str] = (),
) -> None:
    """Combine the replies and record the result, after the events in `before`."""
    # a person may have commented meanwhile
    with current_ledger(deps, history) as history:
        inputs = session.review_input
        panel, repeats = split_criterion_remarks(panel_of(session, replies), history.findings, inputs.text_of)
        absorb = partial(
            absorb_review,
            history.findings,
            rulings=panel.rulings,
            cycle=step.cycle,
            delta=inputs.delta,
            files=inputs.text_of,
            # other reviewers for the same code: all of it is new to them
            narrow=not _new_to_them(history, step, setup.policy) and not stands_for_more(history.findings),
            mechanical=mechanical(replies),
            since=since_waiver(setup, history),
        )
        find_known = partial(_known_remarks, history, panel, absorb)
        panel = replace(panel, remarks=limit_remarks(panel.remarks, _full_lists(history.task, replies), find_known))
        update = absorb(remarks=panel.remarks)
        update = absorb_criteria(history.findings, update, panel, step.cycle, repeats)
        panel = replace(panel, not_ruled=_not_ruled(history, panel, update))
        update = absorb_breach(history.findings, update, breaches, step.cycle, setup.policy.block_on)
        update = absorb_touched(history.findings, update, touched_paths, step.cycle, setup.policy.block_on)
        if not step.step:
            changes, block_on = inputs.target_changes, setup.policy.block_on
            is_judged = not panel.mechanical
            update = absorb_dropped(history.findings, update, changes, step.cycle, block_on, is_judged=is_judged)
        _write_down(deps, setup, history, inputs, step, attempt, replies, panel, update, breaches, before)


def _full_lists(task: Task, replies: tuple[ReviewerReply, ...]) -> dict[str, str]:
    """Where all remarks of each reviewer can be read."""
    reply = f"in the reviewer's reply, `burnish log {task.id} --phase review`"
    programs = mechanical(replies)
    again = f"`burnish review {(task.base or '')[:12]}..{task.branch} --agent {{}} --json`"
    return {h.result.agent: again.format(h.result.agent) if h.result.agent in programs else reply for h in replies}


def _known_remarks(history: History, panel: PanelResult, absorb: Callable[..., LedgerDiff]) -> frozenset[int]:
    """Which remarks raise a finding of the ledger again, by their index."""
    if not history.findings:
        return frozenset()
    before = {finding.id for finding in history.findings}
    finding_ids = absorb(remarks=panel.remarks).given
    return frozenset(index for index, id in enumerate(finding_ids) if id in before)


def _not_ruled(history: History, panel: PanelResult, update: LedgerDiff) -> tuple[str, ...]:
    """Open findings from before this review that it neither rules on nor raises again."""
    ruled_ids = {ruling.id for ruling in panel.rulings} | set(update.given)
    return tuple(finding.id for finding in history.findings if finding.alive and finding.id not in ruled_ids)


def panel_for(policy: Policy, name: str) -> Policy:
    """The policy with the reviewers of the review or of a step of the pipeline."""
    step = next((step for step in policy.pipeline if step.name == name), None)
    if step is None:
        return policy
    reviewers = tuple(replace(one, prompt=one.prompt or step.prompt) for one in step.reviewers)
    return replace(policy, reviewers=reviewers, quorum=step.quorum)


def start_events(deps: Deps, task: Task, policy: Policy, step: ReviewStep, attempt: int) -> list[Event]:
    agents = tuple(r.agent for r in policy.reviewers)
    data = PhaseStarted(step.phase, attempt, deps.runner, ", ".join(agents), deps.sandbox)
    return [
        new_event("phase.started", data, run=task.run, cycle=step.cycle),
        new_event("review.started", ReviewStarted(agents, step.step), run=task.run, cycle=step.cycle),
    ]


def _new_to_them(history: History, step: ReviewStep, policy: Policy) -> bool:
    work = history.work(step.cycle)
    reviews = [record.result for record in history.superseded_reviews(step.cycle, step.phase)]
    spec_hash = asked_for(history.task.spec)
    by_others = any(not policy.judges_as(review.criteria_hash or "") for review in reviews)
    for_another_spec = any(review.spec_hash not in (None, spec_hash) for review in reviews)
    is_first = _is_first_after_merge(history, step)
    return by_others or for_another_spec or is_first or bool(work and work.result.by_hand)


def _is_first_after_merge(history: History, step: ReviewStep) -> bool:
    """Whether no review has looked at the change since the target was merged: checks may have sent it back before."""
    merge_cycle = last_target_merge(history, step.cycle)
    return merge_cycle > 0 and not any(history.finished(n, step.phase) for n in range(merge_cycle, step.cycle))


def _review_session(
    deps: Deps, setup: TaskSetup, task: Task, inputs: ReviewInput, snapshot: ReviewSnapshot, place: tuple[str, int]
) -> ReviewSession:
    step, attempt = place
    return ReviewSession(
        review_input=inputs,
        policy=setup.policy,
        files=snapshot.path,
        task=task.id,
        call=lambda name: deps.task_files.call(
            task, inputs.cycle, "review", attempt, f"{step}@{name}" if step else name
        ),
        ask=metered_call(deps, setup.policy, task),
        now=deps.now,
        images=deps.task_files.images(task),
        program=lambda slot: deps.program(_inspection(deps, setup.policy, task, inputs, snapshot, slot)),
    )


def _inspection(
    deps: Deps, policy: Policy, task: Task, inputs: ReviewInput, snapshot: ReviewSnapshot, slot: PanelSlot
) -> StaticReviewRequest:
    return StaticReviewRequest(
        agent=slot.spec.agent,
        change=inputs.change,
        base=inputs.change.old_tree,
        commit=inputs.commit.sha,
        files=snapshot.path,
        out_dir=deps.task_files.out_dir(task, inputs.cycle, slot.name),
        comparisons=inputs.comparisons,
        test=next((c for c in policy.checks if c.name == "test"), None),
    )


def _write_down(
    deps: Deps,
    setup: TaskSetup,
    history: History,
    inputs: ReviewInput,
    step: ReviewStep,
    attempt: int,
    replies: tuple[ReviewerReply, ...],
    panel: PanelResult,
    update: LedgerDiff,
    breaches: list[str],
    before: Sequence[Event],
) -> None:
    task = history.task
    write_reviewer_files(deps, history, step)
    artifact, review_ref = write_review_files(deps, setup, history, inputs, with_earlier(history, step, panel), update)
    counts, but = effective_verdict(panel, update.findings, setup.policy.block_on)
    where: dict[str, Any] = {"run": task.run, "cycle": inputs.cycle}
    result = ReviewResult(
        step.phase,
        attempt,
        cost_usd=_sum(panel, lambda v: v.cost_usd),
        cost_source=joint_source(v.cost_source for v in panel.results),
        tokens=sum(v.tokens for v in panel.results),
        commit=inputs.commit.sha,
        tree=inputs.commit.tree,
        step=step.step,
        criteria_hash=setup.policy.judge,
        spec_hash=asked_for(task.spec),
        base_tree=setup.base.tree,
        verdict=panel.verdict,
        effective_verdict=counts,
        caveat=but,
        summary=panel.summary,
        why=panel.why,
        blocking=panel.blocking,
        signed=panel.signed,
        mechanical=panel.mechanical,
        not_ruled=panel.not_ruled[:MOST_INSPECTED] if panel.mechanical or not panel.signed else (),
        rejection_reason=panel.rejection_reason,
        compliance=panel.compliance,
        uncovered=panel.uncovered,
        unseen=_unseen(replies),
        unseen_files=unseen_files(inputs.change, replies),
        inspected=_inspected(panel, inputs),
        not_shown=tuple(sorted({p for reply in replies for p in reply.not_shown})),
        blocking_remarks=_blocking_remarks(panel, update),
        notes=(*panel.notes, *update.notes)[:MOST_NOTES],
        reviewers=tuple(reviewer_record(v) for v in panel.results),
        artifact=artifact,
        review_ref=review_ref,
    )
    events = [*before, *finding_events(task, inputs.cycle, history.findings, update)]
    if breaches:
        breach = GuardBreach("a reviewer wrote to its snapshot", tuple(breaches[:50]))
        events.append(new_event("guard.breach", breach, **where))
    events.append(new_event("phase.finished", result, **where))
    completion = ReviewCompleted(
        verdict=result.effective_verdict,
        own_verdict=result.verdict,
        caveat=but,
        summary=result.summary,
        review_ref=review_ref,
        reviewers=result.reviewers,
        commit=result.commit,
        step=result.step,
        findings=tuple(update.given),
    )
    deps.record(task, *events, new_event("review.completed", completion, **where))


def _inspected(panel: PanelResult, inputs: ReviewInput) -> tuple[str, ...]:
    """The changed paths that reviewers say they looked at, and some of the others."""
    paths = {p for v in panel.results if isinstance(v.reading, Review) for p in v.reading.inspected}
    changed_paths = paths & set(inputs.change.paths)
    return tuple(sorted({*changed_paths, *sorted(paths - changed_paths)[:MOST_INSPECTED]}))


def _blocking_remarks(panel: PanelResult, update: LedgerDiff) -> tuple[RecordedRemark, ...]:
    """Remarks above `info` as the review has them, each with the id of its finding."""
    # after the remarks, `given` has the findings of unmet criteria
    pairs = zip(panel.remarks, update.given, strict=False)
    grave = [(remark, id) for remark, id in pairs if remark.severity is not Severity.INFO]
    # the findings have the whole text; these only list what was against an approval
    return tuple(RecordedRemark.of(_shortened(remark), id) for remark, id in grave[:MOST_GRAVE])


def _shortened(remark: Remark) -> Remark:
    return replace(remark, description=remark.description[:500], suggestion="", quote=remark.quote[:500])


def _unseen(replies: tuple[ReviewerReply, ...]) -> tuple[str, ...]:
    """The paths that no reviewer saw."""
    missing = [set(reply.unseen) for reply in whose_look_counts(replies)]
    return tuple(sorted(set.intersection(*missing))) if missing else ()


def reviewer_record(result: ReviewerResult) -> ReviewerRecord:
    """A reviewer's part in a review, for the journal and `show --json`."""
    read = result.reading if isinstance(result.reading, Review) else None
    return ReviewerRecord(
        agent=result.agent,
        model=result.model,
        provider=result.provider,
        command=result.command,
        reviewed_at=result.reviewed_at,
        verdict=read.verdict if read else None,
        blocking=read.blocking if read else None,
        summary=read.summary if read else (result.reading.why if isinstance(result.reading, Unreadable) else ""),
        raw_sha256=result.raw_sha256,
        raw_path=result.raw_path,
        cost_usd=result.cost_usd,
        cost_source=result.cost_source,
        tokens=result.tokens,
        prose=cut_text(result.prose, STORED_PROSE),
    )


def _sum(panel: PanelResult, cost: Callable[[ReviewerResult], float | None]) -> float | None:
    costs = [c for c in map(cost, panel.results) if c is not None]
    return sum(costs) if costs else None
