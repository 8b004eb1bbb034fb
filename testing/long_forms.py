"""What only the long form of the suite runs: `make test-all` and `make torture`.

`@pytest.mark.long` leaves a test to the long form. `@pytest.mark.representatives("id", …)` does that with a table:
`make test` runs the named cases, one per class of input. A test that is named on the command line always runs.
"""

from __future__ import annotations

import os

import pytest

IS_LONG = bool(os.environ.get("BURNISH_LONG") or os.environ.get("BURNISH_TORTURE"))
MARKERS = (
    "long: only in `make test-all` and `make torture`",
    "representatives(*ids): the cases of a table that `make test` runs; the others are long",
)
# of the examples that a property is tried with in the long form
_SHARE = 5
_FEWEST = 10


def examples(count: int) -> int:
    """How many examples hypothesis tries: `count` in the long form, a fifth of them otherwise."""
    return count if IS_LONG else min(count, max(_FEWEST, count // _SHARE))


def deselect_long(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of the long form, unless the command line names single tests."""
    if any("::" in argument for argument in config.args):
        return
    if unknown := _unknown_representatives(items):
        raise pytest.UsageError("a mark names a case that its table does not have: " + "; ".join(unknown))
    if IS_LONG:
        return
    chosen = [item for item in items if not _is_long(item)]
    config.hook.pytest_deselected(items=[item for item in items if _is_long(item)])
    items[:] = chosen


def _unknown_representatives(items: list[pytest.Item]) -> list[str]:
    """Cases that a mark names and that the table does not have."""
    ids: dict[tuple[str, str], set[str]] = {}
    for item in items:
        ids.setdefault(_table_of(item), set()).add(_case_of(item))
    unknown = {
        f"{item.nodeid.partition('[')[0]}: {case}"
        for item in items
        for mark in item.iter_markers("representatives")
        for case in mark.args
        if case not in ids[_table_of(item)]
    }
    return sorted(unknown)


def _is_long(item: pytest.Item) -> bool:
    if item.get_closest_marker("long"):
        return True
    marks = list(item.iter_markers("representatives"))
    return any(_case_of(item) not in mark.args for mark in marks)


def _table_of(item: pytest.Item) -> tuple[str, str]:
    return item.nodeid.partition("::")[0], getattr(item, "originalname", item.name)


def _case_of(item: pytest.Item) -> str:
    """What stands in the brackets behind the name."""
    return item.name.partition("[")[2].removesuffix("]")
