"""The environment that agents and checks share: what is listed here, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

LISTED = ("LANG", "TERM", "TMPDIR", "HOME", "USER", "LOGNAME")
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


def listed_environment(
    source: Mapping[str, str], *, places: Iterable[Path] = (), extra: Iterable[str] = ()
) -> dict[str, str]:
    """PATH (the `.venv` of `places` first), language, terminal, user, proxy, and the `extra` names."""
    names = {*LISTED, *PROXIES, *(name.upper() for name in PROXIES), *extra}
    chosen = {name: value for name, value in source.items() if name in names or name.startswith("LC_")}
    venvs = (str(place / ".venv" / "bin") for place in places if (place / ".venv" / "bin").is_dir())
    chosen["PATH"] = os.pathsep.join([*venvs, source.get("PATH") or os.defpath])
    return chosen
