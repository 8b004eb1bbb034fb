"""Files that the script of a check sources can end it: the guard follows them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from burnish.checks.guard.commands import scripts_behind
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


def test_a_program_that_a_test_script_starts_is_not_a_setting_of_the_tests() -> None:
    files = {
        "tests/run.sh": '[ "$(bin/add 1 2)" = 3 ]\nbin/add 0 0 >out\nn=`./count.sh x`\n. bin/env.sh\nbin/unit-test\n'
        'log="$(ci/unit.sh)"\nscripts/all.sh\n',
        **dict.fromkeys(("bin/add", "count.sh", "bin/env.sh", "bin/unit-test", "ci/unit.sh", "scripts/all.sh"), ""),
    }
    started = scripts_behind(["sh tests/run.sh"], files, lambda paths: {path: files[path] for path in paths})
    assert started == {"tests/run.sh", "bin/env.sh", "bin/unit-test", "ci/unit.sh", "scripts/all.sh"}


def test_the_depth_is_bounded() -> None:
    files = {f"{n}.sh": f". ./{n + 1}.sh\n" for n in range(100)}
    assert len(scripts_behind(["sh 0.sh"], files, lambda paths: {path: files[path] for path in paths})) == 6


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
