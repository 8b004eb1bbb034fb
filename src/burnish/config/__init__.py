"""Layered settings, read into one frozen `Config` that knows where each value came from."""

from __future__ import annotations

from burnish.config.loading import load
from burnish.user_settings import user_folder

__all__ = ["load", "user_folder"]
