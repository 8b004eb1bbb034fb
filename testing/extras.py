"""Tests of an extra or of another program: left out where it is not installed, except where all must be there."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec

import pytest


def needs_extra(extra: str, module: str) -> pytest.MarkDecorator:
    """A mark for tests that need `pip install 'burnish[extra]'`. With CI=true they run, and fail without it."""
    missing = find_spec(module) is None and os.environ.get("CI") != "true"
    return pytest.mark.skipif(missing, reason=f"{module} is missing: pip install 'burnish[{extra}]'")


def require_program(name: str) -> None:
    """Skips the test if the program is not installed; fails it in CI."""
    if shutil.which(name) is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(f"{name} is not installed")
