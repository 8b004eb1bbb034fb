"""Starts a program of ours: `python -I module_starter.py [/PLACE…] MODULE [ARGUMENT…]`.

-I keeps out whatever a workspace or the environment could put in the place of a module of ours. It also keeps out where
`pip install --user` put us and what we need: such places are named, and come where they would have come anyway.
"""

from __future__ import annotations

import runpy
import site
import sys
from itertools import takewhile
from pathlib import Path


def widen(places: list[str]) -> None:
    """Python's own library first, then where we are, then the places, then what is installed for everybody."""
    usual = list(sys.path)
    for place in places:
        site.addsitedir(place)
    new_places = [place for place in sys.path if place not in usual]
    everybody = [place for place in usual if Path(place).name in ("site-packages", "dist-packages")]
    library = [place for place in usual if place not in everybody]
    sys.path[:] = [*library, str(Path(__file__).absolute().parents[2]), *new_places, *everybody]


def main() -> None:
    words = sys.argv[1:]
    places = list(takewhile(lambda word: word.startswith("/"), words))
    module, *arguments = words[len(places) :]
    widen(places)
    sys.argv = [module, *arguments]
    runpy.run_module(f"burnish.agents.{module}", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
