"""How a check ended, in one report: exit code, report file and printed lines taken together."""

from __future__ import annotations

import re
import signal
from dataclasses import replace
from pathlib import Path

from burnish.checks.import_origins import runs_tests
from burnish.checks.line_pattern import read_pattern
from burnish.checks.lines import read_lines
from burnish.checks.placement import Placement
from burnish.checks.prepare import PreparedCheck
from burnish.checks.reading import Reading, read_report, shortened
from burnish.checks.report_formats import FILE_FORMATS, TEXT_FORMATS, FileMarks, read_new_reports, read_printed
from burnish.checks.toolchain_errors import not_started
from burnish.core.check import CheckReport, CheckStatus, Counts
from burnish.core.error_lines import without_usage
from burnish.core.finding import Severity
from burnish.core.policy import CheckSpec, setting_of
from burnish.proc.run import ExitRecord
from burnish.proc.text import read_text

TAIL = 4000
# Lint output is parsed from this much of it.
READ = 4 * 1024 * 1024
NO_TESTS = 5  # pytest's exit code for "nothing collected"
# exit codes of pytest that say nothing about the tests
PYTEST_CRASHED = {3: "internal error", 4: "usage error"}
_PYTEST_STOPPED = re.compile(r"^!+ (?:stopping after \d|Interrupted)|^!+ _pytest\.outcomes\.Exit", re.M)


def trouble(spec: CheckSpec, why: str, hint: str = "") -> CheckReport:
    """A check that could not be run: the result is unknown."""
    return CheckReport(spec.name, spec.words, CheckStatus.ERROR, blocking=spec.blocking, error=why, hint=hint)


def report_of(
    spec: CheckSpec,
    prepared: PreparedCheck,
    done: ExitRecord,
    *,
    place: Placement,
    report_dir: Path,
    before: FileMarks | None = None,
) -> CheckReport:
    """The result of one check. `before` are the report files that the tree had when it started."""
    base = CheckReport(
        name=spec.name,
        command=spec.words,
        status=CheckStatus.ERROR,
        exit_code=done.exit_code,
        seconds=done.seconds,
        blocking=spec.blocking,
        tail=tail_of(done.stdout, done.stderr),
        output_path=str(done.stdout),
    )
    if why := _did_not_run(spec, prepared, done):
        return replace(base, error=why, hint=_more_time(spec) if done.ended == "timeout" else "")
    reading = _read(spec, prepared, done, place, report_dir, before or {})
    if prepared.is_pytest and done.exit_code == NO_TESTS and not (reading.counts and reading.counts.total):
        return replace(base, status=CheckStatus.PASSED, counts=Counts(0, 0, 0, 0))
    if reading.error and prepared.promised and done.exit_code == 0:
        status = CheckStatus.ERROR
    else:
        status = _status(done, reading)
    return replace(
        base,
        status=status,
        counts=reading.counts,
        failures=tuple(replace(one, name=_without_root(one.name, place)) for one in reading.failures),
        remarks=reading.remarks,
        error=_crashed(prepared, done, reading)
        or _killed(done)
        or reading.error
        or _not_started(spec, prepared, done, reading, place),
        partial=_partial(prepared, done, reading),
    )


def _not_started(spec: CheckSpec, prepared: PreparedCheck, done: ExitRecord, reading: Reading, place: Placement) -> str:
    """Why the tests never began, where no case was reported."""
    if reading.counts or reading.failures or reading.remarks or spec.name in ("setup", "build", "origins"):
        return ""
    runner = prepared.known.runner.name if prepared.known and runs_tests(spec) else ""
    return not_started(tail_of(done.stdout, done.stderr), done.exit_code, runner=runner, place=place)


def _crashed(prepared: PreparedCheck, done: ExitRecord, reading: Reading) -> str:
    """Why pytest ended before it ran any test: nothing is known about the tests."""
    if reading.failures:
        return ""
    if prepared.known and prepared.is_pytest and done.exit_code in PYTEST_CRASHED:
        return f"pytest could not run the tests ({PYTEST_CRASHED[done.exit_code]}): {_first_error(done)}"
    return ""


def _first_error(done: ExitRecord) -> str:
    """pytest's last line with an error, else the first line that names one, else the last line."""
    lines = [line.strip() for line in tail_of(done.stdout, done.stderr).splitlines() if line.strip()]
    marked = [line[1:].strip() for line in lines if line.startswith("E ")]
    named = [line for line in lines if re.search(r"\b\w*(?:Error|Exception)\b", line)]
    return (*marked[-1:], *named[:1], *lines[-1:], "it printed nothing")[0][:300]


def _partial(prepared: PreparedCheck, done: ExitRecord, reading: Reading) -> str:
    if not reading.failures:
        return ""
    if prepared.report_file in (None, "-") and _was_cut(done):
        return "its output was longer than output_cap_mb allows"
    stopped = prepared.is_pytest and _PYTEST_STOPPED.search(read_text(done.stdout, limit=4 * TAIL))
    return reading.partial or prepared.may_hide or ("pytest stopped before it had run every test" if stopped else "")


def _was_cut(done: ExitRecord) -> bool:
    streams = ((done.stdout, done.stdout_bytes), (done.stderr, done.stderr_bytes))
    return any(path.is_file() and path.stat().st_size < size for path, size in streams)


def _without_root(name: str, place: Placement) -> str:
    """The tree lies elsewhere at the base: its path must not be part of a test's name."""
    for root in {str(place.files), str(place.files.resolve()), str(place.path)}:
        name = name.replace(f"{root}/", "")
    return name


