"""A review without a task names what makes its tests easier to pass."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from burnish.features.review.adhoc_review import AdhocResult, review_change
from burnish.git.review_target import ReviewTarget
from burnish.proc.run import StopToken
from testing.userrepo import UserRepo

pytestmark = pytest.mark.usefixtures("lean_pytest")

ADD = "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n"
RUST = (
    f"/// ```\n/// assert_eq!(calc::add(1, 2), 3);\n/// ```\n{ADD}\n#[cfg(test)]\nmod tests {{\n    #[test]\n"
    "    fn adds() {\n        assert_eq!(super::add(1, 2), 3);\n    }\n}\n"
)
PERL = "use Test::More tests => 1;\nis(add(1, 2), 3, 'adds');\n"
CMAKE = "project(calc C)\nenable_testing()\nadd_executable(t t.c)\nadd_test(NAME t COMMAND t)\n"
MAKE = "CFLAGS = -g\n\ntest: t\n\t./t\nt: t.o\n\tcc -o t t.o\n%.o: %.c\n\tcc $(CFLAGS) -c -o $@ $<\n"
# file, before, after, the finding
WEAKENED = {
    "a TODO block of Perl": (
        "t/calc.t",
        PERL,
        PERL.replace("is(add", "TODO: {\nlocal $TODO = 'later';\nis(add") + "}\n",
        "guard/thinning",
    ),
    "should_panic": (
        "src/lib.rs",
        RUST,
        RUST.replace("    fn adds", "    #[should_panic]\n    fn adds"),
        "guard/thinning",
    ),
    "no_run": ("src/lib.rs", RUST, RUST.replace("/// ```\n/// assert", "/// ```no_run\n/// assert"), "guard/thinning"),
    "another test in CMake": ("CMakeLists.txt", CMAKE, CMAKE.replace("COMMAND t", "COMMAND true"), "guard/tooling"),
    "NDEBUG": ("Makefile", MAKE, MAKE.replace("-g", "-g -DNDEBUG"), "guard/tooling"),
}


def reviewed(repo: UserRepo, *, tests: bool | None = None) -> AdhocResult:
    flags = {"review": {"agents": ["static"]}}
    return review_change(repo.path, ReviewTarget(), flags=flags, tests=tests, stop=StopToken(), say=lambda text: None)


@pytest.mark.parametrize("name", WEAKENED)
def test_a_branch_whose_only_trace_is_a_weaker_test_is_named(user_repo: UserRepo, name: str) -> None:
    path, old, new, rule = WEAKENED[name]
    user_repo.commit({path: old, "calc.c": "a\n"}, "a project")
    user_repo.trust()
    user_repo.write({path: new, "calc.c": "b\n"})
    done = reviewed(user_repo, tests=False)
    found = [finding.remark for finding in done.findings if finding.remark.rule in (rule, "lost-test")]
    assert found and {remark.severity for remark in found} == {"warning"}
    assert any(finding["file"] == path for finding in done.as_json()["findings"])


def test_a_bug_behind_another_expected_value_is_named(user_repo: UserRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("BURNISH__SANDBOX__MODE", "off")
    test = "import app\n\n\ndef test_add():\n    assert app.add(1, 2) == 3\n"
    user_repo.commit({"app.py": "def add(a, b):\n    return a + b\n", "test_app.py": test, "conftest.py": ""}, "tests")
    user_repo.trust()
    user_repo.write({"app.py": "def add(a, b):\n    return a - b\n", "test_app.py": test.replace("3", "-1")})
    done = reviewed(user_repo)
    note = "1 test of the base fails with this change, which edits test_app.py: test_app.py::test_add."
    assert note in done.notes
    (finding,) = [one for one in done.as_json()["findings"] if one["rule"] == "guard/expectations"]
    assert "test_app.py::test_add: assert -1 == 3" in finding["description"]
