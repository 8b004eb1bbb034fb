"""Review: one reviewer or a panel reads a snapshot of the commit; what they say is written into the ledger."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from burnish.core.agent import AgentReply, AgentRequest
from burnish.core.codec import encode
from burnish.core.decision import unjudged
from burnish.core.event import Event
from burnish.core.flow import DoReview
from burnish.core.history import History
from burnish.core.ledger import Update, absorb_review
from burnish.core.policy import ReviewerSpec
from burnish.core.review import Panel, Review, Unreadable, Verdict, Voice
from burnish.core.task import Task
from burnish.engine.ledger_events import finding_events
from burnish.engine.ports import CallDir, Deps, Snapshot
from burnish.engine.record_review import keep_review
from burnish.engine.site import Site
from burnish.engine.subject import Subject, subject_of
from burnish.errors import PhaseFailed
from burnish.review import contract, strict
from burnish.review.context import ReviewPrompt, build_review_prompt, coverage
from burnish.review.panel import combine


@dataclass(frozen=True, slots=True)
class Seat:
    """One reviewer's place at the table."""

    name: str
    spec: ReviewerSpec
    attempt: int


@dataclass(frozen=True, slots=True)
class Heard:
    voice: Voice
    uncovered: tuple[str, ...] = ()
    not_shown: tuple[str, ...] = ()
    mechanical: bool = False


def review(deps: Deps, site: Site, history: History, step: DoReview) -> None:
    """Hear every reviewer, put together what they say, write it down."""
    task = history.task
    last = history.phase(step.cycle, "review")
    attempt = last.attempt + (last.state != "started") if last else 1
    if not last or last.state != "started":
        agents = [r.agent for r in site.policy.reviewers]
        data = {"phase": "review", "attempt": attempt, "runner": deps.runner, "agent": ", ".join(agents)}
        where = {"run": task.run, "cycle": step.cycle}
        task = deps.record(
            task, Event("phase.started", data, **where), Event("review.started", {"agents": agents}, **where)
        )
    deps.fail_at("review-started")
    subject = subject_of(deps, site, history, step.cycle)
    with deps.code.snapshot(site.workspace, task, subject.commit.sha, site.base) as snapshot:
        heard = _hear_all(deps, site, task, subject, snapshot, attempt)
        breaches = snapshot.breaches()
    deps.fail_at("review-replied")
    panel = _panel(site, heard)
    update = absorb_review(
        history.findings,
        remarks=panel.remarks,
        rulings=panel.rulings,
        cycle=step.cycle,
        delta=subject.delta,
        files=subject.text_of,
        mechanical=_mechanical(heard),
    )
    _write_down(deps, site, history, subject, attempt, heard, panel, update, breaches)
    deps.fail_at("review-finished")


def _mechanical(heard: tuple[Heard, ...]) -> frozenset[str]:
    """Those who list everything each time, and were heard: what they no longer raise is resolved."""
    return frozenset(h.voice.agent for h in heard if h.mechanical and isinstance(h.voice.reading, Review))


def _hear_all(
    deps: Deps, site: Site, task: Task, subject: Subject, snapshot: Snapshot, attempt: int
) -> tuple[Heard, ...]:
    """Side by side; a reviewer that could not be asked fails the phase unless the others suffice."""
    specs = site.policy.reviewers
    names = [spec.agent if specs[:n].count(spec) == 0 else f"{spec.agent}-{n + 1}" for n, spec in enumerate(specs)]
    seats = [Seat(name, spec, attempt) for name, spec in zip(names, specs, strict=True)]

    def hear(seat: Seat) -> Heard | PhaseFailed:
        try:
            return _hear(deps, site, task, subject, snapshot, seat)
        except PhaseFailed as failure:
            return failure

    if len(seats) == 1:
        answers = [hear(seats[0])]
    else:
        with ThreadPoolExecutor(len(seats)) as threads:
            answers = list(threads.map(hear, seats))
    heard = tuple(a for a in answers if isinstance(a, Heard))
    failures = [a for a in answers if isinstance(a, PhaseFailed)]
    if failures and (not heard or site.policy.quorum == "all"):
        raise failures[0]
    return heard


def _hear(deps: Deps, site: Site, task: Task, subject: Subject, snapshot: Snapshot, seat: Seat) -> Heard:
    """Ask once; once more if the answer could not be read, or if it left paths out."""
    call = deps.desk.call(task, subject.cycle, "review", seat.attempt, seat.name)
    prompt = build_review_prompt(subject.context(site, seat.spec, call.number()))
    reply = _ask(deps, site, task, subject, snapshot, seat, call, prompt.text)
    reading = _read(site, subject, seat, reply.text, call.number())
    gap = _gap(subject, reading)
    if gap:
        reply, reading = _again(deps, site, task, subject, snapshot, seat, reply, reading, gap)
    uncovered = _uncovered(subject, prompt, reading)
    if uncovered:
        reply, reading, uncovered = _look_again(deps, site, task, subject, snapshot, seat, reply, reading, uncovered)
    return Heard(_voice(deps, seat, reply, reading), uncovered, prompt.not_shown)


def _ask(
    deps: Deps, site: Site, task: Task, subject: Subject, snapshot: Snapshot, seat: Seat, call: CallDir, prompt: str
) -> AgentReply:
    request = AgentRequest(
        agent=seat.spec.agent,
        role="review",
        prompt=prompt,
        cwd=snapshot.path,
        call_dir=call.path,
        task=task.id,
        cycle=subject.cycle,
        phase="review",
        model=seat.spec.model,
        timeout_seconds=seat.spec.timeout_seconds,
        read_only=True,
        number=call.number(),
    )
    return deps.agents(task.id).call(request, on_output=lambda line: deps.progress.output(task.id, line))


