"""Bytes as the text that an interpreter would see in them, and that text with nothing invisible in it.

An attacker chooses the bytes, so the rule is: text is shown only where one reading is possible.
Where two readings are possible, `read_text` returns None and the content counts as binary.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from burnish.core.declared_encodings import declarations

# Longer content is not read as text where git itself does not see text in it.
MAX_TEXT_LENGTH = 4 * 1024 * 1024
_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_WIDE = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
# East Asian encodings, and the script that most of their letters must have: kana, Hangul, Han.
_EAST_ASIAN = (
    ("cp932", ("\u3040", "\u30ff"), 0.2),
    ("euc_jp", ("\u3040", "\u30ff"), 0.2),
    ("euc_kr", ("\uac00", "\ud7a3"), 0.8),
    ("gb18030", ("\u4e00", "\u9fff"), 0.7),
    ("big5", ("\u4e00", "\u9fff"), 0.7),
)
# Declared encodings in which ASCII bytes are ASCII letters. In others (UTF-7, unicode_escape) text hides as letters.
_LETTERS_STAY = re.compile(
    r"utf-8(-sig)?|ascii|iso8859-\d+|cp\d+|koi8-\w|mac-\w+|tis-620|hp-roman8|shift_jis|euc_jp|euc_kr|gb2312|gbk|gb18030"
    r"|big5(hkscs)?|johab"
)
# In these a byte of the second range may belong to the character whose first byte stands before it.
_MULTIBYTE_NAME = re.compile(r"shift_jis|euc_jp|euc_kr|cp9\d\d|gb2312|gbk|gb18030|big5(hkscs)?|johab")
_COULD_BE_SWALLOWED = re.compile(rb"[\x80-\xff][0-9@-~]")
_ASCII_TEXT = frozenset(b"\t\n\r" + bytes(range(0x20, 0x7F)))
_CONTROLS = bytes({*range(0x20), 0x7F} - {0x08, 0x09, 0x0A, 0x0C, 0x0D, 0x1B})
_CLEAN = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f\x7f]")
_HIGH = bytes(range(0x80, 0x100))
_HIGH_RUN = re.compile(rb"[\x80-\xff]+")
# Share of control bytes above which content is binary.
_MAX_CONTROLS = 0.1
_MOST_HIGH = 0.3
_BEFORE_WORD = re.compile(r"[^\x00-\x7f](?=[A-Za-z0-9_])")
# Controls other than tab and newline, a carriage return inside a line, marks that turn the direction of writing,
# line separators that some interpreters obey, and characters without a shape.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffc\ud800-\udfff\U00013430-\U0001343f"
    "\U0001107f\U00016fe4\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]|\r(?!\n|\\Z)"
    # these two choose the look of a symbol (or U+2139); behind a letter they make another name that looks the same
    "|(?:(?<![^\x00-\x7f])|(?<=[\\w\\s\ufe0e\ufe0f])(?<!\u2139))[\ufe0e\ufe0f](?!\u20e3)"
    # the wide blank of East Asian text, where it could be a part of an ASCII name
    "|(?<=[0-9A-Za-z_$])\u3000|\u3000(?=[0-9A-Za-z_$])"
)

# The group has what stays.
_INVISIBLE_IN_PROSE = re.compile(
    f"((?<=[^\x00-\x7f\u200b-\u200f])[\u200c\u200d](?=[^\x00-\x7f\u200b-\u200f])|\u3000)|{_INVISIBLE.pattern}"
)
_ASCII_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class TextReading:
    """The text of some bytes, and its encoding."""

    text: str
    encoding: str


def read_text(data: bytes) -> TextReading | None:
    """The text of the content; None if it is binary or if its encoding is ambiguous."""
    if len(data) > MAX_TEXT_LENGTH:
        return None
    for bom, codec in _BOMS:
        if data.startswith(bom):
            return _wide(data[len(bom) :], codec)
    if b"\0" in data and (wide := next(filter(_is_mostly_ascii, (_wide(data, codec) for codec in _WIDE)), None)):
        return wide
    if in_doubt(data):
        return None
    text = _decoded(data, "utf-8")
    if text is not None and not _CLEAN.search(data):
        return TextReading(text, "utf-8") if _agrees_with_declaration(data) else None
    if _is_binary(data, valid=text is not None):
        return None
    if text is not None:
        return TextReading(text, "utf-8") if _agrees_with_declaration(data) else None
    return _legacy(data)


def in_doubt(data: bytes) -> bool:
    """Whether this content declares an encoding in which ASCII letters have another meaning."""
    return any(not _keeps_letters(codec) for codec in declarations(data))


def _keeps_letters(codec: str) -> bool:
    ascii_bytes = bytes(range(0x80))
    return bool(_LETTERS_STAY.fullmatch(codec)) and _decoded(ascii_bytes, codec) == ascii_bytes.decode("ascii")


def escape_invisible(text: str) -> str:
    """The text with every character that cannot be seen written as `\\xNN` or `\\uNNNN`."""
    if text.isascii():
        # most text, and a single class is much faster to look for
        return _INVISIBLE.sub(_escape_match, text) if _ASCII_INVISIBLE.search(text) else text
    return _INVISIBLE.sub(_escape_match, text).translate({ord(char): _escape(char) for char in _without_shape(text)})


def escape_hidden_text(text: str) -> str:
    """The text of a prompt with every character that cannot be seen as its code: a person would not have read it.

    Joiners inside of words and emoji of other scripts stay, one at a time, and so do all kinds of blanks.
    """
    if text.isascii() and not _ASCII_INVISIBLE.search(text):
        return text
    return _INVISIBLE_IN_PROSE.sub(lambda found: found[0] if found[1] else _escape_match(found), text)


def has_invisible(text: str) -> bool:
    return _INVISIBLE.search(text) is not None or bool(_without_shape(text))


def _without_shape(text: str) -> set[str]:
    """Blanks other than the space, private and unassigned characters: many languages take them as part of a name."""
    return {char for char in set(text) if char > "\x7f" and char != "\u3000" and not char.isprintable()}


def _escape_match(match: re.Match[str]) -> str:
    return "".join(map(_escape, match[0]))


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _wide(data: bytes, codec: str) -> TextReading | None:
    """UTF-16 or UTF-32, if every character is one and no byte reading gives other ASCII text.

    bash drops NUL bytes: U+6100 in UTF-16-LE is `\\0a`, which it would run as the letter a.
    """
    text = _decoded(data, codec)
    if text is None:
        return None
    for char in set(text):
        bare = char.encode(codec).replace(b"\0", b"")
        ambiguous = bare and set(bare) <= _ASCII_TEXT and bare.decode("ascii") != char
        if ambiguous or unicodedata.category(char) in ("Cn", "Co", "Cs"):
            return None
    controls = sum(text.count(char) for char in map(chr, _CONTROLS))
    return TextReading(text, codec) if controls <= len(text) * _MAX_CONTROLS else None


def _is_mostly_ascii(reading: TextReading | None) -> bool:
    """Without a byte order mark only this tells UTF-16 from numbers."""
    return reading is not None and sum(" " <= char <= "~" for char in reading.text) * 2 >= len(reading.text)


def _is_binary(data: bytes, *, valid: bool) -> bool:
    if known_type(data) or len(data) - len(data.translate(None, _CONTROLS)) > len(data) * _MAX_CONTROLS:
        return True
    high = len(data) - len(data.translate(None, _HIGH))
    return not valid and high > len(data) * _MOST_HIGH and next(_multibyte(data), None) is None


def _legacy(data: bytes) -> TextReading | None:
    """Text in an encoding older than Unicode, declared or guessed; ASCII letters keep their meaning."""
    declared_codecs = {codec for codec in declarations(data) if codec != "utf-8"}
    if len(declared_codecs) > 1:
        return None
    for codec in declared_codecs:
        text = _decoded(data, codec)
        if text is None or _swallows_letters(text, codec):
            return None
        return TextReading(_with_swallowed(text, codec), codec)
    if _is_ebcdic(data):
        return None
    escaped_text = data.decode("utf-8", "backslashreplace")
    if sum(char > "\x7f" for char in escaped_text) >= escaped_text.count("\\x"):
        return TextReading(escaped_text, "utf-8 with invalid bytes")
    runs = [len(run) for run in _HIGH_RUN.findall(data)]
    # European letters stand alone between ASCII ones, East Asian ones in rows
    if runs.count(1) * 2 < sum(runs) and (found := next(_multibyte(data), None)):
        if _swallows_letters(found.text, found.encoding):
            return None
        return TextReading(_with_swallowed(found.text, found.encoding), found.encoding)
    return TextReading(data.decode("latin-1"), "latin-1")


def _multibyte(data: bytes) -> Iterator[TextReading]:
    """East Asian readings in which enough letters are of their script."""
    for codec, (first, last), share in _EAST_ASIAN:
        text = _decoded(data, codec)
        if text is None or text.encode(codec, "replace") != data:
            continue
        letters = [char for char in text if char > "\x7f"]
        if sum(first <= char <= last for char in letters) >= len(letters) * share:
            yield TextReading(text, codec)


def _swallows_letters(text: str, codec: str) -> bool:
    """Whether an ASCII letter is the second byte of a character and a word continues after it, as a shell sees it."""
    for match in _BEFORE_WORD.finditer(text):
        if chr(match[0].encode(codec, "ignore")[-1:].ljust(1, b"\0")[0]).isascii():
            return True
    return False


def _is_ebcdic(data: bytes) -> bool:
    """Text of a mainframe, in which each ASCII letter is another byte."""
    text = data.decode("cp037")
    return sum(" " <= char <= "~" or char in "\n\r\t\x85" for char in text) >= len(text) * 0.9


def _with_swallowed(text: str, codec: str) -> str:
    """A two-byte character whose second byte is an ASCII sign is followed by its bytes: a shell sees that sign."""
    signs = frozenset(b"\\|`{}[]~^@_")
    for char in {char for char in text if char > "\x7f"}:
        raw = char.encode(codec, "ignore")
        if signs & set(raw):
            text = text.replace(char, char + "".join(f"\\x{byte:02x}" for byte in raw))
    return text


def _agrees_with_declaration(data: bytes) -> bool:
    """Valid UTF-8 that declares another encoding: is its ASCII part the same in all of them?"""
    if data.isascii():
        return True
    codecs_named = [codec for codec in declarations(data) if codec != "utf-8"]
    # decoders treat bytes that are wrong in such an encoding differently: no letter may depend on it
    if any(map(_MULTIBYTE_NAME.fullmatch, codecs_named)) and _COULD_BE_SWALLOWED.search(data):
        return False
    letters = data.translate(None, _HIGH).decode("ascii")
    # a browser replaces what it cannot decode, and goes on
    texts = (data.decode(codec, "replace") for codec in codecs_named)
    return all("".join(char for char in text if char <= "\x7f") == letters for text in texts)


def _decoded(data: bytes, codec: str) -> str | None:
    try:
        return data.decode(codec)
    except (UnicodeError, LookupError, ValueError):
        return None


_TYPES = (
    (b"\x89PNG\r\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"\x00\x00\x01\x00", "icon"),
    (b"BM", "bitmap image"),
    (b"%PDF-", "PDF document"),
    (b"PK\x03\x04", "ZIP archive (also jar, whl, docx)"),
    (b"PK\x05\x06", "ZIP archive (empty)"),
    (b"\x1f\x8b", "gzip archive"),
    (b"BZh", "bzip2 archive"),
    (b"\xfd7zXZ\x00", "xz archive"),
    (b"\x28\xb5\x2f\xfd", "zstd archive"),
    (b"7z\xbc\xaf\x27\x1c", "7z archive"),
    (b"\x7fELF", "ELF program or library"),
    (b"MZ", "Windows program or library"),
    (b"\xfe\xed\xfa\xce", "Mach-O program or library"),
    (b"\xfe\xed\xfa\xcf", "Mach-O program or library"),
    (b"\xce\xfa\xed\xfe", "Mach-O program or library"),
    (b"\xcf\xfa\xed\xfe", "Mach-O program or library"),
    (b"\xca\xfe\xba\xbe", "Java class or Mach-O universal program"),
    (b"\x00asm", "WebAssembly module"),
    (b"SQLite format 3\x00", "SQLite database"),
    (b"wOFF", "WOFF font"),
    (b"wOF2", "WOFF2 font"),
    (b"\x00\x01\x00\x00", "TrueType font"),
    (b"OTTO", "OpenType font"),
    (b"OggS", "Ogg media"),
    (b"ID3", "MP3 audio"),
    (b"fLaC", "FLAC audio"),
    (b"\x1aE\xdf\xa3", "Matroska or WebM video"),
    (b"\x93NUMPY", "NumPy array"),
)


def known_type(data: bytes) -> str:
    """The file type according to the first bytes; empty if unknown."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "WebP image"
    if data[257:262] == b"ustar":
        return "tar archive"
    if data[4:8] == b"ftyp":
        return "MP4 or HEIF media"
    if data[2:4] == b"\r\n" and len(data) > 16 and b"\0" in data[4:16]:
        return "Python byte code"
    return next((name for start, name in _TYPES if data.startswith(start)), "")


# -- lookalikes -----------------------------------------------------------------------------------
# Text reduced to what a reader sees: one case, one kind of space, no invisible characters, Latin letters.

# Cyrillic and Greek letters that look like Latin ones, in lower case
_LATIN = str.maketrans("авсԁеһіјӏкмнорԛѕтуѵԝхαεικνορτυχϲ", "abcdehijlkmhopqstyvwxaeikvoptuxc")
_DASHES = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d", "-"))
_HIDDEN = ("Cf", "Mn", "Me", "Cc")


def visible(text: str) -> str:
    """Without invisible characters, and with every space as a plain one; line feeds and tabs stay."""
    if text.isascii():
        return text
    characters = (
        c for c in unicodedata.normalize("NFKC", text) if c in "\n\t" or unicodedata.category(c) not in _HIDDEN
    )
    return re.sub(r"[^\S\n\t]", " ", "".join(characters))


def skeleton(text: str) -> str:
    return visible(unicodedata.normalize("NFKD", text)).casefold().translate(_LATIN).translate(_DASHES)
