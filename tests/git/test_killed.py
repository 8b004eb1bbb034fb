"""kill -9 at any moment: what was committed stays, what lay there is rescued, and it goes on."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from burnish.git import checkout
from testing.gitworld import GitWorld, commit

WORKER = """
import sys
from pathlib import Path
from testing.gitworld import GitWorld, commit
from testing.userrepo import UserRepo
world = GitWorld.make(UserRepo(Path(sys.argv[1])), Path(sys.argv[2]))
workspace = world.workspace(create=False)
print("ready", flush=True)
for step in range(10_000):
    head = workspace.head()
    if head is None:
        workspace.create(world.base)
    else:
        workspace.reset_to(head.sha, base=world.base)
    (workspace.path / f"step{step % 3}").write_text(f"{sys.argv[3]} {step}\\n")
    (workspace.path / f"junk{step}").write_text("junk")
    (workspace.path / f"junk{step}").unlink()
    print(commit(workspace).sha, flush=True)
"""


@pytest.mark.representatives(2)
@pytest.mark.parametrize("delay", [0.0, 0.02, 0.05, 0.09, 0.14, 0.2, 0.5, 0.9])
def test_killed_anywhere_it_goes_on(world: GitWorld, delay: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("burnish.git.checkout.LOCK_SECONDS", 0.3)
    before = world.repo.fingerprint()
    argv = [sys.executable, "-c", WORKER, str(world.repo.path), str(world.home), str(delay)]
    root = Path(__file__).parents[2]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=root) as worker:
        assert worker.stdout is not None
        worker.stdout.readline()
        time.sleep(delay)
        assert worker.poll() is None, "it ended by itself, and nothing was cut"
        worker.kill()
        said = [line for line in worker.stdout.read().decode().split("\n")[:-1] if len(line) == 40]

    workspace = world.workspace(create=False)
    head = workspace.head()
    if head is None:
        workspace.create(world.base)
    else:
        workspace.reset_to(head.sha, base=world.base)
    assert not workspace.is_dirty()
    (workspace.path / "after").write_text("it goes on\n")
    commit(workspace)

    log = world.repo.git("rev-list", "--reverse", f"main..{workspace.branch}").split()
    assert log[: len(said)] == said
    world.repo.git("fsck", "--strict", "--no-dangling")
    assert world.repo.fingerprint() == before
    assert not list(workspace.path.parent.glob(".aside-*"))


def test_a_lock_that_an_orphan_takes_after_the_wait_is_waited_for(
    world: GitWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("burnish.git.checkout.LOCK_SECONDS", 0.3)
    workspace, waits = world.workspace(), list[Path]()
    wait = checkout._wait_for_lock

    def wait_and_let_the_orphan_begin(index: Path) -> None:
        wait(index)
        if not waits:
            index.with_name(index.name + ".lock").touch()
        waits.append(index)

    monkeypatch.setattr(checkout, "_wait_for_lock", wait_and_let_the_orphan_begin)
    workspace.reset_to(world.base.commit, base=world.base)
    assert len(waits) == 2 and not workspace.is_dirty()
