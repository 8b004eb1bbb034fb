"""The name of the user whose process this is, as records and locks have it."""

from __future__ import annotations

import getpass
import os


def login_name() -> str:
    """The name of the user; their number if nothing names them (an arbitrary uid in a container, without `USER`)."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
