"""`serve --open`: the browser gets a one-time code, and the token is on no command line and in no environment."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from burnish.web.sessions import CODE_SECONDS, LoginCodes
from testing.at_hand import AtHand, at_hand
from testing.lab import Lab

# A browser that writes down what every process of the machine shows, then stays open, as browsers do.
BROWSER = """#!{python}
import os, pathlib, sys, time
shown = b""
for process in pathlib.Path("/proc").glob("[0-9]*"):
    for name in ("cmdline", "environ"):
        try:
            shown += (process / name).read_bytes() + b"\\n"
        except OSError:
            pass
pathlib.Path("{out}/shown").write_bytes(shown)
pathlib.Path("{out}/environ").write_bytes(pathlib.Path("/proc/self/environ").read_bytes())
pathlib.Path("{out}/url.part").write_text(sys.argv[1])
pathlib.Path("{out}/url.part").rename("{out}/url")
nowhere = os.open(os.devnull, os.O_RDWR)
os.dup2(nowhere, 1)
os.dup2(nowhere, 2)
time.sleep(30)
"""


@contextmanager
def opened(lab: Lab, out: Path, *argv: str, **env: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server that has started its browser, and the URL that the browser was given."""
    script = out / "browser"
    script.write_text(BROWSER.format(python=sys.executable, out=out))
    script.chmod(0o755)
    with lab.spawn("serve", "--port", "0", "--open", *argv, BROWSER=str(script), **env) as process:
        lab.until((out / "url").exists)
        yield process, (out / "url").read_text()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


@pytest.mark.slow
def test_the_token_is_in_no_command_line_and_no_environment_and_the_code_works_once(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path / "lab")
    with opened(lab, tmp_path, "--json") as (process, url):
        assert process.stdout
        text = ""
        while not text.endswith("}\n"):
            text += process.stdout.readline()
        token = json.loads(text)["token"]
        shown = (tmp_path / "shown").read_bytes()
        assert url.encode() in shown, "the stand-in did not see its own command line"
        assert token.encode() not in shown and token not in url
        with httpx.Client(timeout=10) as browser:
            assert browser.get(url).status_code == 200
            assert browser.get(url.partition("/login")[0] + "/inbox").status_code == 200
            # the same browser may open it again; any other one may not
            assert browser.get(url).status_code == 303
        assert httpx.get(url).status_code == 401


@pytest.mark.slow
def test_a_token_from_a_file_or_the_environment_does_not_reach_the_browser(tmp_path: Path) -> None:
    token = "0123456789abcdef-of-my-own"
    file = tmp_path / "token"
    file.write_text(f"{token}\n")
    file.chmod(0o600)
    lab = Lab.make(tmp_path / "lab")
    with opened(lab, tmp_path, "--token-file", str(file)) as (process, url):
        assert process.stdout and token in process.stdout.readline()
        assert token.encode() not in (tmp_path / "shown").read_bytes() and token not in url
    (tmp_path / "url").unlink()
    with opened(lab, tmp_path, BURNISH_SERVE_TOKEN=token) as (process, url):
        assert process.stdout and token in process.stdout.readline()
        assert token.encode() not in (tmp_path / "environ").read_bytes() and token not in url


def test_a_token_file_that_others_can_read_or_that_holds_no_token_is_refused(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path / "lab")
    file = tmp_path / "token"
    file.write_text("0123456789abcdef\n")
    file.chmod(0o644)
    assert "chmod 600" in lab.burnish("serve", "--port", "0", "--token-file", str(file), code=2).err
    file.chmod(0o600)
    file.write_text("")
    assert "is empty" in lab.burnish("serve", "--port", "0", "--token-file", str(file), code=2).err
    file.write_text("short\n")
    assert "too short" in lab.burnish("serve", "--port", "0", "--token-file", str(file), code=2).err
    assert "cannot be read" in lab.burnish("serve", "--port", "0", "--token-file", "/no/such/file", code=2).err


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("argv", [(), ("--json",)])
def test_output_to_a_file_is_there_while_the_server_runs(tmp_path: Path, argv: tuple[str, ...]) -> None:
    lab = Lab.make(tmp_path / "lab")
    words = [sys.executable, "-m", "burnish.cli", "-C", str(lab.repo.path), "serve", "--port", "0", *argv]
    with (tmp_path / "out").open("w") as out, subprocess.Popen(words, stdout=out, stderr=subprocess.PIPE) as process:
        lab.until(lambda: "/login?token=" in (tmp_path / "out").read_text())
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[AtHand]:
    with at_hand(Lab.make(tmp_path / "lab")) as one:
        yield one


@pytest.mark.long
def test_a_code_that_another_program_presented_first_ends_its_session_when_the_browser_comes(server: AtHand) -> None:
    code = server.app.state.login_codes.issue()
    thief = server.client.get(f"/login?code={code}")
    cookie = thief.headers["set-cookie"].partition(";")[0]
    server.client.cookies.clear()
    assert server.client.get("/inbox", headers={"Cookie": cookie}).status_code == 200
    assert server.client.get(f"/login?code={code}").status_code == 401
    assert server.client.get("/inbox", headers={"Cookie": cookie}).status_code == 401


def test_a_code_opens_nothing_but_the_login(server: AtHand) -> None:
    code = server.app.state.login_codes.issue()
    for path in (f"/?code={code}", f"/api/v1/projects?code={code}"):
        assert server.client.get(path).status_code == 401
    assert server.client.get("/api/v1/projects", headers={"Authorization": f"Bearer {code}"}).status_code == 401
    assert server.client.get(f"/login?token={code}").status_code == 401
    for wrong in ("", code[:-1], code + "x", code.swapcase()):
        assert server.client.get("/login", params={"code": wrong}).status_code == 401


def test_a_code_expires_and_is_useless_afterwards() -> None:
    now = [time.monotonic()]
    codes = LoginCodes(lambda: now[0])
    late, ended = codes.issue(), []
    now[0] += CODE_SECONDS
    assert not codes.redeem(late, lambda: "cookie", ended.append)
    used = codes.issue()
    assert codes.redeem(used, lambda: "cookie", ended.append)
    now[0] += CODE_SECONDS
    # a browser that keeps its command line for hours cannot be used to end the session either
    assert not codes.redeem(used, lambda: "cookie", ended.append) and ended == []
