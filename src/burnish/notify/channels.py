"""Notification channels. Each sends a message and returns the error, or "" on success. Channels never raise."""

from __future__ import annotations

import html
import os
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from burnish.errors import BurnishError
from burnish.notify.message import Message
from burnish.proc.capture import capture
from burnish.proc.own_programs import find_own_program

Channel = Callable[[Message], str]

SECONDS = 5.0
SOUND, GOOD_SOUND = "dialog-warning", "complete"
MAC_SOUND, GOOD_MAC_SOUND = "Basso", "Glass"
# texts are passed as arguments, never as part of the script
SCRIPT = """on run argv
display notification (item 2 of argv) with title (item 1 of argv) sound name (item 3 of argv)
end run"""


def bell() -> Channel | None:
    """The terminal bell; None if stderr is not a terminal."""
    # the terminal itself: rich would print the bell as a line
    stream = getattr(sys.stderr, "rich_proxied_file", sys.stderr)
    if not stream.isatty():
        return None

    def ring(message: Message) -> str:
        try:
            stream.write("\a")
            stream.flush()
        except (OSError, ValueError) as error:
            return f"the terminal bell: {error}"
        return ""

    return ring


def desktop(env: Mapping[str, str], sound: str | None) -> Channel | None:
    """The first channel that this desktop supports; None without a desktop."""
    path = env.get("PATH", os.defpath)
    if sys.platform == "darwin" and (program := find_own_program("osascript", path)):
        return _program("osascript", env, lambda m: _osascript(program, m, sound))
    if not any(env.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS")):
        return None
    if send := find_own_program("notify-send", path):
        return _program("notify-send", env, lambda m: _notify_send(send, m, sound))
    return _library(sound)


def _notify_send(program: str, message: Message, sound: str | None) -> list[str]:
    name = sound or (GOOD_SOUND if message.good else SOUND)
    hint = f"string:sound-file:{name}" if Path(name).is_absolute() else f"string:sound-name:{name}"
    urgency = "normal" if message.good else "critical"
    # notify-send interprets markup in bodies
    words = [message.title, html.escape(message.body, quote=False)]
    return [program, "--app-name=burnish", f"--urgency={urgency}", f"--hint={hint}", "--", *words]


def _osascript(program: str, message: Message, sound: str | None) -> list[str]:
    name = sound or (GOOD_MAC_SOUND if message.good else MAC_SOUND)
    return [program, "-e", SCRIPT, message.title, message.body, name]


def _program(name: str, env: Mapping[str, str], argv: Callable[[Message], list[str]]) -> Channel:
    def send(message: Message) -> str:
        try:
            result = capture(argv(message), cwd=Path("/"), env=env, timeout=SECONDS)
        except (BurnishError, OSError) as error:
            return f"{name}: {error}"
        first_line = result.stderr.decode(errors="replace").strip().split("\n")[0]
        return f"{name} ended with exit code {result.exit_code}: {first_line[:200]}" if result.exit_code else ""

    return send


def _library(sound: str | None) -> Channel | None:
    try:
        desktop_notifier = import_module("desktop_notifier")
    except ImportError:
        return None

    def send(message: Message) -> str:
        import asyncio

        notifier = desktop_notifier.DesktopNotifier(app_name="burnish")
        ring = desktop_notifier.Sound(path=Path(sound)) if sound and Path(sound).is_absolute() else None
        tone = ring or desktop_notifier.DEFAULT_SOUND
        try:
            asyncio.run(asyncio.wait_for(notifier.send(message.title, message.body, sound=tone), SECONDS))
        except Exception as error:
            # a third-party library with unknown exceptions, which must not reach the task
            return f"desktop-notifier: {type(error).__name__}"
        return ""

    return send


def url(address: str) -> Channel:
    """One Apprise URL. It contains a token, so that messages only show its scheme."""
    kind = address.partition(":")[0][:20] + "://"

    def send(message: Message) -> str:
        try:
            apprise = import_module("apprise")
        except ImportError:
            return f"{kind} needs Apprise: pip install 'burnish[notify]'"
        try:
            return "" if _notify_apprise(apprise, address, message) else f"{kind} was not delivered"
        except Exception as error:
            # third-party plugins, as above
            return f"{kind} failed: {type(error).__name__}"

    return send


def _notify_apprise(apprise: Any, address: str, message: Message) -> bool:
    service = apprise.Apprise()
    kind = apprise.NotifyType.SUCCESS if message.good else apprise.NotifyType.WARNING
    return bool(service.add(address) and service.notify(title=message.title, body=message.body, notify_type=kind))
