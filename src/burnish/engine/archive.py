"""The audit trail of a task, committed once per cycle on a ref of its own, and the files that a review leaves in it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from burnish.core.approval import Approval
from burnish.core.decision import effective_verdict
from burnish.core.event import RecordedEvent
from burnish.core.finding import Finding, Severity, listed
from burnish.core.flow import ReviewStep
from burnish.core.history import DecisionRecord, History, PhaseRecord, fixed_by_reviewer
from burnish.core.journal import Failure, ReviewerRecord, ReviewFixResult, ReviewResult, is_review, read
from burnish.core.journal_events import OverrideRecorded
from burnish.core.ledger.ledger import LedgerDiff
from burnish.core.override import in_words
from burnish.core.policy import is_test
from burnish.core.recorded_reviews import base_test_notes, untested_note
from burnish.core.review import PanelResult, Review, ReviewerResult, Unreadable, Verdict
from burnish.core.status import Status
from burnish.core.task import Task
from burnish.engine.checking import NO_TESTS
from burnish.engine.ports import Deps
from burnish.engine.ports_git import TaskWorkspace
from burnish.engine.review_input import ReviewInput
from burnish.engine.task_setup import TaskSetup
from burnish.review.artifact import LIMIT, MalformedArtifact, cut, file_name, parse_artifact, render_artifact
from burnish.review.body import Cycle, artifact_of, with_action, with_override
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
    note = deps.repository.keep_artifacts(task, files, f"Task {task.id}, cycle {cycle}: {task.spec.title}")
    if note:
        deps.progress.note(f"Task {task.id}: {note}")
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
        results=tuple(reviewer_result(reviewer) for record in records for reviewer in record.result.reviewers),
        verdict=verdict,
        summary=review.summary,
        rejection_reason=review.rejection_reason,
    )
    findings = tuple(f for f in history.findings if f.first_cycle <= last.cycle <= f.last_cycle)
    decision = history.decision(last.cycle)
    why = decision.data.why if decision else ""
    return Iteration(last.cycle, review.commit, f"diff-{last.cycle}.patch", panel, findings, why=why)


# -- next action ----------------------------------------------------------------------------------
# What happens after a decision, in the words of the review artifact's last section.


def action_required(history: History, cycle: int) -> str:
    """What the decision on this cycle leads to; "" where none stands."""
    decision = history.decision(cycle)
    if decision is None:
        return ""
    task, why = history.task, decision.data.why
    waits = task.status is Status.WAITING_APPROVAL and cycle == history.cycle
    if decision.action == "revise":
        return _next_cycle(decision, cycle, task.max_cycles)
    if waits or decision.action == "ask":
        return f"A person decides: `burnish decide {task.id} approve` (or `reject`, `fix`). {task.note or why}".strip()
    if decision.action == "wait" and decision.data.proposed == "revise":
        return f"`burnish improve {task.id}` has the findings fixed. The next step is started by hand. {why}".strip()
    if decision.action == "escalate":
        reason = decision.data.reason or "blocked"
        return f"A person must decide ({reason}): {why}\n\n`burnish inbox` names the command for task {task.id}."
    if decision.action == "accept":
        return "None: the change is accepted."
    return why or "A person must decide."


def _next_cycle(decision: DecisionRecord, cycle: int, most: int) -> str:
    blockers = listed(list(decision.data.blockers))
    number = f"cycle {cycle + 1} of {most}" if cycle < most else f"cycle {cycle + 1} (max {most})"
    return f"The agent fixes {blockers or 'what the review asks for'} in {number}."


def write_next_action(deps: Deps, history: History, cycle: int) -> None:
    """Into the artifacts of this cycle and the one before it, whose decision a person may have changed."""
    for number in (cycle - 1, cycle):
        name = file_name(number)
        data = deps.task_files.read(history.task, name) if number > 0 else None
        action = action_required(history, number)
        if data is None or not action:
            continue
        try:
            artifact = parse_artifact(data.decode("utf-8", "replace"), name)
        except MalformedArtifact as damaged:
            deps.progress.note(f"Task {history.task.id}: {damaged}")
            continue
        whole = render_artifact(replace(artifact, body=with_action(artifact.body, action)), limit=1 << 30).encode()
        if whole != data:
            deps.task_files.write(history.task, name, whole)


# -- record review --------------------------------------------------------------------------------
# The files a review leaves behind: the artifact a person reads, and the diff that was judged.


def write_review_files(
    deps: Deps, setup: TaskSetup, history: History, review_input: ReviewInput, panel: PanelResult, update: LedgerDiff
) -> tuple[str, str]:
    """Write the artifact before the review is recorded as finished; its path, and its address for people."""
    task, fix = history.task, fixed_by_reviewer(history, review_input.cycle)
    name = file_name(review_input.cycle)
    patch = f"diff-{review_input.cycle}.patch"
    deps.task_files.write(task, patch, review_input.change.text().encode("utf-8", "surrogateescape"))
    verdict, but = effective_verdict(panel, update.findings, setup.policy.block_on)
    test_notes: tuple[str, ...] = () if any(is_test(c.name) for c in setup.policy.checks) else (NO_TESTS,)
    if note := untested_note(history, review_input.cycle):
        test_notes = (note,)
    test_notes += base_test_notes(history, review_input.cycle)
    cycle = Cycle(
        task=str(task.id),
        title=task.spec.title,
        cycle=review_input.cycle,
        max_cycles=task.max_cycles,
        panel=panel,
        findings=tuple(
            f for f in update.findings if f.alive or f.id in update.resolved or (fix and f.id in fix.issues)
        ),
        commit=review_input.commit.sha,
        tree=review_input.commit.tree,
        base=setup.base.commit,
        diff=patch,
        reproduction_command=next((c.words for c in setup.policy.checks if c.name == "test"), ""),
        change=review_input.change,
        verdict=verdict,
        block_on=setup.policy.block_on,
        fixed=_fixed_text(fix),
        warnings=(*((f"{but[0].upper()}{but[1:]}.",) if but else ()), *test_notes),
    )
    whole = deps.task_files.write(task, name, render_artifact(artifact_of(cycle), limit=1 << 30).encode())
    return str(whole), f"review-cycle://{task.id}/{name}"


def _fixed_text(fix: ReviewFixResult | None) -> str:
    """The commit of a reviewer that may fix the code, with its summary."""
    if fix is None:
        return ""
    agents = ", ".join(reviewer.agent for reviewer in fix.fixers)
    issues = ", ".join(fix.issues) or "no finding listed"
    where = f"{agents} changed the code in commit {fix.commit[:12]} ({issues})"
    return f"{where}: {fix.summary}" if fix.summary else f"{where}."


def write_reviewer_files(deps: Deps, history: History, step: ReviewStep) -> None:
    """Keep the artifact of an earlier review of the same cycle under its own name."""
    reviews = history.superseded_reviews(step.cycle, step.phase)
    text = deps.task_files.read(history.task, file_name(step.cycle)) if reviews else None
    if text is None or deps.task_files.read(history.task, _kept_as(reviews[-1])) is not None:
        return
    deps.task_files.write(history.task, _kept_as(reviews[-1]), text)


def _kept_as(record: PhaseRecord[ReviewResult]) -> str:
    place = record.phase.replace(":", "-").removeprefix("review").lstrip("-")
    return f"{file_name(record.cycle).removesuffix('.md')}.{f'{place}-' if place else ''}attempt-{record.attempt}.md"


def with_earlier(history: History, step: ReviewStep, panel: PanelResult) -> PanelResult:
    """The panel with the earlier ones of the same cycle, so that one artifact holds all reviews."""
    panel = _with_steps(history, step, panel) if step.step else panel
    earlier = history.superseded_reviews(step.cycle, step.phase)
    if not earlier:
        return panel
    reviews = [record.result for record in earlier]
    rows = [f"- {_names(review)}, {review.verdict or 'unreadable'}: {review.summary}" for review in reviews]
    note = "\n".join([f"Earlier reviews of this cycle (in full in {_kept_as(earlier[-1])}):", "", *rows])
    earlier_results = (reviewer_result(reviewer) for review in reviews for reviewer in review.reviewers)
    return replace(panel, results=(*earlier_results, *panel.results), summary=f"{panel.summary}\n\n{note}".strip())


def _names(review: ReviewResult) -> str:
    return ", ".join(reviewer.agent for reviewer in review.reviewers)


def _with_steps(history: History, step: ReviewStep, panel: PanelResult) -> PanelResult:
    before = [record.result for record in history.reviews(step.cycle) if record.phase != step.phase]
    summaries = [(review.step or "review", review.summary) for review in before]
    summaries.append((step.step, panel.summary))
    return replace(
        panel,
        results=(
            *(
                replace(reviewer_result(reviewer), step=review.step or "review")
                for review in before
                for reviewer in review.reviewers
            ),
            *(replace(result, step=step.step) for result in panel.results),
        ),
        summary="\n".join(f"{name}: {text}" for name, text in summaries if text),
        compliance=(
            *(item for review in before for item in review.compliance),
            *panel.compliance,
        ),
    )


def reviewer_result(record: ReviewerRecord) -> ReviewerResult:
    """A reviewer's part, read back from the journal."""
    reading: Review | Unreadable = Unreadable(record.summary, "")
    if record.verdict:
        reading = Review(Verdict(record.verdict), record.summary, blocking=bool(record.blocking))
    return ReviewerResult(
        agent=record.agent,
        model=record.model,
        reading=reading,
        reviewed_at=record.reviewed_at,
        raw_sha256=record.raw_sha256,
        raw_path=record.raw_path,
        command=record.command,
        provider=record.provider,
        prose=record.prose,
    )


