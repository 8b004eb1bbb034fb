"""Every test has a home of its own, and no way to the real one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from testing.children import ending_children, make_children_interruptible, record_children
from testing.userrepo import UserRepo


def pytest_configure() -> None:
    make_children_interruptible()
    record_children()


@pytest.fixture(autouse=True)
def no_child_left() -> Iterator[None]:
    with ending_children():
        yield


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What tests have counted (`record_property`), under `make torture`: the table of promises."""
    if not os.environ.get("BURNISH_TORTURE"):
        return
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.stats.get(kind, ())]
    counted = [f"{name}: {value}" for report in reports for name, value in report.user_properties]
    if counted:
        terminalreporter.section("counted")
        for line in counted:
            terminalreporter.write_line(line)


@pytest.fixture(autouse=True)
def hermetic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Own HOME and BURNISH_HOME; nothing of the person's git or agent settings."""
    home = tmp_path / "home"
    home.mkdir()
    for name in list(os.environ):
        if name.startswith(("GIT_", "BURNISH", "XDG_", "ANTHROPIC", "OPENAI", "GEMINI")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("BURNISH_HOME", str(home / "burnish"))
    # stand-ins for agents and checks leave traces in the test's folder, also from inside a sandbox
    monkeypatch.setenv("BURNISH__SANDBOX__WRITE", f"[{tmp_path}]")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("NO_COLOR", "1")
    # a screen is as wide as a test says, whatever a test tool thinks of the one it runs on
    monkeypatch.delenv("COLUMNS", raising=False)
    return home


@pytest.fixture
def user_repo(tmp_path: Path) -> UserRepo:
    return UserRepo.make(tmp_path / "repo")
