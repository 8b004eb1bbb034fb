"""The line that says why a command failed."""
# ruff: noqa: E501 - output of programs

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.core.error_lines import first_error, last_lines

CASES = {
    "python": (
        "Traceback (most recent call last):\n  File 'a.py', line 1\n    import trustme\n"
        "ModuleNotFoundError: No module named 'trustme'\n",
        "ModuleNotFoundError: No module named 'trustme'",
    ),
    "pytest": (
        "collected 0 items / 1 error\n____ ERROR collecting x ____\n"
        "E   ImportError: cannot import name 'a'\n1 error in 0.1s",
        "ImportError: cannot import name 'a'",
    ),
    "node": (
        "node:internal/modules/cjs/loader:1143\n  throw err;\n  ^\n\nError: Cannot find module 'x'\n"
        "    at Module._resolve\n\nNode.js v20.20.2\n",
        "Error: Cannot find module 'x'",
    ),
    "npm": (
        "npm error code ERESOLVE\nnpm error ERESOLVE unable to resolve dependency tree\nnpm error\nnpm error While resolving: a@1\n",
        "npm error ERESOLVE unable to resolve dependency tree",
    ),
    "PDM": (
        "STATUS: Resolving packages from lockfile...\n[AttributeError]: module 'hishel' has no attribute 'X'\n"
        "WARNING: Add '-v' to see the detailed traceback\n",
        "[AttributeError]: module 'hishel' has no attribute 'X'",
    ),
    "Poetry": (
        "Installing dependencies from lock file\n\n    | Unable to find installation candidates for cfgv (3.4.0)\n    |\n"
        "    | This is likely not a Poetry issue.\nCreating virtualenv cleo in /p/.venv\n",
        "Unable to find installation candidates for cfgv (3.4.0)",
    ),
    "npm ci without a lock file": (
        "npm error code EUSAGE\nnpm error\nnpm error The `npm ci` command can only install with an existing package-lock.json\n",
        "npm error The `npm ci` command can only install with an existing package-lock.json",
    ),
    "uv": (
        "Resolved 3 packages\nerror: Failed to fetch: `x`\n  Caused by: invalid peer certificate: UnknownIssuer\n"
        "hint: Consider enabling native TLS\n",
        "error: Failed to fetch: `x`",
    ),
    "shell": ("/bin/sh: 1: golangci-lint: not found\n", "/bin/sh: 1: golangci-lint: not found"),
    "only words": ("start\nthe server could not be reached\nbye\n", "the server could not be reached"),
    "nothing that looks like one": ("one\ntwo\n", "two"),
    "no errors is not an error": ("0 errors so far\nlast\n", "last"),
    "nothing": ("\n  \n", ""),
}

