"""Builds the report of a finished check from its exit code, report file and output."""

from __future__ import annotations

import re
import signal
from dataclasses import replace
from pathlib import Path

from burnish.checks.import_origins import runs_tests
from burnish.checks.lines import did_nothing, failure_lines, printed_failures, read_lines, read_pattern, retried_tests
from burnish.checks.placement import Placement
from burnish.checks.pytest_text import last_failure_count
from burnish.checks.reading import Case, Reading, failures_of, read_report, shortened
from burnish.checks.report_formats import FILE_FORMATS, TEXT_FORMATS, FileStats, read_new_reports, read_printed
from burnish.checks.runners import PreparedCheck
from burnish.core.check import SCRIPT_RESULT, CheckReport, CheckStatus, Counts, output_lines
from burnish.core.error_lines import first_error, without_usage
from burnish.core.finding import Severity
from burnish.core.policy import CheckSpec, is_test, setting_of
from burnish.proc.run import ExitRecord
from burnish.proc.text import clean_text, read_text

TAIL = 4000
# The maximum of lint output that is parsed.
READ = 4 * 1024 * 1024
NO_TESTS = 5  # pytest's exit code for "nothing collected"
# Exit codes of pytest without test results.
PYTEST_CRASHED = {3: "internal error", 4: "usage error"}
# Also in colour (`--color=yes`).
_PYTEST_STOPPED = re.compile(
    r"^(?:\x1b\[[\d;]*m)*!+ (?:stopping after \d|(?:xdist\.dsession\.)?Interrupted|_pytest\.outcomes\.Exit)", re.M
)
# With more problems at exit code 0, those of a change are not looked for.
_MOST_PROBLEMS = 500
_NOT_TESTS = ("setup", "build", "origins")
# What a runner prints if the process of its tests ended before all of them had run.
_PROCESS_ENDED = {
    "Maven": re.compile(r"The forked VM terminated without|There was an error in the forked process"),
    "Gradle": re.compile(r"Process 'Gradle Test Executor \d+' finished with non-zero exit value"),
    "vitest": re.compile(r"Worker (?:exited unexpectedly|terminated)|Vitest caught \d+ unhandled error"),
}
TIMED_OUT = "It timed out after"
# Commands that build or read the sources, and run no test.
_BUILDS_ONLY = re.compile(
    r"(?:cargo (?:build|check|clippy|fmt)|go (?:build|vet|fmt)|(?:\S*/)?python[\d.]* -m (?:compileall|py_compile)"
    r"|(?:npx )?tsc|cargo test(?= .*--no-run))(?: [^;&|]*)?"
)


def error_report(spec: CheckSpec, why: str, hint: str = "") -> CheckReport:
    """The report of a check that could not run, so that its result is unknown."""
    return CheckReport(spec.name, spec.words, CheckStatus.ERROR, blocking=spec.blocking, error=why, hint=hint)


def report_of(
    spec: CheckSpec,
    check: PreparedCheck,
    exit_record: ExitRecord,
    *,
    place: Placement,
    report_dir: Path,
    before: FileStats | None = None,
) -> CheckReport:
    """The report of one check. `before` are the report files in the tree before it started."""
    base = CheckReport(
        name=spec.name,
        command=spec.words,
        status=CheckStatus.ERROR,
        exit_code=exit_record.exit_code,
        seconds=exit_record.seconds,
        blocking=spec.blocking,
        tail=tail_of(exit_record.stdout, exit_record.stderr),
        output_path=str(exit_record.stdout),
    )
    if why := _did_not_run(spec, exit_record):
        return replace(base, error=why, hint=_more_time(spec) if exit_record.ended == "timeout" else "")
    reading = _read(spec, check, exit_record, place, report_dir, before or {})
    if check.is_pytest and exit_record.exit_code == NO_TESTS and not (reading.counts and reading.counts.total):
        return replace(base, status=CheckStatus.PASSED, counts=Counts(0, 0, 0, 0))
    if not (reading.counts or reading.failures or reading.remarks) and _did_nothing(spec, exit_record):
        reading = replace(reading, counts=Counts(0, 0, 0, 0))
    if reading.error and check.promised and exit_record.exit_code == 0:
        status = CheckStatus.ERROR
    else:
        status = _status(exit_record, reading)
    return replace(
        base,
        status=status,
        counts=reading.counts,
        failures=tuple(replace(one, name=_without_root(one.name, place)) for one in reading.failures),
        remarks=reading.remarks,
        error=_crashed(check, exit_record, reading)
        or _killed(exit_record)
        or reading.error
        or _not_started(spec, check, exit_record, reading, place),
        partial=_partial(check, exit_record, reading),
        test_files=reading.test_files,
        failure_lines=_failure_lines(spec, check, exit_record, reading),
        problem_lines=_problem_lines(spec, exit_record, place),
        last_line=_last_line(spec, exit_record),
        retried=retried_tests(_output(exit_record, READ)) if runs_tests(spec) else (),
    )


