"""Secrets are found and taken out; what only looks odd is left alone."""

# ruff: noqa: E501 (a table is read by its columns; the hashes are test data)

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import uuid
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.core.secrets import NO_SECRETS, Leak, LineFilter, Secrets
from burnish.sanitize import clean_text
from testing.known_secrets import ALNUM, DICE, KEY, KNOWN, STRICT, some


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("around", ["{}", "x = '{}'", '{{"a": "{}"}}', "feature/{}", "see {}, please", "+{}"])
def test_well_known_formats_are_taken_out(name: str, around: str) -> None:
    if name in STRICT and around.startswith(("feature/", "+")):
        return
    text = around.format(KNOWN[name])
    redacted = Secrets().redact(text)
    assert KNOWN[name] not in redacted and "[secret: " in redacted
    before, after = around.split("{}")
    assert redacted.startswith(before.replace("{{", "{")) and redacted.endswith(after.replace("}}", "}"))
    assert Secrets().redact(redacted) == redacted


@pytest.mark.parametrize("name", [name for name in KNOWN if name not in STRICT])
@pytest.mark.parametrize("around", ["https://a.b/{}/x", "{}/a.txt", "k={}=", "{}+x"])
def test_a_well_known_format_with_a_sign_behind_it_is_taken_out(name: str, around: str) -> None:
    text = around.format(KNOWN[name])
    assert KNOWN[name] not in Secrets().redact(text) and Secrets().find(text)


ODD_VALUE = "aa>>>???~~~q8Z/bbb?>~+>~cccc"


@pytest.mark.parametrize(
    "text",
    [
        base64.urlsafe_b64encode(ODD_VALUE.encode()).decode(),
        "".join(f"%{ord(char):02x}" for char in ODD_VALUE),
        ODD_VALUE.replace("/", "%2f").replace("+", "%2b"),
        ODD_VALUE.replace("+", "\\u002B").replace(">", "\\u003e"),
        *(mark.join(ODD_VALUE) for mark in ("\ufe0f", "\u034f", "\u3164", "\U0001bca0", "\U000e0041", "\u2800")),
    ],
)
def test_a_value_of_the_environment_is_found_in_other_spellings(text: str) -> None:
    secrets = Secrets.of({"APP_TOKEN": ODD_VALUE})
    redacted = secrets.redact(f"x {text} y")
    assert redacted.startswith("x [secret: value of APP_TOKEN removed]") and redacted.endswith(" y")
    assert "cc" not in redacted and secrets.find(text) == [Leak(1, "value of APP_TOKEN")]


def test_an_escaped_text_without_a_secret_is_left_alone() -> None:
    text = "https://a.b/c%20d?e=%2Fpath%2fto \\u003cb\\u003e 100%25 %41%42"
    assert Secrets.of({"APP_TOKEN": ODD_VALUE}).redact(text) == text


def test_a_password_in_an_address_goes_and_the_rest_stays() -> None:
    redacted = Secrets().redact("postgres://app:s3cr9Qz7x@db.local:5432/app?a=b")
    assert redacted == "postgres://app:[secret: password in an address removed]@db.local:5432/app?a=b"


def test_a_random_value_given_to_a_password_is_taken_out() -> None:
    value = "k8Jx2mQ9vR4tB7nW"
    for text in (
        f'password = "{value}"',
        f"API_KEY={value}",
        f'"client_secret": "{value}"',
        f"  authToken: '{value}',",
    ):
        assert value not in Secrets().redact(text), text


def test_values_of_the_environment_are_known_in_every_dress() -> None:
    value = 'pa"ss/w+ord-7x!'
    secrets = Secrets.of(
        {"DB_PASSWORD": value, "HOME_TOKEN": "/not/a/secret", "SOME_KEY": "12345678", "AUTH": "disabled"}
    )
    told = "[secret: value of DB_PASSWORD removed]"
    coded = base64.b64encode(f"user:{value}".encode()).decode()
    assert secrets.redact(f"a {value} b") == f"a {told} b"
    assert secrets.redact(json.dumps({"a": value})) == json.dumps({"a": told})
    assert told in secrets.redact(f"Basic {coded}")
    assert secrets.redact("/not/a/secret 12345678 disabled") == "/not/a/secret 12345678 disabled"


