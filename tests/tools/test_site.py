"""`make docs`: every page is on the site, in the order of docs/README.md."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.site_hooks import navigation

ROOT = Path(__file__).parents[2]


def test_the_order_of_the_pages_is_that_of_the_index() -> None:
    index = "## First\n\n| [One](one.md) | a |\n| [How](../CONTRIBUTING.md) | b |\n## Second\n| [Two](two.md) | c |\n"
    first, second = navigation(index)[1:]
    assert first == {"First": [{"One": "one.md"}, {"How": "contributing.md"}]}
    assert second == {"Second": [{"Two": "two.md"}]}


@pytest.mark.slow
def test_the_site_has_every_page_and_loads_nothing_from_other_servers(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    env = {"NO_MKDOCS_2_WARNING": "1", "HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    pages = {page.stem for page in (tmp_path / "site").glob("*.html")}
    wanted = {page.stem for page in (ROOT / "docs").glob("*.md")} - {"README"}
    assert wanted | {"index", "contributing", "changelog"} <= pages
    for page in (tmp_path / "site").glob("*.html"):
        loads = re.findall(
            r'<(?:script|img|iframe)[^>]* src="(https?:[^"]*)"|<link[^>]* href="(https?:[^"]*)"', page.read_text()
        )
        assert not loads, page.name
    words = json.loads((tmp_path / "site" / "search" / "search_index.json").read_text())["docs"]
    assert any("usage limit" in entry["text"] for entry in words)
