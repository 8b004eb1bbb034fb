from __future__ import annotations

import re
from pathlib import Path

from burnish.core.event import TYPES
from burnish.store.projections import PROJECTIONS
from tools.events_page import GROUPS, events_page

PAGE = Path(__file__).parents[2] / "docs" / "events.md"


def test_the_page_on_events_names_every_type_and_no_other() -> None:
    groups = {kind.split(".")[0] for kind in TYPES}
    named = set(re.findall(rf"`((?:{'|'.join(sorted(groups))})\.[a-z_]+)`", PAGE.read_text("utf-8")))
    assert named == set(TYPES)


def test_the_page_on_events_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == events_page(), "run: .venv/bin/python -m tools.events_page > docs/events.md"


def test_the_page_on_events_says_what_every_key_means() -> None:
    empty = [line for line in events_page().splitlines() if line.startswith("| `") and line.endswith("|  |")]
    assert empty == []


def test_every_type_of_event_is_in_one_group_of_the_page() -> None:
    assert all(sum(kind.startswith(prefixes) for prefixes in GROUPS.values()) == 1 for kind in TYPES)


def test_every_projection_is_of_a_known_type() -> None:
    assert set(PROJECTIONS) <= TYPES
