"""A real `burnish serve` for a laboratory, as a process of its own."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from testing.lab import Lab


@dataclass
class Served:
    lab: Lab
    process: subprocess.Popen[str]
    url: str
    token: str

    @property
    def login(self) -> str:
        """What a person opens."""
        return f"{self.url}/login?token={self.token}"

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @property
    def project(self) -> str:
        """The key of the laboratory's project."""
        found = self.api("GET", "/projects").json()["projects"]
        return str(found[0]["key"])

    def client(self, **more: Any) -> httpx.Client:
        """As a program with the token."""
        return httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {self.token}"}, timeout=30, **more)

    def api(self, method: str, path: str, body: Any = None) -> httpx.Response:
        with self.client() as client:
            return client.request(method, f"/api/v1{path}", json=body)

    def of_project(self, method: str, path: str, body: Any = None) -> httpx.Response:
        return self.api(method, f"/projects/{self.project}{path}", body)

    def kill(self) -> None:
        """kill -9, as a power cut would."""
        self.process.kill()
        self.process.wait(10)


@contextmanager
def serving(lab: Lab, *options: str, port: int = 0, **env: str) -> Iterator[Served]:
    """Until the block ends; a token of one's own can be given by BURNISH_SERVE_TOKEN."""
    process = lab.spawn("serve", "--port", str(port), "--json", *options, **env)
    try:
        assert process.stdout
        told = _first_value(process)
        yield Served(lab, process, told["url"], told["token"])
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
        process.communicate()


def _first_value(process: subprocess.Popen[str]) -> dict[str, Any]:
    """The JSON that it prints first, over one line or several."""
    text = ""
    assert process.stdout and process.stderr
    for line in process.stdout:
        text += line
        try:
            return dict(json.loads(text))
        except ValueError:
            continue
    raise AssertionError(f"burnish serve ended: {text}{process.stderr.read()}")
