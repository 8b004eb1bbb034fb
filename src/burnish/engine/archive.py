"""The audit trail of a task, committed once per cycle on a ref of its own."""

from __future__ import annotations

import json
from collections.abc import Sequence

from burnish.core.approval import Approval
from burnish.core.event import RecordedEvent
from burnish.core.history import History, PhaseRecord
from burnish.core.journal import Failure, ReviewResult, is_review
from burnish.core.review import PanelResult, Verdict
from burnish.core.task import Task
from burnish.engine.next_action import write_next_action
from burnish.engine.ports import Deps
from burnish.engine.ports_git import TaskWorkspace
from burnish.engine.record_review import for_the_ref, voice_of
from burnish.review.records import Iteration, render_task_json

# Read by machines: cut, they would be worth nothing.
STORY = "events.jsonl"
TASK_FILE = "task.json"
WHOLE = frozenset({TASK_FILE, STORY, "baseline-tests.json"})


def archive(deps: Deps, workspace: TaskWorkspace, task: Task, cycle: int) -> None:
    """Write what is on record into files and commit them. Doing it twice does nothing."""
    events = deps.event_log.events(task.id)
    history = deps.event_log.history(task.id)
    write_next_action(deps, history, cycle)
    deps.task_files.write(task, TASK_FILE, task_file(history, deps.event_log.approval(task.id)))
    deps.task_files.write(task, STORY, story_of(events))
    files = {
        name: data if name in WHOLE else for_the_ref(data, link=f"{task.name}/artifacts/{name} in the burnish home")
        for name, data in deps.task_files.read_all(task).items()
    }
    why = deps.repository.keep_artifacts(task, files, f"Task {task.id}, cycle {cycle}: {task.spec.title}")
    if why:
        deps.progress.note(f"Task {task.id}: the artifacts are in the burnish home alone. {why}")
    deps.event_log.archived(task.id, events[-1].id if events else 0)


def story_of(events: Sequence[RecordedEvent]) -> bytes:
    """A line for each; a longer story begins with the shorter one, byte by byte."""
    return b"".join(json.dumps(event.envelope(), sort_keys=True).encode() + b"\n" for event in events)


def task_file(history: History, approval: Approval | None) -> bytes:
    """`task.json` of a task as it stands."""
    void = approval is not None and not approval.valid
    return render_task_json(history.task, iterations(history), approval_void=void).encode()


def iterations(history: History) -> list[Iteration]:
    """Every reviewed cycle of the run, for `task.json`."""
    found = []
    for cycle in range(1, history.cycle + 1):
        reviews = history.reviews(cycle)
        if reviews:
            decision = history.decision(cycle)
            is_accepted = (
                decision is not None and decision.action in ("accept", "wait") and decision.data.proposed is None
            )
            found.append(_iteration(history, reviews, is_accepted=is_accepted))
        elif failure := _failed_review(history, cycle):
            found.append(failure)
    return found


def _failed_review(history: History, cycle: int) -> Iteration | None:
    """A review that crashed or ran out of time, in a cycle that has no other."""
    attempts = [p for p in history.phases if p.cycle == cycle and is_review(p.phase) and not p.superseded]
    failure = attempts[-1].result if attempts else None
    if not isinstance(failure, Failure):
        return None
    return Iteration(
        cycle,
        failure.commit or history.task.commit or "",
        f"diff-{cycle}.patch",
        None,
        failed_at=attempts[-1].finished_at or "",
        failed_agent=failure.agent,
        error=failure.what or failure.error or "the review failed",
    )


def _iteration(history: History, records: tuple[PhaseRecord[ReviewResult], ...], *, is_accepted: bool) -> Iteration:
    """The review and the steps after it; the last one gives the verdict."""
    last = records[-1]
    review = last.result
    verdict = Verdict(review.verdict) if review.verdict else None
    if verdict is Verdict.APPROVED and not is_accepted:
        verdict = Verdict.CHANGES_REQUESTED
    panel = PanelResult(
        voices=tuple(voice_of(reviewer) for record in records for reviewer in record.result.reviewers),
        verdict=verdict,
        summary=review.summary,
        rejection_reason=review.rejection_reason,
    )
    findings = tuple(f for f in history.findings if f.first_cycle <= last.cycle <= f.last_cycle)
    decision = history.decision(last.cycle)
    why = decision.data.why if decision else ""
    return Iteration(last.cycle, review.commit, f"diff-{last.cycle}.patch", panel, findings, why=why)
