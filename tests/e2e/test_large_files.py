"""A file over `commit.max_file_mb` is refused before git has an object of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from testing.lab import APPROVE, Lab

BIG = """
if not pathlib.Path("data.bin").exists():
    pathlib.Path("data.bin").write_bytes(os.urandom(1 << 20) * 3)
    app.write_text("x = 1\\n")
else:
    pathlib.Path("data.bin").unlink()
print("done")
"""
LIMIT = "commit: {max_file_mb: 2}\n"


def objects(lab: Lab) -> int:
    """The largest object of the repository, in bytes."""
    listed = lab.repo.git("cat-file", "--batch-all-objects", "--batch-check=%(objectsize)")
    return max(int(size) for size in listed.split())


def test_a_large_file_blocks_the_task_and_never_comes_into_git(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=BIG, judge=APPROVE, extra=LIMIT)
    lab.add("Add data")
    lab.burnish("run", code=1)
    task = lab.task()
    assert (task["status"], task["reason"]) == ("blocked", "no_changes")
    entry = lab.burnish("inbox", "--json").json["inbox"][0]
    assert re.search(r"'data.bin' \(3 MB\) is larger than commit.max_file_mb \(2 MB\)", entry["why"])
    assert entry["command"] == "burnish retry 1"
    assert objects(lab) < 1 << 20
    # the work is kept, and the next attempt goes on with it
    lab.burnish("retry", "1")
    lab.burnish("run", "1", code=None)
    assert lab.task()["status"] == "verified" and objects(lab) < 1 << 20
    assert "data.bin" not in lab.repo.git("ls-tree", "-r", "--name-only", lab.task()["branch"])


@pytest.mark.long
def test_a_rescue_leaves_it_out_of_git_and_keeps_a_copy(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=BIG + "sys.exit(1)\n", judge=APPROVE, extra=LIMIT)
    lab.add("Add data")
    lab.burnish("run", code=3)
    assert objects(lab) < 1 << 20
    copies = list((tmp_path / "home").rglob(".withheld-*/data.bin"))
    assert len(copies) == 1 and copies[0].stat().st_size == 3 << 20


@pytest.mark.long
def test_a_commit_of_the_agents_own_does_not_bring_it_in(tmp_path: Path) -> None:
    author = BIG + (
        "import subprocess\n"
        "subprocess.run('git add -A && git -c user.name=a -c user.email=a@b commit -qm big', shell=True, check=True)\n"
        "pathlib.Path('data.bin').unlink()\n"
    )
    lab = Lab.make(tmp_path, author=author, judge=APPROVE, extra=LIMIT)
    lab.add("Add data")
    lab.burnish("run")
    assert lab.task()["status"] == "verified" and objects(lab) < 1 << 20
