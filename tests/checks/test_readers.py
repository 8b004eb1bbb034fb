from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.checks.javascript_json import read_jest
from burnish.checks.junit import read_junit
from burnish.checks.lines import read_lines
from burnish.checks.reading import Reading, path_in_repository, read_report, shortened
from burnish.checks.report_formats import read_printed
from burnish.checks.sarif import read_sarif
from burnish.checks.tap import read_tap
from burnish.core.check import CheckReport, CheckStatus, Counts, compare
from burnish.core.finding import Category, Severity

XML = (
    b'<testsuites><testsuite name="pytest">'
    b'<testcase classname="tests.test_a.TestB" name="test_c[1]" file="tests/test_a.py" line="4">'
    b'<failure message="assert 1 == 2">trace\x20&lt;here&gt;</failure></testcase>'
    b'<testcase classname="s" name="ok"/><testcase name="left"><skipped/></testcase>'
    b'<testcase classname="" name="tests.test_z"><error message="import">boom</error></testcase>'
    b"</testsuite></testsuites>"
)
LOG = {
    "runs": [
        {
            "tool": {
                "driver": {
                    "rules": [
                        {
                            "id": "sql",
                            "defaultConfiguration": {"level": "error"},
                            "properties": {"tags": ["security"]},
                        }
                    ]
                }
            },
            "results": [
                {
                    "ruleId": "sql",
                    "message": {"text": "injection\nmore"},
                    "locations": [
                        {
                            "physicalLocation": {
                                "artifactLocation": {"uri": "src/a%20b.py"},
                                "region": {"startLine": 3, "endLine": 4},
                            }
                        }
                    ],
                },
                {"ruleId": "style", "level": "note", "message": {"text": "meh"}},
                {"ruleId": "quiet", "message": {"text": "x"}, "suppressions": [{"kind": "inSource"}]},
                {"ruleId": "fine", "kind": "pass", "message": {"text": "x"}},
            ],
        }
    ]
}


def test_junit_counts_and_names_each_failure() -> None:
    reading = read_junit(XML)
    assert reading.counts == Counts(total=4, passed=1, failed=2, skipped=1)
    first, second = reading.failures
    assert (first.name, first.file, first.line) == ("tests/test_a.py::TestB::test_c[1]", "tests/test_a.py", 5)
    assert first.message == "assert 1 == 2\ntrace <here>"
    assert (second.name, second.status) == ("tests.test_z", "error")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<testsuite>",
        b"<html/>",
        b'<!DOCTYPE x [<!ENTITY a "aa">]><testsuite name="x"><testcase name="&a;"/></testsuite>',
        b'<!DOCTYPE x SYSTEM "file:///etc/passwd"><testsuite/>',
        b'<?xml version="1.0" encoding="nonsense"?><testsuite/>',
        b'<testsuite name="x"><testcase name="a"/></testsuite><testsuite/>',
    ],
)
def test_what_is_no_junit_is_said_to_be_none(data: bytes) -> None:
    reading = read_junit(data)
    assert reading.error and reading.counts is None


def test_a_failure_inside_a_failure_text_is_not_a_case() -> None:
    inner = "<properties><failure/></properties><testcase name='a'><system-out><failure/></system-out></testcase>"
    data = f"<testsuite name='x'>{inner}</testsuite>".encode()
    assert read_junit(data).counts == Counts(1, 1, 0, 0)


def test_messages_are_cut_in_the_middle_and_without_controls() -> None:
    long = "first\x1b[31m" + "x" * 9000 + "last"
    text = shortened(long)
    assert len(text) <= 2000 and text.startswith("first") and text.endswith("last") and "\x1b" not in text


def test_tap_with_all_its_forms() -> None:
    text = (
        "TAP version 14\n1..5\nok 1 - a\nnot ok 2 - b\n  ---\n  message: why\n  ...\n"
        "ok 3 # SKIP no db\nnot ok 4 - d # TODO later\n    not ok 1 - inner\nok 5\n"
    )
    reading = read_tap(text)
    assert reading == Reading(Counts(5, 2, 1, 2), reading.failures)
    assert reading.failures[0].name == "b" and "message: why" in reading.failures[0].message


