"""All text of a renamed file is part of its change."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from burnish.core.change import ChangedFile
from burnish.git.differences import Differences
from testing.gitworld import GitWorld
from testing.userrepo import UserRepo

PNG = "\x89PNG\r\n\x1a\n" + "\0" * 200
LINES = [f"line {number}" for number in range(1, 61)]


def without(*numbers: int) -> list[str]:
    return [line for number, line in enumerate(LINES, 1) if number not in numbers]


@pytest.mark.parametrize(
    "new",
    [
        LINES,
        ["first", *LINES],
        [*LINES, "last"],
        without(1),
        without(60),
        without(30),
        without(2, 20, 21, 22, 59),
        [*LINES[:10], "inserted", *LINES[10:40], "another", *LINES[41:]],
        ["x", *LINES[1:], ""],
    ],
)
@pytest.mark.parametrize("ends", ["\n", ""])
def test_hunks_and_unchanged_lines_have_the_whole_file_in_order(
    user_repo: UserRepo, hermetic: Path, new: list[str], ends: str
) -> None:
    old_text, new_text = "\n".join(LINES) + ends, "\n".join(new) + ends
    base = user_repo.commit({"docs/a.txt": old_text}, "before")
    subprocess.run(["git", "mv", "docs", "moved"], cwd=user_repo.path, check=True)
    tip = user_repo.commit({"moved/a.txt": new_text}, "after")
    world = GitWorld.make(user_repo, hermetic / "burnish")
    (file,) = Differences(world.project, "refs/heads/main").between(base, tip).files
    assert file.status == "R"
    shown = [line for hunk in file.all_hunks for line in hunk.text.split("\n")[1:]]
    assert [line[1:] for line in shown if line.startswith((" ", "+"))] == new_text.removesuffix("\n").split("\n")
    place = 1
    for hunk in file.all_hunks:
        assert hunk.new_start == place
        place += hunk.new_lines
    assert not any(line.startswith(("+", "-")) for hunk in file.unchanged_hunks for line in hunk.text.split("\n")[1:])


def test_a_file_that_moves_below_its_top_folder_is_one_line_and_its_edits(user_repo: UserRepo, hermetic: Path) -> None:
    text = "\n".join(LINES) + "\n"
    names = ("moved.txt", "edited.txt", "picture.png")
    base = user_repo.commit({f"src/a/{name}": text + name for name in names[:2]} | {"src/a/picture.png": PNG}, "before")
    subprocess.run(["git", "mv", "src/a", "src/b"], cwd=user_repo.path, check=True)
    tip = user_repo.commit({"src/b/edited.txt": text + "edited.txt\nlast\n"}, "after")
    world = GitWorld.make(user_repo, hermetic / "burnish")
    edited, moved, picture = Differences(world.project, "refs/heads/main").between(base, tip).files
    assert {file.status for file in (edited, moved, picture)} == {"R"}
    assert edited.added == 2 and edited.all_hunks == edited.hunks
    assert not moved.all_hunks and not picture.all_hunks and picture.hidden is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("src/a.py", "src/b.py"),
        ("src/a.py", "lib/a.py"),
        ("src/a.py", "a.py"),
        ("a.py", "src/a.py"),
        (".github/a/x.yml", ".github/workflows/x.yml"),
        ("src/a/x.yml", "src/.a/x.yml"),
    ],
)
def test_another_name_top_folder_or_hidden_folder_is_another_place(old: str, new: str) -> None:
    assert ChangedFile(new, "R", old).gets_other_place
    assert not ChangedFile("src/b/x.py", "R", "src/a/x.py").gets_other_place
