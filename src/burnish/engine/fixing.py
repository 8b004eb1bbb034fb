"""`review.may_fix`: the reviewer fixes what it finds. Its edits are a separate commit, checked and reviewed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from burnish.core.agent import joint_source
from burnish.core.codec import decode, encode
from burnish.core.commit import Commit
from burnish.core.event import Event
from burnish.core.finding import Remark, State
from burnish.core.flow import DoReview
from burnish.core.history import REVIEW_FIX, History
from burnish.core.ledger import absorb_review
from burnish.core.review import Review, Verdict, Voice
from burnish.core.task import Task
from burnish.engine.hearing import Heard, Hearing, hear_all
from burnish.engine.ledger_events import finding_events
from burnish.engine.metering import asking
from burnish.engine.ports import CallDir, Deps
from burnish.engine.reviewing import conclude, started, voice_data
from burnish.engine.site import Site
from burnish.engine.subject import subject_of
from burnish.engine.work import committed, save_leftovers


def review_and_fix(deps: Deps, site: Site, history: History, step: DoReview) -> None:
    """With edits: commit them, and let checks and a reading review follow. Without: this was the review."""
    task = history.task
    attempt, new = history.attempt(step.cycle, step.phase)
    commit = committed(site, task, step)
    if commit is None:
        if new:
            deps.code.check_movable(str(task.branch))
        _clear_the_ground(deps, site, history, step, attempt, new=new)
    if new:
        task = deps.record(task, *started(deps, task, site.policy, step, attempt))
    deps.fail_at("fix-started")
    if commit is None:
        hearing = _hearing(deps, site, history, step, attempt)
        heard = hear_all(hearing)
        deps.fail_at("fix-replied")
        # the answer is to the code as it was: after the commit it could not be asked for again
        deps.desk.stamp(task, _stamp(task, step), json.dumps(_said(heard)))
        commit = _commit(deps, site, task, step)
        if commit is None:
            _only_read(deps, site, history, step, attempt, hearing, heard)
            return
    deps.fail_at("fix-committed")
    said = json.loads(deps.desk.stamp(task, _stamp(task, step)) or "{}")
    events, issues = _fixed_findings(history, step, said.pop("remarks", ()), said.get("verdict"), commit.sha)
    done = {**said, "changed": True, "commit": commit.sha, "tree": commit.tree, "issues": issues}
    deps.record(task, *events, _finished(task, step, attempt, done))
    deps.fail_at("fix-finished")


def _clear_the_ground(deps: Deps, site: Site, history: History, step: DoReview, attempt: int, *, new: bool) -> None:
    """The files as they were committed, unless they hold the edits of a reviewer that had finished."""
    head = site.head().sha
    if new:
        site.lay(head)
    elif not _call(deps, history.task, step, attempt, site.policy.reviewers[0].agent).finished():
        save_leftovers(deps, site, history.task, step.cycle, step.phase)
        site.workspace.put_right(head, base=site.base)


def _call(deps: Deps, task: Task, step: DoReview, attempt: int, name: str) -> CallDir:
    return deps.desk.call(task, step.cycle, "review", attempt, f"fix@{name}")


def _hearing(deps: Deps, site: Site, history: History, step: DoReview, attempt: int) -> Hearing:
    task = history.task
    return Hearing(
        subject=subject_of(deps, site, history, step.cycle),
        policy=site.policy,
        files=site.workspace.path,
        task=task.id,
        call=lambda name: _call(deps, task, step, attempt, name),
        ask=asking(deps, site.policy, task),
        now=deps.now,
        read_only=False,
    )


def _commit(deps: Deps, site: Site, task: Task, step: DoReview) -> Commit | None:
    deps.book.require_claim(task.id)
    site.workspace.after_phase(f"{step.cycle}-{step.phase}")
    trailers = {
        "Burnish-Task": str(task.id),
        "Burnish-Cycle": str(step.cycle),
        "Burnish-Phase": REVIEW_FIX,
        "Burnish-Agent": site.policy.reviewers[0].agent,
    }
    subject = f"fix: apply fixes of the review (cycle {step.cycle})"
    commit = site.workspace.commit(subject, trailers, author=deps.code.author(), expect=site.head().sha)
    if commit:
        site.untouched.add(commit.sha)
    return commit


def _only_read(
    deps: Deps,
    site: Site,
    history: History,
    step: DoReview,
    attempt: int,
    hearing: Hearing,
    heard: tuple[Heard, ...],
) -> None:
    """Nothing was fixed: the reply is the review of this cycle."""
    head = site.head()
    done = _finished(history.task, step, attempt, {"changed": False, "commit": head.sha, "tree": head.tree})
    plain = DoReview(step.cycle)
    number, _ = history.attempt(step.cycle, plain.phase)
    begun = started(deps, history.task, site.policy, plain, number)[:1]
    conclude(deps, site, history, plain, number, hearing, heard, [], [done, *begun])


def _finished(task: Task, step: DoReview, attempt: int, data: Mapping[str, Any]) -> Event:
    return Event("phase.finished", {"phase": step.phase, "attempt": attempt, **data}, run=task.run, cycle=step.cycle)


def _said(heard: tuple[Heard, ...]) -> dict[str, Any]:
    voices: list[Voice] = [h.voice for h in heard]
    costs = [v.cost_usd for v in voices if v.cost_usd is not None]
    readings = [v.reading for v in voices if isinstance(v.reading, Review)]
    return {
        "verdict": readings[0].verdict.value if readings else None,
        "summary": readings[0].summary if readings else "",
        "remarks": [encode(remark) for reading in readings for remark in reading.remarks],
        "mended_by": [voice_data(voice) for voice in voices],
        "cost_usd": sum(costs) if costs else None,
        "cost_source": joint_source(v.cost_source for v in voices),
        "tokens": sum(v.tokens for v in voices),
    }


def _fixed_findings(
    history: History, step: DoReview, remarks: Sequence[Mapping[str, Any]], verdict: str | None, commit: str
) -> tuple[list[Event], list[str]]:
    """What the reviewer found before it changed the code, on record as findings.

    Those of a reviewer that approves its own result are resolved by its commit; the review that follows may raise them
    again. If it still asks for changes, it is unknown which are left: they stay open, and that review rules on each.
    """
    known = {finding.id for finding in history.findings}
    decoded = tuple(decode(Remark, remark) for remark in remarks)
    update = absorb_review(history.findings, remarks=decoded, cycle=step.cycle, narrow=False)
    note = f"fixed by the reviewer in {commit[:10]}"
    if verdict == Verdict.APPROVED:
        new = (f if f.id in known else replace(f, state=State.RESOLVED, note=note) for f in update.findings)
        update = replace(update, findings=tuple(new))
    return finding_events(history.task, step.cycle, history.findings, update), list(dict.fromkeys(update.given))


def _stamp(task: Task, step: DoReview) -> str:
    return f"{REVIEW_FIX}-{task.run}-{step.cycle}"
