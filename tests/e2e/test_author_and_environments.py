"""Environment folders of the checkout, as an author sees them: what it writes there never reaches the user."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.bubblewrap import needs_bubblewrap
from testing.lab import Lab

WRITE = """
for place in ("node_modules", "a,b/node_modules"):
    try:
        pathlib.Path(CHECKOUT, place, "pkg.js").write_text("changed")
    except OSError:
        pass
pathlib.Path("app.py").write_text("done\\n")
"""
JUDGE = 'print(verdict("approved", "good", inspected=["app.py"]))'


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("test", ["null", "'cat node_modules/pkg.js a,b/node_modules/pkg.js'"])
def test_a_folder_that_no_overlay_can_hold_is_read_only_and_checks_still_run(tmp_path: Path, test: str) -> None:
    """A comma separates the options of an overlay, so the second folder cannot be the layer of one."""
    needs_bubblewrap()
    lab = Lab.make(tmp_path, judge=JUDGE, extra=f"checks: {{test: {test}, lint: null}}\n", confined=True)
    lab.agent("robot", WRITE.replace("CHECKOUT", repr(str(lab.repo.path))))
    lab.repo.commit({"package.json": "{}", "a,b/package.json": "{}", ".gitignore": "node_modules\n"}, "packages")
    own = [lab.repo.path / name / "pkg.js" for name in ("node_modules", "a,b/node_modules")]
    for path in own:
        path.parent.mkdir(parents=True)
        path.write_text("installed")
    lab.add()
    lab.burnish("run", code=None)
    assert [path.read_text() for path in own] == ["installed", "installed"]
    assert lab.task()["status"] == "verified"
