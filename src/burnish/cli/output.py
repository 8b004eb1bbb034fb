"""Output to the terminal: colour, plain text, errors and JSON."""

from __future__ import annotations

import json
import os
import re
import sys
import unicodedata
from typing import Any, TextIO

from burnish.cli.session import SESSION
from burnish.errors import BadInput
from burnish.sanitize import terminal_text

CODES = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "blue": 34, "magenta": 35, "cyan": 36}

BY_STATUS = {
    "backlog": "dim",
    "in_progress": "cyan",
    "code_review": "blue",
    "waiting_approval": "magenta",
    "verified": "green",
    "completed": "green",
    "blocked": "yellow",
    "failed": "red",
    "cancelled": "dim",
}

# Words instead of symbols, for screen readers.
WORDS = {"✓": "ok", "✗": "failed", "!": "attention", "→": "running", "·": "waiting"}
_SPOKEN = str.maketrans(
    {"…": "...", "│": "|", "─": "-", "═": "=", "—": "-", "·": "-", "→": "to", "✓": "ok", "✗": "failed"}
)

# Surrogates stand for bytes that are not UTF-8; these JSON keys hold file names.
_HALF = re.compile("[\ud800-\udfff]")
_PATHS = frozenset(
    {"file", "path", "old_path", "root", "inspected", "not_shown", "uncovered", "files", "paths", "names"}
)

BY_SEVERITY = {"error": "red", "warning": "yellow", "info": "dim"}


def is_plain() -> bool:
    """Whether `--plain` or BURNISH_PLAIN is set."""
    return SESSION.plain or os.environ.get("BURNISH_PLAIN", "") not in ("", "0")


def mark(sign: str) -> str:
    """The symbol, or its word in plain mode."""
    return WORDS.get(sign, sign) if is_plain() else sign


def spoken(text: str) -> str:
    """The text, in plain mode with ASCII instead of symbols."""
    return text.translate(_SPOKEN) if is_plain() and not text.isascii() else text


def coloured(stream: TextIO) -> bool:
    if is_plain() or os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def paint(text: str, colour: str, *, on: bool) -> str:
    return f"\x1b[{CODES[colour]}m{text}\x1b[0m" if on and text else text


def columns(stream: TextIO) -> int:
    """The width of the terminal, between 60 and 200; 200 if the stream is not a terminal."""
    if not stream.isatty() and not os.environ.get("COLUMNS"):
        return 200
    # imported here: it loads three modules for compression
    import shutil

    return min(200, max(60, shutil.get_terminal_size((100, 24)).columns))


def fitted(text: str, stream: TextIO, by: int = 2) -> str:
    """The text wrapped to the terminal; unchanged if the stream is not a terminal."""
    return "\n".join(hung(line, columns(stream), by) for line in text.split("\n")) if stream.isatty() else text


def titled(before: str, title: str, after: str = "") -> str:
    """A line with a title, which is shortened to fit."""
    room = columns(sys.stdout) - width(before) - width(after)
    return f"{before}{cut(one_line(title), max(20, min(MAX_TITLE_LENGTH, room)))}{after}"


def say(text: str = "") -> None:
    """Print a line of data to stdout."""
    sys.stdout.write(spoken(text) + "\n")


def tell(text: str) -> None:
    """Print a line to stderr: progress, warnings, errors."""
    if is_json_log():
        _log("info", text)
        return
    sys.stderr.write(spoken(text) + "\n")
    sys.stderr.flush()


def is_json_log() -> bool:
    """Whether stderr gets one JSON object per line (`--log-format json`)."""
    return os.environ.get("BURNISH_LOG") == "json"


def _log(level: str, text: str) -> None:
    from burnish.adapters.redaction import secrets_from_environment
    from burnish.adapters.telemetry import log_line

    if words := clean(text).strip():
        log_line(level, secrets_from_environment().redact(words))


def use_log_format(name: str | None) -> None:
    """`--log-format`: set for this process, and for those that it starts in the background."""
    if name is None:
        return
    if name not in ("text", "json"):
        raise BadInput(f"There is no log format {name!r}.", hint="Choose from: text, json.")
    os.environ["BURNISH_LOG"] = name


def complain(what: str, hint: str) -> None:
    """Print an error: one line with what happened, one with what to do."""
    if is_json_log():
        _log("error", f"{what} {hint}".strip())
        return
    advise("error: ", "red", what)
    advise("   do: ", "dim", hint)


def advise(head: str, tone: str, text: str) -> None:
    if text:
        words = fitted(head + clean(text), sys.stderr, len(head))
        tell(paint(head, tone, on=coloured(sys.stderr)) + words[len(head) :])


def say_json(value: Any) -> None:
    sys.stdout.write(json_text(value, indent=2 if sys.stdout.isatty() else None) + "\n")


def json_text(value: Any, *, indent: int | None = None) -> str:
    """JSON that every parser reads. ASCII only, so that no control or bidi character reaches a terminal."""
    text = json.dumps(value, indent=indent)
    return json.dumps(_whole(value), indent=indent) if "\\ud" in text else text


def _whole(value: Any, key: str = "") -> Any:
    """Replace surrogates: file names are quoted as git does it, other text gets U+FFFD."""
    if isinstance(value, dict):
        return {_whole(name): _whole(one, str(name)) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(one, key) for one in value]
    if not isinstance(value, str) or not _HALF.search(value):
        return value
    if key in _PATHS:
        from burnish.review.quoting import quoted

        return quoted(value)
    return _HALF.sub("\ufffd", value)


# -- text -----------------------------------------------------------------------------------------
# Text for a terminal: sanitize, measure in columns, shorten.

MAX_TITLE_LENGTH = 80
_WORD = re.compile(r"(\s*)(\S+)")


def clean(text: str) -> str:
    """The text without terminal control sequences and invisible characters; newlines are kept."""
    return terminal_text(text)


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
    return cut(one_line(text), MAX_TITLE_LENGTH)


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
    # spaces within a line stay: they may be what the text is about
    for spaces, word in _WORD.findall(text.expandtabs(4).strip()):
        while word:
            gap = spaces if lines[-1] else ""
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
    body = text.expandtabs(4).strip()
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
