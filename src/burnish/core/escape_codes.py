"""A text without colour codes and invisible characters, and where each part of it is in the original."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from burnish.sanitize import LEFT_OUT

# JSON inside of JSON doubles them, so these are six levels. Without a limit, the time for a row of them is the square
# of its length.
_BACKSLASHES = r"\\{1,64}"
# As the terminal gets it, and as JSON, Python, C, Rust and shells write it down. Before a bracket also as `cat -v`,
# pytest's reports, log daemons, XML, addresses and documents do.
_ESC = (
    rf"(?:\x1b|{_BACKSLASHES}(?:u001[bB]|x1[bB]|033|[ux]\{{1[bB]\}}|[eE](?=\[))"
    r"|(?:\^\[|\u241b|#x1[bB]|#033|&#(?:27|[xX]1[bB]);|[%=]1[bB]|<(?i:esc|0?x?1b)>)(?=\[))"
)
# Characters without a shape.
_SHAPELESS = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f\U00016fe4\U0001bca0-\U0001bca3\U0001d159"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# What ends a sequence of the terminal before its last letter: another one, or a control character.
_BROKEN_OFF = (
    rf"(?:{_ESC}|[\x00-\x09\x0b-\x1f\x7f-\x9f]|{_BACKSLASHES}(?:u00[0189][0-9a-fA-F]|x[0189][0-9a-fA-F]|0[0-3][0-7]))"
)
_CODES = re.compile(
    rf"(?:{_ESC}\[|\x9b|{_BACKSLASHES}u009[bB])[0-?]*[ -/]*(?!{_BACKSLASHES}[ux]0|{_BROKEN_OFF})[@-~]"
    rf"|{_ESC}\][^\x07\x1b\n]{{0,2000}}?(?:\x07|{_ESC}{_BACKSLASHES}|{_BACKSLASHES}(?:u0007|x07|a))"
    # strings for the terminal itself: DCS, SOS, PM, APC
    rf"|(?:{_ESC}[PX^_]|[\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]{{0,2000}}?(?:\x07|\x9c|{_ESC}{_BACKSLASHES})"
    rf"|\x1b[ -/]*[0-Z\\^-~]|{_ESC}[ -/]+[0-~]"
    f"|[{_SHAPELESS}]"
)
_BROKEN_CODE = rf"(?:{_ESC}\[|\x9b|{_BACKSLASHES}u009[bB])[0-?]*[ -/]*(?={_BROKEN_OFF})"
# What a terminal or our own log leaves out between two letters: NUL, a carriage return inside of a line, and a
# backspace, either alone or with the letters that it takes back.
# The other control characters: `clean_text` takes them out of what is shown, so nothing may be hidden behind them.
_CONTROLS = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
_ESCAPED_CONTROLS = rf"{_BACKSLASHES}u00(?:0[0-8bBcCdDeEfF]|1[0-9a-fA-F]|7[fF]|[89][0-9a-fA-F])"
# Characters without a shape as JSON writes them: the list above, those beyond U+FFFF as two halves.
_ESCAPED_SHAPELESS = (
    rf"{_BACKSLASHES}u(?i:00ad|034f|061c|115f|1160|17b[45]|180[b-f]|200[b-f]|202[89a-e]|206[0-9a-f]|2800|3164|fe0[0-9a-f]|feff|ffa0"
    rf"|fff[0-9ab]|d80d{_BACKSLASHES}udc3[0-9a-f]|d81b{_BACKSLASHES}udfe4|d82f{_BACKSLASHES}udca[0-3]|d834{_BACKSLASHES}udd(?:59|7[3-9a])|db4[0-3]{_BACKSLASHES}ud[c-f][0-9a-f]{{2}})"
)
# What any of these can begin with: `re` passes over the other letters five times as fast.
_FIRST = rf"(?=[\\^\u241b#&%=<\x00-\x08\x0b-\x1f\x7f-\x9f{_SHAPELESS}])"
_JOINED = re.compile(
    rf"{_FIRST}(?:{_CODES.pattern}|{_BROKEN_CODE}|{_CONTROLS}|{_ESCAPED_CONTROLS}|{_ESCAPED_SHAPELESS}|\r(?!\n))"
)
_ERASED = re.compile(rf"[^\n\x08]{{3}}\x08{{3}}|[^\n\x08]{{2}}\x08{{2}}|[^\n\x08]\x08|{_JOINED.pattern}")
# The short escapes of strings in JSON, Python, C and shells. `C:\\new` has one too, so only what is unmistakable is
# looked for across them.
_SHORT_ESCAPE = rf"{_BACKSLASHES}(?:[abefnrtv]|x[0-9a-fA-F]{{2}}|u000[9aAdD]|[01]?[0-7]{{1,2}})"
_SHORT = re.compile(rf"{_FIRST}(?:{_JOINED.pattern}|{_SHORT_ESCAPE})")
_HAS_SHORT = re.compile(_SHORT_ESCAPE)
_HINTS = ("\x00", "\x08", "\r", "u0000", "u0008", "u000d", "u000D",
          "\x1b", "\x9b", "\u00ad", "\u200b", "\u200c", "\u200d", "\u200e", "\u200f", "\u2060", "\u2061", "\u2062",
          "\u2063", "\u2064", "\ufeff", "u001b", "u001B", "x1b", "x1B", "\\033", "\\e[",
          "\\E[", "{1b}", "{1B}", "^[[", "\u241b[", "#033[", "&#27;[", "X1b;[", "X1B;[", "%1b[", "%1B[", "=1b[", "=1B[",
          ">[")  # fmt: skip

_ESCAPES = re.compile(rf"{_ESC}|\x9b|{_BACKSLASHES}u009[bB]")
_BEGINS_SEQUENCE = re.compile("[\x1b\x90\x98\x9b\x9d-\x9f]")
# What `clean_text` leaves out, and characters without a shape.
_UNSEEN = re.compile(f"{LEFT_OUT.pattern}|{_JOINED.pattern}")
_BEGINS_WRITTEN = re.compile(r"\\u00[0189][0-9a-fA-F]")
_JSON_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([bfnrt])|([\\\"/]))")
_SHORT_NAMES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_BARE = re.compile(rf"{_CONTROLS}|{_ESCAPED_CONTROLS}")
_ASCII_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_RARE = re.compile(
    rf"{_CONTROLS}|u00[01789][0-9a-fA-F]|{_ESCAPED_SHAPELESS}"
    "|[\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2028-\u202e\u2065-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\uffa0\ufff0-\ufffb\U00013430-\U0001343f\U00016fe4\U0001bca0-\U0001bca3\U0001d159"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
# Tags, marks of Markdown and entities without a shape, where they are inside of a word. A renderer shows one word.
_IN_A_WORD = "[A-Za-z0-9_+/=.~%-]"
MARKUP = re.compile(
    rf"(?=[<*~`&\\])(?<={_IN_A_WORD})"
    r"(?:<!--[^\n]{0,200}?-->|<[/!?]?[A-Za-z][^<>\n]{0,200}>|\*|~~|`|&(?i:shy|zwn?j|ZeroWidthSpace|#173|#820[345]|#xad"
    rf"|#x200[b-d]);|\\+(?=[_+=.~-]))++(?={_IN_A_WORD})"
)
# Signs and letters as addresses and JSON may write them: each match is one character.
_MORE = "%[89abAB][0-9a-fA-F]"
_ASCII_ESCAPE = re.compile(
    rf"((?:%[0-7]|%[cCdD][0-9a-fA-F]%[89abAB]|%[eE][0-9a-fA-F]{_MORE}%[89abAB]"
    rf"|%[fF][0-7]{_MORE}{_MORE}%[89abAB])[0-9a-fA-F])"
    rf"|{_BACKSLASHES}u((?!00[01]|[dD][89a-fA-F])[0-9a-fA-F]{{4}})|{_BACKSLASHES}(/)"
)


@dataclass(frozen=True, slots=True)
class PlainText:
    """`text` has no codes; `starts` and `origins` pair positions in it with positions in `original`.

    `edges` are the positions in `text` where a code was: words that a code divides are two words for a reader.
    """

    original: str
    text: str
    starts: tuple[int, ...]
    origins: tuple[int, ...]
    edges: tuple[int, ...] = ()

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The part of the original that holds text[start:end], with the codes inside it."""
        if end <= start:
            return self.origin(start), self.origin(start)
        last = self.origin(end - 1)
        escape = _ASCII_ESCAPE.match(self.original, last)
        return self.origin(start), escape.end() if escape else last + 1

    def codes(self, start: int, end: int) -> str:
        """The colour codes alone in a part of the original: what a backspace takes back may be the secret itself."""
        return "".join(_CODES.findall(self.original[start:end]))

    def origin(self, at: int) -> int:
        piece = bisect_right(self.starts, at) - 1
        return self.origins[piece] + at - self.starts[piece]


