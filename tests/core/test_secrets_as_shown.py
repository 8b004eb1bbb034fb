"""A secret is not shown by what `clean_text` leaves out: any sequence of controls may be inside of it."""

from __future__ import annotations

import json
import random
import time

import pytest

from burnish.core import escape_codes
from burnish.core.secrets import LineFilter, Secrets
from burnish.sanitize import clean_text
from testing.attack_counts import CountAttacks
from testing.known_secrets import KEY, KNOWN

VALUE = "Zk8Jx2mQ9vR4tB7nWq3L"
SECRETS = Secrets.of({"DB_PASSWORD": VALUE})
CUTS = {
    "command with an 8-bit end": "\x1b]0;x\x9c",
    "8-bit command": "\x9d0;x\x07",
    "8-bit command and end": "\x9d0;x\x9c",
    "long command": f"\x1b]{'x' * 2500}\x07",
    "command that another sequence ends": "\x1b]0;x\x1b[m",
    "string that another sequence ends": "\x1bPq\x1b[m",
    "sequence without an end": "\x1b[31\x00",
    "8-bit sequence without an end": "\x9b31\x01",
    "escape without an end": "\x1b \x00",
    "sequence in a sequence": "\x1b[3\x1b[0m",
    "sequence with a zero width": "\x1b[3\u200b",
}
PIECES = (*"\x1b[]\x9b\x9d\x90\x9803m;\x07\x9c\\\x00\u200b #Px?\x08\u202e", "\x1b[", "\x1b]", "\x1b(", "\x1b[0m")


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("secret", [VALUE, KNOWN["GitHub"], KNOWN["AWS"]])
def test_a_sequence_that_is_left_out_does_not_hide_a_secret(cut: str, secret: str) -> None:
    for at in (1, 4, len(secret) - 1):
        shown = clean_text(SECRETS.redact(f"see {secret[:at]}{CUTS[cut]}{secret[at:]} end"))
        assert secret not in shown and "[secret: " in shown, shown
        assert shown.startswith("see ") and shown.endswith(" end")


@pytest.mark.parametrize("seed", range(5))
def test_generated_sequences_do_not_hide_a_secret(seed: int, count_attacks: CountAttacks) -> None:
    chance = random.Random(seed)
    cuts = ["".join(chance.choices(PIECES, k=chance.randint(1, 7))) for _ in range(4000)]
    texts = [f"see {VALUE[:at]}{cut}{VALUE[at:]} end" for cut in cuts for at in (3, 12)]
    tries = [text for text in texts if VALUE in clean_text(text)]
    shown = [text for text in tries if VALUE in clean_text(SECRETS.redact(text))]
    count_attacks("show a secret by what is left out of a text", len(tries), len(shown))
    assert len(tries) > 500 and shown == []


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_generated_sequences_in_json_do_not_hide_a_secret(
    seed: int, ascii_only: bool, count_attacks: CountAttacks
) -> None:
    chance = random.Random(seed)
    cuts = [*CUTS.values(), *("".join(chance.choices(PIECES, k=chance.randint(1, 7))) for _ in range(2000))]
    texts = [f"see {VALUE[:at]}{cut}{VALUE[at:]} end" for cut in cuts for at in (3, 12)]
    tries = [json.dumps([text], ensure_ascii=ascii_only) for text in texts if VALUE in clean_text(text)]
    shown = [text for text in tries if "[secret: " not in SECRETS.redact(text)]
    count_attacks("show a secret by what is left out of a text", len(tries), len(shown))
    assert len(tries) > 200 and shown == []


@pytest.mark.parametrize("cut", CUTS)
def test_json_inside_of_json_does_not_hide_a_secret(cut: str) -> None:
    text = json.dumps({"summary": f"ok {VALUE[:5]}{CUTS[cut]}{VALUE[5:]}"})
    for line in (json.dumps({"result": f"text\n{text}"}), json.dumps({"result": f"\x1b[1m{text}\x1b[0m"})):
        redacted = SECRETS.redact(line)
        assert VALUE[5:] not in redacted and "[secret: " in redacted, redacted


@pytest.mark.parametrize("cut", CUTS)
def test_lines_of_a_private_key_are_not_shown_one_by_one(cut: str) -> None:
    lines = [f"{line[:9]}{CUTS[cut]}{line[9:]}" for line in KEY.splitlines()]
    keep = LineFilter(Secrets())
    shown = [clean_text(text) for line in lines if (text := keep(line)) is not None]
    assert shown == ["[secret: private key removed]"]


@pytest.mark.parametrize("name", ["Anthropic", "OpenAI", "PyPI", "Slack", "Stripe, long"])
def test_the_rest_of_a_long_secret_behind_a_colour_code_is_not_shown(name: str, count_attacks: CountAttacks) -> None:
    secret = KNOWN[name]
    codes = ("\x1b[m", "\x1b[01;31m\x1b[K", "\x9b31m", "\x1b]8;;http://x\x07", "\\u001b[31m", "\u200b", "\0")
    tries = [(code, at) for code in codes for at in range(1, len(secret) - 12, 5)]
    shown = [(code, at) for code, at in tries if secret[at:] in SECRETS.redact(f"{secret[:at]}{code}{secret[at:]} x")]
    count_attacks("show a part of a secret behind a colour code", len(tries), len(shown))
    assert shown == []


