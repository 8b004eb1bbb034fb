from __future__ import annotations

from burnish.core.gate import GateView
from burnish.core.review import UnseenFile
from burnish.core.status import Status
from burnish.core.task import Spec, Task
from burnish.tui.pages import gate_lines


def test_every_file_that_no_reviewer_saw_is_listed() -> None:
    files = tuple(UnseenFile(f"logo-{number}.png", "image") for number in range(26))
    task = Task(id=1, project="p", spec=Spec("Add pictures"), status=Status.WAITING_APPROVAL)
    view = GateView(task, 1, "c" * 40, "approved", "fine", "", unseen_files=files)
    shown = "\n".join(line.text.plain for line in gate_lines(view, stale=False))
    assert all(f"{file.path}: image" in shown for file in files)
