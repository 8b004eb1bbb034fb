"""A figure that grows says what to do, and a new entry of a registry is not growth."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tools.shape import ADVICE, LIMITS, CodeBase, Figure, complaint, modules_with_content, suspects

TREE = {
    "agents/registry.py": "from burnish.agents.parrot import ParrotAgent\n",
    "agents/parrot.py": "class ParrotAgent: ...\n",
    "cli/main.py": 'GROUPS = {"Look": {"ping": "burnish.cli.ping:ping"}}\n',
    "cli/ping.py": "def ping() -> None: ...\n",
    "checks/report_formats.py": "from burnish.checks.bell_text import BellReader\n",
    "checks/bell_text.py": "class BellReader: ...\n",
    "web/pages/__init__.py": "def routers():\n    from burnish.web.pages import about\n    return (about.router,)\n",
    "web/pages/about.py": "router = None\n",
    "core/helper.py": "x = 1\n",
}


def test_an_adapter_a_command_a_reader_and_a_page_do_not_count_as_further_modules(tmp_path: Path) -> None:
    for name, text in TREE.items():
        path = tmp_path / "burnish" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    names = {place.split()[1] for place in modules_with_content(CodeBase.read(tmp_path))}

    lists = {"agents.registry", "cli.main", "checks.report_formats", "web.pages"}
    assert names == {f"burnish.{name}" for name in (*lists, "core.helper")}


@pytest.mark.parametrize("key", tomllib.loads(LIMITS.read_text()))
def test_a_figure_that_grew_says_what_to_do(key: str) -> None:
    words = complaint(Figure(key, "a figure", 2, "0"), 1)

    assert ADVICE[key] in words and f"--list {key}" in words and "--record" in words


@pytest.mark.parametrize(
    "place",
    [
        "  12 burnish.views.ids",
        "src/burnish/views/ids.py:3 told",
        "views/ids.py:3 event.data.get(",
        "TaskIds: burnish.store.rows, burnish.views.ids",
    ],
)
def test_what_a_changed_file_adds_to_a_figure_is_named(place: str) -> None:
    other = ["   3 burnish.views.ids_page", "src/burnish/views/ids.pyi:3 told", "  40 burnish.core.task"]
    figure = Figure("modules", "a figure", 4, "0", [*other, place])

    assert suspects(figure, ["src/burnish/views/ids.py"]) == [place]
    assert f"in a changed file: {place.strip()}\n" in complaint(figure, 3, ["src/burnish/views/ids.py"])
