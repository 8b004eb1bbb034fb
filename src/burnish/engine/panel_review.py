"""Hearing reviewers: ask, read, ask once more. A task's review and a review without a task both come here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path

from burnish.core.agent import AgentReply, AgentRequest, CostSource, Use
from burnish.core.change import Change
from burnish.core.decision import unjudged
from burnish.core.policy import Policy, ReviewerSpec
from burnish.core.recorded_reviews import not_allowed
from burnish.core.review import PanelResult, Review, ReviewerResult, Unreadable, UnseenFile, Verdict
from burnish.engine.merge_replies import added, merge_replies, repeated_replies
from burnish.engine.ports import CallDir
from burnish.engine.review_input import ReviewInput
from burnish.errors import OverBudget, PhaseFailed
from burnish.review import contract
from burnish.review.context import ReviewContext, ReviewPrompt, build_review_prompt, coverage, merge_prompts
from burnish.review.external.reader import has_block
from burnish.review.other_messages import rejecting_message, rejecting_text
from burnish.review.packing import batches, describe_hidden, passes
from burnish.review.panel import combine, merge_compliance
from burnish.review.prose import prose_of
from burnish.review.slash import wrap_in_command
from burnish.review.unsigned import read_unsigned

MOST_FILES = 200
_SCHEMA = json.dumps(contract.json_schema())


@dataclass(frozen=True, slots=True)
class PanelSlot:
    """One reviewer's place at the table."""

    name: str
    spec: ReviewerSpec
    # names its calls: two reviewers of one agent that differ in their settings have the same name, never the same call
    label: str


_REDACTED = "text that looks like a secret, redacted in the prompt"


@dataclass(frozen=True, slots=True)
class ReviewerReply:
    voice: ReviewerResult
    uncovered: tuple[str, ...] = ()
    # what it did not see, whatever its verdict: counts if a person waives what it asked for
    unseen: tuple[str, ...] = ()
    not_shown: tuple[str, ...] = ()
    mechanical: bool = False
    # what it cannot see: redaction takes the text out of its prompts, and it cannot read files
    redacted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _ReadReply:
    reply: AgentReply
    reading: Review | Unreadable
    # of the reviewer itself, without what a parser made of it
    prose: str = ""


def _nobody(seat: PanelSlot) -> Review | None:
    return None


@dataclass(frozen=True, slots=True)
class ReviewSession:
    """One review: what is judged, by which rules, and the ways to those who judge."""

    subject: ReviewInput
    policy: Policy
    # the snapshot that reviewers stand in
    files: Path
    task: int
    # where a call is kept, by the reviewer's name
    call: Callable[[str], CallDir]
    ask: Callable[[AgentRequest], AgentReply]
    now: Callable[[], str]
    # a reviewer that is a program of our own answers at once; None for one that must be asked
    program: Callable[[PanelSlot], Review | None] = _nobody
    # False: the reviewer may fix what it finds
    read_only: bool = True


def run_reviewers(hearing: ReviewSession) -> tuple[ReviewerReply, ...]:
    """Side by side; a reviewer that could not be asked fails the review unless the others suffice."""
    specs = hearing.policy.reviewers
    names = [spec.agent if specs[:n].count(spec) == 0 else f"{spec.agent}-{n + 1}" for n, spec in enumerate(specs)]
    labels = [name if name not in names[:n] else f"{name}+{n + 1}" for n, name in enumerate(names)]
    seats = [PanelSlot(*one) for one in zip(names, specs, labels, strict=True)]

    def hear(seat: PanelSlot) -> ReviewerReply | PhaseFailed:
        replies: list[AgentReply] = []

        def ask(request: AgentRequest) -> AgentReply:
            replies.append(hearing.ask(request))
            return replies[-1]

        try:
            return _hear(replace(hearing, ask=ask), seat)
        except PhaseFailed as failure:
            return _with_cost_of(replies, failure)

    if len(seats) == 1:
        answers = [hear(seats[0])]
    else:
        with ThreadPoolExecutor(len(seats)) as threads:
            answers = list(threads.map(hear, seats))
    failures = [a for a in answers if isinstance(a, PhaseFailed)]
    for failure in failures:
        # it was not the reviewer that failed: the others may not go on without it, but a person may pay for it
        if isinstance(failure, OverBudget):
            raise failure
    if failures and (len(failures) == len(answers) or hearing.policy.quorum == "all"):
        raise failures[0]
    return tuple(
        _unheard(hearing, seat, answer) if isinstance(answer, PhaseFailed) else answer
        for seat, answer in zip(seats, answers, strict=True)
    )


