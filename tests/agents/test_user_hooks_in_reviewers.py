"""A reviewer starts no hooks and servers of its user: they may load files of the change that is reviewed."""

from __future__ import annotations

import json
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from burnish.agents.base import NO_SERVER, AgentSettings
from burnish.agents.call_command import own_home
from burnish.agents.claude import ClaudeAgent
from burnish.agents.confined_login import ConfinedLogins
from burnish.agents.question import AgentCall
from burnish.agents.registry import AGENTS
from testing.agent_samples import request

CONFIG = """
notify = ["python3", "-m", "notify"]
profile = "work"
[mcp_servers.plain]
command = "sh"
args = ["./tools/server.sh"]
[mcp_servers."with a blank and \\"quotes\\""]
command = "python3"
args = ["-m", "server"]
"""
PROFILE = '[mcp_servers.ofprofile]\nurl = "http://127.0.0.1:1/mcp"\n'


@pytest.mark.attacks("run a file of the change by a hook of the user, in a reviewer", 1)
def test_claude_reviews_without_the_hooks_of_its_user() -> None:
    argv = ClaudeAgent().call(request(read_only=True), AgentSettings("claude", "claude")).argv
    assert json.loads(argv[argv.index("--settings") + 1]) == {"disableAllHooks": True}
    author = ClaudeAgent().call(request(read_only=False), AgentSettings("claude", "claude")).argv
    assert "--settings" not in author


def codex_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, read_only: bool) -> dict[str, object]:
    home = tmp_path / "codex"
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(CONFIG)
    (home / "work.config.toml").write_text(PROFILE)
    monkeypatch.setenv("CODEX_HOME", str(home))
    folder = tmp_path / f"try-{1 + read_only}"
    folder.mkdir()
    asked = request(read_only=read_only, call_dir=tmp_path)
    argv = AgentCall(asked, AgentSettings("codex", "codex"), AGENTS["codex"]).describe(folder).argv
    texts = [word for before, word in pairwise(argv) if before == "-c"]
    return tomllib.loads("\n".join(texts))


@pytest.mark.attacks("run a file of the change by a server of the user, in a reviewer", 4)
def test_codex_reviews_without_the_servers_of_its_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reviewer = codex_options(tmp_path, monkeypatch, read_only=True)
    names = ("plain", 'with a blank and "quotes"', "ofprofile")
    assert (reviewer["mcp_servers"], reviewer["notify"]) == ({name: {"enabled": False} for name in names}, [])
    author = codex_options(tmp_path, monkeypatch, read_only=False)
    assert "mcp_servers" not in author and "notify" not in author


OPENCODE = """// of the user
{"mcp": {"plain": {"type": "local", "command": ["sh", "tools/server.sh"],}, /* "no": */},
 "model": "a//b", }
"""


def opencode_settings(tmp_path: Path, *, read_only: bool) -> dict[str, Any]:
    folder = tmp_path / f"try-{1 + read_only}"
    folder.mkdir()
    asked = request(read_only=read_only, call_dir=tmp_path)
    call = AgentCall(asked, AgentSettings("opencode", "opencode"), AGENTS["opencode"]).describe(folder)
    return dict(json.loads(call.env.get("OPENCODE_CONFIG_CONTENT", "{}")))


@pytest.mark.attacks("run a file of the change by a server of the user, in a reviewer", 5)
def test_opencode_reviews_without_the_servers_of_its_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = {
        "config/opencode/opencode.jsonc": OPENCODE,
        "config/opencode/opencode.json": '{"mcp": {"second": {}}}',
        "home/.opencode/opencode.json": '{"mcp": {"third": {}}}',
        "other/opencode.json": '{"mcp": {"fourth": {}}}',
        "one.json": '{"mcp": {"fifth": {}}}',
        "config/opencode/config.json": "broken",
    }
    for name, text in places.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    variables = {"HOME": "home", "XDG_CONFIG_HOME": "config", "OPENCODE_CONFIG_DIR": "other"}
    for name, place in {**variables, "OPENCODE_CONFIG": "one.json"}.items():
        monkeypatch.setenv(name, str(tmp_path / place))

    reviewer = opencode_settings(tmp_path, read_only=True)

    assert reviewer["mcp"] == {key: {"enabled": False} for key in ("second", "plain", "third", "fourth", "fifth")}
    assert (reviewer["lsp"], reviewer["formatter"]) == (False, False)
    assert opencode_settings(tmp_path, read_only=False) == {}


@pytest.mark.attacks("run a file of the change by a server of the user, in a reviewer", 4)
@pytest.mark.parametrize("kind", ["gemini", "qwen"])
@pytest.mark.parametrize("read_only", [True, False])
def test_gemini_and_qwen_start_none_of_the_servers_that_their_user_allows(kind: str, read_only: bool) -> None:
    """The option counts more than every list of allowed servers in settings; qwen joins burnish's with the user's."""
    argv = AGENTS[kind].call(request(read_only=read_only), AgentSettings(kind, kind)).argv
    assert argv[argv.index("--allowed-mcp-server-names") + 1] == NO_SERVER


