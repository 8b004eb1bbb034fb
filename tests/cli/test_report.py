"""The report of a review without a task, as text."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.lab import Lab


@pytest.mark.slow
def test_a_report_of_many_findings_is_bounded_and_names_the_way_to_all_of_them(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, extra="review: {agents: [static]}\n")
    lab.repo.commit({f"f{n}.py": "def (:\n" for n in range(250)}, "many")
    report = lab.burnish("review", "--no-tests", "HEAD", code=1).out
    assert "210 more:" in report and "… and 10; --json lists all" in report
    assert len(lab.burnish("review", "--no-tests", "HEAD", "--json", code=1).json["findings"]) == 250
