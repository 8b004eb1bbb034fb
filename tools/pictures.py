"""Open the board in Chromium and take docs/board.png and docs/task.png.

    .venv/bin/python -m tools.pictures

The board shows tasks made up for it; the task was really worked on, rejected by its reviewer and waits at the gate.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.proc.identity import hold
from testing.boards import open_store, varied
from testing.browser import browser, logged_in
from testing.lab import CRITIC, Lab
from testing.serving import Served, serving

if TYPE_CHECKING:
    from playwright.sync_api import Page

DOCS = Path(__file__).resolve().parents[1] / "docs"
AUTHOR = """
app.write_text(app.read_text() + '''

def share(total, people):
    \"\"\"What each of them pays.\"\"\"
    # BUG
    return total / people
''')
print("Added share().")
"""
GATE = "hitl_review: every\nreview: {agents: [judge]}\n"


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        os.environ["HOME"] = str(root)
        made_up = Lab.make(root / "shop")
        store, key = open_store(made_up)
        with hold(Path(made_up.env["BURNISH_HOME"]) / "locks") as lock:
            varied(store, key, lock.runner.uuid)
            _take(made_up, "board.png", lambda page, served: page.goto(f"{served.url}/p/{key}"))
        store.close()
        worked = Lab.make(root / "till", author=AUTHOR, judge=CRITIC, extra=GATE)
        worked.add("Share a bill among people", "--accept", "refuse zero people", "-d", "Add `share(total, people)`.")
        worked.burnish("run", code=None)
        _take(worked, "task.png", lambda page, served: page.goto(f"{served.url}/p/{served.project}/t/1#changes"))


def _take(lab: Lab, name: str, go: Callable[[Page, Served], object]) -> None:
    with serving(lab) as served, browser() as opened, logged_in(opened, served, width=1440, height=860) as page:
        go(page, served)
        page.wait_for_timeout(2500)
        page.screenshot(path=DOCS / name)
    print(f"docs/{name}: {(DOCS / name).stat().st_size // 1024} kB")


if __name__ == "__main__":
    main()
