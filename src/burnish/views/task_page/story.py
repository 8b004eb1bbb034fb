"""The timeline of a task: its runs, their cycles, and the events of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from burnish.core.agent import LOST_SESSION
from burnish.core.check import count_of
from burnish.core.cost import joint_source
from burnish.core.event import RecordedEvent
from burnish.core.finding import Finding
from burnish.core.history import AnyPhase, DecisionRecord
from burnish.core.journal import is_review, read
from burnish.core.journal_events import DecisionMade
from burnish.core.override import reason_words
from burnish.core.task import Task
from burnish.store import Store
from burnish.views.task import cycles

PHASES = {
    "implement": "Implement",
    "improve": "Improve",
    "check": "Checks",
    "review": "Review",
    "review-fix": "Review with fixes",
    "gate": "Gate",
}
# a phase in which no agent worked
FROM_BRANCH = "Taken from the branch"
VOID_APPROVAL = "The approval is void"
_ACTIONS = {
    "accept": ("Accepted", "good"),
    "revise": ("Sent back", "warn"),
    "escalate": ("Stopped for a person", "bad"),
    "wait": ("Waits", "warn"),
    "again": ("To be done again", "warn"),
}
_PROPOSED = ("Proposed for approval", "")
_CHOSEN = {
    "approve": "Approved",
    "reject": "Rejected",
    "fix": "Sent back to be fixed",
    "skip": "Accepted without a review",
    "override": "Accepted against the review",
}
# fields of a task that are called otherwise on the page
_FIELD_WORDS = {"budget_usd": "limit in dollars", "budget_tokens": "limit in tokens"}
_VERDICTS = {"approved": "good", "changes_requested": "warn", "needs_discussion": "warn", "rejected": "bad"}


@dataclass(frozen=True, slots=True)
class Moment:
    """One event of the timeline. `tone` is good, bad, warn, busy or empty."""

    at: str
    title: str
    detail: str = ""
    tone: str = ""
    kind: str = "note"  # phase, decision, note
    who: str = ""
    seconds: float | None = None
    cost_usd: float | None = None
    # `core.agent.CostSource`
    cost_source: str | None = None
    tokens: int = 0
    attempt: int = 1
    # it is going on; `at` is when it began
    live: bool = False
    set_aside: bool = False
    commit: str = ""
    # a ref where work was saved
    saved: str = ""


@dataclass(frozen=True, slots=True)
class CycleStory:
    number: int
    verdict: str
    tone: str
    # why the effective verdict differs from the reviewer's
    but: str
    # how its review ended, in words
    review: str
    summary: str
    artifact: str
    moments: tuple[Moment, ...]
    raised: tuple[str, ...] = ()
    settled: tuple[str, ...] = ()
    reviewers: tuple[Mapping[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def seconds(self) -> float | None:
        """Of the phases that have ended; None while the first one runs."""
        durations = [moment.seconds for moment in self.moments if moment.seconds is not None]
        return sum(durations) if durations else None

    @property
    def cost_usd(self) -> float | None:
        prices = [moment.cost_usd for moment in self.moments if moment.cost_usd is not None]
        return sum(prices) if prices else None

    @property
    def cost_source(self) -> str | None:
        return joint_source(moment.cost_source for moment in self.moments)


@dataclass(frozen=True, slots=True)
class RunStory:
    number: int
    cycles: tuple[CycleStory, ...]
    # what belongs to no cycle
    moments: tuple[Moment, ...] = ()


@dataclass(frozen=True, slots=True)
class Story:
    # the newest first
    runs: tuple[RunStory, ...]
    before: tuple[Moment, ...] = field(default=())


def story(store: Store, project: str, id: int, *, running: bool) -> Story:
    task = store.task(project, id)
    phases, decisions = store.phases(project, id), store.decisions(project, id)
    events = store.events(project, task=id)
    findings = store.findings(project, id)
    numbers = sorted({phase.run for phase in phases} | {d.run for d in decisions} | ({task.run} - {0}), reverse=True)
    runs = [_run(number, task, phases, decisions, events, findings, running) for number in numbers]
    return Story(tuple(runs), tuple(_noted([e for e in events if e.run == 0])))


def _run(
    number: int,
    task: Task,
    phases: Sequence[AnyPhase],
    decisions: Sequence[DecisionRecord],
    events: Sequence[RecordedEvent],
    findings: Sequence[Finding],
    running: bool,
) -> RunStory:
    own = [phase for phase in phases if phase.run == number]
    run_events = [event for event in events if event.run == number]
    cycle_rows = cycles(own, [decision for decision in decisions if decision.run == number])
    run_findings = findings if number == task.run else ()
    stories = [_cycle(cycle, run_events, run_findings, running and number == task.run) for cycle in cycle_rows]
    numbers = {cycle.number for cycle in stories}
    return RunStory(number, tuple(reversed(stories)), tuple(_noted([e for e in run_events if e.cycle not in numbers])))


def _cycle(
    cycle: Mapping[str, Any], events: Sequence[RecordedEvent], findings: Sequence[Finding], running: bool
) -> CycleStory:
    number = int(cycle["number"])
    # the page shows the review's summary at the top already
    summary = str(cycle["summary"] or "") or None
    notes = [
        replace(note, detail="") if note.detail == summary else note
        for note in _noted([event for event in events if event.cycle == number])
    ]
    moments = [*(_weighed(_phase(phase, running), phase, cycle) for phase in cycle["phases"]), *notes]
    verdict = str(cycle["verdict"] or "")
    return CycleStory(
        number=number,
        verdict=verdict,
        tone=_VERDICTS.get(verdict, ""),
        but=str(cycle["but"] or ""),
        review=_review_words(cycle),
        summary=str(cycle["summary"] or ""),
        artifact=str(cycle["artifact"] or "").rpartition("/")[2],
        moments=tuple(sorted(moments, key=_order)),
        raised=tuple(f.id for f in findings if f.first_cycle == number),
        settled=tuple(f.id for f in findings if f.state.value == "resolved" and f.last_cycle == number),
        reviewers=tuple(cycle["reviewers"]),
        warnings=tuple(str(warning) for warning in cycle["warnings"]),
    )


def _order(moment: Moment) -> tuple[str, bool]:
    """By time; a gate is opened after what is recorded with it."""
    return moment.at, moment.kind == "phase" and moment.title == PHASES["gate"]


def _review_words(cycle: Mapping[str, Any]) -> str:
    """The review's status in words. A cycle may end before its review (failed checks, nothing changed)."""
    if not cycle["review_status"]:
        return ""
    has_review = any(is_review(str(phase["phase"])) for phase in cycle["phases"])
    return f"review {cycle['review_status']}" if has_review else "not reviewed"


