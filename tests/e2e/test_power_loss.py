"""Power is cut at every step boundary: what an event says is on the disk, and the next run ends as without the cut."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from testing.lab import Lab
from testing.power import cut_power, disk, sync_disk, why_no_disk
from tests.e2e.test_kill import CHECKS, assert_ended_well, failpoints

pytestmark = pytest.mark.skipif(bool(why_no_disk()), reason=why_no_disk() or "-")
MOMENTS = [f"{point}:{nth}" for point in failpoints() for nth in (1, 2)]
ONCE = {"run-started:2", "workspace-created:2"}


@pytest.fixture(autouse=True)
def synced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests do without syncing."""
    monkeypatch.delenv("BURNISH_NO_SYNC")
    monkeypatch.delenv("GIT_TEST_FSYNC")


def lose_power_at(root: Path, moment: str) -> list[str]:
    """The whole story with one cut; returns what is wrong after it."""
    place = root / "disk"
    with disk(root / "image", place):
        # what agents were paid for is remembered by the world outside
        (place / "lab").mkdir()
        (place / "lab" / "calls.jsonl").symlink_to(root / "calls.jsonl")
        lab = Lab.make(place / "lab", extra=CHECKS)
        lab.add()
        sync_disk(place)
        before = lab.repo.fingerprint()
        lab.apart("run", code=-signal.SIGKILL, BURNISH_FAILPOINT=moment)
        cut_power(root / "image", root / "cut")
    with disk(root / "cut", place):
        return list(_problems(lab, before))


def _problems(lab: Lab, before: object) -> Iterator[str]:
    for command in (("log", "--all", "--oneline"), ("fsck", "--strict"), ("gc", "-q")):
        argv = ["git", "-C", str(lab.repo.path), *command]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode or "error" in done.stderr or "fatal" in done.stderr:
            yield f"git {command[0]}: {done.stderr.strip()[-200:]}"
    said = lab.apart("run", code=None)
    if said.code:
        yield f"run: {said.code} {said.err[-300:]} {said.out[-300:]}"
        return
    try:
        assert_ended_well(lab, extra_starts=4)
        assert lab.repo.fingerprint() == before
    except AssertionError as error:
        yield f"end: {str(error)[:300]}"


@pytest.mark.attacks("loss of power at a failpoint")
@pytest.mark.parametrize("moment", [one for one in MOMENTS if one not in ONCE])
def test_after_a_loss_of_power_the_user_s_git_works_and_nothing_is_paid_twice(tmp_path: Path, moment: str) -> None:
    assert lose_power_at(tmp_path, moment) == []
