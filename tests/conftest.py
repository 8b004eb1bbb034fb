"""Every test has a home of its own, and no way to the real one."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from testing import torture
from testing.attack_counts import PROPERTY, AttackCount, CountAttacks, counts_of_marker
from testing.both_stores import database, store_of
from testing.children import ending_children, make_children_interruptible, record_children
from testing.lean_pytest import LEAN_PYTEST
from testing.long_forms import MARKERS, deselect_long, examples
from testing.userrepo import UserRepo

__all__ = ["database"]


def pytest_addoption(parser: pytest.Parser) -> None:
    torture.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    torture.register(config)
    config.addinivalue_line("markers", "attacks(kind, attempts): counted for `make torture`; one success if it fails")
    for line in MARKERS:
        config.addinivalue_line("markers", line)
    # the machine may be busy; pytest-timeout ends what hangs
    settings.register_profile(
        "burnish", deadline=None, max_examples=examples(100), suppress_health_check=[HealthCheck.too_slow]
    )
    settings.load_profile("burnish")
    make_children_interruptible()
    record_children()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    deselect_long(config, items)


@pytest.fixture(autouse=True)
def no_child_left() -> Iterator[None]:
    with ending_children():
        yield


@pytest.fixture
def count_attacks(request: pytest.FixtureRequest, record_property: Callable[[str, object], None]) -> CountAttacks:
    """Record how often an attack was tried and how often it succeeded, for the table of `make torture`."""
    item: pytest.Item = request.node
    store = store_of(item)
    return lambda kind, tries, successes: record_property(PROPERTY, tuple(AttackCount(kind, store, tries, successes)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if call.when == "call" and not report.skipped:
        counts = counts_of_marker(item, failed=report.failed)
        report.user_properties += [(PROPERTY, tuple(count)) for count in counts]
    return report


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
    # a disk may take seconds to sync; what relies on it (`test_power_loss.py`) takes this away
    monkeypatch.setenv("BURNISH_NO_SYNC", "1")
    monkeypatch.setenv("GIT_TEST_FSYNC", "0")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("NO_COLOR", "1")
    # otherwise every process of a test compiles burnish again where the machine sets it
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    # a screen is as wide as a test says, whatever a test tool thinks of the one it runs on
    monkeypatch.delenv("COLUMNS", raising=False)
    return home


@pytest.fixture
def lean_pytest(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check that starts the pytest of this environment loads none of its large plugins, which take a second."""
    monkeypatch.setenv("BURNISH__ISOLATION__ENV", f"{{PYTEST_ADDOPTS: {LEAN_PYTEST}}}")


@pytest.fixture
def user_repo(tmp_path: Path) -> UserRepo:
    return UserRepo.make(tmp_path / "repo")
