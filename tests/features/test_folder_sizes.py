"""Sizes of folders, measured for a limited time."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from burnish.features.clean import automatic
from burnish.features.clean.automatic import total_size

SOON = 60.0


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in ("a", "b", "c"):
        (tmp_path / "place" / name).mkdir(parents=True)
        (tmp_path / "place" / name / "file").write_bytes(b"x" * 100_000)
    return tmp_path / "place"


def test_all_folders_count_and_those_that_are_gone_do_not(place: Path, tmp_path: Path) -> None:
    memory = tmp_path / "sizes.json"
    whole = total_size([place, tmp_path / "missing"], memory, time.monotonic() + SOON)
    assert whole >= 300_000
    (place / "a" / "file").unlink()
    (place / "a").rmdir()
    assert total_size([place], memory, time.monotonic() + SOON) <= whole * 2 / 3


def test_without_time_the_remembered_sizes_count(place: Path, tmp_path: Path) -> None:
    memory = tmp_path / "sizes.json"
    assert total_size([place], memory, time.monotonic() - 1) == 0
    whole = total_size([place], memory, time.monotonic() + SOON)
    assert total_size([place], memory, time.monotonic() - 1) == whole
    memory.write_text("torn")
    assert total_size([place], memory, time.monotonic() - 1) == 0


def test_each_time_it_goes_on_with_what_was_measured_longest_ago(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[str] = []

    def measure_one(folder: Path, *, deadline: float) -> int:
        measured.append(folder.name)
        monkeypatch.setattr(time, "monotonic", lambda: deadline + 1)
        return 1

    real = time.monotonic
    monkeypatch.setattr(automatic, "disk_usage", measure_one)
    for _ in range(4):
        monkeypatch.setattr(time, "monotonic", real)
        total_size([place], tmp_path / "sizes.json", real() + SOON)
    assert sorted(measured[:3]) == ["a", "b", "c"]
    assert measured[3] == measured[0]
