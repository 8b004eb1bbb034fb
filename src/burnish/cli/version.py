"""burnish version"""

from __future__ import annotations

import platform

from burnish import __version__
from burnish.cli.output import say, say_json
from burnish.cli.session import AsJson


def version(as_json: AsJson = False) -> None:
    """Show the version of burnish and of the Python it runs on."""
    if as_json:
        say_json({"version": __version__, "python": platform.python_version(), "platform": platform.system()})
    else:
        say(f"burnish {__version__} (Python {platform.python_version()}, {platform.system()})")