def test_a_suite_of_node_in_which_no_test_ran_is_not_a_test() -> None:
    empty = "ok 1 - outer\n  ---\n  duration_ms: 1.2\n  type: 'suite'\n  ...\n"
    inner = "    ok 1 - inner\n      ---\n      type: 'test'\n      ...\n    1..1\n"
    full = f"{inner}ok 2 - other\n  ---\n  type: 'suite'\n  ...\n"
    assert read_tap(f"TAP version 13\n{empty}{full}1..2\n").counts == Counts(1, 1, 0, 0)


def test_a_file_of_node_tests_that_ends_before_its_first_test_is_not_a_test(tmp_path: Path) -> None:
    (tmp_path / "a.test.js").write_text(
        "import test from 'node:test';\nimport './exits.js';\ntest('adds', () => {});\n"
    )
    (tmp_path / "b.js").write_text("console.assert(true);\n")
    result = "# Subtest: /tree/{0}\nok {1} - /tree/{0}\n  ---\n  duration_ms: 1\n  ...\n"
    text = f"TAP version 13\n{result.format('a.test.js', 1)}{result.format('b.js', 2)}1..2\n"
    reading = read_tap(text, root=Path("/tree"), files=tmp_path)
    assert (reading.counts, reading.error) == (Counts(1, 1, 0, 0), ""), "the script without a runner passed"


def test_an_exit_code_that_a_test_of_node_compares_is_not_that_of_its_file() -> None:
    compared = (
        "not ok 1 - cli\n  ---\n  error: |-\n    {\n      exitCode: 1,\n    }\n  expected:\n    exitCode: 0\n  ...\n"
    )
    file = "not ok 2 - test/a.test.js\n  ---\n  failureType: 'testCodeFailure'\n  exitCode: 1\n  ...\n"
    failures = read_tap(f"TAP version 13\n{compared}{file}1..2\n").failures
    assert [(one.name, one.whole) for one in failures] == [("cli", False), ("test/a.test.js", True)]


@pytest.mark.parametrize(
    ("name", "whole"), [("docs/use.rst::use.rst", True), ("src/calc.py::calc.add", False), ("test_a.py::test_a", False)]
)
def test_doctests_of_a_text_file_hide_failures_of_other_examples(tmp_path: Path, name: str, whole: bool) -> None:
    file, _, case = name.partition("::")
    suite = file.removesuffix(".py").replace("/", ".")
    failure = f'<testcase classname="{suite}" name="{case}" file="{file}"><failure message="Expected"/></testcase>'
    fine = '<testcase classname="s" name="ok"/>'
    xml = read_junit(f'<testsuites><testsuite name="pytest">{failure}{fine}</testsuite></testsuites>'.encode())
    output, errors = tmp_path / "stdout", tmp_path / "stderr"
    output.write_text(f"= short test summary info =\nFAILED {name} - x\n= 1 failed, 1 passed in 0.01s =\n")
    errors.touch()
    printed = read_printed(output, errors, root=tmp_path)
    for reading in (xml, printed):
        assert reading and [(one.name, one.whole) for one in reading.failures] == [(name, whole)]
        report = CheckReport("test", "pytest", CheckStatus.FAILED, 1, counts=reading.counts, failures=reading.failures)
        assert ("a single test of many examples" in compare(report, report).uncountable) is whole


@pytest.mark.parametrize(
    ("header", "name"), [("{root}/t/../README.rst", "t/../README.rst"), ("add (calc)", "calc.add")]
)
def test_doctests_of_a_text_file_hide_failures_with_unittest(tmp_path: Path, header: str, name: str) -> None:
    title = header.format(root=tmp_path)
    failure = f"{'=' * 70}\nFAIL: {title}\nDoctest: x\n{'-' * 70}\nFailed example:\n    1\n\n{'-' * 70}\n"
    (tmp_path / "stderr").write_text(f"F.\n{failure}Ran 2 tests in 0.001s\n\nFAILED (failures=1)\n")
    (tmp_path / "stdout").touch()
    reading = read_printed(tmp_path / "stdout", tmp_path / "stderr", root=tmp_path)
    assert reading and [(one.name, one.whole) for one in reading.failures] == [(name, "/" in name)]


@pytest.mark.parametrize(("tests", "whole"), [([{"title": "a", "status": "passed"}], False), ([], True)])
def test_a_file_whose_last_hook_fails_was_loaded(tests: list[dict[str, str]], whole: bool) -> None:
    file = {"name": "a.test.js", "status": "failed", "message": "afterAll", "assertionResults": tests}
    reading = read_jest(json.dumps({"testResults": [file]}).encode())
    assert [(one.name, one.whole) for one in reading.failures] == [("a.test.js", whole)]


