"""Files that the script of a check sources can end it: the guard follows them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from burnish.checks.guard.commands import scripts_behind
from burnish.checks.guard.guard import guard
from burnish.checks.guard.shadowing import guarded_trees
from testing.edits import change_between
from testing.lab import APPROVE, Lab

FILES = {
    "ci/test.sh": "set -e\n. ./ci/lib.sh\n# . ./ci/unused.sh\n",
    "ci/lib.sh": 'if true; then source "$(dirname "$0")/deep.sh"; fi\n',
    "ci/deep.sh": '[ -f x ] && . "${BASH_SOURCE%/*}/end.sh"\n',
    "ci/end.sh": "bash ci/end.sh\n",
    "ci/unused.sh": "",
    "Makefile": "include ci/rules\ntest:\n\ttrue\n",
    "ci/rules": "",
    "app.py": "",
}


def read(paths: Sequence[str]) -> dict[str, str]:
    return {path: FILES[path] for path in paths}


def test_sourced_and_included_files_are_followed() -> None:
    assert scripts_behind(["sh ci/test.sh"], FILES, read) == {"ci/test.sh", "ci/lib.sh", "ci/deep.sh", "ci/end.sh"}
    assert scripts_behind(["make test"], FILES, read) == {"Makefile", "ci/rules"}
    assert scripts_behind(["pytest"], FILES, read) == frozenset()


def test_the_depth_is_bounded() -> None:
    files = {f"{n}.sh": f". ./{n + 1}.sh\n" for n in range(100)}
    assert len(scripts_behind(["sh 0.sh"], files, lambda paths: {path: files[path] for path in paths})) == 6


SCRIPT = "add() {\n    echo $(($1 + $2))\n}\n"


def named(path: str, old: str, new: str, script: str) -> bool:
    """Whether the guard names this change of a file that `run_tests.sh` uses."""
    files = {"run_tests.sh": script, path: old}
    after = {**files, path: new}
    scripts = scripts_behind(["sh run_tests.sh"], files, lambda paths: {one: files[one] for one in paths})
    assert path in scripts
    trees = guarded_trees(
        dict.fromkeys(files, ""), dict.fromkeys(after, ""), commands=["sh run_tests.sh"], scripts=scripts
    )
    remarks = guard(
        change_between(files, after),
        comparisons=(),
        old_text=files.get,
        new_text=after.get,
        levels={"tooling": "warning"},
        agent_files=(),
        trees=trees,
    )
    return bool(remarks)


@pytest.mark.parametrize(
    ("path", "script"),
    [
        ("calc.sh", '[ "$(sh calc.sh 1 2)" = 3 ] || exit 1\n'),
        ("calc.sh", '. ./calc.sh\n[ "$(add 1 2)" = 3 ] || exit 1\n'),
        ("src/calc.py", "sh -c true\npython3 src/calc.py 1 2 | grep 3\n"),
    ],
)
def test_a_script_that_the_script_of_the_tests_starts_or_sources_is_code_under_test(path: str, script: str) -> None:
    assert not named(path, SCRIPT, SCRIPT.replace("$1 + $2", "$2 + $1"), script)
    assert not named(path, SCRIPT, f"{SCRIPT}[ $# = 2 ] || exit 2\n", script)


@pytest.mark.parametrize(
    ("path", "new"),
    [
        ("calc.sh", f"{SCRIPT}exit 0\n"),
        ("calc.sh", f"{SCRIPT}trap 'exit 0' EXIT\n"),
        ("calc.sh", f"{SCRIPT}diff() {{ :; }}\n"),
        ("calc.sh", f"failed=0\n{SCRIPT}"),
        ("ci/all.sh", f"{SCRIPT}:\n"),
        ("assertions.sh", f"{SCRIPT}:\n"),
        ("lib/test_helpers.inc", f"{SCRIPT}:\n"),
    ],
)
def test_a_script_that_can_hide_failures_or_is_for_checks_by_its_name_is_reported(path: str, new: str) -> None:
    assert named(path, SCRIPT, new, f". ./{path}\n")


def test_a_change_of_a_sourced_file_is_reported(tmp_path: Path) -> None:
    author = 'pathlib.Path("ci/lib.sh").write_text("exit 0\\n")'
    extra = (
        "checks: {test: null, lint: null, extra: {suite: 'sh ci/test.sh'}}\nreview: {agents: [judge], max_cycles: 1}\n"
    )
    lab = Lab.make(tmp_path, author=author, judge=APPROVE, extra=extra)
    lab.repo.commit({"ci/test.sh": ". ./ci/lib.sh\nfalse || true\n", "ci/lib.sh": "set -e\n"})
    lab.add()
    lab.burnish("run", code=None)
    findings = lab.burnish("findings", "1", "--json").json["findings"]
    assert [(one["rule"], one["file"]) for one in findings] == [("guard/tooling", "ci/lib.sh")]
