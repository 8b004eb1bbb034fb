"""Widgets of one row: fields to filter and to search, and bars of items that can be clicked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

from burnish.tui.lines import one_row, styled


class FilterField(Input):
    """A field that is shown until Enter or Esc. Keys that were typed fast after these belong to the screen."""

    class Closed(Message):
        """What is in the field counts from now on."""

    def __init__(self, *, id: str, placeholder: str, beside: str) -> None:
        super().__init__(id=id, placeholder=placeholder, compact=True)
        # what has the focus when it is closed
        self.beside = beside

    def open(self, text: str) -> None:
        self.add_class("shown")
        self.value = text
        # at once, as in `close`: what is typed next is here already
        self.screen.set_focus(self)

    def close(self) -> None:
        self.remove_class("shown")
        # at once: `focus()` comes after the keys that are typed already
        self.screen.set_focus(self.screen.query_one(self.beside))
        self.post_message(self.Closed())

    async def on_event(self, event: events.Event) -> None:
        """A key that was sent here before the field was closed goes to the screen."""
        if isinstance(event, events.Key) and not self.has_class("shown"):
            self.app.post_message(events.Key(event.key, event.character))
        else:
            await super().on_event(event)

    async def _on_key(self, event: events.Key) -> None:
        # not as bindings: the screen looks these up later, when the next keys are here already
        if event.key in ("enter", "escape"):
            event.stop()
            event.prevent_default()
            self.value = self.value if event.key == "enter" else ""
            self.close()
        else:
            await super()._on_key(event)


class SearchField(FilterField):
    """Searches a page: Enter and ↓ go to the next line with the words, ↑ to the one before. Esc ends it."""

    class Stepped(Message):
        """Another line with the same words is wanted."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    def search_again(self, step: int = 0) -> None:
        """The page has other lines now."""
        if self.has_class("shown"):
            self.post_message(self.Stepped(step))

    async def _on_key(self, event: events.Key) -> None:
        step = {"enter": 1, "down": 1, "up": -1}.get(event.key)
        if step:
            event.stop()
            event.prevent_default()
            self.post_message(self.Stepped(step))


@dataclass(frozen=True, slots=True)
class BarItem:
    """A part of a bar. `action` happens on a click."""

    text: str
    style: str = ""
    action: str = ""


class Bar(Widget):
    """One row of items that can be clicked; what does not fit is left out, from the end. The first one is shortened."""

    def __init__(self, *, id: str, gap: str = "  ") -> None:
        super().__init__(id=id)
        self.items: Sequence[BarItem] = ()
        self.right = ""
        self.gap = gap
        # columns that a long first item leaves to the others
        self.kept = 0

    def show(self, items: Sequence[BarItem], right: str = "") -> None:
        self.items, self.right = items, right
        self.refresh()

    def _visible(self) -> Iterator[tuple[int, BarItem]]:
        at, room = 0, self.size.width
        for item in self.items:
            if not at and cell_len(item.text) > room - self.kept:
                item = replace(item, text=one_row(styled(item.text), max(8, room - self.kept)).plain)
            if at + cell_len(item.text) > room:
                return
            yield at, item
            at += cell_len(item.text) + len(self.gap)

    def render(self) -> Text:
        text, end = styled(""), 0
        for at, item in self._visible():
            text += styled(" " * (at - end)) + styled(item.text, item.style)
            end = at + cell_len(item.text)
        room = self.size.width - end - cell_len(self.right)
        return text + styled(" " * room) + styled(self.right, "dim") if self.right and room >= 2 else text

    async def on_click(self, event: events.Click) -> None:
        for at, item in self._visible():
            if item.action and at <= event.x < at + cell_len(item.text):
                await self.run_action(item.action)
