"""Line checks: conflict markers, leftover debugging, files that do not belong in a repository."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import PurePosixPath

from burnish.core.finding import Category, Remark, Severity
from burnish.review.packing import GENERATED, SOURCE
from burnish.review.static.files import FileScan

LARGE_TEXT = 1024 * 1024
LARGE_BINARY = 500 * 1024

_JS = (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".vue", ".svelte")
_SCRIPTS = re.compile(
    r"(^|/)(bin|scripts?|tools?|cli|cmd|examples?|samples?|demos?|benchmarks?|bench|docs?|playground)/"
    r"|(^|/)(cli|main|index\.node|server|logger|log|logging|debug)\.\w+$|\.config\.\w+$|(^|/)(gulpfile|gruntfile)"
)
# suffixes, pattern of the line, name for the message
_STOPS: tuple[tuple[tuple[str, ...], re.Pattern[str], str], ...] = (
    (_JS, re.compile(r"(?:^|[;{})])\s*debugger\s*(?:[;}]|//|$)"), "debugger"),
    (
        (".rb", ".rake", ".erb"),
        re.compile(r"^\s*(?:require\s+['\"]pry['\"];\s*)?binding\.(?:pry|irb|b)\b"),
        "binding.pry",
    ),
    ((".rb", ".rake"), re.compile(r"^\s*(?:byebug|debugger)\s*(#.*)?$"), "byebug"),
    ((".ex", ".exs"), re.compile(r"^\s*(?:require IEx;\s*)?IEx\.pry\b"), "IEx.pry"),
    ((".cs",), re.compile(r"^\s*(?:System\.Diagnostics\.)?Debugger\.(?:Break|Launch)\(\)"), "Debugger.Break()"),
)
_PRINTS: tuple[tuple[tuple[str, ...], re.Pattern[str], str], ...] = (
    (_JS, re.compile(r"(?:^|[;{]|=>)\s*console\.(?:log|debug|dir|trace|table)\("), "console.log"),
    ((".rs",), re.compile(r"(?<![\w/\"'])dbg!\("), "dbg!"),
    ((".php",), re.compile(r"^\s*(?:var_dump|dd)\("), "var_dump"),
    (
        (".py",),
        re.compile(r"^\s*print\(\s*[rf]{0,2}[\"'](?:debug\b|here\b|xxx|>>>|\*\*\*|###|!!!|===)", re.IGNORECASE),
        "debug print",
    ),
)
_FOCUSED = re.compile(r"(?<![\w.$])(?:(?:describe|context|it|test)\.only|fdescribe|fit)\s*\(")
_EVAL = re.compile(r"(?<![\w.$])(?<!function )eval\s*\((?![^()]*\)\s*(?::[^{;]*)?\{)")
# strings and comments, which are not executed
_STRING_OR_COMMENT = re.compile(
    r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`)|(?<!:)//.*|/\*.*?(?:\*/|$)"""
)
_LINT_OFF = re.compile(r"^\s*(?:#\s*(?:ruff|flake8)\s*:\s*noqa\s*|/\*\s*eslint-disable\s*\*/\s*|//\s*nolint:all\s*)$")
_COMMENT = re.compile(r"^\s*(?://|#|\*|/\*|--|<!--)")
_LEFT_BEHIND = re.compile(
    r"\.(?:orig|rej|swp|swo|pyc|pyo|class)$|(^|/)(?:\.DS_Store|Thumbs\.db|npm-debug\.log|core\.\d+)$"
    r"|(^|/)(?:__pycache__|node_modules|\.pytest_cache|\.mypy_cache|\.ruff_cache)/"
)
_DOTENV = re.compile(r"(^|/)\.env(?:\.(?:local|production|prod|staging|development|dev))?$")