def weighed(block_on: Severity, panel: PanelResult, findings: tuple[Finding, ...]) -> Verdict | None:
    """The verdict that counts: findings that block turn an approval into a request for changes."""
    return effective_verdict(panel, findings, block_on)[0]


def for_the_ref(text: bytes, *, link: str) -> bytes:
    """The artifact as it is committed: shortened to the limit; the burnish home has the whole text."""
    if len(text) <= LIMIT:
        return text
    words = text.decode("utf-8", "replace")
    try:
        return render_artifact(parse_artifact(words, link), link=link).encode()
    except MalformedArtifact:
        return cut(words, LIMIT, link).encode()


def mark_overrides(deps: Deps, task: Task) -> None:
    """The newest override, in the front matter and the body of the review that it goes against."""
    events = [event for event in deps.event_log.events(task.id) if event.type == "override.recorded"]
    overrides = [(event, read(OverrideRecorded, event.data)) for event in events]
    event, newest = next((one for one in reversed(overrides) if one[1].review_ref), (None, OverrideRecorded()))
    if event is None:
        return
    name = newest.review_ref.rpartition("/")[2]
    text = deps.task_files.read(task, name)
    if text is None:
        return
    values = {key: getattr(newest, key) for key in ("by", "category", "explanation", "follow_up")}
    override = {"at": event.ts, **{key: value for key, value in values.items() if value}}
    if newest.answers:
        override["answers"] = ", ".join(f"{name}: {'yes' if yes else 'no'}" for name, yes in newest.answers.items())
    try:
        artifact = parse_artifact(text.decode("utf-8", "replace"), name)
    except MalformedArtifact as damaged:
        deps.progress.note(f"Task {task.id}: {damaged}")
        return
    body = with_override(artifact.body, in_words(event.data))
    whole = render_artifact(replace(artifact, arbiter_override=override, body=body), limit=1 << 30)
    deps.task_files.write(task, name, whole.encode())
