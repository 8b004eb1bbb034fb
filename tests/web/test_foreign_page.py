"""A page of somebody else at the board's address, while no server ran: what it leaves is gone after a login."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from testing.browser import browser, until
from testing.lab import Lab
from testing.serving import serving

PAGE = b"<script>localStorage.left = 'behind'; navigator.serviceWorker.register('/worker.js')</script>"
WORKER = b"self.addEventListener('activate', event => event.waitUntil(self.clients.claim()))"


class ForeignPage(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        is_worker = self.path == "/worker.js"
        self.send_response(200)
        self.send_header("Content-Type", "text/javascript" if is_worker else "text/html")
        self.end_headers()
        self.wfile.write(WORKER if is_worker else PAGE)

    def log_message(self, *arguments: object) -> None:
        return


@contextmanager
def foreign_server() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), ForeignPage) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()


@pytest.mark.slow
def test_a_login_deletes_the_storage_and_the_workers_that_another_page_left(tmp_path: Path) -> None:
    with browser() as opened:
        context = opened.new_context()
        page = context.new_page()
        with foreign_server() as port:
            page.goto(f"http://127.0.0.1:{port}/")
            until(page, "navigator.serviceWorker.getRegistrations().then(found => found.some(one => one.active))")
        with serving(Lab.make(tmp_path), port=port) as served:
            page.goto(served.login)
            page.wait_for_url(lambda url: "/login" not in url)
            assert page.evaluate("localStorage.left") is None
            assert page.evaluate("navigator.serviceWorker.getRegistrations().then(found => found.length)") == 0
            until(page, "document.querySelector('h1, h2') !== null")
        context.close()
