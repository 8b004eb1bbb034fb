"""Encodings that a file declares for itself: Python, Ruby, Perl, PHP, XML, HTML, CSS, batch, Emacs, by their rules."""

from __future__ import annotations

import base64
import codecs
import html
import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

# An author chooses the text that these expressions search: none may need more time than the text is long.
UNKNOWN = "unknown"
# How much of a file is looked at first. Where a declaration may stand behind it, the whole file is read.
HEAD = 4096
# PEP 263, which Ruby, Emacs and vim follow as well. Python ends a line at a carriage return, too.
_CODING = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.DOTALL)
_BLANK_OR_COMMENT = re.compile(rb"[ \t\f]*(?:#|\Z)")
_LINE_END = re.compile(rb"\r\n?|\n")
_XML = re.compile(rb"\A\s*<\?xml[^>]*\bencoding\s*=\s*[\"']([-\w.]+)", re.IGNORECASE)
_CSS = re.compile(rb"\A@charset \"([-\w.]+)\"")
_META = re.compile(rb"<meta\b", re.IGNORECASE)
# Every one behind the first `<meta`: which of them counts depends on comments and quotes before it.
_CHARSET = re.compile(rb"\bcharset\s*=[\s\"']*([-\w.]+)", re.IGNORECASE)
# JSP, CFML and ASP.NET, whose code page 65000 is UTF-7
_DIRECTIVE = re.compile(rb"<(?:%@|jsp:directive\.|cfprocessingdirective\b)([^>]*)", re.IGNORECASE)
_PAGE_ENCODING = re.compile(rb"\b(?:pageEncoding|CodePage|charset)\s*=[\s\"']*([-\w.]+)", re.IGNORECASE)
_PHP = re.compile(rb"\bdeclare\s*\(\s*encoding\s*=\s*[\"']([-\w.]+)", re.IGNORECASE)
# Ruby finds it in any case, and with blanks before the sign
_RUBY = re.compile(rb"\A(?:#!.*\n)?[ \t]*#.*?coding[ \t]*[:=][ \t]*([-\w.]+)", re.IGNORECASE)
# An option of Ruby in the first line: e for EUC-JP, s for Shift-JIS.
_RUBY_OPTION = re.compile(rb"[ \t]-[^\s-]*K([eEsS])")
_RUBY_OPTIONS = {b"e": "euc_jp", b"s": "cp932"}
# The command that changes the code page in which the rest of a batch file is read.
_BATCH = re.compile(rb"^[ \t]*+(?:@[ \t]*+)?chcp(?:\.com)?[ \t]+(\d{1,5})\b", re.IGNORECASE | re.MULTILINE)
# Perl decodes what follows, strings and code; without a name as the locale says
_PERL = re.compile(
    rb"(?:^|[;{}])[ \t]*use\s+encoding(?:::source)?\s*+(?:;|\(?\s*+(?:q[qw]?\s*+)?[^\w\s;:]\s*:?([-\w.]+))",
    re.MULTILINE,
)
_EMACS = re.compile(rb"-\*-[^\n]*?\bcoding:[ \t]*([-\w.]+)")
# Emacs looks for this list in the last 3000 characters.
_EMACS_LIST = re.compile(rb"Local Variables:.*?\bcoding:[ \t]*([-\w.]+)", re.DOTALL | re.IGNORECASE)
_EMACS_END = 3000
_EMACS_PLAIN = frozenset({"undecided", "raw-text", "no-conversion", "binary", "prefer-utf-8"})
# Names that browsers know and Python does not, or reads as a smaller encoding. Other unknown names browsers ignore.
_BROWSER_CODECS = {
    **dict.fromkeys(("x-sjis", "windows-31j"), "cp932"),
    **dict.fromkeys(("x-gbk", "csgb2312", "gb_2312", "gb_2312-80", "gb2312", "chinese"), "gbk"),
    **dict.fromkeys(("csiso58gb231280", "iso-ir-58"), "gbk"),
    **dict.fromkeys(("x-x-big5", "cn-big5"), "big5hkscs"),
    **dict.fromkeys(("cseuckr", "csksc56011987", "iso-ir-149", "ks_c_5601-1989", "ksc5601", "ksc_5601"), "cp949"),
    **dict.fromkeys(("windows-949", "euc-kr", "korean", "ks_c_5601-1987"), "cp949"),
    **dict.fromkeys(("x-euc-jp", "cseucpkdfmtjapanese"), "euc_jp"),
}
# UTF-7, as any program may name it (also by its Windows code page), without the quotes and carets of shells.
_UTF_7 = re.compile(rb"utf[-_]?7(?!\d)|(?<!\d)65000(?!\d)", re.IGNORECASE)
_QUOTING = b"^\"'"
# the byte order mark in UTF-7, with what may follow
_UTF_7_MARKS = (b"+/v8", b"+/v9", b"+/v+", b"+/v/")
# Letters as UTF-7, or its variant for mailboxes, writes them.
_SHIFTED = re.compile(rb"[+&]([A-Za-z0-9+/,]{3,})")
_MARKUP = frozenset({".html", ".htm", ".xhtml", ".xht", ".shtml", ".php", ".jsp", ".aspx", ".el", ".pl", ".pm", ".t"})
_LATE_SIGNS = ("<meta", "<?xml", "<%@", "<jsp:", "<cfproc", "declare", "use encoding", "chcp", "local variables:")


