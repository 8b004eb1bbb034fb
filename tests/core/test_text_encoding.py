"""Bytes are shown as text only if an interpreter would see the same text."""

from __future__ import annotations

import codecs
import io
import re
import time
import tokenize

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from burnish.core.declared_encodings import HEAD, declarations, declares_other_encoding, may_declare_later
from burnish.core.text_encoding import escape_invisible, has_invisible, read_text
from testing.long_forms import examples

ASCII_TEXT = frozenset(range(0x20, 0x7F))
PIECES = st.one_of(
    st.binary(max_size=12),
    st.sampled_from(
        [b"EVIL\n", b"\0", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"E\0V\0I\0L\0", b"\0E\0V", b"# caf\xe9\n"]
    ),
)


def letters(data: bytes) -> str:
    return "".join(chr(byte) for byte in data if byte in ASCII_TEXT)


@settings(deadline=None, max_examples=examples(1000))
@given(st.lists(PIECES, max_size=8).map(b"".join))
@example(b"\xff\xfe\0E\0V\0I\0L")
@example(b"\xff\xfeEVIL")
@example(b"a\0b\0\0E\0V\0I\0L")
def test_every_ascii_letter_of_the_bytes_is_in_the_text(data: bytes) -> None:
    """A shell that skips NUL bytes, and any byte-wise interpreter, runs what the reviewer was shown."""
    reading = read_text(data)
    if reading is None or reading.encoding in ("cp932", "euc_jp", "euc_kr", "gb18030", "big5"):
        return
    shown = iter(reading.text)
    if reading.encoding.startswith(("utf-16", "utf-32")):
        # letters with an accent have an ASCII byte as well; whole words of ASCII must be the same
        assert letters(reading.text.encode("ascii", "ignore")) in letters(data) or len(reading.text) != len(data)
    else:
        assert all(letter in shown for letter in letters(data))


@settings(deadline=None, max_examples=examples(300))
@given(st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=60), st.sampled_from(["le", "be"]))
def test_wide_text_is_what_a_shell_without_nul_bytes_would_run(text: str, order: str) -> None:
    for codec in (f"utf-16-{order}", f"utf-32-{order}"):
        reading = read_text(text.encode(codec))
        assert reading is None or reading.text.replace("\0", "") == text


@settings(deadline=None)
@given(st.text())
def test_escaped_text_has_nothing_invisible(text: str) -> None:
    assert not has_invisible(escape_invisible(text))


READ = {
    "UTF-8": ("é\n".encode(), "é\n", "utf-8"),
    "UTF-16 with mark": ("a é\n".encode("utf-16"), "a é\n", "utf-16-le"),
    "UTF-16 without mark": ("abc\n".encode("utf-16-be"), "abc\n", "utf-16-be"),
    "UTF-32": ("abc\n".encode("utf-32"), "abc\n", "utf-32-le"),
    "Latin-1": ("café na\xefve\n".encode("latin-1"), "café naïve\n", "latin-1"),
    "EUC-JP": ("# こんにちは\n".encode("euc_jp"), "# こんにちは\n", "euc_jp"),
    "GB18030": ("# 你好世界\n".encode("gb18030"), "# 你好世界\n", "gb18030"),
    "EUC-KR": ("안녕하세요\n".encode("euc_kr"), "안녕하세요\n", "euc_kr"),
    "declared": ("# coding: koi8-r\n# привет\n".encode("koi8-r"), "# coding: koi8-r\n# привет\n", "koi8-r"),
    "declared as Emacs does": (b"# -*- coding: utf-8-unix -*-\n", "# -*- coding: utf-8-unix -*-\n", "utf-8"),
    "declared in line 2 below code": (b"x = 1\n# coding: utf-7\n", "x = 1\n# coding: utf-7\n", "utf-8"),
    "declared in line 3": (b"#\n#\n# coding: utf-7\n", "#\n#\n# coding: utf-7\n", "utf-8"),
    "UTF-7 named, and no letter in it": (b"# utf-7 + cp65000 & more\n", "# utf-7 + cp65000 & more\n", "utf-8"),
    "letters as in UTF-7, and no name": (b"x = '+AG8-'\n", "x = '+AG8-'\n", "utf-8"),
    "declared twice": (b"# coding: utf-8\n# coding: utf-7\n", "# coding: utf-8\n# coding: utf-7\n", "utf-8"),
    "NUL in text": (b"#!/bin/sh\necho a\0b\n", "#!/bin/sh\necho a\0b\n", "utf-8"),
    "a text that begins like a program": (b"MZ is a name\n", "MZ is a name\n", "utf-8"),
    "nothing": (b"", "", "utf-8"),
}