def _with_cost_of(replies: list[AgentReply], failure: PhaseFailed) -> PhaseFailed:
    """A reviewer that failed in the middle of its work was paid for the calls before."""
    source = CostSource(failure.cost_source) if failure.cost_source else None
    uses = (Use(reply.cost_usd, reply.tokens, reply.cost_source) for reply in replies)
    whole = sum(uses, Use(failure.cost_usd, failure.tokens, source))
    failure.cost_usd, failure.cost_source, failure.tokens = whole.usd, whole.source, whole.tokens
    return failure


def _unheard(hearing: ReviewSession, seat: PanelSlot, failure: PhaseFailed) -> ReviewerReply:
    """One that could not be asked stays at the table: it never counts for an approval, and everybody sees it."""
    silence = Unreadable(f"it could not be asked: {failure.what}", "")
    voice = ReviewerResult(
        agent=seat.name,
        model=seat.spec.model,
        reading=silence,
        reviewed_at=hearing.now(),
        raw_sha256="",
        cost_usd=failure.cost_usd,
        cost_source=CostSource(failure.cost_source) if failure.cost_source else None,
        tokens=failure.tokens,
    )
    return ReviewerReply(voice, unseen=hearing.subject.change.paths)


def panel_of(hearing: ReviewSession, heard: tuple[ReviewerReply, ...]) -> PanelResult:
    """What was said, put together."""
    policy = hearing.policy
    panel = combine(tuple(h.voice for h in heard), quorum=policy.quorum, reviewer_count=len(policy.reviewers))
    # A path is covered when any of those who approve saw it; one that did not look leaves it to the others.
    missing = [{*h.uncovered, *h.redacted} for h in _approving(heard)]
    unseen = unseen_files(hearing.subject.change, heard)
    uncovered = sorted(set.intersection(*missing) - {file.path for file in unseen}) if missing else []
    return replace(
        panel,
        uncovered=tuple(uncovered),
        unseen_files=not_allowed(unseen, policy.unseen_allow),
        mechanical=bool(heard) and all(h.mechanical for h in heard),
    )


def whose_look_counts(heard: Sequence[ReviewerReply]) -> list[ReviewerReply]:
    """Those whose look at a file counts: a program that judges nothing counts only where it is alone."""
    return [h for h in heard if not h.mechanical] or list(heard)


def unseen_files(change: Change, heard: Sequence[ReviewerReply]) -> tuple[UnseenFile, ...]:
    """The changed files whose content cannot be shown to any reviewer, or is redacted for those that approve."""
    counted = _approving(heard) or whose_look_counts(heard)
    missing: list[set[str]] = [{*h.uncovered, *h.unseen, *h.redacted} for h in counted]
    unseen = set.intersection(*missing) if missing else set[str]()
    redacted = unseen.intersection(path for h in counted for path in h.redacted)
    return tuple(
        UnseenFile(file.path, describe_hidden(file) if file.hidden else _REDACTED)
        for file in change.files
        if file.hidden or file.path in redacted
    )


def _approving(heard: Sequence[ReviewerReply]) -> list[ReviewerReply]:
    return whose_look_counts([h for h in heard if _approves(h.voice)])


def _approves(voice: ReviewerResult) -> bool:
    return isinstance(voice.reading, Review) and voice.reading.verdict is Verdict.APPROVED


def mechanical(heard: tuple[ReviewerReply, ...]) -> frozenset[str]:
    """Those who list everything each time, and were heard: what they no longer raise is resolved."""
    return frozenset(h.voice.agent for h in heard if h.mechanical and isinstance(h.voice.reading, Review))


