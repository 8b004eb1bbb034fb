"""One laboratory for all tests that only look: what costs time is done once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from testing.at_hand import AtHand, at_hand
from testing.lab import Lab


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """Task 1 waits for a person, task 2 is blocked, task 3 is yet to be begun."""
    made = Lab.make(tmp_path_factory.mktemp("web") / "lab", extra="approval: required\n")
    for title in ("Add division", "Add a root", "Add a power"):
        made.add(title)
    made.burnish("run", "1", code=1)
    made.agent("judge", 'print(verdict("changes_requested", "not yet", [flaw]))')
    made.burnish("edit", "2", "--max-cycles", "1")
    made.burnish("run", "2", code=1)
    return made


@pytest.fixture
def server(lab: Lab, hermetic: object) -> Iterator[AtHand]:
    with at_hand(lab) as opened:
        yield opened
