"""Files that a browser keeps, and the pages for a browser that is not logged in."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256

from burnish.web.auth import RESTARTED, STRANGER
from burnish.web.login_page import login_page
from testing.at_hand import HOST, AtHand


def test_files_of_a_page_are_kept_by_the_browser_until_they_change(server: AtHand) -> None:
    _, headers = server.browser()
    page = server.client.get("/inbox", headers=headers)
    assert page.headers["cache-control"] == "no-store"
    files = re.findall(r'(?:src|href)="(/static/[^"]+)"', page.text)
    assert len(files) >= 4
    for path in files:
        assert re.match(r"/static/[0-9a-f]{16}/[\w-]+\.(css|js|svg)$", path)
        answer = server.client.get(path, headers=headers)
        assert answer.status_code == 200 and answer.headers["cache-control"].endswith("max-age=31536000, immutable")
    # modules import each other relative to the URL with the hash
    assert (
        'from "./burnish.js"'
        in server.client.get(next(f for f in files if f.endswith("/inbox.js")), headers=headers).text
    )
    assert server.client.get("/static/burnish.css", headers=headers).status_code == 404


def test_a_browser_without_a_login_gets_a_page_with_a_style_and_a_way_on(server: AtHand) -> None:
    for path in ("/", "/login?token=wrong", "/p/x/t/1"):
        answer = server.client.get(path, headers={"Accept": "text/html", "Host": HOST})
        assert answer.status_code == 401 and "<main>" in answer.text and "burnish serve --open" in answer.text
        assert 'href=""' in answer.text and "<script" not in answer.text
        style = re.search(r"<style>(.*)</style>", answer.text, re.S)
        assert style is not None
        digest = b64encode(sha256(style[1].encode()).digest()).decode()
        policy = answer.headers["content-security-policy"]
        assert f"style-src 'sha256-{digest}'" in policy and policy.startswith("default-src 'none'")
    assert server.client.get("/", headers={"Host": HOST}).headers["content-type"] == "application/problem+json"
    assert b"<code>burnish serve</code>" in login_page(RESTARTED) and b"`" not in login_page(STRANGER)
