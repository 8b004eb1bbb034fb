"""Looking works on a read-only home, with a full disk and with a locked database; errors name the cause."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from testing.lab import Lab, Said
from testing.small_disk import fill, make_read_only, small_disk, why_no_mount

READING = (
    ("status",),
    ("list",),
    ("show", "1"),
    ("inbox",),
    ("diff", "1"),
    ("log", "1"),
    ("findings", "1"),
    ("events",),
    ("stats",),
    ("path", "1"),
)
LOCK = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute(f"PRAGMA locking_mode = {sys.argv[2]}")
db.execute("BEGIN EXCLUSIVE")
db.execute("UPDATE projects SET key = key")
print("locked", flush=True)
sys.stdin.read()
"""
needs_mount = pytest.mark.skipif(bool(why_no_mount()), reason=why_no_mount())


def made(root: Path, home: Path) -> Lab:
    """One task verified and one to do; in processes of their own, so that none keeps files of the home open."""
    lab = Lab.make(root)
    lab.env["BURNISH_HOME"] = str(home)
    lab.apart("trust")
    lab.apart("add", "Add division")
    lab.apart("run")
    lab.apart("add", "Add more")
    return lab


def read_all(lab: Lab) -> dict[tuple[str, ...], str]:
    return {words: lab.burnish(*words).out for words in READING}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk") as place:
        yield place


@pytest.mark.slow
@needs_mount
def test_a_read_only_home_can_be_read(tmp_path: Path, disk: Path) -> None:
    lab = made(tmp_path, disk / "home")
    make_read_only(disk)
    shown = read_all(lab)
    assert all(shown.values()) and "verified" in shown["status",] and "+def div_1" in shown["diff", "1"]
    assert "note: read-only." in lab.burnish("status").err
    refused = lab.burnish("run", "2", code=None)
    assert refused.code == 3 and "do:" in refused.err, refused


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_home_without_the_right_to_write_can_be_read(tmp_path: Path) -> None:
    home = tmp_path / "home-of-burnish"
    lab = made(tmp_path, home)
    subprocess.run(["chmod", "-R", "a-w", str(home)], check=True)
    try:
        assert all(read_all(lab).values())
    finally:
        subprocess.run(["chmod", "-R", "u+w", str(home)], check=True)


@pytest.mark.long
@needs_mount
def test_a_full_disk_can_be_read_and_a_run_goes_on_when_there_is_room(tmp_path: Path, disk: Path) -> None:
    lab = made(tmp_path, disk / "home")
    filling = fill(disk)
    assert all(read_all(lab).values())
    assert "The disk is full" in lab.burnish("status").err
    refused = lab.apart("run", "2", code=None)
    assert refused.code == 3 and "disk is full" in refused.err, refused
    filling.unlink()
    lab.apart("run", "2")
    assert lab.task(2)["status"] == "verified"
    assert max(lab.paid().values()) == 1


@pytest.mark.long
@needs_mount
def test_a_disk_that_fills_up_during_a_run_is_named_and_the_run_goes_on_later(tmp_path: Path, disk: Path) -> None:
    lab = made(tmp_path, disk / "home")
    lab.agent("robot", f"open({str(disk / 'filling')!r}, 'w').close()\n{FILLING}")
    refused = lab.apart("run", "2", code=None)
    assert refused.code == 3, refused
    task = lab.task(2)
    assert task["error"] in ("DISK_FULL", None), (task, refused)
    assert "disk is full" in (refused.err + lab.burnish("show", "2").out).lower() or "no room" in refused.err.lower()
    (disk / "filling").unlink()
    lab.agent("robot", "app.write_text(app.read_text() + 'more = 1\\n')")
    said = lab.apart("run" if task["error"] is None else "retry", "2")
    assert lab.task(2)["status"] == "verified", said


FILLING = """
import os
app.write_text(app.read_text() + "# more\\n")
with open(os.environ.get("FILLING") or LOG.rpartition("/")[0] + "/disk/filling", "ab", buffering=0) as file:
    for size in (1 << 20, 4096, 1):
        try:
            while file.write(b"x" * size) == size: pass
        except OSError: pass
"""


def locked(lab: Lab, mode: str) -> subprocess.Popen[str]:
    database = Path(lab.env["BURNISH_HOME"]) / "burnish.db"
    argv = [sys.executable, "-c", LOCK, str(database), mode]
    holder = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout and holder.stdout.readline() == "locked\n"
    return holder


def assert_shown_as_void(lab: Lab) -> None:
    """Nothing was written: the home has the approval still."""
    (task,) = [one for one in lab.burnish("status", "--json").json["tasks"] if one["id"] == "1"]
    assert (task["status"], task["reason"]) == ("blocked", "branch_gone")
    assert "verified" not in lab.burnish("status").out
    for more in ((), ("--all",)):
        (entry,) = lab.burnish("inbox", "--json", *more).json["inbox"]
        assert entry["kind"] == "blocked" and "burnish retry 1" in entry["why"]


@pytest.mark.long
@needs_mount
def test_a_read_only_home_shows_no_approval_of_a_branch_that_is_gone(tmp_path: Path, disk: Path) -> None:
    lab = made(tmp_path, disk / "home")
    make_read_only(disk)
    lab.repo.git("branch", "-D", "burnish/1-add-division")
    assert_shown_as_void(lab)


@pytest.mark.long
@pytest.mark.parametrize("mode", ["NORMAL", "EXCLUSIVE"])
def test_a_locked_database_shows_no_approval_of_a_branch_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr("burnish.store.sqlite.READER_BUSY_SECONDS", 0.1)
    lab = made(tmp_path, tmp_path / "home-of-burnish")
    commit = lab.repo.git("rev-parse", "burnish/1-add-division")
    lab.repo.git("branch", "-D", "burnish/1-add-division")
    home = Path(lab.env["BURNISH_HOME"])
    files = {path: path.read_bytes() for path in home.glob("projects/*/tasks/1-*/artifacts/*") if path.is_file()}
    with locked(lab, mode) as holder:
        assert_shown_as_void(lab)
        holder.communicate("")
    assert files and {path: path.read_bytes() for path in files} == files
    lab.repo.git("branch", "burnish/1-add-division", commit)
    assert lab.task(1)["status"] == "verified" and lab.events("approval.voided") == []


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("mode", ["NORMAL", "EXCLUSIVE"])
def test_a_locked_database_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    monkeypatch.setattr("burnish.store.sqlite.READER_BUSY_SECONDS", 0.1)
    monkeypatch.setattr("burnish.store.sqlite.BUSY_SECONDS", 0.2)
    lab = made(tmp_path, tmp_path / "home-of-burnish")
    before = lab.apart("show", "1", "--json").out
    with locked(lab, mode) as holder:
        assert all(read_all(lab).values())
        assert lab.burnish("show", "1", "--json").out == before
        refused: Said = lab.burnish("add", "One more", code=3)
        assert "locked" in refused.err
        holder.communicate("")
