"""A home that was copied back from a backup: its folders are new ones, and no task is stuck because of that."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest

from testing.lab import Lab
from tests.e2e.test_kill import CHECKS, assert_ended_well


def restore_home(lab: Lab) -> None:
    home = Path(lab.env["BURNISH_HOME"])
    copy = home.with_name("backup")
    shutil.copytree(home, copy, symlinks=True)
    shutil.rmtree(home)
    copy.rename(home)


@pytest.fixture
def cut(tmp_path: Path) -> Lab:
    lab = Lab.make(tmp_path, extra=CHECKS)
    lab.add()
    return lab


@pytest.mark.representatives(1)
@pytest.mark.parametrize("moment", ["work-started", "work-replied", "work-committed", "review-started", "decided"])
def test_a_task_that_was_cut_goes_on_and_says_where_the_old_workspace_is(cut: Lab, moment: str) -> None:
    cut.apart("run", code=-signal.SIGKILL, BURNISH_FAILPOINT=moment)
    restore_home(cut)
    said = cut.apart("run")
    task = cut.show(1)
    assert (task["status"], task["cycle"]) == ("verified", 2), said
    (event,) = cut.events("phase.rescued")
    aside = Path(event["data"]["folder"])
    assert aside.is_dir() and str(aside) in said.out + said.err
    if moment != "work-replied":  # its files were in the workspace alone: the phase is done again
        assert_ended_well(cut, extra_starts=1)
    assert ("# BUG" in (aside / "app.py").read_text()) is (moment != "work-started")


@pytest.mark.long
@pytest.mark.parametrize(
    "command",
    [["retry", "1", "--restart", "--later"], ["clean", "--all-completed"], ["cancel", "1"], ["rm", "1"]],
)
def test_no_command_refuses_a_workspace_that_was_restored(cut: Lab, command: list[str]) -> None:
    cut.apart("run", code=-signal.SIGKILL, BURNISH_FAILPOINT="work-replied")
    if command[0] in ("retry", "clean"):
        cut.apart("cancel", "1")
    restore_home(cut)
    cut.apart(*command)
    files = [path.read_text() for path in Path(cut.env["BURNISH_HOME"]).rglob("*/app.py")]
    files += [cut.text(ref, "app.py") for ref in cut.refs("refs/burnish/rescue/")]
    assert any("# BUG" in text for text in files), "what was not committed is still there"
