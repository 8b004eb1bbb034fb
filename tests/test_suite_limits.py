"""The suite cannot hang: each test has a limit, its processes end with it, and it runs as a background job too."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# What a shell without job control does to `make test &`.
BACKGROUND = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"]
NEVER_ENDS = """
import subprocess, sys, time
from pathlib import Path

def test_that_waits_for_a_process_that_never_ends():
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"]) as process:
        Path("child").write_text(str(process.pid))
        process.wait()
"""


def pytest_in(*argv: str, cwd: Path = ROOT, **env: str) -> subprocess.CompletedProcess[str]:
    words = [*BACKGROUND, sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", *argv]
    return subprocess.run(
        words, cwd=cwd, env={**os.environ, **env}, capture_output=True, text=True, timeout=60, check=False
    )


def test_a_test_that_hangs_fails_with_its_stack_and_its_processes_end(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(NEVER_ENDS)
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (tmp_path / "pyproject.toml").write_text(
        (ROOT / "pyproject.toml").read_text().replace("timeout = 240", "timeout = 1")
    )
    done = pytest_in("test_it.py", cwd=tmp_path, PYTHONPATH=str(ROOT))
    assert done.returncode == 1, done
    assert "Timeout" in done.stdout and "process.wait()" in done.stdout
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "child").read_text()), 0)


@pytest.mark.slow
def test_children_of_a_test_can_be_interrupted_where_the_suite_is_a_background_job() -> None:
    """The test that waited for ever: it sends SIGINT to a process that had inherited it as ignored."""
    one = "tests/cli/test_story.py::test_whoever_follows_the_events_sees_the_next_one"
    done = pytest_in(one, "-x")
    assert done.returncode == 0, done.stdout


def test_children_start_with_sigint_at_its_default() -> None:
    assert signal.getsignal(signal.SIGINT) is not signal.SIG_IGN


def test_every_test_has_a_limit(pytestconfig: pytest.Config) -> None:
    assert 0 < float(pytestconfig.getini("timeout")) <= 300
    assert pytestconfig.getini("timeout_method") == "signal"
