"""Exports over HTTP are files to download, never pages of the board."""

from __future__ import annotations

from testing.at_hand import AtHand


def test_a_task_and_a_night_can_be_downloaded(server: AtHand) -> None:
    answer = server.of_project("GET", "/tasks/1/export?format=sarif")
    assert answer.status_code == 200 and answer.json()["version"] == "2.1.0"
    assert answer.headers["content-type"].startswith("application/sarif+json")
    page = server.of_project("GET", "/export?since=7d&format=html")
    assert page.headers["content-disposition"] == 'attachment; filename="night.html"'
    assert "<h2>Tasks</h2>" in page.text


def test_an_unknown_format_is_a_problem_that_names_the_others(server: AtHand) -> None:
    answer = server.of_project("GET", "/export?format=sarif")
    assert answer.status_code in (400, 422) and "markdown" in answer.text
