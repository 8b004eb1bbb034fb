"""Refresh tokens under any key, in any file of a login: none is in the copy, and all else is."""

from __future__ import annotations

import json
import sqlite3
import time
from pathlib import Path

import pytest

from burnish.agents.confined_login import CopyPlan, login_copy
from burnish.agents.credentials import blank_refresh_tokens, file_without_refresh_tokens

SECRET = "SECRET-RT-4f9a"
PLAIN = {"access_token": "at-1", "refresh_token": SECRET, "note": "stays"}
TEXT = json.dumps(PLAIN)


def under(key: str) -> str:
    return json.dumps({"access_token": "at-1", key: SECRET, "note": "stays"})


# by form: the file's name and its content; `stays` is somewhere in each
FORMS: dict[str, tuple[str, str | bytes]] = {
    "refresh_token": ("c.json", TEXT),
    "refreshToken": ("c.json", under("refreshToken")),
    "refresh-token": ("c.json", under("refresh-token")),
    "REFRESH_TOKEN": ("c.json", under("REFRESH_TOKEN")),
    "refresh": ("c.json", under("refresh")),
    "oauth_refresh_token": ("c.json", under("oauth_refresh_token")),
    "refreshTokens": ("c.json", json.dumps({"refreshTokens": [SECRET, {"a": SECRET}], "note": "stays"})),
    "keys that are tokens": ("c.json", json.dumps({"refreshTokens": {SECRET: True}, "note": "stays"})),
    "refresh token": ("c.json", under("refresh token")),
    "refreshTokenValue": ("c.json", under("refreshTokenValue")),
    "escaped key": ("c.json", under("refreshToken").replace("refresh", "\\u0072efres\\u0068")),
    "the same key twice": ("c.json", f'{{"refreshToken": "{SECRET}", "refreshToken": "", "note": "stays"}}'),
    "JSON in a string": ("c.json", json.dumps({"keychain": TEXT, "note": "stays"})),
    "JSON in a string in a string": ("c.json", json.dumps({"a": json.dumps({"b": TEXT})})),
    "name and value": ("c.json", json.dumps([{"name": "refresh_token", "value": SECRET}, "stays"])),
    "argument in a string": ("c.json", json.dumps({"args": [f"--refresh-token={SECRET}"], "note": "stays"})),
    "another case of the suffix": ("c.JSON", TEXT),
    "backup": (".credentials.json.bak", TEXT),
    "editor's backup": ("c.json~", TEXT),
    "no suffix": ("creds", TEXT),
    "Markdown suffix": ("c.md", TEXT),
    "comment": ("c.json", f'{{\n  // mine\n  "refreshToken": "{SECRET}", /* stays */\n}}'),
    "value on the next line": ("c.jsonc", f'{{ // stays\n"refreshToken":\n"{SECRET}"}}'),
    "list with a comment": ("c.jsonc", f'{{ // stays\n"refreshTokens": [\n "{SECRET}",\n "{SECRET}"]}}'),
    "opencode's key with a comment": ("c.jsonc", f'{{ // stays\n"refresh": "{SECRET}"}}'),
    "JSON lines": ("c.jsonl", f"{TEXT}\n{TEXT}\n"),
    "JSON lines with JSON in a string": (
        "c.jsonl",
        f"{json.dumps({'a': TEXT})}\n{json.dumps({'b': json.dumps(TEXT)})}\n",
    ),
    "two values": ("c.json", f"{TEXT}{TEXT}"),
    "cut off": ("c.json", TEXT[: TEXT.index(SECRET) + len(SECRET)].replace("at-1", "stays")),
    "TOML": ("c.toml", f'note = "stays"\nrefresh_token = "{SECRET}"\n'),
    "TOML, three quotes": ("c.toml", f'note = "stays"\nrefresh_token = """\n{SECRET}\n"""\n'),
    "TOML, table": ("c.toml", f'note = "stays"\n[refresh_token]\nvalue = "{SECRET}"\n'),
    "YAML": ("c.yaml", f"note: stays\nrefresh_token: {SECRET}\n"),
    "YAML, a plain word": ("c.yaml", f"note: stays\nrefresh_token: {SECRET}\nold_refresh_token: secret # mine\n"),
    "YAML, quoted": ("c.yaml", f"note: stays\nrefreshToken: '{SECRET}'\n"),
    "YAML, block": ("c.yaml", f"a:\n  refresh_token: |-\n    {SECRET}\n  note: stays\n"),
    "YAML, list": ("c.yaml", f"refresh_tokens:\n- {SECRET}\n- {SECRET}\nnote: stays\n"),
    "YAML, mapping": ("c.yaml", f"refresh_token:\n  value: {SECRET}\nnote: stays\n"),
    "INI": ("c.ini", f"[login]\nnote = stays\nrefresh token = {SECRET}\n"),
    "environment": (".env", f"NOTE=stays\nexport GOOGLE_REFRESH_TOKEN={SECRET}\r\nX=1\r\n"),
    "environment, quoted": (".env", f'NOTE=stays\nREFRESH_TOKEN="{SECRET}"\n'),
    "query": ("c.txt", f"https://x/token?a=stays&refresh_token={SECRET}&b=1\n"),
    "XML": ("c.xml", f"<a><refreshToken>{SECRET}</refreshToken><note>stays</note></a>"),
    "property list": ("c.plist", f"<key>refreshToken</key>\n  <string>{SECRET}</string><string>stays</string>"),
    "command line": ("history", f"stays\nlogin --refresh-token {SECRET}-0123456789\n"),
    "Markdown with a token": ("c.md", f"Notes (stays):\n\n- **refresh_token**: `{SECRET}`\n"),
    "Markdown table": ("c.md", f"| stays | |\n| refresh_token | {SECRET} |\n"),
    "script": ("c.py", f'note = "stays"\nREFRESH_TOKEN = "{SECRET}"\n'),
    "UTF-8 with a mark": ("c.json", b"\xef\xbb\xbf" + TEXT.encode()),
    "text, UTF-8 with a mark": (".env", b"\xef\xbb\xbf" + f"REFRESH_TOKEN={SECRET}\nNOTE=stays".encode()),
    "UTF-16": ("c.json", TEXT.encode("utf-16")),
    "UTF-16 without a mark": ("c.json", TEXT.encode("utf-16-le")),
    "text, UTF-16": ("c.ini", f"refresh_token={SECRET}\nnote=stays".encode("utf-16")),
    "text, UTF-16 without a mark": ("c.ini", f"refresh_token={SECRET}\nnote=stays".encode("utf-16-be")),
    "text, Latin-1": ("c.ini", f"refresh_token={SECRET}\nnote=stays \xe9".encode("latin-1")),
}


