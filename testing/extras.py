"""Tests of what an extra brings: left out where it is not installed, except where all must be there."""

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest


def needs_extra(extra: str, module: str) -> pytest.MarkDecorator:
    """A mark for tests that need `pip install 'burnish[extra]'`. With CI=true they run, and fail without it."""
    missing = find_spec(module) is None and os.environ.get("CI") != "true"
    return pytest.mark.skipif(missing, reason=f"{module} is missing: pip install 'burnish[{extra}]'")
