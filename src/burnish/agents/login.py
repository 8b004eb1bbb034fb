"""Where a program keeps its login, its user's settings and its sessions: facts that each adapter states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

# Variables of the XDG base directory specification, and the folder below the home that each one replaces.
_XDG = (("XDG_CONFIG_HOME", ".config"), ("XDG_DATA_HOME", ".local/share"), ("XDG_STATE_HOME", ".local/state"))


@dataclass(frozen=True, slots=True)
class TokenFile:
    """A JSON file that holds tokens. Copies of it have no refresh token; if it cannot be parsed it is not copied."""

    path: str
    # dotted keys that say when the access token expires: a time, or a JSON web token with one. `*` is any key.
    expires: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Login:
    """All paths are relative to the home directory and use `/`."""

    # files and folders that are copied for a call: credentials, settings, instructions of the user
    places: tuple[str, ...] = ()
    # parts of them that are not copied, `*` within a name: sessions, histories, logs, caches
    skipped: tuple[str, ...] = ()
    token_files: tuple[TokenFile, ...] = ()
    # folders with the sessions that the program can resume
    sessions: tuple[str, ...] = ()
    # variables to set where sessions are kept, each with a path: for programs that keep them beside other things
    session_variables: tuple[tuple[str, str], ...] = ()
    # a variable that puts one of the folders elsewhere, and that folder; "" is the home itself
    folder_variables: tuple[tuple[str, str], ...] = ()
    # names of the programs that use this login, besides the adapter's own
    programs: tuple[str, ...] = ()
    # variables with a key or a long-lived token: where one is set, the token files are not used
    key_variables: tuple[str, ...] = ()
    # arguments of the program that renew the access token without asking a model, with what it gets on stdin
    refresh: tuple[str, ...] = ()
    refresh_input: str = ""
    # the program ends only with its stdin, which stays open until this text is in its output
    refresh_until: str = ""
    # how to get a token that lasts
    advice: str = ""

    def located(self, path: str, home: Path, env: Mapping[str, str]) -> Path:
        """Where a place is, with the variables that move it."""
        for variable, folder in (*self.folder_variables, *_XDG):
            value = env.get(variable, "")
            if value.startswith("/") and Path(path).is_relative_to(folder):
                return Path(value) / Path(path).relative_to(folder)
        return home / path

    def has_key(self, env: Mapping[str, str]) -> bool:
        return any(env.get(name) for name in self.key_variables)


NO_LOGIN = Login()
