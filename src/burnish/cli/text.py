"""Text for a terminal: sanitize, measure in columns, shorten."""

from __future__ import annotations

import re
import unicodedata

from burnish.proc.text import clean_text

LONGEST_TITLE = 80

# Half characters of names that are not UTF-8, and letters that no screen shows but a model reads.
_UNSEEN = re.compile("[\ud800-\udfff\U000e0000-\U000e007f]")


def clean(text: str) -> str:
    """The text without terminal control sequences and invisible characters; newlines are kept."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSEEN.sub("\ufffd", clean_text(text))


def one_line(text: str) -> str:
    return " ".join(clean(text).split())


def visible(text: str) -> str:
    """On one line, with everything that cannot be seen escaped instead of removed: for text that a person decides on.

    A terminal would obey or hide such characters, but the shell that gets the command does not.
    """
    if text.isascii() and text.isprintable():
        return text
    from burnish.core.text_encoding import escape_invisible

    return "".join(char if _is_visible(char) else _escaped(char) for char in escape_invisible(text))


def _is_visible(char: str) -> bool:
    return char.isprintable() and char not in "\ufe0e\ufe0f"


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def short_title(text: str) -> str:
    """A title shortened to fit in a line."""
    return cut(one_line(text), LONGEST_TITLE)


def width(text: str) -> int:
    """Columns on a terminal: wide characters take two, combining ones none."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut(text: str, room: int) -> str:
    """At most `room` columns, with … where something was left out."""
    if width(text) <= room:
        return text
    chars, columns_used = [], 0
    for char in text:
        columns_used += _columns(char)
        if columns_used > room - 1:
            break
        chars.append(char)
    return "".join(chars).rstrip() + "…" if room > 0 else ""


def wrap(text: str, room: int) -> list[str]:
    """The words of one line on as many as they need; a word that is too long is broken."""
    lines = [""]
    for word in text.expandtabs(4).split():
        while word:
            gap = " " if lines[-1] else ""
            if width(lines[-1]) + len(gap) + width(word) <= room:
                lines[-1] += gap + word
                break
            if lines[-1]:
                lines.append("")
                continue
            head = _head(word, room)
            lines[-1], word = head, word[len(head) :]
            lines += [""] if word else []
    return lines


def hung(text: str, room: int, by: int) -> str:
    """A line on as many as it needs, those after the first set in by `by` columns."""
    if width(text) <= room:
        return text
    lead = text[: len(text) - len(text.lstrip(" "))]
    body = " ".join(text.expandtabs(4).split())
    first = wrap(body, room - len(lead))[0]
    more = wrap(body[len(first) :].lstrip(), room - by)
    return "\n".join([lead + first, *(" " * by + line for line in more)])


def _head(text: str, room: int) -> str:
    """The start of the text that fits; one character at least, so that there is always less left."""
    columns_used = 0
    for end, char in enumerate(text):
        columns_used += _columns(char)
        if columns_used > room and end:
            return text[:end]
    return text


def pad(text: str, room: int) -> str:
    return text + " " * (room - width(text))


def count(number: int, word: str) -> str:
    """`1 cycle`, `2 cycles`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def duration(seconds: float) -> str:
    """`9s`, `1m12s`, `3h05m`."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes}m{rest:02}s" if minutes < 60 else f"{minutes // 60}h{minutes % 60:02}m"
