"""The cycles of one run, from the phase journal and the decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from burnish.core.commit import left_out_words
from burnish.core.history import REVIEW_FIX, DecisionRecord, PhaseRecord, is_review

FINDINGS_BYTES = 2048
# what a journal's result tells about who did it, and what went wrong
_TOLD = ("agent", "model", "seconds", "commit", "error", "what", "hint", "rescue", "by_hand", "why")


def cycles(phases: Sequence[PhaseRecord], decisions: Sequence[DecisionRecord]) -> list[dict[str, Any]]:
    """One entry a cycle, in order. `phases` and `decisions` are of one run, oldest first."""
    numbers = sorted({phase.cycle for phase in phases} | {decision.cycle for decision in decisions})
    return [
        _cycle(number, [p for p in phases if p.cycle == number], [d for d in decisions if d.cycle == number])
        for number in numbers
    ]


def _cycle(number: int, phases: list[PhaseRecord], decisions: list[DecisionRecord]) -> dict[str, Any]:
    standing = [p.result for p in phases if p.state == "finished" and not p.superseded]
    work = _last(standing, "commit")
    # the review, and the steps of the pipeline after it: the last one has the word
    reviews = [r for r in standing if is_review(str(r.get("phase")))]
    review = _last(reviews, "phase")
    check = _last([r for r in standing if r.get("phase") == "check"], "phase")
    return {
        "number": number,
        "phases": [_phase(phase) for phase in phases],
        "commit": work.get("commit"),
        "tree": _last(standing, "tree").get("tree"),
        "review_status": _review_status(review, decisions),
        **_verdict(review, decisions),
        "summary": review.get("summary"),
        "review_findings": review_findings(reviews),
        # with `review.may_fix`: what the reviewer changed by itself
        "fixed": _fixed(standing),
        "reviewers": [voice for r in reviews for voice in r.get("reviewers") or ()],
        "checks": check.get("checks") or [],
        # the author's own last message
        "last_words": _last(standing, "last_words").get("last_words"),
        "warnings": [*_left_out(standing), *(check.get("warnings") or ())],
        "unseen_files": review.get("unseen_files") or [],
        "artifact": review.get("artifact"),
        "decision": dict(decisions[-1].data) if decisions else None,
    }


def _fixed(standing: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    fix = next((r for r in reversed(standing) if r.get("phase") == REVIEW_FIX and r.get("changed")), None)
    if fix is None:
        return None
    return {"commit": fix.get("commit"), "summary": fix.get("summary") or "", "issues": list(fix.get("issues") or ())}


def review_findings(reviews: Sequence[Mapping[str, Any]]) -> str | None:
    """The first 2 KB of what the reviewers wrote; the summary of one that wrote nothing beside its verdict."""
    voices = [voice for review in reviews for voice in review.get("reviewers") or ()]
    texts = [str(voice.get("prose") or voice.get("summary") or "").strip() for voice in voices]
    words = [
        f"{voice.get('agent')}: {text}" if len(voices) > 1 else text
        for voice, text in zip(voices, texts, strict=True)
        if text
    ]
    joined = "\n\n".join(words).encode("utf-8", "replace")[:FINDINGS_BYTES]
    return joined.decode("utf-8", "ignore") or None


def _left_out(standing: Sequence[Any]) -> list[str]:
    names = _last(standing, "left_out").get("left_out")
    return [left_out_words(names)] if names else []


def _verdict(review: dict[str, Any], decisions: list[DecisionRecord]) -> dict[str, Any]:
    """What the review came to, and why that is not what the reviewer said; accepted since, its own word stands."""
    accepted = bool(decisions) and decisions[-1].action == "accept"
    if accepted or "weighed" not in review:
        return {"verdict": review.get("verdict"), "but": ""}
    return {"verdict": review["weighed"], "but": review.get("but") or ""}


def _last(results: Sequence[Any], key: str) -> dict[str, Any]:
    return next((dict(result) for result in reversed(results) if result.get(key)), {})


def _review_status(review: dict[str, Any], decisions: list[DecisionRecord]) -> str | None:
    """A decision has the last word: a person may have skipped or rejected."""
    if decisions and decisions[-1].action == "again":
        decisions = []
    for decision in reversed(decisions):
        if said := decision.data.get("review_status"):
            return str(said)
    if said := review.get("review_status"):
        return str(said)
    # sent back before anyone reviewed: the checks did it
    return "failed" if not review and decisions and decisions[-1].action == "revise" else None


def _phase(phase: PhaseRecord) -> dict[str, Any]:
    return {
        "phase": phase.phase,
        "attempt": phase.attempt,
        "state": phase.state,
        "superseded": phase.superseded,
        "started_at": phase.started_at,
        "finished_at": phase.finished_at,
        "cost_usd": phase.cost_usd,
        "cost_source": phase.result.get("cost_source"),
        "tokens": phase.tokens,
        **{key: phase.result.get(key) for key in _TOLD},
        **_reckoned(phase),
    }


def _reckoned(phase: PhaseRecord) -> dict[str, Any]:
    """What the result does not say, but the journal does: how long it took, and who reviewed."""
    known: dict[str, Any] = {}
    if phase.result.get("seconds") is None and phase.finished_at and phase.started_at:
        known["seconds"] = _seconds(phase.started_at, phase.finished_at)
    voices = phase.result.get("reviewers") or ()
    for key in ("agent", "model"):
        names = dict.fromkeys(str(voice[key]) for voice in voices if voice.get(key))
        if names and phase.result.get(key) is None:
            known[key] = ", ".join(names)
    return known


def _seconds(start: str, end: str) -> float | None:
    try:
        took = datetime.fromisoformat(end) - datetime.fromisoformat(start)
    except (ValueError, TypeError):
        return None
    # a clock may have been set back meanwhile
    return max(0.0, round(took.total_seconds(), 3))
