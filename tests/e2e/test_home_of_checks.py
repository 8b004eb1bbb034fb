"""Without a sandbox checks share the user's home directory; `isolation.env` gives each tree one of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.lab import Lab

# A program with a bug at its first start: it passes where an earlier run has left its settings.
BREAK = 'pathlib.Path("start.sh").write_text(\'[ -e "$HOME/.calc" ] || exit 1\\n\')'
FILES = {"start.sh": 'mkdir -p "$HOME"; touch "$HOME/.calc"\n', "run_tests.sh": "sh start.sh\n"}
REVIEW = 'print(verdict("approved", "good", inspected=["start.sh"]))'


@pytest.mark.representatives(1)
@pytest.mark.parametrize(("private", "status"), [(True, "blocked"), (False, "verified")])
def test_a_private_home_shows_a_bug_at_the_first_start_without_a_sandbox(
    tmp_path: Path, private: bool, status: str
) -> None:
    home = f"isolation: {{env: {{HOME: '{tmp_path}/home-{{task}}-{{cycle}}'}}}}\n" if private else ""
    extra = f"checks: {{test: sh run_tests.sh, lint: null}}\nreview: {{agents: [judge], max_cycles: 1}}\n{home}"
    lab = Lab.make(tmp_path, author=BREAK, judge=REVIEW, extra=extra, confined=False)
    lab.repo.commit(FILES, "a project")
    lab.add()
    lab.burnish("run", code=None)
    assert lab.task()["status"] == status