def _read(site: Site, subject: Subject, seat: Seat, text: str, number: str) -> Review | Unreadable:
    reading = contract.read(text, number, expect=subject.expect(seat.spec, seat.name))
    if isinstance(reading, Unreadable) and site.policy.accept_unsigned:
        return strict.read_unsigned(text, source=seat.name)
    return reading


def _again(
    deps: Deps,
    site: Site,
    task: Task,
    subject: Subject,
    snapshot: Snapshot,
    seat: Seat,
    first: AgentReply,
    before: Review | Unreadable,
    why: str,
) -> tuple[AgentReply, Review | Unreadable]:
    """The block alone, from the reviewer's own words; they are data to whoever reads them."""
    call = deps.desk.call(task, subject.cycle, "review", seat.attempt, f"{seat.name}-again")
    prompt = subject.parse_prompt(site, seat.spec, call.number(), first.text, why)
    spec = seat.spec
    if site.policy.parse_agent:
        spec = replace(spec, agent=site.policy.parse_agent, model=site.policy.parse_model)
    reply = _ask(deps, site, task, subject, snapshot, replace(seat, spec=spec), call, prompt)
    reading = _read(site, subject, seat, reply.text, call.number())
    if isinstance(reading, Unreadable):
        reading = Unreadable(f"{why}; asked once more: {reading.why}", first.text)
    # what could be read the first time is not lost to a worse second answer
    kept = before if isinstance(before, Review) and isinstance(reading, Unreadable) else reading
    return _both(first, reply), kept


def _gap(subject: Subject, reading: Review | Unreadable) -> str:
    """Why the reviewer must be asked once more, if it must."""
    if isinstance(reading, Unreadable):
        return reading.why
    if reading.verdict is not Verdict.APPROVED or not reading.signed:
        return ""
    missing = unjudged(reading.compliance, subject.judged)
    return f"it approves but does not judge: {'; '.join(missing)}" if missing else ""


def _look_again(
    deps: Deps,
    site: Site,
    task: Task,
    subject: Subject,
    snapshot: Snapshot,
    seat: Seat,
    first: AgentReply,
    reading: Review | Unreadable,
    uncovered: tuple[str, ...],
) -> tuple[AgentReply, Review | Unreadable, tuple[str, ...]]:
    """An approval that left paths out is asked for the rest, those paths first."""
    call = deps.desk.call(task, subject.cycle, "review", seat.attempt, f"{seat.name}-rest")
    prompt = build_review_prompt(subject.only(uncovered).context(site, seat.spec, call.number()))
    reply = _ask(deps, site, task, subject, snapshot, seat, call, prompt.text)
    more = _read(site, subject, seat, reply.text, call.number())
    if isinstance(more, Unreadable) or isinstance(reading, Unreadable):
        return _both(first, reply), reading, uncovered
    left = coverage(subject.only(uncovered).change, prompt, more.inspected)
    return _both(first, reply), _joined(reading, more), left


def _joined(one: Review, more: Review) -> Review:
    """Two passes of one reviewer are one review; the worse verdict counts."""
    order = [Verdict.APPROVED, Verdict.CHANGES_REQUESTED, Verdict.NEEDS_DISCUSSION, Verdict.REJECTED]
    worse = max(one, more, key=lambda r: order.index(r.verdict))
    return replace(
        one,
        verdict=worse.verdict,
        summary=worse.summary if worse is more else one.summary,
        inspected=tuple(dict.fromkeys((*one.inspected, *more.inspected))),
        remarks=(*one.remarks, *more.remarks),
        blocking=one.blocking or more.blocking,
        rejection_reason=one.rejection_reason or more.rejection_reason,
        notes=(*one.notes, *more.notes),
        signed=one.signed and more.signed,
    )


def _uncovered(subject: Subject, prompt: ReviewPrompt, reading: Review | Unreadable) -> tuple[str, ...]:
    """Only an approval needs to have seen everything."""
    if isinstance(reading, Unreadable) or reading.verdict is not Verdict.APPROVED or not reading.signed:
        return ()
    return coverage(subject.change, prompt, reading.inspected)


def _both(first: AgentReply, second: AgentReply) -> AgentReply:
    cost = (
        None if first.cost_usd is None and second.cost_usd is None else (first.cost_usd or 0) + (second.cost_usd or 0)
    )
    text = f"{first.text}\n\n{second.text}"
    return replace(second, text=text, cost_usd=cost, tokens=first.tokens + second.tokens)


def _voice(deps: Deps, seat: Seat, reply: AgentReply, reading: Review | Unreadable) -> Voice:
    return Voice(
        agent=seat.name,
        model=reply.model,
        reading=reading,
        reviewed_at=deps.now(),
        raw_sha256=hashlib.sha256(reply.text.encode(errors="surrogateescape")).hexdigest(),
        raw_path=reply.transcript,
        command=reply.command,
        provider=reply.provider,
        cost_usd=reply.cost_usd,
        tokens=reply.tokens,
    )


def _panel(site: Site, heard: tuple[Heard, ...]) -> Panel:
    panel = combine(tuple(h.voice for h in heard), quorum=site.policy.quorum, configured=len(site.policy.reviewers))
    # A path is covered when any reviewer saw it; one that did not look leaves it to the others.
    missing = [set(h.uncovered) for h in heard]
    uncovered = sorted(set.intersection(*missing)) if missing else []
    return replace(panel, uncovered=tuple(uncovered), mechanical=bool(heard) and all(h.mechanical for h in heard))


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
