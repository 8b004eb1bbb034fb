"""`import burnish`: the examples of the page work, and the commands do not load it."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

import burnish
from testing.lab import Lab

ROOT = Path(__file__).parents[2]
EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "library.md").read_text("utf-8"), re.S)


@pytest.mark.slow
def test_every_example_of_the_page_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lab = Lab.make(tmp_path, extra="hitl_review: final\n")
    monkeypatch.chdir(lab.repo.path)
    outputs = []
    with mock.patch.dict(os.environ, lab.env):
        for text in EXAMPLES:
            exec(compile(text, "docs/library.md", "exec"), {})
            outputs.append(capsys.readouterr().out)
        with burnish.open_project() as project:
            assert project.task(1).status == burnish.Status.VERIFIED
    assert outputs[0].startswith("1 waiting_approval ")
    assert outputs[1].endswith("passed\n") and "1 Add division waiting_approval" in outputs[2]
    assert "task.created" in outputs[2] and outputs[3] == ""


def test_mistakes_are_errors_that_say_what_to_do(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    with mock.patch.dict(os.environ, lab.env), burnish.open_project(lab.repo.path) as project:
        with pytest.raises(burnish.BurnishError, match="'poem' is not a type of task"):
            project.add("A", type="poem")
        task = project.add("A", checklist=["one"], tags=["x"])
        with pytest.raises(burnish.BurnishError, match="'perhaps' is not a decision"):
            project.decide(task.id, "perhaps")
        with pytest.raises(burnish.BurnishError):
            project.decide(task.id, "approve")
        assert project.events(task=task.id)
        with pytest.raises(burnish.BurnishError, match="no task 9"):
            project.events(task=9)
        with pytest.raises(burnish.BurnishError, match="no task 9"):
            project.findings(9)
        assert project.root == lab.repo.path and [one.id for one in project.tasks()] == [task.id]


@pytest.mark.parametrize("name", ["add", "run", "decide"])
def test_an_agent_cannot_use_it_in_its_phase(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Lab.make(tmp_path)
    lab.add()
    with mock.patch.dict(os.environ, lab.env), burnish.open_project(lab.repo.path) as project:
        calls = {
            "add": lambda: project.add("B"),
            "run": lambda: project.run(1),
            "decide": lambda: project.decide(1, "approve"),
        }
        monkeypatch.setenv("BURNISH_TASK", "1")
        with pytest.raises(burnish.BurnishError, match=r"(?i)inside|phase|agent"):
            calls[name]()


def test_the_types_name_what_the_module_offers() -> None:
    stub = ast.parse((ROOT / "src/burnish/__init__.pyi").read_text())
    names = {alias.asname for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert names | {"__version__"} == set(burnish.__all__)
    assert all(getattr(burnish, name) is not None for name in burnish.__all__)
    with pytest.raises(AttributeError):
        burnish.no_such_name  # type: ignore[attr-defined]  # noqa: B018


def test_importing_the_package_loads_nothing_else() -> None:
    code = "import sys, burnish; print(sorted(name for name in sys.modules if name.startswith('burnish')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['burnish']"
