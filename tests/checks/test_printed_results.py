"""Test results as the runners print or write them: recorded runs of small projects of our own."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.checks.cargo_test import CargoReader
from burnish.checks.lines import failure_lines, read_pattern
from burnish.checks.report_formats import FILE_FORMATS, TEXT_FORMATS, read_printed
from burnish.core.check import Counts
from burnish.core.error_lines import pattern_problem

SAMPLES = Path(__file__).parent / "samples"
ROOT = Path("/project")

# The sample of nextest is composed: nextest could not be run. Its lines have the shapes of the snapshots in its own
# tests (nextest-runner 0.122). The others are recorded.
PRINTED = {
    "pytest": (
        Counts(8, 2, 4, 2),
        ["test_a.py::test_bad", "test_a.py::test_param[a - b]", "test_b.py", "test_a.py::test_fixture"],
    ),
    "unittest": (
        Counts(8, 0, 6, 2),
        [
            *("test_a.T.test_err", "test_a.U.setUpClass", "unittest.loader._FailedTest.test_b"),
            *("test_a.T.test_bad", "test_a.T.test_sub (i=1)", "test_a.T.test_xpass"),
        ],
    ),
    "go-json": (
        Counts(8, 3, 4, 1),
        [f"example.org/sample/{name}" for name in ("c.TestPanic", "a.TestSub", "a.TestTable/two_words", "b")],
    ),
    "go": (
        None,  # without -v the tests that pass are not named
        [f"example.org/sample/{name}" for name in ("a.TestSub", "a.TestTable/two_words", "b", "c.TestPanic")],
    ),
    "go-v": (
        Counts(8, 3, 4, 1),
        [f"example.org/sample/{name}" for name in ("a.TestSub", "a.TestTable/two_words", "b", "c.TestPanic")],
    ),
    "cargo": (
        Counts(8, 3, 4, 1),
        [
            "sample (src/lib.rs) tests::subtracts",
            "abort (tests/abort.rs) did not finish",
            "it (tests/it.rs) breaks",
            "sample (doc) src/lib.rs - add",
        ],
    ),
    "nextest": (
        Counts(9, 3, 5, 1),
        [
            "sample tests::subtracts",
            *("sample::abort aborts", "sample::it leaks", "sample::it never", "sample::it starts"),
        ],
    ),
    "jest": (
        Counts(6, 2, 3, 1),
        ["a.test.js > math > subtracts", "a.test.js > math > inner > nested fails", "b.test.js"],
    ),
    "vitest": (
        Counts(6, 2, 3, 1),
        ["b.test.mjs", "a.test.mjs > math > subtracts", "a.test.mjs > math > inner > nested fails"],
    ),
    "mocha": (
        Counts(6, 2, 3, 1),
        ["math subtracts", "math inner nested fails", 'hooks "before each" hook for "x"'],
    ),
    "node": (
        Counts(7, 2, 3, 2),
        ["a.test.js > subtracts", "a.test.js > nested fails", "b.test.js > b.test.js"],
    ),
}
WRITTEN = {
    "jest.json": ("jest", Counts(6, 2, 3, 1), PRINTED["jest"][1]),
    "vitest.json": (
        "jest",
        Counts(6, 2, 3, 1),
        ["a.test.mjs > math > subtracts", "a.test.mjs > math > inner > nested fails", "b.test.mjs"],
    ),
    "mocha.json": ("mocha", Counts(6, 2, 3, 1), PRINTED["mocha"][1]),
    "node.tap": ("tap", Counts(7, 2, 3, 2), ["math > subtracts", "math > inner > nested fails", "b.test.js"]),
    "mocha.tap": ("tap", Counts(6, 2, 3, 1), PRINTED["mocha"][1]),
    "go-json.stdout": ("go", Counts(8, 3, 4, 1), PRINTED["go-json"][1]),
    # surefire 3.2.5 with JUnit 5, Gradle 4.4 with JUnit 4; both shortened
    "maven.xml": ("junit", Counts(3, 1, 1, 1), ["CalcTest.adds"]),
    "gradle.xml": ("junit", Counts(3, 1, 1, 1), ["CalcTest.adds"]),
}
# reports of analysers, not of tests: see test_readers.py and test_imported_reports.py
# and single lines: see test_a_runner_without_tests_has_counts
WITHOUT_SAMPLE = {"sarif", "rdjson", "rdjsonl", "nothing", "summary"}


@pytest.mark.parametrize("name", PRINTED)
def test_what_a_runner_prints_names_each_failure(name: str) -> None:
    reading = read_printed(SAMPLES / f"{name}.stdout", SAMPLES / f"{name}.stderr", root=ROOT)
    assert reading and not reading.error
    assert (reading.counts, [failure.name for failure in reading.failures]) == PRINTED[name]


def test_each_reader_has_a_sample() -> None:
    with_sample = {*PRINTED, *(kind for kind, _, _ in WRITTEN.values())}
    missing = {*TEXT_FORMATS, *FILE_FORMATS} - with_sample
    assert missing <= WITHOUT_SAMPLE, "Record what the runner prints in samples/, and add it to PRINTED or WRITTEN."


@pytest.mark.parametrize("name", WRITTEN)
def test_what_a_runner_writes_names_each_failure(name: str) -> None:
    kind, counts, names = WRITTEN[name]
    reading = FILE_FORMATS[kind]((SAMPLES / name).read_bytes(), "check:test", ROOT, ROOT)
    assert not reading.error
    assert (reading.counts, [failure.name for failure in reading.failures]) == (counts, names)


@pytest.mark.parametrize(
    "printed",
    [
        "TAP version 13\n1..0\n# tests 0\n# pass 0\n",
        "No tests found, exiting with code 0\n",
        " RUN  v3.0.0 /calc\n\nNo test files found, exiting with code 0\n",
        "Test project /calc/build\nNo tests were found!!!\n",
        "No tests defined.\n",
        "No tests executed!\n",
        "Finished in 0.1 seconds\n0 examples, 0 failures\n",
        "0 runs, 0 assertions, 0 failures, 0 errors, 0 skips\n",
        "ok | 0 passed | 0 failed (0ms)\n",
        " 0 pass\n 0 fail\nRan 0 tests across 0 files. [1.00ms]\n",
        "\n No tasks were executed as part of this run.\n",
        "\n NX   No tasks were run\n",
    ],
)
def test_a_runner_without_tests_has_counts(tmp_path: Path, printed: str) -> None:
    (tmp_path / "stdout").write_text(printed)
    reading = read_printed(tmp_path / "stdout", tmp_path / "stderr", root=tmp_path)
    assert reading and reading.counts == Counts(0, 0, 0, 0)


@pytest.mark.parametrize(
    "printed",
    [
        "ok | 10 passed | 0 failed (1ms)\n",
    ],
)
def test_a_runner_that_ran_tests_or_could_not_load_them_has_none_of_these_counts(tmp_path: Path, printed: str) -> None:
    (tmp_path / "stdout").write_text(printed)
    assert read_printed(tmp_path / "stdout", tmp_path / "stderr", root=tmp_path) is None


def test_failures_come_with_their_message_and_place() -> None:
    reading = read_printed(SAMPLES / "cargo.stdout", SAMPLES / "cargo.stderr", root=ROOT)
    assert reading
    first = reading.failures[0]
    assert (first.file, first.line) == ("src/lib.rs", 9) and "left: 1" in first.message
    unbuilt = read_printed(SAMPLES / "go-json.stdout", SAMPLES / "go-json.stderr", root=ROOT)
    assert unbuilt and "undefined: undefined" in unbuilt.failures[-1].message


def test_a_binary_that_dies_leaves_the_list_incomplete() -> None:
    reading = read_printed(SAMPLES / "cargo.stdout", SAMPLES / "cargo.stderr", root=ROOT)
    assert reading and reading.partial


@pytest.mark.parametrize(("name", "stream"), [("pytest", "stdout"), ("unittest", "stderr"), ("mocha", "stdout")])
def test_a_list_that_is_shorter_than_its_summary_is_incomplete(name: str, stream: str, tmp_path: Path) -> None:
    text = (SAMPLES / f"{name}.{stream}").read_text()
    cut = {
        "pytest": text.replace("FAILED test_a.py::test_bad - assert 1 == 2\n", ""),
        "unittest": text.replace("FAIL: test_bad (test_a.T.test_bad)\n", ""),
        "mocha": text.replace("  1) math\n       subtracts:\n", ""),
    }[name]
    assert cut != text
    (tmp_path / stream).write_text(cut)
    reading = read_printed(tmp_path / "stdout", tmp_path / "stderr", root=ROOT)
    assert reading and reading.partial


def test_a_new_failure_beside_an_old_one_in_the_same_block_of_subtests_is_told_apart() -> None:
    before = "1..1\n# Subtest: m\n    not ok 1 - old\n    ok 2 - fine\n    1..2\nnot ok 1 - m\n"
    after = before.replace("    ok 2 - fine", "    not ok 2 - fine")
    names = [
        [failure.name for failure in FILE_FORMATS["tap"](text.encode(), "", ROOT, ROOT).failures]
        for text in (before, after)
    ]
    assert names == [["m > old"], ["m > old", "m > fine"]]


@pytest.mark.parametrize("panics", [False, True])
def test_a_panic_in_go_hides_the_tests_after_it(panics: bool) -> None:
    events = [
        {"Action": "pass", "Package": "p", "Test": "TestA"},
        {"Action": "output", "Package": "p", "Test": "TestB", "Output": "--- FAIL: TestB (0.00s)\n"},
        {"Action": "output", "Package": "p", "Test": "TestB", "Output": "panic: old FAIL\n" if panics else "old\n"},
        {"Action": "fail", "Package": "p", "Test": "TestB"},
        *([] if panics else [{"Action": "output", "Package": "p", "Output": "FAIL\n"}]),
        {"Action": "output", "Package": "p", "Output": "FAIL\tp\t0.019s\n"},
        {"Action": "fail", "Package": "p"},
    ]
    text = "\n".join(map(json.dumps, events))
    reading = FILE_FORMATS["go"](text.encode(), "", ROOT, ROOT)
    assert [failure.name for failure in reading.failures] == ["p.TestB"]
    assert bool(reading.partial) == panics


def test_prose_is_not_taken_for_results(tmp_path: Path) -> None:
    (tmp_path / "stdout").write_text("ok, all fine\nPASS the salt\nRan to the shop in 3s\n3 tests passed\n")
    assert read_printed(tmp_path / "stdout", tmp_path / "stderr", root=tmp_path) is None


PIECES = st.sampled_from(
    [
        *(
            "running 2 tests",
            "test a ... FAILED",
            "test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 m",
            "failures:",
        ),
        *("=" * 70, "FAIL: a (b.C)", "Ran 2 tests in 0.1s", "FAILED (failures=1)", "--- FAIL: TestA (0.00s)"),
        *(
            "FAIL\tpkg\t0.1s",
            "ok  \tpkg\t0.1s",
            "FAIL\tpkg [build failed]",
            '{"Action":"fail","Package":"p","Test":"T"}',
        ),
        *("Tests:       1 failed, 2 total", "FAIL a.js", "  ● a › b", " Test Files  1 failed (1)", " FAIL  a > b"),
        *("  1 passing (1ms)", "  1 failing", "  1) a", "       b:", "ℹ fail 1", "✖ failing tests:", "test at a:1:1"),
        *("1..2", "ok 1", "not ok 2 - b", "    not ok 1 - c", "  ---", "  ...", "1 failed, 1 passed in 0.1s"),
        *("=== short test summary info ===", "FAILED a.py::b - c", "     Summary [   0.1s] 2 tests run: 1 failed"),
        *("        FAIL [   0.1s] a b", "✖ x (1ms)", "\x1b[31m", "\x00", "é" * 50),
    ]
)


@given(lines=st.lists(PIECES | st.text(max_size=40), max_size=30))
def test_no_text_makes_a_reader_fail(lines: list[str]) -> None:
    for make in TEXT_FORMATS.values():
        reader = make(Path("/nowhere"))
        for n, line in enumerate(lines):
            reader.line(line, is_error=n % 3 == 0)
        reading = reader.reading()
        if reading and reading.counts and not reading.partial:
            assert reading.counts.failed == len(reading.failures)


@given(data=st.binary(max_size=200) | st.text().map(str.encode))
@pytest.mark.parametrize("kind", FILE_FORMATS)
def test_no_bytes_make_a_reader_fail(kind: str, data: bytes) -> None:
    FILE_FORMATS[kind](data, "check:x", ROOT, ROOT)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "testResults",
                    "assertionResults",
                    "status",
                    "failures",
                    "stats",
                    "err",
                    "name",
                    "ancestorTitles",
                    "message",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(value=st.dictionaries(st.sampled_from(["testResults", "stats", "failures"]), JSON))
def test_no_json_makes_a_reader_fail(value: dict[str, object]) -> None:
    import json

    for kind in ("jest", "mocha"):
        FILE_FORMATS[kind](json.dumps(value).encode(), "", ROOT, ROOT)


@pytest.mark.slow
def test_a_hundred_megabytes_are_read_in_bounded_time(tmp_path: Path) -> None:
    line = b"some noise of a test that prints a lot, and a lot more, on one line after the other ...\n"
    with (tmp_path / "stdout").open("wb") as file:
        for _ in range(10):
            file.write(line * (10_000_000 // len(line)))
        file.write(b"running 1 test\ntest a ... FAILED\nx" + b"y" * 3_000_000 + b"\n")
        file.write(b"test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n")
    began = time.monotonic()
    read_printed(tmp_path / "stdout", tmp_path / "stderr", root=tmp_path)
    assert time.monotonic() - began < 30


def test_a_pattern_names_failures(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_text("PASS a\n\x1b[31mFAIL two words\x1b[0m\nFAIL b\nFAIL b\n")
    reading = read_pattern(r"^FAIL (?P<name>.+)$", [out, tmp_path / "missing"])
    assert [failure.name for failure in reading.failures] == ["two words", "b"]
    assert reading.counts is None and not reading.error


def test_a_pattern_that_takes_too_long_is_an_error_and_not_a_pass(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a" * 60 + "!\n")
    reading = read_pattern(r"^(a+)+(?P<name>b)$", [tmp_path / "out"], seconds=1)
    assert reading.error and not reading.failures


@pytest.mark.parametrize("pattern", ["(", "^FAIL (.+)$", "(?P<name>x)" + "y" * 500])
def test_a_pattern_that_cannot_name_anything_is_refused(pattern: str) -> None:
    assert pattern_problem(pattern)
    assert read_pattern(pattern, []).error


def test_a_harness_of_its_own_leaves_the_number_of_tests_of_cargo_unknown() -> None:
    reader = CargoReader()
    own = "     Running tests/own.rs (target/debug/deps/own-0123456789abcdef)"
    for text in ("running 0 tests", "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out"):
        reader.line(text, is_error=False)
    reader.line("     Running unittests src/lib.rs (target/debug/deps/calc-0123456789abcdef)", is_error=True)
    assert (found := reader.reading()) and found.counts and found.counts.total == 0
    reader.line(own, is_error=True)
    assert (found := reader.reading()) and found.counts is None and not found.failures


SUMMARIES = {
    "2 runs, 2 assertions, 1 failures, 0 errors, 1 skips": Counts(2, 0, 1, 1),
    "2 tests, 2 assertions, 0 failures, 0 errors, 0 pendings, 0 omissions, 0 notifications": Counts(2, 2, 0, 0),
    "3 examples, 1 failure, 1 pending": Counts(3, 1, 1, 1),
    "0 examples, 0 failures, 1 error occurred outside of examples": Counts(1, 0, 1, 0),
    "OK (2 tests, 2 assertions)": Counts(2, 2, 0, 0),
    "Tests: 3, Assertions: 2, Errors: 1, Failures: 1.": Counts(3, 1, 2, 0),
    "Tests: 2, Assertions: 1, Skipped: 1.": Counts(2, 1, 0, 1),
    "2 specs, 1 failure, 1 pending spec": Counts(2, 0, 1, 1),
    "50% tests passed, 1 tests failed out of 2": Counts(2, 1, 1, 0),
    "2 successes / 0 failures / 1 error / 0 pending : 0.1 seconds": Counts(3, 2, 1, 0),
    "[  PASSED  ] 3 tests.\n[  FAILED  ] 1 test, listed below:": Counts(4, 3, 1, 0),
    "Ok:                 1   \nFail:               1   \nSkipped:            2   ": Counts(4, 1, 1, 2),
    "  Total:     2\n  Passed:    1\n  Skipped:   0": Counts(2, 1, 1, 0),
    "100% tests passed, 0 tests failed out of 2\n\nThe following tests did not run:\n\t  1 - t (Skipped)": Counts(
        2, 1, 0, 1
    ),
    "t/calc.t .. skipped: not ready\nt/o.t ..... ok\nFiles=2, Tests=1,  0 wallclock secs": Counts(2, 1, 0, 1),
    "all.tcl:\tTotal\t4\tPassed\t2\tSkipped\t1\tFailed\t1": Counts(4, 2, 1, 1),
    "# TOTAL: 3\n# PASS:  1\n# SKIP:  1\n# XFAIL: 0\n# FAIL:  1\n# XPASS: 0\n# ERROR: 0": Counts(3, 1, 1, 1),
}


@pytest.mark.parametrize("text", SUMMARIES)
def test_the_summary_of_a_runner_whose_cases_are_not_read_is_counted(tmp_path: Path, text: str) -> None:
    (tmp_path / "out").write_text(f"Running\n\n{text}\n")
    reading = read_printed(tmp_path / "out", tmp_path / "err", root=ROOT)
    assert reading and reading.counts == SUMMARIES[text]


FAILURE_LINES = {
    'Traceback (most recent call last):\n  File "a.py", line 1\nAssertionError': True,
    "Traceback (most recent call last):": True,
    "Expected values to be strictly equal:": False,
    "AssertionError [ERR_ASSERTION]: -1 == 3": True,
    "t: test_calc.c:4: main: Assertion `add(1, 2) == 3' failed.": True,
    "Assertion failed: add is wrong": True,
    "Segmentation fault (core dumped)": True,
    "src/calc.ts(2,3): error TS2322: Type 'string' is not assignable": True,
    "calc.c:3:5: error: expected ';'": True,
    "add small            [FAIL]": False,
    "test_add FAILED": False,
    "add: FAIL": False,
    "✗ adds two numbers": False,
    "TypeError: add is not a function": False,
    "./run.sh: line 3: calc: command not found": False,
    "some tests failed": False,
    "3 tests, 1 failures": False,
    "gross(100): expected 120, got 80": False,
    "add(1, 2) = -1, want 3 but got -1": False,
    "line 4: got -1, expected 3": False,
    "2 of 3 ok": False,
    "Passed: 2/3": False,
    "2/3 tests passed": False,
    "2/3 correct": False,
    "66% of tests passed": False,
}


@pytest.mark.parametrize("line", FAILURE_LINES)
def test_a_printed_failure_is_recognized(line: str) -> None:
    assert len(failure_lines(f"start\n{line}\nend", with_words=True)) == 1
    # beside the cases of a known runner, words alone may be names of tests
    assert bool(failure_lines(line, with_words=False)) is FAILURE_LINES[line]


@pytest.mark.parametrize(
    "line",
    [
        "12 tests, 0 failures",
        "# FAIL:  0",
        "failed: 0",
        "no failures",
        "✓ reports a failed login",
        "ok 3 - failed requests are sent again",
        "test rejects_failed_input ... ok",
        "failure of the disk is logged: PASS",
        "XFAIL tests/a.py",
        "all tests passed",
        "3 of 3 ok",
        "100% passed",
        "1/2 ok\n2/2 ok",
        "ok: expected 3, got 3",
    ],
)
def test_a_line_about_failures_that_did_not_happen_is_no_failure(line: str) -> None:
    assert failure_lines(line, with_words=True) == ()