def _failure_lines(spec: CheckSpec, check: PreparedCheck, exit_record: ExitRecord, reading: Reading) -> tuple[str, ...]:
    """Printed lines that look like failures, of a command whose exit code may not show all of them."""
    is_loop = SCRIPT_RESULT in spec.words
    reports_itself = (check.promised and not is_loop) or (check.known and reading.counts)
    if not runs_tests(spec) or reports_itself:
        return ()
    return failure_lines(_output(exit_record, READ), with_words=is_loop or not (reading.counts or reading.failures))


def _problem_lines(spec: CheckSpec, exit_record: ExitRecord, place: Placement) -> tuple[str, ...] | None:
    """Problems that a linter prints although it ends with 0: `ruff check || true`. None if there are too many."""
    if exit_record.exit_code != 0 or runs_tests(spec) or spec.name in _NOT_TESTS:
        return ()
    source = f"check:{spec.name}"
    output = _output(exit_record, READ)
    remarks = read_lines(output, root=place.files, mounted_at=place.path, source=source, severity=Severity.WARNING)
    return tuple(f"{one.file}: {one.title}" for one in remarks) if len(remarks) <= _MOST_PROBLEMS else None


def _last_line(spec: CheckSpec, exit_record: ExitRecord) -> str:
    # Warnings on standard error may go with a sound change. The output of test scripts is sent there.
    streams = (exit_record.stderr,) if SCRIPT_RESULT in spec.words else (exit_record.stdout, exit_record.stderr)
    ends = (output_lines(clean_text(read_text(path, limit=TAIL))) for path in streams)
    return next((lines[-1] for lines in ends if lines), "")


def _not_started(
    spec: CheckSpec, check: PreparedCheck, exit_record: ExitRecord, reading: Reading, place: Placement
) -> str:
    """Why the tests did not start, if no case was reported; else ""."""
    if reading.counts or reading.failures or reading.remarks or spec.name in _NOT_TESTS:
        return ""
    runner = check.known.runner.name if check.known and runs_tests(spec) else ""
    return not_started(
        tail_of(exit_record.stdout, exit_record.stderr), exit_record.exit_code, runner=runner, place=place
    )


def _crashed(check: PreparedCheck, exit_record: ExitRecord, reading: Reading) -> str:
    """Why pytest ended before it ran any test; "" if it ran tests."""
    if reading.failures:
        return ""
    if check.known and check.is_pytest and exit_record.exit_code in PYTEST_CRASHED:
        return f"pytest could not run the tests ({PYTEST_CRASHED[exit_record.exit_code]}): {_first_error(exit_record)}"
    return ""


def _first_error(exit_record: ExitRecord) -> str:
    """pytest's last line with an error, else the first line that names one, else the last line."""
    lines = [line.strip() for line in tail_of(exit_record.stdout, exit_record.stderr).splitlines() if line.strip()]
    pytest_errors = [line[1:].strip() for line in lines if line.startswith("E ")]
    error_lines = [line for line in lines if re.search(r"\b\w*(?:Error|Exception)\b", line)]
    return (*pytest_errors[-1:], *error_lines[:1], *lines[-1:], "it printed nothing")[0][:300]


def _partial(check: PreparedCheck, exit_record: ExitRecord, reading: Reading) -> str:
    if not reading.failures:
        return ""
    if check.report_file in (None, "-") and _was_cut(exit_record):
        return "its output was longer than output_cap_mb allows"
    if reading.partial or check.may_hide:
        return reading.partial or check.may_hide
    if check.is_pytest and _PYTEST_STOPPED.search(read_text(exit_record.stdout, limit=4 * TAIL)):
        return "pytest stopped before it had run every test"
    return "the process of its tests ended before all of them had run" if _process_ended(check, exit_record) else ""


