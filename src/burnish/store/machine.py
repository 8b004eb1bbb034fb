"""The name of a burnish home among the machines that share a database."""

from __future__ import annotations

import os
import re
import secrets
import socket
from contextlib import suppress
from pathlib import Path


def known_machine(home: Path) -> str:
    """The name of the home; "" before it has one."""
    try:
        host, letters = read_machine(home)
    except (OSError, ValueError):
        return ""
    return f"{host}-{letters[:6]}"


def machine_id(home: Path) -> str:
    """The host name and random letters, which belong to the burnish home: a host may have several."""
    if name := known_machine(home):
        return name
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = home / f".machine-{secrets.token_hex(4)}"
        draft.write_text(f"{host_name()} {secrets.token_hex(8)}\n")
        with suppress(FileExistsError):
            os.link(draft, home / "machine")  # of several first starts, one gives the name
        draft.unlink()
    except OSError:
        return f"{host_name()}-unnamed"  # a home that cannot be written runs no task
    return known_machine(home)


def read_machine(home: Path) -> tuple[str, str]:
    """The host name when the home was named, and its letters."""
    host, letters = (home / "machine").read_text().split()
    return host, letters


def host_name() -> str:
    name = socket.gethostname().partition(".")[0].lower()
    return re.sub(r"[^a-z0-9]+", "-", name).strip("-")[:40] or "machine"
