"""Run reviewers: ask, read the reply, ask once more. Used by a task's review and by a review without a task."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path

from burnish.core.agent import AgentReply, AgentRequest, Use
from burnish.core.change import Change
from burnish.core.cost import CostSource
from burnish.core.criteria import criterion_key
from burnish.core.decision import unjudged
from burnish.core.images import images_text
from burnish.core.policy import Policy, ReviewerSpec
from burnish.core.recorded_reviews import not_allowed
from burnish.core.review import Compliance, PanelResult, Review, ReviewerResult, Unreadable, UnseenFile, Verdict
from burnish.engine.ports import CallDir
from burnish.engine.review_input import ReviewInput
from burnish.errors import OverBudget, PhaseFailed
from burnish.review import contract
from burnish.review.context import (
    ReviewContext,
    ReviewPrompt,
    build_review_prompt,
    coverage,
    merge_prompts,
    wrap_in_command,
)
from burnish.review.external.reader import has_block
from burnish.review.packing import batches, describe_hidden, passes
from burnish.review.panel import combine, combined_reply, grounded, merge_replies, repeated_replies
from burnish.review.prose import (
    objection_in,
    only_objection,
    only_rejecting_message,
    prose_of,
    rejecting_message,
    rejecting_text,
)
from burnish.review.unsigned import read_unsigned

MAX_FILES = 200
_SCHEMA = json.dumps(contract.json_schema())


@dataclass(frozen=True, slots=True)
class PanelSlot:
    """One reviewer of the panel."""

    name: str
    spec: ReviewerSpec
    # names its calls: two reviewers of one agent that differ in their settings have the same name, never the same call.
    # What is added to it begins with `+`, which no name of an agent contains: `judge-again` may be another reviewer.
    label: str


_REDACTED = "text that looks like a secret, redacted in the prompt"


@dataclass(frozen=True, slots=True)
class ReviewerReply:
    result: ReviewerResult
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


def _no_program(slot: PanelSlot) -> Review | None:
    return None


@dataclass(frozen=True, slots=True)
class ReviewSession:
    """One review: its input, its policy, and how to call the reviewers."""

    review_input: ReviewInput
    policy: Policy
    # the snapshot that reviewers read
    files: Path
    task: int
    # the directory of a call, by the reviewer's label
    call: Callable[[str], CallDir]
    ask: Callable[[AgentRequest], AgentReply]
    now: Callable[[], str]
    # a reviewer that is a program of our own answers at once; None for one that must be asked
    program: Callable[[PanelSlot], Review | None] = _no_program
    # False: the reviewer may fix what it finds
    read_only: bool = True
    # of the task's description
    images: tuple[Path, ...] = ()


def run_reviewers(session: ReviewSession) -> tuple[ReviewerReply, ...]:
    """Run all reviewers in parallel; a reviewer that fails also fails the review unless the others reach the quorum."""
    specs = session.policy.reviewers
    names = [spec.agent if specs[:n].count(spec) == 0 else f"{spec.agent}-{n + 1}" for n, spec in enumerate(specs)]
    labels = [name if name not in names[:n] else f"{name}+{n + 1}" for n, name in enumerate(names)]
    slots = [PanelSlot(*one) for one in zip(names, specs, labels, strict=True)]

    said: dict[str, str] = {}

    def run_one(slot: PanelSlot) -> ReviewerReply | PhaseFailed:
        replies: list[AgentReply] = []

        def ask(request: AgentRequest) -> AgentReply:
            replies.append(session.ask(request))
            return replies[-1]

        try:
            return _run_reviewer(replace(session, ask=ask), slot)
        except PhaseFailed as failure:
            said[slot.label] = "\n\n".join((*map(_all_messages, replies), failure.output))
            return _with_cost_of(replies, failure)

    if len(slots) == 1:
        answers = [run_one(slots[0])]
    else:
        with ThreadPoolExecutor(len(slots)) as threads:
            answers = list(threads.map(run_one, slots))
    failures = [a for a in answers if isinstance(a, PhaseFailed)]
    for failure in failures:
        # it was not the reviewer that failed: the others may not go on without it, but a person may pay for it
        if isinstance(failure, OverBudget):
            raise failure
    if failures and (len(failures) == len(answers) or session.policy.quorum == "all"):
        raise failures[0]
    return tuple(
        _failed_reply(session, slot, answer, said[slot.label]) if isinstance(answer, PhaseFailed) else answer
        for slot, answer in zip(slots, answers, strict=True)
    )


def _with_cost_of(replies: list[AgentReply], failure: PhaseFailed) -> PhaseFailed:
    """A reviewer that failed in the middle of its work was paid for the calls before."""
    source = CostSource(failure.cost_source) if failure.cost_source else None
    uses = (Use(reply.cost_usd, reply.tokens, reply.cost_source) for reply in replies)
    whole = sum(uses, Use(failure.cost_usd, failure.tokens, source))
    failure.cost_usd, failure.cost_source, failure.tokens = whole.usd, whole.source, whole.tokens
    return failure


def _failed_reply(session: ReviewSession, slot: PanelSlot, failure: PhaseFailed, said: str) -> ReviewerReply:
    """The reply of a reviewer that could not be asked: it is shown, and never counts for an approval.

    `said`: its answers before the failure, and the end of its output. An objection there counts.
    """
    silence = Unreadable(f"it could not be asked: {failure.what}", said)
    result = ReviewerResult(
        agent=slot.name,
        model=slot.spec.model,
        reading=silence,
        reviewed_at=session.now(),
        raw_sha256="",
        cost_usd=failure.cost_usd,
        cost_source=CostSource(failure.cost_source) if failure.cost_source else None,
        tokens=failure.tokens,
    )
    return ReviewerReply(result, unseen=session.review_input.change.paths)


def panel_of(session: ReviewSession, replies: tuple[ReviewerReply, ...]) -> PanelResult:
    """Combine the replies."""
    policy = session.policy
    panel = combine(
        tuple(reply.result for reply in replies), quorum=policy.quorum, reviewer_count=len(policy.reviewers)
    )
    # A path is covered when any of those who approve saw it; one that did not look leaves it to the others.
    missing = [{*reply.uncovered, *reply.redacted} for reply in _approving(replies)]
    if panel.verdict is Verdict.APPROVED and not missing:
        # only a program approves, and the reviewers that judge gave no answer
        missing = [set(session.review_input.change.paths)]
    unseen = unseen_files(session.review_input.change, replies)
    uncovered_paths = sorted(set.intersection(*missing) - {file.path for file in unseen}) if missing else []
    return replace(
        panel,
        uncovered=tuple(uncovered_paths),
        compliance=_with_left_out(panel.compliance, session.review_input.judged, replies),
        unseen_files=not_allowed(unseen, policy.unseen_allow),
        mechanical=bool(replies) and all(reply.mechanical for reply in replies),
    )


def _with_left_out(
    compliance: tuple[Compliance, ...], criteria: Sequence[str], replies: Sequence[ReviewerReply]
) -> tuple[Compliance, ...]:
    """Mark the criteria that no single reviewer judged: two wordings of one criterion are not judgements of two."""
    left_out = _left_out(criteria, [reply.result.reading for reply in replies])
    return _marked(compliance, left_out)


def _left_out(criteria: Sequence[str], readings: Sequence[Review | Unreadable]) -> list[str]:
    judgements = [reading.compliance for reading in readings if isinstance(reading, Review)]
    return [item for item in criteria if all(item in unjudged(one, criteria) for one in judgements)]


def _marked(compliance: tuple[Compliance, ...], left_out: Sequence[str]) -> tuple[Compliance, ...]:
    left_out_entries = {criterion_key(item): Compliance(item, None, "not judged") for item in left_out}
    return tuple(
        left_out_entries.pop(criterion_key(one.item), one) if one.met is None else one for one in compliance
    ) + tuple(left_out_entries.values())


def whose_look_counts(replies: Sequence[ReviewerReply]) -> list[ReviewerReply]:
    """Those whose look at a file counts: a program that judges nothing counts only where it is alone."""
    return [reply for reply in replies if not reply.mechanical] or list(replies)


def unseen_files(change: Change, replies: Sequence[ReviewerReply]) -> tuple[UnseenFile, ...]:
    """The changed files whose content cannot be shown to any reviewer, or is redacted for those that approve."""
    voters = _approving(replies) or whose_look_counts(replies)
    missing: list[set[str]] = [{*reply.uncovered, *reply.unseen, *reply.redacted} for reply in voters]
    unseen = set.intersection(*missing) if missing else set[str]()
    redacted_paths = unseen.intersection(path for reply in voters for path in reply.redacted)
    return tuple(
        UnseenFile(file.path, describe_hidden(file) if file.hidden else _REDACTED)
        for file in change.files
        if file.hidden or file.path in redacted_paths
    )


def _approving(replies: Sequence[ReviewerReply]) -> list[ReviewerReply]:
    return [reply for reply in whose_look_counts(replies) if _approves(reply.result)]


def _approves(result: ReviewerResult) -> bool:
    return isinstance(result.reading, Review) and result.reading.verdict is Verdict.APPROVED


def mechanical(replies: tuple[ReviewerReply, ...]) -> frozenset[str]:
    """The programs that list everything each time and gave a review: what they no longer raise is resolved."""
    return frozenset(
        reply.result.agent for reply in replies if reply.mechanical and isinstance(reply.result.reading, Review)
    )


def _run_reviewer(session: ReviewSession, slot: PanelSlot) -> ReviewerReply:
    """Review the whole change, in as many parts as the reviewer needs, and ask once more for the paths it left out."""
    review = session.program(slot)
    if review is not None:
        reply = AgentReply(text=review.summary, command=slot.name)
        unseen = _unseen(session, review)
        result = replace(_reviewer_result(session, slot, _ReadReply(reply, review)), cost_source=None)
        return ReviewerReply(result, unseen, unseen, mechanical=True)
    parts = parts_of(session.review_input, session.policy, slot.spec)
    answers: list[_ReadReply] = []
    prompts: list[ReviewPrompt] = []
    for number, part in enumerate(parts, 1):
        label = slot.label if len(parts) == 1 else f"{slot.label}+part-{number}"
        answer, prompt = _review_part(session, slot, part, label, (number, len(parts)), answers)
        answers.append(answer)
        prompts.append(prompt)
    whole, merged_prompt = reduce(_both, answers), merge_prompts(prompts)
    if len(parts) > 1 and isinstance(whole.reading, Review):
        # one part's wording of a criterion is not the judgement of another one
        left_out = _left_out(session.review_input.judged, [answer.reading for answer in answers])
        reading = replace(whole.reading, compliance=_marked(whole.reading.compliance, left_out))
        whole = replace(whole, reading=reading)
    # asking once more would not show them
    redacted_paths = () if slot.spec.reads_files else merged_prompt.redacted
    uncovered_paths = _without(
        _uncovered(session.review_input, slot.spec, merged_prompt, whole.reading), redacted_paths
    )
    if uncovered_paths:
        whole, uncovered_paths = _look_again(session, slot, whole, uncovered_paths)
    inspected_paths = whole.reading.inspected if isinstance(whole.reading, Review) else ()
    unseen = coverage(session.review_input.change, merged_prompt, inspected_paths, reads_files=slot.spec.reads_files)
    result = _reviewer_result(session, slot, whole)
    return ReviewerReply(
        result, uncovered_paths, _without(unseen, redacted_paths), merged_prompt.not_shown, redacted=redacted_paths
    )


def _without(paths: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    return tuple(path for path in paths if path not in others)


def parts_of(review_input: ReviewInput, policy: Policy, spec: ReviewerSpec) -> list[ReviewInput]:
    """Batches over 200 files; as many passes as fit for a reviewer that cannot read files."""
    limit = policy.limits.diff_kb * 1024
    cut = batches(review_input.change, files=MAX_FILES) if spec.reads_files else passes(review_input.change, limit)
    return [replace(review_input, change=part) for part in cut]


def _review_part(
    session: ReviewSession,
    slot: PanelSlot,
    review_input: ReviewInput,
    label: str,
    part: tuple[int, int],
    earlier: Sequence[_ReadReply],
) -> tuple[_ReadReply, ReviewPrompt]:
    """Ask once, and once more if the answer could not be read or judges too little."""
    call = session.call(label)
    context = replace(
        review_input.context(session.policy, slot.spec, call.number()), part=part, may_edit=not session.read_only
    )
    prompt = build_review_prompt(context)
    reply = _ask(session, slot, call, prompt.text)
    read_reply = _ReadReply(reply, _read(session, slot, context, reply), prose_of(reply.text))
    # a criterion may be judged in any part: whether one is left out is known at the last one
    criteria = review_input.judged if part[0] == part[1] else ()
    gap = _gap(criteria, read_reply.reading, [answer.reading for answer in earlier])
    return (_again(session, slot, context, label, read_reply, gap) if gap else read_reply), prompt


def _ask(session: ReviewSession, slot: PanelSlot, call: CallDir, prompt: str) -> AgentReply:
    return session.ask(
        AgentRequest(
            agent=slot.spec.agent,
            role="review",
            prompt=prompt + images_text(session.images),
            cwd=session.files,
            call_dir=call.path,
            task=session.task,
            cycle=session.review_input.cycle,
            phase="review",
            model=slot.spec.model,
            effort=slot.spec.effort,
            timeout_seconds=slot.spec.timeout_seconds,
            timeout_setting=f"task_types.{session.review_input.spec.type}.review_timeout_minutes",
            read_only=session.read_only,
            number=call.number(),
            schema=_SCHEMA,
            images=session.images,
        )
    )


def _read(session: ReviewSession, slot: PanelSlot, context: ReviewContext, reply: AgentReply) -> Review | Unreadable:
    # an agent that is held to a schema gives the object alone
    expect = context.expect(slot.name)
    reader = contract.read_schema if _is_object(reply) else contract.read
    reading = reader(reply.text, context.number, expect=expect)
    # old markers are for reviewers that give no block: one that is damaged is asked for again
    if isinstance(reading, Unreadable) and session.policy.accept_unsigned and not has_block(reply.text):
        reading = read_unsigned(reply.text, expect=expect, may_fix=session.policy.may_fix)
    approves = isinstance(reading, Review) and reading.verdict is Verdict.APPROVED
    if approves and (words := _contradiction(reply)):
        return Unreadable(f"the final message approves, and another message says {words!r}", _all_messages(reply))
    return reading


def _all_messages(reply: AgentReply) -> str:
    return "\n\n".join(dict.fromkeys((*reply.other_messages, reply.text, *reply.text_after)))


def _is_object(reply: AgentReply) -> bool:
    bare = reply.text.strip()
    return bare.startswith("{") and bare.endswith("}")


def _contradiction(reply: AgentReply) -> str:
    return rejecting_message(reply.other_messages) or rejecting_text(
        reply.text_before, reply.text_after, beside_object=_is_object(reply)
    )


def _again(
    session: ReviewSession, slot: PanelSlot, context: ReviewContext, label: str, first: _ReadReply, why: str
) -> _ReadReply:
    """Ask for the verdict block alone, with the first reply quoted as data."""
    call = session.call(f"{label}+again")
    context = replace(context, number=call.number())
    # only where another message rejects: else the final message alone is the review
    own = first.reply
    all_messages = dict.fromkeys((*own.other_messages, own.text, *own.text_after))
    review_text = _all_messages(own) if _contradiction(own) else own.text
    prompt = contract.build_parse_prompt(
        review_text,
        call.number(),
        why,
        prior_ids=context.open_ids,
        criteria=context.judged,
        tag=hashlib.sha256(call.number().encode()).hexdigest()[:8],
    )
    if (command := session.review_input.prompts.get("command:parse")) is not None:
        form = contract.ask(call.number(), prior_ids=context.open_ids, criteria=context.judged)
        prompt = wrap_in_command(command, prompt, last=form)
    spec, policy = slot.spec, session.policy
    # a parser only reads: what a readable review leaves out is the reviewer's to judge
    is_parsed = policy.parse_agent is not None and isinstance(first.reading, Unreadable)
    if policy.parse_agent and is_parsed:
        spec = replace(spec, agent=policy.parse_agent, model=policy.parse_model)
    reply = _ask(session, replace(slot, spec=spec), call, prompt)
    second = _read(session, slot, context, reply)
    if isinstance(second, Review) and second.verdict is Verdict.APPROVED:
        grounded_review = grounded(second, tuple(all_messages)) if is_parsed else second
        second = _unfounded(first, review_text, tuple(all_messages)) or grounded_review
    reading = _second_reading(first, second, why)
    both = combined_reply(own, reply)
    if is_parsed:
        # the review is the reviewer's: a parser only read it, and does not stand under the reviewer's name
        both = replace(both, text=own.text, command=own.command, model=own.model, provider=own.provider)
        both = replace(both, transcript=own.transcript)
    return _ReadReply(both, reading, first.prose)


def _unfounded(first: _ReadReply, review_text: str, messages: Sequence[str]) -> Unreadable | None:
    """Why the approval that was made of an unreadable review does not count."""
    if isinstance(first.reading, Review):
        return None
    # of earlier messages, which are work in progress, only a verdict counts
    final = "\n\n".join((first.reply.text, *first.reply.text_after))
    if words := only_rejecting_message(messages) or only_objection(final):
        return Unreadable(f"it approves, and the review itself says {words!r}", review_text)
    if len(review_text.encode("utf-8", "replace")) > contract.MAX_PARSED_LENGTH:
        return Unreadable("it approves, and only the end of the review was read", review_text)
    return None


def _second_reading(first: _ReadReply, second: Review | Unreadable, why: str) -> Review | Unreadable:
    """What could be read the first time is lost neither to an unreadable second answer nor to a milder one.

    An unreadable answer that objects spoils an approval.
    """
    if isinstance(first.reading, Review) and isinstance(second, Review):
        return repeated_replies(first.reading, second)
    if isinstance(first.reading, Review) and not _objects(second):
        return first.reading
    if isinstance(second, Unreadable):
        both_replies = "\n\n".join(dict.fromkeys((first.reply.text, second.reply)))
        return Unreadable(f"{why}; asked once more: {second.why}", both_replies)
    return second


def _gap(criteria: Sequence[str], reading: Review | Unreadable, earlier: Sequence[Review | Unreadable]) -> str:
    """Why the reviewer must be asked once more, if it must."""
    if isinstance(reading, Unreadable):
        return reading.why
    if reading.verdict is not Verdict.APPROVED or not reading.signed:
        return ""
    missing = _left_out(criteria, (*earlier, reading))
    return f"it approves but does not judge: {'; '.join(missing)}" if missing else ""


def _look_again(
    session: ReviewSession, slot: PanelSlot, first: _ReadReply, uncovered_paths: tuple[str, ...]
) -> tuple[_ReadReply, tuple[str, ...]]:
    """An approval that left paths out is asked for the rest, once."""
    rest = session.review_input.only(uncovered_paths)
    more, prompt = _review_part(session, slot, rest, f"{slot.label}+rest", (2, 2), [first])
    both = _both(first, more)
    if isinstance(more.reading, Unreadable) and not _objects(more.reading):
        return _ReadReply(both.reply, first.reading, both.prose), uncovered_paths
    if isinstance(more.reading, Unreadable):
        return both, uncovered_paths
    return both, coverage(rest.change, prompt, more.reading.inspected, reads_files=slot.spec.reads_files)


def _both(one: _ReadReply, more: _ReadReply) -> _ReadReply:
    """Two parts of one reviewer's word. One that could not be read spoils the whole, which keeps all words."""
    reply = combined_reply(one.reply, more.reply)
    prose = "\n\n".join(text for text in (one.prose, more.prose) if text)
    match one.reading, more.reading:
        case (Unreadable() as unreadable, _) | (_, Unreadable() as unreadable):
            return _ReadReply(reply, replace(unreadable, reply="\n\n".join((_words(one), _words(more)))), prose)
        case (Review() as first, Review() as second):
            return _ReadReply(reply, merge_replies(first, second), prose)