def _process_ended(check: PreparedCheck, exit_record: ExitRecord) -> bool:
    pattern = _PROCESS_ENDED.get(check.known.runner.name) if check.known else None
    if pattern is None:
        return False
    return any(pattern.search(read_text(path, limit=READ)) for path in (exit_record.stdout, exit_record.stderr))


def _was_cut(exit_record: ExitRecord) -> bool:
    streams = ((exit_record.stdout, exit_record.stdout_bytes), (exit_record.stderr, exit_record.stderr_bytes))
    return any(path.is_file() and path.stat().st_size < size for path, size in streams)


def _without_root(name: str, place: Placement) -> str:
    """The name without the tree's path, which differs at the base."""
    for root in {str(place.files), str(place.files.resolve()), str(place.path)}:
        name = name.replace(f"{root}/", "")
    return name


def _more_time(spec: CheckSpec) -> str:
    return (
        f"If it only needs more time, raise `timeout_minutes` of {setting_of(spec.name)}, or "
        "`checks.timeout_minutes` for all checks, in burnish.yaml"
    )


def _did_not_run(spec: CheckSpec, exit_record: ExitRecord) -> str:
    if exit_record.ended == "timeout":
        return f"{TIMED_OUT} {spec.timeout_seconds / 60:g} minutes."
    if exit_record.ended != "exit":
        return "It was stopped before it finished."
    if isinstance(spec.command, str) and exit_record.exit_code in (126, 127):
        last = tail_of(exit_record.stdout, exit_record.stderr).splitlines()[-1:]
        return f"The shell could not start it: {last[0] if last else f'exit code {exit_record.exit_code}'}"
    if exit_record.exit_code == 1:
        missing = _MISSING_MODULE.search(read_text(exit_record.stderr, limit=TAIL))
        reason = f"is not installed for this python; see workspace.setup and {setting_of(spec.name)}."
        return f"{missing[1]} {reason}" if missing else ""
    return ""


# What Python itself prints for `python -m NAME`, as its last line; an import in the tests has a traceback.
_MISSING_MODULE = re.compile(r"^.*py(?:thon|py)[\d.]*t?: No module named '?([\w.]+)'?\s*\Z", re.M)


def _killed(exit_record: ExitRecord) -> str:
    if exit_record.out_of_memory:
        return "A process of it was killed: it used more memory than machine.memory_gb allows."
    if exit_record.signal is None:
        return ""
    if exit_record.signal == signal.SIGKILL:
        return "It was ended by signal SIGKILL, perhaps because memory ran out."
    try:
        name = signal.Signals(exit_record.signal).name
    except ValueError:
        name = str(exit_record.signal)
    return f"It was ended by signal {name}."


def _status(exit_record: ExitRecord, reading: Reading) -> CheckStatus:
    # A failure exit code or a failure in the report is enough.
    has_failures = reading.failures or any(remark.severity is Severity.ERROR for remark in reading.remarks)
    has_failures = has_failures or (reading.counts is not None and reading.counts.failed > 0)
    return CheckStatus.FAILED if exit_record.exit_code != 0 or has_failures else CheckStatus.PASSED


def _read(
    spec: CheckSpec,
    check: PreparedCheck,
    exit_record: ExitRecord,
    place: Placement,
    report_dir: Path,
    before: FileStats,
) -> Reading:
    if spec.pattern:
        return read_pattern(spec.pattern, (exit_record.stdout, exit_record.stderr))
    if check.report is None or check.report_file is None:
        return _from_tree(spec, check, place, before) or _from_text(spec, check, exit_record, place)
    if check.report == "go" and check.report_file == "-":
        return read_printed(exit_record.stdout, exit_record.stderr, root=place.path, formats=("go-json",)) or Reading(
            error="go test printed no results"
        )
    if check.report_file == "-":
        data = read_report(exit_record.stdout.parent, exit_record.stdout.name)
    else:
        data = read_report(report_dir, check.report_file)
    if isinstance(data, str):
        return Reading(error=data)
    if data is None:
        if check.promised:
            return Reading(error=f"no report was written to {check.report_file}: the results are unknown")
        return _from_text(spec, check, exit_record, place)
    reading = FILE_FORMATS[check.report](data, f"check:{spec.name}", place.files, place.path)
    is_complete = check.promised or (check.known and not _lacks_failures(check, exit_record, reading))
    return reading if is_complete else _with_printed(reading, exit_record, place)