def test_what_names_do_not_call_secret_is_not() -> None:
    harmless = {
        "PATH": "/usr/bin:/bin", "PWD": "/home/me", "SSH_AUTH_SOCK": "/run/agent.1", "TOKENIZERS_PARALLELISM": "disabled1",
        "KEYBOARD_LAYOUT": "deadgrave12", "API_KEY_FILE": "secrets9.txt", "TOKEN_URL": "https://x.example/token99",
        "POSTGRES_PASSWORD": "postgres", "MONKEY_NAME": "bonobo12345",
    }  # fmt: skip
    assert Secrets.of(harmless).kinds == {}


def test_leaks_tell_line_and_kind_and_never_the_value() -> None:
    leaks = Secrets().find(f"a\nb = '{KNOWN['GitHub']}'\n\n{KNOWN['AWS']}\n")
    assert leaks == [Leak(2, "GitHub token"), Leak(4, "AWS key")]


def test_what_was_there_before_or_is_allowed_is_not_new() -> None:
    token, value = KNOWN["GitHub"], "env-7f8a9b2c3d"
    secrets = Secrets.of({"X_TOKEN": value})
    assert secrets.find_new(f"moved {token}\n", old=f"x = {token}\n") == []
    for word in ("burnish: allow-secret", "pragma: allowlist secret"):
        assert secrets.find_new(f"x = '{token}'  # {word}\n") == []
        assert secrets.find_new(f"x = '{value}'  # {word}\n") == [Leak(1, "value of X_TOKEN")]
    assert secrets.find_new(f"# pragma: allowlist nextline secret\nx = '{token}'\n") == []


def png() -> str:
    return base64.b64encode(DICE.randbytes(6000)).decode()


def sri(n: int) -> str:
    return base64.b64encode(hashlib.sha512(str(n).encode()).digest()).decode()


def jwt(claims: str) -> str:
    head, body, seal = (
        base64.urlsafe_b64encode(data).decode().rstrip("=")
        for data in (b'{"alg":"HS256"}', claims.encode(), DICE.randbytes(32))
    )
    return f"{head}.{body}.{seal}"


SAMPLE_CLAIMS = (
    '{"sub":"1234567890","name":"John Doe","iat":1516239022}',
    '{"some":"payload"}',
    '{"iss":"supabase-demo","role":"anon"}',
    '{"iss":"https://login.example.org/","exp":1}',
)
REAL_TOKENS = {
    "Azure": '{"aud":"00000003-0000-0000-c000-000000000000","iss":"https://sts.windows.net/x/"}',
    "own": '{"user_id":42}',
    "Supabase": '{"iss":"supabase","ref":"qkzvbmwtyxrpsdlh","role":"service_role"}',
    "not JSON": "eyJhIjoxLHt-zQ7zQ7zQ7_w",
}


@pytest.mark.parametrize("name", REAL_TOKENS)
def test_a_token_with_claims_of_its_own_is_found(name: str) -> None:
    claims = REAL_TOKENS[name]
    token = (
        jwt(claims) if claims.startswith("{") else ".".join((jwt("{}").split(".")[0], claims, "q8Zr4Tn7Wx2Lk9VbQ1Mz7P"))
    )
    assert [leak.kind for leak in Secrets().find(token)] == ["JWT"]


@pytest.mark.parametrize(
    "text",
    [
        "next = 1; token = 'q8Zr4Tn7Wx2Lk9Vb'",
        "pagetoken_secret = 'q8Zr4Tn7Wx2Lk9Vb'",
        "page_password: 'q8Zr4Tn7Wx2Lk9Vb'",
        "https://user:q8%20Zr4Tn@host.io/x",
        "//npm.pkg.io/:_authToken=q8Zr4Tn7Wx2Lk9Vb",
        "https://hooks.slack.com/services/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",
        "refresh-token: 'q8Zr4Tn7Wx2Lk9Vb'",
    ],
)
def test_what_stands_near_a_harmless_form_is_still_found(text: str) -> None:
    assert len(Secrets().find(text)) == 1


