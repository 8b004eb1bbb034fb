"""The real agent programs: where to get each, pinned, and how to point it at a model on loopback."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

KEY = "test-key"
MODEL = "scripted-model"


def place() -> Path:
    """Never inside the repository: each program is 50 to 700 MB."""
    return Path(os.environ.get("BURNISH_AGENTS_DIR") or Path.home() / ".cache" / "burnish-agents").absolute()


@dataclass(frozen=True)
class Program:
    name: str
    package: str
    version: str
    # address of the model → variables
    env: Callable[[str], dict[str, str]] = lambda url: {}
    # address of the model → files of its home, by path
    home: Callable[[str], dict[str, str]] = lambda url: {}
    # which variable holds the key
    key: str = "OPENAI_API_KEY"
    model: str = MODEL
    # files of a hostile repository; {mark} is a file that must not come to be
    hostile: dict[str, str] = field(default_factory=dict)
    python: bool = False
    # has it a way to be held to a JSON schema?
    schema: bool = False
    # why it cannot be run here
    unable: str = ""

    @property
    def folder(self) -> Path:
        return place() / f"{self.name}-{self.version}"

    @property
    def bin(self) -> Path:
        return self.folder / ("bin" if self.python else "node_modules/.bin")

    def install(self) -> str:
        """Empty, or why it is not there."""
        if (self.folder / "ready").exists():
            return ""
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.python:
            steps = [
                [sys.executable, "-m", "venv", str(self.folder)],
                [str(self.folder / "bin" / "pip"), "install", "-q", f"{self.package}=={self.version}"],
            ]
        elif shutil.which("npm") is None:
            return "npm is not installed"
        else:
            npm = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", str(self.folder)]
            steps = [[*npm, f"{self.package}@{self.version}"]]
        for argv in steps:
            done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=1200)
            if done.returncode:
                return f"installing it failed: {done.stderr.strip().splitlines()[-1:]}"
        (self.folder / "ready").write_text("")
        return ""


HOOK = {"hooks": [{"type": "command", "command": "touch {mark}"}]}


def _hooks(*events: str) -> str:
    return json.dumps({"hooks": {event: [HOOK] for event in events}})


def _claude_env(url: str) -> dict[str, str]:
    return {"ANTHROPIC_BASE_URL": url}


def _codex_home(url: str) -> dict[str, str]:
    provider = f'name = "scripted"\nbase_url = "{url}/v1"\nwire_api = "responses"\nenv_key = "CODEX_API_KEY"\n'
    return {".codex/config.toml": f'model_provider = "scripted"\n[model_providers.scripted]\n{provider}'}


PROGRAMS = {
    "claude": Program(
        "claude",
        "@anthropic-ai/claude-code",
        "2.1.325",
        env=_claude_env,
        key="ANTHROPIC_API_KEY",
        model="sonnet",
        schema=True,
        hostile={
            ".claude/settings.json": _hooks("SessionStart", "UserPromptSubmit", "PreToolUse", "Stop"),
            ".mcp.json": json.dumps({"mcpServers": {"x": {"command": "touch", "args": ["{mark}"]}}}),
        },
    ),
    "codex": Program(
        "codex",
        "@openai/codex",
        "0.166.0",
        home=_codex_home,
        key="CODEX_API_KEY",
        schema=True,
        hostile={
            ".codex/hooks.json": _hooks("SessionStart", "UserPromptSubmit", "PreToolUse", "Stop"),
            ".codex/config.toml": 'notify = ["touch", "{mark}"]\n'
            '[mcp_servers.x]\ncommand = "touch"\nargs = ["{mark}"]\n',
        },
    ),
}
