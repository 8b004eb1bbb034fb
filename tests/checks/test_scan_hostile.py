"""Files that would take an analyser minutes, crash it, or flood its report: the review ends soon and reports it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from burnish.checks.scanners.tree_sitter_main import GIVEN_UP, find_errors
from burnish.core.finding import Category, Remark, Severity
from burnish.core.ledger.reanchor import Tree, anchor
from burnish.core.review import Verdict
from tests.checks.test_scan import Site, site  # noqa: F401

CRASHES = "x = [\n" + "[" * 100_000 + "]" * 100_000 + "]\n"
FLOODS = "@a\n" * 50_000 + "def f(): pass\n"


@pytest.mark.slow
@pytest.mark.parametrize("text", [CRASHES, FLOODS], ids=["crash", "flood"])
def test_a_file_that_ruff_does_not_survive_is_reported_and_not_inspected(site: Site, text: str) -> None:  # noqa: F811
    site.change("bad.py", text).change("good.py", "def f(x=[]):\n    return x\n")
    review = site.review()
    assert [(one.file, one.rule) for one in review.remarks if one.rule in ("not-examined", "B006")] == [
        ("bad.py", "not-examined"),
        ("good.py", "B006"),
    ]
    assert review.inspected == ("good.py",)


@pytest.mark.slow
def test_a_file_that_takes_a_grammar_too_long_is_given_up(tmp_path: Path) -> None:
    (tmp_path / "slow.ts").write_text("a<" * 500_000)
    (tmp_path / "bad.ts").write_text("let a = ;\n")
    (tmp_path / "good.ts").write_text("let a = 1;\n")
    found = find_errors(tmp_path, ["slow.ts", "bad.ts", "good.ts"])
    assert found["slow.ts"][0] == GIVEN_UP and found["bad.ts"][0] == 1 and "good.ts" not in found


def test_thousands_of_findings_of_one_rule_are_limited_and_counted(site: Site) -> None:  # noqa: F811
    site.change("a.txt", "<<<<<<< a\n=======\n>>>>>>> b\n" * 300)
    review = site.review()
    assert review.verdict is Verdict.CHANGES_REQUESTED and len(review.remarks) == 50
    assert "250 more findings of this rule" in review.remarks[-1].description


def test_many_findings_that_quote_a_frequent_line_are_placed_soon() -> None:
    tree = Tree(lambda _: "<<<<<<< a\n=======\n>>>>>>> b\n" * 35_000)
    start = time.process_time()
    for line in range(1, 3000, 30):
        remark = Remark(Category.CODE, Severity.ERROR, "t", file="a.txt", line=line, quote="<<<<<<< a")
        assert anchor(remark, tree)[0].line == line
    assert time.process_time() - start < 10