def _lacks_failures(check: PreparedCheck, exit_record: ExitRecord, report: Reading) -> bool:
    """True if pytest ended with 0 and a report without failures, although it printed some.

    Code of a test that runs at the exit of the process can replace the report and the exit code, not what was printed.
    """
    if exit_record.exit_code != 0 or not check.is_pytest or report.failures:
        return False
    return last_failure_count(clean_text(read_text(exit_record.stdout, limit=4 * TAIL))) > 0


def _with_printed(report: Reading, exit_record: ExitRecord, place: Placement) -> Reading:
    """Adds printed failures to the report of a command that may start several runners.

    Each runner may overwrite the report of the previous one, and the exit code may be that of the last one.
    """
    output = read_printed(exit_record.stdout, exit_record.stderr, root=place.path)
    if output is None or (_covers(report.counts, output.counts) and len(output.failures) <= len(report.failures)):
        return report
    report_names = {failure.name for failure in report.failures}
    return Reading(
        counts=output.counts or report.counts,
        failures=(*report.failures, *(failure for failure in output.failures if failure.name not in report_names)),
        remarks=report.remarks,
        error=report.error,
        partial=report.partial or output.partial,
    )


def _covers(report: Counts | None, output: Counts | None) -> bool:
    """True if the report contains every printed test."""
    if output is None:
        return True
    return report is not None and report.total >= output.total and report.failed >= output.failed


def _from_tree(spec: CheckSpec, check: PreparedCheck, place: Placement, before: FileStats) -> Reading | None:
    """JUnit files that the build tool wrote during this run."""
    reports = check.known.runner.tree_reports if check.known else None
    return read_new_reports(place, spec.name, *reports, before=before) if reports else None


def _from_text(spec: CheckSpec, check: PreparedCheck, exit_record: ExitRecord, place: Placement) -> Reading:
    """Test results or linter problems, read from the output."""
    if spec.name == "lint":
        return _from_lines(spec, exit_record, place)
    formats = check.known.runner.text_formats if check.known else tuple(TEXT_FORMATS)
    reading = read_printed(exit_record.stdout, exit_record.stderr, root=place.path, formats=formats)
    from_launcher = None if reading and reading.failures else _ignored_failures(spec, exit_record, place)
    if reading and from_launcher and reading.counts and reading.counts.failed:
        return replace(reading, failures=from_launcher.failures)
    return reading or from_launcher or _from_lines(spec, exit_record, place)


def _did_nothing(spec: CheckSpec, exit_record: ExitRecord) -> bool:
    """True if a test command succeeded and says that it did nothing."""
    if exit_record.exit_code != 0 or not is_test(spec.name):
        return False
    output = _output(exit_record, 4 * TAIL)
    return _BUILDS_ONLY.fullmatch(spec.words) is not None or did_nothing(output, optional="--if-present" in spec.words)


def _ignored_failures(spec: CheckSpec, exit_record: ExitRecord, place: Placement) -> Reading | None:
    """Printed failures of a command that ignores them: its exit code is 0.

    Not for other exit codes: what fails without such a line would be missing from the list.
    """
    if exit_record.exit_code != 0 or spec.name in _NOT_TESTS:
        return None
    names = printed_failures(_output(exit_record, READ), place.files / spec.cwd if runs_tests(spec) else None)
    return Reading(failures=failures_of([Case(name) for name in names])) if names else None


def _output(exit_record: ExitRecord, limit: int) -> str:
    return clean_text("\n".join(read_text(path, limit=limit) for path in (exit_record.stdout, exit_record.stderr)))