def line_remarks(file: FileScan, *, reads: bool) -> Iterator[Remark]:
    """Remarks on changed lines. `reads`: the file has valid syntax, so conflict marks can only be in strings."""
    yield from _unwanted_files(file)
    yield from _large(file)
    if file.is_lock or not file.changed:
        return
    yield from _conflicts(file, reads=reads)
    if file.is_docs:
        return
    yield from _breakpoints(file)
    yield from _prints(file)
    yield from _eval_calls(file)
    yield from _disabled_checks(file)


def _unwanted_files(file: FileScan) -> Iterator[Remark]:
    if file.file.status != "A":
        return
    name = PurePosixPath(file.path).name
    if _LEFT_BEHIND.search(file.path):
        yield file.remark(
            "leftover-file",
            Severity.WARNING,
            f"{name} does not belong in the repository",
            "A program or a merge generated this file; it will become outdated.",
            suggestion="Remove it and add its pattern to .gitignore.",
        )
    if _DOTENV.search(file.path) and file.data.strip():
        yield file.remark(
            "env-file",
            Severity.WARNING,
            f"{name} is added to the repository",
            "Such files contain passwords and keys; anyone who can read the repository can read them.",
            category=Category.SECURITY,
            suggestion="Keep it out by .gitignore and commit a .env.example without values.",
        )


def _large(file: FileScan) -> Iterator[Remark]:
    size = len(file.data)
    before = file.before() if size > LARGE_BINARY else None
    limit = LARGE_TEXT if file.lines else LARGE_BINARY
    if file.kind == GENERATED or size <= limit or size - len(before or "") <= limit:
        return
    yield file.remark(
        "large-file",
        Severity.WARNING,
        f"{PurePosixPath(file.path).name} is large: {size / 1024 / 1024:.1f} MB",
        "Every clone carries it from now on, even if it is deleted later.",
        suggestion="Keep it outside, or in Git LFS.",
    )


def _conflicts(file: FileScan, *, reads: bool) -> Iterator[Remark]:
    """Complete conflicts: `<<<<<<<`, `=======` and `>>>>>>>`, in this order, at the start of lines."""
    if reads or "<<<<<<<" not in file.text:
        return
    begin: int | None = None
    middle: int | None = None
    in_fence = False
    for number, line in enumerate(file.lines, 1):
        if line.startswith(("```", "~~~")):
            in_fence = not in_fence
        elif line.startswith("<<<<<<< ") or line.rstrip() == "<<<<<<<":
            begin, middle = number, None
        elif begin and line.rstrip() == "=======":
            middle = number
        elif begin and middle and (line.startswith(">>>>>>> ") or line.rstrip() == ">>>>>>>"):
            marks = [mark for mark in (begin, middle, number) if mark in file.changed]
            if marks and not (in_fence and file.is_docs):
                yield file.remark(
                    "conflict-marker",
                    Severity.ERROR,
                    "A merge conflict was committed unresolved",
                    f"Lines {begin} to {number} contain both sides of a merge and git's conflict markers.",
                    line=marks[0],
                    suggestion="Resolve the conflict and remove the markers.",
                )
            begin = middle = None


def _breakpoints(file: FileScan) -> Iterator[Remark]:
    for number, word in _matching(file, _STOPS):
        yield file.remark(
            "leftover-breakpoint",
            Severity.ERROR,
            f"A breakpoint was left in: {word}",
            "The program stops here and waits for a person at a debugger.",
            line=number,
            suggestion="Remove the line.",
        )


def _prints(file: FileScan) -> Iterator[Remark]:
    if file.is_test or _SCRIPTS.search(file.path):
        return
    before: str | None = None
    for number, word in _matching(file, _PRINTS):
        if word == "console.log":
            # a file that already used console.log does so on purpose
            before = file.before() or "" if before is None else before
            if "console.log(" in before:
                continue
        yield file.remark(
            "leftover-debugging",
            Severity.WARNING,
            f"Debugging output was left in: {word}",
            "This looks like debugging output; in production it is noise and may expose private data.",
            line=number,
            suggestion="Remove it, or use the project's logger.",
        )