def _hear(hearing: ReviewSession, seat: PanelSlot) -> ReviewerReply:
    """The whole change, in as many parts as the reviewer needs; once more for what it left out."""
    said = hearing.program(seat)
    if said is not None:
        reply = AgentReply(text=said.summary, command=seat.name)
        unseen = _unseen(hearing, said)
        voice = replace(_voice(hearing, seat, _ReadReply(reply, said)), cost_source=None)
        return ReviewerReply(voice, unseen, unseen, mechanical=True)
    parts = parts_of(hearing.subject, hearing.policy, seat.spec)
    answers: list[_ReadReply] = []
    prompts: list[ReviewPrompt] = []
    for number, part in enumerate(parts, 1):
        label = seat.label if len(parts) == 1 else f"{seat.label}-part-{number}"
        answer, prompt = _hear_part(hearing, seat, part, label, (number, len(parts)), answers)
        answers.append(answer)
        prompts.append(prompt)
    whole, seen = reduce(_both, answers), merge_prompts(prompts)
    # asking once more would not show them
    redacted = () if seat.spec.reads_files else seen.redacted
    uncovered = _without(_uncovered(hearing.subject, seat.spec, seen, whole.reading), redacted)
    if uncovered:
        whole, uncovered = _look_again(hearing, seat, whole, uncovered)
    inspected = whole.reading.inspected if isinstance(whole.reading, Review) else ()
    unseen = coverage(hearing.subject.change, seen, inspected, reads_files=seat.spec.reads_files)
    voice = _voice(hearing, seat, whole)
    return ReviewerReply(voice, uncovered, _without(unseen, redacted), seen.not_shown, redacted=redacted)


def _without(paths: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    return tuple(path for path in paths if path not in others)


def parts_of(subject: ReviewInput, policy: Policy, spec: ReviewerSpec) -> list[ReviewInput]:
    """Batches over 200 files; as many passes as fit for a reviewer that cannot read files."""
    limit = policy.limits.diff_kb * 1024
    cut = batches(subject.change, files=MOST_FILES) if spec.reads_files else passes(subject.change, limit)
    return [replace(subject, change=part) for part in cut]


def _hear_part(
    hearing: ReviewSession,
    seat: PanelSlot,
    subject: ReviewInput,
    label: str,
    part: tuple[int, int],
    earlier: Sequence[_ReadReply],
) -> tuple[_ReadReply, ReviewPrompt]:
    """Ask once, and once more if the answer could not be read or judges too little."""
    call = hearing.call(label)
    context = replace(
        subject.context(hearing.policy, seat.spec, call.number()), part=part, may_edit=not hearing.read_only
    )
    prompt = build_review_prompt(context)
    reply = _ask(hearing, seat, call, prompt.text)
    said = _ReadReply(reply, _read(hearing, seat, context, reply), prose_of(reply.text))
    # a criterion may be judged in any part: whether one is left out is known at the last one
    criteria = subject.judged if part[0] == part[1] else ()
    gap = _gap(criteria, said.reading, [answer.reading for answer in earlier])
    return (_again(hearing, seat, context, label, said, gap) if gap else said), prompt


def _ask(hearing: ReviewSession, seat: PanelSlot, call: CallDir, prompt: str) -> AgentReply:
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
            timeout_setting=f"task_types.{hearing.subject.spec.type}.review_timeout_minutes",
            read_only=hearing.read_only,
            number=call.number(),
            schema=_SCHEMA,
        )
    )


def _read(hearing: ReviewSession, seat: PanelSlot, context: ReviewContext, reply: AgentReply) -> Review | Unreadable:
    # an agent that is held to a schema gives the object alone
    bare, expect = reply.text.strip(), context.expect(seat.name)
    reader = contract.read_schema if bare.startswith("{") and bare.endswith("}") else contract.read
    reading = reader(reply.text, context.number, expect=expect)
    # old markers are for reviewers that give no block: one that is damaged is asked for again
    if isinstance(reading, Unreadable) and hearing.policy.accept_unsigned and not has_block(reply.text):
        reading = read_unsigned(reply.text, expect=expect, may_fix=hearing.policy.may_fix)
    approves = isinstance(reading, Review) and reading.verdict is Verdict.APPROVED
    if approves and (words := _contradiction(reply)):
        return Unreadable(f"the final message approves, and another message says {words!r}", reply.text)
    return reading


def _contradiction(reply: AgentReply) -> str:
    return rejecting_message(reply.other_messages) or rejecting_text(reply.text_before, reply.text_after)