def _from_lines(spec: CheckSpec, exit_record: ExitRecord, place: Placement) -> Reading:
    """Problems from the output of a failing linter."""
    # Tracebacks of tests also name files and lines, but these are not problems.
    if exit_record.exit_code == 0 or spec.name == "test":
        return Reading()
    severity = Severity.ERROR if spec.blocking else Severity.WARNING
    text = f"{read_text(exit_record.stdout, limit=READ)}\n{read_text(exit_record.stderr, limit=READ)}"
    source = f"check:{spec.name}"
    remarks = read_lines(text, root=place.files, mounted_at=place.path, source=source, severity=severity)
    return Reading(remarks=remarks)


def tail_of(stdout: Path, stderr: Path) -> str:
    """The end of both streams, stderr last."""
    parts = (shortened(without_usage(read_text(path, limit=4 * TAIL)), longest=TAIL) for path in (stdout, stderr))
    return "\n".join(part for part in parts if part)


# -- toolchain errors -----------------------------------------------------------------------------
# Detects test runs that ended before any test, because a toolchain did not start.

_COULD_NOT_START = (126, 127)
# Messages of version managers and launchers without a program to start, and of make and others for exit code 127.
_NOT_STARTED = re.compile(
    r"^(?:"
    r"make(?:\[\d+\])?: \*\*\* .* Error 12[67]|error: Recipe .* exit code 12[67]|task: .* exit status 12[67]"
    r"|error: (?:rustup could not choose|toolchain '|no override and no default toolchain|no default toolchain"
    r"|could not download file|'\S+' is not installed for the toolchain|rustup is not installed).*"
    r"|go: (?:download go\d|go\.(?:mod|work) requires go >=|cannot find GOROOT|.*toolchain not available).*"
    r"|(?:pyenv|rbenv|nodenv|jenv|goenv): .*(?:not installed|command not found).*"
    r"|N/A: version .*|.*version \"?v?[\d.]+\"? is not (?:yet )?installed.*"
    r"|(?:No version is set for command|No preset version installed for command|unknown command: .*reshim|asdf: ).*"
    r"|mise ERROR .*|Volta error.*"
    r"|.*JAVA_HOME (?:environment variable )?is (?:not defined|not set|set to an invalid).*"
    r"|.*Unable to locate a Java Runtime.*"
    r"|.*No compiler is provided in this environment.*|.*(?:release version \S+ not supported|invalid target release).*"
    r"|.*Could not find or load main class org\.(?:gradle|apache\.maven)\..*|A compatible \.NET SDK was not found.*"
    r"|.*Cannot find (?:module|package) '(?!node:)[\w@][^']*'.*"
    r")$",
    re.M,
)
# A suite without tests: a task may add the first ones.
_NO_TESTS = re.compile(
    r"(?i)\bno tests? (?:(?:files?|suites?|cases?) )?(?:were )?(?:found|ran|to run|specified)\b|\bno test files\b"
)
_PLACE = re.compile(r"([\w./@+-]+\.[A-Za-z]\w*)(?::|\(|:\[)\d+")
_INSTALLED = re.compile(r"(?:^|/)(?:node_modules|site-packages|\.venv|venv|vendor)/")


def not_started(output: str, exit_code: int | None, *, runner: str, place: Placement) -> str:
    """Why a failed run without test cases has no result; "" if its exit code may be the result.


    `runner` is the known test runner that the command starts; "" for other commands, which may report by exit code.
    """
    if not exit_code:
        return ""
    if found := _NOT_STARTED.search(output):
        cause = first_error(output) if found[0].startswith("make") else found[0].strip()
        return f"A program that it needs does not start: {cause[:300]}"
    if exit_code in _COULD_NOT_START:
        return f"A program that it needs does not start (exit code {exit_code}): {first_error(output)}"
    if runner and not _NO_TESTS.search(output) and not _names_source(output, place):
        return f"{runner} ended with exit code {exit_code} and ran no test"
    return ""


def _names_source(output: str, place: Placement) -> bool:
    """True if the output names a file of the tree, e.g. a compiler error, which a task may fix."""
    roots = sorted({f"{root}/" for path in (place.files, place.path) for root in (path, path.resolve())})
    for word in dict.fromkeys(_PLACE.findall(output)):
        name = next((word.removeprefix(root) for root in roots if word.startswith(root)), word)
        if not name.startswith("/") and not _INSTALLED.search(name) and _is_file(place.files / name):
            return True
    return False


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False
