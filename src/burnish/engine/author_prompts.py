"""Prompts for the author: first the task, then the findings, and what an attempt that was cut short left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from burnish.core.commit import Commit, TargetMerge
from burnish.core.event import Event, RecordedEvent
from burnish.core.finding import Finding, worst_first
from burnish.core.flow import WorkStep
from burnish.core.history import History
from burnish.core.images import images_text
from burnish.core.journal import ReviewResult, read
from burnish.core.journal_events import FindingChanged, OverrideRecorded, new_event
from burnish.core.ledger.ledger import dispute
from burnish.core.override import in_words
from burnish.core.task import Spec, Task, TaskType
from burnish.engine.checking import remembered
from burnish.engine.failure_text import previous_error
from burnish.engine.ports import Deps
from burnish.engine.review_input import plans_of
from burnish.engine.target_merge import conflicts_of
from burnish.engine.task_setup import TaskSetup
from burnish.review import prompt_sections as sections
from burnish.review.contract import read_disputes
from burnish.review.fix_prompt import FixContext, build_fix_prompt
from burnish.review.implement_prompt import ImplementContext, build_implement_prompt, build_plan_prompt
from burnish.review.prompt_sections import ALL_FINDINGS, WHOLE_TASK, all_findings_text
from burnish.review.quoting import cut_text, fenced
from burnish.review.target_text import conflict_text

# findings whose code is looked up; the prompt shows less
MAX_CITED = 100


@dataclass(frozen=True, slots=True)
class DisputedFinding:
    finding: Finding

    def event(self, task: Task, cycle: int) -> Event:
        return new_event("finding.disputed", FindingChanged(self.finding), run=task.run, cycle=cycle)


def disputes_in(reply: str, number: str, findings: tuple[Finding, ...]) -> tuple[DisputedFinding, ...]:
    """Findings the author holds for wrong; the next review rules on them."""
    claims, _notes = read_disputes(reply, number)
    if not claims:
        return ()
    update = dispute(findings, [(c.id, c.evidence) for c in claims], 0)
    return tuple(DisputedFinding(update.finding(i)) for i in update.disputed)


def work_prompt(
    deps: Deps,
    setup: TaskSetup,
    history: History,
    step: WorkStep,
    *,
    number: str,
    merge: TargetMerge | None = None,
) -> str:
    """The prompt of an author's phase, with the places of the images that the description refers to."""
    prompt = _phase_prompt(deps, setup, history, step, number, merge)
    return prompt + images_text(deps.task_files.images(history.task))


def _phase_prompt(
    deps: Deps, setup: TaskSetup, history: History, step: WorkStep, number: str, merge: TargetMerge | None
) -> str:
    if step.phase == "improve":
        conflict = ""
        if merge and merge.conflicts:
            limit = setup.policy.limits.diff_kb * 1024 // _DIFF_SHARE
            conflict = conflict_text(conflicts_of(setup, history, merge), limit, number[:8])
        return build_fix_prompt(replace(_fix_context(deps, setup, history, step, number), conflict=conflict))
    task = history.task
    context = ImplementContext(
        task=_with_wishes(deps, history) if task.spec.type is TaskType.PLAN else task.spec,
        plan=plans_of(deps, task),
        project_context=deps.repository.context_files(setup.workspace, setup.base),
        rescued=unfinished_text(setup, history, step.cycle, number[:8]),
        previous_error=previous_error(history, step.cycle, setup.policy.limits.error_kb),
        checks=tuple(c.words for c in setup.policy.checks),
        reviewed=task.auto_review,
        context_chars=setup.policy.limits.context_chars,
        error_kb=setup.policy.limits.error_kb,
        template=deps.prompts.get("implement.template"),
        tag=number[:8],
    )
    return build_plan_prompt(context) if task.spec.type is TaskType.PLAN else build_implement_prompt(context)


def _with_wishes(deps: Deps, history: History) -> Spec:
    """The task with the person's comments on the earlier plan, for a plan that was sent back."""
    spec = history.task.spec
    notes = [d.data.guidance for d in history.decisions if d.data.guidance]
    if not notes:
        return spec
    before = _text(deps.task_files.read(history.task, "plan.md"))
    wishes = "\n".join(f"- {note}" for note in notes)
    words = f"A person asked for changes to the plan below:\n{wishes}\n\nThe earlier plan:\n\n{before}"
    return replace(spec, description=f"{spec.description}\n\n{words}".strip())


