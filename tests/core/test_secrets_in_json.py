"""A secret that something invisible cuts into pieces is found in JSON, too, which writes such characters as escapes."""

from __future__ import annotations

import json
from collections.abc import Callable
from urllib.parse import quote

import pytest

from burnish.core.secrets import Secrets

VALUES = {
    "API_TOKEN": "Zq8hV3xPw7Lk2mNb5RtY",
    "DB_PASSWORD": 'pa/ss+wo=rd&x%y#7K!zQ"t',
    "OWN_SECRET": "pässwörd-λ-4Hq9Zx7T",
}
KEY = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
SECRETS = Secrets.of(VALUES)
SHAPELESS = "\u00ad\u034f\u115f\u180e\u200b\u200d\u202e\u2060\u2066\u3164\ufe0f\ufeff\U000e0041"
CUTS = {
    **{f"U+{ord(sign):04X}": sign for sign in SHAPELESS},
    "8-bit colour": "\x9b31m",
    "8-bit control": "\x85",
    "character set": "\x1b(B",
    "colour": "\x1b[31m",
}


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_secret_that_is_cut_is_removed(cut: str, ascii_only: bool) -> None:
    for value in (*VALUES.values(), KEY):
        for at in range(1, len(value)):
            text = json.dumps({"text": f"x {value[:at]}{CUTS[cut]}{value[at:]} y"}, ensure_ascii=ascii_only)
            redacted = SECRETS.redact(text)
            assert "[secret: " in redacted, text
            rest = json.loads(redacted)["text"]
            assert rest.startswith("x [secret: ") and rest.endswith(" y"), text


@pytest.mark.parametrize("value", [VALUES["API_TOKEN"], VALUES["OWN_SECRET"]])
@pytest.mark.parametrize("step", [1, 2, 3, 5])
def test_letters_that_are_escaped_one_by_one_are_found(value: str, step: int) -> None:
    in_json = "".join(f"\\u{ord(sign):04x}" if at % step == 0 else sign for at, sign in enumerate(value))
    in_address = "".join(quote(sign) if sign.isascii() else quote(sign).lower() for sign in value)
    for text in (in_json, in_address, "".join(f"%{byte:02x}" for byte in value.encode())):
        assert "[secret: " in SECRETS.redact(text), text


@pytest.mark.parametrize("value", VALUES.values())
def test_json_inside_of_json_is_searched(value: str) -> None:
    assert "[secret: " in SECRETS.redact(json.dumps(json.dumps({"a": value})))


OTHER = ["\\u65e5\\u672c\\u8a9e", "100%c3", "%e2%28%a1", "C:\\users\\u200b", "%zz", "caf%C3%A9", "%c0%af%f0%9f"]


@pytest.mark.parametrize("text", OTHER)
def test_other_text_is_left_alone(text: str) -> None:
    assert SECRETS.redact(text) == text


@pytest.mark.parametrize("write", [lambda text: text.replace("/", "\\/"), lambda text: text.replace("&", "\\u0026")])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_secret_is_found_in_every_spelling_of_json(write: Callable[[str], str], ascii_only: bool) -> None:
    values = {"A_KEY": "wJalr/XUtnF+EMI/K7MD&bPx", "B_KEY": 'pä"ss/wörd-4Hq9Zx7T'}
    for value in values.values():
        text = write(json.dumps({"text": f"x {value} y"}, ensure_ascii=ascii_only))
        rest = json.loads(Secrets.of(values).redact(text))["text"]
        assert rest.startswith("x [secret: ") and rest.endswith(" y"), text
