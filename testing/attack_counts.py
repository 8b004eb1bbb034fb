"""Counted attacks: what tests tried, how often it succeeded, and the table of it that `make torture` prints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import pytest

from testing.both_stores import with_store

# The name of the property by which a count travels with a test's report, also from a process of xdist.
PROPERTY = "attack_count"
# kind of attack, attempts, successes
AttackCount = tuple[str, int, int]
CountAttacks = Callable[[str, int, int], None]


def counts_of_marker(item: pytest.Item, *, failed: bool) -> list[AttackCount]:
    """What `@pytest.mark.attacks(kind, attempts)` promises for a test that asserts after each attempt."""
    marks = [mark.args for mark in item.iter_markers("attacks")]
    return [(with_store(kind, item), attempts, int(failed)) for kind, attempts in marks]


def counts_of(reports: Iterable[pytest.TestReport]) -> list[AttackCount]:
    properties = [value for report in reports for name, value in report.user_properties if name == PROPERTY]
    return [(str(kind), int(attempts), int(successes)) for kind, attempts, successes in properties]


def table(counts: Sequence[AttackCount]) -> list[str]:
    """One line for each kind of attack, with the sums over all tests, and a last line with the sums over all kinds."""
    kinds = sorted({kind for kind, _, _ in counts})
    sums = [(kind, *(sum(count[at] for count in counts if count[0] == kind) for at in (1, 2))) for kind in kinds]
    total = ("all", sum(row[1] for row in sums), sum(row[2] for row in sums))
    rows = [("attack", "attempts", "successes"), *sums, total]
    width = max(len(row[0]) for row in rows)
    return [f"{kind:<{width}}  {attempts:>9}  {successes:>9}" for kind, attempts, successes in rows]
