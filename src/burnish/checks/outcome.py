"""How a check ended, in one report: exit code, report file and printed lines taken together."""

from __future__ import annotations

import re
import signal
from dataclasses import replace
from pathlib import Path

from burnish.checks.junit import read_junit
from burnish.checks.lines import read_lines
from burnish.checks.placement import Placement
from burnish.checks.prepare import Prepared
from burnish.checks.reading import Reading, read_report, shortened
from burnish.checks.sarif import read_sarif
from burnish.checks.tap import read_tap
from burnish.core.check import CheckReport, CheckStatus, Counts
from burnish.core.finding import Severity
from burnish.core.policy import CheckSpec
from burnish.proc.run import Done
from burnish.proc.text import read_text

TAIL = 4000
# Lint output is parsed from this much of it.
READ = 4 * 1024 * 1024
NO_TESTS = 5  # pytest's exit code for "nothing collected"


def trouble(spec: CheckSpec, why: str) -> CheckReport:
    """A check that could not be run: the result is unknown."""
    return CheckReport(spec.name, spec.words, CheckStatus.ERROR, blocking=spec.blocking, error=why)


def report_of(spec: CheckSpec, prepared: Prepared, done: Done, *, place: Placement, report_dir: Path) -> CheckReport:
    """What one check said."""
    base = CheckReport(
        name=spec.name,
        command=spec.words,
        status=CheckStatus.ERROR,
        exit_code=done.exit_code,
        seconds=done.seconds,
        blocking=spec.blocking,
        tail=_tail(done),
        output_path=str(done.stdout),
    )
    if why := _did_not_run(spec, prepared, done):
        return replace(base, error=why)
    reading = _read(spec, prepared, done, place, report_dir)
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
        failures=reading.failures,
        remarks=reading.remarks,
        error=_killed(done) or reading.error,
    )


def _did_not_run(spec: CheckSpec, prepared: Prepared, done: Done) -> str:
    if done.ended == "timeout":
        return f"It took longer than {spec.timeout_seconds / 60:g} minutes and was ended."
    if done.ended != "exit":
        return "It was stopped before its end."
    if isinstance(spec.command, str) and done.exit_code in (126, 127):
        last = _tail(done).splitlines()[-1:]
        return f"The shell could not start it: {last[0] if last else f'exit code {done.exit_code}'}"
    if prepared.is_pytest and done.exit_code == 1:
        missing = re.search(r"No module named '?pytest'?\s*$", read_text(done.stderr, limit=TAIL))
        return "pytest is not installed for this python; see workspace.setup and checks.test." if missing else ""
    return ""


def _killed(done: Done) -> str:
    if done.signal is None:
        return ""
    try:
        name = signal.Signals(done.signal).name
    except ValueError:
        name = str(done.signal)
    return f"It was ended by signal {name}."


def _status(done: Done, reading: Reading) -> CheckStatus:
    # Either of the two is enough: a green report does not make up for a red exit code.
    bad = reading.failures or any(remark.severity is Severity.ERROR for remark in reading.remarks)
    return CheckStatus.FAILED if done.exit_code != 0 or bad else CheckStatus.PASSED


def _read(spec: CheckSpec, prepared: Prepared, done: Done, place: Placement, report_dir: Path) -> Reading:
    if prepared.report is None or prepared.report_file is None:
        return _from_lines(spec, done, place)
    data: bytes | str | None
    if prepared.report_file == "-":
        data = read_text(done.stdout, limit=READ).encode()
    else:
        data = read_report(report_dir, prepared.report_file)
    if isinstance(data, str):
        return Reading(error=data)
    if data is None:
        if prepared.promised:
            return Reading(error=f"no report was written to {prepared.report_file}: the results are unknown")
        return _from_lines(spec, done, place)
    if prepared.report == "sarif":
        return read_sarif(data, source=f"check:{spec.name}", root=place.files, seen_at=place.path)
    if prepared.report == "tap":
        return read_tap(data.decode("utf-8", "replace"))
    return read_junit(data, root=place.files, seen_at=place.path)


def _from_lines(spec: CheckSpec, done: Done, place: Placement) -> Reading:
    """Problems with a place, out of what a failing linter printed."""
    # The traces that tests print name files and lines, too, but no problems.
    if done.exit_code == 0 or spec.name == "test":
        return Reading()
    severity = Severity.ERROR if spec.blocking else Severity.WARNING
    text = f"{read_text(done.stdout, limit=READ)}\n{read_text(done.stderr, limit=READ)}"
    source = f"check:{spec.name}"
    remarks = read_lines(text, root=place.files, seen_at=place.path, source=source, severity=severity)
    return Reading(remarks=remarks)


def _tail(done: Done) -> str:
    """The end of both streams; what went to stderr stands last."""
    parts = (shortened(read_text(path, limit=4 * TAIL), longest=TAIL) for path in (done.stdout, done.stderr))
    return "\n".join(part for part in parts if part)