@pytest.mark.parametrize("what", READ)
def test_decoded(what: str) -> None:
    data, text, encoding = READ[what]
    reading = read_text(data)
    assert reading is not None and (reading.text, reading.encoding) == (text, encoding)


def test_a_sign_that_a_two_byte_letter_swallows_is_written_out() -> None:
    reading = read_text("# こんにちはソース\n".encode("cp932"))
    assert reading is not None and r"ソ\x83\x5c" in reading.text


# Shift-JIS takes the last byte of this kana and the backslash as one letter.
SWALLOWED = "x = 'ッ\\' + evil\n"
IN_DOUBT = {
    "UTF-16 mark before ASCII": b"\xff\xfe#!/bin/sh\nEVIL\n\n",
    "other byte order": b"\xff\xfe" + "EVIL".encode("utf-16-be"),
    "UTF-7 in a comment of Guile": b";; coding: utf-7\n+AG8-\n",
    "UTF-7 in a block comment of Guile": b"#!/usr/bin/guile\ncoding: utf-7\n!#\n+AG8-\n",
    "UTF-7 in Octave": b"% coding: UTF7\n+AG8\n",
    "UTF-7 in XQuery": b'xquery version "3.1" encoding "utf-7";\n+AG8-\n',
    "UTF-7 in R documentation": b"\\encoding{utf-7}\n+AG8-\n",
    "UTF-7 in a resource script": b"#pragma code_page(65000)\n+AG8-\n",
    "UTF-7 in PHP beside another directive": b"<?php declare(ticks=1, encoding='utf-7');\n+AG8-\n",
    "UTF-7 in Perl with a version": b"use encoding 2.0 'utf-7';\n+AG8-\n",
    "UTF-7 in XML behind a comment": b'<!-- --><?xml encoding="utf-7"?>\n+AG8-\n',
    "UTF-7 by a second command of a line": b"@echo off & chcp 65000\r\n+AG8-\r\n",
    "UTF-7 by a command with carets": b"ch^cp 650^00\r\n+AG8-\r\n",
    "UTF-7 by its byte order mark": b"+/v8-+ADw-script+AD4-",
    "UTF-7 of mailboxes": b";; coding: utf-7-imap\n&AG8-\n",
    "UTF-7": b"# coding: utf-7\n+AG8-\n",
    "unicode_escape": b"# -*- coding: unicode_escape -*-\n\\x6f\n",
    "declared in the second line": b"#!/usr/bin/python\n# coding=utf_7\n",
    "declared twice, UTF-7 first": b"# coding: utf-7\n# coding: utf-8\n",
    "declared after a byte order mark": b"\xef\xbb\xbf# coding: utf-7\n",
    "declared after a form feed": b"\f# coding: utf-7\n",
    "declared after carriage returns": b"# x\r# coding: utf-7\r",
    "declared far in a line": b"#" + b" " * 100_000 + b"coding: utf-7\n",
    "declared after a long line": b"#" + b" " * 100_000 + b"\n# coding: raw_unicode_escape\n",
    "a codec that only an extra package has": b"# coding: pyxl-of-a-package\n",
    "UTF-8 for Python, UTF-7 for a browser": b"# coding: utf-8\n<meta charset=utf-7>\n",
    "XML in UTF-7": b'<?xml version="1.0" encoding="utf-7"?>\n<a/>\n',
    "XML in an encoding that Python does not know": b'<?xml version="1.0" encoding="UTF-7-IMAP"?>\n<a>&ADw-</a>\n',
    "HTML with another declaration in a comment": b'<!-- <meta charset=utf-8> --><meta charset="iso-2022-jp">\n',
    "HTML with a bracket in quotes": b'<meta name="a>b" charset="iso-2022-jp">\n',
    "UTF-8 for Python, Shift-JIS for a browser": f"# coding: utf-8\n<meta charset=shift_jis>\n{SWALLOWED}".encode(),
    "Shift-JIS for a browser, with bytes that it replaces": f"<meta charset=shift_jis>\n{SWALLOWED}\uffbf\n".encode(),
    "Shift-JIS by a name of browsers": f"<meta charset=x-sjis>\n{SWALLOWED}".encode(),
    "Shift-JIS by Microsoft's name": f"<meta charset=windows-31j>\n{SWALLOWED}".encode(),
    "GBK by the older name that browsers take for it": f"<meta charset=gb2312>\n{SWALLOWED}".encode(),
    "Big5, a character that only decoders of browsers know": "<meta charset=big5>\nx = '\u0801\\' + evil\n".encode(),
    "HTML that declares far down": f"<!--{'x' * HEAD}-->\n<meta charset=shift_jis>\n{SWALLOWED}".encode(),
    "HTML that declares with an entity": f'<meta charset="shift&#95;jis">\n{SWALLOWED}'.encode(),
    "HTML that declares with an entity in the content": (
        f'<meta http-equiv="Content-Type" content="text/html; char&#115;et=shift_jis">\n{SWALLOWED}'.encode()
    ),
    "XML in UTF-7 behind a byte order mark": b'\xef\xbb\xbf<?xml version="1.0" encoding="utf-7"?>\n<a/>\n',
    "XML that declares far behind its beginning": b'<?xml version="1.0"' + b" " * HEAD + b'encoding="utf-7"?>\n<a/>\n',
    "PHP in UTF-7": b"<?php declare(encoding='UTF-7');\n+AG8-\n",
    "Emacs Lisp in UTF-7": b";; -*- mode: emacs-lisp; coding: utf-7 -*-\n+AG8-\n",
    "Emacs Lisp that declares at its end": b"+AG8-\n;; Local Variables:\n;; coding: utf-7-unix\n;; End:\n",
    "EBCDIC by declaration": b"# coding: cp037\n",
    "Shift-JIS that swallows a backslash of UTF-8": "# coding: shift_jis\nx = 'ッ\\' + evil\n".encode(),
    "PNG": b"\x89PNG\r\n\x1a\n\0\0\0#!/bin/sh\n",
    "random": bytes(range(256)),
    "mostly NUL": b"EVIL\n" + b"\0" * 100,
    "very long": b"\0" + b"a" * (5 * 1024 * 1024),
}


