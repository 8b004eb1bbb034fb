"""The line in the output of a failed command that says why it failed, and lines that differ from earlier output."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence

MAX_LENGTH = 300
# how much of the end is shown with it
TAIL_LINES = 12

# A line that names an error or a failed test.
_NAMED = re.compile(
    # `ModuleNotFoundError: No module named 'x'`, `Error: Cannot find module 'x'`
    r"^(?:E\s+)?(?:Uncaught )?(?:[\w.]+\.)?\w*(?:Error|Exception)\b(?:\s*\[[\w-]+\])?: \S"
    # PDM: `[AttributeError]: …`; Poetry, in a frame
    r"|^\[\w*(?:Error|Exception)\]: \S|^\| Unable to find installation candidates"
    # `npm error …`, `error[E0432]: …`, `fatal: …`
    r"|^(?:npm (?:ERR!|error)|error(?:\[\w+\])?:|ERROR:?|\[(?:ERROR|FATAL)\]|fatal(?: error)?:|panic:|❌"
    r"|make(?:\[\d+\])?: \*\*\*|(?:/bin/)?(?:ba)?sh: )"
    # a place and what is wrong there: `./a.go:2:24: undefined: x`, `a.ts(1,7): error TS2322: …`, `a.c:1:2: error: …`
    r"|^\S+\.(?:go|rs|c|cc|cpp|h|java|kt|ts|tsx|js|py):\d+(?::\d+)?: (?!warning|note)\S|^\S+\(\d+,\d+\): error\b"
    # a failed test: ava, mocha and node:test, TAP, go, cargo
    r"|^(?:✖|✗|✘|×)\s*\S|^not ok \d|^--- FAIL:|^test .+ \.\.\. FAILED$"
)
_WORDS = re.compile(
    r"(?i)\b(?:errors?|fatal|exception|cannot|could not|can't|not found|no such|undefined|unable to|denied|refused"
    r"|missing|invalid|failed|failure)\b"
)
# Lines that may hold such words and are not errors.
_HARMLESS = re.compile(
    r"(?i)\b(?:no|0) (?:errors?|failures?|failed)\b|^(?:Traceback|warning\b|npm (?:warn|notice)|\(node:\d+\) |> )"
    # a test that passed or starts: marks, TAP, go, cargo, pytest
    r"|^(?:✔|✓|√|ok\b|PASS\b|--- (?:PASS|SKIP)|=== |# Subtest|▶ )|^test .+ \.\.\. (?:ok|ignored)\b|\bPASSED\b"
    # progress, where names of packages may hold such words
    r"|^(?:Compiling|Checking|Download(?:ing|ed)|Updating|Adding|Locking|Installing|Collecting|Fetching|Building|Finished"
    r"|Running|Requirement already|Resolved|added|go: downloading|\+ |- )"
    # a frame of a stack, a quoted line of source
    r"|^at |^>?\s*\d* ?\|"
)
# Named errors that only point to the next line, or count, or say that something failed.
_EMPTY = re.compile(
    r"^\[(?:ERROR|FATAL)\](?:\s*$| COMPILATION ERROR| Tests run:| Failures:| Errors:| To see the full| Re-run Maven"
    r"| For more| \[Help| -> | Some problems were| The build could not read| The project \S+ \(.* has \d+ errors?)"
    r"|^npm (?:ERR!|error)$|^npm (?:ERR!|error) (?:Lifecycle script|path |command (?!not)|Test failed)"
    r"|^npm (?:ERR!|error) code (?:ELIFECYCLE|EUSAGE|ERESOLVE|1)$"
    r"|^make(?:\[\d+\])?: \*\*\*|^(?:✖|✗|✘|×) (?:failing tests:?|\d+ problems?)|^\[ERROR\] \S+ -- Time elapsed"
)
# What `npm ci` prints behind the reason: all of its options, longer than what is shown of an output. And empty lines.
_NPM_USAGE = re.compile(
    r"^npm (?:ERR!|error) Usage:\s*\n(?:npm (?:ERR!|error)(?! Run \").*\n)*|^npm (?:ERR!|error)[ \t]*\n", re.M
)


def without_usage(text: str) -> str:
    """The same without the list of options that npm prints after an error."""
    return _NPM_USAGE.sub("", text)


def first_error(text: str) -> str:
    """The first line that names an error, else the first with a word for one, else the last; "" for no text."""
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    error_lines = [line for line in lines if _NAMED.search(line) and not _HARMLESS.search(line.removeprefix("| "))]
    full = [line for line in error_lines if not _EMPTY.search(line)]
    word_lines = [
        line for line in lines if _WORDS.search(line) and not _HARMLESS.search(line) and line not in error_lines
    ]
    found = next(iter((*full, *word_lines, *error_lines, *lines[-1:])), "")
    return found.removeprefix("E ").removeprefix("| ").strip()[:MAX_LENGTH]


def last_lines(text: str, *, most: int = TAIL_LINES) -> str:
    """The end of what was printed."""
    lines = [line.rstrip() for line in without_usage(text).splitlines() if line.strip()]
    return "\n".join(line[:MAX_LENGTH] for line in lines[-most:])


# What differs in each run: times, durations, places, addresses, percentages of a build, files, seeds.
_VARIES = re.compile(
    r"0x[0-9a-f]+|\b[0-9a-f]{12,}\b|\b\d{1,4}[-:/.]\d{1,2}[-:/.]\d{1,4}(?:[T ]?\d[\d:.]*)?|\b\d+:\d+(?::\d+)?"
    r"|\b\d+(?:\.\d+)?\s?(?:[mµun]?s|secs?|seconds?|minutes?|[kMG]i?B|bytes)\b|\b\d+\.\d{3,}\b|:\d+(?::\d+)?:?"
    r"|\b(?!100(?:\.0+)?\s?%)\d+(?:\.\d+)?\s?%|(?:(?<=[\s'\"=(])|^)/[^\s'\":]+|\b(?:seed|pid|port)\b\W{0,3}\w+",
    re.I,
)
# What make and build tools show of the programs that they start.
_BUILD_LINE = re.compile(
    r"(?:\S*/)?(?:cc|gcc|g\+\+|c\+\+|clang(?:\+\+)?|ar|ld|ranlib|rm|mkdir|cp|mv|javac?|rustc|go|python[\d.]*|perl|php|ruby"
    r"|node|sh|bash) |\[\s*(?:\d+%|\d+/\d+)\](?! (?:ok|pass))|-- "
    r"|(?:Compiling|Building|Linking|Finished|Scanning|Consolidate|Downloading)\b"
)
# between the beginning and the end of a long output
_CUT = "…"


def other_lines(before: Sequence[str], now: Sequence[str]) -> tuple[str, str]:
    """The first line that is not printed any more, and the first one that is new; "" without such a line."""
    if _CUT in before or _CUT in now:
        return "", ""
    old, new = ([line for line in lines if not _BUILD_LINE.match(line)] for lines in (before, now))
    return _missing_line(old, new), _missing_line(new, old)


def _missing_line(lines: Collection[str], others: Collection[str]) -> str:
    remaining = Counter(_VARIES.sub("#", line) for line in others)
    # equal lines first, so that of `test 1: ok` and `test 2: ok` the missing one is found
    for line in sorted(lines, key=lambda line: line not in others):
        remaining[_VARIES.sub("#", line)] -= 1
        if remaining[_VARIES.sub("#", line)] < 0:
            return line
    return ""


MAX_PATTERN_LENGTH = 500


def pattern_problem(pattern: str) -> str:
    """Why a pattern cannot be used, "" if it can."""
    if len(pattern) > MAX_PATTERN_LENGTH:
        return f"the pattern is longer than {MAX_PATTERN_LENGTH} characters"
    try:
        regex = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return f"the pattern is not a valid regular expression: {error}"
    return "" if "name" in regex.groupindex else "the pattern needs a group for the test's name: (?P<name>…)"