def declarations(data: bytes) -> Iterator[str]:
    """Names of the declared encodings. Each is for another kind of file, and nothing here knows the kind."""
    if (name := _coding_comment(data)) is not None:
        yield _python_codec(name)
    plain = data.removeprefix(codecs.BOM_UTF8)
    # parsers of XML know more names than Python, UTF-7-IMAP among them
    yield from (_codec(match[1]) or UNKNOWN for match in _XML.finditer(plain))
    yield from filter(None, map(_browser_codec, (*_CSS.findall(plain), *_charsets(data))))
    yield from (_codec(name) or UNKNOWN for name in (*_PHP.findall(data), *_PERL.findall(data)))
    directives = _DIRECTIVE.findall(data)
    yield from (_page_codec(name) for directive in directives for name in _PAGE_ENCODING.findall(directive))
    yield from map(_page_codec, _BATCH.findall(data))
    yield from (_RUBY_OPTIONS[letter.lower()] for letter in _ruby_options(plain))
    # Ruby does not run a file with a name that it does not know
    yield from filter(None, map(_browser_codec, _RUBY.findall(plain)))
    yield from (_emacs_codec(name.decode("ascii", "replace")) for name in _emacs_names(data))
    # Many languages name the encoding of a file in ways of their own. The other encodings of this kind are rarer.
    if _names_utf_7(data) and _has_shifted_ascii(data):
        yield "utf-7"


def declares_other_encoding(data: bytes) -> bool:
    """Whether the whole content is needed to know how an interpreter decodes it. `data`: its start, or all of it."""
    if _names_utf_7(data) or any(codec not in ("utf-8", "ascii") for codec in declarations(data)):
        return True
    return len(data) == HEAD and _goes_on(data)


def may_declare_later(path: str, head: bytes, hunk_texts: Iterable[str]) -> bool:
    """Whether a declaration may follow this start of a file, as in markup. `hunk_texts`: the text of its hunks."""
    if len(head) < HEAD:
        return False
    if PurePosixPath(path).suffix.lower() in _MARKUP or head.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"<"):
        return True
    return any(map(_may_need_rest, hunk_texts))


def _may_need_rest(text: str) -> bool:
    """Whether a changed part declares an encoding, or has letters in UTF-7, which the unchanged rest may declare."""
    if any(sign in text.lower() for sign in _LATE_SIGNS):
        return True
    data = text.encode("utf-8", "replace")
    return _names_utf_7(data) or _has_shifted_ascii(data)


def _names_utf_7(data: bytes) -> bool:
    return data.startswith(_UTF_7_MARKS) or _UTF_7.search(data.translate(None, _QUOTING)) is not None