HARMLESS: dict[str, str] = {
    "package-lock": "".join(f'"node_modules/js-tokens": {{"version": "4.0.{n}", "integrity": "sha512-{sri(n)}"}}\n' for n in range(300)),
    "yarn.lock": "".join(f'"js-tokens@^3.0.0 || ^4.0.{n}":\n  version "4.0.0"\n  integrity sha512-{sri(n)}\n' for n in range(300)),
    "poetry.lock": "".join(f'    {{file = "tokenizers-{n}.whl", hash = "sha256:{hashlib.sha256(str(n).encode()).hexdigest()}"}},\n' for n in range(300)),
    "go.sum": "".join(f"github.com/x/token v1.0.{n} h1:{base64.b64encode(hashlib.sha256(str(n).encode()).digest()).decode()}\n" for n in range(300)),
    "hashes": "\n".join(hashlib.new(kind, str(n).encode()).hexdigest() for kind in ("md5", "sha1", "sha256", "sha512") for n in range(200)),
    "git log": "\n".join(f"commit {hashlib.sha1(str(n).encode()).hexdigest()}\nindex {hashlib.sha1(b'x').hexdigest()[:12]}..a" for n in range(200)),
    "uuids": "\n".join(f'token_id: "{uuid.UUID(int=DICE.getrandbits(128))}", secret = "{uuid.UUID(int=DICE.getrandbits(128))}"' for _ in range(200)),
    "images": "\n".join(f"<img src='data:image/png;base64,{png()}'>" for _ in range(20)),
    "base64url": "\n".join(base64.urlsafe_b64encode(DICE.randbytes(300)).decode() for _ in range(50)),
    "certificates": f"-----BEGIN CERTIFICATE-----\n{png()}\n-----END CERTIFICATE-----\n-----BEGIN PUBLIC KEY-----\n{png()}\n-----END PUBLIC KEY-----",
    "placeholders": "AKIAIOSFODNN7EXAMPLE ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx sk-ant-your-key-goes-here-please postgres://user:password@localhost/db\n"
    "API_KEY=changeme-changeme-1\nTOKEN=<your-token-here-42>\nSECRET=${SECRET_FROM_VAULT_2}\npassword = 'correct-password-1'\ntoken='test-token-12345678'\n",
    "code": "token = tokens.next_token_2(self)\npassword = os.environ['DB_PASSWORD_2']\nsecret = get_secret('projects/1/secrets/a2')\n"
    "api_key: ${{ secrets.API_KEY_V2 }}\nconst token = localStorage.getItem('token2')\nself.access_key = config.aws.access_key_2\n"
    "key = '-----BEGIN PRIVATE KEY-----'\nif '-----BEGIN RSA PRIVATE KEY-----' in text:\n    return load(text, password=None)\n",
    "names": "secretName: my-app-tls-v2\ntokenUrl: https://login.example.com/oauth2/v2.0/token\npassword_field = 'input#user-password-2'\n"
    "secret_hash = 'd41d8cd98f00b204e9800998ecf8427e'\npassword_hash: '$2b$12$EixZaYVK1fsbw1ZfbX3OXePaWxn96p36WQoeG6Lruj3vjPga31lW'\n",
    "ids": "\n".join(f"task-{some(24, '0123456789abcdef')} cache-key-{hashlib.md5(str(n).encode()).hexdigest()} build-us-east-{n}" for n in range(100)),
    "published examples": '"access_token":"2YotnFZFEjr1zCsicMWpAA", "refresh_token": "tGzv3JOkF0XG5Qx2TlKWIA"\n' + "\n".join(map(jwt, SAMPLE_CLAIMS)),
    "positions in lists": "config: {'page_token': 'AMEw9yO5jnsGnZJLHSKDFHJJu'}\nnextPageToken: 'CAoQAhgBIgR0ZXN0MTIz9x'\n"
    "continuation_token=\"dG9rX2hvcF8xYWJj\"\nnext-token: 'eyJOZXh0VG9rZW4iOiBudWxs'\n",
    "cut and made up": "it looks like github_pat_11ABCDEFG0123456789_abc...\nhttps://hooks.slack.com/services/TOKEN_A/TOKEN_B/TOKEN_C\n"
    "re.compile(r'.+/:_authToken=\\s*((npm_.+)|([A-Fa-f0-9-]{36})).*')\nurn:ietf:params:aws:token-type:aws4_request\n",
    "short passwords with escapes": "http://foo:%F0%9F%92%A9@host.io/bar http://%60%7B%7D:%60%7B%7D@h/ https://user:p%40ssword@host.io\n",
    "words": "The secret: a token, a password and an API key are never shown. Bearer tokens are sent in a header.\n" * 20,
}  # fmt: skip