def _fix_context(deps: Deps, setup: TaskSetup, history: History, step: WorkStep, number: str) -> FixContext:
    task, before = history.task, step.cycle - 1
    reviews = history.reviews(before)
    review = reviews[-1].result if reviews else ReviewResult()
    decision = history.decision(before)
    full = setup.policy.fix_history == "full"
    limits = setup.policy.limits
    overrides = _overrides(deps, task)
    return FixContext(
        task=task.spec,
        cycle=step.cycle,
        max_cycles=task.max_cycles,
        plan=plans_of(deps, task),
        findings=history.findings,
        settled=ids_settled_by_override(history, overrides, before),
        summary=review.summary or (decision.data.why if decision else ""),
        rejection_reason=review.rejection_reason,
        prose=_prose([record.result for record in reviews]),
        guidance=decision.data.guidance if decision else "",
        checks=remembered(deps, task, before),
        reproduction_command=_reproduction(setup),
        code=_cited(setup, history.findings),
        tried=_tried(history, before),
        overrides=tuple(f"cycle {e.cycle}: {in_words(e.data)}" for e in overrides),
        previous_error=previous_error(history, step.cycle, limits.error_kb),
        rescued=unfinished_text(setup, history, step.cycle, number[:8]),
        dispute_number=number,
        full_history=full,
        original_prompt=_original_prompt(deps, history) if full else "",
        earlier_reviews=_earlier_reviews(deps, task, before) if full else (),
        last_output=_text(deps.task_files.read(task, f"agent-output-{before}.md")) if full else "",
        test_kb=limits.test_kb,
        error_kb=limits.error_kb,
        findings_kb=limits.findings_kb,
        template=deps.prompts.get("fix.template"),
        tag=number[:8],
    )


def _prose(reviews: Sequence[ReviewResult]) -> str:
    """What each reviewer wrote beside its verdict."""
    reviewers = [reviewer for review in reviews for reviewer in review.reviewers if reviewer.prose]
    if len(reviewers) == 1:
        return reviewers[0].prose
    return "\n\n".join(f"{reviewer.agent}: {reviewer.prose}" for reviewer in reviewers)


def ids_settled_by_override(history: History, overrides: Sequence[RecordedEvent], before: int) -> frozenset[str]:
    """Findings that a person accepted by an override, and that are not to be fixed after it.

    What a later review or check blocks on again is to be fixed; and so is all of it when a person sends the task back
    without saying what to change.
    """
    decision = history.decision(before)
    is_sent_back = decision is not None and decision.by != "burnish" and not decision.data.target_commit
    if decision is not None and is_sent_back and not decision.data.guidance:
        return frozenset()
    settled_ids: set[str] = set()
    for event in overrides:
        since = int(event.cycle or 0)
        earlier_ids = [f.id for f in history.findings if f.first_cycle <= since]
        accepted_ids = read(OverrideRecorded, event.data).findings
        settled_ids |= set(earlier_ids if accepted_ids is None else accepted_ids)
        later = [d for d in history.decisions if d.cycle > since and d.action == "revise" and d.by == "burnish"]
        settled_ids -= {id for d in later for id in d.data.blockers}
    return frozenset(settled_ids)


def _reproduction(setup: TaskSetup) -> str:
    return next((c.words for c in setup.policy.checks if c.name == "test"), "")


def _cited(setup: TaskSetup, findings: tuple[Finding, ...]) -> dict[str, str | None]:
    """The files that open findings point at, as they are now; None = gone."""
    worst = worst_first(tuple(f for f in findings if f.alive and f.remark.file))
    paths = sorted({str(f.remark.file) for f in worst[:MAX_CITED]})
    if not paths:
        return {}
    found = setup.workspace.read(setup.head().sha, paths)
    return {p: (_text(data) if (data := found.get(p)) is not None else None) for p in paths}


def _tried(history: History, upto: int) -> tuple[str, ...]:
    lines = []
    for cycle in range(1, upto + 1):
        decision = history.decision(cycle)
        work = history.work(cycle)
        if decision and work and not decision.data.target_commit:
            commit = work.result.commit[:10]
            lines.append(f"cycle {cycle}: {commit} was sent back: {decision.data.why}")
    return tuple(lines)


def _overrides(deps: Deps, task: Task) -> list[RecordedEvent]:
    """What people accepted against a review, in this run."""
    return [e for e in deps.event_log.events(task.id) if e.type == "override.recorded" and e.run == task.run]


