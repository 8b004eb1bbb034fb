"""The folder of a call is writable for its agent: what burnish reads or changes there afterwards must be harmless."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from testing.bubblewrap import needs_bubblewrap
from testing.lab import APPROVE, AUTHOR, Lab

# In a sandbox the folder is known by the mounts in it.
MOUNTED = """[
    line.split()[4][:-7] for line in open("/proc/self/mountinfo") if line.split()[4].endswith("/stdout")
][0]"""
FOLDER = """
folder = PLACE
def attempt(action, *arguments):
    try:
        action(*arguments)
    except OSError as error:
        print(error)
"""
REPLACE = (
    FOLDER
    + """
for name in ("prompt.md", "agent", "command"):
    attempt(os.unlink, f"{folder}/{name}")
    attempt(ACTION, f"{folder}/{name}")
attempt(ACTION, f"{folder}-outcome.json")
"""
)
WORK = AUTHOR.replace("  # BUG", " if b else None")
ACTIONS = {
    "pipe": "os.mkfifo",
    "endless device": 'lambda path: os.symlink("/dev/zero", path)',
    "private file": "lambda path: os.symlink(SECRET, path)",
    "huge file with a hole": 'lambda path: os.truncate(open(path + ".part", "w").name, 1 << 43)',
}


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.timeout(120)
@pytest.mark.attacks("replace what burnish reads in the folder of a call", 4)
@pytest.mark.parametrize("confined", [True, False])
@pytest.mark.parametrize("name", ACTIONS)
def test_what_an_agent_puts_into_the_folder_of_its_call_neither_holds_up_a_run_nor_is_followed(
    tmp_path: Path, name: str, confined: bool
) -> None:
    if confined:
        needs_bubblewrap()
    secret = tmp_path / "home" / "secret.txt"
    code = REPLACE.replace("ACTION", ACTIONS[name]).replace("SECRET", repr(str(secret)))
    place = MOUNTED if confined else f"next(pathlib.Path({str(tmp_path)!r}).glob('home/burnish/**/try-1'))"
    code = code.replace("PLACE", place)
    lab = Lab.make(tmp_path, author=code + WORK, judge=APPROVE, confined=confined)
    secret.write_text("CANARY")
    number = lab.add()
    lab.apart("run", number, timeout=60)
    assert lab.task(number)["status"] == "verified"
    assert "CANARY" not in lab.burnish("show", number, "--json").out + lab.burnish("events", "--json").out


@pytest.mark.attacks("change rights of a file outside through a layer", 1)
def test_an_author_cannot_change_the_rights_of_a_file_outside_through_the_layer_above_its_packages(
    tmp_path: Path,
) -> None:
    needs_bubblewrap()
    victim = tmp_path / "home" / "notes.txt"
    code = (
        FOLDER.replace("PLACE", MOUNTED)
        + f"""
import glob
def link(top):
    os.makedirs(top + "/work")
    os.symlink({str(victim)!r}, top + "/work/work")
parents = {{os.path.dirname(path) for path in glob.glob(os.path.dirname(folder) + "/**/upper", recursive=True)}}
for top in sorted(parents):
    attempt(os.rename, top, top + "-old")
    attempt(link, top)
"""
    )
    lab = Lab.make(tmp_path, author=code + WORK, judge=APPROVE, confined=True)
    (tmp_path / "home" / ".cargo" / "registry").mkdir(parents=True)
    victim.write_text("mine")
    victim.chmod(0o644)
    number = lab.add()
    lab.burnish("run", number)
    assert stat.S_IMODE(victim.stat().st_mode) == 0o644
    # nothing of the layer is left
    assert not [path for path in (tmp_path / "home" / "burnish").rglob("packages-*") if os.path.lexists(path)]


# The comment names a program that attaches files: its prompt is escaped, and written to a file of its own.
REPLACE_STDIN = (
    FOLDER.replace("PLACE", MOUNTED)
    + """
# gemini
ways = {"append": lambda path: open(path, "a"), "move": lambda path: os.rename(path, path + ".old"),
        "link": lambda path: (os.unlink(path), os.symlink("/etc/passwd", path))}
done = ["found"] if os.path.exists(f"{folder}/stdin") else []
for name, way in ways.items():
    try:
        way(f"{folder}/stdin")
        done.append(name)
    except OSError as error:
        print(error)
pathlib.Path(RESULT).write_text(" ".join(done))
print(verdict("approved", "good"))
"""
)


@pytest.mark.attacks("replace the escaped prompt in the folder of a call", 3)
def test_a_program_cannot_replace_the_escaped_prompt_that_it_is_given(tmp_path: Path) -> None:
    needs_bubblewrap()
    result = tmp_path / "result"
    judge = REPLACE_STDIN.replace("RESULT", repr(str(result)))
    lab = Lab.make(tmp_path, author=WORK + "app.write_text(app.read_text() + '# @x\\n')", judge=judge, confined=True)
    number = lab.add()
    lab.apart("run", number, timeout=60)
    assert result.read_text() == "found"