@pytest.mark.parametrize("name", HARMLESS)
def test_harmless_text_is_left_alone(name: str) -> None:
    text = HARMLESS[name]
    assert Secrets().redact(text) == text
    assert Secrets().find(text) == []


def test_a_key_that_comes_line_by_line_is_not_shown() -> None:
    shown = LineFilter(Secrets())
    lines = [shown(line) for line in f"before\n{KEY}\nafter".split("\n")]
    assert [line for line in lines if line is not None] == ["before", "[secret: private key removed]", "after"]
    odd = LineFilter(Secrets())
    lines = [odd(line) for line in ("-----BEGIN PRIVATE KEY-----", "this is not a key, but words (about one)", "more")]
    assert lines[1:] == ["this is not a key, but words (about one)", "more"]


@given(st.text(max_size=300))
def test_any_text_is_read_and_a_second_reading_changes_nothing(text: str) -> None:
    secrets = Secrets.of({"MY_TOKEN": "tok-12345-abcde"})
    once = secrets.redact(text)
    assert secrets.redact(once) == once
    assert secrets.redact(f"{text}tok-12345-abcde{text}").count("tok-12345-abcde") == 0


def test_a_megabyte_takes_less_than_a_second() -> None:
    import time

    text = "".join(DICE.choices(ALNUM + "   \n=.:_-\"'", k=1 << 20))
    start = time.process_time()
    Secrets.of({"MY_TOKEN": "tok-12345-abcde"}).redact(text)
    assert time.process_time() - start < 1


