"""What a phase left on the disk is redacted in place, however it is laid out."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.adapters.redaction import clean_lines, redact_file, redact_folder
from burnish.core.secrets import NO_SECRETS, LineFilter, Secrets
from testing.known_secrets import KNOWN

TOKEN = "tok-7f8a9b2c3d4e"
SECRETS = Secrets.of({"X_TOKEN": TOKEN})
KEY = (
    "-----BEGIN PRIVATE KEY-----\n" + "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5zA7b\n" * 40 + "-----END PRIVATE KEY-----\n"
)


@pytest.mark.representatives(2)
@pytest.mark.parametrize("before", [0, (1 << 20) - 7, (1 << 20) + 3])
@pytest.mark.parametrize("gap", ["\n", " "])
def test_a_secret_at_any_place_of_a_large_file_is_found(tmp_path: Path, before: int, gap: str) -> None:
    file = tmp_path / "stdout"
    file.write_text("." * before + gap + TOKEN + gap + "x" * 70_000 + gap + TOKEN)
    file.chmod(0o600)
    redact_file(file, SECRETS)
    assert TOKEN not in file.read_text() and file.read_text().count("[secret: value of X_TOKEN removed]") == 2
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_key_across_two_pieces_is_found(tmp_path: Path) -> None:
    file = tmp_path / "stdout"
    file.write_text("line\n" * (((1 << 20) - 300) // 5) + KEY + "after\n")
    redact_file(file, SECRETS)
    assert "aB3dE5fG7hI9" not in file.read_text() and file.read_text().endswith(
        "[secret: private key removed]\nafter\n"
    )


def test_bytes_that_are_no_text_stay_and_clean_files_are_not_touched(tmp_path: Path) -> None:
    (tmp_path / "odd").write_bytes(b"\xff\xfe\x00 " + TOKEN.encode() + b" \x80")
    (tmp_path / "clean").write_text("nothing\n")
    (tmp_path / "number").write_text(TOKEN)
    (tmp_path / "link").symlink_to(tmp_path / "number")
    before = (tmp_path / "clean").stat()
    redact_folder(tmp_path, SECRETS)
    assert (tmp_path / "odd").read_bytes() == b"\xff\xfe\x00 [secret: value of X_TOKEN removed] \x80"
    assert (tmp_path / "clean").stat().st_ino == before.st_ino
    assert (tmp_path / "number").read_text() == TOKEN
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clean", "home", "link", "number", "odd"]


@pytest.mark.parametrize("name", sorted(KNOWN))
@pytest.mark.parametrize("around", ["x = 1\n", "x = '\\n'\n", "x = '\x1b[31m'\n", 'token =\n  "'])
def test_a_file_is_cleaned_as_its_lines_are(name: str, around: str) -> None:
    """A file without secrets is recognised as a whole, which must not let any through."""
    text = f"{around}{KNOWN[name]}\n{around}"
    line_filter = LineFilter(NO_SECRETS)
    assert clean_lines(NO_SECRETS, text) == "\n".join(line_filter(line) or "" for line in text.split("\n"))


def test_a_value_of_the_environment_is_taken_out_of_a_file() -> None:
    secrets = Secrets.of({"MY_TOKEN": "zq8v7-Kx2"})
    assert "zq8v7" not in clean_lines(secrets, "a\nsay('zq8v7-Kx2')\nb")
    assert clean_lines(secrets, "a\nb") == "a\nb"
