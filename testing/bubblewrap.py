"""Tests that need bubblewrap: left out where it cannot run, but never unnoticed in CI."""

from __future__ import annotations

import os

import pytest

from burnish.proc.sandbox import available


def needs_bubblewrap() -> None:
    why = available()
    if why and os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(f"These tests need bubblewrap, and CI must have it: {why}")
    if why:
        pytest.skip(f"needs bubblewrap: {why}")
