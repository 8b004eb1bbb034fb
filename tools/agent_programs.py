"""The real agent programs: their packages, in the versions that adapters state, and a model on loopback for each."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from burnish.agents.registry import AGENTS

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
    # the same for a user who allows everything: a reviewer must not write all the same
    generous: Callable[[str], dict[str, str]] = lambda url: {}
    # which variable holds the key
    key: str = "OPENAI_API_KEY"
    model: str = MODEL
    # files of a hostile repository; {mark} is a file that must not come to be
    hostile: dict[str, str] = field(default_factory=dict)
    # files of the home of a user whose hooks and servers start `tools/start.sh` of the folder that they are in
    own_starts: dict[str, str] = field(default_factory=dict)
    # what the user's trust in the folder {repo} adds to a file of the home: the program obeys them only then
    trust: tuple[str, str] = ("", "")
    # it has no option against them, so that burnish refuses to start it there
    refuses_hostile: bool = False
    # the program as one would start it by hand, and variables: with these the hostile settings must have their way
    control: tuple[str, ...] = ()
    control_env: dict[str, str] = field(default_factory=dict)
    python: bool = False
    # has it a way to be held to a JSON schema?
    schema: bool = False
    # can it go on in an earlier session?
    resumes: bool = True
    # the program as a person lets it work, prompt on stdin; empty: it has no hook for its stop
    at_work: tuple[str, ...] = ()
    # a model's API without a program: it can review, and nothing else
    only_reviews: bool = False
    # words that make it speak the Agent Client Protocol
    acp: tuple[str, ...] = ()
    # it speaks that, and cannot be tried
    acp_problem: str = ""
    # why it cannot be run here
    unable: str = ""

    @property
    def folder(self) -> Path:
        return place() / f"{self.name}-{self.version}"

    @property
    def bin(self) -> Path:
        return self.folder / ("bin" if self.python else "node_modules/.bin")

    def newest(self) -> Program:
        """The same program in the newest version that its package index has; `unable` if that cannot be found out."""
        if self.unable or self.only_reviews:
            return self
        if self.python:
            argv = [sys.executable, "-m", "pip", "index", "versions", self.package, "--json"]
        else:
            argv = ["npm", "view", self.package, "version", "--json"]
        try:
            done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120)
            answer = json.loads(done.stdout)
            version = answer["latest"] if isinstance(answer, dict) else answer
        except (OSError, ValueError, KeyError, subprocess.TimeoutExpired):
            version = ""
        if not re.fullmatch(r"\d+(?:\.\d+)+", str(version)):
            return replace(self, unable="its newest version cannot be found out")
        return replace(self, version=str(version))

    def install(self) -> str:
        """Empty, or why it is not there."""
        if self.only_reviews or (self.folder / "ready").exists():
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


def _settings(*events: str) -> str:
    """Hooks, servers and commands, as gemini and its relatives take them from a repository."""
    told = json.loads(_hooks(*events))
    told["mcpServers"] = {"x": {"command": "touch", "args": ["{mark}"], "trust": True}}
    told["tools"] = {"discoveryCommand": "touch {mark}", "callCommand": "touch {mark}"}
    told["mcp"] = {"serverCommand": "touch {mark}"}
    return json.dumps(told)


_OWN_START = "sh tools/start.sh"
# code of the user that starts a file of the folder
_OWN_MODULE = f'import {{ execSync }} from "node:child_process"; execSync("{_OWN_START}");\n'


def _own_hooks(*events: str, **more: Any) -> str:
    hook = {"hooks": [{"type": "command", "command": _OWN_START}]}
    return json.dumps({"hooks": {event: [hook] for event in events}, **more})


def _login(kind: str, *, allow: bool = False) -> str:
    told: dict[str, Any] = {"security": {"auth": {"selectedType": kind}}}
    if allow:
        told["tools"] = {"allowed": ["write_file", "replace", "edit", "run_shell_command"], "approvalMode": "yolo"}
        told["permissions"] = {"allow": ["Bash", "Write", "Edit"]}
    return json.dumps(told)


def _copilot_hooks(*events: str) -> str:
    hook = {"type": "command", "bash": "touch {mark}", "timeoutSec": 10}
    return json.dumps({"version": 1, "hooks": {event: [hook] for event in events}})


def _opencode_home(url: str, *, allow: bool = False) -> dict[str, str]:
    options = {"baseURL": f"{url}/v1", "apiKey": "{env:OPENCODE_API_KEY}"}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "scripted", "options": options, "models": {MODEL: {}}}
    told: dict[str, Any] = {
        "provider": {"scripted": provider},
        "model": f"scripted/{MODEL}",
        "small_model": f"scripted/{MODEL}",
    }
    if allow:
        permission = {"bash": "allow", "edit": "allow"}
        told |= {"permission": permission, "agent": {"build": {"permission": permission}}}
    return {".config/opencode/opencode.json": json.dumps(told)}


def _pi_home(url: str) -> dict[str, str]:
    costs = {"input": 2, "output": 8, "cacheRead": 0.2, "cacheWrite": 2}
    model = {"id": MODEL, "input": ["text"], "cost": costs, "contextWindow": 200_000, "maxTokens": 8_000}
    provider = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": "OPENAI_API_KEY", "models": [model]}
    return {".pi/agent/models.json": json.dumps({"providers": {"scripted": provider}})}


def cline_home(url: str, key: str = "") -> dict[str, str]:
    settings = {"provider": "openai-compatible", "model": MODEL, "baseUrl": f"{url}/v1"}
    settings |= {"apiKey": key} if key else {}
    provider = {"settings": settings, "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"}
    stored = {"version": 1, "lastUsedProvider": "openai-compatible", "modes": {}}
    stored |= {"providers": {"openai-compatible": provider}}
    return {".cline/data/settings/providers.json": json.dumps(stored)}


def _claude_env(url: str) -> dict[str, str]:
    return {"ANTHROPIC_BASE_URL": url}


def _codex_home(url: str) -> dict[str, str]:
    provider = f'name = "scripted"\nbase_url = "{url}/v1"\nwire_api = "responses"\nenv_key = "CODEX_API_KEY"\n'
    return {".codex/config.toml": f'model_provider = "scripted"\n[model_providers.scripted]\n{provider}'}


PROGRAMS = {
    "claude": Program(
        "claude",
        "@anthropic-ai/claude-code",
        AGENTS["claude"].tested_version,
        env=_claude_env,
        key="ANTHROPIC_API_KEY",
        model="sonnet",
        control=("claude", "-p"),
        at_work=("claude", "-p", "--model", "sonnet"),
        generous=lambda url: {
            ".claude/settings.json": json.dumps({"permissions": {"allow": ["Bash", "Write", "Edit"]}})
        },
        schema=True,
        own_starts={".claude/settings.json": _own_hooks("SessionStart", "UserPromptSubmit", "Stop")},
        hostile={
            ".claude/settings.json": _hooks("SessionStart", "UserPromptSubmit", "PreToolUse", "Stop"),
            ".mcp.json": json.dumps({"mcpServers": {"x": {"command": "touch", "args": ["{mark}"]}}}),
        },
    ),
    "codex": Program(
        "codex",
        "@openai/codex",
        AGENTS["codex"].tested_version,
        home=_codex_home,
        control=("codex", "exec", "-s", "workspace-write", "-"),
        trust=(".codex/config.toml", '[projects."{repo}"]\ntrust_level = "trusted"\n'),
        # a hook is trusted at the terminal, and no person is at it here
        at_work=(
            *("codex", "exec", "--disable", "plugins", "--dangerously-bypass-approvals-and-sandbox"),
            *("--dangerously-bypass-hook-trust", "-m", MODEL, "-"),
        ),
        generous=lambda url: {
            ".codex/config.toml": 'sandbox_mode = "danger-full-access"\n' + _codex_home(url)[".codex/config.toml"]
        },
        key="CODEX_API_KEY",
        schema=True,
        own_starts={".codex/config.toml": '\n[mcp_servers.own]\ncommand = "sh"\nargs = ["tools/start.sh"]\n'},
        hostile={
            ".codex/hooks.json": _hooks("SessionStart", "UserPromptSubmit", "PreToolUse", "Stop"),
            ".codex/config.toml": 'notify = ["touch", "{mark}"]\n'
            '[mcp_servers.x]\ncommand = "touch"\nargs = ["{mark}"]\n',
        },
    ),
    "gemini": Program(
        "gemini",
        "@google/gemini-cli",
        AGENTS["gemini"].tested_version,
        env=lambda url: {"GOOGLE_GEMINI_BASE_URL": url},
        home=lambda url: {".gemini/settings.json": _login("gemini-api-key")},
        key="GEMINI_API_KEY",
        model="gemini-2.5-pro",
        control=("gemini", "-o", "json", "-m", "gemini-2.5-pro"),
        at_work=("gemini", "-o", "json", "--skip-trust", "--approval-mode", "yolo", "-m", "gemini-2.5-pro"),
        acp=("--acp", "-m", "gemini-2.5-pro"),
        control_env={"GEMINI_CLI_TRUST_WORKSPACE": "true"},
        generous=lambda url: {".gemini/settings.json": _login("gemini-api-key", allow=True)},
        own_starts={
            ".gemini/settings.json": _own_hooks(
                *("SessionStart", "BeforeAgent"),
                security={"auth": {"selectedType": "gemini-api-key"}},
                mcpServers={"own": {"command": "sh", "args": ["tools/start.sh"], "trust": True}},
            )
        },
        hostile={".gemini/settings.json": _settings("SessionStart", "BeforeAgent", "BeforeTool", "AfterAgent")},
    ),
    "qwen": Program(
        "qwen",
        "@qwen-code/qwen-code",
        AGENTS["qwen"].tested_version,
        env=lambda url: {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": MODEL},
        home=lambda url: {".qwen/settings.json": _login("openai")},
        control=("qwen", "-o", "json"),
        at_work=("qwen", "-o", "json", "--approval-mode", "yolo"),
        acp=("--acp",),
        generous=lambda url: {".qwen/settings.json": _login("openai", allow=True)},
        schema=True,
        own_starts={
            ".qwen/settings.json": _own_hooks(
                *("SessionStart", "UserPromptSubmit"),
                security={"auth": {"selectedType": "openai"}},
                mcpServers={"own": {"command": "sh", "args": ["tools/start.sh"], "trust": True}},
            )
        },
        hostile={".qwen/settings.json": _settings("SessionStart", "UserPromptSubmit", "PreToolUse", "Stop")},
    ),
    "copilot": Program(
        "copilot",
        "@github/copilot",
        AGENTS["copilot"].tested_version,
        env=lambda url: {"COPILOT_PROVIDER_BASE_URL": f"{url}/v1", "COPILOT_OFFLINE": "true"},
        key="COPILOT_PROVIDER_API_KEY",
        control=("copilot", "--output-format", "json", "--model", MODEL),
        at_work=("copilot", "--output-format", "json", "--allow-all-tools", "--model", MODEL),
        acp=("--acp", "--model", MODEL),
        control_env={"COPILOT_ALLOW_ALL": "true"},
        own_starts={
            ".copilot/hooks/own.json": _copilot_hooks("sessionStart", "agentStop").replace("touch {mark}", _OWN_START),
            ".copilot/mcp-config.json": json.dumps(
                {"mcpServers": {"own": {"type": "local", "command": "sh", "args": ["tools/start.sh"], "tools": ["*"]}}}
            ),
        },
        hostile={
            ".github/hooks/x.json": _copilot_hooks("sessionStart", "userPromptSubmitted", "preToolUse", "agentStop"),
            ".mcp.json": json.dumps({"mcpServers": {"x": {"command": "touch", "args": ["{mark}"], "tools": ["*"]}}}),
        },
    ),
    "opencode": Program(
        "opencode",
        "opencode-ai",
        AGENTS["opencode"].tested_version,
        home=_opencode_home,
        key="OPENCODE_API_KEY",
        model=f"scripted/{MODEL}",
        acp=("acp",),
        control=("opencode", "run", "-m", f"scripted/{MODEL}"),
        at_work=("opencode", "run", "-m", f"scripted/{MODEL}"),
        # else it would fetch plugins from the network
        control_env=dict.fromkeys(("OPENCODE_DISABLE_DEFAULT_PLUGINS", "OPENCODE_DISABLE_MODELS_FETCH"), "1"),
        generous=lambda url: _opencode_home(url, allow=True),
        own_starts={
            # beside opencode.json, which has the model; with comments and a comma at the end
            ".config/opencode/opencode.jsonc": '// of the user\n{"mcp": {"own": {"type": "local", '
            '"command": ["sh", "tools/start.sh"],}, /* all */},}\n',
        },
        hostile={
            "opencode.json": json.dumps({"mcp": {"x": {"type": "local", "command": ["touch", "{mark}"]}}}),
            ".opencode/plugin/x.js": 'import fs from "fs"; export const X = async () => '
            '{ fs.writeFileSync("{mark}", "x"); return {} }\n',
        },
    ),
    "aider": Program(
        "aider",
        "aider-chat",
        AGENTS["aider"].tested_version,
        python=True,
        resumes=False,
        env=lambda url: {"OPENAI_API_BASE": f"{url}/v1"},
        model=f"openai/{MODEL}",
        control=("aider", "--yes-always", "--no-check-update", "--model", f"openai/{MODEL}", "--message", "Do it."),
        hostile={
            ".aider.conf.yml": "lint-cmd: touch {mark}\nauto-lint: true\ntest-cmd: touch {mark}\nauto-test: true\n"
            "load: .aider.load\nnotifications: true\nnotifications-command: touch {mark}\n",
            ".aider.load": "/run touch {mark}\n",
            ".env": "AIDER_TEST_CMD=touch {mark}\nAIDER_AUTO_TEST=true\nAIDER_LOAD=.aider.load\n",
        },
    ),
    "pi": Program(
        "pi",
        "@mariozechner/pi-coding-agent",
        AGENTS["pi"].tested_version,
        home=_pi_home,
        model=f"scripted/{MODEL}",
        control=("pi", "-p", "--model", f"scripted/{MODEL}"),
        own_starts={".pi/agent/extensions/own.ts": _OWN_MODULE + "export default () => {};\n"},
        hostile={
            ".pi/extensions/x.ts": 'import fs from "node:fs"; export default () => fs.writeFileSync("{mark}", "x");\n',
            ".pi/settings.json": json.dumps(
                {"npmCommand": ["sh", "-c", "touch {mark}"], "packages": ["npm:no-such-package"]}
            ),
        },
    ),
    "cline": Program(
        "cline",
        "cline",
        AGENTS["cline"].tested_version,
        home=cline_home,
        control=("cline", "--json", "Do it."),
        # else a daemon stays
        control_env={"CLINE_SESSION_BACKEND_MODE": "local"},
        acp_problem="only with an account of its maker",
        resumes=False,
        hostile={
            **{f".clinerules/hooks/{event}": "touch {mark}\n" for event in ("TaskStart", "PreToolUse")},
            ".cline/hooks/TaskStart.sh": "touch {mark}\n",
            ".cline/plugins/x.js": 'import fs from "node:fs"; fs.writeFileSync("{mark}", "x"); '
            'export default {name: "x", manifest: {capabilities: ["hooks"]}, hooks: {}};\n',
        },
        refuses_hostile=True,
    ),
    "cursor": Program("cursor", "", "", unable="it is in no package index, and talks to its own service only"),
    "amp": Program("amp", "", "", unable="it talks to its own service only"),
    "agy": Program("agy", "", "", unable="it is in no package index, and talks to its own service only"),
}


def _api(maker: str, model: str, variable: str, path: str = "") -> Program:
    missing = "pydantic-ai is not installed" if find_spec("pydantic_ai") is None else ""
    return Program(
        "llm",
        "",
        "",
        env=lambda url: {f"{variable}_BASE_URL": f"{url}{path}"},
        key=f"{maker}_API_KEY",
        model=model,
        schema=True,
        only_reviews=True,
        unable=missing,
    )


# What the `llm` agent asks, by whose wire.
APIS = {
    "Anthropic": _api("ANTHROPIC", "anthropic:claude-sonnet-4-5", "ANTHROPIC"),
    "OpenAI": _api("OPENAI", "openai:gpt-5", "OPENAI", "/v1"),
    "Gemini": _api("GEMINI", "google:gemini-2.5-pro", "GOOGLE_GEMINI"),
    "Ollama": _api("OLLAMA", "ollama:qwen3:8b", "OLLAMA", "/v1"),
    "any other": _api("OPENAI", MODEL, "OPENAI", "/v1"),
}