def _again(
    hearing: ReviewSession, seat: PanelSlot, context: ReviewContext, label: str, first: _ReadReply, why: str
) -> _ReadReply:
    """The block alone, from the reviewer's own words; they are data to whoever reads them."""
    call = hearing.call(f"{label}-again")
    context = replace(context, number=call.number())
    # only where another message rejects: else the final message alone is the review
    own = first.reply
    all_messages = dict.fromkeys((*own.other_messages, own.text, *own.text_after))
    prompt = contract.build_parse_prompt(
        "\n\n".join(all_messages if _contradiction(own) else (own.text,)),
        call.number(),
        why,
        prior_ids=context.open_ids,
        criteria=context.judged,
        tag=hashlib.sha256(call.number().encode()).hexdigest()[:8],
    )
    if (command := hearing.subject.prompts.get("command:parse")) is not None:
        form = contract.ask(call.number(), prior_ids=context.open_ids, criteria=context.judged)
        prompt = wrap_in_command(command, prompt, last=form)
    spec, policy = seat.spec, hearing.policy
    if policy.parse_agent:
        spec = replace(spec, agent=policy.parse_agent, model=policy.parse_model)
    reply = _ask(hearing, replace(seat, spec=spec), call, prompt)
    reading = _second_reading(first, _read(hearing, seat, context, reply), why)
    both = added(own, reply)
    if policy.parse_agent:
        # the review is the reviewer's: a parser only read it, and does not stand under the reviewer's name
        both = replace(both, text=own.text, command=own.command, model=own.model, provider=own.provider)
        both = replace(both, transcript=own.transcript)
    return _ReadReply(both, reading, first.prose)


def _second_reading(first: _ReadReply, second: Review | Unreadable, why: str) -> Review | Unreadable:
    """What could be read the first time is lost neither to an unreadable second answer nor to a milder one."""
    if isinstance(first.reading, Review):
        return first.reading if isinstance(second, Unreadable) else repeated_replies(first.reading, second)
    if isinstance(second, Unreadable):
        return Unreadable(f"{why}; asked once more: {second.why}", first.reply.text)
    return second


def _gap(criteria: Sequence[str], reading: Review | Unreadable, earlier: Sequence[Review | Unreadable]) -> str:
    """Why the reviewer must be asked once more, if it must."""
    if isinstance(reading, Unreadable):
        return reading.why
    if reading.verdict is not Verdict.APPROVED or not reading.signed:
        return ""
    judgements = [part.compliance for part in (*earlier, reading) if isinstance(part, Review)]
    missing = unjudged(merge_compliance(judgements), criteria)
    return f"it approves but does not judge: {'; '.join(missing)}" if missing else ""


def _look_again(
    hearing: ReviewSession, seat: PanelSlot, first: _ReadReply, uncovered: tuple[str, ...]
) -> tuple[_ReadReply, tuple[str, ...]]:
    """An approval that left paths out is asked for the rest, once."""
    rest = hearing.subject.only(uncovered)
    more, prompt = _hear_part(hearing, seat, rest, f"{seat.label}-rest", (2, 2), [first])
    both = _both(first, more)
    if isinstance(more.reading, Unreadable):
        return _ReadReply(both.reply, first.reading, both.prose), uncovered
    return both, coverage(rest.change, prompt, more.reading.inspected, reads_files=seat.spec.reads_files)


def _both(one: _ReadReply, more: _ReadReply) -> _ReadReply:
    """Two parts of one reviewer's word. One that could not be read spoils the whole."""
    reply = added(one.reply, more.reply)
    prose = "\n\n".join(text for text in (one.prose, more.prose) if text)
    if isinstance(one.reading, Unreadable):
        return _ReadReply(reply, one.reading, prose)
    if isinstance(more.reading, Unreadable):
        return _ReadReply(reply, more.reading, prose)
    return _ReadReply(reply, merge_replies(one.reading, more.reading), prose)


def _uncovered(
    subject: ReviewInput, spec: ReviewerSpec, prompt: ReviewPrompt, reading: Review | Unreadable
) -> tuple[str, ...]:
    """Only an approval needs to have seen everything."""
    if isinstance(reading, Unreadable) or reading.verdict is not Verdict.APPROVED or not reading.signed:
        return ()
    return coverage(subject.change, prompt, reading.inspected, reads_files=spec.reads_files)


def _unseen(hearing: ReviewSession, said: Review) -> tuple[str, ...]:
    """What a program that reads everything says it could not read; hidden content waits for a person anyway."""
    seen = set(said.inspected)
    return tuple(file.path for file in hearing.subject.change.files if file.path not in seen and not file.hidden)


def _voice(hearing: ReviewSession, seat: PanelSlot, said: _ReadReply) -> ReviewerResult:
    reply = said.reply
    return ReviewerResult(
        agent=seat.name,
        model=reply.model,
        reading=said.reading,
        reviewed_at=hearing.now(),
        raw_sha256=hashlib.sha256(reply.text.encode(errors="surrogateescape")).hexdigest(),
        raw_path=reply.transcript,
        command=reply.command,
        provider=reply.provider,
        cost_usd=reply.cost_usd,
        cost_source=reply.cost_source,
        tokens=reply.tokens,
        prose=said.prose,
    )