@pytest.mark.parametrize("what", IN_DOUBT)
def test_binary_or_in_doubt(what: str) -> None:
    assert read_text(IN_DOUBT[what]) is None


@pytest.mark.parametrize("char", ["\ufe0e", "\ufe0f", "\U0001bca0", "\ufff0", "\U00013430", "\U00016fe4", "\U0001d159"])
def test_a_character_without_a_shape_does_not_make_another_name_that_looks_the_same(char: str) -> None:
    for name in (f"is_admin{char} = 1", f"{char}x", f"größe{char}(", f"1{char}"):
        assert char not in escape_invisible(name) and has_invisible(name)


@pytest.mark.parametrize("text", ["1\ufe0f\u20e3", "\u2764\ufe0f", "\u2139\ufe0f", "\u26a0\ufe0f x", "\u00a9\ufe0e"])
def test_symbols_keep_the_mark_that_chooses_their_look(text: str) -> None:
    assert escape_invisible(text) == text


LINE_PIECES = (
    *(b"#", b" ", b"\f", b"x = 1", b"coding: x", b"\n", b"\r", b"\r\n", b"\xef\xbb\xbf"),
    *(b"# coding: utf-8", b"# coding: latin-1", b"# vim: fileencoding=koi8-r", b"#coding:=cp1251"),
)
LINES = st.lists(st.sampled_from(LINE_PIECES), max_size=7).map(b"".join)


@settings(deadline=None, max_examples=examples(500))
@given(LINES)
def test_the_declaration_that_counts_is_the_one_that_python_takes(start: bytes) -> None:
    data = start + b"\nx = '\xe9'\n"
    try:
        expected = tokenize.detect_encoding(io.BytesIO(re.sub(rb"\r\n?", b"\n", data)).readline)[0]
    except SyntaxError:
        return
    reading = read_text(data)
    if reading is not None and expected not in ("utf-8", "utf-8-sig"):
        assert codecs.lookup(reading.encoding) == codecs.lookup(expected)


@pytest.mark.parametrize(
    "text",
    [
        ";; -*- coding: utf-8-unix -*-\nh\u00e9\n",
        "/* -*- coding: prefer-utf-8 -*- */\nh\u00e9\n",
        "<meta charset=utf-8><p>\u30c3\\ &amp; charset</p>\n",
        "<meta charset=gb2312><p>plain</p>\n",
        "<?php declare(strict_types=1); // h\u00e9\n",
    ],
)
def test_usual_declarations_are_read_as_text(text: str) -> None:
    reading = read_text(text.encode())
    assert reading is not None and reading.text == text


def test_the_rest_of_a_file_is_read_where_markup_may_declare_an_encoding_in_it() -> None:
    head = b"<!-- x" + b" " * HEAD
    assert may_declare_later("page", head, ())
    assert may_declare_later("page.html", b"x" * HEAD, ())
    assert may_declare_later("page.tmpl", b"x" * HEAD, ["+<META charset=gbk>\n"])
    assert not may_declare_later("app.py", b"x" * HEAD, ["+x = 1\n"])
    assert not may_declare_later("page.html", b"<p>short</p>", ())