def _original_prompt(deps: Deps, history: History) -> str:
    work = history.work(1)
    return deps.task_files.call(history.task, 1, "implement", work.attempt).prompt() or "" if work else ""


def _earlier_reviews(deps: Deps, task: Task, upto: int) -> tuple[str, ...]:
    texts = [_text(deps.task_files.read(task, f"review-cycle-{n}.md")) for n in range(1, upto + 1)]
    return tuple(t for t in texts if t)


def _text(data: bytes | None) -> str:
    return data.decode(errors="replace") if data else ""


# -- unfinished work ------------------------------------------------------------------------------
# What a cut attempt left: given back to the next one, in its prompt or in its files.

# of the prompt: a third of what a review may show of a diff
_DIFF_SHARE = 3


def rescue_refs(history: History, cycle: int) -> list[str]:
    """Where attempts at this cycle's work that were cut left their files, oldest first."""
    refs = (p.result.rescue for p in history.failures() if p.cycle == cycle)
    return list(dict.fromkeys(ref for ref in refs if ref))


def give_back(setup: TaskSetup, history: History, step: WorkStep) -> bool:
    """`workspace.rescued: apply`: begin with the files of the newest cut attempt, if it began at the same commit."""
    rescue_commit = _newest(setup, history, step.cycle)
    if setup.policy.rescued != "apply" or rescue_commit is None or not _of_head(setup, rescue_commit):
        return False
    setup.workspace.restore_files(rescue_commit)
    return True


def brief_author(deps: Deps, setup: TaskSetup, history: History, step: WorkStep) -> None:
    """Lay the refs that the prompt names into the agent's repository, and what it has no room for beside them."""
    refs = rescue_refs(history, step.cycle)
    files: dict[str, str] = {}
    if step.phase == "improve":
        open_findings = [finding for finding in history.findings if finding.alive]
        files = {WHOLE_TASK: _whole_task(deps, history), ALL_FINDINGS: all_findings_text(open_findings)}
    if refs or files:
        setup.workspace.brief(files, refs)


def _whole_task(deps: Deps, history: History) -> str:
    task = history.task
    spec = task.spec
    plan = "\n\n".join(text for text in (spec.plan, plans_of(deps, task)) if text.strip())
    parts = {
        f"# {sections.task_title(spec)}": sections.task_order(spec),
        "## Scope": spec.scope,
        "## Acceptance Criteria": sections.criteria_text(spec) if spec.criteria else "",
        "## Task Checklist": sections.checklist_text(spec) if spec.checklist else "",
        "## Plan": plan,
    }
    return "".join(f"{head}\n\n{text.rstrip()}\n\n" for head, text in parts.items() if text.strip())


def unfinished_text(setup: TaskSetup, history: History, cycle: int, tag: str) -> str:
    """For the next attempt's prompt: where the work of cut attempts is, and the diff of the newest."""
    refs = rescue_refs(history, cycle)
    rescue_commit = _newest(setup, history, cycle)
    if not refs or rescue_commit is None:
        return ""
    intro = f"Unfinished work of {'a stopped attempt' if len(refs) == 1 else 'stopped attempts'}"
    where = f"{intro} is kept under {', '.join(f'`{ref}`' for ref in refs)} (in this repository)."
    if setup.policy.rescued == "apply" and _of_head(setup, rescue_commit):
        return f"{where} The files here begin with the newest: `git diff` shows it. Go on from there.\n"
    change = setup.workspace.changes(rescue_commit.parents[0], rescue_commit.sha)
    limit = setup.policy.limits.diff_kb * 1024 // _DIFF_SHARE
    diff = cut_text(change.text(), limit)
    show = f"git diff {refs[-1]}^ {refs[-1]}"
    rest = f" (cut here; `{show}` shows all)" if diff != change.text() else ""
    take = f"Use what is right in it: `{show} | git apply --3way` brings all of it back."
    return f"{where} {take}\n\nIts diff{rest}:\n\n{fenced(diff, tag=tag)}"


def _newest(setup: TaskSetup, history: History, cycle: int) -> Commit | None:
    refs = rescue_refs(history, cycle)
    return setup.workspace.rescued(refs[-1]) if refs else None


def _of_head(setup: TaskSetup, rescue_commit: Commit) -> bool:
    """Did the cut attempt begin where the next one begins? Then its files can be taken as they are."""
    return rescue_commit.parents == (setup.workspace.plain(setup.head().sha),)