def _more_time(spec: CheckSpec) -> str:
    return (
        f"If it only needs more time, raise `timeout_minutes` of {setting_of(spec.name)}, or "
        "`checks.timeout_minutes` for all checks, in burnish.yaml"
    )


def _did_not_run(spec: CheckSpec, prepared: PreparedCheck, done: ExitRecord) -> str:
    if done.ended == "timeout":
        return f"It took longer than {spec.timeout_seconds / 60:g} minutes and was ended."
    if done.ended != "exit":
        return "It was stopped before its end."
    if isinstance(spec.command, str) and done.exit_code in (126, 127):
        last = tail_of(done.stdout, done.stderr).splitlines()[-1:]
        return f"The shell could not start it: {last[0] if last else f'exit code {done.exit_code}'}"
    if prepared.is_pytest and done.exit_code == 1:
        missing = re.search(r"No module named '?pytest'?\s*$", read_text(done.stderr, limit=TAIL))
        return "pytest is not installed for this python; see workspace.setup and checks.test." if missing else ""
    return ""


def _killed(done: ExitRecord) -> str:
    if done.signal is None:
        return ""
    try:
        name = signal.Signals(done.signal).name
    except ValueError:
        name = str(done.signal)
    return f"It was ended by signal {name}."


def _status(done: ExitRecord, reading: Reading) -> CheckStatus:
    # Either of the two is enough: a green report does not make up for a red exit code.
    bad = reading.failures or any(remark.severity is Severity.ERROR for remark in reading.remarks)
    bad = bad or (reading.counts is not None and reading.counts.failed > 0)
    return CheckStatus.FAILED if done.exit_code != 0 or bad else CheckStatus.PASSED


def _read(
    spec: CheckSpec, prepared: PreparedCheck, done: ExitRecord, place: Placement, report_dir: Path, before: FileMarks
) -> Reading:
    if spec.pattern:
        return read_pattern(spec.pattern, (done.stdout, done.stderr))
    if prepared.report is None or prepared.report_file is None:
        return _from_tree(spec, prepared, place, before) or _from_text(spec, prepared, done, place)
    if prepared.report == "go" and prepared.report_file == "-":
        return read_printed(done.stdout, done.stderr, root=place.path, formats=("go-json",)) or Reading(
            error="go test printed no results"
        )
    if prepared.report_file == "-":
        data = read_report(done.stdout.parent, done.stdout.name)
    else:
        data = read_report(report_dir, prepared.report_file)
    if isinstance(data, str):
        return Reading(error=data)
    if data is None:
        if prepared.promised:
            return Reading(error=f"no report was written to {prepared.report_file}: the results are unknown")
        return _from_text(spec, prepared, done, place)
    reading = FILE_FORMATS[prepared.report](data, place, f"check:{spec.name}")
    return reading if prepared.promised or prepared.known else _with_printed(reading, done, place)


def _with_printed(report: Reading, done: ExitRecord, place: Placement) -> Reading:
    """The report of a command that may start several runners, each of which may have replaced the report before it.

    The exit code may be that of the last one alone, so failures that were only printed count as well.
    """
    printed = read_printed(done.stdout, done.stderr, root=place.path)
    if printed is None or (_covers(report.counts, printed.counts) and len(printed.failures) <= len(report.failures)):
        return report
    known = {failure.name for failure in report.failures}
    return Reading(
        counts=printed.counts or report.counts,
        failures=(*report.failures, *(failure for failure in printed.failures if failure.name not in known)),
        remarks=report.remarks,
        error=report.error,
        partial=report.partial or printed.partial,
    )


def _covers(report: Counts | None, printed: Counts | None) -> bool:
    """Has the report every test that was printed?"""
    if printed is None:
        return True
    return report is not None and report.total >= printed.total and report.failed >= printed.failed


def _from_tree(spec: CheckSpec, prepared: PreparedCheck, place: Placement, before: FileMarks) -> Reading | None:
    """JUnit files that the build tool wrote during this run."""
    reports = prepared.known.runner.tree_reports if prepared.known else None
    return read_new_reports(place, spec.name, *reports, before=before) if reports else None


def _from_text(spec: CheckSpec, prepared: PreparedCheck, done: ExitRecord, place: Placement) -> Reading:
    """Test results as they were printed, or problems with a place out of what a linter printed."""
    if spec.name == "lint":
        return _from_lines(spec, done, place)
    formats = prepared.known.runner.text_formats if prepared.known else tuple(TEXT_FORMATS)
    reading = read_printed(done.stdout, done.stderr, root=place.path, formats=formats)
    return reading if reading else _from_lines(spec, done, place)


def _from_lines(spec: CheckSpec, done: ExitRecord, place: Placement) -> Reading:
    """Problems with a place, out of what a failing linter printed."""
    # The traces that tests print name files and lines, too, but no problems.
    if done.exit_code == 0 or spec.name == "test":
        return Reading()
    severity = Severity.ERROR if spec.blocking else Severity.WARNING
    text = f"{read_text(done.stdout, limit=READ)}\n{read_text(done.stderr, limit=READ)}"
    source = f"check:{spec.name}"
    remarks = read_lines(text, root=place.files, seen_at=place.path, source=source, severity=severity)
    return Reading(remarks=remarks)


def tail_of(stdout: Path, stderr: Path) -> str:
    """The end of both streams; what went to stderr stands last."""
    parts = (shortened(without_usage(read_text(path, limit=4 * TAIL)), longest=TAIL) for path in (stdout, stderr))
    return "\n".join(part for part in parts if part)