def copied(tmp_path: Path, name: str, data: bytes) -> tuple[bytes | None, list[Path]]:
    home = tmp_path / "home"
    (home / ".claude").mkdir(parents=True)
    (home / ".claude" / name).write_bytes(data)
    with login_copy(tmp_path / "logins", CopyPlan(home, paths=(home / ".claude",))) as copy:
        file = copy.home / ".claude" / name
        return (file.read_bytes() if file.exists() else None), copy.left_out


@pytest.mark.parametrize("form", FORMS)
def test_a_refresh_token_is_not_in_the_copy_and_the_rest_is(tmp_path: Path, form: str) -> None:
    name, content = FORMS[form]
    data, left_out = copied(tmp_path, name, content if isinstance(content, bytes) else content.encode())
    assert data is not None and left_out == []
    text = data.replace(b"\0", b"")
    assert b"4f9a" not in text and b"SECRET" not in text and b"stays" in text


@pytest.mark.parametrize("form", ["comment", "JSON lines", "list with a comment", "JSON lines with JSON in a string"])
def test_what_is_left_can_still_be_parsed(form: str) -> None:
    _, content = FORMS[form]
    assert isinstance(content, str)
    data = file_without_refresh_tokens(content.encode())
    assert data is not None
    if form.startswith("JSON lines"):
        assert all(json.loads(line) for line in data.splitlines())
    else:
        assert data.decode().count('"') % 2 == 0 and data.decode().count("\n") <= content.count("\n")


def database(tmp_path: Path) -> bytes:
    with sqlite3.connect(tmp_path / "db") as connection:
        connection.execute("create table t (name, value)")
        connection.execute("insert into t values ('refreshToken', ?)", (SECRET,))
    connection.close()
    return (tmp_path / "db").read_bytes()


