"""`burnish service`: files for systemd and launchd that hold any path."""

from __future__ import annotations

import os
import plistlib
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from burnish.errors import BadInput
from burnish.features.run.service import MARK, launchd_agent, systemd_unit
from testing.lab import Lab

ODD = ["/opt/a b/python", "-C", '/home/ü/50% off/$HOME/it\'s "new"\\x', "run", "--watch", "tab\there", "line\nbreak"]
ENV = {"PATH": "/home/a b/bin:/usr/bin", "BURNISH_HOME": "/x/%h/$y\"z'\\"}


def words_of(line: str) -> list[str]:
    """As systemd.syntax(7) reads a line of double-quoted words."""
    plain = {"n": "\n", "t": "\t", "\\": "\\", '"': '"'}
    words = re.findall(r'"((?:[^"\\]|\\.)*)"', line)
    return [re.sub(r"\\(.)", lambda found: plain[found[1]], word).replace("%%", "%") for word in words]


def test_a_systemd_unit_holds_any_path() -> None:
    unit = systemd_unit("app-1", ODD, ENV, folder=Path("/x"), title="50% \n off")
    lines = dict(line.split("=", 1) for line in unit.text.splitlines() if "=" in line and "Environment" not in line)
    assert lines["ExecStart"].startswith(':/usr/bin/env "') and words_of(lines["ExecStart"]) == ODD
    variables = [words_of(line)[0] for line in unit.text.splitlines() if line.startswith("Environment=")]
    assert dict(word.split("=", 1) for word in variables) == ENV
    assert lines["Description"] == "burnish run --watch of 50%% off"
    assert unit.path == Path("/x/burnish-app-1.service") and "enable --now burnish-app-1.service" in unit.enable


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd-analyze")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    unit = systemd_unit("app-1", ODD, ENV, folder=tmp_path, title="50% off")
    env = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}

    def verify(text: str) -> subprocess.CompletedProcess[str]:
        unit.path.write_text(text)
        argv = ["systemd-analyze", "--user", "verify", str(unit.path)]
        return subprocess.run(argv, env=env, capture_output=True, text=True, check=False)

    result = verify(unit.text)
    assert (result.returncode, unit.path.name in result.stderr) == (0, False), result.stderr
    # it does look
    assert "Unbalanced quoting" in verify(unit.text.replace('--watch"', "--watch")).stderr


def test_a_launchd_agent_holds_any_path() -> None:
    agent = launchd_agent("app-1", ODD, ENV, home=Path("/Users/a b"), log=Path("/log & <co>"))
    content = plistlib.loads(agent.text.encode())
    assert (content["ProgramArguments"], content["EnvironmentVariables"]) == (ODD, ENV)
    assert content["StandardOutPath"] == "/log & <co>" and content["KeepAlive"] == {"Crashed": True}
    assert shlex.split(agent.enable)[-1] == "/Users/a b/Library/LaunchAgents/burnish.app-1.plist"


@pytest.mark.parametrize("word", ["a\x00b", "a\x1bb", os.fsdecode(b"a\xff")])
def test_what_no_service_file_can_hold_is_refused(word: str) -> None:
    with pytest.raises(BadInput, match="cannot contain"):
        systemd_unit("app-1", [word], {}, folder=Path("/x"), title="x")
    with pytest.raises(BadInput, match="cannot contain"):
        launchd_agent("app-1", [word], {}, home=Path("/x"), log=Path("/x"))


def test_a_service_is_printed_installed_and_removed(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    lab.env["XDG_CONFIG_HOME"] = str(tmp_path / "conf")
    # the settings of the test are below HOME
    lab.env["PATH"] = f"bin:{os.environ['PATH']}"
    printed = lab.burnish("service", "--kind", "systemd", "-j", "3", "--budget", "2.5")
    assert printed.out.startswith(f"# {MARK}\n[Unit]\n") and '"-j" "3" "--budget" "2.5"' in printed.out
    assert '"--pulls" "60"' in lab.burnish("service", "--kind", "systemd", "--pulls", "60").out
    assert "cannot be combined" in lab.burnish("service", "--board", "--pulls", "60", code=2).err
    assert str(lab.repo.path) in printed.out and "PATH=/" in printed.out and not (tmp_path / "conf/systemd").exists()
    answer = lab.burnish("service", "--install", "--kind", "systemd", "--json").json
    path = Path(answer["path"])
    assert path.read_text() == answer["text"] and path.parent == tmp_path / "conf/systemd/user"
    assert "systemctl --user enable --now burnish-" in answer["command"]
    link = path.parent / "default.target.wants" / path.name
    link.parent.mkdir()
    link.symlink_to(path)
    lab.burnish("service", "--install", "--kind", "systemd")
    assert "Removed" in lab.burnish("service", "--remove", "--kind", "systemd").out
    assert not path.exists() and not link.is_symlink()
    assert "Not installed" in lab.burnish("service", "--remove", "--kind", "systemd").out
    path.write_text("[Unit]\n")
    for way in ("--install", "--remove"):
        assert "was not written by burnish" in lab.burnish("service", way, "--kind", "systemd", code=4).err
    assert path.read_text() == "[Unit]\n"


def test_no_service_is_installed_for_a_checkout_that_is_not_trusted(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    lab.burnish("untrust")
    assert "is not trusted" in lab.burnish("service", "--install", "--kind", "systemd", code=4).err
    assert "not a kind" in lab.burnish("service", "--kind", "cron", code=2).err


def test_a_service_for_the_board_has_its_token_in_a_file_and_in_no_log(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    token = tmp_path / "token"
    token.write_text("a1" * 20 + "\n")
    token.chmod(0o600)
    argv = ["service", "--board", "--token-file", str(token), "-j", "2", "--budget", "3"]
    unit = lab.burnish(*argv, "--kind", "systemd").out
    assert f'"serve" "--auto" "-j" "2" "--budget" "3" "--port" "4270" "--token-file" "{token}"' in unit
    assert "StandardOutput=null\n" in unit and "a1a1" not in unit
    content = plistlib.loads(lab.burnish(*argv, "--port", "4271", "--kind", "launchd").out.encode())
    assert content["StandardOutPath"] == "/dev/null" and "4271" in content["ProgramArguments"]
    assert "--board needs --token-file" in lab.burnish("service", "--board", code=2).err
    assert "need --board" in lab.burnish("service", "--port", "4271", code=2).err
    token.chmod(0o644)
    assert "can be read by other users" in lab.burnish(*argv, code=2).err


def test_serve_has_a_budget_only_for_auto(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    assert "--budget needs --auto" in lab.burnish("serve", "--budget", "3", code=2).err
