"""How an agent is started that is a program of ours, wherever burnish was installed."""

from __future__ import annotations

import site
import sys
from pathlib import Path

START = str(Path(__file__).absolute().parent / "module_starter.py")


def own_program(module: str) -> tuple[str, ...]:
    """Python and a module of `burnish.agents`, alone with what is installed."""
    # -I: a module of the workspace that is called like one of ours must not be taken for it
    return (sys.executable, "-I", START, *_hidden(), module)


def _hidden() -> list[str]:
    """Where packages are that we see and an isolated Python does not: those of `pip install --user`."""
    usual = {str(Path(place)) for place in site.getsitepackages()}
    package_folders = [place for place in sys.path if Path(place).name in ("site-packages", "dist-packages")]
    return [place for place in dict.fromkeys(package_folders) if Path(place).is_absolute() and place not in usual]
