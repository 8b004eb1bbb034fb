"""doctor --probe asks each installed agent for one word, and tells the remedy where none comes."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from burnish.cli.main import main

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
