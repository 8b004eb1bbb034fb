"""Real pytest, real ruff, real shells."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from burnish.checks.environment import check_environment
from burnish.checks.placement import Placement
from burnish.checks.run import run_checks
from burnish.core.check import CheckReport, CheckStatus, Counts
from burnish.core.finding import Category, Severity
from burnish.core.policy import CheckSpec
from burnish.proc.stop import StopToken
from testing.lean_pytest import LEAN_PYTEST

PYTEST = (sys.executable, "-m", "pytest", "-q")
RUFF = (sys.executable, "-m", "ruff", "check", "--output-format=concise", "--isolated", "--no-cache")


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    # an own pytest.ini, so that nothing above it has a say
    return lay(tmp_path / "work", {"pytest.ini": "[pytest]\n"})


def lay(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def run_one(spec: CheckSpec, cwd: Path, **more: object) -> CheckReport:
    env = check_environment(os.environ, extra={"PYTEST_ADDOPTS": LEAN_PYTEST})
    given = {"place": Placement.plain(cwd), **more}
    (report,) = run_checks([spec], out_dir=cwd.parent / "out", env=env, **given)  # type: ignore[arg-type]
    return report


TESTS = {
    "test_a.py": (
        "import pytest\n\n"
        "def test_good(): pass\n\n"
        "def test_bad():\n    assert 1 + 1 == 3, 'sums'\n\n"
        "@pytest.mark.skip\ndef test_left_out(): pass\n\n"
        "class TestIn:\n    def test_deep(self): raise KeyError('gone')\n"
    )
}


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize(
    "command", [PYTEST, " ".join(PYTEST), f"cd . && {' '.join(PYTEST)}"], ids=["list", "string", "wrapped"]
)
def test_pytest_tells_each_case_whichever_way_it_is_started(cwd: Path, command: str | tuple[str, ...]) -> None:
    report = run_one(CheckSpec("test", command), lay(cwd, TESTS))

    assert report.status is CheckStatus.FAILED
    assert report.exit_code == 1
    assert report.counts == Counts(total=4, passed=1, failed=2, skipped=1)
    assert [(one.name, one.file, one.line) for one in report.failures] == [
        ("test_a.py::test_bad", "test_a.py", 5),
        ("test_a.py::TestIn::test_deep", "test_a.py", 12),
    ]
    assert "sums" in report.failures[0].message
    assert "test_bad" in report.tail
    assert "test_bad" in Path(report.output_path).read_text()


FORGERY = """import atexit, os

def pytest_configure(config):
    def forge():
        with open(config.option.xmlpath, "w") as file:
            file.write('<testsuite tests="1"><testcase classname="test_a" name="test_a"/></testsuite>')
        os._exit(0)

    atexit.register(forge)
