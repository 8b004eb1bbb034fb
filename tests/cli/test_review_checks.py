"""What `burnish review` says about the checks."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from burnish.cli.main import main
from testing.userrepo import UserRepo

pytestmark = pytest.mark.usefixtures("lean_pytest")

TESTS = "import app\n\n\ndef test_add():\n    assert app.add(1, 2) == 3\n"
OLD = "\n\ndef test_old():\n    assert app.add(1, 1) == 3\n"
GOOD, BAD = "def add(a, b):\n    return b + a\n", "def add(a, b):\n    return a - b\n"


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("BURNISH__SANDBOX__MODE", "off")
    monkeypatch.setenv("BURNISH__REVIEW__AGENTS", '["static"]')


def review(repo: UserRepo, capsys: pytest.CaptureFixture[str], *argv: str, code: int = 0, trusted: bool = True) -> str:
    if trusted:
        repo.trust()
    capsys.readouterr()
    ended = main(["-C", str(repo.path), "review", *argv])
    out, err = capsys.readouterr()
    assert ended == code, (out, err)
    return out


@pytest.mark.long
def test_tests_that_pass_are_told_with_their_number(user_repo: UserRepo, capsys: pytest.CaptureFixture[str]) -> None:
    user_repo.commit({"test_app.py": TESTS, "conftest.py": ""})
    user_repo.write({"app.py": GOOD})
    out = review(user_repo, capsys)
    assert "Check test: passed 1" in out and "Verdict: APPROVED" in out


@pytest.mark.slow
def test_a_new_failure_and_an_old_one_are_told_apart(user_repo: UserRepo, capsys: pytest.CaptureFixture[str]) -> None:
    user_repo.commit({"test_app.py": TESTS + OLD, "conftest.py": ""})
    user_repo.write({"app.py": BAD})
    assert "Check test: 1 new failure, 1 failed before too, 0 passed" in review(user_repo, capsys, code=1)
    user_repo.write({"app.py": GOOD})
    answer = json.loads(review(user_repo, capsys, "--json"))
    (check,) = answer["checks"]
    assert (check["state"], check["passed"], check["old"]) == ("failed_before", 1, ["test_app.py::test_old"])
    assert answer["verdict"] == "approved" and answer["judged_by"] == ["static"] and answer["notes"] == []


@pytest.mark.slow
def test_an_old_failure_whose_name_changes_with_each_run_is_old(
    user_repo: UserRepo, capsys: pytest.CaptureFixture[str]
) -> None:
    parameter = "import time\nimport pytest\n\n\n@pytest.mark.parametrize('now', [time.time_ns()])\n"
    timed = f"{parameter}def test_old(now): assert not now\n"
    user_repo.commit({"test_app.py": TESTS, "test_timed.py": timed, "conftest.py": ""})
    user_repo.write({"app.py": GOOD})
    (check,) = json.loads(review(user_repo, capsys, "--json"))["checks"]
    assert (check["state"], check["passed"], check["new"]) == ("failed_before", 1, [])


def test_tests_that_no_check_runs_are_named(user_repo: UserRepo, capsys: pytest.CaptureFixture[str]) -> None:
    scripts = '{"scripts": {"test:e2e": "cypress run"}}'
    settings = "checks: {test: 'true', lint: null}\n"
    user_repo.commit({"package.json": scripts, "burnish.yaml": settings, "app.py": BAD})
    user_repo.write({"app.py": GOOD})
    notes = json.loads(review(user_repo, capsys, "--json"))["notes"]
    assert notes[-1].startswith(
        "Not run: `npm run test:e2e`: it may need services, a browser or other files (cypress)."
    )


@pytest.mark.long
def test_a_suite_that_dies_before_and_after_is_exit_3(user_repo: UserRepo, capsys: pytest.CaptureFixture[str]) -> None:
    user_repo.commit({"test_app.py": TESTS, "conftest.py": "import no_such_module_here\n"})
    user_repo.write({"app.py": BAD})
    out = review(user_repo, capsys, code=3)
    assert "Check test: could not start: " in out and "no_such_module_here" in out
    assert "This does not count as a pass" in " ".join(out.split())


@pytest.mark.long
def test_a_suite_that_the_change_breaks_as_a_whole_is_a_finding(
    user_repo: UserRepo, capsys: pytest.CaptureFixture[str]
) -> None:
    user_repo.commit({"test_app.py": TESTS, "conftest.py": ""})
    user_repo.write({"conftest.py": "import no_such_module_here\n"})
    out = review(user_repo, capsys, code=1)
    assert "Check test: fails, and did not fail before" in out


@pytest.mark.long
def test_a_red_exit_code_before_and_after_is_not_a_pass(
    user_repo: UserRepo, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    user_repo.commit({"burnish.yaml": "checks: {test: 'exit 1', lint: null}\n"})
    user_repo.write({"app.py": GOOD})
    out = " ".join(review(user_repo, capsys, code=1).split())
    assert "new failures cannot be distinguished from old ones" in out and "This does not count as a pass" in out
    assert "Verdict: NOT PASSED (nothing found)" in out and "APPROVED" not in out
    monkeypatch.setenv("BURNISH__CHECKS__UNCOUNTABLE", "accept")
    assert "cannot be distinguished" in " ".join(review(user_repo, capsys).split())


def test_without_ai_and_without_tests_nothing_is_approved(
    user_repo: UserRepo, capsys: pytest.CaptureFixture[str]
) -> None:
    user_repo.write({"app.py": GOOD})
    out = review(user_repo, capsys)
    assert "Check test: not run: no test command is configured or found" in out
    assert "nothing found" in out and "APPROVED" not in out
    assert json.loads(review(user_repo, capsys, "--json"))["verdict"] == "approved"


def test_documentation_alone_runs_no_tests_and_says_so(
    user_repo: UserRepo, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    leaves = f"import pathlib\n\n\ndef test_it():\n    pathlib.Path({str(tmp_path / 'ran')!r}).touch()\n"
    user_repo.commit({"test_app.py": leaves, "conftest.py": ""})
    user_repo.write({"README.md": "# Words\n", "docs/use.rst": "Use\n===\n"})
    assert "Check test: not run: the change touches documentation only" in review(user_repo, capsys)
    assert not (tmp_path / "ran").exists()
    assert "Check test: passed 1" in review(user_repo, capsys, "--tests")


@pytest.mark.parametrize(
    "files",
    [
        {"pytest.ini": "[pytest]\naddopts = --doctest-glob=*.md\n"},
        {"test_app.py": "import doctest\n\n\ndef test_it():\n    assert not doctest.testfile('README.md').failed\n"},
    ],
    ids=["settings", "a test that names it"],
)
def test_documentation_that_tests_read_is_tested(
    user_repo: UserRepo, capsys: pytest.CaptureFixture[str], files: dict[str, str]
) -> None:
    user_repo.commit({"test_other.py": TESTS, "conftest.py": "", "README.md": ">>> 1 + 2\n3\n", **files})
    user_repo.write({"README.md": ">>> 1 + 2\n4\n"})
    assert "Check test: 1 new failure" in review(user_repo, capsys, code=1)


@pytest.mark.long
def test_a_text_among_the_sources_is_tested_and_tests_that_are_all_skipped_are_none(
    user_repo: UserRepo, capsys: pytest.CaptureFixture[str]
) -> None:
    reads = (
        "from pathlib import Path\n\n\ndef test_it():\n    assert Path('app/prompt.md').read_text() == 'Review.\\n'\n"
    )
    user_repo.commit({"test_app.py": reads, "conftest.py": "", "app/prompt.md": "Review.\n"})
    user_repo.write({"app/prompt.md": "Broken.\n"})
    assert "Check test: 1 new failure" in review(user_repo, capsys, code=1)
    user_repo.commit({"test_app.py": "import pytest\n\n\n@pytest.mark.skip\ndef test_it():\n    pass\n"})
    user_repo.write({"app.py": GOOD})
    out = review(user_repo, capsys)
    assert "Check test: not run: it found no tests, or skipped all of them" in out


def test_what_is_left_out_says_why(user_repo: UserRepo, capsys: pytest.CaptureFixture[str]) -> None:
    user_repo.commit({"test_app.py": TESTS, "conftest.py": "", "burnish.yaml": "checks: {lint: 'false'}\n"})
    user_repo.write({"app.py": GOOD})
    out = review(user_repo, capsys, "--no-tests")
    assert "Check test: not run: --no-tests was given" in out
    assert "Check lint: not run: a review runs the tests alone" in out
    user_repo.git("stash", "-q")
    user_repo.git("checkout", "-q", "-b", "other")
    user_repo.commit({"app.py": GOOD})
    user_repo.git("checkout", "-q", "-")
    assert "Check test: not run: this is not what is checked out" in review(user_repo, capsys, "--rev", "other")


PARTS = """\
checks:
  lint: null
  test: {run: grep -q good app.txt, cwd: api, paths: ["api/**", "/*"]}
  extra:
    web-test: {run: grep -q good app.txt, cwd: web, paths: ["web/**", "/*"]}
    types: "true"
