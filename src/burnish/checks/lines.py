"""Reads printed lines: problems of linters, failures that match a user-defined pattern, failures that are ignored."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from burnish.checks import line_pattern_main
from burnish.checks.reading import Reading, path_in_repository, shortened
from burnish.core.check import FAILURE_COUNT, TestFailure
from burnish.core.error_lines import pattern_problem
from burnish.core.finding import Category, Remark, Severity, outside_rule
from burnish.errors import BurnishError
from burnish.proc.capture import capture
from burnish.regular_files import read_regular

MAX_REMARKS = 5000
MAX_LINE_LENGTH = 5000
_LOCATION = re.compile(r"(?P<file>[^\s:][^:\n]{0,4000}):(?P<line>\d{1,8})(?::\d{1,8})?:\s*(?P<text>\S.*)")
_RULE_FIRST = re.compile(r"(?P<rule>[A-Z]{1,10}\d{1,5}|[a-z]+(?:-[a-z0-9]+)+)(?:\s+\[\*\])?:?\s+(?P<text>\S.*)")
_RULE_LAST = re.compile(r"(?P<text>.*\S)\s+[\[(](?P<rule>[A-Za-z][\w/@-]*)[\])]")
_LEVEL = re.compile(r"(error|warning|note|info)\s*:\s*", re.IGNORECASE)
# rustc and clippy: `error[E0425]: cannot find value`, then `  --> src/lib.rs:3:5`
_RUST_TITLE = re.compile(r"(?P<level>error|warning)(?:\[(?P<rule>\w+)\])?: (?P<text>\S.*)")
_RUST_LOCATION = re.compile(r"\s*--> (?P<file>[^:\n]{1,4000}):(?P<line>\d{1,8}):\d{1,8}")
# eslint: the file on a separate line, then `  12:5  error  'x' is not defined  no-undef`
_ESLINT = re.compile(
    r"\s+(?P<line>\d{1,8}):\d{1,8}\s+(?P<level>error|warning)\s+(?P<text>\S.*?)(?:\s{2,}(?P<rule>[@\w][\w/@-]*))?\s*"
)


def read_lines(
    text: str, *, root: Path, source: str, severity: Severity, mounted_at: Path | None = None
) -> tuple[Remark, ...]:
    """The problems that name an existing file."""
    files = _Files(root, mounted_at)
    lines = [line[:MAX_LINE_LENGTH] for line in text.split("\n")]
    blocks = _read_blocks(lines, files, source, severity)
    remarks: list[Remark] = []
    for line in lines:
        match = _LOCATION.match(line.strip())
        file = files.find(match["file"]) if match else None
        if not match or not file:
            continue
        message = match["text"]
        if level := _LEVEL.match(message):
            if level[1].lower() in ("note", "info"):
                continue
            message = message[level.end() :]
        remarks.append(_remark(file, int(match["line"]), message, source, severity))
        if len(remarks) >= MAX_REMARKS:
            break
    return (*remarks, *blocks)[:MAX_REMARKS]


class _Files:
    """Files of the tree. Needed because times and addresses also contain colons and numbers."""

    def __init__(self, root: Path, mounted_at: Path | None) -> None:
        self.root, self.mounted_at = root, mounted_at
        self.known: dict[str, bool] = {}

    def find(self, name: str) -> str | None:
        file = path_in_repository(name, self.root, self.mounted_at)
        if file and file not in self.known:
            self.known[file] = _is_file(self.root / file)
        return file if file and self.known[file] else None


def _read_blocks(lines: list[str], files: _Files, source: str, severity: Severity) -> list[Remark]:
    """Problems on several lines. Warnings count only without errors, because then they made the linter fail."""
    found: dict[str, list[Remark]] = {"error": [], "warning": []}
    title: re.Match[str] | None = None
    file: str | None = None
    for line in lines:
        if match := _RUST_TITLE.fullmatch(line):
            title = match
        elif title and (match := _RUST_LOCATION.fullmatch(line)):
            if path := files.find(match["file"]):
                message = f"{title['text']} ({title['rule']})" if title["rule"] else title["text"]
                found[title["level"]].append(_remark(path, int(match["line"]), message, source, severity))
            title = None
        elif match := _ESLINT.fullmatch(line):
            if file:
                message = f"{match['text']} ({match['rule']})" if match["rule"] else match["text"]
                found[match["level"]].append(_remark(file, int(match["line"]), message, source, severity))
        elif line.strip() and not line[0].isspace():
            file = files.find(line.strip())
    return found["error"] or found["warning"]


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # the name is too long or contains NUL
        return False


def _remark(file: str, line: int, message: str, source: str, severity: Severity) -> Remark:
    match = _RULE_FIRST.fullmatch(message) or _RULE_LAST.fullmatch(message)
    rule, text = (match["rule"], match["text"]) if match else ("", message)
    title = shortened(text, longest=200) or rule
    return Remark(Category.CODE, severity, title, file=file, line=line or None, rule=outside_rule(rule), source=source)


MAX_FAILURES = 20_000
# Python's regular expressions can take exponential time, and cannot be interrupted inside the process.
PATTERN_SECONDS = 30.0


def read_pattern(pattern: str, files: Sequence[Path], *, seconds: float = PATTERN_SECONDS) -> Reading:
    """The failures named by lines of these files. Never raises."""
    if problem := pattern_problem(pattern):
        return Reading(error=problem)
    existing = [str(path) for path in files if path.is_file()]
    request = json.dumps({"pattern": pattern, "files": existing, "most": MAX_FAILURES + 1})
    argv = [sys.executable, "-I", "-S", str(Path(line_pattern_main.__file__))]
    try:
        result = capture(argv, cwd=Path(sys.prefix), env={}, stdin=request.encode(), timeout=seconds)
        names = [str(name) for name in json.loads(result.stdout)]
    except (BurnishError, ValueError):
        return Reading(error=f"the pattern {pattern!r} could not be applied to the output within {seconds:g} seconds")
    partial = f"only the first {MAX_FAILURES} failures were read" if len(names) > MAX_FAILURES else ""
    unique = dict.fromkeys(shortened(name, longest=500) for name in names[:MAX_FAILURES])
    return Reading(failures=tuple(TestFailure(name, "failed") for name in unique), partial=partial)


# -- commands that end with 0 ---------------------------------------------------------------------
# Failures that a command prints and ignores, and commands that start no test.

# as test loops of Makefiles and the harness of Automake print it
_PRINTED_FAILURE = re.compile(r"^(?:FAIL|XPASS): +(\S.{0,299})", re.M)
# as `doctest.testmod()` prints it; the exit code of the program is 0
_DOCTEST_FAILED = re.compile(r"^\*\*\*Test Failed\*\*\* \d+ failure", re.M)
_DOCTEST_NAME = re.compile(r"^ +(\d{1,8}) of +\d{1,8} in (\S{1,500})$", re.M)
# as make prints it for a line of a recipe that begins with `-`
_IGNORED_ERROR = re.compile(
    r"^\S*make(?:\[\d+\])?: (\[(?:([^\s:\]]{1,500}):(\d{1,8}): )?[^\]\n]{1,500}\] Error \d{1,8}) \(ignored\)$", re.M
)
_CLEANS_UP = re.compile(
    rb"[\s@+-]*(?:sudo +)?(?:rm|rmdir|mkdir|cp|mv|ln|kill|killall|pkill|docker\S*|podman|dropdb|createdb|git)\b"
)
# What a command prints that starts no test, and what may stand beside it.
_DID_NOTHING = re.compile(
    r"^\S*make(?:\[\d+\])?: (?:\S+ is up to date\.|Nothing to be done for \S+)$|^ninja: no work to do\.$"
    r"|(?i:\bno tests? (?:(?:files?|suites?|cases?) )?(?:were )?(?:found|ran|to run|specified|yet)\b|\bno test files\b)"
)
_NO_RESULT = re.compile(rf"{_DID_NOTHING.pattern}|^\S*make(?:\[\d+\])?: |^ninja: Entering directory ")
# npm, yarn and make show what they start
_LAUNCHER_LINE = re.compile(r"> |\S*make(?: |$)|\$ |yarn run v|Done in |npm (?:warn|WARN|notice)|echo ")
# how long a test took, which differs in each run
_DURATION = re.compile(r"\s*[(\[]?\s*(?:in\s+|took\s+)?\d+(?:\.\d+)?\s*(?:[mµun]?s|secs?|seconds?)\s*[)\]]?\s*$")
_MAKEFILE_BYTES = 1024 * 1024


def printed_failures(text: str, folder: Path | None) -> tuple[str, ...]:
    """Names of printed failures: `FAIL: name`, doctests, and errors that make ignores in `folder`."""
    names = dict.fromkeys(_DURATION.sub("", line).rstrip() or line for line in _PRINTED_FAILURE.findall(text))
    if _DOCTEST_FAILED.search(text):
        names |= dict.fromkeys(f"{name}: {count} failed examples" for count, name in _DOCTEST_NAME.findall(text))
    return tuple(names | dict.fromkeys(_ignored_errors(text, folder) if folder else ()))


def _ignored_errors(text: str, folder: Path) -> list[str]:
    """Errors that make ignores (`-./test_a`), except those of lines that only clean up (`-killall server`)."""
    found = []
    for error, name, number in _IGNORED_ERROR.findall(text):
        lines = (read_regular(folder / name, longest=_MAKEFILE_BYTES) or b"").splitlines() if name else []
        line = lines[int(number) - 1] if 0 < int(number or 0) <= len(lines) else b""
        found += [] if _CLEANS_UP.match(line) else [f"make: {error}"]
    return found


def did_nothing(text: str, *, optional: bool = False) -> bool:
    """True if the output says that nothing was started, and has no result: `make test` beside a folder `test`.

    `optional`: npm was told to succeed if the script is missing. It prints the script that it starts.
    """
    if optional and not text.strip():
        return True
    lines = [line for line in text.splitlines() if line.strip() and not _LAUNCHER_LINE.match(line)]
    return bool(lines) and any(map(_DID_NOTHING.search, lines)) and all(map(_NO_RESULT.search, lines))


# What a program prints when it breaks.
_BREAKDOWN = re.compile(
    r"^\s*(?:Uncaught )?(?:[\w.$]{1,200}\.)?Assertion(?:Failed)?Error\b"
    r"|\bassertion\b.{0,300}\bfailed\b|\bassert failed\b"
    r"|\bSegmentation fault\b|\bAborted\b|\(core dumped\)|^panic: |^thread '.{1,200}' panicked at"
    r"|^(?:PHP )?Fatal error:"
    r"|^\S{1,300}\(\d{1,8},\d{1,8}\): error TS\d|^\S{1,300}:\d{1,8}:(?:\d{1,8}:?)? (?:- |fatal )?error\b",
    re.I,
)
# What diff and cmp print where two files differ.
_DIFFERENCE = re.compile(
    r"^\d{1,8}(?:,\d{1,8})?[acd]\d{1,8}(?:,\d{1,8})?$|^@@ -\d{1,8}(?:,\d{1,8})? \+\d{1,8}(?:,\d{1,8})? @@"
    r"|^\*{3} \d{1,8}(?:,\d{1,8})? \*{4}$|^\S{1,300} \S{1,300} differ: (?:byte|char) \d|^Files .{1,600} differ$"
)
# Words and signs of test programs without a known form.
_FAILURE_WORD = re.compile(
    r"\bfail(?:ed|ures?|ing)?\b|^\s*expected\b.{1,200}\b(?:got|received|actual|but|to be|to equal)\b"
    r"|^\s*[✗✘✖×❌]|^\s*\w{0,100}(?:Error|Exception)(?::|$)|: (?:command )?not found$",
    re.I,
)
_NO_FAILURE = re.compile(
    r"\b(?:0|no|without|expected|any) (?:\w+ ){0,2}fail|\bfail\w*\s?[:=(]\s*0\b|^\s*(?:✓|✔|√|(?:ok|pass(?:ed)?)\b)"
    r"|\b(?:ok|pass(?:ed)?)\b\W*$",
    re.I,
)
# `add(1, 2): expected 3, got -1`
_EXPECTED = re.compile(r"\b(?:expected|want(?:ed)?)\b", re.I)
_ACTUAL = re.compile(r"\b(?:got|received|actual)\b", re.I)
# `2 of 3 ok`, `Passed: 2/3`, `66% passed`
_SHARE = re.compile(
    r"\b(\d{1,8}) ?(?:/|of|out of) ?(\d{1,8})\b(?: \w+){0,2}? (?:ok|correct|pass(?:ed|es|ing)?|succeeded|successful)\b"
    r"|\b(?:ok|pass(?:ed)?|succeeded)\b ?[:=]? *(\d{1,8}) ?(?:/|of|out of) ?(\d{1,8})\b"
    r"|(?<![\d.])(\d{1,2})(?:\.\d+)? ?%(?: \w+){0,2}? (?:ok|pass(?:ed|es|ing)?|succeeded|successful)\b",
    re.I,
)
_MOST_LINES = 50


def failure_lines(text: str, *, with_words: bool) -> tuple[str, ...]:
    """Lines that look like failures. `with_words`: also those that only have a word such as FAILED."""
    found: list[str] = []
    in_traceback = False
    lines = [line[:1000] for line in text.splitlines()]
    # `1/2 ok` and `2/2 ok` are progress
    complete = {total for passes, total in map(_share, lines) if with_words and passes == total}
    for line in lines:
        if line.startswith("Traceback ("):
            in_traceback = True
        elif in_traceback and not line[:1].isspace():
            # the exception, or what another process printed meanwhile
            in_traceback = False
            found.append(line.strip()[:300] or "an exception")
        elif with_words and (count := FAILURE_COUNT.search(line)):
            found.append(count[0])
        elif with_words and (share := _share(line))[0] < share[1] and share[1] not in complete:
            found.append(f"{share[1] - share[0]} failed")
        elif (
            _BREAKDOWN.search(line)
            or _DIFFERENCE.search(line)
            or (with_words and _has_failure_word(line) and not _NO_FAILURE.search(line))
        ):
            found.append(line.strip()[:300])
        if len(found) == _MOST_LINES:
            break
    else:
        found += ["an exception"] if in_traceback else []
    return tuple(found)


def _has_failure_word(line: str) -> bool:
    return bool(_FAILURE_WORD.search(line) or (_EXPECTED.search(line) and _ACTUAL.search(line)))


def _share(line: str) -> tuple[int, int]:
    """How many of how many tests passed, by a line such as `2 of 3 ok`; zeros for other lines."""
    share = _SHARE.search(line)
    numbers = [int(number) for number in share.groups() if number] if share else [0, 0]
    return numbers[0], numbers[1] if numbers[1:] else 100


# Tests that passed when the project's own retries ran them again: pytest-rerunfailures, flaky, nextest, vitest,
# surefire, Playwright. The last group is the name of the test, else the whole match counts.
_RETRIED = re.compile(
    r"^(?:\[gw\d+\] \[ *\d+%\] )?RERUN (\S+)|^(\S+::.+?) RERUN\b"
    r"|^(\S+) failed \(\d+ runs? remaining out of \d+\)|^\s*FLAKY \d+/\d+ \[[^\]]*\]\s+(\S.*)$"
    r"|^\s*[✓✔√] (.+?)(?: \d+\s?ms)? \(retry x\d+\)|\b[1-9]\d* rerun\b|\bFlakes: [1-9]\d*|^\s{2}[1-9]\d* flaky$",
    re.M,
)


def retried_tests(text: str) -> tuple[str, ...]:
    """Tests that passed only when the project's own retries ran them again; a number where names are not printed."""
    found = list(_RETRIED.finditer(text))
    names = [next(filter(None, match.groups()), "") for match in found]
    return tuple(dict.fromkeys(filter(None, names)) or dict.fromkeys(match[0].strip() for match in found))[:_MOST_LINES]
