"""Widgets of lines: text that scrolls, and a list to choose from. Text is never read as markup."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import Binding
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from burnish.core.text_encoding import escape_invisible
from burnish.sanitize import terminal_text
from burnish.tui.markdown import markdown_lines

# a longer line is cut: most are generated
MAX_LINE_LENGTH = 2_000
# faint text on the colour of text cannot be read
_REVERSE = Style(reverse=True, dim=False)
# words that are searched for: in the line that was gone to, which is in reverse, they stand out by not being so
_FOUND, _FOUND_HERE = _REVERSE, Style(reverse=False, bold=True, underline=True)


def plain(text: str) -> str:
    """On one line, without control characters."""
    return " ".join(terminal_text(text).split())


def message_line(text: str) -> str:
    """On one line as in `plain`, but with its spaces: a message may be about them."""
    return terminal_text(text).replace("\t", " ").replace("\n", " ")


def verbatim(line: str) -> str:
    """A line of a file or of output: what cannot be seen as its code, tabs as spaces, at most so long."""
    if not (line.isascii() and line.isprintable()):
        line = terminal_text(escape_invisible(line.replace("\t", "    ")))
    if len(line) > MAX_LINE_LENGTH:
        return f"{line[:MAX_LINE_LENGTH]}… {len(line) - MAX_LINE_LENGTH:,} more characters in this line"
    return line


def styled(text: str, style: str = "") -> Text:
    """Text in one style, which does not extend to what is added later."""
    return Text(end="", no_wrap=True).append(text, style or None)


@dataclass(frozen=True, slots=True)
class ShownLine:
    """One line before it is wrapped. `lead` stays at the left, and is blank beside the further rows."""

    text: Text
    lead: Text = field(default_factory=lambda: styled(""))
    # what it stands for: a task, a finding, a file; "" for nothing
    key: str = ""
    # code is cut at the edge, prose between words
    is_code: bool = False

    def rows(self, width: int) -> Iterator[Text]:
        room = max(8, width - self.lead.cell_len)
        if self.text.cell_len <= room:
            yield _joined(self.lead, self.text)
            return
        parts = _cut(self.text, room) if self.is_code else _wrap(self.text, room)
        blank = styled(" " * self.lead.cell_len)
        for number, part in enumerate(parts):
            yield _joined(blank if number else self.lead, part)


def prose(text: str, style: str = "", *, indent: int = 0, is_verbatim: bool = False) -> list[ShownLine]:
    """Text that people or agents wrote, line by line; with `is_verbatim` it is not read as Markdown."""
    lines = terminal_text(text).expandtabs(4).rstrip().split("\n") if text.strip() else []
    lead = styled(" " * indent)
    lines = [line.rstrip()[:MAX_LINE_LENGTH] for line in lines]
    texts = (styled(line, style) for line in lines) if is_verbatim else markdown_lines(lines, style)
    return [ShownLine(one, lead) for one in texts]


def _joined(lead: Text, text: Text) -> Text:
    row = lead + text if lead.plain else text
    row.end = ""
    return row


def _cut(text: Text, room: int) -> list[Text]:
    offsets, at = [], 0
    for part in chop_cells(text.plain, room)[:-1]:
        at += len(part)
        offsets.append(at)
    return list(text.divide(offsets))


def _wrap(text: Text, room: int) -> list[Text]:
    """At spaces; a word that is too long is cut. Further rows are indented as the first one."""
    words = text.plain
    indent = min(len(words) - len(words.lstrip(" ")), room // 2)
    offsets, start, columns, last_space = [], 0, 0, -1
    for at, char in enumerate(words):
        width = cell_len(char)
        if columns + width > room and at > start:
            cut = last_space + 1 if last_space >= start and words[start : last_space + 1].strip() else at
            offsets.append(cut)
            columns = indent + cell_len(words[cut:at])
            start = cut
        columns += width
        if char == " ":
            last_space = at
    parts = list(text.divide(offsets))
    blank = styled(" " * indent)
    rows = [parts[0], *(_joined(blank, part) for part in parts[1:])] if indent else parts
    for row in rows:
        row.rstrip()
    return rows


class LineView(ScrollView, can_focus=True):
    """Lines that are wrapped to the width. What is appended is followed while the end is shown."""

    BINDINGS = [  # noqa: RUF012 - as textual has it
        Binding("j", "scroll_down", show=False),
        Binding("k", "scroll_up", show=False),
        Binding("space", "page_down", show=False),
    ]

    class Pressed(Message):
        """A line with a key was clicked."""

        def __init__(self, view: LineView, key: str) -> None:
            super().__init__()
            self.view, self.key = view, key

        @property
        def control(self) -> LineView:
            return self.view

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.lines: list[ShownLine] = []
        # rows of the screen: each with the number of its line
        self._rows: list[tuple[int, Text]] = []
        self._width = 0
        self.build: Callable[[int], Sequence[ShownLine]] | None = None
        # the end is shown, and stays so when lines or the size change
        self._follows = False
        # the line that was jumped to: it is marked, and near the end of the page it cannot be at the top
        self.place: int | None = None
        # the words that are searched for, which are marked
        self._searched: re.Pattern[str] | None = None

    # what it shows

    def show(self, lines: Iterable[ShownLine], *, at_end: bool = False) -> None:
        """Other lines; the place stays the same if it can."""
        self.build, self._follows = None, at_end
        self._set(list(lines))
        self._keep_end()

    def show_fitted(self, build: Callable[[int], Sequence[ShownLine]]) -> None:
        """Lines that are made for the width, again for each one."""
        self.build = build
        self._set(list(build(self._room)))

    def append(self, lines: Iterable[ShownLine], *, most: int) -> None:
        """More lines at the end; the first ones go if there are more than `most`."""
        first = len(self.lines)
        self._follows = self._follows or not first
        self.lines += lines
        if len(self.lines) > most:
            self._set(self.lines[-most:])
        else:
            self._rows += self._wrapped(first)
            self._fit()
        self._keep_end()

    def _keep_end(self) -> None:
        if self._follows:
            # by force: the scrollbar, which it asks for otherwise, comes with the next layout
            self.scroll_end(animate=False, immediate=True, force=True)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self.place = None
        if new_value < old_value:
            self._follows = False
        elif self.build is None and new_value > 0 and self.is_vertical_scroll_end:
            self._follows = True

    def top_line(self) -> int:
        """The number of the line at the top of the screen."""
        row = round(self.scroll_y)
        return self._rows[row][0] if row < len(self._rows) else 0

    def reading_place(self) -> tuple[str, int]:
        """The key of the part that is at the top of the screen, and how many rows of it are above; "" for none."""
        top = round(self.scroll_y)
        rows = range(min(top, len(self._rows) - 1), -1, -1)
        first = next((row for row in rows if self.lines[self._rows[row][0]].key), None)
        return (self.lines[self._rows[first][0]].key, top - first) if first is not None else ("", 0)

    def place_key(self) -> tuple[str, int]:
        """The key of the part in which the marked line is, and how many lines of it are above."""
        place = self.top_line() if self.place is None else self.place
        numbers = range(min(place, len(self.lines) - 1), -1, -1)
        first = next((number for number in numbers if self.lines[number].key), 0)
        return (self.lines[first].key if self.lines else "", place - first)

    def line_of(self, key: str, offset: int) -> int:
        """The number of the line that is so far below the one with this key."""
        return next((number for number, line in enumerate(self.lines) if line.key == key), 0) + offset

    def return_to(self, key: str, rows: int) -> None:
        """Put the same part at the top again, if lines above it have come or gone."""
        first = next((row for row, (line, _) in enumerate(self._rows) if self.lines[line].key == key), None)
        if first is None:
            return
        following = (
            row for row in range(first + 1, len(self._rows)) if self.lines[self._rows[row][0]].key not in ("", key)
        )
        row = min(first + rows, next(following, len(self._rows)) - 1)
        place = self.place
        self.scroll_to(y=row, animate=False, immediate=True, force=True)
        self.place = place

    def jump(self, number: int) -> None:
        """Put this line at the top."""
        row = next((at for at, (line, _) in enumerate(self._rows) if line >= number), 0)
        # by force, as in `_keep_end`: a page that was just drawn has no scrollbar yet
        self.scroll_to(y=row, animate=False, immediate=True, force=True)

    def next_key(self, step: int, prefix: str) -> str:
        """Jump to the next line whose key begins so; its key, or "" if it is the last one."""
        at = self.top_line() if self.place is None else self.place
        if step > 0 and self.place is None and not at and not self.scroll_y:
            # nothing was jumped to yet: the first line counts, too
            at = -1
        numbers = [n for n, line in enumerate(self.lines) if line.key.startswith(prefix)]
        following = [n for n in numbers if n > at] if step > 0 else [n for n in reversed(numbers) if n < at]
        if not following:
            return ""
        self.go_to(following[0])
        return self.lines[following[0]].key

    def find(self, words: str, step: int, first: int) -> tuple[int, int]:
        """Go to a line with the words: from `first` on, or the next or the one before; which of how many it is."""
        self._searched = re.compile(re.escape(words), re.IGNORECASE) if words else None
        self.refresh()
        words = words.casefold()
        numbers = [n for n, line in enumerate(self.lines) if words in f"{line.lead}{line.text}".casefold()]
        if not numbers or not words:
            return 0, 0
        at = first - 1 if not step or self.place is None else self.place
        if step < 0:
            number = next((n for n in reversed(numbers) if n < at), numbers[-1])
        else:
            number = next((n for n in numbers if n > at), numbers[0])
        self.go_to(number)
        return numbers.index(number) + 1, len(numbers)

    def end_search(self) -> None:
        self._searched = None
        self.refresh()

    def go_to(self, number: int) -> None:
        """Put this line at the top, if the page is long enough, and mark it until the page is scrolled."""
        self.jump(number)
        self.place = number
        self.refresh()

    @property
    def text(self) -> str:
        """Everything as plain text."""
        return "\n".join(f"{line.lead.plain}{line.text.plain}" for line in self.lines)

    # drawing

    @property
    def _room(self) -> int:
        return max(20, self.scrollable_content_region.width)

    def _set(self, lines: list[ShownLine]) -> None:
        if self.place is not None and [line.key for line in lines] != [line.key for line in self.lines]:
            self.place = None
        self.lines = lines
        self._width = self._room
        self._rows = list(self._wrapped(0))
        self._fit()

    def _wrapped(self, first: int) -> Iterator[tuple[int, Text]]:
        if self.size.width:  # else it has no place on the screen yet
            for number in range(first, len(self.lines)):
                for row in self.lines[number].rows(self._width):
                    yield number, row

    def _fit(self) -> None:
        self.virtual_size = Size(self._width, len(self._rows))
        # a part without a place on the screen has no rows yet: the layout gives it one
        self.refresh(layout=bool(self.lines) and not self._rows)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """The rows of all lines at this width, also before they are wrapped."""
        if self._rows and width == self._width:
            return len(self._rows)
        room = max(20, width)
        return sum(1 for line in (self.build(room) if self.build else self.lines) for _ in line.rows(room))

    def on_resize(self, event: events.Resize) -> None:
        if self._room != self._width or not self._rows:
            top, follows = self.top_line(), self._follows
            self._set(list(self.build(self._room)) if self.build else self.lines)
            self.jump(top)
            self._follows = follows
        self._keep_end()

    def row_style(self, number: int) -> Style | None:
        """A style for all of a line."""
        return _REVERSE if number == self.place else None

    def render_line(self, y: int) -> Strip:
        base, width = self.rich_style, self.size.width
        row = self.scroll_offset.y + y
        if row >= len(self._rows):
            return Strip.blank(width, base)
        number, text = self._rows[row]
        strip = Strip(text.render(self.app.console), text.cell_len).apply_style(base).crop_extend(0, width, base)
        style = self.row_style(number)
        strip = Strip(Segment.apply_style(strip, post_style=style), width) if style else strip
        return self._with_found_words(strip, row, _FOUND_HERE if style else _FOUND)

    def _with_found_words(self, strip: Strip, row: int, style: Style) -> Strip:
        text = self._rows[row][1].plain
        places = [match.span() for match in self._searched.finditer(text)] if self._searched else []
        if self._searched and row and self._rows[row - 1][0] == self._rows[row][0]:
            places += [second for _, second in _across(self._searched, self._rows[row - 1][1].plain, text)]
        if self._searched and row + 1 < len(self._rows) and self._rows[row + 1][0] == self._rows[row][0]:
            places += [first for first, _ in _across(self._searched, text, self._rows[row + 1][1].plain)]
        for start, end in places:
            first, after = cell_len(text[:start]), cell_len(text[:end])
            words = Strip(Segment.apply_style(strip.crop(first, after), post_style=style))
            strip = Strip.join([strip.crop(0, first), words, strip.crop(after)])
        return strip

    def line_at(self, event: events.Click) -> int | None:
        row = self.scroll_offset.y + event.y
        return self._rows[row][0] if 0 <= row < len(self._rows) else None

    def on_click(self, event: events.Click) -> None:
        number = self.line_at(event)
        if number is not None and self.lines[number].key:
            self.post_message(self.Pressed(self, self.lines[number].key))


def _across(words: re.Pattern[str], upper: str, lower: str) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Where words are that the end of a row cuts in two: their place in each of the rows."""
    head, tail = upper.rstrip(), lower.lstrip()
    indent = len(lower) - len(tail)
    for gap in ("", " "):
        cut = len(head) + len(gap)
        for match in words.finditer(f"{head}{gap}{tail}"):
            if match.start() < len(head) and match.end() > cut:
                yield (match.start(), len(head)), (indent, indent + match.end() - cut)


