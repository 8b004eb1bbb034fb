"""Hosts of their own for a test: network namespaces, each with one link to this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from testing.children import leave_running

# of 256 networks in this block, the process that runs the tests has one
NETWORK = f"10.213.{os.getpid() % 256}"
HOST = f"{NETWORK}.1"


def ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (words, done.stderr)


@dataclass(frozen=True)
class Host:
    """A network namespace with one link to this machine."""

    name: str
    link: str

    @property
    def prefix(self) -> tuple[str, ...]:
        return ("ip", "netns", "exec", self.name)

    def cut_off(self) -> None:
        ip("link", "set", self.link, "down")

    def connect(self) -> None:
        ip("link", "set", self.link, "up")


@contextmanager
def hosts(count: int) -> Iterator[list[Host]]:
    bridge, made = f"bu{os.getpid() % 100000}", []
    ip("link", "add", bridge, "type", "bridge")
    try:
        ip("addr", "add", f"{HOST}/24", "dev", bridge)
        ip("link", "set", bridge, "up")
        for number in range(count):
            host = Host(f"{bridge}n{number}", f"{bridge}v{number}")
            ip("netns", "add", host.name)
            made.append(host)
            ip("link", "add", host.link, "type", "veth", "peer", "name", "eth0", "netns", host.name)
            ip("link", "set", host.link, "master", bridge, "up")
            for words in (f"addr add {NETWORK}.{number + 2}/24 dev eth0", "link set eth0 up", "link set lo up"):
                ip("-n", host.name, *words.split())
        yield made
    finally:
        for host in made:
            ip("netns", "del", host.name)
        ip("link", "del", bridge)


@contextmanager
def git_server(folder: Path) -> Iterator[str]:
    """`git daemon` for all repositories in the folder; its address."""
    port = 20000 + os.getpid() % 20000
    options = ["--export-all", "--enable=receive-pack", f"--listen={HOST}", f"--port={port}", f"--base-path={folder}"]
    process = subprocess.Popen(["git", "daemon", "--reuseaddr", *options, folder], start_new_session=True)
    leave_running(process)
    try:
        yield f"git://{HOST}:{port}"
    finally:
        process.terminate()
        process.wait(10)


def require_namespaces() -> None:
    why = "" if os.geteuid() == 0 and shutil.which("ip") else "network namespaces need root and the program ip"
    if not why:
        name = f"burnish-try-{os.getpid()}"
        done = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
        why = done.stderr if done.returncode else ""
        subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
    if why and os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(why)
    if why:
        pytest.skip(why)
