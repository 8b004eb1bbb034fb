"""Which programs analysers are: not those of the repository, and not what a file of the change chooses."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.checks.test_scan import Site, tool


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_ruff_of_a_version_manager_starts_where_the_change_has_no_files(
    site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shim = tool(
        site.tools / "ruff",
        prints="[]",
        does=f"import os; open({str(tmp_path / 'cwd')!r}, 'a').write(os.getcwd() + ' ')",
    )
    elsewhere = SimpleNamespace(executable=str(tmp_path / "nowhere" / "python"))
    monkeypatch.setattr("burnish.checks.scanners.ruff.sys", elsewhere)
    monkeypatch.setitem(sys.modules, "ruff.__main__", None)
    site.change("a.py", "x = 1\n").change(".tool-versions", "ruff 0.0.1\n")

    site.review(own_settings=False)

    assert Path(f"{shim}.argv").exists()
    assert set((tmp_path / "cwd").read_text().split()) == {"/"}


def test_ruff_is_found_where_it_was_installed_without_an_environment(
    site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shim = tool(site.tools / "ruff", prints="[]")
    elsewhere = SimpleNamespace(executable=str(tmp_path / "nowhere" / "python"))
    monkeypatch.setattr("burnish.checks.scanners.ruff.sys", elsewhere)
    site.change("a.py", "def f():\n    return nothing\n")

    assert [rule for rule, _, _ in site.found(own_settings=False)] == ["F821"]
    assert not Path(f"{shim}.argv").exists()


@pytest.mark.parametrize(
    ("name", "path"), [("shellcheck", "a.sh"), ("node", "a.js"), ("gofmt", "a.go"), ("bash", "a.sh")]
)
def test_a_link_on_path_into_an_untrusted_checkout_is_not_started(site: Site, name: str, path: str) -> None:
    theirs = tool(site.checkout / "bin" / name, prints="{}")
    (site.tools / name).symlink_to(theirs)
    site.change(path, "#!/bin/bash\n" if path == "a.sh" else "package a\n" if path == "a.go" else "const a = 1\n")

    site.review(own_settings=False, executing=False)

    assert not Path(f"{theirs}.argv").exists()