OWN_CODE = {
    "cursor": (".cursor/hooks.json", ".cursor/mcp.json", ".cursor/plugins/own/plugin.json", ".claude/settings.json"),
    "amp": (
        *(".config/amp/settings.json", ".config/amp/plugins/own.ts", ".config/amp/tools/own", ".claude/skills/own.md"),
        *(".config/agents/skills/own/mcp.json", ".agents/skills/own/mcp.json"),
    ),
    "opencode": (
        *(f".config/opencode/{name}/own.js" for name in ("plugin", "plugins", "tool", "tools")),
        *(f".opencode/{name}/own.js" for name in ("plugin", "tool")),
    ),
}
OWN_LOGIN = {
    "cursor": ".config/cursor/auth.json",
    "amp": ".local/share/amp/secrets.json",
    "opencode": ".config/opencode/opencode.json",
}


@pytest.mark.attacks("run a file of the change by a hook or server of the user, in a reviewer", 32)
@pytest.mark.parametrize("variables", [{}, {"XDG_CONFIG_HOME": ".config"}], ids=["home", "moved"])
@pytest.mark.parametrize("kind", OWN_CODE)
def test_without_a_sandbox_a_reviewer_has_a_home_without_the_code_of_its_user(
    tmp_path: Path, kind: str, variables: dict[str, str]
) -> None:
    user = tmp_path / "user"
    for name in (*OWN_CODE[kind], OWN_LOGIN[kind], "notes.txt"):
        (user / name).parent.mkdir(parents=True, exist_ok=True)
        (user / name).write_text("text")
    env = {"HOME": str(user), **{name: str(user / place) for name, place in variables.items()}}

    def seen(name: str, *, read_only: bool) -> bool:
        folder = tmp_path / f"try-{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        given = {**env, **own_home(AGENTS[kind], request(read_only=read_only), folder, env)}
        home = Path(given["HOME"])
        config = Path(given.get("XDG_CONFIG_HOME", home / ".config"))
        return (config / Path(name).relative_to(".config") if name.startswith(".config/") else home / name).exists()

    assert [name for name in OWN_CODE[kind] if seen(name, read_only=True)] == []
    assert all(seen(name, read_only=True) for name in (OWN_LOGIN[kind], "notes.txt"))
    assert all(seen(name, read_only=False) for name in OWN_CODE[kind])


COPILOT = {
    ".copilot/config.json": "login",
    ".copilot/settings.json": '{"hooks": {}, "theme": "dim"}',
    ".copilot/hooks/own.json": "{}",
    ".copilot/mcp-config.json": '{"mcpServers": {"own": {"command": "sh"}}}',
    ".copilot/lsp-config.json": "{}",
    ".copilot/installed-plugins/own/plugin.json": "{}",
}


@pytest.mark.attacks("run a file of the change by a hook or server of the user, in a reviewer", 4)
def test_without_a_sandbox_copilot_reviews_without_hooks_servers_and_plugins_of_its_user(tmp_path: Path) -> None:
    for name, text in COPILOT.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    def shown(*, read_only: bool) -> dict[str, str]:
        folder = tmp_path / f"try-{read_only}"
        folder.mkdir()
        variables = own_home(AGENTS["copilot"], request(read_only=read_only), folder, {"HOME": str(tmp_path)})
        home = Path(variables.get("COPILOT_HOME", tmp_path / ".copilot"))
        return {path.name: path.read_text() for path in home.rglob("*") if path.is_file()}

    assert shown(read_only=True) == {
        "config.json": "login",
        "settings.json": json.dumps({"hooks": {}, "theme": "dim", "disableAllHooks": True}),
    }
    assert set(shown(read_only=False)) == {Path(name).name for name in COPILOT}


@pytest.mark.attacks("run a file of the change by a hook or server of the user, in a reviewer", 10)
@pytest.mark.parametrize(
    ("kind", "code", "login"),
    [
        ("copilot", [name for name in COPILOT if "own" in name or "-config" in name], ".copilot/config.json"),
        ("opencode", [f".config/opencode/{name}/own.js" for name in ("plugin", "tools")], ".config/opencode/auth.json"),
        ("cursor", [".cursor/hooks.json", ".cursor/mcp.json"], ".config/cursor/own.json"),
        ("amp", [".config/amp/settings.json", ".config/amp/plugins/own.ts"], ".local/share/amp/own.json"),
    ],
)
def test_in_the_sandbox_a_reviewer_does_not_see_the_code_of_its_user(
    tmp_path: Path, kind: str, code: list[str], login: str
) -> None:
    home = tmp_path / "user"
    for name in (*code, login):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("text")
    logins = ConfinedLogins(home, tmp_path / "burnish", AGENTS)

    def copied(*, read_only: bool) -> set[str]:
        with logins.mounted(request(read_only=read_only), AgentSettings(kind, kind), {"HOME": str(home)}):
            copies = (tmp_path / "burnish" / "logins").rglob("*")
            return {path.name for path in copies if path.is_file() and path.read_text() == "text"}

    assert copied(read_only=True) == {Path(login).name}
    assert copied(read_only=False) == {Path(name).name for name in (*code, login)}
