"""The server's routes in this process, behind their guard: for tests that need no port."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

from fastapi import FastAPI

from burnish.features.server.registry import ProjectRegistry
from burnish.web.app import guarded as guard
from burnish.web.app import routes
from burnish.web.auth import RequestPolicy, hosts_of
from burnish.web.middleware import SecurityMiddleware
from burnish.web.server import people_of
from burnish.web.sessions import LoginCodes, Sessions, WebSession
from testing.lab import Lab

with warnings.catch_warnings():
    # it would rather have a newer httpx than the one that we need for everything else
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

PORT = 4270
HOST = f"127.0.0.1:{PORT}"
TOKEN = "the-token-of-this-test"


@dataclass
class AtHand:
    lab: Lab
    registry: ProjectRegistry
    app: FastAPI
    guarded: SecurityMiddleware
    client: TestClient
    sessions: Sessions

    @property
    def project(self) -> str:
        return self.registry.projects()[0].key

    def api(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """As a program with the token; the answer as httpx has it."""
        more = {} if body is None else {"json": body}
        asked = {"Authorization": f"Bearer {TOKEN}", **headers}
        return self.client.request(method, f"/api/v1{path}", headers=asked, **more)

    def of_project(self, method: str, path: str, body: Any = None) -> Any:
        return self.api(method, f"/projects/{self.project}{path}", body)

    def browser(self) -> tuple[WebSession, dict[str, str]]:
        """A browser that showed the token, and the headers with which its pages act."""
        session = self.sessions.begin()
        headers = {"Cookie": f"burnish_{PORT}={session.cookie}", "Origin": f"http://{HOST}"}
        return session, {**headers, "X-Burnish-Key": session.key}


@contextmanager
def at_hand(lab: Lab) -> Iterator[AtHand]:
    with mock.patch.dict(os.environ, lab.env):
        registry = ProjectRegistry.here()
        sessions = Sessions()
        door = RequestPolicy(
            TOKEN,
            hosts_of(["127.0.0.1", "localhost", "::1"], PORT),
            f"burnish_{PORT}",
            sessions.knows,
            sessions.owns,
            sessions.is_from_earlier_start,
            people=people_of(registry, sessions),
        )
        codes = LoginCodes()
        app = routes(registry, door, sessions, codes)
        guarded = guard(app, door)
        try:
            with TestClient(guarded, base_url=f"http://{HOST}") as client:
                yield AtHand(lab, registry, app, guarded, client, sessions)
        finally:
            registry.close()