# In the form that each program prints, shortened, with made-up paths and times. Some of the passing tests have names that sound
# like errors.
BY_PROGRAM = {
    "ava": (
        "> test\n> ava\n\n  ✔ throws a TypeError: cannot read an invalid option\n  ✔ reports a missing error\n"
        "  ✘ [fail]: adds\n  ─\n\n  adds\n\n  test.js:4\n\n   3: test('reports a missing error', t => t.pass());\n"
        "   4: test('adds', t => t.is(1 + 1, 3));\n\n  Difference (- actual, + expected):\n\n  - 2\n  + 3\n\n  1 test failed\n",
        "✘ [fail]: adds",
    ),
    "ava without a module": (
        "> test\n> ava\n\n  Uncaught exception in test.js\n\n"
        "  Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/p/nothing.js' imported from /p/test.js\n\n"
        "      at finalizeResolution (node:internal/modules/esm/resolve:283:11)\n\n"
        "  ✘ test.js exited with a non-zero exit code: 1\n\n  1 uncaught exception\n",
        "Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/p/nothing.js' imported from /p/test.js",
    ),
    "mocha": (
        "\n  errors\n    ✔ fails with an error: not found\n    1) adds\n\n  1 passing (4ms)\n  1 failing\n\n  1) errors\n"
        "       adds:\n\n      AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:\n\n2 !== 3\n",
        "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:",
    ),
    "node --test": (
        "TAP version 13\n# Subtest: error: handles a missing file\nok 1 - error: handles a missing file\n  ---\n"
        "  duration_ms: 0.7\n  ...\n# Subtest: adds\nnot ok 2 - adds\n  ---\n  failureType: 'testCodeFailure'\n"
        "  error: '2 == 3'\n",
        "not ok 2 - adds",
    ),
    "node without a module": (
        "0 errors\nnode:internal/modules/cjs/loader:1210\n  throw err;\n  ^\n\nError: Cannot find module 'left-pad-x'\n"
        "Require stack:\n- /p/[eval]\n    at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15)\n",
        "Error: Cannot find module 'left-pad-x'",
    ),
    "npm without the script": (
        'npm warn Unknown user config "nodedir".\nnpm error Missing script: "nothing"\nnpm error\n',
        'npm error Missing script: "nothing"',
    ),
    "tsc": (
        "a.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'.\n",
        "a.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'.",
    ),
    "go test": (
        "=== RUN   TestErrorNotFound\n--- PASS: TestErrorNotFound (0.00s)\n=== RUN   TestAdd\n"
        "    e_test.go:4: got 2, want 3\n--- FAIL: TestAdd (0.00s)\nFAIL\nFAIL\te\t0.003s\nFAIL\n",
        "e_test.go:4: got 2, want 3",
    ),
    "go that does not compile": (
        "# e\n./e.go:2:23: undefined: x\nFAIL\te [build failed]\nFAIL\n",
        "./e.go:2:23: undefined: x",
    ),
    "cargo test": (
        "running 2 tests\ntest fails_with_error ... ok\ntest adds ... FAILED\n\nfailures:\n\n---- adds stdout ----\n\n"
        "thread 'adds' (123) panicked at src/lib.rs:4:13:\nassertion `left == right` failed\n  left: 2\n right: 3\n\n"
        "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n"
        "   Compiling r v0.1.0 (/p)\nerror: test failed, to rerun pass `--lib`\n",
        "test adds ... FAILED",
    ),
    "cargo that does not compile": (
        "   Compiling thiserror v1.0.1\n   Compiling r v0.1.0 (/p)\nwarning: function `unused_error` is never used\n"
        " --> src/lib.rs:1:4\n  |\n1 | fn unused_error() {}\n\nerror[E0425]: cannot find value `missing` in this scope\n"
        " --> src/lib.rs:2:21\n  |\n2 | pub fn f() -> i32 { missing }\n\n"
        "error: could not compile `r` (lib test) due to 1 previous error\n",
        "error[E0425]: cannot find value `missing` in this scope",
    ),
    "cargo without a crate": (
        "error: no matching package named `serde` found\nlocation searched: crates.io index\n",
        "error: no matching package named `serde` found",
    ),
    "Maven that does not compile": (
        "[ERROR] COMPILATION ERROR : \n[ERROR] /p/src/main/java/Calc.java:[1,66] cannot find symbol\n"
        "  symbol:   variable c\n[ERROR] Failed to execute goal org.apache.maven.plugins:maven-compiler-plugin:3.13.0\n",
        "[ERROR] /p/src/main/java/Calc.java:[1,66] cannot find symbol",
    ),
    "Maven tests": (
        "[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 1, Time elapsed: 0.06 s <<< FAILURE! -- in CalcTest\n"
        "[ERROR] CalcTest.adds -- Time elapsed: 0.013 s <<< FAILURE!\n"
        "org.opentest4j.AssertionFailedError: expected: <3> but was: <-1>\n"
        "\tat org.junit.jupiter.api.AssertionFailureBuilder.build(AssertionFailureBuilder.java:151)\n",
        "org.opentest4j.AssertionFailedError: expected: <3> but was: <-1>",
    ),
    "make": (
        "0 errors so far\nmake: ./nothing-here: No such file or directory\nmake: *** [Makefile:3: test] Error 127\n",
        "make: ./nothing-here: No such file or directory",
    ),
}
CASES |= BY_PROGRAM
# tests that passed, and progress: as each of these programs prints them
PASSING = [
    *(
        "  ✔ throws TypeError: cannot read x",
        "✓ error is reported (3 ms)",
        "ok 1 - error: missing file",
        "ok  \te/errors\t0.1s",
    ),
    *("--- PASS: TestError (0.00s)", "=== RUN   TestFailed", "test errors::fails ... ok", "PASS src/error.test.js"),
    *("tests/test_error.py::test_failed PASSED", "# Subtest: error: not found", "   Compiling thiserror v1.0.1"),
    *("npm warn deprecated x: this failed", "warning: unused variable: `error`", "    at fail (error.js:1:2)"),
]


@given(st.sampled_from(sorted(BY_PROGRAM)), st.lists(st.sampled_from(PASSING), max_size=8))
def test_tests_that_pass_and_progress_are_never_named_as_the_error(case: str, before: list[str]) -> None:
    text, expected = BY_PROGRAM[case]
    assert first_error("\n".join([*before, text])) == expected


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES.keys())
def test_the_first_error_is_found(text: str, expected: str) -> None:
    assert first_error(text) == expected


def test_the_end_is_a_few_lines_of_bearable_length() -> None:
    text = "\n".join(f"line {n}" for n in range(100)) + "\n" + "x" * 5000
    kept = last_lines(text, most=3).split("\n")
    assert kept[:2] == ["line 98", "line 99"] and len(kept[2]) == 300


def test_the_options_of_npm_do_not_push_its_reason_out_of_the_end() -> None:
    reason = "npm error Invalid: lock file's ms@2.1.2 does not satisfy ms@2.1.3\nnpm error\n"
    options = (
        "npm error Usage:\nnpm error npm ci\nnpm error\n" + "npm error   --omit\nnpm error     Dependency types\n" * 100
    )
    text = f'npm error code EUSAGE\n{reason}{options}npm error Run "npm help ci" for more info\n'
    assert last_lines(text).split("\n") == [
        "npm error code EUSAGE",
        "npm error Invalid: lock file's ms@2.1.2 does not satisfy ms@2.1.3",
        'npm error Run "npm help ci" for more info',
    ]
