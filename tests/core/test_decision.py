"""What is decided about a cycle: tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from burnish.core.decision import (
    Accept,
    ConvergenceState,
    Decision,
    Escalate,
    Revise,
    Wait,
    after_checks,
    after_review,
    after_work,
    effective_verdict,
    send_back,
)
from burnish.core.finding import Category, Finding, FindingState, Remark, Severity
from burnish.core.review import Compliance, PanelResult, Verdict

ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO
FIRST = ConvergenceState(cycle=1, max_cycles=3)


def finding(id: str = "F1", severity: Severity = ERROR, **more: Any) -> Finding:
    category = more.pop("category", Category.CODE)
    source, rule = more.pop("source", "judge"), more.pop("rule", "")
    return Finding(id, Remark(category, severity, f"title of {id}", source=source, rule=rule), **more)


def panel(verdict: Verdict | None = Verdict.APPROVED, **more: Any) -> PanelResult:
    return PanelResult((), verdict, "summary", **more)


def kind(decision: Decision | None) -> str:
    if decision is None:
        return "go on"
    return decision.reason.value if isinstance(decision, Escalate) else type(decision).__name__.lower()


WORK = {
    "something new": (ConvergenceState(1, 3, tree="a"), "go on"),
    "nothing at first": (ConvergenceState(1, 3, unchanged=True), "no_changes"),
    "nothing later": (ConvergenceState(2, 3, unchanged=True), "stalled"),
    "nothing but a dispute": (ConvergenceState(2, 3, unchanged=True, disputed=("F1",)), "go on"),
    "nothing but a dispute that was upheld": (
        ConvergenceState(3, 4, unchanged=True, disputed_again=("F1",)),
        "needs_discussion",
    ),
    "two disputes, one new": (
        ConvergenceState(3, 4, unchanged=True, disputed=("F2",), disputed_again=("F1",)),
        "go on",
    ),
    "A, B, A": (ConvergenceState(3, 9, earlier_trees=("a", "b"), tree="a"), "stalled"),
    "A, B, C": (ConvergenceState(3, 9, earlier_trees=("a", "b"), tree="c"), "go on"),
    "A, B, A in the last cycle": (ConvergenceState(3, 3, earlier_trees=("a", "b"), tree="a"), "stalled"),
}


@pytest.mark.parametrize("case", WORK)
def test_after_work(case: str) -> None:
    now, wanted = WORK[case]
    assert kind(after_work(now)) == wanted


SENT = {
    "cycles are left": (FIRST, ("F1",), "revise"),
    "the last cycle": (ConvergenceState(3, 3), ("F1",), "max_cycles"),
    "the only cycle": (ConvergenceState(1, 1), ("F1",), "max_cycles"),
    "past the last, by hand": (ConvergenceState(4, 3), ("F1",), "max_cycles"),
    "the same after one fix": (ConvergenceState(2, 9, (frozenset({"F1"}),)), ("F1",), "revise"),
    "the same after two fixes": (ConvergenceState(3, 9, (frozenset({"F1"}), frozenset({"F1"}))), ("F1",), "stalled"),
    "max cycles beats stall": (ConvergenceState(3, 3, (frozenset({"F1"}), frozenset({"F1"}))), ("F1",), "max_cycles"),
    "fewer of the same are the same": (ConvergenceState(3, 9, (frozenset({"F1", "F2"}),) * 2), ("F1",), "stalled"),
    "one new among them": (ConvergenceState(3, 9, (frozenset({"F1"}),) * 2), ("F1", "F2"), "revise"),
    "it was gone in between": (ConvergenceState(4, 9, (frozenset({"F1"}), frozenset({"F2"}))), ("F1",), "revise"),
    "old news does not count": (
        ConvergenceState(4, 9, (frozenset({"F1"}), frozenset(), frozenset({"F1"}))),
        ("F1",),
        "revise",
    ),
    "no ids at all": (ConvergenceState(3, 9, (frozenset(), frozenset())), (), "revise"),
}


@pytest.mark.parametrize("case", SENT)
def test_sent_back(case: str) -> None:
    now, blockers, wanted = SENT[case]
    assert kind(send_back("why", blockers, now)) == wanted


CHECKED: dict[str, tuple[list[Finding], str, str]] = {
    "nothing found": ([], "fix", "go on"),
    "a check is broken": ([finding(source="check:test")], "fix", "revise"),
    "a check is broken, review all the same": ([finding(source="check:test")], "review", "go on"),
    "a check that only warns": ([finding(source="check:lint", severity=WARNING)], "fix", "go on"),
    "what a reviewer found earlier": ([finding(source="judge")], "fix", "go on"),
    "a broken check that was waived": ([finding(source="check:test", state=FindingState.WAIVED)], "fix", "go on"),
    "a guard": ([finding(category=Category.GUARD, source="guard")], "review", "guard"),
    "a guard and a broken check": (
        [finding(source="check:test"), finding("F2", category=Category.GUARD)],
        "fix",
        "guard",
    ),
    "a guard that only warns": ([finding(category=Category.GUARD, severity=WARNING)], "fix", "go on"),
    "a guard that a person accepted": ([finding(category=Category.GUARD, state=FindingState.WAIVED)], "fix", "go on"),
}


@pytest.mark.parametrize("case", CHECKED)
def test_after_checks(case: str) -> None:
    findings, on_failure, wanted = CHECKED[case]
    assert kind(after_checks(findings, FIRST, on_failure=on_failure, block_on=ERROR)) == wanted


APPROVED, CHANGES = Verdict.APPROVED, Verdict.CHANGES_REQUESTED
REVIEWED: dict[str, tuple[PanelResult, list[Finding], str]] = {
    "approved": (panel(), [], "accept"),
    "approved with warnings": (panel(), [finding(severity=WARNING)], "accept"),
    "approved with an open error": (panel(), [finding()], "revise"),
    "approved with a reopened error": (panel(), [finding(state=FindingState.REOPENED)], "revise"),
    "approved with a disputed error": (panel(), [finding(state=FindingState.DISPUTED, disputes=1)], "revise"),
    "approved, errors resolved or waived": (
        panel(),
        [finding(state=FindingState.RESOLVED), finding("F2", state=FindingState.WAIVED)],
        "accept",
    ),
    "approved with a criterion unmet": (panel(compliance=(Compliance("fast", False),)), [], "revise"),
    "approved, a path unseen": (panel(uncovered=("a.py",)), [], "incomplete_review"),
    "changes requested, a path unseen": (panel(CHANGES, uncovered=("a.py",)), [finding()], "revise"),
    "approved but unsigned": (panel(signed=False), [], "wait"),
    "approved, unsigned, with an error": (panel(signed=False), [finding()], "revise"),
    "approved, unsigned, an earlier error not ruled on": (panel(signed=False, not_ruled=("F1",)), [finding()], "wait"),
    "approved, unsigned, one not ruled on and one raised": (
        panel(signed=False, not_ruled=("F1",)),
        [finding(), finding("F2")],
        "revise",
    ),
    "approved, unsigned, a red check not ruled on": (
        panel(signed=False, not_ruled=("F1",)),
        [finding(source="check:test")],
        "revise",
    ),
    "approved and signed, an earlier error not ruled on": (panel(not_ruled=("F1",)), [finding()], "revise"),
    "changes requested, unsigned": (
        panel(Verdict.CHANGES_REQUESTED, signed=False, not_ruled=("F1",)),
        [finding()],
        "revise",
    ),
    "approved by programs alone, an earlier error not ruled on": (
        panel(mechanical=True, not_ruled=("F1",)),
        [finding()],
        "wait",
    ),
    "approved, unsigned, a comment that the author has not read": (
        panel(signed=False, not_ruled=("F1",)),
        [finding(source="user:ann", rule="comment")],
        "revise",
    ),
    "approved and blocking": (panel(blocking=True), [], "rejected"),
    "changes requested": (panel(CHANGES), [finding()], "revise"),
    "changes requested for a warning": (panel(CHANGES), [finding(severity=WARNING)], "revise"),
    "changes requested, no finding": (panel(CHANGES), [], "revise"),
    "rejected": (panel(Verdict.REJECTED), [], "rejected"),
    "to be discussed": (panel(Verdict.NEEDS_DISCUSSION), [finding()], "needs_discussion"),
    "unreadable": (panel(None, why="no block"), [], "unreadable_review"),
    "unreadable with errors open": (panel(None), [finding()], "unreadable_review"),
    "disputed twice": (panel(CHANGES), [finding(state=FindingState.DISPUTED, disputes=2)], "needs_discussion"),
    "disputed twice, then withdrawn": (panel(), [finding(state=FindingState.RESOLVED, disputes=2)], "accept"),
    "a guard beats an approval": (panel(), [finding(category=Category.GUARD)], "guard"),
    "a guard beats silence": (panel(None), [finding(category=Category.GUARD)], "guard"),
}


@pytest.mark.parametrize("case", REVIEWED)
def test_after_review(case: str) -> None:
    said, findings, wanted = REVIEWED[case]
    assert kind(after_review(said, findings, FIRST, block_on=ERROR)) == wanted


def test_block_on_warning_makes_warnings_block() -> None:
    assert kind(after_review(panel(), [finding(severity=WARNING)], FIRST, block_on=WARNING)) == "revise"
    assert kind(after_review(panel(), [finding(severity=INFO)], FIRST, block_on=WARNING)) == "accept"


@pytest.mark.parametrize(
    ("judged", "wanted"),
    [
        ((Compliance("Rejects  empty names", True),), "accept"),
        ((Compliance("something else", True),), "accept"),
        ((), "incomplete_review"),
        ((Compliance("rejects empty names", None),), "incomplete_review"),
        ((Compliance("rejects empty names", False),), "revise"),
    ],
)
def test_an_approval_must_have_judged_every_criterion(judged: tuple[Compliance, ...], wanted: str) -> None:
    said = panel(compliance=judged)
    assert kind(after_review(said, [], FIRST, block_on=ERROR, criteria=["rejects empty names"])) == wanted
    by_machine = replace(said, mechanical=True)
    relaxed = "accept" if wanted == "incomplete_review" else wanted
    assert kind(after_review(by_machine, [], FIRST, block_on=ERROR, criteria=["rejects empty names"])) == relaxed


def test_only_an_approval_that_nothing_contradicts_is_accepted() -> None:
    """Every combination of what may be wrong: accepted exactly when nothing is."""
    trouble: list[tuple[dict[str, Any], list[Finding]]] = [
        ({"blocking": True}, []),
        ({"uncovered": ("a",)}, []),
        ({"signed": False}, []),
        ({"compliance": (Compliance("c", False),)}, []),
        ({}, [finding()]),
        ({}, [finding("F2", category=Category.GUARD)]),
    ]
    for verdict in (None, *Verdict):
        for mask in range(1 << len(trouble)):
            chosen = [trouble[n] for n in range(len(trouble)) if mask >> n & 1]
            facts = {key: value for more, _ in chosen for key, value in more.items()}
            found = [f for _, findings in chosen for f in findings]
            decision = after_review(panel(verdict, **facts), found, FIRST, block_on=ERROR)
            assert isinstance(decision, Accept) == (verdict is APPROVED and mask == 0), (verdict, mask)


def test_decisions_say_why_and_which() -> None:
    sent = after_review(panel(), [finding(), finding("F2")], FIRST, block_on=ERROR)
    assert isinstance(sent, Revise) and sent.blockers == ("F1", "F2") and "F1 and F2 still stand" in sent.why
    over = send_back("why", ("F1",), ConvergenceState(3, 3))
    assert isinstance(over, Escalate) and over.blockers == ("F1",) and "3 cycles" in over.why
    assert isinstance(after_review(panel(signed=False), [], FIRST, block_on=ERROR), Wait)


WEIGHED = {
    "nothing against it": (panel(), (), Verdict.APPROVED, ""),
    "only a warning": (panel(), (finding(severity=WARNING),), Verdict.APPROVED, ""),
    "an open error": (panel(), (finding(),), Verdict.CHANGES_REQUESTED, "F1 still stands"),
    "two": (panel(), (finding(), finding("F2")), Verdict.CHANGES_REQUESTED, "F1 and F2 still stand"),
    "a criterion": (panel(compliance=(Compliance("fast", False),)), (), Verdict.CHANGES_REQUESTED, "not met: fast"),
    "blocking": (panel(blocking=True), (), Verdict.CHANGES_REQUESTED, "asks for a person"),
    "unseen": (panel(uncovered=("a.py",)), (), Verdict.APPROVED, "no reviewer looked at a.py"),
    "no approval": (panel(Verdict.REJECTED), (finding(),), Verdict.REJECTED, ""),
}


@pytest.mark.parametrize("case", WEIGHED)
def test_a_contradicted_approval_is_weighed_and_says_in_a_line_why(case: str) -> None:
    said, findings, verdict, but = WEIGHED[case]
    counts, why = effective_verdict(said, findings, ERROR)
    assert counts is verdict and but in why and bool(but) == why.startswith("approved by the reviewer, but ")
