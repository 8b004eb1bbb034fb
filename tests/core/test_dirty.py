"""What stands in the way of handing a task over, and what does not."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.features.review.handoff import classify_uncommitted

MINE = "29-add-login"


@pytest.mark.parametrize(
    ("path", "blocks"),
    [
        ("src/app.py", True),
        ("new file.txt", True),
        ("burnish.yaml", True),
        (f".burnish/tasks/{MINE}/notes.md", True),
        (f".burnish/tasks/{MINE}", True),
        (".burnish/prompts/review.system.md", True),
        (".burnish/context/style.md", True),
        (f".burnish/tasks/{MINE}/review-cycle-1.md", False),
        (".burnish/tasks/30-other/notes.md", False),
        (f".burnish/tasks/{MINE}-again/notes.md", False),
        (".burnish/state.json", False),
        (".burnishing/app.py", True),
        ("src/.burnish/tasks/30-other/x", True),
    ],
)
def test_own_work_blocks_and_what_burnish_or_other_tasks_left_does_not(path: str, blocks: bool) -> None:
    ours = [f".burnish/tasks/{MINE}/review-cycle-1.md"]
    blocking, benign = classify_uncommitted([path], task_name=MINE, written_by_burnish=ours)
    assert (blocking, benign) == (([path], []) if blocks else ([], [path]))


@given(st.lists(st.text(min_size=1)))
def test_every_path_is_in_exactly_one_of_the_two_lists(paths: list[str]) -> None:
    blocking, benign = classify_uncommitted(paths, task_name=MINE)
    assert sorted(blocking + benign) == sorted(set(paths))


def test_a_hundred_paths_take_no_time() -> None:
    paths = [f".burnish/tasks/{n}-x/file.md" if n % 2 else f"src/deep/er/{n}.py" for n in range(100)]
    start = time.process_time()
    blocking, benign = classify_uncommitted(paths, task_name=MINE)
    assert time.process_time() - start < 0.2
    assert (len(blocking), len(benign)) == (50, 50)