"""


@pytest.mark.long
def test_a_review_runs_the_tests_of_the_parts_that_the_change_touches(
    user_repo: UserRepo, capsys: pytest.CaptureFixture[str]
) -> None:
    user_repo.commit({"burnish.yaml": PARTS, "api/app.txt": "good\n", "web/app.txt": "good\n"})
    user_repo.write({"web/app.txt": "bad\n"})
    out = review(user_repo, capsys, code=1)
    assert "Check test: not run: no changed file under api/**, /*" in out
    assert "Check web-test: fails, and did not fail before" in out
    assert "Check types: not run: a review runs the tests alone" in out
    user_repo.write({"web/app.txt": "good\n", "api/app.txt": "bad\n"})
    answer = json.loads(review(user_repo, capsys, "--json", code=1))
    states = {check["name"]: check["state"] for check in answer["checks"]}
    assert states == {"test": "new_failures", "web-test": "not_run", "types": "not_run"}


@pytest.mark.long
def test_a_change_that_touches_no_part_is_not_approved_by_tests(
    user_repo: UserRepo, capsys: pytest.CaptureFixture[str]
) -> None:
    user_repo.commit({"burnish.yaml": PARTS, "other/a.txt": "a\n"})
    user_repo.write({"other/a.txt": "b\n"})
    out = review(user_repo, capsys)
    assert "Check test: not run: no changed file under api/**, /*" in out and "APPROVED" not in out


@pytest.mark.long
def test_checks_of_a_review_get_the_variables_and_copied_files_of_a_run(
    user_repo: UserRepo, capsys: pytest.CaptureFixture[str]
) -> None:
    test = (
        "import os\n\n\ndef test_a():\n    assert os.environ['DB'] == 'db_review' and open('.env.test').read() == 'x'\n"
    )
    settings = "isolation: {env: {DB: 'db_{task}'}}\nworkspace: {copy: [.env.test]}\n"
    user_repo.commit({"test_a.py": test, "conftest.py": "", ".gitignore": ".env.test\n", "burnish.yaml": settings})
    user_repo.write({".env.test": "x", "app.py": GOOD})
    assert "Check test: passed 1" in review(user_repo, capsys)


@pytest.mark.long
@pytest.mark.parametrize("slow_before", [False, True])
def test_tests_that_hang_with_the_change_alone_are_not_a_pass(
    user_repo: UserRepo, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, slow_before: bool
) -> None:
    monkeypatch.setattr("burnish.features.review.adhoc_checks.PATIENCE", 15)
    hangs = "import time\n\n\ndef add(a, b):\n    time.sleep(60)\n"
    user_repo.commit({"test_app.py": TESTS, "conftest.py": "", **({"app.py": hangs} if slow_before else {})})
    user_repo.write({"app.py": hangs + "# explained\n"})
    out = " ".join(review(user_repo, capsys, code=0 if slow_before else 1).split())
    if slow_before:
        assert "not run: it takes longer than 15 seconds" in out and "nothing found" in out
    else:
        assert "Check test: took longer than 15 seconds, before the change" in out
        assert "APPROVED" not in out and "nothing found" not in out