BROKEN = (
    *("\x1b[31\x1b[32m", "\x1b[3\x1b[31\x1b[0m", "\x9b31\x9b0m", "\x1b[31\x18"),
    *("\\u001b[31\\u001b[32m", "\\x1b[31\\x1b[32m", "\\033[31\\033[32m", "\\e[31\\e[32m", "^[[31^[[32m"),
    *("&#27;[31&#27;[32m", "\\u001b[31\\u0000"),
)
MARKS = (
    *("<b>", "</b>", '<span class="x">', "<wbr>", "</em><b>", "<!-- x -->", "**", "*", "~~", "`", "**<b>"),
    *("&shy;", "&#8203;", "&zwnj;"),
)


@pytest.mark.parametrize("cut", [*BROKEN, *MARKS])
@pytest.mark.attacks("show a secret behind a broken code or markup", 9)
def test_nothing_of_a_secret_behind_a_broken_code_or_markup_is_readable(cut: str) -> None:
    for secret in (VALUE, KNOWN["AWS"], KNOWN["Anthropic"]):
        for at in (4, 8, len(secret) - 4):
            text = f"see {secret[:at]}{cut}{secret[at:]} end"
            redacted = SECRETS.redact(text)
            assert secret[at:] not in redacted and "[secret: " in redacted, redacted
            assert redacted.startswith("see ") and redacted.endswith(" end")
            assert [leak.line for leak in SECRETS.find(text)] == [1]


@pytest.mark.parametrize(
    "text",
    [
        "Use **bold**text and `code`here, a*b*c, x<y>z, snake\\_case.",
        "def f(*args, **kwargs): return List<String>, Map<K,V>.of(a&shy;b)",
        "<td>token</td><td>Zk8Jx2mQ9vR4</td><td>tB7nWq3M</td>",
        "curl -H 'Authorization: Bearer <token>' https://api.example.com/v1/items",
    ],
)
def test_markup_that_cuts_no_secret_stays(text: str) -> None:
    assert SECRETS.redact(text) == text


def test_a_secret_with_escaped_signs_of_markdown_is_redacted() -> None:
    escaped = KNOWN["Stripe"].replace("_", "\\_")
    assert SECRETS.redact(f"see {escaped} end") == "see [secret: Stripe key removed] end"


def test_the_tags_inside_of_a_secret_stay() -> None:
    secret = KNOWN["AWS"]
    assert SECRETS.redact(f"<i>{secret[:9]}<b>{secret[9:]}</b></i>") == "<i>[secret: AWS key removed]<b></b></i>"


def test_markup_without_an_end_is_searched_in_little_time() -> None:
    for piece in ("a<b ", "a<!--", "a*", "a**~~`", "&shy;a", "a&", 'a<b "', "a\\\\", "a`"):
        began = time.process_time()
        SECRETS.redact(piece * 20_000)
        assert time.process_time() - began < 5, piece


_RARELY = (
    *(
        "\x1b[",
        "\x9b",
        "\\u001b",
        "\\u009b31m",
        "\\x1B]",
        "\\033[",
        "\\e[",
        "\\u{1b}",
        "^[[",
        "\u241b[",
        "#x1B[",
        "#033[",
    ),
    *("&#27;[", "&#X1b;[", "%1B[", "=1b[", "<ESC>[", "<0x1b>[", "\\u0007", "\\uFEFF", "\u200b", "\x7f", "\x01", "\\t"),
    *(
        "%2F",
        "\\/",
        "\\u002f",
        "u0085",
        "\\ud83d",
        "a",
        "[31m",
        " ",
        "\n",
        "\u00e9",
        "\u2800",
        "\x85",
        "\\",
        "%",
        "u00",
    ),
)


@pytest.mark.parametrize("seed", range(3))
def test_a_quick_look_leaves_no_way_to_read_a_text_out(seed: int) -> None:
    """Each reading first looks for what it needs; a text without that must be one that the whole pattern misses."""
    chance = random.Random(seed)
    for _ in range(4000):
        text = "".join(chance.choices(_RARELY, k=chance.randint(1, 4)))
        assert escape_codes._has_rare(text) == bool(escape_codes._RARE.search(text)), repr(text)
        bare = escape_codes._without(text, escape_codes._BARE) if escape_codes._ESCAPES.search(text) else None
        assert escape_codes._without_controls(text) == bare, repr(text)
        unescaped = escape_codes._replaced(text, escape_codes._ASCII_ESCAPE, escape_codes._character)
        assert escape_codes.with_ascii_unescaped(text) == unescaped, repr(text)
