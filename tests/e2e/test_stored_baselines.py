"""A stored baseline holds only for the settings that it was taken with: else it would excuse failures that are new."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.lab import APPROVE, Lab

pytestmark = pytest.mark.usefixtures("lean_pytest")

TEST = (
    "import os\nfrom pathlib import Path\nfrom app import add\n\n\n"
    "def test_add():\n    assert {needs}\n    assert add(1, 2) == 3\n\n\ndef test_other():\n    pass\n"
)
BREAK = 'app.write_text(app.read_text().replace("a + b", "a - b"))\n'
CHECKS = "review: {agents: [judge], max_cycles: 1}\n"
RUN = "python -m pytest -q"
# what the test needs, the settings without it, and with it
CASES = {
    "variable": (
        "os.environ.get('MODE') == 'test'",
        f"checks: {{test: {RUN}, lint: null}}\nisolation: {{env: {{MODE: wrong}}}}\n",
        f"checks: {{test: {RUN}, lint: null}}\nisolation: {{env: {{MODE: test}}}}\n",
    ),
    "build": (
        "Path('built').exists()",
        f"checks: {{test: {RUN}, lint: null, build: 'true'}}\n",
        f"checks: {{test: {RUN}, lint: null, build: touch built}}\n",
    ),
    "copied file": (
        "Path('.env.test').read_text() == 'right'",
        f"checks: {{test: {RUN}, lint: null}}\nworkspace: {{copy: [.env.test]}}\n",
        f"checks: {{test: {RUN}, lint: null}}\nworkspace: {{copy: [.env.test]}}\n",
    ),
}


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("case", CASES)
def test_a_failure_of_wrong_settings_does_not_excuse_a_new_one(tmp_path: Path, case: str) -> None:
    needs, wrong, right = CASES[case]
    lab = Lab.make(tmp_path, author="(app.parent / 'notes.py').write_text('x = 1\\n')\n", judge=APPROVE)
    lab.repo.commit({"tests/test_app.py": TEST.format(needs=needs), ".gitignore": ".env.test\n"}, "a test")
    (lab.repo.path / ".env.test").write_text("wrong")
    lab.settle(CHECKS + wrong)
    lab.add()
    lab.burnish("run", "1", code=None)
    assert lab.show()["cycles"][0]["checks"][0]["old"] == ["tests/test_app.py::test_add"]
    # not committed: the base is the same tree
    (lab.repo.path / "burnish.yaml").write_text(lab.settings(CHECKS + right))
    (lab.repo.path / ".env.test").write_text("right")
    lab.trust()
    lab.agent("robot", BREAK)
    lab.add("break it")
    lab.burnish("run", "2", code=None)
    assert lab.task(2)["status"] == "blocked"
    assert lab.show(2)["cycles"][0]["checks"][0]["new"] == ["tests/test_app.py::test_add"]


@pytest.mark.long
def test_where_checks_run_in_the_workspace_a_corrected_variable_takes_a_new_baseline(tmp_path: Path) -> None:
    needs, wrong, right = CASES["variable"]
    lab = Lab.make(tmp_path, author="(app.parent / 'notes.py').write_text('x = 1\\n')\n", judge=APPROVE)
    lab.user_settings("checks: {where: workspace}\n")
    lab.repo.commit({"tests/test_app.py": TEST.format(needs=needs)}, "a test")
    lab.settle(CHECKS + wrong)
    lab.add()
    lab.burnish("run", "1", code=None)
    (lab.repo.path / "burnish.yaml").write_text(lab.settings(CHECKS + right))
    lab.trust()
    lab.agent("robot", BREAK)
    lab.add("break it")
    lab.burnish("run", "2", code=None)
    assert lab.task(2)["status"] == "blocked"
