"""What went wrong, as programs and as people are told it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from burnish.errors import BadInput, BurnishError, NotFound, Refused
from burnish.features.merge.merge import NotApproved
from burnish.web.problems import install, status_of
from testing.at_hand import TOKEN, AtHand, TestClient


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (NotFound("x"), 404),
        (Refused("x"), 409),
        (BadInput("x"), 400),
        (BurnishError("x"), 424),
        (NotApproved("x"), 409),
    ],
)
def test_each_kind_of_error_has_its_status(error: BurnishError, status: int) -> None:
    assert status_of(error) == status


def broken(raises: Callable[[], Any]) -> Any:
    app = FastAPI()
    install(app)
    app.get("/api/x")(raises)
    return TestClient(app, raise_server_exceptions=False).get("/api/x")


def test_our_own_mistake_is_told_in_a_word() -> None:
    def mistake() -> None:
        raise ZeroDivisionError("with the secret of the house")

    answer = broken(mistake)
    assert answer.status_code == 500 and answer.headers["content-type"] == "application/problem+json"
    assert "ZeroDivisionError" in answer.json()["title"] and "secret" not in answer.text


def test_files_that_are_in_the_way_are_named() -> None:
    class InTheWay(Refused):
        blocking = ("app.py", "caf\udce9.py")

    def refused() -> None:
        raise InTheWay("Two files are in the way.", hint="Commit them.")

    told = broken(refused).json()
    assert (told["status"], told["detail"], told["blocking"]) == (409, "Commit them.", ["app.py", "caf\udce9.py"])


@pytest.mark.slow
def test_a_person_gets_a_page_and_a_program_a_problem(server: AtHand) -> None:
    _, browser = server.browser()
    page = server.client.get("/p/nowhere", headers={**browser, "Accept": "text/html"})
    assert page.status_code == 404 and page.headers["content-type"].startswith("text/html")
    for path in ("/p/nowhere", "/api/v1/projects/nowhere/tasks", "/api/v1/nowhere"):
        answer = server.client.get(path, headers={**browser, "Accept": "application/json"})
        assert answer.status_code == 404 and answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "says"),
    [
        ("GET", "/api/v1/nowhere", None, 404, "openapi"),
        ("GET", "/nowhere", None, 404, "/"),
        ("PUT", "/api/v1/projects/{}/tasks", b"{}", 405, "GET, POST"),
        ("POST", "/api/v1/projects/{}/tasks", b"[" * 100_000, 400, "JSON"),
        ("POST", "/api/v1/projects/{}/tasks", b'{"title": ', 422, "JSON"),
        ("GET", "/api/v1/projects/{}/prompts/nonsense", None, 404, "review.system"),
        ("POST", "/api/v1/projects/{}/tasks/2/findings/F99/waive", b'{"reason": "x"}', 404, "F1"),
        ("GET", "/api/v1/projects/{}/tasks/1/artifacts/task.json%00", None, 404, "burnish show"),
        ("GET", "/api/v1/projects/{}/tasks/1/artifacts/task.json/", None, 404, "burnish show"),
        ("GET", "/api/v1/projects/{}/tasks/1/artifacts/%2e%2e%2ftask.json", None, 404, "burnish show"),
    ],
)
def test_whatever_is_refused_says_what_to_do(
    server: AtHand, method: str, path: str, body: bytes | None, status: int, says: str
) -> None:
    asked = {"Authorization": f"Bearer {TOKEN}", **({"Content-Type": "application/json"} if body else {})}
    answer = server.client.request(method, path.format(server.project), headers=asked, content=body)
    assert answer.status_code == status and says in answer.json()["detail"], answer.text
    if status == 405:
        assert answer.headers["allow"] == says


def test_what_the_home_keeps_is_told_without_a_checkout_and_the_rest_says_what_is_missing(
    server: AtHand, tmp_path: Path
) -> None:
    root, away = server.registry.project(server.project).root, tmp_path / "away"

    def asked(path: str) -> tuple[int, str]:
        answer = server.of_project("GET", f"/tasks/1{path}")
        return answer.status_code, answer.text

    paths = ("/logs", "/artifacts", "/artifacts/task.json", "/prompts")
    before = [asked(path) for path in paths]
    assert {status for status, _ in before} == {200}
    for lost, words in ((root, "does not exist"), (root / ".git", "not a repository")):
        lost.rename(away)
        try:
            assert [asked(path) for path in paths] == before
            status, text = asked("/diff")
            assert status == 424 and words in text and "burnish projects forget" in text
        finally:
            away.rename(lost)
    assert asked("/diff")[0] == 200
