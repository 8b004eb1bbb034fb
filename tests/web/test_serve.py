"""`burnish serve` as a person meets it: an address with its token, a browser that comes in, strangers that do not."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from testing.browser import browser, logged_in
from testing.lab import Lab
from testing.serving import serving


@pytest.mark.slow
def test_a_browser_shows_the_token_once_and_is_in(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path / "lab")
    lab.add("Add division")
    with serving(lab) as served, browser() as opened, logged_in(opened, served) as page:
        assert page.url.endswith(f"/p/{lab.task()['project']}")
        # the token is nowhere that a link or a neighbour could carry it off
        assert served.token not in page.url and served.token not in page.content()


@pytest.mark.slow
def test_without_the_token_nothing_is_told(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path / "lab")
    with serving(lab) as served:
        for path in ("/", "/api/v1/projects", "/static/burnish.css", "/login", "/login?token=guess", "/nowhere"):
            assert httpx.get(served.url + path).status_code == 401, path


@pytest.mark.long
def test_a_second_server_of_the_same_home_is_told_where_the_first_is(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path / "lab")
    with serving(lab) as served:
        said = lab.apart("serve", "--port", "0", code=4)
        assert served.url in said.err and "stop it first" in said.err


def test_other_machines_are_let_in_only_with_a_token_of_ones_own(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path / "lab")
    assert "BURNISH_SERVE_TOKEN" in lab.apart("serve", "--host", "0.0.0.0", "--port", "0", code=2).err
    assert "too short" in lab.apart("serve", "--port", "0", code=2, BURNISH_SERVE_TOKEN="1234").err


@pytest.mark.long
def test_localhost_is_printed_as_the_one_address_that_the_server_listens_on(tmp_path: Path) -> None:
    """A browser may try the other address first, where any program can listen and would get the token."""
    lab = Lab.make(tmp_path / "lab")
    with serving(lab, "--host", "localhost") as served:
        assert "localhost" not in served.url
        assert httpx.get(served.url).status_code == 401
