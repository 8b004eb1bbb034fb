"""The terminal's screens in a test: keys are pressed, and what is drawn is read as text."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from unittest import mock

from textual.pilot import Pilot

from burnish.features.run.detach import ScreenRun
from burnish.runtime import open_reader
from burnish.tui.app import BurnishTui
from burnish.tui.project import ProjectData
from testing.lab import Lab

SNAPSHOTS = Path(__file__).parents[1] / "tests" / "tui" / "snapshots"


class Screen:
    """One screen and the person in front of it."""

    def __init__(self, app: BurnishTui, pilot: Pilot[str]) -> None:
        self.app, self.pilot = app, pilot

    @property
    def text(self) -> str:
        """What is drawn, as text."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def type(self, text: str) -> None:
        """Letters and spaces."""
        await self.press(*("space" if letter == " " else letter for letter in text))

    async def until(self, words: str | Callable[[], object], seconds: float = 60) -> None:
        """Wait until the words are drawn, or until it is true."""
        end = time.monotonic() + seconds
        while not (words in self.text if isinstance(words, str) else words()):
            assert time.monotonic() < end, f"{words!r} did not come; shown:\n{self.text}"
            await self.pilot.pause(0.02)

    async def until_focused(self, id: str) -> None:
        """Wait until a part of the screen has the focus."""
        await self.until(lambda: self.app.focused is not None and self.app.focused.id == id)

    async def matches(self, name: str) -> None:
        """Wait until the screen is as in tests/tui/snapshots; WRITE_SNAPSHOTS=1 writes the file instead."""
        file = SNAPSHOTS / f"{name}.txt"
        if os.environ.get("WRITE_SNAPSHOTS"):
            await self.pilot.pause(1)
            file.write_text(f"{self.text}\n", "utf-8")
        expected = file.read_text("utf-8")
        end = time.monotonic() + 20
        while f"{self.text}\n" != expected:
            assert time.monotonic() < end, f"{file} differs; shown:\n{self.text}"
            await self.pilot.pause(0.05)


def on_screen(
    lab: Lab,
    act: Callable[[Screen], Awaitable[None]],
    *,
    size: tuple[int, int] = (80, 24),
    first: str = "",
    run: ScreenRun | None = None,
) -> BurnishTui:
    """Show the project of a laboratory and act; returns when the screen is closed."""

    async def show() -> BurnishTui:
        data = ProjectData(open_reader(lab.repo.path), lab.repo.path)
        app = BurnishTui(data, data.first_state(), run)
        async with app.run_test(size=size) as pilot:
            screen = Screen(app, pilot)
            await screen.until(lambda: app.board.has_inbox)
            if first:
                await screen.until(first)
            await act(screen)
        return app

    with mock.patch.dict(os.environ, {"TZ": "UTC", **lab.env}):
        time.tzset()
        app = asyncio.run(show())
    time.tzset()
    # the threads that read have ended by now
    app.data.store.close()
    return app