"""


@pytest.mark.slow
def test_a_report_that_is_replaced_at_the_exit_of_pytest_hides_no_failure(cwd: Path) -> None:
    report = run_one(
        CheckSpec("test", PYTEST), lay(cwd, {"test_a.py": "def test_a(): assert 0\n", "conftest.py": FORGERY})
    )
    assert (report.status, report.exit_code) == (CheckStatus.FAILED, 0)
    assert [one.name for one in report.failures] == ["test_a.py::test_a"]


@pytest.mark.slow
def test_tests_that_pass_are_counted(cwd: Path) -> None:
    report = run_one(CheckSpec("test", PYTEST), lay(cwd, {"test_a.py": "def test_a(): pass\n"}))
    assert (report.status, report.counts) == (CheckStatus.PASSED, Counts(1, 1, 0, 0))


@pytest.mark.slow
def test_no_tests_is_not_a_failure(cwd: Path) -> None:
    report = run_one(CheckSpec("test", PYTEST), cwd)
    assert (report.status, report.counts, report.exit_code) == (CheckStatus.PASSED, Counts(0, 0, 0, 0), 5)


@pytest.mark.slow
def test_a_file_that_cannot_be_imported_is_a_failure_with_its_error(cwd: Path) -> None:
    report = run_one(CheckSpec("test", PYTEST), lay(cwd, {"test_a.py": "import nothing_like_it\n"}))
    assert report.status is CheckStatus.FAILED
    assert [one.status for one in report.failures] == ["error"]
    assert "nothing_like_it" in report.failures[0].message


def test_a_broken_conftest_is_a_failure_and_not_our_trouble(cwd: Path) -> None:
    report = run_one(CheckSpec("test", PYTEST), lay(cwd, {"conftest.py": "1 / 0\n", **TESTS}))
    assert report.status is CheckStatus.FAILED
    assert "ZeroDivisionError" in report.tail


def test_a_python_without_pytest_is_an_error(cwd: Path) -> None:
    report = run_one(CheckSpec("test", (sys.executable, "-I", "-S", "-m", "pytest")), cwd)
    assert report.status is CheckStatus.ERROR
    assert "not installed" in report.error


def test_a_green_report_does_not_make_up_for_a_red_exit_code(cwd: Path) -> None:
    green = '<testsuite name="x"><testcase name="a"/></testsuite>'
    spec = CheckSpec("test", f"echo '{green}' > {{report_dir}}/r.xml; exit 3", report="junit", report_file="r.xml")
    report = run_one(spec, cwd)
    assert (report.status, report.counts) == (CheckStatus.FAILED, Counts(1, 1, 0, 0))


def test_a_red_report_does_not_pass_with_exit_code_0(cwd: Path) -> None:
    red = '<testsuite name="x"><testcase name="a"><failure/></testcase></testsuite>'
    spec = CheckSpec("test", f"echo '{red}' > {{report_dir}}/r.xml", report="junit", report_file="r.xml")
    assert run_one(spec, cwd).status is CheckStatus.FAILED


SEVERAL = {
    "script": "sh test.sh",
    "lines": f"{' '.join(PYTEST)} test_ok.py\n{' '.join(PYTEST)} test_a.py\n{' '.join(PYTEST)} test_ok.py\n",
    "semicolons": f"make -s test PYTEST='{' '.join(PYTEST)}'",
    "another runner first": f"{sys.executable} -m unittest -q test_u; {' '.join(PYTEST)} test_ok.py",
    "failures that are not listed": "sh test.sh -rN",
}


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("command", SEVERAL.values(), ids=SEVERAL)
def test_a_later_run_below_one_command_does_not_hide_the_failures_of_an_earlier_one(cwd: Path, command: str) -> None:
    files = {
        "test_a.py": "def test_a():\n    assert 1 == 2\n",
        "test_ok.py": "def test_ok(): pass\n",
        "test_u.py": "import unittest\n\n\nclass U(unittest.TestCase):\n    def test_u(self):\n        self.fail()\n",
        "test.sh": f"{' '.join(PYTEST)} $1 test_a.py\n{' '.join(PYTEST)} test_ok.py\n",
        "Makefile": "test:\n\t$(PYTEST) test_a.py; $(PYTEST) test_ok.py\n",
    }

    report = run_one(CheckSpec("test", command), lay(cwd, files))

    assert report.exit_code == 0
    assert report.status is CheckStatus.FAILED
    if "-rN" not in command:
        assert [one.name.rpartition(".")[2].rpartition("::")[2] for one in report.failures] in (["test_a"], ["test_u"])
        assert report.partial


def test_expected_failures_of_unittest_are_skipped_and_not_failed(cwd: Path) -> None:
    text = "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        pass\n\n"
    text += "    @unittest.expectedFailure\n    def test_b(self):\n        self.fail()\n"
    report = run_one(CheckSpec("test", f"{sys.executable} -m unittest"), lay(cwd, {"test_u.py": text}))
    assert (report.status, report.counts) == (CheckStatus.PASSED, Counts(total=2, passed=1, failed=0, skipped=1))


def test_one_run_below_a_script_is_counted_once(cwd: Path) -> None:
    report = run_one(CheckSpec("test", "sh test.sh"), lay(cwd, {**TESTS, "test.sh": f"{' '.join(PYTEST)}\n"}))
    assert report.counts == Counts(total=4, passed=1, failed=2, skipped=1)
    assert [one.line for one in report.failures] == [5, 12]


@pytest.mark.parametrize("write", ["true", "echo '<oops' > {report_dir}/r.xml", "ln -s /etc/passwd {report_dir}/r.xml"])
def test_a_promised_report_that_is_missing_or_unreadable_is_unknown(cwd: Path, write: str) -> None:
    report = run_one(CheckSpec("test", write, report="junit", report_file="r.xml"), cwd)
    assert (report.status, report.counts) == (CheckStatus.ERROR, None)
    assert report.error


def test_a_report_of_an_earlier_run_is_not_read_again(cwd: Path) -> None:
    red = '<testsuite name="x"><testcase name="a"/></testsuite>'
    spec = CheckSpec("test", f"echo '{red}' > {{report_dir}}/r.xml", report="junit", report_file="r.xml")
    assert run_one(spec, cwd).status is CheckStatus.PASSED
    assert run_one(CheckSpec("test", "true", report="junit", report_file="r.xml"), cwd).status is CheckStatus.ERROR


def test_a_report_left_in_the_workspace_is_not_read(cwd: Path) -> None:
    lay(cwd, {"burnish-junit.xml": '<testsuite name="x"><testcase name="forged"/></testsuite>'})
    assert run_one(CheckSpec("test", "true"), cwd).counts is None


@pytest.mark.parametrize(
    "command", ["no-such-program-here", ("no-such-program-here",), ("./plain.txt",), "./plain.txt"]
)
def test_what_cannot_be_started_is_an_error_and_never_passed(cwd: Path, command: str | tuple[str, ...]) -> None:
    report = run_one(CheckSpec("test", command), lay(cwd, {"plain.txt": "words"}))
    assert report.status is CheckStatus.ERROR
    assert report.error


@pytest.mark.parametrize("name", ["test", "lint"])
def test_a_module_that_python_does_not_have_is_an_error_and_no_old_failure(cwd: Path, name: str) -> None:
    report = run_one(CheckSpec(name, f"{sys.executable} -m no_such_tool src"), cwd)
    why = f"no_such_tool is not installed for this python; see workspace.setup and checks.{name}."
    assert (report.status, report.error) == (CheckStatus.ERROR, why)
    own = f"{sys.executable} -c 'import no_such_module'"
    assert run_one(CheckSpec(name, own), cwd).status is CheckStatus.FAILED


@pytest.mark.slow
def test_a_check_that_takes_too_long_is_an_error(cwd: Path) -> None:
    report = run_one(CheckSpec("test", "echo begun; sleep 60", timeout_seconds=3), cwd)
    assert report.status is CheckStatus.ERROR
    assert "timed out after 0.05 minutes" in report.error
    assert "begun" in report.tail


def test_a_stop_ends_every_check(cwd: Path) -> None:
    stop = StopToken()
    stop.request()
    report = run_one(CheckSpec("test", "exit 0"), cwd, stop=stop)
    assert report.status is CheckStatus.ERROR


def test_a_check_that_dies_of_a_signal_failed(cwd: Path) -> None:
    report = run_one(CheckSpec("test", (sys.executable, "-c", "import os; os.kill(os.getpid(), 11)")), cwd)
    assert report.status is CheckStatus.FAILED
    assert "SIGSEGV" in report.error


def test_checks_run_side_by_side_and_come_back_in_order(cwd: Path) -> None:
    # each waits for the others, half a minute at most
    meet = "n=0; until [ -e in-test ] && [ -e in-lint ] && [ -e in-types ]; do n=$((n + 1)); [ $n -lt 600 ] || exit 1; "
    meet += "sleep 0.05; done"
    specs = [CheckSpec(name, f"touch in-{name}; {meet}; echo {name}") for name in ("test", "lint", "types")]
    reports = run_checks(
        specs, place=Placement.plain(cwd), out_dir=cwd.parent / "out", env=check_environment(os.environ)
    )
    assert [(one.name, one.tail, one.status) for one in reports] == [
        (name, name, CheckStatus.PASSED) for name in ("test", "lint", "types")
    ]


def test_ruff_gives_remarks_with_their_place(cwd: Path) -> None:
    report = run_one(CheckSpec("lint", RUFF), lay(cwd, {"src/a.py": "import os\n\nx = undefined\n"}))
    assert report.status is CheckStatus.FAILED
    found = [(one.file, one.line, one.rule, one.category, one.severity) for one in report.remarks]
    assert found == [
        ("src/a.py", 1, "F401", Category.CODE, Severity.ERROR),
        ("src/a.py", 3, "F821", Category.CODE, Severity.ERROR),
    ]
    assert report.remarks[0].title == "`os` imported but unused"
    assert report.remarks[0].source == "check:lint"


def test_remarks_of_a_check_that_does_not_block_are_warnings(cwd: Path) -> None:
    report = run_one(CheckSpec("lint", RUFF, blocking=False), lay(cwd, {"a.py": "import os\n"}))
    assert [one.severity for one in report.remarks] == [Severity.WARNING]


def test_tap_is_read_from_what_is_printed(cwd: Path) -> None:
    spec = CheckSpec("unit", "printf '1..2\\nok 1 - a\\nnot ok 2 - b\\n# why\\n'", report="tap", report_file="-")
    report = run_one(spec, cwd)
    assert (report.status, report.counts) == (CheckStatus.FAILED, Counts(2, 1, 1, 0))
    assert (report.failures[0].name, report.failures[0].message) == ("b", "why")


def test_checks_that_build_in_one_folder_do_not_disturb_each_other(cwd: Path) -> None:
    recipe = "\tmkdir building\n\tsleep 0.2\n\trmdir building\n"
    lay(cwd, {"Makefile": f".PHONY: test check\ntest:\n{recipe}\ncheck:\n{recipe}"})
    specs = (CheckSpec("test", "make test"), CheckSpec("lint", "true"), CheckSpec("make-test", "make check"))
    reports = run_checks(specs, place=Placement.plain(cwd), out_dir=cwd.parent / "out", env=dict(os.environ))
    assert [(one.name, one.status) for one in reports] == [(spec.name, CheckStatus.PASSED) for spec in specs]


def test_failures_that_a_makefile_prints_and_ignores_are_failures(cwd: Path) -> None:
    loop = '@for t in ./good ./bad; do if $$t; then echo "PASS: $$t"; else echo "FAIL: $$t"; fi; done'
    lay(cwd, {"good": "#!/bin/sh\n", "bad": "#!/bin/sh\nexit 1\n", "Makefile": f"check:\n\t{loop}\n"})
    for name in ("good", "bad"):
        (cwd / name).chmod(0o755)
    report = run_one(CheckSpec("test", "make check"), cwd)
    assert (report.exit_code, report.status) == (0, CheckStatus.FAILED)
    assert [failure.name for failure in report.failures] == ["./bad"]
    assert run_one(CheckSpec("test", "echo PASS: ./good"), cwd).status is CheckStatus.PASSED


def test_the_name_of_a_printed_failure_is_the_whole_line_without_its_duration(cwd: Path) -> None:
    lines = ("FAIL: adds two numbers (0.03 s)", "FAIL: adds one number [12ms]", "FAIL: took 3 seconds", "FAIL: ./bad")
    report = run_one(CheckSpec("test", " && ".join(f"echo '{line}'" for line in lines)), cwd)
    assert [failure.name for failure in report.failures] == [
        "adds two numbers",
        "adds one number",
        "took 3 seconds",
        "./bad",
    ]


@pytest.mark.parametrize(
    "files",
    [
        {"Makefile": "test:\n\tfalse\n", "test/main.c": ""},
        {"Makefile": "test: check\ncheck:\n"},
        {"Makefile": "test:\n\t@echo 'no tests yet'\n"},
        {"Makefile": "test:\n\t$(MAKE) -C sub check\n", "sub/Makefile": "check:\n\tfalse\n", "sub/check": ""},
    ],
    ids=["a folder with the name of the target", "no recipe", "only a message", "a file in a subfolder"],
)
def test_a_make_target_that_does_nothing_ran_no_tests(cwd: Path, files: dict[str, str]) -> None:
    report = run_one(CheckSpec("test", "make test"), lay(cwd, files))
    assert (report.status, report.ran_no_tests) == (CheckStatus.PASSED, True), report.tail


def test_a_silent_test_program_below_make_counts_as_run(cwd: Path) -> None:
    lay(cwd, {"Makefile": "test:\n\t@$(MAKE) -C sub check\n", "sub/Makefile": "check:\n\t@true\n"})
    report = run_one(CheckSpec("test", "make test"), cwd)
    assert (report.status, report.ran_no_tests) == (CheckStatus.PASSED, False), report.tail


def test_failed_doctests_of_a_module_that_ends_with_0_are_failures(cwd: Path) -> None:
    text = (
        'def add(a, b):\n    """\n    >>> add(2, 1)\n    3\n    >>> add(2, 2)\n    4\n    """\n    return a * b\n\n\n'
    )
    lay(cwd, {"calc.py": f"{text}if __name__ == '__main__':\n    import doctest\n\n    doctest.testmod()\n"})
    report = run_one(CheckSpec("test", f"{sys.executable} calc.py"), cwd)
    assert (report.exit_code, report.status) == (0, CheckStatus.FAILED)
    assert [failure.name for failure in report.failures] == ["__main__.add: 1 failed examples"]


def test_an_error_that_make_ignores_is_a_failure_unless_the_line_only_cleans_up(cwd: Path) -> None:
    lay(cwd, {"Makefile": ".PHONY: test\ntest:\n\t-rm missing\n\t-@./bad\n\t-./good\n"})
    for name, code in (("bad", 3), ("good", 0)):
        (cwd / name).write_text(f"#!/bin/sh\nexit {code}\n")
        (cwd / name).chmod(0o755)
    report = run_one(CheckSpec("test", "make test"), cwd)
    assert report.status is CheckStatus.FAILED
    assert [failure.name for failure in report.failures] == ["make: [Makefile:4: test] Error 3"]


def test_printed_failures_of_a_command_that_fails_are_not_taken_for_all_of_them(cwd: Path) -> None:
    report = run_one(CheckSpec("test", "echo 'FAIL: ./bad'; exit 2"), cwd)
    assert (report.status, report.failures) == (CheckStatus.FAILED, ())


def test_sarif_is_read_from_the_report_directory(cwd: Path) -> None:
    text = '{"runs": [{"results": [{"level": "error", "ruleId": "r", "message": {"text": "bad"}}]}]}'
    spec = CheckSpec("scan", f"echo '{text}' > {{report_dir}}/s.sarif", report="sarif", report_file="s.sarif")
    report = run_one(spec, cwd)
    assert report.status is CheckStatus.FAILED
    assert [(one.rule, one.title, one.source) for one in report.remarks] == [("r", "bad", "check:scan")]


def test_rdjson_is_read_from_what_a_check_prints(cwd: Path) -> None:
    text = '{"message": "bad", "code": {"value": "r"}, "location": {"path": "a.py"}}'
    spec = CheckSpec("scan", f"echo '{text}'", report="rdjsonl", report_file="-")
    report = run_one(spec, cwd)
    assert report.status is CheckStatus.FAILED
    assert [(one.rule, one.title, one.file, one.source) for one in report.remarks] == [
        ("r", "bad", "a.py", "check:scan")
    ]


def test_checks_see_no_keys(cwd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "canary")
    monkeypatch.setenv("BURNISH_HOME", "canary")
    env = check_environment(os.environ, extra={"TEST_DB": "test_7"})
    (report,) = run_checks([CheckSpec("env", "env")], place=Placement.plain(cwd), out_dir=cwd.parent / "out", env=env)
    assert "canary" not in report.tail
    assert "TEST_DB=test_7" in report.tail


def test_a_sandbox_can_be_put_around_each_check(cwd: Path) -> None:
    bubblewrap = cwd.parent / "bwrap"
    # the shim adds `--json-status-fd N`
    bubblewrap.write_text('#!/bin/sh\nshift 2\necho "$@"\n')
    bubblewrap.chmod(0o755)
    place = Placement.plain(cwd, lambda argv, name, where: (str(bubblewrap), *argv[:2], name, where.name[:7]))
    report = run_one(CheckSpec("test", "exit 1"), cwd, place=place)
    assert (report.status, report.tail) == (CheckStatus.PASSED, "/bin/sh -c test report-")


def test_a_tree_that_programs_see_elsewhere_is_named_as_the_repository_names_it(cwd: Path, tmp_path: Path) -> None:
    mounted_at = lay(tmp_path / "checkout", {"README": ""})
    lay(cwd, {"src/app.py": "x = 1\n"})
    place = Placement(cwd, mounted_at)
    report = run_one(CheckSpec("lint", f"echo {mounted_at}/src/app.py:1:1: E100 bad; pwd; exit 1"), cwd, place=place)
    assert [remark.file for remark in report.remarks] == ["src/app.py"]
    assert str(mounted_at) in report.tail


def test_what_an_earlier_run_left_cannot_be_in_the_way(cwd: Path) -> None:
    left = cwd.parent / "out" / "test" / "report"
    left.mkdir(parents=True)
    (left / "file").touch()
    left.chmod(0o500)
    try:
        assert run_one(CheckSpec("test", "true"), cwd).status is CheckStatus.PASSED
    finally:
        if left.exists():
            left.chmod(0o700)


@pytest.mark.parametrize(
    ("command", "makefile", "is_dropped"),
    [
        ("make test", "export GOFLAGS := -mod=mod\n", True),
        ("GOFLAGS=-race go test ./...", "", True),
        ("go test ./...", "test:\n\tgo test ./...\n", False),
    ],
)
def test_stored_results_of_go_are_dropped_where_the_project_sets_its_flags(
    tmp_path: Path, command: str, makefile: str, is_dropped: bool
) -> None:
    programs, tree = tmp_path / "bin", tmp_path / "tree"
    for folder in (programs, tree):
        folder.mkdir()
    for name in ("go", "make"):
        (programs / name).write_text(f'#!/bin/sh\necho "{name} $*" >> {tmp_path}/calls\n')
        (programs / name).chmod(0o755)
    (tree / "Makefile").write_text(makefile)
    env = {"PATH": f"{programs}:/usr/bin:/bin"}
    run_checks(
        [CheckSpec("test", command)],
        place=Placement.plain(tree),
        out_dir=tmp_path / "out",
        env=env,
    )
    calls = (tmp_path / "calls").read_text().splitlines()
    assert ("go clean -testcache" in calls) is is_dropped and len(calls) == 1 + is_dropped


@pytest.mark.parametrize("makefile", ["export GRADLE_OPTS = -Xmx1g\n", ""])
def test_the_options_of_gradle_reach_a_project_that_sets_its_own(tmp_path: Path, makefile: str) -> None:
    (tmp_path / "Makefile").write_text(f"{makefile}test:\n\t@sh ./show\n")
    (tmp_path / "show").write_text(f'echo "$JAVA_OPTS|$GRADLE_OPTS" > {tmp_path}/options\n')
    env = check_environment({"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)})
    run_checks([CheckSpec("test", "make test")], place=Placement.plain(tmp_path), out_dir=tmp_path / "out", env=env)
    java, _, gradle = (tmp_path / "options").read_text().strip().partition("|")
    assert "-Dorg.gradle.caching=false" in (java if makefile else gradle)
    assert bool(java) is bool(makefile)


def test_a_test_command_that_only_reads_the_sources_ran_no_tests(cwd: Path) -> None:
    spec = CheckSpec("test", "python3 -m compileall -q .")
    assert run_one(spec, cwd).ran_no_tests
    assert not run_one(CheckSpec("test", "python3 -m compileall -q . && ./t || true"), cwd).ran_no_tests
    assert run_one(CheckSpec("test", "true --if-present"), cwd).ran_no_tests


def test_failures_below_a_script_that_ignores_them_are_lines_of_the_report(cwd: Path) -> None:
    lay(cwd, {"a.py": "assert 1 + 1 == 3, 'sums'\n", "b.py": "print('b passed')\n"})
    report = run_one(CheckSpec("test", "for f in a.py b.py; do python3 $f; done"), cwd)
    assert (report.status, report.failure_lines) == (CheckStatus.PASSED, ("AssertionError: sums",))
    assert report.last_line == "b passed"
