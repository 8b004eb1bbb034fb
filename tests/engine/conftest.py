"""Laboratories for the engine's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.lab import Lab


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """Plants a defect, finds it, fixes it, approves."""
    return Lab.make(tmp_path)
