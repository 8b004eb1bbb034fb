"""The line that says why a command failed."""

from __future__ import annotations

import pytest

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
    "npm": ("npm ERR! code ERESOLVE\nnpm ERR! see the log\nFor help, run: npm help", "npm ERR! code ERESOLVE"),
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


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES.keys())
def test_the_first_error_is_found(text: str, expected: str) -> None:
    assert first_error(text) == expected


def test_the_end_is_a_few_lines_of_bearable_length() -> None:
    text = "\n".join(f"line {n}" for n in range(100)) + "\n" + "x" * 5000
    kept = last_lines(text, most=3).split("\n")
    assert kept[:2] == ["line 98", "line 99"] and len(kept[2]) == 300
