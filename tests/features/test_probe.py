"""doctor --probe asks each installed agent for one word, and tells the remedy where none comes."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from burnish.cli.main import main
from burnish.features.doctor.agents import configured_signs, probe_signs
from burnish.features.doctor.diagnostic import Diagnostic
from testing.bubblewrap import needs_bubblewrap
from testing.extras import needs_extra
from testing.model_server import ModelServer
from testing.model_turns import Say
from testing.userrepo import UserRepo

PROGRAM = """
import json, os, sys
if "--version" in sys.argv:
    print("9.9.9 (a test)"); sys.exit()
assert "Read,Grep,Glob" in sys.argv and "ready" in sys.stdin.read() and not os.listdir(".")
result = {"type": "result", "is_error": False, "result": "ready", "usage": {"input_tokens": 1}}
if os.environ.get("ANTHROPIC_API_KEY") != "right":
    result |= {"is_error": True, "result": "Not logged in", "api_error_status": 401}
print(json.dumps(result))
"""


@pytest.mark.parametrize(("key", "state"), [("right", "ok"), ("wrong", "weak")])
def test_each_agent_is_asked_for_a_word(
    key: str, state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable} -IS\n{PROGRAM}")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)

    assert main(["-C", str(tmp_path), "doctor", "--probe", "--json"]) == 0

    signs = [sign for sign in json.loads(capsys.readouterr().out) if sign["group"] == "answers"]
    claude = next(sign for sign in signs if sign["name"] == "claude")
    assert claude["state"] == state and claude["what"].startswith("9.9.9 (a test): ")
    assert "'ready'" in claude["what"] if state == "ok" else "ANTHROPIC_API_KEY" in claude["remedy"]


ACP = Path(__file__).parents[2] / "testing" / "acp_agent.py"
# Says whether it was asked, and what it finds where it stands.
ROBOT = "import os, sys; print(len(sys.stdin.read()) > 20, os.listdir('.'))"
SETTINGS = f"""
agents:
  judge: {{kind: llm, model: some-model}}
  zed: {{kind: acp, argv: ['{sys.executable}', -IS, '{ACP}']}}
  robot: {{kind: command, argv: ['{sys.executable}', -IS, -c, "{ROBOT}"]}}
  quiet: {{kind: command, argv: ['true']}}
  broken: {{kind: command, argv: [sh, -c, 'echo no licence >&2; exit 3']}}
  gone: {{kind: command, argv: [no-such-program]}}
  played: {{kind: scripted, script: no-such.yaml}}
"""


def by_name(signs: list[Diagnostic]) -> dict[str, Diagnostic]:
    return {sign.name: sign for sign in signs}


@pytest.mark.slow
@needs_extra("llm", "pydantic_ai")
@needs_extra("acp", "acp")
def test_models_protocols_and_commands_of_the_settings_are_asked_too(
    user_repo: UserRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_repo.write({"burnish.yaml": SETTINGS})
    user_repo.trust()
    with ModelServer(lambda turn: Say("ready")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        said = by_name(probe_signs(user_repo.path))
    assert len(server.turns) == 1
    states = {name: sign.state for name, sign in said.items() if name in SETTINGS}
    fine = dict.fromkeys(("judge", "zed", "robot", "quiet"), "ok")
    assert states == {**fine, "broken": "weak", "gone": "weak"}
    assert all("'ready' in" in said[name].what for name in ("judge", "zed"))
    assert "some-model" in said["judge"].what
    assert "no licence" in said["broken"].what and "by hand: sh -c" in said["broken"].remedy
    assert "no-such-program" in said["gone"].what and "Install no-such-program" in said["gone"].remedy
    assert "answered 'True []'" in said["robot"].what


def test_agents_are_asked_inside_of_bubblewrap(user_repo: UserRepo, hermetic: Path) -> None:
    needs_bubblewrap()
    (hermetic / "private").write_text("mine")
    text = "import os; print(os.listdir(os.environ['HOME']), os.access('.', os.W_OK))"
    entry = f"robot: {{kind: command, argv: ['{sys.executable}', -IS, -c, \"{text}\"]}}"
    user_repo.write({"burnish.yaml": f"agents: {{{entry}}}\nagent: robot\n"})
    user_repo.trust()
    assert "private" not in by_name(probe_signs(user_repo.path))["robot"].what


def test_where_a_sandbox_is_required_and_missing_nobody_is_asked(
    user_repo: UserRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "bwrap").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "bin" / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    marker = tmp_path / "asked"
    entry = f"robot: {{kind: command, argv: [touch, '{marker}']}}"
    user_repo.write({"burnish.yaml": f"agents: {{{entry}}}\n"})
    user_repo.trust()
    monkeypatch.setenv("BURNISH__SANDBOX__MODE", "require")
    sign = by_name(probe_signs(user_repo.path))["robot"]
    assert (sign.state, "Install bubblewrap" in sign.remedy, marker.exists()) == ("weak", True, False)


def test_what_each_needs_is_told_without_asking(user_repo: UserRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    more = """
  named: {kind: llm, model: "anthropic:claude-sonnet-5-5"}
  whose: {kind: llm, model: whose}
  bare: {kind: llm}
  token: {kind: command, argv: ['true'], env: [ROBOT_TOKEN]}
  fast: {kind: codex, model: gpt-6.1-sol}
  local: {kind: command, argv: [tools/robot]}
review: {agents: [{agent: bare, model: "google:gemini-4-argon"}, {agent: llm, model: "openai:gpt-6.1-sol"}]}
"""
    user_repo.write({"burnish.yaml": SETTINGS + more.removeprefix("\n"), "tools/robot": "#!/bin/sh\n"})
    user_repo.trust()
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    found = by_name(configured_signs(user_repo.path, {"OPENAI_API_KEY": "k"}))
    weak = {name: sign.what.rpartition(": ")[2] for name, sign in found.items() if sign.state == "weak"}
    assert weak.pop("local").endswith("tools/robot is not a program that can be started")
    assert weak == {
        "gone": "There is no program called no-such-program on your PATH",
        "judge": "the model 'some-model' says not whose it is",
        "whose": "the model 'whose' says not whose it is",
        "played": "its script is not there",
        "named": "ANTHROPIC_API_KEY is not set",
        "bare": "GEMINI_API_KEY or GOOGLE_API_KEY is not set",
        "token": "ROBOT_TOKEN is not set here",
        "fast": "There is no program called codex on your PATH",
    }
    assert found["llm"].what == "llm openai:gpt-6.1-sol"
    assert all(sign.remedy for sign in found.values() if sign.state == "weak")
    (user_repo.path / "tools" / "robot").chmod(0o755)
    assert by_name(configured_signs(user_repo.path, {}))["local"].state == "ok"
