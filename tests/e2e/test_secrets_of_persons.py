"""Promise 17 for what a person writes: no command or route that takes text returns or stores a secret in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from testing.at_hand import at_hand
from testing.lab import REJECT, Lab

IN_LINE = "ghp_" + "Ab3dE6gH9jKlMnOpQrStUvWxYz0123456789"[:36]
TYPED = "glpat-" + "x7Kq2mW9tR4vB8nZ5cYd"
AUTHOR = f"""
app.write_text(app.read_text() + "KEY = 1  # {IN_LINE} burnish: allow-secret\\n")
"""


@pytest.fixture
def lab(tmp_path: Path, hermetic: object) -> Lab:
    lab = Lab.make(tmp_path, author=AUTHOR, judge=REJECT, extra="review: {agents: [judge], max_cycles: 1}\n")
    lab.add()
    lab.burnish("run", "1", code=1)
    return lab


def line_of(lab: Lab) -> int:
    text = lab.text(lab.show(1)["branch"])
    return next(n for n, line in enumerate(text.split("\n"), 1) if IN_LINE in line)


def stored(lab: Lab) -> list[str]:
    """The files of the burnish home with one of the secrets, apart from the user's code."""
    home = Path(lab.env["BURNISH_HOME"])
    files = [Path(here) / name for here, _, names in os.walk(home) for name in names]
    mine = [file for file in files if file.relative_to(home).parts[0] not in ("workspaces", "snapshots", "throwaway")]
    return [str(file) for file in mine if any(secret.encode() in file.read_bytes() for secret in (IN_LINE, TYPED))]


@pytest.mark.attacks("read a secret in what a person's command prints", 12)
@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
def test_a_persons_commands_print_no_secret_of_their_text_or_of_the_quoted_line(
    lab: Lab, form: tuple[str, ...]
) -> None:
    at = f"app.py:{line_of(lab)}"
    said = f"Do not use {TYPED} here."
    finding = lab.burnish("comment", "1", "--at", at, said, "--json").json
    assert (
        finding["quote"].startswith("KEY = 1") and "removed]" in finding["quote"] and "Do not use" in finding["title"]
    )
    for argv in (
        ("comment", "1", "--at", at, said),
        ("comment", "1", "--on", "F1", said),
        ("waive", "1", "F1", "--reason", said),
        ("reopen", "1", "F1", "--reason", said),
        ("resolve", "1", "F2", "--reason", said),
        ("edit", "1", "--tag", TYPED),
    ):
        answer = lab.burnish(*argv, *form, code=None)
        assert answer.code == 0 or argv[0] == "edit", (argv, answer)
        assert IN_LINE not in answer.out + answer.err, argv
        assert TYPED not in answer.out, argv
    assert stored(lab) == []


@pytest.mark.attacks("read a secret in what the API returns of a person's review", 7)
def test_the_api_returns_and_stores_no_secret_of_a_persons_review(lab: Lab) -> None:
    line, blob = line_of(lab), lab.repo.git("rev-parse", f"{lab.show(1)['branch']}:app.py")
    said = f"Do not use {TYPED} here."
    with at_hand(lab) as server:
        body = {"path": "app.py", "blob": blob, "line": line, "text": said}
        answers = [
            server.of_project("POST", "/tasks/1/comments", {"text": said}),
            server.of_project("POST", "/tasks/1/findings/F1/reply", {"text": said}),
            server.of_project("POST", "/tasks/1/draft/comments", body),
            server.of_project("PATCH", "/tasks/1/draft/comments/1", {"text": f"{said} Really."}),
            server.of_project("GET", "/tasks/1/draft"),
        ]
        assert stored(lab) == [], "a draft is stored, too"
        sent = {"verdict": "request_changes", "commit": lab.show(1)["commit"], "note": said}
        answers.append(server.of_project("POST", "/tasks/1/draft/send", sent))
        answers.append(server.of_project("POST", "/tasks/1/findings/F1/waive", {"reason": said}))
    for answer in answers:
        assert answer.status_code == 200, answer.text
        assert IN_LINE not in answer.text and TYPED not in answer.text, answer.request.url
    assert stored(lab) == []
