"""The ways to a person, each with a stand-in for the program behind it."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from rich.console import Console
from rich.file_proxy import FileProxy

from burnish.notify.notifier import Message, bell, desktop, url

HOSTILE = Message('Review Failed: "; do shell script "touch /tmp/x', "-e <b>a</b> & b\nburnish show 1")


def stand_in(folder: Path, name: str) -> tuple[dict[str, str], Path]:
    log = folder / "argv.json"
    program = folder / name
    program.write_text(f"#!{sys.executable} -IS\nimport json, sys\njson.dump(sys.argv[1:], open({str(log)!r}, 'w'))\n")
    program.chmod(0o755)
    return {"PATH": str(folder), "DISPLAY": ":0"}, log


def test_on_a_mac_the_words_are_arguments_and_never_part_of_the_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env, log = stand_in(tmp_path, "osascript")
    monkeypatch.setattr(sys, "platform", "darwin")
    way = desktop(env, None)
    assert way and way(HOSTILE) == ""
    flag, script, *words = json.loads(log.read_text())
    assert flag == "-e" and words == [HOSTILE.title, HOSTILE.body, "Basso"]
    assert "shell" not in script and "item 1 of argv" in script


@pytest.mark.parametrize(
    ("sound", "hint"),
    [
        (None, "string:sound-name:dialog-warning"),
        ("bell", "string:sound-name:bell"),
        ("/a/b.oga", "string:sound-file:/a/b.oga"),
    ],
)
def test_on_linux_words_are_no_options_and_no_markup_and_the_sound_is_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sound: str | None, hint: str
) -> None:
    env, log = stand_in(tmp_path, "notify-send")
    monkeypatch.setattr(sys, "platform", "linux")
    way = desktop(env, sound)
    assert way and way(HOSTILE) == ""
    words = json.loads(log.read_text())
    assert words[-3:] == ["--", HOSTILE.title, "-e &lt;b&gt;a&lt;/b&gt; &amp; b\nburnish show 1"]
    assert f"--hint={hint}" in words


def test_where_there_is_no_desktop_there_is_no_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env, _ = stand_in(tmp_path, "notify-send")
    monkeypatch.setattr(sys, "platform", "linux")
    assert desktop({"PATH": env["PATH"]}, None) is None


def test_a_url_that_cannot_be_reached_is_named_by_its_kind_alone() -> None:
    why = url("json://user:t0ken@127.0.0.1:1/x")(Message("a", "b"))
    assert why.startswith("json://") and "t0ken" not in why


def test_the_bell_makes_no_line_on_a_screen_that_is_being_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", FileProxy(Console(file=terminal), terminal))
    ring = bell()
    assert ring is not None and ring(Message("t", "b")) == ""
    assert terminal.getvalue() == "\a"
