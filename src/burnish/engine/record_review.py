"""The files a review leaves behind: the artifact a person reads, and the diff that was judged."""

from __future__ import annotations

from dataclasses import replace

from burnish.core.decision import effective_verdict
from burnish.core.finding import Finding, Severity
from burnish.core.flow import ReviewStep
from burnish.core.history import History, PhaseRecord, fixed_by_reviewer
from burnish.core.journal import ReviewerRecord, ReviewFixResult, ReviewResult, read
from burnish.core.journal_events import OverrideRecorded
from burnish.core.ledger.ledger import LedgerDiff
from burnish.core.override import in_words
from burnish.core.policy import is_test
from burnish.core.recorded_reviews import untested_note
from burnish.core.review import PanelResult, Review, ReviewerResult, Unreadable, Verdict
from burnish.core.task import Task
from burnish.engine.checking import NO_TESTS
from burnish.engine.ports import Deps
from burnish.engine.review_input import ReviewInput
from burnish.engine.task_setup import TaskSetup
from burnish.review.artifact import LIMIT, MalformedArtifact, cut, file_name, parse_artifact, render_artifact
from burnish.review.body import Cycle, artifact_of, with_override


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
    results = (voice_of(reviewer) for review in reviews for reviewer in review.reviewers)
    return replace(panel, voices=(*results, *panel.voices), summary=f"{panel.summary}\n\n{note}".strip())


def _names(review: ReviewResult) -> str:
    return ", ".join(reviewer.agent for reviewer in review.reviewers)


def _with_steps(history: History, step: ReviewStep, panel: PanelResult) -> PanelResult:
    before = [record.result for record in history.reviews(step.cycle) if record.phase != step.phase]
    summaries = [(review.step or "review", review.summary) for review in before]
    summaries.append((step.step, panel.summary))
    return replace(
        panel,
        voices=(
            *(
                replace(voice_of(reviewer), step=review.step or "review")
                for review in before
                for reviewer in review.reviewers
            ),
            *(replace(result, step=step.step) for result in panel.voices),
        ),
        summary="\n".join(f"{name}: {text}" for name, text in summaries if text),
        compliance=(
            *(item for review in before for item in review.compliance),
            *panel.compliance,
        ),
    )


def voice_of(record: ReviewerRecord) -> ReviewerResult:
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