def test_the_first_bytes_are_enough_unless_a_comment_goes_on() -> None:
    assert not declares_other_encoding(b"x = 1;" * HEAD)
    assert not declares_other_encoding(b"#\n#\n" + b"#" * HEAD)
    assert declares_other_encoding((b"#" + b" " * HEAD)[:HEAD])
    assert declares_other_encoding((b"#\n" + b" " * HEAD)[:HEAD])


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        (b"use encoding 'utf-7';\n", "utf-7"),
        (b'use strict; use encoding "shiftjis", STDIN => "utf8";\n', "shift_jis"),
        (b"use strict;\nuse encoding qw(euc-jp);\n", "euc_jp"),
        (b"use encoding::source(q{:cp932});\n", "cp932"),
        (b"use encoding;\n", "unknown"),
        (b"#!/usr/bin/ruby\n# CODING : Windows-31J\n", "cp932"),
        (b"# -*- Encoding: shift_jis -*-\n", "shift_jis"),
    ],
)
def test_what_perl_and_ruby_declare_is_found(text: bytes, codec: str) -> None:
    assert codec in declarations(text)
    assert declares_other_encoding(text)


@pytest.mark.parametrize(
    "text",
    [
        b"You may use encoding declarations.\n",
        b"use encoding::warnings;\n",
        b"# Encoding : see below\n",
        b"use utf8;\n",
    ],
)
def test_words_about_encodings_declare_nothing(text: bytes) -> None:
    assert list(declarations(text)) == []
    assert not declares_other_encoding(text)


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        (b'<%@ page pageEncoding="UTF-7" %>\n', "utf-7"),
        (b'<%@ page\n contentType="text/html; charset=cp037"%>\n', "cp037"),
        (b'<html>\n<jsp:directive.page pageEncoding="UTF-16"/>\n', "utf-16"),
        (b'<%@ Page Language="C#" CodePage="65000" %>\n', "unknown"),
        (b"<%@ Page CodePage=65001 %>\n", "utf-8"),
        (b"<%@ page" + b" " * 5000 + b'pageEncoding="UTF-7" %>\n', "utf-7"),
    ],
)
def test_what_pages_of_a_server_declare_is_found(text: bytes, codec: str) -> None:
    assert list(declarations(text)) == [codec]
    assert (read_text(text) is None) == (codec != "utf-8")


def test_perl_may_declare_anywhere() -> None:
    late = b"#" * 2 * HEAD
    assert may_declare_later("tool.pl", late[:HEAD], []) and may_declare_later(
        "tool", late[:HEAD], ["+use encoding 'x';"]
    )


BLANKS = "\u00a0 \u1680 \u2003 \u202f \u205f \u3000 \ufffc \ufffe \ufdd0 \ue000 \U0010ffff"


@pytest.mark.attacks("hide a character in a name", 1)
@pytest.mark.parametrize("char", BLANKS.split(" "))
def test_characters_that_look_like_a_blank_or_like_nothing_are_escaped_in_names(char: str) -> None:
    """PHP, shells and make take them as letters: `$ok` and another name would look the same."""
    code = f"+$ok{char} = check();"
    assert char not in escape_invisible(code) and has_invisible(code)


def test_the_wide_blank_of_japanese_text_stays() -> None:
    text = "+\u3000これは\u3000本文です。\n"
    assert escape_invisible(text) == text


LONG_ROWS = {
    "blanks of a charset": (b"<meta charset=", b" ", b"!"),
    "blanks of a page encoding": (b"<%@ charset=", b" ", b"!>"),
    "blanks of Perl": (b"use encoding", b" ", b"a"),
    "blanks of Perl in brackets": (b"use encoding(", b" ", b"a"),
    "rubies": (b"#!", b"ruby -", b""),
    "options of Ruby": (b"#!ruby", b" -K", b""),
    "blanks of a batch file": (b"", b" ", b"x"),
    "directives": (b"", b"<%@", b""),
    "attributes of XML": (b"<?xml ", b"encoding ", b""),
    "codings": (b"#", b"coding ", b""),
    "shifted letters": (b"utf-7 ", b"+AAA", b""),
}


@pytest.mark.parametrize("row", LONG_ROWS.values(), ids=LONG_ROWS)
def test_the_time_to_look_for_declarations_grows_with_the_length_of_the_file(row: tuple[bytes, bytes, bytes]) -> None:
    start, unit, end = row
    begin = time.process_time()
    list(declarations(start + unit * (200_000 // len(unit)) + end))
    # the square of it would be minutes
    assert time.process_time() - begin < 5
