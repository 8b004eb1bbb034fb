"""Whatever is wrong outside: one line what, one line what to do, the right exit code, nothing lost."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from testing.lab import APPROVE, AUTHOR, CRITIC, Lab, Said


def told(said: Said) -> str:
    """What and what to do, in two lines."""
    lines = said.err.strip().splitlines()
    assert len(lines) == 2 and lines[0].startswith("error: ") and lines[1].strip().startswith("do: "), said.err
    return said.err


@pytest.mark.representatives(2)
@pytest.mark.parametrize(
    ("words", "hears"),
    [
        (["show", "7"], "no task 7"),
        (["run", "7"], "no task 7"),
        (["retry", "7"], "no task 7"),
        (["cancel", "7"], "no task 7"),
        (["diff", "7"], "no task 7"),
        (["rm", "x7"], "not a task id"),
        (["add", "Task", "--depends-on", "7"], "no task 7"),
        (["add", " "], "title"),
        (["add", "Task", "--max-cycles", "0"], "max-cycles"),
        (["add", "Task", "-t", "improve", "--of", "9"], "no task 9"),
        (["run", "--all", "1"], "--all"),
        (["frobnicate"], "frobnicate"),
    ],
)
def test_unknown_ids_and_words_are_usage_errors(lab: Lab, words: list[str], hears: str) -> None:
    assert hears in told(lab.burnish(*words, code=2))
    assert lab.burnish("status", "--json").json == {"tasks": []}


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize(
    ("settings", "hears"),
    [
        ("reviw: {}\n", "review"),
        ("review: {max_cylces: 3}\n", "max_cycles"),
        ("review: {max_cycles: lots}\n", "max_cycles"),
        ("agent: nobody\n", "nobody"),
        ("review: {agents: [nobody]}\n", "nobody"),
        ("a: [\n", "burnish.yaml"),
    ],
)
def test_settings_that_cannot_be_meant_are_told_and_nothing_is_run(lab: Lab, settings: str, hears: str) -> None:
    lab.add()
    (lab.repo.path / "burnish.yaml").write_text(settings)
    lab.trust()
    said = lab.burnish("run", code=None)
    assert said.code in (2, 3) and hears in said.out + said.err, said
    assert lab.calls() == []
    lab.settle("")
    lab.burnish("run", "1")
    assert lab.task()["status"] == "verified"


@pytest.mark.slow
def test_a_repository_without_commits_is_told_so_and_works_after_the_first(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    text = (lab.repo.path / "burnish.yaml").read_text()
    empty = tmp_path / "empty"
    empty.mkdir()
    lab.repo = type(lab.repo)(empty)
    lab.repo.git("init", "-q", "-b", "main")
    (empty / "burnish.yaml").write_text(text)
    lab.trust()
    said = lab.burnish("add", "Task", code=None)
    if said.code == 0:
        said = lab.burnish("run", code=None)
    assert said.code in (2, 3) and "commit" in said.out + said.err, said
    lab.repo.commit({"app.py": "x = 1\n"})
    if not lab.burnish("status", "--json").json["tasks"]:
        lab.add()
    lab.burnish("run", "1")
    assert lab.task()["status"] == "verified"


def test_a_missing_agent_program_is_named_and_retry_works_once_it_is_there(lab: Lab) -> None:
    lab.add()
    text = lab.settings("")
    lab.commit_settings(text.replace(f"'{os.sys.executable}'", "no-such-agent", 1))  # type: ignore[attr-defined]
    said = lab.burnish("run", code=3)
    assert (lab.task()["status"], lab.task()["error"]) == ("failed", "AGENT_MISSING")
    assert "no-such-agent" in said.out + said.err
    lab.commit_settings(text)
    lab.burnish("retry", "1")
    assert lab.task()["status"] == "verified"


@pytest.mark.slow
def test_an_agent_that_hangs_is_ended_its_work_rescued_and_retry_works(tmp_path: Path) -> None:
    extra = "task_types: {implement: {timeout_minutes: 0.02}}\n"
    lab = Lab.make(tmp_path, author="app.write_text('half\\n')\ntime.sleep(60)", extra=extra)
    lab.add()
    lab.burnish("run", code=3)
    assert (lab.task()["status"], lab.task()["error"]) == ("failed", "TIMEOUT")
    assert lab.processes() == []
    assert lab.text("refs/burnish/rescue/1-1-implement") == "half"
    lab.settle("")
    lab.agent("robot", AUTHOR)
    lab.burnish("retry", "1")
    assert lab.task()["status"] == "verified"
    assert "refs/burnish/rescue/1-1-implement" in lab.calls()[1]["prompt"]


@pytest.mark.long
def test_an_agent_that_crashes_leaves_its_work_rescued(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author="app.write_text('half\\n')\nos.kill(os.getpid(), 11)")
    lab.add()
    lab.burnish("run", code=3)
    assert lab.task()["error"] == "AGENT_FAILED"
    assert lab.text("refs/burnish/rescue/1-1-implement") == "half"
    lab.agent("robot", AUTHOR)
    lab.burnish("retry", "1")
    assert lab.task()["status"] == "verified"


@pytest.mark.long
def test_two_hundred_megabytes_of_output_are_capped(tmp_path: Path) -> None:
    flood = "line = b'x' * 999_999 + b'\\n'\nfor _ in range(200): sys.stdout.buffer.write(line)\nsys.stdout.flush()\n"
    lab = Lab.make(
        tmp_path, author=f"if phase == 'implement':\n    {flood.replace(chr(10), chr(10) + '    ')}pass\n{AUTHOR}"
    )
    lab.commit_settings(lab.settings("output_cap_mb: 2\n"))
    lab.add()
    said = lab.apart("run", timeout=120)
    assert "verified" in said.out
    weight = sum(f.stat().st_size for f in (tmp_path / "home/burnish").rglob("*") if f.is_file())
    assert weight < 10_000_000


@pytest.mark.long
def test_output_that_is_not_utf8_is_no_trouble(tmp_path: Path) -> None:
    noise = "sys.stdout.buffer.write(b'\\xff\\xfe\\x80 caf\\xe9 \\x00\\n')\nsys.stdout.flush()\n"
    lab = Lab.make(tmp_path, author=noise + AUTHOR, judge=noise.replace("\\x00", "") + CRITIC)
    lab.add()
    lab.burnish("run")
    assert lab.task()["status"] == "verified"
    lab.burnish("log", "1")
    lab.burnish("show", "1")


@pytest.mark.long
def test_a_file_where_the_home_should_be_is_told(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "in-the-way").write_text("")
    for place in ("in-the-way", "in-the-way/burnish"):
        lab.env["BURNISH_HOME"] = str(tmp_path / place)
        for words in (["status"], ["add", "Task"], ["run"]):
            assert "in-the-way" in told(lab.burnish(*words, code=3))


def test_a_database_from_a_newer_burnish_is_left_alone(lab: Lab) -> None:
    lab.add()
    file = Path(lab.env["BURNISH_HOME"]) / "burnish.db"
    with sqlite3.connect(file) as db:
        db.execute("PRAGMA user_version = 9999")
        table = db.execute("SELECT name FROM sqlite_master WHERE name LIKE '%migration%'").fetchone()
        if table:
            columns = len(db.execute(f"PRAGMA table_info({table[0]})").fetchall())
            db.execute(f"INSERT INTO {table[0]} VALUES ({', '.join(['9999', *['9999'] * (columns - 1)])})")
    db.close()
    for words in (["status"], ["run"], ["add", "Task"]):
        assert "newer" in told(lab.burnish(*words, code=3))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(place)], capture_output=True)
    if mounted.returncode:
        pytest.skip("a small disk needs the right to mount one")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.representatives(1)
@pytest.mark.parametrize("left_kb", [0, 64, 300, 900])
def test_a_full_disk_fails_the_phase_cleanly_and_retry_works_after(
    tmp_path: Path, small_disk: Path, left_kb: int
) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE)
    lab.env["BURNISH_HOME"] = str(small_disk / "burnish")
    lab.trust()
    lab.add()
    ballast = small_disk / "ballast"
    fd = os.open(ballast, os.O_WRONLY | os.O_CREAT)
    with contextlib.suppress(OSError):
        while True:
            os.write(fd, b"x" * 4096)
    os.close(fd)
    os.truncate(ballast, max(0, ballast.stat().st_size - left_kb * 1024))
    if left_kb == 0:
        assert "full" in told(lab.burnish("add", "Another", "-d", "x" * 100_000, code=3))
    flood = f"sys.stdout.write('x' * {max(left_kb, 1) * 1024 + 4096})\nsys.stdout.flush()\n"
    lab.agent("robot", flood + AUTHOR)
    said = lab.burnish("run", code=3)
    assert "full" in said.out + said.err or "room" in said.out + said.err, said

    ballast.unlink()
    lab.agent("robot", AUTHOR)
    task = lab.task()
    assert task["status"] in ("backlog", "in_progress", "failed"), task
    lab.burnish("run", "1")
    assert lab.task()["status"] == "verified"


# Everything that is not a plain file, names that only bytes can spell, and a folder that git cannot enter.
ODD_FILES = r"""
import socket
os.makedirs("new")
for folder in (".", "new"):
    os.mkfifo(folder + "/pipe.py")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(folder + "/sock")
    for name in (b"new\nline.py", b"bad\xff.py", b"n" * 255, b"-rf", b":(top)x", b"cr\r.py"):
        pathlib.Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_text("x = 1\n")
os.symlink("pipe.py", "link.py")
root = os.getcwd()
for _ in range(30):
    os.mkdir("deep" * 50)
    os.chdir("deep" * 50)
pathlib.Path("f.py").write_text("x = 1\n")
os.chdir(root)
app.write_text(app.read_text() + "y = 1\n")
"""


@pytest.mark.slow
def test_odd_files_of_an_author_are_committed_or_named_and_nothing_hangs(tmp_path: Path) -> None:
    judge = "print(verdict('approved', 'good', inspected=prompt.split()))"
    lab = Lab.make(tmp_path, author=ODD_FILES, judge=judge)
    lab.add()
    lab.burnish("run")
    files = lab.repo.git("ls-tree", "-r", "--name-only", lab.task()["branch"]).splitlines()
    assert len(files) == 2 + 1 + 2 * 6 and not any("pipe" in name or "sock" in name for name in files)
    (cycle,) = lab.show(1)["cycles"]
    (warning,) = [words for words in cycle["warnings"] if "Left out" in words]
    assert "deepdeep" in warning and len(warning) < 1500
    for argv in (("diff", "1"), ("export", "1"), ("log", "1"), ("clean", "--dry-run"), ("done", "1")):
        lab.burnish(*argv)
