"""Counted attacks: what tests tried, how often it succeeded, and the table of it that `make torture` prints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import pytest

from testing.both_stores import NO_STORE, POSTGRESQL_NAME, SQLITE_NAME, store_of

# The name of the property by which a count travels with a test's report, also from a process of xdist.
PROPERTY = "attack_count"
CountAttacks = Callable[[str, int, int], None]


class AttackCount(NamedTuple):
    """Of one test, or the sum over several."""

    kind: str
    # the name of the store with which it was tried, or NO_STORE
    store: str
    attempts: int
    successes: int


def is_counted(item: pytest.Item) -> bool:
    """Whether the test counts attacks: by its mark or by the fixture."""
    return bool(item.get_closest_marker("attacks")) or "count_attacks" in getattr(item, "fixturenames", ())


def counts_of_marker(item: pytest.Item, *, failed: bool) -> list[AttackCount]:
    """What `@pytest.mark.attacks(kind, attempts)` promises for a test that asserts after each attempt.

    `store="PostgreSQL"` in the mark: the test always uses that store.
    """
    marks = [(*mark.args, mark.kwargs.get("store") or store_of(item)) for mark in item.iter_markers("attacks")]
    return [AttackCount(kind, store, attempts, int(failed)) for kind, attempts, store in marks]


def counts_of(report: pytest.TestReport) -> list[AttackCount]:
    return [AttackCount(*value) for name, value in report.user_properties if name == PROPERTY]


def sums(counts: Iterable[AttackCount]) -> list[AttackCount]:
    """One for each kind and store. A test without a store of its own uses SQLite, if others of its kind use one."""
    counts = list(counts)
    both = {count.kind for count in counts if count.store in (SQLITE_NAME, POSTGRESQL_NAME)}
    found: dict[tuple[str, str], AttackCount] = {}
    for kind, store, attempts, successes in counts:
        named = SQLITE_NAME if store == NO_STORE and kind in both else store
        _, _, tried, succeeded = found.get((kind, named), (kind, named, 0, 0))
        found[kind, named] = AttackCount(kind, named, tried + attempts, succeeded + successes)
    # SQLite before PostgreSQL
    return sorted(found.values(), key=lambda one: (one.kind, one.store == POSTGRESQL_NAME))


def table(counts: Sequence[AttackCount]) -> list[str]:
    """One line for each kind of attack and store, with the sums over all tests, and a last line with all sums."""
    summed = sums(counts)
    total = ("all", "", sum(one.attempts for one in summed), sum(one.successes for one in summed))
    rows = [("attack", "store", "attempts", "successes"), *summed, total]
    width = max(len(row[0]) for row in rows)
    return [
        f"{kind:<{width}}  {store:<10}  {attempts:>9}  {successes:>9}".rstrip()
        for kind, store, attempts, successes in rows
    ]
