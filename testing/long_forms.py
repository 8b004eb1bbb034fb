"""What `make test` leaves out: the whole is `make test-all`.

`@pytest.mark.slow` leaves a test of about a second and more to CI, and to a command line that names its file or folder.
`@pytest.mark.long` leaves a test to `make test-all`, and to `make torture` if it counts attacks.
`@pytest.mark.representatives(n)` does that with all but n cases of a table. A test that is named on the command line
always runs.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

IS_TORTURE = bool(os.environ.get("BURNISH_TORTURE"))
IS_LONG = bool(os.environ.get("BURNISH_LONG")) or IS_TORTURE
MARKERS = (
    "slow: not in `make test`, unless CI is set or its file or folder is named",
    "long: only in `make test-all`, and in `make torture` if it counts attacks",
    "representatives(n): n cases, spread over the table, are in `make test`; the others are long",
)
# of the examples that a property is tried with in the long form
_SHARE = 5
_FEWEST = 10


def examples(count: int) -> int:
    """How many examples hypothesis tries: `count` in the long form, a fifth of them otherwise."""
    return count if IS_LONG else min(count, max(_FEWEST, count // _SHARE))


def paired(*tables: Sequence[Any]) -> list[tuple[Any, ...]]:
    """All combinations in the long form; otherwise so few that each entry of each table is in one."""
    if IS_LONG:
        return list(product(*tables))
    return [tuple(table[number % len(table)] for table in tables) for number in range(max(map(len, tables)))]


def deselect_long(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of the long form, unless the command line names single tests."""
    if IS_LONG or any("::" in argument for argument in config.args):
        return
    marks = ["long"] if os.environ.get("CI") or not _is_whole_suite(config) else ["long", "slow"]
    left_out = {item for item in items if any(map(item.get_closest_marker, marks))} | _other_cases(items)
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


def _is_whole_suite(config: pytest.Config) -> bool:
    folders = [config.rootpath / folder for folder in config.getini("testpaths")]
    return [Path(argument).resolve() for argument in config.args] == folders


def _other_cases(items: list[pytest.Item]) -> set[pytest.Item]:
    """The cases of marked tables that represent no others."""
    tables: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("representatives"):
            tables.setdefault(item.nodeid.partition("[")[0], []).append(item)
    others: set[pytest.Item] = set()
    for cases in tables.values():
        mark = cases[0].get_closest_marker("representatives")
        assert mark is not None
        others |= set(cases) - {cases[index] for index in _spread(mark.args[0], len(cases))}
    return others


def _spread(count: int, total: int) -> set[int]:
    """Evenly over the table, its first and its last case among them."""
    if count >= total:
        return set(range(total))
    return {0} if count == 1 else {round(number * (total - 1) / (count - 1)) for number in range(count)}