COLOUR = ("\x1b[01;31m\x1b[K", "\x1b[m\x1b[K")


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize(
    ("on", "off"),
    [
        COLOUR,
        ("\x1b[1m", "\x1b[0m"),
        ("\x9b31m", "\x9b0m"),
        ("\\u001b[31m", "\\u001b[0m"),
        ("\\x1b[31m", "\\x1b[0m"),
        ("\x1b]8;;http://x\x07", "\x1b]8;;\x07"),
        ("\u200b", "\u200d"),
    ],
)
def test_secrets_that_colour_codes_cut_into_pieces_are_taken_out(name: str, on: str, off: str) -> None:
    secret = KNOWN[name]
    for at in (1, 3, len(secret) // 2, len(secret) - 1):
        text = f"a = '{secret[:at]}{on}{secret[at : at + 2]}{off}{secret[at + 2 :]}' # end"
        redacted = Secrets().redact(text)
        assert "[secret: " in redacted, text
        plain = redacted.replace(on, "").replace(off, "")
        assert secret not in plain and plain.startswith("a = '") and plain.endswith("' # end")
        assert Secrets().redact(redacted) == redacted
        assert Secrets().find(text)


# every character that is taken out of what is shown, and strings that a terminal keeps for itself
CUT_BY = [
    *(chr(code) for code in (*range(9), 11, 12, *range(14, 32), *range(0x7F, 0xA0), 0x61C, *range(0x2028, 0x202F))),
    *(chr(code) for code in range(0x2060, 0x206A)),
    *("\x1bP1$r\x1b\\", "\x1b_x\x1b\\", "\x1b^x\x07", "\x90q\x9c", "\\u007f", "\\u0001"),
]


@pytest.mark.parametrize("cut", CUT_BY)
def test_a_secret_that_a_control_character_cuts_into_pieces_is_redacted(cut: str) -> None:
    value = "Zk8Jx2mQ9vR4tB7nWq3L"
    secrets = Secrets.of({"DB_PASSWORD": value})
    for at in (1, 4, len(value) - 1):
        shown = clean_text(secrets.redact(f"password is {value[:at]}{cut}{value[at:]} end"))
        assert value[4:] not in shown and value[: len(value) - 1] not in shown, shown
        assert shown.startswith("password is ") and shown.endswith(" end")


def test_what_grep_marks_in_colour_is_redacted(tmp_path: Path) -> None:
    token, value = KNOWN["GitHub"], "env-7f8a9b2c3d"
    (tmp_path / "env").write_text(f"TOKEN={token}\nOTHER {value}\n{KEY}\n")
    secrets = Secrets.of({"X_TOKEN": value})
    for word in (token[6:12], value[2:5], "PRIV"):
        shown = subprocess.run(
            ["grep", "--color=always", "-n", "-C9", word, "env"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert "\x1b[" in shown
        lines = LineFilter(secrets)
        for redacted in (secrets.redact(shown), "\n".join(lines(line) or "" for line in shown.split("\n"))):
            plain = re.sub(r"\x1b\[[0-9;]*[mK]", "", redacted)
            assert token not in plain and value not in plain, plain


def test_a_secret_with_colour_codes_is_not_committed() -> None:
    token = KNOWN["GitHub"]
    text = f"log\n{token[:9]}\x1b[m\x1b[K{token[9:]}\n"
    assert Secrets().find_new(text) == [Leak(2, "GitHub token")]
    assert Secrets().find_new(text, old=text) == []


@pytest.mark.parametrize(
    "split", ["gh\0p_", "gh\rp_", "ghX\bp_", "ghXY\b\bp_", "gh\bp_", "g\bgh\bhp\bp_", "gh\\u0000p_"]
)
def test_secrets_that_control_characters_cut_into_pieces_are_taken_out(split: str) -> None:
    tail = "a8Kd02mZqPw7Ls93Xc51Vb64Nn20Rt85Yu17"
    text = f"nul: {split}{tail} end"
    redacted = NO_SECRETS.redact(text)

    assert tail not in redacted and redacted.endswith(" end")
    assert NO_SECRETS.redact(redacted) == redacted
    assert [leak.line for leak in NO_SECRETS.find(text)] == [1]


def test_a_carriage_return_before_a_secret_does_not_hide_it() -> None:
    text = "progress\rghp_" + "a8Kd02mZqPw7Ls93Xc51Vb64Nn20Rt85Yu17"

    assert len(NO_SECRETS.find(text)) == 1


@pytest.mark.parametrize("escape", ["\\b", "\\r", "\\n", "\\t", "\\f", "\\u001b[0m", "\\u0000", "\\r\\n", "\\\\n"])
@pytest.mark.parametrize("at", [2, 6, 12])
def test_a_secret_that_json_escapes_cut_into_pieces_is_redacted(escape: str, at: int) -> None:
    for secret in ("ghp_" + "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef0125", "canaryTokenValue123456"):
        line = '{"text": "see ' + secret[:at] + escape + secret[at:] + ' end", "n": 1}'
        redacted = Secrets.of({"MY_API_TOKEN": "canaryTokenValue123456"}).redact(line)
        assert secret[at:] not in redacted and "[secret: " in redacted
        assert redacted.startswith('{"text": "see ') and redacted.endswith(' end", "n": 1}')


def test_short_escapes_alone_hide_nothing() -> None:
    line = r'{"text": "password:\nNext line\ttoken =\nfoo C:\\new\\bin\\table", "path": "a\\b"}'
    assert Secrets().redact(line) == line
