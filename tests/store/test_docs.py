from __future__ import annotations

import re
from pathlib import Path

from burnish.core.event import TYPES
from burnish.store.projections import PROJECTIONS

PAGE = Path(__file__).parents[2] / "docs" / "events.md"


def test_the_page_on_events_names_every_type_and_no_other() -> None:
    groups = {kind.split(".")[0] for kind in TYPES}
    named = set(re.findall(rf"`((?:{'|'.join(sorted(groups))})\.[a-z_]+)`", PAGE.read_text("utf-8")))
    assert named == set(TYPES)


def test_every_projection_is_of_a_known_type() -> None:
    assert set(PROJECTIONS) <= TYPES