def _phase(phase: Mapping[str, Any], running: bool) -> Moment:
    name, _, step = str(phase["phase"]).partition(":")
    state = str(phase["state"])
    live = state == "started" and running
    cut = "" if state != "started" or live else "It was cut and will be taken up again."
    if name == "gate" and state == "started":
        live, cut = False, "It waits for a person."
    what, hint = (str(phase.get(key) or "").strip() for key in ("what", "hint"))
    stop = "." if what and hint and not what.endswith((".", "!", "?")) else ""
    has_commit = name in ("implement", "improve", "review-fix") and state != "failed"
    failure = f"{what}{stop} {hint}".strip() or str(phase.get("error") or "")
    return Moment(
        at=str(phase["started_at"] or ""),
        title=FROM_BRANCH if phase.get("by_hand") else PHASES.get(name, name) + (f": {step}" * bool(step)),
        detail=failure if state == "failed" else str(phase.get("why") or cut),
        tone={"failed": "bad", "finished": "good"}.get(state, "busy" if live else "warn"),
        kind="phase",
        who=" ".join(str(phase.get(key) or "") for key in ("agent", "model")).strip(),
        seconds=phase.get("seconds"),
        cost_usd=phase.get("cost_usd"),
        cost_source=phase.get("cost_source"),
        tokens=int(phase.get("tokens") or 0),
        attempt=int(phase.get("attempt") or 1),
        live=live,
        set_aside=bool(phase.get("superseded")),
        # of a phase that failed, it is the one before its work
        commit=str(phase.get("commit") or "") if has_commit else "",
        saved=str(phase.get("rescue") or ""),
    )


def _weighed(moment: Moment, phase: Mapping[str, Any], cycle: Mapping[str, Any]) -> Moment:
    """The moment of a finished phase with the result of its checks or review."""
    if phase["state"] != "finished" or phase.get("superseded") or moment.detail:
        return moment
    if phase["phase"] == "check" and cycle["checks"]:
        clean = not any(check.get("new") or check.get("problems") or check.get("broken") for check in cycle["checks"])
        detail = "; ".join(_counted(check) for check in cycle["checks"])
        return replace(moment, detail=detail, tone="good" if clean else "warn")
    if phase["phase"] == "review-fix" and cycle["fixed"]:
        fix = cycle["fixed"]
        ids = f" {', '.join(fix['issues'])}" if fix["issues"] else " the code"
        return replace(moment, detail=f"fixed{ids}: {fix['summary']}".rstrip(": "))
    if phase["phase"] == "review" and cycle["verdict"]:
        return replace(moment, detail=str(cycle["verdict"]).replace("_", " "), tone=_VERDICTS.get(cycle["verdict"], ""))
    return moment


