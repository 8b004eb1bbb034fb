"""Notifications of a real run, sent to stand-in programs and to a receiver on loopback."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import pty
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from testing.lab import APPROVE, REJECT, Lab

pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="the stand-in is Linux's notify-send")


def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str = "") -> Path:
    """A `notify-send` that writes down what it was told."""
    folder, log = tmp_path / "programs", tmp_path / "told.jsonl"
    folder.mkdir()
    program = folder / "notify-send"
    text = f"import json, sys\nopen({str(log)!r}, 'a').write(json.dumps(sys.argv[1:]) + '\\n')\n{body}\n"
    program.write_text(f"#!{sys.executable} -IS\n{text}")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
    return log


def lab_for(tmp_path: Path, judge: str, notify: str = "{}") -> Lab:
    lab = Lab.make(tmp_path, judge=judge)
    lab.user_settings(f"notify: {notify}\n")
    lab.env.pop("BURNISH__NOTIFY__DESKTOP")
    lab.add("Add <division>", "--max-cycles", "1")
    return lab


def told(log: Path) -> list[list[str]]:
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def test_a_blocked_task_is_told_on_the_desktop_with_a_sound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = stand_in(tmp_path, monkeypatch)
    lab = lab_for(tmp_path, REJECT)
    lab.burnish("run", code=1)
    (words,) = told(log)
    assert words[-2] == "Review Failed: Add <division>"
    assert words[-1].startswith("Task needs human review after 1 attempt") and "burnish show 1" in words[-1]
    assert any(word.startswith("--hint=string:sound-name:") for word in words)
    assert lab.events("notify.failed") == []


@pytest.mark.slow
def test_a_rejected_task_has_its_own_title_and_an_approved_one_is_told_if_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = stand_in(tmp_path, monkeypatch)
    lab = lab_for(tmp_path, 'print(verdict("rejected", "wrong altogether", [flaw]))', "{on: [blocked, approved]}")
    lab.burnish("run", code=1)
    lab.agent("judge", APPROVE)
    lab.add("Second")
    lab.burnish("run", "2")
    assert [words[-2] for words in told(log)] == ["Review Rejected: Add <division>", "Review Approved: Second"]


@pytest.mark.slow
def test_what_is_not_wanted_and_what_falls_into_quiet_hours_is_not_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = stand_in(tmp_path, monkeypatch)
    lab = lab_for(tmp_path, REJECT, "{quiet_hours: '00:00-00:00', urls: ['json://127.0.0.1:9']}")
    lab.burnish("run", code=1)
    lab.user_settings("notify: {desktop: false}\n")
    lab.add("Second", "--max-cycles", "1")
    lab.burnish("run", "2", code=1)
    assert told(log) == [] and lab.events("notify.failed") == []


def test_a_notifier_that_fails_is_on_record_and_the_task_is_none_the_worse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, monkeypatch, "sys.exit('no such bus')")
    lab = lab_for(tmp_path, APPROVE, "{on: [approved]}")
    said = lab.burnish("run")
    assert lab.task()["status"] == "verified" and "no such bus" in said.err
    (failed,) = lab.events("notify.failed")
    assert failed["task"] == "1" and "notify-send ended with exit code 1: no such bus" in failed["data"]["why"]


@pytest.mark.slow
def test_a_notifier_that_hangs_holds_up_no_task_and_the_run_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, monkeypatch, "import time; time.sleep(60)")
    lab = lab_for(tmp_path, APPROVE, "{on: [approved]}")
    start = time.monotonic()
    lab.burnish("run")
    assert time.monotonic() - start < 30
    assert "did not finish within 5 seconds" in lab.events("notify.failed")[0]["data"]["why"]


@pytest.mark.slow
@pytest.mark.parametrize("wanted", [True, False])
def test_the_bell_rings_on_a_terminal_and_only_if_wanted(tmp_path: Path, wanted: bool) -> None:
    lab = Lab.make(tmp_path, judge=REJECT)
    lab.user_settings(f"notify: {{bell: {str(wanted).lower()}}}\n")
    lab.add("Add division", "--max-cycles", "1")
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "burnish.cli", "-C", str(lab.repo.path), "--plain", "run"]
    with subprocess.Popen(words, env={**os.environ, **lab.env}, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        heard = b""
        # a terminal whose other end is closed says so by an error
        with contextlib.suppress(OSError):
            while piece := os.read(ours, 4096):
                heard += piece
    os.close(ours)
    assert process.returncode == 1
    assert (b"\a" in heard) is wanted


def test_a_machine_without_a_desktop_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS"):
        monkeypatch.delenv(name, raising=False)
    lab = lab_for(tmp_path, REJECT)
    lab.burnish("run", code=1)
    assert lab.events("notify.failed") == []


@pytest.mark.slow
def test_without_apprise_a_url_is_a_failure_that_says_what_to_install_and_no_token(tmp_path: Path) -> None:
    lab = lab_for(tmp_path, REJECT, "{urls: ['json://user:t0ken-of-mine@127.0.0.1:9/x']}")
    lab.burnish("run", code=1)
    (failed,) = lab.events("notify.failed")
    assert failed["data"]["why"].startswith("json://") and "t0ken" not in json.dumps(failed)


class _Receiver(http.server.BaseHTTPRequestHandler):
    heard: list[dict[str, Any]]

    def do_POST(self) -> None:
        self.heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Silence."""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_an_apprise_url_is_told_the_same_words(tmp_path: Path) -> None:
    pytest.importorskip("apprise")
    _Receiver.heard = []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Receiver) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        lab = lab_for(tmp_path, REJECT, f"{{urls: ['json://127.0.0.1:{server.server_port}/hook']}}")
        lab.burnish("run", code=1)
        server.shutdown()
    (heard,) = _Receiver.heard
    assert heard["title"] == "Review Failed: Add <division>" and "burnish show 1" in heard["message"]
    assert lab.events("notify.failed") == []


@pytest.mark.slow
def test_the_end_of_a_run_that_watched_is_notified_with_its_results_and_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = stand_in(tmp_path, monkeypatch)
    lab = lab_for(tmp_path, REJECT)
    with lab.start("run", "--watch") as run:
        lab.until(lambda: lab.task()["status"] == "blocked")
        lab.burnish("stop")
        run.communicate(timeout=60)
    assert [words[-2:] for words in told(log)][1:] == [
        ["Run Finished: 1 task", "1 blocked; cost unknown\n1 task needs you: burnish inbox"]
    ]
