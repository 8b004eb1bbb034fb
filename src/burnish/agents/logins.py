"""Where each program keeps its login and its own settings: all of the home directory that it is let see."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

# below the home directory, by kind and by the program's own name
LOGINS: dict[str, tuple[str, ...]] = {
    "claude": (".claude", ".claude.json", ".config/claude"),
    "codex": (".codex",),
    "gemini": (".gemini",),
    "opencode": (".config/opencode", ".local/share/opencode", ".local/state/opencode", ".cache/opencode"),
    "aider": (".aider", ".aider.conf.yml", ".aider.model.settings.yml", ".aider.model.metadata.json"),
    "copilot": (".copilot", ".config/github-copilot"),
    "qwen": (".qwen",),
    "cursor": (".cursor", ".config/cursor", ".local/share/cursor-agent"),
    "amp": (".config/amp", ".local/share/amp"),
}
# Where each keeps the sessions that it can go on in.
_SESSIONS = {
    "claude": ".claude",
    "codex": ".codex",
    "gemini": ".gemini",
    "opencode": ".local/share/opencode",
    "copilot": ".copilot",
    "qwen": ".qwen",
    "cursor": ".cursor",
}
_PROGRAMS = {"cursor-agent": "cursor", "claude-agent-acp": "claude", "codex-acp": "codex"}
# Variables that put one program's folder elsewhere. XDG_… names everybody's folder: of that, only its own part.
_FOLDERS = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "COPILOT_HOME")
_XDG = {"XDG_CONFIG_HOME": ".config", "XDG_DATA_HOME": ".local/share"}


def login_of(kind: str, program: str, home: Path, env: Mapping[str, str]) -> tuple[Path, ...]:
    """The places, there or not; of a `command` agent those of the program it starts."""
    name = Path(program).name
    names = LOGINS.get(kind) or LOGINS.get(_PROGRAMS.get(name, name), ())
    places = [home / one for one in names]
    places += [Path(env[variable]) for variable in _FOLDERS if env.get(variable, "").startswith("/")]
    for variable, usual in _XDG.items():
        if env.get(variable, "").startswith("/"):
            places += [Path(env[variable]) / one.removeprefix(f"{usual}/") for one in names if one.startswith(usual)]
    return tuple(places)


def keep_sessions(kind: str, home: Path) -> None:
    """The folder for its sessions, made as the program would make it: one that is not there is not let through."""
    if kind in _SESSIONS and home.is_dir():
        (home / _SESSIONS[kind]).mkdir(mode=0o700, parents=True, exist_ok=True)
