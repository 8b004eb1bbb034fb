"""Notifies when a task stops or a run ends: which events, the messages, the channels, and the sending thread."""

from __future__ import annotations

import html
import json
import os
import queue
import sys
import threading
import time as clock
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote

from burnish.core.cost import joint_source, short_cost
from burnish.core.event import RecordedEvent
from burnish.core.journal import read
from burnish.core.journal_events import TaskStatus
from burnish.core.quiet_hours import is_quiet
from burnish.core.status import Reason, Status
from burnish.core.task import Task
from burnish.errors import BurnishError
from burnish.proc.capture import capture
from burnish.proc.own_programs import find_own_program

# -- message --------------------------------------------------------------------------------------
# Decides which events are notified, and writes the messages. Pure.

# reasons that come from the review
REVIEW_FAILED = frozenset(
    {
        Reason.MAX_CYCLES,
        Reason.NEEDS_DISCUSSION,
        Reason.STALLED,
        Reason.UNREADABLE_REVIEW,
        Reason.INCOMPLETE_REVIEW,
        Reason.GUARD,
    }
)
REJECTED = frozenset({Reason.REJECTED, Reason.HUMAN_REJECTED})
WORTH = {
    Status.BLOCKED: "blocked",
    Status.VERIFIED: "approved",
    Status.WAITING_APPROVAL: "waiting_approval",
    Status.FAILED: "failed",
}
MAX_LENGTH = 300


@dataclass(frozen=True, slots=True)
class MessageButton:
    """Posts JSON to an address when the person presses it."""

    label: str
    url: str
    body: str


@dataclass(frozen=True, slots=True)
class Message:
    title: str
    body: str
    # success has another sound
    good: bool = False
    # only ntfy shows them
    buttons: tuple[MessageButton, ...] = ()


def message_for(task: Task, event: RecordedEvent, on: tuple[str, ...]) -> Message | None:
    """The message for an event that stopped a task; None if the user did not ask for it."""
    if event.type != "task.status":
        return None
    move = read(TaskStatus, event.data)
    status = Status(move.to)
    if WORTH.get(status) not in on:
        return None
    title, lead = _words(status, move, event.cycle)
    note = _plain(move.note)
    what = f"{lead}: {note}" if lead and note else lead or note
    body = f"{what}\nburnish show {task.id}".strip()
    return Message(f"{title}: {_plain(task.spec.title, 120)}", body, good=status is Status.VERIFIED)


RUN_FINISHED = "run_finished"


def message_for_run(tasks: Sequence[Task], usd: float, on: tuple[str, ...]) -> Message | None:
    """The message for the end of a run with `--watch`; None if it ran nothing or the user did not ask for it."""
    if not tasks or RUN_FINISHED not in on:
        return None
    states = [task.status for task in tasks]
    parts = [f"{states.count(status)} {status.replace('_', ' ')}" for status in Status if status in states]
    cost = short_cost(usd, joint_source(task.cost_source for task in tasks))
    needs_person = sum(status in _NEEDS_PERSON for status in states)
    last = f"\n{_many(needs_person, 'task')} need{'s' * (needs_person == 1)} you: burnish inbox" if needs_person else ""
    body = f"{', '.join(parts)}{f'; {cost}' if cost else ''}{last}"
    return Message(f"Run Finished: {_many(len(tasks), 'task')}", body, good=not needs_person)


_NEEDS_PERSON = (Status.BLOCKED, Status.WAITING_APPROVAL, Status.FAILED)


