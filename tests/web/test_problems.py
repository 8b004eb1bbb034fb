"""What went wrong, as programs and as people are told it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fastapi import FastAPI

from burnish.errors import BadInput, BurnishError, NotFound, Refused
from burnish.web.problems import install, status_of
from burnish.wiring.merging import NotApproved
from testing.at_hand import AtHand, TestClient


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


def test_a_person_gets_a_page_and_a_program_a_problem(server: AtHand) -> None:
    _, browser = server.browser()
    page = server.client.get("/p/nowhere", headers={**browser, "Accept": "text/html"})
    assert page.status_code == 404 and page.headers["content-type"].startswith("text/html")
    for path in ("/p/nowhere", "/api/v1/projects/nowhere/tasks", "/api/v1/nowhere"):
        answer = server.client.get(path, headers={**browser, "Accept": "application/json"})
        assert answer.status_code == 404 and answer.headers["content-type"] == "application/problem+json"
