"""Runs checks in parallel, each with its own supervisor process, and returns their reports."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from burnish.checks.checkout_programs import CheckoutProgram, program_problem, started_elsewhere, with_program_report
from burnish.checks.command_line import uncommitted_only
from burnish.checks.go_test import plain_output
from burnish.checks.import_report import import_hint, imported_elsewhere, unreported_imports, with_import_report
from burnish.checks.outcome import error_report, report_of, tail_of
from burnish.checks.placement import Placement
from burnish.checks.reading import iterate_lines
from burnish.checks.report_formats import report_file_stats
from burnish.checks.runners import prepare
from burnish.core.check import CheckReport
from burnish.core.policy import CheckSpec
from burnish.proc.run import Command, ProgramMissing, ShimLost, StopToken, run


@dataclass(frozen=True, slots=True)
class _CheckRunContext:
    """The placement of the checks, and the settings they share."""

    place: Placement
    out_dir: Path
    env: Mapping[str, str]
    stop: StopToken | None
    cap_bytes: int
    lock_file: Path | None
    clean_output: Callable[[Path], None]


def run_checks(
    specs: Iterable[CheckSpec],
    *,
    place: Placement,
    out_dir: Path,
    env: Mapping[str, str],
    stop: StopToken | None = None,
    cap_bytes: int = 64 * 1024 * 1024,
    lock_file: Path | None = None,
    clean_output: Callable[[Path], None] = lambda folder: None,
) -> tuple[CheckReport, ...]:
    """One report per check, in the order given.

    `clean_output` redacts secrets in the files of a check before they are read: readers shorten long text, and part
    of a secret would not be recognised.
    """
    context = _CheckRunContext(place, out_dir.resolve(), env, stop, cap_bytes, lock_file, clean_output)
    checks = tuple(specs)
    if len(checks) <= 1:
        return tuple(_run_one(spec, context) for spec in checks)
    with ThreadPoolExecutor(len(checks), thread_name_prefix="check") as pool:
        return tuple(pool.map(partial(_run_one, context=context), checks))


def _run_one(spec: CheckSpec, context: _CheckRunContext) -> CheckReport:
    call_dir = context.out_dir / spec.name
    shutil.rmtree(call_dir, ignore_errors=True)
    call_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    # A new private folder, so that any report in it was written by this run.
    report_dir = Path(tempfile.mkdtemp(prefix="report-", dir=call_dir))
    try:
        place = _in_folder(context.place, spec.cwd)
    except ValueError as error:
        return error_report(spec, str(error))
    if uncommitted_reason := uncommitted_only(spec.command, context.place.files / spec.cwd):
        return error_report(spec, uncommitted_reason)
    env = with_import_report(spec, report_dir, _with_own_programs(context.env, place, spec.cwd), context.place)
    env, programs = with_program_report(spec, context.place, report_dir, env)
    check = prepare(spec, report_dir=report_dir, env=env, root=context.place.files / spec.cwd)
    wrap = context.place.wrap
    reports = check.known.runner.tree_reports if check.known else None
    before = report_file_stats(context.place.written_by(spec.name), *reports) if reports else {}
    command = Command(
        argv=wrap(check.argv, spec.name, report_dir) if wrap else check.argv,
        cwd=place,
        env=check.env,
        call_dir=call_dir,
        timeout_seconds=spec.timeout_seconds,
        cap_bytes=context.cap_bytes,
        lock_file=context.lock_file,
        wrapped=wrap is not None,
    )
    try:
        exit_record = run(command, stop=context.stop)
    except (ProgramMissing, ShimLost) as error:
        return error_report(spec, f"{error.what} {error.hint}")
    finally:
        context.clean_output(call_dir)
    report = report_of(spec, check, exit_record, place=context.place, report_dir=report_dir, before=before)
    if check.report == "go" and not check.promised:
        _make_readable(exit_record.stdout)
        # A secret may be split over two events.
        context.clean_output(call_dir)
        report = replace(report, tail=tail_of(exit_record.stdout, exit_record.stderr))
    problem = _untested_problem(spec, context.place, report_dir, programs)
    if not problem and (unreported_import := unreported_imports(spec, context.place, report_dir, env, report.tail)):
        problem = unreported_import, import_hint(is_confined=False)
    if problem:
        why, hint = problem
        unknown = error_report(spec, f"The tests do not test the change: {why}.", hint)
        return replace(unknown, tail=report.tail, output_path=report.output_path, seconds=report.seconds)
    return _from_root(report, context.place, spec.cwd) if spec.cwd else report


def _untested_problem(
    spec: CheckSpec, place: Placement, report_dir: Path, programs: Mapping[str, CheckoutProgram]
) -> tuple[str, str] | None:
    """What the tests imported or started instead of the tree, and a hint; None if nothing."""
    if elsewhere := imported_elsewhere(report_dir, place.files, spec.cwd, place.path):
        return elsewhere, import_hint(is_confined=place.wrap is not None)
    program = started_elsewhere(report_dir, programs)
    return program_problem(program, is_confined=place.wrap is not None) if program else None


def _make_readable(stdout: Path) -> None:
    """Replace the events of `go test -json` by its plain output, since burnish added the option."""
    plain = stdout.with_name("stdout-plain")
    with plain.open("w", encoding="utf-8", errors="replace") as file:
        file.writelines(plain_output(iterate_lines(stdout)))
    plain.replace(stdout)


def _in_folder(place: Placement, cwd: str) -> Path:
    """The working directory of a check; raises ValueError if the tree has no such folder."""
    if not cwd:
        return place.path
    folder = (place.files / cwd).resolve()
    if not folder.is_dir() or not folder.is_relative_to(place.files.resolve()):
        raise ValueError(f"The folder {cwd} does not exist in this commit.")
    return place.path / cwd


def _with_own_programs(env: Mapping[str, str], folder: Path, cwd: str) -> Mapping[str, str]:
    """The environment with the `.venv` of the check's folder before that of the root."""
    own = folder / ".venv" / "bin"
    return {**env, "PATH": f"{own}{os.pathsep}{env.get('PATH', os.defpath)}"} if cwd and own.is_dir() else env


def _from_root(report: CheckReport, place: Placement, cwd: str) -> CheckReport:
    """The report with paths relative to the repository instead of the check's folder."""

    def from_root(file: str | None) -> str | None:
        if file is None or (place.files / file).exists() or not (place.files / cwd / file).exists():
            return file
        return f"{cwd}/{file}"

    failures = tuple(replace(one, file=from_root(one.file)) for one in report.failures)
    remarks = tuple(replace(one, file=from_root(one.file)) for one in report.remarks)
    return replace(report, failures=failures, remarks=remarks)