ARGUMENTS = [
    '{"args": ["--refresh-token", "%s"]}',
    '{"args": ["login", "--refresh_token", "%s", "--verbose"]}',
    '[["refresh_token", "%s"]]',
    '{"text": "[\\"--refresh-token\\", \\"%s\\"]"}',
    'args = ["--refresh-token", "%s"]\n',
    'args = [\n  "--refresh-token",\n  "%s",\n]\n',
    "args: [--refresh-token, %s]\n",
    "args:\n  - --refresh-token\n  - %s\n",
    "args:\n  - '--refresh-token'\n  - '%s'\n",
    "('refresh_token', '%s')\n",
    'login --refresh-token "%s"\n',
    "login --refresh-token \\\n  %s\n",
    "refresh_token,%s\n",
]


@pytest.mark.parametrize("form", ARGUMENTS)
def test_a_refresh_token_in_a_list_of_arguments_is_not_in_the_copy(tmp_path: Path, form: str) -> None:
    token = "rt-AbC123xyzAbC123xyz"
    found, _ = copied(tmp_path, "settings.conf", (form % token).encode())
    assert found is not None and token.encode() not in found and b"refresh" in found


@pytest.mark.parametrize("form", ['{"args": ["--refresh-token", "%s"]}', 'args = ["--refresh-token", "%s"]\n'])
def test_the_argument_of_an_option_is_removed_whatever_it_looks_like(tmp_path: Path, form: str) -> None:
    found, _ = copied(tmp_path, "settings.conf", (form % "hunter").encode())
    assert found is not None and b"hunter" not in found


def test_names_of_grants_in_a_list_stay(tmp_path: Path) -> None:
    text = '{"grant_types": ["refresh_token", "authorization_code"], "args": ["--refresh-token", "--verbose"]}'
    found, _ = copied(tmp_path, "client.json", text.encode())
    assert found is not None and json.loads(found) == json.loads(text)


def test_a_database_or_binary_file_with_a_refresh_token_is_left_out(tmp_path: Path) -> None:
    for number, data in enumerate(
        (database(tmp_path), b"\x00\x01refresh_token\x00" + SECRET.encode(), "\x00\x01refreshToken".encode("utf-16-le"))
    ):
        found, left_out = copied(tmp_path / str(number), "state.db", data)
        assert found is None and [path.name for path in left_out] == ["state.db"]


UNTOUCHED = [
    ("CLAUDE.md", "Refresh tokens: never print them.\nA refresh token is used once. Refresh: reload the page.\n"),
    ("CLAUDE.md", "Rules for the refresh token:\n\n  - rotate it nightly\n  - do not log it\n"),
    (
        "SKILL.md",
        "Send `refresh_token` with `grant_type`.\n\n    refreshToken: string;\n    refresh_token: str | None\n",
    ),
    ("SKILL.md", "See refresh token: [docs](https://example.org/Refresh-1).\n"),
    (
        "skill.py",
        'body = {"grant_type": "refresh_token", "refresh_token": login.refreshToken}\nrefresh_token = load(1)\n',
    ),
    ("hook.sh", 'curl -d refresh_token="$REFRESH_TOKEN" -d grant_type=refresh_token\n'),
    ("config.toml", "refresh = 30\nrefresh_token_expires_in = 3600\nrefresh_token_rotation = true\n"),
    ("settings.json", '{\n  "theme":   "dark"\n}\n'),
    ("image.png", b"\x89PNG\x00\x01refresh"),
]


@pytest.mark.parametrize(("name", "content"), UNTOUCHED)
def test_instructions_and_settings_without_a_token_are_copied_byte_by_byte(
    tmp_path: Path, name: str, content: str | bytes
) -> None:
    data = content if isinstance(content, bytes) else content.encode()
    assert copied(tmp_path, name, data) == (data, [])


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        "refresh_token",
        "refresh_token:[",
        'refresh_token="',
        'refresh_token: """',
        "refresh_token:\n ",
        "refresh\\\\\\\\",
        'refresh_token" a b ',
        "refresh token \t \t",
        'refresh_token:\\"',
        'refresh_token", ',
        "--refresh-token\n - ",
    ],
)
def test_hostile_text_takes_linear_time(unit: str) -> None:
    text = unit * (400_000 // len(unit))
    before = time.process_time()
    blank_refresh_tokens(text, prose=False)
    blank_refresh_tokens(text, prose=True)
    assert time.process_time() - before < 10


def test_deeply_nested_json_is_no_error() -> None:
    data = b'{"refreshToken": "' + SECRET.encode() + b'", "a": ' + b"[" * 5000 + b"]" * 5000 + b"}"
    found = file_without_refresh_tokens(data)
    assert found is not None and SECRET.encode() not in found
