"""All text of a renamed file is part of its change."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from burnish.git.differences import Differences
from testing.gitworld import GitWorld
from testing.userrepo import UserRepo

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