def _counted(check: Mapping[str, Any]) -> str:
    """`test: 6 passed, 2 failed (1 new)`"""
    if check.get("status") == "not_run":
        return f"{check.get('name')}: not run"
    counts = check.get("counts") or {}
    words = [f"{counts[name]} {name}" for name in ("passed", "failed", "skipped") if counts.get(name)]
    new = count_of(check, "new") + int(check.get("problems") or 0)
    result = ", ".join(words) or str(check.get("status") or "")
    return f"{check.get('name')}: {result}" + (f" ({new} new)" if new else "")


def _noted(events: Sequence[RecordedEvent]) -> Iterator[Moment]:
    proposals = _proposals(events)
    for event in events:
        note = _note(event)
        if note and event.id in proposals:
            note = replace(note, title=_PROPOSED[0], tone=_PROPOSED[1])
        if note:
            yield note


def _proposals(events: Sequence[RecordedEvent]) -> set[int]:
    """Ids of acceptances by burnish that are directly followed by a gate for a person."""
    found, accepted_id = set(), None
    for event in events:
        if event.type == "decision.made":
            decision = read(DecisionMade, event.data)
            own = decision.action == "accept" and decision.by == "burnish"
            accepted_id = event.id if own else None
        elif event.type == "gate.opened" and accepted_id is not None:
            found.add(accepted_id)
    return found


def _note(event: RecordedEvent) -> Moment | None:
    """The moment for an event; None if phases or findings show it already."""
    data, at = event.data, event.ts
    who = str(data.get("by") or "").removeprefix("user:")
    why = str(data.get("why") or "")
    match event.type:
        case "decision.made" if data.get("action") == "ask":
            return None  # the gate, which is a phase, tells it
        case "decision.made":
            title, tone = _ACTIONS.get(str(data.get("action")), (str(data.get("action")), ""))
            title = _CHOSEN.get(str(data.get("choice") or ""), title)
            # who approved it stands beside it, and the reasons of an override in the line above
            is_said = data.get("choice") == "override" or (not data.get("note") and why.endswith(" by a person"))
            why = "" if is_said else why
            if data.get("target_commit"):
                title, tone = "Merge with the target", "warn" if data.get("conflicts") else ""
            return Moment(at, title, why, tone, "decision", "" if who == "burnish" else who)
        case "override.recorded":
            return Moment(at, "Overridden", reason_words(data), "warn", "decision", who)
        case "approval.voided":
            return Moment(at, VOID_APPROVAL, why, "bad", "decision")
        case "phase.rescued":
            return Moment(at, "Work was saved", "", "warn", saved=str(data.get("ref") or data.get("folder") or ""))
        case "budget.warned":
            # the work goes on
            return Moment(at, "Budget not counted" if data.get("uncounted") else "Budget", why, "warn")
        case "guard.breach" | "budget.reached" | "review.failed":
            title = {"guard.breach": "Guard", "review.failed": "The review could not be held"}.get(event.type, "Budget")
            return Moment(at, title, str(data.get("what") or why or data.get("error") or ""), "bad")
        case "phase.progress" if data.get("until"):
            return Moment(at, "Usage limit", str(data.get("what") or ""), "warn", who=str(data.get("agent") or ""))
        case "phase.progress" if data.get("fallback"):
            return Moment(at, f"{data['fallback']} takes over", str(data.get("what") or ""), "warn")
        case "phase.progress" if data.get("kind") == LOST_SESSION:
            return Moment(at, "A new session", str(data.get("what") or ""), "warn")
        case "lock.taken_over":
            return Moment(at, "Taken over from a runner that died", tone="warn")
        case "task.merged":
            into = str(data.get("into") or data.get("target") or "")
            return Moment(at, f"Merged into {into}" if into else "Merged", "", "good", "decision", who)
        case "task.done" | "task.cancelled" | "task.created":
            title = {"task.done": "Done", "task.cancelled": "Cancelled"}.get(event.type, "Added")
            return Moment(at, title, why, "", "decision", who)
        case "task.edited":
            fields = (_FIELD_WORDS.get(name, name.replace("_", " ")) for name in data.get("changes") or ())
            return Moment(at, "Edited", ", ".join(fields))
    return None