def _words(read_reply: _ReadReply) -> str:
    reading = read_reply.reading
    return reading.reply if isinstance(reading, Unreadable) else read_reply.reply.text


def _objects(reading: Review | Unreadable) -> bool:
    return isinstance(reading, Unreadable) and bool(objection_in(reading.reply))


def _uncovered(
    review_input: ReviewInput, spec: ReviewerSpec, prompt: ReviewPrompt, reading: Review | Unreadable
) -> tuple[str, ...]:
    """Only an approval needs to have seen everything."""
    if isinstance(reading, Unreadable) or reading.verdict is not Verdict.APPROVED or not reading.signed:
        return ()
    return coverage(review_input.change, prompt, reading.inspected, reads_files=spec.reads_files)


def _unseen(session: ReviewSession, review: Review) -> tuple[str, ...]:
    """What a program that reads everything says it could not read; hidden content waits for a person anyway."""
    inspected_paths = set(review.inspected)
    return tuple(
        file.path for file in session.review_input.change.files if file.path not in inspected_paths and not file.hidden
    )


def _reviewer_result(session: ReviewSession, slot: PanelSlot, read_reply: _ReadReply) -> ReviewerResult:
    reply = read_reply.reply
    return ReviewerResult(
        agent=slot.name,
        model=reply.model,
        reading=read_reply.reading,
        reviewed_at=session.now(),
        raw_sha256=hashlib.sha256(reply.text.encode(errors="surrogateescape")).hexdigest(),
        raw_path=reply.transcript,
        command=reply.command,
        provider=reply.provider,
        cost_usd=reply.cost_usd,
        cost_source=reply.cost_source,
        tokens=reply.tokens,
        prose=read_reply.prose,
    )
