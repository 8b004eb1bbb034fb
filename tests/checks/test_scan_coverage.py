"""Changed lines that no test runs, measured with a real pytest under a real coverage."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from burnish.adapters.static_reviewer import static_review
from burnish.core.change import Change
from burnish.core.check import CheckReport, CheckStatus, Comparison
from burnish.core.policy import CheckSpec
from burnish.core.review import Review
from burnish.proc.environment import listed_environment
from testing.defects import changed_file

OLD = "def double(n):\n    return 2 * n\n"
NEW = OLD + "\n\ndef half(n):\n    if n % 2:\n        raise ValueError(n)\n    return n // 2\n"
TEST = "from shop.numbers import double, half\n\n\ndef test_it():\n    assert half(double(2)) == 2\n"


def review(root: Path, test: CheckSpec | None, new: str = NEW, **more: object) -> Review:
    files = root / "files"
    for path, text in {"src/shop/__init__.py": "", "src/shop/numbers.py": new, "tests/test_numbers.py": TEST}.items():
        (files / path).parent.mkdir(parents=True, exist_ok=True)
        (files / path).write_text(text)
    return static_review(
        Change("0", "1", (changed_file("src/shop/numbers.py", OLD, new),)),
        files=files,
        out_dir=root / "out",
        checkout=files,
        base_text={"src/shop/numbers.py": OLD}.get,
        new_text=lambda path: (files / path).read_bytes(),
        env=listed_environment(os.environ),
        test=test,
        **more,  # type: ignore[arg-type]
    )


PYTEST = CheckSpec("test", (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"))


@pytest.mark.long
def test_changed_lines_that_no_test_runs_are_named(tmp_path: Path) -> None:
    done = review(tmp_path, CheckSpec("test", PYTEST.words), coverage=True)
    assert [(r.rule, r.line, r.title) for r in done.remarks] == [
        ("not-tested", 7, "Line 7 is changed and no test runs it")
    ], done.notes
    assert not (tmp_path / "out" / "coverage" / "tree").exists()
    assert sorted(p.name for p in (tmp_path / "files").iterdir()) == ["src", "tests"]


@pytest.mark.long
def test_without_being_asked_only_quick_tests_are_run_again(tmp_path: Path) -> None:
    for seconds, status, measured in ((2.0, "passed", True), (90.0, "passed", False), (2.0, "error", False)):
        report = CheckReport("test", "pytest", CheckStatus(status), seconds=seconds)
        done = review(tmp_path, PYTEST, comparisons=(Comparison(report, None),))
        assert bool(done.remarks) is measured, (seconds, status, done.notes)


@pytest.mark.long
def test_what_cannot_be_measured_is_a_note(tmp_path: Path) -> None:
    for command in ("make test", "pytest && echo", (sys.executable, "-m", "pytest", "--no-such-option")):
        done = review(tmp_path, CheckSpec("test", command), coverage=True)
        assert done.remarks == () and len(done.notes) == 1 and done.notes[0].startswith("coverage:"), command


@pytest.mark.long
def test_tests_that_test_something_else_prove_nothing(tmp_path: Path) -> None:
    (tmp_path / "files" / "tests").mkdir(parents=True)
    elsewhere = CheckSpec("test", (*PYTEST.command, "tests/test_other.py"))
    (tmp_path / "files" / "tests" / "test_other.py").write_text("def test_it():\n    assert True\n")
    done = review(tmp_path, elsewhere, coverage=True)
    assert done.remarks == () and "no file of the tree" in done.notes[0]
