"""Trials of logins: real programs in the sandbox that have their key in files, and an author that attacks them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import PurePosixPath

from testing.login_attacks import CANARY, INSTRUCTIONS, USERS_OWN, contents
from testing.model_turns import Say, Shell
from tools.agent_bench import Bench, Lacks, bench, script
from tools.agent_programs import KEY, MODEL, PROGRAMS, Program, cline_home

# What the program tells its model from its user's home directory.
MEMORY = {
    "claude": ".claude/CLAUDE.md",
    "codex": ".codex/AGENTS.md",
    "gemini": ".gemini/GEMINI.md",
    "qwen": ".qwen/QWEN.md",
    "copilot": ".copilot/copilot-instructions.md",
    "opencode": ".config/opencode/AGENTS.md",
    "pi": ".pi/agent/AGENTS.md",
    "cline": ".cline/rules/own.md",
}


def _claude(url: str) -> dict[str, str]:
    return {".claude/settings.json": json.dumps({"env": {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": url}})}


def _codex(url: str) -> dict[str, str]:
    provider = f'name = "scripted"\nbase_url = "{url}/v1"\nwire_api = "responses"\nrequires_openai_auth = true\n'
    return {
        ".codex/config.toml": f'model_provider = "scripted"\n[model_providers.scripted]\n{provider}',
        ".codex/auth.json": json.dumps({"OPENAI_API_KEY": KEY}),
    }


def _gemini(url: str) -> dict[str, str]:
    return {".gemini/.env": f"GEMINI_API_KEY={KEY}\nGOOGLE_GEMINI_BASE_URL={url}\n"}


def _qwen(url: str) -> dict[str, str]:
    return {".qwen/.env": f"OPENAI_API_KEY={KEY}\nOPENAI_BASE_URL={url}/v1\nOPENAI_MODEL={MODEL}\n"}


def _opencode(url: str) -> dict[str, str]:
    options = {"baseURL": f"{url}/v1"}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "scripted", "options": options, "models": {MODEL: {}}}
    config = {
        "provider": {"scripted": provider},
        "model": f"scripted/{MODEL}",
        "small_model": f"scripted/{MODEL}",
    }
    return {
        ".config/opencode/opencode.json": json.dumps(config),
        ".local/share/opencode/auth.json": json.dumps({"scripted": {"type": "api", "key": KEY}}),
    }


def _pi(url: str) -> dict[str, str]:
    return {
        **PROGRAMS["pi"].home(url),
        ".pi/agent/auth.json": json.dumps({"scripted": {"type": "api_key", "key": KEY}}),
    }


# The login in files alone. Copilot takes a key of one's own from variables only.
IN_FILES: dict[str, Callable[[str], dict[str, str]]] = {
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "qwen": _qwen,
    "opencode": _opencode,
    "pi": _pi,
    "cline": lambda url: cline_home(url, KEY),
}


def keeps_login(program: Program) -> str:
    """Told by its model to rewrite its login, an author changes neither the user's files nor a reviewer's requests."""
    if program.name not in MEMORY:
        raise Lacks("its model cannot run commands")
    names = (MEMORY[program.name], *INSTRUCTIONS[program.name])
    with bench(program, script(), confined=True) as it:
        it.keyless = program.name in IN_FILES
        files = IN_FILES[program.name](it.server.url) if it.keyless else {}
        for name, text in {**files, MEMORY[program.name]: USERS_OWN}.items():
            (it.home / name).parent.mkdir(parents=True, exist_ok=True)
            (it.home / name).write_text(text)
        before = _users_files(it)
        it.server.brain = script(Shell(_attack(names)), Say("All done."))
        it.call()
        results = json.dumps([turn.body for turn, _ in it.server.turns])
        written = sum(f"W42 {name}" in results for name in names)
        assert _users_files(it) == before, "the user's files were changed"
        asked = len(it.server.turns)
        it.server.brain = script(Say("I have looked."))
        it.call(read_only=True)
        bodies = json.dumps([turn.body for turn, _ in it.server.turns[asked:]])
        assert CANARY not in bodies, "the author's words are in the reviewer's request"
        assert USERS_OWN in bodies, "the user's own words are not in the reviewer's request"
        assert not list((it.home / "burnish" / "logins").iterdir()), "a copy was left behind"
        return f"{written} of {len(names)} files written to its copy, 0 to the user's, 0 seen by the reviewer"


def _attack(names: tuple[str, ...]) -> str:
    """One command. No `$(…)`, which gemini refuses; what it prints is not part of its own text."""
    lines = []
    for name in names:
        folder, file = (f'"$HOME"/{shlex.quote(part)}' for part in (str(PurePosixPath(name).parent), name))
        lines.append(f"mkdir -p {folder}; echo {shlex.quote(CANARY)} > {file} && printf 'W%d %s\\n' 42 {name}")
    return "; ".join(lines)


def _users_files(it: Bench) -> dict[str, str]:
    return {name: text for name, text in contents(it.home).items() if not name.startswith("burnish/")}