class PickList(LineView):
    """A list with a cursor on lines that have a key; others are headings."""

    BINDINGS = [  # noqa: RUF012 - as textual has it
        Binding("down,j", "move(1)", show=False),
        Binding("up,k", "move(-1)", show=False),
        Binding("pagedown,space", "move_page(1)", show=False),
        Binding("pageup", "move_page(-1)", show=False),
        Binding("home", "move(-100000)", show=False),
        Binding("end", "move(100000)", show=False),
        Binding("enter", "choose", show=False),
    ]

    class Moved(Message):
        """The cursor is on another line."""

        def __init__(self, view: PickList, key: str) -> None:
            super().__init__()
            self.view, self.key = view, key

        @property
        def control(self) -> PickList:
            return self.view

    class Chosen(Moved):
        """Enter or a second click; in a short list the first one."""

    def __init__(self, *, id: str | None = None, is_short: bool = False) -> None:
        super().__init__(id=id)
        self.key = ""
        # a few answers, all of them on the screen: the first click chooses
        self.is_short = is_short

    def _set(self, lines: list[ShownLine]) -> None:
        old = [line.key for line in self.lines if line.key]
        was_in_view = self._is_in_view()
        super()._set(lines)
        keys = [line.key for line in self.lines if line.key]
        if self.key in keys:
            if was_in_view and not self._is_in_view():
                self.move_to(self.key)
        else:
            # what was there is gone: the one that is in its place now
            place = old.index(self.key) if self.key in old else 0
            self.move_to(keys[min(place, len(keys) - 1)] if keys else "")

    def _wrapped(self, first: int) -> Iterator[tuple[int, Text]]:
        for number, line in enumerate(self.lines[first:] if self.size.width else (), first):
            yield number, one_row(line.text, self._width)

    def move_to(self, key: str) -> None:
        is_other = key != self.key
        self.key = key
        number = next((n for n, line in enumerate(self.lines) if line.key == key), None)
        if number is not None:
            # with the heading above it, and what is said below it
            first = number - 1 if number and not self.lines[number - 1].key else number
            last = number + 1 if number + 1 < len(self.lines) and not self.lines[number + 1].key else number
            region = Region(0, first, 1, last - first + 1)
            self.scroll_to_region(region, animate=False, immediate=True, x_axis=False)
        self.refresh()
        if is_other:
            self.post_message(self.Moved(self, key))

    def action_move(self, step: int) -> None:
        keys = [line.key for line in self.lines if line.key]
        if keys:
            at = keys.index(self.key) + step if self.key in keys else 0
            self.move_to(keys[max(0, min(at, len(keys) - 1))])

    def action_move_page(self, step: int) -> None:
        self.action_move(step * max(1, self.size.height - 2))

    def action_choose(self) -> None:
        if self.key:
            self.post_message(self.Chosen(self, self.key))

    def on_mouse_scroll_down(self) -> None:
        self.call_after_refresh(self._keep_cursor_in_view)

    def on_mouse_scroll_up(self) -> None:
        self.call_after_refresh(self._keep_cursor_in_view)

    def _is_in_view(self) -> bool:
        """Whether the cursor is on the screen."""
        top = round(self.scroll_y)
        return self.key in [line.key for line in self.lines[top : top + self.size.height]]

    def _keep_cursor_in_view(self) -> None:
        """What Enter opens can be seen: the wheel takes the cursor with it at the edge."""
        top = round(self.scroll_y)
        numbers = [n for n, line in enumerate(self.lines) if line.key and top <= n < top + self.size.height]
        at = next((n for n, line in enumerate(self.lines) if line.key == self.key), 0)
        if numbers and not numbers[0] <= at <= numbers[-1]:
            self.move_to(self.lines[numbers[0] if at < numbers[0] else numbers[-1]].key)

    def row_style(self, number: int) -> Style | None:
        is_here = bool(self.key) and self.lines[number].key == self.key
        return (_REVERSE if self.has_focus else Style(bold=True, underline=True)) if is_here else None

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        number = self.line_at(event)
        key = self.lines[number].key if number is not None else ""
        if not key:
            return
        is_chosen = self.is_short or key == self.key
        self.move_to(key)
        if is_chosen:
            self.action_choose()


def one_row(text: Text, width: int) -> Text:
    if text.cell_len > width:
        text = text.copy()
        text.truncate(width, overflow="ellipsis")
    return text
