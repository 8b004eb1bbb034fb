"""Lines that were changed, and where the others have moved, checked against difflib and a plain replay."""

from __future__ import annotations

import difflib
import re

from hypothesis import given
from hypothesis import strategies as st

from burnish.core.change import Change, ChangedFile, Hunk

LINES = st.lists(st.sampled_from(["a", "b", "c", "d", "- x", "+ y", ""]), max_size=14)


def changed(old: list[str], new: list[str], *, around: int = 1) -> ChangedFile:
    """The file as git would show it."""
    diff = list(difflib.unified_diff(old, new, n=around, lineterm=""))[2:]
    hunks: list[Hunk] = []
    for line in diff:
        head = re.fullmatch(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", line)
        if head:
            a, b, c, d = (int(x) if x is not None else 1 for x in head.groups())
            hunks.append(Hunk(a, b, c, d, line + "\n"))
        else:
            last = hunks[-1]
            hunks[-1] = Hunk(last.old_start, last.old_lines, last.new_start, last.new_lines, last.text + line + "\n")
    return ChangedFile("f.py", "M", hunks=tuple(hunks))


@given(LINES, LINES, st.integers(0, 3))
def test_a_line_that_stays_is_found_where_it_now_stands(old: list[str], new: list[str], around: int) -> None:
    file = changed(old, new, around=around)
    for number, text in enumerate(old, 1):
        there = file.map_line(number)
        if there is not None:
            assert new[there - 1] == text


@given(LINES, LINES, st.integers(0, 3))
def test_every_old_line_is_kept_once_or_deleted_and_the_rest_is_new(
    old: list[str], new: list[str], around: int
) -> None:
    file = changed(old, new, around=around)
    kept = [there for n in range(1, len(old) + 1) if (there := file.map_line(n)) is not None]
    assert kept == sorted(set(kept))
    assert file.changed_lines() == set(range(1, len(new) + 1)) - set(kept)
    assert file.added == len(file.changed_lines())
    assert file.removed == len(old) - len(kept)


def test_an_inserted_line_pushes_the_later_ones_down() -> None:
    file = changed(["one", "two", "three"], ["one", "new", "two", "three"], around=0)
    assert [file.map_line(n) for n in (1, 2, 3)] == [1, 3, 4]
    assert file.changed_lines() == {2}


def test_a_line_far_below_every_hunk_moves_by_the_sum_of_them() -> None:
    old = [str(n) for n in range(100)]
    new = ["x", "y", *old[:50], *old[53:]]
    assert changed(old, new).map_line(90) == 89


def test_a_file_without_hunks_moves_nothing() -> None:
    file = ChangedFile("img.png", "M", binary=True)
    assert file.map_line(7) == 7 and file.changed_lines() == set() and file.added == file.removed == 0


def test_modes_tell_links_and_submodules_apart() -> None:
    assert ChangedFile("lib", "M", new_mode="160000").is_submodule
    assert ChangedFile("lib", "D", old_mode="160000", new_mode="000000").is_submodule
    assert ChangedFile("link", "T", new_mode="120000").is_symlink
    plain = ChangedFile("a.py", "M")
    assert not plain.is_submodule and not plain.is_symlink


def test_a_change_is_told_as_one_diff_and_finds_its_files() -> None:
    first = ChangedFile("a", "M", header="diff --git a/a b/a\n", hunks=(Hunk(1, 1, 1, 1, "@@ -1 +1 @@\n-x\n+y\n"),))
    second = ChangedFile("b", "D", header="diff --git a/b b/b\ndeleted file mode 100644\n")
    change = Change("t1", "t2", (first, second))
    assert change.paths == ("a", "b")
    assert change.file("b") is second and change.file("c") is None
    assert change.text() == first.header + "@@ -1 +1 @@\n-x\n+y\n" + second.header