def _many(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _words(status: Status, move: TaskStatus, cycle: int) -> tuple[str, str]:
    if status is Status.FAILED:
        return "Task Failed", move.error or ""
    if status is Status.WAITING_APPROVAL:
        return "Approval Needed", ""
    if status is Status.VERIFIED:
        cycles = max(cycle, 1)
        return "Review Approved", f"Approved after {cycles} cycle{'s' * (cycles != 1)}"
    if move.reason in REJECTED:
        return "Review Rejected", "Blocking issue found"
    if move.reason == Reason.MAX_CYCLES:
        tries = max(cycle, 1)
        return "Review Failed", f"Task needs human review after {tries} attempt{'s' * (tries != 1)}"
    return ("Review Failed" if move.reason in REVIEW_FAILED else "Task Blocked"), "Task needs a person"


def _plain(text: str, longest: int = MAX_LENGTH) -> str:
    """One line without control characters, which some receivers interpret."""
    visible = "".join(c if unicodedata.category(c)[0] != "C" else " " for c in text)
    line = " ".join(visible.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


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
    address = _with_buttons(apprise, address, message.buttons)
    kind = apprise.NotifyType.SUCCESS if message.good else apprise.NotifyType.WARNING
    return bool(service.add(address) and service.notify(title=message.title, body=message.body, notify_type=kind))


def _with_buttons(apprise: Any, address: str, buttons: Sequence[MessageButton]) -> str:
    """The address with the buttons, if it is an ntfy server of the user's own: the public one must not get codes."""
    if not buttons or not address.startswith(("ntfy://", "ntfys://")):
        return address
    plugin = apprise.Apprise.instantiate(address, suppress_exceptions=True)
    if getattr(plugin, "mode", "") != "private" or getattr(plugin, "host", "").lower().endswith("ntfy.sh"):
        return address
    actions = [
        {
            "action": "http",
            "label": button.label,
            "url": button.url,
            "method": "POST",
            "headers": {"Content-Type": "application/json"},
            "body": button.body,
            "clear": True,
        }
        for button in buttons
    ]
    # quoted twice: Apprise unquotes this parameter twice
    words = quote(quote(json.dumps(actions), safe=""), safe="")
    return f"{address}{'&' if '?' in address else '?'}actions={words}"


# -- notifier -------------------------------------------------------------------------------------
# Sends notifications in a separate thread, so that they cannot delay or fail a task.

# seconds to send one message, and to wait for pending ones at the end of a run
ONE, PATIENCE = 8.0, 10.0


class Notifier:
    """Sends a message for each event that the user asked for; calls `on_failure` if that fails."""

    def __init__(
        self,
        channels: Sequence[Channel],
        *,
        on: tuple[str, ...],
        quiet_hours: str | None,
        on_failure: Callable[[Task, str], None],
        now: Callable[[], datetime] = datetime.now,
        buttons: Callable[[Task, RecordedEvent], tuple[MessageButton, ...]] = lambda task, event: (),
    ) -> None:
        self.channels, self.on, self.quiet_hours = tuple(channels), on, quiet_hours
        self.on_failure, self.now, self.buttons = on_failure, now, buttons
        self.waiting: queue.SimpleQueue[tuple[Task, Message] | None] = queue.SimpleQueue()
        self.thread: threading.Thread | None = None
        self.last: Task | None = None

    def event(self, task: Task, event: RecordedEvent) -> None:
        """Queue a message for the event, if it is to be notified. Does not block."""
        message = message_for(task, event, self.on) if self.channels else None
        if message and not is_quiet(self.now().time(), self.quiet_hours):
            message = replace(message, buttons=self.buttons(task, event))
        self._put(task, message)

    def run_finished(self, tasks: Sequence[Task], usd: float) -> None:
        """Queue a message about all tasks of a run that has ended, and what they cost in it."""
        if tasks and self.channels:
            self._put(tasks[-1], message_for_run(tasks, usd, self.on))

    def _put(self, task: Task, message: Message | None) -> None:
        if message is None or is_quiet(self.now().time(), self.quiet_hours):
            return
        if self.thread is None:
            # a daemon thread, so that a receiver that hangs does not keep burnish running
            self.thread = threading.Thread(target=self._work, name="notifier", daemon=True)
            self.thread.start()
        self.waiting.put((task, message))

    def close(self, patience: float = PATIENCE) -> None:
        """Wait for pending messages, at most `patience` seconds."""
        if self.thread is None:
            return
        self.waiting.put(None)
        self.thread.join(patience)
        if self.thread.is_alive() and self.last is not None:
            self.on_failure(self.last, f"not delivered within {patience:g} seconds")

    def _work(self) -> None:
        while (entry := self.waiting.get()) is not None:
            task, message = entry
            self.last = task
            for why in _all(self.channels, message):
                self.on_failure(task, why)


def _all(channels: Sequence[Channel], message: Message) -> list[str]:
    """Send in parallel, so that a receiver that hangs does not delay the others; returns the errors."""
    results: list[str] = []
    threads = [
        threading.Thread(target=lambda channel=channel: results.append(channel(message)), daemon=True)
        for channel in channels
    ]
    for thread in threads:
        thread.start()
    end = clock.monotonic() + ONE
    for thread in threads:
        thread.join(max(0.0, end - clock.monotonic()))
    hung = sum(thread.is_alive() for thread in threads)
    return [why for why in list(results) if why] + [f"no answer within {ONE:g} seconds"] * hung