@pytest.mark.parametrize(
    "text", ["", "hello", "okay\nok, fine", "1..3\nok 1\n", "ok 1\n", "1..1\nok 1\nBail out! fire\n"]
)
def test_tap_that_is_incomplete_says_so(text: str) -> None:
    assert read_tap(text).error


def test_sarif_becomes_remarks() -> None:
    first, second = read_sarif(json.dumps(LOG).encode(), source="check:scan").remarks
    assert (first.category, first.severity, first.rule) == (Category.SECURITY, Severity.ERROR, "sql")
    assert (first.title, first.file, first.line, first.end_line) == ("injection", "src/a b.py", 3, 4)
    assert (second.severity, second.file) == (Severity.INFO, None)


def test_a_run_that_did_not_succeed_is_said() -> None:
    assert read_sarif(b'{"runs": [{"invocations": [{"executionSuccessful": false}]}]}', source="x").error


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"runs": 3}', b"[" * 100_000, b"\xff\xfe"])
def test_what_is_no_sarif_is_said_to_be_none(data: bytes) -> None:
    reading = read_sarif(data, source="x")
    assert reading.error and not reading.remarks


def test_lines_with_a_place_are_read_and_others_are_not(tmp_path: Path) -> None:
    (tmp_path / "a.py").touch()
    text = (
        "a.py:1:8: F401 [*] `os` imported but unused\n"
        f"{tmp_path}/a.py:2: error: Incompatible types  [assignment]\n"
        "a.py:3: note: see here\n"
        "./a.py:4:1: warning: odd\n"
        "gone.py:1:1: E1 not there\n12:30:45: started\nhttp://x:80: y\n../a.py:1: outside\nFound 3 errors.\n"
    )
    found = read_lines(text, root=tmp_path, source="check:lint", severity=Severity.ERROR)
    assert [(one.file, one.line, one.rule, one.title) for one in found] == [
        ("a.py", 1, "F401", "`os` imported but unused"),
        ("a.py", 2, "assignment", "Incompatible types"),
        ("a.py", 4, "", "odd"),
    ]


# recorded: clippy 1.95 with `-D warnings`
CLIPPY = """\
    Checking sample v0.1.0 (/project)
error: manual arithmetic check found
   --> src/lib.rs:116:25
    |
116 |           let min_bound = if i > search_range {
    |  _________________________^
    = help: for further information visit https://rust-lang.github.io/rust-clippy/rust-1.95.0/index.html
    = note: `-D clippy::implicit-saturating-sub` implied by `-D warnings`

error[E0425]: cannot find value `x` in this scope
 --> src/lib.rs:4:5
  |
warning: unused variable: `y`
 --> src/lib.rs:2:9

error: could not compile `sample` (lib) due to 2 previous errors
"""
# recorded: eslint 9
ESLINT = """
{root}/src/x.js
  1:7   warning  'a' is assigned a value but never used  no-unused-vars
  2:1   error    'console' is not defined                no-undef
  9:13  error    Parsing error: Unexpected token

✖ 3 problems (2 errors, 1 warning)
"""


