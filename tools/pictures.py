"""Open the board in Chromium and take the pictures of the README and of docs/tour.md.

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
# the last check leaves a screenshot, as a test in a browser would
GATE = """hitl_review: every
review: {agents: [judge]}
checks:
  test: python3 -m unittest -v
  extra:
    pages: {command: "python3 shoot.py", evidence: ["shots/*.png"]}
"""
SHOOT = """
import pathlib, struct, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
rows = b"".join(b"\\0" + b"".join(
    (b"\\xff\\xff\\xff" if 20 < x < 300 and 20 < y < 60 or 20 < x < 160 and 90 < y < 120 else b"\\x2f\\x6f\\xb5")
    for x in range(320)) for y in range(150))
head = struct.pack(">IIBBBBB", 320, 150, 8, 2, 0, 0, 0)
pathlib.Path("shots").mkdir(exist_ok=True)
pathlib.Path("shots/bill.png").write_bytes(b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", head)
    + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
"""
TEST = """
import unittest
class Bill(unittest.TestCase):
    def test_it_loads(self):
        import app
"""


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
        take_worked(root)


def take_worked(root: Path) -> None:
    """The pages of a task that was really worked on."""
    worked = Lab.make(root / "till", author=AUTHOR, judge=CRITIC, extra=GATE)
    worked.repo.commit({"shoot.py": SHOOT, "test_bill.py": TEST}, "checks")
    worked.add("Share a bill among people", "--accept", "refuse zero people", "-d", "Add `share(total, people)`.")
    output = worked.burnish("run", code=None)
    assert worked.task()["status"] == "waiting_approval", output
    with serving(worked) as served, browser() as opened, logged_in(opened, served, width=1440, height=860) as page:
        task = f"{served.url}/p/{served.project}/t/1"
        names = {"task.png": "changes", "tour-findings.png": "findings", "tour-checks.png": "checks"}
        for name, address in {
            **{name: f"{task}#{part}" for name, part in names.items()},
            "tour-inbox.png": f"{served.url}/inbox",
        }.items():
            # a page of its own, not only another tab of it
            page.goto("about:blank")
            page.goto(address)
            _save(page, name)


def _take(lab: Lab, name: str, go: Callable[[Page, Served], object]) -> None:
    with serving(lab) as served, browser() as opened, logged_in(opened, served, width=1440, height=860) as page:
        go(page, served)
        _save(page, name)


def _save(page: Page, name: str) -> None:
    page.wait_for_timeout(2500)
    page.screenshot(path=DOCS / name)
    print(f"docs/{name}: {(DOCS / name).stat().st_size // 1024} kB")


if __name__ == "__main__":
    main()
