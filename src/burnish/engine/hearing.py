"""Hearing reviewers: ask, read, ask once more. A task's review and a review without a task both come here."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from burnish.core.agent import AgentReply, AgentRequest
from burnish.core.decision import unjudged
from burnish.core.policy import Policy, ReviewerSpec
from burnish.core.review import Panel, Review, Unreadable, Verdict, Voice
from burnish.engine.ports import CallDir
from burnish.engine.subject import Subject
from burnish.errors import PhaseFailed
from burnish.review import contract, strict
from burnish.review.context import ReviewPrompt, build_review_prompt, coverage
from burnish.review.panel import combine


@dataclass(frozen=True, slots=True)
class Seat:
    """One reviewer's place at the table."""

    name: str
    spec: ReviewerSpec


@dataclass(frozen=True, slots=True)
class Heard:
    voice: Voice
    uncovered: tuple[str, ...] = ()
    not_shown: tuple[str, ...] = ()
    mechanical: bool = False


def _nobody(seat: Seat) -> Review | None:
    return None


@dataclass(frozen=True, slots=True)
class Hearing:
    """One review: what is judged, by which rules, and the ways to those who judge."""

    subject: Subject
    policy: Policy
    # the snapshot that reviewers stand in
    files: Path
    task: int
    # where a call is kept, by the reviewer's name
    call: Callable[[str], CallDir]
    ask: Callable[[AgentRequest], AgentReply]
    now: Callable[[], str]
    # a reviewer that is a program of our own answers at once; None for one that must be asked
    program: Callable[[Seat], Review | None] = _nobody


def hear_all(hearing: Hearing) -> tuple[Heard, ...]:
    """Side by side; a reviewer that could not be asked fails the review unless the others suffice."""
    specs = hearing.policy.reviewers
    names = [spec.agent if specs[:n].count(spec) == 0 else f"{spec.agent}-{n + 1}" for n, spec in enumerate(specs)]
    seats = [Seat(name, spec) for name, spec in zip(names, specs, strict=True)]

    def hear(seat: Seat) -> Heard | PhaseFailed:
        try:
            return _hear(hearing, seat)
        except PhaseFailed as failure:
            return failure

    if len(seats) == 1:
        answers = [hear(seats[0])]
    else:
        with ThreadPoolExecutor(len(seats)) as threads:
            answers = list(threads.map(hear, seats))
    heard = tuple(a for a in answers if isinstance(a, Heard))
    failures = [a for a in answers if isinstance(a, PhaseFailed)]
    if failures and (not heard or hearing.policy.quorum == "all"):
        raise failures[0]
    return heard


def panel_of(hearing: Hearing, heard: tuple[Heard, ...]) -> Panel:
    """What was said, put together."""
    policy = hearing.policy
    panel = combine(tuple(h.voice for h in heard), quorum=policy.quorum, configured=len(policy.reviewers))
    # A path is covered when any reviewer saw it; one that did not look leaves it to the others.
    missing = [set(h.uncovered) for h in heard]
    uncovered = sorted(set.intersection(*missing)) if missing else []
    return replace(panel, uncovered=tuple(uncovered), mechanical=bool(heard) and all(h.mechanical for h in heard))


def mechanical(heard: tuple[Heard, ...]) -> frozenset[str]:
    """Those who list everything each time, and were heard: what they no longer raise is resolved."""
    return frozenset(h.voice.agent for h in heard if h.mechanical and isinstance(h.voice.reading, Review))


def _hear(hearing: Hearing, seat: Seat) -> Heard:
    """Ask once; once more if the answer could not be read, or if it left paths out."""
    said = hearing.program(seat)
    if said is not None:
        reply = AgentReply(text=said.summary, command=seat.name)
        return Heard(_voice(hearing, seat, reply, said), _unseen(hearing, said), mechanical=True)
    call = hearing.call(seat.name)
    prompt = build_review_prompt(hearing.subject.context(hearing.policy, seat.spec, call.number()))
    reply = _ask(hearing, seat, call, prompt.text)
    reading = _read(hearing, seat, reply.text, call.number())
    gap = _gap(hearing.subject, reading)
    if gap:
        reply, reading = _again(hearing, seat, reply, reading, gap)
    uncovered = _uncovered(hearing.subject, prompt, reading)
    if uncovered:
        reply, reading, uncovered = _look_again(hearing, seat, reply, reading, uncovered)
    return Heard(_voice(hearing, seat, reply, reading), uncovered, prompt.not_shown)


