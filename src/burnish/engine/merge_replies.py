"""Several answers of one reviewer, put together as one."""

from __future__ import annotations

from dataclasses import replace

from burnish.core.agent import AgentReply
from burnish.core.cost import CostSource, joint_source
from burnish.core.review import Review, Verdict
from burnish.review.panel import merge_compliance, same_remark

_WORSE = [Verdict.APPROVED, Verdict.CHANGES_REQUESTED, Verdict.NEEDS_DISCUSSION, Verdict.REJECTED]


def merge_replies(one: Review, more: Review) -> Review:
    """The worse verdict counts, for the change and for each criterion."""
    worse = max(one, more, key=lambda review: _WORSE.index(review.verdict))
    return replace(
        one,
        verdict=worse.verdict,
        summary=worse.summary,
        inspected=tuple(dict.fromkeys((*one.inspected, *more.inspected))),
        rulings=(*one.rulings, *more.rulings),
        compliance=merge_compliance((one.compliance, more.compliance)),
        remarks=(*one.remarks, *more.remarks),
        blocking=one.blocking or more.blocking,
        rejection_reason=one.rejection_reason or more.rejection_reason,
        notes=tuple(dict.fromkeys((*one.notes, *more.notes))),
        signed=one.signed and more.signed,
    )


def repeated_replies(first: Review, second: Review) -> Review:
    """Merge two versions of one review. A finding in both counts once, with the second text."""
    repeats = [
        any(same_remark(remark, other) and other.severity.rank <= remark.severity.rank for other in second.remarks)
        for remark in first.remarks
    ]
    rest = tuple(remark for remark, again in zip(first.remarks, repeats, strict=True) if not again)
    whole = merge_replies(replace(first, remarks=rest), second)
    return replace(whole, summary=second.summary if second.verdict is whole.verdict else whole.summary)


def added(first: AgentReply, second: AgentReply) -> AgentReply:
    costs = [cost for cost in (first.cost_usd, second.cost_usd) if cost is not None]
    return replace(
        second,
        text=f"{first.text}\n\n{second.text}",
        cost_usd=sum(costs) if costs else None,
        cost_source=joint_source((first.cost_source, second.cost_source)) or CostSource.UNKNOWN,
        tokens=first.tokens + second.tokens,
        transcript=first.transcript,
    )
