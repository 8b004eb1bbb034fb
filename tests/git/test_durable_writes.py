from __future__ import annotations

import os
from pathlib import Path

import pytest

from burnish.git.files import write_whole


@pytest.mark.parametrize(("setting", "synced"), [(None, True), ("1", False), ("0", True)])
def test_files_are_synced_unless_the_variable_for_tests_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str | None, synced: bool
) -> None:
    synced_files: list[int] = []
    monkeypatch.setattr(os, "fsync", synced_files.append)
    monkeypatch.delenv("BURNISH_NO_SYNC")
    if setting is not None:
        monkeypatch.setenv("BURNISH_NO_SYNC", setting)
    write_whole(tmp_path / "file", b"content")
    assert bool(synced_files) is synced