def _ask(hearing: Hearing, seat: Seat, call: CallDir, prompt: str) -> AgentReply:
    return hearing.ask(
        AgentRequest(
            agent=seat.spec.agent,
            role="review",
            prompt=prompt,
            cwd=hearing.files,
            call_dir=call.path,
            task=hearing.task,
            cycle=hearing.subject.cycle,
            phase="review",
            model=seat.spec.model,
            timeout_seconds=seat.spec.timeout_seconds,
            read_only=True,
            number=call.number(),
        )
    )


def _read(hearing: Hearing, seat: Seat, text: str, number: str) -> Review | Unreadable:
    reading = contract.read(text, number, expect=hearing.subject.expect(seat.spec, seat.name))
    if isinstance(reading, Unreadable) and hearing.policy.accept_unsigned:
        return strict.read_unsigned(text, source=seat.name)
    return reading


def _again(
    hearing: Hearing, seat: Seat, first: AgentReply, before: Review | Unreadable, why: str
) -> tuple[AgentReply, Review | Unreadable]:
    """The block alone, from the reviewer's own words; they are data to whoever reads them."""
    call = hearing.call(f"{seat.name}-again")
    prompt = hearing.subject.parse_prompt(seat.spec, call.number(), first.text, why)
    spec, policy = seat.spec, hearing.policy
    if policy.parse_agent:
        spec = replace(spec, agent=policy.parse_agent, model=policy.parse_model)
    reply = _ask(hearing, replace(seat, spec=spec), call, prompt)
    reading = _read(hearing, seat, reply.text, call.number())
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
    hearing: Hearing,
    seat: Seat,
    first: AgentReply,
    reading: Review | Unreadable,
    uncovered: tuple[str, ...],
) -> tuple[AgentReply, Review | Unreadable, tuple[str, ...]]:
    """An approval that left paths out is asked for the rest, those paths first."""
    call = hearing.call(f"{seat.name}-rest")
    rest = hearing.subject.only(uncovered)
    prompt = build_review_prompt(rest.context(hearing.policy, seat.spec, call.number()))
    reply = _ask(hearing, seat, call, prompt.text)
    more = _read(hearing, seat, reply.text, call.number())
    if isinstance(more, Unreadable) or isinstance(reading, Unreadable):
        return _both(first, reply), reading, uncovered
    left = coverage(rest.change, prompt, more.inspected)
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


def _unseen(hearing: Hearing, said: Review) -> tuple[str, ...]:
    """What a program that reads everything says it could not read."""
    seen = set(said.inspected)
    return tuple(path for path in hearing.subject.change.paths if path not in seen)


def _both(first: AgentReply, second: AgentReply) -> AgentReply:
    cost = (
        None if first.cost_usd is None and second.cost_usd is None else (first.cost_usd or 0) + (second.cost_usd or 0)
    )
    text = f"{first.text}\n\n{second.text}"
    return replace(second, text=text, cost_usd=cost, tokens=first.tokens + second.tokens)


def _voice(hearing: Hearing, seat: Seat, reply: AgentReply, reading: Review | Unreadable) -> Voice:
    return Voice(
        agent=seat.name,
        model=reply.model,
        reading=reading,
        reviewed_at=hearing.now(),
        raw_sha256=hashlib.sha256(reply.text.encode(errors="surrogateescape")).hexdigest(),
        raw_path=reply.transcript,
        command=reply.command,
        provider=reply.provider,
        cost_usd=reply.cost_usd,
        tokens=reply.tokens,
    )