def plain_texts(text: str) -> Iterator[PlainText]:
    """Each way in which a text may be shown without codes; nothing where it has none, which is the rule."""
    for reading in READINGS:
        if (plain := reading(text)) is not None:
            yield plain


def without_short_escapes(text: str) -> PlainText | None:
    """Without colour codes and the short escapes of JSON strings; None where there are none."""
    return _without(text, _SHORT) if "\\" in text and _HAS_SHORT.search(text) else None


def without_markup(text: str) -> PlainText | None:
    """Without tags and marks of Markdown inside of words; None where there are none."""
    return _without(text, MARKUP)


def without_codes(text: str, *, erase: bool = False) -> PlainText | None:
    """None where there are none. `erase`: a backspace takes the letter before it away."""
    if not _has_hint(text) and not _has_rare(text):
        return None
    return _without(text, _ERASED if erase else _JOINED)


def _has_hint(text: str) -> bool:
    return any(hint in text for hint in _HINTS)


def _has_rare(text: str) -> bool:
    """As a search for `_RARE`, which takes ten times as long in ASCII."""
    if text.isascii() and "u00" not in text and "\\u" not in text:
        return _ASCII_CONTROL.search(text) is not None
    return _RARE.search(text) is not None


def _without(text: str, codes: re.Pattern[str]) -> PlainText | None:
    pieces: list[str] = []
    starts, origins, length, at = [], [], 0, 0
    for code in codes.finditer(text):
        if code.start() > at:
            starts.append(length)
            origins.append(at)
            pieces.append(text[at : code.start()])
            length += code.start() - at
        at = code.end()
    if at == 0:
        return None
    starts.append(length)
    origins.append(at)
    pieces.append(text[at:])
    return PlainText(text, "".join(pieces), tuple(starts), tuple(origins), edges=tuple(starts))