def test_problems_that_rust_and_eslint_print_on_several_lines_are_read(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    for name in ("lib.rs", "x.js"):
        (tmp_path / "src" / name).touch()

    def read(text: str) -> list[tuple[str | None, int | None, str, str]]:
        found = read_lines(text, root=tmp_path, source="check:lint", severity=Severity.ERROR)
        return [(one.file, one.line, one.rule, one.title) for one in found]

    assert read(CLIPPY) == [
        ("src/lib.rs", 116, "", "manual arithmetic check found"),
        ("src/lib.rs", 4, "E0425", "cannot find value `x` in this scope"),
    ]
    assert read(ESLINT.replace("{root}", str(tmp_path))) == [
        ("src/x.js", 2, "no-undef", "'console' is not defined"),
        ("src/x.js", 9, "", "Parsing error: Unexpected token"),
    ]
    # `--max-warnings 0`: the warnings are why it fails
    only = f"{tmp_path}/src/x.js\n  1:7  warning  'a' is never used  no-unused-vars\n"
    assert read(only) == [("src/x.js", 1, "no-unused-vars", "'a' is never used")]


def test_lines_with_impossible_names_are_passed_over(tmp_path: Path) -> None:
    text = f"{'n' * 300}.py:1: long\na\0b.py:1: odd\n" + "x" * 100_000 + ":1: longer"
    assert read_lines(text, root=tmp_path, source="x", severity=Severity.ERROR) == ()


@pytest.mark.parametrize(
    ("path", "becomes"),
    [
        ("a.py", "a.py"),
        ("./b/../a.py", "a.py"),
        ("../a.py", None),
        ("/etc/passwd", None),
        ("/root/x/a.py", "a.py"),
        ("", None),
        (".", None),
    ],
)
def test_a_path_is_inside_or_unknown(path: str, becomes: str | None) -> None:
    assert path_in_repository(path, Path("/root/x")) == becomes


def test_only_plain_files_of_the_report_directory_are_opened(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    folder = tmp_path / "report"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "way").symlink_to(tmp_path)
    (folder / "dir").mkdir()
    (folder / "good").write_text("y")
    assert read_report(folder, "good") == b"y"
    assert read_report(folder, "none") is None
    for name in ("link", "way/secret", "dir", "../secret", str(tmp_path / "secret")):
        assert isinstance(read_report(folder, name), str), name


def mangled(whole: bytes) -> st.SearchStrategy[bytes]:
    """A good report with a piece cut out or replaced."""
    spot = st.integers(0, len(whole))
    return st.builds(lambda a, b, c: whole[:a] + c + whole[b:], spot, spot, st.binary(max_size=20))


@given(st.binary(max_size=300) | mangled(XML))
def test_no_junit_makes_the_reader_fail(data: bytes) -> None:
    reading = read_junit(data)
    assert bool(reading.error) == (reading.counts is None)


@given(st.binary(max_size=300) | mangled(json.dumps(LOG).encode()))
def test_no_sarif_makes_the_reader_fail(data: bytes) -> None:
    assert isinstance(read_sarif(data, source="x"), Reading)


KEYS = [
    "runs",
    "results",
    "level",
    "message",
    "text",
    "locations",
    "physicalLocation",
    "artifactLocation",
    "uri",
    "region",
    "startLine",
    "tool",
    "driver",
    "rules",
    "id",
    "ruleId",
    "ruleIndex",
    "properties",
    "tags",
    "suppressions",
    "kind",
    "invocations",
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_no_json_makes_the_sarif_reader_fail(value: object) -> None:
    for log in (
        value,
        {"runs": [value]},
        {"runs": [{"results": [value], "tool": {"driver": {"rules": [value]}}}]},
    ):
        assert isinstance(read_sarif(json.dumps(log).encode(), source="x"), Reading)


@given(
    st.text(max_size=300)
    | st.lists(st.sampled_from(["ok", "not ok 2", "1..2", "# x", "Bail out!", "ok # skip", " "])).map("\n".join)
)
def test_no_text_makes_the_tap_reader_fail(text: str) -> None:
    reading = read_tap(text)
    if not reading.error and reading.counts:
        assert reading.counts.total == reading.counts.passed + reading.counts.failed + reading.counts.skipped


@given(st.text(max_size=200))
def test_no_text_makes_the_line_reader_fail(text: str) -> None:
    assert read_lines(f"{text}:1:2: {text}", root=Path(__file__).parent, source="x", severity=Severity.ERROR) == ()


def test_each_failed_subtest_of_a_case_is_a_failure_of_its_own() -> None:
    """As pytest 9 writes them: several failures in one case, without the names of the subtests."""
    one = b'<failure message="0 != 1">trace</failure>'
    case = b'<testsuite name="pytest"><testcase classname="tests.test_c.T" name="test_all">%s</testcase></testsuite>'
    base, now = (read_junit(case % (one * count)) for count in (1, 2))
    assert [failure.name for failure in now.failures] == ["tests.test_c.T.test_all"] * 2
    assert now.counts == Counts(1, 0, 1, 0)
    before, after = (
        CheckReport("test", "pytest", CheckStatus.FAILED, 1, counts=reading.counts, failures=reading.failures)
        for reading in (base, now)
    )
    assert len(compare(after, before).new) == 1 and not compare(before, before).new
