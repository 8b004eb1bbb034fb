"""A project that nobody has trusted: the board shows it with the command to type, and the API runs nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from testing.at_hand import AtHand, at_hand
from testing.lab import Lab


@pytest.fixture
def server(tmp_path: Path, hermetic: object) -> Iterator[AtHand]:
    lab = Lab.make(tmp_path / "lab")
    lab.add("Add division")
    lab.burnish("untrust")
    with at_hand(lab) as opened:
        yield opened


def board(server: AtHand) -> str:
    _, headers = server.browser()
    return str(server.client.get(f"/p/{server.project}", headers=headers).text)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "body"),
    [("/run", {"ids": ["1"]}), ("/run", {"all": True}), ("/tasks/1/retry", {}), ("/tasks/1/improve", {"note": "x"})],
)
def test_what_would_run_something_is_refused_with_the_command_to_type(
    server: AtHand, path: str, body: dict[str, object]
) -> None:
    said = server.of_project("POST", path, body)
    assert said.status_code == 409 and said.headers["content-type"] == "application/problem+json"
    assert "is not trusted" in said.json()["title"]
    assert f"burnish -C {server.lab.repo.path} trust" in said.json()["detail"]
    assert server.lab.calls() == [] and server.lab.task()["status"] == "backlog"


def test_the_pages_of_the_project_say_so_until_it_is_trusted(server: AtHand) -> None:
    assert "This checkout is not trusted" in board(server)
    assert f"burnish -C {server.lab.repo.path} trust</code>" in board(server)
    server.lab.burnish("trust")
    assert "not trusted" not in board(server)
    settings = server.lab.repo.path / "burnish.yaml"
    settings.write_text(settings.read_text() + "approval: required\n")
    assert "have changed since they were trusted" in board(server)


def test_there_is_no_way_to_trust_over_http(server: AtHand) -> None:
    paths = server.api("GET", "/openapi.json").json()["paths"]
    assert [path for path in paths if "trust" in path] == []