def _matching(
    file: FileScan, table: tuple[tuple[tuple[str, ...], re.Pattern[str], str], ...]
) -> Iterator[tuple[int, str]]:
    patterns = [(pattern, word) for suffixes, pattern, word in table if file.path.endswith(suffixes)]
    if not patterns:
        return
    for number in sorted(file.changed):
        line = file.line(number)[:2000]
        code = _code_only(line) if file.path.endswith(_JS) else line
        for pattern, word in patterns:
            if not _COMMENT.match(line) and "noqa" not in line and pattern.search(code):
                yield number, word
                break


def _code_only(line: str) -> str:
    """A line of JavaScript without strings and comments."""
    return _STRING_OR_COMMENT.sub(lambda match: '""' if match[1] else "", line)


def _eval_calls(file: FileScan) -> Iterator[Remark]:
    if file.is_test or not file.path.endswith(_JS):
        return
    for number in sorted(file.changed):
        line = file.line(number)[:2000]
        if not _COMMENT.match(line) and _EVAL.search(_code_only(line)):
            yield file.remark(
                "eval",
                Severity.WARNING,
                "Text is run as code: eval",
                "Anyone who can influence the text can run any code with the rights of the program.",
                line=number,
                category=Category.SECURITY,
                suggestion="Parse it with JSON.parse, or look up the function in a table.",
            )


def _disabled_checks(file: FileScan) -> Iterator[Remark]:
    for number in sorted(file.changed):
        line = file.line(number)[:2000]
        if _LINT_OFF.match(line):
            yield file.remark(
                "lint-switched-off",
                Severity.WARNING,
                "The linter is switched off for the whole file",
                "It reports nothing in this file any more.",
                line=number,
                suggestion="Disable single rules on single lines instead.",
            )
        elif file.path.endswith(_JS) and file.is_test and _FOCUSED.search(_code_only(line)):
            yield file.remark(
                "focused-test",
                Severity.WARNING,
                "Only this test will run",
                "A focused test disables all others, so the suite passes without them.",
                line=number,
                category=Category.TEST,
                suggestion="Remove the focus.",
            )


# -- untested lines -------------------------------------------------------------------------------
# Remarks on changed lines that no test runs.

# with this many changed lines and none of them run, tests were probably forgotten
MANY_LINES = 5
_SETTINGS = re.compile(
    r"(^|/)(?:setup|conftest|noxfile|__main__|manage|conf|wsgi|asgi)\.py$|(^|/)(?:migrations|docs?)/"
)


def unrun_remark(file: FileScan, missing: Collection[int], measured_lines: Collection[int]) -> Remark | None:
    """One remark for the file; None if tests run the changed lines."""
    lines = sorted(file.changed & set(missing))
    if not lines or file.kind != SOURCE or _SETTINGS.search(file.path):
        return None
    nothing_ran = len(lines) >= MANY_LINES and not (file.changed & set(measured_lines))
    words = line_ranges(lines)
    return file.remark(
        "not-tested",
        Severity.WARNING if nothing_ran else Severity.INFO,
        f"{words} {'is' if len(lines) == 1 else 'are'} changed and no test runs {'it' if len(lines) == 1 else 'them'}",
        "The tests would not notice an error there. (Coverage of other processes is not measured.)",
        line=lines[0],
        category=Category.TEST,
        suggestion="Add a test that runs them, or remove unused code.",
    )


def line_ranges(lines: list[int]) -> str:
    """`line 3` or `lines 10–14, 20`."""
    parts: list[list[int]] = []
    for line in lines:
        if parts and line == parts[-1][-1] + 1:
            parts[-1].append(line)
        else:
            parts.append([line])
    texts = [str(part[0]) if len(part) == 1 else f"{part[0]}–{part[-1]}" for part in parts[:8]]
    more = f" and {len(parts) - 8} more places" if len(parts) > 8 else ""
    return f"{'Line' if len(lines) == 1 else 'Lines'} {', '.join(texts)}{more}"
