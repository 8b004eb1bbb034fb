"""What holds for any ledger and any review."""

from __future__ import annotations

import itertools
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.core.finding import Category, FindingState, Remark, Severity
from burnish.core.ledger.assignment import best_pairs
from burnish.core.ledger.ledger import LedgerDiff, absorb_checks, absorb_review
from burnish.core.review import Ruling, RulingState
from testing.histories import history
from testing.long_forms import examples

TEXT = "".join(f"value_{n % 7} = call({n % 5})\n" for n in range(40))
FILES = {"a.py": TEXT, "b.py": TEXT.replace("call", "run")}

remarks = st.builds(
    Remark,
    category=st.sampled_from(list(Category)),
    severity=st.sampled_from(list(Severity)),
    title=st.sampled_from(["Leak", "Handle leaks", "Wrong bound", "Name is unclear", "Slow loop", "Unsafe query"]),
    description=st.sampled_from(["", "It is never closed.", "The last one is skipped.", "Batch it."]),
    file=st.sampled_from([None, "a.py", "b.py", "gone.py"]),
    line=st.none() | st.integers(1, 45),
    quote=st.sampled_from(["", "value_3 = call(3)", "value_1=call(1)", "run(2)", "nowhere()"]),
    rule=st.sampled_from(["", "", "E501"]),
    source=st.sampled_from(["one", "two"]),
)
reviews = st.lists(remarks, max_size=7).map(tuple)
rulings = st.lists(
    st.builds(Ruling, id=st.integers(1, 6).map("F{}".format), state=st.sampled_from(list(RulingState))), max_size=3
).map(tuple)


def absorb(before: LedgerDiff, said: tuple[Remark, ...], ruled: tuple[Ruling, ...], cycle: int) -> LedgerDiff:
    return absorb_review(before.findings, remarks=said, rulings=ruled, cycle=cycle, files=FILES.get)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.tuples(reviews, rulings), min_size=1, max_size=4))
def test_nothing_is_lost_no_id_is_used_twice_and_only_a_ruling_resolves(
    told: list[tuple[tuple[Remark, ...], tuple[Ruling, ...]]],
) -> None:
    ledger = LedgerDiff(())
    for cycle, (said, ruled) in enumerate(told, 1):
        after = absorb(ledger, said, ruled, cycle)
        ids = [finding.id for finding in after.findings]
        assert ids == [f"F{n}" for n in range(1, len(ids) + 1)]
        assert {finding.id for finding in ledger.findings} <= set(ids)
        assert set(after.resolved) <= {r.id for r in ruled if r.state is not RulingState.OPEN}
        assert len(after.given) == len(said)
        assert all(after.finding(id).alive for id in after.given)
        ledger = after


@settings(max_examples=examples(60), deadline=None)
@given(reviews, reviews, st.randoms(use_true_random=False))
def test_the_order_of_remarks_changes_no_match(
    first: tuple[Remark, ...], second: tuple[Remark, ...], chance: random.Random
) -> None:
    known = absorb(LedgerDiff(()), first, (), 1)
    order = list(range(len(second)))
    chance.shuffle(order)
    straight = absorb(known, second, (), 2)
    shuffled = absorb(known, tuple(second[i] for i in order), (), 2)
    old = {finding.id for finding in known.findings}

    def matches(update: LedgerDiff, said: tuple[Remark, ...]) -> list[tuple[str, str]]:
        return sorted((id, repr(remark)) for id, remark in zip(update.given, said, strict=True) if id in old)

    assert matches(straight, second) == matches(shuffled, tuple(second[i] for i in order))
    assert len(straight.opened) == len(shuffled.opened)


@settings(max_examples=examples(60), deadline=None)
@given(reviews, reviews, rulings)
def test_the_same_review_twice_opens_nothing_new(
    first: tuple[Remark, ...], second: tuple[Remark, ...], ruled: tuple[Ruling, ...]
) -> None:
    known = absorb(LedgerDiff(()), first, (), 1)
    once = absorb(known, second, ruled, 2)
    twice = absorb(once, second, ruled, 2)
    assert twice.opened == ()
    assert [f.state for f in twice.findings] == [f.state for f in once.findings]


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000))
def test_through_any_history_a_finding_without_a_ruling_lives_on(seed: int) -> None:
    ledger = LedgerDiff(())
    for cycle, told in enumerate(history(seed), 1):
        ledger = absorb_review(
            ledger.findings, remarks=told.remarks, cycle=cycle, delta=told.delta, files=told.texts.get
        )
        assert all(finding.state is not FindingState.RESOLVED for finding in ledger.findings)


def test_no_check_results_change_nothing() -> None:
    known = absorb(LedgerDiff(()), (Remark(Category.CODE, Severity.ERROR, "Leak", source="one"),), (), 1)
    assert absorb_checks(known.findings, comparisons=(), cycle=2).findings == known.findings


@settings(max_examples=examples(100), deadline=None)
@given(st.dictionaries(st.tuples(st.integers(0, 3), st.integers(0, 3)), st.floats(0.01, 2), max_size=12))
def test_no_other_pairing_gains_more(gains: dict[tuple[int, int], float]) -> None:
    found = sum(gains[pair] for pair in best_pairs(gains).items())
    best = max(sum(gains.get(pair, 0.0) for pair in enumerate(order)) for order in itertools.permutations(range(4)))
    assert abs(found - best) < 1e-9