def with_ascii_unescaped(text: str) -> PlainText | None:
    """With `%2F` and `\\u002f` as the signs that they stand for; None where there are none."""
    may_have_some = "%" in text or "\\u" in text or "\\/" in text
    return _replaced(text, _ASCII_ESCAPE, _character) if may_have_some else None


def _replaced(text: str, escapes: re.Pattern[str], character: Callable[[re.Match[str]], str]) -> PlainText | None:
    """With each escape as the character that it stands for; None where there are none."""
    pieces: list[str] = []
    starts, origins, length, at = [], [], 0, 0
    for escape in escapes.finditer(text):
        for origin, piece in ((at, text[at : escape.start()]), (escape.start(), character(escape))):
            starts.append(length)
            origins.append(origin)
            pieces.append(piece)
            length += len(piece)
        at = escape.end()
    if not pieces:
        return None
    return PlainText(text, "".join([*pieces, text[at:]]), (*starts, length), (*origins, at))


def _character(escape: re.Match[str]) -> str:
    """What an escape stands for; nothing where that has no shape."""
    if escape[3]:
        return escape[3]
    character = unquote(escape[1]) if escape[1] else chr(int(escape[2], 16))
    if len(character) != 1:
        return escape[0]  # not UTF-8
    return "" if _JOINED.fullmatch(character) else character


def _with_letters_erased(text: str) -> PlainText | None:
    return without_codes(text, erase=True) if "\x08" in text else None


def _without_controls(text: str) -> PlainText | None:
    """An escape character alone takes the letter behind it along, which may be one of a secret."""
    # each way to write an escape character has a hint, or is `\\u009b`
    may_have_some = _has_hint(text) or "u009" in text
    return _without(text, _BARE) if may_have_some and _ESCAPES.search(text) else None


def _as_cleaned(text: str) -> PlainText | None:
    """As `clean_text` shows it, which also leaves out sequences without an end and those of any length."""
    return _without(text, _UNSEEN) if _BEGINS_SEQUENCE.search(text) else None


def _as_cleaned_when_read(text: str) -> PlainText | None:
    """As `clean_text` shows what this JSON stands for."""
    return _cleaned(_json_read(text))


def _as_cleaned_when_read_twice(text: str) -> PlainText | None:
    """The same for JSON inside of JSON, as in the answer of an agent that prints events."""
    first = _json_read(text)
    second = _json_read(first.text) if first else None
    return _cleaned(_composed(first, second)) if first and second else None


def _json_read(text: str) -> PlainText | None:
    if "\\" not in text or not (_BEGINS_WRITTEN.search(text) or _BEGINS_SEQUENCE.search(text)):
        return None
    return _replaced(text, _JSON_ESCAPE, _json_character)


def _cleaned(read_text: PlainText | None) -> PlainText | None:
    shown = _without(read_text.text, _UNSEEN) if read_text else None
    return _composed(read_text, shown) if read_text and shown else None


def _json_character(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 16)) if escape[1] else _SHORT_NAMES[escape[2]] if escape[2] else escape[3]


def _composed(first: PlainText, second: PlainText) -> PlainText:
    """`second` is a reading of the text of `first`; the result refers to the original of `first`."""
    starts, origins = [], []
    for start, origin, end in zip(second.starts, second.origins, (*second.starts[1:], len(second.text)), strict=True):
        starts.append(start)
        origins.append(first.origin(origin))
        for piece in range(bisect_right(first.starts, origin), bisect_left(first.starts, origin + end - start)):
            starts.append(start + first.starts[piece] - origin)
            origins.append(first.origins[piece])
    return PlainText(first.original, second.text, tuple(starts), tuple(origins), second.edges)


# The ways in which a text may be shown; a caller that changes the text between two of them reads it again.
READINGS: tuple[Callable[[str], PlainText | None], ...] = (
    without_codes,
    _with_letters_erased,
    _without_controls,
    _as_cleaned,
    _as_cleaned_when_read,
    _as_cleaned_when_read_twice,
)
