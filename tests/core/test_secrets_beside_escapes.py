"""A key is found although only a colour code or another escape divides it from the words around it."""

from __future__ import annotations

import json
import time

import pytest

from burnish.core.secrets import NO_SECRETS, Leak, Secrets
from testing.attack_counts import CountAttacks
from testing.known_secrets import KNOWN, STRICT

# what a terminal, JSON, Python, C or a shell leaves out or shows as a gap
INVISIBLE = {
    "colour": "\x1b[0m",
    "colour of grep": "\x1b[01;31m\x1b[K",
    "8-bit colour": "\x9b0m",
    "link": "\x1b]8;;http://x\x1b\\",
    "character set": "\x1b(B",
    "saved cursor": "\x1b7",
    "colour in JSON": "\\u001b[0m",
    "colour in Python": "\\x1b[0m",
    "colour in a shell": "\\033[0m",
    "colour in printf": "\\e[0m",
    "colour in terminfo": "\\E[0m",
    "colour in Rust": "\\u{1b}[0m",
    "colour in Perl": "\\x{1B}[0m",
    "colour of cat -v": "^[[0m",
    "colour as a symbol": "\u241b[0m",
    "colour in a report of pytest": "#x1B[0m",
    "colour in a log daemon": "#033[0m",
    "colour in XML": "&#27;[0m",
    "colour in XML, hexadecimal": "&#x1B;[0m",
    "colour in an address": "%1B[0m",
    "colour in mail": "=1B[0m",
    "colour in documents": "<ESC>[0m",
    "colour in an editor": "<1b>[0m",
    "zero width": "\u200b",
    "zero width in JSON": "\\u200b",
    "NUL": "\0",
    "backspace": "\x08",
    "line end in JSON": "\\n",
    "line end in JSON by number": "\\u000a",
    "line end in JSON in JSON": "\\\\n",
    "tab in JSON": "\\t",
    "line end in Python": "\\x0a",
    "line end in C": "\\012",
    "bell in C": "\\a",
}
# what is a sign in the place of a gap, so it cannot be inside of a key
GAPS = {"blank in an address": "%20", "line end in an address": "%0A", "sign in an address": "%3A", "JSON": "\\u003a"}


def texts(secret: str, gap: str, *, cuts: bool) -> list[str]:
    plain = [f"token{gap}{secret}", f"{secret}{gap}word", f"token{gap}{secret}{gap}word", f"9{gap}{secret}{gap}9"]
    cut = [f"token{gap}{secret[:at]}{gap}{secret[at:]}{gap}word" for at in (1, 5, len(secret) - 1)]
    return [*plain, *(cut if cuts else [])]


@pytest.mark.parametrize("name", KNOWN)
def test_a_key_beside_an_escape_is_redacted(name: str, count_attacks: CountAttacks) -> None:
    secret = KNOWN[name]
    tries = [text for gap in INVISIBLE.values() for text in texts(secret, gap, cuts=True)]
    tries += [text for gap in GAPS.values() for text in texts(secret, gap, cuts=False)]
    shown = [text for text in tries if secret[5:-5] in (out := Secrets().redact(text)) or "[secret: " not in out]
    missed = [text for text in tries if not Secrets().find_new(text)]
    count_attacks("show or commit a key beside an escape", 2 * len(tries), len(shown) + len(missed))
    assert shown == [] and missed == []


@pytest.mark.parametrize("name", sorted(KNOWN.keys() - {"a key"}))
def test_a_key_at_the_beginning_of_a_line_of_json_is_redacted(name: str) -> None:
    line = json.dumps({"output": f"first line\n{KNOWN[name]}\nlast line\u2028"})
    redacted = Secrets().redact(line)
    assert KNOWN[name] not in redacted
    assert json.loads(redacted)["output"].startswith("first line\n[secret: "), redacted


def test_a_key_in_the_middle_of_a_word_is_still_no_key() -> None:
    for name in sorted(KNOWN.keys() - STRICT - {"a key", "Slack webhook", "Discord webhook", "Telegram"}):
        text = f"\x1b[0mimage{KNOWN[name]}\x1b[0m end"
        assert Secrets().find(text) == [], name


def test_text_beside_the_key_stays() -> None:
    token, key = KNOWN["GitHub"], KNOWN["AWS"]
    assert Secrets().redact(f"token\x1b[0m{token}") == "token\x1b[0m[secret: GitHub token removed]"
    text = f"a\x1b[1m{key[:7]}\x1b[4m{key[7:]}\x1b[0mb"
    assert Secrets().redact(text) == "a\x1b[1m[secret: AWS key removed]\x1b[4m\x1b[0mb"
    assert Secrets().find(f"one\ntwo\\n{token}") == [Leak(2, "GitHub token")]


@pytest.mark.parametrize("piece", ["eyJ", "x\x1b[0mgithub_pat_", "glpat-\x1b[0m", ".eyJ", "AKIA\x1b[0mA1B2C3D4E5F6G7Z"])
def test_half_a_megabyte_of_beginnings_does_not_take_long(piece: str) -> None:
    text = piece * (500_000 // len(piece))
    begin = time.process_time()
    Secrets().redact(text)
    assert time.process_time() - begin < 5


@pytest.mark.parametrize("beside", ["\u9375", "\u5bc6\u94a5", "\u30ad\u30fc", "\u00e9"])
def test_a_key_directly_behind_a_letter_that_is_not_ascii_is_found(beside: str) -> None:
    """Chinese and Japanese have no blanks between words."""
    for name, key in KNOWN.items():
        assert key not in NO_SECRETS.redact(f"{beside}{key}{beside}"), name
        assert NO_SECRETS.find(f"{beside}{key}{beside}"), name


@pytest.mark.parametrize("before", ["KEY=", "https://host/?key=", "+", "-", "x\n+"])
def test_a_key_behind_an_equals_sign_or_the_mark_of_a_diff_is_found(before: str) -> None:
    for name, key in KNOWN.items():
        assert key not in NO_SECRETS.redact(f"{before}{key}"), name
