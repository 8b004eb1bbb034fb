"""What the author is told: the task at first, then exactly what was found."""

from __future__ import annotations

from dataclasses import dataclass

from burnish.core.codec import encode
from burnish.core.event import Event
from burnish.core.finding import Finding
from burnish.core.flow import Work
from burnish.core.history import History
from burnish.core.ledger import dispute
from burnish.core.override import in_words
from burnish.core.task import Task, TaskType
from burnish.engine.checking import remembered
from burnish.engine.ports import Deps
from burnish.engine.site import Site
from burnish.engine.subject import plans_of
from burnish.review.contract import read_disputes
from burnish.review.fix_prompt import FixContext, build_fix_prompt
from burnish.review.implement_prompt import ImplementContext, build_implement_prompt, build_plan_prompt


@dataclass(frozen=True, slots=True)
class Disputed:
    finding: Finding

    def event(self, task: Task, cycle: int) -> Event:
        return Event("finding.disputed", {"finding": encode(self.finding)}, run=task.run, cycle=cycle)


def disputes_in(reply: str, number: str, findings: tuple[Finding, ...]) -> tuple[Disputed, ...]:
    """Findings the author holds for wrong; the next review rules on them."""
    claims, _notes = read_disputes(reply, number)
    if not claims:
        return ()
    update = dispute(findings, [(c.id, c.evidence) for c in claims], 0)
    return tuple(Disputed(update.finding(i)) for i in update.disputed)


def work_prompt(deps: Deps, site: Site, history: History, step: Work, *, number: str) -> str:
    if step.phase == "improve":
        return build_fix_prompt(_fix_context(deps, site, history, step, number))
    task = history.task
    context = ImplementContext(
        task=task.spec,
        plan=plans_of(deps, task),
        project_context=deps.code.context_files(site.workspace, site.base),
        rescued=_rescued(history, step.cycle),
        previous_error=_previous_error(history, step.cycle),
        checks=tuple(c.words for c in site.policy.checks),
        reviewed=task.auto_review,
        context_chars=site.policy.limits.context_chars,
        error_kb=site.policy.limits.error_kb,
        template=deps.prompts.get("implement.template"),
        tag=number[:8],
    )
    return build_plan_prompt(context) if task.spec.type is TaskType.PLAN else build_implement_prompt(context)


def _fix_context(deps: Deps, site: Site, history: History, step: Work, number: str) -> FixContext:
    task, before = history.task, step.cycle - 1
    reviews = history.reviews(before)
    said = reviews[-1].result if reviews else {}
    decision = history.decision(before)
    full = site.policy.fix_history == "full"
    return FixContext(
        task=task.spec,
        cycle=step.cycle,
        max_cycles=task.max_cycles,
        findings=history.findings,
        summary=str(said.get("summary") or (decision.data.get("why", "") if decision else "")),
        rejection_reason=str(said.get("rejection_reason", "")),
        guidance=str(decision.data.get("guidance", "")) if decision else "",
        checks=remembered(deps, task, before),
        reproduction_command=_reproduction(site),
        code=_cited(site, history.findings),
        tried=_tried(history, before),
        overrides=_overrides(deps, task),
        previous_error=_previous_error(history, step.cycle),
        rescued=_rescued(history, step.cycle),
        dispute_number=number,
        full_history=full,
        original_prompt=_original_prompt(deps, history) if full else "",
        earlier_reviews=_earlier_reviews(deps, task, before) if full else (),
        last_output=_text(deps.desk.read(task, f"agent-output-{before}.md")) if full else "",
        test_kb=site.policy.limits.test_kb,
        template=deps.prompts.get("fix.template"),
        tag=number[:8],
    )


def _reproduction(site: Site) -> str:
    return next((c.words for c in site.policy.checks if c.name == "test"), "")


def _cited(site: Site, findings: tuple[Finding, ...]) -> dict[str, str | None]:
    """The files that open findings point at, as they are now; None = gone."""
    paths = sorted({f.remark.file for f in findings if f.alive and f.remark.file})
    if not paths:
        return {}
    found = site.workspace.read(site.head().sha, paths)
    return {p: (_text(data) if (data := found.get(p)) is not None else None) for p in paths}


def _tried(history: History, upto: int) -> tuple[str, ...]:
    lines = []
    for cycle in range(1, upto + 1):
        decision = history.decision(cycle)
        work = history.work(cycle)
        if decision and work:
            commit = str(work.result.get("commit", ""))[:10]
            lines.append(f"cycle {cycle}: {commit} was sent back: {decision.data.get('why', '')}")
    return tuple(lines)


def _overrides(deps: Deps, task: Task) -> tuple[str, ...]:
    """What people accepted against a review, in this run."""
    said = [e for e in deps.book.events(task.id) if e.type == "override.recorded" and e.run == task.run]
    return tuple(f"cycle {e.cycle}: {in_words(e.data)}" for e in said)


def _rescued(history: History, cycle: int) -> str:
    """What earlier, cut attempts at this phase left behind."""
    refs = [p.result.get("rescue") for p in history.phases if p.cycle == cycle and p.state == "failed"]
    kept = [str(ref) for ref in refs if ref]
    return f"unfinished work of a stopped attempt is kept under {', '.join(kept)}" if kept else ""


def _previous_error(history: History, cycle: int) -> str:
    failed = [p.result for p in history.phases if p.state == "failed" and p.cycle == cycle]
    return str(failed[-1].get("what", "")) if failed else ""


def _original_prompt(deps: Deps, history: History) -> str:
    work = history.work(1)
    return deps.desk.call(history.task, 1, "implement", work.attempt).prompt() or "" if work else ""


def _earlier_reviews(deps: Deps, task: Task, upto: int) -> tuple[str, ...]:
    texts = [_text(deps.desk.read(task, f"review-cycle-{n}.md")) for n in range(1, upto + 1)]
    return tuple(t for t in texts if t)


def _text(data: bytes | None) -> str:
    return data.decode(errors="replace") if data else ""
