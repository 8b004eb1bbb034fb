"""Which folders of downloaded packages a sandbox shows."""

from __future__ import annotations

from pathlib import Path

from burnish.proc.program_files import package_caches


def test_a_cache_that_is_a_link_to_secrets_or_out_of_the_home_is_not_shown(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for name in (".ssh", ".m2/repository", ".cargo", "go/pkg"):
        (home / name).mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (home / ".cargo" / "registry").symlink_to(home / ".ssh")
    (home / "go" / "pkg" / "mod").symlink_to(tmp_path / "elsewhere")
    assert package_caches(home, {}) == [(home / ".m2" / "repository").resolve()]


def test_a_variable_names_another_place_in_the_home(tmp_path: Path) -> None:
    cache = tmp_path / "modules"
    cache.mkdir()
    assert package_caches(tmp_path, {"GOMODCACHE": str(cache)}) == [cache.resolve()]
    assert package_caches(tmp_path, {"GOMODCACHE": "relative"}) == []