def _has_shifted_ascii(data: bytes) -> bool:
    """Whether UTF-7 would read an ASCII letter or sign where the bytes show another one."""
    for match in _SHIFTED.finditer(data):
        letters = match[1].replace(b",", b"/")
        pairs = base64.b64decode(letters + b"A" * (-len(letters) % 4))[: len(letters) * 6 // 8]
        if any(high == 0 and 0x20 <= low < 0x7F for high, low in zip(pairs[::2], pairs[1::2], strict=False)):
            return True
    return False


def _goes_on(head: bytes) -> bool:
    """Whether a comment with a declaration may continue after this start of a file."""
    lines = _LINE_END.split(head.removeprefix(codecs.BOM_UTF8), maxsplit=2)
    return len(lines) <= 2 and all(map(_BLANK_OR_COMMENT.match, lines))


def _ruby_options(data: bytes) -> list[bytes]:
    """The letters of Ruby's option -K in a first line that starts Ruby."""
    first_line = data.partition(b"\n")[0]
    ruby = first_line.find(b"ruby") if first_line.startswith(b"#!") else -1
    return _RUBY_OPTION.findall(first_line, ruby) if ruby >= 0 else []


def _charsets(data: bytes) -> Iterator[bytes]:
    """A browser follows the first `<meta>` that declares one, however far down it stands, and reads entities in it."""
    meta = _META.search(data)
    if meta is None:
        return
    yield from _CHARSET.findall(data, meta.end())
    if data.find(b"&", meta.end()) >= 0:
        plain = html.unescape(data[meta.end() :].decode("latin-1"))
        yield from _CHARSET.findall(plain.encode("latin-1", "replace"))


def _emacs_names(data: bytes) -> Iterator[bytes]:
    for line in _LINE_END.split(data.removeprefix(codecs.BOM_UTF8)[: 2 * HEAD], maxsplit=2)[:2]:
        yield from _EMACS.findall(line)
    yield from _EMACS_LIST.findall(data[-_EMACS_END:])


def _browser_codec(name: bytes) -> str:
    return _BROWSER_CODECS.get(name.decode("ascii", "replace").lower()) or _codec(name)


def _page_codec(name: bytes) -> str:
    """A Java charset, or the number of a Windows code page."""
    return (_codec(b"cp" + name) if name.isdigit() else _codec(name)) or UNKNOWN


def _codec(name: bytes) -> str:
    """Python's name of an encoding; empty for one that it does not know."""
    try:
        return codecs.lookup(name.decode("ascii")).name
    except (LookupError, UnicodeError, ValueError):
        return ""


def _coding_comment(data: bytes) -> str | None:
    """As CPython finds it: in line 1, or in line 2 if line 1 is blank or a comment; the first one counts."""
    start = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
    for _ in range(2):
        end = match.start() if (match := _LINE_END.search(data, start)) else len(data)
        line = data[start:end]
        if found := _CODING.match(line):
            return found[1].decode("ascii", "replace")
        if match is None or not _BLANK_OR_COMMENT.match(line):
            return None
        start = match.end()
    return None


def _python_codec(name: str) -> str:
    """The codec that Python takes; `utf-8-unix` of Emacs is UTF-8. A codec of an extra package is unknown here."""
    short = name[:12].lower().replace("_", "-")
    for prefix in ("utf-8", "latin-1", "iso-8859-1", "iso-latin-1"):
        if short == prefix or short.startswith(f"{prefix}-"):
            return "utf-8" if prefix == "utf-8" else "iso8859-1"
    try:
        return codecs.lookup(name).name
    except (LookupError, UnicodeError, ValueError):
        return UNKNOWN


def _emacs_codec(name: str) -> str:
    """Emacs adds the kind of line end to a name, and has names for text that it looks at first."""
    plain = re.sub(r"-(?:unix|dos|mac)$", "", name.lower())
    return "utf-8" if plain in _EMACS_PLAIN else _python_codec(plain)
