"""`static` finds secrets that git stores elsewhere than in lines of text, as the commit guard does."""

from __future__ import annotations

import json
import os

import pytest

from tests.cli.conftest import Person

TOKEN = "ghp_" + "Ab3dEf6hIj9lMn2pQr5tUv8xYz1bCd4fGh7j"
KEY = "AKIA" + "Q3EGRUZH4KXPLO7M"


def add(person: Person, kind: str) -> None:
    root = person.repo.path
    if kind == "link":
        (root / "config").symlink_to(f"https://x:{TOKEN}@example.org/y")
    elif kind == "changed link":
        (root / "current").unlink()
        (root / "current").symlink_to(f"releases/{TOKEN}")
    elif kind == "name":
        (root / f"backup-{TOKEN}.txt").write_text("text\n")
    elif kind == "binary":
        (root / "data.bin").write_bytes(os.urandom(500) + b"\0" * 600 + TOKEN.encode() + b"\0" * 20)
    else:
        (root / "large.txt").write_text(("words and words " * 200 + "\n") * 1400 + f"key = {KEY}\n")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["link", "changed link", "name", "binary", "large text"])
def test_a_secret_is_found_wherever_git_stores_it(person: Person, kind: str) -> None:
    (person.repo.path / "current").symlink_to("releases/1")
    person.repo.git("add", "-A")
    person.repo.git("commit", "-qm", "base")
    add(person, kind)
    person.repo.git("add", "-A")
    person.repo.git("commit", "-qm", "change")

    text = person.types("review", "--no-tests", "--agent", "static", "--json", "HEAD", code=1)

    assert TOKEN not in text and KEY not in text
    found = json.loads(text)["findings"]
    assert found[0]["rule"] == "secret" and found[0]["title"].startswith("Hard-coded")


def test_links_and_names_without_a_secret_are_left_alone(person: Person) -> None:
    root = person.repo.path
    (root / "current").symlink_to("releases/2024-05-01/5f2b8c1e9d3a7f6b4c0e8d2a1b9f7c6e5d4a3b2c")
    (root / "token_test.py").write_text("x = 1\n")
    (root / "logo.bin").write_bytes(bytes(range(256)) * 40)
    person.repo.git("add", "-A")
    person.repo.git("commit", "-qm", "change")

    found = person.asks("review", "--no-tests", "--agent", "static", "HEAD", code=1)["findings"]

    assert found == []
