"""Review: one reviewer or a panel reads a snapshot of the commit; what they say is written into the ledger."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from burnish.core.codec import encode
from burnish.core.event import Event
from burnish.core.flow import DoReview
from burnish.core.history import History
from burnish.core.ledger import Update, absorb_review
from burnish.core.review import Panel, Review, Unreadable, Voice
from burnish.core.task import Task
from burnish.engine.hearing import Heard, Hearing, hear_all, mechanical, panel_of
from burnish.engine.ledger_events import finding_events
from burnish.engine.ports import Deps, Snapshot
from burnish.engine.record_review import keep_review
from burnish.engine.site import Site
from burnish.engine.subject import Subject, subject_of


def review(deps: Deps, site: Site, history: History, step: DoReview) -> None:
    """Hear every reviewer, put together what they say, write it down."""
    task = history.task
    attempt, new = history.attempt(step.cycle, "review")
    if new:
        agents = [r.agent for r in site.policy.reviewers]
        data = {"phase": "review", "attempt": attempt, "runner": deps.runner, "agent": ", ".join(agents)}
        where = {"run": task.run, "cycle": step.cycle}
        task = deps.record(
            task, Event("phase.started", data, **where), Event("review.started", {"agents": agents}, **where)
        )
    deps.fail_at("review-started")
    subject = subject_of(deps, site, history, step.cycle)
    with deps.code.snapshot(site.workspace, task, subject.commit.sha, site.base) as snapshot:
        hearing = _hearing(deps, site, task, subject, snapshot, attempt)
        heard = hear_all(hearing)
        breaches = snapshot.breaches()
    deps.fail_at("review-replied")
    panel = panel_of(hearing, heard)
    update = absorb_review(
        history.findings,
        remarks=panel.remarks,
        rulings=panel.rulings,
        cycle=step.cycle,
        delta=subject.delta,
        files=subject.text_of,
        mechanical=mechanical(heard),
    )
    _write_down(deps, site, history, subject, attempt, heard, panel, update, breaches)
    deps.fail_at("review-finished")


def _hearing(deps: Deps, site: Site, task: Task, subject: Subject, snapshot: Snapshot, attempt: int) -> Hearing:
    return Hearing(
        subject=subject,
        policy=site.policy,
        files=snapshot.path,
        task=task.id,
        call=lambda name: deps.desk.call(task, subject.cycle, "review", attempt, name),
        ask=lambda request: deps.agents(task.id).call(
            request, on_output=lambda line: deps.progress.output(task.id, line)
        ),
        now=deps.now,
    )


def _write_down(
    deps: Deps,
    site: Site,
    history: History,
    subject: Subject,
    attempt: int,
    heard: tuple[Heard, ...],
    panel: Panel,
    update: Update,
    breaches: list[str],
) -> None:
    task = history.task
    kept = keep_review(deps, site, task, subject, panel, update)
    where: dict[str, Any] = {"run": task.run, "cycle": subject.cycle}
    data = {
        "phase": "review",
        "attempt": attempt,
        "commit": subject.commit.sha,
        "tree": subject.commit.tree,
        "verdict": panel.verdict.value if panel.verdict else None,
        "summary": panel.summary,
        "why": panel.why,
        "blocking": panel.blocking,
        "signed": panel.signed,
        "mechanical": panel.mechanical,
        "rejection_reason": panel.rejection_reason,
        "compliance": encode(panel.compliance),
        "uncovered": list(panel.uncovered),
        "inspected": sorted({p for v in panel.voices if isinstance(v.reading, Review) for p in v.reading.inspected}),
        "not_shown": sorted({p for h in heard for p in h.not_shown}),
        "notes": [*panel.notes, *update.notes],
        "reviewers": [voice_data(v) for v in panel.voices],
        "cost_usd": _sum(panel, lambda v: v.cost_usd),
        "tokens": sum(v.tokens for v in panel.voices),
        **kept,
    }
    events = finding_events(task, subject.cycle, history.findings, update)
    if breaches:
        events.append(
            Event("guard.breach", {"what": "a reviewer wrote to its snapshot", "paths": breaches[:50]}, **where)
        )
    events.append(Event("phase.finished", data, **where))
    done = {key: data[key] for key in ("verdict", "summary", "review_ref", "reviewers", "commit")}
    deps.record(task, *events, Event("review.completed", {**done, "findings": list(update.given)}, **where))


def voice_data(voice: Voice) -> dict[str, Any]:
    """A reviewer's part, as it stands in the artifact, the journal and `show --json`."""
    read = voice.reading if isinstance(voice.reading, Review) else None
    return {
        "agent": voice.agent,
        "model": voice.model,
        "provider": voice.provider,
        "command": voice.command,
        "reviewed_at": voice.reviewed_at,
        "verdict": read.verdict.value if read else None,
        "blocking": read.blocking if read else None,
        "summary": read.summary if read else (voice.reading.why if isinstance(voice.reading, Unreadable) else ""),
        "raw_sha256": voice.raw_sha256,
        "raw_path": voice.raw_path,
    }


def _sum(panel: Panel, cost: Callable[[Voice], float | None]) -> float | None:
    known = [c for c in map(cost, panel.voices) if c is not None]
    return sum(known) if known else None
