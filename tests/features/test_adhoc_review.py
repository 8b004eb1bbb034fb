"""A review without a task: what is run, what is left, and how it is stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from burnish.core.review_checks import CheckState
from burnish.features.review.adhoc_review import AdhocResult, review_change
from burnish.git.review_target import ReviewTarget
from burnish.proc.run import StopToken
from testing.userrepo import UserRepo

pytestmark = pytest.mark.usefixtures("lean_pytest")

PATIENCE = 60.0


@pytest.fixture
def python_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The repositories' tests find the pytest that runs these."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def tested_repo(user_repo: UserRepo, tmp_path: Path, python_first: None, monkeypatch: pytest.MonkeyPatch) -> UserRepo:
    """A repository whose tests leave a trace when they are run, which a sandbox would not let them."""
    monkeypatch.setenv("BURNISH__SANDBOX__MODE", "off")
    test = (
        "import pathlib, app\n\n\n"
        f"def test_add():\n    pathlib.Path({str(tmp_path / 'ran')!r}).touch()\n    assert app.add(1, 2) == 3\n\n\n"
        "def test_always_broken():\n    assert app.add(1, 1) == 3\n"
    )
    user_repo.commit({"test_app.py": test, "conftest.py": ""}, "tests")
    return user_repo


def reviewed(repo: UserRepo, wish: ReviewTarget | None = None, *, tests: bool | None = None) -> AdhocResult:
    flags = {"review": {"agents": ["static"]}}
    return review_change(
        repo.path, wish or ReviewTarget(), flags=flags, tests=tests, stop=StopToken(), say=lambda text: None
    )


@pytest.mark.slow
def test_a_new_test_failure_is_found_and_an_old_one_is_not_blamed_on_the_change(tested_repo: UserRepo) -> None:
    tested_repo.trust()
    tested_repo.write({"app.py": "def add(a, b):\n    return a - b\n"})
    before = tested_repo.fingerprint()
    done = reviewed(tested_repo)
    titles = [f.remark.title for f in done.findings if f.remark.category == "test"]
    assert any("test_add" in title for title in titles), titles
    assert not any("always_broken" in title for title in titles), titles
    assert not done.passed and tested_repo.fingerprint() == before


SKIPS = "import pytest\n\nfast = pytest.importorskip('app.fast')\n\n\ndef test_add():\n    assert fast.add(1, 2) == 3\n"


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("others", [True, False], ids=["some are skipped", "all are skipped"])
def test_tests_that_are_skipped_because_the_change_is_broken_are_no_pass(
    user_repo: UserRepo, python_first: None, monkeypatch: pytest.MonkeyPatch, others: bool
) -> None:
    monkeypatch.setenv("BURNISH__SANDBOX__MODE", "off")
    user_repo.git("rm", "-q", "app.py")
    files = {"app/__init__.py": "", "app/fast.py": "def add(a, b):\n    return a + b\n", "test_fast.py": SKIPS}
    more = {"test_more.py": "def test_more():\n    assert True\n"} if others else {}
    user_repo.commit({**files, **more, "conftest.py": ""}, "tests")
    user_repo.trust()
    user_repo.write({"app/fast.py": "import does_not_exist\n\n\ndef add(a, b):\n    return a + b\n"})

    done = reviewed(user_repo)

    (check,) = (check for check in done.checks if check.name == "test")
    assert not done.passed and not check.clear
    if others:
        assert check.state is CheckState.MORE_SKIPPED and "tests that passed before are skipped" in check.line


def test_a_skip_that_the_change_writes_is_named_and_does_not_block(
    user_repo: UserRepo, python_first: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BURNISH__SANDBOX__MODE", "off")
    test = "import pytest\n\n\ndef test_a():\n    assert True\n\n\ndef test_b():\n    assert True\n"
    user_repo.commit({"test_app.py": test, "conftest.py": ""}, "tests")
    user_repo.trust()
    user_repo.write({"test_app.py": test.replace("def test_b", "@pytest.mark.skip\ndef test_b")})
    done = reviewed(user_repo)
    assert [check.state for check in done.checks if check.name == "test"] == [CheckState.PASSED]


@pytest.mark.slow
def test_what_is_not_checked_out_is_not_run_unless_asked_for(tested_repo: UserRepo, tmp_path: Path) -> None:
    tested_repo.trust()
    tested_repo.git("checkout", "-q", "-b", "from-a-stranger")
    tested_repo.commit({"app.py": "def add(a, b):\n    return b + a\n"})
    tested_repo.git("checkout", "-q", "main")
    ran = tmp_path / "ran"
    assert reviewed(tested_repo, ReviewTarget("rev", "main...from-a-stranger")).passed and not ran.exists()
    reviewed(tested_repo, ReviewTarget("rev", "main...from-a-stranger"), tests=True)
    assert ran.exists()


def test_no_tests_means_none(tested_repo: UserRepo, tmp_path: Path) -> None:
    tested_repo.write({"app.py": "def add(a, b):\n    return a - b\n"})
    assert reviewed(tested_repo, tests=False).passed
    assert not (tmp_path / "ran").exists()


def test_tests_that_cannot_start_are_no_finding_and_no_pass(user_repo: UserRepo) -> None:
    user_repo.commit({"burnish.yaml": "checks: {test: [no-such-program-here]}\n"})
    user_repo.trust()
    user_repo.write({"app.py": "def add(a, b):\n    return b + a\n"})
    done = reviewed(user_repo)
    assert not done.findings and not done.passed and done.could_not_start
    assert done.nothing_judged  # the text does not say "APPROVED"
    assert done.checks[0].line.startswith("test: could not start: ")


def test_nothing_is_left_in_the_home_and_old_leavings_go(tested_repo: UserRepo, hermetic: Path) -> None:
    tested_repo.write({"app.py": "def add(a, b):\n    return b + a\n"})
    home = hermetic / "burnish"
    reviewed(tested_repo, tests=False)
    assert not home.exists()
    old, young = home / "reviews" / "r-old", home / "reviews" / "r-young"
    for place in (old, young):
        (place / "git").mkdir(parents=True)
    day_before = time.time() - 25 * 3600
    os.utime(old, (day_before, day_before))
    reviewed(tested_repo, tests=False)
    assert young.exists() and not old.exists()


@pytest.mark.slow
def test_many_files_need_few_git_calls(user_repo: UserRepo) -> None:
    from burnish.git.run import calls

    user_repo.write({f"d{n % 10}/f{n}.py": f"import os\nx = {n}\n" for n in range(300)})
    calls.reset()
    done = reviewed(user_repo, tests=False)
    assert len(done.findings) == 300
    # four of them compare the objects of the change with their names
    assert calls.total < 35, calls.by_command


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("panel", [["sleeper", "sleeper2"], ["sleeper"]])
def test_ctrl_c_ends_the_agents_and_is_130(
    user_repo: UserRepo, tmp_path: Path, hermetic: Path, panel: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # process ids are counted from 1 in a sandbox
    monkeypatch.setenv("BURNISH__SANDBOX__MODE", "off")
    script = tmp_path / "sleeper.py"
    script.write_text(f"import os, time\nopen({str(tmp_path)!r} + f'/pid-{{os.getpid()}}', 'w')\ntime.sleep(600)\n")
    argv = f"[{sys.executable}, {script}]"
    entries = "".join(f"  {name}: {{kind: command, argv: {argv}}}\n" for name in panel)
    user_repo.commit({"burnish.yaml": f"agents:\n{entries}review: {{agents: [{', '.join(panel)}]}}\n"})
    user_repo.trust()
    command = [sys.executable, "-m", "burnish.cli", "-C", str(user_repo.path), "review"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        try:
            pids = _wait_for(lambda: [int(p.name[4:]) for p in tmp_path.glob("pid-*")], len(panel))
            running.send_signal(signal.SIGINT)
            _, err = running.communicate(timeout=PATIENCE)
        finally:
            running.kill()
    assert running.returncode == 130, err
    assert b"Interrupted" in err
    assert not any(_alive(pid) for pid in pids)
    assert not [p for p in (hermetic / "burnish" / "reviews").glob("*/*") if p.name != "calls"]


def _wait_for(look: object, count: int) -> list[int]:
    assert callable(look)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found: list[int] = look()
        if len(found) >= count:
            return found
        time.sleep(0.05)
    raise AssertionError("the agents were never started")


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
